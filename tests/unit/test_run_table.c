/* Tests tables of measured runs: the effect of every column on the job, the additions of each framework's rules, every
 * error with its place, shapes of public models against their published parameters, and the published tables: their
 * parameters and devices must be those of the jobs made from them. */
#include "input.h"
#include "skip.h"

#include <math.h>
#include <unistd.h>

#include "evenkeel/calibrate.h"
#include "evenkeel/metrics.h"

/* ---- reading ---- */

static ek_measured_runs parse_table(const char *text)
{
    ek_measured_runs runs;
    ek_error err = {0};
    if (ek_run_table_parse("table.csv", text, strlen(text), NULL, &runs, &err) != EK_OK)
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    return runs;
}

/* A row of a model of four layers on 8 devices of a framework, plus `more` columns and their cells. */
static ek_measured_runs parse_row(const char *framework, const char *columns, const char *cells)
{
    char text[2048];
    snprintf(text, sizeof text,
             "framework,layers,hidden,heads,ffn_hidden,vocab,seq,gpus,micro_batch,num_microbatches,step_time_s%s%s\n"
             "%s,4,256,8,1024,1024,128,8,2,4,0.25%s%s\n",
             columns[0] ? "," : "", columns, framework, cells[0] ? "," : "", cells);
    ek_measured_runs runs = parse_table(text);
    assert_int_equal(runs.n, 1);
    if (!runs.run[0].has_job)
        fail_msg("no job: %s", runs.run[0].why);
    return runs;
}

/* ---- columns ---- */

static void a_row_is_a_job(void **state)
{
    (void)state;
    ek_measured_runs runs = parse_row("megatron", "dp,tp,pp,vpp,kv_heads,hardware,model,mem_gib,params_B",
                                      "2,2,2,2,4,H100 80GB,Own-1,3.5,0.5");
    const ek_measured_run *run = &runs.run[0];
    const ek_job *job = &run->job;
    assert_int_equal(job->model.n_layers, 4);
    assert_int_equal(job->model.hidden, 256);
    assert_int_equal(job->model.n_heads, 8);
    assert_int_equal(job->model.n_kv_heads, 4);
    assert_int_equal(job->model.intermediate, 1024);
    assert_int_equal(job->model.vocab, 1024);
    assert_int_equal(job->parallel.seq_length, 128);
    assert_int_equal(job->parallel.data, 2);
    assert_int_equal(job->parallel.tensor, 2);
    assert_int_equal(job->parallel.pipeline, 2);
    assert_int_equal(job->plan.n_chunks, 2);
    assert_int_equal(job->parallel.batch, 2);
    assert_int_equal(job->parallel.n_micro_batches, 4);
    assert_int_equal(run->n_devices, 8);
    assert_float_equal(run->step_seconds, 0.25, 0);
    assert_float_equal(run->memory_mb, 3584, 0);
    assert_float_equal(run->parameters, 5e8, 0);
    assert_string_equal(run->device, "H100 80GB");
    assert_string_equal(run->group, "Own-1 4x256|t2 p2 v2 cp1 ep1");
    assert_int_equal(run->origin.line, 2);
    assert_true(ek_measured_run_counts(run));
    ek_measured_runs_clear(&runs);
}

/* Steps by hand: 8 devices, d 8, 2 x 4 sequences of 128 a rank are 1024 tokens a device. */
static void steps_come_from_seconds_tokens_or_flops(void **state)
{
    (void)state;
    static const char head[] = "framework,layers,hidden,heads,vocab,seq,gpus,micro_batch,num_microbatches,",
                      row[] = "megatron,4,256,8,1024,128,8,2,4,";
    char text[512];
    snprintf(text, sizeof text, "%stokens_per_s_per_gpu\n%s2048\n", head, row);
    ek_measured_runs runs = parse_table(text);
    assert_float_equal(runs.run[0].step_seconds, 0.5, 1e-12);
    const ek_job *job = &runs.run[0].job;
    ek_flops flops;
    assert_int_equal(ek_flops_count(job, EK_ATTENTION_FULL, &flops, NULL), EK_OK);
    double rate = flops.model * 1024 / 0.5 / 1e12;
    ek_measured_runs_clear(&runs);
    snprintf(text, sizeof text, "%stflops_per_gpu\n%s%.17g\n", head, row, rate);
    runs = parse_table(text);
    assert_float_equal(runs.run[0].step_seconds, 0.5, 1e-12);
    ek_measured_runs_clear(&runs);
    /* Both: the tokens, which need no convention of counting. */
    snprintf(text, sizeof text, "%stflops_per_gpu,tokens_per_s_per_gpu\n%s1,2048\n", head, row);
    runs = parse_table(text);
    assert_float_equal(runs.run[0].step_seconds, 0.5, 1e-12);
    ek_measured_runs_clear(&runs);
}

