/* Tests the reader of torchtitan's TOML: TOML as a document, every key of a job, refusals with their places, and
 * published runs with predicted memory. */
#include "input.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "../../bench/measured_torchtitan.h"
#include "base/config_tree_toml.h"
#include "base/error.h"
#include "base/random.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "job/job_internal.h"
#include "model/graph.h"

/* ---- TOML as a document ---- */

/* Every node as "path line:column kind text", in order. */
static void dump(const ek__node *node, char *out, size_t size)
{
    char path[128];
    size_t n = strlen(out);
    ek__node_path(node, path, sizeof path);
    if (node->parent)
        snprintf(out + n, size - n, "%s %d:%d %s%s%s\n", path, node->line, node->column,
                 node->kind == EK__LIST  ? "list"
                 : node->kind == EK__MAP ? "map"
                                         : node->text,
                 node->quoted ? " quoted" : "", node->flow ? " flow" : "");
    for (const ek__node *child = node->first; child; child = child->next)
        dump(child, out, size);
}

static void toml_is_a_tree_in_the_order_of_the_file(void **state)
{
    (void)state;
    static const char text[] = "# a comment\n"
                               "[zebra]\n"
                               "whole = 1_000\n"
                               "hex = 0x10\n"
                               "number = 5.0 # behind\n"
                               "small = 3e-4\n"
                               "yes = true\n"
                               "\"a key\" = 'ä'\n"
                               "when = 2024-12-01\n"
                               "[apple.core]\n"
                               "b.c = [1, [2, \"x\"]]\n"
                               "a = {q = inf, p = -1}\n"
                               "[[many]]\n"
                               "n = 1\n"
                               "[[many]]\n"
                               "n = \"\"\"two\nlines\"\"\"\n";
    static const char expected[] = "zebra 2:1 map\n"
                                   "zebra.whole 3:9 1000\n"
                                   "zebra.hex 4:7 16\n"
                                   "zebra.number 5:10 5.0\n"
                                   "zebra.small 6:9 3e-04\n"
                                   "zebra.yes 7:7 true\n"
                                   "zebra.a key 8:11 ä quoted\n"
                                   "zebra.when 9:8 2024-12-01 quoted\n"
                                   "apple 10:1 map\n"
                                   "apple.core 10:1 map\n"
                                   "apple.core.b 11:1 map\n"
                                   "apple.core.b.c 11:7 list flow\n"
                                   "apple.core.b.c[0] 11:8 1\n"
                                   "apple.core.b.c[1] 11:11 list flow\n"
                                   "apple.core.b.c[1][0] 11:12 2\n"
                                   "apple.core.b.c[1][1] 11:15 x quoted\n"
                                   "apple.core.a 12:5 map flow\n"
                                   "apple.core.a.q 12:10 inf\n"
                                   "apple.core.a.p 12:19 -1\n"
                                   "many 13:1 list\n"
                                   "many[0] 13:1 map\n"
                                   "many[0].n 14:5 1\n"
                                   "many[1] 15:1 map\n"
                                   "many[1].n 16:5 two\nlines quoted\n";
    char out[4096] = "";
    ek__config_tree *doc;
    ek_error err = {0};
    assert_int_equal(ek__config_parse_toml("x.toml", text, sizeof text - 1, &doc, &err), EK_OK);
    dump(ek__config_root(doc), out, sizeof out);
    assert_string_equal(out, expected);
    /* Places in bytes, as an editor of files needs them: the text there is the value. */
    const ek__node *zebra = ek__config_root(doc)->first, *key = zebra->first;
    for (; strcmp(key->key, "a key") != 0; key = key->next)
        ;
    assert_memory_equal(text + key->begin, "'ä'", (size_t)(key->end - key->begin));
    assert_memory_equal(text + key->key_begin, "\"a key\"", (size_t)(key->key_end - key->key_begin));
    ek__config_free(doc);
}

static char *repeated(const char *before, const char *part, int times, const char *behind)
{
    size_t n = strlen(before) + strlen(part) * (size_t)times + strlen(behind);
    char *text = malloc(n + 1), *at = text;
    at += sprintf(at, "%s", before);
    for (int i = 0; i < times; i++)
        at += sprintf(at, "%s", part);
    sprintf(at, "%s", behind);
    return text;
}

