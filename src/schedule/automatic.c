/* Searches for orders with a backward pass that is split in two, after the idea of Qi et al. 2024 (Zero Bubble Pipeline
 * Parallelism, arXiv 2401.10241; Pipeline Parallelism with Controllable Memory, arXiv 2405.15362): weight gradients (W)
 * fill the gaps that the forwards (F) and input gradients (B) leave.
 *
 * A stage's F and B follow a *pattern*, and one pass (`lay_out`) places them as early as possible, with W in gaps, W
 * where memory runs out, and W where waiting would exceed the idle time that a target allows the stage. Patterns come
 * from four families. For one chunk: a number of forwards before the first backward, then in turn. For two: *rounds* of
 * a backward and a forward of every stage after a warm-up, best where memory is ample; one micro-batch's *way* down and
 * up and back, repeated, best where it is scarce; and such a way on a grid of equal slots, squeezed at both ends
 * (schedule/building_block.c), which also determines when W run. Many patterns and targets are tried, then the best is
 * improved by small changes of its pattern. The effort is counted in passes, so results are reproducible unless a watch
 * (base/watch.h) ends the search: then the best order so far is returned.
 *
 * Why laying out stage by stage from fixed patterns, and not event by event: when a block is placed the arrival of the
 * next one is known exactly, so that W never delays it unless that was decided. */
#include "schedule/automatic.h"

#include "base/error.h"
#include "base/random.h"
#include "base/watch.h"
#include "schedule/building_block.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHUNKS = 2, N_CLASSES = EK_N_BLOCK_KINDS * MAX_CHUNKS };

/* Relative rounding error allowed for memory and for equal times. */
#define SLACK 1e-9
#define EXACT 1e-12

/* A block's kind and chunk in one byte; the micro-batch follows, since a class runs in micro-batch order. */
static inline uint8_t class_of(int kind, int chunk)
{
    return (uint8_t)(kind * MAX_CHUNKS + chunk);
}

static inline int kind_of(int class)
{
    return class / MAX_CHUNKS;
}

static inline int chunk_of(int class)
{
    return class % MAX_CHUNKS;
}

/* The problem by model position, [n_positions], and stage, [p]. */
typedef struct pipeline {
    int p, v, m, n_positions;
    size_t n_pattern; /* F and B of a stage, 2 v m */
    size_t n_blocks;  /* of a stage, 3 v m */
    double weight_share;
    int *stage;                     /* [n_positions] */
    double *time[EK_N_BLOCK_KINDS]; /* [n_positions] */
    double *activation;             /* [n_positions] */
    double *edge;                   /* [n_positions], from the position before */
    double *limit;                  /* [p], with the slack of rounding */
    double *work;                   /* [p] */
    double *head;                   /* [p], before the stage's first F */
    double *turn;                   /* [p], from its first F's start to its first B's earliest arrival */
    ek__automatic_aim aim;
    double bound;
} pipeline;

static inline int position(const pipeline *x, int chunk, int stage)
{
    return ek_position(EK_PLACE_V, x->p, chunk, stage);
}

/* The placement of W. */
typedef struct policy {
    double target; /* a wait that makes the stage miss this is replaced by a W */
    double share;  /* a gap of at least this share of the W is filled, too */
    int most_owed; /* W that may be deferred when the next block starts, or AS_WRITTEN for the pattern */
    int ahead;     /* F of chunk 0 that may run before their turn where they fit into a gap */
} policy;

enum { AS_WRITTEN = -1 };

static const policy at_once = {DBL_MAX, 1, 0, 0}, as_written = {DBL_MAX, 1, AS_WRITTEN, 0};

/* State of a stage during its layout. */
typedef struct lane {
    double time, idle, start, held;
    double owed;          /* part of `held` that W would free */
    size_t at;            /* in its pattern */
    size_t n_laid;        /* in its blocks */
    ptrdiff_t waits_for;  /* index in `end`, or -1 */
    int next[N_CLASSES];  /* micro-batch of each class */
    int early[N_CLASSES]; /* of each class, number run before their turn */
} lane;

typedef struct score {
    double aim, other; /* the objective, and the tie-breaker */
} score;

/* Where one micro-batch's blocks lie on a stage. */
typedef struct slots {
    double start[2 * MAX_CHUNKS], time[2 * MAX_CHUNKS];
    int n;
} slots;

typedef struct search {
    pipeline x;
    double *numbers;     /* memory of all arrays of doubles except `end` */
    lane *lanes;         /* [p] */
    double *end;         /* [2][n_positions][m], of F and B; negative before they are placed */
    int *ready;          /* [p], a stack */
    uint8_t *bytes;      /* memory of the arrays of classes */
    uint8_t *laid;       /* [p][n_blocks], classes */
    uint8_t *best_laid;  /* [p][n_blocks], of the best */
    int *warm_up;        /* [p] */
    double *way;         /* [2][n_positions], when one micro-batch's blocks begin, along its way */
    slots *taken;        /* [p] */
    double *delay;       /* [2][n_positions], wait before each of them */
    uint8_t *pattern;    /* [p][n_pattern], the pattern being tried */
    uint8_t *best;       /* [p][n_pattern] */
    uint16_t *owed;      /* [p][n_pattern], W that may be deferred when each block of the pattern starts, if
                          * AS_WRITTEN */
    uint16_t *best_owed; /* [p][n_pattern] */
    policy best_policy;
    score best_score;
} search;

/* Is it time to end, after so much work? The first pattern has to be completed, since without it there is no order. */
static bool is_over(const search *z, double work)
{
    return z->best_score.aim == DBL_MAX ? ek__watch_late(work) : ek__watch_spent(work);
}

/* ---- Laying out one pattern ---- */

static void lay(search *z, int s, int class)
{
    lane *l = &z->lanes[s];
    z->laid[(size_t)s * z->x.n_blocks + l->n_laid++] = (uint8_t) class;
    l->next[class]++;
}

static int n_owed(const lane *l, int chunk)
{
    return l->next[class_of(EK_BACKWARD, chunk)] - l->next[class_of(EK_BACKWARD_WEIGHT, chunk)];
}

static void run_weight(search *z, int s, int chunk)
{
    const pipeline *x = &z->x;
    lane *l = &z->lanes[s];
    int q = position(x, chunk, s);
    double freed = x->activation[q] * x->weight_share;
    lay(z, s, class_of(EK_BACKWARD_WEIGHT, chunk));
    l->time += x->time[EK_BACKWARD_WEIGHT][q];
    l->held -= freed;
    l->owed -= freed;
}

/* Chunk of the oldest owed W, or -1. */
static int oldest_weight(const search *z, const lane *l)
{
    int oldest = -1;
    for (int c = 0; c < z->x.v; c++) {
        int next = l->next[class_of(EK_BACKWARD_WEIGHT, c)];
        if (n_owed(l, c) && (oldest < 0 || next < l->next[class_of(EK_BACKWARD_WEIGHT, oldest)]))
            oldest = c;
    }
    return oldest;
}

