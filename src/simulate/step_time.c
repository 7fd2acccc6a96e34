/* The hot loops: one pass over the blocks in topological order gives the step time. A micro-batch is a single chain, so
 * a block waits for just two numbers, its stage's last end and its micro-batch's last end. Eight plans go through
 * together in vector lanes, since the order, not the arithmetic, is what the pass spends its loads on. */
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

static inline void run_block(ek__step step, const double *duration, double *stage, double *micro)
{
    size_t s = ek__step_stage(step), b = ek__step_micro_batch(step);
    stage[s] = micro[b] = max2(stage[s], micro[b]) + duration[ek__step_slot(step)];
}

static double run_without_delays(const ek_order *order, const double *duration, double *restrict stage,
                                 double *restrict micro)
{
    const ek__step *step = order->steps, *end = step + order->n_blocks;
    for (; end - step >= 4; step += 4) { /* neighbours are independent: four at a time are a sixth faster than one */
        run_block(step[0], duration, stage, micro);
        run_block(step[1], duration, stage, micro);
        run_block(step[2], duration, stage, micro);
        run_block(step[3], duration, stage, micro);
    }
    for (; step < end; step++)
        run_block(*step, duration, stage, micro);
    double last = 0;
    for (int s = 0; s < order->shape.n_stages; s++)
        last = max2(last, stage[s]);
    return last;
}

double ek__order_step_time(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch)
{
    int p = order->shape.n_stages, m = order->shape.n_micro_batches;
    double *restrict stage = scratch, *restrict micro = scratch + p;
    memset(scratch, 0, (size_t)(p + m) * sizeof *scratch);
    if (!delays)
        return run_without_delays(order, duration, stage, micro);
    double last = 0;
    for (size_t k = 0; k < order->n_blocks; k++) {
        size_t s = ek__step_stage(order->steps[k]), b = ek__step_micro_batch(order->steps[k]);
        size_t slot = ek__step_slot(order->steps[k]);
        double t = max2(stage[s], micro[b]) + delays->before[slot] + duration[slot];
        stage[s] = t + delays->after[slot];
        micro[b] = t + delays->travel[slot];
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
            double *s = stage + ek__step_stage(*step) * EK__LANES;                                                     \
            double *b = micro + ek__step_micro_batch(*step) * EK__LANES;                                               \
            const double *d = duration + ek__step_slot(*step) * EK__LANES;                                             \
            for (int l = 0; l < EK__LANES; l += (WIDTH)) {                                                             \
                VECTOR t = ADD(MAX(LOAD(s + l), LOAD(b + l)), LOAD(d + l));                                            \
                if (delays) {                                                                                          \
                    t = ADD(t, SET(delays->before[ek__step_slot(*step)]));                                             \
                    STORE(s + l, ADD(t, SET(delays->after[ek__step_slot(*step)])));                                    \
                    STORE(b + l, ADD(t, SET(delays->travel[ek__step_slot(*step)])));                                   \
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
