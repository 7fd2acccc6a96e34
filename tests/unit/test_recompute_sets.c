/* Tests sets of operators to recompute: the front against every subset of random choices, computed by the forward walks
 * of graph and price; figures against jobs that have the patterns, read from a file too, and against the step; the
 * offered sets against every chain. */
#include "effort.h"
#include "paste.h"

#include <math.h>

#include "assert_close.h"
#include "base/random.h"
#include "configs.h"
#include "evenkeel/layers.h"
#include "job/job_internal.h"
#include "job/settings.h"
#include "model/recompute_kind.h"
#include "recompute/sets.h"

static const char *const own[] = {"examples/llama175b_train.yaml",     "examples/llama2_13b_1_dp8.yaml",
                                  "examples/llama2_13b_3_select.yaml", "tests/data/job/experts.yaml",
                                  "tests/data/job/glm.yaml",           "tests/data/job/llama.yaml",
                                  "tests/data/job/newer.yaml"};
enum { N_OWN = sizeof own / sizeof *own };

static ek_job job_of(const char *path, const ek_job_overrides *overrides)
{
    ek_job job;
    ek_error err = {0};
    if (ek_job_read(path, overrides, NULL, &job, &err))
        fail_msg("%s: %s", path, err.message);
    return job;
}

static ek_recompute_set_list sets_of(const ek_job *job, const ek_device *device, int n)
{
    ek_recompute_set_list list;
    ek_error err = {0};
    if (ek_recompute_sets(job, device, n, &list, &err))
        fail_msg("%s", err.message);
    return list;
}

static const ek_device *ascend(void)
{
    return ek_device_find("910B");
}

/* ---- every subset ---- */

enum { N_FEW = 12 };

/* Operators of a layer that each choice names, as the patterns do. */
typedef struct named_ops {
    bool op[N_FEW][EK__MAX_OPS];
} named_ops;

static void find_named(const ek__set_problem *p, int layer, named_ops *out)
{
    const ek__graph *graph = p->layer[layer].cost.graph;
    bool matched[EK__MAX_OPS];
    for (int c = 0; c < p->n_choices; c++) {
        ek__pattern_match(graph, p->choice[c].pattern[0].text, p->choice[c].pattern[0].kind, out->op[c]);
        for (int i = 0; i < p->bare.n_patterns; i++) {
            ek__pattern_match(graph, p->bare.pattern[i].text, p->bare.pattern[i].kind, matched);
            for (int o = 0; o < graph->n_ops; o++)
                out->op[c][o] = out->op[c][o] && !matched[o];
        }
    }
}

static void measure_subset(const ek__set_problem *p, const named_ops *named, unsigned subset, ek__found_set *out)
{
    *out = (ek__found_set){.chosen = {{subset}}, .n_patterns = __builtin_popcount(subset)};
    for (int k = 0; k < p->n_layers; k++) {
        const ek__set_layer *layer = &p->layer[k];
        const ek__graph *graph = layer->cost.graph;
        bool runs[EK__MAX_OPS] = {false}, kept[EK__MAX_TENSORS];
        ek__pass run;
        for (int c = 0; c < p->n_choices; c++)
            for (int o = 0; o < graph->n_ops && (subset >> c & 1); o++)
                runs[o] |= named[k].op[c][o];
        ek__graph_settle(graph, runs);
        ek__graph_keep(graph, runs, kept);
        out->kept += layer->n_layers * layer->copies * (double)ek__set_bytes(&p->bare, graph, kept);
        for (int o = 0; o < graph->n_ops; o++)
            runs[o] = runs[o] && !graph->op[o].always_recomputed;
        ek__layer_run(&p->bare, p->device, &layer->cost, runs, &run);
        out->ms += layer->n_layers * ek__set_extra_ms(p, layer, &run);
    }
}

/* Its own front, by comparing all pairs. */
static int slow_front(const ek__found_set *all, int n, double full_ms, ek__found_set *out)
{
    int n_out = 0;
    for (int i = 0; i < n; i++) {
        bool beaten = all[i].ms >= full_ms;
        for (int k = 0; k < n && !beaten; k++)
            beaten = (all[k].kept <= all[i].kept && all[k].ms < all[i].ms - 1e-11 * full_ms) ||
                     (all[k].kept < all[i].kept && all[k].ms <= all[i].ms + 1e-11 * full_ms) ||
                     (k < i && all[k].kept == all[i].kept && fabs(all[k].ms - all[i].ms) <= 1e-11 * full_ms);
        if (!beaten)
            out[n_out++] = all[i];
    }
    return n_out;
}

