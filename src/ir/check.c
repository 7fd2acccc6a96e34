/* Runs the checks of a graph: edges, facts, checks, then the findings sorted, worst first. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

const char *const ek__ir_severity_name[3] = {"note", "warning", "error"};
const char *const *const ek_ir_severity_name = ek__ir_severity_name;

static int worst_first(const void *a, const void *b)
{
    const ek_ir_finding *x = a, *y = b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    int check = strcmp(x->check, y->check);
    if (check)
        return check;
    return x->node != y->node ? (x->node < y->node ? -1 : 1) : strcmp(x->text, y->text);
}

/* ---- driver ---- */

static ek_status run(ek__ir_context *context, ek_error *err)
{
    static ek__ir_fact *const facts[] = {
#define EK__IR_FACT(name) ek__ir_fact_##name,
        EK__IR_FACT_LIST(EK__IR_FACT)
#undef EK__IR_FACT
    };
    static ek__ir_check *const checks[] = {
#define EK__IR_CHECK(name) ek__ir_check_##name,
        EK__IR_CHECK_LIST(EK__IR_CHECK)
#undef EK__IR_CHECK
    };
    ek_status status = ek__ir_edges_make(context, err);
    for (size_t i = 0; !status && i < sizeof facts / sizeof *facts; i++)
        status = facts[i](context, err);
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++)
        status = checks[i](context, err);
    return status ? status : ek__ir_check_end(context, err);
}

static ek_ir_check_options with_defaults(const ek_ir_check_options *options)
{
    ek_ir_check_options out = options ? *options : (ek_ir_check_options){0};
    if (out.alive < 1)
        out.alive = 1;
    if (out.large_bytes < 1)
        out.large_bytes = (int64_t)256 << 20;
    return out;
}

ek_status ek_ir_check(const ek_ir *ir, const ek_ir_check_options *options, ek_ir_report *out, ek_error *err)
{
    ek_ir_report report = {.ir = ir, .pool = ek__pool_new()};
    ek__ir_table findings = {0};
    ek__ir_context context = {
        .ir = ir, .options = with_defaults(options), .report = &report, .scratch = ek__pool_new(), .table = &findings};
    ek_status status = report.pool && context.scratch ? run(&context, err) : ek__no_memory(err);
    ek__pool_free(context.scratch);
    free(context.through);
    if (status) {
        ek__pool_free(report.pool);
        return status;
    }
    if (report.n_findings > 1)
        qsort(report.finding, (size_t)report.n_findings, sizeof *report.finding, worst_first);
    *out = report;
    return EK_OK;
}

void ek_ir_report_clear(ek_ir_report *report)
{
    ek__pool_free(report->pool);
    *report = (ek_ir_report){0};
}
