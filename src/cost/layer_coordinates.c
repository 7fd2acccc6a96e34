/* Computes the coordinates of layers, logarithms of their sizes, and the covariance of two places. The covariance is
 * the Matern function with smoothness 3/2 (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
 * 4.17): neighbours are strongly correlated and the trend continues, but times of kernels are not smooth enough in
 * their sizes for the Gaussian, which also makes nearly singular matrices. */
#include <math.h>

#include "cost/layer_table.h"

const char *const ek__layer_coordinate_name[EK__N_LAYER_COORDINATES] = {
    "hidden",  "intermediate", "sequence", "tokens", "heads",  "tensor",
    "context", "experts",      "expert",   "format", "launch", "part",
};

/* Number formats and ways to launch have no sizes; other ones are as far away as a size e^2 times as large. */
static const double category = 2;

static double format_of(const ek_job *job)
{
    return job->run.fp8 == EK_FP8_NONE ? (double)job->types.compute : (double)EK_N_DTYPES + (double)job->run.fp8;
}

/* Embedding and head are not layers, and uncorrelated with all layers. */
static const double apart = 100;

void ek__layer_coordinates(const ek_job *job, ek__graph_kind kind, double out[EK__N_LAYER_COORDINATES])
{
    const ek_job_model *model = &job->model;
    const ek_job_parallel *par = &job->parallel;
    bool experts = kind == EK__GRAPH_EXPERTS, ends = kind == EK__GRAPH_EMBEDDING || kind == EK__GRAPH_HEAD;
    const double size[EK__N_LAYER_COORDINATES - 3] = {
        model->hidden,
        ends      ? model->vocab
        : experts ? model->expert_intermediate
                  : model->intermediate,
        par->seq_length,
        (double)par->batch * par->seq_length / par->context,
        ends ? 1.0 : (double)model->n_heads / par->tensor,
        par->tensor,
        par->context,
        experts ? 1.0 + model->n_experts : 1.0,
        experts ? par->expert : 1.0,
    };
    for (int i = 0; i < EK__N_LAYER_COORDINATES - 3; i++)
        out[i] = log(fmax(size[i], 1e-3));
    out[EK__N_LAYER_COORDINATES - 3] = category * format_of(job);
    out[EK__N_LAYER_COORDINATES - 2] = category * (double)job->run.launch;
    out[EK__N_LAYER_COORDINATES - 1] = ends ? apart : 0;
}

ek__graph_kind ek__job_layer_kind(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    int period = m->expert_period > 0 ? m->expert_period : 1;
    int n_experts = m->n_experts > 0 ? (m->n_layers - m->n_dense_layers) / period : 0;
    return 2 * n_experts >= m->n_layers ? EK__GRAPH_EXPERTS : EK__GRAPH_DENSE;
}

bool ek__layer_same_place(const double *a, const double *b)
{
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        if (fabs(a[k] - b[k]) > 1e-7)
            return false;
    return true;
}

/* The embedding and the head are few kernels, with fusion, padding and number formats that differ between frameworks:
 * in units of a layer's variance. A regression on vTrain's single-node runs gives heads 4.7 times as long with one
 * tensor rank as with two, where layers are off by 10 to 20 %. */
static const double ends_variance = 10;

double ek__layer_covariance(const double *a, const double *b, double width)
{
    double sum = 0;
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    double r = sqrt(3 * sum) / width;
    double variance = a[EK__N_LAYER_COORDINATES - 1] > 0 ? ends_variance : 1;
    return variance * (1 + r) * exp(-r);
}
