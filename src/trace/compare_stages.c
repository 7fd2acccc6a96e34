/* The pipeline stage of every rank - as the user says, else as its own files say, else its place in a "pp" group - and
 * what the stages' ranks did on average. Imbalance is the slowest over the fastest stage's mean computing. Ranks whose
 * stage nothing tells are left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analysis.h"

/* ---- which stage ---- */

/* Ranks in order, in `stages` blocks of equal size: by rank number where the run's size is known. */
static int stage_by_order(const ek_trace_rank *rank, int index, int n_ranks, int stages)
{
    if (rank->rank >= 0 && rank->world_size >= stages && rank->world_size % stages == 0 &&
        rank->rank < rank->world_size)
        return rank->rank / (rank->world_size / stages);
    return (int)((int64_t)index * stages / n_ranks);
}

static int stage_by_group(const ek_trace_topology *topology, int rank)
{
    for (int g = 0; g < topology->n_groups; g++) {
        const ek_trace_group *group = &topology->group[g];
        for (int i = 0; group->name && strcmp(group->name, "pp") == 0 && i < group->n_ranks; i++)
            if (group->rank[i] == rank)
                return i;
    }
    return -1;
}

static void set_stages(const ek_trace_options *options, ek_trace_run *run)
{
    for (int i = 0; i < run->n_ranks; i++) {
        ek_trace_rank *rank = &run->rank[i];
        if (options->stages > 0)
            rank->stage = stage_by_order(rank, i, run->n_ranks, options->stages);
        else if (rank->stage < 0 && rank->rank >= 0)
            rank->stage = stage_by_group(&run->topology, rank->rank);
    }
}

/* ---- what they did ---- */

/* A rank's mean over the steps that count. */
static int64_t mean_over_steps(const ek_trace_rank *rank, int64_t (*of)(const ek_trace_step *step))
{
    int64_t sum = 0, n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        int64_t value = rank->step[i].warm_up ? EK_TRACE_UNKNOWN : of(&rank->step[i]);
        if (value == EK_TRACE_UNKNOWN)
            continue;
        sum = ek__ns_add(sum, value);
        n++;
    }
    return n > 0 ? sum / n : 0;
}

static int64_t pipeline_wait_of(const ek_trace_step *step)
{
    return step->pipeline_wait;
}

static int64_t time_of(const ek_trace_step *step)
{
    return step->host_step != EK_TRACE_UNKNOWN ? step->host_step : step->own.total;
}

static int64_t known(int64_t value)
{
    return value == EK_TRACE_UNKNOWN ? 0 : value;
}

static void add_rank(const ek_trace_rank *rank, ek_trace_stage *stage)
{
    int64_t computing = known(rank->mean.computing);
    stage->n_ranks++;
    stage->computing_mean = ek__ns_add(stage->computing_mean, computing);
    stage->computing_max = computing > stage->computing_max ? computing : stage->computing_max;
    stage->not_overlapped_mean = ek__ns_add(stage->not_overlapped_mean, known(rank->mean.communication_not_overlapped));
    stage->free_mean = ek__ns_add(stage->free_mean, known(rank->mean.free));
    stage->pipeline_wait_mean = ek__ns_add(stage->pipeline_wait_mean, mean_over_steps(rank, pipeline_wait_of));
    stage->step_mean = ek__ns_add(stage->step_mean, mean_over_steps(rank, time_of));
}

static void finish_stage(ek_trace_stage *stage)
{
    stage->computing_mean /= stage->n_ranks;
    stage->not_overlapped_mean /= stage->n_ranks;
    stage->free_mean /= stage->n_ranks;
    stage->pipeline_wait_mean /= stage->n_ranks;
    stage->step_mean /= stage->n_ranks;
}

static int by_stage(const void *a, const void *b)
{
    return ((const ek_trace_stage *)a)->stage - ((const ek_trace_stage *)b)->stage;
}

static ek_status sum_stages(ek_trace_run *run, ek_error *err)
{
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_rank *rank = &run->rank[i];
        int at = 0;
        if (rank->stage < 0)
            continue;
        while (at < run->n_stages && run->stage[at].stage != rank->stage)
            at++;
        if (at == run->n_stages) {
            ek_trace_stage *list = ek__pool_push(run->pool, run->stage, run->n_stages, sizeof *list);
            if (!list)
                return ek__no_memory(err);
            run->stage = list;
            run->stage[run->n_stages++] = (ek_trace_stage){.stage = rank->stage};
        }
        add_rank(rank, &run->stage[at]);
    }
    for (int i = 0; i < run->n_stages; i++)
        finish_stage(&run->stage[i]);
    if (run->n_stages > 1)
        qsort(run->stage, (size_t)run->n_stages, sizeof *run->stage, by_stage);
    return EK_OK;
}

static double imbalance_of(const ek_trace_run *run)
{
    int64_t slowest = 0, fastest = INT64_MAX;
    for (int i = 0; i < run->n_stages; i++) {
        int64_t mean = run->stage[i].computing_mean;
        slowest = mean > slowest ? mean : slowest;
        fastest = mean < fastest ? mean : fastest;
    }
    return run->n_stages >= 2 && fastest > 0 ? (double)slowest / (double)fastest : (double)NAN;
}

ek_status ek__compare_stages(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    set_stages(options, run);
    run->n_stages = 0;
    run->stage = NULL;
    ek_status status = sum_stages(run, err);
    run->stage_imbalance = status == EK_OK ? imbalance_of(run) : (double)NAN;
    return status;
}