static void toml_that_is_wrong_or_too_large_is_refused_with_its_place(void **state)
{
    (void)state;
    const struct {
        const char *before, *part;
        int times;
        const char *behind;
        int line, column;
        const char *says;
    } cases[] = {
        {"a = 1\nb = ", "", 0, "\n", 2, 5, "expected value"},
        {"[a]\nb = 1\nb = 2\n", "", 0, "", 3, 5, "cannot redefine existing integer 'b'"},
        {"[a]\n[a]\n", "", 0, "", 2, 1, "cannot redefine existing table 'a'"},
        {"a = 99999999999999999999\n", "", 0, "", 1, 0, "not representable in 64 bits"},
        {"a = \"\\u0000\"\n", "", 0, "", 1, 5, "NUL character"},
        {"a = 1\nb = \"\xff\"\n", "", 0, "", 2, 6, "byte 0xFF is not UTF-8"},
        {"a = 1\n\x01\n", "", 0, "", 2, 1, "control character 0x01"},
        {"a = \"never closed\n", "", 0, "", 1, 0, "string"},
        {"a = [1,\n", "", 0, "", 1, 0, "end-of-file"},
        {"[|x]\n", "", 0, "", 1, 2, "key"},
        {"\u0416 = 1\n", "", 0, "", 1, 1, "not valid TOML"},
        {"a = \u0416\n", "", 0, "", 1, 5, "not valid TOML"},
        {"a = ", "[", 100000, "", 1, 0, "nest"},
        {"a = ", "{a=", 100000, "", 1, 0, "nest"},
        {"", "a.", 100000, "a = 1\n", 1, 66, "more than 32 dots"},
        {"x = ''\n[", "a.", 100000, "a]\n", 2, 67, "more than 32 dots"},
        {"a = [x, {", "a.", 100000, "a = 1}]\n", 1, 0, "more than 32 dots"},
        {"a=", "{a.a.a.a.a.a.a.a.a.a=", 31, "", 1, 0, ""},
        {"#", "x", 1 << 20, "\n", 0, 0, "larger than the limit of 1 MiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].before, cases[i].part, cases[i].times, cases[i].behind);
        ek__config_tree *doc = NULL;
        ek_error err = {0};
        assert_int_equal(ek__config_parse_toml("x.toml", text, strlen(text), &doc, &err), EK_ERR_INPUT);
        if (err.line != cases[i].line || (cases[i].column && err.column != cases[i].column) ||
            !strstr(err.message, cases[i].says) || (err.line > 0 && err.column < 1))
            fail_msg("case %zu: %d:%d: %s", i, err.line, err.column, err.message);
        free(text);
    }
}

static void large_toml_is_read_in_a_moment(void **state)
{
    (void)state;
    static const char *const parts[] = {"{a=1},", "[],", "1,"};
    for (size_t i = 0; i < 3; i++) {
        char *text = repeated("a=[", parts[i], 1000000 / (int)strlen(parts[i]), "]\n");
        ek__config_tree *doc = NULL;
        ek_error err = {0};
        if (ek__config_parse_toml("x.toml", text, strlen(text), &doc, &err))
            fail_msg("%s", err.message);
        assert_int_equal(ek__config_root(doc)->first->n, 1000000 / (int)strlen(parts[i]));
        ek__config_free(doc);
        free(text);
    }
}

/* ---- reading a text ---- */

static ek_job_overrides none;

static ek_status read_named(const char *text, const char *ending, const ek_job_overrides *overrides, said *s,
                            ek_job *job)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/ek_job_%ld%s", (long)getpid(), ending);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    ek_error err = {0};
    *s = (said){0};
    const ek_listener listener = {say_warning, s};
    ek_status status = ek_job_read(path, overrides, &listener, job, &err);
    if (status)
        say(s, "", &err);
    unlink(path);
    return status;
}

static ek_status read_text(const char *text, const ek_job_overrides *overrides, said *s, ek_job *job)
{
    return read_named(text, ".toml", overrides, s, job);
}

#define LLAMA "[model]\nname = \"llama3\"\nflavor = \"8B\"\n"
#define SHARD "[parallelism]\ndata_parallel_shard_degree = 8\n"

/* ---- effects of keys ---- */

typedef double getter(const ek_job *job);
#define GET(name, what)                                                                                                \
    static double name(const ek_job *j)                                                                                \
    {                                                                                                                  \
        return (double)(what);                                                                                         \
    }
GET(data, j->parallel.data)
GET(tensor, j->parallel.tensor)
GET(pipeline, j->parallel.pipeline)
GET(context, j->parallel.context)
GET(expert, j->parallel.expert)
GET(expert_tensor, j->parallel.expert_tensor)
GET(batch, j->parallel.batch)
GET(micro_batches, j->parallel.n_micro_batches)
GET(seq, j->parallel.seq_length)
GET(sequence_parallel, j->parallel.sequence_parallel)
GET(gathers_keys, j->parallel.context_algorithm == EK_CONTEXT_GATHER)
GET(layers, j->model.n_layers)
GET(hidden, j->model.hidden)
GET(kv_heads, j->model.n_kv_heads)
GET(head_dim, j->model.head_dim)
GET(width, j->model.intermediate)
GET(vocab, j->model.vocab)
GET(tied, j->model.tied)
GET(qk_norm, j->model.qk_norm)
GET(experts, j->model.n_experts)
GET(shared_width, j->model.shared_intermediate)
GET(latent, j->model.kv_lora_rank)
GET(swiglu_fused, j->model.fused_swiglu)
GET(gate_apart, j->model.gate_apart)
GET(stores, j->states.weight)
GET(optimizer, j->states.optimizer)
GET(gathered, j->states.gathered)
GET(shards, j->states.shard_weight + j->states.shard_gradient + j->states.shard_optimizer)
GET(shard_gradient, j->states.shard_gradient)
GET(shard_size, j->states.shard_size)
GET(gather, j->rules.weight_gather)
GET(loss_fused, j->rules.loss_fused)
GET(compute, j->types.compute)
GET(launch, j->run.launch)
GET(fp8, j->run.fp8)
GET(fp8_gather, j->run.fp8_gather)
GET(overlap_tensor, j->run.overlap_tensor)
GET(overlap_weights, j->run.overlap_weights)
GET(overlap_gradients, j->run.overlap_gradients)
GET(fused_optimizer, j->run.fused_optimizer)
GET(offload, j->run.offload_optimizer)
GET(reduce, j->run.reduce_bytes)
GET(every, j->run.sums_every_micro_batch)
GET(bucket, j->run.bucket_bytes)
GET(chunks, j->plan.n_chunks)
GET(first, j->plan.layers[0])
GET(second, j->plan.layers[1])
GET(last, j->plan.layers[j->plan.n_stages * j->plan.n_chunks - 1])
GET(full, j->plan.full[0])
GET(patterns, j->n_patterns)

static double schedule_is(const ek_job *job, const char *name)
{
    return strcmp(job->schedule->name, name) == 0;
}
GET(is_1f1b, schedule_is(j, "1f1b"))
GET(is_gpipe, schedule_is(j, "gpipe"))
GET(is_interleaved, schedule_is(j, "interleaved"))
GET(is_zb_v, schedule_is(j, "zb-v"))

