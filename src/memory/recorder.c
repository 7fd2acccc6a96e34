/* Turns recorded steps into events. Lifetimes are known after all steps, so one sort by step gives the order in which
 * buffers are taken and released, and a running sum gives the profile of each part. A step takes all its buffers before
 * it releases any, since an operator's inputs and outputs are alive while it runs. */
#include "memory/recorder.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/allocator.h"

void ek__record_begin(ek__recorder *r, int64_t border_bytes)
{
    static const char *const name[EK__N_BORDERS] = {"input", "output", "gradient of output", "gradient of input"};
    assert(border_bytes >= 0);
    r->n_steps = r->n_buffers = r->part = 0;
    for (int b = 0; b < EK__N_BORDERS; b++) {
        r->border[b] = r->n_buffers++;
        r->buffer[b] = (ek__recorded){.bytes = border_bytes, .op = "", .name = name[b], .taken = -1, .last = -1};
    }
}

void ek__record_step(ek__recorder *r, int op)
{
    assert(r->n_steps < EK__MAX_STEPS && op >= -1 && op < EK__MAX_OPS);
    assert(r->part >= (r->n_steps > 0 ? r->step_part[r->n_steps - 1] : 0) && r->part < EK_N_BLOCK_KINDS);
    r->step_part[r->n_steps] = r->part;
    r->step_op[r->n_steps++] = op;
}

int ek__record_take(ek__recorder *r, int64_t bytes, const char *op, const char *name)
{
    assert(r->n_buffers < EK__MAX_BUFFERS && r->n_steps > 0);
    assert(bytes >= 0 && op && name);
    int step = r->n_steps - 1;
    r->buffer[r->n_buffers] =
        (ek__recorded){.bytes = bytes, .op = op, .name = name, .taken = step, .last = step, .part = r->part};
    return r->n_buffers++;
}

void ek__record_use(ek__recorder *r, int buffer)
{
    assert(buffer >= -1 && buffer < r->n_buffers);
    if (buffer >= 0 && r->buffer[buffer].last < r->n_steps - 1)
        r->buffer[buffer].last = r->n_steps - 1;
}

void ek__record_make(ek__recorder *r, int buffer)
{
    assert(buffer >= 0 && buffer < EK__N_BORDERS && r->buffer[buffer].taken < 0 && r->n_steps > 0);
    r->buffer[buffer].taken = r->n_steps - 1;
    r->buffer[buffer].part = r->part;
    ek__record_use(r, buffer);
}

void ek__record_hold(ek__recorder *r, int buffer)
{
    assert(buffer >= 0 && buffer < EK__N_BORDERS);
    r->buffer[buffer].last = EK__MAX_STEPS;
}

/* ---- finishing ---- */

static ek__buffer_class class_of(const ek__recorder *r, int b)
{
    const ek__recorded *buffer = &r->buffer[b];
    if (b < EK__N_BORDERS)
        return EK__CLASS_BORDER;
    if (buffer->stays)
        return EK__CLASS_GRADIENT;
    /* A buffer without a lifetime was renamed to a border. */
    bool later = buffer->last >= 0 && r->step_part[buffer->last] > buffer->part;
    return later ? EK__CLASS_KEPT : EK__CLASS_TRANSIENT;
}

static int64_t scaled(const ek_job *job, int64_t bytes, int b, ek__buffer_class what)
{
    bool activation =
        what == EK__CLASS_KEPT || (what == EK__CLASS_BORDER && (b == EK__BUFFER_INPUT || b == EK__BUFFER_OUTPUT));
    double scale = what == EK__CLASS_GRADIENT ? 1
                   : activation               ? job->rules.activation_scale
                                              : job->rules.transient_scale;
    if (scale != 1)
        bytes = (int64_t)llround((double)bytes * scale);
    return ek__aligned(bytes);
}

int64_t ek__kept_bytes(const ek_job *job, int64_t bytes)
{
    return scaled(job, bytes, EK__N_BORDERS, EK__CLASS_KEPT);
}

/* Write the events of one step at `at`. Buffers that start or end at a step are chained in lists. */
typedef struct lists {
    int begin[EK__MAX_STEPS], end[EK__MAX_STEPS]; /* first buffer; -1: none */
    int next_begin[EK__MAX_BUFFERS], next_end[EK__MAX_BUFFERS];
} lists;

