/* Determines the kind of an event, from its phase, category, name and arguments: the formats of docs/trace.md in one
 * place. Where only the name of its process decides, which may follow later in the file, the event is stored as
 * pending. Calls of the host that no analysis needs are counted and dropped here, so that memory grows with the
 * device's work only. */
#include <limits.h>
#include <string.h>

#include "trace/events/device.h"
#include "trace/events/shapes.h"
#include "trace/scan/part.h"

/* ---- texts ---- */

#define STARTS(span, text)   starts((span), (text), sizeof(text) - 1)
#define EQUALS(span, text)   ((span)->size == sizeof(text) - 1 && starts((span), (text), sizeof(text) - 1))
#define CONTAINS(span, text) contains((span), (text), sizeof(text) - 1)

static inline bool starts(const ek__span *span, const char *text, size_t size)
{
    return span->size >= size && memcmp(span->at, text, size) == 0;
}

static bool ends_with(const ek__span *span, const char *text)
{
    size_t size = strlen(text);
    return span->size >= size && memcmp(span->at + span->size - size, text, size) == 0;
}

static bool contains(const ek__span *span, const char *text, size_t size)
{
    if (span->size < size)
        return false;
    const char *last = span->at + span->size - size;
    for (const char *at = span->at; at <= last; at++) {
        at = memchr(at, text[0], (size_t)(last - at) + 1);
        if (!at)
            return false;
        if (memcmp(at, text, size) == 0)
            return true;
    }
    return false;
}

static bool contains_any_case(const ek__span *span, const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i + size <= span->size; i++) {
        size_t j = 0;
        while (j < size && (span->at[i + j] | 0x20) == (text[j] | 0x20))
            j++;
        if (j == size)
            return true;
    }
    return false;
}

static ek__span behind(const ek__span *span, size_t n)
{
    return (ek__span){span->at + n, span->size - (uint32_t)n, span->quoted};
}

/* ---- numbers ---- */

uint64_t ek__id_number(const ek__span *span)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < span->size; i++) {
        unsigned digit = (unsigned char)span->at[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return ek__texts_hash(span->at, span->size);
        value = 10 * value + digit;
    }
    return value;
}

/* Correlations count up from 1: their low 32 bits are unique within any file that fits a disk. */
static uint32_t link_number(const ek__span *span)
{
    if (!span->at || span->size == 0 || span->at[0] == '-')
        return 0;
    return (uint32_t)ek__id_number(span);
}

/* ---- arguments ---- */

/* The arguments that are used. */
typedef struct details {
    ek__span task_type, correlation, operator_name, full_name;
    ek__span external, dims, types, strides, values; /* of PyTorch */
    ek__span grid, occupancy;                        /* of its kernels */
    ek__span collective, dtype, in_elements, out_elements, group_size, ranks, peer;
    bool is_subtask;
} details;

static void read_detail(details *d, const ek__span *key, const ek__span *value)
{
    if (EQUALS(key, "Task Type"))
        d->task_type = *value;
    else if (EQUALS(key, "correlation"))
        d->correlation = *value;
    else if (EQUALS(key, "External id") || EQUALS(key, "external id"))
        d->external = *value;
    else if (EQUALS(key, "Input Dims") || EQUALS(key, "Input dims"))
        d->dims = *value;
    else if (EQUALS(key, "Input type"))
        d->types = *value;
    else if (EQUALS(key, "Input Strides"))
        d->strides = *value;
    else if (EQUALS(key, "Concrete Inputs"))
        d->values = *value;
    else if (EQUALS(key, "grid"))
        d->grid = *value;
    else if (EQUALS(key, "est. achieved occupancy %"))
        d->occupancy = *value;
    else if (EQUALS(key, "mindspore_op"))
        d->operator_name = *value;
    else if (EQUALS(key, "fullname"))
        d->full_name = *value;
    else if (EQUALS(key, "Collective name"))
        d->collective = *value;
    else if (EQUALS(key, "dtype"))
        d->dtype = *value;
    else if (EQUALS(key, "In msg nelems"))
        d->in_elements = *value;
    else if (EQUALS(key, "Out msg nelems"))
        d->out_elements = *value;
    else if (EQUALS(key, "Group size"))
        d->group_size = *value;
    else if (EQUALS(key, "Process Group Ranks"))
        d->ranks = *value;
    else if (EQUALS(key, "dst rank"))
        d->peer = *value;
    else if (EQUALS(key, "notify_id") || EQUALS(key, "task type"))
        d->is_subtask = true;
}

