/* evenkeel/ir_files.h - chooses the file of a folder of graphs that has the compiled program.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_IR_FILES_H
#define EVENKEEL_IR_FILES_H

#include <stddef.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"

EK_BEGIN_DECLS

/**
 * Choose the file of a folder with the graph after all passes of the compiler: the last *validate*.ir by the number at
 * the end of its name, else the last *execute*.ir, else the last .ir. A folder with a single rank_N folder that has
 * them is accepted. A path that is not a folder, and "-", are returned unchanged.
 *
 * @param out    [size] the path
 * @param notes  receives a note on the chosen file and the reason; may be NULL
 * @return EK_OK; EK_ERR_SYSTEM where the folder cannot be opened; EK_ERR_INPUT where it has no graph or those of
 *   several ranks, and where the path is longer than `size`. O(files of the folder).
 */
ek_status ek_ir_choose_file(const char *path, char *out, size_t size, const ek_listener *notes, ek_error *err);

EK_END_DECLS
#endif
