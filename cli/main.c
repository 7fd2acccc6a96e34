/* The command `evenkeel`: picks a command from the list and runs it. */
#include <ctype.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/evenkeel.h"

#include "cmd.h"
#include "files.h"
#include "front_page.h"
#include "options.h"
#include "overview.h"
#include "search.h"
#include "team.h"

#define DECLARE(id) extern const ek_cmd cmd_##id;
CMD_LIST(DECLARE)

#define POINT(id) &cmd_##id,
static const ek_cmd *const commands[] = {CMD_LIST(POINT)};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static int printed(void)
{
    return cli_printed(EK_OK, NULL) ? EXIT_DONE : EXIT_WRONG;
}

/* Freed memory stays with the process: searches often free and allocate large arrays, and the kernel clears every new
 * page. `memory --measures` takes two thirds of the time with this. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

/* The first line is for scripts. The second lists the optional parts of this build, each further one a missing part. */
static void print_version(void)
{
    puts("evenkeel " EK_VERSION);
    const char *between = "with ";
    for (int i = 0; i < EK_N_FEATURES; i++)
        if (ek_has_feature((ek_feature)i)) {
            printf("%s%s", between, ek_feature_title((ek_feature)i));
            between = ", ";
        }
    puts(between[0] == ',' ? "" : "without optional parts");
    for (int i = 0; i < EK_N_FEATURES; i++)
        if (ek_feature_absent((ek_feature)i))
            puts(ek_feature_absent((ek_feature)i));
}

/* On a terminal a page for people. A script whose arguments are missing shall fail, as with all wrong usage. */
static int run_without_arguments(void)
{
    bool people = cli_is_terminal(STDOUT_FILENO);
    cli_front_page(commands, N_COMMANDS, people ? stdout : stderr);
    return people ? printed() : EXIT_WRONG;
}

static int run_command(const ek_cmd *command, int argc, char **argv)
{
    int code = cli_team_begin(command);
    return cli_team_end(code == EXIT_DONE ? command->run(argc, argv) : code);
}

/* A file or a folder. What has a point or a slash in it can be no command: that it is not there is what to report. */
static bool is_path(const char *word)
{
    return access(word, F_OK) == 0 || strpbrk(word, "./") != NULL;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* `evenkeel FILE...`, and calls of SAPP's pipeline balance, which has options and no commands. */
static int run_without_command(int argc, char **argv)
{
    const char *other = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0 && !other; i++)
        if (is_option(argv[i]) && !cli_overview_option(argv[i]))
            other = argv[i];
    if (other && cli_balance_option(other)) {
        cli_note("'%s' is an option of `evenkeel balance`, which is run", other);
        return run_command(&cmd_balance, argc, argv);
    }
    return run_command(&cmd_overview, argc, argv);
}

int main(int argc, char **argv)
{
    /* A file that grows beyond `ulimit -f` fails as on a full disk, and the partial file is removed. */
    signal(SIGXFSZ, SIG_IGN);
    cli_clear_up_at_ends();
    keep_memory();
    if (argc < 2)
        return run_without_arguments();
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-help") == 0 ||
        strcmp(name, "help") == 0) {
        cli_front_help(commands, N_COMMANDS, stdout);
        return printed();
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-version") == 0 || strcmp(name, "-V") == 0) {
        print_version();
        return printed();
    }
    if (strcmp(name, "--complete") == 0) { /* for the shells' completion scripts */
        for (int i = 0; i < N_COMMANDS; i++)
            printf("%s\t%s\n", commands[i]->name, commands[i]->summary);
        return printed();
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return run_command(commands[i], argc - 1, argv + 1);
    if (name[0] == '-' || is_path(name))
        return run_without_command(argc, argv);
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = cli_nearest(name, names, N_COMMANDS);
    if (near)
        cli_error(NULL, "no command is called '%s'; did you mean '%s'?", name, near);
    else
        cli_error(NULL, "no command and no file is called '%s'; see `evenkeel --help`", name);
    return EXIT_WRONG;
}
