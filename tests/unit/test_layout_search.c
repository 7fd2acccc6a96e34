/* Tests the search for layouts against an enumeration: every legal layout of small jobs with every plan of its layers.
 * No bound is above a plan; one chunk a stage has the optimal plan; threads change nothing. */
#include "effort.h"
#include "input.h"

#include <inttypes.h>
#include <math.h>

#include "cost/step_layers.h"
#include "layout/mix.h"
#include "layout/rule.h"
#include "layout/search.h"
#include "layout/whole_near.h"
#include "layout_jobs.h"

#define CLOSE 1e-9

static bool near_equal(double a, double b)
{
    return fabs(a - b) <= CLOSE * fmax(fabs(a), fabs(b));
}

static int n_random_jobs(int usual)
{
    const char *wanted = getenv("EK_LAYOUT_JOBS");
    return wanted ? atoi(wanted) : usual;
}

/* ---- every plan of a layout ---- */

typedef struct tried {
    const ek_device *device;
    ek_cost_cache *cache;
    ek_job job; /* with the rule's patterns */
    ek__recompute_rule rule;
    double best;           /* of those that fit */
    double bound, peak_mb; /* to be compared with every plan that fits */
    double of_rule;        /* bound of the plans of this rule */
    long n, n_fitting;
    bool thinned;
    ek__random random;
} tried;

static void judge(tried *t)
{
    ek_step step;
    ek_memory memory;
    ek_error err;
    if (t->thinned && t->n >= 10 && ek__random_below(&t->random, 8) != 0)
        return;
    ek__job_sum_patterns(&t->job);
    if (ek_cost_step(&t->job, t->device, t->cache, &step, &err))
        fail_msg("%s", err.message);
    double seconds = step.seconds;
    ek_step_clear(&step);
    t->n++;
    if (!t->bound && seconds >= t->best)
        return;
    if (ek_memory_predict(&t->job, NULL, &memory, &err))
        fail_msg("%s", err.message);
    bool fits = memory.fits;
    double peak = (double)memory.stage[memory.fullest].actual_peak / 1048576;
    ek_memory_clear(&memory);
    if (t->bound > 0 && fits && t->bound > seconds * (1 + CLOSE))
        fail_msg("a bound of %.17g s above a plan of %.17g s", t->bound, seconds);
    if (t->bound > 0 && fits && t->of_rule > seconds * (1 + CLOSE))
        fail_msg("a bound of rule %d, %d of %.17g s above a plan of %.17g s", t->rule.kind, t->rule.n, t->of_rule,
                 seconds);
    if (t->bound > 0 && t->peak_mb > peak * (1 + CLOSE))
        fail_msg("at least %.17g MB, but a plan takes %.17g MB", t->peak_mb, peak);
    t->n_fitting += fits;
    if (fits && seconds < t->best)
        t->best = seconds;
}

/* Lists of the chunks from position q on. */
static void try_lists(tried *t, int q)
{
    const ek_plan *plan = &t->job.plan;
    if (q == plan->n_stages * plan->n_chunks) {
        judge(t);
        return;
    }
    int cell = ek_cell_at(t->job.schedule->placement, plan->n_stages, q), n = plan->layers[cell];
    if (t->rule.kind != EK__RULE_LISTS) {
        int before = 0;
        for (int c = cell % plan->n_stages; c < cell; c += plan->n_stages)
            before += plan->layers[c];
        ek__recompute_rule_set(&t->job, t->rule, cell, before);
        try_lists(t, q + 1);
        return;
    }
    for (int f = 0; f <= n; f++)
        for (int a = f; a <= n; a++)
            for (int b = f; b <= n; b++) {
                ek__lists_set(&t->job, cell, f, a > f ? a : 0, b > f ? b : 0);
                try_lists(t, q + 1);
            }
}