static void batches_follow_from_one_another(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *cells;
        int batch, n;
    } cases[] = {
        {"dp,pp,micro_batch,num_microbatches,global_batch", "4,2,2,3,24", 2, 3},
        {"dp,pp,micro_batch,global_batch", "4,2,2,24", 2, 3},
        {"dp,pp,num_microbatches,global_batch", "4,2,3,24", 2, 3},
        {"dp,pp,global_batch", "4,2,24", 1, 6},       /* nothing said: one sequence a micro-batch */
        {"dp,pp,local_batch", "4,2,6", 3, 2},         /* as many micro-batches as stages */
        {"dp,pp,vpp,local_batch", "4,2,>=2,8", 4, 2}, /* of which each has several chunks */
        {"dp,local_batch", "8,6", 6, 1},              /* without a pipeline one */
    };
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "layers,hidden,heads,seq,gpus,step_time_s,%s\n4,256,8,128,8,1.5,%s\n",
                 cases[i].columns, cases[i].cells);
        ek_measured_runs runs = parse_table(text);
        assert_int_equal(runs.run[0].job.parallel.batch, cases[i].batch);
        assert_int_equal(runs.run[0].job.parallel.n_micro_batches, cases[i].n);
        ek_measured_runs_clear(&runs);
    }
}

static void a_public_model_fills_what_is_empty(void **state)
{
    (void)state;
    ek_measured_runs runs = parse_table("model,layers,seq,gpus,local_batch,step_time_s\n"
                                        "meta llama-3.1_70B tuned,8,,8,1,1\nGPT3-20B,,,8,1,1\n");
    const ek_job_model *llama = &runs.run[0].job.model, *gpt = &runs.run[1].job.model;
    assert_int_equal(llama->n_layers, 8);
    assert_int_equal(llama->hidden, 8192);
    assert_int_equal(llama->n_kv_heads, 8);
    assert_int_equal(llama->vocab, 128256);
    assert_int_equal(runs.run[0].job.parallel.seq_length, 8192);
    assert_true(llama->gated && !llama->layer_norm && !llama->linear_bias && !llama->tied && !llama->position_table);
    assert_int_equal(gpt->n_layers, 44);
    assert_true(!gpt->gated && gpt->layer_norm && gpt->linear_bias && gpt->tied && gpt->position_table);
    ek_measured_runs_clear(&runs);
}

static void layers_that_do_not_divide_go_to_the_first_chunks(void **state)
{
    (void)state;
    ek_measured_runs runs = parse_table("layers,hidden,heads,seq,gpus,pp,dp,local_batch,step_time_s\n"
                                        "7,256,8,128,4,2,2,2,1\n");
    assert_int_equal(runs.run[0].job.plan.layers[0], 4);
    assert_int_equal(runs.run[0].job.plan.layers[1], 3);
    ek_measured_runs_clear(&runs);
}

static void recomputation_is_said_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int full, patterns;
    } cases[] = {{"none", 0, 0},      {"none (inferred)", 0, 0}, {"full", 4, 0}, {"selective attention", 0, 1},
                 {"selective", 0, 9}, {"per-op SAC", 0, 9},      {"", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_measured_runs runs = parse_row("torchtitan", "recompute", cases[i].word);
        assert_int_equal(runs.run[0].job.plan.full[0], cases[i].full);
        assert_int_equal(runs.run[0].job.n_patterns, cases[i].patterns);
        ek_measured_runs_clear(&runs);
    }
}

