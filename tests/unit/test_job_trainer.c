/* Tests the readers of LLaMA-Factory's YAML and of scripts for transformers' Trainer: a run and the same one written as
 * arguments of Megatron-DeepSpeed are the same job with the same memory; missing or unmodelled settings are reported
 * with their place. */
#include "evenkeel/cost.h"
#include "evenkeel/layout.h"
#include "evenkeel/metrics.h"
#include "job/settings.h"
#include "job_forms.h"
#include "no_memory.h"

FAILING_ALLOC
FAILING_POOL_ALLOC
FAILING_POOL_TEXT

/* The text with each @ as the folder of the fixtures. */
static char *at_home(const char *text)
{
    char folder[4200];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/job_forms"));
    char *out = calloc(1, strlen(text) + 8 * sizeof folder), *to = out;
    assert_non_null(out);
    for (; *text; text++) {
        if (*text == '@')
            to += sprintf(to, "%s", folder);
        else
            *to++ = *text;
    }
    return out;
}

#define MODEL                                                                                                          \
    "--num-layers 8 --hidden-size 1024 --ffn-hidden-size 2816 --num-attention-heads 16 --group-query-attention "       \
    "--num-query-groups 4 --padded-vocab-size 32000 --max-position-embeddings 8192 --swiglu --normalization RMSNorm "  \
    "--use-rotary-position-embeddings --disable-bias-linear --untie-embeddings-and-output-weights "                    \
    "--attention-dropout 0 --hidden-dropout 0 --transformer-impl local "
#define RUN    "deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed "
#define YAML   "model_name_or_path: '@/tiny_llama'\nfinetuning_type: full\nstage: sft\n"
#define SCRIPT "deepspeed --num_gpus 8 main.py --model_name_or_path @/tiny_llama "

static const struct {
    const char *text, *arguments;
} pairs[] = {
    {YAML "deepspeed: '@/ds_z3.json'\ncutoff_len: 2048\nper_device_train_batch_size: 2\ngradient_accumulation_steps: "
          "4\nbf16: true\n",
     RUN MODEL "--zero-stage 3 --deepspeed_config @/ds_z3_numbers.json --seq-length 2048 --micro-batch-size 2 "
               "--global-batch-size 64 --bf16 --use-flash-attn --checkpoint-activations --no-bias-swiglu-fusion\n"},
    {YAML "deepspeed: {zero_optimization: {stage: 2, overlap_comm: true}, fp16: {enabled: auto}, "
          "gradient_accumulation_steps: 2}\ncutoff_len: 1024\nper_device_train_batch_size: 4\nfp16: true\n"
          "disable_gradient_checkpointing: true\nenable_liger_kernel: true\n",
     RUN MODEL "--zero-stage 3 --deepspeed_config @/ds_z2.json --seq-length 1024 --micro-batch-size 4 "
               "--global-batch-size 64 --fp16 --use-flash-attn\n"},
    {YAML "deepspeed: {zero_optimization: {stage: 1}, bf16: {enabled: true}, data_types: {grad_accum_dtype: fp32}}\n"
          "cutoff_len: 512\nper_device_train_batch_size: 1\nbf16: true\nflash_attn: disabled\n",
     RUN MODEL "--zero-stage 1 --seq-length 512 --micro-batch-size 1 --global-batch-size 8 --bf16 "
               "--checkpoint-activations --no-bias-swiglu-fusion\n"},
    {YAML "deepspeed: {bf16: {enabled: true}}\ncutoff_len: 512\nper_device_train_batch_size: 1\nbf16: true\n",
     RUN MODEL "--zero-stage 0 --seq-length 512 --micro-batch-size 1 --global-batch-size 8 --bf16 --use-flash-attn "
               "--checkpoint-activations --no-bias-swiglu-fusion\n"},
    {SCRIPT "--deepspeed @/ds_z3.json --model_max_length 2048 --per_device_train_batch_size 2 "
            "--gradient_accumulation_steps=4 --bf16 True --gradient_checkpointing True\n",
     RUN MODEL "--zero-stage 3 --deepspeed_config @/ds_z3_numbers.json --seq-length 2048 --micro-batch-size 2 "
               "--global-batch-size 64 --bf16 --use-flash-attn --checkpoint-activations --no-bias-swiglu-fusion\n"},
    {"ZERO=2\nBATCH=4\n" SCRIPT "--per_device_train_batch_size $BATCH --max_seq_len 512 --zero_stage $ZERO --deepspeed "
     "--dtype bf16\n",
     RUN MODEL "--zero-stage 2 --seq-length 512 --micro-batch-size 4 --global-batch-size 32 --bf16 --use-flash-attn "
               "--no-bias-swiglu-fusion\n"},
};