/* Chunk of the longest owed W that ends in time, or -1. */
static int fitting_weight(const search *z, int s, double until)
{
    const lane *l = &z->lanes[s];
    int longest = -1;
    double time = -1, room = until * (1 + EXACT) - l->time;
    for (int c = 0; c < z->x.v; c++) {
        double t = z->x.time[EK_BACKWARD_WEIGHT][position(&z->x, c, s)];
        if (n_owed(l, c) && t <= room && t > time) {
            time = t;
            longest = c;
        }
    }
    return longest;
}

/* Whether a forward finds memory once all owed W have run. */
static bool admits(const pipeline *x, const lane *l, int s, int chunk)
{
    return l->held - l->owed + x->activation[position(x, chunk, s)] <= x->limit[s];
}

/* Skip blocks that have run before their turn. @return whether something is left. */
static bool skip_early(const search *z, int s)
{
    lane *l = &z->lanes[s];
    const uint8_t *pattern = z->pattern + (size_t)s * z->x.n_pattern;
    while (l->at < z->x.n_pattern && l->early[pattern[l->at]])
        l->early[pattern[l->at++]]--;
    return l->at < z->x.n_pattern;
}

/* The class to run next: the pattern's, or when that is a forward without memory, the first later one that can run.
 * -1 when there is none. */
static int choose(const search *z, int s)
{
    const pipeline *x = &z->x;
    const lane *l = &z->lanes[s];
    const uint8_t *pattern = z->pattern + (size_t)s * x->n_pattern;
    int first = pattern[l->at];
    if (kind_of(first) == EK_BACKWARD || admits(x, l, s, chunk_of(first)))
        return first;
    int early[N_CLASSES];
    memcpy(early, l->early, sizeof early);
    for (size_t k = l->at + 1; k < x->n_pattern; k++) {
        int class = pattern[k], chunk = chunk_of(class);
        if (early[class]) {
            early[class]--;
            continue;
        }
        if (kind_of(class) == EK_BACKWARD ? l->next[class] < l->next[class_of(EK_FORWARD, chunk)]
                                          : chunk > chunk_of(first) && admits(x, l, s, chunk))
            return class;
        is_over(z, 0.25);
    }
    return -1;
}

/* Run the W that precede a block which arrives at `arrival`. */
static void run_weights_before(search *z, int s, int class, double arrival, const policy *how)
{
    const pipeline *x = &z->x;
    lane *l = &z->lanes[s];
    int w;
    while ((w = fitting_weight(z, s, arrival)) >= 0)
        run_weight(z, s, w);
    if (kind_of(class) == EK_FORWARD) {
        double most = x->limit[s] - x->activation[position(x, chunk_of(class), s)];
        while (l->held > most && (w = oldest_weight(z, l)) >= 0)
            run_weight(z, s, w);
    }
    int owed = 0;
    for (int c = 0; c < x->v; c++)
        owed += n_owed(l, c);
    int most = how->most_owed == AS_WRITTEN ? z->owed[(size_t)s * x->n_pattern + l->at] : how->most_owed;
    for (; owed > most; owed--)
        run_weight(z, s, oldest_weight(z, l));
    double gap = arrival - l->time;
    if (gap <= 0 || (w = oldest_weight(z, l)) < 0)
        return;
    double may_idle = how->target * (1 + EXACT) - x->work[s] - (x->aim == EK__AIM_END ? l->start : 0);
    if (l->idle + gap > may_idle || gap >= how->share * x->time[EK_BACKWARD_WEIGHT][position(x, w, s)])
        run_weight(z, s, w);
}

/* When the next block of a class arrives; negative when its predecessor is not placed yet, which is then returned in
 * *before.
 */
static double arrival_of(const search *z, int s, int class, ptrdiff_t *before)
{
    const pipeline *x = &z->x;
    int q = position(x, chunk_of(class), s), last = x->n_positions - 1;
    ptrdiff_t m = x->m, i = z->lanes[s].next[class];
    if (class == class_of(EK_FORWARD, 0) && q == 0)
        return 0;
    if (kind_of(class) == EK_FORWARD)
        *before = (q - 1) * m + i;
    else
        *before = q == last ? q * m + i : (x->n_positions + q + 1) * m + i;
    if (z->end[*before] < 0)
        return -1;
    return z->end[*before] + (kind_of(class) == EK_FORWARD ? x->edge[q] : q < last ? x->edge[q + 1] : 0);
}

/* Whether a forward of chunk 0 can run before its turn and be done at `until`. */
static bool fits_ahead(const search *z, int s, double until, const policy *how)
{
    const pipeline *x = &z->x;
    const lane *l = &z->lanes[s];
    int class = class_of(EK_FORWARD, 0);
    if (l->next[class] == x->m || l->early[class] >= how->ahead * (x->p - s) / x->p)
        return false;
    double needs = 0;
    for (int c = 0; c < x->v; c++)
        needs += x->activation[position(x, c, s)];
    if (l->held + needs > x->limit[s])
        return false;
    ptrdiff_t before;
    double arrival = arrival_of(z, s, class, &before);
    return arrival >= 0 && fmax(arrival, l->time) + x->time[EK_FORWARD][position(x, 0, s)] <= until * (1 + EXACT);
}

/* Place the stage's blocks until one has to wait for a block not placed yet. @return false when the pattern is
 * infeasible, or time is over. */
static bool lay_out_stage(search *z, int s, int *n_ready, const policy *how)
{
    const pipeline *x = &z->x;
    lane *l = &z->lanes[s];
    while (skip_early(z, s)) {
        int class = choose(z, s);
        if (class < 0 || is_over(z, 2))
            return false;
        if (kind_of(class) == EK_BACKWARD && l->next[class] >= l->next[class_of(EK_FORWARD, chunk_of(class))])
            return false;
        ptrdiff_t before;
        double arrival = arrival_of(z, s, class, &before);
        if (arrival < 0) {
            l->waits_for = before;
            return true;
        }
        if (how->ahead && l->n_laid && class != class_of(EK_FORWARD, 0) && fits_ahead(z, s, arrival, how)) {
            class = class_of(EK_FORWARD, 0);
            arrival = arrival_of(z, s, class, &before);
        }
        if (l->n_laid)
            run_weights_before(z, s, class, arrival, how);
        else
            l->start = l->time = arrival;
        if (arrival > l->time) {
            l->idle += arrival - l->time;
            l->time = arrival;
        }
        if (class == z->pattern[(size_t)s * x->n_pattern + l->at])
            l->at++;
        else
            l->early[class]++;
        int kind = kind_of(class), q = position(x, chunk_of(class), s), i = l->next[class];
        lay(z, s, class);
        double a = x->activation[q];
        l->time += x->time[kind][q];
        l->held += kind == EK_FORWARD ? a : -a * (1 - x->weight_share);
        l->owed += kind == EK_FORWARD ? 0 : a * x->weight_share;
        ptrdiff_t self = ((ptrdiff_t)kind * x->n_positions + q) * x->m + i;
        z->end[self] = l->time;
        int to = kind == EK_FORWARD ? q + 1 : q - 1;
        if (to < 0 || to >= x->n_positions)
            continue;
        int next = x->stage[to];
        if (z->lanes[next].waits_for == self) {
            z->lanes[next].waits_for = -1;
            z->ready[(*n_ready)++] = next;
        }
    }
    return true;
}

