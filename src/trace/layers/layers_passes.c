/* Cuts the operators of a layer into executions. The pattern of one execution is learnt from the run of the layer's
 * operators (no other layer in between) that has most different places and, of these, the fewest operators; a pass ends
 * where a place would occur more often than there, where an operator with a number returns, where another layer
 * (forward: or a receive) intervened and the pass does not continue after its last place, at a step's end, and,
 * forward, at any backward operator. Where passes of a layer always follow each other directly, and numbers differ, the
 * pattern contains several: then fewer passes are found than of other layers, and a pattern that repeats itself is cut.
 *
 * A forward pass directly before a backward pass of its layer is recomputation when all of it is marked so, or when
 * there are as many other forward passes as backward ones. Not handled: interleaved executions of one layer. */
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"
#include "trace/layers/layers_paths.h"

enum { N_CLASSES = 2 }; /* forward with recomputation, backward */

/* The pattern of one execution of a layer: places in order. */
typedef struct pattern {
    uint32_t *place;
    size_t n, n_distinct;
} pattern;

/* A pass under construction. */
typedef struct piece {
    size_t first, last; /* operators of the layer */
    int64_t start, end, busy;
    int32_t step;
    uint32_t n, n_distinct;
    uint8_t class;
    bool all_marked, before_backward;
} piece;

typedef struct cutter {
    ek__layer_search *search;
    const ek__layer_op *op;
    size_t n;
    uint32_t *fragment; /* [n]: operators of one layer that follow each other have equal numbers */
    bool *received;     /* [n]: a receive from another stage began since the operator before */
    size_t *order;      /* [n]: operators by layer, in order of time */
    size_t *begin;      /* [n_layers + 1] in `order` */
    uint32_t *limit, *position, *used, *used_in, *seen_in; /* by place (seen_in: by operator name) */
    uint32_t serial;                                       /* of passes, for used_in and seen_in */
    bool split;                                            /* backward runs end at receives too */
    pattern best[N_CLASSES];
    size_t n_pieces, capacity;
    piece *piece;
} cutter;

static uint8_t class_of(const ek__layer_op *op)
{
    return op->scope == EK__SCOPE_BACKWARD;
}

/* ---- the pattern ---- */

static bool is_run_end(const cutter *c, size_t i, size_t end)
{
    return i == end || c->fragment[c->order[i]] != c->fragment[c->order[i - 1]] ||
           class_of(&c->op[c->order[i]]) != class_of(&c->op[c->order[i - 1]]) ||
           ((c->split || class_of(&c->op[c->order[i]]) == 0) && c->received[c->order[i]]);
}

/* A run of operators of one class; with pieces of recomputation in between, of several such runs. */
typedef struct stretch {
    size_t first, end, n, n_distinct;
} stretch;

/* Add the run that begins at i to a stretch. Places count once for each value of c->serial. @return its end */
static size_t add_run(cutter *c, size_t i, size_t end, stretch *s)
{
    do {
        uint32_t place = c->op[c->order[i]].place;
        s->n_distinct += c->used_in[place] != c->serial;
        c->used_in[place] = c->serial;
        s->n++;
        i++;
    } while (!is_run_end(c, i, end));
    return s->end = i;
}

/* Does a run at i only run again a part of the layer, so that the backward pass around it continues after it? */
static bool is_interlude(const cutter *c, size_t i, size_t end, size_t *after)
{
    size_t n = 0;
    bool same = c->fragment[c->order[i]] == c->fragment[c->order[i - 1]];
    do {
        n++;
        i++;
    } while (!is_run_end(c, i, end));
    *after = i;
    return same && 2 * n <= c->best[0].n && i < end && c->fragment[c->order[i]] == c->fragment[c->order[i - 1]];
}

/* The places of the shortest stretch of a class among those with most different places. `joined`: backward passes
 * continue after their recomputation. O(operators of the layer). */
static void find_pattern(cutter *c, size_t begin, size_t end, uint8_t class, bool joined, pattern *out)
{
    stretch best = {0};
    for (size_t i = begin; i < end;) {
        stretch s = {.first = i};
        size_t after;
        c->serial++;
        i = add_run(c, i, end, &s);
        if (class_of(&c->op[c->order[s.first]]) != class)
            continue;
        while (joined && i < end && class_of(&c->op[c->order[i]]) != class && is_interlude(c, i, end, &after))
            i = add_run(c, after, end, &s);
        if (s.n_distinct > best.n_distinct || (s.n_distinct == best.n_distinct && s.n < best.n))
            best = s;
    }
    size_t n = 0;
    for (size_t i = best.first; i < best.end; i++)
        if (class_of(&c->op[c->order[i]]) == class)
            out->place[n++] = c->op[c->order[i]].place;
    out->n = n;
    out->n_distinct = best.n_distinct;
}

