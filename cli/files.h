/* cli/files.h - writing a command's output files: whole files or none. */
#ifndef EK_CLI_FILES_H
#define EK_CLI_FILES_H

#include "evenkeel/write.h"

#include "model.h"

/** Create a folder and its parents. False after a message. */
bool cli_make_folder(const char *path);

/** Writes a file's text to `out`. */
typedef ek_status cli_writer(const void *user, FILE *out, ek_error *err);

/** Write a file, whole or not at all, or to stdout where `path` is "-". An input is refused. False after a message. */
bool cli_write_file(const char *path, cli_writer *write, const void *user);

/** The same for an internal file, which is no input of a user. */
bool cli_write_own(const char *path, cli_writer *write, const void *user);
/** Can all processes of a launcher read it? Not standard input: false after a message. `path` may be NULL. */
bool cli_check_shared(const char *path);
/** Is it the name of stdout, or stdin? `path` may be NULL. */
bool cli_on_stdout(const char *path);
/** Can it be written, as far as its folder shows? For commands with a long search before the output. False after a
 * message. */
bool cli_check_output(const char *path);
/** How an output is called in messages. */
const char *cli_output_name(const char *path);

/** Write a text to a file as a whole, or to stdout where `path` is NULL or "-". False after a message. */
bool cli_put_text(const char *path, const char *text, size_t size);
/** The same for a script: executable for all users that may read it. */
bool cli_put_script(const char *path, const char *text, size_t size);

/** The result of cli_replace_file(). */
typedef struct cli_replaced {
    bool changed;      /**< false: the file already had this text, and was not written */
    char backup[4200]; /**< where the old text is; empty when it was not replaced */
} cli_replaced;

/**
 * Replace a file by an edited text: into `output` ("-": stdout) when that is given, else into the file itself, and the
 * old text stays as PATH.bak (PATH.bak2 and so on when there is one). Both have its mode, owner and group. An unchanged
 * text is not written again.
 * @return false after a message, with the file as it was
 */
bool cli_replace_file(const char *path, const char *output, const char *text, size_t size, cli_replaced *how);

/** Write a result in a format to stdout. False after a message. */
bool cli_print(ek_output output, const char *format);
/** The same for a command's answer, unless a requested output goes to stdout instead. */
bool cli_answer(ek_output output, const char *format);
/** The same as a file, by cli_write_file(). NULL: no file is requested. */
bool cli_save(const char *path, ek_output output, const char *format);

/** Checks the status of a writer to stdout, and that all output was written. False after a message. */
bool cli_printed(ek_status status, const ek_error *err);

/** Prints all schedules in the chosen format. @return the exit code of the command */
int cli_print_schedules(const cli_model *model);

/** Does `option` have this output format? False after a message. */
bool cli_check_format(const cli_model *model, ek_output_kind kind, const char *option);

/** Print the report in the chosen format, by cli_answer(). False after a message. */
bool cli_print_report(const cli_model *model, ek_report *report);

/** Pictures, traces and pages of a report, for -o, --svg, --chrome-trace and --html; lists them on stdout with text
 * output.
 *  @param file_names  [n_cases] in the output folder */
bool cli_write_pictures(const cli_model *model, const ek_report *report, const char *const *file_names);

#endif
