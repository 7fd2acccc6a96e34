/* Tests tokens that go once to each node against every choice of experts that a router can make, sent copy by copy. */
#include "input.h"

#include <math.h>

#include "cost/collective.h"

/* An expert group: n ranks, in nodes of `here`. */
typedef struct counted {
    const ek_job_model *model;
    int n, here;
    double choices, units[16]; /* reached of nodes or ranks, by their number */
    double left, handed;       /* copies of a token of rank 0 that leave its node; that go on inside nodes */
} counted;

/* One choice of a token of each rank. */
static void count(counted *c, const bool *chosen)
{
    int per_rank = c->model->n_experts / c->n, nodes = c->n / c->here;
    bool to[16] = {false};
    c->choices++;
    for (int rank = 0; rank < c->n; rank++)
        for (int e = 0; e < per_rank; e++)
            to[rank] = to[rank] || chosen[rank * per_rank + e];
    for (int units = 1; units <= c->n; units++)
        for (int u = 0; u < units && c->n % units == 0; u++) {
            bool any = false;
            for (int rank = u * (c->n / units); rank < (u + 1) * (c->n / units); rank++)
                any = any || to[rank];
            c->units[units - 1] += any;
        }
    for (int sender = 0; sender < c->n; sender++)
        for (int node = 0; node < nodes; node++) {
            int reached = 0, arrival = node * c->here + sender % c->here;
            for (int rank = node * c->here; rank < (node + 1) * c->here; rank++)
                reached += to[rank];
            c->left += (double)(reached > 0 && node != sender / c->here) / c->n;
            c->handed += (double)(reached - to[arrival]) / c->n;
        }
}

/* All sets of this number of experts, those in `allowed`. */
static void choose(counted *c, const bool *allowed, bool *chosen, int from, int left)
{
    if (left == 0) {
        count(c, chosen);
        return;
    }
    for (int e = from; e + left <= c->model->n_experts; e++)
        if (allowed[e]) {
            chosen[e] = true;
            choose(c, allowed, chosen, e + 1, left - 1);
            chosen[e] = false;
        }
}

/* All sets of groups. */
static void choose_groups(counted *c, bool *allowed, int from, int left)
{
    const ek_job_model *m = c->model;
    bool chosen[32] = {false};
    int of_group = m->n_experts / m->router_groups;
    if (left == 0) {
        choose(c, allowed, chosen, 0, m->top_k);
        return;
    }
    for (int g = from; g + left <= m->router_groups; g++) {
        memset(allowed + g * of_group, 1, (size_t)of_group);
        choose_groups(c, allowed, g + 1, left - 1);
        memset(allowed + g * of_group, 0, (size_t)of_group);
    }
}

static void assert_as_counted(int experts, int k, int groups, int top, int n, int here)
{
    const ek_job_model model = {.n_experts = experts, .top_k = k, .router_groups = groups, .router_top_groups = top};
    counted c = {.model = &model, .n = n, .here = here};
    bool allowed[32] = {false}, chosen[32] = {false};
    if (groups > 0) {
        choose_groups(&c, allowed, 0, top);
    } else {
        memset(allowed, 1, sizeof allowed);
        choose(&c, allowed, chosen, 0, k);
    }
    for (int units = 1; units <= n; units++)
        if (n % units == 0 && (groups == 0 || groups % units == 0 || units % groups == 0))
            assert_true(fabs(ek__units_reached(&model, units) - c.units[units - 1] / c.choices) < 1e-12);
    if (groups > 0 && (groups % n != 0 && n % groups != 0))
        return;
    ek__ranks ranks = {.n = n, .in = {here, n}};
    ek__send_once(&model, &ranks);
    double nodes = (double)n / here;
    assert_true(fabs(ranks.inside * k - c.handed / c.choices) < 1e-12);
    assert_true(fabs(ranks.leaving * k * (nodes - 1) / nodes - c.left / c.choices) < 1e-12);
}

static void tokens_reach_as_many_nodes_as_counted(void **state)
{
    (void)state;
    static const int cases[][6] = {
        {8, 1, 0, 0, 4, 2},   {8, 2, 0, 0, 4, 2},  {8, 3, 0, 0, 8, 4},  {12, 4, 0, 0, 6, 2}, {16, 4, 0, 0, 8, 2},
        {16, 4, 4, 2, 8, 2},  {16, 4, 4, 2, 4, 2}, {16, 3, 8, 3, 8, 4}, {12, 3, 6, 2, 6, 3}, {16, 4, 2, 1, 8, 2},
        {16, 5, 4, 3, 16, 8}, {12, 2, 3, 2, 6, 2}, {8, 2, 4, 4, 4, 2},  {8, 8, 0, 0, 8, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_as_counted(cases[i][0], cases[i][1], cases[i][2], cases[i][3], cases[i][4], cases[i][5]);
}

/* DeepSeek-V3: 256 experts on 8 nodes of 8, the best 8 of 4 groups of 8: at most 4 nodes (its report, section 2.1.2).
 */
static void limited_groups_reach_no_more_nodes(void **state)
{
    (void)state;
    ek_job_model model = {.n_experts = 256, .top_k = 8, .router_groups = 8, .router_top_groups = 4};
    double limited = ek__units_reached(&model, 8);
    assert_true(limited < 4 && limited > 3.5);
    model.router_groups = 0;
    assert_true(ek__units_reached(&model, 8) > 5.2);
    assert_true(ek__units_reached(&model, 256) == 8);
    assert_true(ek__units_reached(&model, 1) == 1);
}

/* Over slow cards, the time is that of the bytes that leave the node. */
static void an_exchange_takes_what_its_copies_take(void **state)
{
    (void)state;
    const ek_job_model model = {.n_experts = 16, .top_k = 4};
    ek_device device = {.name = "cluster", .n_tiers = 2};
    for (int i = 0; i < 2; i++) {
        device.tier[i] = (ek_tier){.size = i == 0 ? 4 : 0, .gbs = i == 0 ? 1e6 : 10, .devices_per_card = 1};
        device.tier[i].share[EK_COLLECTIVE_ALL_TO_ALL] = 1;
    }
    ek__ranks ranks = {.n = 8, .in = {4, 8}, .sharing = {1, 1}};
    double each = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_TO_ALL, &ranks, 4e9).seconds;
    ek__send_once(&model, &ranks);
    double once = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_TO_ALL, &ranks, 4e9).seconds;
    assert_true(fabs(each - 0.2) < 1e-9);
    /* Of 4 copies, D(2) / 4 are left, half of which leave. */
    assert_true(fabs(once - 0.2 * ek__units_reached(&model, 2) / 4) < 1e-9);
    device.tier[0].gbs = 1; /* now the node's links decide, which carry each copy but those that are there */
    once = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_TO_ALL, &ranks, 4e9).seconds;
    assert_true(fabs(once - ek__units_reached(&model, 8) * 0.75) < 1e-9);
}

/* Ranks that straddle nodes reach all nodes that have some of them, never only one. */
static void groups_that_straddle_nodes_leave_them(void **state)
{
    (void)state;
    const ek_job_model model = {.n_experts = 16, .top_k = 4};
    ek__ranks ranks = {.n = 8, .in = {5, 8}};
    ek__send_once(&model, &ranks);
    assert_true(ranks.leaving == ek__units_reached(&model, 2) / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_reach_as_many_nodes_as_counted),
        cmocka_unit_test(limited_groups_reach_no_more_nodes),
        cmocka_unit_test(an_exchange_takes_what_its_copies_take),
        cmocka_unit_test(groups_that_straddle_nodes_leave_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
