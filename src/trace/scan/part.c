/* Reads a block's events one after the other: the properties common to all of them (counts, tracks, categories, texts).
 * classify.c decides the kind of each. */
#include "trace/scan/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

bool ek__part_reset(ek__part *part)
{
    part->n_events = part->n_halves = 0;
    part->n_labels = part->n_categories = 0;
    part->last_track = part->last_category = -1;
    memset(part->by_phase, 0, sizeof part->by_phase);
    part->n_items = part->n_odd = part->n_negative = 0;
    part->n_judged = 0;
    part->n_node_launch = part->n_enqueue = part->n_dequeue = part->n_compile = 0;
    part->n_synchronize = part->n_launch = part->n_gc = 0;
    part->has_full_names = part->has_mindspore_flows = part->has_cuda = part->has_torch = false;
    part->damage = -1;
    part->out_of_memory = part->too_many_tracks = part->has_cut_texts = false;
    memset(part->memo, 0, sizeof part->memo);
    ek__tracks_reset(&part->tracks);
    return ek__texts_reset(&part->texts);
}

void ek__part_clear(ek__part *part)
{
    ek__texts_clear(&part->texts);
    free(part->event);
    free(part->half);
    free(part->label);
    free(part->category);
    ek__tracks_clear(&part->tracks);
    free(part->scratch);
    free(part->judged);
    *part = (ek__part){0};
}

/* ---- texts ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, size_t size, uint32_t *code)
{
    *code = 0;
    if (size < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int value = hex_value(text[i]);
        if (value < 0)
            return false;
        *code = *code << 4 | (uint32_t)value;
    }
    return true;
}

/* "\uXXXX" or a surrogate pair of two, after its "\u". @return bytes taken; 0 for an invalid one, which stays
 * unchanged */
static size_t read_unicode(const char *text, size_t size, uint32_t *code)
{
    uint32_t low;
    if (!read_hex(text, size, code))
        return 0;
    if (*code >= 0xd800 && *code < 0xdc00 && size >= 10 && text[4] == '\\' && text[5] == 'u' &&
        read_hex(text + 6, size - 6, &low) && low >= 0xdc00 && low < 0xe000) {
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        return 10;
    }
    if (*code == 0 || (*code >= 0xd800 && *code < 0xe000))
        *code = 0xfffd;
    return 4;
}

/* A JSON string without its escapes; never longer than before. */
static size_t decode(const char *text, size_t size, char *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\' || i + 1 == size) {
            out[n++] = text[i];
            continue;
        }
        char c = text[++i];
        const char *known = c ? strchr(from, c) : NULL;
        uint32_t code;
        size_t taken;
        if (known)
            out[n++] = to[known - from];
        else if (c == 'u' && (taken = read_unicode(text + i + 1, size - i - 1, &code)) > 0) {
            n += (size_t)ek__utf8_put(code, out + n);
            i += taken;
        } else
            out[n++] = c;
    }
    return n;
}

/* Bytes of a text that are stored, whole characters of UTF-8. */
static size_t kept_bytes(ek__part *part, const char *text, size_t size)
{
    if (size <= EK__MOST_TEXT)
        return size;
    size_t n = EK__MOST_TEXT;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    part->has_cut_texts = true;
    return n;
}

uint32_t ek__part_intern(ek__part *part, ek__texts *texts, const ek__span *span)
{
    const char *text = span->at ? span->at : "";
    size_t size = span->at ? span->size : 0;
    if (span->quoted && memchr(text, '\\', size)) {
        char *room = ek__with_room(part->scratch, &part->scratch_capacity, size, 1);
        if (!room) {
            part->out_of_memory = true;
            return 0;
        }
        part->scratch = room;
        size = decode(text, size, room);
        text = room;
    }
    uint32_t number = ek__texts_intern(texts, text, kept_bytes(part, text, size));
    if (number != UINT32_MAX)
        return number;
    part->out_of_memory = true;
    return 0;
}

/* A place of the memo by size, middle and end, where names of kernels and times differ most. Bytes of a number depend
 * on the machine here, as the hash of texts does; the result of a search does not. */
