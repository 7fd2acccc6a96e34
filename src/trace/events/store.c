/* Merges parts in the order of the file, and makes the decisions that need all of it: the process of every event, and
 * so the kind of pending ones. Each kind of event has an array of its own, sorted by start with a stable merge sort
 * that does not move ordered runs: O(n) for the device's streams, O(n log n) at worst. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/scan/part.h"

void ek__store_clear(ek__trace_store *store)
{
    ek__texts_clear(&store->texts);
    for (int kind = 0; kind <= EK__N_EVENT_KINDS; kind++)
        free(store->event[kind]);
    free(store->half);
    free(store->label);
    free(store->category);
    ek__tracks_clear(&store->tracks);
    free(store->renumber);
    free(store->track_number);
    free(store->name);
    *store = (ek__trace_store){0};
}

/* ---- merging ---- */

static bool renumber_texts(ek__trace_store *store, const ek__texts *texts)
{
    uint32_t *room = ek__with_room(store->renumber, &store->renumber_capacity, texts->n, sizeof *room);
    if (!room)
        return false;
    store->renumber = room;
    for (uint32_t i = 0; i < texts->n; i++) {
        const ek__text_entry *e = &texts->entry[i];
        room[i] = ek__texts_intern_hashed(&store->texts, texts->bytes + e->offset, e->size, e->hash);
        if (room[i] == UINT32_MAX)
            return false;
    }
    return true;
}

static bool merge_tracks(ek__trace_store *store, const ek__part *part)
{
    uint32_t *track_number = ek__with_room(store->track_number, &store->track_number_capacity,
                                           (size_t)part->tracks.n + 1, sizeof *track_number);
    if (!track_number)
        return false;
    store->track_number = track_number;
    for (int i = 0; i < part->tracks.n; i++) {
        const ek__part_track *t = &part->tracks.at[i];
        int number = ek__tracks_find(&store->tracks, store->renumber[t->pid], store->renumber[t->tid]);
        if (number == EK__TRACKS_NO_MEMORY)
            return false;
        track_number[i] = number < 0 ? UINT32_MAX : (uint32_t)number;
        if (number < 0) {
            store->too_many_tracks = true;
            continue;
        }
        store->tracks.at[number].n_complete += t->n_complete;
        if (__builtin_add_overflow(store->tracks.at[number].total_ns, t->total_ns, &store->tracks.at[number].total_ns))
            store->tracks.at[number].total_ns = INT64_MAX;
    }
    return true;
}

static bool merge_categories(ek__trace_store *store, const ek__part *part)
{
    for (int i = 0; i < part->n_categories; i++) {
        uint32_t name = store->renumber[part->category[i].name];
        int at = 0;
        while (at < store->n_categories && store->category[at].name != name && at < EK__MAX_CATEGORIES)
            at++;
        if (at == store->n_categories) {
            ek__part_category *room = ek__with_room(store->category, &store->categories_capacity,
                                                    (size_t)store->n_categories + 1, sizeof *room);
            if (!room)
                return false;
            store->category = room;
            store->category[store->n_categories++] = (ek__part_category){.name = name};
        }
        store->category[at].n_complete += part->category[i].n_complete;
    }
    return true;
}

static bool merge_labels(ek__trace_store *store, const ek__part *part)
{
    size_t n = (size_t)store->n_labels + (size_t)part->n_labels;
    if (part->n_labels == 0)
        return true;
    ek__part_label *room = ek__with_room(store->label, &store->labels_capacity, n, sizeof *room);
    if (!room)
        return false;
    store->label = room;
    for (int i = 0; i < part->n_labels; i++) {
        ek__part_label l = part->label[i];
        l.pid = store->renumber[l.pid];
        l.tid = l.tid == UINT32_MAX ? l.tid : store->renumber[l.tid];
        l.name = store->renumber[l.name];
        l.order = (uint32_t)store->n_labels;
        store->label[store->n_labels++] = l;
    }
    return true;
}

static bool add_event(ek__trace_store *store, const ek__event *event)
{
    int kind = event->kind;
    if (store->n[kind] == store->capacity[kind]) {
        ek__event *room = ek__with_room(store->event[kind], &store->capacity[kind], store->n[kind] + 1, sizeof *event);
        if (!room)
            return false;
        store->event[kind] = room;
    }
    store->event[kind][store->n[kind]++] = *event;
    return true;
}

