/* Classifies every event for colours and sums: by its category and arguments, then its name, then its process. Uses the
 * same facts as src/trace/scan/classify.c, which classifies only events that analyses need.
 */
#include "index/kinds.h"

#include <assert.h>
#include <string.h>

static bool is_text(const ek__span *span, const char *text)
{
    size_t size = strlen(text);
    return span->size == size && memcmp(span->at, text, size) == 0;
}

static bool starts(const char *name, size_t size, const char *with)
{
    size_t n = strlen(with);
    return size >= n && memcmp(name, with, n) == 0;
}

static bool ends(const char *name, size_t size, const char *with)
{
    size_t n = strlen(with);
    return size >= n && memcmp(name + size - n, with, n) == 0;
}

/* ASCII letters of either case; `what` is lower case. */
static bool contains(const char *name, size_t size, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= size; i++) {
        size_t j = 0;
        while (j < n && (name[i + j] | 0x20) == what[j])
            j++;
        if (j == n)
            return true;
    }
    return false;
}

/* ---- when it is read ---- */

static ek__index_kind kind_of_task(const ek__span *type, const ek__span *name)
{
    if (ek__task_core(type, name) != EK__CORE_NONE)
        return EK__KIND_OPERATOR;
    if (ek__task_is_copy(type, name))
        return EK__KIND_TASK_COPY;
    return contains(type->at, type->size, "wait") || contains(name->at, name->size, "wait") ? EK__KIND_TASK_WAIT
                                                                                            : EK__KIND_TASK;
}

static ek__index_kind kind_by_arguments(const ek__block *block, const ek__raw_event *raw)
{
    size_t at = 0;
    ek__span key, value;
    ek__index_kind kind = EK__KIND_PLAIN;
    while (raw->args.at && ek__walk_member(block, &raw->args, &at, &key, &value)) {
        if (is_text(&key, "Task Type"))
            return kind_of_task(&value, &raw->name);
        if (is_text(&key, "notify_id") || is_text(&key, "task type"))
            kind = EK__KIND_SUBTASK;
    }
    return kind;
}

ek__index_kind ek__kind_of(const ek__block *block, const ek__raw_event *raw, ek__category category)
{
    switch (category) {
    case EK__CATEGORY_NONE:
        return kind_by_arguments(block, raw);
    case EK__CATEGORY_KERNEL:
        return EK__KIND_KERNEL;
    case EK__CATEGORY_COPY:
        return EK__KIND_COPY;
    case EK__CATEGORY_SET:
        return EK__KIND_SET;
    case EK__CATEGORY_RUNTIME:
        return EK__KIND_RUNTIME;
    case EK__CATEGORY_HOST_OP:
    case EK__CATEGORY_ENQUEUE:
    case EK__CATEGORY_DEQUEUE:
        return EK__KIND_FRAMEWORK;
    case EK__CATEGORY_USER:
    case EK__CATEGORY_DEVICE_USER:
        return EK__KIND_USER;
    case EK__CATEGORY_PYTHON:
        return EK__KIND_PYTHON;
    case EK__CATEGORY_ITERATION:
        return EK__KIND_ITERATION;
    default:
        return EK__KIND_PLAIN;
    }
}

/* ---- names ---- */

static bool is_runtime_name(const char *name, size_t size)
{
    static const char *const layer[] = {"AscendCL@", "Node@", "Hccl@", "Runtime@", "GE@", "Model@"};
    for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
        if (starts(name, size, layer[i]))
            return true;
    return false;
}

static bool is_iteration(const char *name, size_t size)
{
    const size_t n = sizeof "Iteration " - 1;
    return starts(name, size, "Iteration ") && size > n && name[n] >= '0' && name[n] <= '9';
}

