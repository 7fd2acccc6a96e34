/* Finds arguments by name: which of a script's words are arguments that count, and their values. A script stores
 * arguments in variables that a command at its end uses; unused variables are skipped, so that disabled arguments do
 * not count. */
#include "job/megatron_arguments.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"

typedef enum takes { NONE, ONE, SEVERAL } takes;

/* Its lines are numbers of ek__arguments.given; `as` is another spelling's main name. */
static const struct {
    const char *name;
    takes takes;
    const char *as;
} table[] = {
    {"num-layers", ONE, NULL},
    {"hidden-size", ONE, NULL},
    {"ffn-hidden-size", ONE, NULL},
    {"num-attention-heads", ONE, NULL},
    {"group-query-attention", NONE, NULL},
    {"num-query-groups", ONE, NULL},
    {"kv-channels", ONE, NULL},
    {"seq-length", ONE, NULL},
    {"encoder-seq-length", ONE, "seq-length"},
    {"max-position-embeddings", ONE, NULL},
    {"micro-batch-size", ONE, NULL},
    {"global-batch-size", ONE, NULL},
    {"tensor-model-parallel-size", ONE, NULL},
    {"pipeline-model-parallel-size", ONE, NULL},
    {"num-layers-per-virtual-pipeline-stage", ONE, NULL},
    {"num-virtual-stages-per-pipeline-rank", ONE, NULL},
    {"microbatch-group-size-per-virtual-pipeline-stage", ONE, NULL},
    {"context-parallel-size", ONE, NULL},
    {"cp-comm-type", SEVERAL, NULL},
    {"context-parallel-algo", ONE, NULL},
    {"ulysses-degree-in-cp", ONE, NULL},
    {"expert-model-parallel-size", ONE, NULL},
    {"moe-expert-parallel-size", ONE, "expert-model-parallel-size"},
    {"expert-tensor-parallel-size", ONE, NULL},
    {"moe-tp-extend-ep", NONE, NULL},
    {"data-parallel-size", ONE, NULL},
    {"sequence-parallel", NONE, NULL},
    {"bf16", NONE, NULL},
    {"fp16", NONE, NULL},
    {"use-distributed-optimizer", NONE, NULL},
    {"num-distributed-optimizer-instances", ONE, NULL},
    {"use-flash-attn", NONE, NULL},
    {"use-flash-attn-v1", NONE, "use-flash-attn"},
    {"use-flash-attn-v2", NONE, "use-flash-attn"},
    {"use-flash-attn-triton", NONE, "use-flash-attn"},
    {"no-masked-softmax-fusion", NONE, NULL},
    {"attention-backend", ONE, NULL},
    {"transformer-impl", ONE, NULL},
    {"swiglu", NONE, NULL},
    {"no-bias-swiglu-fusion", NONE, NULL},
    {"normalization", ONE, NULL},
    {"untie-embeddings-and-output-weights", NONE, NULL},
    {"position-embedding-type", ONE, NULL},
    {"use-rotary-position-embeddings", NONE, NULL},
    {"no-position-embedding", NONE, NULL},
    {"disable-bias-linear", NONE, NULL},
    {"add-qkv-bias", NONE, NULL},
    {"qk-layernorm", NONE, NULL},
    {"attention-dropout", ONE, NULL},
    {"hidden-dropout", ONE, NULL},
    {"fp32-residual-connection", NONE, NULL},
    {"recompute-granularity", ONE, NULL},
    {"recompute-activations", NONE, NULL},
    {"recompute-method", ONE, NULL},
    {"recompute-num-layers", ONE, NULL},
    {"recompute-activation-function", NONE, NULL},
    {"zero-bubble-v-schedule", NONE, NULL},
    {"zero-bubble-v-schedule-mem-setup", ONE, NULL},
    {"schedules-method", ONE, NULL},
    {"noop-layers", ONE, NULL},
    {"recompute-modules", SEVERAL, NULL},
    {"moe-layer-recompute", NONE, NULL},
    {"make-vocab-size-divisible-by", ONE, NULL},
    {"vocab-size", ONE, NULL},
    {"padded-vocab-size", ONE, NULL},
    {"pad-vocab-size-to", ONE, "padded-vocab-size"},
    {"tokenizer-type", ONE, NULL},
    {"merge-file", ONE, NULL},
    {"num-experts", ONE, NULL},
    {"moe-router-topk", ONE, NULL},
    {"topk", ONE, "moe-router-topk"},
    {"expert-interval", ONE, NULL},
    {"moe-ffn-hidden-size", ONE, NULL},
    {"moe-intermediate-size", ONE, "moe-ffn-hidden-size"},
    {"moe-shared-expert-intermediate-size", ONE, NULL},
    {"n-shared-experts", ONE, NULL},
    {"moe-layer-freq", ONE, NULL},
    {"first-k-dense-replace", ONE, NULL},
    {"moe-grouped-gemm", NONE, NULL},
    {"moe-expert-capacity-factor", ONE, NULL},
    {"moe-train-capacity-factor", ONE, "moe-expert-capacity-factor"},
    {"disable-moe-token-dropping", NONE, NULL},
    {"moe-token-dispatcher-type", ONE, NULL},
    {"moe-enable-deepep", NONE, NULL},
    {"moe-flex-dispatcher-backend", ONE, NULL},
    {"moe-router-num-groups", ONE, NULL},
    {"moe-router-group-topk", ONE, NULL},
    {"moe-router-dtype", ONE, NULL},
    {"multi-latent-attention", NONE, NULL},
    {"multi-head-latent-attention", NONE, "multi-latent-attention"},
    {"q-lora-rank", ONE, NULL},
    {"kv-lora-rank", ONE, NULL},
    {"qk-head-dim", ONE, NULL},
    {"qk-nope-head-dim", ONE, "qk-head-dim"},
    {"qk-pos-emb-head-dim", ONE, NULL},
    {"qk-rope-head-dim", ONE, "qk-pos-emb-head-dim"},
    {"v-head-dim", ONE, NULL},
    {"mtp-num-layers", ONE, NULL},
    {"accumulate-allreduce-grads-in-fp32", NONE, NULL},
    {"grad-reduce-in-bf16", NONE, NULL},
    {"use-precision-aware-optimizer", NONE, NULL},
    {"main-grads-dtype", ONE, NULL},
    {"main-params-dtype", ONE, NULL},
    {"exp-avg-dtype", ONE, NULL},
    {"exp-avg-sq-dtype", ONE, NULL},
    {"optimizer", ONE, NULL},
    {"no-gradient-accumulation-fusion", NONE, NULL},
    {"cross-entropy-loss-fusion", NONE, NULL},
    {"cross-entropy-fusion-impl", ONE, NULL},
    {"decoder-first-pipeline-num-layers", ONE, NULL},
    {"decoder-last-pipeline-num-layers", ONE, NULL},
    {"pipeline-model-parallel-layout", ONE, NULL},
    {"num-layer-list", ONE, NULL},
    {"account-for-embedding-in-pipeline-split", NONE, NULL},
    {"account-for-loss-in-pipeline-split", NONE, NULL},
    {"overlap-grad-reduce", NONE, NULL},
    {"overlap-param-gather", NONE, NULL},
    {"ddp-bucket-size", ONE, NULL},
    {"overlap-p2p-communication", NONE, NULL},
    {"no-overlap-p2p-communication", NONE, NULL},
    {"no-scatter-gather-tensors-in-pipeline", NONE, NULL},
    {"tp-comm-overlap", NONE, NULL},
    {"disable-tp-comm-overlap-ag", NONE, NULL},
    {"disable-tp-comm-overlap-rs", NONE, NULL},
    {"no-async-tensor-model-parallel-allreduce", NONE, NULL},
    {"use-ascend-mc2", NONE, NULL},
    {"use-mc2", NONE, "use-ascend-mc2"},
    {"use-ascend-coc", NONE, NULL},
    {"moe-shared-expert-overlap", NONE, NULL},
    {"overlap-moe-expert-parallel-comm", NONE, NULL},
    {"moe-fb-overlap", NONE, NULL},
    {"moe-alltoall-overlap-comm", NONE, NULL},
    {"moe-allgather-overlap-comm", NONE, NULL},
    {"fp8-format", ONE, NULL},
    {"fp8", ONE, "fp8-format"},
    {"fp8-hybrid", NONE, NULL},
    {"fp8-e4m3", NONE, NULL},
    {"fp8-recipe", ONE, NULL},
    {"fp8-param-gather", NONE, NULL},
    {"enable-cuda-graph", NONE, NULL},
    {"external-cuda-graph", NONE, NULL},
    {"cuda-graph-impl", ONE, NULL},
    {"optimizer-cpu-offload", NONE, NULL},
    {"optimizer-offload-fraction", ONE, NULL},
    {"use-torch-fsdp2", NONE, NULL},
    {"torch-fsdp2-no-reshard-after-forward", NONE, NULL},
    {"use-megatron-fsdp", NONE, NULL},
    {"use-custom-fsdp", NONE, "use-megatron-fsdp"},
    {"data-parallel-sharding-strategy", ONE, NULL},
    {"deepspeed", NONE, NULL},
    {"deepspeed_config", ONE, NULL},
    {"deepspeed-config", ONE, "deepspeed_config"},
    {"zero-stage", ONE, NULL},
    {"checkpoint-activations", NONE, NULL},
    {"checkpoint-num-layers", ONE, NULL},
    {"nproc_per_node", ONE, NULL},
    {"nproc-per-node", ONE, "nproc_per_node"},
    {"local_worker_num", ONE, "nproc_per_node"},
    {"num_gpus", ONE, "nproc_per_node"},
    {"num_nodes", ONE, "nnodes"},
    {"nnodes", ONE, NULL},
    {"worker_num", ONE, NULL},
};
enum { N_ARGUMENTS = sizeof table / sizeof *table };
static_assert((int)N_ARGUMENTS <= (int)EK__MAX_ARGUMENTS, "ek__arguments.given has a place for each");

