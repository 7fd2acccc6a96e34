/* evenkeel/job.h - reads a training job from its files: the model, its number formats, its layout on devices, its
 * recomputation, and the rules of its framework, as far as memory and time depend on them.
 *
 * Readers of several kinds of files make an ek_job; missing settings get the framework's defaults. After the reader
 * nothing depends on the kind of file. Letters in comments: B sequences of a micro-batch, S tokens of a sequence, H
 * hidden, I intermediate, N heads, K key/value heads times head size, V vocabulary, L layers; d data, t tensor, p
 * pipeline, cp context, ep expert parallel, v chunks, m micro-batches.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_JOB_H
#define EVENKEEL_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "evenkeel/decls.h"
#include "evenkeel/plan.h"

EK_BEGIN_DECLS

/** Number formats of tensors. */
typedef enum ek_dtype { EK_FP32, EK_BF16, EK_FP16 } ek_dtype;
enum { EK_N_DTYPES = 3 };
/** "float32", "bfloat16", "float16". */
extern const char *const *const ek_dtype_name;
/** Bytes of one element: 4, 2, 2. */
int ek_dtype_bytes(ek_dtype dtype);

/** The framework with the names and rules that a job follows. */
typedef enum ek_framework {
    EK_MINDFORMERS,       /**< MindSpore Transformers up to 1.5: LlamaConfig, ChatGLM2Config, TelechatConfig, ... */
    EK_MINDFORMERS_MCORE, /**< its newer models with Hugging Face's key names */
    EK_MINDSPEED,         /**< MindSpeed-Core-MS */
    EK_MEGATRON,          /**< Megatron-LM, MindSpeed-LLM */
    EK_TORCHTITAN,        /**< torchtitan: FSDP, tensor, pipeline, context parallelism of PyTorch */
} ek_framework;
enum { EK_N_FRAMEWORKS = 5 };
extern const char *const *const ek_framework_name;

/** Naming schemes of a model's operators in recompute patterns. */
typedef enum ek_family {
    EK_FAMILY_LLAMA, /**< attention_norm, attention.wq, feed_forward.w1 (also Qwen, Mixtral, DeepSeek, TeleChat here) */
    EK_FAMILY_GLM,   /**< input_layernorm, self_attention.query_key_value, mlp.dense_h_to_4h */
    EK_FAMILY_MEGATRON, /**< input_layernorm, self_attention.linear_qkv, core_attention, mlp.linear_fc1 */
} ek_family;

/** How context parallelism treats keys and values. */
typedef enum ek_context_algorithm {
    EK_CONTEXT_GATHER,  /**< all gathered on every rank (colossalai_cp) */
    EK_CONTEXT_RING,    /**< passed round a ring, each rank stores its own */
    EK_CONTEXT_ULYSSES, /**< heads instead of tokens are split inside the attention */
} ek_context_algorithm;

/** Shapes of the model. */
typedef struct ek_job_model {
    int n_layers;            /**< decoder layers, without those of multi-token prediction */
    int n_prediction_layers; /**< of multi-token prediction (MTP); on the last chunk, after the others */
    int hidden, n_heads, n_kv_heads;
    int head_dim;     /**< of queries and keys */
    int value_dim;    /**< of a value; head_dim unless MLA */
    int intermediate; /**< of a dense feed-forward layer */
    int vocab, max_position;
    int vocab_told;     /**< the vocabulary before it was padded; 0: not known */
    int vocab_multiple; /**< vocab is padded to a multiple of this times t; 0: no padding */
    bool gated;         /**< SwiGLU: three matrices; else two and GELU */
    bool fused_swiglu;  /**< one operator for activation and product, its input one tensor of 2 I */
    bool qkv_concat;    /**< one matmul for q, k, v, and with `gated` one for both feed-forward inputs */
    bool gate_apart;    /**< with `gated`, the feed-forward inputs are two matmuls, regardless of qkv_concat */
    bool qkv_bias, linear_bias;
    bool layer_norm; /**< with a mean and a bias; else RMS norm */
    bool qk_norm;    /**< a norm on queries and keys of each head */
    bool tied;       /**< the head uses the embedding table */
    bool flash_attention;
    bool mask_compressed;                     /**< the causal mask is a constant of 2048 x 2048 */
    bool mask_given;                          /**< each micro-batch has its own, S x S bytes a sequence: no constant */
    bool no_mask;                             /**< the attention takes none: ring attention of MindFormers up to 1.5 */
    bool position_table;                      /**< learned positions, as GPT has; else rotary */
    double hidden_dropout, attention_dropout; /**< > 0: masks are kept, a byte an element */
    /* Multi-head latent attention (DeepSeek); kv_lora_rank 0: not that. */
    int q_lora_rank;                      /**< 0: queries come from one matrix */
    int kv_lora_rank, nope_dim, rope_dim; /**< head_dim = nope_dim + rope_dim */
    /* Mixture of experts; n_experts 0: every layer is dense. */
    int n_experts, top_k, n_shared_experts;
    int expert_intermediate; /**< of one routed expert */
    int shared_intermediate; /**< of all shared experts together */
    int n_dense_layers;      /**< the first ones, before those with experts (first_k_dense_replace) */
    int expert_period;       /**< every n-th layer has experts, 1: all after the dense ones */
    double capacity_factor;  /**< tokens an expert takes are this times its even share; <= 0: all tokens, no limit */
    bool grouped_matmul;     /**< experts' matmuls as one grouped one, tokens in order of experts */
    int router_groups, router_top_groups; /**< groups of experts, and those that a token's may be of; 0: no groups */
} ek_job_model;