/* Numbers of other kinds stay unchanged. */
static bool has_text_detail(int kind)
{
    return kind != EK__EVENT_FLOW && kind != EK__EVENT_LAUNCH && kind != EK__EVENT_SYNC && kind != EK__EVENT_SHAPE;
}

/* Halves of the part's tracks and texts here; `*next` is the first of those with an event not after the i-th. */
static bool add_halves(ek__trace_store *store, const ek__part *part, size_t i, const ek__event *kept, size_t *next)
{
    for (; *next < part->n_halves && part->half[*next].at <= i; ++*next) {
        ek__half h = part->half[*next];
        bool of_event = h.kept && h.at == i && kept;
        if (store->track_number[h.track] == UINT32_MAX)
            continue;
        ek__half *room = ek__with_room(store->half, &store->halves_capacity, store->n_halves + 1, sizeof *room);
        if (!room)
            return false;
        h.track = store->track_number[h.track];
        h.category = store->renumber[h.category];
        h.kept = of_event;
        h.kind = of_event ? kept->kind : 0;
        h.at = of_event ? store->n[kept->kind] - 1 : 0;
        store->half = room;
        store->half[store->n_halves++] = h;
    }
    return true;
}

static bool merge_events(ek__trace_store *store, const ek__part *part)
{
    const uint32_t *track_number = store->track_number;
    size_t next = 0;
    for (size_t i = 0; i < part->n_events; i++) {
        ek__event e = part->event[i];
        if (track_number[e.track] == UINT32_MAX)
            continue;
        e.track = (uint16_t)track_number[e.track];
        if (e.kind != EK__EVENT_FLOW)
            e.name = store->renumber[e.name];
        if (has_text_detail(e.kind))
            e.detail = store->renumber[e.detail];
        if (!add_event(store, &e) || !add_halves(store, part, i, &e, &next))
            return false;
    }
    return add_halves(store, part, SIZE_MAX, NULL, &next);
}

static void merge_counts(ek__trace_store *store, const ek__part *part)
{
    for (int i = 0; i < 128; i++)
        store->by_phase[i] += part->by_phase[i];
    store->n_items += part->n_items;
    store->n_odd += part->n_odd;
    store->n_negative += part->n_negative;
    store->n_node_launch += part->n_node_launch;
    store->n_enqueue += part->n_enqueue;
    store->n_dequeue += part->n_dequeue;
    store->n_compile += part->n_compile;
    store->n_synchronize += part->n_synchronize;
    store->n_launch += part->n_launch;
    store->n_gc += part->n_gc;
    store->has_full_names |= part->has_full_names;
    store->has_mindspore_flows |= part->has_mindspore_flows;
    store->has_cuda |= part->has_cuda;
    store->has_torch |= part->has_torch;
    store->too_many_tracks |= part->too_many_tracks;
    store->has_cut_texts |= part->has_cut_texts;
}

bool ek__store_expect(ek__trace_store *store, double times)
{
    for (int kind = 0; kind <= EK__N_EVENT_KINDS; kind++) {
        size_t needed = (size_t)((double)store->n[kind] * times);
        if (needed <= store->capacity[kind])
            continue;
        ek__event *room = ek__with_room(store->event[kind], &store->capacity[kind], needed, sizeof *room);
        if (!room)
            return false;
        store->event[kind] = room;
    }
    return true;
}

bool ek__store_merge(ek__trace_store *store, const ek__part *part)
{
    if (store->texts.n == 0 && !ek__texts_reset(&store->texts))
        return false;
    bool fine = renumber_texts(store, &part->texts) && merge_tracks(store, part) && merge_categories(store, part) &&
                merge_labels(store, part) && merge_events(store, part);
    merge_counts(store, part);
    return fine;
}

/* ---- processes ---- */

