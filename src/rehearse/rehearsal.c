/* Derives the actions of a plan's stages from its timeline: blocks with their times, and the message that each receives
 * and sends. A micro-batch is one chain, forward through the model and back; if two neighbours of the chain are on one
 * stage, the second follows the first, otherwise a message is sent between them. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/rehearse.h"

const char *const ek__rehearse_send_name[EK_N_REHEARSE_SENDS] = {"nonblocking", "rendezvous"};
const char *const *const ek_rehearse_send_name = ek__rehearse_send_name;
const char *const ek__rehearse_compute_name[EK_N_REHEARSE_COMPUTES] = {"sleep", "spin", "gemm"};
const char *const *const ek_rehearse_compute_name = ek__rehearse_compute_name;

void ek_rehearsal_clear(ek_rehearsal *rehearsal)
{
    free(rehearsal->first);
    free(rehearsal->block);
    free(rehearsal->message);
    free(rehearsal->edge);
    *rehearsal = (ek_rehearsal){0};
}

/* Chunks of a stage's blocks: two if micro-batches run in both directions. */
static int chunks_of(const ek_timeline *t)
{
    return t->schedule->placement == EK_PLACE_BOTH_WAYS ? 2 : t->shape.n_chunks;
}

/* The tag of a stage's received message; also the place of the receiving block in a stage's table. */
static long long tag_of(const ek_timeline *t, int per_process, int stage, int chunk, uint32_t micro_batch, int kind)
{
    long long row = (long long)(stage % per_process) * chunks_of(t) + chunk;
    return 2 * (row * t->shape.n_micro_batches + micro_batch) + (kind == EK_BACKWARD);
}

static ek_status check(const ek_timeline *t, int n_processes, ek_error *err)
{
    int p = t->shape.n_stages;
    if (n_processes < 2 || n_processes > p || p % n_processes)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d process%s do not fit %d stage%s: start %d, one for each stage, or a smaller number of at "
                        "least 2 that divides it",
                        n_processes, n_processes == 1 ? "" : "es", p, p == 1 ? "" : "s", p);
    int per_process = p / n_processes;
    if (tag_of(t, per_process, per_process - 1, chunks_of(t) - 1, (uint32_t)t->shape.n_micro_batches - 1, EK_BACKWARD) >
        INT_MAX)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d chunks of %d micro-batches on %d stages of a process are more messages than tags: start "
                        "more processes",
                        chunks_of(t), t->shape.n_micro_batches, per_process);
    return EK_OK;
}

/* The place of every block of the timeline, by stage, chunk, micro-batch and kind. */
typedef struct places {
    const ek_timeline *t;
    ptrdiff_t *at;
} places;

static ptrdiff_t *place(const places *p, int stage, int chunk, uint32_t micro_batch, int kind)
{
    size_t row = (size_t)stage * (size_t)chunks_of(p->t) + (size_t)chunk;
    return &p->at[(row * (size_t)p->t->shape.n_micro_batches + micro_batch) * EK_N_BLOCK_KINDS + (size_t)kind];
}

/* The chunk of the stage at a position, for micro-batches with blocks of `chunk`. */
static int chunk_at(const ek_timeline *t, int position, int chunk)
{
    return t->schedule->placement == EK_PLACE_BOTH_WAYS ? chunk : position / t->shape.n_stages;
}

/* The target or source of the block's result: `step` further along the chain's positions. -1: none */
static ptrdiff_t neighbour(const places *p, int stage, const ek_interval *b, int step, int *other)
{
    const ek_timeline *t = p->t;
    int n = t->shape.n_stages, position = ek_position(t->schedule->placement, n, b->chunk, stage) + step;
    if (position < 0 || position >= n * t->shape.n_chunks)
        return EK_NO_BLOCK;
    *other = ek_stage_at(t->schedule->placement, n, position, b->chunk);
    return *place(p, *other, chunk_at(t, position, b->chunk), b->micro_batch, b->kind);
}

static void add_message(const places *p, ek_rehearsal *r, ptrdiff_t from, int stage, ptrdiff_t to, int receiver)
{
    const ek_rehearse_block *b = &r->block[to];
    int per_process = r->n_stages / r->n_processes;
    int tag = (int)tag_of(p->t, per_process, receiver, b->chunk, b->micro_batch, b->kind);
    r->block[from].sends = r->block[to].receives = (ptrdiff_t)r->n_messages;
    r->largest_tag = tag > r->largest_tag ? tag : r->largest_tag;
    r->message[r->n_messages++] = (ek_rehearse_message){
        .from = stage, .to = receiver, .tag = tag, .micro_batch = b->micro_batch, .chunk = b->chunk, .kind = b->kind};
}

/* The message that the block receives. */
static void connect(const places *p, ek_rehearsal *r, int stage, size_t k)
{
    const ek_interval *b = &p->t->block[k];
    if (b->kind == EK_BACKWARD_WEIGHT) {
        r->block[k].after = *place(p, stage, b->chunk, b->micro_batch, EK_BACKWARD);
        return;
    }
    int sender = stage;
    ptrdiff_t from = neighbour(p, stage, b, b->kind == EK_FORWARD ? -1 : 1, &sender);
    if (from != EK_NO_BLOCK && sender != stage)
        add_message(p, r, from, sender, (ptrdiff_t)k, stage);
    else if (from != EK_NO_BLOCK)
        r->block[k].after = from;
    else if (b->kind == EK_BACKWARD) /* the turn at the model's end */
        r->block[k].after = *place(p, stage, b->chunk, b->micro_batch, EK_FORWARD);
}

