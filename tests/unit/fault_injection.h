/* fault_injection.h - runs with a fault of known cost, for the test of the diagnosis and for the bench.
 *
 * A fault is injected in a sound run of the trace generator; its cost is the generated step with it less the one
 * without. The run is then written as a user has it (traces of all ranks, settings, a graph where the fault needs one)
 * and diagnosed. The table of kinds is here once; the caller chooses shapes and sizes. An error of generating, writing
 * or reading ends the program with a message, since there is nothing to compare then. */
#ifndef TESTS_UNIT_FAULTS_H
#define TESTS_UNIT_FAULTS_H

#include "evenkeel/diagnose.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/job.h"
#include "evenkeel/trace.h"

#include "trace_generator.h"

enum { FAULT_MAX_POSITIONS = 64, FAULT_MAX_LAYERS = 256, FAULT_MAX_RANKS = 16 };

/* A run as it is, and the same without its fault. */
typedef struct fault_run {
    char what[160];
    const char *id; /* of the finding that it must be; NULL: healthy */
    double share;   /* aimed at; the truth is measured */
    trace_shape shape, sound;
    int layers_of[FAULT_MAX_POSITIONS];
    trace_rerun rerun[FAULT_MAX_LAYERS];
    bool graph;
    int batch; /* sequences of a micro-batch; 0: one */
} fault_run;

typedef void fault_seed(fault_run *run);

typedef struct fault_kind {
    const char *name, *id;
    fault_seed *seed;
    int least_stages, most_stages;
    bool torch; /* also in the form of torch_npu */
} fault_kind;
enum { N_FAULT_KINDS = 14 };
extern const fault_kind fault_kinds[N_FAULT_KINDS];

/* A run that loses less than 1 %: few stages, or many micro-batches and chunks; gradients hidden, all layers alike.
 * `small`: fewer micro-batches, so that bubbles take more than that, which cannot be gained. */
trace_shape fault_sound(trace_form form, int n_stages, double jitter, unsigned seed, bool small);

/* Name of a form in the text of a run: "MindSpore", "GPU", "torch_npu". */
extern const char *const fault_form_name[3];

/* The run with the faults kind[0..n-1] of these shares, one after another, in `sound`. */
void fault_make(fault_run *run, const trace_shape *sound, const int *kind, const double *share, int n);
/* The same of one kind, named after all that makes it up. */
void fault_make_one(fault_run *run, int kind, trace_form form, int n_stages, double share, double jitter, unsigned seed,
                    bool small);

/* Mean step as generated, in seconds. */
double fault_step(const trace_shape *shape);

/* The run that was read, and the findings. */
typedef struct fault_diagnosed {
    ek_trace_run trace;
    ek_job job;
    ek_ir *ir;
    ek_ir_report report;
    ek_diagnosis diagnosis;
} fault_diagnosed;

/* Write it into `folder`, which exists and is empty again afterwards unless EK_KEEP is set; read and diagnose it. */
void fault_diagnose(const fault_run *run, const char *folder, fault_diagnosed *out);
void fault_diagnosed_clear(fault_diagnosed *diagnosed);

#endif
