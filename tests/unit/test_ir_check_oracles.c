/* Tests facts of random graphs against slow algorithms: requests for recomputation by listing every path, kept values
 * by trying every pair of nodes, repeated gathers by comparing every pair; and checks that answers stay the same after
 * nodes are renumbered and independent lines are swapped. */
#include "input.h"

#include "base/random.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_check.h"

enum { MAX_NODES = 40, N_GRAPHS = 4000 };

/* A node of a random graph, before it is written. */
typedef struct made {
    int primitive, n_inputs, input[2]; /* -1: the parameter */
    bool backward, requested, copy, damaged, comm_again;
    int copy_of, group, number;
} made;

enum { EXP, MUL, RESHAPE, CAST, DEPEND, GATHER, N_PRIMITIVES };
static const char *const primitive_name[N_PRIMITIVES] = {"Exp", "Mul", "Reshape", "Cast", "Depend", "AllGather"};

typedef struct random_graph {
    int n;
    made node[MAX_NODES];
} random_graph;

/* Forward nodes, then copies of some requested ones, then backward nodes. */
static void make(ek__random *r, random_graph *g)
{
    int n_forward = 4 + ek__random_below(r, 14), n_copies = 0, copy[MAX_NODES];
    g->n = 0;
    for (int i = 0; i < n_forward; i++) {
        made *m = &g->node[g->n++];
        *m = (made){.primitive = ek__random_below(r, N_PRIMITIVES), .copy_of = -1, .n_inputs = 1};
        m->n_inputs += m->primitive == MUL;
        for (int k = 0; k < m->n_inputs; k++)
            m->input[k] = ek__random_below(r, i + 1) - 1;
        m->requested = ek__random_below(r, 3) == 0;
        m->comm_again = ek__random_below(r, 8) == 0;
        m->group = ek__random_below(r, 2);
    }
    for (int i = 0; i < n_forward; i++)
        if (g->node[i].requested && ek__random_below(r, 2) == 0) {
            made *m = &g->node[g->n];
            *m = g->node[i];
            m->requested = false;
            m->copy = true;
            m->copy_of = i;
            for (int k = 0; k < m->n_inputs; k++) /* the copy of its operand where there is one */
                for (int c = 0; c < n_copies; c++)
                    if (g->node[copy[c]].copy_of == m->input[k] && ek__random_below(r, 4))
                        m->input[k] = copy[c];
            copy[n_copies++] = g->n++;
        }
    int n_backward = 1 + ek__random_below(r, 8);
    for (int i = 0; i < n_backward; i++) {
        int before = g->n;
        g->node[g->n++] = (made){.primitive = ek__random_below(r, 4) == 0 ? GATHER : MUL,
                                 .n_inputs = 2,
                                 .input = {ek__random_below(r, before), ek__random_below(r, before)},
                                 .backward = true,
                                 .copy_of = -1,
                                 .group = ek__random_below(r, 2)};
        g->node[before].n_inputs -= g->node[before].primitive == GATHER;
    }
    for (int i = 0; i < g->n; i++)
        g->node[i].number = i;
}

/* A different size for every output, so that sums identify those included; gathers are alike. */
static int size_of(const random_graph *g, int i)
{
    const made *m = &g->node[i];
    return m->primitive == GATHER ? 16 : 1 << ((m->copy ? m->copy_of : i) % 20);
}

static void write_node(FILE *out, const random_graph *g, int i)
{
    const made *m = &g->node[i];
    fprintf(out, "  %%%d(CNode_%d) = PrimFunc_%s(", m->number, m->number, primitive_name[m->primitive]);
    for (int k = 0; k < m->n_inputs; k++)
        if (m->input[k] < 0)
            fprintf(out, "%s%%para1_x", k ? ", " : "");
        else
            fprintf(out, "%s%%%d", k ? ", " : "", g->node[m->input[k]].number);
    fprintf(out, ")");
    if (m->primitive == GATHER)
        fprintf(out, " primitive_attrs: {group: \"2-%s\", rank_list: (0, 1)%s}", m->group ? "111111" : "222222",
                m->comm_again ? ", recompute_comm_op: Bool(1)" : "");
    if (m->requested || m->copy)
        fprintf(out, " cnode_attrs: {recompute_sub_graph: U64(0), recompute_id: I64(%d), %s: Bool(1)}",
                m->copy ? m->copy_of : i, m->copy ? "duplicated" : "recompute");
    fprintf(out, "\n      : (");
    for (int k = 0; k < m->n_inputs; k++)
        fprintf(out, "%s<Tensor[Float16], (8)>", k ? ", " : "");
    fprintf(
        out,
        ") -> (<Tensor[Float16], (%d)>)\n      # Fullname with scope: (%sDefault/layers-CellList/0-Layer/%s-op%d)\n",
        size_of(g, i), m->backward ? "Gradients/" : "", primitive_name[m->primitive], m->number);
}