/** Number formats. */
typedef struct ek_job_types {
    ek_dtype compute, param, embedding, norm, softmax, rotary, router;
    ek_dtype residual; /**< of the layer's input and of x + attention as saved for the backward pass */
} ek_job_types;

/** Degrees and sizes of the run. */
typedef struct ek_job_parallel {
    int data, tensor, pipeline, context, expert;
    int expert_tensor; /**< tensor-parallel ranks of one expert; `tensor` unless set otherwise */
    int batch;         /**< B, sequences of a micro-batch */
    int seq_length;    /**< S, before context parallelism cuts it */
    int n_micro_batches;
    int n_accumulation;     /**< of gradients, with p = 1; 1: none */
    int n_batch_interleave; /**< micro_batch_interleave_num: copies of the batch's half running side by side */
    int n_pieces;           /**< sequence pieces of a micro-batch */
    int chunk_group;        /**< micro-batches that a chunk runs in a row when interleaved; 0: one for each stage */
    int fine_grain;         /**< effective fine_grain_interleave: 1 is off */
    bool sequence_parallel;
    int table_split; /**< ranks the embedding table is cut over: 1, t, t cp */
    int head_split;  /**< ranks the head's matrix and the logits are cut over: 1 or t */
    ek_context_algorithm context_algorithm;
    int ulysses; /**< ranks of a Ulysses group, of `context` */
} ek_job_parallel;

/** Bytes of an element of a parameter for the whole step, and the ranks that share them. A parameter's group is the
 *  ranks with the same slice: d cp, times t for parameters that tensor parallelism does not cut; an expert's d cp /
 *  ep. */
typedef struct ek_job_states {
    int weight;    /**< bytes of the stored weight */
    int gradient;  /**< of the buffer gradients are summed in; 0: no buffer, gradients appear in the backward pass */
    int optimizer; /**< states, and a master copy where there is one */
    int gathered;  /**< bytes of a weight after gathering it; 0: weights are not gathered */
    bool shard_weight, shard_gradient, shard_optimizer; /**< cut over the group */
    bool shard_table;                                   /**< may the embedding table be cut like the others? */
    int shard_size; /**< ranks of a group that share, -1: all; ignored where it does not divide the group */
    int instances;  /**< copies of the sharded optimizer, each on a part of the group; 0 and 1: one. Ignored where it
                         does not divide the group */
    int64_t shard_threshold; /**< bytes; smaller weights stay whole */
    /* Additional memory of FSDP and ZeRO-3, layer by layer. */
    int gathered_ahead;  /**< layers with gathered weights, beyond the running layer */
    int scattered_bytes; /**< bytes an element of one layer's whole gradients takes in the buffers they are reduced
                              from; 0: none, each gradient is reduced separately */
    bool gathered_ends;  /**< weights of the embedding and the head stay gathered for the step */
    /* Limits of DeepSpeed's stages 2 and 3 in elements instead of layers; 0 elsewhere. */
    double
        bucket_elements;   /**< gradients wait in a buffer of this size until they are reduced, even if there are few */
    int n_buckets;         /**< such buffers: two where one is reduced while the other fills */
    double reuse_elements; /**< a gathered weight stays where it is used again within this many */
    double prefetch_elements; /**< gathered before they are needed, */
    double live_elements;     /**< as long as at most this many are gathered in total */
} ek_job_states;

