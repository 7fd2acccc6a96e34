/* Tests diagnoses of traces against the traces' own figures: a run that loses much is never reported as healthy, and
 * figures that both commands print are equal. Over all shipped, made and reference traces, over generated pipelines
 * with and without a plan, and over a job with only tables. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "input.h"

#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/diagnose.h"
#include "evenkeel/job.h"
#include "made_traces.h"
#include "skip.h"
#include "trace/rank.h"
#include "trace_generator.h"

enum { US = 1000, MS = 1000000, MAX_FOLDERS = 512 };

static const double most_silent = 0.10; /* of a step */

static char folder[] = "/tmp/evenkeel-traces-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *ftw)
{
    (void)s, (void)type, (void)ftw;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- a run read and diagnosed ---- */

typedef struct looked_at {
    ek_trace_run run;
    ek_diagnosis diagnosis;
} looked_at;

static bool look_at(const char *path, const ek_job *job, looked_at *out)
{
    ek_error err = {0};
    if (ek_trace_run_read(&path, 1, NULL, NULL, &out->run, &err))
        return false;
    const ek_run_input input = {.trace = &out->run, .job = job};
    const ek_diagnose_options options = {.seconds = 1};
    if (ek_diagnose(&input, &options, &out->diagnosis, &err))
        fail_msg("%s: %s", path, err.message);
    return true;
}

static void clear(looked_at *l)
{
    ek_diagnosis_clear(&l->diagnosis);
    ek_trace_run_clear(&l->run);
}

static double cost_of(const ek_diagnosis *d, const char *id)
{
    double sum = 0;
    for (int i = 0; i < d->n_bottlenecks; i++)
        if (strcmp(d->bottleneck[i].id, id) == 0 && d->bottleneck[i].cost_seconds > 0)
            sum += d->bottleneck[i].cost_seconds;
    return sum;
}

static double known(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? 0 : (double)ns;
}

static int64_t wait_of(const ek_trace_step *step)
{
    return step->pipeline_wait;
}

/* ---- invariants of any run ---- */

/* Independent of the rules: parts of the mean step, as the table of `trace` prints them. */
static void check_not_silent(const char *what, const looked_at *l)
{
    for (int r = 0; r < l->run.n_ranks; r++) {
        const ek_trace_rank *rank = &l->run.rank[r];
        double step = l->diagnosis.step_seconds * 1e9, wait = ek__step_mean_of(rank, wait_of);
        double exposed = known(rank->mean.communication_not_overlapped);
        double idle = step - known(rank->mean.computing) - exposed - known(rank->mean.copy_not_overlapped);
        /* A rank with a shorter step idles for the others. */
        if (rank->mean.total == EK_TRACE_UNKNOWN || known(rank->mean.total) < 0.95 * step)
            continue;
        if ((exposed > most_silent * step || wait > most_silent * step || idle > most_silent * step) &&
            l->diagnosis.n_bottlenecks == 0 && l->diagnosis.n_notes == 0)
            fail_msg("%s: %.1f %% exposed, %.1f %% waiting, %.1f %% idle, and nothing is said", what,
                     100 * exposed / step, 100 * wait / step, 100 * idle / step);
    }
}

/* Findings of `trace` and bottlenecks of `diagnose` about one cause. */
static void check_same_figures(const char *what, const looked_at *l)
{
    static const char *const same[] = {"host-bound", "host", "data-loading", "data-loading"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i += 2)
        for (int f = 0; f < l->run.n_findings; f++) {
            const ek_trace_finding *one = &l->run.finding[f];
            bool found = false, any = false;
            for (int b = 0; b < l->diagnosis.n_bottlenecks; b++) {
                const ek_bottleneck *bottleneck = &l->diagnosis.bottleneck[b];
                if (strcmp(bottleneck->id, same[i + 1]) != 0 || bottleneck->evidence[0].rank != one->rank)
                    continue;
                any = true;
                found |= fabs(bottleneck->cost_seconds * 1e9 - (double)one->gain_ns) <= 1;
            }
            if (strcmp(one->id, same[i]) == 0 && one->gain_ns != EK_TRACE_UNKNOWN && any && !found)
                fail_msg("%s: trace says %.6f ms of %s, diagnose another figure", what, (double)one->gain_ns / 1e6,
                         one->id);
        }
}

/* A folder of several runs has ranks of one number more than once: no figure is of one of them. */
static bool ranks_are_distinct(const ek_trace_run *run)
{
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < i; k++)
            if (run->rank[i].rank == run->rank[k].rank)
                return false;
    return true;
}

