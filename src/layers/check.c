/* Checks that a model is valid for calculations. The ranges are those of the reader of layer files; a model from
 * another source, filled in memory by a caller of the library, is checked here before its counts are used as indexes or
 * its figures are summed. The first wrong member is named as in the structs. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "layers/layers.h"

/* A layer, and its name in messages. */
typedef struct place {
    const ek_layer *layer;
    const char *part; /* "head", "body layer kind", "tail" */
    int number;       /* index of the kind, from 0; below 0: not one of several */
    ek_error *err;
} place;

enum { PLACE_ROOM = 128, MEMBER_ROOM = 48 };

/* "body layer kind 2 'decoder'", "the head 'embedding'" */
static const char *place_text(const place *at, char text[PLACE_ROOM])
{
    char number[16] = "";
    if (at->number >= 0)
        snprintf(number, sizeof number, " %d", at->number);
    snprintf(text, PLACE_ROOM, "%s%s '%.*s'", at->part, number, EK_NAME_SIZE - 1, at->layer->name);
    return text;
}

/* Is a member of a layer in its range? NaN never is. */
static ek_status check_number(const place *at, const char *member, double value, double least, double most)
{
    char text[PLACE_ROOM];
    if (value >= least && value <= most)
        return EK_OK;
    return ek__fail(at->err, EK_ERR_INPUT, EK__NOWHERE, "%s: %s is %g, expected a number from %g to %g",
                    place_text(at, text), member, value, least, most);
}

static ek_status check_by_kind(const place *at, const char *member, const double value[EK_N_RECOMPUTE], double most)
{
    ek_status status = EK_OK;
    for (int k = 0; k < EK_N_RECOMPUTE && !status; k++) {
        char name[MEMBER_ROOM];
        snprintf(name, sizeof name, "%s of recomputation '%s'", member, ek_recompute_name[k]);
        status = check_number(at, name, value[k], 0, most);
    }
    return status;
}

static ek_status check_name(const char *name, const char *part, ek_error *err)
{
    if (memchr(name, '\0', EK_NAME_SIZE))
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the name of the %s has no end within its %d bytes; terminate it",
                    part, EK_NAME_SIZE);
}

/* The gradient of the weights is a part of every possible backward pass of a plan, except for rounding. */
static ek_status check_weight_time(const place *at, const bool used[EK_N_RECOMPUTE])
{
    const ek_layer *layer = at->layer;
    ek_status status = check_number(at, "weight_time", layer->weight_time, 0, EK__MAX_TIME);
    for (int k = 0; k < EK_N_RECOMPUTE && !status; k++) {
        char text[PLACE_ROOM];
        if (used[k] && layer->weight_time > layer->backward_time[k] * (1 + EK__WEIGHT_TOLERANCE))
            status =
                ek__fail(at->err, EK_ERR_INPUT, EK__NOWHERE,
                         "%s: weight_time is %g, more than backward_time of recomputation '%s', %g, of which it is "
                         "a part",
                         place_text(at, text), layer->weight_time, ek_recompute_name[k], layer->backward_time[k]);
    }
    return status;
}

static ek_status check_layer(const place *at, double least_mb, const bool used[EK_N_RECOMPUTE])
{
    const ek_layer *layer = at->layer;
    ek_status status = check_name(layer->name, at->part, at->err);
    if (!status)
        status = check_number(at, "forward_time", layer->forward_time, 0, EK__MAX_TIME);
    if (!status)
        status = check_by_kind(at, "backward_time", layer->backward_time, EK__MAX_TIME);
    if (!status)
        status = check_weight_time(at, used);
    if (!status)
        status = check_number(at, "parameter_mb", layer->parameter_mb, least_mb, EK__MAX_MEMORY_MB);
    return status ? status : check_by_kind(at, "activation_mb", layer->activation_mb, EK__MAX_MEMORY_MB);
}

/* Head and tail are not recomputed. */
static ek_status check_extra(const ek_layer *layer, const char *part, ek_error *err)
{
    static const bool used[EK_N_RECOMPUTE] = {[EK_RECOMPUTE_NONE] = true};
    const place at = {layer, part, -1, err};
    return check_layer(&at, -EK__MAX_MEMORY_MB, used);
}

/* A body layer has all values that a plan of the model may need. */
static ek_status check_kinds(const ek_layers *layers, const place *at)
{
    char text[PLACE_ROOM];
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (layers->modelled[k] && !at->layer->modelled[k])
            return ek__fail(at->err, EK_ERR_INPUT, EK__NOWHERE,
                            "%s: recomputation '%s' is modelled by the model and not by this layer; set `modelled` of "
                            "both or of neither",
                            place_text(at, text), ek_recompute_name[k]);
    if (layers->recompute_transient && !at->layer->modelled[EK_RECOMPUTE_NONE])
        return ek__fail(at->err, EK_ERR_INPUT, EK__NOWHERE,
                        "activations restored by recomputation are not known: the activations of '%s' without "
                        "recomputation are missing; give them, or remove --recompute-transient",
                        at->layer->name);
    return EK_OK;
}

static ek_status check_body(const ek_layers *layers, ek_error *err)
{
    long sum = 0;
    for (int b = 0; b < layers->n_body; b++) {
        const place at = {&layers->body[b], "body layer kind", b, err};
        ek_status status = check_layer(&at, 0, at.layer->modelled);
        if (!status)
            status = check_number(&at, "n_layers", at.layer->n_layers, 1, EK_MAX_LAYERS);
        if (!status)
            status = check_kinds(layers, &at);
        if (status)
            return status;
        sum += at.layer->n_layers;
    }
    if (sum != layers->n_layers || sum > EK_MAX_LAYERS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "n_layers of the model is %d, but its body layers add up to %ld; it must be their sum, at most "
                        "%d",
                        layers->n_layers, sum, EK_MAX_LAYERS);
    return EK_OK;
}

static ek_status check_whole(const ek_layers *layers, ek_error *err)
{
    bool any = false;
    if (layers->n_body < 1 || layers->n_body > EK_MAX_BODY_KINDS || !layers->body)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "n_body of the model is %d%s, expected 1 to %d kinds of layer",
                        layers->n_body, layers->body ? "" : " and body is NULL", EK_MAX_BODY_KINDS);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        any |= layers->modelled[k];
    if (!any)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the model models no kind of recomputation: set `modelled` of each kind with a known "
                        "activation_mb, in the model and in its body layers");
    if (!(layers->const_mb >= -EK__MAX_MEMORY_MB && layers->const_mb <= EK__MAX_MEMORY_MB))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "const_mb of the model is %g, expected a number from %g to %g",
                        layers->const_mb, -EK__MAX_MEMORY_MB, EK__MAX_MEMORY_MB);
    if (layers->fit.n_residuals < 0 || (layers->fit.n_residuals > 0 && !layers->fit.residual))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "fit of the model has %d residuals%s", layers->fit.n_residuals,
                        layers->fit.residual ? "" : ", but residual is NULL");
    return check_name(layers->name, "model", err);
}

ek_status ek_layers_check(const ek_layers *layers, ek_error *err)
{
    ek_status status = check_whole(layers, err);
    if (!status)
        status = check_extra(&layers->head, "head", err);
    if (!status)
        status = check_extra(&layers->tail, "tail", err);
    return status ? status : check_body(layers, err);
}
