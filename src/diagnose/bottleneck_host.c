/* Finds a late host: the device idles for operators that are not launched yet. Each such gap belongs to the host's main
 * activity in it (garbage collection, a synchronisation, compilation, else plain dispatch), each cause is a separate
 * finding with its own setting, and the gain is the step without those gaps. Waits for data belong to the bottleneck of
 * that name. Without a trace it is the launch time of the predicted step. Not seen: gaps that end with an operator
 * without a launch in the trace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/predicted.h"

typedef struct cause {
    const char *name, *title, *setting, *change, *caution;
    const char *gpu_setting, *gpu_change; /* NULL: the same */
} cause;

static const cause causes[] = {
    {"garbage_collection", "Python garbage collection delays the device",
     "gc.freeze(); gc.disable()  # after the first step, with gc.collect() every few hundred steps",
     "Exclude startup objects from garbage collection after the first step (gc.freeze), and collect explicitly every "
     "few hundred steps.",
     "Reference cycles stay in host memory until the next explicit collection.", NULL, NULL},
    {"synchronization", "The host synchronizes with the device within the step",
     "unset ASCEND_LAUNCH_BLOCKING CUDA_LAUNCH_BLOCKING  # and remove .item(), .cpu(), printing of losses from the "
     "step",
     "Let the host run ahead: read losses and norms every few steps instead of every step.", NULL, NULL, NULL},
    {"compilation", "Operators are compiled during the run",
     "torch.npu.set_compile_mode(jit_compile=False)  # MindSpore: fixed shapes, graph mode",
     "Avoid shapes that change between steps, or disable compilation at run time.", NULL,
     "torch.compile(model, dynamic=True)", "Avoid shapes that change between steps."},
    {"dispatch", "Launching operators takes longer than running them", "TASK_QUEUE_ENABLE=2\nCPU_AFFINITY_CONF=1",
     "Reduce launches and their cost: fused operators, graph mode or a larger micro-batch; on Ascend a second "
     "launching thread and CPU binding.",
     "A larger micro-batch needs more memory.", "torch.compile(model, mode=\"reduce-overhead\")  # CUDA graphs",
     "Reduce launches and their cost: fused operators, CUDA graphs or a larger micro-batch."},
};
enum { N_CAUSES = sizeof causes / sizeof *causes };

/* The rank that loses most, index -1. */
static double most_late(const ek__measured *m, const char *why, int *rank)
{
    double most = 0;
    for (int r = 0; r < m->run->n_ranks; r++) {
        double late = ek__host_late(&m->run->rank[r], why);
        if (late > most) {
            most = late;
            *rank = r;
        }
    }
    return most;
}

/* The longest gap, for evidence. */
typedef struct longest {
    const ek_trace_rank *rank;
    const ek_trace_host_gap *gap;
    int64_t n;
} longest;

static ek_status collect(const ek__measured *m, const char *why, ek__losses *losses, longest *most, ek_error *err)
{
    for (int r = 0; r < m->run->n_ranks; r++) {
        const ek_trace_rank *rank = &m->run->rank[r];
        for (int i = 0; i < rank->dispatch.n_gaps; i++) {
            const ek_trace_host_gap *gap = &rank->dispatch.gap[i];
            int64_t start = ek__host_gap_start(rank, gap);
            if (strcmp(gap->cause, why) != 0 || start == gap->end)
                continue;
            if (!ek__losses_add(losses, r, start, (double)(gap->end - start)))
                return ek__no_memory(err);
            most->n++;
            if (!most->gap || gap->end - gap->start > most->gap->end - most->gap->start) {
                most->gap = gap;
                most->rank = rank;
            }
        }
    }
    return EK_OK;
}

static ek_status show(const ek__diagnose *d, const longest *most, int rank, double ns, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    const ek_evidence sum = {
        ek__pool_format(d->out->pool,
                        "%s: the device is idle for %.2f ms of a step before operators that were launched late",
                        ek__who_is(r).text, ns / 1e6),
        ek__file_of(r), NULL, r->rank};
    ek_status status = ek__bottleneck_show(b, sum, err);
    if (status || !most->gap)
        return status;
    const ek_evidence one = {ek__pool_format(d->out->pool, "%s: the longest of %lld such gaps lasts %.3f ms",
                                             ek__who_is(most->rank).text, (long long)most->n,
                                             (double)(most->gap->end - most->gap->start) / 1e6),
                             ek__file_of(most->rank), ek__step_name_at(most->rank, most->gap->start), most->rank->rank};
    return ek__bottleneck_show(b, one, err);
}

static ek_status look_for(ek__diagnose *d, const cause *what, ek_error *err)
{
    const ek__measured *m = &d->measured;
    ek__losses losses = {0};
    longest most = {0};
    int rank = -1;
    double gain = 0, cost = most_late(m, what->name, &rank);
    if (rank < 0 || cost < ek__least_ns(d))
        return EK_OK;
    ek_status status = collect(m, what->name, &losses, &most, err);
    if (!status)
        status = ek__losses_gain(m, &losses, &gain, err);
    free(losses.loss);
    if (status)
        return status;
    gain = fmin(gain, ek__most_idle(m));
    bool gpu = m->run->rank[rank].producer == EK_PRODUCER_KINETO;
    ek_bottleneck b = {.id = "host",
                       .topic = EK_TOPIC_HOST,
                       .basis = EK_BASIS_DERIVED,
                       .cost_seconds = cost / 1e9,
                       .gain_seconds = gain / 1e9,
                       .setting = gpu && what->gpu_setting ? what->gpu_setting : what->setting,
                       .change = gpu && what->gpu_change ? what->gpu_change : what->change,
                       .caution = what->caution,
                       .rests_on = ek__gain_rests_on(m)};
    b.title = ek__pool_format(d->out->pool, "%s: %.2f ms of a step, %.1f %%.", what->title, cost / 1e6,
                              100 * cost / d->step_ns);
    status = show(d, &most, rank, cost, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

static ek_status look_at_prediction(ek__diagnose *d, ek_error *err)
{
    ek_status status = ek__predicted_part(
        d, EK_STEP_HOST, "host", EK_TOPIC_HOST, "Waiting for launches of the host",
        "Use fewer and longer kernels: fused operators, a larger micro-batch, less tensor parallelism.", err);
    return status ? status
                  : ek__bottleneck_needs(d, "whether the host keeps up", "a trace with host events",
                                         ek__how_to_trace(d), err);
}

ek_status ek__bottleneck_host(ek__diagnose *d, ek_error *err)
{
    if (!d->measured.run)
        return look_at_prediction(d, err);
    bool linked = false;
    for (int r = 0; r < d->measured.run->n_ranks; r++)
        linked |= d->measured.run->rank[r].idle.n_linked_tasks > 0;
    if (!linked)
        return ek__bottleneck_needs(d, "whether the host keeps up", "launches in the trace",
                                    "profile with the CPU activity (ProfilerActivity.CPU) and level 1", err);
    ek_status status = EK_OK;
    for (int i = 0; i < N_CAUSES && !status; i++)
        status = look_for(d, &causes[i], err);
    return status;
}
