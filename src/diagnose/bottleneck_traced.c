/* Adds findings of the trace's own rules that no bottleneck has. The bottlenecks need events, layers or a plan; the
 * rules of the comparison of ranks (src/trace/compare/compare_findings.c) also read tables. A rule's finding is taken
 * over, with its figure and its sentence, when the bottlenecks for the same time cost less than half of it. The gain is
 * that of the rule where it is a bound, and not known otherwise. Exposed communication is that of all kinds together.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

static const double most_unnamed = 0.5;

typedef struct rule {
    const char *id; /* of the trace's finding */
    ek_diagnose_topic topic;
    bool bounded;                  /* its gain is a bound on the step, else the time may be needed */
    const char *named_by[3];       /* bottlenecks about the same time */
    const char *title;             /* completed by the time and share of a step */
    const char *mindspore, *torch; /* settings */
} rule;

#define OVERLAP_MINDSPORE                                                                                              \
    "parallel_speed_up.json: \"enable_grad_comm_opt\": true  # gradients\n"                                            \
    "parallel_speed_up.json: \"enable_opt_shard_comm_opt\": true  # gathers of weights\n"                              \
    "model.model_config.fine_grain_interleave: 2  # inside layers"
#define OVERLAP_TORCH                                                                                                  \
    "--overlap-grad-reduce  # gradients\n--overlap-param-gather  # gathers of weights\n--tp-comm-overlap  # inside "   \
    "layers"

static const rule exposed = {"exposed-communication",
                             EK_TOPIC_COMMUNICATION,
                             true,
                             {"exposed-communication", "redistribution", "slow-rank"},
                             "Communication is not overlapped",
                             OVERLAP_MINDSPORE,
                             OVERLAP_TORCH};

static const rule rules[] = {
    {"slow-link",
     EK_TOPIC_COMMUNICATION,
     true,
     {"exposed-communication", NULL},
     "A link is slow",
     "hccn_tool -i DEVICE -link -g; hccn_tool -i DEVICE -stat -g",
     "nvidia-smi nvlink -s; ibstat"},
    {"pipeline-wait",
     EK_TOPIC_BUBBLE,
     false,
     {"bubble", "load-balance"},
     "Stages wait for each other",
     "parallel_config.micro_batch_num: more, or model.model_config.pp_interleave_num: 2",
     "--num-layers-per-virtual-pipeline-stage, or a larger --global-batch-size"},
    {"stage-imbalance",
     EK_TOPIC_BALANCE,
     true,
     {"load-balance", NULL},
     "The stages have different computing times",
     "evenkeel trace RUN --layers-out layers.json; evenkeel balance --layers layers.json",
     "evenkeel trace RUN --layers-out layers.json; evenkeel balance --layers layers.json"},
    {"exposed-copies",
     EK_TOPIC_OPERATORS,
     true,
     {NULL, NULL},
     "Memory copies are not overlapped",
     "pin_memory=True; tensor.to(device, non_blocking=True)",
     "pin_memory=True; tensor.to(device, non_blocking=True)"},
    {"slow-steps",
     EK_TOPIC_HOST,
     true,
     {"slow-steps", NULL},
     "Some steps take longer than the others",
     "callbacks: CheckpointMonitor: save_checkpoint_steps, async_save: True",
     "--save-interval, --eval-interval, --async-save, --manual-gc --manual-gc-interval 100"},
    {"host-on-path",
     EK_TOPIC_HOST,
     false,
     {"host", NULL},
     "The host determines the step time",
     "context.set_context(mode=context.GRAPH_MODE); TASK_QUEUE_ENABLE=2",
     "torch.compile(mode=\"reduce-overhead\"), --external-cuda-graph"},
    {"idle",
     EK_TOPIC_HOST,
     false,
     {"host", "data-loading"},
     "The device is idle",
     "profiler level 1 with host events",
     "torch.profiler with ProfilerActivity.CPU"},
};