static void both_forms_are_the_same_job(void **state)
{
    (void)state;
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 8;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char name[24], *text = at_home(pairs[i].text), *arguments = at_home(pairs[i].arguments);
        snprintf(name, sizeof name, "pair %zu", i);
        assert_same(name, text, arguments, &o);
        free(text);
        free(arguments);
    }
}

/* Weights and states in bf16 without DeepSpeed: 2 bytes of weight and gradient, two moments of 2. */
static void pure_bf16_has_no_copies(void **state)
{
    (void)state;
    char *text = at_home(YAML "pure_bf16: true\ncutoff_len: 512\nper_device_train_batch_size: 1\n");
    said s;
    ek_job job;
    assert_int_equal(read_with(text, strlen(text), NULL, &s, &job), EK_OK);
    assert_int_equal(job.states.weight, 2);
    assert_int_equal(job.states.gradient, 2);
    assert_int_equal(job.states.optimizer, 4);
    assert_false(job.states.shard_optimizer);
    assert_non_null(strstr(s.text, "has no number of devices; data parallel is 1"));
    ek_job_clear(&job);
    free(text);
}

#define GOOD  YAML "deepspeed: '@/ds_z3.json'\ncutoff_len: 2048\nper_device_train_batch_size: 2\nbf16: true\n"
#define AFTER "deepspeed: '@/ds_z3.json'\ncutoff_len: 2048\nbf16: true\n"

