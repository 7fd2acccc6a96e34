/* The text of an init file as a document. What is given in its place most often, the training file of the same job, is
 * answered with the commands that take it. */
#include <stdlib.h>

#include "base/error.h"
#include "dryrun/init.h"
#include "train/train_plan.h"

ek_status ek__dryrun_refuse_training_file(const ek__config_tree *doc, ek_error *err)
{
    if (!ek__is_train(doc) || ek__get(ek__config_root(doc), "memory_usage"))
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, (ek_origin){ek__config_name(doc), 1, 1},
                    "this is a training file, not an init file: `evenkeel memory FILE --layers-out layers.json` makes "
                    "a model for `evenkeel balance --layers layers.json` from it, `evenkeel guide --apply FILE` makes "
                    "the dry runs that an init file reports, and `--from FILE` takes today's plan from it beside a "
                    "model");
}

/* A training file may have aliases, which an init file has not. */
ek_status ek__dryrun_doc_read(const char *path, ek__config_tree **out, ek_error *err)
{
    char *text;
    size_t size;
    const char *name = ek__path_name(path);
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    ek__config_tree *lenient;
    status = ek__config_parse_buffer(name, text, size, out, err);
    if (status == EK_ERR_INPUT && ek__config_parse_buffer_with_aliases(name, text, size, &lenient, NULL) == EK_OK) {
        ek__dryrun_refuse_training_file(lenient, err);
        ek__config_free(lenient);
    }
    free(text);
    return status;
}