static void read_details(const ek__block *block, const ek__raw_event *raw, details *d)
{
    size_t at = 0;
    ek__span key, value;
    *d = (details){0};
    if (raw->args.at)
        while (ek__walk_member(block, &raw->args, &at, &key, &value))
            read_detail(d, &key, &value);
}

/* ---- device events of Kineto ---- */

static bool is_collective(const ek__span *name, const ek_trace_options *options)
{
    if (ek__is_collective_kernel(name->at, name->size))
        return true;
    for (int i = 0; options && i < options->n_collectives; i++)
        if (contains_any_case(name, options->collective[i]))
            return true;
    return false;
}

/* Names are few and kernels many: each name is searched once in a block. `number`: of the name. */
static bool is_collective_name(ek__part *part, uint32_t number, const ek__span *name, const ek_trace_options *options)
{
    if (number >= part->n_judged) {
        unsigned char *grown = ek__with_room(part->judged, &part->judged_capacity, number + (size_t)1, 1);
        if (!grown)
            return is_collective(name, options);
        part->judged = grown;
        memset(grown + part->n_judged, 0, number + (size_t)1 - part->n_judged);
        part->n_judged = number + (size_t)1;
    }
    if (!part->judged[number])
        part->judged[number] = is_collective(name, options) ? 2 : 1;
    return part->judged[number] == 2;
}

/* Texts one after the other, with control characters replaced by blanks so that `between` stays the only line break; 0
 * where they do not fit. */
static uint32_t joined(ek__part *part, const ek__span *const *field, size_t n_fields, char between, char *text,
                       size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < n_fields; i++) {
        size_t size = field[i]->at ? field[i]->size : 0;
        if (n + size + 1 > room)
            return 0;
        if (i > 0)
            text[n++] = between;
        for (size_t c = 0; c < size; c++)
            text[n++] = (unsigned char)field[i]->at[c] < ' ' ? ' ' : field[i]->at[c];
    }
    ek__span span = {text, (uint32_t)n, false};
    return ek__part_text(part, &span);
}

/* "allreduce|Float|2049000|2049000|2", with "|[0, 1]" after it where ranks are wanted; 0 without arguments. */
static uint32_t collective_key(ek__part *part, const details *d, bool ranks)
{
    const ek__span *const field[] = {&d->collective,   &d->dtype,      &d->in_elements,
                                     &d->out_elements, &d->group_size, &d->ranks};
    char key[16384];
    if (!d->collective.at || d->collective.size == 0)
        return 0;
    return joined(part, field, ranks ? 6 : 5, '|', key, ranks ? sizeof key : 512);
}

/* "[128, 1, 1]|31", of a kernel; 0 without a grid. */
static uint32_t grid_text(ek__part *part, const details *d)
{
    const ek__span *const field[] = {&d->grid, &d->occupancy};
    char text[256];
    return d->grid.at ? joined(part, field, 2, '|', text, sizeof text) : 0;
}

/* Store an event. Its start is parsed here, since most events of the host are never stored. */
static void push(ek__part *part, const ek__raw_event *raw, ek__event *event, ek__event_kind kind, uint32_t name)
{
    if (!ek__event_time(raw, &event->start)) {
        part->n_odd++;
        return;
    }
    event->kind = (uint8_t)kind;
    event->name = name;
    ek__part_push(part, event);
}

