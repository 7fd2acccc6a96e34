/* Tests injected faults (fault_injection.h): the injected fault must be the first finding, and the predicted gain of
 * fixing it must lie within 10 % of the generator's loss. A healthy run must yield nothing above 1 %. In mixtures of
 * faults no gain may be above its cost, no cost above the step, and removing the first fault from the generator must
 * bring its gain. Every kind is run in two sizes and two shapes; the bench runs the whole matrix, and EK_LONG more
 * mixtures. */
#include "effort.h"
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "fault_injection.h"

static const double tolerance = 0.10; /* promised */
static const double most_healthy = 0.01;

static char folder[] = "/tmp/evenkeel-faults-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int n_wrong;

static void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("# WRONG: ", stdout);
    vfprintf(stdout, format, list);
    fputc('\n', stdout);
    va_end(list);
    n_wrong++;
}

static void list_findings(const ek_diagnosis *d)
{
    for (int i = 0; i < d->n_bottlenecks; i++)
        for (int k = 0; k < d->bottleneck[i].n_evidence; k++)
            printf("#        %s\n", d->bottleneck[i].evidence[k].text);
    for (int i = 0; i < d->n_bottlenecks; i++)
        printf("#     %d. %s: gain %.3f ms, %.2f %%, cost %.3f ms\n", i + 1, d->bottleneck[i].id,
               1e3 * d->bottleneck[i].gain_seconds, 100 * d->bottleneck[i].gain_share,
               1e3 * d->bottleneck[i].cost_seconds);
    for (int i = 0; i < d->n_notes; i++)
        printf("#     note: %s\n", d->note[i]);
}

/* Invariants of any diagnosis. */
static void check_bounds(const char *what, const ek_diagnosis *d)
{
    for (int i = 0; i < d->n_bottlenecks; i++) {
        const ek_bottleneck *b = &d->bottleneck[i];
        if (b->gain_seconds > b->cost_seconds)
            wrong("%s: %s gains %.3f ms of %.3f", what, b->id, 1e3 * b->gain_seconds, 1e3 * b->cost_seconds);
        if (b->cost_seconds > d->step_seconds || b->gain_seconds < 0)
            wrong("%s: %s costs %.3f ms of a step of %.3f", what, b->id, 1e3 * b->cost_seconds, 1e3 * d->step_seconds);
    }
}

static bool is_chosen(const char *what)
{
    const char *chosen = getenv("EK_ONLY");
    return !chosen || strstr(what, chosen);
}

static void check_seeded(const fault_run *r)
{
    fault_diagnosed d;
    double step = fault_step(&r->shape), cost = step - fault_step(&r->sound);
    fault_diagnose(r, folder, &d);
    const ek_bottleneck *first = d.diagnosis.n_bottlenecks > 0 ? &d.diagnosis.bottleneck[0] : NULL;
    double gain = first ? first->gain_seconds : NAN;
    printf("# %-64s injected %9.3f ms (%5.2f %%), predicted %9.3f ms, off by %6.2f %%\n", r->what, 1e3 * cost,
           100 * cost / step, 1e3 * gain, 100 * (gain / cost - 1));
    int before = n_wrong;
    if (!first || strcmp(first->id, r->id) != 0)
        wrong("%s: first is %s, expected %s", r->what, first ? first->id : "nothing", r->id);
    else if (!(fabs(gain - cost) <= tolerance * cost))
        wrong("%s: gain %.3f ms, injected %.3f ms", r->what, 1e3 * gain, 1e3 * cost);
    if (!(fabs(d.diagnosis.step_seconds - step) <= 0.01 * step))
        wrong("%s: a step is said to take %.3f ms, and takes %.3f ms", r->what, 1e3 * d.diagnosis.step_seconds,
              1e3 * step);
    check_bounds(r->what, &d.diagnosis);
    if (n_wrong > before)
        list_findings(&d.diagnosis);
    fault_diagnosed_clear(&d);
}

static void run_fault(int kind, trace_form form, int n_stages, double share, double jitter, unsigned seed)
{
    fault_run r;
    fault_make_one(&r, kind, form, n_stages, share, jitter, seed, true);
    if (is_chosen(r.what))
        check_seeded(&r);
}

/* Two shapes of every kind: without stages, and two; or two and four where there must be some. */
static void each_kind(double share, double jitter, unsigned seed)
{
    n_wrong = 0;
    for (int kind = (int)seed % effort(1, 4); kind < N_FAULT_KINDS; kind += effort(1, 4))
        for (int i = 0; i < 2; i++)
            run_fault(kind, TRACE_MINDSPORE, fault_kinds[kind].least_stages << i, share, jitter, seed);
    assert_int_equal(n_wrong, 0);
}