#define PIPE      SHARD "pipeline_parallel_degree = 4\n"
#define RECOMPUTE LLAMA SHARD "[activation_checkpoint]\n"
#define FLOAT8    "[model]\nflavor = \"8B\"\nname = \"llama3\"\nconverters = [\"float8\"]\n" SHARD
static void keys_do_what_they_do_in_torchtitan(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        getter *get;
        double value;
    } cases[] = {
        /* models */
        {LLAMA SHARD, layers, 32},
        {LLAMA SHARD, width, 14336},
        {LLAMA SHARD, kv_heads, 8},
        {LLAMA SHARD, vocab, 128256},
        {"[model]\nname=\"llama3\"\nflavor=\"70B_flex_attn\"\n" SHARD, hidden, 8192},
        {"[model]\nname=\"llama3\"\nflavor=\"405B\"\n" SHARD, width, 53248},
        {"[model]\nname=\"llama\"\nflavor=\"13B\"\n" SHARD, vocab, 32000},
        {"[model]\nname=\"qwen3\"\nflavor=\"0.6B\"\n" SHARD, tied, 1},
        {"[model]\nname=\"qwen3\"\nflavor=\"0.6B\"\n" SHARD, head_dim, 128},
        {"[model]\nname=\"qwen3\"\nflavor=\"32B\"\n" SHARD, qk_norm, 1},
        {"[model]\nname=\"qwen3\"\nflavor=\"30B-A3B\"\n" SHARD, experts, 128},
        {"[model]\nname=\"deepseek_v3\"\nflavor=\"671B\"\n" SHARD, latent, 512},
        {"[model]\nname=\"deepseek_v3\"\nflavor=\"16B\"\n" SHARD, shared_width, 2816},
        {"[model]\nname=\"llama4\"\nflavor=\"17bx128e_irope\"\n" SHARD, experts, 128},
        {"[training]\nseq_len = 512\n" SHARD, hidden, 256}, /* the defaults, llama3 debugmodel */
        /* degrees, in the sections of all versions */
        {LLAMA SHARD, data, 8},
        {LLAMA SHARD, shards, 3},
        {LLAMA SHARD "data_parallel_replicate_degree = 4\n", data, 32},
        {LLAMA SHARD "data_parallel_replicate_degree = 4\n", shard_size, 8},
        {LLAMA SHARD, shard_size, -1},
        {LLAMA "[training]\ndata_parallel_shard_degree = 16\n", data, 16},
        {LLAMA "[training]\ndata_parallel_degree = 16\n", data, 16},
        {LLAMA "[training]\ndata_parallel_shard_degree = 16\n" SHARD, data, 8}, /* the newer section */
        {LLAMA "[training]\ntensor_parallel_degree = 8\n" SHARD, tensor, 8},
        {LLAMA SHARD "tensor_parallel_degree = 8\n", sequence_parallel, 1},
        {LLAMA SHARD, sequence_parallel, 0},
        {LLAMA PIPE, pipeline, 4},
        {LLAMA SHARD "[experimental]\npipeline_parallel_degree = 2\n", pipeline, 2},
        {LLAMA SHARD "[experimental]\ncontext_parallel_degree = 2\n", context, 2},
        {LLAMA SHARD "context_parallel_degree = 2\n", gathers_keys, 1},
        {LLAMA SHARD "context_parallel_degree = 2\ncontext_parallel_rotate_method = \"alltoall\"\n", gathers_keys, 0},
        {"[model]\nname=\"qwen3\"\nflavor=\"30B-A3B\"\n" SHARD "expert_parallel_degree = 8\n", expert, 8},
        {"[model]\nname=\"qwen3\"\nflavor=\"30B-A3B\"\n" SHARD
         "expert_parallel_degree = 8\ntensor_parallel_degree = 4\n",
         expert_tensor, 1},
        {"[model]\nname=\"qwen3\"\nflavor=\"30B-A3B\"\n" SHARD "tensor_parallel_degree = 4\n", expert_tensor, 4},
        /* batches */
        {LLAMA SHARD, batch, 8},
        {LLAMA SHARD, seq, 2048},
        {LLAMA SHARD "[training]\nbatch_size = 2\nseq_len = 4096\n", batch, 2},
        {LLAMA SHARD "[training]\nlocal_batch_size = 2\nseq_len = 4096\n", seq, 4096},
        {LLAMA SHARD "[training]\nlocal_batch_size = 2\nglobal_batch_size = 64\n", micro_batches, 4},
        {LLAMA SHARD "[training]\nlocal_batch_size = 2\nglobal_batch_size = 64\n", every, 1},
        {LLAMA SHARD "[training]\nlocal_batch_size = 2\nglobal_batch_size = -1\n", micro_batches, 1},
        {LLAMA PIPE "[training]\nlocal_batch_size = 32\n", micro_batches, 32},
        {LLAMA PIPE "pipeline_parallel_microbatch_size = 4\n[training]\nlocal_batch_size = 32\n", micro_batches, 8},
        {LLAMA PIPE "pipeline_parallel_microbatch_size = 4\n[training]\nlocal_batch_size = 32\n", batch, 4},
        {LLAMA PIPE "pipeline_parallel_microbatches = 16\n[training]\nlocal_batch_size = 32\n", batch, 2},
        /* states */
        {LLAMA SHARD, stores, 4},
        {LLAMA SHARD, optimizer, 8},
        {LLAMA SHARD "[optimizer]\nname = \"SGD\"\n", optimizer, 0},
        {LLAMA SHARD, gathered, 2},
        {LLAMA SHARD "[training]\nmixed_precision_param = \"float32\"\n", gathered, 4},
        {LLAMA SHARD "[training]\nmixed_precision_param = \"float32\"\n", compute, EK_FP32},
        {LLAMA SHARD, reduce, 4},
        {LLAMA SHARD "[training]\nmixed_precision_reduce = \"bfloat16\"\n", reduce, 2},
        {LLAMA SHARD "[training]\ndtype = \"bfloat16\"\n", optimizer, 4},
        {LLAMA SHARD, gather, EK_GATHER_LAYER},
        {LLAMA SHARD "fsdp_reshard_after_forward = \"never\"\n", gather, EK_GATHER_STEP},
        {LLAMA PIPE, gather, EK_GATHER_STEP},
        {LLAMA PIPE "fsdp_reshard_after_forward = \"always\"\n", gather, EK_GATHER_LAYER},
        {LLAMA PIPE, shard_gradient, 0},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 1\n", shards, 0},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 1\n", gather, EK_GATHER_NONE},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 8\n", shards, 0},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 8\n", bucket,
         104857600},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 1\ncontext_parallel_degree = 8\n", shards, 3},
        /* 32-bit elements of a layer: H (2 x 4096 + 2 x 1024 + 3 x 14336) */
        {LLAMA SHARD, bucket, 4. * 4096 * 53248},
        {LLAMA SHARD "tensor_parallel_degree = 8\n", bucket, 4. * 512 * 53248},
        /* how it runs */
        {LLAMA SHARD, overlap_weights, 1},
        {LLAMA SHARD, overlap_gradients, 1},
        {LLAMA SHARD, launch, EK_LAUNCH_EAGER},
        {LLAMA SHARD "[training]\ncompile = true\n", launch, EK_LAUNCH_COMPILED},
        {LLAMA SHARD "[compile]\nenable = true\n", loss_fused, 1},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"model\"]\n", loss_fused, 0},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"model\"]\n", gate_apart, 1},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"model\"]\n", swiglu_fused, 1},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"model\"]\n", launch, EK_LAUNCH_COMPILED},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"loss\"]\n", loss_fused, 1},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"loss\"]\n", gate_apart, 0},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"loss\"]\n", swiglu_fused, 0},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"loss\"]\n", launch, EK_LAUNCH_EAGER},
        {LLAMA SHARD "[compile]\nenable = true\ncomponents = [\"loss\"]\n", launch, EK_LAUNCH_EAGER},
        {LLAMA SHARD "tensor_parallel_degree=8\nenable_async_tensor_parallel = true\n[compile]\nenable = true\n",
         overlap_tensor, 1},
        {LLAMA SHARD "tensor_parallel_degree=8\n[compile]\nenable = true\n", overlap_tensor, 0},
        {LLAMA SHARD, fused_optimizer, 1},
        {LLAMA SHARD "[optimizer]\nfused = false\n", fused_optimizer, 0},
        {LLAMA SHARD "[optimizer]\nimplementation = \"foreach\"\n", fused_optimizer, 0},
        {LLAMA SHARD "[training]\nenable_cpu_offload = true\n", offload, 1},
        {LLAMA SHARD, fp8, EK_FP8_NONE},
        {FLOAT8, fp8, EK_FP8_TENSORWISE},
        {FLOAT8 "[float8]\nrecipe_name = \"rowwise\"\n", fp8, EK_FP8_ROWWISE},
        {FLOAT8 "[float8]\nrecipe_name = \"rowwise_with_gw_hp\"\n", fp8, EK_FP8_ROWWISE},
        {FLOAT8 "[float8]\nscaling_type_input = \"delayed\"\n", fp8, EK_FP8_DELAYED},
        {FLOAT8 "[float8]\nenable_fsdp_float8_all_gather = true\n", fp8_gather, 1},
        {FLOAT8 "[quantize.linear.float8]\nenable_fsdp_float8_all_gather = true\n", fp8_gather, 1},
        {LLAMA SHARD "[float8]\nenable_float8_linear = true\n", fp8, EK_FP8_TENSORWISE},
        {"[model]\nname=\"llama3\"\nflavor=\"8B\"\nconverters=\"mx\"\n" SHARD, fp8, EK_FP8_BLOCKWISE},
        /* pipelines: (32 + 1 + 1) layers on 4 stages, 9 9 8 8 less one at both ends */
        {LLAMA PIPE, is_1f1b, 1},
        {LLAMA PIPE, first, 8},
        {LLAMA PIPE, second, 9},
        {LLAMA PIPE, last, 7},
        {LLAMA PIPE "pipeline_parallel_first_stage_less_layers = 0\n", first, 9},
        {LLAMA PIPE "pipeline_parallel_last_stage_less_layers = 3\n", last, 6},
        {LLAMA PIPE "pipeline_parallel_schedule = \"gpipe\"\n", is_gpipe, 1},
        {LLAMA PIPE "pipeline_parallel_schedule = \"Interleaved1F1B\"\n", is_interleaved, 1},
        {LLAMA PIPE "pipeline_parallel_schedule = \"interleaved_1f1b\"\n", chunks, 2},
        {LLAMA PIPE "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 3\n",
         chunks, 3},
        {LLAMA PIPE "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n", is_zb_v, 1},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 8\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_split_points = [\"layers.20\"]\n",
         first, 20},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 8\npipeline_parallel_degree = 2\n"
               "pipeline_parallel_split_points = [\"layers.20\"]\n",
         last, 12},
        /* recomputation */
        {RECOMPUTE, full, 16}, /* selective, every second layer */
        {RECOMPUTE "mode = \"none\"\n", full, 0},
        {RECOMPUTE "mode = \"full\"\n", full, 32},
        {RECOMPUTE "mode = \"selective\"\nselective_ac_option = \"3\"\n", full, 10},
        {RECOMPUTE "mode = \"selective\"\nselective_ac_option = 4\n", full, 8},
        {RECOMPUTE "mode = \"selective\"\nselective_ac_option = \"op\"\n", full, 0},
        {RECOMPUTE "mode = \"selective\"\nselective_ac_option = \"op\"\n", patterns, 9},
        {RECOMPUTE "selective_ac_option = \"op\"\n[compile]\nenable = true\n", swiglu_fused, 0},
        {RECOMPUTE "mode = \"none\"\n[compile]\nenable = true\n", swiglu_fused, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        said s;
        if (read_text(cases[i].text, &none, &s, &job))
            fail_msg("case %zu: %s\n%s", i, s.text, cases[i].text);
        if (cases[i].get(&job) != cases[i].value)
            fail_msg("case %zu: %g, expected %g\n%s", i, cases[i].get(&job), cases[i].value, cases[i].text);
        assert_int_equal(job.framework, EK_TORCHTITAN);
        ek_job_clear(&job);
    }
}

