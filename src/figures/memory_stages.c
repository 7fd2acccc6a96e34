/* Figures of every stage of a prediction of memory: its peak part by part, the position of the peak, the largest
 * tensors alive there, and the layers of its chunks. */
#include <stdio.h>

#include "base/digits.h"
#include "figures/memory_figures.h"
#include "figures/rows.h"

/* ---- tensors at the peak ---- */

#define EK__T ek_memory_tensor
COMPOSER(top_key, 160, "stage %d: %s", of->number / EK_N_TOP, it->name);
GETTER(all_of_them, real, (double)it->bytes / EK__MB * it->count);
static const ek__member top[] = {
    {NULL, COMPOSE(top_key), NULL, PAGE(1, "tensor", "Tensor alive at the peak")},
    {"name", CHARS(name), "operator and tensor"},
    {"part", WORD(part, ek__memory_part_name), "the part of `parts_mb` that it counts in", PAGE(2, "part", "Part")},
    {"mb", BYTES_MB(bytes), "of one", PAGE(5, "one", "Each")},
    {"count", COUNT(count), "how many there are: layers times micro-batches", PAGE(4, "count", "Times")},
    {NULL, GET(MB, all_of_them), NULL, PAGE(3, "total", "All of them", EK__LESS)},
};
const ek__fields ek__memory_top = {FIELDS(
    top, "stages[].largest_tensors[]", "Alive at the peak of the stage; largest first, by all that there are of one.")};
#undef EK__T

/* ---- a stage ---- */

#define EK__T ek_memory_stage
static int stage_of(const ek_memory_stage *stage, const ek__owner *of)
{
    return (int)(stage - ek__memory_report_of(of)->memory->stage);
}

static ek__place place_of(const ek_memory_stage *stage, const ek__owner *of)
{
    const ek_memory_report *r = ek__memory_report_of(of);
    return ek__memory_place(r->job, r->memory, stage_of(stage, of));
}

/* The same stage of the literal reading. */
static const ek_memory_stage *literal_of(const ek_memory_stage *stage, const ek__owner *of)
{
    const ek_memory *literal = ek__memory_report_of(of)->literal;
    return literal ? &literal->stage[stage_of(stage, of)] : NULL;
}

static const char *part_of_model(const ek_memory_stage *stage, int n_layers)
{
    return stage->layer < 0 ? "embedding" : stage->layer >= n_layers ? "head" : "layer";
}

/* "backward pass of micro-batch 3, chunk 1, layer 5 of the model, at attention.softmax" */
static void peak_place(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_memory_stage *it = record;
    ek__place place = place_of(it, of);
    char where[48];
    if (it->layer < 0)
        snprintf(where, sizeof where, "embedding");
    else if (it->layer >= place.n_layers)
        snprintf(where, sizeof where, "head and loss");
    else
        snprintf(where, sizeof where, "layer %d of the model", place.model_layer);
    snprintf(text, room, "%s of micro-batch %u, chunk %d, %s%s%s (counted from 0)", ek__pass_name(it->block.kind),
             it->block.micro_batch, it->block.chunk, where, it->operator_name[0] ? ", at " : "", it->operator_name);
}

static const char *const pass_key[EK_N_BLOCK_KINDS] = {"forward", "backward", "weight_gradient"};
GETTER(pass, text, pass_key[it->block.kind < EK_N_BLOCK_KINDS ? it->block.kind : 0]);
GETTER(micro_batch, number, it->block.micro_batch);
GETTER(chunk, number, it->block.chunk);
GETTER(model_part, text, part_of_model(it, place_of(it, of).n_layers));
GETTER(layer_of_chunk, number, it->layer < place_of(it, of).n_layers ? it->layer : -1);
GETTER(layer_of_model, number, place_of(it, of).model_layer);
static const ek__member peak_at[] = {
    {"pass", GET(TEXT, pass), "the running pass: `forward`, `backward`, `weight_gradient`"},
    {"micro_batch", GET(COUNT, micro_batch), "of which micro-batch"},
    {"chunk", GET(COUNT, chunk), "of which chunk of the stage"},
    {"part_of_model", GET(TEXT, model_part), "`embedding`, `layer`, `head`"},
    {"layer_of_chunk", GET(NUMBER, layer_of_chunk), "null outside layers"},
    {"layer_of_model", GET(NUMBER, layer_of_model), "null outside layers"},
    {"operator", NAME(operator_name), "the operator that runs then; null: none", CSV(12, "peak_operator")},
};
static const ek__fields places = {FIELDS(peak_at, "stages[].peak_at", NULL)};

COMPOSER(stage_name, 32, "stage %d", stage_of(it, of));
WRITER(mix_words, ek__mix_text(ek_memory_stage_mix(ek__memory_report_of(of)->job, stage_of(it, of)), text, room));
GETTER(index, number, stage_of(it, of));
GETTER(layers_of_kind, number, ek_memory_stage_mix(ek__memory_report_of(of)->job, stage_of(it, of)).n[of->number]);
GETTER(fragments, number, ek__memory_fragments(it));
GETTER(limit, number, ek__memory_report_of(of)->memory->limit);
GETTER(margin, number,
       ek__memory_report_of(of)->memory->limit > 0 ? ek__memory_report_of(of)->memory->limit - ek__memory_peak(it)
                                                   : INT64_MIN);
CONDITION(has_literal, literal_of(it, of) != NULL);
GETTER(literal_used, number, literal_of(it, of)->used_peak);
GETTER(literal_actual, number, literal_of(it, of)->actual_peak);
GETTER(literal_peak, number, literal_of(it, of) ? ek__memory_peak(literal_of(it, of)) : INT64_MIN);
static const char *const part_title[] = {"Parameters",  "Gradients", "Optimizer states",
                                         "Activations", "Transient", "Other"};
