/* Finds layers of PyTorch in nn.Module ranges. A kernel belongs to the module in which it was launched: forward on the
 * thread that runs the model; recomputation inside recompute_fn, or in a module on a thread that runs backward passes;
 * backward otherwise, through the arrow fwdbwd from the operator whose gradient it is. So each kernel is assigned to an
 * execution of a layer. Layers are the modules whose kind repeats below one parent and takes time, the outermost ones:
 * no plain lists of modules (Sequential), and modules without parts, such as Conv2d, only where they follow one another
 * directly. Needs with_stack or with_modules; not handled: modules renamed between threads. */
#include <stdlib.h>
#include <string.h>

#include "trace/layers/layers_nest.h"

enum { SMALL_GROUP = 10 /* modules of one kind take at least that share of the largest group's time */ };

/* The end of an arrow fwdbwd. */
typedef struct flow {
    int64_t time, id;
    int32_t track;
    int32_t module; /* of its beginning: -1 none, NOT_ASKED */
} flow;
enum { NOT_ASKED = -2 };

/* A kernel and the execution it belongs to. */
typedef struct member {
    int32_t layer, execution;
    uint8_t direction;
    bool region; /* execution: of `regions`, else of `modules` */
    int64_t start, end, host;
} member;

/* A pass to which kernels are added; those of one execution but different layers are chained. */
typedef struct open_pass {
    ek__layer_pass pass;
    int64_t host; /* launch of its first kernel */
    int32_t next; /* -1 */
} open_pass;

/* A module below one parent, all its executions. */
typedef struct group {
    uint32_t parent; /* name; 0 for none */
    uint32_t name;
    uint32_t kind; /* a name that has it */
    double busy;
    bool fit; /* has parts, or follows another of its kind */
} group;

typedef struct work {
    ek__layer_search *search;
    const ek__trace *trace;
    ek__nest modules, regions;
    ek__launch_point *point;
    double *busy;        /* [modules.n]: kernels launched inside */
    int32_t *body;       /* [modules.n]: the module of the surrounding layer, or the module itself; -1 */
    bool *has_body;      /* [modules.n]: contains a layer */
    int32_t *layer_of;   /* [n_names]: layer of a module's name, or of the module around; -1 */
    int64_t *balance;    /* [n_tracks]: number of arrow ends less begins */
    int32_t *module_of;  /* [kernels]: the innermost module around the launch; -1 */
    flow *ends, *starts; /* by track and time; by id */
    size_t n_ends, n_starts, last_end, n_passes, passes_capacity;
    open_pass *pass;
    int32_t *first_pass[EK__N_LAYER_PASSES + 1]; /* by execution: of modules by direction; of regions. Less 1 */
    bool *chosen;                                /* [n_names]: module is a layer by default */
} work;

static const char *name_of(const work *w, int32_t module)
{
    return ek__trace_name(w->trace, w->modules.at[module].name);
}

/* ---- arrows ---- */

static int compare_places(const void *a, const void *b)
{
    const flow *x = a, *y = b;
    if (x->track != y->track)
        return (x->track > y->track) - (x->track < y->track);
    return (x->time > y->time) - (x->time < y->time);
}

