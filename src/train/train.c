/* Reads the training YAML of MindFormers for the shapes that memory and time depend on. Models name the same shape
 * differently, so each shape is a short list of names, the first that the file has. The file belongs to another program
 * and is full of other settings: unknown keys are no news here. */
#include "evenkeel/train.h"

#include <math.h>
#include <stdlib.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "evenkeel/layers.h"

enum {
    MAX_SIZE = 1 << 24, /* of any dimension of a tensor: far beyond any model */
    MAX_SEQUENCE = 1 << 28,
    MAX_PARALLEL = 1 << 20,
    MAX_MULTIPLE = 1 << 16,
    DEFAULT_MULTIPLE = 256,
};

/* Most of hidden_size and of the multiplier: with them the intermediate size stays within int. */
enum { MAX_HIDDEN = 1 << 20, MAX_MULTIPLIER = 100 };

/* The names of a shape, NULL at the end. */
typedef const char *names[6];

void ek_train_clear(ek_train *train)
{
    free(train->path);
    *train = (ek_train){0};
}

static const ek__node *find(const ek__node *map, const names name)
{
    const ek__node *node = NULL;
    for (int i = 0; name[i] && !node; i++)
        node = ek__get(map, name[i]);
    return node;
}

/* A whole number under one of its names; when there is none *out stays. */
static ek_status read_optional(const ek__in *in, const ek__node *map, const names name, int max, const char *advice,
                               int *out)
{
    const ek__node *node = map ? find(map, name) : NULL;
    return node ? ek__int(in, node, 1, max, advice, out) : EK_OK;
}

static ek_status read_required(const ek__in *in, const ek__node *map, const names name, int max, const char *advice,
                               int *out)
{
    const ek__node *node = find(map, name);
    if (!node) {
        ek_status status = ek__require(in, map, name[0], advice, &node);
        if (status)
            return status;
    }
    return ek__int(in, node, 1, max, advice, out);
}

static ek_status read_head_dim(const ek__in *in, const ek__node *model, ek_train *train)
{
    static const char advice[] = "it is the size of one attention head";
    static const names stated = {"head_dim", "kv_channels", NULL};
    static const names latent[] = {{"qk_nope_head_dim", NULL}, {"qk_rope_head_dim", NULL}, {"v_head_dim", NULL}};
    ek_status status = read_optional(in, model, stated, MAX_SIZE, advice, &train->head_dim);
    if (status || train->head_dim)
        return status;
    int part[3] = {0};
    for (int i = 0; i < 3 && status == EK_OK; i++)
        status = read_optional(in, model, latent[i], MAX_SIZE, advice, &part[i]);
    if (status)
        return status;
    if (part[0] && part[1] && part[2]) {
        train->head_dim = (part[0] + part[1] + part[2] + 1) / 2;
        return EK_OK;
    }
    if (train->hidden_size % train->n_heads != 0)
        return ek__fail_at(in, model,
                           "has %d heads, which do not divide hidden_size %d; correct one, or give 'head_dim: N'",
                           train->n_heads, train->hidden_size);
    train->head_dim = train->hidden_size / train->n_heads;
    return EK_OK;
}

static ek_status read_intermediate(const ek__in *in, const ek__node *model, ek_train *train)
{
    static const names stated = {"intermediate_size", "ffn_hidden_size", "ffn_hidden", NULL};
    static const names multiple_name = {"multiple_of", NULL};
    static const char advice[] = "give the width of the feed-forward layer, or multiple_of and ffn_dim_multiplier";
    const ek__node *multiplier_node = ek__get(model, "ffn_dim_multiplier"), *multiple_node = find(model, multiple_name);
    if (find(model, stated) || (!multiplier_node && !multiple_node))
        return read_required(in, model, stated, MAX_SIZE, advice, &train->intermediate_size);
    int multiple = DEFAULT_MULTIPLE;
    double multiplier = NAN;
    ek_status status = read_optional(in, model, multiple_name, MAX_MULTIPLE,
                                     "the feed-forward layer's width is rounded up to it", &multiple);
    if (status == EK_OK && multiplier_node)
        status = ek__number(in, multiplier_node, 0.01, MAX_MULTIPLIER, "it scales the feed-forward layer's width",
                            &multiplier);
    if (status)
        return status;
    int x = 4 * train->hidden_size;
    if (multiplier_node)
        x = (int)((multiplier + 0.01) * x);
    x = (int)(2.0 * x / 3);
    train->intermediate_size = (x + multiple - 1) / multiple * multiple;
    return EK_OK;
}

