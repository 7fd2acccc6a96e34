/* Tests the memory of products in 8 bits: closed forms of weights and layers with TransformerEngine and with torchao.
 */
#include "input.h"

#include <unistd.h>

#include "evenkeel/memory.h"
#include "job/job_internal.h"
#include "memory/program.h"

enum { HIDDEN = 1024, KEYS = 256, WIDTH = 4096, HEADS = 8, SEQUENCE = 2048, VOCAB = 51200, LAYERS = 4 };

static ek_job parse(const char *name, const char *text)
{
    ek_job job;
    ek_error err = {0};
    ek__job_step step;
    if (ek__job_parse(name, text, strlen(text), NULL, NULL, &job, &step, &err))
        fail_msg("%s\n%s", err.message, text);
    return job;
}

static ek_job megatron(int tensor, const char *more)
{
    char text[1280];
    snprintf(text, sizeof text,
             "--num-layers %d --hidden-size %d --ffn-hidden-size %d --num-attention-heads %d --group-query-attention "
             "--num-query-groups 2 --micro-batch-size 1 --global-batch-size 8 --seq-length %d --padded-vocab-size %d "
             "--bf16 --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
             "--position-embedding-type rope --attention-dropout 0 --hidden-dropout 0 --use-flash-attn "
             "--use-distributed-optimizer --data-parallel-size 4 --tensor-model-parallel-size %d%s %s\n",
             LAYERS, HIDDEN, WIDTH, HEADS, SEQUENCE, VOCAB, tensor, tensor > 1 ? " --sequence-parallel" : "", more);
    return parse("job.args", text);
}

static ek_job torchtitan(int tensor, const char *float8)
{
    char text[640];
    snprintf(text, sizeof text,
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n%s[training]\nlocal_batch_size = 1\nseq_len = %d\n"
             "[parallelism]\ndata_parallel_shard_degree = 4\ntensor_parallel_degree = %d\n"
             "[activation_checkpoint]\nmode = \"none\"\n[compile]\nenable = true\n",
             float8, SEQUENCE, tensor);
    return parse("job.toml", text);
}

/* Bytes that a layer keeps for its backward pass. */
static int64_t kept(const ek_job *job)
{
    static ek__graph graph;
    bool again[EK__MAX_OPS], tensors[EK__MAX_TENSORS];
    ek__graph_build(job, EK__GRAPH_DENSE, &graph);
    ek__graph_recomputed(job, &graph, (ek__recompute){.patterns = 0}, again);
    return ek__graph_keep(&graph, again, tensors);
}

/* A part at the peak of the only stage. */
static int64_t part(const ek_job *job, ek_memory_part which)
{
    ek_memory memory;
    assert_int_equal(ek_memory_predict(job, NULL, &memory, NULL), EK_OK);
    int64_t bytes = memory.stage[0].part[which];
    assert_true(memory.stage[0].actual_peak >= memory.stage[0].used_peak);
    ek_memory_clear(&memory);
    return bytes;
}

/* Elements of the matrices of all layers. */
static int64_t matrices(int tensor)
{
    return (int64_t)LAYERS * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KEYS + 3 * HIDDEN * WIDTH) / tensor;
}

static void near(const char *what, int64_t is, int64_t expected)
{
    if (llabs(is - expected) > 512 * 64)
        fail_msg("%s: %lld bytes, expected %lld", what, (long long)is, (long long)expected);
}

/* ---- TransformerEngine ---- */

/* A copy for the forward pass and, where the device needs it, a transposed one; with 8-bit parameters the first is the
 * parameter. The table, the head, norms, gradients and states are as in 16 bits. */
static void weights_have_copies_in_8_bits(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        int copies, bytes; /* of an element of a matrix, more than in 16 bits */
    } cases[] = {{"--fp8-format hybrid", 2, 2},
                 {"--fp8-format hybrid", 1, 1},
                 {"--fp8-format hybrid --fp8-param-gather", 2, 0},
                 {"--fp8-format hybrid --fp8-param-gather", 1, -1},
                 {"--fp8-format e4m3 --fp8-recipe blockwise", 2, 2},
                 {"--fp8-format e4m3 --transformer-impl local", 2, 0}};
    for (int tensor = 1; tensor <= 2; tensor++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ek_job wide = megatron(tensor, ""), job = megatron(tensor, cases[i].more);
            job.rules.fp8_copies = cases[i].copies;
            near(cases[i].more, part(&job, EK_PART_PARAMETERS) - part(&wide, EK_PART_PARAMETERS),
                 cases[i].bytes * matrices(tensor));
            near(cases[i].more, part(&job, EK_PART_GRADIENTS), part(&wide, EK_PART_GRADIENTS));
            near(cases[i].more, part(&job, EK_PART_OPTIMIZER), part(&wide, EK_PART_OPTIMIZER));
            ek_job_clear(&wide);
            ek_job_clear(&job);
        }
}

/* Of T tokens, in 16 bits and in 8: both norms' outputs, the rank's part, 2 and 1 byte an element; the product in front
 * of the last matrix likewise; the attention's output, which its own gradient reads, 2 bytes and in addition a copy of
 * 1. Scales of blocks add a byte to 32. */
