/* Tests the readers of Python settings and of InternEvo's configurations: values of expressions, expressions that are
 * not evaluated, and that a file is the same job as arguments of Megatron-LM with InternEvo's optimizer. */
#include "base/config_tree_python.h"
#include "job_forms.h"
#include "no_memory.h"

FAILING_ALLOC
FAILING_POOL_ALLOC
FAILING_POOL_TEXT
FAILING_POOL_PUSH

/* ---- Python as a document ---- */

static ek_status parse(const char *text, ek__config_tree **doc, ek_error *err)
{
    return ek__config_parse_python("a.py", text, strlen(text), doc, err);
}

/* The value of `a` at the end of each. */
static const struct {
    const char *text, *value;
    bool quoted;
} values[] = {
    {"a = 3", "3", false},
    {"a = -3", "-3", false},
    {"a = 4 * 4", "16", false},
    {"a = 2 + 3 * 4 - 1", "13", false},
    {"a = (2 + 3) * 4", "20", false},
    {"a = 2 ** 10", "1024", false},
    {"a = -2 ** 2", "-4", false},
    {"a = 512 * 1024 * 1024", "536870912", false},
    {"a = 7 // 2", "3", false},
    {"a = -7 // 2", "-4", false},
    {"a = -7 % 4", "1", false},
    {"a = 8 / 3", "2.6666666666666665", false},
    {"a = 8 / 4", "2", false},
    {"a = int(7 / 2)", "3", false},
    {"a = int(8 / 3 * 4096)", "10922", false},
    {"a = 1e-5", "1.0000000000000001e-05", false},
    {"a = 2 * -3", "-6", false},
    {"a = 1_000", "1000", false},
    {"a = 10 - 3 - 2", "5", false},
    {"a = 100 / 5 / 2", "10", false},
    {"N = 6\na = N * N", "36", false},
    {"N = 6\na = N\nN = 7", "6", false},
    {"a = 1\na = 2", "2", false},
    {"d = dict(x=5, y=dict(z=6))\na = d[\"y\"][\"z\"]", "6", false},
    {"d = {'x': 5}\na = d['x'] + 1", "6", false},
    {"a = True", "true", false},
    {"a = 'x'", "x", true},
    {"a = \"\"\"x\"\"\" 'y'", "xy", true},
    {"a: int = 4", "4", false},
    {"x = 1; a = 2", "2", false},
    {"a = (5)", "5", false},
    {"a = 1 / 0", "1 / 0", true},
    {"import os\na = os.environ['X']", "os.environ['X']", false},
    {"a = int(os.environ['X'])", "int(os.environ['X'])", false},
    {"a = N", "N", false},
    {"a = a", "a", false},
    {"a = f\"x{1}\"", "f\"x{1}\"", false},
    {"a = 3\nif x:\n    a = 4\n", "a value that is known only at run time", true},
    {"for i in y:\n    a = i\n", "a value that is known only at run time", true},
    {"a = 3\na += 1", "a value that is known only at run time", true},
    {"a = b = 3", "a value that is known only at run time", true},
    {"def f():\n    a = 9\n    return a\na = 1\nclass C:\n    a = 2\n", "1", false},
};

static void expressions_are_worked_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ek__config_tree *doc = NULL;
        ek_error err = {0};
        if (parse(values[i].text, &doc, &err) != EK_OK)
            fail_msg("%s: %s", values[i].text, err.message);
        const ek__node *a = ek__get(ek__config_root(doc), "a");
        if (!a || a->kind != EK__SCALAR || strcmp(a->text, values[i].value) != 0 || a->quoted != values[i].quoted)
            fail_msg("%s is '%s'", values[i].text, a && a->text ? a->text : "nothing");
        ek__config_free(doc);
    }
}

