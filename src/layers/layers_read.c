/* Reads a layer file: the original tool's JSON of models, with several kinds of body layer and with measured times or
 * coefficients per recompute kind. HEAD and TAIL entries are summed into one extra each, since all of them are on the
 * first and the last chunk. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "layers/layers.h"

#define PARTS_TOLERANCE 1e-6 /* of a sum of parts that were printed rounded */
#define TIME_REMEDY     "give it in the file or as --time head=0.1,body=3.1,tail=3.5"

typedef enum layer_type { HEAD, BODY, TAIL, N_TYPES } layer_type;
static const char *const type_name[N_TYPES] = {"HEAD", "BODY", "TAIL"};

/* A reading in progress; `layers` is passed on only if all of it is valid. */
typedef struct reader {
    ek__in in;
    ek_times times; /* overrides, NAN if none */
    ek_layers layers;
    int n_extra[N_TYPES]; /* layers summed into head and tail */
    bool split_missing;   /* some layer has no split of its backward time */
} reader;

static ek_status read_type(reader *r, const ek__node *entry, layer_type *out)
{
    static const char advice[] = "write \"HEAD\", \"BODY\" or \"TAIL\"";
    const ek__node *node;
    ek_status status = ek__require(&r->in, entry, "type", advice, &node);
    if (status == EK_OK)
        status = ek__expect(&r->in, node, EK__SCALAR, advice);
    if (status)
        return status;
    for (int t = 0; t < N_TYPES; t++) {
        if (strcmp(node->text, type_name[t]) == 0) {
            *out = (layer_type)t;
            return EK_OK;
        }
    }
    char found[96];
    ek__node_describe(node, found, sizeof found);
    return ek__fail_at(&r->in, node, "is %s, which is no type of layer; %s", found, advice);
}

/* An optional number. */
static ek_status read_optional(reader *r, const ek__node *entry, const char *key, double min, double max,
                               const char *advice, double *out)
{
    const ek__node *node = ek__get(entry, key);
    return node ? ek__number(&r->in, node, min, max, advice, out) : EK_OK;
}

static ek_status read_forward(reader *r, const ek__node *entry, layer_type type, double given, double *out)
{
    if (!isnan(given)) {
        *out = given;
        return EK_OK;
    }
    const ek__node *node = ek__get(entry, "forward_time");
    if (!node) {
        ek_status status = ek__require(&r->in, entry, "time", TIME_REMEDY, &node);
        if (status)
            return status;
    }
    double least = type == BODY ? EK__MIN_TIME : 0.0;
    return ek__number(&r->in, node, least, EK__MAX_TIME, "it is the forward time of one layer and micro-batch", out);
}

/* The two parts of the backward time, both or neither. `*given` is set accordingly. */
static ek_status read_parts(reader *r, const ek__node *entry, double *input, double *weight, bool *given)
{
    static const char advice[] = "it is that part of the backward time of one layer and micro-batch";
    static const char both[] = "give the gradient of the input and that of the weights both, or neither";
    const ek__node *of_input = ek__get(entry, EK__KEY_INPUT_TIME), *of_weight = ek__get(entry, EK__KEY_WEIGHT_TIME);
    *given = of_input || of_weight;
    if (!*given)
        return EK_OK;
    ek_status status = ek__require(&r->in, entry, EK__KEY_INPUT_TIME, both, &of_input);
    if (status == EK_OK)
        status = ek__require(&r->in, entry, EK__KEY_WEIGHT_TIME, both, &of_weight);
    if (status == EK_OK)
        status = ek__number(&r->in, of_input, 0.0, EK__MAX_TIME, advice, input);
    if (status == EK_OK)
        status = ek__number(&r->in, of_weight, 0.0, EK__MAX_TIME, advice, weight);
    const ek__node *sum = ek__get(entry, ek__layer_keys[0].time);
    double whole = 0;
    if (status == EK_OK && sum)
        status = ek__number(&r->in, sum, 0.0, EK__MAX_TIME, advice, &whole);
    if (status == EK_OK && sum && fabs(whole - (*input + *weight)) > PARTS_TOLERANCE * whole)
        return ek__fail_at(&r->in, sum,
                           "is %g, but " EK__KEY_INPUT_TIME " and " EK__KEY_WEIGHT_TIME
                           " add up to %g; correct one of the three or leave it out",
                           whole, *input + *weight);
    return status;
}

