/* Tests quick tuning against an enumeration of all plans: its own objective, and its own reason when nothing fits. */
#include <math.h>

#include "assert_close.h"
#include "described.h"
#include "effort.h"
#include "evenkeel/layers.h"
#include "evenkeel/quick.h"
#include "evenkeel/simulate.h"
#include "figures/balance_figures.h"
#include "input.h"
#include "report/report_internal.h"
#include "report/writers.h"

static uint64_t state;

static int draw(int low, int high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (int)(state % (uint64_t)(high - low + 1));
}

static void set_times(ek_layer *layer, double forward)
{
    layer->forward_time = forward;
    layer->backward_time[EK_RECOMPUTE_NONE] = 2 * forward;
    layer->backward_time[EK_RECOMPUTE_FULL] = 3 * forward;
    layer->weight_time = forward;
    layer->modelled[EK_RECOMPUTE_NONE] = layer->modelled[EK_RECOMPUTE_FULL] = true;
}

/* Whole layers of embedding and head make many plans equally good. */
static ek_layers random_model(ek_layer *body, int n_layers)
{
    double unit = draw(1, 40) / 4.0;
    ek_layers model = {.name = "random", .n_body = 1, .body = body, .n_layers = n_layers, .const_mb = draw(-20, 50)};
    *body = (ek_layer){.name = "layer", .n_layers = n_layers, .parameter_mb = draw(0, 100)};
    set_times(body, unit);
    set_times(&model.head, unit * (draw(0, 1) ? draw(0, 2) : draw(0, 30) / 10.0));
    set_times(&model.tail, unit * (draw(0, 1) ? draw(0, 2) : draw(0, 30) / 10.0));
    body->activation_mb[EK_RECOMPUTE_NONE] = draw(10, 60);
    body->activation_mb[EK_RECOMPUTE_FULL] = draw(0, 9) == 0 ? 60 : draw(1, 10);
    model.head.parameter_mb = draw(0, 150);
    model.head.activation_mb[EK_RECOMPUTE_NONE] = draw(0, 30);
    model.tail.parameter_mb = draw(0, 150);
    model.tail.activation_mb[EK_RECOMPUTE_NONE] = draw(0, 30);
    body->modelled[EK_RECOMPUTE_NONE] = body->modelled[EK_RECOMPUTE_FULL] = true;
    memcpy(model.modelled, body->modelled, sizeof model.modelled);
    return model;
}

static ek_order *lay_out(int p, int m)
{
    const ek_shape shape = {.n_stages = p, .n_chunks = 1, .n_micro_batches = m};
    ek_order *order;
    assert_int_equal(ek_order_new(ek_schedule_find("1f1b"), &shape, &order, NULL), EK_OK);
    return order;
}

/* ---- every plan ---- */

typedef struct every {
    const ek_layers *model;
    const ek_order *order;
    ek_plan plan;
    double limit_mb;
    int p, min_layers;
    bool found;
    double spread, longest; /* of the best */
    double needed_mb;       /* smallest limit that any plan keeps */
} every;

static void peaks(const every *e, const ek_plan *plan, double *out)
{
    ek_timeline timeline;
    assert_int_equal(ek_simulate(e->order, plan, e->model, NULL, &timeline, NULL), EK_OK);
    memcpy(out, timeline.peak_mb, (size_t)e->p * sizeof *out);
    ek_timeline_clear(&timeline);
}

/* Could some stage do with less recomputation? */
static bool wasteful(const every *e)
{
    bool waste = false;
    double peak[EK_QUICK_MAX_STAGES];
    for (int s = 0; s < e->p && !waste; s++)
        for (int full = e->plan.full[s]; e->plan.full[s] > 0 && !waste;) {
            e->plan.full[s]--;
            peaks(e, &e->plan, peak);
            waste = peak[s] <= e->limit_mb + 1e-6;
            if (e->plan.full[s] == 0 || waste) {
                e->plan.full[s] = full;
                break;
            }
        }
    return waste;
}

static void judge(every *e)
{
    double peak[EK_QUICK_MAX_STAGES], most = -INFINITY, low = INFINITY, high = -INFINITY;
    peaks(e, &e->plan, peak);
    for (int s = 0; s < e->p; s++) {
        double body = e->model->body[0].forward_time, extra = 0;
        if (s == 0)
            extra = e->model->head.forward_time;
        if (s == e->p - 1)
            extra = e->model->tail.forward_time;
        double time = 3 * (e->plan.layers[s] + extra / body) + e->plan.full[s];
        low = fmin(low, time);
        high = fmax(high, time);
        most = fmax(most, peak[s]);
    }
    e->needed_mb = fmin(e->needed_mb, most);
    if (most > e->limit_mb + 1e-6)
        return;
    bool better =
        !e->found || high - low < e->spread - 1e-9 || (high - low < e->spread + 1e-9 && high < e->longest - 1e-9);
    if (better && !wasteful(e)) {
        e->found = true;
        e->spread = high - low;
        e->longest = high;
    }
}

