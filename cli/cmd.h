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

typedef struct ek_cmd {
    const char *name;
    const char *summary;
    /** argv[0] is the command's name. @return an exit code. */
    int (*run)(int argc, char **argv);
    bool together; /**< several processes of a launcher may run it as one (cli/team.h) */
} ek_cmd;

#endif
