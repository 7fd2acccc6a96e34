/* Tests the document of a page, read again by an independent reader (jansson, zlib, and its own base64 and
 * untransposing) and compared with its source: every block of random plans under every schedule to the last bit, arrows
 * with those that a search over all pairs of blocks finds, held memory with the memory curve, bars with the step time.
 * Also names that look like markup, allocations that fail, and the expected text of a small document. */
#include "report_fixture.h"

#include <jansson.h>
#include <math.h>
#include <zlib.h>

#include "assert_close.h"
#include "base/json_stream.h"
#include "base/random.h"
#include "evenkeel/cost.h"
#include "evenkeel/job.h"
#include "evenkeel/memory.h"
#include "evenkeel/ranking.h"
#include "evenkeel/sweep.h"
#include "evenkeel/uniform.h"
#include "golden_page.h"
#include "no_memory.h"
#include "simulate/order.h"
#include "skip.h"
#include "view/view.h"

FAILING_ALLOC
FAILING_WITH_ROOM
FAILING_POOL_ALLOC
FAILING_POOL_TEXT
FAILING_POOL_PUSH

/* ---- reading a document again ---- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The bytes of a base64 of zlib; to free. */
static unsigned char *unpacked(const char *text, size_t *size)
{
    size_t n = 0, length = strlen(text);
    unsigned char *zipped = malloc(length + 1), *out = NULL;
    assert_int_equal(length % 4, 0);
    for (size_t i = 0; i < length; i += 4) {
        uint32_t group = 0;
        int there = 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = digit_of(text[i + k]);
            assert_true(digit >= 0 || (text[i + k] == '=' && i + 4 == length && k >= 2));
            there += digit >= 0;
            group = group << 6 | (uint32_t)(digit >= 0 ? digit : 0);
        }
        for (int k = 0; k < there - 1; k++)
            zipped[n++] = (unsigned char)(group >> (16 - 8 * k));
    }
    for (uLongf room = 1 << 16;; room *= 4) {
        uLongf got = room;
        out = realloc(out, room);
        int state = uncompress(out, &got, zipped, (uLong)n);
        if (state == Z_BUF_ERROR)
            continue;
        assert_int_equal(state, Z_OK);
        *size = got;
        free(zipped);
        return out;
    }
}

typedef struct reader {
    unsigned char *bytes;
    size_t size, at;
} reader;

static double *reals(reader *in, size_t n)
{
    double *value = calloc(n + 1, sizeof *value);
    assert_true(in->at + 8 * n <= in->size);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        for (size_t b = 0; b < 8; b++)
            bits |= (uint64_t)in->bytes[in->at + b * n + i] << 8 * b;
        memcpy(&value[i], &bits, 8);
    }
    in->at += 8 * n;
    return value;
}

static uint32_t *numbers(reader *in, size_t n)
{
    uint32_t *value = calloc(n + 1, sizeof *value);
    assert_true(in->at + 4 * n <= in->size);
    for (size_t i = 0; i < 4 * n; i++)
        value[i / 4] |= (uint32_t)in->bytes[in->at + i] << 8 * (i % 4);
    in->at += 4 * n;
    return value;
}

typedef struct read_timeline {
    const json_t *json;
    size_t n_events, n_arrows, n_held, n_points;
    double *begin, *duration, *from_time, *to_time, *held_begin, *held_end, *held_mb, *time, *value;
    uint32_t *name, *from_row, *to_row, *arrow_name, *held_group, *held_name;
} read_timeline;

static size_t count(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return (size_t)json_integer_value(value);
}

static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        fail_msg("there is no %s", key);
    return value;
}

static const char *text_of(const json_t *object, const char *key)
{
    assert_true(json_is_string(member(object, key)));
    return json_string_value(member(object, key));
}

static read_timeline read_back(const json_t *json)
{
    read_timeline t = {.json = json,
                       .n_events = count(json, "n_events"),
                       .n_arrows = count(json, "n_arrows"),
                       .n_held = count(json, "n_held"),
                       .n_points = count(json, "n_points")};
    reader in = {0};
    in.bytes = unpacked(text_of(json, "data"), &in.size);
    t.begin = reals(&in, t.n_events);
    t.duration = reals(&in, t.n_events);
    t.from_time = reals(&in, t.n_arrows);
    t.to_time = reals(&in, t.n_arrows);
    t.held_begin = reals(&in, t.n_held);
    t.held_end = reals(&in, t.n_held);
    t.held_mb = reals(&in, t.n_held);
    t.time = reals(&in, t.n_points);
    t.value = reals(&in, t.n_points);
    t.name = numbers(&in, t.n_events);
    t.from_row = numbers(&in, t.n_arrows);
    t.to_row = numbers(&in, t.n_arrows);
    t.arrow_name = numbers(&in, t.n_arrows);
    t.held_group = numbers(&in, t.n_held);
    t.held_name = numbers(&in, t.n_held);
    assert_int_equal(in.at, in.size);
    free(in.bytes);
    return t;
}

static void forget(read_timeline *t)
{
    double *real[] = {t->begin,    t->duration, t->from_time, t->to_time, t->held_begin,
                      t->held_end, t->held_mb,  t->time,      t->value};
    uint32_t *number[] = {t->name, t->from_row, t->to_row, t->arrow_name, t->held_group, t->held_name};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        free(real[i]);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        free(number[i]);
}

static char *printed(const ek_view *view, bool html)
{
    char *text = NULL;
    size_t size;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    ek_status status = html ? ek__view_write_html(view, out, &err) : ek__view_write_json(view, out, &err);
    assert_int_equal(fclose(out), 0);
    if (status)
        fail_msg("%s", err.message);
    assert_int_equal(strlen(text), size);
    return text;
}

static json_t *parsed(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("column %d: %s", error.column, error.text);
    return root;
}

/* The document of one case, to release with json_decref(). */
static json_t *document_of(const ek_report *report)
{
    const ek_view_run run = {.name = "one", .plans = report};
    const ek_view view = {.title = "a plan", .n_runs = 1, .run = &run};
    char *text = printed(&view, false);
    json_t *root = parsed(text);
    free(text);
    return root;
}

static const json_t *first_run(const json_t *root)
{
    return json_array_get(member(root, "runs"), 0);
}

