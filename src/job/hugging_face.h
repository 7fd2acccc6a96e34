/* job/hugging_face.h - the model of a config.json: what its type has without a key of its own, and which layers have
 * experts or something that is not modelled. */
#ifndef EK_JOB_HUGGING_FACE_H
#define EK_JOB_HUGGING_FACE_H

#include "job/job_internal.h"

/* Sizes that a type has where its file leaves them out; 0: none. */
typedef struct ek__hf_sizes {
    const char *source; /* the class that has them */
    int n_layers, hidden, n_heads, n_kv_heads, head_dim, intermediate, vocab, max_position, n_experts;
} ek__hf_sizes;

/* What a model type has where its file says nothing. `dropout` is that of PretrainedConfig's subclass, for both. */
typedef struct ek__hf_kind {
    const char *type;
    bool qkv_bias, linear_bias, qk_norm, tied;
    bool plain; /* two matrices around an activation, not three with a gate */
    bool layer_norm, position_table;
    double dropout;
    bool one_kv_head;      /* unless num_kv_heads counts (new_decoder_architecture) */
    bool shared_expert;    /* as wide as intermediate_size */
    bool post_norms;       /* also behind the attention and the feed-forward part, which is not modelled */
    int window;            /* tokens that layers attend to, where no key says it; 0: all */
    int top_k;             /* experts of a token, where no key says it; 0: not known */
    int mlp_width;         /* of layers without experts, which intermediate_size_mlp says; 0: intermediate_size */
    const char *otherwise; /* what its layers are, where they are not modelled: "have a state space in place of ..." */
    const ek__hf_sizes *sizes;
} ek__hf_kind;

/* By model_type; NULL: not known. O(types). */
const ek__hf_kind *ek__hf_find_kind(const char *type);

/* A model that is read from the map of its keys. */
typedef struct ek__hf_model {
    ek__in in;
    const ek__node *map; /* the language model's keys */
    ek_job *job;         /* whose shapes, and name, are filled */
    ek__hf_kind kind;
    int vocab;    /* as the file has it: the framework pads it */
    bool unknown; /* its type is */
} ek__hf_model;

/* Where a file has the language model's keys; models for pictures too have them in a map of their own. NULL: it has
 * none. */
const ek__node *ek__hf_find_model(const ek__config_tree *doc);
/* Fill job->model but for the vocabulary; job->model.max_position is 0 where nothing says it. @return EK_ERR_INPUT with
 * the key's place: a size that is missing or no size, layers that are not modelled; EK_OK with warnings of what is
 * predicted otherwise. O(keys + layers) */
ek_status ek__hf_read_model(ek__hf_model *r);
/* Warn of attention to fewer tokens than job->parallel.seq_length. */
void ek__hf_warn_window(const ek__hf_model *r);

/* Which layers have experts, by whatever keys the file says it, as m->n_dense_layers and m->expert_period; m->n_layers
 * is known. @return EK_ERR_INPUT with the key where they are not dense ones first and every so many behind them */
ek_status ek__hf_read_expert_layers(const ek__in *in, const ek__node *map, ek_job_model *m);
/* Refuse a file without a key for experts that is read but with another that says some. */
ek_status ek__hf_check_experts(const ek__in *in, const ek__node *map);
/* Refuse keys that give a model layers of a kind that is not modelled; name those that change a part of a layer. */
ek_status ek__hf_check_layers(const ek__in *in, const ek__node *map);

#endif