static void try_layers(tried *t, int q, int left)
{
    ek_plan *plan = &t->job.plan;
    int n_cells = plan->n_stages * plan->n_chunks, cell = ek_cell_at(t->job.schedule->placement, plan->n_stages, q);
    if (q == n_cells - 1) {
        plan->layers[cell] = left;
        try_lists(t, 0);
        return;
    }
    for (int n = 1; n <= left - (n_cells - 1 - q); n++) {
        plan->layers[cell] = n;
        try_layers(t, q + 1, left - n);
    }
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static long n_closer; /* bounds of a rule above that of its layout */

/* The bounds of the plans of one rule, in closed form and with whole layers. */
static double bound_of_rule(const ek_job *job, const ek_device *device, ek_cost_cache *cache, const ek_layout *layout,
                            ek__recompute_rule rule)
{
    const ek__rule_says says = ek__rule_says_of(rule);
    int v = layout->value[EK_AXIS_CHUNKS];
    ek_layout one = *layout;
    ek_job spread;
    ek__bound_figures all, under;
    ek__mixes *mixes;
    double bound, whole = 0;
    one.value[EK_AXIS_CHUNKS] = 1;
    one.schedule = ek_schedule_find("1f1b");
    if (ek__layout_job_on(job, device, &one, &spread, NULL))
        return 0;
    assert_int_equal(ek__bound_figures_of(&spread, device, cache, true, &all, NULL), EK_OK);
    bound = ek__bound_under(&all, &says, &under) ? ek__bound_within_rule(&under, v, layout->schedule) : 0;
    if (v > 1 && isfinite(bound) && bound > 0) {
        assert_int_equal(ek__mixes_new(layout->schedule, under.p, v, under.m, &mixes, NULL), EK_OK);
        const ek__branch_options options = {.upper = 4 * bound, .n_nodes = 30, .over = never};
        assert_int_equal(ek__mixes_branch_rule(mixes, &under, device, &options, &whole, NULL), EK_OK);
        ek__mixes_free(mixes);
    }
    ek_job_clear(&spread);
    return fmax(bound, whole);
}

static int all_layers(const ek_job *job)
{
    return job->model.n_layers + job->model.n_prediction_layers;
}

/* The shortest plan of a layout that fits; INFINITY. `bound`: compare it with every plan; some plans are left out.
 */
static double best_plan(const ek_job *job, const ek_device *device, const ek_layout *layout,
                        const ek_layout_bound *bound, long *n)
{
    ek_job with;
    ek_error err;
    ek__recompute_rule rule;
    double best = INFINITY;
    int layers = all_layers(job);
    if (ek_layout_job(job, layout, &with, &err))
        return INFINITY;
    ek_cost_cache *cache = ek_cost_cache_new(device);
    for (int i = 0; i < ek__recompute_rule_at(job, layers, i, &rule); i++) {
        tried t = {.device = device,
                   .cache = cache,
                   .rule = rule,
                   .best = INFINITY,
                   .bound = bound ? bound->seconds : 0,
                   .peak_mb = bound ? bound->peak_mb : 0,
                   .of_rule = bound ? bound_of_rule(job, device, cache, layout, rule) : 0,
                   .thinned = bound != NULL,
                   .random = ek__random_seed((uint64_t)*n + 1)};
        assert_int_equal(ek__recompute_rule_job(&with, rule, &t.job, NULL), EK_OK);
        n_closer += bound && isfinite(t.of_rule) && t.of_rule > 1.01 * bound->seconds;
        try_layers(&t, 0, layers);
        best = fmin(best, t.best);
        *n += t.n;
        ek_job_clear(&t.job);
    }
    ek_cost_cache_free(cache);
    ek_job_clear(&with);
    return best;
}

/* ---- every layout ---- */

typedef struct truth {
    double seconds[8];
    int n;
    long n_layouts, n_plans;
} truth;

static void keep(truth *t, double seconds, int most)
{
    int i = t->n < most ? t->n++ : most - 1;
    if (i == most - 1 && t->n == most && i < t->n && t->seconds[i] > 0 && seconds >= t->seconds[i] &&
        t->n_layouts > most)
        return;
    for (; i > 0 && t->seconds[i - 1] > seconds; i--)
        t->seconds[i] = t->seconds[i - 1];
    t->seconds[i] = seconds;
}

/* Every number of chunks. */
static void try_switches(const ek_job *job, const ek_device *device, const ek_layout *layout, int most, truth *out);
static void try_chunks(const ek_job *job, const ek_device *device, const ek_layout *layout, ek_layout_range chunks,
                       int most, truth *out)
{
    for (int v = chunks.least; v <= chunks.most && v * layout->value[EK_AXIS_PIPELINE] <= all_layers(job); v++) {
        ek_layout with = *layout;
        with.value[EK_AXIS_CHUNKS] = v;
        with.schedule = ek_schedule_find(v > 1 ? "interleaved" : "1f1b");
        if (v == 1 || with.value[EK_AXIS_PIPELINE] > 1)
            try_switches(job, device, &with, most, out);
    }
}

/* Further features of MindFormers' Llama: interleaving inside layers, a shared table, shared sums of gradients. */
static void try_switches(const ek_job *job, const ek_device *device, const ek_layout *layout, int most, truth *out)
{
    for (int set = 0; set < 8; set++) {
        ek_layout with = *layout;
        int *v = with.value;
        bool turns = set & 1, table = set & 2, sums = set & 4, summed = v[EK_AXIS_PIPELINE] * with.n_micro_batches > 1;
        if ((set > 0 && job->framework != EK_MINDFORMERS) || ((turns || table) && job->model.n_experts > 0))
            continue;
        if ((turns && (v[EK_AXIS_TENSOR] == 1 || !with.sequence_parallel || v[EK_AXIS_COPIES] > 1)) ||
            ((table || sums) && v[EK_AXIS_SHARD] == 1) || (sums && !summed))
            continue;
        v[EK_AXIS_FINE] = turns ? 2 : 1;
        v[EK_AXIS_TABLE] = table ? v[EK_AXIS_SHARD] : 1;
        v[EK_AXIS_SUMS] = sums ? v[EK_AXIS_SHARD] : 1;
        double best = best_plan(job, device, &with, NULL, &out->n_plans);
        out->n_layouts += best < INFINITY;
        if (best < INFINITY)
            keep(out, best, most);
    }
}

/* Nested loops over all numbers, each checked only by the framework's own check. */
static void try_everything(const ek_job *job, const ek_device *device, const ek_layout_options *o, int most, truth *out)
{
    int64_t global = (int64_t)job->parallel.data * job->parallel.batch * job->parallel.n_micro_batches *
                     (job->parallel.n_accumulation > 1 ? job->parallel.n_accumulation : 1);
    int N = o->n_devices, L = all_layers(job);
    bool copies = job->framework == EK_MINDFORMERS;
    *out = (truth){.n = 0};
    for (int t = 1; t <= N; t++)
        for (int c = 1; t * c <= N; c++)
            for (int p = 1; t * c * p <= N && p <= L; p++)
                for (int e = 1; e <= (job->model.n_experts ? job->model.n_experts : 1); e++)
                    for (int b = 1; b <= o->range[EK_AXIS_BATCH].most; b++)
                        for (int k = 1; k <= (copies && t > 1 ? 2 : 1); k++)
                            for (int sp = 0; sp <= (t > 1); sp++)
                                for (int shard = 1; shard <= N; shard++) {
                                    int d = N / (t * c * p);
                                    if (d * t * c * p != N || global % ((int64_t)d * b * k) || global % b ||
                                        (d * c) % shard || t > o->range[EK_AXIS_TENSOR].most ||
                                        c > o->range[EK_AXIS_CONTEXT].most || d * c * t % e)
                                        continue;
                                    if (job->model.n_experts && job->model.n_experts % e)
                                        continue;
                                    ek_layout layout = {.value = {d, t, c, e, p, 1, b, shard, k, 1, 1, 1},
                                                        .n_micro_batches = (int)(global / ((int64_t)d * b * k)),
                                                        .sequence_parallel = sp};
                                    try_chunks(job, device, &layout, o->range[EK_AXIS_CHUNKS], most, out);
                                }
}

/* A limit between the job's memory on one device and on all of them, so that it binds somewhere. */
static double some_limit(ek__random *r, const ek_job *job, const ek_device *device, int n_devices, int chunks)
{
    ek_layout_options o;
    ek_layout_result result;
    ek_layout_options_init(&o);
    o.n_devices = n_devices;
    o.n_best = 1;
    o.range[EK_AXIS_CHUNKS] = (ek_layout_range){chunks, chunks};
    if (ek_layout_search(job, device, &o, &result, NULL))
        return 0;
    double peak = result.n_plans
                      ? (double)result.plan[0].estimate.memory.stage[result.plan[0].estimate.memory.fullest].actual_peak
                      : 0;
    ek_layout_result_clear(&result);
    return peak / 1048576 * (0.55 + 0.15 * ek__random_below(r, 5));
}

static ek_layout_options small_space(int n_devices, int chunks)
{
    ek_layout_options o;
    ek_layout_options_init(&o);
    o.n_devices = n_devices;
    o.n_best = 5;
    o.range[EK_AXIS_CHUNKS] = (ek_layout_range){chunks, chunks};
    o.range[EK_AXIS_BATCH] = (ek_layout_range){1, 2};
    o.range[EK_AXIS_TENSOR] = (ek_layout_range){1, 4};
    o.range[EK_AXIS_CONTEXT] = (ek_layout_range){1, 2};
    o.range[EK_AXIS_FINE] = (ek_layout_range){1, 2}; /* also where the file has them on */
    o.range[EK_AXIS_TABLE] = o.range[EK_AXIS_SUMS] = (ek_layout_range){1, n_devices};
    return o;
}

/* The number of best plans with each feature. */
typedef struct compared {
    int recompute, several;
    long layouts, plans;
} compared;

/* The search's best five plans of a job, and those of trying everything. */
static void compare_best_five(int i, const ek_job *job, const ek_device *device, int n_devices, int chunks,
                              compared *out)
{
    const ek_layout_options o = small_space(n_devices, chunks);
    ek_layout_result result;
    ek_error err;
    truth all;
    ek_status status = ek_layout_search(job, device, &o, &result, &err);
    try_everything(job, device, &o, 5, &all);
    if (status == EK_ERR_INPUT && all.n == 0)
        return;
    if (status)
        fail_msg("job %d: %s", i, err.message);
    if (result.n_plans != all.n)
        fail_msg(
            "job %d (%s, %d devices, %d layers, %d of prediction, %d without experts, %.0f MB): %d plans, but trying "
            "everything gives %d",
            i, ek_framework_name[job->framework], n_devices, job->model.n_layers, job->model.n_prediction_layers,
            job->model.n_dense_layers, job->limit_mb, result.n_plans, all.n);
    for (int k = 0; k < all.n; k++) {
        double found = result.plan[k].estimate.step.seconds;
        if (!near_equal(found, all.seconds[k]))
            fail_msg(
                "job %d (%s, %d devices, %d layers, %.0f MB), plan %d: %.17g s, but trying everything gives %.17g s", i,
                ek_framework_name[job->framework], n_devices, job->model.n_layers, job->limit_mb, k, found,
                all.seconds[k]);
        const ek_plan *plan = &result.plan[k].job.plan;
        int recomputed = 0;
        for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
            recomputed += plan->full[c] + plan->select[c] + plan->comm[c];
        out->recompute += recomputed > 0;
        out->several += plan->n_chunks > 1;
    }
    if (!result.proved && all.n > 0)
        fail_msg("job %d: the best five are not proved", i);
    out->layouts += all.n_layouts;
    out->plans += all.n_plans;
    ek_layout_result_clear(&result);
}

static void best_five_are_those_of_trying_everything(void **state)
{
    const int devices[] = {2, 4, 6, 8, 8, 12, 16, 64};
    ek__random random = ek__random_seed(20);
    int n = n_random_jobs(effort(6, 1));
    compared all = {0};
    (void)state;
    for (int i = 0; i < n; i++) {
        const ek_device *device = ek_device_find(i % 2 ? "A100-80" : "910B");
        int layers = 2 + ek__random_below(&random, 2), D = one_of(&random, 8, devices);
        ek_job job;
        assert_true(random_small_job(&random, layers, &job));
        job.limit_mb = some_limit(&random, &job, device, D, 1);
        compare_best_five(i, &job, device, D, 1, &all);
        ek_job_clear(&job);
    }
    print_message("# %d jobs, %ld layouts that fit, %ld plans tried; %d of the best recompute\n", n, all.layouts,
                  all.plans, all.recompute);
}

/* Two chunks on each of two stages, and of all other layouts of these jobs that have room for them. */
static void so_are_those_with_two_chunks_a_stage(void **state)
{
    ek__random random = ek__random_seed(27);
    int n = n_random_jobs(effort(4, 2));
    compared all = {0};
    (void)state;
    for (int i = 0; i < n; i++) {
        const ek_device *device = ek_device_find(i % 2 ? "A100-80" : "910B");
        int D = 2 << ek__random_below(&random, 2);
        ek_job job;
        assert_true(random_small_job(&random, 4 + (i % 4 == 3), &job));
        job.limit_mb = some_limit(&random, &job, device, D, 2);
        compare_best_five(i, &job, device, D, 2, &all);
        ek_job_clear(&job);
    }
    print_message(
        "# %d jobs, %ld layouts that fit, %ld plans tried; of the best %d recompute, %d have several chunks\n", n,
        all.layouts, all.plans, all.recompute, all.several);
    assert_true(all.several > 0);
}

/* ---- bounds ---- */

static void no_bound_is_above_a_plan(void **state)
{
    ek__random random = ek__random_seed(7);
    int n = n_random_jobs(effort(6, 1));
    long plans = 0, layouts = 0, of_several = 0;
    (void)state;
    for (int i = 0; i < n; i++) {
        const ek_device *device = ek_device_find(i % 2 ? "H100" : "910B");
        ek_job job;
        int layers = 3 + ek__random_below(&random, 4), D = 8 << ek__random_below(&random, 2);
        assert_true(random_small_job(&random, layers, &job));
        job.limit_mb = ek__random_below(&random, 3) ? some_limit(&random, &job, device, D, 1) : 0;
        for (int k = 0; k < 45; k++) {
            int t = 1 << ek__random_below(&random, 3), c = 1 << ek__random_below(&random, 2),
                p = 1 + ek__random_below(&random, 4), v = 1 + ek__random_below(&random, 3),
                b = 1 + ek__random_below(&random, 2);
            if (k % 3 == 0) { /* several chunks */
                t = c = 1;
                p = 2;
                v = 2 + ek__random_below(&random, 2);
            }
            int d = D / (t * c * p), e = job.model.n_experts ? 1 << ek__random_below(&random, 3) : 1;
            int m = job.parallel.n_accumulation > 1 ? job.parallel.n_accumulation : job.parallel.n_micro_batches;
            if (d < 1)
                continue;
            if (p > 1 && v > 1) /* interleaving takes micro-batches in turns of p */
                m = d * b * p * (1 + ek__random_below(&random, 3));
            int shard = ek__random_below(&random, 2) ? d * c : 1, set = ek__random_below(&random, 8);
            bool has = job.framework == EK_MINDFORMERS && job.model.n_experts == 0;
            ek_layout layout = {.value = {d, t, c, e, p, p > 1 ? v : 1, b, shard, 1, has && t > 1 && set & 1 ? 2 : 1,
                                          has && set & 2 ? shard : 1, has && set & 4 ? shard : 1},
                                .n_micro_batches = m / (d * b) > 0 ? m / (d * b) : 1,
                                .sequence_parallel = t > 1,
                                .schedule = ek_schedule_find(p > 1 && v > 1 ? "interleaved" : "1f1b")};
            ek_layout_bound bound;
            if (p * layout.value[EK_AXIS_CHUNKS] > layers || ek_layout_bound_of(&job, device, &layout, &bound, NULL))
                continue;
            bool fits = best_plan(&job, device, &layout, &bound, &plans) < INFINITY;
            of_several += fits && layout.value[EK_AXIS_CHUNKS] > 1;
            layouts++;
        }
        ek_job_clear(&job);
    }
    assert_true(plans > effort(1000, 10) && of_several > effort(n, -1) && n_closer > effort(n, -1));
    print_message(
        "# %ld plans of %ld layouts, %ld with several chunks that fit; %ld bounds of rules above the layout's\n", plans,
        layouts, of_several, n_closer);
}

/* ---- reasons that rule out ---- */

/* In a space of fewer layouts than the limit, each is evaluated: its parts beside those of the best plan. */
/* The job's own layout, as the space has it. */
static ek_layout own_layout(const ek_job *job)
{
    ek_layout today = ek_layout_of(job);
    today.sequence_parallel = today.sequence_parallel && today.value[EK_AXIS_TENSOR] > 1;
    return today;
}

static void assert_same_figures(int i, const ek__bound_figures *a, const ek__bound_figures *b)
{
    for (int k = 0; k < a->n_kinds; k++)
        for (int way = 0; way < EK_N_RECOMPUTE; way++)
            if (a->kind[k].kept[way] != b->kind[k].kept[way] || a->kind[k].again[way] != b->kind[k].again[way])
                fail_msg("job %d, kind %d recomputed in way %d: %" PRId64 " bytes and %.9g s, by itself %" PRId64
                         " and %.9g",
                         i, k, way, a->kind[k].kept[way], a->kind[k].again[way], b->kind[k].kept[way],
                         b->kind[k].again[way]);
    for (int k = 0; k < a->n_kinds; k++)
        if (a->kind[k].transient != b->kind[k].transient || a->kind[k].bytes != b->kind[k].bytes ||
            a->kind[k].forward != b->kind[k].forward || a->kind[k].backward != b->kind[k].backward)
            fail_msg("job %d, kind %d: %" PRId64 " bytes besides, by itself %" PRId64, i, k, a->kind[k].transient,
                     b->kind[k].transient);
    assert_true(a->tail_kept == b->tail_kept && a->head == b->head && a->tail == b->tail);
    assert_true(a->ends_transient[0] == b->ends_transient[0] && a->ends_transient[1] == b->ends_transient[1]);
}

/* Layers that were priced and measured for other layouts give the figures that they have by themselves. */
static void bounds_do_not_depend_on_what_was_looked_at_before(void **state)
{
    ek__random random = ek__random_seed(13);
    int n = 0, n_more = 0;
    (void)state;
    for (int i = 0; i < effort(30, 6); i++) {
        const ek_device *device = ek_device_find("910B");
        ek_cost_cache *kept = ek_cost_cache_new(device);
        double least = INFINITY;
        ek_job job;
        assert_true(random_small_job(&random, 5, &job));
        job.rules.weight_gather = EK_GATHER_LAYER; /* weights that are shared are gathered in a backward pass */
        for (int k = 0; k < 24; k++) {
            int d = 1 << ek__random_below(&random, 4), p = 1 + ek__random_below(&random, 3),
                t = 1 + ek__random_below(&random, 2);
            int shard = 1 << ek__random_below(&random, 4), sums = ek__random_below(&random, 2) ? shard : 1;
            ek_layout layout = {.value = {d, t, 1, 1, p, 1, 1, shard <= d ? shard : d, 1, 1, 1, sums},
                                .n_micro_batches = 8 >> ek__random_below(&random, 2),
                                .sequence_parallel = t > 1,
                                .schedule = ek_schedule_find("1f1b")};
            ek__bound_figures shared, alone;
            ek_job spread;
            if (ek__layout_job_on(&job, device, &layout, &spread, NULL))
                continue;
            ek_cost_cache *fresh = ek_cost_cache_new(device);
            assert_int_equal(ek__bound_figures_of(&spread, device, kept, true, &shared, NULL), EK_OK);
            assert_int_equal(ek__bound_figures_of(&spread, device, fresh, true, &alone, NULL), EK_OK);
            assert_same_figures(i, &shared, &alone);
            n++;
            n_more += shared.kind[0].transient > least;
            least = fmin(least, shared.kind[0].transient);
            ek_cost_cache_free(fresh);
            ek_job_clear(&spread);
        }
        ek_cost_cache_free(kept);
        ek_job_clear(&job);
    }
    assert_true(n > effort(300, 60) && n_more > effort(20, 0));
}

/* The least that any split of the layers makes a chunk's backward pass begin with. */
typedef struct split_ends {
    const ek__bound_figures *f;
    int n_cells;
    int64_t least[2][8]; /* [with a layer of the commonest kind][cells] */
} split_ends;

static int64_t transient_of(const ek__bound_figures *f, int layer)
{
    return f->kind[f->kind_of[ek__layer_graph_kind(f->job, layer)]].transient;
}

static void split_all_ways(split_ends *s, int cell, int from)
{
    const ek__bound_figures *f = s->f;
    int most = f->n_layers - (s->n_cells - 1 - cell);
    for (int to = cell == s->n_cells - 1 ? f->n_layers : from + 1; to <= most; to++) {
        bool alike = false;
        for (int i = from; i < to; i++)
            alike = alike || f->kind_of[ek__layer_graph_kind(f->job, i)] == f->alike_kind;
        for (int has = 0; has <= alike; has++)
            s->least[has][cell] =
                s->least[has][cell] < transient_of(f, to - 1) ? s->least[has][cell] : transient_of(f, to - 1);
        if (cell + 1 < s->n_cells)
            split_all_ways(s, cell + 1, to);
    }
}

/* The extra memory of a backward pass is that of the last layer of its chunk, of any kind. */
static void chunks_end_with_any_layer_that_may_be_last(void **state)
{
    ek__random random = ek__random_seed(5);
    int n_other = 0, n_exact = 0;
    (void)state;
    for (int i = 0; i < 60; i++) {
        const ek_device *device = ek_device_find("A100-80");
        int layers = 4 + ek__random_below(&random, 5);
        ek_cost_cache *cache = ek_cost_cache_new(device);
        ek__bound_figures f;
        ek_job job, spread;
        assert_true(random_small_job(&random, layers, &job));
        ek_layout layout = own_layout(&job);
        layout.schedule = ek_schedule_find("1f1b");
        assert_int_equal(ek__layout_job_on(&job, device, &layout, &spread, NULL), EK_OK);
        assert_int_equal(ek__bound_figures_of(&spread, device, cache, true, &f, NULL), EK_OK);
        for (int n = 1; n <= 4; n++) {
            split_ends s = {.f = &f, .n_cells = n};
            memset(s.least, 0x7f, sizeof s.least);
            split_all_ways(&s, 0, 0);
            for (int c = 0; c < n; c++)
                for (int has = 0; has < 2; has++) {
                    int64_t bound = ek__bound_transient(&f, c, n, has);
                    if (bound > s.least[has][c])
                        fail_msg("job %d, chunk %d of %d: %" PRId64 " bytes above %" PRId64, i, c, n, bound,
                                 s.least[has][c]);
                    n_other += s.least[has][c] < f.kind[f.alike_kind].transient;
                    n_exact += bound == s.least[has][c];
                }
        }
        ek_cost_cache_free(cache);
        ek_job_clear(&spread);
        ek_job_clear(&job);
    }
    print_message("# %d chunks that may end with less than the commonest kind, %d bounds are exact\n", n_other,
                  n_exact);
    assert_true(n_other > 20 && n_exact > 200);
}

static void bounds_are_told_by_the_part_that_exceeds(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(6);
    const ek_device *device = ek_device_find("A100-80");
    long parts[EK_N_STEP_PARTS] = {0}, n = 0;
    ek_job job;
    ek_layout_options o = small_space(16, 1);
    ek_layout_result result;
    assert_true(random_small_job(&random, 4, &job));
    o.n_best = 2;
    o.range[EK_AXIS_TENSOR] = (ek_layout_range){1, 8};
    assert_int_equal(ek_layout_search(&job, device, &o, &result, NULL), EK_OK);
    const ek_step *best = &result.plan[0].estimate.step;
    for (long i = 0; i < result.n_points; i++) {
        ek_job even;
        ek_step step;
        int most = 0;
        if (result.point[i].fate != EK_FATE_BOUND)
            continue;
        assert_int_equal(ek_layout_job(&job, &result.point[i].layout, &even, NULL), EK_OK);
        assert_int_equal(ek_cost_step(&even, device, NULL, &step, NULL), EK_OK);
        for (int k = 1; k < EK_N_STEP_PARTS; k++)
            if (step.stage[step.slowest].seconds[k] - best->stage[best->slowest].seconds[k] >
                step.stage[step.slowest].seconds[most] - best->stage[best->slowest].seconds[most])
                most = k;
        parts[most]++;
        n++;
        ek_step_clear(&step);
        ek_job_clear(&even);
    }
    print_message("# %ld layouts by their bounds\n", n);
    assert_true(n > 20 && n < 500);
    assert_int_equal(n, result.counts.fate[EK_FATE_BOUND]);
    for (int k = 0; k < EK_N_STEP_PARTS; k++)
        assert_int_equal(result.counts.bound_by[k], parts[k]);
    ek_layout_result_clear(&result);
    ek_job_clear(&job);
}

/* ---- threads ---- */

static void threads_change_nothing(void **state)
{
    ek__random random = ek__random_seed(3);
    ek_job job;
    (void)state;
    assert_true(random_small_job(&random, effort(6, 3), &job));
    ek_layout_options o;
    ek_layout_options_init(&o);
    o.n_devices = 16;
    ek_layout_result one, four;
    o.n_threads = 1;
    assert_int_equal(ek_layout_search(&job, ek_device_find("A100-80"), &o, &one, NULL), EK_OK);
    o.n_threads = 4;
    assert_int_equal(ek_layout_search(&job, ek_device_find("A100-80"), &o, &four, NULL), EK_OK);
    assert_int_equal(one.n_plans, four.n_plans);
    assert_true(one.n_plans > 3);
    for (int i = 0; i < one.n_plans; i++) {
        assert_true(ek_layout_equal(&one.plan[i].layout, &four.plan[i].layout));
        assert_true(one.plan[i].estimate.step.seconds == four.plan[i].estimate.step.seconds);
        assert_true(one.plan[i].lower_bound == four.plan[i].lower_bound);
    }
    assert_memory_equal(&one.counts, &four.counts, sizeof one.counts);
    ek_layout_result_clear(&one);
    ek_layout_result_clear(&four);
    ek_job_clear(&job);
}

/* Plans balanced while the space is bounded. */
static ek__first first_of(const ek_job *job, int n_devices, int n_threads)
{
    ek__layout_search s = {.job = job, .device = ek_device_find("A100-80"), .start = ek__now()};
    ek_layout_options_init(&s.options);
    s.options.n_devices = n_devices;
    s.n_threads = n_threads;
    s.options.schedule[s.options.n_schedules++] = ek_schedule_find("1f1b");
    assert_int_equal(ek__space_new(job, &s.options, &s.space, NULL), EK_OK);
    assert_int_equal(ek__layout_bound_all(&s, true), EK_OK);
    ek__first first = s.first;
    ek__split_clear(&s.first.split);
    ek__space_clear(&s.space);
    for (int i = 0; i < EK__MOST_THREADS; i++)
        ek_cost_cache_free(s.cache[i]);
    free(s.candidate);
    return first;
}

/* A job with lists for its stages; its own layout is in the space. */
static bool has_first(const ek_job *job)
{
    ek__recompute_rule rule;
    const ek_layout today = own_layout(job);
    if (ek__recompute_rule_at(job, 6, 0, &rule) == 0 || rule.kind != EK__RULE_LISTS)
        return false;
    const ek__first first = first_of(job, ek__layout_n_devices(&today), 1);
    return ek_layout_equal(&first.layout, &today);
}

static void first_plan_is_there_once_all_are_bounded(void **state)
{
    ek__random random = ek__random_seed(3);
    ek_job job;
    (void)state;
    assert_true(random_small_job(&random, 6, &job));
    for (int i = 0; i < 40 && !has_first(&job); i++) {
        ek_job_clear(&job);
        assert_true(random_small_job(&random, 6, &job));
    }
    const ek_layout today = own_layout(&job);
    const int n_devices[] = {ek__layout_n_devices(&today), 16, 64};
    for (int i = 0; i < effort(3, 1); i++) {
        ek__first one = first_of(&job, n_devices[i], 1), four = first_of(&job, n_devices[i], 4);
        assert_true(one.split.found);
        assert_true(one.split.seconds == four.split.seconds);
        assert_true(ek_layout_equal(&one.layout, &four.layout));
        if (i == 0)
            assert_true(ek_layout_equal(&one.layout, &today));
    }
    ek_job_clear(&job);
}

/* Where recomputation goes by rules, each of which is a separate search, one rule with a plan is enough. */
static void there_is_a_first_plan_under_rules(void **state)
{
    ek_job job;
    ek__recompute_rule rule;
    (void)state;
    assert_int_equal(ek_job_read(source_path("examples/megatron_13b.sh"), NULL, NULL, &job, NULL), EK_OK);
    const ek_layout today = ek_layout_of(&job);
    assert_true(ek__recompute_rule_at(&job, job.model.n_layers, 0, &rule) > 1 && rule.kind != EK__RULE_LISTS);
    ek__first first = first_of(&job, 2 * ek__layout_n_devices(&today), 1);
    assert_true(first.split.found);
    assert_false(first.whole);
    ek_job_clear(&job);
}

/* Layers are priced again only where micro-batches change. */
static void micro_batches_share_layers_that_do_not_depend_on_them(void **state)
{
    ek__random random = ek__random_seed(3);
    ek_job job;
    (void)state;
    assert_true(random_small_job(&random, 6, &job));
    ek_cost_cache *cache = ek_cost_cache_new(ek_device_find("A100-80"));
    assert_non_null(cache);
    job.run.fp8 = EK_FP8_NONE;
    job.rules.weight_gradient_fused = job.run.sums_every_micro_batch = false;
    job.run.launch = EK_LAUNCH_EAGER;
    job.states.gradient = 4;
    job.parallel.n_micro_batches = 4;
    const ek__step_layers *four = ek__cost_cache_layers(cache, &job);
    job.parallel.n_micro_batches = 8;
    assert_ptr_equal(ek__cost_cache_layers(cache, &job), four);
    job.states.gradient = 2; /* the first micro-batch's gradients are the buffer */
    const ek__step_layers *eight = ek__cost_cache_layers(cache, &job);
    job.parallel.n_micro_batches = 4;
    assert_ptr_not_equal(ek__cost_cache_layers(cache, &job), eight);
    job.run.fp8 = EK_FP8_DELAYED; /* weights are cast once a step, not once an accumulation */
    const ek__step_layers *cast = ek__cost_cache_layers(cache, &job);
    job.parallel.n_micro_batches = 2;
    job.parallel.n_accumulation = 2;
    assert_ptr_not_equal(ek__cost_cache_layers(cache, &job), cast);
    ek_cost_cache_free(cache);
    ek_job_clear(&job);
}

/* Long pipelines have programs that take a tenth of a second each; no part of a search goes on for many of them. */
static void a_search_ends_when_its_time_is_over(void **state)
{
    ek_job job;
    ek_layout_options o;
    ek_layout_result result;
    (void)state;
    assert_int_equal(ek_job_read(source_path("examples/gallery/llama3_405b_8192.sh"), NULL, NULL, &job, NULL), EK_OK);
    job.limit_mb = 81920;
    ek_layout_options_init(&o);
    o.n_devices = 8192;
    o.time_limit = slower();
    o.range[EK_AXIS_DATA] = (ek_layout_range){32, 32};
    o.range[EK_AXIS_TENSOR] = o.range[EK_AXIS_CONTEXT] = o.range[EK_AXIS_CHUNKS] = (ek_layout_range){4, 4};
    /* The processor's seconds: a busy machine takes longer by the clock. */
    clock_t start = clock();
    assert_int_equal(ek_layout_search(&job, ek_device_find("H100"), &o, &result, NULL), EK_OK);
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (took > 15 * slower())
        fail_msg("a search of %.0f s took %.1f s", o.time_limit, took);
    assert_true(result.ended_early && !result.proved);
    ek_layout_result_clear(&result);
    ek_job_clear(&job);
}

/* ---- estimates of plans ---- */

/* Stages of a plan are placed during the search, under another plan of the stages before, and not again. */
static void estimates_of_plans_are_those_of_their_jobs(void **state)
{
    ek__random random = ek__random_seed(11);
    const ek_device *device = ek_device_find("A100-80");
    int n_single = 0, n_chunks = 0;
    (void)state;
    for (int i = 0; i < effort(10, 2); i++) {
        ek_job job;
        ek_layout_options o;
        ek_layout_result result;
        ek_layout_options_init(&o);
        assert_true(random_small_job(&random, 8, &job));
        o.n_devices = 8;
        o.range[EK_AXIS_PIPELINE].least = 2;
        o.range[EK_AXIS_CHUNKS] = (ek_layout_range){1 + i % 2, i % 2 ? 0 : 1};
        o.n_best = 4;
        job.limit_mb = i % 3 ? some_limit(&random, &job, device, o.n_devices, 1) : 0;
        if (ek_layout_search(&job, device, &o, &result, NULL) == EK_OK) {
            for (int k = 0; k < result.n_plans; k++) {
                const ek_layout_plan *plan = &result.plan[k];
                ek_estimate e;
                assert_int_equal(ek_estimate_of(&plan->job, device, 0, &e, NULL), EK_OK);
                for (int s = 0; s < e.memory.n_stages; s++)
                    assert_int_equal(plan->estimate.memory.stage[s].actual_peak, e.memory.stage[s].actual_peak);
                assert_int_equal(plan->estimate.memory.fits, e.memory.fits);
                assert_int_equal(plan->estimate.memory.margin, e.memory.margin);
                assert_int_equal(plan->estimate.limit_of_device, e.limit_of_device);
                assert_true(plan->estimate.step.seconds == e.step.seconds);
                n_single += e.memory.n_stages > 1 && plan->layout.value[EK_AXIS_CHUNKS] == 1;
                n_chunks += plan->layout.value[EK_AXIS_CHUNKS] > 1;
                ek_estimate_clear(&e);
            }
            ek_layout_result_clear(&result);
        }
        ek_job_clear(&job);
    }
    print_message("# %d plans with one chunk a stage, %d with several\n", n_single, n_chunks);
    assert_true(n_single >= effort(10, 1) && n_chunks >= effort(10, 1));
}

/* ---- whole layers ---- */

/* All splits of the layers over the chunks from cell q on. */
static void try_splits(ek_job *job, const ek_device *device, ek_cost_cache *cache, int q, int left, double *best)
{
    int cells = job->plan.n_stages * job->plan.n_chunks;
    ek_step step;
    if (q + 1 < cells) {
        for (int n = 1; n <= left - (cells - 1 - q); n++) {
            job->plan.layers[q] = n;
            try_splits(job, device, cache, q + 1, left - n, best);
        }
        return;
    }
    job->plan.layers[q] = left;
    assert_int_equal(ek_cost_step(job, device, cache, &step, NULL), EK_OK);
    *best = fmin(*best, step.seconds);
    ek_step_clear(&step);
}

/* Where sends take as long as passes, the longest path alternates between neighbours. One chunk a stage is exact
 * nevertheless: each layout's plan and its bound are those of trying every split. */
static void sends_between_neighbours_leave_no_gap(void **state)
{
    ek__random random = ek__random_seed(31);
    ek_device slow = *ek_device_find("A100-80");
    int n_jobs = n_random_jobs(20), n_tried = 0;
    (void)state;
    for (int i = 0; i < n_jobs; i++) {
        int layers = 6 + ek__random_below(&random, 3), p = 3 + ek__random_below(&random, 3);
        ek_job job, spread;
        ek_layout_plan plan;
        double best = INFINITY;
        for (int k = 0; k < slow.n_tiers; k++)
            slow.tier[k].latency_us = 100 << ek__random_below(&random, 4);
        assert_true(random_small_job(&random, layers, &job));
        job.limit_mb = 0;
        job.run.overlap_p2p = true; /* else each end waits, and the paths known are the longest */
        job.run.overlap_p2p_interleaved = false;
        ek_layout layout = ek_layout_of(&job);
        layout.n_micro_batches *= layout.value[EK_AXIS_DATA] * layout.value[EK_AXIS_BATCH];
        for (int axis = 0; axis < EK_N_LAYOUT_AXES; axis++)
            layout.value[axis] = 1;
        layout.value[EK_AXIS_PIPELINE] = p;
        layout.sequence_parallel = false;
        layout.schedule = ek_schedule_find("1f1b");
        if (ek__layout_job_on(&job, &slow, &layout, &spread, NULL) == EK_OK) {
            ek_cost_cache *cache = ek_cost_cache_new(&slow);
            try_splits(&spread, &slow, cache, 0, layers, &best);
            ek_cost_cache_free(cache);
            assert_int_equal(ek_layout_balance(&job, &slow, &layout, &plan, NULL), EK_OK);
            if (!near_equal(plan.estimate.step.seconds, best) || !near_equal(plan.lower_bound, best))
                fail_msg("job %d, %d layers on %d stages: %.17g s with a bound of %.17g s, trying everything %.17g s",
                         i, layers, p, plan.estimate.step.seconds, plan.lower_bound, best);
            n_tried++;
            ek_layout_plan_clear(&plan);
            ek_job_clear(&spread);
        }
        ek_job_clear(&job);
    }
    print_message("# %d jobs\n", n_tried);
    assert_true(2 * n_tried > n_jobs);
}

typedef struct judging {
    ek_job *job;
    const ek_device *device;
    ek_cost_cache *cache;
    int n, first[4]; /* called; layers that are requested first */
    double best;
} judging;

/* Nothing is recomputed, so that a plan is its layers. Those requested first take a tenth longer. */
static ek_status judge_step(void *user, const int *layers, double upper, double *step, bool *exact, ek_error *err)
{
    judging *j = user;
    ek_step is;
    memcpy(j->job->plan.layers, layers, (size_t)(j->job->plan.n_stages * j->job->plan.n_chunks) * sizeof *layers);
    ek_status status = ek_cost_step(j->job, j->device, j->cache, &is, err);
    if (status)
        return status;
    if (j->n++ == 0)
        memcpy(j->first, layers, sizeof j->first);
    double seconds = memcmp(layers, j->first, sizeof j->first) == 0 ? 1.1 * is.seconds : is.seconds;
    *exact = true;
    *step = seconds < upper ? seconds : INFINITY;
    j->best = fmin(j->best, seconds);
    ek_step_clear(&is);
    return EK_OK;
}

/* The same of all splits into four chunks. */
static double best_of_all(judging *j, int n_layers)
{
    for (int a = 1; a <= n_layers - 3; a++)
        for (int b = 1; a + b <= n_layers - 2; b++)
            for (int c = 1; a + b + c <= n_layers - 1; c++) {
                const int layers[] = {a, b, c, n_layers - a - b - c};
                bool exact;
                double step;
                assert_int_equal(judge_step(j, layers, INFINITY, &step, &exact, NULL), EK_OK);
            }
    return j->best;
}

/* 13 layers in 4 chunks: in fractions each stage has the same work, whole ones do not come out even. Without a limit
 * the bound of whole layers is the best split's step except for the hidden part of the gradients. */
static void whole_layers_bound_closer_than_fractions(void **state)
{
    (void)state;
    const ek_device *device = ek_device_find("A100-80");
    ek_job_overrides with = ek_job_overrides_none();
    ek_job base, one, job;
    ek__mixes *mixes;
    ek__mix *mix = NULL;
    ek__bound_figures figures;
    double mean, whole, few, best = INFINITY;
    with.n_layers = 13;
    assert_int_equal(ek_job_read(source_path("examples/megatron_13b.sh"), &with, NULL, &base, NULL), EK_OK);
    base.limit_mb = 0;
    ek_layout layout = ek_layout_of(&base);
    layout.value[EK_AXIS_DATA] = layout.value[EK_AXIS_TENSOR] = layout.value[EK_AXIS_CONTEXT] = 1;
    layout.value[EK_AXIS_SHARD] = layout.value[EK_AXIS_CHUNKS] = 1;
    layout.value[EK_AXIS_PIPELINE] = 2;
    layout.n_micro_batches = 8;
    layout.schedule = ek_schedule_find("1f1b");
    assert_int_equal(ek__layout_job_on(&base, device, &layout, &one, NULL), EK_OK);
    layout.value[EK_AXIS_CHUNKS] = 2;
    layout.schedule = ek_schedule_find("interleaved");
    assert_int_equal(ek__layout_job_on(&base, device, &layout, &job, NULL), EK_OK);
    ek_cost_cache *cache = ek_cost_cache_new(device);
    assert_int_equal(ek__bound_figures_of(&one, device, cache, true, &figures, NULL), EK_OK);
    assert_int_equal(ek__mixes_new(layout.schedule, 2, 2, 8, &mixes, NULL), EK_OK);
    assert_int_equal(ek__mixes_look(mixes, &figures, device, INFINITY, true, never, NULL, &mix, &mean, NULL), EK_OK);
    ek__branch_options options = {.upper = 4 * mean, .n_nodes = 1000, .over = never};
    assert_int_equal(ek__mixes_branch(mixes, &figures, device, &options, &whole, NULL), EK_OK);
    options.n_nodes = 3;
    assert_int_equal(ek__mixes_branch(mixes, &figures, device, &options, &few, NULL), EK_OK);
    try_splits(&job, device, cache, 0, 13, &best);
    print_message("# bound of fractions %.4f, of whole layers %.4f (%.4f with one split), best of all %.4f s\n", mean,
                  whole, few, best);
    assert_true(whole > 1.01 * mean);
    assert_true(few <= whole && few >= 0.999 * mean);
    assert_true(whole <= best * (1 + 1e-9) && whole > 0.995 * best);
    /* No more than requested. */
    options = (ek__branch_options){.upper = mean, .n_nodes = 1000, .over = never};
    assert_int_equal(ek__mixes_branch(mixes, &figures, device, &options, &few, NULL), EK_OK);
    assert_true(few <= 1.000001 * mean && few > 0.999 * mean);
    /* Where plans are evaluated the best of all is among them, though it is not the first, and no remaining plan could
     * be shorter. */
    judging judged = {.job = &job, .device = device, .cache = cache, .best = INFINITY};
    const ek__whole_judge judge = {judge_step, &judged};
    options = (ek__branch_options){.upper = 4 * mean, .n_nodes = 1000, .judge = &judge, .over = never};
    assert_int_equal(ek__mixes_branch(mixes, &figures, device, &options, &few, NULL), EK_OK);
    print_message("# %d judged, the best %.4f s, none below %.4f s\n", judged.n, judged.best, few);
    assert_true(few <= judged.best * (1 + 1e-9) && few >= judged.best * (1 - 1e-6));
    assert_true(judged.best == best_of_all(&judged, 13));
    /* A known mix gives the same bound again, without a new search. */
    assert_non_null(mix);
    assert_int_equal(ek__mixes_add(mixes, mix, NULL), EK_OK);
    assert_int_equal(ek__mixes_look(mixes, &figures, device, INFINITY, false, never, NULL, &mix, &few, NULL), EK_OK);
    assert_null(mix);
    assert_true(fabs(few - mean) <= 1e-9 * mean);
    ek__mixes_free(mixes);
    ek_cost_cache_free(cache);
    ek_job_clear(&job);
    ek_job_clear(&one);
    ek_job_clear(&base);
}

/* Where memory is short, the bound of a mix has the time that the least recomputation takes: the less memory there is,
 * the longer, and near to the best plan. */
static void bounds_of_mixes_know_what_must_be_recomputed(void **state)
{
    static const double limits[] = {0, 4100, 3800, 3500};
    (void)state;
    const ek_device *device = ek_device_find("910B");
    ek_job_overrides with = ek_job_overrides_none();
    ek_job job;
    with.n_layers = 8;
    assert_int_equal(ek_job_read(source_path("examples/llama2_13b_2_pp2.yaml"), &with, NULL, &job, NULL), EK_OK);
    ek_layout layout = ek_layout_of(&job);
    for (int axis = 0; axis < EK_N_LAYOUT_AXES; axis++)
        layout.value[axis] = 1;
    layout.value[EK_AXIS_TENSOR] = 8;
    layout.value[EK_AXIS_PIPELINE] = 2;
    layout.n_micro_batches = 8;
    double last = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        ek__bound_figures figures;
        ek__mixes *mixes;
        ek__mix *mix = NULL;
        ek_layout_plan plan;
        ek_job one;
        double bound;
        job.limit_mb = limits[i];
        layout.value[EK_AXIS_CHUNKS] = 1;
        layout.schedule = ek_schedule_find("1f1b");
        assert_int_equal(ek__layout_job_on(&job, device, &layout, &one, NULL), EK_OK);
        ek_cost_cache *cache = ek_cost_cache_new(device);
        assert_int_equal(ek__bound_figures_of(&one, device, cache, true, &figures, NULL), EK_OK);
        layout.value[EK_AXIS_CHUNKS] = 2;
        layout.schedule = ek_schedule_find("interleaved");
        assert_int_equal(ek__mixes_new(layout.schedule, 2, 2, 8, &mixes, NULL), EK_OK);
        assert_int_equal(ek__mixes_look(mixes, &figures, device, INFINITY, true, never, NULL, &mix, &bound, NULL),
                         EK_OK);
        assert_int_equal(ek_layout_balance(&job, device, &layout, &plan, NULL), EK_OK);
        double step = plan.estimate.step.seconds;
        print_message("# %g MB: %.4f s, none below %.4f s\n", limits[i], step, bound);
        assert_true(bound > last && bound > 0.9 * step && bound <= step * (1 + 1e-9));
        last = bound;
        ek_layout_plan_clear(&plan);
        ek__mix_free(mix);
        ek__mixes_free(mixes);
        ek_cost_cache_free(cache);
        ek_job_clear(&one);
    }
    ek_job_clear(&job);
}