/* Time of a step that bottlenecks name already, seconds. */
static double named_seconds(const ek_diagnosis *out, const rule *r)
{
    double sum = 0;
    for (int i = 0; i < out->n_bottlenecks; i++)
        for (int k = 0; k < 3 && r->named_by[k]; k++)
            if (strcmp(out->bottleneck[i].id, r->named_by[k]) == 0 && out->bottleneck[i].cost_seconds > 0)
                sum += out->bottleneck[i].cost_seconds;
    return sum;
}

/* Common parts of a rule's finding and exposed communication; `gain` NAN where it is not known. */
static ek_bottleneck bottleneck_of(const ek__diagnose *d, const rule *r, double cost_ns, double gain_ns,
                                   const char *advice)
{
    ek_framework framework = ek__framework_of(d);
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    ek_bottleneck b = {.id = r->id,
                       .topic = r->topic,
                       .basis = EK_BASIS_MEASURED,
                       .cost_seconds = cost_ns / 1e9,
                       .gain_seconds = gain_ns / 1e9,
                       .setting = mindspore ? r->mindspore : r->torch,
                       .change = ek__pool_format(d->out->pool, "%s", advice),
                       .rests_on = isnan(gain_ns) ? "the time itself; the gain of a change is not known"
                                                  : "the time itself, an upper bound of the gain"};
    b.title = ek__pool_format(d->out->pool, "%s: %.2f ms of a step, %.1f %%.", r->title, cost_ns / 1e6,
                              100 * cost_ns / d->step_ns);
    return b;
}

static ek_status show_finding(const ek__diagnose *d, const ek_trace_finding *f, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *rank = f->at >= 0 ? &d->measured.run->rank[f->at] : NULL;
    return ek__bottleneck_show(b,
                               (ek_evidence){ek__pool_format(d->out->pool, "%s", f->text),
                                             rank ? ek__file_of(rank) : NULL, NULL, rank ? rank->rank : -1},
                               err);
}

