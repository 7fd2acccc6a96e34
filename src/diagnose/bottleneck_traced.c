/* Findings of the trace's own rules that no bottleneck names. The bottlenecks need events, layers or a plan; the rules
 * of the comparison of ranks (src/trace/compare_findings.c) also read tables. A rule's finding is taken over, with its
 * figure and its sentence, when the bottlenecks about the same time cost less than half of it. The gain is that of the
 * rule where it is a bound, and not known otherwise. */
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

static const rule rules[] = {
    {"exposed-communication",
     EK_TOPIC_COMMUNICATION,
     false,
     {"exposed-communication", "redistribution", "slow-rank"},
     "Communication is not overlapped",
     OVERLAP_MINDSPORE,
     OVERLAP_TORCH},
    {"exposed-total",
     EK_TOPIC_COMMUNICATION,
     false,
     {"exposed-communication", "redistribution", "slow-rank"},
     "Communication of all kinds is not overlapped",
     OVERLAP_MINDSPORE,
     OVERLAP_TORCH},
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
     "The stages do not compute equally long",
     "evenkeel trace RUN --layers-out layers.json; evenkeel balance --layers layers.json",
     "evenkeel trace RUN --layers-out layers.json; evenkeel balance --layers layers.json"},
    {"exposed-copies",
     EK_TOPIC_OPERATORS,
     true,
     {NULL, NULL},
     "Memory copies are not overlapped",
     "pin_memory=True; tensor.to(device, non_blocking=True)",
     "pin_memory=True; tensor.to(device, non_blocking=True)"},
    {"idle",
     EK_TOPIC_HOST,
     false,
     {"host", "data-loading"},
     "The device is idle",
     "profiler level 1 with the host's activity",
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

static const ek_trace_rank *rank_of(const ek_trace_run *run, int rank)
{
    for (int i = 0; i < run->n_ranks; i++)
        if (run->rank[i].rank == rank)
            return &run->rank[i];
    return NULL;
}

static ek_status take(ek__diagnose *d, const rule *r, const ek_trace_finding *f, ek_error *err)
{
    struct ek__pool *pool = d->out->pool;
    const ek_trace_rank *rank = rank_of(d->measured.run, f->rank);
    double cost = f->share * d->step_ns / 1e9;
    bool gains = r->bounded && f->gain_ns != EK_TRACE_UNKNOWN;
    ek_framework framework = ek__framework_of(d);
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    ek_bottleneck b = {.id = r->id,
                       .topic = r->topic,
                       .basis = EK_BASIS_MEASURED,
                       .cost_seconds = cost,
                       .gain_seconds = gains ? (double)f->gain_ns / 1e9 : (double)NAN,
                       .setting = mindspore ? r->mindspore : r->torch,
                       .change = ek__pool_format(pool, "%s", f->advice),
                       .rests_on = gains ? "the time itself, which is the most that can be won"
                                         : "the time itself; how much of it a change would bring is not known"};
    b.title = ek__pool_format(pool, "%s: %.2f ms of a step, %.1f %%.", r->title, 1e3 * cost, 100 * f->share);
    ek_status status = ek__bottleneck_show(&b,
                                           (ek_evidence){ek__pool_format(pool, "%s", f->text),
                                                         rank ? ek__file_of(rank) : NULL, NULL, rank ? rank->rank : -1},
                                           err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* The bound assumes stages that can be made equal. A search with the layers' measured times knows better. */
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
                                                         "%s With the layers' measured times no split of the layers "
                                                         "was found that is faster by more than was asked for.",
                                                         f->text),
                                         err);
        else
            status = take(d, r, f, err);
    }
    return status;
}

ek_status ek__bottleneck_traced(ek__diagnose *d, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; d->measured.run && i < sizeof rules / sizeof *rules && !status; i++)
        status = look_for(d, &rules[i], err);
    return status;
}
