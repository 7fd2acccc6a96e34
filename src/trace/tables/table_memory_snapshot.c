/* Reads a memory snapshot of PyTorch (_dump_snapshot() of torch.cuda.memory or of torch_npu), pickled or as JSON: the
 * allocator's segments with their blocks at the end, and its history before, device by device. Each device becomes a
 * map of blocks. The events of a microsecond are put a nanosecond apart, so that their order is preserved. Stacks are
 * shared in a pickle: each is turned into text once. External annotations and the allocator's settings are not read. */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "trace/events/block_map.h"
#include "trace/events/memory_sites.h"
#include "trace/tables/files.h"
#include "trace/text/left_out.h"
#include "trace/text/pickle.h"
#include "trace/text/side_json.h"

enum { MAX_DEVICES = 1024, PLACE_SIZE = 512, STACK_SIZE = 8192 };
static const int64_t MOST_ADDRESS = INT64_C(1) << 58, MOST_US = INT64_C(1) << 53;

typedef struct device {
    size_t n, capacity, n_blocks, blocks_capacity, n_segments, segments_capacity;
    ek__block_event *event;
    ek__block_left *block, *segment;
    int64_t begin, last, n_out_of_memory, out_of_memory_time, out_of_memory_bytes;
    bool is_ticked;
    int64_t rounding; /* EK_TRACE_UNKNOWN: not in the file */
} device;

/* The text of a stack; the site is that of the stack only. */
typedef struct seen_stack {
    int site, stack;
} seen_stack;

typedef struct snapshot {
    ek__data data;
    ek__block_names names;
    seen_stack *seen; /* [data.n_lists]; site -1: not yet */
    device *device;
    ek__left_out left;
    int64_t n_events;
} snapshot;

static const ek__data_list *list_of(const snapshot *s, const ek__data_list *dict, const char *key)
{
    ek__datum value;
    return ek__data_member(&s->data, dict, key, &value) ? ek__data_list_of(&s->data, value, EK__DATA_LIST) : NULL;
}

static const char *text_of(const snapshot *s, const ek__data_list *dict, const char *key)
{
    ek__datum value;
    return ek__data_member(&s->data, dict, key, &value) ? ek__data_text_of(&s->data, value) : NULL;
}

static bool number_of(const snapshot *s, const ek__data_list *dict, const char *key, int64_t least, int64_t most,
                      int64_t *out)
{
    ek__datum value;
    int64_t number;
    if (!ek__data_member(&s->data, dict, key, &value) || !ek__data_int_of(&s->data, value, &number) || number < least ||
        number > most)
        return false;
    *out = number;
    return true;
}

/* ---- stacks ---- */