static ek_status read_model(const ek__in *in, const ek__node *model, ek_train *train)
{
    static const names hidden = {"hidden_size", NULL}, heads = {"num_heads", "num_attention_heads", "n_heads", NULL},
                       sequence = {"seq_length", "seq_len", NULL},
                       vocabulary = {"vocab_size", "padded_vocab_size", NULL};
    ek_status status =
        read_required(in, model, hidden, MAX_HIDDEN, "give the model's width, 'hidden_size: N'", &train->hidden_size);
    if (status == EK_OK)
        status = read_required(in, model, heads, MAX_SIZE, "give the attention heads of a layer, 'num_heads: N'",
                               &train->n_heads);
    if (status == EK_OK)
        status = read_required(in, model, sequence, MAX_SEQUENCE, "give the tokens of a sequence, 'seq_length: N'",
                               &train->seq_length);
    if (status == EK_OK)
        status = read_required(in, model, vocabulary, MAX_SIZE, "give the size of the vocabulary, 'vocab_size: N'",
                               &train->vocab_size);
    if (status == EK_OK)
        status = read_head_dim(in, model, train);
    if (status == EK_OK)
        status = read_intermediate(in, model, train);
    if (status == EK_OK) {
        train->seq_origin = ek__node_origin(in->doc, find(model, sequence));
        train->seq_origin.file = train->path;
    }
    return status;
}

static ek_status read_parallel(const ek__in *in, const ek__node *parallel, ek_train *train)
{
    static const names tensor = {"model_parallel", NULL}, context = {"context_parallel", NULL},
                       stages = {"pipeline_stage", NULL}, micro_batches = {"micro_batch_num", NULL},
                       pieces = {"seq_split_num", NULL};
    static const char advice[] = "correct it";
    ek_status status =
        read_required(in, parallel, tensor, MAX_PARALLEL,
                      "give the devices that share a layer, 'model_parallel: 1' for one", &train->model_parallel);
    if (status == EK_OK)
        status = read_optional(in, parallel, context, MAX_PARALLEL, advice, &train->context_parallel);
    if (status == EK_OK)
        status = read_optional(in, parallel, stages, EK_MAX_STAGES, advice, &train->n_stages);
    if (status == EK_OK)
        status = read_optional(in, parallel, micro_batches, EK_MAX_MICRO_BATCHES, advice, &train->n_micro_batches);
    return status ? status : read_optional(in, parallel, pieces, EK_MAX_MICRO_BATCHES, advice, &train->n_pieces);
}

/* pp_interleave_num counts only where parallel.pipeline_config.pipeline_interleave is on. */
static ek_status read_chunks(const ek__in *in, const ek__node *root, const ek__node *model, ek_train *train)
{
    static const names chunks = {"pp_interleave_num", NULL};
    const ek__node *parallel = NULL, *pipeline = NULL;
    bool on = false;
    ek_status status = read_optional(in, model, chunks, EK_MAX_CHUNKS, "it is the chunks of a stage", &train->n_chunks);
    if (status == EK_OK)
        status = ek__optional_map(in, root, "parallel", &parallel);
    if (status == EK_OK && parallel)
        status = ek__optional_map(in, parallel, "pipeline_config", &pipeline);
    const ek__node *interleave = status == EK_OK && pipeline ? ek__get(pipeline, "pipeline_interleave") : NULL;
    if (interleave)
        status = ek__bool(in, interleave, "it switches pp_interleave_num on", &on);
    if (train->n_chunks && !on)
        train->n_chunks = 1;
    return status;
}

static ek_status read_batch(const ek__in *in, const ek__node *root, const ek__node *model, ek_train *train)
{
    static const names batch = {"batch_size", NULL};
    static const char advice[] = "it is the sequences of a micro-batch";
    const ek__node *runner = NULL;
    ek_status status = ek__optional_map(in, root, "runner_config", &runner);
    if (status == EK_OK)
        status = read_optional(in, runner, batch, MAX_SIZE, advice, &train->batch_size);
    if (status == EK_OK && !train->batch_size)
        status = read_optional(in, model, batch, MAX_SIZE, advice, &train->batch_size);
    if (status == EK_OK && !train->batch_size)
        status = ek__fail_at(
            in, root, "does not say how many sequences a micro-batch has; give 'batch_size: N' below runner_config");
    return status;
}