/* In the order given; with a Return unless `cut`. */
static ek_ir *write_graph(const random_graph *g, const int *order, bool cut)
{
    char *text;
    size_t size;
    ek_ir *ir;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "# IR entry: @g.1\n# Total subgraphs: 1\n\n# Total params: 1\n# Params:\n%%para1_x: <Tensor[Float16], "
                 "(8)>\n\nsubgraph @g.1() {\n");
    for (int i = 0; i < g->n; i++)
        write_node(out, g, order[i]);
    if (!cut)
        fprintf(out, "  Return(%%%d)\n      : (<Tensor[Float16], (8)>)\n", g->node[g->n - 1].number);
    fprintf(out, "}\n");
    fclose(out);
    if (ek_ir_parse("random.ir", text, size, NULL, &ir, &err))
        fail_msg("%d: %s", err.line, err.message);
    assert_int_equal(ir->n_diagnostics, 0);
    assert_int_equal(ir->n_operators, g->n);
    free(text);
    return ir;
}

/* ---- slow answers ---- */

static bool takes(const random_graph *g, int taker, int value)
{
    for (int k = 0; k < g->node[taker].n_inputs; k++)
        if (g->node[taker].input[k] == value)
            return true;
    return false;
}

static bool is_late(const made *m)
{
    return m->backward || m->copy;
}

static bool hands_through(const random_graph *g, int taker, int value)
{
    int p = g->node[taker].primitive;
    return (p == RESHAPE || p == CAST || p == DEPEND) && g->node[taker].input[0] == value && !is_late(&g->node[taker]);
}

/* Every path over Reshape, Cast and Depend from a value to something of the backward pass; *shortest: operators
 * between, *open: of the shortest ones some has no operator without request. */
static void list_paths(const random_graph *g, int value, int length, bool blocked, int *shortest, bool *open,
                       bool *shut)
{
    for (int t = 0; t < g->n; t++)
        if (takes(g, t, value) && is_late(&g->node[t])) {
            if (length < *shortest) {
                *shortest = length;
                *open = *shut = false;
            }
            if (length == *shortest) {
                *open |= !blocked;
                *shut |= blocked;
            }
        }
    for (int t = 0; t < g->n; t++)
        if (hands_through(g, t, value))
            list_paths(g, t, length + 1, blocked || !g->node[t].requested, shortest, open, shut);
}

static bool has_late_taker(const random_graph *g, int value)
{
    for (int t = 0; t < g->n; t++)
        if (takes(g, t, value) && is_late(&g->node[t]))
            return true;
    return false;
}

static void check_requests(const random_graph *g, const ek_ir_report *report, bool cut)
{
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        if (!g->node[i].requested)
            continue;
        const ek_ir_recompute *r = &report->recompute[n++];
        int shortest = MAX_NODES, copy = -1;
        bool open = false, shut = false;
        list_paths(g, i, 0, false, &shortest, &open, &shut);
        for (int k = 0; k < g->n; k++)
            if (g->node[k].copy && g->node[k].copy_of == i)
                copy = k;
        ek_ir_answer wanted = shortest < MAX_NODES ? EK_IR_NO
                              : copy >= 0          ? (has_late_taker(g, copy) ? EK_IR_YES : EK_IR_UNSEEN)
                              : cut                ? EK_IR_UNSEEN
                                                   : EK_IR_NO;
        assert_int_equal(r->node, i);
        assert_int_equal(r->in_effect, wanted);
        assert_int_equal(r->copy, copy < 0 ? EK_IR_NONE : (uint32_t)copy);
        assert_int_equal(r->held != EK_IR_NONE, shortest < MAX_NODES);
        if (r->held == EK_IR_NONE)
            continue;
        assert_true(r->blocked_by == EK_IR_NONE ? open : shut);
        assert_true(takes(g, (int)r->consumer, (int)r->held) && is_late(&g->node[r->consumer]));
        if (r->blocked_by != EK_IR_NONE)
            assert_false(g->node[r->blocked_by].requested);
    }
    assert_int_equal(report->n_recompute, n);
}