/* The message of a collective, of the host's call or of its kernel, in addition to the event itself. */
static void read_message(ek__part *part, const ek__raw_event *raw, const details *d, uint32_t link, bool kernel)
{
    ek__event event = {.track = (uint16_t)part->last_track, .link = link, .core = kernel};
    event.detail = link ? collective_key(part, d, true) : 0;
    if (event.detail)
        push(part, raw, &event, EK__EVENT_MESSAGE, 0);
}

static void add_device(ek__part *part, const ek__block *block, const ek__raw_event *raw, ek__category meaning,
                       const ek_trace_options *options, ek__event *event)
{
    details d;
    read_details(block, raw, &d);
    part->has_cuda = true;
    event->link = link_number(&d.correlation);
    ek__event_kind kind = meaning == EK__CATEGORY_COPY  ? EK__EVENT_COPY
                          : meaning == EK__CATEGORY_SET ? EK__EVENT_SET
                                                        : EK__EVENT_KERNEL;
    uint32_t name = ek__part_text(part, &raw->name);
    if (kind == EK__EVENT_KERNEL && is_collective_name(part, name, &raw->name, options)) {
        kind = EK__EVENT_COLLECTIVE;
        event->detail = collective_key(part, &d, false);
    } else if (kind == EK__EVENT_KERNEL && options && options->measure)
        event->detail = grid_text(part, &d);
    push(part, raw, event, kind, name);
    if (kind == EK__EVENT_COLLECTIVE && options && options->measure)
        read_message(part, raw, &d, event->link, true);
}

static void add_runtime(ek__part *part, const ek__block *block, const ek__raw_event *raw, ek__event *event)
{
    details d;
    read_details(block, raw, &d);
    part->has_cuda = true;
    event->link = link_number(&d.correlation);
    event->detail = link_number(&d.external);
    bool waits = CONTAINS(&raw->name, "ynchronize");
    part->n_launch += CONTAINS(&raw->name, "Launch");
    part->n_synchronize += waits;
    if (event->link || waits)
        push(part, raw, event, waits ? EK__EVENT_SYNC : EK__EVENT_LAUNCH, ek__part_text(part, &raw->name));
}

/* Name, shapes, types, strides and values, a line each. Operators with lists of very many tensors have no price.
 */
static uint32_t shape_text(ek__part *part, const ek__raw_event *raw, const details *d)
{
    const ek__span *const field[] = {&raw->name, &d->dims, &d->types, &d->strides, &d->values};
    char text[4096];
    return joined(part, field, sizeof field / sizeof *field, '\n', text, sizeof text);
}

/* An operator of the host with its input shapes, or a collective's call. @return false for others */
static bool add_shapes(ek__part *part, const ek__block *block, const ek__raw_event *raw,
                       const ek_trace_options *options, ek__event *event)
{
    details d;
    bool measure = options && options->measure;
    if (!raw->args.at || !(CONTAINS(&raw->args, "Input ") || (measure && CONTAINS(&raw->args, "Collective name"))))
        return false;
    read_details(block, raw, &d);
    event->link = link_number(&d.external);
    bool shaped = event->link && d.dims.at;
    if (shaped) {
        event->detail = ek__shape_number(d.dims.at, d.dims.size);
        if (d.types.at)
            event->detail = 31 * event->detail + ek__shape_number(d.types.at, d.types.size);
        event->detail += event->detail == 0;
        push(part, raw, event, EK__EVENT_SHAPE, measure ? shape_text(part, raw, &d) : 0);
    }
    if (measure && d.collective.at)
        read_message(part, raw, &d, event->link, false);
    return shaped;
}

/* ---- device events of Ascend ---- */