static const json_t *section_of(const json_t *run, const char *name)
{
    size_t i;
    json_t *section;
    json_array_foreach(json_object_get(run, "sections"), i, section)
    {
        if (strcmp(text_of(section, "name"), name) == 0)
            return section;
    }
    fail_msg("there is no section %s", name);
    return NULL;
}

/* The piece of a kind with an id. */
static const json_t *piece_of(const json_t *section, const char *kind, const char *id)
{
    size_t i;
    json_t *piece;
    json_array_foreach(json_object_get(section, kind), i, piece)
    {
        if (strcmp(text_of(piece, "id"), id) == 0)
            return piece;
    }
    fail_msg("there is no %s %s", kind, id);
    return NULL;
}

/* ---- random plans under every schedule ---- */

typedef struct random_case {
    ek_layer body[2];
    ek_layers layers;
    ek_order *order;
    ek_plan plan;
    ek_timeline t;
    double edge[8];
    double factor[64];
    double slow[8]; /* of stages; the same from both ends, since micro-batches may run both ways */
    ek_comm comm;
} random_case;

static ek_layer random_layer(ek__random *r, const char *name, int n_layers)
{
    ek_layer layer = {
        .n_layers = n_layers, .forward_time = 1 + ek__random_unit(r), .parameter_mb = 100 * ek__random_unit(r)};
    snprintf(layer.name, sizeof layer.name, "%s", name);
    layer.weight_time = layer.forward_time * ek__random_unit(r);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layer.modelled[k] = true;
        layer.backward_time[k] = layer.forward_time * (2 + 0.2 * k);
        layer.activation_mb[k] = (20 - 3 * k) * (1 + ek__random_unit(r));
    }
    layer.activation_mb[EK_RECOMPUTE_NONE] += 40;
    return layer;
}

static void random_plan(ek__random *r, const ek_layers *layers, ek_plan *plan)
{
    int n = plan->n_stages * plan->n_chunks;
    for (int i = 0; i < layers->n_layers; i++)
        plan->layers[ek__random_below(r, n)]++;
    for (int c = 0; c < n; c++) {
        plan->full[c] = ek__random_below(r, plan->layers[c] + 1);
        plan->select[c] = ek__random_below(r, plan->layers[c] + 1);
        plan->comm[c] = ek__random_below(r, plan->layers[c] + 1);
    }
}

/* False where the schedule refuses the shape. */
static bool draw(ek__random *r, const ek_schedule *schedule, random_case *x)
{
    ek_error err;
    memset(x, 0, sizeof *x);
    int p = 1 + ek__random_below(r, 5), v = schedule->min_chunks + ek__random_below(r, 3);
    if (v > schedule->max_chunks)
        v = schedule->max_chunks;
    int least = schedule->min_micro_batches ? schedule->min_micro_batches * p : 1;
    int m = least + ek__random_below(r, 8);
    ek_shape shape = {p, v, m, 0};
    if (strcmp(schedule->name, "sequence") == 0) {
        shape.n_pieces = 1 + ek__random_below(r, 3);
        shape.n_micro_batches = m = shape.n_pieces * (1 + ek__random_below(r, 6));
    }
    if (ek_order_new(schedule, &shape, &x->order, &err))
        return false;
    x->body[0] = random_layer(r, "Dense", 1 + ek__random_below(r, 12));
    x->body[1] = random_layer(r, "Experts", 1 + ek__random_below(r, 12));
    x->layers = (ek_layers){.name = "random",
                            .n_body = 2,
                            .body = x->body,
                            .const_mb = 17,
                            .head = random_layer(r, "Embedding", 1),
                            .tail = random_layer(r, "Head", 1),
                            .recompute_transient = ek__random_below(r, 2)};
    x->layers.n_layers = x->body[0].n_layers + x->body[1].n_layers;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        x->layers.modelled[k] = true;
    for (int s = 0; s < p; s++)
        x->edge[s] = ek__random_unit(r);
    x->comm = (ek_comm){.p2p_time = ek__random_below(r, 2) * 0.7,
                        .blocking = ek__random_below(r, 2),
                        .edge_time = ek__random_below(r, 2) ? x->edge : NULL};
    for (int b = 0; b < m; b++)
        x->factor[b] = 0.5 + ek__random_unit(r);
    if (ek__random_below(r, 2))
        assert_int_equal(ek_order_scale_micro_batches(x->order, x->factor, &err), EK_OK);
    bool uneven = ek__random_below(r, 2);
    for (int s = 0; s < p; s++)
        x->slow[s] = s > p - 1 - s ? x->slow[p - 1 - s] : uneven ? 0.5 + ek__random_unit(r) : 1;
    assert_int_equal(ek_order_slow_stages(x->order, x->slow, &err), EK_OK);
    assert_int_equal(ek_plan_init(&x->plan, p, v, &err), EK_OK);
    random_plan(r, &x->layers, &x->plan);
    assert_int_equal(ek_plan_check(&x->plan, &x->layers, &err), EK_OK);
    assert_int_equal(ek_simulate(x->order, &x->plan, &x->layers, &x->comm, &x->t, &err), EK_OK);
    return true;
}

static void drop(random_case *x)
{
    ek_timeline_clear(&x->t);
    ek_plan_clear(&x->plan);
    ek_order_free(x->order);
}

static void for_random_plans(uint64_t seed, int rounds, void check(const random_case *x, const json_t *run))
{
    ek__random r = ek__random_seed(seed);
    for (int i = 0; ek_schedules[i]; i++) {
        int n = 0;
        for (int round = 0; round < rounds; round++) {
            random_case x;
            if (!draw(&r, ek_schedules[i], &x))
                continue;
            const ek_case one = {"one", &x.plan, &x.t};
            const ek_report report = {.layers = &x.layers, .memory_limit_mb = 500, .n_cases = 1, .cases = &one};
            json_t *root = document_of(&report);
            check(&x, first_run(root));
            json_decref(root);
            drop(&x);
            n++;
        }
        if (n == 0)
            fail_msg("no plan for %s", ek_schedules[i]->name);
    }
}

static bool is_transfer(const json_t *timeline, uint32_t name)
{
    const json_t *types = json_object_get(json_object_get(timeline, "names"), "type");
    return json_integer_value(json_array_get(types, name)) == EK_VIEW_TRANSFER;
}

/* The line of details of each event, in turn. */
static json_t *next_details(char **at)
{
    char *line = *at;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] == '\n');
    line[n] = '\0';
    return n > 0 ? parsed(line) : NULL;
}

