/* dryrun/init.h - what the reader of init files shares with tests. */
#ifndef EK_DRYRUN_INIT_H
#define EK_DRYRUN_INIT_H

#include "base/doc.h"
#include "evenkeel/dryrun.h"

/** ek_init_read() of a document. */
ek_status ek__init_from_doc(const ek__doc *doc, const ek_listener *listener, ek_init *out, ek_error *err);

#endif
