/* Simulates plans and collects the results: the schedule of a plan, its order, its timeline, a name for its picture. */
#include "evenkeel/cases.h"
#include "evenkeel/balance.h"
#include "evenkeel/layers.h"
#include "evenkeel/strategies.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { DEFAULT_MICRO_BATCHES = 4 };

const ek_schedule *ek_case_schedule(const ek_case_options *options, int n_chunks, int less_memory)
{
    const ek_schedule *given = options->schedule;
    bool another_plan = options->n_chunks && n_chunks != options->n_chunks;
    if (given && !(another_plan && (n_chunks < given->min_chunks || n_chunks > given->max_chunks)))
        return given;
    return ek_schedule_for(n_chunks, options->n_pieces, less_memory == 1);
}

/* ---- names of pictures ---- */

static bool is_picture_taken(const ek_cases *cases, int n, const char *name)
{
    bool taken = strcmp(name, "comparison.svg") == 0; /* of all cases together */
    for (int i = 0; i < n && !taken; i++)
        taken = strcmp(name, cases->files[i]) == 0;
    return taken;
}

/* The plan's own name, kept inside the folder, and unique among the pictures. */
static void name_picture(ek_cases *cases, int i, const char *file)
{
    char *name = cases->files[i];
    size_t size = sizeof cases->files[i];
    char stem[200];
    snprintf(stem, sizeof stem, "%s", file ? file : cases->names[i]);
    for (char *c = stem; *c; c++)
        if (*c == '/')
            *c = '_';
    size_t n = strlen(stem);
    if (n > 4 && strcmp(stem + n - 4, ".svg") == 0)
        stem[n - 4] = '\0';
    snprintf(name, size, "%s.svg", stem);
    for (int copy = 2; is_picture_taken(cases, i, name); copy++)
        snprintf(name, size, "%s-%d.svg", stem, copy);
}

/* ---- adding ---- */

/* A failure of one plan, with its name. */
static ek_status fail_plan(const char *name, ek_status status, const ek_error *why, ek_error *err)
{
    ek__set_error(err, status, EK__NOWHERE, "plan '%s': %s", name, why->message);
    return status;
}

/* The order of a plan, laid out unless the last one is of the same shape and needs no plan; valid until the next call.
 */
static ek_status find_order(ek_cases *cases, const ek_balance_options *options, const ek_layers *layers,
                            const ek_plan *plan, const ek_schedule *schedule, const ek_shape *shape, ek_error *err)
{
    if (cases->order && !schedule->arrange) {
        const ek_shape *last = ek_order_shape(cases->order);
        if (ek_order_schedule(cases->order) == schedule && last->n_stages == shape->n_stages &&
            last->n_chunks == shape->n_chunks && last->n_micro_batches == shape->n_micro_batches &&
            last->n_pieces == shape->n_pieces)
            return EK_OK;
    }
    ek_order_free(cases->order);
    cases->order = NULL;
    return ek_order_for_plan(layers, plan, schedule, shape, options, &cases->order, err);
}

/* The options of a shape, and in *own the data that they borrow. */
static ek_status fill(const ek_case_options *how, const ek_shape *shape, ek_balance_options *out, void **own,
                      ek_error *err)
{
    *out = (ek_balance_options){.comm = how->comm, .memory_limit_mb = how->memory_limit_mb};
    *own = NULL;
    return how->lists ? how->lists->fill(how->lists->user, shape, out, own, err) : EK_OK;
}

static void release(const ek_case_options *how, void *own)
{
    if (how->lists)
        how->lists->release(own);
}

/* Takes ownership of `own`, from which `comm` borrows. */
static ek_status add_run(ek_cases *cases, const ek_case_options *how, const ek_comm *comm, void *own,
                         const ek_layers *layers, const char *name, const char *file, const ek_plan *plan,
                         const ek_order *order, ek_error *err)
{
    if (cases->n == EK_MAX_CASES) {
        release(how, own);
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "more than %d plans at once; split the file", EK_MAX_CASES);
    }
    int i = cases->n++; /* to be cleared, also after a failure */
    ek_error why;
    cases->own[i] = own;
    cases->release = how->lists ? how->lists->release : NULL;
    const ek_comm own_comm = {.p2p_time = comm->p2p_time, .blocking = comm->blocking, .edge_time = comm->edge_time};
    ek_status status = ek_plan_copy(plan, &cases->plans[i], &why);
    if (status == EK_OK)
        status = ek_simulate(order, plan, layers, &own_comm, &cases->timelines[i], &why);
    if (status)
        return fail_plan(name, status, &why, err);
    snprintf(cases->names[i], sizeof cases->names[i], "%s", name);
    name_picture(cases, i, file && *file ? file : NULL);
    cases->file_names[i] = cases->files[i];
    cases->cases[i] = (ek_case){cases->names[i], &cases->plans[i], &cases->timelines[i]};
    return EK_OK;
}