static void sharding_has_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *zero, *fsdp;
        bool optimizer, gradient, weight;
    } cases[] = {{"0", "", false, false, false}, {"1", "no", true, false, false}, {"2", "", true, true, false},
                 {"3", "", true, true, true},    {"", "yes", true, true, true},   {"", "", false, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char cells[64];
        snprintf(cells, sizeof cells, "%s,%s,4", cases[i].zero, cases[i].fsdp);
        ek_measured_runs runs = parse_row("megatron", "zero,fsdp,shard_size", cells);
        const ek_job_states *s = &runs.run[0].job.states;
        assert_int_equal(s->shard_optimizer, cases[i].optimizer);
        assert_int_equal(s->shard_gradient, cases[i].gradient);
        assert_int_equal(s->shard_weight, cases[i].weight);
        assert_int_equal(s->gathered > 0, cases[i].weight);
        assert_int_equal(s->shard_size, 4);
        ek_measured_runs_clear(&runs);
    }
}

static void job_files_are_read_beside_the_table(void **state)
{
    (void)state;
    ek_measured_runs runs;
    ek_error err = {0};
    if (ek_run_table_read(source_path("tests/data/calibrate/runs.csv"), NULL, &runs, &err) != EK_OK)
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    assert_int_equal(runs.n, 3);
    assert_int_equal(runs.run[0].job.parallel.tensor, 2);
    assert_int_equal(runs.run[0].n_devices, 8);
    assert_string_equal(runs.run[0].name, "as the file says");
    assert_float_equal(runs.run[0].memory_mb, 1000, 0);
    assert_int_equal(runs.run[1].job.parallel.tensor, 1);
    assert_int_equal(runs.run[1].job.parallel.data, 4);
    assert_true(isnan(runs.run[1].memory_mb));
    assert_true(runs.run[2].suspect && runs.run[2].has_job && !ek_measured_run_counts(&runs.run[2]));
    assert_string_equal(ek_device_of_hardware(runs.run[0].device)->name, "Atlas 800T A2");
    ek_measured_runs_clear(&runs);
}

/* ---- frameworks ---- */