static const ek__found_set *find_set(const ek__found_set *list, int n, const ek__found_set *like, double full_ms)
{
    for (int i = 0; i < n; i++)
        if (list[i].kept == like->kept && fabs(list[i].ms - like->ms) <= 1e-10 * full_ms)
            return &list[i];
    return NULL;
}

/* Some neighbouring choices, since those interact, and some of anywhere. */
static void keep_few(ek__set_problem *p, ek__random *random)
{
    int near = ek__random_below(random, p->n_choices), n = 0;
    static ek__choice few[N_FEW];
    static bool taken[EK__MAX_CHOICES];
    memset(taken, 0, sizeof taken);
    while (n < N_FEW && n < p->n_choices) {
        int at = n < N_FEW / 2 ? (near + n) % p->n_choices : ek__random_below(random, p->n_choices);
        if (taken[at])
            continue;
        taken[at] = true;
        few[n++] = p->choice[at];
    }
    memcpy(p->choice, few, (size_t)n * sizeof *few);
    p->n_choices = n;
}

static int n_fronts, n_points, n_parts;

static void compare_with_subsets(const ek_job *job, const ek_device *device, ek__random *random)
{
    static named_ops named[EK_MAX_SET_LAYERS];
    static ek__found_set all[1 << N_FEW], front[1 << N_FEW];
    ek__set_problem p;
    ek_error err = {0};
    ek__found_sets found = {0};
    ek_recompute_set full = {0};
    double full_ms = 0, gap;
    if (ek__set_problem_init(job, device, &p, &err))
        fail_msg("%s", err.message);
    keep_few(&p, random);
    ek__set_measure_full(&p, &full);
    for (int k = 0; k < p.n_layers; k++) {
        full_ms += p.layer[k].n_layers * full.ms[k];
        find_named(&p, k, &named[k]);
    }
    int n = 1 << p.n_choices;
    for (int i = 0; i < n; i++)
        measure_subset(&p, named, (unsigned)i, &all[i]);
    int n_front = slow_front(all, n, full_ms, front);
    assert_int_equal(ek__set_labels(&p, full_ms, &found, &gap), EK_OK);
    assert_true(gap == 0);
    for (int i = 0; i < n_front; i++)
        if (!find_set(found.at, (int)found.n, &front[i], full_ms))
            fail_msg("%s: the sweep lacks a set that keeps %.0f and takes %.9g ms", job->path, front[i].kept,
                     front[i].ms);
    for (size_t i = 0; i < found.n; i++) { /* each is the result of its choices */
        ek__found_set again;
        measure_subset(&p, named, (unsigned)found.at[i].chosen.word[0], &again);
        assert_true(again.kept == found.at[i].kept);
        assert_close_to(again.ms, found.at[i].ms, 1e-10 * full_ms);
    }
    assert_int_equal((int)found.n, n_front);
    n_fronts++;
    n_points += n_front;
    free(found.at);
    ek__set_problem_clear(&p);
}

static void the_sweep_finds_what_every_subset_gives(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(7);
    list_reference();
    for (int i = effort(0, 1); i < N_OWN + n_configs; i += effort(1, 3)) {
        ek_job job;
        ek_error err;
        const char *path = i < N_OWN ? source_path(own[i]) : config[i - N_OWN];
        if (ek_job_read(path, NULL, NULL, &job, &err))
            continue;
        bool mindformers = job.framework == EK_MINDFORMERS || job.framework == EK_MINDFORMERS_MCORE;
        for (int round = 0; round < (i < N_OWN ? 4 : 1) && mindformers; round++)
            compare_with_subsets(&job, ascend(), &random);
        ek_job_clear(&job);
    }
    print_message("# %d fronts, %d sets on them\n", n_fronts, n_points);
    assert_true(n_fronts >= effort(4, 1) * N_OWN && n_points > 3 * n_fronts);
}