/* Orders with chunks that do not follow one another have no mixes of paths: their plans stay as found. */
static void chunks_that_no_mix_speaks_of_have_plans(void **state)
{
    (void)state;
    static const char text[] = "[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n[training]\n"
                               "local_batch_size = 8\nseq_len = 1024\n[parallelism]\n"
                               "data_parallel_shard_degree = -1\n[activation_checkpoint]\nmode = \"none\"\n";
    ek_job job;
    ek__job_step step;
    ek_error err = {0};
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.n_layers = 6;
    if (ek__job_parse("job.toml", text, strlen(text), &overrides, NULL, &job, &step, &err))
        fail_msg("%s", err.message);
    ek_layout_options options;
    ek_layout_result result;
    ek_layout_options_init(&options);
    options.n_devices = 2;
    options.global_batch = 8;
    options.n_best = 1;
    options.time_limit = INFINITY;
    options.range[EK_AXIS_PIPELINE] = options.range[EK_AXIS_CHUNKS] = (ek_layout_range){2, 2};
    options.range[EK_AXIS_BATCH] = (ek_layout_range){1, 1};
    options.n_schedules = 2;
    options.schedule[0] = ek_schedule_find("zb-v");
    options.schedule[1] = ek_schedule_find("interleaved");
    if (ek_layout_search(&job, ek_device_find("H100"), &options, &result, &err))
        fail_msg("%s", err.message);
    print_message("# %d plans of %ld layouts, %d proved, %.3f s\n", result.n_plans, (long)result.counts.bounded,
                  result.proved, result.seconds);
    assert_int_equal(result.n_plans, 1);
    assert_int_equal(result.counts.bounded, 2);
    assert_int_equal(
        result.counts.fate[EK_FATE_PLAN] + result.counts.fate[EK_FATE_BALANCED] + result.counts.fate[EK_FATE_BOUND], 2);
    ek_layout_result_clear(&result);
    /* Only one of them, with a limit and without. */
    options.n_schedules = 1;
    for (int limited = 0; limited < 2; limited++) {
        job.limit_mb = 70000 * limited;
        if (ek_layout_search(&job, ek_device_find("H100"), &options, &result, &err))
            fail_msg("%s", err.message);
        assert_int_equal(result.n_plans, 1);
        assert_string_equal(result.plan[0].layout.schedule->name, "zb-v");
        assert_true(result.plan[0].estimate.memory.fits);
        ek_layout_result_clear(&result);
    }
    ek_job_clear(&job);
}

