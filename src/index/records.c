/* Turns a block's events into records for the external sorts. Texts, tracks and labels, which all readers of traces
 * need, are made by the part (src/trace/scan/part.c); this file makes only the contents of the index. */
#include "index/records.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"

void ek__index_part_clear(ek__index_part *part)
{
    ek__index_records *records[] = {&part->events, &part->points, &part->flows, &part->spans};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        free(records[i]->words);
        free(records[i]->bucket);
    }
    ek__part_clear(&part->base);
    ek__texts_clear(&part->names.texts);
    free(part->names.count);
    ek__tracks_clear(&part->counter_names);
    ek__tracks_clear(&part->counters);
    free(part->follower);
    free(part->order);
    *part = (ek__index_part){0};
}

static bool reset(ek__index_part *part)
{
    part->events.n = part->points.n = part->flows.n = part->spans.n = 0;
    part->n_orders = 0;
    part->last_counter = -1;
    memset(part->flow_name, 0, sizeof part->flow_name);
    part->begin = INT64_MAX;
    part->end = INT64_MIN;
    ek__tracks_reset(&part->counter_names);
    ek__tracks_reset(&part->counters);
    if (part->names.count)
        memset(part->names.count, 0, part->names.capacity * sizeof *part->names.count);
    return ek__part_reset(&part->base) && ek__texts_reset(&part->names.texts);
}

/* Room for one more record, returns its words; NULL when out of memory. */
static uint64_t *push(ek__index_part *part, ek__index_records *records, size_t n_words, uint32_t bucket)
{
    size_t size = n_words * sizeof(uint64_t);
    if (records->n == records->capacity || records->n == records->buckets_capacity) {
        uint64_t *words = ek__with_room(records->words, &records->capacity, records->n + 1, size);
        if (words)
            records->words = words;
        uint32_t *room =
            words ? ek__with_room(records->bucket, &records->buckets_capacity, records->n + 1, sizeof *room) : NULL;
        if (!room) {
            part->base.out_of_memory = true;
            return NULL;
        }
        records->bucket = room;
    }
    assert(records->n < records->capacity && records->n < records->buckets_capacity);
    records->bucket[records->n] = bucket;
    return records->words + n_words * records->n++;
}

/* ---- events ---- */

/* The number of a name, with its own count. */
static uint32_t read_name(ek__index_part *part, const ek__span *span)
{
    uint32_t number = ek__part_intern(&part->base, &part->names.texts, span);
    if (number >= part->names.capacity) {
        size_t before = part->names.capacity;
        ek__name_count *room =
            ek__with_room(part->names.count, &part->names.capacity, (size_t)number + 1, sizeof *room);
        if (!room) {
            part->base.out_of_memory = true;
            return UINT32_MAX;
        }
        memset(room + before, 0, (part->names.capacity - before) * sizeof *room);
        part->names.count = room;
    }
    return number;
}

static uint32_t size_of(const ek__raw_event *raw)
{
    return raw->size < 0xffffff ? (uint32_t)raw->size : 0xffffff;
}

static void add_event(ek__index_part *part, const ek__block *block, const ek__raw_event *raw)
{
    int64_t begin, duration = 0;
    bool instant = raw->phase != 'X';
    if (!raw->name.at || !raw->name.quoted ||
        (!instant && !ek__event_duration(raw, &duration, &part->base.n_negative)) || !ek__event_time(raw, &begin) ||
        !ek__part_place(&part->base, raw)) {
        part->base.n_odd++;
        return;
    }
    uint32_t name = read_name(part, &raw->name);
    ek__index_kind kind =
        instant ? EK__KIND_INSTANT : ek__kind_of(block, raw, part->base.category[part->base.last_category].meaning);
    uint64_t *words = push(part, &part->events, EK__EVENT_WORDS, (uint32_t)part->base.last_track);
    if (!words || name == UINT32_MAX)
        return;
    assert(duration >= 0 && (uint32_t)kind < 1u << 8); /* next to a size of 24 bits */
    words[0] = ek__sort_signed(begin);
    words[1] = ~(uint64_t)duration;
    words[2] = (uint64_t)(block->offset + (raw->begin - block->data));
    words[3] = (uint64_t)name << 32 | (uint32_t)kind << 24 | size_of(raw);
    ek__name_count *count = &part->names.count[name];
    count->n++;
    if (__builtin_add_overflow(count->total, duration, &count->total))
        count->total = INT64_MAX;
    part->begin = begin < part->begin ? begin : part->begin;
    part->end = begin + duration > part->end ? begin + duration : part->end;
    assert(part->begin <= part->end && count->total >= 0);
}

