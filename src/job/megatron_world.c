/* Finds the number of ranks that a launch script starts: from arguments of its launcher, variables with usual names,
 * and options for Slurm.
 */
#include "evenkeel/layers.h"
#include "job/megatron_run.h"

/* The value of a script's variable that is a plain number, otherwise 0. */
static int64_t number_in_variable(const ek__arguments *a, const char *name, ek_origin *at)
{
    const ek__variable *variable = ek__words_variable(&a->words, name);
    double value;
    if (!variable || !variable->value || !ek__text_is_number(variable->value, &value) || value < 1 ||
        value > EK_MAX_RANKS)
        return 0;
    *at = (ek_origin){a->source->path, variable->line, variable->column};
    return (int64_t)value;
}

/* A launcher's argument that is a plain number, 0 when it is not, or is known only in a run. */
static int64_t number_in_launcher(const ek__arguments *a, const char *name, ek_origin *at)
{
    int value = 0;
    ek__arguments quiet = *a;
    ek__job_source source = *a->source;
    source.listener = NULL;
    source.err = NULL;
    quiet.source = &source;
    if (!ek__argument_given(a, name) || ek__argument_int(&quiet, name, 1, EK_MAX_RANKS, &value))
        return 0;
    *at = ek__argument_at(a, name);
    return value;
}

/* Processes that Slurm starts, otherwise its devices, if the script has nothing else. */
static int64_t world_of_slurm(const ek__arguments *a, ek_origin *at)
{
    ek_origin of_nodes = {0};
    int64_t nodes = number_in_variable(a, "SLURM_NNODES", &of_nodes);
    int64_t tasks = number_in_variable(a, "SLURM_NTASKS_PER_NODE", at);
    if (tasks > 1)
        return nodes * tasks;
    tasks = number_in_variable(a, "SLURM_NTASKS", at);
    if (tasks > 1)
        return tasks;
    int64_t devices = number_in_variable(a, "SLURM_GPUS_PER_NODE", at);
    return nodes * (devices > 0 ? devices : number_in_variable(a, "SLURM_GPUS_ON_NODE", at));
}

int64_t ek__megatron_world(const ek__arguments *a, ek_origin *at)
{
    static const char *const per_node_names[] = {"GPUS_PER_NODE", "NPUS_PER_NODE", "NPROC_PER_NODE"};
    static const char *const node_names[] = {"NNODES", "NUM_NODES"}, *const all_names[] = {"WORLD_SIZE", "NUM_GPUS"};
    ek_origin of_nodes = {0};
    int64_t workers = number_in_launcher(a, "worker_num", at);
    int64_t per_node = number_in_launcher(a, "nproc_per_node", at), nodes = number_in_launcher(a, "nnodes", &of_nodes);
    for (int i = 0; i < 3 && per_node == 0 && !ek__argument_given(a, "nproc_per_node"); i++)
        per_node = number_in_variable(a, per_node_names[i], at);
    for (int i = 0; i < 2 && nodes == 0 && !ek__argument_given(a, "nnodes"); i++)
        nodes = number_in_variable(a, node_names[i], &of_nodes);
    /* A launcher without --nnodes starts one. */
    if (nodes == 0 && ek__argument_given(a, "nproc_per_node") && !ek__argument_given(a, "nnodes"))
        nodes = 1;
    int64_t world = workers > 0 ? workers : per_node * nodes;
    for (size_t i = 0; i < sizeof all_names / sizeof *all_names && world == 0; i++)
        world = number_in_variable(a, all_names[i], at);
    if (world == 0 && !ek__argument_given(a, "nproc_per_node"))
        world = world_of_slurm(a, at);
    return world;
}
