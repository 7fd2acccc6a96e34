/* layout/none_legal.h - why a space has no layout. */
#ifndef EK_LAYOUT_NONE_LEGAL_H
#define EK_LAYOUT_NONE_LEGAL_H

#include "evenkeel/layout.h"

/* Say why no layout of the options is one that the framework runs: an axis whose range has none of its legal values,
 * with these; axes that do not go together; a number of devices that does not factor, with the nearest that do.
 * @return EK_ERR_INPUT; EK_ERR_MEMORY. O(layouts of the space without ranges). */
ek_status ek__layout_none_legal(const ek_job *job, const ek_layout_options *options, ek_error *err);

#endif