/* Lay out z->pattern. @return false when it is infeasible, blocks would wait for one another, or time is over. O(p v
 * m). */
static bool lay_out(search *z, const policy *how, score *out)
{
    const pipeline *x = &z->x;
    size_t n_ends = 2 * (size_t)x->n_positions * (size_t)x->m;
    if (is_over(z, x->p))
        return false;
    for (size_t k = 0; k < n_ends; k++)
        z->end[k] = -1;
    int n_ready = 0;
    for (int s = x->p - 1; s >= 0; s--) {
        z->lanes[s] = (lane){.waits_for = -1};
        z->ready[n_ready++] = s;
    }
    while (n_ready)
        if (!lay_out_stage(z, z->ready[--n_ready], &n_ready, how))
            return false;
    double span = 0, end = 0;
    for (int s = 0; s < x->p; s++) {
        lane *l = &z->lanes[s];
        if (l->at < x->n_pattern)
            return false;
        for (int w; (w = oldest_weight(z, l)) >= 0;)
            run_weight(z, s, w);
        span = fmax(span, l->time - l->start);
        end = fmax(end, l->time);
    }
    *out = x->aim == EK__AIM_SPAN ? (score){span, end} : (score){end, span};
    return true;
}

/* ---- The best so far ---- */

static bool is_better(const search *z, score a, score b)
{
    double rounding = EXACT * z->x.bound;
    return a.aim < b.aim - rounding || (a.aim <= b.aim + rounding && a.other < b.other - rounding);
}

static bool meets_bound(const search *z, score a)
{
    return a.aim <= z->x.bound * (1 + EXACT);
}

/* Has the best reached the bound, or is time over? */
static bool is_done(const search *z)
{
    return meets_bound(z, z->best_score) || ek__watch_spent(0);
}

static void copy_pattern(const pipeline *x, uint8_t *to, uint16_t *owed_to, const uint8_t *from,
                         const uint16_t *owed_from)
{
    size_t n = (size_t)x->p * x->n_pattern;
    memcpy(to, from, n * sizeof *to);
    memcpy(owed_to, owed_from, n * sizeof *owed_to);
}

/* Lay out z->pattern and keep it when it is better, or at least as good when `sideways`. */
static void try_policy(search *z, policy how, bool sideways)
{
    score got;
    if (!lay_out(z, &how, &got))
        return;
    if (sideways ? is_better(z, z->best_score, got) : !is_better(z, got, z->best_score))
        return;
    z->best_score = got;
    z->best_policy = how;
    copy_pattern(&z->x, z->best, z->best_owed, z->pattern, z->owed);
    uint8_t *laid = z->laid;
    z->laid = z->best_laid;
    z->best_laid = laid;
}

static void try_policies(search *z, double target, int ahead)
{
    double bound = z->x.bound;
    try_policy(z, (policy){DBL_MAX, 1, INT_MAX, ahead}, false);
    try_policy(z, (policy){DBL_MAX, 0.5, INT_MAX, ahead}, false);
    try_policy(z, (policy){DBL_MAX, 0, INT_MAX, ahead}, false);
    try_policy(z, (policy){target, 1, INT_MAX, ahead}, false);
    try_policy(z, (policy){(target + bound) / 2, 1, INT_MAX, ahead}, false);
    try_policy(z, (policy){bound, 1, INT_MAX, ahead}, false);
}

/* ---- Patterns for one chunk: forwards to warm up, then one backward and one forward in turn ---- */

static void write_warm_ups(search *z)
{
    int m = z->x.m;
    for (int s = 0; s < z->x.p; s++) {
        uint8_t *out = z->pattern + (size_t)s * z->x.n_pattern;
        for (int f = 0, b = 0; b < m;) {
            bool forward = f < m && f - b < z->warm_up[s];
            *out++ = class_of(forward ? EK_FORWARD : EK_BACKWARD, 0);
            forward ? f++ : b++;
        }
    }
}

/* The fewest forwards with which no stage idles longer before its first backward than the share `spent` of the idle
 * time that `target` allows it, but at least 1 + slope (p - 1 - s), and within memory. */
static void make_warm_ups(search *z, double target, double spent, double slope)
{
    const pipeline *x = &z->x;
    double back = 0; /* end of the first backward, from the start of the stage's first forward */
    for (int s = x->p - 1; s >= 0; s--) {
        double f = x->time[EK_FORWARD][s], a = x->activation[s];
        double arrival = s == x->p - 1 ? f : f + 2 * x->edge[s + 1] + back;
        double idle = spent * (target - x->work[s] - (x->aim == EK__AIM_END ? x->head[s] : 0));
        double n = f > 0 ? ceil((arrival - idle) / f - SLACK) : 1;
        n = fmax(n, 1 + floor(slope * (x->p - 1 - s)));
        if (s < x->p - 1)
            n = fmax(n, z->warm_up[s + 1] + 1);
        if (a > 0)
            n = fmin(n, floor(x->limit[s] / a));
        z->warm_up[s] = (int)fmax(fmin(n, x->m), 1);
        back = fmax(arrival, z->warm_up[s] * f) + x->time[EK_BACKWARD][s];
    }
}

/* Where memory limits the first stages to the same number: one less from stage to stage. @return whether that changed
 * any.
 */
static bool stagger_warm_ups(search *z)
{
    bool changed = false;
    for (int s = 1; s < z->x.p; s++)
        if (z->warm_up[s] >= z->warm_up[s - 1] && z->warm_up[s - 1] < z->x.m && z->warm_up[s] > 1) {
            z->warm_up[s] = z->warm_up[s - 1] > 1 ? z->warm_up[s - 1] - 1 : 1;
            changed = true;
        }
    return changed;
}

static void try_warm_ups(search *z)
{
    static const double slopes[] = {0, 1, 1.25, 1.5, 1.75, 2, 2.25};
    enum { N_ROUNDS = 2, N_TARGETS = 8, N_SLOPES = sizeof slopes / sizeof *slopes };
    for (int s = 0; s < z->x.p; s++)
        z->warm_up[s] = z->x.p - s;
    write_warm_ups(z);
    try_policy(z, at_once, false);
    for (int round = 0; round < N_ROUNDS; round++) {
        double worst = z->best_score.aim;
        for (int k = 0; k < N_TARGETS; k++)
            for (int spent = 2; spent >= 1; spent--)
                for (int slope = 0; slope < N_SLOPES; slope++) {
                    double target = z->x.bound + (worst - z->x.bound) * k / N_TARGETS;
                    make_warm_ups(z, target, spent / 2.0, slopes[slope]);
                    do {
                        write_warm_ups(z);
                        try_policies(z, target, 0);
                        if (is_done(z))
                            return;
                    } while (stagger_warm_ups(z));
                }
    }
}

