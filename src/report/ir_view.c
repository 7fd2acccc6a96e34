/* Selects the nodes of a graph to show: those of one layer, those with a match of a regular expression in primitive,
 * instance or scope, or all. Nodes share their scopes, but the last part of a scope is individual, so every node is
 * checked; other entries (parameters, graphs) are always shown. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/regex.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"

enum { DEFAULT_TOP = 10 };

static ek_status compile(ek__regex_room *room, const char *pattern, const void **regex, ek_error *err)
{
    char why[EK__REGEX_WHY];
    ek__regex_start(room);
    *regex = ek__regex_read_part(room, pattern, strlen(pattern), why);
    if (*regex)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "'%.200s' is no regular expression (%s); a dot or bracket that is meant as such needs a backslash, "
                    "as in 'w1\\.reshape'",
                    pattern, why);
}

ek_status ek_ir_view_check(const ek_ir_view *view, ek_error *err)
{
    ek__regex_room room;
    const void *regex;
    return view && view->operators ? compile(&room, view->operators, &regex, err) : EK_OK;
}

static ek__regex_found find_in(const ek_ir *ir, const ek_ir_node *node, ek__regex_room *room, const void *regex)
{
    char scope[EK__IR_SCOPE];
    const uint32_t text[] = {node->primitive, node->instance};
    ek__regex_found found = EK__REGEX_ABSENT;
    for (int i = 0; i < 2 && !found; i++)
        if (text[i] != EK_IR_NONE)
            found = ek__regex_find(room, regex, ek_ir_text(ir, text[i]), strlen(ek_ir_text(ir, text[i])));
    if (found)
        return found;
    ek_ir_scope(ir, node, scope, sizeof scope);
    return scope[0] ? ek__regex_find(room, regex, scope, strlen(scope)) : found;
}

/* Mark the nodes of a layer (-1: any) that match an expression (NULL: any). */
static ek_status choose(const ek_ir *ir, const char *pattern, int layer, ek__ir_choice *choice, ek_error *err)
{
    ek__regex_room room;
    const void *regex = NULL;
    ek_status status = pattern ? compile(&room, pattern, &regex, err) : EK_OK;
    for (uint32_t i = 0; i < ir->n_nodes && !status; i++) {
        const ek_ir_node *node = &ir->node[i];
        if ((node->flags & EK_IR_RETURN) || (layer >= 0 && ek_ir_layer(ir, node) != layer))
            continue;
        ek__regex_found found = regex ? find_in(ir, node, &room, regex) : EK__REGEX_FOUND;
        if (found == EK__REGEX_TOO_LONG)
            status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                              "'%.200s' takes too many steps to look for, of operator '%.200s' first; a simpler "
                              "expression, without repetitions in repetitions, does not",
                              pattern, node->instance != EK_IR_NONE ? ek_ir_text(ir, node->instance) : "");
        choice->node[i] = found == EK__REGEX_FOUND;
        choice->n += choice->node[i];
    }
    return status;
}

ek_status ek__ir_choose(const ek_ir *ir, const ek_ir_view *view, ek__ir_choice *out, ek_error *err)
{
    const char *pattern = view ? view->operators : NULL;
    int layer = view ? view->layer : -1;
    if (!pattern && layer < 0) {
        *out = (ek__ir_choice){.all = true, .n = ir->n_nodes};
        return EK_OK;
    }
    ek__ir_choice choice = {.node = ek__alloc(ir->n_nodes, sizeof *choice.node)};
    ek_status status = choice.node ? choose(ir, pattern, layer, &choice, err) : ek__no_memory(err);
    if (status)
        ek__ir_choice_clear(&choice);
    else
        *out = choice;
    return status;
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