/* The value of a Reshape or Depend is that of its source. */
static int root_of(const random_graph *g, int value)
{
    while (value >= 0 && !is_late(&g->node[value]) &&
           (g->node[value].primitive == RESHAPE || g->node[value].primitive == DEPEND))
        value = g->node[value].input[0];
    return value;
}

static void check_kept(const random_graph *g, const ek_ir_report *report)
{
    int64_t bytes = 0;
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        bool kept = false;
        for (int t = 0; t < g->n; t++)
            for (int v = 0; v < g->n; v++)
                kept |= is_late(&g->node[t]) && takes(g, t, v) && !is_late(&g->node[v]) && root_of(g, v) == i;
        if (!kept)
            continue;
        n++;
        bytes += 2 * size_of(g, i);
    }
    assert_int_equal(report->n_kept, n);
    assert_int_equal(report->kept_bytes, bytes);
    for (int i = 1; i < report->n_kept; i++)
        assert_true(report->kept[i - 1].bytes >= report->kept[i].bytes);
}

static int behind_depend(const random_graph *g, int value)
{
    while (value >= 0 && g->node[value].primitive == DEPEND)
        value = g->node[value].input[0];
    return value;
}

static bool is_marked(const random_graph *g, int i)
{
    int operand = behind_depend(g, g->node[i].input[0]);
    bool before = operand >= 0 && g->node[operand].comm_again && g->node[operand].primitive == GATHER;
    return g->node[i].copy || g->node[i].comm_again || before;
}

/* Gathers that an earlier one makes needless, and those directly after another gather. */
static int count_repeated(const random_graph *g)
{
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        bool again = false;
        if (g->node[i].primitive != GATHER)
            continue;
        for (int k = 0; k < i && !is_marked(g, i); k++)
            again |= g->node[k].primitive == GATHER && !is_marked(g, k) && g->node[k].group == g->node[i].group &&
                     behind_depend(g, g->node[k].input[0]) == behind_depend(g, g->node[i].input[0]);
        int before = behind_depend(g, g->node[i].input[0]);
        if (before >= 0 && g->node[before].primitive == RESHAPE)
            before = behind_depend(g, g->node[before].input[0]);
        n += again;
        n += before >= 0 && g->node[before].primitive == GATHER && g->node[before].group == g->node[i].group;
    }
    return n;
}

static int count_occurrences(const ek_ir_report *report, const char *check)
{
    int n = 0;
    for (int i = 0; i < report->n_findings; i++)
        if (strcmp(report->finding[i].check, check) == 0)
            n += report->finding[i].n_occurrences;
    return n;
}

static void random_graphs_are_judged_as_slowly(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(20);
    int n_answers[3] = {0}, n_blocked = 0, n_repeated = 0;
    for (int i = 0; i < N_GRAPHS; i++) {
        random_graph g;
        ek_ir_report report;
        ek_error err;
        int order[MAX_NODES];
        make(&r, &g);
        for (int k = 0; k < g.n; k++)
            order[k] = k;
        bool cut = ek__random_below(&r, 2);
        ek_ir *ir = write_graph(&g, order, cut);
        assert_int_equal(ek_ir_check(ir, NULL, &report, &err), EK_OK);
        check_requests(&g, &report, cut);
        check_kept(&g, &report);
        int repeated = count_repeated(&g);
        assert_int_equal(count_occurrences(&report, "repeated-gather"), repeated);
        n_repeated += repeated;
        for (int k = 0; k < report.n_recompute; k++) {
            n_answers[report.recompute[k].in_effect]++;
            n_blocked += report.recompute[k].blocked_by != EK_IR_NONE;
        }
        ek_ir_report_clear(&report);
        ek_ir_free(ir);
    }
    /* every answer came up often */
    for (int k = 0; k < 3; k++)
        assert_true(n_answers[k] > N_GRAPHS / 10);
    assert_true(n_blocked > N_GRAPHS / 10);
    assert_true(n_repeated > N_GRAPHS / 10);
}