/* ---- Patterns for two chunks: a warm-up, then a backward and a forward of every stage a round ---- */

static bool has_arrived(const search *z, int s, int class)
{
    ptrdiff_t before;
    return z->lanes[s].next[class] < z->x.m && arrival_of(z, s, class, &before) >= 0;
}

/* Append a block that has arrived to the stage's pattern. Memory is counted as if W ran right after B. */
static void append(search *z, int s, int class)
{
    const pipeline *x = &z->x;
    lane *l = &z->lanes[s];
    int q = position(x, chunk_of(class), s), kind = kind_of(class);
    ptrdiff_t before;
    l->time = fmax(l->time, arrival_of(z, s, class, &before)) + x->time[kind][q];
    z->end[((ptrdiff_t)kind * x->n_positions + q) * x->m + l->next[class]++] = l->time;
    l->held += kind == EK_FORWARD ? x->activation[q] : -x->activation[q];
    z->pattern[(size_t)s * x->n_pattern + l->at++] = (uint8_t) class;
}

static bool may_forward(const search *z, int s, int chunk)
{
    return has_arrived(z, s, class_of(EK_FORWARD, chunk)) &&
           z->lanes[s].held + z->x.activation[position(&z->x, chunk, s)] <= z->x.limit[s];
}

/* Whether stages 0 .. s have memory for one more forward of chunk 0, and for the forwards of both chunks that s runs
 * until the first backward arrives. */
static bool has_room_ahead(const search *z, int s)
{
    const pipeline *x = &z->x;
    for (int t = 0; t <= s; t++) {
        double both = x->activation[position(x, 0, t)] + x->activation[position(x, 1, t)];
        if (z->lanes[t].held + (t == s ? s + 1 : 1) * both > x->limit[t])
            return false;
    }
    return true;
}

/* Forwards before the first backward of each stage. Of chunk 0 as many as memory and the time before the first of chunk
 * 1 permit, which they `may_delay`; then of both in turn, at least as many on each stage as on the previous one. */
static void append_warm_up(search *z, bool may_delay)
{
    const pipeline *x = &z->x;
    const int first = class_of(EK_FORWARD, 0), second = class_of(EK_FORWARD, 1);
    for (int s = 0; s < x->p; s++)
        append(z, s, first);
    append(z, x->p - 1, second);
    for (int s = x->p - 2; s >= 0; s--) {
        const lane *l = &z->lanes[s];
        ptrdiff_t before;
        double latest = arrival_of(z, s, second, &before) * (1 + EXACT) - (may_delay ? 0 : x->time[EK_FORWARD][s]);
        while (l->time <= latest && l->next[first] < x->m && has_room_ahead(z, s) && !ek__watch_spent(s))
            for (int t = 0; t <= s; t++)
                append(z, t, first);
        append(z, s, second);
    }
    int chunk = 0;
    for (int s = 1; s < x->p; s++) {
        const lane *l = &z->lanes[s], *above = l - 1;
        for (int n_idle = 0; n_idle < MAX_CHUNKS; chunk = 1 - chunk) {
            bool behind = l->next[second] <= above->next[second] && above->next[second] < x->m;
            if (!behind && l->at >= above->at)
                break;
            n_idle++;
            if (ek__watch_spent(x->p - s))
                return;
            for (int t = x->p - 1; t >= s; t--)
                if (may_forward(z, t, chunk)) {
                    append(z, t, class_of(EK_FORWARD, chunk));
                    n_idle = 0;
                }
        }
    }
}

/* After the warm-up each round goes through the stages from the first to the last, so that micro-batches on the way
 * down pass all stages and those on the way up pass one: a backward each, of chunk 0 if it has arrived, since its
 * memory is the oldest; then a forward each, of chunk 1 if it has arrived, since its memory is released soonest.
 * @return false when memory keeps every stage from going on, or time is over. O(p v m). */
static bool write_rounds(search *z, bool may_delay)
{
    const pipeline *x = &z->x;
    size_t n_ends = 2 * (size_t)x->n_positions * (size_t)x->m, left = (size_t)x->p * x->n_pattern;
    for (size_t k = 0; k < n_ends; k++)
        z->end[k] = -1;
    for (int s = 0; s < x->p; s++)
        z->lanes[s] = (lane){.waits_for = -1};
    append_warm_up(z, may_delay);
    for (int s = 0; s < x->p; s++)
        left -= z->lanes[s].at;
    while (left) {
        size_t before = left;
        for (int s = 0; s < x->p; s++)
            for (int chunk = 0; chunk < MAX_CHUNKS; chunk++)
                if (has_arrived(z, s, class_of(EK_BACKWARD, chunk))) {
                    append(z, s, class_of(EK_BACKWARD, chunk));
                    left--;
                    break;
                }
        for (int s = 0; s < x->p; s++)
            for (int chunk = MAX_CHUNKS - 1; chunk >= 0; chunk--)
                if (may_forward(z, s, chunk)) {
                    append(z, s, class_of(EK_FORWARD, chunk));
                    left--;
                    break;
                }
        if (left == before || ek__watch_spent(x->p))
            return false;
    }
    return true;
}

/* Rounds with many targets. The span follows the target in small jumps, so that the last ones are close together. */
static void try_rounds(search *z)
{
    static const double shares[] = {1, 0.75, 0.5};
    enum { N_SWEEPS = 3, N_TARGETS = 64, N_SHARES = sizeof shares / sizeof *shares };
    for (int may_delay = 0; may_delay <= 1; may_delay++)
        if (write_rounds(z, may_delay))
            try_policies(z, (z->x.bound + z->best_score.aim) / 2, 0);
    double width = 1;
    for (int sweep = 0; sweep < N_SWEEPS; sweep++, width /= 4) {
        double worst = z->best_score.aim, step = width * (worst - z->x.bound) / N_TARGETS;
        for (int may_delay = 0; may_delay <= 1; may_delay++) {
            if (!write_rounds(z, may_delay))
                continue;
            for (int k = 1; k <= N_TARGETS && !is_done(z); k++)
                for (int share = 0; share < N_SHARES; share++)
                    try_policy(z, (policy){worst - k * step, shares[share], INT_MAX, 0}, false);
        }
    }
}

/* ---- Patterns for two chunks: one micro-batch's way, repeated ---- */

