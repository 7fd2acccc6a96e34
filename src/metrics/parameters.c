/* Counts the parameters of a model: the elements of its layers' graphs, built for one device, on which nothing is cut,
 * copied or padded. So every weight of the memory prediction is counted, including norms and biases. The embedding
 * table and the head count, once if they are tied; a prediction layer shares both. */
#include <stdlib.h>

#include "base/error.h"
#include "memory/program.h"
#include "metrics/flops.h"

/* The job on one device. Borrows the plan and the patterns, which no graph reads. */
static ek_job alone(const ek_job *job)
{
    ek_job one = *job;
    ek_job_parallel *p = &one.parallel;
    p->data = p->tensor = p->pipeline = p->context = p->expert = p->expert_tensor = 1;
    p->table_split = p->head_split = p->ulysses = 1;
    p->sequence_parallel = false;
    return one;
}

static void add_graph(const ek_job *job, const ek__graph *graph, double times, double *all, double *active)
{
    for (int i = 0; i < graph->n_parameters; i++) {
        const ek__parameter *p = &graph->parameter[i];
        double n = p->tied ? 0 : times * (double)p->elements;
        *all += n;
        *active += p->expert ? n * job->model.top_k / job->model.n_experts : n;
    }
}

ek_status ek__job_parameters(const ek_job *job, double *all, double *active, ek_error *err)
{
    const ek_job one = alone(job);
    double sum = 0, met = 0;
    int n[EK__N_GRAPH_KINDS] = {[EK__GRAPH_EMBEDDING] = 1, [EK__GRAPH_HEAD] = 1};
    ek__graph *graph = ek__alloc(1, sizeof *graph);
    if (!graph)
        return ek__no_memory(err);
    for (int i = 0; i < job->model.n_layers + job->model.n_prediction_layers; i++)
        n[ek__layer_graph_kind(job, i)]++;
    for (int k = 0; k < EK__N_GRAPH_KINDS; k++) {
        if (n[k] == 0)
            continue;
        ek__graph_build(&one, (ek__graph_kind)k, graph);
        add_graph(job, graph, n[k], &sum, &met);
    }
    free(graph);
    *all = sum;
    *active = met;
    return EK_OK;
}
