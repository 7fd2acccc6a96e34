/* cli/options.h - one table of options per command: parsed with one or two dashes, bound to variables, printed by
 * --help.
 *
 * To add an option to a command: one row in its table, and a field of its `struct command`. The row contains everything
 * about the option: names, argument, help, the heading of its group, the field with its kind and range, and where
 * wanted the default and the longer text of the manual:
 *
 *     {"jobs", "N", "dry runs at the same time ({})", NULL, CLI_INT(command, n_jobs, 1, 64), .otherwise = "all",
 *      .manual = "Dry runs at the same time, in batches."},
 *
 * cli_parse() stores the value, or prints an error message. An option that needs more has a function of its own
 * (CLI_CALL). An option that names an output is declared as one (CLI_OUTPUT and the two below it). Options that
 * commands share are tables of their own, which a row includes (CLI_ROWS). The man page, the tables of docs/ and the
 * shells' completion are made from the rows: run tests/cli/write_option_docs.sh after a change.
 */
#ifndef EK_CLI_OPTIONS_H
#define EK_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "evenkeel/error.h"

typedef struct cli_option cli_option;

/** Stores the value of an option, or prints an error message. `text` is NULL for a flag, `place` the field that the row
 * names. @return false after a message */
typedef bool cli_taker(const cli_option *option, const char *text, void *place);

/** The type of an option's value, which determines how it is read and stored. */
typedef enum cli_kind {
    CLI_KIND_NONE,   /**< no option: the end of a table, or a row that includes a table */
    CLI_KIND_HELP,   /**< print the help and end */
    CLI_KIND_FLAG,   /**< no value; sets the field to true */
    CLI_KIND_INT,    /**< whole number from least to most */
    CLI_KIND_DOUBLE, /**< number from least to most */
    CLI_KIND_AMOUNT, /**< 38e9, or as models and their data are named: 560M, 38B, 1.2T */
    CLI_KIND_SWITCH, /**< 1 or 0 */
    CLI_KIND_WORD,   /**< one of the words of the argument; a field of text gets the word, others its number */
    CLI_KIND_TEXT,   /**< any text */
    CLI_KIND_TEXTS,  /**< any text that is not empty; may be repeated */
    CLI_KIND_CALL,   /**< read by a function */
} cli_kind;

/** Type of a field. */
typedef enum cli_type { CLI_OF_OTHER, CLI_OF_BOOL, CLI_OF_INT, CLI_OF_TEXT } cli_type;

/** The use that a command makes of the file that an option names. */
typedef enum cli_writes {
    CLI_WRITES_NOTHING, /**< it is read, where the argument is a FILE, DIR, SOURCE or LOG */
    CLI_WRITES_FILE,    /**< it is written; - is standard output */
    CLI_WRITES_FOLDER,  /**< files are written into it */
    CLI_WRITES_INPUT,   /**< it is read and changed in place, where -o names no other */
} cli_writes;

enum { CLI_MAX_TEXTS = 64 };

/** Values of an option that may be repeated. */
typedef struct cli_texts {
    int n;
    const char *at[CLI_MAX_TEXTS];
} cli_texts;

/** One option. Its first name is the one messages use. */
struct cli_option {
    const char *names;    /**< separated by '|', without dashes: "s|stages|stage" */
    const char *argument; /**< shown in --help, "N"; NULL for a flag. Completion offers files for FILE, folders for DIR,
                               schedules for SCHEDULE, rules of lint for RULE, devices and files for NAME|FILE, and the
                             words of "text|yaml|json" */
    const char *help;     /**< NULL: accepted, but not shown. "{}" becomes the default */
    const char *group;    /**< heading, on the first option of a group */

    /* Filled in by the macros below. */
    cli_kind kind;
    cli_type type;
    size_t at;              /**< offset of the field */
    double least, most;     /**< range of a number */
    cli_taker *take;        /**< of CLI_KIND_CALL */
    const cli_option *rows; /**< the table that a row includes */
    size_t given; /**< 1 + offset of a bool that becomes true, or of a text that becomes the names of the first
                       such option; 0: none */
    cli_type given_type;
    cli_writes writes;

    /* Optional fields of a row. */
    const char *must;      /**< of a word: the expected value in the error message; NULL: the argument */
    const char *hint;      /**< follows that message; NULL: nothing */
    const char *otherwise; /**< the default in words; NULL: the field's value when parsing begins */
    const char *manual;    /**< text of the man page and of docs/, in Markdown; NULL: the help */
};

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): types and names of members */
/** Offset of a field, an error of the compiler when the field has another type. */
#define CLI_AT(owner, field, wanted) _Generic(((owner *)0)->field, wanted: offsetof(owner, field))
#define CLI_TYPE(owner, field)                                                                                         \
    _Generic(((owner *)0)->field, bool: CLI_OF_BOOL, int: CLI_OF_INT, unsigned: CLI_OF_INT, const char *: CLI_OF_TEXT)

#define CLI_FLAG(owner, field) .kind = CLI_KIND_FLAG, .at = CLI_AT(owner, field, bool)
#define CLI_INT(owner, field, low, high)                                                                               \
    .kind = CLI_KIND_INT, .at = CLI_AT(owner, field, int), .least = (low), .most = (high)
#define CLI_DOUBLE(owner, field, low, high)                                                                            \
    .kind = CLI_KIND_DOUBLE, .at = CLI_AT(owner, field, double), .least = (low), .most = (high)