static void a_list_of_modules_is_the_plan(void **state)
{
    (void)state;
    static const char text[] =
        "[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n[parallelism]\ndata_parallel_shard_degree = 2\n"
        "pipeline_parallel_degree = 2\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
        "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"],\n [\"layers.1\", \"layers.2\"],\n"
        " [\"layers.3\", \"layers.4\"], [\"layers.5\", \"norm\", \"output\"]]\n";
    static const int expected[] = {1, 2, 2, 1};
    ek_job job;
    said s;
    if (read_text(text, &none, &s, &job))
        fail_msg("%s", s.text);
    assert_int_equal(job.plan.n_chunks, 2);
    assert_memory_equal(job.plan.layers, expected, sizeof expected);
    ek_job_clear(&job);
}

/* The number of devices is not in the file: it is required, and the command line's value is used. */
static void devices_that_are_left_come_from_the_command_line(void **state)
{
    (void)state;
    static const char text[] = LLAMA "[parallelism]\ndata_parallel_replicate_degree = 2\n";
    ek_job job;
    said s;
    assert_int_equal(read_text(text, &none, &s, &job), EK_OK);
    assert_int_equal(job.parallel.data, 2);
    assert_non_null(strstr(s.text, "give the data-parallel ranks (-dp N)"));
    ek_job_clear(&job);
    ek_job_overrides overrides = none;
    overrides.data = 64;
    assert_int_equal(read_text(text, &overrides, &s, &job), EK_OK);
    assert_int_equal(job.parallel.data, 64);
    assert_int_equal(job.states.shard_size, 32);
    assert_int_equal(s.n_warnings, 0);
    ek_job_clear(&job);
    overrides.data = 63;
    assert_int_equal(read_text(text, &overrides, &s, &job), EK_ERR_INPUT);
    assert_non_null(strstr(s.text, "5:34: data_parallel_replicate_degree is 2, which does not divide the 63"));
    /* Others as well; layers are distributed again. */
    overrides = none;
    overrides.data = 8;
    overrides.tensor = 2;
    overrides.pipeline = 2;
    overrides.batch = 1;
    overrides.seq_length = 4096;
    assert_int_equal(read_text(LLAMA, &overrides, &s, &job), EK_OK);
    assert_int_equal(job.parallel.tensor, 2);
    assert_int_equal(job.plan.layers[0], 16);
    assert_int_equal(job.parallel.seq_length, 4096);
    ek_job_clear(&job);
}