/* Where all forward passes go first, the layer that runs backward first is unknown: the one with the least memory is
 * taken, while in 1F1B it is the stage's last, of the commonest kind. */
static void a_backward_pass_holds_what_its_least_layer_does(void **state)
{
    (void)state;
    const ek_device *device = ek_device_find("A100-80");
    ek_job_overrides with = ek_job_overrides_none();
    ek_job job;
    ek__bound_figures f;
    with.n_layers = 8;
    with.data = with.tensor = 1;
    with.pipeline = 2;
    with.n_micro_batches = 4;
    assert_int_equal(ek_job_read(source_path("examples/megatron_13b.sh"), &with, NULL, &job, NULL), EK_OK);
    ek_cost_cache *cache = ek_cost_cache_new(device);
    assert_int_equal(ek__bound_figures_of(&job, device, cache, true, &f, NULL), EK_OK);
    assert_int_equal(f.n_kinds, 1);
    f.kind[1] = f.kind[0];
    f.n_kinds = 2;
    for (int alike = 0; alike < 2; alike++) {
        const ek_schedule *gpipe = ek_schedule_find("gpipe"), *usual = ek_schedule_find("1f1b");
        f.alike_kind = alike;
        f.kind[0].transient = f.kind[1].transient = INT64_C(200) << 20;
        double all = ek__bound_peak_mb(&f, 1, gpipe), last = ek__bound_peak_mb(&f, 1, usual);
        f.kind[1 - alike].transient = INT64_C(1) << 20;
        assert_true(fabs(all - ek__bound_peak_mb(&f, 1, gpipe) - 199) < 1e-6);
        assert_true(last == ek__bound_peak_mb(&f, 1, usual));
    }
    ek_cost_cache_free(cache);
    ek_job_clear(&job);
}