/* One micro-batch after the other; feasible under every accepted limit. */
static void write_one_by_one(search *z)
{
    const pipeline *x = &z->x;
    for (size_t s = 0; s < (size_t)x->p; s++)
        for (size_t k = 0; k < x->n_pattern; k++) {
            int at = (int)(k % (size_t)(2 * x->v));
            z->pattern[s * x->n_pattern + k] =
                at < x->v ? class_of(EK_FORWARD, at) : class_of(EK_BACKWARD, 2 * x->v - 1 - at);
        }
}

/* Start, from `earliest` on, of a block that repeats every `period` on a stage with other repeating blocks. Returns
 * `earliest` itself when there is no room. */
static double free_slot(const slots *taken, double period, double earliest, double time)
{
    double start = earliest, tiny = SLACK * period;
    for (int k = 0; k < taken->n;) {
        double after = fmod(start - taken->start[k], period);
        if (after < 0)
            after += period;
        if (after > period - tiny) /* by rounding: it is the start itself */
            after = 0;
        double shift = 0;
        if (after < taken->time[k] - tiny)
            shift = taken->time[k] - after;
        else if (period - after < time - tiny)
            shift = period - after + taken->time[k];
        start += shift;
        k = shift > 0 ? 0 : k + 1;
        if (start > earliest + period)
            return earliest;
    }
    return start;
}

static double use_slot(slots *taken, double period, double earliest, double time)
{
    double start = free_slot(taken, period, earliest, time);
    taken->start[taken->n] = start;
    taken->time[taken->n++] = time;
    return start;
}

/* Make one micro-batch's way such that it can be repeated every `period`: no two blocks of a stage meet. z->delay[k] is
 * the wait before its k-th block. A slow way keeps more micro-batches alive: it trades memory for fewer gaps. */
static void make_way(search *z, double period)
{
    const pipeline *x = &z->x;
    double now = 0;
    memset(z->taken, 0, (size_t)x->p * sizeof *z->taken);
    for (int k = 0; k < 2 * x->n_positions; k++) {
        int kind = k < x->n_positions ? EK_FORWARD : EK_BACKWARD;
        int q = kind == EK_FORWARD ? k : 2 * x->n_positions - 1 - k;
        if (kind == EK_FORWARD)
            now += x->edge[q];
        else if (q < x->n_positions - 1)
            now += x->edge[q + 1];
        z->way[k] = use_slot(&z->taken[x->stage[q]], period, now + z->delay[k], x->time[kind][q]);
        now = z->way[k] + x->time[kind][q];
    }
}

/* When the block of a class starts in the way. */
static double way_start(const search *z, int s, int kind, int chunk)
{
    int q = position(&z->x, chunk, s);
    return z->way[kind == EK_FORWARD ? q : 2 * z->x.n_positions - 1 - q];
}

/* Whether the repeated way stays within the limits, with W right after B. */
static bool way_fits(const search *z, double period)
{
    const pipeline *x = &z->x;
    for (int s = 0; s < x->p; s++)
        for (int at = 0; at < x->v; at++) {
            double now = way_start(z, s, EK_FORWARD, at) * (1 + EXACT), held = 0;
            for (int c = 0; c < x->v; c++) {
                int q = position(x, c, s);
                double begin = way_start(z, s, EK_FORWARD, c);
                double end = way_start(z, s, EK_BACKWARD, c) + x->time[EK_BACKWARD][q];
                double last = end + x->time[EK_BACKWARD_WEIGHT][q];
                double n = floor((now - begin) / period);
                held += x->activation[q] * (1 - x->weight_share) * (n - floor((now - end) / period));
                held += x->activation[q] * x->weight_share * (n - floor((now - last) / period));
            }
            if (held > x->limit[s])
                return false;
        }
    return true;
}

static void write_ways(search *z, double period)
{
    const pipeline *x = &z->x;
    for (int s = 0; s < x->p; s++) {
        int n_done[2 * MAX_CHUNKS] = {0};
        uint8_t *out = z->pattern + (size_t)s * x->n_pattern;
        for (size_t k = 0; k < x->n_pattern; k++) {
            int first = -1;
            double when = DBL_MAX;
            for (int class = 2 * MAX_CHUNKS - 1; class >= 0; class --) {
                if (chunk_of(class) >= x->v || n_done[class] == x->m)
                    continue;
                double t = way_start(z, s, kind_of(class), chunk_of(class)) + n_done[class] * period;
                if (t < when) {
                    when = t;
                    first = class;
                }
            }
            n_done[first]++;
            *out++ = (uint8_t)first;
        }
    }
}

/* The successor of a block of kind k and chunk c starts pace[k][c] times its time after its start. */
static void set_delays(search *z, const double pace[2][MAX_CHUNKS])
{
    const pipeline *x = &z->x;
    int n = x->n_positions;
    z->delay[0] = z->delay[n] = 0;
    for (int k = 1; k < n; k++) {
        int forward = k - 1, backward = n - k;
        z->delay[k] = x->time[EK_FORWARD][forward] * (pace[EK_FORWARD][forward / x->p] - 1);
        z->delay[n + k] = x->time[EK_BACKWARD][backward] * (pace[EK_BACKWARD][backward / x->p] - 1);
    }
}

/* Least time a stage needs for the F and B of one micro-batch. */
static double least_period(const pipeline *x)
{
    double least = 0;
    for (int s = 0; s < x->p; s++) {
        double own = 0;
        for (int c = 0; c < x->v; c++)
            own += x->time[EK_FORWARD][position(x, c, s)] + x->time[EK_BACKWARD][position(x, c, s)];
        least = fmax(least, own);
    }
    return least;
}

/* Ways of many paces, each repeated as often as memory admits and a few steps less often. */
static void try_ways(search *z)
{
    static const double outer[] = {1, 1.5, 3, 5, 7}, inner[] = {1, 1.5, 2, 3};
    enum {
        N_OUTER = sizeof outer / sizeof *outer,
        N_INNER = sizeof inner / sizeof *inner,
        N_FITTING = 6,
    };
    const double step = 1.06, longest = 16, spread = 1.1;
    double least = least_period(&z->x), best = DBL_MAX;
    for (int k = 0; k < N_OUTER * N_OUTER * N_INNER * N_INNER; k++) {
        int i = k, down = i % N_OUTER, up = (i /= N_OUTER) % N_OUTER;
        int turn = (i /= N_OUTER) % N_INNER, back = i / N_INNER;
        set_delays(z, (const double[2][MAX_CHUNKS]){{outer[down], inner[turn]}, {outer[up], inner[back]}});
        int fitting = 0;
        for (double period = least; period < longest * least && period < spread * best && fitting < N_FITTING;
             period *= step) {
            make_way(z, period);
            bool fits = way_fits(z, period);
            if (ek__watch_spent(4.0 * z->x.n_positions))
                return;
            if (!fits)
                continue;
            fitting++;
            best = fmin(best, period);
            write_ways(z, period);
            double target = z->x.bound + (z->best_score.aim - z->x.bound) / 2;
            try_policies(z, target, 0);
            try_policies(z, target, z->x.p / 2);
            if (is_done(z))
                return;
        }
    }
}

