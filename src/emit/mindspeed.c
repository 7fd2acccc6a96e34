/* Writes a plan for MindSpeed-Core-MS: a fragment of its YAML. Layers are counts, not offsets. Its three recompute
 * lists do not contain one another as those of MindFormers do: the first `recompute` layers of a chunk are recomputed
 * completely, and the other two lists count only the layers after them, both from the same layer on. So the two lists
 * get only the layers beyond the full ones; then also full + select <= layers, which MindSpeed-Core-MS checks. */
#include <stdlib.h>

#include "base/error.h"
#include "base/print.h"
#include "emit/emit_internal.h"

static const char framework[] = "MindSpeed-Core-MS";

/* Layers with selective or communication recomputation beyond the full ones, [chunks x stages] each. */
static void count_beyond(const ek_plan *plan, int *select, int *comm)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        ek_chunk_mix mix = ek_plan_mix(plan, c / plan->n_stages, c % plan->n_stages);
        select[c] = mix.n[EK_RECOMPUTE_SELECT] + mix.n[EK_RECOMPUTE_BOTH];
        comm[c] = mix.n[EK_RECOMPUTE_COMM] + mix.n[EK_RECOMPUTE_BOTH];
    }
}

static void write_list(const ek_plan *plan, const char *name, const int *values, FILE *out)
{
    fprintf(out, "%s: ", name);
    ek__print_chunks(plan, values, 0, out);
    fputc('\n', out);
}

static ek_status write_mindspeed(const ek_emission *e, FILE *out, ek_telling *told, ek_error *err)
{
    const ek_plan *plan = e->plan;
    size_t n = (size_t)plan->n_stages * (size_t)plan->n_chunks;
    ek__theirs schedule;
    ek_status status = ek__find_schedule(e, EK_MINDSPEED, framework, &schedule, err);
    if (status == EK_OK)
        status = ek__check_interleave(e, framework, err);
    if (status == EK_OK)
        status = ek__check_filled(e, framework, 0, (int)n - 1, "num_layer_list takes numbers from 1", err);
    if (status)
        return status;
    int *select = ek__alloc(2 * n, sizeof *select);
    if (!select)
        return ek__no_memory(err);
    count_beyond(plan, select, select + n);
    status = ek__begin(e, framework, &schedule,
                       "its performance guide (recompute_config) and ParallelTransformer of MindFormers' experimental "
                       "parallel_core, which it runs",
                       out, err);
    if (status)
        goto done;
    ek__print_comment(out,
                      "select_recompute and select_comm_recompute count layers after the fully recomputed ones here.");
    if (e->n_micro_batches > 0)
        ek__print_comment(out,
                          "The plan is for %d micro-batches: global batch = %d x micro-batch size x data parallel.",
                          e->n_micro_batches, e->n_micro_batches);
    fprintf(out, "model_config:\n  num_layers: %d\nparallel_config:\n  pipeline_model_parallel_size: %d\n", e->n_layers,
            plan->n_stages);
    if (plan->n_chunks > 1)
        fprintf(out, "  virtual_pipeline_model_parallel_size: %d\n", plan->n_chunks);
    write_list(plan, "  num_layer_list", plan->layers, out);
    fputs("  recompute_config:\n", out);
    write_list(plan, "    recompute", plan->full, out);
    write_list(plan, "    select_recompute", select, out);
    write_list(plan, "    select_comm_recompute", select + n, out);
    status = ek__finish(out, err);
    if (told && status == EK_OK)
        *told = EK_TELLS_PLAN;
done:
    free(select);
    return status;
}

const ek_emitter ek__emitter_mindspeed = {
    .name = "mindspeed",
    .summary = "YAML of MindSpeed-Core-MS; every plan without empty chunks, for 1F1B and its interleaved form",
    .write = write_mindspeed,
};