static void add_task(ek__part *part, const ek__raw_event *raw, const details *d, ek__event *event)
{
    event->core = (uint8_t)ek__task_core(&d->task_type, &raw->name);
    event->detail = d->operator_name.at ? ek__part_text(part, &d->operator_name) : 0;
    bool of_communication = ends_with(&raw->name, "AicpuKernel") || ends_with(&raw->name, "AivKernel");
    ek__event_kind kind = event->core != EK__CORE_NONE && !of_communication ? EK__EVENT_KERNEL
                          : ek__task_is_copy(&d->task_type, &raw->name)     ? EK__EVENT_COPY
                                                                            : EK__EVENT_TASK;
    push(part, raw, event, kind, ek__part_text(part, &raw->name));
}

/* The duration of a beginning is not known yet: src/trace/events/halves.c drops those that are too short. */
static bool may_be(int kind, const ek__event *event)
{
    return event->duration == EK__HALF_OPEN || !ek__event_is_too_short(kind, event->duration);
}

/* A task of a collective: its waiting or its transfer. */
static void add_subtask(ek__part *part, const ek__raw_event *raw, const details *d, ek__event *event)
{
    bool notify = STARTS(&raw->name, "Notify");
    if (notify && contains_any_case(&raw->name, "wait") && may_be(EK__EVENT_WAIT, event)) {
        event->detail = d->peer.at ? ek__part_text(part, &d->peer) : 0;
        push(part, raw, event, EK__EVENT_WAIT, ek__part_text(part, &raw->name));
    } else if (!notify && may_be(EK__EVENT_TRANSFER, event))
        push(part, raw, event, EK__EVENT_TRANSFER, ek__part_text(part, &raw->name));
}

static bool add_overlap(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    const ek__span *name = &raw->name;
    ek__event_kind kind;
    if (EQUALS(name, "Computing"))
        kind = EK__EVENT_COMPUTING;
    else if (EQUALS(name, "Communication"))
        kind = EK__EVENT_COMMUNICATION;
    else if (EQUALS(name, "Communication(Not Overlapped)") || EQUALS(name, "Communication(Not OverLapped)"))
        kind = EK__EVENT_NOT_OVERLAPPED;
    else if (EQUALS(name, "Free"))
        kind = EK__EVENT_FREE;
    else
        return false;
    push(part, raw, event, kind, 0);
    return true;
}

/* ---- the host ---- */

static bool read_step(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    static const char mark[] = "ProfilerStep#";
    const char *found = raw->name.at;
    if (!STARTS(&raw->name, "ProfilerStep#"))
        return false;
    ek__span number = {found + sizeof mark - 1, raw->name.size - (uint32_t)sizeof mark + 1, raw->name.quoted};
    event->detail = ek__part_text(part, &number);
    push(part, raw, event, EK__EVENT_STEP, ek__part_text(part, &raw->name));
    return true;
}

/* Events of any host layer. @return false when the kind is unknown */
static bool add_host(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    const ek__span *name = &raw->name;
    if (read_step(part, raw, event))
        return true;
    if (STARTS(name, "enumerate(DataLoader)#"))
        push(part, raw, event, EK__EVENT_DATA, ek__part_text(part, name));
    else if (STARTS(name, "Python GC")) {
        part->n_gc++;
        push(part, raw, event, EK__EVENT_GC, ek__part_text(part, name));
    } else
        return false;
    return true;
}

/* Calls of CANN's layers carry the layer in their name. @return false for other names */
static bool add_cann(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    const ek__span *name = &raw->name;
    const char *at = name->size > 0 ? memchr(name->at, '@', name->size < 12 ? name->size : 12) : NULL;
    if (!at || !(STARTS(name, "AscendCL@") || STARTS(name, "Node@") || STARTS(name, "Hccl@") ||
                 STARTS(name, "Runtime@") || STARTS(name, "GE@") || STARTS(name, "Model@")))
        return false;
    part->n_node_launch += STARTS(name, "Node@launch");
    if (CONTAINS(name, "aclopCompileAndExecute")) {
        part->n_compile++;
        push(part, raw, event, EK__EVENT_COMPILE, ek__part_text(part, name));
    } else if (CONTAINS(name, "ynchronize")) {
        part->n_synchronize++;
        push(part, raw, event, EK__EVENT_SYNC, ek__part_text(part, name));
    }
    return true;
}