/* ---- Patterns for two chunks: building blocks on a grid ---- */

enum {
    N_STEPS = EK__MOST_STEP,
    N_TURNS = 3, /* of the last stage; at the first one N_STEPS */
    N_BUILDING_BLOCKS = N_STEPS * N_STEPS * N_STEPS * N_STEPS * N_TURNS * N_TURNS * N_STEPS,
    N_KEPT = 6,
};

/* Orders from building blocks for one period and share, and the limits of slots and blocks tried for them. */
#define BLOCK_ORDERS 500
#define BLOCK_SLOTS  1e7

/* An order from a building block, and its quality with W as written. */
typedef struct candidate {
    int block, period;
    double share;
    bool weights_first;
    score score;
} candidate;

/* The k-th building block. Blocks with F0 as B1, and F1 as B0, from stage to stage come first, as in the published
 * ones. */
static ek__building_block building_block(int k)
{
    int i = k, turn[EK__N_PASSES - 1];
    turn[0] = 1 + i % N_TURNS;
    turn[1] = 1 + (i /= N_TURNS) % N_STEPS;
    turn[2] = 1 + (i /= N_STEPS) % N_TURNS;
    int down = (i /= N_TURNS) % N_STEPS, up = (i /= N_STEPS) % N_STEPS;
    int more_down = (i /= N_STEPS) % N_STEPS, more_up = i / N_STEPS;
    return (ek__building_block){
        .step = {1 + down, 1 + up, 1 + (down + more_down) % N_STEPS, 1 + (up + more_up) % N_STEPS},
        .turn = {turn[0], turn[1], turn[2]},
    };
}

static void write_grid(search *z, const ek__slot_grid *grid)
{
    static const uint8_t class_of_pass[EK__N_PASSES] = {
        [EK__PASS_F0] = EK_FORWARD * MAX_CHUNKS,
        [EK__PASS_F1] = EK_FORWARD * MAX_CHUNKS + 1,
        [EK__PASS_B1] = EK_BACKWARD * MAX_CHUNKS + 1,
        [EK__PASS_B0] = EK_BACKWARD * MAX_CHUNKS,
    };
    size_t n = z->x.n_pattern;
    for (int s = 0; s < z->x.p; s++) {
        uint8_t *pattern = z->pattern + (size_t)s * n;
        ek__slot_grid_order(grid, s, pattern, z->owed + (size_t)s * n);
        for (size_t k = 0; k < n; k++)
            pattern[k] = class_of_pass[pattern[k]];
    }
}

static void keep_candidate(const search *z, candidate *kept, candidate c)
{
    int at = N_KEPT;
    for (int k = 0; k < N_KEPT; k++) /* blocks that differ often give one order */
        if (kept[k].score.aim == c.score.aim && kept[k].score.other == c.score.other)
            return;
    for (; at > 0 && is_better(z, c.score, kept[at - 1].score); at--)
        if (at < N_KEPT)
            kept[at] = kept[at - 1];
    if (at < N_KEPT)
        kept[at] = c;
}

/* Limit of a chunk's activations on a stage; chunks of a stage count alike. */
static void limits_in_chunks(const pipeline *x, double *limit)
{
    for (int s = 0; s < x->p; s++) {
        double both = x->activation[position(x, 0, s)] + x->activation[position(x, 1, s)];
        limit[s] = both > 0 ? 2 * x->limit[s] / both : DBL_MAX;
    }
}

/* Rank the building blocks that fit. @return how many do, or -1 without memory. */
static int rank_blocks(search *z, candidate *kept, const double *limit, candidate c)
{
    const pipeline *x = &z->x;
    ek__slot_grid *grid = ek__slot_grid_new(x->p, x->m, c.period, limit, c.share);
    if (!grid)
        return -1;
    int n_fitting = 0;
    double size = x->p * ((double)x->n_blocks + 4.0 * EK__N_PASSES * x->p),
           left = fmin(BLOCK_ORDERS, BLOCK_SLOTS / size);
    for (c.block = 0; c.block < N_BUILDING_BLOCKS && left > 0 && !meets_bound(z, kept[0].score); c.block++) {
        ek__building_block block = building_block(c.block);
        bool fits = ek__slot_grid_fits(grid, &block);
        if (ek__watch_spent(EK__N_PASSES * x->p))
            break;
        if (!fits)
            continue;
        n_fitting++;
        for (int first = 0; first <= 1; first++) {
            c.weights_first = first;
            ek__slot_grid_repeat(grid, first);
            if (ek__watch_spent(0)) /* an order that ended early is incomplete */
                break;
            write_grid(z, grid);
            left--;
            if (lay_out(z, &as_written, &c.score))
                keep_candidate(z, kept, c);
        }
    }
    ek__slot_grid_free(grid);
    return n_fitting;
}

/* Try a stored pattern with all policies. @return false without memory. */
static bool try_candidate(search *z, const double *limit, const candidate *c)
{
    const pipeline *x = &z->x;
    ek__slot_grid *grid = ek__slot_grid_new(x->p, x->m, c->period, limit, c->share);
    ek__building_block block = building_block(c->block);
    if (!grid)
        return false;
    bool fits = ek__slot_grid_fits(grid, &block);
    if (fits)
        ek__slot_grid_repeat(grid, c->weights_first);
    if (fits && !ek__watch_spent(0)) {
        write_grid(z, grid);
        double target = x->bound + (z->best_score.aim - x->bound) / 2;
        try_policy(z, as_written, false);
        try_policy(z, (policy){target, 1, AS_WRITTEN, 0}, false);
        try_policy(z, (policy){DBL_MAX, 0.5, AS_WRITTEN, 0}, false);
        try_policies(z, target, 0);
    }
    ek__slot_grid_free(grid);
    return true;
}

/* Building blocks of the shortest period that memory admits, computed with activations kept until W, and with their
 * real lifetimes.
 */
static ek_status try_blocks(search *z, ek_error *err)
{
    enum { MOST_PERIOD = 12 };
    const pipeline *x = &z->x;
    candidate kept[N_KEPT];
    double *limit = ek__alloc((size_t)x->p, sizeof *limit);
    bool has_memory = limit != NULL;
    for (int k = 0; k < N_KEPT; k++)
        kept[k] = (candidate){.score = {DBL_MAX, DBL_MAX}};
    if (limit)
        limits_in_chunks(x, limit);
    for (int period = EK__LEAST_PERIOD, n = 0; period <= MOST_PERIOD && n == 0 && has_memory && !is_done(z); period++)
        for (int freed = 0; freed < (x->weight_share < 1 ? 2 : 1) && has_memory; freed++) {
            candidate c = {.period = period, .share = freed ? x->weight_share : 1};
            int n_fitting = rank_blocks(z, kept, limit, c);
            has_memory = n_fitting >= 0;
            n += n_fitting;
        }
    for (int k = 0; k < N_KEPT && has_memory && kept[k].period && !is_done(z); k++)
        has_memory = try_candidate(z, limit, &kept[k]);
    free(limit);
    return has_memory ? EK_OK : ek__no_memory(err);
}

