/* Figures of a device's work: layers with their passes, operators, single executions that took too long. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/rows.h"
#include "figures/trace_figures.h"

/* ---- layers ---- */

static const ek_trace_layer *layer_of(const ek__owner *of)
{
    return of->parent;
}

static const char *direction_of(const void *pass, const ek__owner *of)
{
    const ek_trace_layer *layer = layer_of(of);
    return pass == &layer->forward ? "forward" : pass == &layer->recompute ? "recompute" : "backward";
}

#define EK__T ek_trace_pass
COMPOSER(name_pass, EK__VIEW_KEY_SIZE, "%s, %s", layer_of(of)->name, direction_of(it, of));
GETTER(layer_role, text, ek_trace_role_name[layer_of(of)->role]);
GETTER(layer_index, number, layer_of(of)->index);
GETTER(layer_name, text, layer_of(of)->name);
GETTER(direction, text, direction_of(it, of));
static const ek__member pass[] = {
    {NULL, COMPOSE(name_pass), NULL, PAGE(1, "pass", "Pass of a layer")},
    {NULL, GET(TEXT, layer_name), NULL, CSV(1, "layer")},
    {NULL, GET(NUMBER, layer_index), NULL, CSV(2, "index")},
    {NULL, GET(TEXT, layer_role), NULL, CSV(3, "role")},
    {NULL, GET(TEXT, direction), NULL, CSV(4, "direction")},
    {"n", COUNT(n), "executions", CSV(12), PAGE(3, "n", "Times")},
    {"wall_mean_us", OF_PASS(wall_mean), "first start to last end of one: mean", CSV(5),
     PAGE(4, "mean", "Mean", EK__LESS)},
    {"wall_median_us", OF_PASS(wall_median), "median", CSV(6), PAGE(5, "median", "Median", EK__LESS)},
    {"wall_min_us", OF_PASS(wall_min), "shortest", CSV(7), PAGE(6, "least", "Shortest", EK__LESS)},
    {"wall_max_us", OF_PASS(wall_max), "longest", CSV(8), PAGE(7, "most", "Longest", EK__LESS)},
    {"wall_deviation_us", OF_PASS(wall_deviation), "standard deviation", CSV(9),
     PAGE(8, "deviation", "Standard deviation")},
    {"busy_mean_us", OF_PASS(busy_mean), "sum of its operators: mean", CSV(10),
     PAGE(9, "busy_mean", "Busy, mean", EK__LESS)},
    {"busy_median_us", OF_PASS(busy_median), "median", CSV(11), PAGE(10, "busy_median", "Busy, median", EK__LESS)},
};
static const ek__fields passes = {FIELDS(pass, "ranks[].layers[].forward, .recompute, .backward", NULL)};

PREDICATE(is_there, it->n > 0);
static const ek__member short_pass[] = {
    {"wall_us", MEAN(wall_mean), "mean wall time of one execution"},
    {"busy_us", MEAN(busy_mean), "mean sum of its operators"},
    {"n", COUNT(n), "executions"},
};
static const ek__fields short_passes = {FIELDS(short_pass, "ranks[].layer_times.layers[KEY].fwd, .rec, .bwd", NULL),
                                        .known = is_there};
#undef EK__T

static double ratio(const ek_trace_pass *part, const ek_trace_pass *whole)
{
    return part->n > 0 && whole->n > 0 && whole->wall_mean > 0 ? part->wall_mean / whole->wall_mean : NAN;
}

