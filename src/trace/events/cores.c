/* Reads the type and the name of an Ascend task: the core of an operator, a copy, or neither. */
#include <string.h>

#include "trace/scan/part.h"

const char *const ek__core_name[EK__N_CORES] = {"N/A",     "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC",
                                                "MIX_AIV", "AI_CPU",  "DSA_SQE",        "Other"};

/* CANN's names of the cores other than ek__core_name: its short names, and those of the host's runtime. */
static const struct {
    const char *name;
    ek__core core;
} core_alias[] = {{"AIC", EK__CORE_AI_CORE},
                  {"AIV", EK__CORE_AI_VECTOR_CORE},
                  {"AIV_SQE", EK__CORE_AI_VECTOR_CORE},
                  {"KERNEL_AICORE", EK__CORE_AI_CORE},
                  {"KERNEL_AIVEC", EK__CORE_AI_VECTOR_CORE},
                  {"KERNEL_MIX_AIC", EK__CORE_MIX_AIC},
                  {"KERNEL_MIX_AIV", EK__CORE_MIX_AIV},
                  {"KERNEL_AICPU", EK__CORE_AI_CPU}};

static bool is(const ek__span *span, const char *text)
{
    return span->size == strlen(text) && memcmp(span->at, text, span->size) == 0;
}

static bool begins_with_any(const ek__span *span, const char *const *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (span->size >= strlen(word[i]) && memcmp(span->at, word[i], strlen(word[i])) == 0)
            return true;
    return false;
}

/* Types, and names of tasks without one, that only wait, signal, move data or manage streams. */
static bool is_no_operator(const ek__span *span)
{
    static const char *const word[] = {
        "EVENT_",      "Event ",     "NOTIFY_",      "Notify ",      "Notify_",      "WRITE_VALUE",  "Write Value",
        "MEM_WRITE_",  "MEM_WAIT_",  "Mem Wait",     "Mem Write",    "PLACE_HOLDER", "PROFILING_",   "MODEL_",
        "STREAM_",     "CAPTURE_",   "STARS_COMMON", "TASK_TIMEOUT", "BARRIER",      "LABEL_",       "Data Context",
        "Invalidate ", "Writeback ", "CMO",          "RDMA",         "ROCCE",        "REDUCE_ASYNC", "Reduce_Inline",
        "hcom_",       "Hccl",       "hccl"};
    return begins_with_any(span, word, sizeof word / sizeof *word);
}

static bool is_copy(const ek__span *span)
{
    static const char *const word[] = {"SDMA", "PCIE_DMA", "MEMCPY", "Memcpy"};
    return begins_with_any(span, word, sizeof word / sizeof *word);
}

/* A type without information: the task's name then decides. */
static bool is_unknown(const ek__span *type)
{
    static const char *const word[] = {"", "Other", "OTHER", "other", "N/A", "UNKNOWN", "Unknown", "INVALID"};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (!type->at || is(type, word[i]))
            return true;
    return false;
}

bool ek__task_is_copy(const ek__span *type, const ek__span *name)
{
    return is_copy(is_unknown(type) ? name : type);
}

ek__core ek__task_core(const ek__span *type, const ek__span *name)
{
    if (!is_unknown(type)) {
        for (int core = EK__CORE_AI_CORE; core < EK__CORE_OTHER; core++)
            if (is(type, ek__core_name[core]))
                return (ek__core)core;
        for (size_t i = 0; i < sizeof core_alias / sizeof *core_alias; i++)
            if (is(type, core_alias[i].name))
                return core_alias[i].core;
    }
    bool known = !is_unknown(type) && (is_no_operator(type) || is_copy(type));
    return known || is_no_operator(name) || is_copy(name) ? EK__CORE_NONE : EK__CORE_OTHER;
}

bool ek__event_is_too_short(int kind, int64_t duration)
{
    /* Shorter waits make no difference, and are most of all tasks. */
    static const int64_t least_wait_ns = 10000;
    return kind == EK__EVENT_WAIT ? duration < least_wait_ns : kind == EK__EVENT_TRANSFER && duration <= 0;
}