static bool contains(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/* Properties from the frames of a stack, gathered from the innermost one outwards. */
typedef struct signs {
    bool communication, optimizer, backward, forward, forward_in_backward, parameters;
} signs;

static void look_at_frame(const char *file, const char *name, signs *s)
{
    static const char *const makers[] = {"__init__", "_apply", "load_state_dict", "reset_parameters", "_init_weights"};
    s->communication |= contains(file, "distributed_c10d") || contains(name, "c10d::");
    s->optimizer |= contains(file, "/optim/") || contains(file, "optimizer");
    if (contains(name, "ackward") || contains(name, "autograd::Engine")) {
        s->forward_in_backward |= s->forward && !s->backward;
        s->backward = true;
    }
    s->forward |= strncmp(name, "forward", 7) == 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        s->parameters |= strcmp(name, makers[i]) == 0;
}

static ek_block_role role_of_signs(const signs *s)
{
    if (s->communication)
        return EK_BLOCK_COMMUNICATION;
    if (s->optimizer)
        return EK_BLOCK_OPTIMIZER;
    if (s->backward)
        return s->forward_in_backward ? EK_BLOCK_RECOMPUTE : EK_BLOCK_BACKWARD;
    if (s->forward)
        return EK_BLOCK_FORWARD;
    return s->parameters ? EK_BLOCK_PARAMETERS : EK_BLOCK_OTHER;
}

/* The word that newer versions write with an allocation. */
static ek_block_role role_of_word(const char *word)
{
    static const struct {
        const char *word;
        ek_block_role role;
    } words[] = {{"ptimizer", EK_BLOCK_OPTIMIZER},  {"OPTIMIZER", EK_BLOCK_OPTIMIZER},
                 {"rad", EK_BLOCK_BACKWARD},        {"GRAD", EK_BLOCK_BACKWARD},
                 {"arameter", EK_BLOCK_PARAMETERS}, {"PARAMETER", EK_BLOCK_PARAMETERS},
                 {"ctivation", EK_BLOCK_FORWARD},   {"ACTIVATION", EK_BLOCK_FORWARD}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (contains(word, words[i].word))
            return words[i].role;
    return EK_BLOCK_OTHER;
}

/* Text that grows in a fixed room; the rest is dropped. */
typedef struct line_text {
    size_t n;
    char at[STACK_SIZE];
} line_text;

__attribute__((format(printf, 2, 3))) static void add(line_text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = ek__vsnprintf(t->at + t->n, sizeof t->at - t->n, format, arguments);
    va_end(arguments);
    if (n > 0 && t->n + (size_t)n < sizeof t->at)
        t->n += (size_t)n;
    else
        t->at[t->n] = '\0';
}

static bool is_python(const char *file)
{
    return contains(file, ".py") || file[0] == '<';
}

static bool has_python(const snapshot *s, const ek__data_list *frames)
{
    for (uint32_t i = 0; i < frames->n; i++) {
        const ek__data_list *frame = ek__data_list_of(&s->data, frames->item[i], EK__DATA_DICT);
        const char *file = frame ? text_of(s, frame, "filename") : NULL;
        if (file && is_python(file))
            return true;
    }
    return false;
}

/* The stack's lines, its place in the form of ek__tracker_place(), and its signs. Frames of C++ are dropped where the
 * program's own are there. */
static void write_stack(const snapshot *s, const ek__data_list *frames, line_text *lines, line_text *places,
                        signs *sign)
{
    bool python = has_python(s, frames);
    int n = 0;
    for (uint32_t i = 0; i < frames->n; i++) {
        const ek__data_list *frame = ek__data_list_of(&s->data, frames->item[i], EK__DATA_DICT);
        const char *file = frame ? text_of(s, frame, "filename") : NULL;
        const char *name = frame ? text_of(s, frame, "name") : NULL;
        int64_t line = 0;
        if (!file || !name)
            continue;
        look_at_frame(file, name, sign);
        if ((python && !is_python(file)) || n++ >= EK_TRACE_MAX_STACK_FRAMES)
            continue;
        number_of(s, frame, "line", 0, INT_MAX, &line);
        add(lines, "%s%s:%" PRId64 " %s", lines->n > 0 ? "\n" : "", file, line, name);
        add(places, "%sFile:%s;Line:%" PRId64 ";Function:%s", places->n > 0 ? "|" : "", file, line, name);
    }
}

static ek_status make_stack(snapshot *s, const ek__data_list *frames, const char *word, seen_stack *out, ek_error *err)
{
    line_text lines = {.n = 0}, places = {.n = 0};
    char place[PLACE_SIZE] = "(no stack)";
    signs sign = {0};
    lines.at[0] = places.at[0] = '\0';
    if (frames)
        write_stack(s, frames, &lines, &places, &sign);
    ek__tracker_place(places.at, place, sizeof place);
    ek_block_role role = word ? role_of_word(word) : EK_BLOCK_OTHER;
    role = role == EK_BLOCK_OTHER ? role_of_signs(&sign) : role;
    out->site = ek__block_site(&s->names, role, place);
    out->stack = lines.n > 0 ? (int)ek__texts_intern(&s->names.stacks, lines.at, lines.n) : -1;
    return out->site < 0 || (lines.n > 0 && out->stack < 0) ? ek__no_memory(err) : EK_OK;
}

/* Of an allocation or a block. Stacks without a word of their own are cached by their list. */
static ek_status find_stack(snapshot *s, const ek__data_list *dict, seen_stack *out, ek_error *err)
{
    const ek__data_list *frames = list_of(s, dict, "frames");
    const char *word = text_of(s, dict, "category");
    word = word ? word : text_of(s, dict, "user_metadata");
    if (!frames || (word && *word))
        return make_stack(s, frames, word, out, err);
    seen_stack *seen = &s->seen[frames - s->data.list];
    ek_status status = seen->site < 0 ? make_stack(s, frames, NULL, seen, err) : EK_OK;
    *out = *seen;
    return status;
}

/* ---- events ---- */

static bool action_of(const char *word, ek__block_action *out)
{
    static const char *const words[] = {
        [EK__BLOCK_ALLOC] = "alloc",
        [EK__BLOCK_FREE_REQUESTED] = "free_requested",
        [EK__BLOCK_FREE_COMPLETED] = "free_completed",
        [EK__SEGMENT_ALLOC] = "segment_alloc",
        [EK__SEGMENT_FREE] = "segment_free",
        [EK__SEGMENT_MAP] = "segment_map",
        [EK__SEGMENT_UNMAP] = "segment_unmap",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (ek__block_action)i;
            return true;
        }
    return false;
}

/* Times rise by a nanosecond at least. Snapshots before 2.1 have none: the number of the event is used as microseconds.
 */
static int64_t next_time(const snapshot *s, device *d, const ek__data_list *dict, int64_t n)
{
    int64_t us = 0, time;
    bool told = number_of(s, dict, "time_us", 0, MOST_US, &us);
    d->is_ticked |= n == 0 && !told;
    if (d->is_ticked)
        time = n * 1000;
    else if (n == 0)
        time = us * 1000;
    else
        time = told && us * 1000 > d->last ? us * 1000 : d->last + 1;
    d->last = time;
    return time;
}

static ek_status add_event(snapshot *s, device *d, const ek__data_list *dict, int64_t n, int number, ek_error *err)
{
    ek__block_event e = {.site = -1, .stack = -1};
    const char *word = text_of(s, dict, "action");
    e.time = next_time(s, d, dict, n);
    if (word && strcmp(word, "oom") == 0) {
        d->n_out_of_memory++;
        d->out_of_memory_time = e.time;
        number_of(s, dict, "size", 0, EK__BLOCK_MOST_BYTES, &d->out_of_memory_bytes);
        return EK_OK;
    }
    if (word && !action_of(word, &e.action))
        return EK_OK; /* "snapshot", and the further members of newer versions */
    if (!word || !number_of(s, dict, "addr", 0, MOST_ADDRESS, &e.address) ||
        !number_of(s, dict, "size", 0, EK__BLOCK_MOST_BYTES, &e.bytes)) {
        ek__left_out_add(&s->left, "event %" PRId64 " of device %d has no action, address or size", n, number);
        return EK_OK;
    }
    if (e.action == EK__BLOCK_ALLOC) {
        seen_stack found;
        ek_status status = find_stack(s, dict, &found, err);
        if (status)
            return status;
        e.site = found.site;
        e.stack = found.stack;
    }
    ek__block_event *larger = ek__with_room(d->event, &d->capacity, d->n + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(err);
    d->event = larger;
    d->event[d->n++] = e;
    return EK_OK;
}

static ek_status read_events(snapshot *s, const ek__data_list *traces, ek_error *err)
{
    ek_status status = EK_OK;
    for (uint32_t i = 0; i < traces->n && i < MAX_DEVICES && !status; i++) {
        const ek__data_list *trace = ek__data_list_of(&s->data, traces->item[i], EK__DATA_LIST);
        device *d = &s->device[i];
        for (uint32_t k = 0; trace && k < trace->n && !status; k++) {
            const ek__data_list *dict = ek__data_list_of(&s->data, trace->item[k], EK__DATA_DICT);
            s->n_events++;
            if (dict)
                status = add_event(s, d, dict, k, (int)i, err);
            else
                ek__left_out_add(&s->left, "event %" PRIu32 " of device %" PRIu32 " is no dictionary", k, i);
            d->begin = k == 0 ? d->last : d->begin;
        }
    }
    return status;
}

/* ---- memory at the end ---- */

static ek_status push(ek__block_left **array, size_t *n, size_t *capacity, ek__block_left one, ek_error *err)
{
    ek__block_left *larger = ek__with_room(*array, capacity, *n + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(err);
    *array = larger;
    larger[(*n)++] = one;
    return EK_OK;
}

/* *at: the start of a block without an address of its own; moved after it. */
static ek_status add_left_block(snapshot *s, device *d, const ek__data_list *dict, int64_t *at, ek_error *err)
{
    ek__block_left one = {.stack = -1};
    int64_t size;
    const char *state = text_of(s, dict, "state");
    if (!state || !number_of(s, dict, "size", 0, EK__BLOCK_MOST_BYTES, &size)) {
        ek__left_out_add(&s->left, "a block of the segment at address %" PRId64 " has no size or state", *at);
        return EK_OK;
    }
    number_of(s, dict, "address", 0, MOST_ADDRESS, at);
    one.address = *at;
    *at = *at + size <= MOST_ADDRESS ? *at + size : *at;
    if (strncmp(state, "active", 6) != 0)
        return EK_OK;
    bool told = number_of(s, dict, "requested_size", 0, size, &one.bytes);
    if (!told)
        one.bytes = size;
    else
        d->rounding = (d->rounding == EK_TRACE_UNKNOWN ? 0 : d->rounding) + (size - one.bytes);
    seen_stack found;
    ek_status status = find_stack(s, dict, &found, err);
    one.site = found.site;
    one.stack = found.stack;
    return status ? status : push(&d->block, &d->n_blocks, &d->blocks_capacity, one, err);
}

static ek_status add_segment(snapshot *s, const ek__data_list *dict, ek_error *err)
{
    ek__block_left one = {.site = -1, .stack = -1};
    int64_t number = 0;
    ek__datum joins;
    if (!number_of(s, dict, "address", 0, MOST_ADDRESS, &one.address) ||
        !number_of(s, dict, "total_size", 0, EK__BLOCK_MOST_BYTES, &one.bytes)) {
        ek__left_out_add(&s->left, "a segment has no address or total_size");
        return EK_OK;
    }
    if (!number_of(s, dict, "device", 0, MAX_DEVICES - 1, &number) && text_of(s, dict, "device"))
        number = 0;
    one.joins = ek__data_member(&s->data, dict, "is_expandable", &joins) && joins == ek__data_bool(true);
    device *d = &s->device[number];
    ek_status status = push(&d->segment, &d->n_segments, &d->segments_capacity, one, err);
    const ek__data_list *blocks = list_of(s, dict, "blocks");
    int64_t at = one.address;
    for (uint32_t i = 0; blocks && i < blocks->n && !status; i++) {
        const ek__data_list *block = ek__data_list_of(&s->data, blocks->item[i], EK__DATA_DICT);
        if (block)
            status = add_left_block(s, d, block, &at, err);
        else
            ek__left_out_add(&s->left, "a block of the segment at address %" PRId64 " is no dictionary", one.address);
    }
    return status;
}

static ek_status read_segments(snapshot *s, const ek__data_list *segments, ek_error *err)
{
    ek_status status = EK_OK;
    for (uint32_t i = 0; i < segments->n && !status; i++) {
        const ek__data_list *dict = ek__data_list_of(&s->data, segments->item[i], EK__DATA_DICT);
        if (dict)
            status = add_segment(s, dict, err);
        else
            ek__left_out_add(&s->left, "segment %" PRIu32 " is no dictionary", i);
    }
    return status;
}

/* ---- maps ---- */

static ek_status add_map(snapshot *s, const ek__table_in *in, const device *d, int number, bool tells_end,
                         ek_error *err)
{
    ek_trace_memory *memory = &in->rank->memory;
    const char *slash = strrchr(in->path, '/');
    ek_trace_block_map map = {.has_addresses = true,
                              .is_ticked = d->is_ticked || d->n == 0,
                              .begin = d->begin,
                              .end = d->last,
                              .n_rows = (int64_t)d->n,
                              .rounding_bytes = d->rounding,
                              .n_out_of_memory = d->n_out_of_memory,
                              .out_of_memory_time = d->out_of_memory_time,
                              .out_of_memory_bytes = d->out_of_memory_bytes};
    const ek__block_history history = {d->event,    d->n,          d->block,  d->segment,
                                       d->n_blocks, d->n_segments, tells_end, d->last};
    ek__block_list list = {0};
    map.name = ek__pool_format(in->rank->pool, "%s, device %d", slash ? slash + 1 : in->path, number);
    ek_status status = map.name ? ek__block_history_pair(&history, &list, err) : ek__no_memory(err);
    status = status ? status
                    : ek__block_map_make(&list, &s->names, EK__BLOCK_ROUNDING, ek__most_blocks(in), in->rank->pool,
                                         &map, err);
    ek__block_list_clear(&list);
    return status ? status : ek__memory_add_map(memory, &map, in->rank->pool, err);
}

static ek_status add_maps(snapshot *s, const ek__table_in *in, bool tells_end, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < MAX_DEVICES && !status; i++) {
        const device *d = &s->device[i];
        if (d->n > 0 || d->n_segments > 0 || d->n_out_of_memory > 0)
            status = add_map(s, in, d, i, tells_end, err);
    }
    return status;
}

static ek_status wrong(const ek__table_in *in, ek_error *err, const char *what)
{
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){in->path, 0, 0}),
                    "is no memory snapshot of PyTorch: %s; give the output of torch.cuda.memory._dump_snapshot() or "
                    "torch_npu.npu.memory._dump_snapshot(), or the same data written by json.dump()",
                    what);
}