/** Number formats of matrix products that differ from the compute type. */
typedef enum ek_fp8 {
    EK_FP8_NONE,
    EK_FP8_DELAYED,    /**< one scale a tensor, from earlier steps */
    EK_FP8_TENSORWISE, /**< one scale a tensor, from the tensor itself: its largest value is computed first */
    EK_FP8_ROWWISE,
    EK_FP8_BLOCKWISE, /**< also MXFP8 */
} ek_fp8;
enum { EK_N_FP8 = 5 };
extern const char *const *const ek_fp8_name; /**< none, delayed, tensorwise, rowwise, blockwise */

/** How kernels are launched on the device. */
typedef enum ek_launch {
    EK_LAUNCH_EAGER,    /**< one by one from Python */
    EK_LAUNCH_COMPILED, /**< fused by a compiler, fewer of them (torch.compile) */
    EK_LAUNCH_GRAPH,    /**< a whole graph is handed over (MindSpore's graph mode, CUDA graphs) */
} ek_launch;
enum { EK_N_LAUNCHES = 3 };
extern const char *const *const ek_launch_name; /**< eager, compiled, graph */

/** Implementations of fused attention. */
typedef enum ek_attention_kernels {
    EK_ATTENTION_OWN,    /**< written for the device; the device's curves are measured on it */
    EK_ATTENTION_FLASH2, /**< FlashAttention-2: for the instructions before Hopper's (arXiv 2307.08691) */
    EK_ATTENTION_TRITON, /**< FlashAttention in Triton, before that */
    EK_ATTENTION_FLASH1, /**< FlashAttention, the first one */
} ek_attention_kernels;

enum { EK_MAX_JOB_INPUTS = 8, EK_MAX_INPUT_AXES = 4 };

/** How a step runs: settings that change its time and not its memory. Readers set it from their framework's defaults
 *  and keys.
 */
typedef struct ek_job_run {
    bool overlap_gradients; /**< gradients are reduced during the last backward pass, bucket by bucket */
    bool overlap_weights;   /**< weights are gathered during the first forward pass */
    bool overlap_tensor;    /**< collectives of tensor parallel groups overlap the products they feed */
    bool overlap_expert;    /**< all-to-all overlaps other computing */
    bool send_once;         /**< tokens go once to each node, and to the experts' ranks from there (DeepEP) */
    bool overlap_p2p;       /**< sends and receives overlap computing; else they block both stages */
    double bucket_bytes;    /**< of gradients in one collective; 0: all at once */
    int reduce_bytes;       /**< bytes an element of a reduced gradient has; 0: as states.gradient */
    ek_launch launch;
    bool fused_optimizer;
    bool offload_optimizer; /**< its states are on the host */
    ek_fp8 fp8;
    bool fp8_gather;   /**< weights and activations are gathered in 8 bits */
    bool gathers_once; /**< a weight is gathered once for all micro-batches, independent of its time in memory */
    bool sums_every_micro_batch; /**< gradients are reduced after each micro-batch (ZeRO-2 and -3 with accumulation) */
    bool overlap_tensor_gradients; /**< in the backward pass of a column-cut product its input is gathered again, and
                                        its input's gradient exchanged, during the products of the gradients */
    bool overlap_shared;           /**< only all-to-all overlaps the products of the shared experts */
    bool overlap_p2p_interleaved;  /**< overlap_p2p is true where a stage has several chunks and only there (Megatron);
                                        it is set again where a plan changes the chunks */
    bool context_uneven;           /**< each context rank has neighbouring tokens, so that with a causal mask the last
                                        one attends to all and is the slowest */
    bool p2p_scattered;       /**< tensor parallel ranks send a part of an activation each, and gather it afterwards */
    bool layer_buckets;       /**< a bucket is a layer, regardless of bucket_bytes (FSDP) */
    bool first_stage_buckets; /**< only the first chunk of the first stage has buckets, all others reduce at once
                                   (Megatron's DistributedDataParallel) */
    bool owned_tensors;       /**< shared optimizer states are distributed by whole tensors: gradients are all-reduced
                                   whole, and each owner broadcasts its weights after the update (InternEvo,
                                   ZeroRedundancyOptimizer) */
    ek_attention_kernels attention;
    bool full_batch; /**< each device reads the data of all data-parallel ranks and uses its own part (MindFormers) */
    int n_columns;   /**< inputs of a sequence, where the file names them, up to EK_MAX_JOB_INPUTS (input_columns) */
    int n_inputs;    /**< inputs with a cut over devices in the file (dataset_strategy); 0: not set */
    /** [n_inputs][axes of the input] parts of each axis; 0: no such axis, -1: as many as data-parallel ranks (an
     *  alias). */
    int input_cut[EK_MAX_JOB_INPUTS][EK_MAX_INPUT_AXES];
} ek_job_run;

