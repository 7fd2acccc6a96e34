/* Counts the FLOPs of a token, term by term, from a job's shapes: every matrix product in closed form, so that each
 * figure can be checked by hand. A multiplication and an addition count two; backward counts twice forward. Excluded,
 * as usual: lookups, norms, softmax, activations, biases, and the products that flash attention repeats inside its
 * backward pass. Not handled: experts with a capacity limit, which drop tokens or pad; the count is of top_k experts
 * per token. Recomputation comes from the layers' graphs (recomputed.c). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/metrics.h"
#include "metrics/flops.h"

static const char *const ek__attention_count_name[3] = {"causal", "full", "none"};
const char *const *const ek_attention_count_name = ek__attention_count_name;

static const char *const term_name[EK__N_TERMS] = {
    [EK__TERM_JOIN] = "prediction layers' projection",
    [EK__TERM_QKV] = "q, k, v projections",
    [EK__TERM_SCORES] = "attention scores and values",
    [EK__TERM_OUTPUT] = "attention output projection",
    [EK__TERM_DENSE] = "dense feed-forward",
    [EK__TERM_ROUTER] = "router",
    [EK__TERM_EXPERTS] = "routed experts",
    [EK__TERM_SHARED] = "shared experts",
    [EK__TERM_HEAD] = "head",
};

/* The counted share of the score matrix. */
static double score_share(ek_attention_count attention)
{
    static const double share[] = {[EK_ATTENTION_CAUSAL] = 0.5, [EK_ATTENTION_FULL] = 1, [EK_ATTENTION_NONE] = 0};
    return share[attention];
}

static bool is_latent(const ek_job_model *m)
{
    return m->kv_lora_rank > 0;
}

/* Forward FLOPs of a token in one layer that has the term, or in one head. */
static double each(const ek_job *job, ek__term term, double a)
{
    const ek_job_model *m = &job->model;
    const double H = m->hidden, N = m->n_heads, D = m->head_dim, E = m->value_dim, R = m->kv_lora_rank;
    const double matrices = m->gated ? 3 : 2;
    switch (term) {
    case EK__TERM_JOIN:
        return 4 * H * H;
    case EK__TERM_QKV:
        if (!is_latent(m))
            return 2 * H * (N * D + m->n_kv_heads * (D + E));
        return 2 * (m->q_lora_rank > 0 ? m->q_lora_rank * (H + N * D) : H * N * D) +
               2 * (H * (R + m->rope_dim) + R * N * (m->nope_dim + E));
    case EK__TERM_SCORES:
        return 2 * (double)job->parallel.seq_length * N * (D + E) * a;
    case EK__TERM_OUTPUT:
        return 2 * N * E * H;
    case EK__TERM_DENSE:
        return 2 * matrices * H * m->intermediate;
    case EK__TERM_ROUTER:
        return 2 * H * m->n_experts;
    case EK__TERM_EXPERTS:
        return 2 * matrices * m->top_k * H * m->expert_intermediate;
    case EK__TERM_SHARED:
        return 2 * matrices * H * m->shared_intermediate;
    case EK__TERM_HEAD:
        return 2 * H * m->vocab;
    case EK__N_TERMS:
    default:
        return 0;
    }
}

/* The same as a formula in the letters of docs/models.md. */
static int formula_variant(const ek_job_model *m, ek__term term, ek_attention_count attention)
{
    if (term == EK__TERM_QKV)
        return !is_latent(m) ? 0 : m->q_lora_rank > 0 ? 1 : 2;
    if (term == EK__TERM_SCORES)
        return attention;
    if (term == EK__TERM_HEAD)
        return m->n_prediction_layers > 0;
    return m->gated ? 0 : 1;
}