/* ---- numbers and places ---- */

/* Figures that do not depend on numbers and places: sums. */
typedef struct summary {
    int n_recompute, n_yes, n_no, n_comms, n_kept, n_findings, n_occurrences;
    int64_t kept_bytes, traffic, held, finding_bytes;
} summary;

static summary summarise(const ek_ir *ir)
{
    ek_ir_report report;
    ek_error err;
    summary s = {0};
    assert_int_equal(ek_ir_check(ir, NULL, &report, &err), EK_OK);
    s.n_recompute = report.n_recompute;
    s.n_comms = report.n_comms;
    s.n_kept = report.n_kept;
    s.kept_bytes = report.kept_bytes;
    for (int i = 0; i < report.n_recompute; i++) {
        s.n_yes += report.recompute[i].in_effect == EK_IR_YES;
        s.n_no += report.recompute[i].in_effect == EK_IR_NO;
    }
    for (int i = 0; i < report.n_comms; i++)
        s.traffic += report.comm[i].traffic;
    for (int i = 0; i < report.n_findings; i++) {
        s.n_findings++;
        s.n_occurrences += report.finding[i].n_occurrences;
    }
    ek_ir_report_clear(&report);
    return s;
}

/* Any order in which operands come before those that take them. */
static void shuffle_order(ek__random *r, const random_graph *g, int *order)
{
    bool placed[MAX_NODES] = {false};
    for (int n = 0; n < g->n;) {
        int i = ek__random_below(r, g->n);
        bool ready = !placed[i] && (i != g->n - 1 || n == g->n - 1);
        for (int k = 0; k < g->node[i].n_inputs && ready; k++)
            ready = g->node[i].input[k] < 0 || placed[g->node[i].input[k]];
        if (!ready)
            continue;
        placed[i] = true;
        order[n++] = i;
    }
}

static void shuffle_numbers(ek__random *r, random_graph *g)
{
    for (int i = 0; i < g->n; i++)
        g->node[i].number = i * 7 + 3;
    for (int i = g->n - 1; i > 0; i--) {
        int k = ek__random_below(r, i + 1), number = g->node[i].number;
        g->node[i].number = g->node[k].number;
        g->node[k].number = number;
    }
}

static void neither_numbers_nor_places_change_the_answers(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(21);
    for (int i = 0; i < N_GRAPHS / 4; i++) {
        random_graph g;
        int order[MAX_NODES];
        make(&r, &g);
        for (int k = 0; k < g.n; k++)
            order[k] = k;
        ek_ir *ir = write_graph(&g, order, false);
        summary before = summarise(ir);
        ek_ir_free(ir);
        shuffle_order(&r, &g, order);
        shuffle_numbers(&r, &g);
        random_graph renumbered = g;
        ir = write_graph(&renumbered, order, false);
        summary after = summarise(ir);
        assert_int_equal(after.n_recompute, before.n_recompute);
        assert_int_equal(after.n_yes, before.n_yes);
        assert_int_equal(after.n_no, before.n_no);
        assert_int_equal(after.n_kept, before.n_kept);
        assert_int_equal(after.kept_bytes, before.kept_bytes);
        assert_int_equal(after.traffic, before.traffic);
        assert_int_equal(after.n_comms, before.n_comms);
        assert_int_equal(after.n_occurrences, before.n_occurrences);
        ek_ir_free(ir);
    }
}

/* ---- calls ---- */

