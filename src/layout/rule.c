/* Lists the rules of recomputation of each framework. MindFormers and MindSpeed-Core-MS have lists for every chunk;
 * Megatron-LM one --recompute-granularity for all, selective or full, the latter for the first layers of each chunk
 * (--recompute-method block); torchtitan one activation_checkpoint.mode: none, full, selective by operators or by every
 * n-th layer. */
#include "layout/rule.h"

#include "base/error.h"
#include "job/job_internal.h"

static int megatron_rule(int most, int index, ek__recompute_rule *out)
{
    if (index == 0)
        *out = (ek__recompute_rule){EK__RULE_NONE, 0};
    else if (index == 1)
        *out = (ek__recompute_rule){EK__RULE_SELECT, 0};
    else
        *out = (ek__recompute_rule){EK__RULE_FIRST, index - 1};
    return most + 2;
}

static int torchtitan_rule(int most, int index, ek__recompute_rule *out)
{
    int n = most - index + 2; /* every `most`-th layer at first, every second at last */
    if (index == 0)
        *out = (ek__recompute_rule){EK__RULE_NONE, 0};
    else if (index == 1)
        *out = (ek__recompute_rule){EK__RULE_PRODUCTS, 0};
    else
        *out = n > 1 ? (ek__recompute_rule){EK__RULE_EVERY, n} : (ek__recompute_rule){EK__RULE_FULL, 0};
    return most > 1 ? most + 2 : 3;
}

int ek__recompute_rule_at(const ek_job *job, int most, int index, ek__recompute_rule *out)
{
    switch (job->framework) {
    case EK_MEGATRON:
        return megatron_rule(most, index, out);
    case EK_TORCHTITAN:
        return torchtitan_rule(most, index, out);
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
    case EK_MINDSPEED:
    default:
        *out = (ek__recompute_rule){EK__RULE_LISTS, 0};
        return 1;
    }
}

ek__rule_says ek__rule_says_of(ek__recompute_rule rule)
{
    ek__rule_says says = {.may[EK_RECOMPUTE_NONE] = true};
    switch (rule.kind) {
    case EK__RULE_NONE:
        return says;
    case EK__RULE_SELECT:
        says.all = EK_RECOMPUTE_SELECT;
        return says;
    case EK__RULE_FIRST:
        says.may[EK_RECOMPUTE_FULL] = true;
        says.first = rule.n;
        return says;
    case EK__RULE_FULL:
    case EK__RULE_EVERY:
    case EK__RULE_PRODUCTS: /* its operators are those of its own patterns */
    case EK__RULE_LISTS:
    default:
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            says.may[k] = true;
        return says;
    }
}

int ek__rule_says_at(const ek_job *job, int index, ek__rule_says *out)
{
    static const ek__recompute_rule of_megatron[] = {{EK__RULE_NONE, 0}, {EK__RULE_SELECT, 0}, {EK__RULE_FIRST, 1}};
    bool megatron = job->framework == EK_MEGATRON;
    int n = megatron ? (int)(sizeof of_megatron / sizeof *of_megatron) : 1;
    if (index < n)
        *out = ek__rule_says_of(megatron ? of_megatron[index] : (ek__recompute_rule){.kind = EK__RULE_LISTS});
    return n;
}

/* The patterns of saved operators apply to every layer, in every plan. */
static ek_status use_products(ek_job *job, ek_error *err)
{
    ek__job_drop_patterns(job);
    ek__job_sum_patterns(job);
    job->model.fused_swiglu = job->model.gate_apart = false; /* every operator is separate */
    return ek__job_keep_products(job, (ek_origin){.file = job->path}, err);
}

ek_status ek__recompute_rule_job(const ek_job *job, ek__recompute_rule rule, ek_job *out, ek_error *err)
{
    ek_job copy;
    ek_status status = ek_job_copy(job, &copy, err);
    if (status)
        return status;
    if (rule.kind == EK__RULE_PRODUCTS)
        status = use_products(&copy, err);
    if (status)
        ek_job_clear(&copy);
    else
        *out = copy;
    return status;
}

void ek__lists_set(ek_job *job, int cell, int full, int select, int comm)
{
    ek_plan *plan = &job->plan;
    plan->full[cell] = full;
    plan->select[cell] = plan->comm[cell] = 0;
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern_kind kind = ek_pattern_list(&job->pattern[i]);
        job->pattern[i].layers[cell] = kind == EK_PATTERN_SELECT ? select
                                       : kind == EK_PATTERN_COMM ? comm
                                                                 : plan->layers[cell];
        if (kind == EK_PATTERN_SELECT)
            plan->select[cell] = select;
        if (kind == EK_PATTERN_COMM)
            plan->comm[cell] = comm;
    }
}

void ek__recompute_rule_set(ek_job *job, ek__recompute_rule rule, int cell, int before)
{
    int n = job->plan.layers[cell], first = rule.n < n ? rule.n : n;
    switch (rule.kind) {
    case EK__RULE_SELECT:
        ek__lists_set(job, cell, 0, n, 0);
        break;
    case EK__RULE_FIRST:
        ek__lists_set(job, cell, first, 0, 0);
        break;
    case EK__RULE_FULL:
        ek__lists_set(job, cell, n, 0, 0);
        break;
    case EK__RULE_PRODUCTS:
        ek__lists_set(job, cell, 0, n, n);
        break;
    case EK__RULE_EVERY:
        ek__lists_set(job, cell, (before + n) / rule.n - before / rule.n, 0, 0);
        break;
    case EK__RULE_LISTS:
    case EK__RULE_NONE:
        ek__lists_set(job, cell, 0, 0, 0);
        break;
    }
}