static const struct {
    const char *text, *message;
    bool read;
} cases[] = {
    {GOOD, "data parallel is 1", true},
    {GOOD "quantization_bit: 4\n", "8:19: quantization_bit is given: quantized weights are not modelled", false},
    {GOOD "quantization_bit: null\nuse_galore: false\nfsdp: ''\n", "", true},
    {GOOD "use_galore: true\n", "8:13: use_galore is given: its states are not modelled", false},
    {GOOD "fsdp: full_shard\n", "fsdp is given: PyTorch's FSDP under this trainer", false},
    {GOOD "optim: adafactor\n", "8:8: optim is 'adafactor', with unknown states", false},
    {GOOD "gradient_accumulation_steps: 0\n",
     "8:30: gradient_accumulation_steps is '0', expected a whole number from 1", false},
    {GOOD "gradient_accumulation_steps: few\n", "gradient_accumulation_steps is 'few', expected a whole number", false},
    {GOOD "gradient_accumulation_steps: [1]\n", "gradient_accumulation_steps has several values, expected one", false},
    {GOOD "disable_gradient_checkpointing: maybe\n", "8:33: disable_gradient_checkpointing is 'maybe', expected true",
     false},
    {GOOD "enable_liger_kernel: true\n", "warning: enable_liger_kernel is on: the loss is predicted", true},
    {GOOD "sequence_parallel_size: 2\n", "sequence_parallel_size is 2, which is not modelled", false},
    {GOOD "fp16: true\n", "8:7: fp16 and bf16 are both on; give one", false},
    {"model_name_or_path: '@/tiny_llama'\nstage: sft\n" AFTER, "finetuning_type is not given, which means lora", false},
    {"model_name_or_path: '@/tiny_llama'\nfinetuning_type: lora\nstage: sft\n" AFTER,
     "2:18: finetuning_type is 'lora': training of a part of the weights is not modelled; only full is", false},
    {"model_name_or_path: '@/tiny_llama'\nfinetuning_type: full\nstage: dpo\n" AFTER,
     "3:8: stage is 'dpo', which trains more than the model with its loss", false},
    {"model_name_or_path: meta-llama/Llama-3.2-1B\nfinetuning_type: full\nstage: sft\n" AFTER,
     "1:21: model_name_or_path is meta-llama/Llama-3.2-1B, with missing sizes: there is no "
     "meta-llama/Llama-3.2-1B/config.json from the folder of this file",
     false},
    {"model_name_or_path: '@/ds_z3.json'\nfinetuning_type: full\nstage: sft\n" AFTER, "which has no sizes of a model",
     false},
    {YAML AFTER, "per_device_train_batch_size is not given; 8 is taken, the trainer's default", true},
    {YAML "deepspeed: '@/ds_z3.json'\nbf16: true\n", "cutoff_len is not given; 2048 tokens are taken", true},
    {YAML "deepspeed: examples/ds_z9.json\nbf16: true\n",
     "4:12: deepspeed is examples/ds_z9.json, which is not next to this file, and contains the stage of ZeRO", false},
    {YAML "bf16: true\ncutoff_len: 512\n", "4:7: bf16 is on without deepspeed: weights stay in float32", false},
    {YAML "cutoff_len: 512\n", "", true},
    {YAML "deepspeed: {zero_optimization: {stage: 2}, bf16: {enabled: false}}\nbf16: true\n",
     "4:12: deepspeed computes in float32, but the trainer in bf16", false},
    {YAML "deepspeed: {zero_optimization: {stage: 7}, bf16: {enabled: auto}}\nbf16: true\n",
     "deepspeed.zero_optimization.stage is 7, expected a whole number from 0 to 3", false},
    {YAML "deepspeed: {zero_optimization: {stage: 2}, bf16: {enabled: auto}, train_micro_batch_size_per_gpu: 4}\nbf16: "
          "true\nper_device_train_batch_size: 2\n",
     "train_micro_batch_size_per_gpu is 4, but per_device_train_batch_size is 2; the trainer refuses that", false},
    {YAML "deepspeed: {zero_optimization: {stage: 2}, bf16: {enabled: auto}, tensor_parallel: {autotp_size: 2}}\nbf16: "
          "true\n",
     "deepspeed.tensor_parallel is DeepSpeed's tensor parallelism, which is not modelled", false},
    {YAML
     "deepspeed: {zero_optimization: {stage: 2, offload_param: {device: cpu}}, bf16: {enabled: auto}}\nbf16: true\n",
     "keeps weights on the host, which is not modelled", true},
    {YAML "deepspeed: {optimizer: {type: Lamb}, bf16: {enabled: auto}}\nbf16: true\n",
     "deepspeed.optimizer.type is an optimizer with unknown states", false},
    {SCRIPT "--deepspeed @/ds_z3.json --bf16 True\n", "0:0: the sequence length is missing (--max_seq_len", false},
    {SCRIPT "--deepspeed @/ds_z3.json --max_seq_len $LENGTH --bf16 True\n",
     "--max_seq_len is given as $LENGTH, with a value known only at run time", false},
    {SCRIPT "--deepspeed --max_seq_len 512\n", "--deepspeed names no file, and the stage of ZeRO is missing", false},
    {SCRIPT "--deepspeed --zero_stage 2 --max_seq_len 512 --lora_dim 128\n",
     "--lora_dim is given: parameter-efficient fine-tuning", false},
    {SCRIPT "--deepspeed --zero_stage 2 --max_seq_len 512 --lora_dim 0\n",
     "--zero_stage refers to a configuration of DeepSpeed that the program creates", true},
    {SCRIPT "--deepspeed --zero_stage 5 --max_seq_len 512\n",
     "--zero_stage is '5', expected a whole number from 0 to 3", false},
};

static void what_is_missing_or_not_modelled_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = at_home(cases[i].text);
        said s;
        ek_job job;
        ek_status status = read_with(text, strlen(text), NULL, &s, &job);
        if (status != (cases[i].read ? EK_OK : EK_ERR_INPUT) || !strstr(s.text, cases[i].message))
            fail_msg("case %zu: status %d: %s", i, status, s.text);
        if (status == EK_OK)
            ek_job_clear(&job);
        free(text);
    }
}

