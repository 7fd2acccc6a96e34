/* Converts a model for the sequence pipeline: times and memory of one piece from those of a micro-batch, by the closed
 * formulas of the original tool. Not handled: pieces of different length or time (later pieces attend to more tokens),
 * key heads that several query heads share, context parallelism. */
#include "evenkeel/sequence.h"
#include "evenkeel/job.h"
#include "evenkeel/layers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const double MB = 1 << 20;

static ek_origin file_of(const ek_job *job)
{
    return (ek_origin){.file = job->path};
}

/* The place of the sequence length in the file. */
static ek_origin sequence_of(const ek_job *job)
{
    return (ek_origin){job->path, job->seq_line, job->seq_column};
}

int ek_sequence_pieces(const ek_job *job, int k, const ek_listener *listener)
{
    assert(k >= 1);
    int s = job->parallel.seq_length, pieces = k;
    if (k > 1 && s / k < EK_LEAST_PIECE) {
        pieces = k == 2 || s < EK_LEAST_PIECE ? 1 : s / EK_LEAST_PIECE;
        ek__warn(listener, sequence_of(job),
                 "%d tokens in %d pieces are %d each; a piece shorter than %d wastes the device, so it is %d piece%s",
                 s, k, s / k, EK_LEAST_PIECE, pieces, pieces == 1 ? "" : "s");
    }
    if (s % pieces != 0)
        ek__warn(listener, sequence_of(job), "%d tokens are not a multiple of %d pieces; they count as equally long", s,
                 pieces);
    return pieces;
}

/* MB of all keys of a layer, or of all its values, on one device. */
static double key_mb(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    int head_dim = (m->head_dim + m->value_dim + 1) / 2;
    return 2.0 * job->parallel.batch * m->n_heads * job->parallel.seq_length * head_dim / job->parallel.tensor / MB;
}

/* MB by which the head is smaller with k pieces. */
static double head_saving(const ek_job *job, int k)
{
    double tokens = (double)job->parallel.batch * job->parallel.seq_length, t = job->parallel.tensor;
    double hidden = 2 * tokens * job->model.hidden;
    double held = t > 1 ? 2 * hidden / t + hidden : hidden + 2 * tokens * job->model.intermediate;
    return (1 - 1.0 / k) * held / MB;
}

/* MB by which the tail is smaller with k pieces. */
static double tail_saving(const ek_job *job, int k)
{
    double tokens = (double)job->parallel.batch * job->parallel.seq_length;
    double loss = 4 * tokens * job->model.vocab / job->parallel.tensor / MB;
    return (3 - 3.0 / k) * loss - (k - 1) * loss / k;
}

static void divide_times(ek_layer *layer, int k)
{
    layer->forward_time /= k;
    layer->weight_time /= k;
    for (int r = 0; r < EK_N_RECOMPUTE; r++)
        layer->backward_time[r] /= k;
}

/* The formulas subtract the memory of a whole micro-batch. A smaller value, for example in a layer file without such
 * memory, is limited to zero; one that is already negative (it contains a constant) does not change.
 */
static void shrink(ek_layer *layer, const char *what, double saving, const ek_job *job, const ek_listener *listener)
{
    double left = layer->parameter_mb - saving, least = fmin(layer->parameter_mb, 0);
    if (left < least)
        ek__warn(
            listener, file_of(job),
            "sequence pieces would take %.0f MB off the %s's %.0f MB; it counts as %.0f MB. Do its shapes belong to "
            "this model?",
            saving, what, layer->parameter_mb, least);
    layer->parameter_mb = fmax(left, least);
}

static ek_status split_body(ek_layer *body, const ek_job *job, int k, const ek_listener *listener, ek_error *err)
{
    double kv = key_mb(job);
    bool any = false, less = false;
    divide_times(body, k);
    body->parameter_mb += 4 * kv;
    body->modelled[EK_RECOMPUTE_FULL] = false;
    for (int r = 0; r < EK_N_RECOMPUTE; r++) {
        if (!body->modelled[r])
            continue;
        any = true;
        less = less || body->activation_mb[r] < 2 * kv;
        body->activation_mb[r] = (body->activation_mb[r] - 2 * kv) / k + 2 * kv;
    }
    if (!any)
        return ek__fail(err, EK_ERR_INPUT, file_of(job),
                        "layer '%s' is only known with full recomputation, which sequence pieces cannot use; give its "
                        "memory without, or leave -seq out",
                        body->name);
    if (less)
        ek__warn(
            listener, file_of(job),
            "keys and values take %.0f MB by this file, but layer '%s' holds less than that; do its shapes belong to "
            "this model?",
            2 * kv, body->name);
    return EK_OK;
}

static ek_status copy_layers(const ek_layers *in, ek_layers *out, ek_error *err)
{
    ek_layers copy = *in;
    copy.body = ek__alloc((size_t)in->n_body, sizeof *copy.body);
    copy.fit.residual = ek__alloc((size_t)in->fit.n_residuals, sizeof *copy.fit.residual);
    if (!copy.body || !copy.fit.residual) {
        free(copy.body);
        free(copy.fit.residual);
        return ek__no_memory(err);
    }
    memcpy(copy.body, in->body, (size_t)in->n_body * sizeof *copy.body);
    if (in->fit.n_residuals > 0)
        memcpy(copy.fit.residual, in->fit.residual, (size_t)in->fit.n_residuals * sizeof *copy.fit.residual);
    *out = copy;
    return EK_OK;
}

ek_status ek_layers_split_sequence(const ek_layers *in, const ek_job *job, int k, const ek_listener *listener,
                                   ek_layers *out, ek_error *err)
{
    ek_layers layers;
    ek_status status = ek_layers_check(in, err);
    if (!status && k < 1)
        status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "sequence pieces must be 1 or more (got %d)", k);
    if (status)
        return status;
    status = copy_layers(in, &layers, err);
    if (status == EK_OK && k > 1) {
        for (int b = 0; b < layers.n_body && status == EK_OK; b++)
            status = split_body(&layers.body[b], job, k, listener, err);
        if (status) {
            ek_layers_clear(&layers);
            return status;
        }
        if (in->modelled[EK_RECOMPUTE_FULL])
            ek__warn(listener, file_of(job), "full recomputation does not go with sequence pieces and is not used");
        if (job->parallel.context > 1)
            ek__warn(listener, file_of(job),
                     "context_parallel is %d, which the memory of sequence pieces does not know; it counts as 1",
                     job->parallel.context);
        layers.modelled[EK_RECOMPUTE_FULL] = false;
        divide_times(&layers.head, k);
        divide_times(&layers.tail, k);
        shrink(&layers.head, "head", head_saving(job, k), job, listener);
        shrink(&layers.tail, "tail", tail_saving(job, k), job, listener);
    }
    if (status == EK_OK)
        *out = layers;
    return status;
}
