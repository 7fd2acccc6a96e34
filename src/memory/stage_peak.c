/* Finds the peak of a stage. Profiles of whole blocks, computed once for each chunk, are added up along the stage's
 * order, so the walk is one addition and one comparison per block. The live buffers follow from counts: the
 * micro-batches of each chunk after their forward pass, or between backward and weight gradient, and the progress of
 * the running block. Only the running entry's events are replayed one by one. */
#include "memory/stage_peak.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

ek__stage_walk ek__stage_walk_begin(const ek_job *job, const ek__job_programs *programs, int stage)
{
    ek__stage_walk walk = {.now = 0};
    assert(stage >= 0 && stage < job->plan.n_stages && ek__stage_n_chunks(job) <= EK_MAX_CHUNKS);
    for (int i = 0; i < ek__stage_n_chunks(job); i++)
        walk.chunk[i] = &programs->chunk[ek__stage_cell(job, stage, i)];
    return walk;
}

const ek__profile_of_part *ek__stage_walk_next(ek__stage_walk *walk, const ek_block *block)
{
    assert(block->chunk < EK_MAX_CHUNKS && walk->chunk[block->chunk] && block->kind < EK_N_BLOCK_KINDS);
    const ek__chunk_programs *c = walk->chunk[block->chunk];
    walk->first = !walk->ran[block->chunk][block->kind];
    walk->ran[block->chunk][block->kind] = true;
    const ek__profile_of_part *profile = walk->first ? &c->first_block[block->kind] : &c->block[block->kind];
    walk->now += profile->end;
    assert(walk->now >= 0);
    return profile;
}

/* Weight gradients that the blocks so far keep for the rest of the step. For asserts. */
__attribute__((unused)) static int64_t staying(const ek__stage_walk *walk)
{
    int64_t bytes = 0;
    for (int i = 0; i < EK_MAX_CHUNKS && walk->chunk[i]; i++)
        for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
            bytes += walk->ran[i][k] ? walk->chunk[i]->first_block[k].end - walk->chunk[i]->block[k].end : 0;
    return bytes;
}

ek__peak ek__stage_peak(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                        size_t n_blocks)
{
    ek__stage_walk walk = ek__stage_walk_begin(job, programs, stage);
    ek__peak peak = {.block = n_blocks};
    for (size_t k = 0; k < n_blocks; k++) {
        int64_t before = walk.now;
        const ek__profile_of_part *profile = ek__stage_walk_next(&walk, &blocks[k]);
        if (before + profile->peak > peak.bytes || peak.block == n_blocks)
            peak = (ek__peak){before + profile->peak, k, profile->peak_event, walk.first};
    }
    assert(walk.now == staying(&walk) && peak.bytes >= walk.now);
    return peak;
}

/* ---- live buffers ---- */

/* The progress of a chunk's micro-batches when a block runs. */
typedef struct progress {
    int64_t started[EK_N_BLOCK_KINDS], done[EK_N_BLOCK_KINDS];
} progress;

typedef struct collector {
    const ek_job *job;
    const ek__job_programs *programs;
    ek__alive_list *list;
    int *count; /* [buffers of the largest program] of the current program */
    int *again; /* likewise: taken by running forward again with a group of layers */
    ek_error *err;
} collector;

static ek_memory_part part_of(const ek__program *program, int b)
{
    switch (program->buffer[b].what) {
    case EK__CLASS_KEPT:
        return EK_PART_ACTIVATIONS;
    case EK__CLASS_GRADIENT:
        return EK_PART_GRADIENTS;
    case EK__CLASS_BORDER:
        return b == EK__BUFFER_INPUT || b == EK__BUFFER_OUTPUT ? EK_PART_ACTIVATIONS : EK_PART_TRANSIENT;
    case EK__CLASS_TRANSIENT:
        break;
    }
    return EK_PART_TRANSIENT;
}