/** When gathered weights are alive. */
typedef enum ek_gather { EK_GATHER_STEP, EK_GATHER_LAYER, EK_GATHER_NONE } ek_gather;

/** How memory becomes a figure with fragments (docs/memory.md). */
typedef enum ek_allocation {
    EK_ALLOCATION_WHOLE,   /**< live bytes rounded up to whole blocks of rules.block_bytes, up to the limit: MindSpore's
                                graphs, as their published dry run shows */
    EK_ALLOCATION_BLOCKS,  /**< best fit in blocks of rules.block_bytes: MindSpore without virtual memory */
    EK_ALLOCATION_PAGES,   /**< pages mapped on demand: MindSpore with enable_vmm */
    EK_ALLOCATION_CACHING, /**< PyTorch's caching allocator */
    EK_ALLOCATION_OFFLINE, /**< offsets planned ahead, the largest first */
} ek_allocation;
enum { EK_N_ALLOCATIONS = 5 };
extern const char *const *const ek_allocation_name; /**< whole, blocks, pages, caching, offline */

/** Behaviour of the framework that cannot be derived. Each rule has a default (ek_rules_default) and a name for `--rule
 *  NAME=VALUE` and calibration. */
typedef struct ek_rules {
    ek_gather weight_gather; /**< gathered weights live for the step, for their layer's pass, or there are none */
    bool gather_after_cast;  /**< gathered in compute type instead of the stored one */
    bool regather;           /**< of a gathered activation only the rank's own part is saved; backward gathers again */
    bool token_order_copy;   /**< the attention's output is copied into token order and both are saved */
    bool cast_weight_kept;   /**< the weight in compute type stays from forward to backward */
    int statistics_width;    /**< fp32 columns that flash attention keeps of each of max and sum, per head and token;
                                  0: one column in all, the logarithm of the sum of exponentials (4 bytes) */
    int norm_statistics_bytes;  /**< saved per token of each norm */
    int loss_buffers;           /**< fp32 tensors of the logits' size alive at once in the loss */
    bool one_hot_kept;          /**< the one-hot labels are saved for the backward pass */
    bool loss_fused;            /**< the loss is one kernel, which leaves one fp32 tensor of the logits' size */
    bool loss_in_place;         /**< it writes the logits' gradient over the logits and keeps nothing else */
    bool mask_per_micro_batch;  /**< without a compressed mask each micro-batch has its own */
    bool weight_gradient_fused; /**< added to the gradient buffer inside the matmul, without a separate tensor */
    bool gradient_cast_fused;   /**< a weight's gradient is cast while it is added to the buffer: no copy in its type */
    bool dummy_gradients;       /**< of weights added in the matmul: for each shape, one permanent tensor that is not a
                                     gradient, for autograd (TransformerEngine's get_dummy_wgrad) */
    bool gather_buffer; /**< the head's input, gathered over tensor ranks, is in one permanent buffer (Megatron's global
                             memory buffer) */
    int fp8_copies;  /**< 8-bit copies of a weight with 8-bit products: as stored and transposed (2), or as stored (1);
                          they stay (TransformerEngine) */
    int p2p_buffers; /**< receive buffers of a neighbour's activation, beyond the one in use */
    double workspace_mb;                      /**< of operators, at the peak */
    double constant_mb;                       /**< additional memory; calibration sets it */
    double activation_scale, transient_scale; /**< 1; calibration sets them */
    double moe_imbalance;                     /**< tokens of the fullest rank over the mean, without a capacity limit */
    ek_allocation allocation;
    int64_t block_bytes, page_bytes;
} ek_rules;

/** A framework's rules. */
ek_rules ek_rules_default(ek_framework framework);
/**
 * Set one rule by its name, as in "loss_buffers=5".
 *
 * @return EK_OK, or EK_ERR_INPUT naming the rules or the range. O(rules).
 */
ek_status ek_rules_set(ek_rules *rules, const char *assignment, ek_error *err);
/** Names of the rules, NULL at the end, for --help and for reports; ek_rule_help describes each. */
extern const char *const *const ek_rule_names;
extern const char *const *const ek_rule_help; /**< in the order of the names */
/** The basis of each rule's default, in the order of the names: "derived", "documented", "measured" (a published run
 *  rules the alternatives out), "assumed", or "calibrated" for rules that have no effect until they are fitted. */
