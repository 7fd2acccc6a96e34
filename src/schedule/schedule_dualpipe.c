/* DualPipe (DeepSeek-V3 report, arXiv 2412.19437, section 3.2.1, and the order published with it): half of the
 * micro-batches enter at either end of the pipeline, so that every stage has two parts of the model and overlaps the
 * forward of one micro-batch with the backward of one in the other direction. In this model an overlapped pair is F,
 * then B and W: F and B are sent on as soon as each is done. With F = B = W the bubble is (p/2 - 1)(F + B - W). The
 * published one, (p/2 - 1)(F&B + (B + W) - 3 W) with F&B = F + B + W for a pair, is larger by one B for each of the p/2
 * - 1: there a pair delivers its results at its end. */
#include "schedule/dualpipe.h"

enum { NEAR, FAR };

/* The blocks laid out so far. */
typedef struct layout {
    const ek__dual_stream *stream;
    ek_block *end;
    ek_block *late;                   /* no backward before this one waits for its weight gradient */
    uint32_t forward[2], backward[2]; /* of each stream */
} layout;

static void add(layout *l, int stream, uint32_t number, ek_block_kind kind)
{
    *l->end++ = (ek_block){l->stream[stream].first + number, l->stream[stream].chunk, (uint16_t)kind};
}

static void forward(layout *l, int stream)
{
    add(l, stream, l->forward[stream]++, EK_FORWARD);
}

/* The input gradient without the weight gradient. */
static void input_gradient(layout *l, int stream)
{
    add(l, stream, l->backward[stream]++, EK_BACKWARD);
}

static void whole_backward(layout *l, int stream)
{
    input_gradient(l, stream);
    add(l, stream, l->backward[stream] - 1, EK_BACKWARD_WEIGHT);
    l->late = l->end;
}

/* The weight gradient that has waited longest. */
static void oldest_weight_gradient(layout *l)
{
    while (l->late->kind != EK_BACKWARD)
        l->late++;
    ek_block block = *l->late++;
    block.kind = EK_BACKWARD_WEIGHT;
    *l->end++ = block;
}

void ek__dualpipe(int n_ranks, int rank, int n, const ek__dual_stream stream[2], ek_block *blocks)
{
    layout l = {.stream = stream, .end = blocks, .late = blocks};
    int inner = n_ranks / 2 - 1 - rank; /* ranks between this one and the middle */
    for (int i = 0; i < 2 * inner; i++)
        forward(&l, NEAR);
    for (int i = 0; i <= rank; i++) {
        forward(&l, NEAR);
        forward(&l, FAR);
    }
    for (int i = 0; i < inner; i++) {
        whole_backward(&l, FAR);
        forward(&l, FAR);
    }
    for (int i = 0; i < n - n_ranks + rank + 1; i++) { /* the steady state: pairs both ways */
        forward(&l, NEAR);
        whole_backward(&l, FAR);
        forward(&l, FAR);
        whole_backward(&l, NEAR);
    }
    for (int i = 0; i < inner; i++) {
        whole_backward(&l, FAR);
        forward(&l, FAR);
        whole_backward(&l, NEAR);
    }
    for (int i = 0; i < 2 * (rank + 1); i++) /* the second half defers its weight gradients */
        (i <= rank ? whole_backward : input_gradient)(&l, i % 2 == 0 ? FAR : NEAR);
    for (int i = 0; i < inner; i++) {
        oldest_weight_gradient(&l);
        input_gradient(&l, NEAR);
    }
    for (int i = 0; i <= rank; i++)
        oldest_weight_gradient(&l);
}

static void stage_order(const ek_shape *shape, int stage, ek_block *blocks)
{
    int p = shape->n_stages, half = shape->n_micro_batches / 2;
    const ek__dual_stream down = {.chunk = 0, .first = 0}, up = {.chunk = 1, .first = (uint32_t)half};
    bool upper = stage < p / 2;
    ek__dualpipe(p, upper ? stage : p - 1 - stage, half, (ek__dual_stream[]){upper ? down : up, upper ? up : down},
                 blocks);
}

const ek_schedule ek__schedule_dualpipe = {
    .name = "dualpipe",
    .title = "DualPipe",
    .summary = "micro-batches from both ends, backward split; twice the parameters, p + 1 micro-batches on every stage",
    .min_chunks = 1,
    .max_chunks = 1,
    .min_micro_batches = 2,
    .placement = EK_PLACE_BOTH_WAYS,
    .family = EK_SCHEDULE_DUALPIPE,
    .splits_backward = true,
    .stage_order = stage_order,
};