static void check_blocks(const random_case *x, const json_t *run)
{
    const json_t *json = member(run, "timeline"), *rows = member(json, "row_events");
    read_timeline t = read_back(json);
    size_t size, event = 0;
    char *args = (char *)unpacked(text_of(json, "args"), &size), *line;
    args = realloc(args, size + 1);
    args[size] = '\0';
    line = args;
    assert_int_equal(json_array_size(rows), x->t.shape.n_stages);
    for (int s = 0; s < x->t.shape.n_stages; s++) {
        size_t k = x->t.first[s], end = event + (size_t)json_integer_value(json_array_get(rows, (size_t)s));
        double clock = 0, before = x->t.static_mb[s];
        for (; event < end; event++) {
            assert_true(t.begin[event] >= clock && t.duration[event] >= 0);
            /* A begin and a duration do not sum to the last bit. */
            clock = fmax(t.begin[event], (t.begin[event] + t.duration[event]) * (1 - 1e-15));
            json_t *details = next_details(&line);
            if (is_transfer(json, t.name[event])) {
                assert_true(x->comm.blocking && !details);
                continue;
            }
            const ek_interval *b = &x->t.block[k++];
            char name[64], micro_batch[32];
            bool chunks = x->t.shape.n_chunks > 1 || x->t.schedule->placement == EK_PLACE_BOTH_WAYS;
            unsigned pieces = x->t.shape.n_pieces > 1 ? (unsigned)x->t.shape.n_pieces : 1;
            snprintf(micro_batch, sizeof micro_batch, pieces > 1 ? "%u.%u" : "%u", b->micro_batch / pieces,
                     b->micro_batch % pieces);
            snprintf(name, sizeof name, chunks ? "%c%s·%d" : "%c%s", "FBW"[b->kind], micro_batch, b -> chunk);
            assert_string_equal(json_string_value(json_array_get(
                                    json_object_get(json_object_get(json, "names"), "text"), t.name[event])),
                                name);
            assert_true(t.begin[event] == b->start);
            assert_true(t.duration[event] == b->end - b->start);
            assert_int_equal(json_integer_value(member(details, "chunk")), b->chunk);
            assert_int_equal(json_integer_value(member(details, "micro-batch")), b->micro_batch / pieces);
            if (pieces > 1)
                assert_int_equal(json_integer_value(member(details, "piece of the sequence")), b->micro_batch % pieces);
            assert_close_to(json_number_value(member(details, "memory before (MB)")), before, 1e-6);
            assert_close_to(json_number_value(member(details, "memory during (MB)")), b->during_mb, 1e-6);
            assert_close_to(json_number_value(member(details, "memory after (MB)")), b->memory_mb, 1e-6);
            before = b->memory_mb;
            json_decref(details);
        }
        assert_int_equal(k, x->t.first[s + 1]);
    }
    assert_int_equal(event, t.n_events);
    free(args);
    forget(&t);
}

static void blocks_come_back_to_the_last_bit(void **state)
{
    (void)state;
    for_random_plans(1, 12, check_blocks);
}

static int stage_of(const ek_timeline *t, size_t block)
{
    int s = 0;
    while (block >= t->first[s + 1])
        s++;
    return s;
}

/* Does `to` use the output of `from`, on another stage? By the schedule's definition, block against block. */
static bool feeds(const ek_timeline *t, size_t from, size_t to)
{
    const ek_interval *a = &t->block[from], *b = &t->block[to];
    int p = t->shape.n_stages, stage_a = stage_of(t, from), stage_b = stage_of(t, to);
    if (a->micro_batch != b->micro_batch || a->kind != b->kind || a->kind == EK_BACKWARD_WEIGHT || stage_a == stage_b)
        return false;
    int before = ek_position(t->schedule->placement, p, a->chunk, stage_a);
    int after = ek_position(t->schedule->placement, p, b->chunk, stage_b);
    return after == before + (a->kind == EK_FORWARD ? 1 : -1);
}

static void check_arrows(const random_case *x, const json_t *run)
{
    read_timeline t = read_back(member(run, "timeline"));
    const json_t *names = member(t.json, "arrow_names");
    size_t n = 0;
    for (size_t to = 0; to < x->t.n_blocks; to++)
        for (size_t from = 0; from < x->t.n_blocks; from++) {
            if (!feeds(&x->t, from, to))
                continue;
            assert_true(n < t.n_arrows);
            const ek_interval *a = &x->t.block[from];
            assert_true(t.from_time[n] >= a->start && (t.from_time[n] < a->end || a->end == a->start));
            assert_true(t.from_time[n] >= a->start + 0.99 * (a->end - a->start));
            assert_true(t.to_time[n] == x->t.block[to].start);
            assert_true(t.from_time[n] <= t.to_time[n]);
            assert_int_equal(t.from_row[n], stage_of(&x->t, from));
            assert_int_equal(t.to_row[n], stage_of(&x->t, to));
            assert_string_equal(json_string_value(json_array_get(names, t.arrow_name[n])),
                                x->t.block[to].kind == EK_FORWARD ? "activations" : "gradients");
            n++;
        }
    assert_int_equal(n, t.n_arrows);
    forget(&t);
}

static void arrows_are_those_of_a_search(void **state)
{
    (void)state;
    for_random_plans(2, 8, check_arrows);
}

/* Parameters and constants stay to the end, the rest is gone at its end. */
static double held_at(const read_timeline *t, int stage, double time, double step_time)
{
    double sum = 0;
    for (size_t i = 0; i < t->n_held; i++) {
        bool fixed = t->held_begin[i] == 0 && t->held_end[i] == step_time;
        if (t->held_group[i] == (uint32_t)stage && t->held_begin[i] <= time && (time < t->held_end[i] || fixed))
            sum += t->held_mb[i];
    }
    return sum;
}

static double curve_at(const read_timeline *t, int stage, double time)
{
    const json_t *curves = member(t->json, "curves");
    size_t first = 0;
    for (int s = 0; s < stage; s++)
        first += count(json_array_get(curves, (size_t)s), "n");
    double value = NAN;
    for (size_t i = 0, n = count(json_array_get(curves, (size_t)stage), "n"); i < n; i++) {
        if (i > 0)
            assert_true(t->time[first + i] >= t->time[first + i - 1]);
        if (t->time[first + i] <= time)
            value = t->value[first + i];
    }
    return value;
}