/* Backward times by the rule in evenkeel/layers.h. A time from the command line replaces the file's whole measurement:
 * a backward time measured with another forward time would not fit it. */
static ek_status read_backward(reader *r, const ek__node *entry, bool overridden, ek_layer *layer)
{
    static const char coefficient_advice[] = "it is the share by which the backward pass grows";
    static const char time_advice[] = "it is the whole backward time of one layer and micro-batch";
    double coefficient = 0.0;
    ek_status status =
        read_optional(r, entry, ek__layer_keys[0].coefficient, -1.0, 1e6, coefficient_advice, &coefficient);
    double backward = EK_BACKWARD_RATIO * layer->forward_time * (1.0 + coefficient), input = 0.0, weight = 0.0;
    bool parts = false;
    if (status == EK_OK)
        status = read_parts(r, entry, &input, &weight, &parts);
    if (status == EK_OK && parts && overridden) {
        ek__warn_at(&r->in, ek__get(entry, EK__KEY_WEIGHT_TIME),
                    "is not used: --time replaces the times of this layer");
        parts = false;
    }
    if (parts)
        backward = input + weight;
    for (int k = 0; k < EK_N_RECOMPUTE && status == EK_OK; k++) {
        const ek__node *node = ek__get(entry, ek__layer_keys[k].time);
        double own = NAN;
        if (k > 0) {
            coefficient = ek_recompute_coefficient[k];
            status = read_optional(r, entry, ek__layer_keys[k].coefficient, 0.0, 1e6, coefficient_advice, &coefficient);
        }
        if (status == EK_OK && node)
            status = ek__number(&r->in, node, 0.0, EK__MAX_TIME, time_advice, &own);
        if (status)
            break;
        if (node && overridden)
            ek__warn_at(&r->in, node, "is not used: --time replaces the times of this layer");
        bool use_own = node && !overridden;
        if (k == 0 && use_own)
            backward = own;
        layer->backward_time[k] = k == 0 ? backward : use_own ? own : backward * (1.0 + coefficient);
        if (use_own && own < backward)
            ek__warn_at(&r->in, node, "is %g, shorter than the backward pass without recomputation, %g; it must be %s",
                        own, backward, "the whole backward time, not the part recomputed");
    }
    layer->weight_time = parts ? fmin(weight, backward) : EK_WEIGHT_TIME_SHARE * backward;
    r->split_missing |= !parts && backward > 0;
    return status;
}

/* Coefficients and sums must stay within the allowed ranges, otherwise the layers could not be written and read
 * again. */
static ek_status check_times(reader *r, const ek__node *node, const ek_layer *layer)
{
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (layer->backward_time[k] > EK__MAX_TIME || layer->forward_time > EK__MAX_TIME)
            return ek__fail_at(&r->in, node,
                               "comes to a backward time of %g, at most %g is possible; correct its times "
                               "or coefficients",
                               layer->backward_time[k], EK__MAX_TIME);
    return EK_OK;
}

