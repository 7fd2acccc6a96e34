/* Counts elements of a layer's parameters by kind of sharing, from the same graph and the same rules as the prediction
 * of memory. */
#include "cost/data_parallel.h"
#include "memory/program.h"

/* Matrices of linear layers inside the decoder are gathered in 8 bits where any are; tables, heads, norms and biases
 * are not. */
static bool stays_wide(const ek__graph *graph, const ek__parameter *parameter)
{
    bool head = graph->output < 0;
    return parameter->rows <= 0 || parameter->table || parameter->tied || head;
}

static void add(const ek_job *job, const ek__graph *graph, const ek__parameter *parameter, ek__data_layer *out)
{
    double n = (double)parameter->elements, one = (double)(parameter->rows * parameter->columns);
    int64_t shards = ek__parameter_shards(job, parameter);
    out->tensors += one > 0 ? n / one : 1;
    out->end = out->end || parameter->end;
    out->kept += n / (double)shards;
    *(parameter->expert ? &out->expert : &out->dense) += n;
    if (shards == 1)
        *(parameter->expert ? &out->whole_expert : &out->whole) += n;
    else if (!parameter->expert && stays_wide(graph, parameter))
        out->wide += n;
    if (job->model.tied && job->parallel.pipeline > 1 && (parameter->table || parameter->tied))
        out->tied += n;
}

ek__data_layer ek__data_layer_of(const ek_job *job, const ek__graph *graph, bool has_table)
{
    ek__data_layer layer = {0};
    for (int i = 0; i < graph->n_parameters; i++)
        if (!graph->parameter[i].tied || !has_table)
            add(job, graph, &graph->parameter[i], &layer);
    return layer;
}