/* PyTorch marks the steps of its optimizers, torch_npu as operators. They are operators in addition. */
static void add_optimizer(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    if (STARTS(&raw->name, "Optimizer.step#"))
        push(part, raw, event, EK__EVENT_OPTIMIZER, ek__part_text(part, &raw->name));
}

static void read_python(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    if (STARTS(&raw->name, "nn.Module: ")) {
        ek__span module = behind(&raw->name, sizeof "nn.Module: " - 1);
        push(part, raw, event, EK__EVENT_MODULE, ek__part_text(part, &module));
    } else if (ends_with(&raw->name, ": recompute_fn"))
        push(part, raw, event, EK__EVENT_RECOMPUTE, ek__part_text(part, &raw->name));
    else
        add_host(part, raw, event);
}

/* "Iteration 2"; "FP_BP Time 2" and "Reduce_1_0" are parts of it. */
static void add_iteration(ek__part *part, const ek__raw_event *raw, ek__event *event)
{
    ek__span number = behind(&raw->name, STARTS(&raw->name, "Iteration ") ? sizeof "Iteration " - 1 : 0);
    if (number.size == raw->name.size || number.size == 0 || number.at[0] < '0' || number.at[0] > '9')
        return;
    event->detail = ek__part_text(part, &number);
    push(part, raw, event, EK__EVENT_STEP, ek__part_text(part, &raw->name));
}

/* ---- one event ---- */

/* No category: events of Ascend's layers and of MindSpore. */
static void read_plain(ek__part *part, const ek__block *block, const ek__raw_event *raw, ek__event *event)
{
    details d;
    if (add_overlap(part, raw, event) || add_cann(part, raw, event) || add_host(part, raw, event))
        return;
    read_details(block, raw, &d);
    if (d.task_type.at) {
        add_task(part, raw, &d, event);
        return;
    }
    if (d.is_subtask) {
        add_subtask(part, raw, &d, event);
        return;
    }
    const ek__span *name = &raw->name;
    if (d.full_name.at) {
        part->has_full_names = true;
        event->detail = ek__part_text(part, &d.full_name);
    }
    if (STARTS(name, "hcom_"))
        push(part, raw, event, EK__EVENT_COLLECTIVE, ek__part_text(part, name));
    else
        push(part, raw, event, (ek__event_kind)EK__EVENT_PENDING, ek__part_text(part, name));
}

/* An event with a length, but only the duration of its time is known so far. */
static void add_lasting(ek__part *part, const ek__block *block, const ek__raw_event *raw,
                        const ek_trace_options *options, int64_t duration)
{
    ek__event event = {.track = (uint16_t)part->last_track, .duration = duration};
    switch (part->category[part->last_category].meaning) {
    case EK__CATEGORY_NONE:
        read_plain(part, block, raw, &event);
        break;
    case EK__CATEGORY_KERNEL:
    case EK__CATEGORY_COPY:
    case EK__CATEGORY_SET:
        add_device(part, block, raw, part->category[part->last_category].meaning, options, &event);
        break;
    case EK__CATEGORY_RUNTIME:
        add_runtime(part, block, raw, &event);
        break;
    case EK__CATEGORY_USER:
        add_optimizer(part, raw, &event);
        if (!add_host(part, raw, &event))
            push(part, raw, &event, EK__EVENT_ANNOTATION, ek__part_text(part, &raw->name));
        break;
    case EK__CATEGORY_DEVICE_USER:
        push(part, raw, &event, EK__EVENT_DEVICE_ANNOTATION, ek__part_text(part, &raw->name));
        break;
    case EK__CATEGORY_HOST_OP:
        add_optimizer(part, raw, &event);
        if (!add_host(part, raw, &event))
            add_shapes(part, block, raw, options, &event);
        break;
    case EK__CATEGORY_PYTHON:
        read_python(part, raw, &event);
        break;
    case EK__CATEGORY_ENQUEUE:
        part->has_torch = true;
        part->n_enqueue++;
        break;
    case EK__CATEGORY_DEQUEUE:
        part->n_dequeue++;
        break;
    case EK__CATEGORY_ITERATION:
        add_iteration(part, raw, &event);
        break;
    default:
        add_host(part, raw, &event);
        break;
    }
}