/* Settings that change memory in ways that are not modelled. */
static const struct {
    const char *name, *effect;
} not_modelled[] = {
    {"cpu-offloading", "activations are predicted as if they stayed on the device"},
    {"swap-optimizer", "states of the optimizer are predicted as if they stayed on the device"},
    {"swap-attention", "activations are predicted as if they stayed on the device"},
    {"suggested-communication-unit-size", "a layer's weights are gathered at a time"},
    {"fsdp-double-buffer", "gathered weights are predicted without buffers that stay"},
    {"zero-contigious-gradients", NULL},
    {"cpu-optimizer", "states of the optimizer are predicted as if they stayed on the device"},
    {"reuse-fp32-param", "16-bit and 32-bit weights are predicted as if both were held"},
    {"no-fp8-wgrad", "gradients of weights are taken to be computed in 8 bits like the rest"},
    {"first-last-layers-bf16", "all layers are taken to compute in 8 bits"},
    {"delay-wgrad-compute", "gradients of weights are timed where they are without it"},
    {"defer-embedding-wgrad-compute", "the head's gradient is timed where it is without it"},
    {"overlap-param-gather-with-optimizer-step", "weights are timed as gathered after the optimizer"},
    {"overlap-p2p-communication-warmup-flush", "transfers of the first and last micro-batches are timed without it"},
    {"ddp-num-buckets", "gradients are timed in buckets of the usual size"},
    {"use-nccl-ub", "collectives are timed without it"},
    {"use-sharp", "collectives are timed as sums of the ranks, not of the switches"},
    {"no-rope-fusion", "the rotary embedding is timed as one operator"},
    {"no-bias-dropout-fusion", "bias and dropout are timed as one operator"},
    {"no-bias-gelu-fusion", "bias and activation are timed as one operator"},
    {"fp4-format", "everything is predicted as if it were 16-bit"},
    {"distribute-saved-activations", "kept inputs are predicted whole"},
    {"recompute-norm", "norms' outputs are predicted as kept"},
    {"lora-r", "all weights are predicted as trained"},
    {"moe-zero-memory", "experts' activations are predicted as kept"},
    {"moe-pad-expert-input-to-capacity", "experts are timed with the tokens that come, not padded"},
    {"moe-permutation-async-comm", "the exchange of tokens is timed as waited for"},
    {"mtp-mem-efficient-logits", "logits of multi-token prediction are predicted as kept"},
    {"rampup-batch-size", "the step is that of the whole global batch"},
    {"use-tp-pp-dp-mapping", "data-parallel groups are placed inside those of stages"},
    {"tp-2d", "tensor parallel groups are timed as cut in one direction"},
    {"use-nd-matmul", "tensor parallel groups are timed as cut in one direction"},
    {"use-nanopipe", "the step is simulated without it"},
    {"recompute-in-bubble", "recomputation is timed where it is without it"},
    {"recompute-in-advance", "recomputation is timed where it is without it"},
    {"adaptive-recompute-device-swap", "activations are predicted as if they stayed on the device"},
    {"adaptive-memory-optimization", "activations are predicted as if they stayed on the device"},
    {"hierarchical-context-parallel-sizes", "the ring of context parallel ranks is timed as one"},
    {"output-layer-slice-num", "the head's logits are predicted whole"},
    {"curriculum-learning-legacy", "sequences are predicted at their full length"},
    {"random-ltd", "all layers are predicted with all tokens"},
    {"enable-recompute-layers-per-pp-rank", "--recompute-num-layers is taken as that of each chunk"},
    {"use-fused-moe-token-permute-and-unpermute", NULL},
    {"num-workers", NULL},
    {"train-samples", NULL},
    {"decoder-seq-length", "the decoder of an encoder-decoder model is not modelled"},
    {"encoder-num-layers", "the encoder of an encoder-decoder model is not modelled"},
    {"window-size", "attention is predicted over the whole sequence"},
    {"vocab-file", NULL},
    {"num-floating-point-operations-file", NULL},
};
enum { N_NOT_MODELLED = sizeof not_modelled / sizeof *not_modelled };

