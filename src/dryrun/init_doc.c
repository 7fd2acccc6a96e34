/* Parses the text of an init file. When it is the training file of the same job, the most usual mistake, the error
 * names the commands for training files. */
#include <stdlib.h>

#include "base/error.h"
#include "dryrun/init.h"
#include "job/job_internal.h"
#include "job/mindformers_pipeline.h"

static ek_status refuse(const ek__config_tree *doc, ek_error *err)
{
    return ek__fail(
        err, EK_ERR_INPUT, (ek_origin){ek__config_name(doc), 1, 1},
        "this is a training file, not an init file: `evenkeel memory FILE --layers-out layers.json` makes a model for "
        "`evenkeel balance --layers layers.json` from it, `evenkeel guide --apply FILE` makes the dry runs that an "
        "init file reports, and `--from FILE` reads the current plan from it in addition to a model");
}

ek_status ek__dryrun_refuse_training_file(const ek__config_tree *doc, ek_error *err)
{
    return ek__mf_has_degrees(doc) && !ek__get(ek__config_root(doc), "memory_usage") ? refuse(doc, err) : EK_OK;
}

/* The training file of a framework that has other names for degrees. */
static ek_status refuse_other_job(const ek__config_tree *doc, const char *text, size_t size, ek_error *err)
{
    const ek__node *root = ek__config_root(doc);
    bool is_job = false;
    if (!root || root->kind != EK__MAP || ek__get(root, "memory_usage") || ek__get(root, "pipeline_config"))
        return EK_OK;
    ek_status status = ek__job_has_parts(ek__config_name(doc), text, size, &is_job, err);
    return status || !is_job ? status : refuse(doc, err);
}

/* A training file may have aliases; an init file may not. */
ek_status ek__dryrun_doc_parse(const char *name, const char *text, size_t size, ek__config_tree **out, ek_error *err)
{
    ek__config_tree *lenient;
    ek_status status = ek__config_parse_buffer(name, text, size, out, err);
    if (status == EK_ERR_INPUT && ek__config_parse_buffer_with_aliases(name, text, size, &lenient, NULL) == EK_OK) {
        ek__dryrun_refuse_training_file(lenient, err);
        ek__config_free(lenient);
    }
    if (status == EK_OK && (status = refuse_other_job(*out, text, size, err)) != EK_OK)
        ek__config_free(*out);
    return status;
}

ek_status ek__dryrun_doc_read(const char *path, ek__config_tree **out, ek_error *err)
{
    char *text;
    size_t size;
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    status = ek__dryrun_doc_parse(ek__path_name(path), text, size, out, err);
    free(text);
    return status;
}