ek__name_meaning ek__meaning_of_name(const char *name, size_t size)
{
    static const struct {
        const char *name;
        ek__name_meaning meaning;
    } whole[] = {
        {"Computing", EK__NAME_COMPUTING},
        {"Communication", EK__NAME_COMMUNICATION},
        {"Communication(Not Overlapped)", EK__NAME_NOT_OVERLAPPED},
        {"Communication(Not OverLapped)", EK__NAME_NOT_OVERLAPPED},
        {"Free", EK__NAME_FREE},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (size == strlen(whole[i].name) && memcmp(name, whole[i].name, size) == 0)
            return whole[i].meaning;
    bool waits = contains(name, size, "synchronize");
    if (is_runtime_name(name, size))
        return waits ? EK__NAME_RUNTIME_WAIT : EK__NAME_RUNTIME;
    if (starts(name, size, "ProfilerStep#"))
        return EK__NAME_STEP;
    if (is_iteration(name, size))
        return EK__NAME_ITERATION;
    if (starts(name, size, "enumerate(DataLoader)#"))
        return EK__NAME_DATA_LOADING;
    if (starts(name, size, "hcom_"))
        return EK__NAME_COLLECTIVE;
    if (ends(name, size, "AicpuKernel") || ends(name, size, "AivKernel"))
        return EK__NAME_COLLECTIVE_PART;
    if (contains(name, size, "nccl") || contains(name, size, "rccl"))
        return EK__NAME_COLLECTIVE_KERNEL;
    if (contains(name, size, "getnext"))
        return EK__NAME_NEXT_DATA;
    return waits ? EK__NAME_WAIT : EK__NAME_PLAIN;
}

/* ---- both, and the process ---- */

static ek_view_type type_of_overlap(ek__name_meaning name)
{
    switch (name) {
    case EK__NAME_COMPUTING:
        return EK_VIEW_OVERLAP_COMPUTING;
    case EK__NAME_COMMUNICATION:
        return EK_VIEW_OVERLAP_COMMUNICATION;
    case EK__NAME_NOT_OVERLAPPED:
        return EK_VIEW_OVERLAP_NOT_OVERLAPPED;
    default:
        return EK_VIEW_IDLE;
    }
}

/* Classes that depend only on the process. */
static ek_view_type type_by_process(ek__name_meaning name, const ek__track *track, bool no_metadata)
{
    if (no_metadata)
        return track->pid_number == 10000 ? EK_VIEW_COMMUNICATION : EK_VIEW_COMPUTING;
    switch (track->layer) {
    case EK__LAYER_SCOPE:
        return EK_VIEW_SCOPE;
    case EK__LAYER_COMMUNICATION:
        return ek__track_is_plane(track) ? EK_VIEW_COMMUNICATION_TASK : EK_VIEW_COMMUNICATION;
    case EK__LAYER_PYTHON:
    case EK__LAYER_MINDSPORE:
    case EK__LAYER_CPU_OP:
        return name == EK__NAME_NEXT_DATA ? EK_VIEW_DATA_LOADING
               : name == EK__NAME_WAIT    ? EK_VIEW_WAIT
                                          : EK_VIEW_HOST_FRAMEWORK;
    case EK__LAYER_CANN:
        return name == EK__NAME_WAIT ? EK_VIEW_WAIT : EK_VIEW_HOST_RUNTIME;
    default:
        return EK_VIEW_OTHER;
    }
}

static bool is_host(const ek__track *track)
{
    return track->layer == EK__LAYER_CANN || track->layer == EK__LAYER_PYTHON || track->layer == EK__LAYER_MINDSPORE ||
           track->layer == EK__LAYER_CPU_OP || track->layer == EK__LAYER_SCOPE;
}

static ek_view_type type_of_plain(ek__index_kind kind, ek__name_meaning name, const ek__track *track, bool no_metadata)
{
    if (name >= EK__NAME_COMPUTING && (track->layer == EK__LAYER_OVERLAP || !track->process))
        return type_of_overlap(name);
    if (name == EK__NAME_RUNTIME)
        return EK_VIEW_HOST_RUNTIME;
    if (name == EK__NAME_RUNTIME_WAIT)
        return EK_VIEW_WAIT;
    switch (kind) {
    case EK__KIND_OPERATOR:
        return name == EK__NAME_COLLECTIVE_PART ? EK_VIEW_COMMUNICATION_TASK : EK_VIEW_COMPUTING;
    case EK__KIND_TASK_COPY:
        return EK_VIEW_COPY;
    case EK__KIND_TASK_WAIT:
        return EK_VIEW_WAIT;
    case EK__KIND_TASK:
        return EK_VIEW_OTHER;
    case EK__KIND_SUBTASK:
        return EK_VIEW_COMMUNICATION_TASK;
    default:
        break;
    }
    if (name == EK__NAME_COLLECTIVE && !is_host(track))
        return ek__track_is_plane(track) ? EK_VIEW_COMMUNICATION_TASK : EK_VIEW_COMMUNICATION;
    return type_by_process(name, track, no_metadata);
}

static ek_view_type type_by_category(ek__index_kind kind, ek__name_meaning name)
{
    assert(kind > EK__KIND_SUBTASK);
    switch (kind) {
    case EK__KIND_KERNEL:
        return name == EK__NAME_COLLECTIVE_KERNEL ? EK_VIEW_COMMUNICATION : EK_VIEW_COMPUTING;
    case EK__KIND_COPY:
        return EK_VIEW_COPY;
    case EK__KIND_SET:
        return EK_VIEW_SET;
    case EK__KIND_RUNTIME:
        return name == EK__NAME_WAIT ? EK_VIEW_WAIT : EK_VIEW_HOST_RUNTIME;
    case EK__KIND_FRAMEWORK:
        return EK_VIEW_HOST_FRAMEWORK;
    case EK__KIND_PYTHON:
        return EK_VIEW_HOST_PYTHON;
    case EK__KIND_ITERATION:
        return name == EK__NAME_ITERATION ? EK_VIEW_STEP : EK_VIEW_OTHER;
    default:
        return EK_VIEW_MARK;
    }
}

ek_view_type ek__type_of(ek__index_kind kind, ek__name_meaning name, const ek__track *track, bool no_metadata)
{
    assert(kind >= EK__KIND_PLAIN && kind <= EK__KIND_INSTANT && name >= EK__NAME_PLAIN && name <= EK__NAME_FREE);
    bool device = kind == EK__KIND_KERNEL || kind == EK__KIND_COPY || kind == EK__KIND_SET;
    if (name == EK__NAME_STEP && !device && kind != EK__KIND_INSTANT)
        return EK_VIEW_STEP;
    if (name == EK__NAME_DATA_LOADING && !device && kind != EK__KIND_INSTANT)
        return EK_VIEW_DATA_LOADING;
    return kind <= EK__KIND_SUBTASK ? type_of_plain(kind, name, track, no_metadata) : type_by_category(kind, name);
}

/* ---- tracks ---- */

static ek__track_class class_of_type(ek_view_type type)
{
    switch (type) {
    case EK_VIEW_COMPUTING:
    case EK_VIEW_COPY:
    case EK_VIEW_SET:
        return EK__TRACK_COMPUTE;
    case EK_VIEW_COMMUNICATION:
    case EK_VIEW_COMMUNICATION_TASK:
        return EK__TRACK_COMMUNICATION;
    case EK_VIEW_HOST_FRAMEWORK:
    case EK_VIEW_HOST_PYTHON:
    case EK_VIEW_DATA_LOADING:
        return EK__TRACK_HOST;
    case EK_VIEW_HOST_RUNTIME:
    case EK_VIEW_WAIT:
        return EK__TRACK_RUNTIME;
    case EK_VIEW_STEP:
        return EK__TRACK_STEP;
    case EK_VIEW_OVERLAP_COMPUTING:
    case EK_VIEW_OVERLAP_COMMUNICATION:
    case EK_VIEW_OVERLAP_NOT_OVERLAPPED:
    case EK_VIEW_IDLE:
        return EK__TRACK_OVERLAP;
    default:
        return EK__TRACK_OTHER;
    }
}

/* The most frequent type of its events; marks and steps only if there is no other. A GPU stream is a compute stream if
 * any event on it computes. */
static ek__track_class class_of_events(const uint64_t *count)
{
    uint64_t n[EK__N_TRACK_CLASSES] = {0};
    int most = EK__TRACK_OTHER;
    for (int type = 0; type < EK_N_VIEW_TYPES; type++) {
        assert(class_of_type((ek_view_type)type) < EK__N_TRACK_CLASSES);
        n[class_of_type((ek_view_type)type)] += count[type];
    }
    if (n[EK__TRACK_COMPUTE] > 0 && n[EK__TRACK_HOST] == 0 && n[EK__TRACK_OVERLAP] == 0)
        return EK__TRACK_COMPUTE;
    if (n[EK__TRACK_HOST] > 0 && n[EK__TRACK_HOST] + n[EK__TRACK_RUNTIME] >= n[EK__TRACK_OTHER])
        return EK__TRACK_HOST;
    for (int class = 0; class < EK__N_TRACK_CLASSES; class ++)
        if (class != EK__TRACK_STEP && n[class] > n[most])
            most = class;
    return n[most] == 0 && n[EK__TRACK_STEP] > 0 ? EK__TRACK_STEP : (ek__track_class)most;
}

ek__track_class ek__class_of(const ek__track *track, const uint64_t *count)
{
    switch (track->layer) {
    case EK__LAYER_PYTHON:
    case EK__LAYER_MINDSPORE:
    case EK__LAYER_CPU_OP:
        return EK__TRACK_HOST;
    case EK__LAYER_SCOPE:
        return EK__TRACK_SCOPE;
    case EK__LAYER_CANN:
        return EK__TRACK_RUNTIME;
    case EK__LAYER_DEVICE:
        return EK__TRACK_COMPUTE;
    case EK__LAYER_COMMUNICATION:
        return EK__TRACK_COMMUNICATION;
    case EK__LAYER_OVERLAP:
        return EK__TRACK_OVERLAP;
    default:
        return class_of_events(count);
    }
}