/* Backward passes end at receives when nothing is lost by it, and are joined only where no single run has as many
 * places. A receive may also begin in the middle of a pass: then a stretch between two receives has fewer places. */
static void find_patterns(cutter *c, size_t begin, size_t end)
{
    find_pattern(c, begin, end, 0, false, &c->best[0]);
    find_pattern(c, begin, end, 1, true, &c->best[1]);
    size_t joined = c->best[1].n_distinct;
    for (int attempt = 0; attempt < 4; attempt++) {
        c->split = attempt % 2 == 0;
        find_pattern(c, begin, end, 1, attempt >= 2, &c->best[1]);
        if (c->best[1].n_distinct >= joined)
            break;
    }
    c->split = false;
}

/* Does the pattern consist of k equal parts? */
static bool is_repeated(const pattern *p, size_t k)
{
    if (k < 2 || p->n % k != 0 || p->n == 0)
        return false;
    for (size_t i = p->n / k; i < p->n; i++)
        if (p->place[i] != p->place[i - p->n / k])
            return false;
    return true;
}

static void use_pattern(cutter *c, const pattern *p)
{
    for (size_t i = 0; i < p->n; i++)
        c->limit[p->place[i]] = 0;
    for (size_t i = 0; i < p->n; i++)
        if (c->limit[p->place[i]]++ == 0)
            c->position[p->place[i]] = (uint32_t)i;
}

/* ---- cutting ---- */

static piece *open_piece(cutter *c, size_t i, uint8_t class)
{
    void *room = ek__with_room(c->piece, &c->capacity, c->n_pieces + 1, sizeof *c->piece);
    if (!room)
        return NULL;
    c->piece = room;
    const ek__layer_op *op = &c->op[c->order[i]];
    c->piece[c->n_pieces] =
        (piece){.first = i, .start = op->start, .end = op->start, .step = op->step, .class = class, .all_marked = true};
    c->serial++;
    return &c->piece[c->n_pieces++];
}

/* Does operator i continue the piece whose last operator of the class was `before`? */
static bool goes_on(const cutter *c, const piece *p, size_t before, size_t i, uint32_t at)
{
    const ek__layer_op *op = &c->op[c->order[i]], *last = &c->op[c->order[before]];
    uint32_t used = c->used_in[op->place] == c->serial ? c->used[op->place] : 0;
    uint32_t limit = c->limit[op->place] ? c->limit[op->place] : 1;
    if (op->step != p->step || used >= limit)
        return false;
    if (c->seen_in[op->exact] == c->serial && op->exact != last->exact)
        return false;
    if (c->fragment[c->order[i]] == c->fragment[c->order[before]] && (p->class == 1 || !c->received[c->order[i]]))
        return true;
    return used > 0 || c->position[op->place] > at;
}

static void add_op(cutter *c, piece *p, size_t i, uint32_t *at)
{
    const ek__layer_op *op = &c->op[c->order[i]];
    if (c->used_in[op->place] != c->serial) {
        c->used_in[op->place] = c->serial;
        c->used[op->place] = 0;
        p->n_distinct++;
    }
    *at = c->used[op->place] == 0 ? c->position[op->place] : *at + 1;
    c->used[op->place]++;
    c->seen_in[op->exact] = c->serial;
    p->last = i;
    p->n++;
    p->end = op->start + op->duration > p->end ? op->start + op->duration : p->end;
    p->busy = ek__ns_add(p->busy, op->duration);
    p->all_marked &= op->scope == EK__SCOPE_RECOMPUTE;
}

static bool cut_class(cutter *c, size_t begin, size_t end, uint8_t class)
{
    piece *p = NULL;
    size_t before = 0;
    uint32_t at = 0;
    use_pattern(c, &c->best[class]);
    for (size_t i = begin; i < end; i++) {
        if (class_of(&c->op[c->order[i]]) != class) {
            if (class == 0)
                p = NULL;
            continue;
        }
        if (!p || !goes_on(c, p, before, i, at)) {
            p = open_piece(c, i, class);
            if (!p)
                return false;
        }
        add_op(c, p, i, &at);
        before = i;
    }
    for (size_t i = 0; i < c->best[class].n; i++)
        c->limit[c->best[class].place[i]] = c->position[c->best[class].place[i]] = 0;
    return true;
}

