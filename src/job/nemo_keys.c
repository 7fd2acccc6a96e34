/* Maps the keys of NeMo 1 (model, trainer) and of Megatron-Bridge (model, train, ddp, optimizer, ...) to arguments of
 * Megatron-LM. Sources: megatron_gpt_config.yaml and megatron_base_model.py of NeMo 1; ConfigContainer,
 * GPTModelProvider and TransformerConfig of Megatron-Bridge and Megatron Core. */
#include "job/key_rows.h"
#include "job/nemo.h"

/* Names that both forms have for the model and its cut. */
#define MODEL_KEYS                                                                                                     \
    VALUE("model.num_layers", "num-layers"), VALUE("model.hidden_size", "hidden-size"),                                \
        VALUE("model.ffn_hidden_size", "ffn-hidden-size"), VALUE("model.num_attention_heads", "num-attention-heads"),  \
        VALUE("model.num_query_groups", "num-query-groups"), VALUE("model.kv_channels", "kv-channels"),                \
        VALUE("model.max_position_embeddings", "max-position-embeddings"),                                             \
        VALUE("model.make_vocab_size_divisible_by", "make-vocab-size-divisible-by"),                                   \
        VALUE("model.hidden_dropout", "hidden-dropout"), VALUE("model.attention_dropout", "attention-dropout"),        \
        VALUE("model.position_embedding_type", "position-embedding-type"),                                             \
        SWITCH("model.qk_layernorm", "qk-layernorm"),                                                                  \
        WITHOUT("model.share_embeddings_and_output_weights", "untie-embeddings-and-output-weights"),                   \
        SWITCH("model.fp32_residual_connection", "fp32-residual-connection"),                                          \
        VALUE("model.tensor_model_parallel_size", "tensor-model-parallel-size"),                                       \
        VALUE("model.pipeline_model_parallel_size", "pipeline-model-parallel-size"),                                   \
        VALUE("model.context_parallel_size", "context-parallel-size"),                                                 \
        VALUE("model.expert_model_parallel_size", "expert-model-parallel-size"),                                       \
        VALUE("model.expert_tensor_parallel_size", "expert-tensor-parallel-size"),                                     \
        SWITCH("model.sequence_parallel", "sequence-parallel"), VALUE("model.num_moe_experts", "num-experts"),         \
        VALUE("model.moe_router_topk", "moe-router-topk"), VALUE("model.moe_ffn_hidden_size", "moe-ffn-hidden-size"),  \
        VALUE("model.moe_shared_expert_intermediate_size", "moe-shared-expert-intermediate-size"),                     \
        SWITCH("model.moe_grouped_gemm", "moe-grouped-gemm"),                                                          \
        VALUE("model.moe_token_dispatcher_type", "moe-token-dispatcher-type"),                                         \
        VALUE("model.moe_expert_capacity_factor", "moe-expert-capacity-factor"),                                       \
        VALUE("model.moe_router_dtype", "moe-router-dtype"), SPELLED("model.moe_layer_freq", "moe-layer-freq"),        \
        SPELLED("model.virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank")

static const ek__key_argument keys_1[] = {
    MODEL_KEYS,
    VALUE("model.encoder_seq_length", "seq-length"),
    VALUE("model.data.seq_length", "seq-length"),
    VALUE("model.micro_batch_size", "micro-batch-size"),
    VALUE("model.global_batch_size", "global-batch-size"),
    VALUE("model.override_vocab_size", "vocab-size"),
    VALUE("model.tokenizer.type", "tokenizer-type"),
    WITHOUT("model.bias", "disable-bias-linear"),
    VALUE("model.activations_checkpoint_granularity", "recompute-granularity"),
    VALUE("model.activations_checkpoint_method", "recompute-method"),
    VALUE("model.activations_checkpoint_num_layers", "recompute-num-layers"),
    SWITCH("model.ub_tp_comm_overlap", "tp-comm-overlap"),
    SWITCH("model.optim.overlap_grad_sync", "overlap-grad-reduce"),
    SWITCH("model.optim.overlap_param_sync", "overlap-param-gather"),
    SPELLED("model.activation", "swiglu"),
    SPELLED("model.normalization", "normalization"),
    SPELLED("model.use_flash_attention", "use-flash-attn"),
    SPELLED("model.transformer_engine", "transformer-impl"),
    SPELLED("model.optim.name", "use-distributed-optimizer"),
    SPELLED("model.optim.name", "optimizer"),
    SPELLED("model.gradient_accumulation_fusion", "no-gradient-accumulation-fusion"),
    SPELLED("model.fp8", "fp8-format"),
    SPELLED("trainer.precision", "bf16"),
    SPELLED("trainer.precision", "fp16"),
    SPELLED("trainer.devices", "nproc_per_node"),
    SPELLED("trainer.num_nodes", "nnodes"),
    SPELLED("-dp", "data-parallel-size"),
    END,
};

