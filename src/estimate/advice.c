/* Recommends measurements that make the error of an estimate smaller. Parts of the slowest stage are ordered by their
 * uncertainty: the standard error where there is one; zero where the figure was measured; else the whole part, since it
 * has no bound. Each part has one measurement, several parts may share one. */
#include <stdio.h>

#include "estimate/texts.h"

enum { MOST = 3 };
#define LEAST 0.02 /* of the step: less is not worth a measurement */

static double unknown_seconds(const ek_step *step, int part)
{
    if (step->error[part] > 0)
        return step->error[part];
    return step->basis[part] == EK_COST_MEASURED ? 0 : step->stage[step->slowest].seconds[part];
}

typedef enum measurement {
    RUN_A_LAYER,
    TEST_COLLECTIVES,
    VARY_MICRO_BATCHES,
    TIME_THE_INPUT,
    NOTHING, /* follows from the others */
    N_MEASUREMENTS
} measurement;

static const measurement measurement_of[EK_N_STEP_PARTS] = {
    [EK_STEP_MATRIX] = RUN_A_LAYER,       [EK_STEP_ATTENTION] = RUN_A_LAYER,   [EK_STEP_GROUPED] = RUN_A_LAYER,
    [EK_STEP_MEMORY] = RUN_A_LAYER,       [EK_STEP_RECOMPUTE] = RUN_A_LAYER,   [EK_STEP_TENSOR] = TEST_COLLECTIVES,
    [EK_STEP_CONTEXT] = TEST_COLLECTIVES, [EK_STEP_EXPERT] = TEST_COLLECTIVES, [EK_STEP_BUBBLE] = NOTHING,
    [EK_STEP_P2P] = TEST_COLLECTIVES,     [EK_STEP_DATA] = TEST_COLLECTIVES,   [EK_STEP_OPTIMIZER] = VARY_MICRO_BATCHES,
    [EK_STEP_HOST] = RUN_A_LAYER,         [EK_STEP_INPUT] = TIME_THE_INPUT,
};

/* The groups of ranks that the job has, "tensor 8, data 128". */
static void name_groups(const ek_job_parallel *p, char *text, size_t size)
{
    const struct {
        const char *name;
        int n;
    } groups[] = {{"tensor", p->tensor},
                  {"context", p->context},
                  {"expert", p->expert},
                  {"data", p->data},
                  {"pipeline", p->pipeline}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (groups[i].n > 1 && used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s %d", used ? ", " : "", groups[i].name, groups[i].n);
}

static void report(ek_estimate *e, measurement what)
{
    const ek_job_parallel *p = &e->job->parallel;
    char groups[160];
    name_groups(p, groups, sizeof groups);
    switch (what) {
    case RUN_A_LAYER:
        ek__estimate_say(
            &e->advice,
            "run some steps on one node with hidden %d, tensor %d, %d x %d tokens (fewer layers are sufficient), and "
            "give the log together with its job file to evenkeel calibrate: kernels, memory rate, launches",
            e->job->model.hidden, p->tensor, p->batch, p->seq_length);
        break;
    case TEST_COLLECTIVES:
        ek__estimate_say(&e->advice,
                         "run nccl-tests or hccl_test over the groups of this layout (%s), 1 MB to 1 GB, and give the "
                         "logs to evenkeel calibrate: rates and latencies of links",
                         groups);
        break;
    case VARY_MICRO_BATCHES:
        ek__estimate_say(&e->advice, "run the layout with fewer and with more micro-batches a step, for evenkeel "
                                     "calibrate: the part that does not grow with them is the optimizer");
        break;
    case TIME_THE_INPUT:
        ek__estimate_say(&e->advice,
                         "measure the input pipeline without a model: its rate is input_gbs in the device file");
        break;
    case NOTHING:
    case N_MEASUREMENTS:
    default:
        break;
    }
}

void ek__estimate_advise(ek_estimate *e)
{
    double unknown[N_MEASUREMENTS] = {0};
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        unknown[measurement_of[i]] += unknown_seconds(&e->step, i);
    for (int k = 0; k < MOST; k++) {
        int best = 0;
        for (int i = 1; i < NOTHING; i++)
            best = unknown[i] > unknown[best] ? i : best;
        if (unknown[best] < LEAST * e->step.seconds || unknown[best] <= 0)
            return;
        report(e, (measurement)best);
        unknown[best] = 0;
    }
}