static void mark_before_backward(cutter *c, size_t first_piece, size_t end)
{
    for (size_t i = first_piece; i < c->n_pieces; i++) {
        piece *p = &c->piece[i];
        size_t next = p->last + 1;
        p->before_backward = p->class == 0 && next < end && class_of(&c->op[c->order[next]]) == 1 &&
                             c->fragment[c->order[next]] == c->fragment[c->order[p->last]];
    }
}

/* ---- telling forward from recomputation ---- */

typedef struct tally {
    int64_t n_forward, n_backward;
    int64_t n_marked, n_unmarked, n_whole; /* directly before a backward pass; whole: unmarked with all places */
} tally;

static tally count_pieces(const cutter *c, size_t first_piece)
{
    tally t = {0};
    for (size_t i = first_piece; i < c->n_pieces; i++) {
        const piece *p = &c->piece[i];
        t.n_backward += p->class == 1;
        t.n_forward += p->class == 0 && !p->before_backward;
        t.n_marked += p->before_backward && p->all_marked;
        t.n_unmarked += p->before_backward && !p->all_marked;
        t.n_whole += p->before_backward && !p->all_marked && p->n_distinct == c->best[0].n_distinct;
    }
    return t;
}

/* The numbers of forward and backward passes are equal, which decides the kind of passes before a backward pass. */
static bool is_rerun(const cutter *c, const piece *p, const tally *t)
{
    if (!p->before_backward)
        return false;
    if (p->all_marked)
        return t->n_forward + t->n_unmarked > 0;
    if (t->n_forward + t->n_unmarked == t->n_backward)
        return false;
    if (t->n_forward == t->n_backward)
        return true;
    return t->n_forward + t->n_whole > 0 && p->n_distinct < c->best[0].n_distinct;
}

static bool emit_pieces(cutter *c, int32_t layer, size_t first_piece, bool whole)
{
    tally t = count_pieces(c, first_piece);
    for (size_t i = first_piece; i < c->n_pieces; i++) {
        const piece *p = &c->piece[i];
        ek__layer_pass pass = {.layer = layer,
                               .step = p->step,
                               .start = p->start,
                               .end = p->end,
                               .wall = p->end - p->start,
                               .busy = whole ? EK_TRACE_UNKNOWN : p->busy};
        pass.direction = p->class == 1 ? EK__PASS_BACKWARD : is_rerun(c, p, &t) ? EK__PASS_RERUN : EK__PASS_FORWARD;
        if (!ek__layer_pass_add(c->search, &pass))
            return false;
    }
    return true;
}

/* ---- layers ---- */

/* The result of cutting a layer: its passes in the search. */
typedef struct layer_cut {
    size_t first, last;
    tally tally;
} layer_cut;

/* The pieces of a layer; `expected` passes each way, 0 when not known. */
static bool cut_layer(cutter *c, int32_t layer, int64_t expected)
{
    size_t begin = c->begin[layer], end = c->begin[layer + 1];
    find_patterns(c, begin, end);
    for (int attempt = 0; attempt < 2; attempt++) {
        c->n_pieces = 0;
        if (!cut_class(c, begin, end, 0) || !cut_class(c, begin, end, 1))
            return false;
        mark_before_backward(c, 0, end);
        tally t = count_pieces(c, 0);
        int64_t n[N_CLASSES] = {t.n_forward + t.n_marked + t.n_unmarked, t.n_backward}, wanted[N_CLASSES];
        wanted[1] = expected;
        /* Marked passes that are all before a backward one include the forward pass too. */
        wanted[0] = t.n_marked > 0 && t.n_forward + t.n_unmarked == 0 ? 2 * n[0] : expected;
        bool again = false;
        for (int i = 0; i < N_CLASSES && attempt == 0; i++) {
            if (n[i] <= 0 || wanted[i] <= n[i] || wanted[i] % n[i] != 0)
                continue;
            size_t k = (size_t)(wanted[i] / n[i]);
            if (is_repeated(&c->best[i], k)) {
                c->best[i].n /= k;
                again = true;
            }
        }
        if (!again)
            break;
    }
    return true;
}

static void drop_marked_passes(ek__layer_search *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_passes; i++)
        if (s->pass[i].direction != EK__N_LAYER_PASSES)
            s->pass[n++] = s->pass[i];
    s->n_passes = n;
}

/* Passes of all layers, and their expected number for each: that of the layer with most backward ones (without any,
 * most forward ones). Layers with fewer are cut again. */
