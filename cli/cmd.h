/* cli/cmd.h - the list of commands. A new one is a file cli/cmd_NAME.c with its ek_cmd, one line here, one line in
 * cli/meson.build and one folder in tests/cli/cases. */
#ifndef EK_CLI_CMD_H
#define EK_CLI_CMD_H

#include <stdbool.h>

#define CMD_LIST(X)                                                                                                    \
    X(balance)                                                                                                         \
    X(calibrate)                                                                                                       \
    X(collect)                                                                                                         \
    X(convert)                                                                                                         \
    X(diagnose)                                                                                                        \
    X(doctor)                                                                                                          \
    X(dryrun_script)                                                                                                   \
    X(estimate)                                                                                                        \
    X(guide)                                                                                                           \
    X(ir)                                                                                                              \
    X(lint)                                                                                                            \
    X(memory)                                                                                                          \
    X(metrics)                                                                                                         \
    X(overview)                                                                                                        \
    X(plan)                                                                                                            \
    X(rehearse)                                                                                                        \
    X(simulate)                                                                                                        \
    X(trace)                                                                                                           \
    X(view)

/** Exit codes of every command. */
enum {
    EXIT_DONE = 0,
    EXIT_NO = 1,    /**< the answer is no: nothing fits */
    EXIT_WRONG = 2, /**< wrong usage or input, or a file that cannot be read or written */
};

/** Headings of the list of commands, in its order. */
typedef enum cli_group {
    CLI_GROUP_FIRST,    /**< before all else */
    CLI_GROUP_JOB,      /**< from a training file, before a run */
    CLI_GROUP_RUN,      /**< from what a run measured */
    CLI_GROUP_PIPELINE, /**< the layers of a pipeline's stages */
    CLI_GROUP_DRYRUN,
    CLI_GROUP_DEVICE,
} cli_group;
enum { CLI_N_GROUPS = CLI_GROUP_DEVICE + 1 };

typedef struct ek_cmd {
    const char *name;
    const char *summary; /**< what it does, an imperative in plain English, at most 80 characters */
    /** argv[0] is the command's name. @return an exit code. */
    int (*run)(int argc, char **argv);
    bool together; /**< several processes of a launcher may run it as one (cli/team.h) */
    cli_group group;
} ek_cmd;

#endif