static ek_status read_snapshot(snapshot *s, ek__datum root, const ek__table_in *in, ek_error *err)
{
    const ek__data_list *all = ek__data_list_of(&s->data, root, EK__DATA_DICT);
    if (!all)
        return wrong(in, err, "it contains no dictionary");
    const ek__data_list *segments = list_of(s, all, "segments"), *traces = list_of(s, all, "device_traces");
    if (!segments && !traces)
        return wrong(in, err, "its dictionary has neither segments nor device_traces");
    s->device = ek__alloc(MAX_DEVICES, sizeof *s->device);
    s->seen = ek__alloc(s->data.n_lists, sizeof *s->seen);
    if (!s->device || !s->seen)
        return ek__no_memory(err);
    for (int i = 0; i < MAX_DEVICES; i++)
        s->device[i].rounding = EK_TRACE_UNKNOWN;
    for (size_t i = 0; i < s->data.n_lists; i++)
        s->seen[i].site = -1;
    ek_status status = traces ? read_events(s, traces, err) : EK_OK;
    if (!status && segments)
        status = read_segments(s, segments, err);
    return status ? status : add_maps(s, in, segments != NULL, err);
}

static ek_status read_tree(snapshot *s, const ek__table_in *in, ek__datum *root, ek_error *err)
{
    char head[4] = "";
    FILE *file = fopen(in->path, "rb");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    bool packed = n >= 2 && head[0] == 0x1f && (unsigned char)head[1] == 0x8b;
    if (packed || ek__is_pickle(head, n) || n < 2)
        return ek__pickle_read(in->path, &s->data, root, &in->source->bytes, err);
    json_t *json;
    ek_status status = ek__side_json_read(in, &json, err);
    if (status)
        return status;
    status = ek__data_from_json(&s->data, json, root, err);
    json_decref(json);
    return status;
}

static void clear(snapshot *s)
{
    for (int i = 0; s->device && i < MAX_DEVICES; i++) {
        free(s->device[i].event);
        free(s->device[i].block);
        free(s->device[i].segment);
    }
    free(s->device);
    free(s->seen);
    ek__block_names_clear(&s->names);
    ek__data_clear(&s->data);
}

ek_status ek__table_memory_snapshot(const ek__table_in *in, ek_error *err)
{
    snapshot s = {0};
    ek__datum root = ek__data_none();
    ek_status status = read_tree(&s, in, &root, err);
    status = status ? status : read_snapshot(&s, root, in, err);
    status = status ? status : ek__left_out_report(&s.left, "entry", "entries", NULL, in, err);
    in->source->items = s.n_events;
    clear(&s);
    if (status == EK_ERR_INPUT && err && !err->file[0]) { /* a limit of the tree or of the blocks was reached */
        ek_error plain = *err;
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){in->path, 0, 0}), "%s", plain.message);
    }
    return status;
}