static ek_status read_root(const ek__in *in, const ek__node *root, ek_train *train)
{
    static const char model_advice[] = "write hidden_size, num_heads, seq_length, vocab_size and others below it";
    const ek__node *model, *config = NULL, *parallel;
    ek_status status = ek__expect(in, root, EK__MAP, "a training file has model, parallel_config and others");
    if (status == EK_OK)
        status = ek__require_map(in, root, "model", "a training file has model.model_config with the model's shapes",
                                 &model);
    if (status == EK_OK)
        status = ek__require_map(in, model, "model_config", model_advice, &config);
    if (status == EK_OK)
        status = read_model(in, config, train);
    if (status == EK_OK)
        status = ek__require_map(in, root, "parallel_config", "write model_parallel below it", &parallel);
    if (status == EK_OK)
        status = read_parallel(in, parallel, train);
    if (status == EK_OK)
        status = read_chunks(in, root, config, train);
    return status ? status : read_batch(in, root, config, train);
}

ek_status ek_train_read(const char *path, ek_train *out, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__config_read_with_aliases(path, &doc, err);
    if (status)
        return status;
    const ek__in in = {doc, NULL, err};
    ek_train train = {.path = ek__strdup(ek__config_name(doc))};
    status = train.path ? read_root(&in, ek__config_root(doc), &train) : ek__no_memory(err);
    ek__config_free(doc);
    if (status == EK_OK)
        *out = train;
    else
        ek_train_clear(&train);
    return status;
}

/* The product cannot overflow: it is looked at after each factor, which is at most MAX_PARALLEL. */
static ek_status count_ranks(const ek__in *in, const ek__node *parallel, ek_train_devices *devices)
{
    const int factor[] = {devices->data_parallel, devices->model_parallel, devices->context_parallel,
                          devices->n_stages};
    long long ranks = 1;
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++) {
        ranks *= factor[i];
        if (ranks > EK_MAX_RANKS)
            return ek__fail_at(
                in, parallel,
                "asks for more than %d devices: data_parallel %d, model_parallel %d, context_parallel %d, "
                "pipeline_stage %d; correct them",
                EK_MAX_RANKS, factor[0], factor[1], factor[2], factor[3]);
    }
    devices->n_ranks = (int)ranks;
    return EK_OK;
}

static ek_status read_devices(const ek__in *in, const ek__node *root, ek_train_devices *devices)
{
    static const names data = {"data_parallel", NULL}, tensor = {"model_parallel", NULL},
                       context = {"context_parallel", NULL}, stages = {"pipeline_stage", NULL};
    static const char advice[] = "correct it";
    const ek__node *parallel = NULL;
    ek_status status = ek__expect(in, root, EK__MAP, "a training file has parallel_config and others");
    if (status == EK_OK)
        status = ek__require_map(in, root, "parallel_config",
                                 "write data_parallel, model_parallel and pipeline_stage below it", &parallel);
    if (status == EK_OK)
        status = read_optional(in, parallel, data, MAX_PARALLEL, advice, &devices->data_parallel);
    if (status == EK_OK)
        status = read_optional(in, parallel, tensor, MAX_PARALLEL, advice, &devices->model_parallel);
    if (status == EK_OK)
        status = read_optional(in, parallel, context, MAX_PARALLEL, advice, &devices->context_parallel);
    if (status == EK_OK)
        status = read_optional(in, parallel, stages, EK_MAX_STAGES, advice, &devices->n_stages);
    return status ? status : count_ranks(in, parallel, devices);
}

ek_status ek_train_read_devices(const char *path, ek_train_devices *out, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__config_read_with_aliases(path, &doc, err);
    if (status)
        return status;
    const ek__in in = {doc, NULL, err};
    ek_train_devices devices = {.data_parallel = 1, .model_parallel = 1, .context_parallel = 1};
    status = read_devices(&in, ek__config_root(doc), &devices);
    ek__config_free(doc);
    if (status == EK_OK)
        *out = devices;
    return status;
}
