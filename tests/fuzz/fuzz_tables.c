/* Fuzzes every reader of a table, chosen by the first byte: whatever the others, figures are consistent and texts are
 * there. A second reading into the same result must not damage that of the first. */
#include <assert.h>
#include <string.h>

#include "base/pool.h"
#include "fuzz.h"
#include "trace/tables/files.h"
#include "trace/tables/table_times.h"
#include "trace/tables/tracker_csv.h"

static ek__table_reader *const readers[] = {
#define READER(name, pattern) ek__table_##name,
    EK__TABLE_LIST(READER)
#undef READER
};

static void check_steps(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        assert(step->name && step->from_table);
        if (!step->source || strcmp(step->source, "kernel_details") != 0)
            continue;
        assert(step->own.free >= 0 && step->own.overlapped >= 0 && step->own.overlapped <= step->own.computing);
        assert(step->own.busy + step->own.free == step->own.total && step->end - step->start == step->own.total);
    }
}

static void check_operators(const ek_trace_operators *ops)
{
    int64_t n = 0;
    for (int i = 0; i < ops->n; i++) {
        assert(ops->op[i].name && ops->op[i].family && (i == 0 || ops->op[i - 1].total >= ops->op[i].total));
        n += ops->op[i].count < 1 << 20 ? ops->op[i].count : 0;
    }
    assert(n <= ops->n_executions);
    for (int i = 0; i < ops->n_outliers; i++)
        assert(ops->outlier[i].name && ops->outlier[i].duration > ops->outlier[i].expected);
    for (int i = 0; i < ops->n_table; i++)
        assert(ops->table[i].name);
}

/* Receives are part of a step's communication, and their exposed time is part of them. */
static void check_receives(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (step->n_receives == EK_TRACE_UNKNOWN)
            continue;
        assert(step->n_receives >= 0 && step->n_sends >= 0 && step->receive >= 0 && step->send >= 0);
        assert(step->receive_exposed == step->pipeline_wait && step->receive_exposed <= step->receive);
    }
}

static void check_tracker(const ek_trace_tracker *t)
{
    assert(t->held_bytes >= 0 && t->held_bytes <= t->peak_bytes && t->released_peak_bytes <= t->peak_bytes);
    assert(t->never_freed_other_bytes >= 0 && t->never_freed_other_bytes <= t->never_freed_bytes);
    for (int i = 0; i < t->n_sites; i++)
        assert(t->site[i].place && t->site[i].layer && t->site[i].held_bytes <= t->site[i].live_bytes &&
               t->site[i].leaked_bytes <= t->site[i].never_freed_bytes);
    for (int i = 0; i < t->n_steps; i++)
        assert(t->step[i].live_bytes >= 0 && (i == 0 || t->step[i - 1].tick < t->step[i].tick));
}

static void check_run(const ek_trace_run *run)
{
    for (int i = 0; i < run->topology.n_groups; i++) {
        const ek_trace_group *g = &run->topology.group[i];
        assert(g->name && g->key && (i == 0 || strcmp(g[-1].name, g->name) <= 0));
        for (int k = 0; k < g->n_ranks; k++)
            assert(g->rank[k] >= 0);
    }
    for (int i = 0; i < run->n_cluster_rows; i++)
        assert(run->cluster_row[i].step && run->cluster_row[i].type && run->cluster_row[i].index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    ek__table_reader *reader = readers[data[0] % (sizeof readers / sizeof *readers)];
    ek_trace_run run = {.n_ranks = 1, .pool = ek__pool_new()};
    ek_trace_rank rank = {.rank = EK_TRACE_NO_RANK, .stage = -1, .device_id = -1, .pool = ek__pool_new()};
    const ek_trace_options options = {.measure = true};
    run.rank = &rank;
    assert(run.pool && rank.pool);
    ek__table_times times = {0};
    ek__tracker_tasks tasks = {0};
    const char *path = fuzz_file(data + 1, size - 1);
    for (int i = 0; i < 2; i++) {
        ek_trace_source source = {.path = path, .type = "table", .problem_offset = EK_TRACE_UNKNOWN};
        ek_error err = {0};
        ek__table_in in = {.path = path, .source = &source, .rank = &rank, .run = &run, .options = &options};
        in.times = &times;
        in.tasks = &tasks;
        ek_status status = reader(&in, &err);
        assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0]));
        check_steps(&rank);
        check_operators(&rank.operators);
        check_run(&run);
        check_tracker(&rank.memory.tracker);
    }
    ek_status finished = ek__table_times_finish(&times, &rank, NULL);
    assert(finished == EK_OK);
    check_receives(&rank);
    ek__table_times_clear(&times);
    ek__tracker_tasks_clear(&tasks);
    ek__pool_free(rank.pool);
    ek__pool_free(run.pool);
    return 0;
}