/* Bytes of states and overlapping work, from the frameworks' own scripts and papers (docs/measured-runs.md). */
static void frameworks_have_rules(void **state)
{
    (void)state;
    static const struct {
        const char *framework, *source, *precision;
        ek_dtype type;
        bool flash, shard_weight, shard_optimizer;
        int weight, gradient, optimizer, reduce;
        bool overlap_gradients, overlap_weights, every;
        ek_fp8 fp8;
        ek_launch launch;
    } cases[] = {
        {"megatron", "", "bf16", EK_BF16, true, false, false, 2, 4, 12, 4, false, false, false, EK_FP8_NONE,
         EK_LAUNCH_EAGER},
        {"megatron-2021", "arXiv 2104.04473 table 1", "", EK_FP16, false, false, false, 2, 2, 16, 2, true, false, false,
         EK_FP8_NONE, EK_LAUNCH_EAGER},
        {"megatron-2022", "arXiv 2205.05198 table 5", "", EK_FP16, false, false, false, 2, 2, 16, 2, true, false, false,
         EK_FP8_NONE, EK_LAUNCH_EAGER},
        {"megatron-deepspeed", "VIA-Research/vTrain@1", "fp16", EK_FP16, false, false, false, 2, 2, 16, 2, false, false,
         false, EK_FP8_NONE, EK_LAUNCH_EAGER},
        {"simumax", "MooreThreads/SimuMax@1", "bf16", EK_BF16, true, false, false, 2, 4, 12, 4, false, false, false,
         EK_FP8_NONE, EK_LAUNCH_EAGER},
        {"nemo", "NVIDIA/NeMo@1", "fp8", EK_BF16, true, false, true, 2, 2, 16, 2, true, true, false, EK_FP8_DELAYED,
         EK_LAUNCH_EAGER},
        {"internevo", "InternLM/InternEvo@1", "bf16", EK_BF16, true, false, true, 2, 2, 12, 2, true, false, false,
         EK_FP8_NONE, EK_LAUNCH_EAGER},
        {"composer", "mosaicml/llm-foundry@1", "amp_fp8", EK_BF16, true, true, true, 4, 0, 8, 2, true, true, true,
         EK_FP8_DELAYED, EK_LAUNCH_EAGER},
        {"torchtitan", "pytorch/torchtitan@1", "float8 rowwise compile", EK_BF16, true, true, true, 4, 0, 8, 4, true,
         true, true, EK_FP8_ROWWISE, EK_LAUNCH_COMPILED},
        {"torchtitan", "pytorch/torchtitan@1", "bf16 eager", EK_BF16, true, true, true, 4, 0, 8, 4, true, true, true,
         EK_FP8_NONE, EK_LAUNCH_EAGER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int by_source = 0; by_source < 2; by_source++) {
            char cells[128];
            if (by_source && cases[i].source[0] == '\0')
                continue;
            snprintf(cells, sizeof cells, "%s,%s", by_source ? cases[i].source : "", cases[i].precision);
            ek_measured_runs runs = parse_row(by_source ? "" : cases[i].framework, "source,precision", cells);
            const ek_job *job = &runs.run[0].job;
            assert_string_equal(runs.run[0].framework, cases[i].framework);
            assert_int_equal(job->types.compute, cases[i].type);
            assert_int_equal(job->model.flash_attention, cases[i].flash);
            assert_int_equal(job->states.shard_weight, cases[i].shard_weight);
            assert_int_equal(job->states.shard_optimizer, cases[i].shard_optimizer);
            assert_int_equal(job->states.weight, cases[i].weight);
            assert_int_equal(job->states.gradient, cases[i].gradient);
            assert_int_equal(job->states.optimizer, cases[i].optimizer);
            assert_int_equal(job->run.reduce_bytes, cases[i].reduce);
            assert_int_equal(job->run.overlap_gradients, cases[i].overlap_gradients);
            assert_int_equal(job->run.overlap_weights, cases[i].overlap_weights);
            assert_int_equal(job->run.sums_every_micro_batch, cases[i].every);
            assert_int_equal(job->run.fp8, cases[i].fp8);
            assert_int_equal(job->run.launch, cases[i].launch);
            ek_measured_runs_clear(&runs);
        }
}

static void tables_words_say_who_shares_states(void **state)
{
    (void)state;
    ek_measured_runs runs = parse_row("", "source", "InternLM/InternEvo@1 (zero1=4)");
    assert_int_equal(runs.run[0].job.states.shard_size, 4);
    assert_non_null(strstr(runs.run[0].group, " z4"));
    ek_measured_runs_clear(&runs);
    runs = parse_row("", "source", "InternLM/InternEvo@1 (zero1=-1 fsdp=True)");
    assert_int_equal(runs.run[0].job.states.shard_size, -1);
    assert_true(runs.run[0].job.states.shard_weight);
    ek_measured_runs_clear(&runs);
}

/* Columns of MindFormers' files: lists go in as they are, micro-batches count with a pipeline only. */
static void mindformers_rows_are_training_files(void **state)
{
    (void)state;
    static const char text[] =
        "source,model,yaml,layers,hidden,heads,kv_heads,ffn_or_mult,vocab,seq,dp,tp,pp,vocab_emb_dp,micro_batch_num,"
        "micro_batch_interleave_num,batch_size,use_seq_parallel,optimizer_shard,recompute,select_recompute,offset,"
        "hardware_heading,tokens_per_s_per_device\n"
        "mindformers,own,a_bf16.yaml,8,256,8,4,704,1024,128,2,2,2,False,4,1,1,True,True,\"[2, 1]\",False,\"[1, -1]\","
        "Atlas 800T A2,128\n"
        "mindformers,own,a.yaml,8,256,8,,,1024,128,2,2,1,True,16,2,1,False,False,True,False,0,Atlas 800T A2,128\n"
        "mindformers,Qwen1.5-7B,a.yaml,2,,,,,,128,1,1,1,True,1,1,1,False,False,False,False,0,,128\n";
    ek_measured_runs runs = parse_table(text);
    const ek_job *a = &runs.run[0].job, *b = &runs.run[1].job, *c = &runs.run[2].job;
    assert_int_equal(a->framework, EK_MINDFORMERS);
    assert_int_equal(a->model.intermediate, 704);
    assert_int_equal(a->model.n_kv_heads, 4);
    assert_int_equal(a->plan.layers[0], 5);
    assert_int_equal(a->plan.layers[1], 3);
    assert_int_equal(a->plan.full[0], 2);
    assert_int_equal(a->plan.full[1], 1);
    assert_int_equal(a->types.compute, EK_BF16);
    assert_int_equal(a->parallel.table_split, 2);
    assert_true(a->parallel.sequence_parallel && a->states.shard_weight);
    /* 2 ranks x 4 micro-batches x 128 tokens over 8 devices at 128 tokens/s */
    assert_float_equal(runs.run[0].step_seconds, 1, 1e-12);
    assert_int_equal(b->types.compute, EK_FP16);
    assert_int_equal(b->parallel.n_micro_batches, 1);
    assert_int_equal(b->parallel.n_batch_interleave, 2);
    assert_int_equal(b->plan.full[0], 8);
    assert_false(b->states.shard_weight);
    assert_float_equal(runs.run[1].step_seconds, 1, 1e-12);
    assert_true(c->model.qkv_bias && c->model.intermediate == 11008);
    assert_null(ek_device_of_hardware(runs.run[2].device));
    ek_measured_runs_clear(&runs);
}

/* ---- rows that do not count ---- */

static void rows_that_say_too_little_are_left_out(void **state)
{
    (void)state;
    static const char text[] = "model,layers,hidden,heads,seq,gpus,local_batch,phase,step_time_s,suspect\n"
                               "unknown,,,,128,8,1,,1,0\n"
                               "unknown,4,256,8,128,,1,,1,0\n"
                               "unknown,4,256,8,128,8,,,1,0\n"
                               "unknown,4,256,8,,8,1,,1,0\n"
                               "unknown,4,256,8,128,8,1,LoRA,1,0\n"
                               "unknown,4,256,8,128,8,1,,,0\n"
                               "unknown,4,250,8,128,8,1,,1,1\n";
    static const char *const why[] = {"the model's shape",
                                      "the number of devices",
                                      "the sequences of a micro-batch",
                                      "the tokens of a sequence",
                                      "LoRA",
                                      "",
                                      ""};
    said heard = {0};
    const ek_listener listener = {say_warning, &heard};
    ek_measured_runs runs;
    assert_int_equal(ek_run_table_parse("t.csv", text, strlen(text), &listener, &runs, NULL), EK_OK);
    assert_int_equal(runs.n, 7);
    for (int i = 0; i < 7; i++) {
        assert_false(ek_measured_run_counts(&runs.run[i]));
        assert_non_null(strstr(runs.run[i].why, why[i]));
        assert_int_equal(runs.run[i].has_job, i == 5 || i == 6);
    }
    assert_true(isnan(runs.run[5].step_seconds));
    assert_int_equal(heard.n_warnings, 5);
    assert_non_null(strstr(heard.text, "2:1: warning: the row is left out: it has no the model's shape"));
    ek_measured_runs_clear(&runs);
}

/* A doubted row may contradict itself; then it has no job. */
static void doubted_rows_are_no_errors(void **state)
{
    (void)state;
    ek_measured_runs runs =
        parse_table("layers,hidden,heads,seq,gpus,dp,local_batch,step_time_s,suspect,suspect_reason\n"
                    "4,256,8,128,8,4,1,1,1,\n4,256,8,128,8,4,1,1,1,printed so\n");
    assert_false(runs.run[0].has_job);
    assert_non_null(strstr(runs.run[0].why, "are 4 devices, but the row has 8"));
    assert_string_equal(runs.run[1].why, "printed so");
    ek_measured_runs_clear(&runs);
}

/* ---- errors ---- */

#define HEAD "layers,hidden,heads,seq,gpus,local_batch,step_seconds"

static void errors_have_places(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column;
        const char *words;
    } cases[] = {
        {"", 0, 0, ""},
        {HEAD ",colour\n", 1, 55, "'colour' is no column that is known; correct or remove it. Known are job,framework"},
        {HEAD ",tokens_per_s\n", 1, 55, "did you mean tokens_per_s_per_gpu? Correct or remove it (docs"},
        {"layers,hidden\n4,256\n", 1, 1, "no column has the step time; add step_seconds"},
        {HEAD "\n4,256,8,128,8,1,1\n4,2x6,8,128,8,1,1\n", 3, 3, "hidden is '2x6', expected a number from 1 to"},
        {HEAD "\n4,256,8,128,8,1.5,1\n", 2, 15, "local_batch is '1.5', expected a whole number"},
        {HEAD "\n4,256,8,128,8,1,0\n", 2, 17, "step_seconds is '0', expected a number from 1e-09 to 1000000000"},
        {HEAD "\n4,256,8,128,8,1,nan\n", 2, 17, "step_seconds is 'nan'"},
        {HEAD ",dp\n4,256,8,128,8,1,1,4\n", 2, 13,
         "data 4 x tensor 1 x pipeline 1 x context 1 are 4 devices, but the row has 8; correct one of them, or mark "
         "the row suspect"},
        {HEAD ",dp,micro_batch,num_microbatches,global_batch\n4,256,8,128,8,,1,8,2,2,30\n", 2, 24,
         "a global batch of 30 sequences is not 8 data-parallel ranks x 2 sequences x 2 micro-batches"},
        {HEAD ",recompute\n4,256,8,128,8,1,1,some\n", 2, 19, "recompute is 'some', expected none, full, selective"},
        {HEAD ",fsdp\n4,256,8,128,8,1,1,perhaps\n", 2, 19, "fsdp is 'perhaps', expected yes or no"},
        {HEAD ",framework\n4,256,8,128,8,1,1,PaddlePaddle\n", 2, 19,
         "'PaddlePaddle' is no framework that is known here; give one of megatron, megatron-2021"},
        {"case," HEAD ",fsdp\n\"a, \"\"b\"\"\",4,256,8,128,8,1,1,perhaps\n", 2, 30, "fsdp is 'perhaps'"},
        {HEAD ",framework,select_recompute\n4,256,8,128,8,1,1,mindformers,\"{a: 1}\"\n", 2, 31,
         "select_recompute is '{a: 1}', expected True, False or a list of whole numbers"},
        {HEAD ",job\n,,,,,,1,missing.yaml\n", 0, 0, "missing.yaml"},
        {HEAD ",tp\n4,250,8,128,8,1,1,4\n", 2, 1, "cannot be divided into 4 equal parts"},
        {HEAD "\n4,256,8,128,8,1,1\n4,256,8,128,8,2,1\n4,256,8,128,8,1,1.2\n", 4, 1,
         "lines 2 and 4 are the same job on the same hardware with 1 s and 1.2 s, 20 % apart; correct one of them, or "
         "add a column suspect with 1 in the row that is in doubt"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_measured_runs runs = {0};
        ek_error err = {0};
        const char *text = cases[i].text;
        assert_int_equal(ek_run_table_parse("t.csv", text, strlen(text), NULL, &runs, &err) == EK_OK, false);
        if (!strstr(err.message, cases[i].words) && !strstr(err.file, cases[i].words))
            fail_msg("case %zu: %s:%d:%d: %s", i, err.file, err.line, err.column, err.message);
        if (cases[i].line && (err.line != cases[i].line || err.column != cases[i].column))
            fail_msg("case %zu at %d:%d: %s", i, err.line, err.column, err.message);
        assert_int_equal(runs.n, 0);
        assert_null(runs.run);
        assert_int_equal(ek_run_table_parse("t.csv", text, strlen(text), NULL, &runs, NULL) == EK_OK, false);
    }
}

/* 10 % is noise between days; another batch, other hardware or a doubt is no contradiction. */
static void rows_of_a_job_may_differ_a_little(void **state)
{
    (void)state;
    ek_measured_runs runs = parse_table(HEAD ",hardware,suspect\n"
                                             "4,256,8,128,8,1,1,A100,0\n"
                                             "4,256,8,128,8,1,1.09,A100,0\n"
                                             "4,256,8,128,8,1,2,H100,0\n"
                                             "4,256,8,128,8,2,2,A100,0\n"
                                             "4,256,8,128,8,1,9,A100,1\n");
    assert_int_equal(runs.n, 5);
    ek_measured_runs_clear(&runs);
}

/* ---- hardware and models ---- */

static void hardware_is_found_by_words(void **state)
{
    (void)state;
    static const struct {
        const char *hardware, *device;
    } cases[] = {{"a100_40gb", "A100-40"},
                 {"A100-SXM4-80GB 4x100Gb RoCE", "A100-80"},
                 {"A100-80GB (Selene)", "A100-80"},
                 {"A100", "A100-80"},
                 {"h100_80gb", "H100"},
                 {"H100 96GB HBM2e 500W", "H100-HBM2e"},
                 {"H200", "H200"},
                 {"DGX-B200", "B200"},
                 {"Atlas 900 A2 PoDc", "Atlas 800T A2"},
                 {"A800", "A800"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek_device *device = ek_device_of_hardware(cases[i].hardware);
        assert_non_null(device);
        assert_string_equal(device->name, cases[i].device);
    }
    ek_measured_run run = {.device = "A100-SXM4-80GB 4x100Gb RoCE"};
    ek_device device;
    assert_true(ek_device_of_run(&run, &device));
    assert_float_equal(device.tier[device.n_tiers - 1].gbs, 12.5, 0);
    assert_float_equal(device.tier[device.n_tiers - 1].devices_per_card, 2, 0);
    /* Fitted values of the usual network are not used with it, the node's links stay. */
    const ek_device *usual = ek_device_find("A100-80");
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        assert_float_equal(device.tier[1].share[c], 0.75, 0);
    assert_float_equal(device.tier[1].contention, 0, 0);
    assert_int_equal(device.tier[1].basis, EK_COST_DERIVED);
    assert_float_equal(device.tier[1].latency_us, usual->tier[1].latency_us, 0);
    assert_true(usual->tier[1].contention > 0);
    assert_memory_equal(&device.tier[0], &usual->tier[0], sizeof device.tier[0]);
    strcpy(run.device, "A100");
    assert_true(ek_device_of_run(&run, &device));
    assert_float_equal(device.tier[device.n_tiers - 1].gbs, 25, 0);
    strcpy(run.device, "abacus");
    assert_false(ek_device_of_run(&run, &device));
    assert_null(ek_device_of_hardware(""));
    assert_null(ek_device_of_hardware("abacus"));
}

/* Parameters as their model cards and papers print them. */
static void public_models_have_their_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double billions, tolerance;
    } cases[] = {{"Llama2-7B", 6.738, 0.001},     {"Llama2-13B", 13.016, 0.001},  {"Llama2-70B", 68.98, 0.001},
                 {"Llama3-8B", 8.030, 0.001},     {"Llama3.1-70B", 70.55, 0.001}, {"Llama3.1-405B", 405.85, 0.001},
                 {"CodeLlama-34B", 33.74, 0.002}, {"MPT-7b", 6.65, 0.01},         {"MPT-30b", 29.975, 0.001},
                 {"InternLM-7B", 7.32, 0.01},     {"InternLM2-20B", 19.86, 0.01}, {"GPT3-175B", 175, 0.01},
                 {"Nemotron-340B", 341, 0.01},    {"Baichuan2-13B", 13.9, 0.02},  {"GLM3-6B", 6.24, 0.01},
                 {"GLM-4-9B", 9.4, 0.01},         {"Qwen-14B", 14.17, 0.01},      {"Qwen1.5-72B", 72.3, 0.01},
                 {"Yi-34B", 34.39, 0.001},        {"DeepSeek-33B", 33.3, 0.005},  {"DeepSeekV2", 235.7, 0.005},
                 {"DeepSeekV3", 671.0, 0.005},    {"Qwen2-57B-A14B", 57.4, 0.005}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        double all, active;
        snprintf(text, sizeof text, "model,gpus,seq,local_batch,step_time_s\n%s,1,2048,1,1\n", cases[i].name);
        ek_measured_runs runs = parse_table(text);
        assert_int_equal(ek_job_count_parameters(&runs.run[0].job, &all, &active, NULL), EK_OK);
        if (fabs(all / 1e9 / cases[i].billions - 1) > cases[i].tolerance)
            fail_msg("%s has %.4f billion parameters, published are %.4f", cases[i].name, all / 1e9, cases[i].billions);
        ek_measured_runs_clear(&runs);
    }
    int n;
    const ek_public_model *models = ek_public_models(&n);
    for (int i = 0; i < n; i++)
        assert_ptr_equal(ek_public_model_find(models[i].name), &models[i]);
    assert_string_equal(ek_public_model_find("finetune_baichuan2_7b_lora")->name, "Baichuan2-7B");
    assert_null(ek_public_model_find("GPT"));
}

