/* dryrun/init.h - what the reader of init files shares with tests. */
#ifndef EK_DRYRUN_INIT_H
#define EK_DRYRUN_INIT_H

#include "base/doc.h"
#include "evenkeel/dryrun.h"

/** ek_init_read() of a document. */
ek_status ek__init_from_doc(const ek__doc *doc, const ek_listener *listener, ek_init *out, ek_error *err);

/** ek_init_read_shape() of a document. */
ek_status ek__init_shape_from_doc(const ek__doc *doc, int *n_stages, int *n_rounds, ek_error *err);

/** Read a file that should be an init file; a training file, which may have aliases, is told for what it is. */
ek_status ek__init_doc_read(const char *path, ek__doc **out, ek_error *err);

/** EK_ERR_INPUT, with the commands that take it, when the document is a training file. */
ek_status ek__init_refuse_training_file(const ek__doc *doc, ek_error *err);

/** The keys of pipeline_config; NULL at the end. */
extern const char *const ek__pipeline_keys[];

/** What pipeline_config says of the pipeline to balance for. */
ek_status ek__init_run_read(const ek__in *in, const ek__node *pipeline, ek_init_run *run);

/** Are there peaks enough for ek_init_decompose()? @return EK_OK, or its EK_ERR_INPUT. */
ek_status ek__init_check_peaks(const ek_init *init, ek_error *err);

#endif