/* Arguments of models with layers that are not modelled: state spaces and linear attention between attention layers, or
 * layers of individual sizes. A prediction without them would be for another model. */
static const char *const unlike_layers[] = {
    "hybrid-override-pattern",
    "hybrid-layer-pattern",
    "hybrid-attention-ratio",
    "is-hybrid-model",
    "linear-attention-freq",
    "linear-attention-type",
    "heterogeneous-layers-config-path",
    "heterogeneous-layers-config-encoded-json",
};

static int line_of(const char *name, size_t n)
{
    for (int i = 0; i < N_ARGUMENTS; i++)
        if (strncmp(table[i].name, name, n) == 0 && table[i].name[n] == '\0')
            return table[i].as ? line_of(table[i].as, strlen(table[i].as)) : i;
    return -1;
}

bool ek__argument_is_known(const char *name)
{
    return line_of(name, strlen(name)) >= 0;
}

static const ek__argument *find(const ek__arguments *a, const char *name)
{
    int line = line_of(name, strlen(name));
    assert(line >= 0);
    return &a->given[line];
}

static ek_origin place(const ek__arguments *a, const ek__word *word)
{
    return (ek_origin){a->source->path, word->line, word->column};
}

bool ek__arguments_are_in(const char *text)
{
    return strstr(text, "--num-layers") || strstr(text, "--tensor-model-parallel-size");
}