static const char *const short_title[] = {"params", "grads", "optim.", "activ.", "transient", "other"};
static const ek__member stage[] = {
    {NULL, COMPOSE(stage_name), NULL, PAGE(1, "stage", "Stage")},
    {"stage", GET(COUNT, index), "its number", CSV(1), PRINT(1, "stage")},
    {"n_layers", COUNT(n_layers), "layers of all its chunks", CSV(2, "layers")},
    {"layers", GET_BY_WORD(COUNT, layers_of_kind, ek__recompute_name, EK_N_RECOMPUTE),
     "how many of them by recomputation: `none`, `select`, `comm`, `both`, `full`", CSV(3)},
    {NULL, COMPOSE(mix_words), NULL, PAGE(3, "layers", "Layers by recomputation"), PRINT(2, "layers")},
    {"used_peak_mb", BYTES_MB(used_peak),
     "live tensors at the peak, each rounded up to 512 bytes: \"without fragments\" in MindSpore's log, *allocated* in "
     "PyTorch's words",
     CSV(6), PAGE(6, "used", "Used", EK__LESS), PRINT(5, "used")},
    {"actual_peak_mb", BYTES_MB(actual_peak),
     "memory of the allocator then: \"with fragments\", *reserved* in PyTorch's terms: the memory that a device must "
     "have; `fits` and margins use it",
     .positive = true, CSV(8), PAGE(8, "actual", "Actual peak", EK__LESS), PRINT(7, "actual")},
    {"fragments_mb", GET(BYTES_MB, fragments), "actual minus used: overhead of the allocator", CSV(7),
     PAGE(7, "fragments", "Fragments", EK__LESS), PRINT(6, "fragm.")},
    {NULL, GET(BYTES_MB, limit), NULL, .positive = true, CSV(9, "limit_mb")},
    {"margin_mb", GET(BYTES_MB, margin), "limit minus actual, negative when it does not fit; null without a limit",
     CSV(10), PAGE(9, "free", "Free", EK__MORE), PRINT(9, "free")},
    {"used_peak_bytes", BYTES(used_peak), "the same as `used_peak_mb`, exact"},
    {"actual_peak_bytes", BYTES(actual_peak), "the same as `actual_peak_mb`, exact", .positive = true},
    {"literal_used_peak_mb", GET(BYTES_MB, literal_used),
     "only if the file is ambiguous: `used_peak_mb` without the assumption of `reading`", WHEN(has_literal)},
    {"literal_actual_peak_mb", GET(BYTES_MB, literal_actual), "likewise `actual_peak_mb`", WHEN(has_literal)},
    {NULL, GET(BYTES_MB, literal_peak), NULL, CSV(11, "literal_peak_mb"),
     PAGE(10, "literal", "By the literal reading", EK__LESS), PRINT(8, "literal")},
    {"alive_micro_batches", REAL(alive),
     "micro-batches with live activations at the peak, of the whole stage: with v chunks a chunk counts 1/v",
     DECIMALS(6), PAGE(4, "alive", "Micro-batches alive")},
    {NULL, REAL(alive), NULL, DECIMALS(3), CSV(4, "alive_micro_batches"), PRINT(3, "alive")},
    {"parts_mb", BY_WORD(BYTES_MB, part, ek__memory_part_name, EK_N_MEMORY_PARTS),
     "MB at the used peak: `parameters`, `gradients`, `optimizer`, `activations` (kept for backward passes), "
     "`transient` (around the operator that runs), `other`; they add up to `used_peak_mb`, but for the rounding of the "
     "third decimal",
     CSV(5, "%s_mb"), PAGE(5, .titles = part_title, .flags = EK__LESS), PRINT(4, .titles = short_title)},
    {"peak_at", HERE(places), "where the used peak is", CSV(12)},
    {NULL, COMPOSE(peak_place), NULL, PAGE(2, "at", "Peak is in")},
    {"largest_tensors", ARRAY(n_top, top, ek__memory_top), "live tensors at the peak"},
};
const ek__fields ek__memory_stage = {FIELDS(stage, "stages[]", NULL), .lines = true};
#undef EK__T

/* ---- a chunk of a stage ---- */

/* A cell of a plan's table of layers. */
#define EK__T int
static int cell_of(const int *cell, const ek_plan *plan)
{
    return (int)(cell - plan->layers);
}

static ek_chunk_mix cell_mix(const int *cell, const ek__owner *of)
{
    const ek_plan *plan = &ek__memory_report_of(of)->job->plan;
    int i = cell_of(cell, plan);
    return ek_plan_mix(plan, i / plan->n_stages, i % plan->n_stages);
}

static void cell_name(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_plan *plan = &ek__memory_report_of(of)->job->plan;
    int i = cell_of(record, plan);
    snprintf(text, room, "chunk %d, stage %d", i / plan->n_stages, i % plan->n_stages);
}

GETTER(layers, number, *it);
GETTER(cell_kind, number, cell_mix(it, of).n[of->number]);
static const char *const kind_title[] = {"Nothing recomputed", "Select", "Communication", "Both", "Whole"};
static const ek__member cell[] = {
    {NULL, COMPOSE(cell_name), NULL, PAGE(1, "place", "Chunk and stage")},
    {NULL, GET(COUNT, layers), NULL, PAGE(2, "layers", "Layers")},
    {NULL, GET_BY_WORD(COUNT, cell_kind, ek__recompute_name, EK_N_RECOMPUTE), NULL, PAGE(3, .titles = kind_title)},
};
const ek__fields ek__memory_cell = {FIELDS(cell, NULL, NULL)};
#undef EK__T