/* Without a file name (standard input, a copy) TOML is recognised by a header. */
static void toml_is_known_by_its_headers(void **state)
{
    (void)state;
    ek_job job;
    said s;
    assert_int_equal(read_named("# a job\n" LLAMA SHARD, "", &none, &s, &job), EK_OK);
    assert_int_equal(job.framework, EK_TORCHTITAN);
    ek_job_clear(&job);
    assert_int_equal(read_named("[model]\nname = \"llama3\nflavor\n", "", &none, &s, &job), EK_ERR_INPUT);
    assert_non_null(strstr(s.text, "not valid TOML"));
    assert_int_equal(read_named("[tool]\nname = \"x\"\n", ".toml", &none, &s, &job), EK_ERR_INPUT);
    assert_non_null(strstr(s.text, "is no training job that is known here; give a TOML of torchtitan, "));
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {LLAMA "[training]\nseq_len = \"8192\"\n",
         "5:11: training.seq_len is the text \"8192\", expected a whole number"},
        {LLAMA "[training]\nseq_len = 0\n", "5:11: training.seq_len is 0"},
        {LLAMA "[parallelism]\ntensor_parallel_degree = -1\n", "5:26: parallelism.tensor_parallel_degree is -1"},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 0\n", "5:30: parallelism.data_parallel_shard_degree is 0"},
        {LLAMA "[activation_checkpoint]\nmode = \"some\"\n",
         "5:8: activation_checkpoint.mode is 'some', expected one of none, selective, full"},
        {LLAMA "[activation_checkpoint]\nselective_ac_option = \"ops\"\n",
         "5:23: activation_checkpoint.selective_ac_option selects saved activations, expected \"op\""},
        {"[model]\nname = \"llama3\"\nflavor = \"9B\"\n",
         "3:10: model.flavor names llama3 9B with unknown shapes, and the file does not contain them; known are "
         "debugmodel, 8B, 70B, 405B"},
        {"[model]\nname = \"flux\"\nflavor = \"9B\"\n", "known are llama3, llama2, llama4, qwen3, deepseek_v3"},
        {"model = 3\n", "1:9: model is 3, expected a map"},
        {LLAMA SHARD "[training]\nlocal_batch_size = 2\nglobal_batch_size = 30\n",
         "8:21: global_batch_size is 30, expected a multiple of the 16 sequences"},
        {LLAMA PIPE "pipeline_parallel_microbatch_size = 3\n",
         "7:37: local_batch_size is 8, which cannot be divided into micro-batches like that"},
        {LLAMA PIPE "pipeline_parallel_schedule = \"2F2B\"\n",
         "7:30: parallelism.pipeline_parallel_schedule is '2F2B'"},
        {LLAMA PIPE "pipeline_parallel_layers_per_stage = 30\n", "7:38: pipeline_parallel_layers_per_stage is 30"},
        {LLAMA "[parallelism]\ndata_parallel_shard_degree = 4000\ndata_parallel_replicate_degree = 5000\n",
         "6:34: 5000 replicas of 4000 shards are more than 16777216 devices; correct them"},
        {LLAMA PIPE "pipeline_parallel_first_stage_less_layers = 40\n",
         "0:0: 32 layers, with 40 for the embedding and 1 for the output, leave nothing for part 0 of 4; give fewer "
         "stages"},
        {LLAMA PIPE "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_last_stage_less_layers = 9\n",
         "0:0: 32 layers, with 1 for the embedding and 9 for the output, leave nothing for part 7 of 8; give fewer "
         "stages"},
        {LLAMA PIPE "module_fqns_per_model_part = [[\"layers.0\"]]\n",
         "7:30: parallelism.module_fqns_per_model_part makes 1 parts, expected a multiple of the 4 stages"},
        {LLAMA PIPE "pipeline_parallel_split_points = [\"layers.9\", \"layers.3\", \"layers.20\"]\n",
         "7:34: parallelism.pipeline_parallel_split_points has 3 layers in order, but the model has 32"},
        {LLAMA SHARD "enable_async_tensor_parallel = true\n", "6:32: enable_async_tensor_parallel is true"},
        {LLAMA SHARD "tensor_parallel_degree = 3\n", "3:10: n_heads of the flavor is 32, which cannot be divided into "
                                                     "3 equal parts, as tensor_parallel_degree requires"},
        {LLAMA SHARD "[float8]\nrecipe_name = \"columnwise\"\n",
         "expected one of tensorwise, rowwise, rowwise_with_gw_hp"},
        {LLAMA "[training]\ncompile = 1\n", "5:11: training.compile is 1, expected true or false"},
        {"[model]\nname = \"llama3\"\n[model]\n", "3:1: not valid TOML"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        said s;
        if (read_text(cases[i].text, &none, &s, &job) != EK_ERR_INPUT || !strstr(s.text, cases[i].says))
            fail_msg("case %zu: %s\n%s", i, s.text, cases[i].text);
    }
}