/* ---- the published tables ---- */

typedef struct table {
    const char *file;
    int rows, jobs, counted; /* rows; with a job; of these measured and not suspect */
} table;

/* tests/data/published */
static const table published[] = {
    {"korthikanti_tab5.csv", 8, 8, 8},
    {"megatron_sc21_table1.csv", 10, 10, 10},
    {"simumax_b200.csv", 22, 22, 22},
    {"torchtitan_h100_h200.csv", 16, 16, 16},
};

/* ../shared */
static const table others[] = {
    {"korthikanti_tab5.csv", 8, 8, 8},
    {"vtrain_a100_sample150.csv", 150, 150, 150},
    {"vtrain_a100_multi33.csv", 33, 33, 33},
    {"megatron_sc21_table1_from_memory.csv", 10, 10, 10},
    {"simumax_b200.csv", 22, 22, 22},
    {"internevo_a100.csv", 32, 32, 26},
    {"mpt_fsdp.csv", 100, 100, 100},
    {"nemo_h100_b200.csv", 14, 10, 10}, /* four suspect rows name too few devices */
    {"torchtitan_h100_h200.csv", 16, 16, 16},
    {"mindformers_throughput.csv", 68, 56, 53}, /* four LoRA, eight without shape or devices */
    {"llama2_13b_tuning_case.csv", 6, 0, 0},    /* no model: examples/llama2_13b_runs.csv has it */
};