static inline size_t memo_place(const char *text, uint32_t size)
{
    uint64_t middle = 0, end = 0;
    if (size >= 8) {
        memcpy(&middle, text + size / 2 - 4, 8);
        memcpy(&end, text + size - 8, 8);
    } else {
        for (uint32_t i = 0; i < size; i++)
            end = end << 8 | (unsigned char)text[i];
    }
    uint64_t mixed = (end ^ middle << 7 ^ middle >> 57 ^ size) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> (64 - EK__MEMO_BITS));
}

/* Only texts without a backslash are cached: with one, equal bytes need not be equal texts. */
uint32_t ek__part_text(ek__part *part, const ek__span *span)
{
    if (!span->at)
        return ek__part_intern(part, &part->texts, span);
    uint32_t *memo = &part->memo[memo_place(span->at, span->size)];
    if (*memo) {
        const ek__text_entry *e = &part->texts.entry[*memo - 1];
        if (e->size == span->size && memcmp(part->texts.bytes + e->offset, span->at, span->size) == 0)
            return *memo - 1;
    }
    uint32_t number = ek__part_intern(part, &part->texts, span);
    if (!memchr(span->at, '\\', span->size))
        *memo = number + 1;
    return number;
}

/* ---- tracks and categories ---- */

/* -1 when there is no room for it. */
static int find_track(ek__part *part, const ek__raw_event *raw)
{
    if (part->last_track >= 0) { /* neighbours in a file are mostly of one thread */
        const ek__part_track *last = &part->tracks.at[part->last_track];
        if (ek__same_text(&part->texts, last->pid, &raw->pid) && ek__same_text(&part->texts, last->tid, &raw->tid))
            return part->last_track;
    }
    uint32_t pid = ek__part_text(part, &raw->pid), tid = ek__part_text(part, &raw->tid);
    int number = ek__tracks_find(&part->tracks, pid, tid);
    part->out_of_memory |= number == EK__TRACKS_NO_MEMORY;
    part->too_many_tracks |= number == EK__TRACKS_TOO_MANY;
    return part->last_track = number < 0 ? -1 : number;
}

static ek__category category_meaning(const char *name)
{
    static const struct {
        const char *name;
        ek__category meaning;
    } known[] = {
        {"", EK__CATEGORY_NONE},
        {"kernel", EK__CATEGORY_KERNEL},
        {"Kernel", EK__CATEGORY_KERNEL},
        {"gpu_memcpy", EK__CATEGORY_COPY},
        {"Memcpy", EK__CATEGORY_COPY},
        {"gpu_memset", EK__CATEGORY_SET},
        {"Memset", EK__CATEGORY_SET},
        {"cuda_runtime", EK__CATEGORY_RUNTIME},
        {"cuda_driver", EK__CATEGORY_RUNTIME},
        {"hip_runtime", EK__CATEGORY_RUNTIME},
        {"mtia_runtime", EK__CATEGORY_RUNTIME},
        {"Runtime", EK__CATEGORY_RUNTIME},
        {"cpu_op", EK__CATEGORY_HOST_OP},
        {"Operator", EK__CATEGORY_HOST_OP},
        {"user_annotation", EK__CATEGORY_USER},
        {"gpu_user_annotation", EK__CATEGORY_DEVICE_USER},
        {"python_function", EK__CATEGORY_PYTHON},
        {"enqueue", EK__CATEGORY_ENQUEUE},
        {"dequeue", EK__CATEGORY_DEQUEUE},
        {"Iteration Time", EK__CATEGORY_ITERATION},
        {"HostToDevice", EK__CATEGORY_HOST_TO_DEVICE},
        {"async_npu", EK__CATEGORY_ASYNC_NPU},
        {"async_task_queue", EK__CATEGORY_TASK_QUEUE},
        {"fwdbwd", EK__CATEGORY_FORWARD_BACKWARD},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].meaning;
    return EK__CATEGORY_OTHER;
}