static void maps_and_lists_have_places(void **state)
{
    (void)state;
    ek__config_tree *doc = NULL;
    ek_error err = {0};
    assert_int_equal(parse("\nN = 3\nmodel = dict(\n    x=[1, (2, N,)],\n    y={'k': dict(), \"l\": N, 'none': "
                           "None},\n    **rest,\n)\n",
                           &doc, &err),
                     EK_OK);
    const ek__node *model = ek__get(ek__config_root(doc), "model");
    assert_int_equal(model->kind, EK__MAP);
    assert_int_equal(model->n, 2);
    const ek__node *x = ek__get(model, "x"), *y = ek__get(model, "y");
    assert_int_equal(x->n, 2);
    assert_int_equal(x->line, 4);
    assert_int_equal(x->column, 7);
    assert_int_equal(x->last->n, 2);
    assert_string_equal(x->last->last->text, "3");
    assert_int_equal(x->last->last->line, 2); /* where it is written */
    assert_int_equal(ek__get(y, "k")->kind, EK__MAP);
    assert_string_equal(ek__get(y, "l")->text, "3");
    assert_null(ek__get(y, "none")); /* None is null, which is no value */
    ek__config_free(doc);
}

static void what_is_no_such_program_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        int line;
    } cases[] = {
        {"a = dict(\n", "", 1},
        {"a = 'x", "", 1},
        {"a = dict(x=1)\na['x'] = 2\n", "a value is changed after its assignment", 2},
        {"a = dict(x=1)\na.update(x=2)\n", "a value is changed after its assignment", 2},
        {"a = dict(x=1,\n x=2)\n", "", 2},
        {"a = \x01", "control character", 1},
        {"a = \xff", "is not UTF-8", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__config_tree *doc = NULL;
        ek_error err = {0};
        if (parse(cases[i].text, &doc, &err) != EK_ERR_INPUT || !strstr(err.message, cases[i].message) ||
            err.line != cases[i].line)
            fail_msg("case %zu: %d: %s", i, err.line, err.message);
    }
}

/* Names of names of names, and deep brackets, end. */
static void what_grows_ends(void **state)
{
    (void)state;
    char *text = malloc(400000);
    int n = sprintf(text, "x0 = 1 + 1\n");
    for (int i = 1; i < 60; i++)
        n += sprintf(text + n, "x%d = x%d + x%d\n", i, i - 1, i - 1);
    ek__config_tree *doc = NULL;
    ek_error err = {0};
    assert_int_equal(parse(text, &doc, &err), EK_OK);
    ek__config_free(doc);
    doc = NULL;
    n = sprintf(text, "a = ");
    for (int i = 0; i < 150; i++)
        text[n++] = '(';
    n += sprintf(text + n, "1");
    for (int i = 0; i < 150; i++)
        text[n++] = ')';
    n += sprintf(text + n, "\nb = ");
    memset(text + n, '-', 300000);
    sprintf(text + n + 300000, "1\n");
    assert_int_equal(parse(text, &doc, &err), EK_OK);
    assert_string_equal(ek__get(ek__config_root(doc), "a")->text, "1");
    ek__config_free(doc);
    free(text);
}

/* ---- InternEvo ---- */

static const char arguments[] =
    "--num-layers 16 --hidden-size 1024 --ffn-hidden-size 2816 --num-attention-heads 16 --group-query-attention "
    "--num-query-groups 4 --padded-vocab-size 92544 --seq-length 2048 --micro-batch-size 2 --global-batch-size 128 "
    "--swiglu --normalization RMSNorm --position-embedding-type rope --untie-embeddings-and-output-weights "
    "--disable-bias-linear --hidden-dropout 0 --attention-dropout 0 --transformer-impl local --use-flash-attn "
    "--no-gradient-accumulation-fusion --cross-entropy-loss-fusion --bf16 --grad-reduce-in-bf16 "
    "--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 2 --use-distributed-optimizer "
    "--recompute-granularity full --recompute-method block --recompute-num-layers 4\n";

/* With the states and the step of HybridZeroOptimizer put in by hand. */
static void a_file_is_the_job_of_its_arguments(void **state)
{
    (void)state;
    char *text = data("internevo.py"), why[512] = "";
    said s;
    ek_job job, other;
    ek_memory memory, others;
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 8;
    if (read_with(text, strlen(text), &o, &s, &job) != EK_OK)
        fail_msg("%s", s.text);
    assert_string_equal(s.text, "");
    assert_int_equal(read_with(arguments, strlen(arguments), &o, &s, &other), EK_OK);
    other.states.optimizer = 12;
    other.states.shard_size = 4;
    other.run.overlap_gradients = true;
    other.run.bucket_bytes = 2 * 512 * 1048576.0;
    other.run.reduce_bytes = 2;
    other.run.first_stage_buckets = other.run.p2p_scattered = false;
    other.run.owned_tensors = true;
    other.run.attention = EK_ATTENTION_FLASH2;
    other.model.gate_apart = true;
    if (ek__job_differs(&job, &other, why, sizeof why))
        fail_msg("%s", why);
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, NULL), EK_OK);
    assert_int_equal(ek_memory_predict(&other, NULL, &others, NULL), EK_OK);
    for (int i = 0; i < memory.n_stages; i++)
        assert_int_equal(memory.stage[i].actual_peak, others.stage[i].actual_peak);
    ek_memory_clear(&memory);
    ek_memory_clear(&others);
    ek_job_clear(&job);
    ek_job_clear(&other);
    free(text);
}