extern const char *const *const ek_rule_basis;
/** Known possible values of an assumed rule, separated by commas, from frameworks and their versions. Empty where the
 *  rule is not assumed or its values are not a list. In the order of the names. */
extern const char *const *const ek_rule_alternatives;
/** A rule's value as text, "step", "4". @return false for an unknown name. O(rules). */
bool ek_rules_get(const ek_rules *rules, const char *name, char *out, size_t size);

/** The effect of a pattern. */
typedef enum ek_pattern_kind {
    EK_PATTERN_SELECT,         /**< the primitives it names are recomputed */
    EK_PATTERN_COMM,           /**< the communication after the primitives it names is repeated */
    EK_PATTERN_SELECT_EXCLUDE, /**< the primitives it names are not recomputed, even if another setting recomputes them
                                */
    EK_PATTERN_COMM_EXCLUDE,
} ek_pattern_kind;
enum { EK_N_PATTERN_KINDS = EK_PATTERN_COMM_EXCLUDE + 1 };

/** A pattern of recompute_config, with the number of first layers of every chunk that it applies to. */
typedef struct ek_pattern {
    char *text; /**< as written: feed_forward\.mul */
    ek_pattern_kind kind;
    bool other_list;  /**< a plan's comm list applies to it where it selects operators, the select list where it repeats
                           communication (ek_job_use_recompute_sets()) */
    int *layers;      /**< [n_chunks][n_stages], at most the layers of the chunk */
    bool by_default;  /**< not in the file, which only has the number of layers */
    ek_origin origin; /**< its file points at ek_job.path */
} ek_pattern;

enum { EK_MAX_PATTERNS = 64 };

/** The kind of the plan's list that a pattern follows: SELECT or COMM; a kind that excludes has no list and is returned
 *  unchanged. */
ek_pattern_kind ek_pattern_list(const ek_pattern *pattern);

/** A job. */
typedef struct ek_job {
    char *path;
    char name[EK_NAME_SIZE]; /**< of the model, for titles */
    ek_framework framework;
    ek_family family;
    ek_job_model model;
    ek_job_types types;
    ek_job_parallel parallel;
    ek_job_states states;
    ek_job_run run;
    ek_rules rules;
    uint64_t rules_told; /**< bit i: the user set the rule ek_rule_names[i], which is then assumed no more */
    /** Layers of every chunk (those of multi-token prediction included) and how many of the first are recomputed whole;
     *  its select and comm lists are the largest of the patterns'. */
    ek_plan plan;
    const ek_schedule *schedule;
    int full_group; /**< wholly recomputed layers that share one saved input; 1 except for Megatron's uniform method */
    int n_patterns;
    ek_pattern *pattern; /**< [n_patterns] */
    double limit_mb;     /**< of the framework's pool on a device; 0: not set */
    uint64_t
        noted; /**< settings of the file that constrain others, noted by readers for functions that change the file */
    /** MindSpeed-Core-MS, with section names that depend on the version: the file's sections of the degrees, the
     *  batches and the model's shapes; empty for frameworks with fixed names. */
    char section_of_degrees[64], section_of_batches[64], section_of_model[64];
    /** The assumption of the default reading of an ambiguous file, a sentence; empty for other files. */
    char reading[256];
    bool literal;   /**< the file was read without that */
    bool no_layout; /**< the file has no place for degrees, batches and a plan, which are the overrides' or 1: a
                         config.json */
    int seq_line, seq_column; /**< position of the sequence length in the file; 0: none */
    uint64_t digest;          /**< of the file's bytes as they were read; 0: the job has no file */
} ek_job;

/** Settings of the command line that replace the file's; 0: none. */
typedef struct ek_job_overrides {
    int data, tensor, pipeline, context, expert, n_chunks, n_micro_batches, batch, seq_length, n_layers;
    int sequence_parallel; /**< -1: not set */
    int recompute;         /**< -1: not set; an ek_recompute for all layers, NONE or FULL */
    const ek_schedule *schedule;
    double limit_mb;
    bool literal;             /**< ignore unknown keys, as the framework does */
    const char *const *rules; /**< [n_rules] "name=value" */
    int n_rules;
} ek_job_overrides;

/** Nothing overridden. */
ek_job_overrides ek_job_overrides_none(void);