static ek_status read_memory(reader *r, const ek__node *entry, layer_type type, ek_layer *layer)
{
    static const char advice[] = "it is in MB";
    if (!ek__get(entry, "memory_parameter"))
        ek__warn_at(&r->in, entry, "has no memory_parameter; it counts as 0 MB");
    /* A head or tail that a decomposition separated includes the constant part, which may be negative. */
    double least = type == BODY ? 0.0 : -EK__MAX_MEMORY_MB;
    ek_status status =
        read_optional(r, entry, "memory_parameter", least, EK__MAX_MEMORY_MB, advice, &layer->parameter_mb);
    for (int k = 0; k < EK_N_RECOMPUTE && status == EK_OK; k++) {
        double memory = 0.0;
        status = read_optional(r, entry, ek__layer_keys[k].memory, 0.0, EK__MAX_MEMORY_MB, advice, &memory);
        if (type != BODY && k > 0) {
            if (memory > 0.0)
                ek__warn_at(&r->in, ek__get(entry, ek__layer_keys[k].memory),
                            "is not used: only BODY layers are recomputed");
            continue;
        }
        layer->activation_mb[k] = memory;
        layer->modelled[k] = memory > 0.0 || type != BODY;
    }
    return status;
}

/* The gradient of the weights is a part of every backward time, also of one shorter than the backward pass without
 * recomputation (which gives a warning). */
static void cut_weight_time(ek_layer *layer)
{
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (layer->modelled[k])
            layer->weight_time = fmin(layer->weight_time, layer->backward_time[k]);
}

/* HEAD and TAIL: add the entry's layers to the one extra. */
static void add_extra(ek_layer *sum, const ek_layer *extra, bool first)
{
    if (first)
        memcpy(sum->name, extra->name, sizeof sum->name);
    double n = extra->n_layers;
    sum->forward_time += n * extra->forward_time;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        sum->backward_time[k] += n * extra->backward_time[k];
        sum->activation_mb[k] += n * extra->activation_mb[k];
    }
    sum->weight_time += n * extra->weight_time;
    sum->parameter_mb += n * extra->parameter_mb;
}

static ek_status add_body(reader *r, const ek__node *entry, const ek_layer *body)
{
    ek_layers *layers = &r->layers;
    if (layers->n_body == EK_MAX_BODY_KINDS)
        return ek__fail_at(&r->in, entry, "is BODY number %d, at most %d are possible; merge equal ones",
                           layers->n_body + 1, EK_MAX_BODY_KINDS);
    if (body->n_layers > EK_MAX_LAYERS - layers->n_layers)
        return ek__fail_at(&r->in, entry, "brings the model to %d layers, at most %d are possible; correct nb_layer",
                           layers->n_layers + body->n_layers, EK_MAX_LAYERS);
    layers->body[layers->n_body++] = *body;
    layers->n_layers += body->n_layers;
    return EK_OK;
}

static ek_status read_entry(reader *r, const ek__node *entry)
{
    static const char *const known[] = {"name",
                                        "type",
                                        "model_name",
                                        "nb_layer",
                                        "time",
                                        "forward_time",
                                        "memory_parameter",
                                        "memory_activation",
                                        "memory_select_rec",
                                        "memory_select_comm",
                                        "memory_both_comm_select",
                                        "memory_recompute",
                                        "backward_time",
                                        EK__KEY_INPUT_TIME,
                                        EK__KEY_WEIGHT_TIME,
                                        "select_rec_time",
                                        "select_comm_time",
                                        "both_comm_select_time",
                                        "recompute_time",
                                        "backward_coef",
                                        "select_rec_coef",
                                        "select_comm_coef",
                                        "both_comm_select_coef",
                                        "recompute_coef",
                                        NULL};
    layer_type type = BODY;
    ek_layer layer = {.n_layers = 1};
    ek_status status = ek__expect(&r->in, entry, EK__MAP, "write {\"name\": ..., \"type\": \"BODY\", ...}");
    if (status == EK_OK)
        status = read_type(r, entry, &type);
    if (status)
        return status;
    ek__warn_unknown_keys(&r->in, entry, known);
    const ek__node *name = ek__get(entry, "name"), *count = ek__get(entry, "nb_layer");
    memcpy(layer.name, type_name[type], strlen(type_name[type]) + 1);
    if (name)
        status = ek__string(&r->in, name, sizeof layer.name, "name the layer", layer.name);
    if (status == EK_OK && (count || type == BODY))
        status = ek__require(&r->in, entry, "nb_layer", "set the number of these consecutive layers", &count);
    if (status == EK_OK && count)
        status = ek__int(&r->in, count, 1, EK_MAX_LAYERS, "it is how many of these layers follow one another",
                         &layer.n_layers);
    const double given[N_TYPES] = {r->times.head, r->times.body, r->times.tail};
    if (status == EK_OK)
        status = read_forward(r, entry, type, given[type], &layer.forward_time);
    if (status == EK_OK)
        status = read_backward(r, entry, !isnan(given[type]), &layer);
    if (status == EK_OK)
        status = check_times(r, entry, &layer);
    if (status == EK_OK)
        status = read_memory(r, entry, type, &layer);
    if (status)
        return status;
    cut_weight_time(&layer);
    if (type == BODY)
        return add_body(r, entry, &layer);
    add_extra(type == HEAD ? &r->layers.head : &r->layers.tail, &layer, r->n_extra[type] == 0);
    r->n_extra[type] += layer.n_layers;
    return EK_OK;
}

