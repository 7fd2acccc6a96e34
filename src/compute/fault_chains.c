/* Finds sequences of operators that one fused operator replaces. A pattern is a list of groups of words, each with a
 * number of occurrences; executions of a stream are matched one after another, so a match must be contiguous (a Mul
 * after a Silu of another layer is none). A match takes as many of a group as there are.
 *
 * The fused time of attention is that of a fused kernel of its shape on the device; without a device or shapes that of
 * its two products. Operators that only move bytes cost one pass over them when fused: the longest of the operators. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compute/compute_internal.h"
#include "compute/profiled.h"
#include "cost/kernel.h"

#define W(word) EK__ACTION(word)

typedef struct group {
    uint32_t words;
    int least, most;
} group;

enum { MAX_GROUPS = 12 };

typedef struct pattern {
    ek_compute_fault fault;
    bool attention, backward;
    group group[MAX_GROUPS]; /* ends with words 0 */
} pattern;

/* Operators between scores and their softmax, and after it. */
#define BEFORE (W(MUL) | W(DIV) | W(ADD) | W(FILL) | EK__TRANSFORMS)
#define BEHIND (W(DROPOUT) | W(MUL) | EK__TRANSFORMS)

static const pattern patterns[] = {
    {EK_FAULT_ATTENTION,
     true,
     false,
     {{W(PRODUCT), 1, 1}, {BEFORE, 0, 6}, {W(SOFTMAX), 1, 1}, {BEHIND, 0, 5}, {W(PRODUCT), 1, 1}}},
    {EK_FAULT_ATTENTION,
     true,
     true,
     {{W(PRODUCT), 1, 1},
      {EK__TRANSFORMS, 0, 2},
      {W(PRODUCT), 0, 1},
      {BEHIND, 0, 5},
      {W(SOFTMAX_GRAD), 1, 1},
      {BEFORE, 0, 6},
      {W(PRODUCT), 1, 1},
      {EK__TRANSFORMS, 0, 2},
      {W(PRODUCT), 0, 1}}},
    {EK_FAULT_NORM,
     false,
     false,
     {{W(CAST), 0, 1},
      {W(SQUARE), 1, 1},
      {W(MEAN), 1, 1},
      {W(ADD), 0, 1},
      {W(RSQRT), 1, 1},
      {W(MUL) | W(DIV), 1, 1},
      {W(CAST), 0, 1},
      {W(MUL), 0, 1}}},
    /* the mean of the squares after that of the values: a norm with a mean */
    {EK_FAULT_NORM,
     false,
     false,
     {{W(CAST), 0, 1},
      {W(MEAN), 1, 1},
      {W(ADD), 1, 1},
      {W(SQUARE), 1, 1},
      {W(MEAN), 1, 1},
      {W(ADD), 0, 1},
      {W(RSQRT), 1, 1},
      {W(MUL) | W(DIV), 1, 1},
      {W(CAST), 0, 1},
      {W(MUL), 0, 1},
      {W(ADD), 0, 1}}},
    {EK_FAULT_ROPE,
     false,
     false,
     {{W(MUL), 0, 1}, {W(SLICE), 0, 3}, {W(NEG), 1, 1}, {W(CONCAT), 1, 1}, {W(MUL), 1, 2}, {W(ADD), 1, 1}}},
    {EK_FAULT_SWIGLU, false, false, {{W(SLICE), 0, 2}, {W(SILU), 1, 1}, {W(MUL), 1, 1}}},
    {EK_FAULT_SWIGLU, false, false, {{W(SLICE), 0, 2}, {W(SIGMOID), 1, 1}, {W(MUL), 2, 2}}},
    {EK_FAULT_SWIGLU, false, true, {{W(MUL), 1, 2}, {W(SILU_GRAD), 1, 1}, {W(MUL), 0, 1}}},
    {EK_FAULT_CROSS_ENTROPY, false, false, {{W(CAST), 0, 1}, {W(LOG_SOFTMAX), 1, 1}, {W(LOSS), 1, 1}}},
};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

/* ---- one rank ---- */

typedef struct matching {
    ek__compute *c;
    int rank;
    size_t n;
    const ek_trace_execution **at; /* [n], by stream, then start */
    ek__fault_losses losses[EK_N_COMPUTE_FAULTS];
    const ek_trace_execution *first[EK_N_COMPUTE_FAULTS][MAX_GROUPS * 4]; /* of the first match, for words */
    int first_rank[EK_N_COMPUTE_FAULTS], n_first[EK_N_COMPUTE_FAULTS];
} matching;

static uint32_t word_at(const matching *m, size_t i)
{
    return 1u << m->c->word[m->rank][m->at[i]->op];
}

static const ek_compute_operator *operator_at(const matching *m, size_t i)
{
    return &m->c->out->op[m->c->of[m->rank][m->at[i]->op]];
}

/* The number of executions from `from` on that match the pattern; 0: it does not match. Longest groups first, without a
 * second try: groups that follow one another share words only where that does not matter. */
static size_t match(const matching *m, const pattern *p, size_t from)
{
    size_t at = from;
    for (int g = 0; g < MAX_GROUPS && p->group[g].words; g++) {
        int taken = 0;
        while (taken < p->group[g].most && at < m->n && m->at[at]->stream == m->at[from]->stream &&
               (word_at(m, at) & p->group[g].words)) {
            at++;
            taken++;
        }
        if (taken < p->group[g].least)
            return 0;
    }
    return at - from;
}

/* ---- fused time ---- */