static void check(const char *what, const looked_at *l)
{
    check_not_silent(what, l);
    if (ranks_are_distinct(&l->run))
        check_same_figures(what, l);
}

/* ---- shipped and reference traces ---- */

static char list[MAX_FOLDERS][512];
static int n_folders;

static int note_folder(const char *path, const struct stat *s, int type, struct FTW *ftw)
{
    (void)s, (void)ftw;
    if (type == FTW_D && n_folders < MAX_FOLDERS && strlen(path) < sizeof *list)
        strcpy(list[n_folders++], path);
    return 0;
}

static int check_all_below(const char *root)
{
    int n = 0;
    n_folders = 0;
    if (nftw(root, note_folder, 8, FTW_PHYS) != 0)
        return 0;
    assert_true(n_folders < MAX_FOLDERS);
    for (int i = 0; i < n_folders; i++) {
        looked_at l;
        if (!look_at(list[i], NULL, &l))
            continue;
        n += !isnan(l.diagnosis.step_seconds);
        check(list[i], &l);
        clear(&l);
    }
    return n;
}

static void no_shipped_trace_that_loses_much_is_called_sound(void **state)
{
    (void)state;
    assert_true(check_all_below(source_path("examples/trace")) > 0);
    assert_true(check_all_below(source_path("examples/run/profile")) > 0);
}

static void no_made_trace_that_loses_much_is_called_sound(void **state)
{
    (void)state;
    assert_true(check_all_below(made_traces()) >= 20);
}

static void no_reference_trace_that_loses_much_is_called_sound(void **state)
{
    (void)state;
    int n = check_all_below(need_shared("reference/traces"));
    assert_true(n > 20);
}

/* ---- generated pipelines ---- */

static void a_pipeline_that_waits_for_half_of_the_step_says_so(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_FULL, TRACE_RERUN_FULL, TRACE_RERUN_FULL};
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++) {
        const trace_shape shape = {.form = (trace_form)form,
                                   .n_stages = 4,
                                   .n_micro_batches = 3,
                                   .n_steps = 3,
                                   .n_layers = 1,
                                   .rerun = rerun,
                                   .equal_layers = true,
                                   .no_ends = true,
                                   .seed = 5};
        looked_at l;
        assert_true(trace_write(&shape, folder, NULL));
        assert_true(look_at(folder, NULL, &l));
        double wait = 0; /* all communication of these runs, except for the last reduction */
        for (int r = 0; r < l.run.n_ranks; r++)
            wait = fmax(wait, known(l.run.rank[r].mean.communication_not_overlapped) / 1e9);
        const ek_diagnosis *d = &l.diagnosis;
        if (!(wait > 0.4 * d->step_seconds))
            fail_msg("form %d: waits %.3f ms of %.3f", form, 1e3 * wait, 1e3 * d->step_seconds);
        double named = cost_of(d, "pipeline-wait") + cost_of(d, "bubble") + cost_of(d, "load-balance") +
                       cost_of(d, "exposed-communication");
        if (named < 0.5 * wait)
            fail_msg("form %d: %.1f ms wait, %.1f ms of it are named", form, 1e3 * wait, 1e3 * named);
        check("pipeline", &l);
        clear(&l);
        for (int s = 0; s < shape.n_stages; s++)
            trace_remove(shape.form, folder, s);
    }
}