static ek__layer_kind layer_of(const char *process)
{
    static const struct {
        const char *name;
        ek__layer_kind layer;
    } known[] = {
        {"Python", EK__LAYER_PYTHON},
        {"MindSpore", EK__LAYER_MINDSPORE},
        {"CPU OP", EK__LAYER_CPU_OP},
        {"Scope Layer", EK__LAYER_SCOPE},
        {"CANN", EK__LAYER_CANN},
        {"Ascend Hardware", EK__LAYER_DEVICE},
        {"HCCL", EK__LAYER_COMMUNICATION},
        {"Communication", EK__LAYER_COMMUNICATION},
        {"Overlap Analysis", EK__LAYER_OVERLAP},
    };
    for (size_t i = 0; process && i < sizeof known / sizeof *known; i++)
        if (strcmp(process, known[i].name) == 0)
            return known[i].layer;
    return EK__LAYER_OTHER;
}

static int64_t whole_number(const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return *text && *end == '\0' && errno == 0 ? value : INT64_MIN;
}

/* By process and thread. */
static int compare_places(const void *a, const void *b)
{
    const ek__part_label *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return 0;
}

static int compare_labels(const void *a, const void *b)
{
    const ek__part_label *x = a, *y = b;
    int places = compare_places(a, b);
    return places != 0 ? places : x->order < y->order ? -1 : x->order > y->order;
}

/* The last of several labels of one process or thread counts, as in trace viewers. */
static void sort_labels(ek__trace_store *store)
{
    ek__part_label *label = store->label;
    int n = 0;
    if (store->n_labels > 0)
        qsort(label, (size_t)store->n_labels, sizeof *label, compare_labels);
    for (int i = 0; i < store->n_labels; i++)
        if (i + 1 == store->n_labels || compare_places(&label[i], &label[i + 1]) != 0)
            label[n++] = label[i];
    store->n_labels = n;
}

static const ek__part_label *find_label(const ek__trace_store *store, uint32_t pid, uint32_t tid)
{
    ek__part_label key = {.pid = pid, .tid = tid};
    return store->n_labels == 0 ? NULL
                                : bsearch(&key, store->label, (size_t)store->n_labels, sizeof key, compare_places);
}

static const char *label_name(const ek__trace_store *store, uint32_t pid, uint32_t tid)
{
    const ek__part_label *label = find_label(store, pid, tid);
    return label ? store->name[label->name] : NULL;
}

const char *ek__store_process(const ek__trace_store *store, uint32_t pid)
{
    return label_name(store, pid, UINT32_MAX);
}

static bool make_tracks(const ek__trace_store *store, ek__trace *out)
{
    out->n_tracks = store->tracks.n;
    out->track = ek__pool_alloc(out->pool, (size_t)store->tracks.n, sizeof *out->track);
    if (!out->track)
        return false;
    for (int i = 0; i < store->tracks.n; i++) {
        const ek__part_track *from = &store->tracks.at[i];
        ek__track *t = &out->track[i];
        const char *process = label_name(store, from->pid, UINT32_MAX),
                   *thread = label_name(store, from->pid, from->tid);
        t->pid = ek__pool_text(out->pool, store->name[from->pid], strlen(store->name[from->pid]));
        t->tid = ek__pool_text(out->pool, store->name[from->tid], strlen(store->name[from->tid]));
        t->process = process ? ek__pool_text(out->pool, process, strlen(process)) : NULL;
        t->thread = thread ? ek__pool_text(out->pool, thread, strlen(thread)) : NULL;
        if (!t->pid || !t->tid || (process && !t->process) || (thread && !t->thread))
            return false;
        t->pid_number = whole_number(t->pid);
        t->tid_number = whole_number(t->tid);
        t->layer = layer_of(process);
        t->n_complete = from->n_complete;
        t->total_ns = from->total_ns;
    }
    return true;
}

/* ---- kinds of pending events ---- */

enum { DROP = -1 };

bool ek__track_is_plane(const ek__track *track)
{
    return track->thread && strncmp(track->thread, "Plane", 5) == 0;
}

/* The files of 2020 to 2022 have no metadata: pid 9000 is the AI CPU, 10000 communication, the rest the device. */
static int kind_without_metadata(ek__event *event, const ek__track *track)
{
    if (track->pid_number == 10000)
        return EK__EVENT_COLLECTIVE;
    event->core = track->pid_number == 9000 ? EK__CORE_AI_CPU : EK__CORE_AI_CORE;
    return EK__EVENT_KERNEL;
}