static bool is_product(const matching *m, size_t i)
{
    return word_at(m, i) == W(PRODUCT);
}

/* Of the scores and of their product with the values: batch x heads groups of queries x keys x width, then queries x
 * width x keys. 0: unknown. */
static double fused_attention(const matching *m, const pattern *p, size_t from, size_t n)
{
    const ek_kernel *first = NULL, *last = NULL;
    for (size_t i = from; i < from + n; i++)
        if (is_product(m, i)) {
            const ek_compute_operator *op = operator_at(m, i);
            if (op->known != EK_PROFILE_TAKEN)
                return 0;
            first = first ? first : &op->work;
            last = &op->work;
        }
    if (!m->c->device || !first || p->backward || first->groups != last->groups || first->m != last->m ||
        first->n != last->k)
        return 0;
    ek_kernel fused = {.kind = EK_KERNEL_ATTENTION_FORWARD,
                       .type = first->type,
                       .groups = 1,
                       .batch = first->groups,
                       .heads = 1,
                       .kv_heads = 1,
                       .seq = first->m,
                       .key_seq = first->n,
                       .qk_dim = first->k,
                       .v_dim = last->n};
    ek__profile_attention(&fused, true);
    const ek__kernel_time time = ek__kernel_seconds(m->c->device, &fused);
    return time.seconds > 0 ? time.seconds * 1e9 : 0;
}

static double fused_time(const matching *m, const pattern *p, size_t from, size_t n)
{
    double products = 0, longest = 0, fused = p->attention ? fused_attention(m, p, from, n) : 0;
    for (size_t i = from; i < from + n; i++) {
        double time = (double)m->at[i]->duration;
        products += is_product(m, i) ? time : 0;
        longest = time > longest ? time : longest;
    }
    return fused > 0 ? fused : p->attention ? products : longest;
}

/* ---- all ---- */

static bool lose(matching *m, const pattern *p, size_t from, size_t n)
{
    int64_t time = 0;
    ek_compute_fault fault = p->fault;
    for (size_t i = from; i < from + n; i++)
        if (__builtin_add_overflow(time, m->at[i]->duration, &time))
            return true;
    if (m->n_first[fault] == 0) {
        m->first_rank[fault] = m->rank;
        for (size_t i = 0; i < n && i < MAX_GROUPS * 4; i++)
            m->first[fault][m->n_first[fault]++] = m->at[from + i];
    }
    return ek__fault_lose(&m->losses[fault], m->rank, m->at[from]->start, time,
                          (double)time - fused_time(m, p, from, n));
}

static int by_stream(const void *a, const void *b)
{
    const ek_trace_execution *x = *(const ek_trace_execution *const *)a, *y = *(const ek_trace_execution *const *)b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x > y) - (x < y); /* they are by start in one array */
}

/* The pattern that takes most from here on. O(patterns x their length). */
static ek_status match_all(matching *m, ek_error *err)
{
    for (size_t i = 0; i < m->n;) {
        size_t most = 0;
        int best = 0;
        for (int p = 0; p < N_PATTERNS; p++) {
            size_t n = match(m, &patterns[p], i);
            best = n > most ? p : best;
            most = n > most ? n : most;
        }
        if (most > 0 && !lose(m, &patterns[best], i, most))
            return ek__no_memory(err);
        i += most > 0 ? most : 1;
    }
    return EK_OK;
}

static ek_status match_rank(matching *m, ek_error *err)
{
    const ek_trace_measured *all = &m->c->run->rank[m->rank].measured;
    m->n = all->n_all;
    m->at = ek__alloc(m->n, sizeof *m->at);
    if (!m->at)
        return ek__no_memory(err);
    for (size_t i = 0; i < m->n; i++)
        m->at[i] = &all->execution[i];
    qsort(m->at, m->n, sizeof *m->at, by_stream);
    ek_status status = match_all(m, err);
    free(m->at);
    m->at = NULL;
    return status;
}

/* "BatchMatMul, SoftmaxV2, BatchMatMul", of the first match. NULL when memory is out. */
static const char *names(const matching *m, ek_compute_fault fault)
{
    const char *text = "";
    for (int i = 0; i < m->n_first[fault]; i++) {
        const ek_compute_operator *op = &m->c->out->op[m->c->of[m->first_rank[fault]][m->first[fault][i]->op]];
        text = ek__pool_format(m->c->run->pool, "%s%s%.60s", text, i > 0 ? ", " : "", op->name);
        if (!text)
            return NULL;
    }
    return text;
}

static const char *estimate_of(ek_compute_fault fault)
{
    return fault == EK_FAULT_ATTENTION
               ? "the time of these operators less that of a fused causal kernel of their shape on the "
                 "device, or of their products where the device or the shape is not known"
               : "the time of these operators less that of the longest of them, which is one "
                 "pass over the data";
}

ek_status ek__fault_chains(ek__compute *c, ek_error *err)
{
    matching m = {.c = c};
    ek_status status = EK_OK;
    for (; m.rank < c->run->n_ranks && status == EK_OK; m.rank++)
        status = match_rank(&m, err);
    for (int f = EK_FAULT_ATTENTION; f <= EK_FAULT_CROSS_ENTROPY && status == EK_OK; f++)
        status = ek__fault_add(c, (ek_compute_fault)f, &m.losses[f], names(&m, (ek_compute_fault)f),
                               ek__compute_instead((ek_compute_fault)f), estimate_of((ek_compute_fault)f), err);
    for (int f = 0; f < EK_N_COMPUTE_FAULTS; f++)
        free(m.losses[f].at);
    return status;
}