/* Buffers without bytes are omitted, except for borders: events for them would only cost time. */
static void make_lists(const ek__recorder *r, const ek__program *program, lists *l)
{
    for (int s = 0; s < r->n_steps; s++)
        l->begin[s] = l->end[s] = -1;
    for (int b = r->n_buffers - 1; b >= 0; b--) {
        const ek__recorded *buffer = &r->buffer[b];
        assert(buffer->last >= buffer->taken); /* released after it is taken */
        if (program->buffer[b].bytes == 0 && b >= EK__N_BORDERS)
            continue;
        if (buffer->taken >= 0) {
            l->next_begin[b] = l->begin[buffer->taken];
            l->begin[buffer->taken] = b;
        }
        if (buffer->last >= 0 && buffer->last < EK__MAX_STEPS && !buffer->stays) {
            l->next_end[b] = l->end[buffer->last];
            l->end[buffer->last] = b;
        }
    }
}

static void put(ek__program *program, int part, int op, int event)
{
    int at = program->n_events[part]++;
    assert(at < 2 * program->n_buffers && event != 0 && abs(event) <= program->n_buffers);
    program->event[part][at] = (ek__memory_event)event;
    program->event_op[part][at] = (int16_t)op;
}

static void make_events(const ek__recorder *r, const lists *l, ek__program *program)
{
    for (int s = 0; s < r->n_steps; s++) {
        for (int b = l->begin[s]; b >= 0; b = l->next_begin[b])
            put(program, r->step_part[s], r->step_op[s], b + 1);
        for (int b = l->end[s]; b >= 0; b = l->next_end[b])
            put(program, r->step_part[s], r->step_op[s], -(b + 1));
    }
}

static ek__profile_of_part profile_of(const ek__program *program, int part, bool first)
{
    ek__profile_of_part profile = {.peak_event = -1};
    int64_t now = 0;
    for (int e = 0; e < program->n_events[part]; e++) {
        int event = program->event[part][e], b = event > 0 ? event - 1 : -event - 1;
        if (event > 0 && program->buffer[b].what == EK__CLASS_GRADIENT && !first)
            continue;
        now += event > 0 ? program->buffer[b].bytes : -program->buffer[b].bytes;
        if (now > profile.peak) {
            profile.peak = now;
            profile.peak_event = e;
        }
    }
    profile.end = now;
    assert(profile.peak >= 0 && profile.peak >= profile.end && profile.peak_event < program->n_events[part]);
    return profile;
}

/* The bytes kept after the forward part, except OUTPUT, which belongs to the next layer. */
static int64_t kept_of(const ek__recorder *r, const ek__program *program)
{
    int64_t kept = 0;
    for (int b = 0; b < r->n_buffers; b++) {
        const ek__recorded *buffer = &r->buffer[b];
        bool there = b == EK__BUFFER_INPUT || (b >= EK__N_BORDERS && buffer->part == EK_FORWARD);
        bool later = buffer->last >= EK__MAX_STEPS || (buffer->last >= 0 && r->step_part[buffer->last] > EK_FORWARD);
        if (there && later)
            kept += program->buffer[b].bytes;
    }
    return kept;
}

/* One allocation for a program and its arrays, so that freeing it is one call and no copy is needed. */
static ek__program *new_program(const ek__recorder *r)
{
    size_t n = (size_t)r->n_buffers, most = 2 * n;
    size_t size = sizeof(ek__program) + n * sizeof(ek__buffer) +
                  EK_N_BLOCK_KINDS * most * (sizeof(ek__memory_event) + sizeof(int16_t));
    ek__program *program = ek__alloc(1, size);
    if (!program)
        return NULL;
    program->n_buffers = r->n_buffers;
    program->buffer = (ek__buffer *)(program + 1);
    ek__memory_event *events = (ek__memory_event *)(program->buffer + n);
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++) {
        program->event[k] = events + 2 * (size_t)k * most;
        program->event_op[k] = program->event[k] + most;
    }
    return program;
}

ek_status ek__record_finish(const ek__recorder *r, const ek_job *job, const ek__graph *graph, ek__program **out,
                            ek_error *err)
{
    ek__program *program = new_program(r);
    lists *l = malloc(sizeof *l); /* make_lists() writes all entries that are read */
    if (!program || !l) {
        free(program);
        free(l);
        return ek__no_memory(err);
    }
    program->graph = graph;
    for (int b = 0; b < r->n_buffers; b++) {
        ek__buffer_class what = class_of(r, b);
        const ek__recorded *buffer = &r->buffer[b];
        program->buffer[b] = (ek__buffer){scaled(job, buffer->bytes, b, what), what, buffer->op, buffer->name};
    }
    make_lists(r, program, l);
    make_events(r, l, program);
    free(l);
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++) {
        program->profile[k] = profile_of(program, k, false);
        program->first[k] = profile_of(program, k, true);
    }
    program->kept = kept_of(r, program);
    assert(program->kept >= 0);
    *out = program;
    return EK_OK;
}

void ek__program_free(ek__program *program)
{
    free(program);
}