static const char *const formulas[EK__N_TERMS][3] = {
    [EK__TERM_JOIN] = {"Lp * 4 H H", "Lp * 4 H H"},
    [EK__TERM_QKV] = {"L * 2 H (N D + 2 K)", "L * 2 (H Rq + Rq N D + H (R + r) + R N (n + E))",
                      "L * 2 (H N D + H (R + r) + R N (n + E))"},
    [EK__TERM_SCORES] = {[EK_ATTENTION_CAUSAL] = "L * 2 S N (D + E) / 2",
                         [EK_ATTENTION_FULL] = "L * 2 S N (D + E)",
                         [EK_ATTENTION_NONE] = "left out"},
    [EK__TERM_OUTPUT] = {"L * 2 N E H", "L * 2 N E H"},
    [EK__TERM_DENSE] = {"Ld * 6 H I", "Ld * 4 H I"},
    [EK__TERM_ROUTER] = {"Le * 2 H X", "Le * 2 H X"},
    [EK__TERM_EXPERTS] = {"Le * 6 k H Ie", "Le * 4 k H Ie"},
    [EK__TERM_SHARED] = {"Le * 6 H Is", "Le * 4 H Is"},
    [EK__TERM_HEAD] = {"2 H V", "(1 + Lp) * 2 H V"},
};

/* Does a layer of the kind have the term? A prediction layer contains a decoder, with experts if the model has any. */
static bool has_term(const ek_job_model *m, ek__graph_kind kind, ek__term term)
{
    bool decoder = kind == EK__GRAPH_DENSE || kind == EK__GRAPH_EXPERTS || kind == EK__GRAPH_PREDICTION;
    bool experts = kind == EK__GRAPH_EXPERTS || (kind == EK__GRAPH_PREDICTION && m->n_experts > 0);
    switch (term) {
    case EK__TERM_JOIN:
        return kind == EK__GRAPH_PREDICTION;
    case EK__TERM_QKV:
    case EK__TERM_SCORES:
    case EK__TERM_OUTPUT:
        return decoder;
    case EK__TERM_DENSE:
        return decoder && !experts;
    case EK__TERM_ROUTER:
    case EK__TERM_EXPERTS:
        return experts;
    case EK__TERM_SHARED:
        return experts && m->shared_intermediate > 0;
    case EK__TERM_HEAD:
        return kind == EK__GRAPH_HEAD || kind == EK__GRAPH_PREDICTION;
    case EK__N_TERMS:
    default:
        return false;
    }
}

ek_status ek_flops_count(const ek_job *job, ek_attention_count attention, ek_flops *out, ek_error *err)
{
    int n_layers[EK__N_GRAPH_KINDS] = {0};
    double again[EK__N_GRAPH_KINDS][EK__N_TERMS];
    ek_flops flops = {0};
    ek_status status = ek__recomputed_layers(job, n_layers, again, err);
    if (!status)
        status = ek__job_parameters(job, &flops.parameters, &flops.active_parameters, err);
    if (status)
        return status;
    n_layers[EK__GRAPH_HEAD] = 1;
    for (int t = 0; t < EK__N_TERMS; t++) {
        double one = each(job, (ek__term)t, score_share(attention)), n = 0, twice = 0;
        for (int k = 0; k < EK__N_GRAPH_KINDS; k++) {
            if (!has_term(&job->model, (ek__graph_kind)k, (ek__term)t))
                continue;
            n += n_layers[k];
            twice += again[k][t];
        }
        if (n <= 0)
            continue;
        ek_flops_term *term = &flops.term[flops.n++];
        snprintf(term->name, sizeof term->name, "%s", term_name[t]);
        snprintf(term->formula, sizeof term->formula, "%s",
                 formulas[t][formula_variant(&job->model, (ek__term)t, attention)]);
        term->forward = n * one;
        term->recomputed = twice * one;
        flops.forward += term->forward;
        flops.recomputed += term->recomputed;
    }
    flops.model = 3 * flops.forward;
    flops.hardware = flops.model + flops.recomputed;
    *out = flops;
    return EK_OK;
}