static void check_held(const random_case *x, const json_t *run)
{
    read_timeline t = read_back(member(run, "timeline"));
    for (int s = 0; s < x->t.shape.n_stages; s++) {
        assert_close_to(curve_at(&t, s, 0), held_at(&t, s, 0, x->t.step_time), 1e-6);
        for (size_t k = x->t.first[s]; k < x->t.first[s + 1]; k++) {
            const ek_interval *b = &x->t.block[k];
            double middle = b->start + (b->end - b->start) / 2;
            /* Blocks of no duration end together: the last one's memory remains. */
            bool last = k + 1 == x->t.first[s + 1] || b[1].end > b->end;
            bool back = k + 1 < x->t.first[s + 1] && b[1].start == b->end && b[1].during_mb > b->memory_mb;
            if (last && !back) {
                assert_close_to(held_at(&t, s, b->end, x->t.step_time), b->memory_mb, 1e-6);
                assert_close_to(curve_at(&t, s, b->end), b->memory_mb, 1e-6);
            }
            if (middle > b->start && middle < b->end) {
                assert_close_to(held_at(&t, s, middle, x->t.step_time), b->during_mb, 1e-6);
                assert_close_to(curve_at(&t, s, middle), b->during_mb, 1e-6);
            }
        }
    }
    forget(&t);
}

static void what_is_held_sums_to_the_curve(void **state)
{
    (void)state;
    for_random_plans(3, 12, check_held);
}

static void check_breakdown(const random_case *x, const json_t *run)
{
    const json_t *bars = member(piece_of(section_of(run, "breakdown"), "bars", "step"), "bars");
    int p = x->t.shape.n_stages;
    assert_int_equal(json_array_size(bars), p);
    for (int s = 0; s < p; s++) {
        const json_t *values = member(json_array_get(bars, (size_t)s), "values");
        double sum = 0, kind[EK_N_BLOCK_KINDS] = {0}, recompute = 0;
        for (size_t i = 0; i < json_array_size(values); i++) {
            double value = json_number_value(json_array_get(values, i));
            assert_true(value >= 0);
            sum += value;
        }
        assert_close_to(sum, x->t.step_time, 1e-9 * x->t.step_time);
        for (size_t k = x->t.first[s]; k < x->t.first[s + 1]; k++) {
            const ek_interval *b = &x->t.block[k];
            kind[b->kind] += b->end - b->start;
            recompute += b->recompute_time;
        }
        const double expected[] = {kind[EK_FORWARD], kind[EK_BACKWARD] - recompute, kind[EK_BACKWARD_WEIGHT]};
        for (size_t i = 0; i < (x->t.schedule->splits_backward ? 3 : 2); i++)
            assert_close_to(json_number_value(json_array_get(values, i)), expected[i], 1e-9 * x->t.step_time);
        bool blocking = x->comm.blocking && (x->comm.edge_time || x->comm.p2p_time > 0);
        assert_int_equal(json_array_size(values), 4 + x->t.schedule->splits_backward + blocking);
    }
}

static void bars_sum_to_the_step(void **state)
{
    (void)state;
    for_random_plans(4, 20, check_breakdown);
}

/* The reported dependency of a block gives its start again: the time when its stage has made its sends, its source's
 * result has arrived, and the stage has received it. */
static void check_waits(const random_case *x, const json_t *run)
{
    (void)run;
    ek_error err;
    ek_wait *wait = calloc(x->t.n_blocks, sizeof *wait);
    assert_int_equal(ek_timeline_waits(&x->t, wait, &err), EK_OK);
    for (int s = 0; s < x->t.shape.n_stages; s++) {
        double clock = 0;
        for (size_t k = x->t.first[s]; k < x->t.first[s + 1]; k++) {
            const ek_interval *b = &x->t.block[k];
            const ek_wait *w = &wait[k];
            double ready = 0;
            if (w->source != EK_NO_BLOCK)
                ready = x->t.block[w->source].end + (x->comm.blocking ? 0 : w->transfer_time);
            assert_close_to(fmax(clock, ready) + w->receive_time, b->start, 1e-9);
            assert_close_to(fmax(ready - clock, 0), w->idle_time, 1e-9);
            assert_true(w->receive_time == (x->comm.blocking ? w->transfer_time : 0));
            if (w->freed_by != EK_NO_BLOCK) {
                const ek_interval *end = &x->t.block[w->freed_by];
                assert_true(end->micro_batch == b->micro_batch && end->chunk == b->chunk && end->kind == b->kind + 1);
                assert_true((size_t)w->freed_by >= x->t.first[s] && (size_t)w->freed_by < x->t.first[s + 1]);
            } else {
                assert_true(b->kind == (x->t.schedule->splits_backward ? EK_BACKWARD_WEIGHT : EK_BACKWARD));
            }
            clock = b->end + w->send_time;
        }
    }
    free(wait);
}

static void waits_give_the_starts_again(void **state)
{
    (void)state;
    for_random_plans(7, 20, check_waits);
}

/* Every recomputed layer lengthens each of its micro-batches once, and F adds the saved activations of its layers. */
static void check_recompute(const random_case *x, const json_t *run)
{
    (void)run;
    int p = x->t.shape.n_stages, n = p * x->t.shape.n_chunks;
    ek_chunk_cost *cost = calloc((size_t)n, sizeof *cost);
    ek_plan_costs(&x->plan, &x->layers, x->t.schedule->placement, cost);
    for (int s = 0; s < p; s++)
        for (size_t k = x->t.first[s]; k < x->t.first[s + 1]; k++) {
            const ek_interval *b = &x->t.block[k];
            const ek_chunk_cost *c =
                &cost[ek_cell_at(x->t.schedule->placement, p, ek_position(x->t.schedule->placement, p, b->chunk, s))];
            double scale = x->order->scale ? x->factor[b->micro_batch] : 1;
            assert_close_to(b->activation_mb, scale * c->activation_mb, 1e-9);
            assert_close_to(b->recompute_time, b->kind == EK_BACKWARD ? x->slow[s] * scale * c->recompute_time : 0,
                            1e-9);
        }
    free(cost);
}

static void recomputation_and_activations_are_those_of_the_layers(void **state)
{
    (void)state;
    for_random_plans(5, 6, check_recompute);
}