static void add_complete(ek__part *part, const ek__block *block, const ek__raw_event *raw,
                         const ek_trace_options *options)
{
    ek__part_track *track = &part->tracks.at[part->last_track];
    int64_t duration;
    track->n_complete++;
    part->category[part->last_category].n_complete++;
    if (!raw->name.at || !raw->name.quoted || !raw->ts.at || !ek__event_duration(raw, &duration, &part->n_negative)) {
        part->n_odd++;
        return;
    }
    if (__builtin_add_overflow(track->total_ns, duration, &track->total_ns))
        track->total_ns = INT64_MAX;
    add_lasting(part, block, raw, options, duration);
}

/* Its other half may be in another block: the store joins them. An end needs no name. */
static void add_half(ek__part *part, const ek__block *block, const ek__raw_event *raw, const ek_trace_options *options)
{
    const bool begins = raw->phase == 'B';
    const size_t n_before = part->n_events;
    ek__half half = {.track = (uint32_t)part->last_track,
                     .category = part->category[part->last_category].name,
                     .at = n_before,
                     .begins = begins};
    if (!ek__event_time(raw, &half.time) || (begins && (!raw->name.at || !raw->name.quoted))) {
        part->n_odd++;
        return;
    }
    if (begins)
        add_lasting(part, block, raw, options, EK__HALF_OPEN);
    half.kept = part->n_events > n_before;
    ek__half *room = ek__with_room(part->half, &part->halves_capacity, part->n_halves + 1, sizeof *room);
    if (!room) {
        part->out_of_memory = true;
        return;
    }
    part->half = room;
    part->half[part->n_halves++] = half;
}

static void add_flow(ek__part *part, const ek__raw_event *raw)
{
    ek__event event = {.track = (uint16_t)part->last_track, .kind = EK__EVENT_FLOW};
    switch (part->category[part->last_category].meaning) {
    case EK__CATEGORY_HOST_TO_DEVICE:
        event.name = EK__FLOW_HOST_TO_DEVICE;
        break;
    case EK__CATEGORY_ASYNC_NPU:
        event.name = EK__FLOW_ASYNC_NPU;
        if (raw->name.at && STARTS(&raw->name, "mindspore_to"))
            part->has_mindspore_flows = true;
        else
            part->has_torch = true;
        break;
    case EK__CATEGORY_TASK_QUEUE:
        event.name = EK__FLOW_TASK_QUEUE;
        break;
    case EK__CATEGORY_FORWARD_BACKWARD:
        event.name = EK__FLOW_FORWARD_BACKWARD;
        break;
    default:
        return;
    }
    if (!raw->id.at || !ek__event_time(raw, &event.start)) {
        part->n_odd++;
        return;
    }
    event.detail = raw->phase == 's' ? 0 : raw->phase == 'f' ? 1 : 2;
    event.duration = (int64_t)ek__id_number(&raw->id);
    ek__part_push(part, &event);
}

void ek__classify(ek__part *part, const ek__block *block, const ek__raw_event *raw, const ek_trace_options *options)
{
    if (raw->phase == 'X')
        add_complete(part, block, raw, options);
    else if (raw->phase == 'B' || raw->phase == 'E')
        add_half(part, block, raw, options);
    else
        add_flow(part, raw);
}
