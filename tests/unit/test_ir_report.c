/* Tests the writers of a checked graph: every figure of random reports must be in the JSON, with sums computed again by
 * brute force; names of any bytes in every form; golden files; every allocation failing once. The reports are made by
 * the test, so that an error of a check does not hide one of a writer. */
#include "input.h"

#include <inttypes.h>
#include <jansson.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pool.h"
#include "described.h"
#include "evenkeel/ir.h"
#include "figures/ir_figures.h"
#include "figures/results.h"
#include "report/ir_internal.h"
#include "report/writers.h"
#include "report_fixture.h"
#include "skip.h"

/* ---- allocations that fail ---- */

void *__real_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size);
void *__real_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);

static int left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    if (left == 0) {
        left = -1;
        return true;
    }
    left -= left > 0;
    return false;
}

void *__wrap_ek__alloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__alloc(count, size);
}

void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__pool_alloc(pool, count, size);
}

/* ---- graphs and reports ---- */

static unsigned long long state_of_random;

static unsigned random_below(unsigned n)
{
    state_of_random = state_of_random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state_of_random >> 33) % n;
}

typedef struct made {
    ek_ir *ir;
    ek_ir_report report;
} made;

/* A graph of operators in the given layers and outside, each taking one or two before it; the last third is
 * backward. */
static char *graph_text(int n_nodes, int n_layers)
{
    static const char *const operator[] = {"MatMul", "Mul", "SiLU", "Reshape", "AllReduce", "AllGather"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs("# IR entry: @main\n\nsubgraph @main(%para1_x) {\n", out);
    for (int i = 0; i < n_nodes; i++) {
        const char *op = operator[random_below(6)];
        bool backward = i >= n_nodes * 2 / 3;
        fprintf(out, "  %%%d(CNode_%d) = PrimFunc_%s(", i, i, op);
        if (i == 0)
            fputs("%para1_x", out);
        else {
            unsigned second = random_below((unsigned)i),
                     first = random_below((unsigned)i); /* in this order everywhere */
            fprintf(out, "%%%u, %%%u", first, second);
        }
        fprintf(out, ") {instance name: %s} cnode_primal_attrs: {unique_id: \"%d\", micro: I64(%u)}\n", op, i,
                random_below(2));
        fprintf(out,
                "      : (<Tensor[Float16], (2, %d)>, <Tensor[Float16], (2, 8)>) -> (<Tensor[Float16], (2, %u)>)\n", 8,
                1 + random_below(3));
        fprintf(out, "      # Fullname with scope: (%sDefault/", backward ? "Gradients/" : "");
        unsigned layer = random_below((unsigned)n_layers + 1);
        if (layer < (unsigned)n_layers)
            fprintf(out, "layers-CellList/%u-LlamaDecodeLayer/feed_forward-FFN/", layer);
        fprintf(out, "w1-Linear/%s-op%d)\n", op, i);
    }
    fprintf(out, "  Return(%%%d)\n      : (<Tensor[Float16], (2, 8)>)\n}\n", n_nodes - 1);
    fclose(out);
    return text;
}

static ek_ir *read_text(const char *name, const char *text)
{
    ek_ir *ir = NULL;
    ek_error err = {0};
    if (ek_ir_parse(name, text, strlen(text), NULL, &ir, &err))
        fail_msg("%s", err.message);
    return ir;
}

static int by_bytes(const void *a, const void *b)
{
    const ek_ir_kept *p = a, *q = b;
    return p->bytes != q->bytes ? (p->bytes < q->bytes ? 1 : -1) : (p->node > q->node) - (p->node < q->node);
}

static void fill_recompute(ek_ir_report *r, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < n_nodes; i += 1 + random_below(3)) {
        ek_ir_recompute one = {.node = i, .in_effect = (ek_ir_answer)random_below(3), .bytes = random_below(1 << 30)};
        one.copy = one.in_effect == EK_IR_YES ? random_below(n_nodes) : EK_IR_NONE;
        one.held = one.in_effect == EK_IR_NO ? random_below(n_nodes) : EK_IR_NONE;
        one.consumer = one.in_effect == EK_IR_UNSEEN ? EK_IR_NONE : random_below(n_nodes);
        one.blocked_by = one.in_effect == EK_IR_NO ? random_below(n_nodes) : EK_IR_NONE;
        one.setting = one.in_effect == EK_IR_NO ? "feed_forward\\.w1\\.reshape" : NULL;
        one.by_design = one.in_effect == EK_IR_NO && random_below(4) == 0;
        one.bytes = random_below(5) == 0 ? -1 : one.bytes;
        r->recompute[r->n_recompute++] = one;
    }
}

static void fill_comms(ek_ir_report *r, uint32_t n_nodes)
{
    static const char *const group[] = {NULL, "hccl_world_group", "4-6301172352641561019"};
    for (uint32_t i = 0; i < n_nodes; i += 1 + random_below(3))
        r->comm[r->n_comms++] = (ek_ir_comm){.node = i,
                                             .kind = (ek_ir_comm_kind)random_below(EK_N_IR_COMM_KINDS),
                                             .role = (ek_ir_comm_role)random_below(EK_N_IR_COMM_ROLES),
                                             .group = group[random_below(3)],
                                             .n_ranks = (int)random_below(9),
                                             .bytes = (int64_t)random_below(1 << 28) - 1,
                                             .traffic = random_below(4) ? (int64_t)random_below(1 << 28) : -1,
                                             .backward = random_below(2),
                                             .copy = random_below(2),
                                             .layer = ek_ir_layer(r->ir, &r->ir->node[i]),
                                             .position = i};
}