/* The number of layers times the cost of one equals ek_plan_costs(). */
static void check_counts(const random_case *x, const json_t *run)
{
    int p = x->plan.n_stages, n = p * x->plan.n_chunks;
    ek_placement placement = x->t.schedule->placement;
    ek_chunk_cost *cost = calloc((size_t)n, sizeof *cost);
    int *counts = calloc((size_t)n * 2 * EK_N_RECOMPUTE, sizeof *counts);
    ek_plan_costs(&x->plan, &x->layers, placement, cost);
    ek_plan_counts(&x->plan, &x->layers, placement, counts);
    for (int c = 0; c < n; c++) {
        int position = ek_cell_at(placement, p, c);
        double forward = 0, backward = 0, kept = 0;
        const ek_layer *ends[2] = {position == 0 ? &x->layers.head : NULL, position == n - 1 ? &x->layers.tail : NULL};
        for (int e = 0; e < 2; e++) {
            forward += ends[e] ? ends[e]->forward_time : 0;
            backward += ends[e] ? ends[e]->backward_time[0] : 0;
            kept += ends[e] ? ends[e]->activation_mb[0] : 0;
        }
        for (int b = 0; b < 2; b++)
            for (int k = 0; k < EK_N_RECOMPUTE; k++) {
                int layers = counts[(c * 2 + b) * EK_N_RECOMPUTE + k];
                forward += layers * x->body[b].forward_time;
                backward += layers * x->body[b].backward_time[k];
                kept += layers * x->body[b].activation_mb[k];
            }
        assert_close_to(forward, cost[c].forward_time, 1e-9);
        assert_close_to(backward, cost[c].backward_time, 1e-9);
        assert_close_to(kept, cost[c].activation_mb, 1e-6);
    }
    /* The table's rows sum to all layers and ends, their times to all chunks'. */
    const json_t *rows = member(piece_of(section_of(run, "layers"), "tables", "layers"), "rows");
    double layers = 0, time = 0, all = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        layers += json_number_value(json_array_get(row, 3));
        for (size_t k = 4; k <= 6; k++)
            time += json_number_value(json_array_get(row, k));
    }
    for (int c = 0; c < n; c++)
        all += cost[c].forward_time + cost[c].backward_time;
    assert_close_to(layers, x->layers.n_layers + 2, 0);
    assert_close_to(time, all, 1e-9 * all);
    free(counts);
    free(cost);
}

static void layers_are_counted_where_they_sit(void **state)
{
    (void)state;
    for_random_plans(6, 12, check_counts);
}

/* Without a model memory is counted in micro-batches, with that unit. */
static void memory_in_another_unit_is_named(void **state)
{
    (void)state;
    ek_error err = {0};
    ek_uniform times;
    ek_uniform_run run;
    const ek_shape shape = {4, 1, 8, 0};
    assert_int_equal(ek_uniform_parse("forward=1,backward=2", &times, &err), EK_OK);
    assert_int_equal(ek_uniform_simulate(ek_schedule_find("1f1b"), &shape, &times, NULL, 0, &run, &err), EK_OK);
    const ek_case one = {"1f1b", &run.plan, &run.timeline};
    const ek_report report = {
        .layers = &run.layers, .memory_limit_mb = 3, .memory_unit = "micro-batches", .n_cases = 1, .cases = &one};
    json_t *root = document_of(&report);
    const json_t *json = first_run(root), *curves = member(member(json, "timeline"), "curves");
    assert_string_equal(text_of(json_array_get(curves, 0), "unit"), "micro-batches");
    assert_true(json_number_value(member(json_array_get(curves, 0), "limit")) == 3);
    const json_t *bars = piece_of(section_of(json, "memory"), "bars", "peaks");
    assert_string_equal(text_of(bars, "unit"), "");
    assert_non_null(strstr(text_of(bars, "title"), "(micro-batches)"));
    /* 1F1B: stage s has p - s live micro-batches, so the first one is over a limit of 3. */
    bool seen = false;
    size_t i;
    json_t *fact;
    json_array_foreach(member(json, "facts"), i, fact)
    {
        if (strcmp(text_of(fact, "label"), "room below the limit (micro-batches)") == 0) {
            assert_true(json_number_value(member(fact, "value")) == -1);
            seen = true;
        }
    }
    assert_true(seen);
    json_decref(root);
    ek_uniform_run_clear(&run);
}

/* ---- columns ---- */

static void numbers_come_back_whatever_they_are(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(11);
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 100, 6143, 6144, 6145, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        double *real = calloc(n + 1, sizeof *real);
        uint32_t *number = calloc(n + 1, sizeof *number);
        for (size_t k = 0; k < n; k++) {
            uint64_t bits = ek__random_next(&r); /* denormals, infinities, NaNs too; and nothing compresses */
            memcpy(&real[k], &bits, 8);
            number[k] = (uint32_t)ek__random_next(&r);
        }
        char *text = NULL;
        size_t size;
        ek__packed packed = {0};
        FILE *out = open_memstream(&text, &size);
        ek__stream s = {.out = out};
        ek__packed_reals(&packed, real, n);
        ek__packed_numbers(&packed, number, n);
        ek__packed_bytes(&packed, "xyz", 3);
        assert_true(ek__packed_write(&packed, &s, NULL));
        fclose(out);
        reader in = {0};
        text[size - 1] = '\0'; /* between the quotes */
        in.bytes = unpacked(text + 1, &in.size);
        double *real_again = reals(&in, n);
        uint32_t *number_again = numbers(&in, n);
        assert_memory_equal(real, real_again, 8 * n);
        assert_memory_equal(number, number_again, 4 * n);
        assert_int_equal(in.size - in.at, 3);
        assert_memory_equal(in.bytes + in.at, "xyz", 3);
        ek__packed_clear(&packed);
        free(real_again);
        free(number_again);
        free(in.bytes);
        free(text);
        free(real);
        free(number);
    }
}

/* ---- names that want to be more than text ---- */

static const char HOSTILE[] =
    "</script><script>alert(1)</script><!-- \" \\ \xE2\x80\xA8\xE2\x80\xA9 \xff\xc0 &amp; \x01";
