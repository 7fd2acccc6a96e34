/* Figures of a comparison of two graphs: counts and sums before and after, and the parts that only one of them has.
 */
#include "figures/ir_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

static int64_t change_of(int64_t before, int64_t after)
{
    int64_t change;
    bool known = before >= 0 && after >= 0 && !__builtin_sub_overflow(after, before, &change);
    return known ? change : INT64_MIN;
}

#define EK__T int64_t
GETTER(before, number, it[0]);
GETTER(after, number, it[1]);
GETTER(change, number, change_of(it[0], it[1]));
static const ek__member pair[] = {
    {"before", GET(NUMBER, before), "null: not known"},
    {"after", GET(NUMBER, after), "null: not known"},
    {"change", GET(COUNT, change), "after minus before; null: not known"},
};
static const ek__fields pairs = {
    FIELDS(pair,
           "operators, recompute_requested, recompute_in_effect, kept_bytes, traffic_bytes, parameter_bytes, "
           "operator_differences[].n, .output_bytes, communication_differences[].n, .traffic_bytes",
           NULL)};
#undef EK__T

#define EK__T ek_ir_count_difference
static const ek__member primitive[] = {
    {"name", TEXT(name), "the primitive"},
    {"n", OBJECT(n, pairs), "how many there are"},
    {"output_bytes", OBJECT(bytes, pairs), "bytes of their outputs"},
};
static const ek__fields primitives = {FIELDS(primitive, "operator_differences[]", "Largest change first.")};
static const ek__member comm[] = {
    {"name", TEXT(name), "`AllGather (redistribution)`"},
    {"n", OBJECT(n, pairs), "how many there are"},
    {"traffic_bytes", OBJECT(bytes, pairs), "bytes that each device sends"},
};
static const ek__fields comms = {FIELDS(comm, "communication_differences[]", "Largest change first.")};
#undef EK__T

#define EK__T uint32_t
static const ek__member only[] = {
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_which_node), NULL},
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_node_type), NULL},
};
static const ek__fields onlys = {FIELDS(only, "only_before[], only_after[]", NULL)};
#undef EK__T

#define EK__T ek__ir_file
FINDER(only_nodes, it->only);
COUNTER(n_only, it->n_only);
static const ek__fields sides = {.size = sizeof(EK__T)};
#undef EK__T

#define EK__T ek__ir_sides
GETTER(version, number, 1);
GETTER(path_before, text, it->side[0].report.ir->path);
GETTER(path_after, text, it->side[1].report.ir->path);
FINDER(side_before, &it->side[0]);
FINDER(side_after, &it->side[1]);
COUNTER(one, 1);
static const ek__member the_one_before = {NULL, FOUND_LIST(side_before, one, sides)};
static const ek__member the_one_after = {NULL, FOUND_LIST(side_after, one, sides)};
static const ek__member whole[] = {
    {"version", GET(COUNT, version), "1"},
    {"before", GET(TEXT, path_before), "the file before the change"},
    {"after", GET(TEXT, path_after), "the file after it"},
    {"same", FLAG(same), "nothing below differs"},
    {"operators", OBJECT(operators, pairs), "operators, without Return"},
    {"recompute_requested", OBJECT(recompute_requested, pairs), "operators with requested recomputation"},
    {"recompute_in_effect", OBJECT(recompute_in_effect, pairs), "those with a copy that the backward pass uses"},
    {"kept_bytes", OBJECT(difference.kept_bytes, pairs), "bytes that the backward pass keeps, of all micro-batches"},
    {"traffic_bytes", OBJECT(difference.traffic, pairs), "bytes that each device sends"},
    {"parameter_bytes", OBJECT(difference.parameter_bytes, pairs), "bytes of parameters"},
    {"operator_differences", LIST(difference.n_primitives, difference.primitive, primitives),
     "primitives with a different number"},
    {"communication_differences", LIST(difference.n_comms, difference.comm, comms),
     "communication with a different number"},
    {"only_before", FOUND_LIST(only_nodes, n_only, onlys),
     "operators without a like in the other graph, by scope, primitive, type and how often that occurs",
     ACROSS(the_one_before)},
    {"only_after", FOUND_LIST(only_nodes, n_only, onlys), "the same of the graph after the change",
     ACROSS(the_one_after)},
};
static const ek__fields fields = {FIELDS(whole, "evenkeel ir diff", NULL), .lines = true};
#undef EK__T

const ek__result ek__result_ir_difference = {"ir_difference", "ir-json.md", &fields, NULL, NULL};
