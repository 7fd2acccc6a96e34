/* Builds the graph of a kind of layer: runs its builder, then applies products in 8 bits, then derives the remaining
 * fields from the operators. */
#include "model/layer.h"

#include <assert.h>
#include <stdio.h>

static void build_kind(const ek_job *job, ek__graph_kind kind, ek__graph *out)
{
    static const char *const names[] = {
        [EK__GRAPH_EMBEDDING] = "embedding",
        [EK__GRAPH_DENSE] = "decoder",
        [EK__GRAPH_EXPERTS] = "decoder with experts",
        [EK__GRAPH_PREDICTION] = "prediction",
        [EK__GRAPH_HEAD] = "head",
    };
    assert((unsigned)kind < EK__N_GRAPH_KINDS);
    out->n_ops = out->n_tensors = out->n_parameters = 0;
    out->input = out->output = -1;
    snprintf(out->name, sizeof out->name, "%s", names[kind]);
    ek__layer_builder b = ek__layer_builder_for(job, out);
    switch (kind) {
    case EK__GRAPH_EMBEDDING:
        ek__build_embedding(&b);
        return;
    case EK__GRAPH_DENSE:
    case EK__GRAPH_EXPERTS:
        ek__build_decoder(&b, kind == EK__GRAPH_EXPERTS);
        return;
    case EK__GRAPH_PREDICTION:
        ek__build_prediction(&b);
        return;
    case EK__GRAPH_HEAD:
        out->input =
            ek__add_tensor(out, "layer output", job->types.residual, 2, (int64_t[]){b.local_tokens, job->model.hidden});
        ek__build_head(&b, out->input);
        return;
    }
}

void ek__graph_build(const ek_job *job, ek__graph_kind kind, ek__graph *out)
{
    build_kind(job, kind, out);
    assert((out->input < 0) == (kind == EK__GRAPH_EMBEDDING) && (out->output < 0) == (kind == EK__GRAPH_HEAD));
    for (int i = 0; i < out->n_parameters; i++)
        out->parameter[i].end = kind == EK__GRAPH_EMBEDDING || kind == EK__GRAPH_HEAD;
    ek__graph_put_8_bits(job, out);
    assert(ek__graph_is_valid(out));
}