static void fill_kept(ek_ir_report *r, uint32_t n_nodes)
{
    for (uint32_t i = 0; i < n_nodes; i += 1 + random_below(3)) {
        r->kept[r->n_kept++] = (ek_ir_kept){.node = i,
                                            .consumer = random_below(n_nodes),
                                            .n_consumers = 1 + (int)random_below(3),
                                            .bytes = (int64_t)random_below(1 << 20) - 1,
                                            .life = random_below(1000),
                                            .layer = ek_ir_layer(r->ir, &r->ir->node[i])};
        r->kept_bytes += r->kept[r->n_kept - 1].bytes > 0 ? r->kept[r->n_kept - 1].bytes : 0;
    }
    qsort(r->kept, (size_t)r->n_kept, sizeof *r->kept, by_bytes);
}

static void fill_rest(ek_ir_report *r, uint32_t n_nodes)
{
    static const char *const prefix[] = {"weights", "adam_m", "inputs"};
    for (int i = 0; i < 3; i++)
        r->sum[r->n_sums++] = (ek_ir_parameter_sum){prefix[i], 1 + random_below(9), random_below(1 << 30)};
    for (int i = 0; i < 12; i++) {
        ek_ir_finding *f = &r->finding[r->n_findings++];
        *f =
            (ek_ir_finding){.check = i % 2 ? "redistribution" : "recompute-costs-memory",
                            .severity = (ek_ir_severity)(2 - i / 4),
                            .node = random_below(n_nodes),
                            .n_chain = (int)random_below(EK_IR_MAX_CHAIN + 1),
                            .n_occurrences = 1 + (int)random_below(40),
                            .n_layers = (int)random_below(33),
                            .bytes = (int64_t)random_below(1 << 20) - 1,
                            .bytes_of = "held",
                            .text = "The text of a finding is as long as it needs to be, which may be more than a line "
                                    "of a terminal holds, so it is broken where a line would become too long.",
                            .advice = "Add this:\n  select_recompute: ['feed_forward\\.w1\\.reshape']"};
        for (int k = 0; k < f->n_chain; k++)
            f->chain[k] = random_below(n_nodes);
    }
}

static made make(int n_nodes, int n_layers, unsigned long long seed)
{
    state_of_random = seed;
    char *text = graph_text(n_nodes, n_layers);
    made m = {.ir = read_text("made.ir", text)};
    free(text);
    ek_ir_report *r = &m.report;
    size_t room = m.ir->n_nodes;
    *r = (ek_ir_report){.ir = m.ir, .has_backward = true};
    r->recompute = calloc(room, sizeof *r->recompute);
    r->comm = calloc(room, sizeof *r->comm);
    r->kept = calloc(room, sizeof *r->kept);
    r->sum = calloc(3, sizeof *r->sum);
    r->finding = calloc(12, sizeof *r->finding);
    assert_true(r->recompute && r->comm && r->kept && r->sum && r->finding);
    fill_recompute(r, (uint32_t)n_nodes);
    fill_comms(r, (uint32_t)n_nodes);
    fill_kept(r, (uint32_t)n_nodes);
    fill_rest(r, (uint32_t)n_nodes);
    return m;
}

static void clear(made *m)
{
    free(m->report.recompute);
    free(m->report.comm);
    free(m->report.kept);
    free(m->report.sum);
    free(m->report.finding);
    ek_ir_free(m->ir);
}

typedef ek_status writer(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err);

static ek_status write_one_json(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err)
{
    return ek__ir_write_json(&report, 1, view, out, err);
}

/* The output of a writer; the caller frees it. */
static char *text_of(writer *write, const ek_ir_report *report, const ek_ir_view *view)
{
    char *text = NULL;
    size_t size;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    if (write(report, view, out, &err))
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

static json_t *json_of(const ek_ir_report *report, const ek_ir_view *view)
{
    json_error_t problem;
    char *text = text_of(write_one_json, report, view);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        fail_msg("line %d: %s in:\n%s", problem.line, problem.text, text);
    check_described(ek__result_ir.fields, text, true);
    free(text);
    return root;
}

static const ek_ir_view all = {.layer = -1};

/* ---- JSON against the report ---- */

static const json_t *entry(const json_t *root, const char *list, int i)
{
    const json_t *found = json_array_get(json_object_get(root, list), (size_t)i);
    if (!found)
        fail_msg("%s has no entry %d", list, i);
    return found;
}

static void check_size(const json_t *root, const char *list, int n)
{
    if (json_array_size(json_object_get(root, list)) != (size_t)n)
        fail_msg("%s has %zu entries, not %d", list, json_array_size(json_object_get(root, list)), n);
}

/* `least`: values below it are null. */
static void check_int(const json_t *object, const char *key, int64_t value, int64_t least)
{
    const json_t *found = json_object_get(object, key);
    bool fine = value < least ? json_is_null(found) : json_is_integer(found) && json_integer_value(found) == value;
    if (!fine)
        fail_msg("%s is not %" PRId64, key, value);
}

static void check_text(const json_t *object, const char *key, const char *value)
{
    const json_t *found = json_object_get(object, key);
    bool fine = value ? json_is_string(found) && strcmp(json_string_value(found), value) == 0 : json_is_null(found);
    if (!fine)
        fail_msg("%s is not '%s'", key, value ? value : "null");
}

static void check_bool(const json_t *object, const char *key, bool value)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_boolean(found) || json_is_true(found) != value)
        fail_msg("%s is not %s", key, value ? "true" : "false");
}