static const ek__key_argument keys_bridge[] = {
    MODEL_KEYS,
    VALUE("model.seq_length", "seq-length"),
    VALUE("dataset.seq_length", "seq-length"),
    VALUE("dataset.sequence_length", "seq-length"),
    VALUE("train.micro_batch_size", "micro-batch-size"),
    VALUE("train.global_batch_size", "global-batch-size"),
    SPELLED("model.vocab_size", "vocab-size"),
    SPELLED("model.vocab_size", "padded-vocab-size"),
    SPELLED("tokenizer.tokenizer_type", "tokenizer-type"),
    WITHOUT("model.add_bias_linear", "disable-bias-linear"),
    SWITCH("model.add_qkv_bias", "add-qkv-bias"),
    VALUE("model.normalization", "normalization"),
    WITHOUT("model.bias_activation_fusion", "no-bias-swiglu-fusion"),
    WITHOUT("model.gradient_accumulation_fusion", "no-gradient-accumulation-fusion"),
    SWITCH("model.cross_entropy_loss_fusion", "cross-entropy-loss-fusion"),
    VALUE("model.cross_entropy_fusion_impl", "cross-entropy-fusion-impl"),
    SWITCH("model.multi_latent_attention", "multi-latent-attention"),
    VALUE("model.q_lora_rank", "q-lora-rank"),
    VALUE("model.kv_lora_rank", "kv-lora-rank"),
    VALUE("model.qk_head_dim", "qk-head-dim"),
    VALUE("model.qk_pos_emb_head_dim", "qk-pos-emb-head-dim"),
    VALUE("model.v_head_dim", "v-head-dim"),
    VALUE("model.mtp_num_layers", "mtp-num-layers"),
    VALUE("model.moe_router_num_groups", "moe-router-num-groups"),
    VALUE("model.moe_router_group_topk", "moe-router-group-topk"),
    SWITCH("model.moe_enable_deepep", "moe-enable-deepep"),
    SWITCH("model.moe_shared_expert_overlap", "moe-shared-expert-overlap"),
    LIST("model.cp_comm_type", "cp-comm-type"),
    SPELLED("model.pipeline_model_parallel_layout", "pipeline-model-parallel-layout"),
    VALUE("model.num_layers_in_first_pipeline_stage", "decoder-first-pipeline-num-layers"),
    VALUE("model.num_layers_in_last_pipeline_stage", "decoder-last-pipeline-num-layers"),
    SWITCH("model.account_for_embedding_in_pipeline_split", "account-for-embedding-in-pipeline-split"),
    SWITCH("model.account_for_loss_in_pipeline_split", "account-for-loss-in-pipeline-split"),
    VALUE("model.microbatch_group_size_per_vp_stage", "microbatch-group-size-per-virtual-pipeline-stage"),
    VALUE("model.recompute_granularity", "recompute-granularity"),
    VALUE("model.recompute_method", "recompute-method"),
    VALUE("model.recompute_num_layers", "recompute-num-layers"),
    LIST("model.recompute_modules", "recompute-modules"),
    SWITCH("model.moe_layer_recompute", "moe-layer-recompute"),
    SPELLED("model.attention_backend", "attention-backend"),
    SPELLED("model.transformer_impl", "transformer-impl"),
    SPELLED("model.gated_linear_unit", "swiglu"),
    SPELLED("model.cuda_graph_impl", "cuda-graph-impl"),
    SWITCH("model.enable_cuda_graph", "enable-cuda-graph"),
    SWITCH("comm_overlap.tp_comm_overlap", "tp-comm-overlap"),
    SWITCH("model.tp_comm_overlap", "tp-comm-overlap"),
    SWITCH("comm_overlap.overlap_grad_reduce", "overlap-grad-reduce"),
    SWITCH("ddp.overlap_grad_reduce", "overlap-grad-reduce"),
    SWITCH("comm_overlap.overlap_param_gather", "overlap-param-gather"),
    SWITCH("ddp.overlap_param_gather", "overlap-param-gather"),
    SWITCH("comm_overlap.overlap_moe_expert_parallel_comm", "overlap-moe-expert-parallel-comm"),
    SWITCH("model.overlap_moe_expert_parallel_comm", "overlap-moe-expert-parallel-comm"),
    VALUE("comm_overlap.bucket_size", "ddp-bucket-size"),
    VALUE("ddp.bucket_size", "ddp-bucket-size"),
    ANY("ddp.use_distributed_optimizer", "use-distributed-optimizer"),
    ANY("optimizer.use_distributed_optimizer", "use-distributed-optimizer"),
    ANY("ddp.use_megatron_fsdp", "use-megatron-fsdp"),
    ANY("ddp.use_custom_fsdp", "use-megatron-fsdp"),
    ANY("dist.use_megatron_fsdp", "use-megatron-fsdp"),
    WITH("ddp.data_parallel_sharding_strategy", "data-parallel-sharding-strategy", "use-megatron-fsdp"),
    ANY("dist.use_torch_fsdp2", "use-torch-fsdp2"),
    WITH("ddp.num_distributed_optimizer_instances", "num-distributed-optimizer-instances", "use-distributed-optimizer"),
    VALUE("optimizer.optimizer", "optimizer"),
    SWITCH("optimizer.use_precision_aware_optimizer", "use-precision-aware-optimizer"),
    WITH("optimizer.main_grads_dtype", "main-grads-dtype", "use-precision-aware-optimizer"),
    WITH("optimizer.main_params_dtype", "main-params-dtype", "use-precision-aware-optimizer"),
    WITH("optimizer.exp_avg_dtype", "exp-avg-dtype", "use-precision-aware-optimizer"),
    WITH("optimizer.exp_avg_sq_dtype", "exp-avg-sq-dtype", "use-precision-aware-optimizer"),
    SWITCH("optimizer.optimizer_cpu_offload", "optimizer-cpu-offload"),
    WITH("optimizer.optimizer_offload_fraction", "optimizer-offload-fraction", "optimizer-cpu-offload"),
    SPELLED("mixed_precision.bf16", "bf16"),
    SPELLED("mixed_precision.fp16", "fp16"),
    SPELLED("mixed_precision.fp8", "fp8-format"),
    SPELLED("mixed_precision.fp8_recipe", "fp8-recipe"),
    SPELLED("mixed_precision.fp8_param_gather", "fp8-param-gather"),
    SPELLED("mixed_precision.grad_reduce_in_fp32", "grad-reduce-in-bf16"),
    SPELLED("mixed_precision.grad_reduce_in_fp32", "accumulate-allreduce-grads-in-fp32"),
    SPELLED("-dp", "data-parallel-size"),
    END,
};