/* A task of the device without a type is identified by its name. */
static int kind_without_type(ek__event *event, const char *name)
{
    const ek__span none = {0}, text = {name, (uint32_t)strlen(name), true};
    event->core = (uint8_t)ek__task_core(&none, &text);
    if (event->core != EK__CORE_NONE)
        return EK__EVENT_KERNEL;
    return ek__task_is_copy(&none, &text) ? EK__EVENT_COPY : EK__EVENT_TASK;
}

static int kind_of_pending(ek__event *event, const ek__track *track, const char *name, bool no_metadata)
{
    if (no_metadata)
        return kind_without_metadata(event, track);
    switch (track->layer) {
    case EK__LAYER_SCOPE:
        return EK__EVENT_SCOPE;
    case EK__LAYER_COMMUNICATION:
        return ek__track_is_plane(track) ? DROP : EK__EVENT_COLLECTIVE;
    case EK__LAYER_DEVICE:
        return kind_without_type(event, name);
    case EK__LAYER_MINDSPORE:
    case EK__LAYER_CPU_OP:
        if (strstr(name, "GetNext"))
            return EK__EVENT_DATA;
        if (strstr(name, "ynchronize"))
            return EK__EVENT_SYNC;
        return strchr(name, '/') ? EK__EVENT_HOST_OP : DROP;
    case EK__LAYER_OTHER:
        return track->process ? DROP : EK__EVENT_HOST_OP;
    default:
        return DROP;
    }
}

static bool settle_pending(ek__trace_store *store, ek__trace *out)
{
    ek__event *pending = store->event[EK__EVENT_PENDING];
    bool no_metadata = ek__store_no_metadata(store);
    for (size_t i = 0; i < store->n[EK__EVENT_PENDING]; i++) {
        ek__event e = pending[i];
        int kind = kind_of_pending(&e, &out->track[e.track], store->name[e.name], no_metadata);
        if (kind == DROP)
            continue;
        e.kind = (uint8_t)kind;
        store->n_synchronize += kind == EK__EVENT_SYNC;
        if (!add_event(store, &e))
            return false;
    }
    free(pending);
    store->event[EK__EVENT_PENDING] = NULL;
    store->n[EK__EVENT_PENDING] = store->capacity[EK__EVENT_PENDING] = 0;
    return true;
}

/* Does the event's kind by its own fields fit its process, which is known now? */
static bool is_confirmed(const ek__event *event, const ek__track *track)
{
    switch (event->kind) {
    case EK__EVENT_COMPUTING:
    case EK__EVENT_COMMUNICATION:
    case EK__EVENT_NOT_OVERLAPPED:
    case EK__EVENT_FREE:
        return track->layer == EK__LAYER_OVERLAP || !track->process;
    case EK__EVENT_COLLECTIVE:
        return !ek__track_is_plane(track) && track->layer != EK__LAYER_CANN && track->layer != EK__LAYER_PYTHON &&
               track->layer != EK__LAYER_MINDSPORE && track->layer != EK__LAYER_CPU_OP &&
               track->layer != EK__LAYER_SCOPE;
    default:
        return true;
    }
}

static void confirm(ek__trace_store *store, const ek__trace *out, int kind)
{
    ek__event *event = store->event[kind];
    size_t n = 0;
    for (size_t i = 0; i < store->n[kind]; i++)
        if (is_confirmed(&event[i], &out->track[event[i].track]))
            event[n++] = event[i];
    store->n[kind] = n;
}

/* A collective of Ascend belongs to the group of its thread. */
static void name_groups(ek__trace_store *store)
{
    ek__event *event = store->event[EK__EVENT_COLLECTIVE];
    for (size_t i = 0; i < store->n[EK__EVENT_COLLECTIVE]; i++) {
        if (event[i].detail || event[i].link)
            continue;
        const ek__part_track *track = &store->tracks.at[event[i].track];
        const ek__part_label *thread = find_label(store, track->pid, track->tid);
        if (thread && find_label(store, track->pid, UINT32_MAX))
            event[i].detail = thread->name;
    }
}

/* ---- order ---- */

static inline bool is_before(const ek__event *a, const ek__event *b)
{
    return a->start != b->start ? a->start < b->start : a->duration > b->duration;
}

/* Stable, for the short rest of halving. */
static void sort_few(ek__event *event, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        ek__event e = event[i];
        size_t at = i;
        for (; at > 0 && is_before(&e, &event[at - 1]); at--)
            event[at] = event[at - 1];
        event[at] = e;
    }
}