static void check_number(const json_t *object, const char *key, const ek_ir *ir, uint32_t node)
{
    char text[32];
    if (node == EK_IR_NONE) {
        check_text(object, key, NULL);
        return;
    }
    snprintf(text, sizeof text, "%%%" PRIu32, ir->node[node].number);
    check_text(object, key, text);
}

static void check_node(const json_t *object, const ek_ir *ir, uint32_t node)
{
    char scope[512];
    ek_ir_scope(ir, &ir->node[node], scope, sizeof scope);
    check_number(object, "node", ir, node);
    check_text(object, "file", "made.ir");
    check_text(object, "graph", "main");
    check_text(object, "scope", scope);
    check_text(object, "operator", ek_ir_text(ir, ir->node[node].primitive));
    check_int(object, "line", ir->node[node].line, 0);
    check_int(object, "layer", ek_ir_layer(ir, &ir->node[node]), 0);
}

static void check_recompute(const json_t *root, const ek_ir_report *r)
{
    check_size(root, "recompute", r->n_recompute);
    for (int i = 0; i < r->n_recompute; i++) {
        const ek_ir_recompute *one = &r->recompute[i];
        const json_t *o = entry(root, "recompute", i);
        check_node(o, r->ir, one->node);
        check_bool(o, "requested", true);
        if (one->in_effect == EK_IR_UNSEEN)
            assert_true(json_is_null(json_object_get(o, "in_effect")));
        else
            check_bool(o, "in_effect", one->in_effect == EK_IR_YES);
        check_bool(o, "by_design", one->by_design);
        check_number(o, "copy", r->ir, one->copy);
        check_number(o, "held", r->ir, one->held);
        check_number(o, "consumer", r->ir, one->consumer);
        check_number(o, "blocked_by", r->ir, one->blocked_by);
        check_text(o, "setting", one->setting);
        check_int(o, "bytes", one->bytes, 0);
    }
}

static void check_comms(const json_t *root, const ek_ir_report *r)
{
    check_size(root, "communication", r->n_comms);
    for (int i = 0; i < r->n_comms; i++) {
        const ek_ir_comm *c = &r->comm[i];
        const json_t *o = entry(root, "communication", i);
        check_node(o, r->ir, c->node);
        check_text(o, "kind", ek_ir_comm_kind_name[c->kind]);
        check_text(o, "role", ek_ir_comm_role_name[c->role]);
        check_text(o, "group", c->group);
        check_int(o, "ranks", c->n_ranks, 1);
        check_int(o, "bytes", c->bytes, 0);
        check_int(o, "traffic_bytes", c->traffic, 0);
        check_bool(o, "backward", c->backward);
        check_bool(o, "copy", c->copy);
        check_int(o, "position", c->position, 0);
    }
}

static void check_kept(const json_t *root, const ek_ir_report *r)
{
    check_size(root, "kept", r->n_kept);
    for (int i = 0; i < r->n_kept; i++) {
        const ek_ir_kept *kept = &r->kept[i];
        const json_t *o = entry(root, "kept", i);
        check_node(o, r->ir, kept->node);
        check_int(o, "bytes", kept->bytes, 0);
        check_int(o, "life", kept->life, 0);
        check_int(o, "n_consumers", kept->n_consumers, 0);
        check_number(o, "consumer", r->ir, kept->consumer);
    }
}

static void check_findings(const json_t *root, const ek_ir_report *r)
{
    check_size(root, "findings", r->n_findings);
    for (int i = 0; i < r->n_findings; i++) {
        const ek_ir_finding *f = &r->finding[i];
        const json_t *o = entry(root, "findings", i);
        check_node(o, r->ir, f->node);
        check_text(o, "check", f->check);
        check_text(o, "severity", ek_ir_severity_name[f->severity]);
        check_int(o, "occurrences", f->n_occurrences, 0);
        check_int(o, "layers", f->n_layers, 0);
        check_int(o, "bytes", f->bytes, 0);
        check_text(o, "text", f->text);
        check_text(o, "advice", f->advice);
        check_size(o, "chain", f->n_chain);
        for (int k = 0; k < f->n_chain; k++)
            check_node(entry(o, "chain", k), r->ir, f->chain[k]);
    }
}

static void json_agrees_figure_by_figure(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        made m = make(20 + (int)seed * 7, 4, seed);
        const ek_ir_report *r = &m.report;
        json_t *root = json_of(r, &all);
        check_int(root, "version", 1, 0);
        check_recompute(root, r);
        check_comms(root, r);
        check_kept(root, r);
        check_findings(root, r);
        check_size(root, "parameters", r->n_sums);
        for (int i = 0; i < r->n_sums; i++) {
            check_text(entry(root, "parameters", i), "prefix", r->sum[i].prefix);
            check_int(entry(root, "parameters", i), "n", r->sum[i].n, 0);
            check_int(entry(root, "parameters", i), "bytes", r->sum[i].bytes, 0);
        }
        check_int(entry(root, "files", 0), "operators", m.ir->n_operators, 0);
        check_int(entry(root, "files", 0), "kept_bytes_of_graph", r->kept_bytes, 0);
        check_int(entry(root, "files", 0), "bytes", m.ir->bytes, 0);
        check_text(entry(root, "graphs", 0), "name", "main");
        check_int(entry(root, "graphs", 0), "nodes", m.ir->n_nodes, 0);
        assert_null(json_object_get(root, "nodes"));
        json_decref(root);
        clear(&m);
    }
}

