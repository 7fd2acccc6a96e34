/* Stands in, while it is being built, for what is not there yet. Goes before it lands. */
#include "trace/analysis.h"
#include "trace/files.h"

#define STUB_ANALYSIS(name)                                                                                            \
    __attribute__((weak)) ek_status ek__analyse_##name(const ek__trace *t, const ek_trace_options *o,                  \
                                                       ek_trace_rank *r, ek_error *e)                                  \
    {                                                                                                                  \
        (void)t, (void)o, (void)r, (void)e;                                                                            \
        return EK_OK;                                                                                                  \
    }
EK__ANALYSIS_LIST(STUB_ANALYSIS)
#define STUB_COMPARISON(name)                                                                                          \
    __attribute__((weak)) ek_status ek__compare_##name(const ek_trace_options *o, ek_trace_run *r, ek_error *e)        \
    {                                                                                                                  \
        (void)o, (void)r, (void)e;                                                                                     \
        return EK_OK;                                                                                                  \
    }
EK__COMPARISON_LIST(STUB_COMPARISON)
#define STUB_TABLE(name, pattern)                                                                                      \
    __attribute__((weak)) ek_status ek__table_##name(const ek__table_in *in, ek_error *e)                              \
    {                                                                                                                  \
        (void)in, (void)e;                                                                                             \
        return EK_OK;                                                                                                  \
    }
EK__TABLE_LIST(STUB_TABLE)
__attribute__((weak)) ek_status ek__trace_sapp(const ek_trace_options *o, ek_trace_run *r, ek_error *e)
{
    (void)o, (void)r, (void)e;
    return EK_OK;
}
__attribute__((weak)) ek_status ek_trace_to_layers(const ek_trace_run *r, ek_layers *out, char **notes, ek_error *e)
{
    (void)r, (void)out, (void)notes;
    return ek__fail(e, EK_ERR_INPUT, EK__NOWHERE, "not built yet");
}
#include <string.h>
/* Every path is a trace of its own rank. */
__attribute__((weak)) ek_status ek__layout_find(const char *const *path, int n_paths, ek__pool *pool,
                                                const ek_listener *listener, ek__layout *out, ek_error *err)
{
    (void)listener;
    (void)err;
    out->rank = ek__pool_alloc(pool, (size_t)n_paths, sizeof *out->rank);
    for (int i = 0; i < n_paths; i++) {
        ek__rank_file *f = ek__pool_alloc(pool, 1, sizeof *f);
        f->path = path[i];
        f->type = EK__FILE_TRACE;
#define IS(name, pattern)                                                                                              \
    if (strstr(path[i], #name))                                                                                        \
        f->type = EK__FILE_##name;
        EK__TABLE_LIST(IS)
        out->rank[i] = (ek__rank_files){-1, -1, -1, 1, f};
    }
    out->n_ranks = n_paths;
    return EK_OK;
}
__attribute__((weak)) const char *ek__file_type_name(ek__file_type type)
{
    return type == EK__FILE_TRACE ? "trace" : "table";
}