/* Number the pairs of stages that send, by a full table if it is small compared with the messages. */
static ek_status find_edges(ek_rehearsal *r, ek_error *err)
{
    size_t n = (size_t)r->n_stages;
    int *number = ek__alloc(n * n, sizeof *number);
    if (!number)
        return ek__no_memory(err);
    for (size_t i = 0; i < r->n_messages; i++)
        number[(size_t)r->message[i].from * n + (size_t)r->message[i].to] = 1;
    for (size_t i = 0; i < n * n; i++)
        r->n_edges += number[i];
    r->edge = ek__alloc((size_t)r->n_edges, sizeof *r->edge);
    int next = 0;
    for (size_t i = 0; i < n * n && r->edge; i++)
        if (number[i]) {
            r->edge[next] = (ek_rehearse_edge){(int)(i / n), (int)(i % n)};
            number[i] = next++;
        }
    for (size_t i = 0; i < r->n_messages && r->edge; i++)
        r->message[i].edge = number[(size_t)r->message[i].from * n + (size_t)r->message[i].to];
    free(number);
    return r->edge ? EK_OK : ek__no_memory(err);
}

static void copy_blocks(const ek_timeline *t, double unit, const places *p, ek_rehearsal *r)
{
    for (int s = 0; s <= r->n_stages; s++)
        r->first[s] = t->first[s];
    for (int s = 0; s < r->n_stages; s++)
        for (size_t k = t->first[s]; k < t->first[s + 1]; k++) {
            const ek_interval *b = &t->block[k];
            *place(p, s, b->chunk, b->micro_batch, b->kind) = (ptrdiff_t)k;
            r->block[k] = (ek_rehearse_block){.seconds = (b->end - b->start) * unit,
                                              .receives = EK_NO_BLOCK,
                                              .sends = EK_NO_BLOCK,
                                              .after = EK_NO_BLOCK,
                                              .micro_batch = b->micro_batch,
                                              .chunk = b->chunk,
                                              .kind = b->kind};
        }
}

ek_status ek_rehearsal_make(const ek_timeline *timeline, double unit, size_t bytes, int n_processes, ek_rehearsal *out,
                            ek_error *err)
{
    const ek_timeline *t = timeline;
    ek_status status = check(t, n_processes, err);
    if (status)
        return status;
    size_t n_places = (size_t)t->shape.n_stages * (size_t)chunks_of(t) * (size_t)t->shape.n_micro_batches;
    places p = {t, ek__alloc(n_places, EK_N_BLOCK_KINDS * sizeof *p.at)};
    ek_rehearsal r = {.n_stages = t->shape.n_stages,
                      .n_chunks = chunks_of(t),
                      .n_micro_batches = t->shape.n_micro_batches,
                      .n_processes = n_processes,
                      .bytes = bytes,
                      .n_blocks = t->n_blocks,
                      .first = ek__alloc((size_t)t->shape.n_stages + 1, sizeof *r.first),
                      .block = ek__alloc(t->n_blocks, sizeof *r.block),
                      .message = ek__alloc(t->n_blocks, sizeof *r.message)};
    assert(unit > 0);
    if (!p.at || !r.first || !r.block || !r.message) {
        status = ek__no_memory(err);
    } else {
        copy_blocks(t, unit, &p, &r);
        for (int s = 0; s < r.n_stages; s++)
            for (size_t k = r.first[s]; k < r.first[s + 1]; k++)
                connect(&p, &r, s, k);
        status = find_edges(&r, err);
    }
    free(p.at);
    if (status)
        ek_rehearsal_clear(&r);
    else
        *out = r;
    return status;
}

ek_status ek_rehearsal_swap(ek_rehearsal *rehearsal, int stage, int a, int b, ek_error *err)
{
    ek_rehearsal *r = rehearsal;
    if (stage < 0 || stage >= r->n_stages)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no stage %d: stages are 0 to %d", stage,
                        r->n_stages - 1);
    int n = (int)(r->first[stage + 1] - r->first[stage]);
    if (a < 0 || b < 0 || a >= n || b >= n || a == b)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "blocks %d and %d of stage %d cannot be swapped: give two different ones of 0 to %d", a, b,
                        stage, n - 1);
    size_t first = r->first[stage], i = first + (size_t)a, j = first + (size_t)b;
    ek_rehearse_block block = r->block[i];
    r->block[i] = r->block[j];
    r->block[j] = block;
    for (size_t k = first; k < r->first[stage + 1]; k++) {
        ptrdiff_t *after = &r->block[k].after;
        *after = *after == (ptrdiff_t)i ? (ptrdiff_t)j : *after == (ptrdiff_t)j ? (ptrdiff_t)i : *after;
    }
    return EK_OK;
}
