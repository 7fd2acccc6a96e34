/* cli/named_files.h - the files that a command line names, so that no output overwrites an input or another output.
 *
 * cli_parse() adds operands and values of options; the rows declare which are written (CLI_OUTPUT and its variants in
 * options.h). Commands need no further check. */
#ifndef EK_CLI_NAMED_FILES_H
#define EK_CLI_NAMED_FILES_H

#include "options.h"

/** Forget those of the command line before. */
void cli_named_begin(void);
/** Add the file that an option names, or an operand (`option` is NULL), which is an input. False after a message. */
bool cli_named_add(const cli_option *option, const char *text);
/**
 * Check the outputs: files that can be written as far as their folder shows, no file twice, no input, one at most on
 * standard output and no folder there. False after a message.
 */
bool cli_named_check(void);
/** Is a file, or the target of its links, neither an input nor an output that was written before? Names of files in a
 *  folder are known when they are written. False after a message. */
bool cli_named_spares(const char *path);
/** Make the folder of an output that is to be in an output folder of the command, which may come later. False after a
 *  message. */
bool cli_named_make_folder(const char *path);
/** An output has been written. False after a message. */
bool cli_named_written(const char *path);
/** Does a requested output go to standard output, so that nothing else may? */
bool cli_stdout_taken(void);
/** Are both names those of the same existing file, also through links? */
bool cli_same_file(const char *a, const char *b);

#endif
