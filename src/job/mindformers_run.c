/* Sets how a step of a MindFormers job runs. MindSpore's graphs have separate streams for collectives, so gradients are
 * reduced during the backward pass and sharded weights gathered during the forward pass, group by group (assumed: not
 * documented how far). Further overlaps are enabled in a separate JSON file (parallel_speed_up_json_path); its keys
 * were renamed once. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "job/mindformers.h"

/* For collectives that MindSpore fuses by size: the documented threshold if none is given. */
enum { FUSION_MB = 64 };

/* ---- the file of switches ---- */

static const struct {
    const char *key, *newer;
    size_t at; /* in ek_job_run */
} switches[] = {
    {"matmul_grad_comm_overlap", "grad_matmul_communication_overlap", offsetof(ek_job_run, overlap_tensor_gradients)},
    {"enable_grad_comm_opt", "grad_computation_allreduce_overlap", offsetof(ek_job_run, overlap_gradients)},
    {"enable_opt_shard_comm_opt", "computation_allgather_overlap", offsetof(ek_job_run, overlap_weights)},
};

/* Switches that are on; one that is off does not change the run. */
static ek_status read_switches(const ek__in *in, const ek__node *map, ek_job_run *run)
{
    static const char *const levels[] = {"compute_communicate_fusion_level", "computation_communication_fusion_level",
                                         NULL};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof switches / sizeof *switches && status == EK_OK; i++) {
        const char *const names[] = {switches[i].key, switches[i].newer, NULL};
        const ek__node *node = ek__mf_find(map, names);
        bool on = false;
        status = node ? ek__bool(in, node, "it is a switch", &on) : EK_OK;
        if (on)
            *(bool *)((char *)run + switches[i].at) = true;
    }
    const ek__node *node = ek__mf_find(map, levels);
    int level = 0;
    if (status == EK_OK && node)
        status = ek__int(in, node, 0, 3, "it is the level of fusing products with their collectives", &level);
    run->overlap_tensor = run->overlap_tensor || level > 0;
    return status;
}

static ek_status read_speed_up(const ek__job_source *source, const ek__mf_sections *file, ek_job_run *run)
{
    const ek__in in = {source->doc, source->listener, source->err};
    const ek__node *config = NULL, *inside = NULL;
    ek__config_tree *other = NULL;
    char name[512];
    ek_status status = file->context ? ek__optional_map(&in, file->context, "ascend_config", &config) : EK_OK;
    if (status == EK_OK && config)
        status = ek__optional_map(&in, config, "parallel_speed_up_json", &inside);
    if (status == EK_OK && inside)
        status = read_switches(&in, inside, run);
    const ek__node *path = status == EK_OK && config ? ek__get(config, "parallel_speed_up_json_path") : NULL;
    if (!path || path->kind != EK__SCALAR || !*path->text)
        return status;
    status = ek__string(&in, path, sizeof name, "name a JSON file", name);
    if (status == EK_OK)
        status = ek__job_read_other(source, name, ek__node_origin(source->doc, path), "its switches are taken as off",
                                    &other);
    if (status || !other)
        return status;
    const ek__in there = {other, source->listener, source->err};
    status = read_switches(&there, ek__config_root(other), run);
    ek__config_free(other);
    return status;
}

/* ---- collectives of gradients ---- */

/* comm_fusion: {reducescatter: {mode: size, config: 32}} */
static ek_status read_fusion(const ek__in *in, const ek__mf_sections *file, const ek_job *job, double *bytes)
{
    const ek__node *fusion = NULL, *kind = NULL;
    double mb = FUSION_MB;
    ek_status status = file->parallel ? ek__optional_map(in, file->parallel, "comm_fusion", &fusion) : EK_OK;
    if (status == EK_OK && fusion)
        status = ek__optional_map(in, fusion, job->states.shard_weight ? "reducescatter" : "allreduce", &kind);
    const ek__node *mode = status == EK_OK && kind ? ek__get(kind, "mode") : NULL;
    const ek__node *size = status == EK_OK && kind ? ek__get(kind, "config") : NULL;
    if (size && mode && mode->kind == EK__SCALAR && strcmp(mode->text, "size") == 0)
        status = ek__number(in, size, 1, 1e6, "it is the MB of a fused collective", &mb);
    *bytes = mb * 1048576.;
    return status;
}

/* Gradients are reduced after the cast of the weight (gradient_fp32_sync, the default), or before it. */
static ek_status read_reduced(const ek__in *in, const ek__mf_sections *file, const ek_job *job, int *bytes)
{
    bool after_cast = true;
    ek_status status =
        ek__mf_bool(in, file->parallel, "gradient_fp32_sync", "it reduces gradients in the weights' type", &after_cast);
    int weight = ek_dtype_bytes(job->types.param), compute = ek_dtype_bytes(job->types.compute);
    *bytes = after_cast || weight < compute ? weight : compute;
    return status;
}

