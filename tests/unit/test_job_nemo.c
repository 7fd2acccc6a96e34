/* Tests the reader of YAML of NeMo and Megatron-Bridge: a file and the same run written as arguments of Megatron-LM are
 * the same job with the same memory; missing values, values of another type and unmodelled settings are reported with
 * their key and place. */
#include "evenkeel/job_write.h"
#include "job_forms.h"
#include "no_memory.h"

FAILING_ALLOC
FAILING_POOL_ALLOC
FAILING_POOL_TEXT

/* ---- the same run in two forms ---- */

static const char nemo_arguments[] =
    "torchrun --nproc_per_node 8 --nnodes 2 train.py --micro-batch-size 1 --global-batch-size 64 "
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --seq-length 4096 --max-position-embeddings 4096 "
    "--num-layers 16 --hidden-size 2048 --ffn-hidden-size 5632 --num-attention-heads 16 --group-query-attention "
    "--num-query-groups 4 --hidden-dropout 0 --attention-dropout 0 --make-vocab-size-divisible-by 128 --vocab-size "
    "32000 "
    "--normalization RMSNorm --swiglu --disable-bias-linear --position-embedding-type rope "
    "--untie-embeddings-and-output-weights --transformer-impl transformer_engine --bf16 --sequence-parallel "
    "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --use-distributed-optimizer "
    "--overlap-grad-reduce\n";

static const char bridge_arguments[] =
    "--num-layers 12 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 16 --seq-length 2048 --vocab-size "
    "32000 --make-vocab-size-divisible-by 256 --hidden-dropout 0 --attention-dropout 0 --normalization RMSNorm "
    "--position-embedding-type rope --swiglu --disable-bias-linear --untie-embeddings-and-output-weights "
    "--multi-latent-attention --q-lora-rank 384 --kv-lora-rank 128 --qk-head-dim 64 --qk-pos-emb-head-dim 32 "
    "--v-head-dim 64 --num-experts 16 --moe-router-topk 4 --moe-ffn-hidden-size 512 "
    "--moe-shared-expert-intermediate-size 512 --moe-layer-freq ([0]*2+[1]*10) --moe-grouped-gemm "
    "--moe-token-dispatcher-type alltoall --moe-router-dtype fp32 --moe-shared-expert-overlap "
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 3 "
    "--expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --sequence-parallel --recompute-granularity "
    "selective "
    "--recompute-modules core_attn mla_up_proj layernorm --cross-entropy-loss-fusion --cross-entropy-fusion-impl te "
    "--transformer-impl transformer_engine --micro-batch-size 1 --global-batch-size 32 --use-distributed-optimizer "
    "--grad-reduce-in-bf16 --overlap-grad-reduce --overlap-param-gather --use-precision-aware-optimizer "
    "--main-grads-dtype bf16 --main-params-dtype fp32 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --tp-comm-overlap "
    "--bf16 --fp8-format hybrid --fp8-recipe blockwise\n";

static void both_forms_are_the_same_job(void **state)
{
    (void)state;
    char *nemo = data("nemo.yaml"), *bridge = data("bridge.yaml");
    ek_job_overrides o = ek_job_overrides_none();
    assert_same("nemo.yaml", nemo, nemo_arguments, &o);
    o.data = 4;
    assert_same("bridge.yaml", bridge, bridge_arguments, &o);
    o.tensor = 4;
    o.seq_length = 1024;
    assert_same("nemo.yaml with options", nemo, nemo_arguments, &o);
    free(nemo);
    free(bridge);
}

/* ---- one line changed ---- */