/* ---- mistyped names ---- */

static void warn_unknown(const ek__arguments *a, const ek__word *word, const char *name, int n)
{
    enum { MOST = 2, LEAST_LENGTH = 8 };
    const char *guess = NULL;
    int nearest = MOST + 1;
    char typed[49];
    snprintf(typed, sizeof typed, "%.*s", n, name);
    for (int i = 0; i < N_NOT_MODELLED; i++) {
        if (strncmp(not_modelled[i].name, name, (size_t)n) != 0 || not_modelled[i].name[n] != '\0')
            continue;
        if (not_modelled[i].effect)
            ek__warn(a->source->listener, place(a, word), "--%.*s is not modelled: %s", n, name,
                     not_modelled[i].effect);
        return;
    }
    for (int i = 0; i < N_ARGUMENTS && n >= LEAST_LENGTH; i++) {
        int here = (int)ek__edit_distance(typed, table[i].name);
        if (here < nearest) {
            nearest = here;
            guess = table[i].name;
        }
    }
    if (guess)
        ek__warn_of(a->source->listener, "unknown-key", place(a, word),
                    "--%.*s is not a known argument and is ignored; did you mean --%s?", n, name, guess);
}

/* ---- collecting ---- */

static bool is_name(const ek__word *word)
{
    return word->text[0] == '-' && word->text[1] == '-' && word->text[2] != '\0';
}