static void try_all(every *e, int stage, int left)
{
    if (stage == e->p) {
        if (left == 0)
            judge(e);
        return;
    }
    for (int n = e->min_layers; n <= left; n++)
        for (int full = 0; full <= n; full++) {
            e->plan.layers[stage] = n;
            e->plan.full[stage] = full;
            try_all(e, stage + 1, left - n);
        }
}

static void compare(const every *e, const ek_quick *quick)
{
    const ek_quick_step *step = &quick->step[EK_QUICK_MOVED];
    double peak[EK_QUICK_MAX_STAGES];
    assert_int_equal(quick->feasible, e->found);
    if (!e->found) {
        assert_close_to(quick->needed_mb, e->needed_mb, 1e-6);
        return;
    }
    assert_close_to(step->longest - step->shortest, e->spread, 1e-9);
    assert_close_to(step->longest, e->longest, 1e-9);
    assert_int_equal(ek_plan_check(&step->plan, e->model, NULL), EK_OK);
    assert_true(step->fits);
    peaks(e, &step->plan, peak);
    for (int s = 0; s < e->p; s++) {
        assert_true(peak[s] <= e->limit_mb + 1e-6);
        assert_close_to(peak[s], step->peak_mb[s], 1e-9);
        assert_true(step->plan.layers[s] >= e->min_layers);
    }
}

/* Counts of the interesting cases. */
typedef struct tally {
    int feasible, infeasible, moved;
} tally;

static void try_case(int p, int n_layers, tally *seen)
{
    ek_layer body;
    ek_layers model = random_model(&body, n_layers);
    ek_order *order = lay_out(p, draw(1, 8));
    every e = {.model = &model, .order = order, .p = p, .min_layers = draw(0, 1), .needed_mb = INFINITY};
    ek_error err = {0};
    ek_quick quick;
    assert_int_equal(ek_plan_init(&e.plan, p, 1, &err), EK_OK);
    e.limit_mb = draw(100, 250 + 60 * n_layers);
    try_all(&e, 0, n_layers);
    if (ek_quick_tune(&model, order, NULL, e.limit_mb, e.min_layers, &quick, &err))
        fail_msg("%d stages, %d layers: %s", p, n_layers, err.message);
    compare(&e, &quick);
    const ek_quick_report report = {&model, &quick, NULL};
    CHECK_WRITTEN(&ek__quick_answer, ek__quick_write_json, &report);
    seen->feasible += e.found;
    seen->infeasible += !e.found;
    for (int s = 0; s < p && e.found; s++)
        seen->moved += quick.step[EK_QUICK_MOVED].plan.layers[s] != quick.step[EK_QUICK_EVEN].plan.layers[s];
    ek_quick_clear(&quick);
    ek_plan_clear(&e.plan);
    ek_order_free(order);
}

static void trying_every_plan_finds_no_better(void **unused)
{
    (void)unused;
    tally seen = {0};
    state = 88172645463325252;
    for (int i = 0; i < effort(120, 24); i++) {
        int p = draw(2, 4);
        try_case(p, draw(p, p == 4 ? 9 : 12), &seen);
    }
    assert_true(seen.feasible > effort(40, 5) && seen.infeasible > effort(10, 1) &&
                seen.moved > effort(20, 2)); /* the cases are worth something */
}

/* Equal differences with different longest stages are rare: they take a layer that changes two recomputations. */
static void of_equal_differences_the_shorter_longest_stage_wins(void **unused)
{
    (void)unused;
    tally seen = {0};
    state = 521288629;
    for (int i = 0; i < effort(1500, 250); i++)
        try_case(2, draw(4, 12), &seen);
    for (int i = 0; i < effort(150, 25); i++)
        try_case(3, draw(6, 9), &seen);
    assert_true(seen.feasible > effort(500, 60));
}

/* ---- more stages, by a table of fitting counts ---- */

enum { MOST = 20 };

/* The least recomputation of each stage and layer count, each found by simulating. */
static void fill_table(const every *e, int n_layers, int least[][MOST + 1])
{
    double peak[EK_QUICK_MAX_STAGES];
    for (int s = 0; s < e->p; s++)
        for (int n = 0; n <= n_layers; n++) {
            least[s][n] = -1;
            for (int full = 0; full <= n && least[s][n] < 0; full++) {
                memset(e->plan.layers, 0, 4 * (size_t)e->p * sizeof(int));
                e->plan.layers[(s + 1) % e->p] = n_layers - n;
                e->plan.layers[s] = n;
                e->plan.full[s] = full;
                peaks(e, &e->plan, peak);
                if (peak[s] <= e->limit_mb + 1e-6)
                    least[s][n] = full;
            }
        }
}