/* Categories are few; the last one is mostly the next one. */
static int find_category(ek__part *part, const ek__span *cat)
{
    ek__span none = {"", 0, true};
    const ek__span *span = cat->at ? cat : &none;
    if (part->last_category >= 0 && ek__same_text(&part->texts, part->category[part->last_category].name, span))
        return part->last_category;
    uint32_t name = ek__part_text(part, span);
    for (int i = 0; i < part->n_categories; i++)
        if (part->category[i].name == name)
            return part->last_category = i;
    if (part->n_categories == EK__MAX_CATEGORIES) { /* the last replaces all others, with their meaning */
        ek__part_category *last = &part->category[EK__MAX_CATEGORIES - 1];
        *last = (ek__part_category){name, category_meaning(ek__texts_at(&part->texts, name)), last->n_complete};
        return part->last_category = EK__MAX_CATEGORIES - 1;
    }
    ek__part_category *room = ek__with_room(part->category, &part->categories_capacity, (size_t)part->n_categories + 1,
                                            sizeof *part->category);
    if (!room) {
        part->out_of_memory = true;
        return -1;
    }
    part->category = room;
    part->category[part->n_categories] =
        (ek__part_category){name, category_meaning(ek__texts_at(&part->texts, name)), 0};
    return part->last_category = part->n_categories++;
}

/* ---- events ---- */

void ek__part_push(ek__part *part, const ek__event *event)
{
    if (part->n_events == part->events_capacity) {
        ek__event *room = ek__with_room(part->event, &part->events_capacity, part->n_events + 1, sizeof *part->event);
        if (!room) {
            part->out_of_memory = true;
            return;
        }
        part->event = room;
    }
    part->event[part->n_events++] = *event;
}

void ek__part_take_label(ek__part *part, const ek__block *block, const ek__raw_event *raw)
{
    size_t at = 0;
    ek__span key, value;
    if (!raw->name.at)
        return;
    bool process = raw->name.size == 12 && memcmp(raw->name.at, "process_name", 12) == 0;
    bool thread = raw->name.size == 11 && memcmp(raw->name.at, "thread_name", 11) == 0;
    if ((!process && !thread) || !raw->args.at || !raw->pid.at)
        return;
    while (ek__walk_member(block, &raw->args, &at, &key, &value)) {
        if (key.size != 4 || memcmp(key.at, "name", 4) != 0 || !value.quoted)
            continue;
        ek__part_label *room =
            ek__with_room(part->label, &part->labels_capacity, (size_t)part->n_labels + 1, sizeof *part->label);
        if (!room) {
            part->out_of_memory = true;
            return;
        }
        part->label = room;
        uint32_t pid = ek__part_text(part, &raw->pid), tid = process ? UINT32_MAX : ek__part_text(part, &raw->tid);
        part->label[part->n_labels++] = (ek__part_label){pid, tid, ek__part_text(part, &value), 0};
        return;
    }
}

bool ek__part_place(ek__part *part, const ek__raw_event *raw)
{
    return find_track(part, raw) >= 0 && find_category(part, &raw->cat) >= 0;
}

static void add(ek__part *part, const ek__block *block, const ek__raw_event *raw, const ek_trace_options *options)
{
    unsigned char phase = (unsigned char)raw->phase;
    part->n_items++;
    part->by_phase[phase < 128 ? phase : 0]++;
    if (phase == 'C')
        return;
    if (phase == 'M')
        ek__part_take_label(part, block, raw);
    else if (phase == 'X' || phase == 'B' || phase == 'E' || phase == 's' || phase == 'f' || phase == 't') {
        if (ek__part_place(part, raw))
            ek__classify(part, block, raw, options);
    } else if (phase == 0)
        part->n_odd++;
}

void ek__part_fill(ek__part *part, const ek__block *block, const ek_trace_options *options)
{
    ek__walk walk = {.block = block};
    ek__raw_event raw;
    ek__walk_state step;
    part->n_bytes = block->size;
    while ((step = ek__walk_next(&walk, &raw)) == EK__WALK_EVENT && !part->out_of_memory)
        add(part, block, &raw, options);
    part->n_items += walk.n_others;
    part->n_odd += walk.n_others;
    if (step == EK__WALK_DAMAGED)
        part->damage = block->offset + (int64_t)walk.at;
}