/* ---- launches and the optimizer ---- */

/* 0 or GRAPH_MODE, which is also the default; 1 or PYNATIVE_MODE. */
static ek_status read_launch(const ek__in *in, const ek__mf_sections *file, ek_launch *out)
{
    const ek__node *mode = file->context ? ek__get(file->context, "mode") : NULL;
    int value = 0;
    if (mode && mode->kind == EK__SCALAR && strstr(mode->text, "_MODE"))
        value = strcmp(mode->text, "GRAPH_MODE") != 0;
    else if (mode) {
        ek_status status = ek__int(in, mode, 0, 1, "0 is graph mode, 1 PyNative mode", &value);
        if (status)
            return status;
    }
    *out = value == 0 ? EK_LAUNCH_GRAPH : EK_LAUNCH_EAGER;
    return EK_OK;
}

/* AdamW consists of many operators unless use_fused is set. */
static ek_status read_optimizer(const ek__in *in, const ek__mf_sections *file, ek_job_run *run)
{
    const ek__node *section = NULL;
    ek_status status = ek__optional_map(in, file->root, "optimizer", &section);
    const ek__node *type = status == EK_OK && section ? ek__get(section, "type") : NULL;
    run->fused_optimizer = type && type->kind == EK__SCALAR && strncmp(type->text, "Fused", 5) == 0;
    if (status == EK_OK && section)
        status = ek__mf_bool(in, section, "use_fused", "it makes the optimizer one operator", &run->fused_optimizer);
    if (status == EK_OK && section)
        status = ek__mf_bool(in, section, "swap", "it keeps the states on the host", &run->offload_optimizer);
    return status;
}

/* ---- data ---- */

/* An entry of dataset_strategy, [8, 1]: parts of each axis of an input. False if it is not one, or has more axes. */
static bool read_cut(const ek__node *entry, const ek__node *data, int *cut)
{
    if (entry->kind != EK__LIST || entry->n < 1 || entry->n > EK_MAX_INPUT_AXES)
        return false;
    const ek__node *axis = entry->first;
    for (int i = 0; axis; axis = axis->next, i++) {
        if (!ek__node_is_int(axis, &cut[i]) || cut[i] < 1)
            return false;
        if (axis->original && axis->original == data) /* is written together with it */
            cut[i] = -1;
    }
    return true;
}

/* The cuts of inputs, if written in a known form; `lint` reports errors in it. */
static ek_status read_data(const ek__in *in, const ek__mf_sections *file, ek_job_run *run)
{
    ek_status status = file->parallel ? ek__mf_bool(in, file->parallel, "full_batch",
                                                    "it has every device read the whole batch", &run->full_batch)
                                      : EK_OK;
    const ek__node *set = ek__get(file->root, "train_dataset"),
                   *columns = set && set->kind == EK__MAP ? ek__get(set, "input_columns") : NULL;
    if (columns && columns->kind == EK__LIST)
        run->n_columns = columns->n < EK_MAX_JOB_INPUTS ? columns->n : EK_MAX_JOB_INPUTS;
    const ek__node *strategy = !status && file->parallel ? ek__get(file->parallel, "dataset_strategy") : NULL;
    if (!strategy || strategy->kind != EK__LIST || strategy->n > EK_MAX_JOB_INPUTS)
        return status;
    for (const ek__node *entry = strategy->first; entry; entry = entry->next)
        if (!read_cut(entry, ek__get(file->parallel_config, "data_parallel"), run->input_cut[run->n_inputs++])) {
            run->n_inputs = 0;
            break;
        }
    return EK_OK;
}

ek_status ek__mf_read_run(const ek__job_source *source, const ek__mf_sections *file, ek_job *job)
{
    const ek__in in = {source->doc, source->listener, source->err};
    ek_job_run *run = &job->run;
    *run = (ek_job_run){
        .overlap_gradients = true, .overlap_weights = true, .overlap_p2p = true, .gathers_once = run->gathers_once};
    ek_status status = read_launch(&in, file, &run->launch);
    if (status == EK_OK)
        status = read_optimizer(&in, file, run);
    if (status == EK_OK)
        status = read_fusion(&in, file, job, &run->bucket_bytes);
    if (status == EK_OK)
        status = read_reduced(&in, file, job, &run->reduce_bytes);
    if (status == EK_OK)
        status = read_data(&in, file, run);
    run->sums_every_micro_batch = job->states.shard_gradient && job->states.gradient > 0;
    return status ? status : read_speed_up(source, file, run);
}
