/* Which nodes of a graph are shown: those of one layer, those whose primitive, instance or scope a regular expression
 * is found in, or all. Nodes share their scopes, but the last part of a scope is a node's own, so every node is looked
 * at; what is not a node (parameters, graphs) is never left out. */
#include <regex.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"

enum { DEFAULT_TOP = 10 };

static ek_status compile(const char *pattern, regex_t *regex, ek_error *err)
{
    int problem = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB);
    char why[256];
    if (problem == 0)
        return EK_OK;
    regerror(problem, regex, why, sizeof why);
    if (problem == REG_ESPACE)
        return ek__no_memory(err);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "'%.200s' is no extended regular expression (%s); a dot or bracket that is meant as such needs a "
                    "backslash, as in 'w1\\.reshape'",
                    pattern, why);
}

ek_status ek_ir_view_check(const ek_ir_view *view, ek_error *err)
{
    regex_t regex;
    if (!view || !view->operators)
        return EK_OK;
    ek_status status = compile(view->operators, &regex, err);
    if (status == EK_OK)
        regfree(&regex);
    return status;
}

static bool found_in(const ek_ir *ir, const ek_ir_node *node, const regex_t *regex)
{
    char scope[EK__IR_SCOPE];
    const uint32_t text[] = {node->primitive, node->instance};
    for (int i = 0; i < 2; i++)
        if (text[i] != EK_IR_NONE && regexec(regex, ek_ir_text(ir, text[i]), 0, NULL, 0) == 0)
            return true;
    ek_ir_scope(ir, node, scope, sizeof scope);
    return scope[0] && regexec(regex, scope, 0, NULL, 0) == 0;
}

ek_status ek__ir_choose(const ek_ir *ir, const ek_ir_view *view, ek__ir_choice *out, ek_error *err)
{
    regex_t regex;
    const char *pattern = view ? view->operators : NULL;
    int layer = view ? view->layer : -1;
    if (!pattern && layer < 0) {
        *out = (ek__ir_choice){.all = true, .n = ir->n_nodes};
        return EK_OK;
    }
    ek_status status = pattern ? compile(pattern, &regex, err) : EK_OK;
    if (status)
        return status;
    ek__ir_choice choice = {.node = ek__alloc(ir->n_nodes, sizeof *choice.node)};
    for (uint32_t i = 0; choice.node && i < ir->n_nodes; i++) {
        const ek_ir_node *node = &ir->node[i];
        choice.node[i] = !(node->flags & EK_IR_RETURN) && (layer < 0 || ek_ir_layer(ir, node) == layer) &&
                         (!pattern || found_in(ir, node, &regex));
        choice.n += choice.node[i];
    }
    if (pattern)
        regfree(&regex);
    if (!choice.node)
        return ek__no_memory(err);
    *out = choice;
    return EK_OK;
}

void ek__ir_choice_clear(ek__ir_choice *choice)
{
    free(choice->node);
    *choice = (ek__ir_choice){0};
}

ek_status ek_ir_view_count(const ek_ir *ir, const ek_ir_view *view, uint32_t *n, ek_error *err)
{
    ek__ir_choice choice;
    ek_status status = ek__ir_choose(ir, view, &choice, err);
    if (status)
        return status;
    *n = choice.n;
    ek__ir_choice_clear(&choice);
    return EK_OK;
}

int ek__ir_top(const ek_ir_view *view)
{
    return view && view->top > 0 ? view->top : DEFAULT_TOP;
}
