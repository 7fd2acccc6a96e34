/* The hot loops: one pass over the blocks in topological order gives the step time. A micro-batch is a single chain, so
 * a block waits for just two numbers, its stage's last end and its micro-batch's last end. Eight plans go through
 * together in vector lanes, since the order, not the arithmetic, is what the pass spends its loads on. */
#include <math.h>
#include <string.h>

#include "simulate/order.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

size_t ek_order_scratch_size(const ek_order *order)
{
    /* durations, three delay tables, clocks */
    return 4 * (size_t)ek__order_n_slots(order) + (size_t)order->shape.n_stages + (size_t)order->shape.n_micro_batches;
}

ek__delays ek__comm_delays(const ek_order *order, const ek_comm *comm, double *delays)
{
    int n_slots = ek__order_n_slots(order), n = n_slots / 2;
    double *before = delays, *after = delays + n_slots, *travel = delays + 2 * n_slots;
    memset(delays, 0, 3 * (size_t)n_slots * sizeof *delays);
    if (order->shape.n_stages > 1) {
        for (int c = 0; c < n; c++) {
            bool first = c == 0, last = c == n - 1;
            /* forward: from chunk c - 1, to chunk c + 1; backward the other way round; the turn stays on its stage */
            if (comm->blocking) {
                before[c] = first ? 0 : comm->p2p_time;
                after[c] = last ? 0 : comm->p2p_time;
                before[n + c] = last ? 0 : comm->p2p_time;
                after[n + c] = first ? 0 : comm->p2p_time;
            } else {
                travel[c] = last ? 0 : comm->p2p_time;
                travel[n + c] = first ? 0 : comm->p2p_time;
            }
        }
    }
    return (ek__delays){before, after, travel};
}

static inline double max2(double a, double b)
{
    return a > b ? a : b;
}

double ek__order_step_time(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch)
{
    int p = order->shape.n_stages, m = order->shape.n_micro_batches;
    double *restrict stage = scratch, *restrict micro = scratch + p;
    const ek__step *step = order->steps, *end = step + order->n_blocks;
    memset(scratch, 0, (size_t)(p + m) * sizeof *scratch);
    double last = 0;
    if (!delays) {
        for (; step < end; step++) {
            double t = max2(stage[step->stage], micro[step->micro_batch]) + duration[step->slot];
            stage[step->stage] = t;
            micro[step->micro_batch] = t;
        }
        for (int s = 0; s < p; s++)
            last = max2(last, stage[s]);
        return last;
    }
    for (; step < end; step++) {
        double t =
            max2(stage[step->stage], micro[step->micro_batch]) + delays->before[step->slot] + duration[step->slot];
        stage[step->stage] = t + delays->after[step->slot];
        micro[step->micro_batch] = t + delays->travel[step->slot];
        last = max2(last, t);
    }
    return last;
}

double ek_order_step_time(const ek_order *order, const ek_chunk_cost *cost, const ek_comm *comm, double *scratch)
{
    int n_slots = ek__order_n_slots(order), n = n_slots / 2;
    for (int c = 0; c < n; c++) {
        scratch[c] = cost[c].forward_time;
        scratch[n + c] = cost[c].backward_time;
    }
    if (!ek__comm_matters(comm))
        return ek__order_step_time(order, scratch, NULL, scratch + 4 * n_slots);
    ek__delays delays = ek__comm_delays(order, comm, scratch + n_slots);
    return ek__order_step_time(order, scratch, &delays, scratch + 4 * n_slots);
}

