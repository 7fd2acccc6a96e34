/* dryrun/init.h - the parts of the reader of init files that tests use. */
#ifndef EK_DRYRUN_INIT_H
#define EK_DRYRUN_INIT_H

#include "base/config_tree.h"
#include "evenkeel/dryrun.h"

/** ek_dryrun_read() of a document. */
ek_status ek__dryrun_from_config(const ek__config_tree *doc, const ek_listener *listener, ek_dryrun *out,
                                 ek_error *err);

/** ek_dryrun_read_shape() of a document. */
ek_status ek__dryrun_shape_from_config(const ek__config_tree *doc, int *n_stages, int *n_rounds, ek_error *err);

/** Read a file that should be an init file; a training file, which may have aliases, is reported as such. */
ek_status ek__dryrun_doc_read(const char *path, ek__config_tree **out, ek_error *err);
/** The same from memory, terminated by a NUL; `name` is the file's name in messages. */
ek_status ek__dryrun_doc_parse(const char *name, const char *text, size_t size, ek__config_tree **out, ek_error *err);

/** EK_ERR_INPUT, with the commands for training files, when the document is one. */
ek_status ek__dryrun_refuse_training_file(const ek__config_tree *doc, ek_error *err);

/** The keys of pipeline_config; NULL at the end. */
extern const char *const ek__pipeline_keys[];

/** Read from pipeline_config the pipeline to balance for. */
ek_status ek__dryrun_run_read(const ek__in *in, const ek__node *pipeline, ek_dryrun_run *run);

/** Are there enough peaks for ek_dryrun_decompose()? @return EK_OK, or its EK_ERR_INPUT. */
ek_status ek__dryrun_check_peaks(const ek_dryrun *init, ek_error *err);

#endif
