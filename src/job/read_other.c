/* Reads another file that a training file names. */
#include <stdio.h>
#include <sys/stat.h>

#include "job/job_internal.h"

ek_status ek__job_read_other(const ek__job_source *source, const char *name, ek_origin at, const char *taken,
                             ek__config_tree **out)
{
    char path[1024];
    ek_error why = {.message = "its path is too long"};
    ek_status status = EK_ERR_INPUT;
    *out = NULL;
    if (!source->folder)
        return EK_OK;
    struct stat file;
    int n = snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : source->folder, name);
    bool fits = n > 0 && (size_t)n < sizeof path;
    if (fits && stat(path, &file) == 0 && !S_ISREG(file.st_mode))
        snprintf(why.message, sizeof why.message, "it is no file"); /* reading a pipe would block */
    else if (fits)
        status = ek__config_read(path, out, &why);
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(source->err);
    if (status == EK_OK && ek__config_root(*out)->kind == EK__MAP)
        return EK_OK;
    ek__config_free(*out);
    *out = NULL;
    ek__warn(source->listener, at, "%.200s is not read: %s; %s", name,
             status == EK_OK ? "it is no map of settings" : why.message, taken);
    return EK_OK;
}