static ek_status add(ek__diagnose *d, const rule *r, const ek_trace_finding *f, ek_error *err)
{
    bool gains = r->bounded && f->gain_ns != EK_TRACE_UNKNOWN;
    ek_bottleneck b = bottleneck_of(d, r, f->share * d->step_ns, gains ? (double)f->gain_ns : (double)NAN, f->advice);
    ek_status status = show_finding(d, f, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* Of the rank with most of it: the whole exposed time is the cost and its transfer the most that can be won. */
static ek_status add_exposed(ek__diagnose *d, ek_error *err)
{
    const ek_trace_run *run = d->measured.run;
    ek__exposure most = {0};
    const char *advice = NULL;
    for (int r = 0; r < run->n_ranks; r++) {
        ek__exposure one = ek__rank_exposure(&run->rank[r]);
        most = one.exposed > most.exposed ? one : most;
    }
    for (int i = run->n_findings - 1; i >= 0; i--)
        advice = strcmp(run->finding[i].id, exposed.id) == 0 ? run->finding[i].advice : advice;
    if (!advice || named_seconds(d->out, &exposed) * 1e9 >= most_unnamed * most.exposed)
        return EK_OK;
    ek_bottleneck b = bottleneck_of(d, &exposed, most.exposed, most.unknown > 0 ? (double)NAN : most.transfer, advice);
    if (most.wait > most.transfer + most.unknown) {
        b.title = ek__pool_format(d->out->pool,
                                  "Ranks wait for each other in collectives: %.2f ms of a step, %.1f %%; %.2f ms are "
                                  "transfer.",
                                  most.wait / 1e6, 100 * most.wait / d->step_ns, most.transfer / 1e6);
        b.setting = "evenkeel diagnose RUN  # with the traces of all ranks: it reports the late rank and the reason";
        b.rests_on = "the transfer, the upper bound for overlapping; the possible reduction of the waiting depends on "
                     "the reason of the late rank";
    }
    ek_status status = EK_OK;
    for (int i = 0; i < run->n_findings && !status; i++)
        if (strcmp(run->finding[i].id, exposed.id) == 0)
            status = show_finding(d, &run->finding[i], &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* The bound assumes stages that can be made equal. A search with the layers' measured times is more exact. */
static bool is_searched(const ek__diagnose *d, const rule *r)
{
    return r->topic == EK_TOPIC_BALANCE && d->pipeline.there && d->pipeline.measured && d->pipeline.best.layers;
}

static ek_status look_for(ek__diagnose *d, const rule *r, ek_error *err)
{
    const ek_trace_run *run = d->measured.run;
    double named = named_seconds(d->out, r) * 1e9;
    ek_status status = EK_OK;
    for (int i = 0; i < run->n_findings && !status; i++) {
        const ek_trace_finding *f = &run->finding[i];
        if (strcmp(f->id, r->id) != 0 || !(f->share > 0) || named >= most_unnamed * f->share * d->step_ns)
            continue;
        if (is_searched(d, r))
            status = ek__bottleneck_note(d,
                                         ek__pool_format(d->out->pool,
                                                         "%s With the layers' measured times no split of the layers is "
                                                         "faster by more than the requested threshold.",
                                                         f->text),
                                         err);
        else
            status = add(d, r, f, err);
    }
    return status;
}

/* ---- memory ---- */

/* The file with a rank's allocations, else its first one; NULL. */
static const char *memory_file(const ek_trace_rank *rank)
{
    static const char *const types[] = {"memory_block", "operator_memory", "memory_record"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int i = 0; i < rank->n_sources; i++)
            if (strcmp(rank->source[i].type, types[t]) == 0)
                return rank->source[i].path;
    return ek__file_of(rank);
}

/* Findings about memory have no time: their cost in a step is not known. */
static ek_status add_memory(ek__diagnose *d, ek_error *err)
{
    static const char *const title[][2] = {
        {"memory-held", "Memory stays allocated after its last use."},
        {"memory-growth", "Memory grows from step to step."},
        {"memory-never-released", "Memory of a step is never released."},
        {"memory-fragmentation", "Much of the reserved memory is fragments."},
    };
    const ek_trace_run *run = d->input->trace;
    ek_status status = EK_OK;
    for (int i = 0; i < run->n_findings && !status; i++)
        for (size_t k = 0; k < sizeof title / sizeof *title && !status; k++) {
            const ek_trace_finding *f = &run->finding[i];
            const ek_trace_rank *rank = f->at >= 0 ? &run->rank[f->at] : NULL;
            if (strcmp(f->id, title[k][0]) != 0)
                continue;
            ek_bottleneck b = {.id = title[k][0],
                               .topic = EK_TOPIC_MEMORY,
                               .basis = EK_BASIS_MEASURED,
                               .cost_seconds = NAN,
                               .gain_seconds = NAN,
                               .title = title[k][1],
                               .setting = "evenkeel trace RUN  # lists the places in the program that allocated it",
                               .change = ek__pool_format(d->out->pool, "%s", f->advice),
                               .rests_on = "the blocks and figures that the profiler wrote"};
            status = ek__bottleneck_show(&b,
                                         (ek_evidence){ek__pool_format(d->out->pool, "%s", f->text),
                                                       rank ? memory_file(rank) : NULL, NULL, rank ? rank->rank : -1},
                                         err);
            if (!status)
                status = ek__bottleneck_add(d, &b, err);
        }
    return status;
}

ek_status ek__bottleneck_traced(ek__diagnose *d, ek_error *err)
{
    ek_status status = d->measured.run ? add_exposed(d, err) : EK_OK;
    for (size_t i = 0; d->measured.run && i < sizeof rules / sizeof *rules && !status; i++)
        status = look_for(d, &rules[i], err);
    return status || !d->input->trace ? status : add_memory(d, err);
}