/* ---- sums against brute force ---- */

static void communication_sums_are_those_of_each_kind_role_and_group(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        made m = make(90, 3, seed);
        const ek_ir_report *r = &m.report;
        ek__ir_sums sums;
        int n = 0;
        assert_int_equal(ek__ir_sum(r, &all, &sums, NULL), EK_OK);
        for (int s = 0; s < sums.n_comms; s++) {
            const ek__ir_comm_sum *sum = &sums.comm[s];
            ek__ir_comm_sum slow = {0};
            for (int i = 0; i < r->n_comms; i++) {
                const ek_ir_comm *c = &r->comm[i];
                if (c->kind != sum->kind || c->role != sum->role || c->group != sum->group)
                    continue;
                slow.n++;
                slow.n_backward += c->backward;
                slow.n_copies += c->copy;
                slow.n_unknown += c->bytes < 0 || c->traffic < 0;
                slow.bytes += c->bytes < 0 ? 0 : c->bytes;
                slow.traffic += c->traffic < 0 ? 0 : c->traffic;
            }
            assert_true(slow.n == sum->n && slow.n_backward == sum->n_backward && slow.n_copies == sum->n_copies);
            assert_true(slow.n_unknown == sum->n_unknown && slow.bytes == sum->bytes && slow.traffic == sum->traffic);
            assert_true(s == 0 || sums.comm[s - 1].traffic >= sum->traffic);
            n += sum->n;
        }
        assert_int_equal(n, r->n_comms); /* each in exactly one */
        ek__ir_sums_clear(&sums);
        clear(&m);
    }
}

/* Memory is summed for micro-batch 0 of 0 and 1. */
static bool counts(const ek_ir_report *r, uint32_t node)
{
    return r->ir->node[node].micro == 0;
}

static void layer_sums_are_those_of_each_layer(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        made m = make(120, 5, seed);
        const ek_ir_report *r = &m.report;
        ek__ir_sums sums;
        int n_kept = 0, n_comms = 0, first = 0;
        assert_int_equal(ek__ir_sum(r, &all, &sums, NULL), EK_OK);
        for (int s = 0; s < sums.n_layers; s++) {
            const ek__ir_layer_sum *layer = &sums.layer[s];
            int kept = 0, comms = 0, recompute = 0;
            int64_t bytes = 0, traffic = 0;
            for (int i = 0; i < r->n_kept; i++)
                if (r->kept[i].layer == layer->layer && counts(r, r->kept[i].node)) {
                    kept++;
                    bytes += r->kept[i].bytes > 0 ? r->kept[i].bytes : 0;
                }
            for (int i = 0; i < r->n_comms; i++)
                if (r->comm[i].layer == layer->layer) {
                    comms++;
                    traffic += r->comm[i].traffic > 0 ? r->comm[i].traffic : 0;
                }
            for (int i = 0; i < r->n_recompute; i++)
                recompute += ek_ir_layer(r->ir, &r->ir->node[r->recompute[i].node]) == layer->layer;
            for (int k = 0; k < EK__IR_N_OUTCOMES; k++)
                recompute -= layer->n_recompute[k];
            assert_true(kept == layer->n_kept && bytes == layer->kept);
            assert_true(comms == layer->n_comms && traffic == layer->traffic);
            assert_int_equal(recompute, 0);
            n_kept += kept;
            n_comms += comms;
            /* In order, outside layers (-1) last. */
            assert_true(s == 0 || (unsigned)sums.layer[s - 1].layer < (unsigned)layer->layer);
        }
        for (int i = 0; i < r->n_kept; i++)
            first += counts(r, r->kept[i].node);
        assert_true(n_kept == first && first < r->n_kept && n_comms == r->n_comms);
        ek__ir_sums_clear(&sums);
        clear(&m);
    }
}

static void groups_hold_every_entry_once(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        made m = make(150, 8, seed);
        const ek_ir_report *r = &m.report;
        ek__ir_sums sums;
        int kept = 0, blocked = 0, first = 0;
        int64_t bytes = 0, slow = 0, held = 0;
        assert_int_equal(ek__ir_sum(r, &all, &sums, NULL), EK_OK);
        for (int g = 0; g < sums.n_kept_groups; g++) {
            const ek__ir_group *group = &sums.kept_like[g];
            kept += group->n;
            bytes += group->bytes;
            assert_true(group->first_layer <= group->last_layer);
            assert_true(g == 0 || sums.kept_like[g - 1].bytes >= group->bytes);
        }
        for (int g = 0; g < sums.n_blocked; g++)
            blocked += sums.blocked[g].n, held += sums.blocked[g].bytes;
        for (int i = 0; i < r->n_kept; i++)
            if (counts(r, r->kept[i].node)) {
                first++;
                slow += r->kept[i].bytes > 0 ? r->kept[i].bytes : 0;
            }
        assert_int_equal(kept, first);
        assert_true(bytes == slow && bytes == sums.kept);
        assert_true(held == sums.outcome[EK__IR_NOT_IN_EFFECT]);
        slow = 0;
        for (int i = 0; i < r->n_recompute; i++) {
            const ek_ir_recompute *one = &r->recompute[i];
            if (one->in_effect == EK_IR_NO && !one->by_design && counts(r, one->node) && one->bytes > 0)
                slow += one->bytes;
        }
        assert_true(held == slow && held > 0);
        assert_int_equal(blocked, sums.n_outcome[EK__IR_NOT_IN_EFFECT]);
        assert_true(sums.n_kept_groups < first); /* 8 layers are alike: something was joined */
        ek__ir_sums_clear(&sums);
        clear(&m);
    }
}