#define EK__T ek_trace_layer
GETTER(backward_ratio, real, ratio(&it->backward, &it->forward));
GETTER(recompute_ratio, real, ratio(&it->recompute, &it->forward));
static const ek__member layer[] = {
    {"name", TEXT(name), "`0-LLamaDecodeLayer`", PAGE(1, "layer", "Layer")},
    {"kind", TEXT(kind), "`LLamaDecodeLayer`", PAGE(5, "kind", "Kind")},
    {"index", NUMBER(index), "0"},
    {"role", WORD(role, ek__trace_role_name), "`head`, `body`, `tail`", PAGE(4, "role", "Place")},
    {"instances", COUNT(n_instances), "executions of the forward pass that were counted"},
    {"forward_us", PASS(forward, wall_mean), "mean wall time of one execution; null where there is none",
     PAGE(6, "forward_mean", "Forward, mean", EK__LESS)},
    {"recompute_us", PASS(recompute, wall_mean), "the same of the recomputation",
     PAGE(9, "recompute_mean", "Recompute, mean", EK__LESS)},
    {"backward_us", PASS(backward, wall_mean), "the same of the backward pass",
     PAGE(12, "backward_mean", "Backward, mean", EK__LESS)},
    {"backward_over_forward", GET(REAL, backward_ratio), "ratio of the means"},
    {"recompute_over_forward", GET(REAL, recompute_ratio), "ratio of the means"},
    {"forward", OBJECT(forward, passes), "the forward pass in full"},
    {"recompute", OBJECT(recompute, passes), "the recomputation in full"},
    {"backward", OBJECT(backward, passes), "the backward pass in full"},
    {NULL, PASS(forward, wall_median), NULL, PAGE(7, "forward_median", "Forward, median", EK__LESS)},
    {NULL, COUNT(forward.n), NULL, PAGE(8, "forward_n", "Forward passes")},
    {NULL, PASS(recompute, wall_median), NULL, PAGE(10, "recompute_median", "Recompute, median", EK__LESS)},
    {NULL, COUNT(recompute.n), NULL, PAGE(11, "recompute_n", "Recomputations")},
    {NULL, PASS(backward, wall_median), NULL, PAGE(13, "backward_median", "Backward, median", EK__LESS)},
    {NULL, COUNT(backward.n), NULL, PAGE(14, "backward_n", "Backward passes")},
};
const ek__fields ek__trace_layer = {FIELDS(layer, "ranks[].layers[]", NULL)};

CONDITION(has_forward, it->forward.n > 0);
CONDITION(has_recompute, it->recompute.n > 0);
CONDITION(has_backward, it->backward.n > 0);
static const ek__member short_layer[] = {
    {"name", TEXT(name), "the layer's name"},
    {"role", WORD(role, ek__trace_role_name), "`head`, `body`, `tail`"},
    {"fwd", OBJECT(forward, short_passes), "forward; this and the others are there where it was seen",
     WHEN(has_forward)},
    {"rec", OBJECT(recompute, short_passes), "recomputation", WHEN(has_recompute)},
    {"bwd", OBJECT(backward, short_passes), "backward", WHEN(has_backward)},
};
const ek__fields ek__trace_short_layer = {
    FIELDS(short_layer, "ranks[].layer_times.layers[KEY]",
           "KEY is the number of a body layer (`\"0\"`), else the layer's name.")};
#undef EK__T

#define EK__T ek_trace_layers
static const ek__member layer_time[] = {
    {"micro_batches", SIZE(n_micro_batches), "forward passes of a layer per step"},
    {"steps", COUNT(n_steps), "steps looked at"},
    {"source", TEXT(source), "`task_names`, `launch_names`, `scope_layer`, `modules`, `annotations`"},
    {"recomputed_layers", OWN("list of integers or strings"),
     "body layers with a recomputation: numbers, or names without one"},
    {"layers", OWN_OF("object", ek__trace_short_layer), "every layer"},
};
const ek__fields ek__trace_layer_times = {FIELDS(layer_time, "ranks[].layer_times", NULL)};
#undef EK__T

/* ---- operators ---- */

/* Does another kind of the list have the same name? Only on Ascend, where a type runs on several cores. */
static bool has_namesake(const ek_trace_operator *list, int n, int at)
{
    for (int i = 0; i < n && list[at].core; i++)
        if (i != at && strcmp(list[i].name, list[at].name) == 0)
            return true;
    return false;
}