/* Names of the hub: those that are a known shape, and others that only look like one. */
static void public_models_are_known_by_their_very_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int layers; /* 0: not known */
    } names[] = {{"meta-llama/Meta-Llama-3-8B-Instruct", 32},
                 {"meta-llama/Llama-3.1-70B", 80},
                 {"meta-llama/Llama-2-7b-chat-hf", 32},
                 {"01-ai/Yi-34B-Chat", 60},
                 {"codellama/CodeLlama-34b-Instruct-hf", 48},
                 {"Llama3-8B", 32},
                 {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", 0},
                 {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 0},
                 {"meta-llama/Llama-3.2-1B", 0},
                 {"nvidia/Llama-3.1-Nemotron-70B-Instruct", 0},
                 {"01-ai/Yi-6B-200K", 0},
                 {"Qwen/Qwen-7B", 0},
                 {"codellama/CodeLlama-34b-Python-hf", 0},
                 {"Qwen/Qwen2-0.5B", 0},
                 {"x", 0}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[400];
        said s;
        ek_job job;
        snprintf(
            text, sizeof text,
            "model_name_or_path: %s\nfinetuning_type: full\ndeepspeed: {zero_optimization: {stage: 2}, bf16: {enabled: "
            "auto}}\nbf16: true\ncutoff_len: 1024\nper_device_train_batch_size: 1\n",
            names[i].name);
        ek_status status = read_with(text, strlen(text), NULL, &s, &job);
        if (status != (names[i].layers ? EK_OK : EK_ERR_INPUT))
            fail_msg("%s: %s", names[i].name, s.text);
        if (status == EK_OK) {
            assert_int_equal(job.model.n_layers, names[i].layers);
            assert_non_null(strstr(s.text, "1:21: warning: model_name_or_path is "));
            ek_job_clear(&job);
        }
    }
}

/* Meta-Llama-3-8B by its name is the same as by Megatron-DeepSpeed's arguments, with the published parameters.
 */
static void a_public_model_is_the_job_of_its_arguments(void **state)
{
    (void)state;
    static const char text[] = "model_name_or_path: meta-llama/Meta-Llama-3-8B\nfinetuning_type: full\ndeepspeed: "
                               "{zero_optimization: {stage: 2}, bf16: {enabled: auto}}\nbf16: true\ncutoff_len: "
                               "1024\nper_device_train_batch_size: 1\n";
    static const char same[] =
        RUN "--zero-stage 2 --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
            "--group-query-attention --num-query-groups 8 --padded-vocab-size 128256 --max-position-embeddings 8192 "
            "--swiglu --normalization RMSNorm --use-rotary-position-embeddings --disable-bias-linear "
            "--untie-embeddings-and-output-weights --attention-dropout 0 --hidden-dropout 0 --transformer-impl local "
            "--seq-length 1024 --micro-batch-size 1 --global-batch-size 8 --bf16 --use-flash-attn "
            "--checkpoint-activations --no-bias-swiglu-fusion\n";
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 8;
    assert_same("Llama 3", text, same, &o);
    said s;
    ek_job job;
    double all = 0, active = 0;
    assert_int_equal(read_with(text, strlen(text), NULL, &s, &job), EK_OK);
    assert_int_equal(ek_job_count_parameters(&job, &all, &active, NULL), EK_OK);
    assert_int_equal(all,
                     8030261248); /* model.safetensors.index.json of meta-llama/Meta-Llama-3-8B: 16 060 522 496 bytes */
    ek_job_clear(&job);
}

/* Advice names the trainer's own settings. */
static void settings_are_the_trainers(void **state)
{
    (void)state;
    static const struct {
        int batch, n_micro_batches, full; /* 0, 0, -1: as they are */
        const char *settings, *why;
    } changes[] = {
        {1, 8, -1, "--per_device_train_batch_size 1 --gradient_accumulation_steps 8", NULL},
        {0, 0, 0, "--gradient_checkpointing false (LLaMA-Factory: disable_gradient_checkpointing: true)", NULL},
        {0, 0, 3, "", "transformers' Trainer recomputes every layer whole, or none"},
        {0, 0, -1, "", "transformers' Trainer has no setting for it"}};
    char *text = at_home(GOOD);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        said s;
        ek_job was, now;
        char settings[400];
        const char *why = NULL;
        assert_int_equal(read_with(text, strlen(text), NULL, &s, &was), EK_OK);
        assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
        now.parallel.batch = changes[i].batch ? changes[i].batch : now.parallel.batch;
        now.parallel.n_micro_batches =
            changes[i].n_micro_batches ? changes[i].n_micro_batches : now.parallel.n_micro_batches;
        now.plan.full[0] = changes[i].full >= 0 ? changes[i].full : now.plan.full[0];
        assert_int_equal(ek__job_settings(&was, &now, settings, sizeof settings, &why, NULL), EK_OK);
        assert_string_equal(settings, changes[i].settings);
        assert_true(why ? changes[i].why && strcmp(why, changes[i].why) == 0 : !changes[i].why);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
    free(text);
}