/* Three layers with a backward pass a second longer and two that keep as much as before: the two are unchanged. Where
 * no kind keeps less, the rule is none. */
static void a_rule_for_all_layers_leaves_those_it_saves_nothing_of(void **state)
{
    (void)state;
    ek_job job = {.parallel = {.pipeline = 2}};
    ek__bound_figures out, f = {.job = &job,
                                .n_kinds = 2,
                                .body = 15,
                                .body_backward = 10,
                                .least = 3,
                                .least_backward = 2,
                                .alike_forward = 1,
                                .alike_backward = 2,
                                .alike = 3};
    for (int i = 0; i < 2; i++) {
        f.kind[i].n = 3 - i;
        f.kind[i].forward = 1;
        f.kind[i].backward = 2;
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            f.kind[i].kept[k] = i == 0 && k == EK_RECOMPUTE_FULL ? 10 : 100;
            f.kind[i].again[k] = k == 0 ? 0 : i == 0 && k == EK_RECOMPUTE_FULL ? 1 : INFINITY;
        }
    }
    const ek__rule_says full = {.all = EK_RECOMPUTE_FULL}, select = {.all = EK_RECOMPUTE_SELECT};
    assert_true(ek__bound_under(&f, &full, &out));
    assert_true(out.kind[0].backward == 3 && out.kind[1].backward == 2);
    assert_true(out.kind[0].kept[0] == 10 && out.kind[1].kept[0] == 100);
    assert_true(out.body == 15 + 3 && out.body_backward == 10 + 3);
    assert_true(out.least == 3 && out.least_backward == 2); /* some layer takes no longer */
    assert_true(out.alike_backward == 3 && out.alike == 4 && out.kept[0] == 10);
    assert_true(out.backward_share == 2.0 / 3);
    for (int k = 1; k < EK_N_RECOMPUTE; k++) /* it is the only way then */
        assert_true(isinf(out.again[k]) && isinf(out.kind[0].again[k]) && out.kind[0].kept[k] == INT64_MAX);
    assert_false(ek__bound_under(&f, &select, &out));
}