static const char HARMLESS[] = "</script><script>alert(1)</script><!-- \" \\ \xE2\x80\xA8\xE2\x80\xA9 "
                               "\xEF\xBF\xBD\xEF\xBF\xBD &amp; \x01";

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static void names_stay_text(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, HOSTILE, 16);
    snprintf(f.body[0].name, sizeof f.body[0].name, "</script><img onerror=x>");
    fixture_add(&f, HOSTILE, (ek_shape){4, 2, 8, 0}, 0, EK_RECOMPUTE_BOTH);
    const ek_report report = fixture_report(&f, 5000, NULL);
    const ek_view_run run = {.name = HOSTILE, .plans = &report};
    const ek_view view = {.title = HOSTILE, .n_runs = 1, .run = &run};
    char *json = printed(&view, false), *html = printed(&view, true);
    assert_null(strchr(json, '<'));
    assert_null(strstr(json, "\xE2\x80\xA8"));
    assert_null(strstr(json, "\xE2\x80\xA9"));
    json_t *root = parsed(json);
    assert_string_equal(text_of(root, "title"), HARMLESS);
    assert_string_equal(text_of(first_run(root), "name"), HARMLESS);
    /* The page is the shell with the document in it, and nothing of the document ends an element. */
    size_t size;
    const char *shell = ek_view_shell(&size);
    char *plain = malloc(size + 1);
    memcpy(plain, shell, size);
    plain[size] = '\0';
    static const char *const marks[] = {"</script", "<script", "<!--", "<"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        assert_int_equal(times(html, marks[i]), times(plain, marks[i]));
    assert_int_equal(strlen(html), size + strlen(json));
    assert_non_null(strstr(html, json));
    free(plain);
    json_decref(root);
    free(json);
    free(html);
    fixture_clear(&f);
}

/* A text may have two types, and types two texts: each pair is a separate name, once. */
static void a_name_is_a_text_of_a_type(void **state)
{
    (void)state;
    ek__view_timeline *t = ek__timeline_new("ns", "12345678901234567890");
    assert_non_null(t);
    ek__timeline_group(t, "rank 0", 0, -1);
    ek__timeline_track(t, "stream 1", "compute", 1);
    ek__timeline_left_out(t, 7);
    ek__timeline_row(t);
    uint32_t a = ek__timeline_name(t, "Add", 3, EK_VIEW_COMPUTING), b = ek__timeline_name(t, "Add", 3, EK_VIEW_COPY);
    uint32_t c = ek__timeline_name(t, "Ad", 2, EK_VIEW_COPY), d = ek__timeline_name(t, "", 0, EK_VIEW_COPY);
    assert_int_equal(ek__timeline_name(t, "Addition", 3, EK_VIEW_COMPUTING), a);
    assert_int_equal(ek__timeline_name(t, "Add", 3, EK_VIEW_COPY), b);
    ek__timeline_event(t, 1, 2, d, "{\"a\":1}", 7);
    ek__timeline_event(t, 3, 4, c, NULL, 0);
    ek__timeline_step(t, "step 1", 0, -1, 8);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, false);
    assert_true(ek__timeline_write(t, &s));
    ek__stream_end(&s);
    fclose(out);
    ek__timeline_free(t);
    json_t *root = parsed(text);
    const json_t *json = member(root, "timeline"), *names = member(json, "names");
    read_timeline again = read_back(json);
    static const struct {
        const char *text;
        int type;
    } expected[] = {{"Add", EK_VIEW_COMPUTING}, {"Add", EK_VIEW_COPY}, {"Ad", EK_VIEW_COPY}, {"", EK_VIEW_COPY}};
    const uint32_t number[] = {a, b, c, d};
    assert_int_equal(json_array_size(member(names, "text")), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(json_string_value(json_array_get(member(names, "text"), number[i])), expected[i].text);
        assert_int_equal(json_integer_value(json_array_get(member(names, "type"), number[i])), expected[i].type);
    }
    assert_string_equal(text_of(json, "origin"), "12345678901234567890");
    assert_true(json_number_value(member(json, "begin")) == -1 && json_number_value(member(json, "end")) == 8);
    const json_t *track = json_array_get(member(json_array_get(member(json, "groups"), 0), "tracks"), 0);
    assert_int_equal(json_integer_value(member(track, "left_out")), 7);
    assert_true(again.n_events == 2 && again.name[0] == d && again.name[1] == c);
    unsigned char *args = unpacked(text_of(json, "args"), &size);
    assert_int_equal(size, 9);
    assert_memory_equal(args, "{\"a\":1}\n\n", 9);
    free(args);
    forget(&again);
    json_decref(root);
    free(text);
}

/* ---- a sweep ---- */

static void a_sweep_has_its_rows(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "result", (ek_shape){4, 1, 8, 0}, 0, EK_RECOMPUTE_FULL);
    const ek_sweep_key key = {"mem", "memory limit (MB)"};
    ek_sweep_row rows[] = {
        {.value = 4000,
         .status = EK_BALANCE_INFEASIBLE,
         .step_time = INFINITY,
         .lower_bound = NAN,
         .smallest_limit_mb = 4100.25},
        {.value = 5000,
         .status = EK_BALANCE_FEASIBLE,
         .step_time = 123.5,
         .lower_bound = 120,
         .peak_memory_mb = 4990,
         .peak_stage = 2,
         .plan = f.plan[0],
         .smallest_limit_mb = NAN},
        {.value = 6000, .step_time = INFINITY, .lower_bound = NAN, .smallest_limit_mb = NAN, .impossible = "too much"}};
    const ek_sweep sweep = {&f.layers, &key, "4 stages", 3, rows};
    const ek_view_run run = {.name = "mem", .sweep = &sweep};
    const ek_view view = {.title = "sweep", .n_runs = 1, .run = &run};
    char *text = printed(&view, false);
    json_t *root = parsed(text);
    const json_t *section = section_of(first_run(root), "sweep");
    const json_t *table = member(piece_of(section, "tables", "sweep"), "rows");
    static const char *const status[] = {"nothing fits; 4101 MB would be needed", "feasible", "not possible: too much"};
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(table, i);
        assert_true(json_number_value(json_array_get(row, 0)) == rows[i].value);
        assert_true(i == 1 ? json_number_value(json_array_get(row, 1)) == 123.5 : json_is_null(json_array_get(row, 1)));
        assert_string_equal(json_string_value(json_array_get(row, 5)), status[i]);
    }
    assert_string_equal(json_string_value(json_array_get(json_array_get(table, 1), 6)), "4 4 4 4");
    assert_string_equal(json_string_value(json_array_get(json_array_get(table, 1), 7)), "16 full");
    const json_t *series = member(piece_of(section, "lines", "step"), "series");
    assert_int_equal(json_array_size(series), 2);
    /* An unproved value has a hollow mark; a bound has none, for it is proved. */
    assert_string_equal(json_string_value(member(json_array_get(series, 0), "name")),
                        "best plan found (hollow: not proved optimal)");
    const json_t *found = json_array_get(member(json_array_get(series, 0), "points"), 1);
    assert_int_equal(json_array_size(found), 3);
    assert_true(json_number_value(json_array_get(found, 2)) == 1);
    const json_t *points = member(json_array_get(series, 1), "points");
    assert_int_equal(json_array_size(json_array_get(points, 1)), 2);
    assert_true(json_is_null(json_array_get(json_array_get(points, 0), 1)));
    assert_true(json_number_value(json_array_get(json_array_get(points, 1), 1)) == 120);
    assert_true(json_is_null(json_object_get(first_run(root), "timeline")));
    json_decref(root);
    free(text);
    fixture_clear(&f);
}