/* Whole numbers of the file; some may be -1, which leaves them to be derived. */
static const struct {
    const char *section, *key;
    int64_t least, most;
    bool derived;
} numbers[] = {
    {"training", "seq_len", 1, EK__JOB_MAX_SEQUENCE, false},
    {"training", "local_batch_size", 1, EK__JOB_MAX_BATCH, false},
    {"training", "batch_size", 1, EK__JOB_MAX_BATCH, false},
    {"training", "global_batch_size", 1, INT_MAX, true},
    {"training", "data_parallel_degree", 1, EK_MAX_RANKS, true},
    {"parallelism", "data_parallel_shard_degree", 1, EK_MAX_RANKS, true},
    {"parallelism", "data_parallel_replicate_degree", 1, EK_MAX_RANKS, false},
    {"parallelism", "tensor_parallel_degree", 1, EK_MAX_RANKS, false},
    {"parallelism", "context_parallel_degree", 1, EK_MAX_RANKS, false},
    {"parallelism", "expert_parallel_degree", 1, EK_MAX_RANKS, false},
    {"parallelism", "expert_tensor_parallel_degree", 1, EK_MAX_RANKS, false},
    {"parallelism", "pipeline_parallel_degree", 1, EK_MAX_STAGES, false},
    {"parallelism", "pipeline_parallel_microbatch_size", 1, EK__JOB_MAX_BATCH, false},
    {"parallelism", "pipeline_parallel_microbatches", 1, EK__JOB_MAX_BATCH, false},
    {"parallelism", "pipeline_parallel_layers_per_stage", 1, EK_MAX_LAYERS, false},
    {"parallelism", "pipeline_parallel_first_stage_less_layers", 0, EK_MAX_LAYERS, false},
    {"parallelism", "pipeline_parallel_last_stage_less_layers", 0, EK_MAX_LAYERS, false},
};

/* Just outside the range at either end, and a number with a fraction. */
static void numbers_outside_their_range_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int k = 0; k < 3; k++) {
            const char *value = outside(k, numbers[i].least, numbers[i].most, "2.5");
            char text[512], at[64], says[256];
            ek_job job;
            said s;
            snprintf(text, sizeof text, LLAMA "[%s]\n%s = %s\n", numbers[i].section, numbers[i].key, value);
            snprintf(at, sizeof at, "\n5:%d: %s.%.20s", (int)strlen(numbers[i].key) + 4, numbers[i].section,
                     numbers[i].key); /* long names are cut in the middle of a message */
            snprintf(says, sizeof says, " is %s, expected a whole number from %lld to %lld; %s", value,
                     (long long)numbers[i].least, (long long)numbers[i].most,
                     numbers[i].derived ? "or give -1, which leaves it to be derived" : "it is a setting of the run");
            if (read_text(text, &none, &s, &job) != EK_ERR_INPUT || !strstr(s.text, at + (s.text[0] == '5')) ||
                !strstr(s.text, says))
                fail_msg("%s is '%s', expected '%s...%s'", text, s.text, at, says);
        }
}

static void what_does_nothing_is_warned_of(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {LLAMA SHARD "tensor_paralel_degree = 2\n",
         "6:1: warning: parallelism.tensor_paralel_degree is not a known key and is ignored; did you mean "
         "'tensor_parallel_degree'?"},
        {LLAMA SHARD "[trainig]\nseq_len = 3\n", "trainig is not a known key and is ignored; did you mean 'training'?"},
        {LLAMA SHARD "[float8]\nenable_fsdp_float8_all_gather = true\n",
         "does nothing, since no matrix product is in 8"},
        {LLAMA PIPE "pipeline_parallel_schedule = \"LoopedBFS\"\n", "it is predicted as interleaved"},
        {LLAMA SHARD "[optimizer]\nearly_step_in_backward = true\n", "gradients are predicted to stay to its end"},
        {SHARD "[training]\nseq_len = 128\n", "the shapes of llama3 debugmodel are taken"},
        {LLAMA PIPE "[training]\nlocal_batch_size = 4\nglobal_batch_size = 64\n", "2 runs of the pipeline in a step"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job;
        said s;
        if (read_text(cases[i].text, &none, &s, &job) != EK_OK || !strstr(s.text, cases[i].says))
            fail_msg("case %zu: %s\n%s", i, s.text, cases[i].text);
        ek_job_clear(&job);
    }
    /* A file as it is published: it has no warnings. */
    size_t size;
    char *text = slurp(source_path("tests/data/job/torchtitan_70b.toml"), &size);
    ek_job job;
    said s;
    assert_non_null(text);
    assert_int_equal(read_text(text, &none, &s, &job), EK_OK);
    assert_string_equal(s.text, "");
    ek_job_clear(&job);
    free(text);
}