/* Merge sort that moves only unordered events: halves in order are not changed, and of the left half only the part
 * after the first of the right one moves. Profilers write streams in order and arrows at the end of their events, so a
 * long trace is sorted in little more than one pass. `spare` has room for n / 2. Depth log n.
 */
static void sort_range(ek__event *event, size_t n, ek__event *spare) /* NOLINT(misc-no-recursion) */
{
    enum { FEW = 16 };
    if (n <= FEW) {
        sort_few(event, n);
        return;
    }
    size_t middle = n / 2, first = 0;
    sort_range(event, middle, spare);
    sort_range(event + middle, n - middle, spare);
    if (!is_before(&event[middle], &event[middle - 1]))
        return;
    for (size_t high = middle; first < high;) { /* the first of the left that comes after the right's first */
        size_t half = first + (high - first) / 2;
        if (is_before(&event[middle], &event[half]))
            high = half;
        else
            first = half + 1;
    }
    size_t n_left = middle - first, a = 0, b = middle, at = first;
    memcpy(spare, event + first, n_left * sizeof *event);
    while (a < n_left)
        event[at++] = b == n || !is_before(&event[b], &spare[a]) ? spare[a++] : event[b++];
}

static bool is_sorted(const ek__event *event, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (is_before(&event[i], &event[i - 1]))
            return false;
    return true;
}

static bool sort_events(ek__event *event, size_t n)
{
    if (is_sorted(event, n))
        return true;
    ek__event *spare = malloc((n / 2 + 1) * sizeof *spare);
    if (spare)
        sort_range(event, n, spare);
    free(spare);
    return spare != NULL;
}

static bool is_same(const ek__event *a, const ek__event *b)
{
    return a->track == b->track && a->name == b->name && a->detail == b->detail && a->link == b->link;
}

/* A stream runs one task at a time, so a second task with the same start and end is a copy: of files that were joined
 * twice, or written again by a profiler that was stopped late. Events at 0 ns may well be several. Copies are searched
 * among the last few that begin and end together. */
static void drop_copies(ek__trace_store *store, int kind)
{
    enum { LAST = 32 };
    ek__event *event = store->event[kind];
    size_t n = 0, first = 0;
    for (size_t i = 0; i < store->n[kind]; i++) {
        const ek__event e = event[i];
        if (n == 0 || e.start != event[n - 1].start || e.duration != event[n - 1].duration)
            first = n;
        size_t last = e.duration > 0 ? n : first, at = last;
        while (at > first && last - at < LAST && !is_same(&event[at - 1], &e))
            at--;
        if (at > first && last - at < LAST)
            store->n_doubled++;
        else
            event[n++] = e;
    }
    store->n[kind] = n;
}

static bool sort_all(ek__trace_store *store, ek__trace *out)
{
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++) {
        if (kind == EK__EVENT_COLLECTIVE || (kind >= EK__EVENT_COMPUTING && kind <= EK__EVENT_FREE))
            confirm(store, out, kind);
        if (store->n[kind] > 0 && !sort_events(store->event[kind], store->n[kind]))
            return false;
        if (kind <= EK__EVENT_FREE)
            drop_copies(store, kind);
        out->of[kind] = (ek__slice){store->event[kind], store->n[kind]};
    }
    return true;
}

/* ---- the counts ---- */

/* Threads to processes by the number of the pid's text. */
static bool make_processes(const ek__trace_store *store, ek__trace *out)
{
    ek_trace_counts *c = &out->counts;
    uint32_t *process_of = ek__alloc(store->texts.n, sizeof *process_of); /* number + 1 */
    bool fine = process_of != NULL;
    for (int i = 0; i < out->n_tracks && fine; i++) {
        const ek__track *t = &out->track[i];
        uint32_t *number = &process_of[store->tracks.at[i].pid];
        if (t->n_complete == 0)
            continue;
        if (*number == 0) {
            ek_trace_process *room = ek__pool_push(out->pool, c->process, c->n_processes, sizeof *room);
            fine = room != NULL;
            if (!fine)
                break;
            c->process = room;
            c->process[c->n_processes++] = (ek_trace_process){t->process, t->pid, 0, 0, 0};
            *number = (uint32_t)c->n_processes;
        }
        ek_trace_process *p = &c->process[*number - 1];
        p->n_complete += t->n_complete;
        p->n_threads++;
        if (__builtin_add_overflow(p->total_ns, t->total_ns, &p->total_ns))
            p->total_ns = INT64_MAX;
    }
    free(process_of);
    return fine;
}