/* ---- plans near a solution in fractions ---- */

/* The penalty of layers of cells is their distance from their places, and that of stages is their load. */
typedef struct worth {
    int p, v, n_layers, most_layers, n_asked;
    double wanted[32], best;
    int layers[32]; /* of the best */
} worth;

static double worth_of(const worth *w, const int *layers)
{
    double sum = 0, most = 0;
    for (int s = 0; s < w->p; s++) {
        double stage = 0;
        for (int cell = s; cell < w->p * w->v; cell += w->p) {
            sum += fabs(layers[cell] - w->wanted[cell]);
            stage += layers[cell] * (1 + 0.01 * cell);
        }
        most = fmax(most, stage);
    }
    return 100 + sum + 3 * most;
}

static ek_status judge_worth(void *user, const int *layers, double upper, double *step, bool *exact, ek_error *err)
{
    worth *w = user;
    double is = worth_of(w, layers);
    int sum = 0;
    (void)err;
    for (int cell = 0; cell < w->p * w->v; cell++) {
        assert_true(layers[cell] >= 1 && layers[cell] <= w->most_layers);
        sum += layers[cell];
    }
    assert_int_equal(sum, w->n_layers);
    w->n_asked++;
    *exact = true;
    *step = is < upper ? is : INFINITY;
    if (is < fmin(upper, w->best)) {
        w->best = is;
        memcpy(w->layers, layers, (size_t)(w->p * w->v) * sizeof *layers);
    }
    return EK_OK;
}

