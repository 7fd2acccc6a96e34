/* Merges occurrences into findings. Those with equal check, primitive and place, ignoring the number of the layer,
 * become one finding, found by hashing, so that a graph of many layers costs one look-up per occurrence. A finding
 * shows its first operator in the file. */
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

/* Layers of a finding, as bits. */
struct ek__ir_layer_set {
    uint64_t in[EK__IR_MAX_LAYERS / 64];
};

static bool grow(ek__ir_context *c, ek__ir_table *t)
{
    size_t n = t->n_slots ? 2 * t->n_slots : 256;
    uint32_t *slot = ek__pool_alloc(c->scratch, n, sizeof *slot);
    if (!slot)
        return false;
    for (int i = 0; i < c->report->n_findings; i++) {
        size_t at = t->key[i] & (n - 1);
        while (slot[at])
            at = (at + 1) & (n - 1);
        slot[at] = (uint32_t)i + 1;
    }
    t->slot = slot;
    t->n_slots = n;
    return true;
}

/* The slot of a key: its finding's or a free one. */
static size_t slot_of(const ek__ir_table *t, uint64_t key)
{
    size_t at = key & (t->n_slots - 1);
    while (t->slot[at] && t->key[t->slot[at] - 1] != key)
        at = (at + 1) & (t->n_slots - 1);
    return at;
}

static ek_ir_finding *add_finding(ek__ir_context *c, ek__ir_table *t, size_t slot, uint64_t key,
                                  const ek__ir_occurrence *s)
{
    ek_ir_report *report = c->report;
    int n = report->n_findings;
    ek_ir_finding *grown = ek__pool_push(report->pool, report->finding, n, sizeof *grown);
    uint64_t *keys = ek__pool_push(c->scratch, t->key, n, sizeof *keys);
    struct ek__ir_layer_set **in = ek__pool_push(c->scratch, t->in, n, sizeof(struct ek__ir_layer_set *));
    int *micro = ek__pool_push(c->scratch, t->first_micro, n, sizeof *micro);
    struct ek__ir_layer_set *bits = ek__pool_alloc(c->scratch, 1, sizeof *bits);
    if (grown)
        report->finding = grown;
    t->key = keys ? keys : t->key;
    t->in = in ? in : t->in;
    t->first_micro = micro ? micro : t->first_micro;
    if (!grown || !keys || !in || !micro || !bits)
        return NULL;
    grown[n] = (ek_ir_finding){.check = s->check, .severity = s->severity, .node = s->node, .n_chain = s->n_chain};
    memcpy(grown[n].chain, s->chain, sizeof grown[n].chain);
    grown[n].bytes = s->bytes < 0 ? -1 : 0;
    grown[n].bytes_of = s->bytes_of;
    grown[n].text = grown[n].advice = "";
    keys[n] = key;
    in[n] = bits;
    micro[n] = c->ir->node[s->node].micro;
    t->slot[slot] = (uint32_t)n + 1;
    report->n_findings++;
    return &grown[n];
}

static void count_in(const ek__ir_context *c, const ek__ir_table *t, uint32_t index, const ek__ir_occurrence *s,
                     int layer)
{
    ek_ir_finding *f = &c->report->finding[index];
    f->n_occurrences++;
    /* Micro-batches repeat the same operators, of which `alive` keep their values at once: one represents all. */
    if (s->bytes > 0 && (!s->one_micro || c->ir->node[s->node].micro == t->first_micro[index]))
        f->bytes = f->bytes < 0 ? s->bytes : f->bytes > INT64_MAX - s->bytes ? INT64_MAX : f->bytes + s->bytes;
    if (layer < 0 || layer >= EK__IR_MAX_LAYERS)
        return;
    uint64_t bit = (uint64_t)1 << (layer % 64);
    if (!(t->in[index]->in[layer / 64] & bit))
        f->n_layers++;
    t->in[index]->in[layer / 64] |= bit;
}

static bool is_damaged(const ek__ir_context *c, const ek__ir_occurrence *s)
{
    for (int i = 0; i < s->n_chain; i++)
        if (c->ir->node[s->chain[i]].flags & EK_IR_DAMAGED)
            return true;
    return c->ir->node[s->node].flags & EK_IR_DAMAGED;
}

ek_ir_finding *ek__ir_sight(ek__ir_context *context, const ek__ir_occurrence *sighting)
{
    ek__ir_table *t = context->table;
    if (context->out_of_memory || is_damaged(context, sighting))
        return NULL;
    if (2 * ((size_t)context->report->n_findings + 1) > t->n_slots && !grow(context, t)) {
        context->out_of_memory = true;
        return NULL;
    }
    const ek__ir_place *place = ek__ir_place_of(context, sighting->node);
    uint64_t key = ek__ir_mix(ek__ir_hash_text(sighting->check), sighting->key);
    key = ek__ir_mix(ek__ir_mix(key, context->ir->node[sighting->node].primitive), place->hash);
    size_t slot = slot_of(t, key);
    ek_ir_finding *made = NULL;
    if (!t->slot[slot]) {
        made = add_finding(context, t, slot, key, sighting);
        if (!made) {
            context->out_of_memory = true;
            return NULL;
        }
    }
    count_in(context, t, t->slot[slot] - 1, sighting, place->layer);
    return made;
}

int64_t ek__ir_while_alive(const ek__ir_context *context, int64_t bytes)
{
    int64_t all;
    if (bytes < 0)
        return -1;
    return __builtin_mul_overflow(bytes, (int64_t)context->options.alive, &all) ? INT64_MAX : all;
}

ek_status ek__ir_check_end(const ek__ir_context *context, ek_error *err)
{
    return context->out_of_memory ? ek__no_memory(err) : EK_OK;
}