static void try_counts(every *e, const int least[][MOST + 1], int stage, int left, double low, double high)
{
    if (stage == e->p) {
        if (left == 0 && (!e->found || high - low < e->spread - 1e-9 ||
                          (high - low < e->spread + 1e-9 && high < e->longest - 1e-9))) {
            e->found = true;
            e->spread = high - low;
            e->longest = high;
        }
        return;
    }
    double extra = stage == 0 ? e->model->head.forward_time : stage == e->p - 1 ? e->model->tail.forward_time : 0;
    for (int n = e->min_layers; n <= left; n++)
        if (least[stage][n] >= 0) {
            double time = 3 * (n + extra / e->model->body[0].forward_time) + least[stage][n];
            try_counts(e, least, stage + 1, left - n, fmin(low, time), fmax(high, time));
        }
}

static void up_to_eight_stages_are_as_exact(void **unused)
{
    (void)unused;
    state = 362436069;
    int feasible = 0;
    for (int i = 0; i < 24; i++) {
        int p = draw(5, 8), n_layers = draw(p, p == 8 ? 16 : MOST);
        ek_layer body;
        ek_layers model = random_model(&body, n_layers);
        ek_order *order = lay_out(p, draw(1, 16));
        every e = {.model = &model, .order = order, .p = p, .min_layers = 1};
        static int least[EK_QUICK_MAX_STAGES][MOST + 1];
        ek_quick quick;
        assert_int_equal(ek_plan_init(&e.plan, p, 1, NULL), EK_OK);
        e.limit_mb = draw(200, 1200);
        fill_table(&e, n_layers, least);
        try_counts(&e, (const int(*)[MOST + 1]) least, 0, n_layers, INFINITY, -INFINITY);
        assert_int_equal(ek_quick_tune(&model, order, NULL, e.limit_mb, 1, &quick, NULL), EK_OK);
        assert_int_equal(quick.feasible, e.found);
        feasible += e.found;
        if (e.found) {
            assert_close_to(quick.step[EK_QUICK_MOVED].longest - quick.step[EK_QUICK_MOVED].shortest, e.spread, 1e-9);
            assert_close_to(quick.step[EK_QUICK_MOVED].longest, e.longest, 1e-9);
        } else { /* the limit that is named does, and a smaller one does not */
            double needed = quick.needed_mb;
            assert_true(needed > e.limit_mb);
            ek_quick_clear(&quick);
            assert_int_equal(ek_quick_tune(&model, order, NULL, needed, 1, &quick, NULL), EK_OK);
            assert_true(quick.feasible);
            ek_quick_clear(&quick);
            assert_int_equal(ek_quick_tune(&model, order, NULL, needed - 0.01, 1, &quick, NULL), EK_OK);
            assert_false(quick.feasible);
        }
        ek_quick_clear(&quick);
        ek_plan_clear(&e.plan);
        ek_order_free(order);
    }
    assert_true(feasible > 8 && feasible < 24);
}

/* ---- by hand ---- */

/* 12 layers of 100 MB, 50 MB a micro-batch or 10 recomputed, 20 MB on every stage; head 30 MB and 3 layers' time. */
static ek_layers by_hand(ek_layer *body)
{
    ek_layers model = {.name = "hand", .n_body = 1, .body = body, .n_layers = 12, .const_mb = 20};
    *body = (ek_layer){.name = "layer", .n_layers = 12, .parameter_mb = 100};
    body->activation_mb[EK_RECOMPUTE_NONE] = 50;
    body->activation_mb[EK_RECOMPUTE_FULL] = 10;
    set_times(body, 10);
    set_times(&model.head, 10);
    set_times(&model.tail, 20);
    model.head.parameter_mb = 30;
    model.modelled[EK_RECOMPUTE_NONE] = model.modelled[EK_RECOMPUTE_FULL] = true;
    return model;
}

/* Even: 3 layers each, times 3(3+1), 9, 9, 3(3+2) = 12, 9, 9, 15. With room for all, 2 + 3 + 4 + ... : the even sum is
 * 3 (12 + 1 + 2) = 45, so 12, 12, 12, 9 with 3, 4, 4, 1 layers is as even as whole layers are. */
