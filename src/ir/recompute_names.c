/* Requests that share a name. A pattern of select_recompute names every operator of a module with the same instance
 * name: `feed_forward\.w2\.reshape` is the Reshape before the product of w2 and the one after it. Where one of them is
 * in effect, one that the backward pass has no need of is no reason to remove the pattern. */
#include <stdlib.h>

#include "base/error.h"
#include "ir/check.h"

enum { NAME_BYTES = 256 };

typedef struct named {
    uint64_t name; /* of module, instance and layer */
    int request;
} named;

static uint64_t name_of(ek__ir_context *c, uint32_t node)
{
    char path[NAME_BYTES];
    if (!*ek_ir_text(c->ir, c->ir->node[node].instance) || !ek__ir_module_path(c, node, ".", path, sizeof path))
        return 0;
    uint64_t name = ek__ir_mix(ek__ir_hash_text(path), c->ir->node[node].instance);
    return ek__ir_mix(name, (uint64_t)(int64_t)ek__ir_place_of(c, node)->layer);
}

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

ek_status ek__ir_excuse_namesakes(ek__ir_context *context, ek_error *err)
{
    ek_ir_report *report = context->report;
    named *in_effect = ek__pool_alloc(context->scratch, (size_t)report->n_recompute, sizeof *in_effect);
    if (!in_effect)
        return ek__no_memory(err);
    size_t n = 0;
    for (int i = 0; i < report->n_recompute; i++) {
        const ek_ir_recompute *r = &report->recompute[i];
        uint64_t name = r->in_effect == EK_IR_YES ? name_of(context, r->node) : 0;
        if (name)
            in_effect[n++] = (named){name, i};
    }
    if (n > 1)
        qsort(in_effect, n, sizeof *in_effect, by_name);
    for (int i = 0; i < report->n_recompute && n > 0; i++) {
        ek_ir_recompute *r = &report->recompute[i];
        if (r->in_effect != EK_IR_NO || r->held != EK_IR_NONE)
            continue;
        named wanted = {name_of(context, r->node), i};
        r->by_design |= wanted.name && bsearch(&wanted, in_effect, n, sizeof *in_effect, by_name);
    }
    return ek__ir_check_end(context, err);
}