static int compare_ids(const void *a, const void *b)
{
    const flow *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* They often are in order already. */
static void sort_flows(flow *at, size_t n, int (*compare)(const void *, const void *))
{
    for (size_t i = 1; i < n; i++)
        if (compare(&at[i - 1], &at[i]) > 0) {
            qsort(at, n, sizeof *at, compare);
            return;
        }
}

static bool find_flows(work *w)
{
    ek__slice flows = w->trace->of[EK__EVENT_FLOW];
    w->ends = ek__alloc(flows.n, sizeof *w->ends);
    w->starts = ek__alloc(flows.n, sizeof *w->starts);
    w->balance = ek__alloc((size_t)w->trace->n_tracks, sizeof *w->balance);
    if (!w->ends || !w->starts || !w->balance)
        return false;
    for (size_t i = 0; i < flows.n; i++) {
        const ek__event *e = &flows.event[i];
        flow f = {e->start, e->duration, e->track, NOT_ASKED};
        if (e->name != EK__FLOW_FORWARD_BACKWARD)
            continue;
        if (e->detail == 0)
            w->starts[w->n_starts++] = f;
        else
            w->ends[w->n_ends++] = f;
        w->balance[e->track] += e->detail == 0 ? -1 : 1;
    }
    sort_flows(w->ends, w->n_ends, compare_places);
    sort_flows(w->starts, w->n_starts, compare_ids);
    return true;
}

static bool is_end_before(const flow *f, int32_t track, int64_t time)
{
    return f->track < track || (f->track == track && f->time <= time);
}

/* The module of the forward operator of an event on a track at a time, by the last arrow that ended there; -1 without
 * one. It mostly is the last found one again, or the next. O(log n). */
static int32_t forward_module(work *w, int32_t track, int64_t time)
{
    size_t low = 0, high = w->n_ends, near = w->last_end;
    if (near < high && is_end_before(&w->ends[near], track, time))
        for (int i = 0; i < 2 && low == 0; i++, near++)
            if (near + 1 == w->n_ends || !is_end_before(&w->ends[near + 1], track, time))
                low = high = near + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_end_before(&w->ends[middle], track, time))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || w->ends[low - 1].track != track || w->n_starts == 0)
        return -1;
    flow *end = &w->ends[low - 1];
    w->last_end = low - 1;
    if (end->module == NOT_ASKED) {
        const flow *from = bsearch(end, w->starts, w->n_starts, sizeof *w->starts, compare_ids);
        end->module = from ? ek__nest_find(&w->modules, from->track, from->time) : -1;
    }
    return end->module;
}

/* ---- which modules are layers ---- */

/* A thread with more ends of arrows than begins runs backward passes. */
static bool is_backward_track(const work *w, int32_t track)
{
    return w->balance[track] > 0;
}

/* Kernel time inside every module: launched in it, then parts added to the modules around, the last ones first. */
static void sum_busy(work *w)
{
    ek__slice kernels = w->trace->of[EK__EVENT_KERNEL];
    for (size_t i = 0; i < kernels.n; i++) {
        int32_t m = w->point[i].track < 0 ? -1 : ek__nest_find(&w->modules, w->point[i].track, w->point[i].time);
        w->module_of[i] = m;
        if (m >= 0 && !is_backward_track(w, w->point[i].track))
            w->busy[m] += (double)kernels.event[i].duration;
    }
    for (size_t m = w->modules.n; m-- > 0;)
        if (w->modules.at[m].parent >= 0)
            w->busy[w->modules.at[m].parent] += w->busy[m];
}

static int compare_groups(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->parent != y->parent)
        return (x->parent > y->parent) - (x->parent < y->parent);
    if (x->kind != y->kind)
        return (x->kind > y->kind) - (x->kind < y->kind);
    return (x->name > y->name) - (x->name < y->name);
}

/* A module's name and its kind's hash. */
typedef struct kind_slot {
    uint64_t hash;
    uint32_t name;
} kind_slot;

static int compare_kinds(const void *a, const void *b)
{
    const kind_slot *x = a, *y = b;
    if (x->hash != y->hash)
        return (x->hash > y->hash) - (x->hash < y->hash);
    return (x->name > y->name) - (x->name < y->name);
}