static void the_rule_s_formula_by_hand(void **unused)
{
    (void)unused;
    ek_layer body;
    ek_layers model = by_hand(&body);
    ek_order *order = lay_out(4, 8);
    ek_quick quick;
    assert_int_equal(ek_quick_tune(&model, order, NULL, 1e6, 1, &quick, NULL), EK_OK);
    const double even[] = {12, 9, 9, 15};
    for (int s = 0; s < 4; s++)
        assert_close_to(quick.step[EK_QUICK_EVEN].units[s], even[s], 1e-12);
    assert_close_to(quick.step[EK_QUICK_MOVED].longest - quick.step[EK_QUICK_MOVED].shortest, 3, 1e-12);
    assert_close_to(quick.step[EK_QUICK_MOVED].longest, 12, 1e-12);
    assert_true(quick.rule_is_exact);
    ek_quick_clear(&quick);
    /* Stage 0 needs 20 + 30 + 3 x 100 + 4 x (50, or 10 recomputed) a layer: 950 MB, and 160 MB less for each layer. */
    assert_int_equal(ek_quick_tune(&model, order, NULL, 800, 1, &quick, NULL), EK_OK);
    assert_close_to(quick.step[EK_QUICK_EVEN].peak_mb[0], 950, 1e-9);
    assert_true(quick.step[EK_QUICK_EVEN].over[0] && !quick.step[EK_QUICK_EVEN].fits);
    assert_int_equal(quick.step[EK_QUICK_RECOMPUTE].plan.full[0], 1);
    assert_int_equal(quick.step[EK_QUICK_RECOMPUTE].plan.full[3], 0);
    assert_close_to(quick.step[EK_QUICK_RECOMPUTE].peak_mb[0], 790, 1e-9);
    ek_quick_clear(&quick);
    ek_order_free(order);
}

static void refused(const ek_layers *model, const ek_order *order, double limit, int min_layers, const char *why)
{
    ek_quick quick = {.n_stages = 77};
    ek_error err = {0};
    assert_int_equal(ek_quick_tune(model, order, NULL, limit, min_layers, &quick, &err), EK_ERR_INPUT);
    if (!strstr(err.message, why))
        fail_msg("'%s' is not in: %s", why, err.message);
    assert_int_equal(quick.n_stages, 77);
}

static void what_the_rule_does_not_know_is_refused(void **unused)
{
    (void)unused;
    ek_layer body[2];
    ek_layers model = by_hand(body);
    ek_order *order = lay_out(4, 8), *many = lay_out(9, 9);
    const ek_shape shape = {.n_stages = 4, .n_chunks = 2, .n_micro_batches = 8};
    ek_order *chunks;
    assert_int_equal(ek_order_new(ek_schedule_find("interleaved"), &shape, &chunks, NULL), EK_OK);
    refused(&model, chunks, 900, 1, "is for 1f1b with one chunk per stage (got interleaved with 2)");
    refused(&model, many, 900, 1, "is for 2 to 8 stages (got 9)");
    refused(&model, order, 900, 4, "12 layers cannot give each of 4 stages 4");
    refused(&model, order, NAN, 1, "limit must be above 0");
    model.modelled[EK_RECOMPUTE_FULL] = false;
    refused(&model, order, 900, 1, "needs the memory of full recomputation, which is not known");
    model.modelled[EK_RECOMPUTE_FULL] = true;
    body[1] = body[0];
    model.n_body = 2;
    model.n_layers *= 2;
    refused(&model, order, 900, 1, "one kind of layer, and the model has 2");
    ek_order_free(order);
    ek_order_free(many);
    ek_order_free(chunks);
}

static void the_largest_case_takes_a_moment(void **unused)
{
    (void)unused;
    ek_layer body;
    ek_layers model = by_hand(&body);
    model.n_layers = body.n_layers = EK_MAX_LAYERS;
    ek_order *order = lay_out(8, 8);
    ek_quick quick;
    assert_int_equal(ek_quick_tune(&model, order, NULL, 120000, 1, &quick, NULL), EK_OK);
    assert_true(quick.feasible);
    assert_true(quick.step[EK_QUICK_MOVED].fits);
    assert_true(quick.step[EK_QUICK_MOVED].longest - quick.step[EK_QUICK_MOVED].shortest <= 6);
    ek_quick_clear(&quick);
    ek_order_free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trying_every_plan_finds_no_better),
        cmocka_unit_test(of_equal_differences_the_shorter_longest_stage_wins),
        cmocka_unit_test(up_to_eight_stages_are_as_exact),
        cmocka_unit_test(the_rule_s_formula_by_hand),
        cmocka_unit_test(what_the_rule_does_not_know_is_refused),
        cmocka_unit_test(the_largest_case_takes_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