static void faults_of_five_percent_are_found(void **state)
{
    (void)state;
    each_kind(0.05, 0.03, 2);
}

static void faults_of_fifteen_percent_are_found(void **state)
{
    (void)state;
    each_kind(0.15, 0, 3);
}

static void faults_are_found_in_traces_of_torch_npu(void **state)
{
    (void)state;
    n_wrong = 0;
    for (int kind = 0; kind < N_FAULT_KINDS; kind++)
        for (int stages = 1; fault_kinds[kind].torch && stages <= 2; stages *= 2)
            run_fault(kind, TRACE_TORCH_NPU, stages, stages == 1 ? 0.05 : 0.1, 0.03 * (stages - 1), 9);
    assert_int_equal(n_wrong, 0);
}

static void check_healthy(trace_form form, int stages, double jitter)
{
    fault_run r = {.shape = fault_sound(form, stages, jitter, 11, false)};
    fault_diagnosed d;
    r.shape.launches = stages == 2;
    r.shape.n_data = stages == 1 ? 4 : 1;
    snprintf(r.what, sizeof r.what, "healthy, %s, %d stages, jitter %g", fault_form_name[form], stages, jitter);
    if (!is_chosen(r.what))
        return;
    fault_diagnose(&r, folder, &d);
    const ek_diagnosis *found = &d.diagnosis;
    printf("# %-64s %d findings, %d notes, %d not looked at\n", r.what, found->n_bottlenecks, found->n_notes,
           found->n_not_looked_at);
    for (int i = 0; i < found->n_bottlenecks; i++)
        if (!(found->bottleneck[i].gain_share <= most_healthy || found->bottleneck[i].share <= most_healthy))
            wrong("%s: finds %s", r.what, found->bottleneck[i].id);
    if (found->n_bottlenecks > 0)
        list_findings(found);
    fault_diagnosed_clear(&d);
}

static void healthy_runs_yield_nothing(void **state)
{
    (void)state;
    n_wrong = 0;
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
        for (int stages = 1; stages <= 2; stages++)
            check_healthy((trace_form)form, stages, stages == form % 2 + 1 ? 0.03 : 0);
    assert_int_equal(n_wrong, 0);
}

/* ---- several faults ---- */

static int kind_called(const char *name)
{
    for (int i = 0; i < N_FAULT_KINDS; i++)
        if (strcmp(fault_kinds[i].name, name) == 0)
            return i;
    fail_msg("no fault is called %s", name);
    return -1;
}

/* The cost of each: the run with all less the run without it. */
typedef struct mixture {
    int n, kind[3];
    double share[3], cost[3], step;
    fault_run run;
} mixture;

/* Each fault adds its prerequisites to the sound run, so that is made first and the faults are injected in the
 * result. */
static void mix(mixture *m, int n_stages, double jitter, unsigned seed)
{
    trace_shape sound = fault_sound(TRACE_MINDSPORE, n_stages, jitter, seed, true);
    fault_make(&m->run, &sound, m->kind, m->share, m->n);
    sound = m->run.sound;
    fault_make(&m->run, &sound, m->kind, m->share, m->n);
    m->step = fault_step(&m->run.shape);
    for (int i = 0; i < m->n; i++) {
        fault_run other;
        int kind[3], k = 0;
        double share[3];
        for (int j = 0; j < m->n; j++)
            if (j != i) {
                kind[k] = m->kind[j];
                share[k++] = m->share[j];
            }
        fault_make(&other, &sound, kind, share, k);
        m->cost[i] = m->step - fault_step(&other.shape);
    }
    snprintf(m->run.what, sizeof m->run.what, "%s, %s%s%s, %d stages", fault_kinds[m->kind[0]].name,
             fault_kinds[m->kind[1]].name, m->n > 2 ? ", " : "", m->n > 2 ? fault_kinds[m->kind[2]].name : "",
             n_stages);
}

static void check_place(const mixture *m, int i, int fault, const ek_diagnosis *d)
{
    const ek_bottleneck *found = i < d->n_bottlenecks ? &d->bottleneck[i] : NULL;
    printf("# %-100s injected %9.3f ms (%5.2f %%), predicted %9.3f ms\n", i ? "" : m->run.what, 1e3 * m->cost[fault],
           100 * m->cost[fault] / m->step, found ? 1e3 * found->gain_seconds : NAN);
    if (!found || strcmp(found->id, fault_kinds[m->kind[fault]].id) != 0)
        wrong("%s: number %d is %s, expected %s", m->run.what, i + 1, found ? found->id : "nothing",
              fault_kinds[m->kind[fault]].id);
    else if (!(fabs(found->gain_seconds - m->cost[fault]) <= tolerance * m->cost[fault]))
        wrong("%s: gain of %s is %.3f ms, injected %.3f ms", m->run.what, found->id, 1e3 * found->gain_seconds,
              1e3 * m->cost[fault]);
}