/* After all entries: a given time is that of the whole head or tail, so it counts once, not once per entry. */
static ek_status finish_extra(reader *r, const ek__node *list, layer_type type, double given, ek_layer *extra)
{
    extra->n_layers = 1;
    extra->modelled[EK_RECOMPUTE_NONE] = true;
    int n = r->n_extra[type];
    if (n == 0) {
        memcpy(extra->name, type_name[type], strlen(type_name[type]) + 1);
        extra->forward_time = isnan(given) ? 0.0 : given;
        ek__layer_default_times(extra, EK_BACKWARD_RATIO * extra->forward_time);
        r->split_missing |= extra->forward_time > 0;
        ek__warn_at(&r->in, list, "has no %s layer; it counts as 0 MB%s", type_name[type],
                    isnan(given) ? " and no time" : "");
    } else if (!isnan(given)) {
        extra->forward_time = given;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            extra->backward_time[k] /= n;
        extra->weight_time /= n;
    }
    if (fabs(extra->parameter_mb) > EK__MAX_MEMORY_MB || extra->activation_mb[EK_RECOMPUTE_NONE] > EK__MAX_MEMORY_MB)
        return ek__fail_at(&r->in, list, "has %s layers of more than %g MB together; correct nb_layer or the memory",
                           type_name[type], EK__MAX_MEMORY_MB);
    return check_times(r, list, extra);
}

/* Layer files made from a trace usually have none. */
static ek_status fail_without_memory(reader *r, const ek__node *list)
{
    for (int b = 0; b < r->layers.n_body; b++) {
        const ek_layer *body = &r->layers.body[b];
        bool any = false;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            any |= body->modelled[k];
        if (!any)
            return ek__fail_at(
                &r->in, list,
                "has no memory for BODY '%s' (a file written from a trace has none): add to that layer, in MB: "
                "memory_parameter (weights, gradients, optimizer states), memory_activation (saved activations of one "
                "micro-batch) and memory_recompute (the same with recomputation); or use the init file of a dry run "
                "for the memory, with the times of the traces in profiling_config.folder_path",
                body->name);
    }
    return ek__fail_at(&r->in, list,
                       "gives no recompute kind a positive memory in every BODY layer; give memory_activation, or "
                       "one of memory_select_rec, memory_select_comm, memory_both_comm_select, memory_recompute");
}

