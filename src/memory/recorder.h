/* memory/recorder.h - records steps and the buffers they use, which determine lifetimes: a buffer is taken before the
 * step that makes it and released after the last one that uses it. Library-internal, between program.c and recorder.c.
 */
#ifndef EK_MEMORY_RECORDER_H
#define EK_MEMORY_RECORDER_H

#include "memory/program.h"

/* An operator's forward pass, one recomputation, whole recomputation, gradient with its casts, gradient of the weight,
 * and a copy at the border. */
enum { EK__MAX_STEPS = 8 * EK__MAX_OPS };

typedef struct ek__recorded {
    int64_t bytes;
    const char *op, *name;
    int taken, last; /* steps; taken -1: by others, last EK__MAX_STEPS: never released here */
    int part;        /* in which it is taken */
    int holders;     /* tensors that it is currently the gradient of */
    bool stays;      /* a weight's gradient, to the end of the step */
    bool for_weight; /* weight gradients read it later: nothing may be added to it */
} ek__recorded;

typedef struct ek__recorder {
    int n_steps, n_buffers, part;
    int step_part[EK__MAX_STEPS], step_op[EK__MAX_STEPS]; /* op -1: none */
    ek__recorded buffer[EK__MAX_BUFFERS];
    int border[EK__N_BORDERS]; /* buffer of each; -1: the graph has none */
} ek__recorder;

/* Start without steps, with border buffers of the given bytes and no lifetimes yet. */
void ek__record_begin(ek__recorder *r, int64_t border_bytes);
/* Begin a step of the current part, which never decreases. @param op operator that runs; -1: none */
void ek__record_step(ek__recorder *r, int op);
/* Take a buffer of 0 or more bytes in the current step. @return it */
int ek__record_take(ek__recorder *r, int64_t bytes, const char *op, const char *name);
/* The current step uses a buffer; -1: none. */
void ek__record_use(ek__recorder *r, int buffer);
/* The current step makes a border that is taken by this program and is not made yet. */
void ek__record_make(ek__recorder *r, int buffer);
/* A border is not released by this program. */
void ek__record_hold(ek__recorder *r, int buffer);

/* Events and profiles. @param paths  of operators, for messages */
ek_status ek__record_finish(const ek__recorder *r, const ek_job *job, const ek__graph *graph, ek__program **out,
                            ek_error *err);

#endif