typedef int getter(const ek_job *job);

static int tensor(const ek_job *j)
{
    return j->parallel.tensor;
}
static int ulysses(const ek_job *j)
{
    return j->parallel.context_algorithm == EK_CONTEXT_ULYSSES ? j->parallel.context : 0;
}
static int first_layers(const ek_job *j)
{
    return j->plan.layers[0];
}
static int last_layers(const ek_job *j)
{
    return j->plan.layers[j->plan.n_stages * j->plan.n_chunks - 1];
}
static int chunks(const ek_job *j)
{
    return j->plan.n_chunks;
}
static int shared(const ek_job *j)
{
    return j->states.shard_optimizer ? j->states.shard_size : 0;
}
static int recomputed(const ek_job *j)
{
    return j->plan.full[0];
}
static int width(const ek_job *j)
{
    return j->model.intermediate;
}
static int bias(const ek_job *j)
{
    return j->model.qkv_bias;
}
static int experts(const ek_job *j)
{
    return j->parallel.expert;
}
static int zb_h1(const ek_job *j)
{
    return strcmp(j->schedule->name, "zb-h1") == 0;
}
static int zb_v(const ek_job *j)
{
    return strcmp(j->schedule->name, "zb-v") == 0;
}

/* A changed line: its effect, or the message. */
static const struct {
    const char *begin, *line, *message;
    getter *get;
    int expected;
} lines[] = {
    {"    tensor=", "    tensor=2,", "", tensor, 2},
    {"    tensor=", "    tensor=dict(size=2, mode='isp'),", "", ulysses, 2},
    {"    tensor=", "    tensor=dict(size=2, mode='fsp'),",
     "57:22: warning: parallel.tensor.size is cut in the mode fsp", tensor, 2},
    {"    weight=", "    weight=dict(size=2),", "", tensor, 2},
    {"    pipeline=", "    pipeline=dict(size=3),", "", first_layers, 5},
    {"    pipeline=", "    pipeline=dict(size=3),", "", last_layers, 6},
    {"    pipeline=", "    pipeline=dict(size=2, mode='zbh1'),", "", zb_h1, 1},
    {"    pipeline=", "    pipeline=dict(size=2, mode='zbv'),", "", zb_v, 1},
    {"    num_chunks=", "    num_chunks=2,", "", chunks, 2},
    {"    zero1=", "    zero1=dict(size=-1),", "", shared, -1},
    {"    zero1=", "    zero1=1,", "", shared, 0},
    {"    checkpoint=", "    checkpoint=True,", "", recomputed, 8},
    {"    checkpoint=", "    checkpoint=False,", "", recomputed, 0},
    {"    checkpoint=", "    checkpoint=0.3,", "", recomputed, 2},
    {"    mlp_ratio=", "    mlp_ratio=3.5,", "", width, 3584},
    {"    mlp_ratio=", "    mlp_ratio=3.4, multiple_of=2,", "", width, 3482},
    {"    no_bias=", "    no_bias=False,", "", bias, 1},
    {"    no_bias=", NULL, "", bias, 0},
    {"    no_bias=", "    num_experts=4, top_k=2, moe_type='Dropless',", "", NULL, 0},
    {"    zero1=", "    zero1=-1, expert=dict(size=-1), ", "", experts, 1},
    {"    zero1=", "    zero1=dict(fsdp=True),", "zero1.fsdp is on: PyTorch's FSDP", NULL, -1},
    {"    tensor=", "    tensor=dict(size=2, mode='isp'), expert_weight=dict(size=2),",
     "parallel.expert_weight.size is 2: weights that are cut over ranks", NULL, -1},
    {"    tensor=", "    tensor=dict(size=2, mode='best'),", "parallel.tensor.mode is 'best', expected one of mtp, msp",
     NULL, -1},
    {"    tensor=", "    tensor='two',", "parallel.tensor is", NULL, -1},
    {"NUM_LAYER =", "NUM_LAYER = int(os.environ['N'])",
     "9:13: model.num_layers is 'int(os.environ['N'])', expected a whole", NULL, -1},
    {"    num_layers=", NULL, "the file has no model.num_layers; add them", NULL, -1},
    {"    hidden_size=", NULL, "the file has no model.hidden_size; add them", NULL, -1},
    {"    seq_len=", NULL, "the file has no data.seq_len; add them", NULL, -1},
    {"    vocab_size=", NULL, "model.vocab_size is missing", NULL, -1},
    {"    mlp_ratio=", NULL, "model.mlp_ratio is missing", NULL, -1},
    {"    dtype=", NULL, "model.dtype is not given; torch.float16 is taken", tensor, 2},
    {"    dtype=", "    dtype='bf16',", "model.dtype is 'bf16', expected one of torch.bfloat16", NULL, -1},
    {"    no_bias=", "    num_experts=4,",
     "model.num_experts is 4, but the number of experts for each token is missing", NULL, -1},
    {"    no_bias=", "    num_experts=4, top_k=2,", "has experts of GShard, which take no more than their capacity",
     tensor, 2},
    {"    checkpoint=", "    checkpoint=1.5,", "model.checkpoint is 1.5, expected a number from 0 to 1", NULL, -1},
    {"model_type =", "model_type = 'LLAVA'", "5:14: model_type is 'LLAVA', with unknown layers", NULL, -1},
    {"SEQ_LEN =", "SEQ_LEN = 2048\n_base_ = ['x.py']", "_base_ names other files", NULL, -1},
    {"lr_scheduler =", "model_type = 'X'\ndata['seq_len'] = 1", "37:1: a value is changed after its assignment", NULL,
     -1},
};

