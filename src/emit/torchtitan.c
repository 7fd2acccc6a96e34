/* Writes a plan for torchtitan: a fragment of its TOML. The modules of every part are listed in the order of the model,
 * independent of how the schedule assigns the parts. Activation checkpointing is one mode for the whole model, so a
 * plan may be replaced by the nearest one that the settings can express; checkpointing of every n-th layer
 * (selective_ac_option) is not considered, because a plan keeps recomputed layers at the beginning of a chunk. */
#include "base/print.h"
#include "emit/emit_internal.h"
#include "evenkeel/schedule.h"

static const char framework[] = "torchtitan";
static const char rules[] = "none, selective for every layer, or full for every layer";

static int layers_at(const ek_emission *e, int position)
{
    return e->plan->layers[ek_cell_at(ek__emission_schedule(e)->placement, e->plan->n_stages, position)];
}

static void write_parts(const ek_emission *e, FILE *out)
{
    int n = e->plan->n_stages * e->plan->n_chunks, layer = 0;
    fputs("module_fqns_per_model_part = [\n", out);
    for (int q = 0; q < n; q++) {
        const char *separator = "";
        fputs("    [", out);
        if (q == 0) {
            fputs("\"tok_embeddings\"", out);
            separator = ", ";
        }
        for (int i = layers_at(e, q); i > 0; i--, separator = ", ")
            fprintf(out, "%s\"layers.%d\"", separator, layer++);
        if (q == n - 1)
            fprintf(out, "%s\"norm\", \"output\"", separator);
        fputs("],\n", out);
    }
    fputs("]\n", out);
}

/* The first module of every part except the first, for versions without the list of modules. */
static void suggest_split_points(const ek_emission *e, FILE *out)
{
    int n = e->plan->n_stages * e->plan->n_chunks, layer = 0;
    fputs("# or, before there was module_fqns_per_model_part: pipeline_parallel_split_points = [", out);
    for (int q = 0; q < n; q++) {
        int count = layers_at(e, q);
        if (q > 0 && count > 0)
            fprintf(out, "%s\"layers.%d\"", q > 1 ? ", " : "", layer);
        else if (q > 0)
            fprintf(out, "%s\"norm\"", q > 1 ? ", " : "");
        layer += count;
    }
    fputs("]\n", out);
}

static void write_rule(ek__rule rule, FILE *out)
{
    fputs("\n[activation_checkpoint]\n", out);
    if (rule.kind == EK_RECOMPUTE_SELECT)
        fputs("mode = \"selective\"\nselective_ac_option = \"op\"\n", out);
    else
        fprintf(out, "mode = \"%s\"\n", rule.kind == EK_RECOMPUTE_FULL ? "full" : "none");
}

static void write_micro_batches(const ek_emission *e, const ek__theirs *schedule, FILE *out)
{
    int m = e->n_micro_batches, p = e->plan->n_stages, rounds = m > p ? m / p : 1;
    if (m > 0)
        ek__print_comment(
            out, "Set [training] local_batch_size to %d x pipeline_parallel_microbatch_size: %d micro-batches.", m, m);
    const ek__schedule_word runs = ek__schedule_of_word(EK_TORCHTITAN, schedule->name);
    bool in_rounds = runs.exact && ek__schedule_in(runs.schedule, EK_TORCHTITAN)->micro_batches == EK__MICRO_ROUNDS;
    if (m > 0 && in_rounds && m % rounds != 0)
        ek__print_comment(out, "Careful: %s wants the micro-batches to be a multiple of %d.", schedule->name, rounds);
    else if (m > 0 && in_rounds && m % p != 0)
        ek__print_comment(
            out,
            "Careful: %s groups micro-batches that are no multiple of the stages in its own way: step and peak "
            "will not quite be those of the plan.",
            schedule->name);
}

static ek_status check(const ek_emission *e, ek__theirs *schedule, ek_error *err)
{
    int n = e->plan->n_stages * e->plan->n_chunks;
    ek_status status = ek__find_schedule(e, EK_TORCHTITAN, framework, schedule, err);
    if (status == EK_OK)
        status = ek__check_interleave(e, framework, err);
    /* The first part has the embedding, the last one the head. */
    return status ? status : ek__check_filled(e, framework, 1, n - 2, "a part needs a module", err);
}

static ek_status write_torchtitan(const ek_emission *e, FILE *out, ek_telling *telling, ek_error *err)
{
    ek__theirs schedule;
    ek__told told;
    ek_status status = check(e, &schedule, err);
    if (status == EK_OK)
        status = ek__tell(e, false, &told, err);
    if (status == EK_OK)
        status = ek__begin(e, framework, &schedule,
                           "torchtitan's job_config.py, pipeline_parallel.py and activation_checkpoint.py, and the "
                           "schedules of torch.distributed.pipelining",
                           out, err);
    if (status)
        return status;
    ek__explain(e, &told, framework, rules, out);
    write_micro_batches(e, &schedule, out);
    ek__print_comment(out,
                      "Module names are those of its Llama; check them against your model, which must have %d layers.",
                      e->n_layers);
    fprintf(out, "[parallelism]\npipeline_parallel_degree = %d\n", e->plan->n_stages);
    if (e->plan->n_stages > 1) {
        fprintf(out, "pipeline_parallel_schedule = \"%s\"\n", schedule.name);
        write_parts(e, out);
        suggest_split_points(e, out);
    }
    if (told.telling != EK_TELLS_LAYERS)
        write_rule(told.rule, out);
    status = ek__finish(out, err);
    if (telling && status == EK_OK)
        *telling = told.telling;
    return status;
}

const ek_emitter ek__emitter_torchtitan = {
    .name = "torchtitan",
    .summary = "TOML of torchtitan; layers without empty chunks, recomputation as one mode for all",
    .write = write_torchtitan,
};