/* Is the word part of an unused variable, in a script that uses others? */
static bool is_left_out(const ek__words *words, const ek__word *word, bool any_referred)
{
    return any_referred && word->owner >= 0 && !words->variable[word->owner].referred;
}

static bool refers_to_arguments(const ek__words *words)
{
    for (int i = 0; i < words->n; i++)
        if (words->word[i].owner >= 0 && is_name(&words->word[i]) && words->variable[words->word[i].owner].referred)
            return true;
    return false;
}

/* The number of words after a name that are its values. */
static int count_values(const ek__words *words, int at, takes kind)
{
    int n = 0, most = kind == NONE ? 0 : kind == ONE ? 1 : INT_MAX;
    for (int i = at + 1; i < words->n && n < most; i++, n++)
        if (words->word[i].group != words->word[at].group || is_name(&words->word[i]))
            break;
    return n;
}

static ek_status parse(ek__arguments *a, int at)
{
    const ek__word *word = &a->words.word[at];
    const char *name = word->text + 2;
    size_t n = strcspn(name, "=");
    int line = line_of(name, n);
    for (size_t i = 0; i < sizeof unlike_layers / sizeof *unlike_layers && line < 0; i++)
        if (strncmp(unlike_layers[i], name, n) == 0 && unlike_layers[i][n] == '\0')
            return ek__fail(a->source->err, EK_ERR_INPUT, place(a, word),
                            "--%s gives layers that differ from one another, which is not modelled; such a model is "
                            "not predicted",
                            unlike_layers[i]);
    if (line < 0) {
        warn_unknown(a, word, name, n < INT_MAX ? (int)n : 0);
        return EK_OK;
    }
    ek__argument now = {word, word + 1, count_values(&a->words, at, table[line].takes)}, *before = &a->given[line];
    if (name[n] == '=') {
        ek__word *value = ek__pool_alloc(a->words.pool, 1, sizeof *value);
        if (!value)
            return ek__no_memory(a->source->err);
        *value = *word;
        value->text = name + n + 1;
        value->column += (int)n + 3;
        now.value = value;
        now.n_values = 1;
    }
    if (before->name && before->n_values > 0 && now.n_values > 0 && strcmp(before->value->text, now.value->text) != 0)
        ek__warn_of(a->source->listener, "argument-twice", place(a, word),
                    "--%.*s is given again, before on line %d; the last one counts", (int)n, name, before->name->line);
    *before = now;
    return EK_OK;
}