static void changed_lines_are_read_or_told(void **state)
{
    (void)state;
    char *text = data("internevo.py");
    ek_job_overrides o = ek_job_overrides_none();
    o.data = 8;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *changed = with_line(text, lines[i].begin, lines[i].line);
        said s;
        ek_job job;
        ek_status status = read_with(changed, strlen(changed), &o, &s, &job);
        if (status != (lines[i].expected < 0 && !lines[i].get ? EK_ERR_INPUT : EK_OK))
            fail_msg("line %zu (%s): status %d: %s", i, lines[i].begin, status, s.text);
        else if (!strstr(s.text, lines[i].message))
            fail_msg("line %zu (%s): %s", i, lines[i].begin, s.text);
        else if (status == EK_OK && lines[i].get && lines[i].get(&job) != lines[i].expected)
            fail_msg("line %zu (%s) gives %d", i, lines[i].line ? lines[i].line : "none", lines[i].get(&job));
        if (status == EK_OK)
            ek_job_clear(&job);
        free(changed);
    }
    free(text);
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    char *text = data("internevo.py");
    said s;
    ek_job job;
    int n = 0;
    for (ek_status status = EK_ERR_MEMORY; status == EK_ERR_MEMORY; n++) {
        allocations_left = n + 1;
        status = read_with(text, strlen(text), NULL, &s, &job);
        allocations_left = -1;
        if (status != EK_OK && status != EK_ERR_MEMORY)
            fail_msg("allocation %d: %d %s", n, status, s.text);
    }
    assert_true(n > 50);
    ek_job_clear(&job);
    free(text);
}

static void damaged_files_are_read_or_refused(void **state)
{
    (void)state;
    char *text = data("internevo.py");
    assert_damaged_are_told(&text, 1, 1000, 3, "=()[]{},0179-.*\n'x#\"", NULL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_worked_out),         cmocka_unit_test(maps_and_lists_have_places),
        cmocka_unit_test(what_is_no_such_program_is_refused), cmocka_unit_test(what_grows_ends),
        cmocka_unit_test(a_file_is_the_job_of_its_arguments), cmocka_unit_test(changed_lines_are_read_or_told),
        cmocka_unit_test(memory_that_runs_out_is_told),       cmocka_unit_test(damaged_files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