static void a_document_names_its_language_where_one_was_asked_for(void **state)
{
    (void)state;
    const ek_view_run run = {.name = "one"};
    static const char *const asked[] = {NULL, "en", "zh"};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const ek_view view = {.title = "t", .lang = asked[i], .n_runs = 1, .run = &run};
        char *text = printed(&view, false);
        json_t *root = parsed(text);
        const char *lang = json_string_value(json_object_get(root, "lang"));
        assert_true(asked[i] ? lang && strcmp(lang, asked[i]) == 0 : !json_object_get(root, "lang"));
        json_decref(root);
        free(text);
    }
}

/* ---- errors ---- */

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add_schedule(&f, "split", (ek_shape){4, 1, 8, 0}, ek_schedule_find("zb-h1"), EK_RECOMPUTE_FULL);
    const ek_report report = fixture_report(&f, 5000, NULL);
    const ek_view_run run = {.name = "one", .plans = &report};
    const ek_view view = {.title = "t", .n_runs = 1, .run = &run};
    FILE *out = fopen("/dev/null", "w");
    ek_status status = EK_ERR_MEMORY;
    int n = 0;
    for (; status != EK_OK; n++) {
        ek_error err = {0};
        allocations_left = n;
        status = ek__view_write_html(&view, out, &err);
        allocations_left = -1;
        if (status != EK_OK) {
            assert_int_equal(status, EK_ERR_MEMORY);
            assert_string_equal(err.message, "out of memory");
        }
    }
    fclose(out);
    assert_true(n > 30);
    fixture_clear(&f);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "one", (ek_shape){2, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    const ek_report report = fixture_report(&f, 5000, NULL);
    const ek_view_run run = {.name = "one", .plans = &report};
    const ek_view view = {.title = "t", .n_runs = 1, .run = &run};
    FILE *out = need_full_disk();
    ek_error err = {0};
    assert_int_equal(ek__view_write_html(&view, out, &err), EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, "disk full"));
    fclose(out);
    fixture_clear(&f);
}

/* ---- as it should look ---- */

static void put_reals(json_t *object, const char *key, const double *value, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_real(value[i]));
    json_object_set_new(object, key, list);
}

static void put_numbers(json_t *object, const char *key, const uint32_t *value, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer(value[i]));
    json_object_set_new(object, key, list);
}

/* Releases of zlib compress differently, so the golden file has the columns as numbers and the details as texts. */
static void unfold(json_t *timeline)
{
    read_timeline t = read_back(timeline);
    json_t *data = json_object(), *args = json_array();
    put_reals(data, "event begin", t.begin, t.n_events);
    put_reals(data, "event duration", t.duration, t.n_events);
    put_reals(data, "arrow from time", t.from_time, t.n_arrows);
    put_reals(data, "arrow to time", t.to_time, t.n_arrows);
    put_reals(data, "held begin", t.held_begin, t.n_held);
    put_reals(data, "held end", t.held_end, t.n_held);
    put_reals(data, "held mb", t.held_mb, t.n_held);
    put_reals(data, "curve time", t.time, t.n_points);
    put_reals(data, "curve value", t.value, t.n_points);
    put_numbers(data, "event name", t.name, t.n_events);
    put_numbers(data, "arrow from row", t.from_row, t.n_arrows);
    put_numbers(data, "arrow to row", t.to_row, t.n_arrows);
    put_numbers(data, "arrow name", t.arrow_name, t.n_arrows);
    put_numbers(data, "held group", t.held_group, t.n_held);
    put_numbers(data, "held name", t.held_name, t.n_held);
    forget(&t);
    size_t size;
    unsigned char *text = unpacked(text_of(timeline, "args"), &size);
    for (char *at = (char *)text; at < (char *)text + size;) {
        size_t n = (size_t)((char *)memchr(at, '\n', size) - at);
        json_array_append_new(args, json_stringn(at, n));
        at += n + 1;
    }
    free(text);
    json_object_set_new(timeline, "data", data);
    json_object_set_new(timeline, "args", args);
}

static void a_small_document_matches_its_golden_file(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 5);
    f.layers.recompute_transient = true;
    fixture_add(&f, "result", (ek_shape){2, 1, 3, 0}, 0, EK_RECOMPUTE_FULL);
    const ek_balance_result search = {
        .status = EK_BALANCE_FEASIBLE, .step_time = f.timeline[0].step_time, .lower_bound = 64, .gap = 0.125};
    const double limits[] = {4000, 2500};
    ek_report report = fixture_report(&f, 4000, &search);
    report.stage_memory_mb = limits;
    json_t *root = document_of(&report);
    unfold(json_object_get(json_array_get(json_object_get(root, "runs"), 0), "timeline"));
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(15)), *whole = malloc(strlen(text) + 2);
    sprintf(whole, "%s\n", text);
    assert_golden("view_small.json", whole);
    free(whole);
    free(text);
    json_decref(root);
    fixture_clear(&f);
}

/* A step by hand: the pipeline, the work after it on each stage, and the parts once a step. Memory goes up by 10 MB in
 * each block and stays 4 above. */