/* A plan may use a kind only if every kind of body layer has memory for it. */
static ek_status intersect_kinds(reader *r, const ek__node *list)
{
    ek_layers *layers = &r->layers;
    int n_modelled = 0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        const ek_layer *with = NULL, *without = NULL;
        for (int b = 0; b < layers->n_body; b++)
            *(layers->body[b].modelled[k] ? &with : &without) = &layers->body[b];
        layers->modelled[k] = with && !without;
        n_modelled += layers->modelled[k];
        if (with && without)
            ek__warn_at(&r->in, list, "has %s for BODY '%s' and not for '%s'; no plan will use recompute kind '%s'",
                        ek__layer_keys[k].memory, with->name, without->name, ek_recompute_name[k]);
    }
    if (n_modelled == 0)
        return fail_without_memory(r, list);
    return EK_OK;
}

static ek_status read_description(reader *r, const ek__node *root)
{
    static const char advice[] = "list the layers: [{\"type\": \"HEAD\", ...}, {\"type\": \"BODY\", ...}, ...]";
    const ek__node *list;
    ek_status status = ek__require(&r->in, root, "layers_description", advice, &list);
    if (status == EK_OK)
        status = ek__expect(&r->in, list, EK__LIST, advice);
    if (status)
        return status;
    for (const ek__node *entry = list->first; entry && status == EK_OK; entry = entry->next)
        status = read_entry(r, entry);
    if (status)
        return status;
    if (r->layers.n_body == 0)
        return ek__fail_at(&r->in, list, "has no BODY layer; a pipeline needs at least one");
    status = finish_extra(r, list, HEAD, r->times.head, &r->layers.head);
    if (status == EK_OK)
        status = finish_extra(r, list, TAIL, r->times.tail, &r->layers.tail);
    r->layers.split_known = !r->split_missing;
    return status ? status : intersect_kinds(r, list);
}

static ek_status read_root(reader *r, const ek__node *root)
{
    static const char *const known[] = {
        "name", "stage_const_mem", "layers_description", "pre_defined_layer", "auto_partition_layer", NULL};
    ek_status status =
        ek__expect(&r->in, root, EK__MAP, "a layer file is {\"name\": ..., \"layers_description\": ...}");
    if (status)
        return status;
    ek__warn_unknown_keys(&r->in, root, known);
    const ek__node *name = ek__get(root, "name");
    if (name)
        status = ek__string(&r->in, name, sizeof r->layers.name, "name the model", r->layers.name);
    if (status == EK_OK)
        status = read_optional(r, root, "stage_const_mem", -EK__MAX_MEMORY_MB, EK__MAX_MEMORY_MB, "it is in MB",
                               &r->layers.const_mb);
    return status ? status : read_description(r, root);
}

ek_status ek__layers_from_config(const ek__config_tree *doc, const ek_times *times, const ek_listener *listener,
                                 ek_layers *out, ek_error *err)
{
    reader r = {
        .in = {doc, listener, err}, .layers.name = "model", .times = times ? *times : (ek_times){NAN, NAN, NAN}};
    r.layers.body = ek__alloc(EK_MAX_BODY_KINDS, sizeof *r.layers.body);
    if (!r.layers.body)
        return ek__no_memory(err);
    ek_status status = read_root(&r, ek__config_root(doc));
    if (status == EK_OK)
        status =
            ek_layers_check(&r.layers, err); /* only sums remain: the value of each key was checked with its place */
    if (status == EK_OK)
        *out = r.layers;
    else
        ek_layers_clear(&r.layers);
    return status;
}

ek_status ek_layers_read(const char *path, const ek_times *times, const ek_listener *listener, ek_layers *out,
                         ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__config_read(path, &doc, err);
    if (status)
        return status;
    status = ek__layers_from_config(doc, times, listener, out, err);
    ek__config_free(doc);
    return status;
}

ek_status ek_layers_parse(const char *name, const char *text, size_t size, const ek_times *times,
                          const ek_listener *listener, ek_layers *out, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__config_parse_buffer(name, text, size, &doc, err);
    if (status)
        return status;
    status = ek__layers_from_config(doc, times, listener, out, err);
    ek__config_free(doc);
    return status;
}
