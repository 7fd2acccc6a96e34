/* dryrun/init.h - what the reader of init files shares with tests. */
#ifndef EK_DRYRUN_INIT_H
#define EK_DRYRUN_INIT_H

#include "base/doc.h"
#include "evenkeel/dryrun.h"

/** ek_init_read() of a document. */
ek_status ek__init_from_doc(const ek__doc *doc, const ek_listener *listener, ek_init *out, ek_error *err);

/** ek_init_read_shape() of a document. */
ek_status ek__init_shape_from_doc(const ek__doc *doc, int *n_stages, int *n_rounds, ek_error *err);

/** Are there peaks enough for ek_init_decompose()? @return EK_OK, or its EK_ERR_INPUT. */
ek_status ek__init_check_peaks(const ek_init *init, ek_error *err);

#endif