static void inputs_of_products_are_kept_in_8_bits(void **state)
{
    (void)state;
    const int64_t tokens = SEQUENCE;
    for (int tensor = 1; tensor <= 4; tensor *= 2) {
        ek_job wide = megatron(tensor, ""), job = megatron(tensor, "--fp8-format hybrid");
        ek_job blocks = megatron(tensor, "--fp8-format e4m3 --fp8-recipe mxfp8");
        const int64_t in_16 = 2 * tokens * (2 * HIDDEN + WIDTH) / tensor;
        const int64_t in_8 = tokens * (2 * HIDDEN + WIDTH + HIDDEN) / tensor;
        assert_int_equal(kept(&job) - kept(&wide), in_8 - in_16);
        assert_int_equal(kept(&blocks) - kept(&wide), in_8 + in_8 / 32 - in_16);
        ek_job_clear(&wide);
        ek_job_clear(&job);
        ek_job_clear(&blocks);
    }
}

/* ---- torchao ---- */

#define FLOAT8 "converters = [\"float8\"]\n[float8]\nrecipe_name = "

/* Linear layers keep their inputs. With one scale a tensor, ranks get both gathered inputs in 8 bits, and so the
 * product in front of the last matrix; of the attention's output a copy. */
static void torchao_keeps_what_it_gets(void **state)
{
    (void)state;
    const int64_t tokens = SEQUENCE, hidden = 4096, width = 14336;
    for (int tensor = 1; tensor <= 4; tensor *= 2) {
        ek_job wide = torchtitan(tensor, ""), one = torchtitan(tensor, FLOAT8 "\"tensorwise\"\n"),
               rows = torchtitan(tensor, FLOAT8 "\"rowwise\"\n");
        assert_int_equal(kept(&rows), kept(&wide));
        assert_int_equal(kept(&one) - kept(&wide),
                         tensor == 1 ? 0 : -2 * tokens * hidden - tokens * width / tensor + tokens * hidden / tensor);
        ek_job_clear(&wide);
        ek_job_clear(&one);
        ek_job_clear(&rows);
    }
}

/* A layer's matrices gathered ahead have a byte an element instead of two, where the gathers are in 8 bits and each
 * layer's come and go. */
static void layers_are_gathered_in_8_bits(void **state)
{
    (void)state;
    const int64_t layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * INT64_C(4096) * 14336;
    ek_job wide = torchtitan(1, ""), apart = torchtitan(1, FLOAT8 "\"tensorwise\"\n");
    ek_job job = torchtitan(1, FLOAT8 "\"tensorwise\"\nenable_fsdp_float8_all_gather = true\n");
    near("gathered in 16 bits", part(&apart, EK_PART_OTHER), part(&wide, EK_PART_OTHER));
    near("gathered in 8 bits", part(&wide, EK_PART_OTHER) - part(&job, EK_PART_OTHER), layer);
    job.rules.weight_gather = wide.rules.weight_gather = EK_GATHER_STEP;
    near("gathered for the step", part(&job, EK_PART_PARAMETERS), part(&wide, EK_PART_PARAMETERS));
    ek_job_clear(&wide);
    ek_job_clear(&apart);
    ek_job_clear(&job);
}

/* Temporary memory of the first feed-forward product: forward its input in 8 bits; backward the gradient's two copies,
 * and of the input, which was kept in 16 bits, a cast and its transpose. */
static void casts_lie_beside_products(void **state)
{
    (void)state;
    static ek__graph graph;
    ek_job job = torchtitan(1, FLOAT8 "\"rowwise\"\n");
    int n = 0;
    ek__graph_build(&job, EK__GRAPH_DENSE, &graph);
    for (const ek__op *op = graph.op; op < graph.op + graph.n_ops; op++) {
        if (strcmp(op->path, "feed_forward.w1.matmul") != 0)
            continue;
        assert_int_equal(op->workspace, SEQUENCE * 4096);
        assert_int_equal(op->backward_workspace, 2 * SEQUENCE * 14336 + 2 * SEQUENCE * 4096);
        n++;
    }
    assert_int_equal(n, 1);
    ek__graph_build(&job, EK__GRAPH_HEAD, &graph); /* stays in 16 bits */
    for (const ek__op *op = graph.op; op < graph.op + graph.n_ops; op++)
        assert_true(op->kind != EK__OP_MATMUL || (op->workspace == 0 && op->backward_workspace == 0));
    ek_job_clear(&job);
}

/* A cast that is made again repeats no product: the same operators run again as in 16 bits. */
static void the_same_runs_again(void **state)
{
    (void)state;
    static ek__graph graph;
    static const char *const modes[] = {"full\"\n", "selective\"\nselective_ac_option = \"op\"\n"};
    for (int mode = 0; mode < 2; mode++) {
        bool again[2][EK__MAX_OPS] = {{false}};
        for (int eight = 0; eight < 2; eight++) {
            char text[640];
            snprintf(text, sizeof text,
                     "[model]\nname = \"llama3\"\nflavor = \"8B\"\n%s[parallelism]\ndata_parallel_shard_degree = 4\n"
                     "tensor_parallel_degree = 4\n[activation_checkpoint]\nmode = \"%s[compile]\nenable = true\n",
                     eight ? FLOAT8 "\"tensorwise\"\n" : "", modes[mode]);
            ek_job job = parse("job.toml", text);
            ek__graph_build(&job, EK__GRAPH_DENSE, &graph);
            ek__graph_run_again(&job, &graph, (ek__recompute){.full = mode == 0, .patterns = ~UINT64_C(0)},
                                again[eight]);
            ek_job_clear(&job);
        }
        assert_memory_equal(again[0], again[1], (size_t)graph.n_ops * sizeof again[0][0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_have_copies_in_8_bits), cmocka_unit_test(inputs_of_products_are_kept_in_8_bits),
        cmocka_unit_test(torchao_keeps_what_it_gets),    cmocka_unit_test(layers_are_gathered_in_8_bits),
        cmocka_unit_test(casts_lie_beside_products),     cmocka_unit_test(the_same_runs_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
