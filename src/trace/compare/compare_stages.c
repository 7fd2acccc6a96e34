/* Finds the pipeline stage of every rank - as given by the user, else by its own files, else its place in a "pp" group
 * - and the average times of the stages' ranks. Imbalance is the slowest over the fastest stage's mean computing. Ranks
 * without a known stage are left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"

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

/* ---- times of the stages ---- */

/* A rank's mean over the steps that count; unknown when none has it. */
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
    return n > 0 ? sum / n : EK_TRACE_UNKNOWN;
}

static int64_t pipeline_wait_of(const ek_trace_step *step)
{
    return step->pipeline_wait;
}

/* A sum over the ranks that have a figure. */
typedef struct figure {
    int64_t sum, n;
} figure;

static void add(figure *f, int64_t value)
{
    if (value == EK_TRACE_UNKNOWN)
        return;
    f->sum = ek__ns_add(f->sum, value);
    f->n++;
}

static int64_t mean_of(const figure *f)
{
    return f->n > 0 ? f->sum / f->n : EK_TRACE_UNKNOWN;
}

static bool has_figures(const ek_trace_rank *rank)
{
    bool from_tables = false;
    for (int i = 0; i < rank->n_steps; i++)
        from_tables |= rank->step[i].from_table;
    return rank->has_device_events || from_tables;
}

/* Of the ranks of one stage. */
static void fill_stage(const ek_trace_run *run, ek_trace_stage *stage)
{
    figure computing = {0}, not_overlapped = {0}, idle = {0}, wait = {0}, step = {0};
    stage->computing_max = EK_TRACE_UNKNOWN; /* less than all others */
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_rank *rank = &run->rank[i];
        if (rank->stage != stage->stage)
            continue;
        stage->n_ranks++;
        if (!has_figures(rank))
            continue;
        add(&computing, rank->mean.computing);
        add(&not_overlapped, rank->mean.communication_not_overlapped);
        add(&idle, rank->mean.free);
        add(&wait, mean_over_steps(rank, pipeline_wait_of));
        add(&step, ek_trace_rank_step(rank).ns);
        stage->computing_max =
            rank->mean.computing > stage->computing_max ? rank->mean.computing : stage->computing_max;
    }
    stage->computing_mean = mean_of(&computing);
    stage->not_overlapped_mean = mean_of(&not_overlapped);
    stage->free_mean = mean_of(&idle);
    stage->pipeline_wait_mean = mean_of(&wait);
    stage->step_mean = mean_of(&step);
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
    }
    for (int i = 0; i < run->n_stages; i++)
        fill_stage(run, &run->stage[i]);
    if (run->n_stages > 1)
        qsort(run->stage, (size_t)run->n_stages, sizeof *run->stage, by_stage);
    return EK_OK;
}

static double imbalance_of(const ek_trace_run *run)
{
    int64_t slowest = 0, fastest = INT64_MAX;
    for (int i = 0; i < run->n_stages; i++) {
        int64_t mean = run->stage[i].computing_mean;
        if (mean == EK_TRACE_UNKNOWN)
            continue;
        slowest = mean > slowest ? mean : slowest;
        fastest = mean < fastest ? mean : fastest;
    }
    return fastest > 0 && fastest < INT64_MAX ? (double)slowest / (double)fastest : (double)NAN;
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