/* The job's parameters against the table's, which are rounded to a tenth of a billion at the coarsest. */
static void check_parameters(const char *file, const ek_measured_run *run)
{
    double all, active;
    assert_int_equal(ek_job_count_parameters(&run->job, &all, &active, NULL), EK_OK);
    double allowed = fmax(0.02 * run->parameters, 0.05e9);
    if (!isnan(run->parameters) && fabs(all - run->parameters) > allowed)
        fail_msg("%s:%d: the job has %g parameters, the table says %g", file, run->origin.line, all, run->parameters);
}

static void check_tables(const char *folder, const table *tables, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char path[4096];
        ek_measured_runs runs;
        ek_error err = {0};
        int jobs = 0, counted = 0;
        snprintf(path, sizeof path, "%s/%s", folder, tables[i].file);
        if (ek_run_table_read(path, NULL, &runs, &err) != EK_OK)
            fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
        for (int k = 0; k < runs.n; k++) {
            const ek_measured_run *run = &runs.run[k];
            const ek_job_parallel *p = &run->job.parallel;
            jobs += run->has_job;
            counted += ek_measured_run_counts(run);
            if (!run->has_job)
                continue;
            assert_int_equal(run->n_devices, p->data * p->tensor * p->pipeline * p->context);
            assert_non_null(run->group);
            check_parameters(tables[i].file, run);
        }
        if (runs.n != tables[i].rows || jobs != tables[i].jobs || counted != tables[i].counted)
            fail_msg("%s: %d rows, %d with a job, %d that count", tables[i].file, runs.n, jobs, counted);
        ek_measured_runs_clear(&runs);
    }
}