/* Communication that hides and a host that is late make time no sum over operators. */
static void so_it_does_where_times_do_not_add_up(void **state)
{
    (void)state;
    static const struct {
        bool tensor, expert, shared, host;
        double overlap;
    } cases[] = {{true, false, false, false, 0.7}, {false, true, false, false, 0.6}, {true, true, false, false, 0.9},
                 {false, false, true, false, 0.8}, {false, false, false, true, 0},   {true, false, false, true, 1}};
    ek__random random = ek__random_seed(8);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = effort(0, 1); i < N_OWN; i += effort(1, 3)) {
            ek_job job = job_of(source_path(own[i]), NULL);
            ek_device device = *ascend();
            job.run.overlap_tensor = cases[c].tensor;
            job.run.overlap_expert = cases[c].expert;
            job.run.overlap_shared = cases[c].shared;
            device.overlap_tensor = device.overlap_share = cases[c].overlap;
            if (cases[c].host)
                device.host.kernel_us[job.run.launch] = 40;
            compare_with_subsets(&job, &device, &random);
            ek_job_clear(&job);
        }
}

/* ---- jobs that have the patterns ---- */

static void put_all(ek_plan *plan, int *list)
{
    memcpy(list, plan->layers, (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *list);
}

/* The job's own layers, of one kind throughout. */
static ek_job with_kind(const ek_job *job, ek_recompute kind)
{
    ek_plan plan;
    ek_job with;
    ek_error err = {0};
    assert_int_equal(ek_plan_copy(&job->plan, &plan, &err), EK_OK);
    size_t size = (size_t)plan.n_stages * (size_t)plan.n_chunks * sizeof(int);
    memset(plan.full, 0, size);
    memset(plan.select, 0, size);
    memset(plan.comm, 0, size);
    if (kind == EK_RECOMPUTE_SELECT || kind == EK_RECOMPUTE_BOTH)
        put_all(&plan, plan.select);
    if (kind == EK_RECOMPUTE_COMM || kind == EK_RECOMPUTE_BOTH)
        put_all(&plan, plan.comm);
    if (kind == EK_RECOMPUTE_FULL)
        put_all(&plan, plan.full);
    if (ek_job_with(job, &(ek_job_change){.plan = &plan}, &with, &err))
        fail_msg("%s", err.message);
    ek_plan_clear(&plan);
    return with;
}

static ek_job using(const ek_job *job, const ek_recompute_set *small, const ek_recompute_set *large)
{
    ek_job out;
    ek_error err = {0};
    if (ek_job_use_recompute_sets(job, small, large, &out, &err))
        fail_msg("%s", err.message);
    return out;
}

/* Saved activations of programs of a kind of layer. */
static void check_kept(const ek_job *job, ek_recompute kind, const ek_recompute_set_list *list,
                       const ek_recompute_set *set)
{
    ek_memory memory;
    ek_error err = {0};
    int n = 0;
    if (ek_memory_predict(job, NULL, &memory, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < memory.n_layer_kinds; i++)
        for (int k = 0; k < list->n_kinds; k++)
            if (strcmp(memory.layer_kind[i].name, list->kind[k].name) == 0) {
                assert_int_equal(memory.layer_kind[i].kept[kind], set->kept[k]);
                n++;
            }
    assert_int_equal(n, list->n_kinds);
    ek_memory_clear(&memory);
}

static double step_ms(const ek_job *job, const ek_device *device)
{
    ek_step step;
    ek_error err = {0};
    if (ek_cost_step(job, device, NULL, &step, &err))
        fail_msg("%s", err.message);
    double ms = 1e3 * step.seconds;
    ek_step_clear(&step);
    return ms;
}

/* One stage and one micro-batch of one data-parallel rank: a step is the sum of its passes, and the rest the same. */
static void check_times(const char *path, const ek_device *device)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.data = overrides.expert = overrides.pipeline = overrides.n_chunks = overrides.n_micro_batches = 1;
    ek_job job = job_of(path, &overrides);
    job.parallel.n_accumulation = 1;
    ek_recompute_set_list list = sets_of(&job, device, 2);
    for (int i = 0; i < list.n; i++) {
        if (!list.set[i].hull)
            continue;
        ek_job with = using(&job, &list.set[i], NULL), none = with_kind(&with, EK_RECOMPUTE_NONE),
               all = with_kind(&with, job.framework == EK_TORCHTITAN ? EK_RECOMPUTE_BOTH : EK_RECOMPUTE_SELECT);
        double ms = 0, today = step_ms(&none, device);
        for (int k = 0; k < list.n_kinds; k++)
            ms += list.kind[k].n_layers * list.set[i].ms[k];
        assert_close_to(step_ms(&all, device) - today, ms, 1e-9 * today);
        assert_close_to(list.set[i].extra_ms * (job.model.n_layers + job.model.n_prediction_layers), ms, 1e-9 * today);
        ek_job_clear(&all);
        ek_job_clear(&none);
        ek_job_clear(&with);
        n_parts++;
    }
    ek_recompute_set_list_clear(&list);
    ek_job_clear(&job);
}

static void figures_are_those_of_jobs_with_the_patterns(void **state)
{
    (void)state;
    static const char *const others[] = {"examples/megatron_13b.sh", "tests/data/job/moe.args",
                                         "tests/data/job/mindspeed.yaml"};
    for (size_t i = (size_t)effort(0, 1); i < N_OWN + sizeof others / sizeof *others; i += (size_t)effort(1, 3)) {
        const char *path = source_path(i < N_OWN ? own[i] : others[i - N_OWN]);
        ek_job job = job_of(path, NULL);
        ek_recompute_set_list list = sets_of(&job, ascend(), 2);
        assert_true(list.n > 0);
        for (int s = 0; s < list.n; s++) {
            ek_job with = using(&job, &list.set[s], NULL);
            check_kept(&with, EK_RECOMPUTE_SELECT, &list, &list.set[s]);
            check_kept(&with, EK_RECOMPUTE_NONE, &list, &list.nothing);
            check_kept(&with, EK_RECOMPUTE_FULL, &list, &list.full);
            ek_job_clear(&with);
        }
        ek_recompute_set_list_clear(&list);
        ek_job_clear(&job);
        check_times(source_path(i < N_OWN ? own[i] : others[i - N_OWN]), ascend());
    }
    print_message("# %d steps\n", n_parts);
    assert_true(n_parts > effort(30, 5));
}

/* ---- two sets in a plan's kinds, and in a file ---- */

static const ek_recompute_set *offered(const ek_recompute_set_list *list, int which)
{
    for (int i = 0; i < list->n; i++)
        if (list->set[i].offered && which-- == 0)
            return &list->set[i];
    fail_msg("no set is offered");
    return NULL;
}

/* Half of the layers of every chunk of the large set, one of four whole, the others of the small one. */
static void spread_kinds(ek_job *job)
{
    ek_plan plan;
    ek_job with;
    ek_error err = {0};
    assert_int_equal(ek_plan_copy(&job->plan, &plan, &err), EK_OK);
    put_all(&plan, plan.select);
    for (int c = 0; c < plan.n_stages * plan.n_chunks; c++) {
        plan.full[c] = plan.layers[c] / 4;
        plan.comm[c] = plan.layers[c] / 2;
    }
    assert_int_equal(ek_job_with(job, &(ek_job_change){.plan = &plan}, &with, &err), EK_OK);
    ek_plan_clear(&plan);
    ek_job_clear(job);
    *job = with;
}

static void two_sets_are_a_plans_kinds(void **state)
{
    (void)state;
    for (int i = effort(0, 1); i < N_OWN; i += effort(1, 3)) {
        ek_job job = job_of(source_path(own[i]), NULL);
        ek_recompute_set_list list = sets_of(&job, ascend(), 2);
        const ek_recompute_set *small = offered(&list, 0), *large = offered(&list, 1);
        ek_job with = using(&job, small, large), other;
        ek_layers layers;
        ek_error err = {0};
        for (int c = 0; c < with.plan.n_stages * with.plan.n_chunks; c++)
            assert_true(with.plan.select[c] == 0 && with.plan.comm[c] == 0);
        check_kept(&with, EK_RECOMPUTE_NONE, &list, &list.nothing);
        check_kept(&with, EK_RECOMPUTE_SELECT, &list, small);
        check_kept(&with, EK_RECOMPUTE_BOTH, &list, large);
        check_kept(&with, EK_RECOMPUTE_FULL, &list, &list.full);
        assert_int_equal(ek_memory_to_layers(&with, ascend(), &layers, &err), EK_OK);
        assert_true(layers.modelled[EK_RECOMPUTE_SELECT] && layers.modelled[EK_RECOMPUTE_BOTH]);
        if (list.n_kinds == 1) {
            const ek_layer *body = &layers.body[0];
            const double *ms = body->backward_time, *mb = body->activation_mb;
            assert_close_to(ms[EK_RECOMPUTE_BOTH] - ms[EK_RECOMPUTE_NONE], large->extra_ms, 1e-9 * ms[0]);
            assert_close_to(ms[EK_RECOMPUTE_SELECT] - ms[EK_RECOMPUTE_NONE], small->extra_ms, 1e-9 * ms[0]);
            assert_close_to(mb[EK_RECOMPUTE_NONE] - mb[EK_RECOMPUTE_BOTH], large->saved_mb, 1e-9 * mb[0]);
        }
        assert_int_equal(ek_job_use_recompute_sets(&job, large, small, &other, &err), EK_ERR_INPUT);
        ek_layers_clear(&layers);
        ek_job_clear(&with);
        ek_recompute_set_list_clear(&list);
        ek_job_clear(&job);
    }
}

static const ek_pattern *pattern_like(const ek_job *job, const ek_pattern *like)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (job->pattern[i].kind == like->kind && strcmp(job->pattern[i].text, like->text) == 0)
            return &job->pattern[i];
    return NULL;
}