/* A begin or end event. An end needs no name. */
static void add_half(ek__index_part *part, const ek__block *block, const ek__raw_event *raw)
{
    int64_t time;
    bool begins = raw->phase == 'B';
    if ((begins && (!raw->name.at || !raw->name.quoted)) || !ek__event_time(raw, &time) ||
        !ek__part_place(&part->base, raw)) {
        part->base.n_odd++;
        return;
    }
    uint32_t name = begins ? read_name(part, &raw->name) : 0;
    ek__index_kind kind =
        begins ? ek__kind_of(block, raw, part->base.category[part->base.last_category].meaning) : EK__KIND_PLAIN;
    uint64_t *words = push(part, &part->spans, EK__SPAN_WORDS, (uint32_t)part->base.last_track);
    if (!words || name == UINT32_MAX)
        return;
    words[0] = ek__sort_signed(time);
    words[1] = (uint64_t)(block->offset + (raw->begin - block->data));
    words[2] = (uint64_t)name << 32 | (uint32_t)kind << 24 | size_of(raw);
    words[3] = begins ? EK__SPAN_BEGIN : EK__SPAN_END;
}

/* ---- arrows ---- */

/* Flows with equal category and id but different names are separate arrows. Many profilers put the id into the name, so
 * the name becomes part of the id and is not shown. */
static void add_flow(ek__index_part *part, const ek__raw_event *raw)
{
    int64_t time;
    if (!raw->id.at || !ek__event_time(raw, &time) || !ek__part_place(&part->base, raw)) {
        part->base.n_odd++;
        return;
    }
    bool named = raw->name.at != NULL, shown = raw->cat.at && raw->cat.size > 0;
    uint32_t *known = &part->flow_name[part->base.last_category];
    uint32_t name = shown && *known ? *known : read_name(part, shown ? &raw->cat : &raw->name);
    if (shown && part->base.last_category + 1 < EK__MAX_CATEGORIES) /* the last one replaces all others */
        *known = name;
    uint64_t *words = push(part, &part->flows, EK__FLOW_WORDS, 0);
    if (!words || name == UINT32_MAX)
        return;
    uint64_t end = raw->phase == 's' ? EK__FLOW_START : raw->phase == 'f' ? EK__FLOW_END : EK__FLOW_STEP;
    words[0] = name;
    words[1] = ek__id_number(&raw->id) + (named ? ek__texts_hash(raw->name.at, raw->name.size) : 0);
    words[2] = ek__sort_signed(time);
    words[3] = end << 32 | (uint32_t)part->base.last_track;
}

/* ---- counters ---- */

