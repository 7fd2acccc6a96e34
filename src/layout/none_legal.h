/* layout/none_legal.h - explains why a space has no layout. */
#ifndef EK_LAYOUT_NONE_LEGAL_H
#define EK_LAYOUT_NONE_LEGAL_H

#include "evenkeel/layout.h"

/* Report why the framework runs no layout of the options: an axis without a legal value in its range, with its legal
 * values; conflicting axes; a number of devices that does not factor, with the nearest numbers that do.
 * @return EK_ERR_INPUT; EK_ERR_MEMORY. O(layouts of the space without ranges). */
ek_status ek__layout_none_legal(const ek_job *job, const ek_layout_options *options, ek_error *err);

#endif