#define CLI_AMOUNT(owner, field) .kind = CLI_KIND_AMOUNT, .at = CLI_AT(owner, field, double)
/** Into a bool or an int. */
#define CLI_SWITCH(owner, field)                                                                                       \
    .kind = CLI_KIND_SWITCH, .at = offsetof(owner, field), .type = CLI_TYPE(owner, field)
/** Into a text; or a bool, an int or an enum: its place among the words of the argument. */
#define CLI_WORD(owner, field) .kind = CLI_KIND_WORD, .at = offsetof(owner, field), .type = CLI_TYPE(owner, field)
#define CLI_TEXT(owner, field) .kind = CLI_KIND_TEXT, .at = CLI_AT(owner, field, const char *)
/** A file that the command writes, a folder that it writes files into, a file that it changes in place. cli_parse()
 *  then refuses an output that would overwrite an input or another output (named_files.h). */
#define CLI_OUTPUT(owner, field) CLI_TEXT(owner, field), .writes = CLI_WRITES_FILE
#define CLI_OUTPUT_FOLDER(owner, field) CLI_TEXT(owner, field), .writes = CLI_WRITES_FOLDER
#define CLI_EDITED(owner, field) CLI_TEXT(owner, field), .writes = CLI_WRITES_INPUT
#define CLI_TEXTS(owner, field) .kind = CLI_KIND_TEXTS, .at = CLI_AT(owner, field, cli_texts)
/** `function` gets the field's address. */
#define CLI_CALL(owner, field, function) .kind = CLI_KIND_CALL, .at = offsetof(owner, field), .take = (function)
/** `function` gets the address of the whole structure. */
#define CLI_CALL_ALL(function) .kind = CLI_KIND_CALL, .take = (function)
/** In addition to one of the above: a bool that becomes true, or a text as described at cli_option.given. */
#define CLI_GIVEN(owner, field) .given = 1 + offsetof(owner, field), .given_type = CLI_TYPE(owner, field)
/** Range of a number that a function reads. */
#define CLI_RANGE(low, high) .least = (low), .most = (high)
/** A row that includes a table with the fields of `type`. */
#define CLI_ROWS(table, type, owner, field) {.rows = (table), .at = CLI_AT(owner, field, type)}
#define CLI_HELP_ROW {"h|help", NULL, "this text", NULL, .kind = CLI_KIND_HELP}
/** The last row of every table. */
#define CLI_END {.names = NULL}

/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

/** The options and operands of a command. */
typedef struct cli_spec {
    const char *usage; /**< lines after "usage: " */
    const char *summary;
    const char *examples; /**< lines */
    const char *operand;  /**< "FILE"; the name of a positional argument, for messages */
    int max_operands;     /**< 0 means 1 */
    const cli_option *options;
} cli_spec;

enum { CLI_OK, CLI_HELP, CLI_WRONG };

/** Room for as many operands as the words of a command line can be, where spec->max_operands is larger: NULLs, to be
 * freed. NULL after a message. */
const char **cli_operands(int argc);
/**
 * Parse `argv` by `spec` into the fields of `base`, and check the outputs that it names (cli_named_check()). A sole
 * --complete lists the options for the shells' completion scripts, --complete=rows for tests/cli/write_option_docs.sh,
 * --complete=outputs for tests/cli/outputs.sh.
 * @param base  the structure with the fields that the rows name, set to the defaults
 * @param operand  [max_operands] NULLs, filled from the first on
 * @return CLI_OK, CLI_HELP after printing help, CLI_WRONG after an error message.
 */
int cli_parse(const cli_spec *spec, int argc, char **argv, void *base, const char **operand);

/** Is `word`, with its dashes and an optional =VALUE, a name of one of the rows or of the rows that they include? */
bool cli_has_option(const cli_option *rows, const char *word);

/** Is `name` the first name of `option`? */
bool cli_is(const cli_option *option, const char *name);

/** A number in the range of the row, which the message names; false after an error message. */
bool cli_int(const cli_option *option, const char *text, int *out);
bool cli_double(const cli_option *option, const char *text, double *out);
bool cli_switch(const cli_option *option, const char *text, bool *out);
/** The place of `text` among the words of the argument; -1 after a message. */
int cli_word(const cli_option *option, const char *text);
enum { CLI_NAME_SIZE = 32 };
/** "--name" for messages, or "-n" when the name is as short as the original's. */
const char *cli_shown(const cli_option *option, char *text, size_t size);

/** "evenkeel: error: MESSAGE", or "FILE:LINE:COLUMN: error: MESSAGE" for an error with a place. */
void cli_error(const ek_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The last error of cli_error(); its status is EK_OK before that. */
const ek_error *cli_last_error(void);
/** The same for something that does not stop the command. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Prints warnings of the library. */
extern const ek_listener cli_listener;
/** Prints the library's notes, as cli_note() does. */
extern const ek_listener cli_notes;

/** The nearest of `names` by edit distance, or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *names, int n);

/** Is it a terminal with a reader? Launchers of several processes give each a separate terminal, wherever its output
 * goes: that does not count. */
bool cli_is_terminal(int fd);
/** May colour be written to `fd`? A terminal, and neither NO_COLOR nor TERM=dumb. */
bool cli_color(int fd);

#endif