/* Decimal numbers as profilers print them; up to 15 digits are exact without the slower library function. */
static bool read_number(const ek__span *value, double *number)
{
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    enum { EXACT = 15, LONGEST = 63 };
    uint64_t digits = 0;
    uint32_t n = 0, n_fraction = 0, i = 0;
    bool negative = value->size > 0 && value->at[0] == '-', point = false;
    for (i = negative; i < value->size && n <= EXACT; i++) {
        char c = value->at[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        digits = digits * 10 + (uint64_t)(c - '0');
        n++;
        n_fraction += point;
    }
    assert(n_fraction <= n && n <= EXACT + 1);
    if (i == value->size && n > 0 && n <= EXACT) {
        *number = (double)digits / power[n_fraction];
        *number = negative ? -*number : *number;
        return true;
    }
    char text[LONGEST + 1], *end;
    if (value->size == 0 || value->size > LONGEST)
        return false;
    for (i = 0; i < value->size; i++) {
        if (!value->at[i] || !strchr("0123456789+-.eE", value->at[i]))
            return false;
        text[i] = value->at[i];
    }
    text[value->size] = '\0';
    *number = ek__strtod(text, &end);
    return *end == '\0' && isfinite(*number);
}

/* A number of a pair of texts; -1 when there is no room. */
static int find_pair(ek__index_part *part, ek__tracks *pairs, uint32_t a, uint32_t b)
{
    int number = ek__tracks_find(pairs, a, b);
    part->base.out_of_memory |= number == EK__TRACKS_NO_MEMORY;
    part->base.too_many_tracks |= number == EK__TRACKS_TOO_MANY;
    return number < 0 ? -1 : number;
}

static bool is_counter(const ek__index_part *part, int counter, const ek__raw_event *raw, const ek__span *key)
{
    assert(counter < part->counters.n && part->counters.at[counter].pid < (uint32_t)part->counter_names.n);
    const ek__part_track *c = &part->counters.at[counter], *name = &part->counter_names.at[c->pid];
    const ek__texts *texts = &part->base.texts;
    return ek__same_text(texts, c->tid, key) && ek__same_text(texts, name->tid, &raw->name) &&
           ek__same_text(texts, name->pid, &raw->pid);
}

static int search_counter(ek__index_part *part, const ek__raw_event *raw, const ek__span *key)
{
    int name = find_pair(part, &part->counter_names, ek__part_text(&part->base, &raw->pid),
                         ek__part_text(&part->base, &raw->name));
    if (name < 0)
        return -1;
    int n_before = part->counters.n;
    int counter = find_pair(part, &part->counters, (uint32_t)name, ek__part_text(&part->base, key));
    int *room = ek__with_room(part->follower, &part->followers_capacity, (size_t)part->counters.n + 1, sizeof *room);
    part->base.out_of_memory |= !room;
    part->follower = room ? room : part->follower;
    if (!room || counter < 0)
        return -1;
    if (part->last_counter >= 0)
        room[part->last_counter] = counter;
    if (counter >= n_before)
        room[counter] = counter; /* none yet */
    assert(room[counter] >= 0 && room[counter] < part->counters.n);
    return counter;
}

/* Counters alternate: the next one is usually the one that followed this one last time. */
static int find_counter(ek__index_part *part, const ek__raw_event *raw, const ek__span *key)
{
    int guess = part->last_counter >= 0 ? part->follower[part->last_counter] : -1;
    if (guess >= 0 && is_counter(part, guess, raw, key))
        return part->last_counter = guess;
    return part->last_counter = search_counter(part, raw, key);
}

static void add_counter(ek__index_part *part, const ek__block *block, const ek__raw_event *raw)
{
    int64_t time;
    size_t at = 0;
    ek__span key, value;
    bool any = false;
    if (!raw->name.at || !raw->args.at || !ek__event_time(raw, &time)) {
        part->base.n_odd++;
        return;
    }
    while (ek__walk_member(block, &raw->args, &at, &key, &value)) {
        double number;
        if (!read_number(&value, &number))
            continue;
        int counter = find_counter(part, raw, &key);
        uint64_t *words = counter < 0 ? NULL : push(part, &part->points, EK__POINT_WORDS, (uint32_t)counter);
        if (!words)
            break;
        words[0] = ek__sort_signed(time);
        memcpy(&words[1], &number, sizeof number);
        any = true;
    }
    part->base.n_odd += !any;
}

/* ---- metadata ---- */

static void read_order(ek__index_part *part, const ek__block *block, const ek__raw_event *raw)
{
    size_t at = 0;
    ek__span key, value;
    double order;
    while (raw->args.at && ek__walk_member(block, &raw->args, &at, &key, &value)) {
        if (key.size != 10 || memcmp(key.at, "sort_index", 10) != 0 || !read_number(&value, &order))
            continue;
        ek__index_order *room = ek__with_room(part->order, &part->orders_capacity, part->n_orders + 1, sizeof *room);
        if (!room) {
            part->base.out_of_memory = true;
            return;
        }
        part->order = room;
        order = order < INT32_MIN ? INT32_MIN : order > INT32_MAX ? INT32_MAX : order;
        room[part->n_orders++] = (ek__index_order){ek__part_text(&part->base, &raw->pid),
                                                   ek__part_text(&part->base, &raw->tid), (int32_t)order, 0};
        return;
    }
}

static void read_metadata(ek__index_part *part, const ek__block *block, const ek__raw_event *raw)
{
    if (raw->name.at && raw->name.size == 17 && memcmp(raw->name.at, "thread_sort_index", 17) == 0)
        read_order(part, block, raw);
    else
        ek__part_take_label(&part->base, block, raw);
}

/* ---- all of them ---- */

static void add(ek__index_part *part, const ek__block *block, const ek__raw_event *raw)
{
    part->base.n_items++;
    switch (raw->phase) {
    case 'X':
    case 'i':
    case 'I':
        add_event(part, block, raw);
        break;
    case 'B':
    case 'E':
        add_half(part, block, raw);
        break;
    case 'C':
        add_counter(part, block, raw);
        break;
    case 's':
    case 't':
    case 'f':
        add_flow(part, raw);
        break;
    case 'M':
        read_metadata(part, block, raw);
        break;
    default:
        part->base.n_odd += raw->phase == 0;
        break;
    }
}

void ek__index_part_fill(ek__index_part *part, const ek__block *block)
{
    ek__walk walk = {.block = block};
    ek__raw_event raw;
    ek__walk_state step = EK__WALK_END;
    if (!reset(part)) {
        part->base.out_of_memory = true;
        return;
    }
    while (!part->base.out_of_memory && (step = ek__walk_whole(&walk, &raw)) == EK__WALK_EVENT)
        add(part, block, &raw);
    part->base.n_items += walk.n_others;
    part->base.n_odd += walk.n_others;
    if (step == EK__WALK_DAMAGED)
        part->base.damage = block->offset + (int64_t)walk.at;
}
