/* cli/ir.h - what `evenkeel ir` and `evenkeel ir diff` share: finding, reading and checking a graph. */
#ifndef EK_CLI_IR_H
#define EK_CLI_IR_H

#include "evenkeel/evenkeel.h"

#include "options.h"

/** A graph, read and checked. */
typedef struct cli_ir {
    ek_ir *ir;
    ek_ir_report report;
} cli_ir;

/**
 * Read and check one file, "-" for standard input; of a folder the file of the last pass, which a note names.
 * Damaged places are told on stderr, with a progress bar on a terminal; not with `quiet`.
 * @return false after a message
 */
bool cli_ir_read(const char *path, const ek_ir_check_options *options, bool quiet, cli_ir *out);
void cli_ir_clear(cli_ir *graph);

/** Which file of a folder shows the graph after all passes of the compiler: the last *validate*.ir by the number at the
 *  end of its name, else the last *execute*.ir, else the last .ir. A folder whose one rank_N folder holds them will do.
 *  A path that is no folder stays. False after a message. */
bool cli_ir_choose_file(const char *path, char *out, size_t size);

/** `evenkeel ir diff`: argv[0] is "diff". @return an exit code. */
int cli_ir_difference(int argc, char **argv);

#endif