/* The lane loop, written once and compiled for each vector width. VECTOR is a register of WIDTH doubles. */
#define LANE_LOOP(NAME, TARGET, VECTOR, WIDTH, LOAD, STORE, MAX, ADD, SET)                                             \
    TARGET static void NAME(const ek_order *order, const double *duration, const ek__delays *delays, double *stage,    \
                            double *micro)                                                                             \
    {                                                                                                                  \
        const ek__step *step = order->steps, *end = step + order->n_blocks;                                            \
        for (; step < end; step++) {                                                                                   \
            double *s = stage + (size_t)step->stage * EK__LANES;                                                       \
            double *b = micro + (size_t)step->micro_batch * EK__LANES;                                                 \
            const double *d = duration + (size_t)step->slot * EK__LANES;                                               \
            for (int l = 0; l < EK__LANES; l += (WIDTH)) {                                                             \
                VECTOR t = ADD(MAX(LOAD(s + l), LOAD(b + l)), LOAD(d + l));                                            \
                if (delays) {                                                                                          \
                    t = ADD(t, SET(delays->before[step->slot]));                                                       \
                    STORE(s + l, ADD(t, SET(delays->after[step->slot])));                                              \
                    STORE(b + l, ADD(t, SET(delays->travel[step->slot])));                                             \
                } else {                                                                                               \
                    STORE(s + l, t);                                                                                   \
                    STORE(b + l, t);                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define SCALAR_LOAD(a)     (*(a))
#define SCALAR_STORE(a, x) (*(a) = (x))
#define SCALAR_ADD(a, b)   ((a) + (b))
#define SCALAR_SET(a)      (a)

#if defined(__x86_64__)
LANE_LOOP(lanes_sse2, , __m128d, 2, _mm_loadu_pd, _mm_storeu_pd, _mm_max_pd, _mm_add_pd, _mm_set1_pd)
LANE_LOOP(lanes_avx, __attribute__((target("avx"))), __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_max_pd,
          _mm256_add_pd, _mm256_set1_pd)
#else
LANE_LOOP(lanes_scalar, , double, 1, SCALAR_LOAD, SCALAR_STORE, max2, SCALAR_ADD, SCALAR_SET)
#endif

void ek__order_step_times(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch,
                          double *out)
{
    size_t p = (size_t)order->shape.n_stages, m = (size_t)order->shape.n_micro_batches;
    double *stage = scratch, *micro = scratch + p * EK__LANES;
    memset(scratch, 0, (p + m) * EK__LANES * sizeof *scratch);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx"))
        lanes_avx(order, duration, delays, stage, micro);
    else
        lanes_sse2(order, duration, delays, stage, micro);
#else
    lanes_scalar(order, duration, delays, stage, micro);
#endif
    /* Every chain ends with a backward that sends nothing, so the latest clock is the end of the last block. */
    memcpy(out, stage, EK__LANES * sizeof *out);
    for (size_t s = 1; s < p; s++)
        for (int l = 0; l < EK__LANES; l++)
            out[l] = max2(out[l], stage[s * EK__LANES + (size_t)l]);
}

double ek__order_critical(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch,
                          uint32_t *index_scratch, uint32_t *count)
{
    int p = order->shape.n_stages, m = order->shape.n_micro_batches;
    double *stage = scratch, *micro = scratch + p;
    uint32_t *parent = index_scratch, *stage_last = parent + order->n_blocks, *micro_last = stage_last + p;
    memset(scratch, 0, (size_t)(p + m) * sizeof *scratch);
    memset(stage_last, 0xff, (size_t)(p + m) * sizeof *stage_last);
    memset(count, 0, (size_t)ek__order_n_slots(order) * sizeof *count);
    double last = -INFINITY;
    uint32_t at = UINT32_MAX;
    for (size_t k = 0; k < order->n_blocks; k++) {
        const ek__step *step = &order->steps[k];
        bool own = stage[step->stage] >= micro[step->micro_batch];
        double t = own ? stage[step->stage] : micro[step->micro_batch];
        t += duration[step->slot] + (delays ? delays->before[step->slot] : 0);
        parent[k] = own ? stage_last[step->stage] : micro_last[step->micro_batch];
        stage_last[step->stage] = micro_last[step->micro_batch] = (uint32_t)k;
        stage[step->stage] = t + (delays ? delays->after[step->slot] : 0);
        micro[step->micro_batch] = t + (delays ? delays->travel[step->slot] : 0);
        if (t > last) {
            last = t;
            at = (uint32_t)k;
        }
    }
    for (; at != UINT32_MAX; at = parent[at])
        count[order->steps[at].slot]++;
    return last;
}