static const struct {
    const char *file, *begin, *line, *message;
    bool read;
} lines[] = {
    {"nemo.yaml", "  num_layers:", NULL, "the file has no model.num_layers; add them", false},
    {"nemo.yaml", "  hidden_size:", "  hidden_size: ???", "the file has no model.hidden_size; add", false},
    {"nemo.yaml", "  encoder_seq_length:", "  encoder_seq_length: ${oc.env:LENGTH}",
     "11:23: model.encoder_seq_length is given as ${oc.env:LENGTH}, with a value known only at run time", false},
    {"nemo.yaml", "  num_layers:", "  num_layers: many",
     "13:15: model.num_layers is 'many', expected a whole number from 1 to 4096; correct it", false},
    {"nemo.yaml", "  num_layers:", "  num_layers: 16.5", "13:15: model.num_layers is '16.5', expected a whole", false},
    {"nemo.yaml", "  num_layers:", "  num_layers: [16]", "13:15: model.num_layers is a list of 1", false},
    {"nemo.yaml", "  sequence_parallel:", "  sequence_parallel: 3", "29:22: model.sequence_parallel is 3", false},
    {"nemo.yaml", "  override_vocab_size:", NULL,
     "model.override_vocab_size is missing, and the files of the tokenizer", false},
    {"nemo.yaml", "  override_vocab_size:", "  tokenizer: {type: GPT2BPETokenizer}",
     "no model.override_vocab_size is given; 50257 is taken", true},
    {"nemo.yaml", "  megatron_amp_O2:", "  megatron_amp_O2: false",
     "28:20: model.megatron_amp_O2 is off with trainer.precision bf16-mixed: weights stay in float32", false},
    {"nemo.yaml", "  megatron_amp_O2:", NULL, "4:14: trainer.precision is bf16-mixed without model.megatron_amp_O2",
     false},
    {"nemo.yaml", "  precision:", "  precision: 64", "4:14: trainer.precision is '64', expected 32, 16", false},
    {"nemo.yaml", "  precision:", NULL, "has no number format (trainer.precision)", true},
    {"nemo.yaml", "  devices:", "  devices: 3", "2:12: the file starts 6 ranks, no multiple", false},
    {"nemo.yaml", "  devices:", "  devices: auto", "the number of ranks is missing", true},
    {"nemo.yaml", "  global_batch_size:", "  global_batch_size: 63",
     "7:22: model.global_batch_size is 63, expected a multiple of the 4 sequences", false},
    {"nemo.yaml", "  activation:", "  activation: geglu",
     "23:15: warning: model.activation is geglu; it is predicted as", true},
    {"nemo.yaml", "    name: mcore", "    name: adafactor", "model.optim.name is 'adafactor', with unknown states",
     false},
    {"nemo.yaml", "    name: mcore", "    name: distributed_fused_adam",
     "warning: model.optim.name is distributed_fused_adam; it is predicted as Megatron's", true},
    {"nemo.yaml", "  data:", "  peft: {peft_scheme: lora}\n  data:",
     "34:23: model.peft.peft_scheme is given: parameter-efficient fine-tuning", false},
    {"nemo.yaml", "  data:", "  fsdp: true\n  data:", "model.fsdp is on, NeMo's own use of PyTorch's FSDP", false},
    {"nemo.yaml", "  data:", "  mamba_ssm_ngroups: 8\n  data:", "model.mamba_ssm_ngroups is of a model with state",
     false},
    {"nemo.yaml", "  data:", "  cpu_offloading: true\n  data:", "warning: model.cpu_offloading is on, which is not",
     true},
    {"nemo.yaml", "  normalization:", "  num_moe_experts: 8\n  moe_router_topk: 9", "moe", false},
    {"bridge.yaml", "  num_layers:", NULL,
     "the file has no model.num_layers: it changes a recipe, which has them; give the whole configuration", false},
    {"bridge.yaml", "  micro_batch_size:", NULL, "the file has no train.micro_batch_size: it changes", false},
    {"bridge.yaml", "  global_batch_size:", NULL, "no train.global_batch_size is given", true},
    {"bridge.yaml", "  vocab_size:", NULL, "model.vocab_size is missing, and the files of the tokenizer", false},
    {"bridge.yaml", "  moe_layer_freq:", "  moe_layer_freq: [0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1]",
     "37:19: model.moe_layer_freq is '[0,1,1,0,0", false},
    {"bridge.yaml", "  moe_layer_freq:", "  moe_layer_freq: [0, 2]", "moe_layer_freq[1] is 2, expected", false},
    {"bridge.yaml", "  is_hybrid_model:", "  is_hybrid_model: true",
     "is_hybrid_model is of a model with state spaces or linear attention", false},
    {"bridge.yaml", "  linear_attention_freq:", "  linear_attention_freq: 4", "linear_attention_freq is of a model",
     false},
    {"bridge.yaml", "  _target_: megatron.bridge.models", "  _target_: a.MambaModelProvider",
     "model._target_ is 'a.MambaModelProvider', with layers that are not modelled", false},
    {"bridge.yaml", "peft: null", "peft: {_target_: LoRA, dim: 8}", "peft is given: parameter-efficient fine-tuning",
     false},
    {"bridge.yaml", "  fp8: hybrid", "  fp4: nvfp4", "mixed_precision.fp4 is given: products in 4 bits", false},
    {"bridge.yaml", "  recompute_modules:", "  recompute_modules: [some]", "some", false},
    {"bridge.yaml", "  virtual_pipeline", "  pipeline_model_parallel_layout: Et*3|t*3|t*3|t*3L\n  x: 3", "", true},
    {"bridge.yaml", "  virtual_pipeline",
     "  pipeline_model_parallel_layout: [[embedding, decoder, decoder, decoder, decoder, decoder, decoder], [decoder, "
     "decoder, decoder, decoder, decoder, decoder, loss]]",
     "", true},
    {"bridge.yaml", "  virtual_pipeline", "  pipeline_model_parallel_layout: [[embedding, decoders]]",
     "pipeline_model_parallel_layout[0][1] is no part of a stage", false},
};

static void changed_lines_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *text = data(lines[i].file), *changed = with_line(text, lines[i].begin, lines[i].line);
        said s;
        ek_job job;
        ek_job_overrides o = ek_job_overrides_none();
        o.data = strcmp(lines[i].file, "bridge.yaml") == 0 ? 4 : 0;
        ek_status status = read_with(changed, strlen(changed), &o, &s, &job);
        if (status != (lines[i].read ? EK_OK : EK_ERR_INPUT) || !strstr(s.text, lines[i].message) ||
            strstr(s.text, "--num") || strstr(s.text, "--glo"))
            fail_msg("line %zu (%s): status %d: %s", i, lines[i].begin, status, s.text);
        if (status == EK_OK)
            ek_job_clear(&job);
        free(text);
        free(changed);
    }
}