/* Moving any single layer of the result elsewhere costs more. */
static void assert_no_move_is_shorter(const worth *w)
{
    int moved[32], n = w->p * w->v;
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            memcpy(moved, w->layers, sizeof moved);
            if (from == to || moved[from] < 2 || moved[to] >= w->most_layers ||
                (from % w->p != to % w->p && from / w->p != to / w->p))
                continue;
            moved[from]--;
            moved[to]++;
            assert_true(worth_of(w, moved) >= w->best);
        }
}

static void plans_near_a_solution_are_as_short_as_their_neighbours(void **state)
{
    ek__random random = ek__random_seed(11);
    (void)state;
    for (int i = 0; i < 200; i++) {
        worth w = {
            .p = 2 + (int)ek__random_below(&random, 4), .v = 1 + (int)ek__random_below(&random, 3), .best = INFINITY};
        int n = w.p * w.v;
        double value[32], sum = 0, step = INFINITY;
        w.n_layers = n + (int)ek__random_below(&random, (uint64_t)(4 * n));
        w.most_layers = w.n_layers / n + 1 + (int)ek__random_below(&random, 3);
        for (int cell = 0; cell < n; cell++) {
            w.wanted[cell] = 1 + (double)ek__random_below(&random, 60) / 10;
            sum += value[cell] = (double)ek__random_below(&random, 1000);
        }
        for (int cell = 0; cell < n; cell++) /* even, and a little off, so that no cell is beyond its most */
            value[cell] = 1 + (w.n_layers - n) * (0.98 / n + 0.02 * (sum > 0 ? value[cell] / sum : 1.0 / n));
        const ek__whole_judge judge = {judge_worth, &w};
        const ek__near near = {.p = w.p,
                               .v = w.v,
                               .n_layers = w.n_layers,
                               .most_layers = w.most_layers,
                               .value = value,
                               .judge = &judge,
                               .over = never};
        assert_int_equal(ek__whole_near(&near, &step, NULL), EK_OK);
        assert_true(step == w.best && isfinite(step));
        assert_no_move_is_shorter(&w);
        /* Among equally long ones the choice does not matter. */
        step = 100;
        assert_int_equal(ek__whole_near(&near, &step, NULL), EK_OK);
        assert_true(step == 100);
    }
}