/* Idle time for the host and for data, of several ranks and causes. */
static void idle_time_has_one_figure(void **state)
{
    (void)state;
    const trace_shape shapes[] = {{.gap = 30 * MS, .n_gaps = 2},
                                  {.gap = 20 * MS, .n_gaps = 3, .gap_is_synchronization = true},
                                  {.dispatch = 2 * MS},
                                  {.data_wait = 60 * MS},
                                  {.data_wait = 40 * MS, .gap = 40 * MS, .n_gaps = 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int steps = 1; steps <= 3; steps += 2) {
            trace_shape shape = shapes[i];
            looked_at l;
            shape.form = TRACE_TORCH_NPU;
            shape.n_steps = steps;
            shape.n_micro_batches = 4;
            shape.n_layers = 3;
            shape.launches = true;
            assert_true(trace_write(&shape, folder, NULL));
            assert_true(look_at(folder, NULL, &l));
            int n = 0;
            for (int f = 0; f < l.run.n_findings; f++)
                n += strcmp(l.run.finding[f].id, "host-bound") == 0 || strcmp(l.run.finding[f].id, "data-loading") == 0;
            assert_true(n > 0);
            double host = cost_of(&l.diagnosis, "host") * 1e9, of_table = known(l.run.rank[0].dispatch.idle);
            assert_true(host + cost_of(&l.diagnosis, "data-loading") > 0);
            /* The summary's figure is the sum of the findings, except for causes below the share that is reported. */
            assert_true(fabs(of_table - host) <= 0.02 * l.diagnosis.step_seconds * 1e9);
            assert_true(host == 0 || host <= of_table + 2);
            check("host", &l);
            clear(&l);
            trace_remove(shape.form, folder, 0);
        }
}

/* ---- only tables ---- */

typedef struct made_rank {
    int rank, stage;
    double computing_us, exposed_us, copies_us;
} made_rank;

static FILE *open_in(const char *name, int rank)
{
    char path[512];
    snprintf(path, sizeof path, "%s/rank%d_ascend_pt", folder, rank);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT", folder, rank);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/rank%d_ascend_pt/%s", folder, rank, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    return out;
}

static const double step_us = 100000;

static void write_tables(const made_rank *r)
{
    FILE *out = open_in("profiler_metadata.json", r->rank);
    fprintf(out,
            "{\"distributed_args\": {\"pipeline_model_parallel_size\": 2, \"data_parallel_size\": 2, \"rank\": %d, "
            "\"world_size\": 4}, \"parallel_group_info\": {\"group_name_%d\": {\"group_name\": \"pp\", \"group_rank\": "
            "%d, \"global_ranks\": [%d, %d]}}}\n",
            r->rank, r->rank % 2, r->stage, r->rank % 2, r->rank % 2 + 2);
    fclose(out);
    char name[64];
    snprintf(name, sizeof name, "profiler_info_%d.json", r->rank);
    out = open_in(name, r->rank);
    fprintf(out, "{\"rank_id\": %d}\n", r->rank);
    fclose(out);
    out = open_in("ASCEND_PROFILER_OUTPUT/step_trace_time.csv", r->rank);
    fputs("Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
          "Communication(Not Overlapped and Exclude Receive),Preparing\n",
          out);
    for (int step = 10; step < 12; step++)
        fprintf(out, "%d,%.1f,%.1f,0,%.1f,%.1f,%.1f,0,%.1f,0\n", step, r->computing_us, r->exposed_us, r->exposed_us,
                step_us - r->computing_us - r->exposed_us, step_us, r->exposed_us);
    fclose(out);
}

static void a_job_of_tables_alone_has_its_bottlenecks(void **state)
{
    (void)state;
    /* Share exposed, stages apart, idle: each separately and together; ids that must be found, or none. */
    static const struct {
        double computing[2], exposed;
        const char *id[3];
    } cases[] = {
        {{55000, 55000}, 40000, {"exposed-communication"}},
        {{90000, 52000}, 4000, {"stage-imbalance", "idle"}},
        {{60000, 34700}, 32000, {"exposed-communication", "stage-imbalance", "idle"}},
        {{70000, 70000}, 5000, {"idle"}},
        {{95000, 95000}, 3000, {NULL}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        looked_at l;
        for (int rank = 0; rank < 4; rank++)
            write_tables(&(made_rank){rank, rank / 2, cases[c].computing[rank / 2], cases[c].exposed, 0});
        assert_true(look_at(folder, NULL, &l));
        const ek_diagnosis *d = &l.diagnosis;
        if (!(fabs(d->step_seconds - 0.1) < 1e-12))
            fail_msg("case %zu: step %.6f ms", c, 1e3 * d->step_seconds);
        int n = 0;
        for (; n < 3 && cases[c].id[n]; n++)
            if (!(cost_of(d, cases[c].id[n]) > 0))
                fail_msg("case %zu: no %s", c, cases[c].id[n]);
        if (d->n_bottlenecks != n)
            fail_msg("case %zu: %d findings, expected %d", c, d->n_bottlenecks, n);
        if (cases[c].exposed > 10000)
            assert_true(fabs(cost_of(d, "exposed-communication") - cases[c].exposed / 1e6) < 1e-9);
        if (cases[c].computing[0] > cases[c].computing[1])
            assert_true(fabs(cost_of(d, "stage-imbalance") - (cases[c].computing[0] - cases[c].computing[1]) / 2e6) <
                        1e-9);
        check("tables", &l);
        clear(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_shipped_trace_that_loses_much_is_called_sound),
        cmocka_unit_test(no_made_trace_that_loses_much_is_called_sound),
        cmocka_unit_test(no_reference_trace_that_loses_much_is_called_sound),
        cmocka_unit_test(a_pipeline_that_waits_for_half_of_the_step_says_so),
        cmocka_unit_test(idle_time_has_one_figure),
        cmocka_unit_test(a_job_of_tables_alone_has_its_bottlenecks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
