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