static bool cut_layers(cutter *c, bool whole)
{
    ek__layer_search *s = c->search;
    int32_t n_layers = (int32_t)s->n_layers;
    int64_t backward = 0, forward = 0, expected;
    layer_cut *cut = ek__alloc(s->n_layers, sizeof *cut);
    bool fine = cut != NULL;
    for (int32_t l = 0; l < n_layers && fine; l++) {
        cut[l].first = s->n_passes;
        fine = cut_layer(c, l, 0) && emit_pieces(c, l, 0, whole);
        cut[l].last = s->n_passes;
        cut[l].tally = count_pieces(c, 0);
        backward = cut[l].tally.n_backward > backward ? cut[l].tally.n_backward : backward;
        forward = cut[l].tally.n_forward > forward ? cut[l].tally.n_forward : forward;
    }
    expected = backward ? backward : forward;
    for (int32_t l = 0; l < n_layers && fine; l++) {
        const tally *t = &cut[l].tally;
        if (t->n_forward + t->n_marked + t->n_unmarked >= expected && t->n_backward >= expected)
            continue;
        for (size_t i = cut[l].first; i < cut[l].last; i++)
            s->pass[i].direction = EK__N_LAYER_PASSES; /* to be dropped */
        fine = cut_layer(c, l, expected) && emit_pieces(c, l, 0, whole);
    }
    drop_marked_passes(s);
    free(cut);
    return fine;
}

/* Receives begin in order of time, as operators do. Names are checked for receives once each. */
static bool mark_received(cutter *c)
{
    static const ek_trace_options none;
    enum { ASKED = 1, RECEIVE = 2 };
    const ek_trace_options *options = c->search->options ? c->search->options : &none;
    const ek__trace *trace = c->search->trace;
    ek__slice slice = trace->of[EK__EVENT_COLLECTIVE];
    unsigned char *name = ek__alloc(trace->n_names, sizeof *name);
    if (!name)
        return false;
    for (size_t i = 0, r = 0; i < c->n; i++)
        for (; r < slice.n && slice.event[r].start < c->op[i].start; r++) {
            uint32_t n = slice.event[r].name;
            if (!name[n])
                name[n] = ek__is_receive(options, ek__trace_name(trace, n)) ? ASKED | RECEIVE : ASKED;
            c->received[i] |= (name[n] & RECEIVE) != 0;
        }
    free(name);
    return true;
}

static bool sort_by_layer(cutter *c)
{
    size_t n_layers = c->search->n_layers;
    for (size_t i = 0; i < c->n; i++)
        c->begin[c->op[i].layer + 1]++;
    for (size_t l = 0; l < n_layers; l++)
        c->begin[l + 1] += c->begin[l];
    size_t *next = ek__alloc(n_layers, sizeof *next);
    if (!next)
        return false;
    memcpy(next, c->begin, n_layers * sizeof *next);
    for (size_t i = 0; i < c->n; i++)
        c->order[next[c->op[i].layer]++] = i;
    free(next);
    uint32_t fragment = 0;
    for (size_t i = 0; i < c->n; i++) {
        fragment += i > 0 && (c->op[i].layer != c->op[i - 1].layer || c->op[i].step != c->op[i - 1].step);
        c->fragment[i] = fragment;
    }
    return true;
}

bool ek__cut_passes(ek__layer_search *search, const ek__layer_op *op, size_t n, uint32_t n_exact, uint32_t n_places,
                    bool whole)
{
    cutter c = {.search = search, .op = op, .n = n};
    uint32_t *by_place = ek__alloc(n_places, 4 * sizeof *by_place);
    c.fragment = ek__alloc(n, sizeof *c.fragment);
    c.received = ek__alloc(n, sizeof *c.received);
    c.order = ek__alloc(n, sizeof *c.order);
    c.begin = ek__alloc(search->n_layers + 1, sizeof *c.begin);
    c.seen_in = ek__alloc(n_exact, sizeof *c.seen_in);
    c.best[0].place = ek__alloc(n, sizeof *c.best[0].place);
    c.best[1].place = ek__alloc(n, sizeof *c.best[1].place);
    bool fine =
        by_place && c.fragment && c.received && c.order && c.begin && c.seen_in && c.best[0].place && c.best[1].place;
    if (fine) {
        c.limit = by_place;
        c.position = by_place + n_places;
        c.used = by_place + 2 * (size_t)n_places;
        c.used_in = by_place + 3 * (size_t)n_places;
        fine = mark_received(&c) && sort_by_layer(&c);
    }
    fine = fine && cut_layers(&c, whole);
    free(by_place);
    free(c.fragment);
    free(c.received);
    free(c.order);
    free(c.begin);
    free(c.seen_in);
    free(c.best[0].place);
    free(c.best[1].place);
    free(c.piece);
    return fine;
}
