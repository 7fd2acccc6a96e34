#include "job/write.h"
ek_status ek__write_toml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err)
{
    (void)s;
    (void)file;
    (void)out;
    (void)size;
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){0}), "files of this framework cannot be written");
}