#define STATE_SPACE "is of a model with state spaces or linear attention, which is not modelled; it is not predicted"
#define ON_THE_HOST "is on, which is not modelled; activations are predicted as if they stayed on the device"
#define RAMP        "is given, which is not modelled; the step is that of the whole global batch"
#define ADAPTERS    "is given: parameter-efficient fine-tuning is not modelled; remove it"
#define WINDOW      "is given, which is not modelled; attention is predicted over the whole sequence"

static const ek__key_trouble troubles_1[] = {
    {"model.peft.peft_scheme", true, ADAPTERS},
    {"model.hybrid_override_pattern", true, STATE_SPACE},
    {"model.hybrid_attention_ratio", true, STATE_SPACE},
    {"model.mamba_ssm_ngroups", true, STATE_SPACE},
    {"model.hyena", true, STATE_SPACE},
    {"model.lru_width", true, STATE_SPACE},
    {"model.bert_binary_head", true, "is of an encoder, which is not modelled; it is not predicted"},
    {"model.retro", true, "is of a model that retrieves texts, which is not modelled; it is not predicted"},
    {"model.fsdp", true, "is on, NeMo's own use of PyTorch's FSDP, which is not modelled; switch it off"},
    {"model.cpu_offloading", false, ON_THE_HOST},
    {"model.rampup_batch_size", false, RAMP},
    {"model.activations_checkpoint_layers_per_pipeline", false,
     "is given, which is not modelled; every stage is taken to recompute as many layers"},
    {"model.num_micro_batches_with_partial_activation_checkpoints", false,
     "is given, which is not modelled; all micro-batches are taken to recompute the same"},
    {"model.window_size", false, WINDOW},
    {NULL, false, NULL},
};

static const ek__key_trouble troubles_bridge[] = {
    {"peft", true, ADAPTERS},
    {"model.is_hybrid_model", true, STATE_SPACE},
    {"model.hybrid_override_pattern", true, STATE_SPACE},
    {"model.hybrid_layer_pattern", true, STATE_SPACE},
    {"model.hybrid_attention_ratio", true, STATE_SPACE},
    {"model.linear_attention_freq", true, STATE_SPACE},
    {"model.experimental_attention_variant", true,
     "is of a model with another kind of attention, which is not modelled; it is not predicted"},
    {"model.heterogeneous_block_specs", true,
     "is on: a model with different layers is not modelled; it is not predicted"},
    {"model.fp4", true, "is given: products in 4 bits are not modelled; remove it"},
    {"mixed_precision.fp4", true, "is given: products in 4 bits are not modelled; remove it"},
    {"model.cpu_offloading", false, ON_THE_HOST},
    {"model.fine_grained_activation_offloading", false, ON_THE_HOST},
    {"train.rampup_batch_size", false, RAMP},
    {"model.window_size", false, WINDOW},
    {"model.moe_pad_expert_input_to_capacity", false,
     "is on, which is not modelled; experts are timed with the tokens that come, not padded"},
    {"model.distribute_saved_activations", false, "is on, which is not modelled; kept inputs are predicted whole"},
    {"model.hierarchical_context_parallel_sizes", false,
     "is given, which is not modelled; the ring of context parallel ranks is timed as one"},
    {"dist.use_tp_pp_dp_mapping", false,
     "is on, which is not modelled; data-parallel groups are placed inside those of stages"},
    {NULL, false, NULL},
};

const ek__key_form ek__nemo_1 = {keys_1, troubles_1, "trainer.devices", "trainer.num_nodes",
                                 "; add them, as the checkpoint or the command line of the run has them"};
const ek__key_form ek__nemo_bridge = {keys_bridge, troubles_bridge, NULL, NULL,
                                      ": it changes a recipe, which has them; give the whole configuration, which "
                                      "Megatron-Bridge writes to logger.save_config_filepath"};