static void takers_are_those_that_name_a_node(void **state)
{
    (void)state;
    made m = make(200, 3, 7);
    const ek_ir *ir = m.ir;
    ek__ir_takers uses;
    assert_int_equal(ek__ir_find_takers(ir, &uses, NULL), EK_OK);
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        uint32_t at = uses.first[i];
        for (uint32_t k = 0; k < ir->n_nodes; k++)
            for (uint32_t q = 0; q < ir->node[k].n_inputs; q++) {
                const ek_ir_input *input = &ir->input[ir->node[k].first_input + q];
                if (input->kind == EK_IR_INPUT_NODE && input->index == i)
                    assert_int_equal(uses.consumer[at++], k);
            }
        assert_int_equal(at, uses.first[i + 1]);
    }
    ek__ir_takers_clear(&uses);
    clear(&m);
}

static void a_node_is_called_by_its_number_and_a_return_by_what_it_is(void **state)
{
    (void)state;
    ek_ir *ir;
    ek_error err = {0};
    int n_returns = 0, n_numbered = 0;
    if (ek_ir_read(source_path("tests/data/ir_check/redistribution.ir"), NULL, NULL, &ir, &err))
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *node = &ir->node[i];
        char number[16];
        snprintf(number, sizeof number, "%%%u", (unsigned)node->number);
        bool is_return = node->flags & EK_IR_RETURN;
        assert_string_equal(ek__ir_node_label(ir, i).text, is_return ? "Return" : number);
        assert_int_equal(strcmp(ek__ir_primitive(ir, i), "Return") == 0, is_return);
        n_returns += is_return;
        n_numbered += !is_return;
    }
    assert_true(n_returns == 1 && n_numbered > 20);
    assert_string_equal(ek__ir_node_label(ir, EK_IR_NONE).text, "-");
    ek_ir_free(ir);
}

/* ---- shown parts ---- */

static void a_view_shows_its_layer_and_its_operators_only(void **state)
{
    (void)state;
    made m = make(120, 4, 3);
    static const struct {
        ek_ir_view view;
        const char *primitive; /* NULL: any */
    } cases[] = {{{.layer = 2}, NULL},
                 {{.layer = -1, .operators = "^SiLU$"}, "SiLU"},
                 {{.layer = 1, .operators = "^Mat"}, "MatMul"},
                 {{.layer = -1, .operators = "^(?i)silu\\b"}, "SiLU"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek_ir_view *view = &cases[i].view;
        json_t *root = json_of(&m.report, view);
        const json_t *nodes = json_object_get(root, "nodes"), *node;
        size_t at, expected = 0;
        uint32_t counted;
        for (uint32_t k = 0; k < m.ir->n_nodes; k++) {
            const ek_ir_node *n = &m.ir->node[k];
            expected += !(n->flags & EK_IR_RETURN) && (view->layer < 0 || ek_ir_layer(m.ir, n) == view->layer) &&
                        (!cases[i].primitive || strcmp(ek_ir_text(m.ir, n->primitive), cases[i].primitive) == 0);
        }
        assert_true(expected > 0);
        assert_int_equal(json_array_size(nodes), expected);
        assert_int_equal(ek_ir_view_count(m.ir, view, &counted, NULL), EK_OK);
        assert_int_equal(counted, expected);
        json_array_foreach(nodes, at, node)
        {
            if (view->layer >= 0)
                assert_int_equal(json_integer_value(json_object_get(node, "layer")), view->layer);
            if (cases[i].primitive)
                assert_string_equal(json_string_value(json_object_get(node, "operator")), cases[i].primitive);
        }
        static const char *const lists[] = {"recompute", "communication", "kept"};
        for (int k = 0; k < 3; k++)
            json_array_foreach(json_object_get(root, lists[k]), at, node) if (view->layer >= 0)
                assert_int_equal(json_integer_value(json_object_get(node, "layer")), view->layer);
        json_decref(root);
    }
    clear(&m);
}

static void findings_below_the_least_severity_are_left_out(void **state)
{
    (void)state;
    made m = make(40, 2, 5);
    for (int least = 0; least < 3; least++) {
        const ek_ir_view view = {.layer = -1, .least = (ek_ir_severity)least};
        json_t *root = json_of(&m.report, &view);
        const json_t *finding;
        size_t at;
        check_size(root, "findings", 12 - 4 * least); /* four of each */
        json_array_foreach(json_object_get(root, "findings"), at, finding) for (int below = 0; below < least; below++)
            assert_string_not_equal(json_string_value(json_object_get(finding, "severity")),
                                    ek_ir_severity_name[below]);
        json_decref(root);
    }
    clear(&m);
}

static void a_wrong_expression_is_refused_with_its_reason(void **state)
{
    (void)state;
    static const char *const wrong[] = {"(", "[a", "a{2,1}", "\\"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ek_error err = {0};
        assert_int_equal(ek_ir_view_check(&(ek_ir_view){.operators = wrong[i]}, &err), EK_ERR_INPUT);
        assert_non_null(strstr(err.message, wrong[i]));
    }
    assert_int_equal(ek_ir_view_check(&(ek_ir_view){.operators = "w1.*(Reshape|Mul)"}, NULL), EK_OK);
    assert_int_equal(ek_ir_view_check(&all, NULL), EK_OK);
}

/* "(x+)+y" goes back 2^40 times in a row of 40 x. */
static void an_expression_that_takes_too_many_steps_is_an_error(void **state)
{
    (void)state;
    static const char text[] = "subgraph @g(%para1_x) {\n"
                               "  %0(CNode_1) = PrimFunc_Mul(%para1_x) {instance name: "
                               "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}\n"
                               "      : (<Tensor[Float16], (2, 8)>) -> (<Tensor[Float16], (2, 8)>)\n"
                               "}\n";
    ek_ir *ir = read_text("steps.ir", text);
    ek_error err = {0};
    uint32_t n = 7;
    assert_int_equal(ek_ir_view_count(ir, &(ek_ir_view){.layer = -1, .operators = "(x+)+[yz]w?(?<!q)$"}, &n, &err),
                     EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "too many steps"));
    assert_int_equal(n, 7);
    assert_int_equal(ek_ir_view_count(ir, &(ek_ir_view){.layer = -1, .operators = "x+$"}, &n, &err), EK_OK);
    assert_int_equal(n, 1);
    ek_ir_free(ir);
}