/* ---- Improving the best ---- */

/* Blocks laid out in this part of the work, and the most passes. */
#define IMPROVE_BLOCKS 2e7
#define IMPROVE_PASSES 3000

/* From a random place on, let up to `most` neighbours `a`, `b` of the stages' patterns change places. */
static void swap_neighbours(search *z, ek__random *r)
{
    const pipeline *x = &z->x;
    int n_classes = 2 * x->v, a = ek__random_below(r, n_classes), b = ek__random_below(r, n_classes - 1);
    b += b >= a;
    uint8_t first = class_of(a / x->v, a % x->v), second = class_of(b / x->v, b % x->v);
    int from = ek__random_below(r, x->p), to = ek__random_below(r, 3) ? from : ek__random_below(r, x->p);
    size_t start = (size_t)ek__random_below(r, (int)x->n_pattern);
    size_t most = ek__random_below(r, 2) ? x->n_pattern : 1 + (size_t)ek__random_below(r, 6);
    for (int s = from < to ? from : to; s <= (from < to ? to : from); s++) {
        uint8_t *pattern = z->pattern + (size_t)s * x->n_pattern;
        size_t left = most;
        for (size_t k = start; k + 1 < x->n_pattern && left; k++)
            if (pattern[k] == first && pattern[k + 1] == second) {
                pattern[k] = second;
                pattern[++k] = first;
                left--;
            }
    }
}

/* From a random place on, let one more or one less W be deferred. */
static void shift_weights(search *z, ek__random *r)
{
    const pipeline *x = &z->x;
    int from = ek__random_below(r, x->p), to = ek__random_below(r, 3) ? from : ek__random_below(r, x->p);
    size_t start = (size_t)ek__random_below(r, (int)x->n_pattern);
    size_t end = start + 1 + (size_t)ek__random_below(r, ek__random_below(r, 2) ? (int)x->n_pattern : 6);
    bool more = ek__random_below(r, 2);
    for (int s = from < to ? from : to; s <= (from < to ? to : from); s++) {
        uint16_t *owed = z->owed + (size_t)s * x->n_pattern;
        for (size_t k = start; k < x->n_pattern && k < end; k++)
            if (more ? owed[k] < UINT16_MAX : owed[k] > 0)
                owed[k] = (uint16_t)(more ? owed[k] + 1 : owed[k] - 1);
    }
}

static void improve(search *z)
{
    const pipeline *x = &z->x;
    ek__random r = ek__random_seed(1);
    int n = (int)fmin(IMPROVE_PASSES, IMPROVE_BLOCKS / ((double)x->n_blocks * x->p));
    for (int k = 0; k < n && !is_done(z); k++) {
        copy_pattern(x, z->pattern, z->owed, z->best, z->best_owed);
        policy how = z->best_policy;
        int change = ek__random_below(&r, 4);
        if (change == 0)
            how.target = x->bound + (z->best_score.aim - x->bound) * ek__random_unit(&r);
        else if (change == 1)
            how.share = 1.2 * ek__random_unit(&r);
        if (x->v > 1 && ek__random_below(&r, 4) == 0)
            how.ahead = ek__random_below(&r, x->p + 1);
        if (change >= 2 || ek__random_below(&r, 2))
            swap_neighbours(z, &r);
        if (how.most_owed == AS_WRITTEN && ek__random_below(&r, 2))
            shift_weights(z, &r);
        try_policy(z, how, true);
    }
}

/* ---- The problem ---- */

/* Upper bound of the time that forwards on a stage with two chunks or one can fill before its first backward. */
static double most_forward_time(const pipeline *x, int s)
{
    double all = 0, longest = 0, least = DBL_MAX;
    for (int c = 0; c < x->v; c++) {
        int q = position(x, c, s);
        all += x->m * x->time[EK_FORWARD][q];
        longest = fmax(longest, x->time[EK_FORWARD][q]);
        least = fmin(least, x->activation[q]);
    }
    return least > 0 ? fmin(all, floor(x->limit[s] / least) * longest) : all;
}

/* W that have to run before the last F of a stage. */
static double least_weight_time(const pipeline *x, int s)
{
    double a = x->activation[s], freed = a * x->weight_share;
    if (x->v > 1 || freed <= 0)
        return 0;
    double n = ceil((a + (x->m - 1) * freed - x->limit[s]) / freed - SLACK);
    return fmax(0, fmin(n, x->m - 1)) * x->time[EK_BACKWARD_WEIGHT][s];
}

static void make_bound(pipeline *x)
{
    x->bound = 0;
    for (int j = 0; j < x->p; j++) {
        double gap = fmax(0, x->turn[j] - most_forward_time(x, j)), chain = 0, way = 0;
        for (int c = 0; c < x->v; c++)
            for (int kind = EK_FORWARD; kind <= EK_BACKWARD; kind++)
                chain += x->m * x->time[kind][position(x, c, j)];
        chain += gap + least_weight_time(x, j);
        for (int i = j; i >= 0; i--) {
            double start = x->aim == EK__AIM_END ? x->head[i] : 0;
            if (i < j)
                way += x->edge[i + 1] + x->time[EK_BACKWARD][i];
            double through = x->head[j] - x->head[i] + chain + way + x->time[EK_BACKWARD_WEIGHT][i];
            x->bound = fmax(x->bound, start + through);
        }
        x->bound = fmax(x->bound, (x->aim == EK__AIM_END ? x->head[j] : 0) + x->work[j] + gap);
    }
}

/* Edges, waits and sums from the profile's times. */
static void fill_pipeline(pipeline *x, const ek_profile *profile)
{
    int p = x->p;
    double back = 0;
    for (int q = 0; q < x->n_positions; q++) {
        int cell = ek_cell_at(EK_PLACE_V, p, q), s = cell % p;
        x->stage[q] = s;
        x->time[EK_FORWARD][q] = profile->forward_time[cell];
        x->time[EK_BACKWARD][q] = profile->backward_time[cell];
        x->time[EK_BACKWARD_WEIGHT][q] = profile->weight_time[cell];
        x->activation[q] = profile->activation[cell];
        int before = q ? x->stage[q - 1] : s;
        x->edge[q] = before == s ? 0 : profile->edge_time[before < s ? before : s];
        for (int kind = 0; kind < EK_N_BLOCK_KINDS; kind++)
            x->work[s] += x->m * x->time[kind][q];
    }
    for (int s = 0; s < p; s++) {
        x->limit[s] = profile->limit[s] * (1 + SLACK / 2);
        if (s)
            x->head[s] = x->head[s - 1] + x->time[EK_FORWARD][s - 1] + x->edge[s];
    }
    /* A stage's first B is the B of its last position. */
    double forward = 0;
    for (int q = p; q < x->n_positions; q++)
        forward += x->edge[q] + x->time[EK_FORWARD][q];
    for (int q = x->n_positions - 1; q >= x->n_positions - p; q--) {
        int s = x->stage[q];
        double down = 0;
        for (int t = s; t < p; t++)
            down += x->time[EK_FORWARD][t] + (t > s ? x->edge[t] : 0);
        x->turn[s] = down + forward + back;
        back += x->time[EK_BACKWARD][q] + x->edge[q];
    }
}

