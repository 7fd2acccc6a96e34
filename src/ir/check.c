/* The driver of the checks, and how findings are made: sightings that are alike in check, primitive and place, the
 * number of the layer left out, become one finding, found by hashing, so that a graph of many layers costs one look-up
 * a sighting. Which of a finding's operators is shown is the first in the file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

const char *const ek_ir_severity_name[3] = {"note", "warning", "error"};

enum { MAX_LAYERS = 1024, MODULE_PATH = 256 };

/* Layers that a finding lies in, as bits. */
typedef struct layer_set {
    uint64_t in[MAX_LAYERS / 64];
} layer_set;

typedef struct table {
    size_t n_slots; /* a power of two, more than twice the findings */
    uint32_t *slot; /* finding + 1; 0: free */
    uint64_t *key;  /* [n_findings] */
    layer_set **in; /* [n_findings] */
    int *first_micro;
} table;

/* ---- hashes ---- */

uint64_t ek__ir_mix(uint64_t hash, uint64_t value)
{
    uint64_t z = hash * 0x9E3779B97F4A7C15u + value + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t hash_bytes(uint64_t hash, const char *text, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a, mixed at the end */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    return ek__ir_mix(hash, h);
}

uint64_t ek__ir_hash_text(const char *text)
{
    return hash_bytes(0, text, strlen(text));
}

static uint64_t hash_type(const ek_ir *ir, uint32_t type, int depth)
{
    if (type >= ir->n_types || depth > 8)
        return 7;
    const ek_ir_type *t = &ir->type[type];
    uint64_t hash = ek__ir_mix(t->dtype, t->rank + 64u * t->n_parts);
    for (uint32_t d = 0; d < t->rank; d++)
        hash = ek__ir_mix(hash, (uint64_t)ir->dim[t->first_dim + d]);
    for (uint32_t p = 0; p < t->n_parts && p < 256; p++)
        hash = ek__ir_mix(hash, hash_type(ir, ir->part[t->first_part + p], depth + 1));
    return hash;
}

uint64_t ek__ir_hash_type(const ek_ir *ir, uint32_t type)
{
    return hash_type(ir, type, 0);
}

/* "12-LLamaDecodeLayer" */
static size_t layer_digits(const char *element)
{
    size_t n = strspn(element, "0123456789");
    return n > 0 && element[n] == '-' ? n : 0;
}

uint64_t ek__ir_hash_scope(const char *scope, bool layers)
{
    static const char mark[] = "recompute_";
    uint64_t hash = 3;
    bool seen = false;
    while (*scope) {
        size_t n = strcspn(scope, "/"), skip = layers || seen ? 0 : layer_digits(scope);
        seen |= skip > 0;
        if (n >= sizeof mark - 1 && strncmp(scope, mark, sizeof mark - 1) == 0)
            skip = sizeof mark - 1;
        hash = hash_bytes(hash, scope + skip, n - skip);
        scope += n + (scope[n] == '/');
    }
    return hash;
}

/* ---- words ---- */

const char *ek__ir_say(ek__ir_context *context, const char *format, ...)
{
    va_list arguments;
    char small[512];
    va_start(arguments, format);
    int n = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    char *out = n < 0 ? NULL : ek__pool_alloc(context->report->pool, (size_t)n + 1, 1);
    if (!out) {
        context->out_of_memory = true;
        return "";
    }
    va_start(arguments, format);
    vsnprintf(out, (size_t)n + 1, format, arguments);
    va_end(arguments);
    return out;
}

const char *ek__ir_bytes_text(char out[static 32], int64_t bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    int u = 0;
    if (bytes < 0)
        return "an unknown number of bytes";
    if (bytes < 1024) {
        snprintf(out, 32, "%d B", (int)bytes);
        return out;
    }
    for (; value >= 1024 && u < 3; u++)
        value /= 1024;
    snprintf(out, 32, value < 10 ? "%.2f %s" : "%.1f %s", value, unit[u]);
    return out;
}

/* Where the elements below the outermost layer begin; NULL without a layer. */
static const char *below_layer(const char *scope)
{
    for (const char *at = scope; *at;) {
        size_t n = strcspn(at, "/");
        if (layer_digits(at))
            return at + n + (at[n] == '/');
        at += n + (at[n] == '/');
    }
    return NULL;
}

bool ek__ir_module_path(const ek__ir_context *context, uint32_t node, const char *separator, char *out, size_t size)
{
    uint32_t text = context->ir->node[node].scope;
    if (text == EK_IR_NONE)
        return false;
    const char *scope = context->ir->text[text], *at = below_layer(scope), *last = strrchr(scope, '/');
    size_t used = 0;
    if (!at)
        at = last ? last + 1 : scope;
    out[0] = '\0';
    while (*at) {
        size_t n = strcspn(at, "/"), name = strcspn(at, "-");
        int wrote = snprintf(out + used, size - used, "%s%.*s", used ? separator : "", (int)(name < n ? name : n), at);
        if (wrote < 0 || (size_t)wrote >= size - used)
            return false;
        used += (size_t)wrote;
        at += n + (at[n] == '/');
    }
    return true;
}

const char *ek__ir_name(ek__ir_context *context, uint32_t node)
{
    const ek_ir_node *n = &context->ir->node[node];
    char path[MODULE_PATH] = "", number[16] = "";
    if (n->number != EK_IR_NONE)
        snprintf(number, sizeof number, " %%%" PRIu32, n->number);
    bool known = ek__ir_module_path(context, node, ".", path, sizeof path) && *path;
    return ek__ir_say(context, known ? "%s%s (%s)" : "%s%s", ek_ir_text(context->ir, n->primitive), number, path);
}

/* ---- findings ---- */

static bool grow(ek__ir_context *c, table *t)
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
static size_t slot_of(const table *t, uint64_t key)
{
    size_t at = key & (t->n_slots - 1);
    while (t->slot[at] && t->key[t->slot[at] - 1] != key)
        at = (at + 1) & (t->n_slots - 1);
    return at;
}

static ek_ir_finding *add_finding(ek__ir_context *c, table *t, size_t slot, uint64_t key, const ek__ir_occurrence *s)
{
    ek_ir_report *report = c->report;
    int n = report->n_findings;
    ek_ir_finding *grown = ek__pool_push(report->pool, report->finding, n, sizeof *grown);
    uint64_t *keys = ek__pool_push(c->scratch, t->key, n, sizeof *keys);
    layer_set **in = ek__pool_push(c->scratch, t->in, n, sizeof(layer_set *));
    int *micro = ek__pool_push(c->scratch, t->first_micro, n, sizeof *micro);
    layer_set *bits = ek__pool_alloc(c->scratch, 1, sizeof *bits);
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

static void count_in(const ek__ir_context *c, const table *t, uint32_t index, const ek__ir_occurrence *s, int layer)
{
    ek_ir_finding *f = &c->report->finding[index];
    f->n_occurrences++;
    /* Micro-batches repeat the same operators, of which `alive` hold their values at once: one stands for all. */
    if (s->bytes > 0 && (!s->one_micro || c->ir->node[s->node].micro == t->first_micro[index]))
        f->bytes = f->bytes < 0 ? s->bytes : f->bytes > INT64_MAX - s->bytes ? INT64_MAX : f->bytes + s->bytes;
    if (layer < 0 || layer >= MAX_LAYERS)
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
    table *t = context->table;
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

/* ---- all of it ---- */

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
    table findings = {0};
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
