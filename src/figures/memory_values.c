/* Values of a prediction of memory that several writers use: the place and the size of a peak, mixes of recomputation,
 * descriptions of saved tensors, and rules with their values. */
#include <inttypes.h>
#include <string.h>

#include "figures/memory_figures.h"

const char ek__memory_basis[] =
    "saved activations and their lifetimes are derived from the operators and the rules of the framework; temporaries, "
    "the loss and the behaviour of the allocator are assumed if there is no source";

/* ---- stages ---- */

ek_chunk_mix ek_memory_stage_mix(const ek_job *job, int stage)
{
    ek_chunk_mix sum = {{0}};
    for (int c = 0; c < job->plan.n_chunks; c++) {
        ek_chunk_mix mix = ek_plan_mix(&job->plan, c, stage);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            sum.n[k] += mix.n[k];
    }
    return sum;
}

void ek__mix_text(ek_chunk_mix mix, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "-");
    for (int k = 0; k < EK_N_RECOMPUTE && used < size; k++)
        if (mix.n[k] > 0)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%d %s", used ? ", " : "", mix.n[k], ek_recompute_name[k]);
}

ek__place ek__memory_place(const ek_job *job, const ek_memory *memory, int stage)
{
    const ek_plan *plan = &job->plan;
    const ek_memory_stage *at = &memory->stage[stage];
    ek_placement placement = job->schedule->placement;
    int position = ek_position(placement, plan->n_stages, at->block.chunk, stage), before = 0;
    for (int q = 0; q < position; q++)
        before += plan->layers[ek_cell_at(placement, plan->n_stages, q)];
    int n = plan->layers[ek_cell_at(placement, plan->n_stages, position)];
    return (ek__place){.n_layers = n, .model_layer = at->layer >= 0 && at->layer < n ? before + at->layer : -1};
}

const char *ek__pass_name(int kind)
{
    return kind == EK_FORWARD ? "forward pass" : kind == EK_BACKWARD ? "backward pass" : "gradient of the weights";
}

int64_t ek__memory_peak(const ek_memory_stage *stage)
{
    return stage->actual_peak > 0 ? stage->actual_peak : stage->used_peak;
}

int64_t ek__memory_fragments(const ek_memory_stage *stage)
{
    return stage->actual_peak > 0 ? stage->actual_peak - stage->used_peak : INT64_MIN;
}

const char *ek__memory_piece_name(int piece)
{
    return piece == EK_N_MEMORY_PARTS ? "fragments" : ek_memory_part_name[piece];
}

int64_t ek__memory_piece(const ek_memory_stage *stage, int piece)
{
    int64_t fragments = stage->actual_peak - stage->used_peak;
    return piece < EK_N_MEMORY_PARTS ? stage->part[piece] : fragments > 0 ? fragments : 0;
}

/* ---- saved tensors of a layer ---- */

void ek__kept_name(const ek_kept_tensor *tensor, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", tensor->maker, tensor->maker[0] ? " " : "", tensor->name);
}

void ek__kept_shape(const ek_kept_tensor *tensor, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < tensor->n_dims && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? " x " : "", tensor->dim[i]);
}

void ek__kept_reader(const ek_kept_tensor *tensor, char *text, size_t size)
{
    text[0] = '\0';
    if (tensor->reader[0])
        snprintf(text, size, "%s%s%s", tensor->for_recompute ? "recomputing " : "", tensor->reader,
                 tensor->n_readers > 1 ? ", ..." : "");
}

/* ---- rules ---- */

bool ek__rule_matters(const ek_job *job, const char *name)
{
    const ek_rules *r = &job->rules;
    const struct {
        const char *name;
        bool matters;
    } when[] = {
        {"weight_gather", job->states.gathered > 0},
        {"gather_after_cast", job->states.gathered > 0 && r->gather_after_cast},
        {"token_order_copy", job->parallel.context == 1},
        {"statistics_width", job->model.flash_attention},
        {"loss_buffers", !r->loss_fused},
        {"one_hot_kept", !r->loss_fused},
        {"dummy_gradients", r->dummy_gradients},
        {"fp8_copies", job->run.fp8 != EK_FP8_NONE && job->framework == EK_MEGATRON},
        {"mask_per_micro_batch", !job->model.mask_compressed && !job->model.mask_given && !job->model.no_mask},
        {"workspace_mb", r->workspace_mb > 0},
        {"constant_mb", r->constant_mb != 0},
        {"activation_scale", r->activation_scale != 1},
        {"transient_scale", r->transient_scale != 1},
        {"moe_imbalance", job->model.n_experts > 0 && job->model.capacity_factor <= 0},
        {"allocation", true},
        {"block_bytes", r->allocation == EK_ALLOCATION_BLOCKS},
        {"page_bytes", r->allocation == EK_ALLOCATION_PAGES},
    };
    for (size_t i = 0; i < sizeof when / sizeof *when; i++)
        if (strcmp(when[i].name, name) == 0)
            return when[i].matters;
    return false;
}

ek__rule_value ek__rule_value_of(const ek_rules *rules, ek_framework framework, const char *name)
{
    ek__rule_value value = {.text = "?", .usual = "?"};
    const ek_rules usual = ek_rules_default(framework);
    ek_rules_get(rules, name, value.text, sizeof value.text);
    ek_rules_get(&usual, name, value.usual, sizeof value.usual);
    value.changed = strcmp(value.text, value.usual) != 0;
    return value;
}