/* Names of Megatron-Bridge's precisions. */
static void named_precisions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name, *arguments;
    } names[] = {
        {"bf16_mixed", "--bf16"},
        {"fp16_mixed", "--fp16"},
        {"bf16_with_fp8_delayed_scaling_mixed", "--bf16 --fp8-format hybrid --fp8-recipe delayed"},
        {"bf16_with_fp8_current_scaling_mixed", "--bf16 --fp8-format hybrid --fp8-recipe tensorwise"},
        {"bf16_with_fp8_subchannel_scaling_mixed", "--bf16 --fp8-format hybrid --fp8-recipe blockwise"},
        {"bf16_with_mxfp8_mixed", "--bf16 --fp8-format hybrid --fp8-recipe mxfp8"},
    };
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 2;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[600], arguments[600];
        snprintf(
            text, sizeof text,
            "mixed_precision: %s\nmodel: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, seq_length: 512, "
            "vocab_size: 32000, position_embedding_type: rope, tensor_model_parallel_size: 1}\ntrain: "
            "{micro_batch_size: 2, global_batch_size: 8}\n",
            names[i].name);
        snprintf(arguments, sizeof arguments,
                 "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --padded-vocab-size 32000 "
                 "--position-embedding-type rope --micro-batch-size 2 --global-batch-size 8 --transformer-impl "
                 "transformer_engine %s\n",
                 names[i].arguments);
        assert_same(names[i].name, text, arguments, &o);
    }
}

/* Gradients are summed in float32 unless mixed_precision sets another type, whatever ddp sets; without mixed_precision
 * they are summed in the weights' type unless ddp sets float32. */
static void gradients_have_a_type(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        int bytes;
    } heads[] = {{"mixed_precision: {bf16: true}", 4},
                 {"mixed_precision: {bf16: true, grad_reduce_in_fp32: false}", 2},
                 {"mixed_precision: {bf16: true}\nddp: {grad_reduce_in_fp32: false}", 4},
                 {"mixed_precision: bf16_mixed", 4},
                 {"ddp: {grad_reduce_in_fp32: true}", 4},
                 {"ddp: {grad_reduce_in_fp32: false}", 2},
                 {"ddp: {overlap_grad_reduce: true}", 2}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char text[600];
        said s;
        ek_job job;
        snprintf(
            text, sizeof text,
            "%s\nmodel: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, seq_length: 512, vocab_size: 32000, "
            "bf16: true}\ntrain: {micro_batch_size: 2, global_batch_size: 8}\n",
            heads[i].head);
        assert_int_equal(read_with(text, strlen(text), NULL, &s, &job), EK_OK);
        if (job.states.gradient != heads[i].bytes)
            fail_msg("%s: %d bytes a gradient", heads[i].head, job.states.gradient);
        ek_job_clear(&job);
    }
}

static void a_changed_job_is_not_written(void **state)
{
    (void)state;
    char *text = data("nemo.yaml");
    FILE *file = fopen("/tmp/ek_job_nemo.yaml", "w");
    ek_job was, now;
    ek_error err = {0};
    char *out = NULL;
    size_t size;
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(ek_job_read("/tmp/ek_job_nemo.yaml", NULL, NULL, &was, &err), EK_OK);
    ek_job_overrides o = ek_job_overrides_none();
    o.n_micro_batches = 32;
    assert_int_equal(ek_job_read("/tmp/ek_job_nemo.yaml", &o, NULL, &now, &err), EK_OK);
    assert_int_equal(ek_job_write_text(&was, &now, &out, &size, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "a YAML of NeMo or Megatron-Bridge is read and not written"));
    ek_job_clear(&was);
    ek_job_clear(&now);
    unlink("/tmp/ek_job_nemo.yaml");
    free(text);
}

/* ---- memory that runs out, damaged files ---- */

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    char *text = data("bridge.yaml");
    said s;
    ek_job job;
    int n = 0;
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 4;
    for (ek_status status = EK_ERR_MEMORY; status == EK_ERR_MEMORY; n++) {
        allocations_left = n + 1;
        status = read_with(text, strlen(text), &o, &s, &job);
        allocations_left = -1;
        if (status != EK_OK && status != EK_ERR_MEMORY)
            fail_msg("allocation %d: %d %s", n, status, s.text);
    }
    assert_true(n > 100);
    ek_job_clear(&job);
    free(text);
}

static void damaged_files_are_read_or_refused(void **state)
{
    (void)state;
    char *texts[] = {data("nemo.yaml"), data("bridge.yaml")};
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 4;
    assert_damaged_are_told(texts, 2, 800, 3, ":[]{}0179-.\n'x$", &o);
    free(texts[0]);
    free(texts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_the_same_job),       cmocka_unit_test(changed_lines_are_told),
        cmocka_unit_test(named_precisions_are_read),         cmocka_unit_test(gradients_have_a_type),
        cmocka_unit_test(a_changed_job_is_not_written),      cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(damaged_files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
