/* Writes a plan for MindFormers: a fragment of its training YAML. The plan's lists are MindFormers' own terms, so every
 * plan can be expressed; only the order of blocks may differ, since MindSpore selects it by pipeline_scheduler. Lists
 * are [chunk][stage], also where chunks run in a V: MindFormers reverses the second row itself. */
#include "base/print.h"
#include "emit/emit_internal.h"
#include "evenkeel/schedule.h"

static const char framework[] = "MindFormers";

static void write_parallel(const ek_emission *e, const ek__theirs *schedule, FILE *out)
{
    const ek_plan *plan = e->plan;
    bool pieces = ek__emission_schedule(e)->pieces;
    fprintf(out, "parallel:\n  pipeline_config:\n    pipeline_interleave: %s\n    pipeline_scheduler: '%s'\n",
            plan->n_chunks > 1 || pieces ? "True" : "False", schedule->name);
    fprintf(out, "parallel_config:\n  pipeline_stage: %d\n", plan->n_stages);
    if (e->n_micro_batches > 0)
        fprintf(out, "  micro_batch_num: %d\n", e->n_micro_batches);
    if (e->n_pieces > 1)
        fprintf(out, "  seq_split_num: %d\n", e->n_pieces);
}

static void write_list(const ek_plan *plan, const char *name, const int *values, int base, const char *indent,
                       FILE *out)
{
    fprintf(out, "%s%s: ", indent, name);
    ek__print_chunks(plan, values, base, out);
    fputc('\n', out);
}

static ek_status write_mindformers(const ek_emission *e, FILE *out, ek_telling *told, ek_error *err)
{
    const ek_plan *plan = e->plan;
    ek__theirs schedule;
    ek_status status = ek__find_schedule(e, EK_MINDFORMERS, framework, &schedule, err);
    if (status == EK_OK)
        status = ek__begin(e, framework, &schedule, "LayerSetting of MindFormers r1.5 and MindSpore's pipeline_config",
                           out, err);
    if (status)
        return status;
    if (ek__emission_schedule(e)->shorter_warm_up)
        ek__print_comment(
            out, "No key below picks the interleaved schedule with the shorter warm-up, which the plan is for.");
    if (e->n_micro_batches > 0 && e->n_micro_batches < plan->n_stages)
        ek__print_comment(out, "Careful: MindSpore wants micro_batch_num to be at least pipeline_stage.");
    if (e->n_micro_batches == 0)
        ek__print_comment(out, "Set parallel_config.micro_batch_num to the micro-batches the plan is for.");
    write_parallel(e, &schedule, out);
    fprintf(out, "model:\n  model_config:\n    num_layers: %d\n    pp_interleave_num: %d\n", e->n_layers,
            plan->n_chunks);
    write_list(plan, "offset", plan->layers, e->n_layers / (plan->n_stages * plan->n_chunks), "    ", out);
    fputs("recompute_config:\n", out);
    write_list(plan, "recompute", plan->full, 0, "  ", out);
    write_list(plan, "select_recompute", plan->select, 0, "  ", out);
    write_list(plan, "select_comm_recompute", plan->comm, 0, "  ", out);
    status = ek__finish(out, err);
    if (told && status == EK_OK)
        *told = EK_TELLS_PLAN;
    return status;
}

const ek_emitter ek__emitter_mindformers = {
    .name = "mindformers",
    .summary = "training YAML of MindFormers; expresses every plan",
    .write = write_mindformers,
};
