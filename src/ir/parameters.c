/* Sums parameters by the prefixes of their names: weights, optimizer states, accumulated gradients, inputs. Uses the
 * entry's list; for a fragment without one, the formal parameters of its graphs, counting equal names once. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

/* Longer prefixes first where one is a prefix of another. */
static const char *const prefixes[] = {"adam_m", "adam_v", "exp_avg_sq", "exp_avg", "accu_grads", "moments"};
enum { N_PREFIXES = sizeof prefixes / sizeof *prefixes, WEIGHTS = N_PREFIXES, INPUTS, N_SUMS };

static int sum_of(const ek_ir *ir, const ek_ir_parameter *parameter, const ek_ir_type *type)
{
    const char *name = ek_ir_text(ir, parameter->name);
    if (!type->reference)
        return INPUTS;
    for (int i = 0; i < N_PREFIXES; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) == 0 && (name[n] == '.' || name[n] == '\0'))
            return i;
    }
    return WEIGHTS;
}

bool ek__ir_is_weight(const ek_ir *ir, const ek_ir_parameter *parameter)
{
    const ek_ir_type *type = parameter->type < ir->n_types ? &ir->type[parameter->type] : NULL;
    return type && type->tensor && sum_of(ir, parameter, type) == WEIGHTS;
}

static bool add(ek_ir_parameter_sum *sum, const ek_ir *ir, const ek_ir_parameter *parameter)
{
    const ek_ir_type *type = parameter->type < ir->n_types ? &ir->type[parameter->type] : NULL;
    if (!type || !type->tensor)
        return false;
    ek_ir_parameter_sum *s = &sum[sum_of(ir, parameter, type)];
    s->n++;
    if (type->bytes < 0)
        s->bytes = -1;
    else if (s->bytes >= 0 && __builtin_add_overflow(s->bytes, type->bytes, &s->bytes))
        s->bytes = INT64_MAX;
    return true;
}

static bool has_entry_list(const ek_ir *ir)
{
    for (uint32_t i = 0; i < ir->n_parameters; i++)
        if (ir->parameter[i].graph == EK_IR_NONE)
            return true;
    return false;
}

ek_status ek__ir_fact_parameters(ek__ir_context *context, ek_error *err)
{
    const ek_ir *ir = context->ir;
    ek_ir_report *report = context->report;
    ek_ir_parameter_sum sum[N_SUMS] = {0};
    bool entry = has_entry_list(ir), *seen = ek__pool_alloc(context->scratch, (size_t)ir->n_texts + 1, sizeof *seen);
    report->sum = ek__pool_alloc(report->pool, N_SUMS, sizeof *report->sum);
    if (!seen || !report->sum)
        return ek__no_memory(err);
    for (uint32_t i = 0; i < ir->n_parameters; i++) {
        const ek_ir_parameter *parameter = &ir->parameter[i];
        uint32_t name = parameter->name < ir->n_texts ? parameter->name : ir->n_texts;
        if (entry ? parameter->graph == EK_IR_NONE : !seen[name] || name == ir->n_texts)
            seen[name] |= add(sum, ir, parameter);
    }
    static const int order[N_SUMS] = {WEIGHTS, 0, 1, 3, 2, 4, 5, INPUTS};
    for (int i = 0; i < N_SUMS; i++) {
        ek_ir_parameter_sum *s = &sum[order[i]];
        s->prefix = order[i] == WEIGHTS ? "weights" : order[i] == INPUTS ? "inputs" : prefixes[order[i]];
        if (s->n > 0)
            report->sum[report->n_sums++] = *s;
    }
    return EK_OK;
}