static void published_tables_are_read(void **state)
{
    (void)state;
    check_tables(source_path("tests/data/published/reference/measured"), published,
                 sizeof published / sizeof *published);
}

static void collected_tables_are_read(void **state)
{
    (void)state;
    check_tables(need_shared("reference/measured"), others, sizeof others / sizeof *others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_job),
        cmocka_unit_test(steps_come_from_seconds_tokens_or_flops),
        cmocka_unit_test(batches_follow_from_one_another),
        cmocka_unit_test(a_public_model_fills_what_is_empty),
        cmocka_unit_test(layers_that_do_not_divide_go_to_the_first_chunks),
        cmocka_unit_test(recomputation_is_said_in_words),
        cmocka_unit_test(sharding_has_numbers),
        cmocka_unit_test(job_files_are_read_beside_the_table),
        cmocka_unit_test(frameworks_have_rules),
        cmocka_unit_test(tables_words_say_who_shares_states),
        cmocka_unit_test(mindformers_rows_are_training_files),
        cmocka_unit_test(rows_that_say_too_little_are_left_out),
        cmocka_unit_test(doubted_rows_are_no_errors),
        cmocka_unit_test(errors_have_places),
        cmocka_unit_test(rows_of_a_job_may_differ_a_little),
        cmocka_unit_test(hardware_is_found_by_words),
        cmocka_unit_test(public_models_have_their_parameters),
        cmocka_unit_test(published_tables_are_read),
        cmocka_unit_test(collected_tables_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
