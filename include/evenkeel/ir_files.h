/* evenkeel/ir_files.h - which file of a folder of graphs shows the compiled program.
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
 * Which file of a folder shows the graph after all passes of the compiler: the last *validate*.ir by the number at the
 * end of its name, else the last *execute*.ir, else the last .ir. A folder whose one rank_N folder holds them will do.
 * A path that is no folder, and "-", stay as they are.
 *
 * @param out    [size] the path
 * @param notes  receives a note on which file was chosen, and why; may be NULL
 * @return EK_OK; EK_ERR_SYSTEM where the folder cannot be opened; EK_ERR_INPUT where it holds no graph or those of
 *         several ranks, and where the path is longer than `size`. O(files of the folder).
 */
ek_status ek_ir_choose_file(const char *path, char *out, size_t size, const ek_listener *notes, ek_error *err);

EK_END_DECLS
#endif