static void two_faults_are_found_in_the_order_of_their_cost(void **state)
{
    static const struct {
        const char *more, *less;
        int n_stages;
    } pairs[] = {
        {"gradients reduced after the backward pass", "data that come late", 1},
        {"data that come late", "gradients reduced after the backward pass", 2},
        {"a gather in every layer", "garbage collection", 1},
        {"slow dispatch", "data that come late", 1},
        {"data that come late", "an operator slow in some layers", 1},
        {"recomputation with room for all", "gradients reduced after the backward pass", 1},
    };
    (void)state;
    n_wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        mixture m = {.n = 2, .share = {0.1, 0.04}};
        fault_diagnosed d;
        m.kind[0] = kind_called(pairs[i].more);
        m.kind[1] = kind_called(pairs[i].less);
        mix(&m, pairs[i].n_stages, 0, 21);
        if (!is_chosen(m.run.what))
            continue;
        fault_diagnose(&m.run, folder, &d);
        int before = n_wrong;
        for (int k = 0; k < 2; k++)
            check_place(&m, k, k, &d.diagnosis);
        check_bounds(m.run.what, &d.diagnosis);
        if (n_wrong > before)
            list_findings(&d.diagnosis);
        fault_diagnosed_clear(&d);
    }
    assert_int_equal(n_wrong, 0);
}

/* Those that can be seeded beside one another: the others are about the shape of the whole run. */
static const char *const mixable[] = {"an operator slow in some layers",
                                      "gradients reduced after the backward pass",
                                      "a gather in every layer",
                                      "recomputation with room for all",
                                      "data that come late",
                                      "garbage collection",
                                      "slow dispatch"};
enum { N_MIXABLE = sizeof mixable / sizeof *mixable };

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Two or three of different findings, the last in the list changing the sound run last. */
static void draw(mixture *m, unsigned *state)
{
    m->n = 2 + (int)(next(state) % 2);
    for (int i = 0; i < m->n;) {
        int kind = kind_called(mixable[next(state) % N_MIXABLE]);
        bool new = true;
        for (int k = 0; k < i; k++)
            new = new &&strcmp(fault_kinds[kind].id, fault_kinds[m->kind[k]].id) != 0;
        if (!new)
            continue;
        m->kind[i] = kind;
        m->share[i++] = 0.02 + 0.001 * (next(state) % 130);
    }
}

/* The first finding, if a fault, equals the generator's loss by it. */
static void check_first(const mixture *m, const ek_diagnosis *d)
{
    for (int i = 0; i < m->n && d->n_bottlenecks > 0; i++)
        if (strcmp(d->bottleneck[0].id, fault_kinds[m->kind[i]].id) == 0) {
            check_place(m, 0, i, d);
            return;
        }
    wrong("%s: first is %s", m->run.what, d->n_bottlenecks > 0 ? d->bottleneck[0].id : "nothing");
}

static void removing_the_first_of_any_faults_brings_its_gain(void **state)
{
    (void)state;
    const int n = getenv("EK_LONG") ? 200 : 12;
    n_wrong = 0;
    for (int i = 0; i < n; i++) {
        unsigned random = 77u + (unsigned)i;
        mixture m = {0};
        fault_diagnosed d;
        draw(&m, &random);
        mix(&m, 1 + i % 2, 0.01 * (i % 3), random);
        if (!is_chosen(m.run.what))
            continue;
        fault_diagnose(&m.run, folder, &d);
        int before = n_wrong;
        check_first(&m, &d.diagnosis);
        check_bounds(m.run.what, &d.diagnosis);
        if (n_wrong > before)
            list_findings(&d.diagnosis);
        fault_diagnosed_clear(&d);
    }
    assert_int_equal(n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_five_percent_are_found),
        cmocka_unit_test(faults_of_fifteen_percent_are_found),
        cmocka_unit_test(faults_are_found_in_traces_of_torch_npu),
        cmocka_unit_test(healthy_runs_yield_nothing),
        cmocka_unit_test(two_faults_are_found_in_the_order_of_their_cost),
        cmocka_unit_test(removing_the_first_of_any_faults_brings_its_gain),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