static void degrees_are_refused(void **state)
{
    (void)state;
    char *text = at_home(GOOD);
    said s;
    ek_job job;
    for (int k = 0; k < 4; k++) {
        ek_job_overrides o = ek_job_overrides_none();
        int *const degrees[] = {&o.tensor, &o.pipeline, &o.context, &o.expert};
        o.data = 4;
        *degrees[k] = 2;
        assert_int_equal(read_with(text, strlen(text), &o, &s, &job), EK_ERR_INPUT);
        if (k < 3) /* without experts another rule comes first */
            assert_non_null(
                strstr(s.text, "is 2, but transformers' Trainer, which runs this job, has only data parallelism"));
    }
    free(text);
}

/* A search offers nothing that the trainer could not run. */
static void a_search_cuts_no_layers(void **state)
{
    (void)state;
    char *text = at_home("model_name_or_path: meta-llama/Llama-3.1-70B\nfinetuning_type: full\ndeepspeed: "
                         "{zero_optimization: {stage: 3}, bf16: {enabled: auto}}\nbf16: true\ncutoff_len: "
                         "1024\nper_device_train_batch_size: 1\n");
    said s;
    ek_job job;
    ek_error err = {0};
    ek_layout_result found;
    ek_layout_options options;
    assert_int_equal(read_with(text, strlen(text), NULL, &s, &job), EK_OK);
    ek_layout_options_init(&options);
    options.n_devices = 64;
    options.n_threads = 1;
    options.time_limit = 5;
    options.global_batch = 64;
    assert_int_equal(ek_layout_search(&job, ek_device_find("H100"), &options, &found, &err), EK_OK);
    assert_true(found.n_plans > 0);
    for (int i = 0; i < found.n_plans; i++) {
        const ek_job_parallel *p = &found.plan[i].job.parallel;
        if (p->tensor * p->pipeline * p->context * p->expert != 1)
            fail_msg("plan %d: tensor %d, pipeline %d, context %d", i, p->tensor, p->pipeline, p->context);
    }
    ek_layout_result_clear(&found);
    ek_job_clear(&job);
    free(text);
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    static const char *const texts[] = {GOOD, SCRIPT "--deepspeed @/ds_z3.json --max_seq_len=64 --bf16 True\n"};
    for (int i = 0; i < 2; i++) {
        char *text = at_home(texts[i]);
        said s;
        ek_job job;
        int n = 0;
        for (ek_status status = EK_ERR_MEMORY; status == EK_ERR_MEMORY; n++) {
            allocations_left = n + 1;
            status = read_with(text, strlen(text), NULL, &s, &job);
            allocations_left = -1;
            if (status != EK_OK && status != EK_ERR_MEMORY)
                fail_msg("text %d, allocation %d: %d %s", i, n, status, s.text);
        }
        assert_true(n > 10);
        ek_job_clear(&job);
        free(text);
    }
}

static void damaged_files_are_read_or_refused(void **state)
{
    (void)state;
    char *texts[] = {at_home(GOOD "gradient_accumulation_steps: 4\n"),
                     at_home(SCRIPT "--deepspeed @/ds_z3.json --max_seq_len=64 --bf16 True\n")};
    assert_damaged_are_told(texts, 2, 1000, 2, ":[]{}0179-.\n'x$", NULL);
    free(texts[0]);
    free(texts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_the_same_job),
        cmocka_unit_test(pure_bf16_has_no_copies),
        cmocka_unit_test(what_is_missing_or_not_modelled_is_told),
        cmocka_unit_test(degrees_are_refused),
        cmocka_unit_test(settings_are_the_trainers),
        cmocka_unit_test(a_search_cuts_no_layers),
        cmocka_unit_test(public_models_are_known_by_their_very_names),
        cmocka_unit_test(a_public_model_is_the_job_of_its_arguments),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(damaged_files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