static void search_free(search *z)
{
    free(z->numbers);
    free(z->lanes);
    free(z->end);
    free(z->taken);
    free(z->ready);
    free(z->bytes);
    free(z->owed);
}

static ek_status search_init(search *z, ek__automatic_aim aim, const ek_shape *shape, const ek_profile *profile,
                             ek_error *err)
{
    size_t p = (size_t)shape->n_stages, v = (size_t)shape->n_chunks, m = (size_t)shape->n_micro_batches, n = p * v;
    *z = (search){.x = {.p = shape->n_stages,
                        .v = shape->n_chunks,
                        .m = shape->n_micro_batches,
                        .n_positions = (int)n,
                        .n_pattern = 2 * v * m,
                        .n_blocks = 3 * v * m,
                        .weight_share = profile->weight_share,
                        .aim = aim},
                  .best_score = {DBL_MAX, DBL_MAX}};
    z->numbers = ek__alloc(9 * n + 4 * p, sizeof *z->numbers);
    z->lanes = ek__alloc(p, sizeof *z->lanes);
    z->end = ek__alloc(2 * n * m, sizeof *z->end);
    z->taken = ek__alloc(p, sizeof *z->taken);
    z->ready = ek__alloc(n + 2 * p, sizeof *z->ready);
    z->bytes = ek__alloc(2 * p * (z->x.n_blocks + z->x.n_pattern), sizeof *z->bytes);
    z->owed = ek__alloc(2 * p * z->x.n_pattern, sizeof *z->owed);
    if (!z->numbers || !z->lanes || !z->end || !z->taken || !z->ready || !z->bytes || !z->owed) {
        search_free(z);
        return ek__no_memory(err);
    }
    double *of_positions = z->numbers, *of_stages = z->numbers + 9 * n;
    for (size_t kind = 0; kind < EK_N_BLOCK_KINDS; kind++)
        z->x.time[kind] = of_positions + kind * n;
    z->x.activation = of_positions + 3 * n;
    z->x.edge = of_positions + 4 * n;
    z->way = of_positions + 5 * n;
    z->delay = of_positions + 7 * n;
    z->x.limit = of_stages;
    z->x.work = of_stages + p;
    z->x.head = of_stages + 2 * p;
    z->x.turn = of_stages + 3 * p;
    z->warm_up = z->ready + p;
    z->x.stage = z->ready + 2 * p;
    z->laid = z->bytes;
    z->best_laid = z->laid + p * z->x.n_blocks;
    z->pattern = z->best_laid + p * z->x.n_blocks;
    z->best = z->pattern + p * z->x.n_pattern;
    z->best_owed = z->owed + p * z->x.n_pattern;
    memset(z->owed, 0, 2 * p * z->x.n_pattern * sizeof *z->owed);
    fill_pipeline(&z->x, profile);
    make_bound(&z->x);
    return EK_OK;
}

/* Every stage must have memory for one micro-batch in all its chunks at once. */
static ek_status check_limit(const pipeline *x, const ek_profile *profile, ek_error *err)
{
    for (int s = 0; s < x->p; s++) {
        double least = 0;
        for (int c = 0; c < x->v; c++)
            least += x->activation[position(x, c, s)];
        if (!(least <= x->limit[s]))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "the limit of %g on live activations of stage %d admits no order: one micro-batch alone "
                            "needs %g there; raise the limit to that or more",
                            profile->limit[s], s, least);
    }
    return EK_OK;
}

/* Number the blocks of the best order. */
static void write_best(const search *z, ek_block *blocks)
{
    const pipeline *x = &z->x;
    for (size_t s = 0; s < (size_t)x->p; s++) {
        uint32_t next[N_CLASSES] = {0};
        for (size_t k = 0; k < x->n_blocks; k++) {
            int class = z->best_laid[s * x->n_blocks + k];
            *blocks++ = (ek_block){next[class]++, (uint16_t)chunk_of(class), (uint16_t)kind_of(class)};
        }
    }
}

/* Try the patterns for the shape, the best first. */
static ek_status search_patterns(search *z, ek_error *err)
{
    ek_status status = EK_OK;
    write_one_by_one(z);
    try_policy(z, at_once, false);
    if (z->best_score.aim == DBL_MAX) /* feasible under every accepted limit, given the time */
        return ek__watch_fail(err, "an order");
    if (z->x.v == 1) {
        try_warm_ups(z);
    } else {
        try_rounds(z);
        if (!is_done(z))
            status = try_blocks(z, err);
        try_ways(z);
    }
    if (!status)
        improve(z);
    return status;
}

/* Work of a search: 10 to 20 s (time evenkeel simulate --schedule v-min -s 512 -mb 512 --uniform ..., one core of a
 * virtual machine). 64 stages and 256 micro-batches need a third; much larger pipelines are not searched to the end. */
#define MOST_WORK 1e9

ek_status ek__automatic_arrange_for(ek__automatic_aim aim, const ek_shape *shape, const ek_profile *profile,
                                    ek_block *blocks, ek_error *err)
{
    assert(shape->n_chunks >= 1 && shape->n_chunks <= MAX_CHUNKS);
    search z;
    ek_status status = search_init(&z, aim, shape, profile, err);
    if (status)
        return status;
    status = check_limit(&z.x, profile, err);
    if (!status) {
        ek__watch watch;
        ek__watch_part("searching for an order", MOST_WORK);
        ek__watch_begin_work(&watch, MOST_WORK);
        status = search_patterns(&z, err);
        ek__watch_end(&watch);
    }
    if (!status)
        write_best(&z, blocks);
    search_free(&z);
    return status;
}

ek_status ek__automatic_arrange(const ek_shape *shape, const ek_profile *profile, ek_block *blocks, ek_error *err)
{
    return ek__automatic_arrange_for(EK__AIM_SPAN, shape, profile, blocks, err);
}

ek_status ek__automatic_bound(ek__automatic_aim aim, const ek_shape *shape, const ek_profile *profile, double *out,
                              ek_error *err)
{
    search z;
    ek_status status = search_init(&z, aim, shape, profile, err);
    if (status)
        return status;
    *out = z.x.bound;
    search_free(&z);
    return EK_OK;
}