/* ---- names of any bytes ---- */

static const char hostile[] = "subgraph @gr<b>\"&amp;(%para1_x) {\n"
                              "  %0(CNode_1) = PrimFunc_Mul(%para1_x, \"a\\\"b</svg>\") {instance name: m\"<&>}\n"
                              "      : (<Tensor[Float16], (2, 8)>) -> (<Tensor[Float16], (2, 8)>)\n"
                              "      # Fullname with scope: (Default/a\x1b[31m\"b/<script>&\\n/\xff\xfe/0-L/Mul-op0)\n"
                              "  %1(CNode_2) = PrimFunc_SiLU(%0)\n"
                              "      : (<Tensor[Float16], (2, 8)>) -> (<Tensor[Float16], (2, 8)>)\n"
                              "      # Fullname with scope: (Gradients/Default/\\\"]; evil [label=\"x/0-L/SiLU-op0)\n"
                              "}\n";

static made make_hostile(void)
{
    made m = {.ir = read_text("a\"b\n<c>.ir", hostile)};
    m.report = (ek_ir_report){.ir = m.ir, .has_backward = true};
    m.report.kept = calloc(1, sizeof *m.report.kept);
    m.report.kept[m.report.n_kept++] = (ek_ir_kept){0, 1, 1, 32, 1, 0};
    m.report.recompute = calloc(1, sizeof *m.report.recompute);
    m.report.recompute[m.report.n_recompute++] =
        (ek_ir_recompute){0, EK_IR_NO, EK_IR_NONE, 0, 1, 0, 32, "it's\x1b\\.\xff", false};
    return m;
}

static void hostile_names_leave_json_valid_and_whole(void **state)
{
    (void)state;
    made m = make_hostile();
    assert_int_equal(m.ir->n_operators, 2);
    json_t *root = json_of(&m.report, &(ek_ir_view){.layer = -1, .operators = "."});
    const char *scope = json_string_value(json_object_get(entry(root, "nodes", 0), "scope"));
    assert_string_equal(scope, "Default/a\x1b[31m\"b/<script>&\\n/\xef\xbf\xbd\xef\xbf\xbd/0-L/Mul-op0");
    check_text(entry(root, "files", 0), "file", "a\"b\n<c>.ir");
    json_decref(root);
    clear(&m);
}

static void hostile_names_send_nothing_to_a_terminal(void **state)
{
    (void)state;
    made m = make_hostile();
    char *text = text_of(ek__ir_write_text, &m.report, &(ek_ir_view){.layer = -1, .operators = "."});
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 && *c != '\n')
            fail_msg("control character %d in the text", *c);
    assert_null(strchr(text, '\xff'));
    assert_non_null(strstr(text, "'it''s?\\.")); /* quoted as YAML wants it */
    free(text);
    clear(&m);
}

