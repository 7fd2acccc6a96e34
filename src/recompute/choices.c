/* Lists the recomputation choices of each framework. MindFormers has a pattern for any operator, and one for the
 * communication after any operator of a decoder layer; an operator with the same path in several kinds of layers is one
 * choice. The additional parts of a multi-token-prediction layer are not offered: its own embedding, loss and head.
 * Megatron has modules, MindSpeed-Core-MS two lists, torchtitan one policy. */
#include <string.h>

#include "base/error.h"
#include "job/megatron.h"
#include "model/pattern.h"
#include "recompute/sets.h"

static bool is_there(const ek__set_problem *p, const ek_set_pattern *pattern)
{
    for (int i = 0; i < p->n_choices; i++)
        if (p->choice[i].pattern[0].kind == pattern->kind && strcmp(p->choice[i].pattern[0].text, pattern->text) == 0)
            return true;
    return false;
}

static void add(ek__set_problem *p, const ek_set_pattern *pattern)
{
    if (!is_there(p, pattern) && p->n_choices < EK__MAX_CHOICES)
        p->choice[p->n_choices++] = (ek__choice){.n_patterns = 1, .pattern = {*pattern}};
}

/* ---- operators ---- */

/* @return false: if no pattern can name it */
static bool pattern_of(const ek__graph *graph, const ek__op *op, ek_set_pattern *out)
{
    bool comm = op->kind == EK__OP_COMM;
    if (op->always_recomputed || (comm && op->comm_after < 0))
        return false;
    out->kind = comm ? EK_PATTERN_COMM : EK_PATTERN_SELECT;
    ek__pattern_of_path(comm ? graph->op[op->comm_after].path : op->path, out->text, sizeof out->text);
    return true;
}

static void operators(ek__set_problem *p)
{
    for (int k = 0; k < p->n_layers; k++) {
        const ek__graph *graph = p->layer[k].cost.graph;
        ek_set_pattern pattern;
        for (int i = 0; i < graph->n_ops && p->layer[k].kind != EK__GRAPH_PREDICTION; i++)
            if (pattern_of(graph, &graph->op[i], &pattern))
                add(p, &pattern);
    }
}

/* ---- modules, lists, policies ---- */

static void put(ek__choice *choice, const char *text, ek_pattern_kind kind)
{
    ek_set_pattern *pattern = &choice->pattern[choice->n_patterns++];
    pattern->kind = kind;
    strncpy(pattern->text, text, sizeof pattern->text - 1);
}

static bool names_anything(const ek__set_problem *p, const ek__choice *choice)
{
    bool matched[EK__MAX_OPS];
    int n = 0;
    for (int k = 0; k < p->n_layers; k++)
        for (int i = 0; i < choice->n_patterns; i++)
            n += ek__pattern_match(p->layer[k].cost.graph, choice->pattern[i].text, choice->pattern[i].kind, matched);
    return n > 0;
}

static void add_if_named(ek__set_problem *p, const ek__choice *choice)
{
    if (names_anything(p, choice))
        p->choice[p->n_choices++] = *choice;
}

/* The last one is MindSpeed-LLM's separate switch, --recompute-activation-function. */
static void modules(ek__set_problem *p)
{
    const char *const *pattern;
    for (int i = 0; (pattern = ek__megatron_module_patterns(i)); i++) {
        ek__choice choice = {0};
        for (int k = 0; k < 2 && pattern[k]; k++)
            put(&choice, pattern[k], EK_PATTERN_SELECT);
        add_if_named(p, &choice);
    }
    ek__choice activation = {0};
    put(&activation, "mlp\\.activation_func", EK_PATTERN_SELECT);
    add_if_named(p, &activation);
}

static void lists(ek__set_problem *p)
{
    static const ek_pattern_kind kinds[] = {EK_PATTERN_SELECT, EK_PATTERN_COMM};
    for (int k = 0; k < 2; k++) {
        const char *const *text = ek__job_usual_patterns(&p->bare, kinds[k]);
        ek__choice choice = {0};
        if (*text)
            put(&choice, *text, kinds[k]);
        add_if_named(p, &choice);
    }
}

static ek_status policy(ek__set_problem *p)
{
    ek_job copy;
    ek__choice choice = {0};
    ek_status status = ek_job_copy(&p->bare, &copy, p->err);
    if (status)
        return status;
    ek__job_drop_patterns(&copy);
    status = ek__job_keep_products(&copy, EK__NOWHERE, p->err);
    for (int i = 0; !status && i < copy.n_patterns && i < EK__MAX_CHOICE_PATTERNS; i++)
        put(&choice, copy.pattern[i].text, copy.pattern[i].kind);
    if (!status)
        add_if_named(p, &choice);
    ek_job_clear(&copy);
    return status;
}

ek_status ek__set_choices(ek__set_problem *p)
{
    switch (p->job->framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        p->by_operator = true;
        operators(p);
        break;
    case EK_MEGATRON:
        modules(p);
        break;
    case EK_MINDSPEED:
        lists(p);
        break;
    case EK_TORCHTITAN:
        return policy(p);
    }
    return EK_OK;
}
