/* Writes a plan for Megatron-LM: flags of its training scripts, as a bash array. Layers that are spread evenly need no
 * list; others go into --pipeline-model-parallel-layout, which stays short by repetitions, or into the counts of the
 * first and last stage where these are enough. Recomputation is one rule for all chunks there, so a plan may be
 * replaced by the nearest one that the flags can express. */
#include <string.h>

#include "base/print.h"
#include "emit/emit_internal.h"

enum { MAX_PERIOD = 8 };

static const char framework[] = "Megatron";
static const char rules[] =
    "none, selective for every layer, full for every layer, or full for the first N layers of each "
    "chunk";

/* ---- the layout ---- */

/* The text between two separators for a chunk of `n` layers. @return its length */
static int chunk_text(int n, char *out, size_t size)
{
    if (n < 4)
        return snprintf(out, size, "%.*s", n, "ttt");
    return snprintf(out, size, "t*%d", n);
}

static void write_chunk(int n, FILE *out)
{
    char text[24];
    chunk_text(n, text, sizeof text);
    fputs(text, out);
}

/* How many times layers[at .. at + period) repeat before `end`. */
static int count_repeats(const int *layers, int at, int period, int end)
{
    int same = period;
    while (at + same < end && layers[at + same] == layers[at + same - period])
        same++;
    return same / period;
}

/* Characters saved by writing a run as a group; a group may not contain another one. */
static int saving(const int *layers, int at, int period, int repeats)
{
    char text[24];
    int length = 0;
    for (int i = 0; i < period; i++)
        length += chunk_text(layers[at + i], text, sizeof text) + 1;
    int number = snprintf(text, sizeof text, "()*%d", repeats);
    return length * (repeats - 1) - number;
}

/* Chunks before the last, each with the separator after it; greedily by the groups that save most. */
static void write_middle(const int *layers, int begin, int end, FILE *out)
{
    for (int at = begin; at < end;) {
        int period = 1, repeats = 1, best = 0;
        for (int k = 1; k <= MAX_PERIOD && at + 2 * k <= end; k++) {
            int n = count_repeats(layers, at, k, end);
            int saved = n > 1 ? saving(layers, at, k, n) : 0;
            if (saved > best) {
                best = saved;
                period = k;
                repeats = n;
            }
        }
        if (repeats > 1)
            fputc('(', out);
        for (int i = 0; i < period; i++) {
            write_chunk(layers[at + i], out);
            fputc('|', out);
        }
        if (repeats > 1)
            fprintf(out, ")*%d", repeats);
        at += period * repeats;
    }
}

/* For two or more chunks, since a single one has an even split. */
static void write_layout(const ek_plan *plan, FILE *out)
{
    int n = plan->n_stages * plan->n_chunks;
    fputs("    --pipeline-model-parallel-layout \"E", out);
    write_chunk(plan->layers[0], out);
    fputc('|', out);
    write_middle(plan->layers, 1, n - 1, out);
    write_chunk(plan->layers[n - 1], out);
    fputs("L\"\n", out);
}

/* ---- layers ---- */

static bool all_equal(const int *values, int n)
{
    for (int i = 1; i < n; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

/* The counts of the first and the last stage, for versions without the layout option. */
static void suggest_ends(const ek_plan *plan, FILE *out)
{
    int p = plan->n_stages, first = plan->layers[0], last = plan->layers[p - 1];
    if (plan->n_chunks > 1 || p < 2 || first == 0 || last == 0 || (p > 2 && !all_equal(plan->layers + 1, p - 2)))
        return;
    int middle = p > 2 ? plan->layers[1] : 0;
    fputs("    # or instead of the layout:", out);
    if (first != middle)
        fprintf(out, " --decoder-first-pipeline-num-layers %d", first);
    if (last != middle)
        fprintf(out, " --decoder-last-pipeline-num-layers %d", last);
    fputc('\n', out);
}

static void write_layers(const ek_emission *e, FILE *out)
{
    const ek_plan *plan = e->plan;
    fprintf(out, "    --num-layers %d\n    --pipeline-model-parallel-size %d\n", e->n_layers, plan->n_stages);
    if (!all_equal(plan->layers, plan->n_stages * plan->n_chunks)) {
        write_layout(plan, out);
        suggest_ends(plan, out);
    } else if (plan->n_chunks > 1) {
        fprintf(out, "    --num-layers-per-virtual-pipeline-stage %d\n", plan->layers[0]);
    }
}

/* ---- recomputation ---- */

static void write_rule(ek__rule rule, FILE *out)
{
    if (rule.kind == EK_RECOMPUTE_SELECT)
        fputs("    # the parts of the model's selective recomputation; core_attn is the default\n"
              "    --recompute-granularity selective --recompute-modules core_attn\n",
              out);
    else if (rule.kind == EK_RECOMPUTE_FULL && rule.n == EK__EVERY_LAYER)
        fputs("    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n", out);
    else if (rule.kind == EK_RECOMPUTE_FULL)
        fprintf(out, "    --recompute-granularity full --recompute-method block --recompute-num-layers %d\n", rule.n);
}

static void write_micro_batches(const ek_emission *e, FILE *out)
{
    int m = e->n_micro_batches, p = e->plan->n_stages;
    if (m > 0)
        ek__print_comment(out, "Global batch = %d micro-batches x micro-batch size x data parallel.", m);
    if (m > 0 && e->plan->n_chunks > 1 && m % p != 0)
        ek__print_comment(
            out,
            "Careful: it refuses %d micro-batches for interleaved stages unless they are a multiple of the %d "
            "stages, or --microbatch-group-size-per-virtual-pipeline-stage leaves no small rest.",
            m, p);
}

static ek_status write_megatron(const ek_emission *e, FILE *out, ek_telling *telling, ek_error *err)
{
    ek__theirs schedule;
    ek__told told;
    ek_status status = ek__find_schedule(e, EK_MEGATRON, framework, &schedule, err);
    if (status == EK_OK)
        status = ek__check_interleave(e, framework, err);
    if (status == EK_OK)
        status = ek__tell(e, true, &told, err);
    if (status == EK_OK)
        status = ek__begin(e, framework, &schedule,
                           "Megatron Core's page on the custom pipeline layout, the arguments of Megatron-LM and its "
                           "transformer block",
                           out, err);
    if (status)
        return status;
    ek__explain(e, &told, framework, rules, out);
    write_micro_batches(e, out);
    fputs("PIPELINE_ARGS=(\n", out);
    write_layers(e, out);
    if (told.telling != EK_TELLS_LAYERS)
        write_rule(told.rule, out);
    fputs(")\n", out);
    status = ek__finish(out, err);
    if (telling && status == EK_OK)
        *telling = told.telling;
    return status;
}

const ek_emitter ek__emitter_megatron = {
    .name = "megatron",
    .summary = "flags of Megatron-LM; any layers, recomputation as one rule for all chunks",
    .write = write_megatron,
};