/* Quotes of DOT's strings, counted as Graphviz reads them: one inside a string ends it unless a backslash is before. */
static void check_quotes(const char *dot)
{
    for (const char *line = dot; *line;) {
        size_t n = strcspn(line, "\n");
        bool inside = false;
        for (size_t i = 0; i < n; i++) {
            if (inside && line[i] == '\\')
                i++;
            else if (line[i] == '"')
                inside = !inside;
            else if (!inside && strchr("<&", line[i]))
                fail_msg("markup outside of a string: %.*s", (int)n, line);
        }
        if (inside)
            fail_msg("a string is open at the end of: %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

/* The picture of a DOT text by Graphviz, or NULL where that is absent. */
static char *drawn(const char *dot)
{
    char in[] = "/tmp/ek_ir_dot_XXXXXX", command[256], svg[64];
    size_t size;
    if (system("command -v dot >/dev/null 2>&1") != 0)
        return NULL;
    int fd = mkstemp(in);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, dot, strlen(dot)), strlen(dot));
    close(fd);
    snprintf(svg, sizeof svg, "%s.svg", in);
    snprintf(command, sizeof command, "dot -Tsvg -o %s %s 2>&1", svg, in);
    assert_int_equal(system(command), 0);
    char *picture = slurp(svg, &size);
    unlink(in);
    unlink(svg);
    return picture;
}

static void hostile_names_stay_within_their_labels(void **state)
{
    (void)state;
    made m = make_hostile();
    char *dot = text_of(ek__ir_write_dot, &m.report, &all);
    check_quotes(dot);
    char *picture = drawn(dot);
    if (picture) {
        int n = 0;
        for (const char *at = picture; (at = strstr(at, "class=\"node\"")); at++)
            n++;
        assert_int_equal(n, 3); /* two operators and a parameter; no third that a name made */
        assert_null(strstr(picture, "<script"));
    }
    free(picture);
    free(dot);
    clear(&m);
}

/* ---- DOT ---- */

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

static void dot_draws_every_operator_and_edge(void **state)
{
    (void)state;
    made m = make(60, 3, 11);
    char *dot = text_of(ek__ir_write_dot, &m.report, &all);
    uint32_t edges = 0;
    for (uint32_t k = 0; k < m.ir->n_inputs; k++)
        edges += m.ir->input[k].kind == EK_IR_INPUT_NODE || m.ir->input[k].kind == EK_IR_INPUT_PARAMETER;
    assert_int_equal(count_of(dot, " -> "), edges);
    assert_int_equal(count_of(dot, "fillcolor=") - count_of(dot, "shape=ellipse"), m.ir->n_nodes);
    check_quotes(dot);
    char *picture = drawn(dot);
    if (picture)
        assert_int_equal(count_of(picture, "class=\"node\""), (int)m.ir->n_nodes + count_of(dot, "shape=ellipse"));
    free(picture);
    free(dot);
    clear(&m);
}

static void too_much_to_draw_is_refused(void **state)
{
    (void)state;
    made m = make(EK_IR_MAX_DRAWN + 1, 3, 11);
    ek_error err = {0};
    FILE *out = tmpfile();
    assert_int_equal(ek__ir_write_dot(&m.report, &all, out, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "--layer"));
    assert_int_equal(ek__ir_write_dot(&m.report, &(ek_ir_view){.layer = 77}, out, &err), EK_ERR_INPUT);
    assert_int_equal(ftell(out), 0); /* nothing half-written */
    fclose(out);
    clear(&m);
}

/* ---- text ---- */

static void sizes_are_written_with_the_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{-1, "-"},
                 {0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KiB"},
                 {(1 << 20) - 1, "1024.0 KiB"},
                 {1 << 20, "1.0 MiB"},
                 {90177536, "86.0 MiB"},
                 {(10000LL << 20) - (1 << 20), "9999.0 MiB"},
                 {10000LL << 20, "9.8 GiB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ek__ir_size(cases[i].bytes).text, cases[i].text);
    assert_string_equal(ek__ir_size_change(-90177536).text, "-86.0 MiB");
    assert_string_equal(ek__ir_size_change(1024).text, "+1.0 KiB");
    assert_string_equal(ek__ir_size_change(INT64_MIN).text, ek__ir_size_change(-INT64_MAX).text);
}

static void lines_fit_a_terminal_of_100_columns(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 10; seed++) {
        made m = make(100, 33, seed);
        char *text = text_of(ek__ir_write_text, &m.report, &all);
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            if (ek__columns(line) > EK__PAGE_WIDTH)
                fail_msg("%d columns: %s", ek__columns(line), line);
        }
        free(text);
        clear(&m);
    }
}

static void text_is_as_it_was(void **state)
{
    (void)state;
    made m = make(30, 3, 42);
    char *text = text_of(ek__ir_write_text, &m.report, &(ek_ir_view){.layer = -1, .top = 3});
    assert_golden("ir_report.txt", text);
    free(text);
    text = text_of(ek__ir_write_text, &m.report, &(ek_ir_view){.layer = 1, .top = 4, .least = EK_IR_ERROR});
    assert_golden("ir_report_layer.txt", text);
    free(text);
    text = text_of(write_one_json, &m.report, &all);
    assert_golden("ir_report.json", text);
    free(text);
    text = text_of(ek__ir_write_dot, &m.report, &(ek_ir_view){.layer = 1});
    assert_golden("ir_report.dot", text);
    free(text);
    clear(&m);
}

/* ---- differences ---- */

static ek_ir_difference make_difference(ek_ir_count_difference *count, uint32_t *only)
{
    count[0] = (ek_ir_count_difference){"Reshape", {2, 4}, {1 << 20, 3 << 20}};
    count[1] = (ek_ir_count_difference){"AllGather (redistribution)", {5, 0}, {7 << 20, 0}};
    only[0] = 1;
    only[1] = 2;
    return (ek_ir_difference){.n_primitives = 1,
                              .n_comms = 1,
                              .n_only = {2, 1},
                              .primitive = count,
                              .comm = count + 1,
                              .only = {only, only},
                              .kept_bytes = {90177536, 12},
                              .traffic = {7 << 20, -1},
                              .n_recompute_requested = {4, 4},
                              .n_recompute_in_effect = {1, 4},
                              .parameter_bytes = {100, 100}};
}

