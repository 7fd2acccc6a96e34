/* unit/report_fixture.h - a small model, simulated plans and golden files, for the tests of the writers.
 *
 * Times are sums of powers of two, so that every figure is exact and golden files hold on any machine. */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evenkeel/cases.h"
#include "evenkeel/layers.h"
#include "evenkeel/report.h"
#include "golden.h"
#include "skip.h"

typedef struct fixture {
    ek_layers layers;
    ek_layer body[2];
    ek_residual residual[2];
    int n_cases;
    ek_case cases[4];
    ek_plan plan[4];
    ek_timeline timeline[4];
} fixture;

static inline ek_layer fixture_layer(const char *name, int n_layers, double forward, double parameter_mb,
                                     double activation_mb)
{
    static const double coefficient[EK_N_RECOMPUTE] = {1, 1.0625, 1.125, 1.1875, 1.5};
    static const double kept[EK_N_RECOMPUTE] = {1, 0.75, 0.625, 0.5, 0.125};
    ek_layer layer = {.n_layers = n_layers, .forward_time = forward, .parameter_mb = parameter_mb};
    snprintf(layer.name, sizeof layer.name, "%s", name);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layer.backward_time[k] = 2 * forward * coefficient[k];
        layer.activation_mb[k] = activation_mb * kept[k];
        layer.modelled[k] = k != EK_RECOMPUTE_COMM;
    }
    return layer;
}

/** A model of one kind of body layer, from a dry run of two stages; COMM is not modelled. */
static inline void fixture_init(fixture *f, const char *name, int n_layers)
{
    memset(f, 0, sizeof *f);
    ek_layers *l = &f->layers;
    snprintf(l->name, sizeof l->name, "%s", name);
    f->body[0] = fixture_layer("Decoder", n_layers, 2, 512, 256);
    f->body[1] = fixture_layer("MoE", 0, 4, 1024, 128);
    l->body = f->body;
    l->n_body = 1;
    l->n_layers = n_layers;
    l->head = fixture_layer("Embedding", 1, 0.5, 640, 0);
    l->tail = fixture_layer("Head", 1, 1.25, 704, 0);
    l->const_mb = 128;
    memcpy(l->modelled, f->body[0].modelled, sizeof l->modelled);
    f->residual[0] = (ek_residual){0, 1, 5000, 5000.25};
    f->residual[1] = (ek_residual){1, 2, 4100, 4097.5};
    l->fit = (ek_memory_fit){.condition = 42.5, .const_modelled = true, .n_residuals = 2, .residual = f->residual};
}

/** Simulate the even plan of a shape with every layer recomputed as `kind`, and add it as a case. */
static inline void fixture_add_schedule(fixture *f, const char *name, ek_shape shape, const ek_schedule *schedule,
                                        ek_recompute kind)
{
    ek_error err = {0};
    ek_order *order = NULL;
    int i = f->n_cases++;
    if (ek_order_new(schedule, &shape, &order, &err) != EK_OK ||
        ek_plan_even(&f->layers, shape.n_stages, shape.n_chunks, kind, &f->plan[i], &err) != EK_OK ||
        ek_simulate(order, &f->plan[i], &f->layers, NULL, &f->timeline[i], &err) != EK_OK)
        fail_msg("%s", err.message);
    ek_order_free(order);
    f->cases[i] = (ek_case){name, &f->plan[i], &f->timeline[i]};
}

static inline void fixture_add(fixture *f, const char *name, ek_shape shape, int less_memory, ek_recompute kind)
{
    fixture_add_schedule(f, name, shape, ek_schedule_default(shape.n_chunks, less_memory), kind);
}

static inline ek_report fixture_report(const fixture *f, double limit_mb, const ek_balance_result *search)
{
    return (ek_report){
        .layers = &f->layers, .memory_limit_mb = limit_mb, .n_cases = f->n_cases, .cases = f->cases, .search = search};
}

static inline void fixture_clear(fixture *f)
{
    for (int i = 0; i < f->n_cases; i++) {
        ek_timeline_clear(&f->timeline[i]);
        ek_plan_clear(&f->plan[i]);
    }
}

typedef ek_status (*case_writer)(const ek_report *, int, FILE *, ek_error *);
typedef ek_status (*report_writer)(const ek_report *, FILE *, ek_error *);

/** The output of a writer, as a string to free. */
static inline char *written(const ek_report *report, report_writer whole, case_writer one, int case_index)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek_status status = whole ? whole(report, out, &err) : one(report, case_index, out, &err);
    assert_int_equal(fclose(out), 0);
    if (status != EK_OK)
        fail_msg("%s", err.message);
    if (!text)
        abort();
    return text;
}

/** A writer to a full disk reports it. */
static inline void assert_full_disk_reported(const ek_report *report, report_writer whole, case_writer one)
{
    FILE *out = need_full_disk();
    ek_error err = {0};
    ek_status status = whole ? whole(report, out, &err) : one(report, 0, out, &err);
    fclose(out);
    assert_int_equal(status, EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, "disk full"));
}

#endif