/* The job with every layer recomputed whole in its file is among them: lists replace recompute: True. */
static void a_file_with_two_sets_reads_as_the_job(void **state)
{
    (void)state;
    int n_full = 0;
    for (int i = effort(0, 1); i < N_OWN; i += effort(1, 3)) {
        const char *path = source_path(own[i]);
        ek_job job = job_of(path, NULL), pasted;
        char setting[32768];
        n_full += memcmp(job.plan.full, job.plan.layers, (size_t)job.plan.n_stages * sizeof(int)) == 0;
        ek_recompute_set_list list = sets_of(&job, ascend(), 2);
        ek_job with = using(&job, offered(&list, 0), offered(&list, 1));
        spread_kinds(&with);
        const char *why;
        assert_int_equal(ek__job_settings(&job, &with, setting, sizeof setting, &why, NULL), EK_OK);
        assert_null(why);
        assert_false(ek__settings_are_cut(setting));
        assert_int_equal(read_pasted(source_path(own[i]), setting, NULL, &pasted), PASTED);
        size_t size = (size_t)with.plan.n_stages * (size_t)with.plan.n_chunks * sizeof(int);
        int n = 0;
        for (int k = 0; k < with.n_patterns; k++) {
            const ek_pattern *same = pattern_like(&pasted, &with.pattern[k]);
            bool any = false;
            for (size_t c = 0; c < size / sizeof(int); c++)
                any = any || with.pattern[k].layers[c] > 0;
            assert_true(same || !any);
            n += same != NULL;
            if (same)
                assert_memory_equal(same->layers, with.pattern[k].layers, size);
        }
        assert_int_equal(n, pasted.n_patterns);
        assert_memory_equal(pasted.plan.full, with.plan.full, size);
        assert_close_to(paste_peak_mb(&pasted), paste_peak_mb(&with), 0);
        assert_close_to(step_ms(&pasted, ascend()), step_ms(&with, ascend()), 1e-12);
        ek_job_clear(&pasted);
        ek_job_clear(&with);
        ek_recompute_set_list_clear(&list);
        ek_job_clear(&job);
    }
    print_message("# %d files of whole layers\n", n_full);
    assert_true(n_full > 0);
}