/* Every change of a measure is given as a key of the TOML, and the file with that key is the predicted job.
 */
static void measures_are_said_with_keys_that_give_the_job(void **state)
{
    (void)state;
    static const char model[] = "[model]\nname = \"llama3\"\nflavor = \"70B\"\n";
    static const char *const runs[] = {
        "[parallelism]\ndata_parallel_shard_degree = 32\ntensor_parallel_degree = 4\n",
        "[parallelism]\ndata_parallel_shard_degree = 16\npipeline_parallel_degree = 4\n",
        "[parallelism]\ndata_parallel_shard_degree = 16\ndata_parallel_replicate_degree = 2\n",
    };
    static const struct {
        int run;
        const char *name, *setting; /* NULL: not possible */
    } cases[] = {
        {0, "recompute every layer completely", "activation_checkpoint.mode = \"full\""},
        {0, "recompute the activation functions in every layer", NULL},
        {0, "twice the tensor parallelism, half the data parallelism",
         "parallelism.tensor_parallel_degree = 8, parallelism.data_parallel_shard_degree = 16"},
        {0, "half the micro-batch, twice as many", "training.local_batch_size = 4, training.global_batch_size = 256"},
        {1, "twice the chunks per stage", "parallelism.pipeline_parallel_schedule = \"Interleaved1F1B\""},
        {1, "schedule ZB-V", "parallelism.pipeline_parallel_schedule = \"ZBVZeroBubble\""},
        {1, "schedule V-Half", NULL},
        {2, "twice the context parallelism, half the data parallelism",
         "parallelism.context_parallel_degree = 2, parallelism.data_parallel_shard_degree = 8"},
        {2, "map memory in pages", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (environment)"},
    };
    for (int r = 0; r < 3; r++) {
        char text[1024];
        ek_job job;
        said s;
        ek_error err = {0};
        ek_mitigation measure[EK_MAX_MEASURES];
        int n = 0;
        snprintf(text, sizeof text, "%s%s[activation_checkpoint]\nmode = \"none\"\n", model, runs[r]);
        assert_int_equal(read_text(text, &none, &s, &job), EK_OK);
        assert_int_equal(ek_memory_mitigations(&job, NULL, measure, &n, &err), EK_OK);
        for (int i = 0; i < n; i++)
            if (measure[i].possible &&
                (!measure[i].setting[0] || strstr(measure[i].setting, "--") || strstr(measure[i].setting, "_config")))
                fail_msg("%s: %s", measure[i].name, measure[i].setting);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            int i = 0;
            while (i < n && strcmp(measure[i].name, cases[c].name) != 0)
                i++;
            if (cases[c].run == r && (i == n || measure[i].possible != (cases[c].setting != NULL) ||
                                      (cases[c].setting && !strstr(measure[i].setting, cases[c].setting))))
                fail_msg("run %d, %s: '%s' %s", r, cases[c].name, i < n ? measure[i].setting : "absent",
                         i < n ? measure[i].why : "");
        }
        ek_job_clear(&job);
    }
    /* The keys of one, put into the file. */
    ek_job job;
    said s;
    ek_error err = {0};
    ek_mitigation measure[EK_MAX_MEASURES];
    ek_memory memory;
    int n = 0, i = 0;
    char text[1024];
    snprintf(text, sizeof text, "%s%s", model, runs[0]);
    assert_int_equal(read_text(text, &none, &s, &job), EK_OK);
    assert_int_equal(ek_memory_mitigations(&job, NULL, measure, &n, &err), EK_OK);
    ek_job_clear(&job);
    while (strcmp(measure[i].name, "twice the tensor parallelism, half the data parallelism") != 0)
        i++;
    snprintf(text, sizeof text,
             "%s[parallelism]\ndata_parallel_shard_degree = 16\ntensor_parallel_degree = 8\n"
             "[training]\nlocal_batch_size = 8\nglobal_batch_size = 256\n",
             model);
    assert_int_equal(read_text(text, &none, &s, &job), EK_OK);
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
    double mb = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
    if (fabs(mb - measure[i].after_mb) > 1)
        fail_msg("%.1f MB, the measure promised %.1f", mb, measure[i].after_mb);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

/* ---- recomputation ---- */

/* Of a layer that is recomputed whole, all inputs of gradients: not its last product, nor the sum after it. Of one
 * recomputed by operators the inputs of products are gathered again, and operators with saved outputs do not run. */
static void layers_run_again_as_far_as_gradients_read(void **state)
{
    (void)state;
    static const char text[] = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n"
                               "data_parallel_shard_degree = 2\ntensor_parallel_degree = 4\n"
                               "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n"
                               "[compile]\nenable = true\n";
    static ek__graph graph;
    bool whole[EK__MAX_OPS], some[EK__MAX_OPS];
    ek_job job;
    ek__job_step step;
    int n_products = 0, n_again = 0, n_gathers = 0;
    assert_int_equal(ek__job_parse("job.toml", text, strlen(text), NULL, NULL, &job, &step, NULL), EK_OK);
    ek__graph_build(&job, EK__GRAPH_DENSE, &graph);
    ek__graph_run_again(&job, &graph, (ek__recompute){.full = true}, whole);
    ek__graph_run_again(&job, &graph, (ek__recompute){.patterns = ~UINT64_C(0)}, some);
    for (int i = 0; i < graph.n_ops; i++) {
        const ek__op *op = &graph.op[i];
        bool last = i == graph.n_ops - 1 || strncmp(op->path, "feed_forward.w2.", 16) == 0;
        if (op->kind != EK__OP_VIEW && whole[i] == last)
            fail_msg("%s: %s again", op->path, whole[i] ? "runs" : "does not run");
        n_products += op->kind == EK__OP_MATMUL;
        n_again += op->kind == EK__OP_MATMUL && some[i];
        n_gathers += op->kind == EK__OP_COMM && op->comm == EK__COMM_GATHER && some[i];
        if (op->kind == EK__OP_ATTENTION || (op->kind == EK__OP_COMM && op->comm == EK__COMM_SCATTER))
            assert_false(some[i]);
    }
    assert_int_equal(n_products, 7);
    assert_int_equal(n_again, 2); /* of keys and of the second input; the attention's output is kept scattered */
    assert_int_equal(n_gathers, 2);
    job.framework = EK_MEGATRON;
    ek__graph_run_again(&job, &graph, (ek__recompute){.full = true}, whole);
    for (int i = 0; i < graph.n_ops; i++)
        assert_true(whole[i]);
    ek_job_clear(&job);
}

/* Saved activations of a layer that is recomputed by operators, from PyTorch's list of saved operators, operator by
 * operator, for T tokens of a rank, t tensor parallel ranks, H hidden, K keys, N heads, I wide, two bytes an element:
 *
 *   input of the layer                2 T H / t    it is handed to the checkpoint
 *   1st product, queries              2 T H / t
 *   2nd product, keys                 -
 *   3rd product, values               2 T K / t
 *   attention                         2 T H / t, and 4 T N / t of logarithms
 *   4th product, of the attention     -            what all ranks' are scattered to, 2 T H / t, with t > 1
 *   5th product, first of the widths  2 T I / t
 *   6th product, second               -
 *   7th product, back                 2 T H        whole, since each rank's is a part of the sum; and what that is
 *                                                  scattered to, 2 T H / t, with t > 1. No gradient reads either
 *
 * A compiler keeps the last two not. Tensors gathered before products are not in the list. */
static void operators_keep_what_pytorch_lists(void **state)
{
    (void)state;
    const int64_t T = 2 * 4096, H = 4096, K = 1024, N = 32, I = 14336;
    static ek__graph graph;
    for (int t = 1; t <= 8; t *= 2)
        for (int compiled = 0; compiled < 2; compiled++) {
            char text[640];
            bool again[EK__MAX_OPS], kept[EK__MAX_TENSORS];
            ek_job job;
            ek__job_step step;
            snprintf(text, sizeof text,
                     "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nseq_len = 4096\n"
                     "[parallelism]\ndata_parallel_shard_degree = 4\ntensor_parallel_degree = %d\n"
                     "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n"
                     "[compile]\nenable = %s\n",
                     t, compiled ? "true" : "false");
            assert_int_equal(ek__job_parse("job.toml", text, strlen(text), NULL, NULL, &job, &step, NULL), EK_OK);
            ek__graph_build(&job, EK__GRAPH_DENSE, &graph);
            ek__graph_recomputed(&job, &graph, (ek__recompute){.patterns = ~UINT64_C(0)}, again);
            int64_t expected = (2 * T * (3 * H + K + I) + 4 * T * N) / t + (t > 1 ? 2 * T * H / t : 0);
            if (!compiled)
                expected += 2 * T * H + (t > 1 ? 2 * T * H / t : 0);
            assert_int_equal(ek__graph_keep(&graph, again, kept), expected);
            ek_job_clear(&job);
        }
}

/* ---- published runs ---- */

static void the_published_runs_are_read_and_predicted(void **state)
{
    (void)state;
    measured_torchtitan_rows rows;
    ek_error err = {0};
    if (measured_torchtitan_read(source_path("tests/data/published"), &rows, &err))
        fail_msg("%s", err.message);
    assert_int_equal(rows.n, 16);
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rows.n; i++) {
        ek_job job;
        ek_memory memory;
        if (measured_torchtitan_job(&rows.row[i], &job, &err))
            fail_msg("%s: %s:%d: %s\n%s", rows.row[i].name, err.file, err.line, err.message, rows.row[i].toml);
        assert_int_equal(job.parallel.data * job.parallel.tensor * job.parallel.pipeline * job.parallel.context,
                         rows.row[i].devices);
        if (rows.row[i].mem_gib > 0) {
            if (ek_memory_predict(&job, NULL, &memory, &err))
                fail_msg("%s: %s", rows.row[i].name, err.message);
            double gib = (double)memory.stage[memory.fullest].actual_peak / 1073741824.0;
            double used = (double)memory.stage[memory.fullest].used_peak / 1073741824.0;
            double error = gib / rows.row[i].mem_gib - 1;
            print_message("# %-95s measured %6.2f GiB, predicted %6.2f (used %6.2f): %+.1f %%\n", rows.row[i].name,
                          rows.row[i].mem_gib, gib, used, 100 * error);
            /* The table does not contain the split of the largest model's stages. */
            if (!(fabs(error) <= (job.parallel.pipeline > 1 ? 0.20 : 0.10)))
                fail_msg("%s: %+.1f %%", rows.row[i].name, 100 * error);
            sum += fabs(error);
            n++;
            ek_memory_clear(&memory);
        }
        ek_job_clear(&job);
    }
    print_message("# mean error of %d rows: %.1f %%\n", n, 100 * sum / n);
    assert_int_equal(n, 10);
    assert_true(sum / n < 0.06);
    measured_torchtitan_clear(&rows);
}

int main(void)
{
    none = ek_job_overrides_none();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toml_is_a_tree_in_the_order_of_the_file),
        cmocka_unit_test(toml_that_is_wrong_or_too_large_is_refused_with_its_place),
        cmocka_unit_test(large_toml_is_read_in_a_moment),
        cmocka_unit_test(keys_do_what_they_do_in_torchtitan),
        cmocka_unit_test(a_list_of_modules_is_the_plan),
        cmocka_unit_test(devices_that_are_left_come_from_the_command_line),
        cmocka_unit_test(toml_is_known_by_its_headers),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(numbers_outside_their_range_are_refused),
        cmocka_unit_test(what_does_nothing_is_warned_of),
        cmocka_unit_test(measures_are_said_with_keys_that_give_the_job),
        cmocka_unit_test(layers_run_again_as_far_as_gradients_read),
        cmocka_unit_test(operators_keep_what_pytorch_lists),
        cmocka_unit_test(the_published_runs_are_read_and_predicted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
