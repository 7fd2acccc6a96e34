/* `evenkeel doctor`: the installation checked. */
#include <stdlib.h>
#include <unistd.h>

#include "evenkeel/doctor.h"
#include "evenkeel/version.h"

#include "cmd.h"
#include "files.h"
#include "options.h"
#include "plot.h"

typedef struct command {
    const char *format;
} command;

static const cli_option options[] = {
    {"format", "text|json", "for people, or docs/doctor.md", "output", CLI_WORD(command, format)},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel doctor [OPTIONS]",
    .summary =
        "Checks the installation: version and optional parts, a small prediction, cores with affinity and CPU quota,\n"
        "NUMA nodes, threads, memory, folders, MPI, browser, terminal, manual pages, completion. Each line is ok, a\n"
        "note or a problem, with a remedy.\n\n"
        "Exit status: 0 nothing that is needed is broken, 1 a problem, 2 wrong usage.",
    .examples = "examples:\n"
                "  evenkeel doctor\n"
                "  evenkeel doctor --format json\n",
    .operand = "operand",
    .options = options,
};

static int answer(const command *c, const char *program)
{
    ek_doctor doctor;
    ek_error err;
    const cli_plot on = {.on = true};
    const ek_plot screen = cli_plot_of(&on, "text", false);
    const ek_doctor_options how = {.program = program,
                                   .version = EK_VERSION,
                                   .terminal = cli_is_terminal(STDOUT_FILENO),
                                   .columns = screen.columns,
                                   .utf8 = screen.utf8,
                                   .color = screen.color};
    if (ek_doctor_check(&how, &doctor, &err)) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    ek_output output = ek_output_of_doctor(&doctor);
    output.color = cli_color(STDOUT_FILENO);
    int code = !cli_answer(output, c->format)             ? EXIT_WRONG
               : doctor.n_of_level[EK_DOCTOR_PROBLEM] > 0 ? EXIT_NO
                                                          : EXIT_DONE;
    ek_doctor_clear(&doctor);
    return code;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text"};
    const char *operand[1] = {NULL};
    int parsed = cli_parse(&spec, argc, argv, &c, operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (operand[0]) {
        cli_error(NULL,
                  "doctor checks the installation and takes no file (got '%s'); to check a training file: evenkeel "
                  "lint %s",
                  operand[0], operand[0]);
        return EXIT_WRONG;
    }
    char *program = realpath("/proc/self/exe", NULL);
    int code = answer(&c, program);
    free(program);
    return code;
}

const ek_cmd cmd_doctor = {"doctor", "check the installation: features, cores, memory, MPI, browser, terminal", run,
                           false, CLI_GROUP_FIRST};