static uint64_t hash_of(const char *text, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* kind_of[name]: the smallest name with the same kind; each name is processed once. */
static bool find_kinds(const work *w, uint32_t *kind_of)
{
    kind_slot *slot = ek__alloc(w->modules.n, sizeof *slot);
    size_t n = 0;
    if (!slot)
        return false;
    for (size_t m = 0; m < w->modules.n; m++) {
        uint32_t name = w->modules.at[m].name;
        size_t size;
        if (kind_of[name] != 0)
            continue;
        ek__module_number(ek__trace_name(w->trace, name), &size);
        slot[n++] = (kind_slot){hash_of(ek__trace_name(w->trace, name), size), name};
        kind_of[name] = name;
    }
    if (n > 0)
        qsort(slot, n, sizeof *slot, compare_kinds);
    for (size_t i = 0, first = 0; i < n; i++) {
        first = slot[i].hash == slot[first].hash ? first : i;
        kind_of[slot[i].name] = slot[first].name;
    }
    free(slot);
    return true;
}

/* Lists of modules with names that do not describe their contents. */
static bool is_plain_list(const char *name)
{
    static const char *const kinds[] = {"Sequential", "ModuleList", "ModuleDict"};
    size_t size;
    ek__module_number(name, &size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size == strlen(kinds[i]) && memcmp(name, kinds[i], size) == 0)
            return true;
    return false;
}

/* Could a module be a layer of a body? fit[m]: it has parts, or the part of its parent before it was of the same kind
 * and another one. Parents come before their parts, and these in order of time. */
static bool find_fit(const work *w, const uint32_t *kind_of, bool *fit)
{
    int32_t *before = ek__alloc(w->modules.n, sizeof *before); /* last part so far, plus 1 */
    if (!before)
        return false;
    for (size_t m = 0; m < w->modules.n; m++) {
        const ek__nested *r = &w->modules.at[m];
        if (r->parent < 0)
            continue;
        int32_t last = before[r->parent] - 1;
        before[r->parent] = (int32_t)m + 1;
        fit[r->parent] = true;
        fit[m] |=
            last >= 0 && w->modules.at[last].name != r->name && kind_of[w->modules.at[last].name] == kind_of[r->name];
    }
    free(before);
    return true;
}

/* Each (parent, module) by name once, with its time: `out` has room for all modules. `slot` [mask + 1]: number plus
 * 1, open-addressed, at most half full. */
static size_t collect_groups(const work *w, const uint32_t *kind_of, const bool *fits, group *out, uint32_t *slot,
                             size_t mask)
{
    size_t n = 0;
    uint32_t asked = UINT32_MAX;
    bool plain = false;
    for (size_t m = 0; m < w->modules.n; m++) {
        const ek__nested *r = &w->modules.at[m];
        uint32_t parent = r->parent >= 0 ? w->modules.at[r->parent].name : 0;
        if (asked != r->name)
            plain = is_plain_list(name_of(w, (int32_t)m));
        asked = r->name;
        if (plain || is_backward_track(w, r->track))
            continue;
        size_t at = (((uint64_t)parent << 32 | r->name) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
        while (slot[at] && (out[slot[at] - 1].parent != parent || out[slot[at] - 1].name != r->name))
            at = (at + 1) & mask;
        if (!slot[at]) {
            out[n++] = (group){.parent = parent, .name = r->name, .kind = kind_of[r->name]};
            slot[at] = (uint32_t)n;
        }
        out[slot[at] - 1].busy += w->busy[m];
        out[slot[at] - 1].fit |= fits[m];
    }
    return n;
}

/* Groups by (parent, kind): those with two names or more and a share of the largest one's time. */
static void choose_groups(work *w, const group *g, size_t n)
{
    double largest = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0, j; i < n; i = j) {
            double busy = 0;
            bool fit = false;
            for (j = i; j < n && g[j].parent == g[i].parent && g[j].kind == g[i].kind; j++) {
                busy += g[j].busy;
                fit |= g[j].fit;
            }
            bool repeats = fit && j - i > 1;
            if (pass == 0 && repeats)
                largest = busy > largest ? busy : largest;
            for (size_t k = i; k < j && pass == 1; k++)
                w->chosen[g[k].name] |= repeats && busy > 0 && busy * SMALL_GROUP >= largest;
        }
}

static bool choose_by_group(work *w, const uint32_t *kind_of)
{
    size_t mask = 15, n;
    while (mask / 2 <= w->modules.n)
        mask = 2 * mask + 1;
    group *g = ek__alloc(w->modules.n, sizeof *g);
    bool *fits = ek__alloc(w->modules.n, sizeof *fits);
    uint32_t *slot = ek__alloc(mask + 1, sizeof *slot);
    bool fine = g && fits && slot && find_fit(w, kind_of, fits);
    if (fine) {
        n = collect_groups(w, kind_of, fits, g, slot, mask);
        if (n > 0)
            qsort(g, n, sizeof *g, compare_groups);
        choose_groups(w, g, n);
    }
    free(g);
    free(fits);
    free(slot);
    return fine;
}

static bool is_body(const work *w, int32_t module)
{
    const ek_trace_options *o = w->search->options;
    const char *name = name_of(w, module);
    if (o && o->n_body > 0)
        return ek__layer_named(o->body, o->n_body, name, strlen(name));
    return w->chosen[w->modules.at[module].name];
}

static int32_t add_layer(work *w, int32_t module, ek_trace_role role)
{
    const ek__nested *r = &w->modules.at[module];
    if (w->layer_of[r->name] >= 0)
        return w->layer_of[r->name];
    const char *name = name_of(w, module);
    size_t kind_size;
    ek__found_layer layer = {.role = role, .index = ek__module_number(name, &kind_size)};
    layer.name = ek__pool_text(w->search->rank->pool, name, strlen(name));
    layer.kind = ek__pool_text(w->search->rank->pool, name, kind_size);
    int32_t index = layer.name && layer.kind ? ek__layer_add(w->search, &layer) : -1;
    if (index >= 0)
        w->layer_of[r->name] = index;
    return index;
}

/* The outermost layer around every module; and the modules that contain one. */
static bool find_bodies(work *w, int64_t *first_body)
{
    *first_body = INT64_MAX;
    for (size_t m = 0; m < w->modules.n; m++) {
        const ek__nested *r = &w->modules.at[m];
        int32_t around = r->parent >= 0 ? w->body[r->parent] : -1;
        w->body[m] = around >= 0 ? around : is_body(w, (int32_t)m) ? (int32_t)m : -1;
        if (w->body[m] == (int32_t)m && !is_backward_track(w, r->track)) {
            *first_body = r->start < *first_body ? r->start : *first_body;
            if (add_layer(w, (int32_t)m, EK_TRACE_BODY) < 0)
                return false;
        }
    }
    for (size_t m = w->modules.n; m-- > 0;) {
        int32_t parent = w->modules.at[m].parent;
        if (parent >= 0)
            w->has_body[parent] |= w->has_body[m] || w->body[m] == (int32_t)m;
    }
    return true;
}

/* Modules named head or tail; else the outermost modules without a layer: head before the first layer, tail after.
 */
static bool is_extra(const work *w, int32_t module, int64_t first_body, ek_trace_role *role)
{
    const ek_trace_options *o = w->search->options;
    const char *name = name_of(w, module);
    size_t size = strlen(name);
    bool named_head = o && ek__layer_named(o->head, o->n_head, name, size);
    bool named_tail = o && ek__layer_named(o->tail, o->n_tail, name, size);
    *role = named_head || (!named_tail && w->modules.at[module].start < first_body) ? EK_TRACE_HEAD : EK_TRACE_TAIL;
    if (named_head || named_tail)
        return true;
    int n_given = !o ? 0 : *role == EK_TRACE_HEAD ? o->n_head : o->n_tail;
    return n_given == 0 && first_body != INT64_MAX && !w->has_body[module];
}

static bool find_extras(work *w, int64_t first_body)
{
    for (size_t m = 0; m < w->modules.n; m++) {
        const ek__nested *r = &w->modules.at[m];
        ek_trace_role role;
        if (w->body[m] >= 0 || is_backward_track(w, r->track))
            continue;
        int32_t around = r->parent >= 0 ? w->body[r->parent] : -1;
        if (around < 0 && is_extra(w, (int32_t)m, first_body, &role)) {
            w->body[m] = (int32_t)m;
            if (add_layer(w, (int32_t)m, role) < 0)
                return false;
        }
    }
    /* Parts of heads and tails. */
    for (size_t m = 0; m < w->modules.n; m++) {
        int32_t parent = w->modules.at[m].parent;
        if (parent >= 0 && w->body[parent] >= 0)
            w->body[m] = w->body[parent];
    }
    return true;
}

/* Parts of layers by name, so that recomputation without its layer's module is recognised too. */
static void name_parts(work *w)
{
    for (size_t m = 0; m < w->modules.n; m++) {
        const ek__nested *r = &w->modules.at[m];
        if (w->body[m] >= 0 && !is_backward_track(w, r->track) && w->layer_of[r->name] < 0)
            w->layer_of[r->name] = w->layer_of[w->modules.at[w->body[m]].name];
    }
}

/* ---- kernels ---- */

/* The layer of a module or of one around it, by name; not beyond the range that begins at `from`. */
static int32_t layer_around(const work *w, int32_t module, int64_t from, int32_t *execution)
{
    int32_t layer = -1;
    for (int32_t m = module; m >= 0 && w->modules.at[m].start >= from; m = w->modules.at[m].parent)
        if (w->layer_of[w->modules.at[m].name] >= 0) {
            layer = w->layer_of[w->modules.at[m].name];
            *execution = m;
        }
    return layer;
}

static bool place_kernel(work *w, size_t i, member *out)
{
    const ek__launch_point *at = &w->point[i];
    if (at->track < 0)
        return false;
    int32_t region = w->regions.n ? ek__nest_find(&w->regions, at->track, at->time) : -1;
    int32_t module = w->module_of[i];
    out->host = at->time;
    out->layer = -1;
    out->region = region >= 0;
    if (region >= 0) {
        out->direction = EK__PASS_RERUN;
        out->layer = layer_around(w, module, w->regions.at[region].start, &out->execution);
        out->execution = region;
    } else if (module >= 0 && is_backward_track(w, at->track)) {
        out->direction = EK__PASS_RERUN;
        out->layer = layer_around(w, module, INT64_MIN, &out->execution);
    } else if (module >= 0) {
        out->direction = EK__PASS_FORWARD;
        out->execution = w->body[module];
    } else {
        module = forward_module(w, at->track, at->time);
        out->direction = EK__PASS_BACKWARD;
        out->execution = module >= 0 ? w->body[module] : -1;
        if (module >= 0 && out->execution < 0)
            out->layer = layer_around(w, module, INT64_MIN, &out->execution);
    }
    if (out->direction != EK__PASS_RERUN && out->layer < 0 && out->execution >= 0)
        out->layer = w->layer_of[w->modules.at[out->execution].name];
    return out->layer >= 0;
}

/* The pass of an execution and layer, opened when it is new; NULL when memory is out. */
static open_pass *pass_of(work *w, const member *m)
{
    int32_t *first = &w->first_pass[m->region ? EK__N_LAYER_PASSES : m->direction][m->execution];
    for (int32_t i = *first - 1; i >= 0; i = w->pass[i].next)
        if (w->pass[i].pass.layer == m->layer)
            return &w->pass[i];
    void *room = ek__with_room(w->pass, &w->passes_capacity, w->n_passes + 1, sizeof *w->pass);
    if (!room || w->n_passes >= INT32_MAX)
        return NULL;
    w->pass = room;
    open_pass *p = &w->pass[w->n_passes++];
    *p = (open_pass){
        {.layer = m->layer, .direction = m->direction, .start = m->start, .end = m->end}, m->host, *first - 1};
    *first = (int32_t)w->n_passes;
    return p;
}

/* Kernels come in order of time, so the first one of a pass begins it. O(kernels). */
static bool place_kernels(work *w)
{
    ek__slice kernels = w->trace->of[EK__EVENT_KERNEL];
    for (int i = 0; i <= EK__N_LAYER_PASSES; i++) {
        w->first_pass[i] = ek__alloc(i < EK__N_LAYER_PASSES ? w->modules.n : w->regions.n, sizeof *w->first_pass[i]);
        if (!w->first_pass[i])
            return false;
    }
    for (size_t i = 0; i < kernels.n; i++) {
        member m = {.start = kernels.event[i].start, .end = ek__event_end(&kernels.event[i])};
        if (!place_kernel(w, i, &m))
            continue;
        open_pass *p = pass_of(w, &m);
        if (!p || !ek__layer_member_add(w->search, m.start, m.layer))
            return false;
        p->pass.end = m.end > p->pass.end ? m.end : p->pass.end;
        p->pass.busy = ek__ns_add(p->pass.busy, m.end - m.start);
    }
    return true;
}

static bool make_passes(work *w)
{
    for (size_t i = 0; i < w->n_passes; i++) {
        ek__layer_pass *pass = &w->pass[i].pass;
        pass->step = ek__layer_host_step(w->search, w->pass[i].host);
        pass->wall = pass->end - pass->start;
        if (pass->step >= 0 && !ek__layer_pass_add(w->search, pass))
            return false;
    }
    return true;
}

static bool search_modules(work *w)
{
    int64_t first_body;
    size_t n_names = w->trace->n_names;
    uint32_t *kind_of = ek__alloc(n_names, sizeof *kind_of);
    w->point = ek__launch_points(w->trace);
    w->busy = ek__alloc(w->modules.n, sizeof *w->busy);
    w->module_of = ek__alloc(w->trace->of[EK__EVENT_KERNEL].n, sizeof *w->module_of);
    w->body = ek__alloc(w->modules.n, sizeof *w->body);
    w->has_body = ek__alloc(w->modules.n, sizeof *w->has_body);
    w->layer_of = ek__alloc(n_names, sizeof *w->layer_of);
    w->chosen = ek__alloc(n_names, sizeof *w->chosen);
    bool fine = kind_of && w->point && w->busy && w->module_of && w->body && w->has_body && w->layer_of && w->chosen;
    for (size_t i = 0; i < n_names && fine; i++)
        w->layer_of[i] = -1;
    fine = fine && find_flows(w) && find_kinds(w, kind_of);
    if (fine) {
        sum_busy(w);
        fine = choose_by_group(w, kind_of) && find_bodies(w, &first_body) && find_extras(w, first_body);
    }
    if (fine) {
        name_parts(w);
        fine = place_kernels(w) && make_passes(w);
    }
    free(kind_of);
    return fine;
}

ek_status ek__layers_of_modules(ek__layer_search *search, const char **source, ek_error *err)
{
    work w = {.search = search, .trace = search->trace};
    *source = "modules";
    if (search->trace->of[EK__EVENT_MODULE].n == 0)
        return EK_OK;
    search->named = true;
    bool fine = ek__nest_make(w.trace, EK__EVENT_MODULE, &w.modules) &&
                ek__nest_make(w.trace, EK__EVENT_RECOMPUTE, &w.regions) && search_modules(&w);
    ek__nest_clear(&w.modules);
    ek__nest_clear(&w.regions);
    free(w.point);
    free(w.busy);
    free(w.body);
    free(w.has_body);
    free(w.layer_of);
    free(w.chosen);
    free(w.balance);
    free(w.ends);
    free(w.starts);
    free(w.module_of);
    free(w.pass);
    for (int i = 0; i <= EK__N_LAYER_PASSES; i++)
        free(w.first_pass[i]);
    return fine ? EK_OK : ek__no_memory(err);
}