static void name_operator(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_trace_operators *all = &of->rank->operators;
    const ek_trace_operator *op = record;
    bool table = all->n_table > 0 && op >= all->table && op < all->table + all->n_table;
    const ek_trace_operator *list = table ? all->table : all->op;
    int n = table ? all->n_table : all->n;
    if (n <= 1000 && has_namesake(list, n, (int)(op - list))) /* in longer lists none has a core */
        snprintf(text, room, "%s on %s", op->name, op->core);
    else
        snprintf(text, room, "%s", op->name);
}

#define EK__T ek_trace_operator
static const ek__member operators[] = {
    {NULL, COMPOSE(name_operator), NULL, PAGE(1, "operator", "Operator", EK__SEARCH)},
    {"name", TEXT(name), "type for Ascend, kernel name for Kineto", CSV(1)},
    {"type", TEXT(type), "the same for Ascend; Kineto: `kernel`", CSV(2)},
    {"core", TEXT(core), "accelerator core; null without one", CSV(3), PAGE(2, "core", "Core")},
    {"count", COUNT(count), "executions", CSV(10), PAGE(3, "count", "Times")},
    {"total_us", NS(total), "sum of them", CSV(5), PAGE(4, "total", "Total", EK__LESS)},
    {"min_us", NS(min), "shortest", CSV(6), PAGE(5, "least", "Shortest", EK__LESS)},
    {"avg_us", MEAN(average), "mean", CSV(7), PAGE(6, "average", "Average", EK__LESS)},
    {"max_us", NS(max), "longest", CSV(8), PAGE(7, "most", "Longest", EK__LESS)},
    {"wait_us", NS(wait), "waiting before them", PAGE(8, "wait", "Waiting before it", EK__LESS)},
    {"ratio_pct", PERCENT(ratio), "share of the summed time; without communication for Ascend", CSV(9),
     PAGE(9, "share", "Share")},
    {"family", TEXT(family), "`matmul`, `attention`, `vector`, `communication`, `copy`, `other`", CSV(4),
     PAGE(10, "family", "Family")},
};
const ek__fields ek__trace_operator = {
    FIELDS(operators, "ranks[].operators[], ranks[].top_operators.top[], .op_statistic[]",
           "Longest total first, then by name; `op_statistic` is the producer's table as printed.")};

static const ek__member kernel[] = {
    {"name", TEXT(name), "type for Ascend, kernel name for Kineto"},
    {"count", COUNT(count), "executions"},
    {"total_us", NS(total), "sum of them"},
    {"min_us", NS(min), "shortest"},
    {"max_us", NS(max), "longest"},
};
const ek__fields ek__trace_kernel = {FIELDS(kernel, "ranks[].kernel_totals.top[]", NULL)};
#undef EK__T

/* Kineto's kernels; for Ascend every operator. */
static bool is_kernel(const void *record, const ek__owner *of)
{
    const ek_trace_operator *op = record;
    return of->rank->producer != EK_PRODUCER_KINETO || (op->type && strcmp(op->type, "kernel") == 0);
}

static ek__reading distinct(const void *record, const ek__owner *of)
{
    const ek_trace_operators *ops = record;
    int64_t n = 0;
    for (int i = 0; i < ops->n; i++)
        n += is_kernel(&ops->op[i], of);
    return (ek__reading){.number = n};
}

static ek__reading kernel_count(const void *record, const ek__owner *of)
{
    const ek_trace_operators *ops = record;
    int64_t n = 0;
    for (int i = 0; i < ops->n; i++)
        n = ek__sum(n, is_kernel(&ops->op[i], of) ? ops->op[i].count : 0);
    return (ek__reading){.number = n};
}

