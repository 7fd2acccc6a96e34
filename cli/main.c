/* The command `evenkeel`: picks a command from the list and runs it. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/evenkeel.h"

#include "cmd.h"
#include "files.h"
#include "options.h"
#include "search.h"
#include "team.h"

#define DECLARE(id) extern const ek_cmd cmd_##id;
CMD_LIST(DECLARE)

#define POINT(id) &cmd_##id,
static const ek_cmd *const commands[] = {CMD_LIST(POINT)};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fputs("Evenkeel balances the stages of pipeline-parallel training: how many layers each stage holds and what they\n"
          "recompute, so that a step is as short as possible and no stage runs out of memory.\n\n"
          "usage: evenkeel COMMAND [OPTIONS]\n\ncommands:\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-14s  %s\n", commands[i]->name, commands[i]->summary);
    fputs("\noptions:\n"
          "  --help     this text; `evenkeel COMMAND --help` explains a command\n"
          "  --version  the version\n\n"
          "example:\n"
          "  evenkeel balance init.yaml -s 16 -i 3 -mb 16 -mem 56000\n",
          out);
}

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

/* The first line is for scripts, each further one names a part that this build lacks. */
static void print_version(void)
{
    puts("evenkeel " EK_VERSION);
    for (int i = 0; i < EK_N_FEATURES; i++)
        if (ek_feature_absent((ek_feature)i))
            puts(ek_feature_absent((ek_feature)i));
}

static int run_command(const ek_cmd *command, int argc, char **argv)
{
    int code = cli_team_begin(command);
    return cli_team_end(code == EXIT_DONE ? command->run(argc, argv) : code);
}

int main(int argc, char **argv)
{
    /* A file that grows beyond `ulimit -f` fails as on a full disk, and the partial file is removed. */
    signal(SIGXFSZ, SIG_IGN);
    cli_clear_up_at_ends();
    keep_memory();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_WRONG;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-help") == 0 ||
        strcmp(name, "help") == 0) {
        print_help(stdout);
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
    if (name[0] == '-') {
        cli_error(NULL, "a command comes before options such as '%s'; to balance stages: evenkeel balance %s ...", name,
                  name);
        return EXIT_WRONG;
    }
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *near = cli_nearest(name, names, N_COMMANDS);
    if (near)
        cli_error(NULL, "no command is called '%s'; did you mean '%s'?", name, near);
    else
        cli_error(NULL, "no command is called '%s'; see `evenkeel --help`", name);
    return EXIT_WRONG;
}
