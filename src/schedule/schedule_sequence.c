/* The sequence pipeline: 1F1B, plain or interleaved, over the k pieces of each micro-batch. Forward pieces run in
 * order, because a piece attends to those before it; backward pieces run in reverse, because the gradients of a piece's
 * keys and values come from those after it. The dependencies between stages are one chain per piece; that the pieces of
 * a micro-batch follow one another is the order on each stage, which is the same on all of them. With one piece these
 * are the orders of 1F1B and, for m >= p, of interleaved 1F1B.
 *
 * The first backward of a micro-batch is that of its last piece, so a stage warms up with k - 1 forwards more than
 * 1F1B. Interleaved, a group that passes through the chunks together consists of whole micro-batches, as few as have p
 * pieces, so that no stage waits for a piece that comes back to chunk 0. */
#include <assert.h>

#include "evenkeel/schedule.h"

/* Groups of `size` micro-batches, the first also with the remaining `rest`; in all, first + n size = m. */
typedef struct groups {
    int pieces; /* k */
    int chunks; /* v */
    int first, size;
} groups;

static groups form_groups(const ek_shape *shape)
{
    int k = shape->n_pieces > 1 ? shape->n_pieces : 1, m = shape->n_micro_batches / k;
    assert(shape->n_micro_batches % k == 0);
    int size = (shape->n_stages + k - 1) / k;
    return (groups){k, shape->n_chunks, shape->n_chunks == 1 || m < size ? m : size + m % size, size};
}

/* The i-th block of a stage among those of its kind. */
static ek_block block_at(const groups *g, int i, ek_block_kind kind)
{
    int k = g->pieces, v = g->chunks;
    int start = 0, size = g->first;
    if (i >= v * g->first * k) {
        i -= v * g->first * k;
        size = g->size;
        start = g->first + i / (v * size * k) * size;
        i %= v * size * k;
    }
    int chunk = i / (size * k), piece = i % (size * k);
    if (kind == EK_BACKWARD) {
        chunk = v - 1 - chunk;
        piece += k - 1 - 2 * (piece % k);
    }
    return (ek_block){(uint32_t)(start * k + piece), (uint16_t)chunk, (uint16_t)kind};
}

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    const groups g = form_groups(shape);
    int n = shape->n_chunks * shape->n_micro_batches, to_last = shape->n_stages - 1 - stage;
    int warm_up = (shape->n_chunks > 1 ? (g.chunks - 1) * g.first * g.pieces + 2 * to_last : to_last) + g.pieces - 1;
    int n_forward = 0, n_backward = 0;
    while (n_backward < n) {
        if (n_forward < n && n_forward - n_backward <= warm_up)
            *blocks++ = block_at(&g, n_forward++, EK_FORWARD);
        else
            *blocks++ = block_at(&g, n_backward++, EK_BACKWARD);
    }
}

const ek_schedule ek__schedule_sequence = {
    .name = "sequence",
    .title = "sequence pipeline",
    .summary = "micro-batches in k sequence pieces; bubble (p-1)/(vmk); one chunk: stage s holds p - s + k - 1 pieces",
    .min_chunks = 1,
    .max_chunks = UINT16_MAX,
    .family = EK_SCHEDULE_SEQUENCE,
    .bubble = EK_BUBBLE_ABOUT,
    .pieces = true,
    .stage_order = stage_order,
};