ek_status ek_cases_add_run(ek_cases *cases, const ek_case_options *how, const ek_layers *layers, const char *name,
                           const char *file, const ek_plan *plan, const ek_order *order, ek_error *err)
{
    ek_balance_options options;
    void *own;
    if (!name)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the plan has no name");
    ek_status status = fill(how, ek_order_shape(order), &options, &own, err);
    return status ? status : add_run(cases, how, &options.comm, own, layers, name, file, plan, order, err);
}

ek_status ek_cases_add(ek_cases *cases, const ek_case_options *how, const ek_layers *layers, const char *name,
                       const char *file, const ek_plan *plan, int n_micro_batches, int less_memory, ek_error *err)
{
    int pieces = how->n_pieces > 1 ? how->n_pieces : 1;
    if (!name || n_micro_batches < 1 || pieces > EK_MAX_MICRO_BATCHES / n_micro_batches)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "plan '%s': sequence pieces of all micro-batches must be 1 to %d (got %d of each of %d)",
                        name ? name : "without a name", EK_MAX_MICRO_BATCHES, pieces, n_micro_batches);
    const ek_shape shape = {.n_stages = plan->n_stages,
                            .n_chunks = plan->n_chunks,
                            .n_micro_batches = n_micro_batches * pieces,
                            .n_pieces = pieces};
    ek_balance_options options;
    ek_error why;
    void *own;
    ek_status status = fill(how, &shape, &options, &own, err);
    if (status)
        return status;
    const ek_schedule *schedule = ek_case_schedule(how, plan->n_chunks, less_memory);
    status = find_order(cases, &options, layers, plan, schedule, &shape, &why);
    if (status == EK_OK)
        return add_run(cases, how, &options.comm, own, layers, name, file, plan, cases->order, err);
    release(how, own);
    return fail_plan(name, status, &why, err);
}

/* ---- plan files ---- */

/* A plan that names its schedule keeps it unless another is given. */
static ek_case_options with_schedule(const ek_case_options *how, const ek_strategy *plan, const ek_listener *notes)
{
    ek_case_options own = *how;
    if (own.schedule || !plan->schedule || own.less_memory >= 0)
        return own;
    if (own.n_pieces <= 1 && plan->schedule->pieces)
        ek__warn(notes, EK__NOWHERE,
                 "plan '%s' splits sequences; it is run without pieces (-seq N and -train FILE cut them)", plan->name);
    else
        own.schedule = plan->schedule;
    return own;
}

static ek_status add_plan(ek_cases *cases, const ek_case_options *how, const ek_layers *layers, const char *path,
                          const ek_strategy *s, const ek_listener *notes, ek_error *err)
{
    int m = how->n_micro_batches ? how->n_micro_batches
                                 : (s->n_micro_batches > 0 ? s->n_micro_batches : DEFAULT_MICRO_BATCHES);
    if (!how->n_micro_batches && s->n_micro_batches == 0)
        ek__warn(notes, EK__NOWHERE, "plan '%s': %d micro-batches, the default (-mb)", s->name, m);
    if (how->n_stages && s->plan.n_stages != how->n_stages)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: plan '%s' is for %d stages, but -s is %d", path, s->name,
                        s->plan.n_stages, how->n_stages);
    if (how->same_chunks && how->n_chunks && s->plan.n_chunks != how->n_chunks)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: plan '%s' has %d chunks per stage, but -i is %d", path,
                        s->name, s->plan.n_chunks, how->n_chunks);
    const ek_case_options own = with_schedule(how, s, notes);
    return ek_cases_add(cases, &own, layers, s->name, s->file_name, &s->plan, m,
                        how->less_memory >= 0 ? how->less_memory : s->less_memory, err);
}

ek_status ek_cases_add_file(ek_cases *cases, const ek_case_options *how, const ek_layers *layers, const char *path,
                            const ek_listener *warnings, const ek_listener *notes, ek_error *err)
{
    ek_strategies strategies;
    ek_status status = ek_strategies_read(path, layers, how->n_stages, warnings, &strategies, err);
    if (status)
        return status;
    for (int i = 0; i < strategies.n && status == EK_OK; i++)
        status = add_plan(cases, how, layers, path, &strategies.strategy[i], notes, err);
    ek_strategies_clear(&strategies);
    return status;
}

void ek_cases_clear(ek_cases *cases)
{
    for (int i = 0; i < cases->n; i++) {
        ek_plan_clear(&cases->plans[i]);
        ek_timeline_clear(&cases->timelines[i]);
        if (cases->release)
            cases->release(cases->own[i]);
        cases->own[i] = NULL;
    }
    cases->n = 0;
    ek_order_free(cases->order);
    cases->order = NULL;
}