/* Annealing finds no plan of this pipeline that is as short in seconds, and nothing where it has to be. */
static void long_pipelines_have_a_plan_at_once(void **state)
{
    ek_job job;
    ek__split split = {.seconds = INFINITY};
    ek__layout_search s = {.job = &job, .device = ek_device_find("H100"), .start = ek__now()};
    ek__mixes *mixes;
    bool legal;
    (void)state;
    assert_int_equal(ek_job_read(source_path("examples/gallery/llama3_405b_8192.sh"), NULL, NULL, &job, NULL), EK_OK);
    job.limit_mb = 81920;
    ek_layout_options_init(&s.options);
    s.options.time_limit = INFINITY;
    ek_layout layout = ek_layout_of(&job);
    layout.value[EK_AXIS_DATA] = 32;
    layout.value[EK_AXIS_TENSOR] = layout.value[EK_AXIS_CONTEXT] = layout.value[EK_AXIS_CHUNKS] = 4;
    layout.value[EK_AXIS_SHARD] = 64;
    layout.n_micro_batches = 64;
    layout.schedule = ek_schedule_find("interleaved");
    ek_cost_cache *cache = ek_cost_cache_new(s.device);
    assert_non_null(cache);
    assert_int_equal(ek__mixes_new(layout.schedule, 16, 4, 64, &mixes, NULL), EK_OK);
    assert_int_equal(ek__layout_balance(&s, &layout, 11, EK__EFFORT_QUICK, mixes, cache, &split, &legal, NULL), EK_OK);
    assert_true(legal && split.found);
    print_message("# %.4f s\n", split.seconds);
    assert_true(split.seconds < 10.9);
    assert_true(split.peak_mb <= 81920);
    ek__split_clear(&split);
    ek__mixes_free(mixes);
    ek_cost_cache_free(cache);
    ek_job_clear(&job);
}

/* ---- no time to place a stage ---- */

static bool always(void *user)
{
    ++*(int *)user;
    return true;
}

/* A choice with a stopped placement is neither reported as fitting nor discarded. */
static void stages_that_are_not_placed_are_left_open(void **state)
{
    ek__random random = ek__random_seed(3);
    ek_job job;
    ek_error err;
    ek__recompute_rule rule;
    ek__stages *stages;
    const ek__stage_choice *choice;
    int n_asked = 0;
    bool fits = true;
    const ek__stop over = {.over = always, .user = &n_asked}, never = {0};
    (void)state;
    assert_true(random_small_job(&random, 6, &job));
    while (ek__recompute_rule_at(&job, 6, 0, &rule) == 0 || job.rules.allocation == EK_ALLOCATION_WHOLE) {
        ek_job_clear(&job);
        assert_true(random_small_job(&random, 6, &job));
    }
    ek_cost_cache *cache = ek_cost_cache_new(ek_device_find("A100-80"));
    assert_int_equal(ek__stages_new(&job, ek_device_find("A100-80"), cache, rule, &stages, &err), EK_OK);
    int n = job.plan.layers[0];
    assert_int_equal(ek__stages_choose(stages, 0, 0, n, &choice, &err), EK_OK);
    assert_true(choice->fits);
    const ek__chunk_lists lists = choice->lists;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ek__stages_verify(stages, 0, 0, n, &over, &fits, &err), EK_OK);
        assert_false(fits);
        assert_int_equal(n_asked, i + 1);
    }
    assert_int_equal(ek__stages_verify(stages, 0, 0, n, &never, &fits, &err), EK_OK);
    assert_true(fits);
    assert_int_equal(ek__stages_choose(stages, 0, 0, n, &choice, &err), EK_OK);
    assert_memory_equal(&choice->lists, &lists, sizeof lists);
    ek__stages_free(stages);
    ek_cost_cache_free(cache);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_five_are_those_of_trying_everything),
        cmocka_unit_test(so_are_those_with_two_chunks_a_stage),
        cmocka_unit_test(bounds_do_not_depend_on_what_was_looked_at_before),
        cmocka_unit_test(chunks_end_with_any_layer_that_may_be_last),
        cmocka_unit_test(bounds_are_told_by_the_part_that_exceeds),
        cmocka_unit_test(no_bound_is_above_a_plan),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(micro_batches_share_layers_that_do_not_depend_on_them),
        cmocka_unit_test(first_plan_is_there_once_all_are_bounded),
        cmocka_unit_test(there_is_a_first_plan_under_rules),
        cmocka_unit_test(a_search_ends_when_its_time_is_over),
        cmocka_unit_test(estimates_of_plans_are_those_of_their_jobs),
        cmocka_unit_test(whole_layers_bound_closer_than_fractions),
        cmocka_unit_test(chunks_that_no_mix_speaks_of_have_plans),
        cmocka_unit_test(a_backward_pass_holds_what_its_least_layer_does),
        cmocka_unit_test(a_rule_for_all_layers_leaves_those_it_saves_nothing_of),
        cmocka_unit_test(bounds_of_mixes_know_what_must_be_recomputed),
        cmocka_unit_test(plans_near_a_solution_are_as_short_as_their_neighbours),
        cmocka_unit_test(long_pipelines_have_a_plan_at_once),
        cmocka_unit_test(sends_between_neighbours_leave_no_gap),
        cmocka_unit_test(stages_that_are_not_placed_are_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