/* Megatron's modules and torchtitan's policy hold for all layers. */
static void other_frameworks_are_told_too(void **state)
{
    (void)state;
    static const struct {
        const char *path, *device, *text;
    } cases[] = {{"examples/megatron_13b.sh", "A100-80", "--recompute-modules layernorm"},
                 {"tests/data/job/qwen25_7b.sh", "A100-80", "--recompute-modules layernorm"},
                 {"tests/data/job/torchtitan_70b.toml", "H100", "selective_ac_option = \"op\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job = job_of(source_path(cases[i].path), NULL), pasted;
        const ek_device *device = ek_device_find(cases[i].device);
        char setting[4096];
        ek_recompute_set_list list = sets_of(&job, device, 1);
        ek_job used = using(&job, offered(&list, 0), NULL), with = with_kind(&used, EK_RECOMPUTE_SELECT);
        const char *why;
        assert_int_equal(ek__job_settings(&job, &with, setting, sizeof setting, &why, NULL), EK_OK);
        assert_null(why);
        assert_non_null(strstr(setting, cases[i].text));
        assert_int_equal(read_pasted(source_path(cases[i].path), setting, NULL, &pasted), PASTED);
        assert_close_to(paste_peak_mb(&pasted), paste_peak_mb(&with), 0);
        assert_close_to(step_ms(&pasted, device), step_ms(&with, device), 1e-9);
        ek_job_clear(&pasted);
        ek_job_clear(&with);
        ek_job_clear(&used);
        ek_recompute_set_list_clear(&list);
        ek_job_clear(&job);
    }
}

/* ---- the hull, the offered sets ---- */

static const ek_recompute_set *point(const ek_recompute_set_list *list, int i)
{
    return i < 0 ? &list->nothing : i == list->n ? &list->full : &list->set[i];
}

/* Is it above the line between two others that are to both sides of it, by `mb` at least? */
static bool is_mixed(const ek_recompute_set_list *list, int i, double mb)
{
    const ek_recompute_set *b = point(list, i);
    for (int k = -1; k < i; k++)
        for (int m = i + 1; m <= list->n; m++) {
            const ek_recompute_set *a = point(list, k), *c = point(list, m);
            double share = (b->extra_ms - a->extra_ms) / (c->extra_ms - a->extra_ms);
            if (share < 1 && b->kept_mb >= a->kept_mb + share * (c->kept_mb - a->kept_mb) + mb)
                return true;
        }
    return false;
}

/* Below the line through nothing, the sets of the list and full. */
static double area_of(const ek_recompute_set_list *list, const int *at, int n)
{
    double area = 0;
    int last = -1;
    for (int i = 0; i <= n; i++) {
        int next = i < n ? at[i] : list->n;
        const ek_recompute_set *a = point(list, last), *b = point(list, next);
        area += (b->extra_ms - a->extra_ms) * (a->kept_mb + b->kept_mb) / 2;
        last = next;
    }
    return area;
}

static void what_is_offered_leaves_the_least(void **state)
{
    (void)state;
    for (int i = effort(0, 1); i < N_OWN; i += effort(1, 3)) {
        ek_job job = job_of(source_path(own[i]), NULL);
        for (int n_offered = 0; n_offered <= 3; n_offered++) {
            ek_recompute_set_list list = sets_of(&job, ascend(), n_offered);
            int at[3], n = 0;
            for (int k = 0; k < list.n; k++) {
                double same = 1e-9 * list.nothing.kept_mb;
                assert_true(list.set[k].hull ? !is_mixed(&list, k, same) : is_mixed(&list, k, -same));
                assert_true(k == 0 || (list.set[k].extra_ms > list.set[k - 1].extra_ms &&
                                       list.set[k].kept_mb < list.set[k - 1].kept_mb));
                if (!list.set[k].offered)
                    continue;
                assert_true(list.set[k].hull && n < n_offered);
                at[n++] = k;
            }
            double best = area_of(&list, at, n);
            assert_int_equal(n, n_offered);
            for (int a = 0; a < list.n && n == 2; a++)
                for (int b = a + 1; b < list.n; b++)
                    if (list.set[a].hull && list.set[b].hull && ek_recompute_set_has_all(&list.set[b], &list.set[a]))
                        assert_true(area_of(&list, (int[]){a, b}, 2) >= best * (1 - 1e-12));
            ek_recompute_set_list_clear(&list);
        }
        ek_job_clear(&job);
    }
}

/* ---- other frameworks ---- */

static void modules_and_policies_are_choices(void **state)
{
    (void)state;
    const ek_device *device = ek_device_find("H100");
    ek_job job = job_of(source_path("tests/data/job/torchtitan_70b.toml"), NULL);
    job.run.fp8 = EK_FP8_NONE;
    ek_recompute_set_list list = sets_of(&job, device, 2);
    assert_int_equal(list.n, 1); /* all of it or nothing */
    ek_job op = using(&job, &list.set[0], NULL);
    assert_true(op.n_patterns > 1);
    check_kept(&op, EK_RECOMPUTE_BOTH, &list, &list.set[0]);
    ek_job_clear(&op);
    ek_recompute_set_list_clear(&list);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"the sweep over operators finds what every subset gives", the_sweep_finds_what_every_subset_gives, NULL, NULL,
         NULL},
        {"so it does where times do not add up", so_it_does_where_times_do_not_add_up, NULL, NULL, NULL},
        {"figures are those of jobs with the patterns, and of their step", figures_are_those_of_jobs_with_the_patterns,
         NULL, NULL, NULL},
        {"two sets are a plan's kinds", two_sets_are_a_plans_kinds, NULL, NULL, NULL},
        {"a file with two sets reads as the job", a_file_with_two_sets_reads_as_the_job, NULL, NULL, NULL},
        {"other frameworks are told, too", other_frameworks_are_told_too, NULL, NULL, NULL},
        {"what is offered leaves the least area", what_is_offered_leaves_the_least, NULL, NULL, NULL},
        {"modules and policies are choices", modules_and_policies_are_choices, NULL, NULL, NULL},
        cmocka_unit_test(configurations_of_others_are_among_them),
    };
    return cmocka_run_group_tests_name("recompute sets", tests, make_top, remove_top);
}