static void warn_left_out(const ek__arguments *a, const ek__word *word)
{
    ek__warn_of(a->source->listener, "setting-without-effect", place(a, word),
                "the arguments in %s are ignored, since nothing in the script refers to it",
                a->words.variable[word->owner].name);
}

ek_status ek__arguments_read(const ek__job_source *source, ek__arguments *out)
{
    ek__arguments a = {.source = source};
    ek_status status =
        ek__words_read(source->path, source->text, source->size, EK__DECIDED_BRANCHES, &a.words, source->err);
    if (status)
        return status;
    bool any = a.any_referred = refers_to_arguments(&a.words);
    int told = -1;
    for (int i = 0; i < a.words.n && status == EK_OK; i++) {
        const ek__word *word = &a.words.word[i];
        if (word->text[0] == '\0' && word->twice)
            ek__warn(source->listener, place(&a, word), "%s had another value further up; it is taken as empty",
                     word->twice);
        if (!is_name(word))
            continue;
        if (!is_left_out(&a.words, word, any)) {
            status = parse(&a, i);
        } else if (word->owner != told) {
            told = word->owner;
            warn_left_out(&a, word);
        }
    }
    if (status)
        ek__arguments_clear(&a);
    else
        *out = a;
    return status;
}

ek_status ek__arguments_start(const ek__job_source *source, ek__arguments *out)
{
    ek__arguments a = {.source = source, .put = true, .words = {.pool = ek__pool_new()}};
    if (!a.words.pool)
        return ek__no_memory(source->err);
    *out = a;
    return EK_OK;
}

ek_status ek__arguments_put(ek__arguments *a, const char *name, const char *const *values, int n, const char *unknown,
                            ek_origin at)
{
    ek__word *word = ek__pool_alloc(a->words.pool, (size_t)n + 1, sizeof *word);
    int line = line_of(name, strlen(name));
    assert(line >= 0 && n >= 0 && a->put);
    if (!word)
        return ek__no_memory(a->source->err);
    for (int i = 0; i <= n; i++) {
        const char *text = i == 0 ? name : values[i - 1];
        word[i] = (ek__word){.text = ek__pool_text(a->words.pool, text, strlen(text)),
                             .line = at.line,
                             .column = at.column,
                             .owner = -1};
        if (i > 0 && unknown)
            word[i].unknown = ek__pool_text(a->words.pool, unknown, strlen(unknown));
        if (!word[i].text || (i > 0 && unknown && !word[i].unknown))
            return ek__no_memory(a->source->err);
    }
    a->given[line] = (ek__argument){word, word + 1, n};
    return EK_OK;
}

void ek__arguments_clear(ek__arguments *a)
{
    ek__words_clear(&a->words);
    *a = (ek__arguments){0};
}

/* ---- words ---- */

bool ek__argument_is(const ek__arguments *a, int at, const char *name)
{
    const ek__word *word = &a->words.word[at];
    int line = line_of(name, strlen(name));
    return line >= 0 && is_name(word) && !is_left_out(&a->words, word, a->any_referred) &&
           line_of(word->text + 2, strcspn(word->text + 2, "=")) == line;
}

int ek__argument_values(const ek__arguments *a, int at)
{
    const char *name = a->words.word[at].text + 2;
    int line = line_of(name, strcspn(name, "="));
    return line < 0 || strchr(name, '=') ? 0 : count_values(&a->words, at, table[line].takes);
}

/* ---- values ---- */

bool ek__argument_given(const ek__arguments *a, const char *name)
{
    return find(a, name)->name != NULL;
}

ek_origin ek__argument_at(const ek__arguments *a, const char *name)
{
    const ek__argument *argument = find(a, name);
    return argument->name ? place(a, argument->name) : (ek_origin){a->source->path, 0, 0};
}

