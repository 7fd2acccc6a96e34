/* cli/options.h - one table of options per command: parsed with one or two dashes, printed by --help. */
#ifndef EK_CLI_OPTIONS_H
#define EK_CLI_OPTIONS_H

#include <stdbool.h>

#include "evenkeel/error.h"

/** One option. Its first name is the one messages use. */
typedef struct cli_option {
    const char *names;    /**< separated by '|', without dashes: "s|stages|stage" */
    const char *argument; /**< shown in --help, "N"; NULL for a flag. Completion offers files for FILE, folders for DIR,
                               schedules for SCHEDULE, rules of lint for RULE, devices and files for NAME|FILE, and the
                             words of "text|yaml|json" */
    const char *help;     /**< NULL: accepted, but not shown */
    const char *group;    /**< heading, on the first option of a group */
} cli_option;

/** What a command takes. */
typedef struct cli_spec {
    const char *usage; /**< lines after "usage: " */
    const char *summary;
    const char *examples; /**< lines */
    const char *operand;  /**< "FILE"; what a positional argument is, for messages */
    int max_operands;     /**< 0 means 1 */
    const cli_option *options;
    int n_options;
} cli_spec;

/** Called for every option in order; `text` is NULL for a flag. @return false after having said what is wrong. */
typedef bool cli_handler(void *user, const cli_option *option, const char *text);

enum { CLI_OK, CLI_HELP, CLI_WRONG };

/**
 * Parse `argv` by `spec`. A sole --complete lists the options for the shells' completion scripts.
 * @param operand  [max_operands] NULLs, filled from the first on
 * @return CLI_OK, CLI_HELP after printing help, CLI_WRONG after an error message.
 */
int cli_parse(const cli_spec *spec, int argc, char **argv, cli_handler *handle, void *user, const char **operand);

/** Is `option` the one whose first name is `name`? */
bool cli_is(const cli_option *option, const char *name);

/** Numbers and switches with the range in the message; false after an error message. */
bool cli_int(const cli_option *option, const char *text, int least, int most, int *out);
bool cli_double(const cli_option *option, const char *text, double least, double most, double *out);
/** 38e9, or as models and their data are named: 560M, 38B, 1.2T. At least 1. */
bool cli_amount(const cli_option *option, const char *text, double *out);
bool cli_switch(const cli_option *option, const char *text, bool *out);

/** "evenkeel: error: MESSAGE", or "FILE:LINE:COLUMN: error: MESSAGE" for an error with a place. */
void cli_error(const ek_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The same for something that does not stop the command. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Prints warnings of the library. */
extern const ek_listener cli_listener;

/** The nearest of `names` by edit distance, or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *names, int n);

/** May colour be written to `fd`? A terminal, and neither NO_COLOR nor TERM=dumb. */
bool cli_color(int fd);

#endif