typedef struct made_step {
    ek_job job;
    ek_step_tail tail[2];
    ek_memory_moment moment[64];
    int64_t whole[2];
    ek_memory_course memory;
    ek_step_run run;
    ek_view_step step;
} made_step;

static ek_view_run make_step(made_step *m, const char *name, const ek_case *of, int repeats)
{
    const ek_timeline *t = of->timeline;
    int n_stages = t->shape.n_stages;
    size_t n = t->n_blocks / (size_t)n_stages;
    double end = repeats * t->step_time;
    assert_true(t->n_blocks <= sizeof m->moment / sizeof *m->moment);
    *m = (made_step){.job = {.plan = *of->plan, .limit_mb = 4000}};
    for (int s = 0; s < n_stages; s++) {
        m->tail[s] = (ek_step_tail){end - 8 * (n_stages - 1 - s), end + 2, end + 4, end + 8, end + 8.5 + s};
        m->whole[s] = (s + 1) * (INT64_C(1000) << 20);
        for (size_t k = 0; k < n; k++)
            m->moment[(size_t)s * n + k] = (ek_memory_moment){.peak = m->whole[s] + (int64_t)(4 * k + 10) * (1 << 20),
                                                              .after = m->whole[s] + (int64_t)(4 * k + 4) * (1 << 20)};
    }
    m->memory = (ek_memory_course){n_stages, n, m->whole, m->moment};
    m->run = (ek_step_run){*t, NULL, repeats, m->tail, end + 16};
    m->step = (ek_view_step){&m->job, &m->run, &m->memory};
    return (ek_view_run){.name = name, .step = &m->step};
}

static void a_step_goes_on_behind_its_pipeline(void **state)
{
    (void)state;
    fixture f;
    static made_step made[2];
    fixture_init(&f, "steps", 4);
    fixture_add(&f, "two stages", (ek_shape){2, 1, 3, 0}, 0, EK_RECOMPUTE_FULL);
    fixture_add(&f, "one stage", (ek_shape){1, 1, 2, 0}, 0, EK_RECOMPUTE_NONE);
    const ek_view_run runs[] = {make_step(&made[0], "two stages", &f.cases[0], 1),
                                make_step(&made[1], "one stage", &f.cases[1], 2)};
    const ek_view view = {.title = "steps", .n_runs = 2, .run = runs};
    char *text = printed(&view, false);
    json_t *root = parsed(text);
    free(text);
    for (size_t i = 0; i < 2; i++)
        unfold(json_object_get(json_array_get(json_object_get(root, "runs"), i), "timeline"));
    assert_golden_document("view_steps.json", root);
    json_decref(root);
    fixture_clear(&f);
}

/* All facts of a search's answer: the other candidates, the open axes, and the differences of stages. */
static void an_answer_stands_among_what_was_tried(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "tried", 10);
    fixture_add(&f, "answer", (ek_shape){2, 2, 4, 0}, 1, EK_RECOMPUTE_SELECT);
    ek_ranked ranked[] = {
        {ek_schedule_find("interleaved"), 2, EK_BALANCE_OPTIMAL, 96.5, 3500.25, 1, 96.5, NAN},
        {ek_schedule_find("1f1b"), 1, EK_BALANCE_FEASIBLE, 128, 3000, 0, 100, NAN},
        {ek_schedule_find("gpipe"), 1, EK_BALANCE_INFEASIBLE, INFINITY, NAN, 0, NAN, 5000},
    };
    ek_skipped skipped[] = {{"dualpipe", "it needs an even number of stages"}, {"sequence", "there are no pieces"}};
    const ek_ranking ranking = {3, 2, ranked, skipped};
    const ek_balance_result search = {
        .status = EK_BALANCE_FEASIBLE, .step_time = f.timeline[0].step_time, .lower_bound = 64, .gap = 0.125};
    static const double speed[] = {1, 0.5}, cost[] = {1, 1.5, 1, 2};
    static const bool forbidden[EK_N_RECOMPUTE] = {[EK_RECOMPUTE_FULL] = true};
    static const int fixed[] = {-1, 5};
    ek_report report = fixture_report(&f, 4000, &search);
    report.ranking = &ranking;
    report.stage_speed = speed;
    report.micro_batch_cost = cost;
    report.forbidden = forbidden;
    report.fixed_layers = fixed;
    report.memory_unit = "GiB";
    report.train_file = "train.yaml";
    const ek_view_run run = {.name = "answer", .note = "Chosen by hand.", .plans = &report};
    assert_golden_page("view_answer.json", &run);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"blocks of random plans come back to the last bit, under every schedule", blocks_come_back_to_the_last_bit,
         NULL, NULL, NULL},
        {"arrows are those that a search over all pairs of blocks finds", arrows_are_those_of_a_search, NULL, NULL,
         NULL},
        {"what is held sums to the memory curve at any time", what_is_held_sums_to_the_curve, NULL, NULL, NULL},
        {"what blocks wait for gives their starts again", waits_give_the_starts_again, NULL, NULL, NULL},
        {"bars of a stage sum to the step", bars_sum_to_the_step, NULL, NULL, NULL},
        {"recomputation and activations of a block are those of its layers",
         recomputation_and_activations_are_those_of_the_layers, NULL, NULL, NULL},
        {"layers are counted where they sit", layers_are_counted_where_they_sit, NULL, NULL, NULL},
        {"memory in another unit is named", memory_in_another_unit_is_named, NULL, NULL, NULL},
        {"numbers come back whatever they are", numbers_come_back_whatever_they_are, NULL, NULL, NULL},
        {"names stay text", names_stay_text, NULL, NULL, NULL},
        {"a name is a text of a type", a_name_is_a_text_of_a_type, NULL, NULL, NULL},
        {"a sweep has its rows", a_sweep_has_its_rows, NULL, NULL, NULL},
        {"a document names its language where one was asked for", a_document_names_its_language_where_one_was_asked_for,
         NULL, NULL, NULL},
        {"lack of memory is reported, wherever it comes", lack_of_memory_is_reported, NULL, NULL, NULL},
        {"a full disk is reported", a_full_disk_is_reported, NULL, NULL, NULL},
        {"a small document matches its golden file", a_small_document_matches_its_golden_file, NULL, NULL, NULL},
        {"a step goes on behind its pipeline", a_step_goes_on_behind_its_pipeline, NULL, NULL, NULL},
        {"an answer stands among what was tried", an_answer_stands_among_what_was_tried, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