ek_status ek__argument_missing(const ek__arguments *a, const char *name, const char *what)
{
    return ek__fail(a->source->err, EK_ERR_INPUT, ((ek_origin){a->source->path, 0, 0}), "--%s is missing; give %s",
                    name, what);
}

void ek__argument_warn_idle(const ek__arguments *a, const char *name, const char *text)
{
    ek__warn_of(a->source->listener, "setting-without-effect", ek__argument_at(a, name), "%s", text);
}

/* The first value as text, which must be known. */
static ek_status value_of(const ek__arguments *a, const char *name, const ek__word **out)
{
    const ek__argument *argument = find(a, name);
    ek_error *err = a->source->err;
    if (argument->n_values == 0)
        return ek__fail(err, EK_ERR_INPUT, place(a, argument->name), "--%s has no value; write one", name);
    const ek__word *value = argument->value;
    if (value->unknown)
        return ek__fail(err, EK_ERR_INPUT, place(a, value),
                        "--%s is given as %.60s, with a value known only at run time; write the value there%s", name,
                        value->unknown, a->put ? "" : ", or put a line NAME=VALUE with a plain number above");
    if (value->twice)
        ek__warn(a->source->listener, place(a, value), "--%s comes from %s, which has several values; '%.40s' is taken",
                 name, value->twice, value->text);
    *out = value;
    return EK_OK;
}

const ek__word *ek__argument_value(const ek__arguments *a, const char *name, int index)
{
    const ek__argument *argument = find(a, name);
    return index < argument->n_values && !argument->value[index].unknown ? &argument->value[index] : NULL;
}

static ek_status fail_value(const ek__arguments *a, const char *name, const ek__word *value, const char *expected)
{
    return ek__fail(a->source->err, EK_ERR_INPUT, place(a, value), "--%s is '%.40s', expected %s; correct it", name,
                    value->text, expected);
}

ek_status ek__argument_number(const ek__arguments *a, const char *name, double min, double max, double *out)
{
    const ek__word *word = NULL;
    double value = 0;
    if (!ek__argument_given(a, name))
        return EK_OK;
    ek_status status = value_of(a, name, &word);
    if (status)
        return status;
    if (!ek__text_is_number(word->text, &value) || value < min || value > max) {
        char expected[80];
        ek__snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
        return fail_value(a, name, word, expected);
    }
    *out = value;
    return EK_OK;
}

ek_status ek__argument_int(const ek__arguments *a, const char *name, int min, int max, int *out)
{
    const ek__word *word = NULL;
    double value = 0;
    if (!ek__argument_given(a, name))
        return EK_OK;
    ek_status status = value_of(a, name, &word);
    if (status)
        return status;
    bool whole = word->text[strspn(word->text, "+-0123456789")] == '\0';
    if (!whole || !ek__text_is_number(word->text, &value) || value < min || value > max) {
        char expected[80];
        snprintf(expected, sizeof expected, "a whole number from %d to %d", min, max);
        return fail_value(a, name, word, expected);
    }
    *out = (int)value;
    return EK_OK;
}

ek_status ek__argument_text(const ek__arguments *a, const char *name, const char **out)
{
    const ek__word *word = NULL;
    if (!ek__argument_given(a, name))
        return EK_OK;
    ek_status status = value_of(a, name, &word);
    if (status == EK_OK)
        *out = word->text;
    return status;
}

ek_status ek__argument_word(const ek__arguments *a, const char *name, const char *const *words, int *out)
{
    const ek__word *word = NULL;
    if (!ek__argument_given(a, name))
        return EK_OK;
    ek_status status = value_of(a, name, &word);
    if (status)
        return status;
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], word->text) == 0) {
            *out = i;
            return EK_OK;
        }
    }
    char expected[200] = "one of";
    size_t n = strlen(expected);
    for (int i = 0; words[i] && n < sizeof expected; i++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "%s %s", i ? "," : "", words[i]);
    return fail_value(a, name, word, expected);
}