static ek__reading kernel_time(const void *record, const ek__owner *of)
{
    const ek_trace_operators *ops = record;
    int64_t sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum = is_kernel(&ops->op[i], of) ? ek__sum(sum, ek__known(ops->op[i].total)) : sum;
    return (ek__reading){.number = sum};
}

#define EK__T ek_trace_core
static const ek__member sum[] = {
    {"count", COUNT(count), "executions", PAGE(3, "count", "Times")},
    {"total_us", NS(total), "sum of them", PAGE(4, "total", "Total", EK__LESS)},
};
static const ek__fields sums = {FIELDS(sum, NULL, NULL)};
static const ek__member core[] = {
    {NULL, TEXT(name), NULL, PAGE(1, "name", "Name")},
    {NULL, MORE(sums)},
};
static const ek__fields cores = {FIELDS(core, "ranks[].kernel_totals.by_core[CORE]", NULL)};
static const ek__member type[] = {
    {"type", TEXT(name), "the operator's type", PAGE(1, "name", "Name")},
    {NULL, MORE(sums)},
};
static const ek__fields types = {FIELDS(type, "ranks[].kernel_totals.top_types[]", NULL)};
#undef EK__T

#define EK__T ek_trace_outlier
GETTER(shape, text, it->shapes_unknown ? "not recorded" : it->shape);
static const ek__member outlier[] = {
    {"name", TEXT(name), "of the operator", CSV(1), PAGE(2, "name", "Operator", EK__SEARCH)},
    {"type", TEXT(type), "its type", CSV(2), PAGE(3, "type", "Type")},
    {"core", TEXT(core), "accelerator core", CSV(3), PAGE(4, "core", "Core")},
    {"shape", TEXT(shape), "of the inputs; null if not known", CSV(4)},
    {NULL, GET(TEXT, shape), NULL, PAGE(5, "shape", "Shape")},
    {"start_us", NS(start), "when it began", CSV(5), PAGE(6, "at", "At", EK__PLACE)},
    {"duration_us", NS(duration), "how long it took", CSV(6), PAGE(7, "duration", "Took", EK__LESS)},
    {"expected_us", NS(expected), "the median of its kind", CSV(7), PAGE(8, "expected", "Median of its kind")},
    {"n_kind", COUNT(n_kind), "executions of its kind", CSV(9), PAGE(9, "kind", "Of its kind")},
    {"shapes_unknown", FLAG(shapes_unknown), "compared by name only: their inputs are not known", CSV(8)},
};
static const ek__fields outliers = {FIELDS(outlier, "ranks[].top_operators.outliers[]",
                                           "Executions that took far longer than others of their kind, most time lost "
                                           "first.")};
#undef EK__T

#define EK__T ek_trace_operators
static const ek__member total[] = {
    {"rows", COUNT(n_rows), "rows of kernel_details"},
    {"by_core", SHORT_MAP(n_cores, core, cores), "sums by accelerator core"},
    {"top_types", LIST(n_types, type, types), "sums by type, with communication, longest total first"},
    {"distinct", GET(COUNT, distinct), "names of kernels"},
    {"total_count", GET(COUNT, kernel_count), "executions"},
    {"total_us", GET(NS, kernel_time), "sum of them"},
    {"top", LIST(n, op, ek__trace_kernel), .shown = is_kernel, .about = "by name, longest total first"},
};
const ek__fields ek__trace_kernel_totals = {FIELDS(total, "ranks[].kernel_totals", NULL)};

static const ek__member top[] = {
    {"source", TEXT(source), "`kernel_details`, `events`, `op_statistic`"},
    {"rows", COUNT(n), "kinds"},
    {"executions", COUNT(n_executions), "of all kinds"},
    {"total_us", NS(total), "sum of them"},
    {"share_matmul", SHARE(share_matmul), "of the compute time"},
    {"share_attention", SHARE(share_attention), "of the compute time"},
    {"share_vector", SHARE(share_vector), "of the compute time"},
    {"top", LIST(n, op, ek__trace_operator), "computed"},
    {"op_statistic", LIST(n_table, table, ek__trace_operator), "the producer's table as printed"},
    {"outliers", LIST(n_outliers, outlier, outliers), "single executions"},
};
const ek__fields ek__trace_top_operators = {FIELDS(top, "ranks[].top_operators", NULL)};
#undef EK__T