static int compare_categories(const void *a, const void *b)
{
    const ek_trace_category *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static bool make_counts(const ek__trace_store *store, ek__trace *out)
{
    ek_trace_counts *c = &out->counts;
    memcpy(c->by_phase, store->by_phase, sizeof c->by_phase);
    c->n_items = store->n_items;
    c->n_odd = store->n_odd;
    c->n_unmatched = store->n_unmatched;
    c->n_negative = store->n_negative;
    c->n_doubled = store->n_doubled;
    c->category = ek__pool_alloc(out->pool, (size_t)store->n_categories, sizeof *c->category);
    if (!c->category || !make_processes(store, out))
        return false;
    for (int i = 0; i < store->n_categories; i++) {
        const char *name = store->name[store->category[i].name];
        if (store->category[i].n_complete == 0)
            continue;
        ek_trace_category *to = &c->category[c->n_categories++];
        to->n_complete = store->category[i].n_complete;
        to->name = ek__pool_text(out->pool, name, strlen(name));
        if (!to->name)
            return false;
    }
    if (c->n_categories > 0)
        qsort(c->category, (size_t)c->n_categories, sizeof *c->category, compare_categories);
    out->n_node_launch = store->n_node_launch;
    out->n_enqueue = store->n_enqueue;
    out->n_dequeue = store->n_dequeue;
    out->n_compile = store->n_compile;
    out->n_synchronize = store->n_synchronize;
    out->n_launch = store->n_launch;
    out->n_gc = store->n_gc;
    return true;
}

static bool has_layer(const ek__trace *trace, ek__layer_kind layer)
{
    for (int i = 0; i < trace->n_tracks; i++)
        if (trace->track[i].layer == layer)
            return true;
    return false;
}

static ek_producer find_producer(const ek__trace_store *store, const ek__trace *trace)
{
    if (store->has_cuda)
        return EK_PRODUCER_KINETO;
    if (store->has_mindspore_flows || has_layer(trace, EK__LAYER_MINDSPORE) || has_layer(trace, EK__LAYER_SCOPE))
        return EK_PRODUCER_MINDSPORE;
    if (store->has_torch || (has_layer(trace, EK__LAYER_PYTHON) && has_layer(trace, EK__LAYER_DEVICE)))
        return EK_PRODUCER_TORCH_NPU;
    if (has_layer(trace, EK__LAYER_DEVICE) || has_layer(trace, EK__LAYER_OVERLAP))
        return EK_PRODUCER_MSPROF;
    if (store->n_labels == 0 && store->n[EK__EVENT_KERNEL] > 0)
        return EK_PRODUCER_TIMELINE;
    return EK_PRODUCER_UNKNOWN;
}

static bool make_names(ek__trace_store *store, ek__trace *out)
{
    store->name = malloc(((size_t)store->texts.n + 1) * sizeof *store->name);
    if (!store->name || (store->texts.n == 0 && !ek__texts_reset(&store->texts)))
        return false;
    for (uint32_t i = 0; i < store->texts.n; i++)
        store->name[i] = ek__texts_at(&store->texts, i);
    out->name = store->name;
    out->n_names = store->texts.n;
    return true;
}

bool ek__store_tracks(ek__trace_store *store, ek__trace *out)
{
    if (!make_names(store, out))
        return false;
    sort_labels(store);
    return make_tracks(store, out);
}

ek_status ek__store_finish(ek__trace_store *store, ek__trace *out, ek_error *err)
{
    if (!ek__store_close_halves(store) || !ek__store_tracks(store, out) || !settle_pending(store, out))
        return ek__no_memory(err);
    name_groups(store);
    if (!sort_all(store, out) || !make_counts(store, out))
        return ek__no_memory(err);
    out->producer = find_producer(store, out);
    return EK_OK;
}

/* ---- queries of the analyses ---- */

size_t ek__slice_lower(ek__slice slice, int64_t time)
{
    size_t low = 0, high = slice.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice.event[middle].start < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
