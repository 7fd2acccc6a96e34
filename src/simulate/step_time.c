/* The hot loops: one pass over the blocks in topological order gives the step time. A micro-batch is a single chain, so
 * a block waits for only two numbers, its stage's last end and its micro-batch's last end. Eight plans are evaluated
 * together in vector lanes, since the loads of the order, not the arithmetic, dominate the pass. A slower loop covers
 * the rare cases: micro-batches of different length, and transfers where micro-batches run both ways. */
#include <assert.h>
#include <string.h>

#include "evenkeel/plan.h"
#include "simulate/order.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if EK__HAVE_NEON
#include <arm_neon.h>
#endif

size_t ek_order_scratch_size(const ek_order *order)
{
    return (size_t)ek__order_n_slots(order) + ek__order_delays_size(order) + ek__order_n_clocks(order);
}

/* Time between model positions q and q + 1, for micro-batches that run one way or the other. */
static double edge_time(const ek_order *order, const ek_comm *comm, int way, int q)
{
    if (q < 0 || q + 1 >= order->n_cells)
        return 0;
    const int *stage_at = order->stage_at + way * order->n_cells;
    return ek__edge_time(comm, order->schedule->placement, stage_at[q], stage_at[q + 1]);
}

ek__delays ek__comm_delays(const ek_order *order, const ek_comm *comm, double *delays)
{
    int n = order->n_cells, n_slots = ek__order_n_slots(order), size = order->n_ways * n_slots;
    double *before = delays, *after = delays + size, *travel = delays + 2 * size;
    memset(delays, 0, ek__order_delays_size(order) * sizeof *delays);
    for (int way = 0; way < order->n_ways; way++)
        for (int q = 0; q < n; q++) {
            double up = edge_time(order, comm, way, q - 1), down = edge_time(order, comm, way, q);
            assert(up >= 0 && down >= 0);
            int forward = way * n_slots + order->cell_at[q], backward = forward + n;
            if (comm->blocking) {
                before[forward] = after[backward] = up;
                after[forward] = before[backward] = down;
            } else {
                travel[forward] = down;
                travel[backward] = up;
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
    size_t s = ek__step_stage(step), b = ek__step_chain(step);
    stage[s] = micro[b] = max2(stage[s], micro[b]) + duration[ek__step_slot(step)];
}

/* Every chain ends with a block that sends nothing, so the latest stage clock is the end of the last block. */
static double latest(const ek_order *order, const double *stage)
{
    double last = 0;
    for (int s = 0; s < order->shape.n_stages; s++) {
        assert(stage[s] >= 0);
        last = max2(last, stage[s]);
    }
    return last;
}

static double run_without_delays(const ek_order *order, const double *duration, double *restrict stage,
                                 double *restrict micro)
{
    const ek__step *step = order->steps, *end = step + order->n_blocks;
    for (; end - step >= 4; step += 4) { /* neighbours are independent: four at a time take a sixth less time than
                                          * one */
        run_block(step[0], duration, stage, micro);
        run_block(step[1], duration, stage, micro);
        run_block(step[2], duration, stage, micro);
        run_block(step[3], duration, stage, micro);
    }
    for (; step < end; step++)
        run_block(*step, duration, stage, micro);
    return latest(order, stage);
}

/* Do durations or delays depend on more than the slot? */
static bool is_general(const ek_order *order, const ek__delays *delays)
{
    return order->factor || (delays && order->n_ways > 1);
}

/* Any order, `lanes` plans abreast, as in the loops without delays and with them. */
static void run_general(const ek_order *order, const double *duration, const ek__delays *delays, size_t lanes,
                        double *stage, double *chain)
{
    for (size_t k = 0; k < order->n_blocks; k++) {
        ek__step step = order->steps[k];
        size_t slot = ek__step_slot(step);
        double *s = stage + ek__step_stage(step) * lanes, *b = chain + ek__step_chain(step) * lanes;
        const double *d = duration + slot * lanes;
        double factor = order->factor ? order->factor[k] : 1, before = 0, after = 0, travel = 0;
        if (delays) {
            /* a weight gradient counts as running up and has no delays either way */
            size_t at = slot + (size_t)(ek__order_way(order, ek__step_chain(step)) * ek__order_n_slots(order));
            before = delays->before[at];
            after = delays->after[at];
            travel = delays->travel[at];
        }
        for (size_t l = 0; l < lanes; l++) {
            double t = max2(s[l], b[l]) + before + factor * d[l];
            s[l] = t + after;
            b[l] = t + travel;
        }
    }
}

double ek__order_step_time(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch)
{
    double *restrict stage = scratch, *restrict micro = scratch + order->shape.n_stages;
    assert(order->n_blocks > 0 && (size_t)order->shape.n_stages < ek__order_n_clocks(order));
    memset(scratch, 0, ek__order_n_clocks(order) * sizeof *scratch);
    if (is_general(order, delays)) {
        run_general(order, duration, delays, 1, stage, micro);
        return latest(order, stage);
    }
    if (!delays)
        return run_without_delays(order, duration, stage, micro);
    double last = 0;
    for (size_t k = 0; k < order->n_blocks; k++) {
        size_t s = ek__step_stage(order->steps[k]), b = ek__step_chain(order->steps[k]);
        size_t slot = ek__step_slot(order->steps[k]);
        double t = max2(stage[s], micro[b]) + delays->before[slot] + duration[slot];
        stage[s] = t + delays->after[slot];
        micro[b] = t + delays->travel[slot];
        last = max2(last, t);
    }
    return last;
}

void ek__order_durations(const ek_order *order, const ek_chunk_cost *cost, double *duration)
{
    int n = order->n_cells;
    bool splits = order->n_kinds > 2;
    for (int c = 0; c < n; c++) {
        double slow = ek__order_slowdown(order, c);
        assert(slow > 0 && cost[c].forward_time >= 0 && cost[c].backward_time >= 0);
        assert(cost[c].weight_time >= 0);
        duration[c] = slow * cost[c].forward_time;
        duration[n + c] = slow * (splits ? cost[c].backward_time - cost[c].weight_time : cost[c].backward_time);
        if (splits)
            duration[2 * n + c] = slow * cost[c].weight_time;
    }
}

double ek_order_step_time(const ek_order *order, const ek_chunk_cost *cost, const ek_comm *comm, double *scratch)
{
    double *tables = scratch + ek__order_n_slots(order), *clocks = tables + ek__order_delays_size(order);
    ek__order_durations(order, cost, scratch);
    if (!ek__comm_matters(comm))
        return ek__order_step_time(order, scratch, NULL, clocks);
    ek__delays delays = ek__comm_delays(order, comm, tables);
    return ek__order_step_time(order, scratch, &delays, clocks);
}

/* The lane loop, written once and compiled for each vector width. VECTOR is a register of WIDTH doubles. */
#define LANE_LOOP(NAME, TARGET, VECTOR, WIDTH, LOAD, STORE, MAX, ADD, SET)                                             \
    TARGET static void NAME(const ek_order *order, const double *duration, const ek__delays *delays, double *stage,    \
                            double *micro)                                                                             \
    {                                                                                                                  \
        const ek__step *step = order->steps, *end = step + order->n_blocks;                                            \
        for (; step < end; step++) {                                                                                   \
            size_t slot = ek__step_slot(*step);                                                                        \
            double *s = stage + ek__step_stage(*step) * EK__LANES;                                                     \
            double *b = micro + ek__step_chain(*step) * EK__LANES;                                                     \
            const double *d = duration + slot * EK__LANES;                                                             \
            for (int l = 0; l < EK__LANES; l += (WIDTH)) {                                                             \
                VECTOR t = ADD(MAX(LOAD(s + l), LOAD(b + l)), LOAD(d + l));                                            \
                if (delays) {                                                                                          \
                    t = ADD(t, SET(delays->before[slot]));                                                             \
                    STORE(s + l, ADD(t, SET(delays->after[slot])));                                                    \
                    STORE(b + l, ADD(t, SET(delays->travel[slot])));                                                   \
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

/* On every processor: the reference for the others. */
LANE_LOOP(lanes_plain, , double, 1, SCALAR_LOAD, SCALAR_STORE, max2, SCALAR_ADD, SCALAR_SET)
#if defined(__x86_64__)
LANE_LOOP(lanes_sse2, , __m128d, 2, _mm_loadu_pd, _mm_storeu_pd, _mm_max_pd, _mm_add_pd, _mm_set1_pd)
LANE_LOOP(lanes_avx, __attribute__((target("avx"))), __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_max_pd,
          _mm256_add_pd, _mm256_set1_pd)
#endif
#if EK__HAVE_NEON
LANE_LOOP(lanes_neon, , float64x2_t, 2, vld1q_f64, vst1q_f64, vmaxq_f64, vaddq_f64, vdupq_n_f64)
#endif

const ek__lane_way ek__lane_ways[] = {
#if defined(__x86_64__)
    {EK__VECTORS_AVX, lanes_avx},
    {EK__VECTORS_SSE2, lanes_sse2},
#endif
#if EK__HAVE_NEON
    {EK__VECTORS_NEON, lanes_neon},
#endif
    {EK__VECTORS_NONE, lanes_plain},
};

static ek__lane_loop *fastest(void)
{
    const ek__lane_way *way = ek__lane_ways;
    while (!ek__vectors_here(way->vectors))
        way++;
    return way->run;
}

void ek__order_step_times(const ek_order *order, const double *duration, const ek__delays *delays, double *scratch,
                          double *out)
{
    size_t p = (size_t)order->shape.n_stages;
    double *stage = scratch, *micro = scratch + p * EK__LANES;
    memset(scratch, 0, ek__order_n_clocks(order) * EK__LANES * sizeof *scratch);
    if (is_general(order, delays))
        run_general(order, duration, delays, EK__LANES, stage, micro);
    else
        fastest()(order, duration, delays, stage, micro);
    memcpy(out, stage, EK__LANES * sizeof *out); /* latest() of each lane */
    for (size_t s = 1; s < p; s++)
        for (int l = 0; l < EK__LANES; l++)
            out[l] = max2(out[l], stage[s * EK__LANES + (size_t)l]);
    assert(out[0] >= 0 && out[EK__LANES - 1] >= 0);
}
