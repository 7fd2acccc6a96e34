/* job/hugging_face.h - reads the model of a config.json: the defaults of its type, and which layers have experts or
 * parts that are not modelled. */
#ifndef EK_JOB_HUGGING_FACE_H
#define EK_JOB_HUGGING_FACE_H

#include "job/job_internal.h"

/* Sizes of a type when its file omits them; 0: none. */
typedef struct ek__hf_sizes {
    const char *source; /* the class that defines them */
    int n_layers, hidden, n_heads, n_kv_heads, head_dim, intermediate, vocab, max_position, n_experts;
} ek__hf_sizes;

/* The defaults of a model type. `dropout` is that of PretrainedConfig's subclass, for both. */
typedef struct ek__hf_kind {
    const char *type;
    bool qkv_bias, linear_bias, qk_norm, tied;
    bool plain; /* two matrices around an activation, not three with a gate */
    bool layer_norm, position_table;
    double dropout;
    bool one_kv_head;   /* unless num_kv_heads counts (new_decoder_architecture) */
    bool shared_expert; /* of width intermediate_size */
    bool post_norms;    /* also after the attention and the feed-forward part, which is not modelled */
    int window;         /* tokens that layers attend to, without a key; 0: all */
    int top_k;          /* experts of a token, without a key; 0: unknown */
    int mlp_width;      /* of layers without experts, from intermediate_size_mlp; 0: intermediate_size */
    const char
        *otherwise; /* description of its layers if they are not modelled: "have a state space in place of ..." */
    const ek__hf_sizes *sizes;
} ek__hf_kind;

/* By model_type; NULL: unknown. O(types). */
const ek__hf_kind *ek__hf_find_kind(const char *type);

/* A model that is read from the map of its keys. */
typedef struct ek__hf_model {
    ek__in in;
    const ek__node *map; /* the language model's keys */
    ek_job *job;         /* the job to fill: model shapes and name */
    ek__hf_kind kind;
    int vocab;    /* as in the file: the framework pads it */
    bool unknown; /* its type is */
} ek__hf_model;

/* The map with the language model's keys; multimodal models have a separate map for them. NULL: there is none. */
const ek__node *ek__hf_find_model(const ek__config_tree *doc);
/* Fill job->model except the vocabulary; job->model.max_position is 0 if the file has none. @return EK_ERR_INPUT with
 * the key's place: a missing or wrong size, layers that are not modelled; EK_OK with warnings about parts that are
 * predicted differently. O(keys + layers) */
ek_status ek__hf_read_model(ek__hf_model *r);
/* Warn of attention to fewer tokens than job->parallel.seq_length. */
void ek__hf_warn_window(const ek__hf_model *r);

/* Set m->n_dense_layers and m->expert_period from any of the keys for layers with experts; m->n_layers is known.
 * @return EK_ERR_INPUT with the key unless they are dense layers first and then experts with a period */
ek_status ek__hf_read_expert_layers(const ek__in *in, const ek__node *map, ek_job_model *m);
/* Reject a file that has experts only by a key that is not read. */
ek_status ek__hf_check_experts(const ek__in *in, const ek__node *map);
/* Reject keys for layers of a kind that is not modelled; warn of those that change a part of a layer. */
ek_status ek__hf_check_layers(const ek__in *in, const ek__node *map);

#endif