static void a_difference_says_before_after_and_change(void **state)
{
    (void)state;
    made a = make(20, 2, 1), b = make(30, 2, 2);
    ek_ir_count_difference count[2];
    uint32_t only[2];
    const ek_ir_difference d = make_difference(count, only);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__ir_write_difference_text(&a.report, &b.report, &d, &all, out, NULL), EK_OK);
    fclose(out);
    assert_golden("ir_difference.txt", text);
    free(text);
    out = open_memstream(&text, &size);
    assert_int_equal(ek__ir_write_difference_json(&a.report, &b.report, &d, &all, out, NULL), EK_OK);
    fclose(out);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    check_described(ek__result_ir_difference.fields, text, true);
    check_int(json_object_get(root, "kept_bytes"), "before", 90177536, 0);
    check_int(json_object_get(root, "kept_bytes"), "after", 12, 0);
    check_int(json_object_get(root, "kept_bytes"), "change", 12 - 90177536, INT64_MIN);
    check_int(json_object_get(root, "traffic_bytes"), "after", -1, 0);
    assert_true(json_is_null(json_object_get(json_object_get(root, "traffic_bytes"), "change")));
    check_int(json_object_get(root, "recompute_in_effect"), "change", 3, 0);
    check_bool(root, "same", false);
    check_text(entry(root, "operator_differences", 0), "name", "Reshape");
    check_int(json_object_get(entry(root, "operator_differences", 0), "n"), "change", 2, 0);
    check_text(entry(root, "communication_differences", 0), "name", "AllGather (redistribution)");
    check_int(json_object_get(entry(root, "communication_differences", 0), "n"), "change", -5, INT64_MIN);
    check_size(root, "only_before", 2);
    check_node(entry(root, "only_before", 1), a.ir, 2);
    check_size(root, "only_after", 1);
    check_node(entry(root, "only_after", 0), b.ir, 1);
    json_decref(root);
    free(text);
    clear(&a);
    clear(&b);
}

/* ---- memory, outputs that are full ---- */

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static writer *const writers[] = {ek__ir_write_text, write_one_json, ek__ir_write_dot};
    made m = make(40, 3, 9);
    for (size_t w = 0; w < sizeof writers / sizeof *writers; w++) {
        ek_status status = EK_ERR_MEMORY;
        int n = 0;
        for (; status != EK_OK; n++) {
            ek_error err = {0};
            FILE *out = tmpfile();
            left = n;
            status = writers[w](&m.report, &(ek_ir_view){.layer = 1}, out, &err);
            left = -1;
            fclose(out);
            assert_true(status == EK_OK || status == EK_ERR_MEMORY);
            assert_true(n < 10000);
        }
        assert_true(n > 2);
    }
    clear(&m);
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    static writer *const writers[] = {ek__ir_write_text, write_one_json, ek__ir_write_dot};
    FILE *full = need_full_disk();
    made m = make(40, 3, 9);
    for (size_t w = 0; w < sizeof writers / sizeof *writers; w++) {
        clearerr(full);
        assert_int_equal(writers[w](&m.report, &all, full, NULL), EK_ERR_SYSTEM);
    }
    fclose(full);
    clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"JSON agrees with the report figure by figure", json_agrees_figure_by_figure, NULL, NULL, NULL},
        {"sums of communication are those of each kind, role and group",
         communication_sums_are_those_of_each_kind_role_and_group, NULL, NULL, NULL},
        {"sums of layers are those of each layer", layer_sums_are_those_of_each_layer, NULL, NULL, NULL},
        {"groups of what is alike hold every entry once", groups_hold_every_entry_once, NULL, NULL, NULL},
        {"takers of a value are the nodes that name it", takers_are_those_that_name_a_node, NULL, NULL, NULL},
        {"a node is called by its number, and a return by what it is",
         a_node_is_called_by_its_number_and_a_return_by_what_it_is, NULL, NULL, NULL},
        {"an expression that takes too many steps is an error", an_expression_that_takes_too_many_steps_is_an_error,
         NULL, NULL, NULL},
        {"a view shows its layer and its operators only", a_view_shows_its_layer_and_its_operators_only, NULL, NULL,
         NULL},
        {"findings below the least severity are left out", findings_below_the_least_severity_are_left_out, NULL, NULL,
         NULL},
        {"a wrong expression is refused with its reason", a_wrong_expression_is_refused_with_its_reason, NULL, NULL,
         NULL},
        {"hostile names leave the JSON valid and whole", hostile_names_leave_json_valid_and_whole, NULL, NULL, NULL},
        {"hostile names send nothing to a terminal", hostile_names_send_nothing_to_a_terminal, NULL, NULL, NULL},
        {"hostile names stay within their labels", hostile_names_stay_within_their_labels, NULL, NULL, NULL},
        {"DOT draws every operator and edge", dot_draws_every_operator_and_edge, NULL, NULL, NULL},
        {"too much to draw is refused", too_much_to_draw_is_refused, NULL, NULL, NULL},
        {"sizes are written with the unit that fits", sizes_are_written_with_the_unit_that_fits, NULL, NULL, NULL},
        {"lines fit a terminal of 100 columns", lines_fit_a_terminal_of_100_columns, NULL, NULL, NULL},
        {"text, JSON and DOT match their golden files", text_is_as_it_was, NULL, NULL, NULL},
        {"a difference says before, after and change", a_difference_says_before_after_and_change, NULL, NULL, NULL},
        {"every allocation may fail", every_allocation_may_fail, NULL, NULL, NULL},
        {"a full disk is said", a_full_disk_is_said, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("ir_report", tests, NULL, NULL);
}