static ek_status put(collector *c, const ek__buffer *buffer, int64_t count, ek_memory_part part)
{
    ek__alive_list *list = c->list;
    assert(count >= 0 && buffer->bytes >= 0);
    if (count == 0 || buffer->bytes == 0)
        return EK_OK;
    ek__alive *grown = ek__with_room(list->alive, &list->capacity, (size_t)list->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(c->err);
    list->alive = grown;
    grown[list->n++] = (ek__alive){buffer, count, part};
    return EK_OK;
}

/* Replay events of a part into c->count. Kept weight gradients are counted separately. */
static void replay(const ek__program *program, int part, int n_events, int *count)
{
    assert(n_events >= 0 && n_events <= program->n_events[part]);
    for (int e = 0; e < n_events; e++) {
        int event = program->event[part][e], b = event > 0 ? event - 1 : -event - 1;
        if (program->buffer[b].what != EK__CLASS_GRADIENT)
            count[b] += event > 0 ? 1 : -1;
    }
}

/* Layers recomputed as a group run a different program in the backward block than in the forward block. The buffers it
 * takes in its forward part are recomputed, except for the group's own input. @return whether it is such a program */
static bool mark_again(collector *c, const ek__chunk_programs *chunk, const ek__run *run)
{
    const ek__program *program = run->program, *forward = chunk->run[EK_FORWARD][run->entry].program;
    if (program == forward)
        return false;
    memset(c->again, 0, (size_t)program->n_buffers * sizeof *c->again);
    c->again[EK__BUFFER_INPUT] = forward->kept == 0;
    for (int e = 0; e < program->n_events[EK_FORWARD]; e++)
        if (program->event[EK_FORWARD][e] > 0)
            c->again[program->event[EK_FORWARD][e] - 1] = 1;
    return true;
}

/* The progress of a program. Tensors at the border count where they are read: INPUT and OUTPUT_GRADIENT; OUTPUT and
 * INPUT_GRADIENT only while the program itself runs. */
typedef struct state {
    int parts_done; /* forward; backward; all */
    int events;     /* of the next part; -1: it is not running */
} state;

static ek_status put_state(collector *c, const ek__chunk_programs *chunk, const ek__run *run, state at, int64_t times)
{
    int *count = c->count;
    const ek__program *program = run->program;
    assert(times >= 1 && at.parts_done >= 0 && at.parts_done <= EK_N_BLOCK_KINDS - (at.events >= 0));
    bool again = mark_again(c, chunk, run);
    memset(count, 0, (size_t)program->n_buffers * sizeof *count);
    bool has_input = program->graph->input >= 0, has_output = program->graph->output >= 0;
    count[EK__BUFFER_INPUT] = has_input;
    for (int part = 0; part < at.parts_done; part++) {
        count[EK__BUFFER_OUTPUT_GRADIENT] += part == EK_BACKWARD && has_output;
        replay(program, part, program->n_events[part], count);
        count[EK__BUFFER_OUTPUT] = count[EK__BUFFER_INPUT_GRADIENT] = 0;
    }
    if (at.events >= 0) {
        count[EK__BUFFER_OUTPUT_GRADIENT] += at.parts_done == EK_BACKWARD && has_output;
        replay(program, at.parts_done, at.events, count);
    }
    ek_status status = EK_OK;
    for (int b = 0; b < program->n_buffers && !status; b++)
        if (count[b])
            status = put(c, &program->buffer[b], count[b] * times,
                         again && c->again[b] ? EK_PART_TRANSIENT : part_of(program, b));
    return status;
}

/* A chunk's micro-batches after their forward pass (1), or after backward with pending weight gradients (2). */
static ek_status put_chunk(collector *c, const ek__chunk_programs *chunk, int parts_done, int64_t times)
{
    ek_status status = EK_OK;
    int kind = parts_done - 1;
    assert(times >= 0 && parts_done >= 1 && parts_done <= EK_N_BLOCK_KINDS);
    if (times == 0)
        return EK_OK;
    for (int r = 0; r < chunk->n_runs[kind] && !status; r++)
        if (chunk->run[kind][r].part == kind)
            status = put_state(c, chunk, &chunk->run[kind][r], (state){parts_done, -1}, times);
    return status;
}

static int64_t n_copies(const ek_job *job)
{
    return job->parallel.n_batch_interleave > 1 ? job->parallel.n_batch_interleave : 1;
}

/* Index of the last run of a block before run r that left an entry's buffers in their state; -1: none has changed
 * it. */
static int last_run(const ek__chunk_programs *chunk, int kind, int entry, int r)
{
    while (--r >= 0 && chunk->run[kind][r].entry != entry)
        ;
    return r;
}

/* Entries of the running block except the running one. */
static ek_status put_others(collector *c, const ek__chunk_programs *chunk, int kind, int running)
{
    ek_status status = EK_OK;
    int now = running < chunk->n_runs[kind] ? chunk->run[kind][running].entry : -1;
    for (int e = 0; e < chunk->n && !status; e++) {
        if (e == now)
            continue;
        int r = last_run(chunk, kind, e, running);
        if (r >= 0)
            status = put_state(c, chunk, &chunk->run[kind][r], (state){chunk->run[kind][r].part + 1, -1}, 1);
        else if (kind > 0 && (r = last_run(chunk, kind - 1, e, chunk->n_runs[kind - 1])) >= 0)
            status = put_state(c, chunk, &chunk->run[kind - 1][r], (state){kind, -1}, 1);
    }
    return status;
}

/* Border tensors of the running block that its entries do not count: of waiting or finished copies, if chunks pass
 * tensors on the same stage; the gradient after layers that run forward again as a group. */
static ek_status put_border(collector *c, const ek__chunk_programs *chunk, int kind, int64_t through, int64_t waiting,
                            bool again)
{
    const ek__program *any = c->programs->program[0];
    bool has_input = chunk->n == 0 || chunk->program[0]->graph->input >= 0;
    bool has_output = chunk->n == 0 || chunk->program[chunk->n - 1]->graph->output >= 0;
    assert(through >= 0 && waiting >= 0);
    int64_t before = !chunk->receives && has_input, behind = !chunk->sends && has_output;
    if (kind == EK_FORWARD)
        return put(c, &any->buffer[EK__BUFFER_INPUT], before * waiting + behind * through + (chunk->n == 0),
                   EK_PART_ACTIVATIONS);
    if (kind == EK_BACKWARD)
        return put(c, &any->buffer[EK__BUFFER_INPUT_GRADIENT],
                   behind * waiting + before * through + (chunk->n == 0) + again, EK_PART_TRANSIENT);
    return EK_OK;
}

/* The running block: finished copies, the running one, and waiting ones. */
static ek_status put_running(collector *c, const ek__chunk_programs *chunk, int kind, const ek__peak *peak)
{
    int64_t copies = n_copies(c->job), n = chunk->n_runs[kind], run_at = peak->run > 0 ? peak->run : 0;
    int64_t through = n > 0 ? run_at / n : run_at;
    assert(through <= copies);
    if (n == 0)
        return put_border(c, chunk, kind, through, copies - through - 1, false);
    int r = (int)(run_at % n);
    ek_status status = put_chunk(c, chunk, kind + 1, kind + 1 < EK_N_BLOCK_KINDS ? through : 0);
    if (!status && kind > 0)
        status = put_chunk(c, chunk, kind, copies - through - (through < copies));
    if (status || through >= copies)
        return status;
    const ek__run *run = &chunk->run[kind][r];
    const ek__profile_of_part *profile =
        peak->first && through == 0 ? &run->program->first[run->part] : &run->program->profile[run->part];
    int event = profile->peak_event;
    c->list->op = event >= 0 && run->program->event_op[run->part][event] >= 0
                      ? run->program->graph->op[run->program->event_op[run->part][event]].path
                      : "";
    c->list->layer = chunk->layer[run->entry];
    status = put_border(c, chunk, kind, through, copies - through - 1, kind == EK_BACKWARD && run->part == EK_FORWARD);
    if (!status)
        status = put_others(c, chunk, kind, r);
    return status ? status : put_state(c, chunk, run, (state){run->part, event + 1}, 1);
}

/* Weights' gradients without a buffer: those of finished parts, and in a part's first run those taken so far. */
static ek_status put_gradients(collector *c, const ek__chunk_programs *chunk, int kind, int64_t done,
                               const ek__peak *running)
{
    ek_status status = EK_OK;
    int n = chunk->n_runs[kind];
    for (int r = 0; r < n && !status; r++) {
        const ek__run *run = &chunk->run[kind][r];
        int events = run->program->n_events[run->part];
        assert(run->entry >= 0 && run->entry < chunk->n);
        if (done == 0 && (!running || running->run < r))
            continue;
        if (done == 0 && running->run == r)
            events = run->program->first[run->part].peak_event + 1;
        for (int e = 0; e < events && !status; e++) {
            int event = run->program->event[run->part][e];
            if (event > 0 && run->program->buffer[event - 1].what == EK__CLASS_GRADIENT)
                status = put(c, &run->program->buffer[event - 1], 1, EK_PART_GRADIENTS);
        }
    }
    return status;
}

/* A tensor that waits for the next chunk on the same stage. */
static ek_status put_waiting(collector *c, int stage, const progress *p)
{
    const ek__program *any = c->programs->program[0];
    int n = ek__stage_n_chunks(c->job);
    ek_status status = EK_OK;
    for (int i = 0; i + 1 < n && !status && c->job->schedule->placement != EK_PLACE_BOTH_WAYS; i++) {
        const ek__chunk_programs *next = &c->programs->chunk[ek__stage_cell(c->job, stage, i + 1)];
        const ek__chunk_programs *chunk = &c->programs->chunk[ek__stage_cell(c->job, stage, i)];
        if (next->receives || chunk->sends)
            continue;
        int64_t forward = (p[i].done[EK_FORWARD] - p[i + 1].started[EK_FORWARD]) * n_copies(c->job);
        int64_t backward = (p[i + 1].done[EK_BACKWARD] - p[i].started[EK_BACKWARD]) * n_copies(c->job);
        status = put(c, &any->buffer[EK__BUFFER_INPUT], forward, EK_PART_ACTIVATIONS);
        if (!status)
            status = put(c, &any->buffer[EK__BUFFER_INPUT_GRADIENT], backward, EK_PART_TRANSIENT);
    }
    return status;
}

static void count_blocks(const ek_job *job, const ek_block *blocks, const ek__peak *peak, progress *p,
                         ek__alive_list *list)
{
    for (size_t k = 0; k <= peak->block; k++) {
        p[blocks[k].chunk].started[blocks[k].kind]++;
        p[blocks[k].chunk].done[blocks[k].kind] += k < peak->block;
    }
    int last = job->schedule->splits_backward ? EK_BACKWARD_WEIGHT : EK_BACKWARD;
    for (int i = 0; i < ek__stage_n_chunks(job); i++) {
        assert(p[i].done[EK_FORWARD] >= p[i].started[EK_BACKWARD]);
        assert(last == EK_BACKWARD || p[i].done[EK_BACKWARD] >= p[i].started[EK_BACKWARD_WEIGHT]);
        list->micro_batches += (double)(p[i].started[EK_FORWARD] - p[i].done[last]) / job->plan.n_chunks;
        if (i == 0 || job->schedule->placement == EK_PLACE_BOTH_WAYS)
            list->masks += (p[i].started[EK_FORWARD] - p[i].done[EK_BACKWARD]) * n_copies(job);
    }
}

static ek_status put_stage(collector *c, int stage, const ek_block *blocks, const ek__peak *peak)
{
    const ek_job *job = c->job;
    progress p[EK_MAX_CHUNKS] = {{{0}, {0}}};
    const ek_block *b = &blocks[peak->block];
    bool split = job->schedule->splits_backward;
    count_blocks(job, blocks, peak, p, c->list);
    ek_status status = EK_OK;
    for (int i = 0; i < ek__stage_n_chunks(job) && !status; i++) {
        const ek__chunk_programs *chunk = &c->programs->chunk[ek__stage_cell(job, stage, i)];
        int64_t forward = p[i].done[EK_FORWARD] - p[i].started[EK_BACKWARD];
        int64_t between = split ? p[i].done[EK_BACKWARD] - p[i].started[EK_BACKWARD_WEIGHT] : 0;
        status = put_chunk(c, chunk, 1, forward * n_copies(job));
        if (!status)
            status = put_chunk(c, chunk, 2, between * n_copies(job));
        if (!status && b->chunk == i)
            status = put_running(c, chunk, b->kind, peak);
        for (int k = EK_BACKWARD; k < EK_N_BLOCK_KINDS && !status; k++)
            status = put_gradients(c, chunk, k, p[i].done[k], b->chunk == i && b->kind == k ? peak : NULL);
    }
    return status ? status : put_waiting(c, stage, p);
}

ek_status ek__stage_alive(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                          const ek__peak *peak, ek__alive_list *list, ek_error *err)
{
    int most = 1;
    assert(stage >= 0 && stage < job->plan.n_stages && list->n == 0 && peak->bytes >= 0);
    for (int i = 0; i < programs->n_programs; i++)
        if (programs->program[i]->n_buffers > most)
            most = programs->program[i]->n_buffers;
    collector c = {.job = job, .programs = programs, .list = list, .err = err};
    c.count = ek__alloc(2 * (size_t)most, sizeof *c.count);
    if (!c.count)
        return ek__no_memory(err);
    c.again = c.count + most;
    list->op = "";
    ek_status status = put_stage(&c, stage, blocks, peak);
    free(c.count);
    return status;
}
