/* cli/ir.h - finds, reads and checks a graph for `evenkeel ir` and `evenkeel ir diff`. */
#ifndef EK_CLI_IR_H
#define EK_CLI_IR_H

#include "evenkeel/ir_check.h"

#include "options.h"

/** A graph, read and checked. */
typedef struct cli_ir {
    ek_ir *ir;
    ek_ir_report report;
} cli_ir;

/**
 * Read and check one file, "-" for standard input; of a folder the file of the last pass, which a note names. Damaged
 * places are reported on stderr, with a progress bar on a terminal; not with `quiet`.
 * @return false after a message
 */
bool cli_ir_read(const char *path, const ek_ir_check_options *options, bool quiet, cli_ir *out);
void cli_ir_clear(cli_ir *graph);

/** `evenkeel ir diff`: argv[0] is "diff". @return an exit code. */
int cli_ir_difference(int argc, char **argv);

#endif
