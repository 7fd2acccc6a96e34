/* bench/cases.h - the two published models and the balancing cases measured on them. Shared by the bench and the tests.
 *
 * Figures, not files, of: SAPP pipeline balance, MindFormers r1.5 documentation (the Llama-175B dry run and its
 * pictures); the layer memories are those that the tool computes from those dry runs. The steps of the tool were
 * measured on two cores with CBC 2.10.8 at the given time limit; the annealing is a plain one over the same strategies,
 * 5 to 10 s on one core. */
#ifndef EK_BENCH_CASES_H
#define EK_BENCH_CASES_H

#include <math.h>
#include <string.h>

#include "evenkeel/layers.h"

enum { CASE_LLAMA_175B, CASE_OLDER_DEMO };

/** A model with its one body kind in place; borrow it, never clear it. */
typedef struct case_model {
    ek_layer body;
    ek_layers layers;
} case_model;

static inline void case_model_init(case_model *model, int which, double head, double body, double tail)
{
    static const double activation[2][EK_N_RECOMPUTE] = {{1002, 783, 695, 423, 0}, {852, 767, 535, 511, 0}};
    static const double parameter[2] = {2217, 2141}, head_mb[2] = {4614, 4245}, tail_mb[2] = {5885, 1203};
    static const double const_mb[2] = {1206, 0}; /* the older demo's pictures were made without its constant */
    memset(model, 0, sizeof *model);
    ek_layers *layers = &model->layers;
    strcpy(layers->name, which == CASE_LLAMA_175B ? "llama175b" : "older_demo");
    layers->body = &model->body;
    layers->n_body = 1;
    layers->n_layers = 96;
    layers->const_mb = const_mb[which];
    layers->head.n_layers = layers->tail.n_layers = 1;
    layers->head.forward_time = head;
    layers->tail.forward_time = tail;
    layers->head.parameter_mb = head_mb[which];
    layers->tail.parameter_mb = tail_mb[which];
    strcpy(model->body.name, "BODY");
    model->body.n_layers = 96;
    model->body.forward_time = body;
    model->body.parameter_mb = parameter[which];
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        double factor = EK_BACKWARD_RATIO * (1 + ek_recompute_coefficient[k]);
        layers->head.backward_time[k] = head * EK_BACKWARD_RATIO;
        layers->tail.backward_time[k] = tail * EK_BACKWARD_RATIO;
        model->body.backward_time[k] = body * factor;
        model->body.activation_mb[k] = activation[which][k];
        layers->modelled[k] = model->body.modelled[k] = activation[which][k] > 0;
    }
    layers->head.weight_time = EK_WEIGHT_TIME_SHARE * head * EK_BACKWARD_RATIO;
    layers->tail.weight_time = EK_WEIGHT_TIME_SHARE * tail * EK_BACKWARD_RATIO;
    model->body.weight_time = EK_WEIGHT_TIME_SHARE * body * EK_BACKWARD_RATIO;
}

typedef struct balance_case {
    const char *name;
    int model;
    double head, body, tail;
    int n_stages, n_micro_batches, n_chunks, less_memory, min_layers;
    double limit_mb;
    double tool_step;      /**< of the original tool; NAN where it was not run */
    double tool_seconds;   /**< its time limit */
    double reference_step; /**< not to be exceeded: a plain annealing, or the published figure */
} balance_case;

static const balance_case balance_cases[] = {
    {"Llama-175B v1 m16", CASE_LLAMA_175B, 90, 90, 180, 16, 16, 1, 0, 1, 56000, 56396.7, 100, 54810.0},
    {"Llama-175B v3 m16 less memory", CASE_LLAMA_175B, 90, 90, 180, 16, 16, 3, 1, 1, 56000, 45802.8, 300, 41292.9},
    {"Llama-175B v3 m16", CASE_LLAMA_175B, 90, 90, 180, 16, 16, 3, 0, 1, 62000, 45240.3, 150, 41171.4},
    {"Llama-175B v1 m32", CASE_LLAMA_175B, 90, 90, 180, 16, 32, 1, 0, 1, 56000, 86636.7, 90, 85830.3},
    {"Llama-175B v2 m64 less memory", CASE_LLAMA_175B, 90, 90, 180, 16, 64, 2, 1, 1, 62000, 143442.0, 150, 139375.8},
    {"Llama-175B p8 v2 m16", CASE_LLAMA_175B, 90, 90, 180, 8, 16, 2, 0, 1, 110000, 70436.7, 150, 65319.3},
    {"Llama-175B p8 v4 m32 less memory", CASE_LLAMA_175B, 90, 90, 180, 8, 32, 4, 1, 1, 100000, 134208.9, 150, 122365.8},
    {"Llama-175B published", CASE_LLAMA_175B, 0.1, 3.1357, 3.47, 16, 16, 3, 1, 1, 56000, 1443, 600, 1400},
    {"older demo", CASE_OLDER_DEMO, 30, 30, 60, 16, 16, 3, 0, 1, 62000, NAN, 0, 13772},
    {"older demo, empty chunks", CASE_OLDER_DEMO, 30, 30, 60, 16, 16, 3, 0, 0, 62000, 13647, 0, 13647},
};
enum {
    N_BALANCE_CASES = sizeof balance_cases / sizeof *balance_cases,
    N_TOOL_CASES = 8, /**< the number of the first ones, on which the original tool was run */
};

#endif
