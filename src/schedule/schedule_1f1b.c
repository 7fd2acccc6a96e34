/* 1F1B (Narayanan et al. 2019, PipeDream-flush): stage s keeps at most p - s micro-batches alive. Also the loop that
 * the interleaved variants share, since 1F1B is its case of one chunk. */
#include "schedule/one_f_one_b.h"

/* Walks micro-batches group by group and chunk by chunk. */
typedef struct walk {
    int n_micro_batches, n_chunks, group_size;
    int group, group_end; /* micro-batches [group, group_end) are the current ones */
    int chunk, micro_batch;
} walk;

static walk walk_start(const ek_shape *shape)
{
    int p = shape->n_stages, m = shape->n_micro_batches;
    int first = m < p || shape->n_chunks == 1 ? m : p + m % p;
    return (walk){.n_micro_batches = m, .n_chunks = shape->n_chunks, .group_size = p, .group_end = first};
}

static void walk_next(walk *w)
{
    if (++w->micro_batch < w->group_end)
        return;
    if (++w->chunk == w->n_chunks) {
        w->chunk = 0;
        w->group = w->group_end;
        w->group_end = w->group + w->group_size < w->n_micro_batches ? w->group + w->group_size : w->n_micro_batches;
    }
    w->micro_batch = w->group;
}

void ek__one_f_one_b(const ek_shape *shape, int warm_up, ek_block *blocks)
{
    int n = shape->n_chunks * shape->n_micro_batches;
    walk forward = walk_start(shape), backward = walk_start(shape);
    int n_forward = 0, n_backward = 0;
    while (n_backward < n) {
        if (n_forward < n && n_forward - n_backward <= warm_up) {
            *blocks++ = (ek_block){(uint32_t)forward.micro_batch, (uint16_t)forward.chunk, EK_FORWARD};
            walk_next(&forward);
            n_forward++;
        } else {
            int chunk = shape->n_chunks - 1 - backward.chunk;
            *blocks++ = (ek_block){(uint32_t)backward.micro_batch, (uint16_t)chunk, EK_BACKWARD};
            walk_next(&backward);
            n_backward++;
        }
    }
}

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    ek__one_f_one_b(shape, shape->n_stages - stage - 1, blocks);
}

const ek_schedule ek__schedule_1f1b = {
    .name = "1f1b",
    .title = "1F1B",
    .summary = "one chunk a stage; bubble (p-1)/m; stage s holds p - s micro-batches, at most m",
    .min_chunks = 1,
    .max_chunks = 1,
    .family = EK_SCHEDULE_1F1B,
    .bubble = EK_BUBBLE_EXACT,
    .stage_order = stage_order,
};
