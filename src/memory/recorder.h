/* memory/recorder.h - steps and the buffers they touch, from which lifetimes follow: a buffer is taken before the step
 * that makes it and given back after the last one that touches it. Library-internal, between program.c and recorder.c.
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
    int taken, last; /* steps; taken -1: by others, last EK__MAX_STEPS: never given back here */
    int part;        /* it is taken in */
    int holders;     /* tensors whose gradient it is at the moment */
    bool stays;      /* a weight's gradient, to the end of the step */
    bool for_weight; /* gradients of weights read it later: nothing may be added to it */
} ek__recorded;

typedef struct ek__recorder {
    int n_steps, n_buffers, part;
    int step_part[EK__MAX_STEPS], step_op[EK__MAX_STEPS]; /* op -1: none */
    ek__recorded buffer[EK__MAX_BUFFERS];
    int border[EK__N_BORDERS]; /* buffer of each; -1: the graph has none */
} ek__recorder;

/* No steps, and border buffers of so many bytes without any life yet. */
void ek__record_begin(ek__recorder *r, int64_t border_bytes);
/* Begin a step of the current part, which never goes down. @param op  operator that runs; -1: none */
void ek__record_step(ek__recorder *r, int op);
/* Take a buffer of 0 or more bytes in the current step. @return it */
int ek__record_take(ek__recorder *r, int64_t bytes, const char *op, const char *name);
/* The current step touches a buffer; -1: nothing. */
void ek__record_use(ek__recorder *r, int buffer);
/* The current step makes a border that others have no part in taking, and that is not made yet. */
void ek__record_make(ek__recorder *r, int buffer);
/* A border is not given back by this program. */
void ek__record_hold(ek__recorder *r, int buffer);

/* Events and profiles. @param paths  of operators, for messages */
ek_status ek__record_finish(const ek__recorder *r, const ek_job *job, const ek__graph *graph, ek__program **out,
                            ek_error *err);

#endif