/**
 * Read a job: a training YAML of MindFormers or MindSpeed-Core-MS, arguments of Megatron-LM (a script, or a list of
 * arguments), a TOML of torchtitan, or a Hugging Face config.json (degrees then come from the overrides, 1 by default).
 *
 * Where an override changes the stages or chunks, offsets and recompute lists of the file no longer fit: the layers are
 * then spread evenly, settings for all layers are kept, and the listener is warned about the dropped ones.
 *
 * @param overrides  may be NULL
 * @param listener   warned about keys the framework ignores, settings without effect, and contradictions
 * @return EK_OK; EK_ERR_INPUT with the place and the key; EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size + stages x chunks).
 */
ek_status ek_job_read(const char *path, const ek_job_overrides *overrides, const ek_listener *listener, ek_job *out,
                      ek_error *err);
/** The same from memory. @param name file name used in messages; its ending sets the kind of file, and files that the
 *  job names are looked up in its folder. @return as ek_job_read(). O(size + stages x chunks). */
ek_status ek_job_parse(const char *name, const char *text, size_t size, const ek_job_overrides *overrides,
                       const ek_listener *listener, ek_job *out, ek_error *err);

/** The required part of a job, for files that need not be complete. */
typedef enum ek_job_part {
    EK_JOB_DEGREES, /**< parallel: data, tensor, context and expert ranks, stages (0 where a YAML does not have it) */
    EK_JOB_SIZES,   /**< stages, chunks, the layers in all, micro-batches, pieces, the schedule */
    EK_JOB_PLAN,    /**< the same with the layers and the recomputation of every chunk: job.plan */
    EK_JOB_SHAPES,  /**< inputs of the memory of a piece of a sequence: widths of the model, batch, sequence
                         length, tensor and context parallel ranks */
} ek_job_part;

/**
 * Read one part of a job from a file that ek_job_read() takes. Of a training YAML of MindFormers only the keys of that
 * part are read, so the file may lack the others or have wrong ones, and is not checked as a whole; shapes must be
 * stated there. A file of any other kind is read whole, as ek_job_read() does without overrides; a config.json, which
 * only the shapes' widths and the layers are in, has `no_layout` set.
 *
 * @param out  the part is as in the whole job; with SIZES the plan has its stages and chunks, but perhaps no layers.
 *             Everything else is unspecified. ek_job_clear() frees it
 * @return as ek_job_read(); for DEGREES EK_ERR_INPUT also for more than 2^24 devices. O(file size)
 */
ek_status ek_job_read_part(const char *path, ek_job_part part, const ek_listener *listener, ek_job *out, ek_error *err);
/** Devices of the run: data x tensor x pipeline x context. */
int64_t ek_job_devices(const ek_job *job);
/** Sequences of a step, the global batch: of all replicas, copies, micro-batches and accumulated ones. */
int64_t ek_job_sequences(const ek_job *job);
/**
 * A copy that is cleared on its own.
 *
 * @param to  ek_job_clear() frees it; untouched on failure
 * @return EK_OK or EK_ERR_MEMORY. O(stages x chunks x patterns).
 */
ek_status ek_job_copy(const ek_job *from, ek_job *to, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_job_clear(ek_job *job);

/** Settings of a plan for a job's file. All borrowed. */
typedef struct ek_job_change {
    const ek_plan *plan;         /**< every layer of the job placed once; may have another number of chunks */
    const ek_schedule *schedule; /**< for the plan's chunks; NULL: the job's */
    int n_micro_batches, batch;  /**< 0: the job's */
} ek_job_change;

/**
 * The job after ek_train_apply() (or an emitter) has written a plan's settings into its file: every pattern of
 * select_recompute gets the plan's list, so does every one of select_comm_recompute, and the framework's usual patterns
 * are used where there are none. Predictions for this job are those of the file with these settings.
 *
 * @return EK_OK; EK_ERR_INPUT where the framework does not run it; EK_ERR_MEMORY. O(stages x chunks x patterns).
 */
ek_status ek_job_with(const ek_job *job, const ek_job_change *change, ek_job *out, ek_error *err);

/**
 * Does the framework run the job: degrees that divide heads and widths, every layer placed once, micro-batches that its
 * pipeline accepts, experts that divide? Readers call it; callers that change a job call it again.
 * @return EK_OK or EK_ERR_INPUT naming the setting. O(stages x chunks).
 */
ek_status ek_job_check(const ek_job *job, ek_error *err);

EK_END_DECLS
#endif