/* ---- places in the timeline ---- */

#define EK__T ek_trace_layer
/* The longest execution, of a layer its longest forward pass. */
LOCATOR(locate_layer, out->start = it->forward.longest.start; out->end = it->forward.longest.end);
#undef EK__T

#define EK__T ek_trace_pass
LOCATOR(locate_pass, out->start = it->longest.start; out->end = it->longest.end);
#undef EK__T

#define EK__T ek_trace_operator
LOCATOR(locate_longest, out->start = it->max_start;
        out->end = it->max_start == EK_TRACE_UNKNOWN ? EK_TRACE_UNKNOWN : ek__sum(it->max_start, it->max);
        out->name = it->name);
#undef EK__T

#define EK__T ek_trace_outlier
LOCATOR(locate_outlier, out->start = it->start; out->end = ek__sum(it->start, it->duration); out->name = it->name);
#undef EK__T

/* ---- tables ---- */

static const void *pass_of(int i, ek__owner *of, bool *end)
{
    const ek_trace_rank *rank = of->rank;
    *end = i / 3 >= rank->layers.n;
    if (*end)
        return NULL;
    const ek_trace_layer *one = &rank->layers.layer[i / 3];
    const ek_trace_pass *const all[] = {&one->forward, &one->recompute, &one->backward};
    of->parent = one;
    return all[i % 3]->n > 0 ? all[i % 3] : NULL;
}

/* Only the longest have names. */
static bool has_name(const void *record)
{
    return ((const ek_trace_outlier *)record)->name != NULL;
}

const ek__rows ek__work_rows[] = {
    {NULL, "layers", "layers", "Layers, one micro-batch", .rank_column = 2, .stage_column = 3,
     .fields = &ek__trace_layer, RANK_LIST(layers.n, layers.layer), .locate = locate_layer},
    {"layers", "layers", "passes", "Passes, with their spread", .rank_column = 2, .fields = &passes, .item = pass_of,
     .locate = locate_pass, .most = EK__VIEW_MAX_ROWS / 3 * 3},
    {"operators", "operators", "operators", "Operators", .fields = &ek__trace_operator,
     RANK_LIST(operators.n, operators.op), .locate = locate_longest, .sort = 3},
    {"outliers", "operators", "outliers", "Executions that took far longer than others of their kind", "place",
     "Execution", EK__KEY_NUMBER, .fields = &outliers, RANK_LIST(operators.n_outliers, operators.outlier),
     .locate = locate_outlier, .sort = 6},
    {NULL, "operators", "slow", "Executions longer than those of the same operator elsewhere in the trace", "place",
     "Execution", EK__KEY_NUMBER, .fields = &outliers, RANK_LIST(operators.n_slow, operators.slow), .shown = has_name,
     .locate = locate_outlier, .sort = 6},
    {NULL, "operators", "cores", "Time by core", .rank_column = 2, .fields = &cores,
     RANK_LIST(operators.n_cores, operators.core), .most_ranks = EK__VIEW_MAX_RANKS, .sort = 3},
    {NULL, "operators", "types", "Time by type, with communication", .rank_column = 2, .fields = &types,
     RANK_LIST(operators.n_types, operators.type), .most_ranks = EK__VIEW_MAX_RANKS, .sort = 3},
    {NULL, "operators", "op-statistic", "op_statistic.csv", .fields = &ek__trace_operator,
     RANK_LIST(operators.n_table, operators.table), .sort = 3},
};
const int ek__n_work_rows = sizeof ek__work_rows / sizeof *ek__work_rows;