static void a_value_is_followed_into_the_graph_it_is_handed_to(void **state)
{
    (void)state;
    static const char text[] =
        "# IR entry: @main.1\n# Total subgraphs: 2\n\n# Total params: 1\n# Params:\n%para1_x: <Tensor[Float16], "
        "(8)>\n\n"
        "subgraph @layer.2(%para2_a, %para3_b) {\n"
        "  %0(k) = PrimFunc_Mul(%para2_a, %para3_b)\n      : (<Tensor[Float16], (8)>, <Tensor[Float16], (8)>) -> "
        "(<Tensor[Float16], (8)>)\n      # Fullname with scope: (Gradients/Default/layers-CellList/0-Layer/Mul-op0)\n"
        "  Return(%0)\n      : (<Tensor[Float16], (8)>)\n}\n\n"
        "subgraph @main.1() {\n"
        "  %0(a) = PrimFunc_Exp(%para1_x) {instance name: exp} cnode_attrs: {recompute: Bool(1)}\n      : "
        "(<Tensor[Float16], (8)>) -> (<Tensor[Float16], (8)>)\n"
        "      # Fullname with scope: (Default/layers-CellList/0-Layer/Exp-op0)\n"
        "  %1(b) = PrimFunc_Neg(%para1_x)\n      : (<Tensor[Float16], (8)>) -> (<Tensor[Float16], (8)>)\n"
        "      # Fullname with scope: (Default/layers-CellList/0-Layer/Neg-op0)\n"
        "  %2(c) = call @layer.2(%0, %0)\n      : (<Tensor[Float16], (8)>, <Tensor[Float16], (8)>) -> "
        "(<Tensor[Float16], (8)>)\n"
        "  Return(%2)\n      : (<Tensor[Float16], (8)>)\n}\n";
    ek_ir_report report;
    ek_error err;
    ek_ir *ir;
    if (ek_ir_parse("calls.ir", text, sizeof text - 1, NULL, &ir, &err))
        fail_msg("%d: %s", err.line, err.message);
    assert_int_equal(ek_ir_check(ir, NULL, &report, &err), EK_OK);
    assert_int_equal(report.n_kept, 1);
    assert_string_equal(ek_ir_text(ir, ir->node[report.kept[0].node].primitive), "Exp");
    assert_string_equal(ek_ir_text(ir, ir->node[report.kept[0].consumer].primitive), "Mul");
    assert_int_equal(report.kept[0].life, 1); /* Neg; the call is where it is taken */
    assert_int_equal(report.n_recompute, 1);
    assert_int_equal(report.recompute[0].in_effect, EK_IR_NO);
    ek_ir_report_clear(&report);
    ek_ir_free(ir);
}

/* ---- damage ---- */

/* Bytes of fixtures changed, left out, doubled: any graph that is still read is checked without harm. */
static void damaged_graphs_are_judged_without_harm(void **state)
{
    (void)state;
    static const char *const names[] = {"silu_mul_fixed", "redistribution", "repeated_gather", "shard_mismatch",
                                        "row_parallel",   "parameters",     "dtype",           "unfused"};
    ek__random r = ek__random_seed(22);
    for (int i = 0; i < 400; i++) {
        char path[200];
        size_t size = 0;
        ek_ir *ir;
        ek_error err;
        snprintf(path, sizeof path, "tests/data/ir_check/%s.ir", names[i % 8]);
        char *text = slurp(source_path(path), &size);
        assert_non_null(text);
        for (int k = ek__random_below(&r, 12); k >= 0; k--) {
            size_t at = (size_t)ek__random_below(&r, (int)size - 80),
                   from = (size_t)ek__random_below(&r, (int)size - 80);
            size_t n = 1 + (size_t)ek__random_below(&r, ek__random_below(&r, 2) ? 3 : 60);
            memmove(text + at, text + from, n);
        }
        if (ek_ir_parse("damaged.ir", text, size, NULL, &ir, &err) == EK_OK) {
            ek_ir_report report;
            ek_ir_difference d;
            static const ek_ir_check_options options = {.n_devices = 8, .large_bytes = 1000, .alive = 3};
            assert_int_equal(ek_ir_check(ir, &options, &report, &err), EK_OK);
            assert_int_equal(ek_ir_compare(&report, &report, &d, &err), EK_OK);
            assert_int_equal(d.n_only[0] + d.n_only[1], 0);
            for (int k = 0; k < report.n_findings; k++)
                assert_false(ir->node[report.finding[k].node].flags & EK_IR_DAMAGED);
            ek_ir_difference_clear(&d);
            ek_ir_report_clear(&report);
            ek_ir_free(ir);
        }
        free(text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_judged_as_slowly),
        cmocka_unit_test(neither_numbers_nor_places_change_the_answers),
        cmocka_unit_test(a_value_is_followed_into_the_graph_it_is_handed_to),
        cmocka_unit_test(damaged_graphs_are_judged_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
