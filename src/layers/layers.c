/* The model's layers: names and default coefficients of the recompute kinds, times from the command line, and the
 * writer of layer files. The writer prints the times of every modelled kind, and other times that do not follow from
 * the coefficients, in the shortest form that reads back to the same double, so that a file written and read again
 * gives the same figures. */
#include "layers/layers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"

const char *const ek__recompute_name[EK_N_RECOMPUTE] = {"none", "select", "comm", "both", "full"};
const char *const *const ek_recompute_name = ek__recompute_name;
static const double ek__recompute_coefficient[EK_N_RECOMPUTE] = {0.0, 0.04, 0.125, 0.165, 0.5};
const double *const ek_recompute_coefficient = ek__recompute_coefficient;

const struct ek__layer_keys ek__layer_keys[EK_N_RECOMPUTE] = {
    {"memory_activation", "backward_time", "backward_coef"},
    {"memory_select_rec", "select_rec_time", "select_rec_coef"},
    {"memory_select_comm", "select_comm_time", "select_comm_coef"},
    {"memory_both_comm_select", "both_comm_select_time", "both_comm_select_coef"},
    {"memory_recompute", "recompute_time", "recompute_coef"},
};

void ek_layers_clear(ek_layers *layers)
{
    free(layers->body);
    free(layers->fit.residual);
    *layers = (ek_layers){0};
}

ek_layers ek_layers_bare(int n_layers, ek_layer *body)
{
    ek_layers layers = {.n_body = 1, .body = body, .n_layers = n_layers};
    *body = (ek_layer){.name = "layer", .n_layers = n_layers};
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        layers.modelled[k] = body->modelled[k] = true;
    return layers;
}

void ek__layer_default_times(ek_layer *layer, double backward)
{
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        layer->backward_time[k] = backward * (1.0 + ek_recompute_coefficient[k]);
    layer->weight_time = EK_WEIGHT_TIME_SHARE * backward;
}

/* ---- times from the command line ---- */

#define TIMES_EXAMPLE "write for example head=0.1,body=3.1,tail=3.5"

/* One "name=value"; cuts `item` at its '='. */
static ek_status parse_time(char *item, ek_times *times, ek_error *err)
{
    char *equals = strchr(item, '=');
    if (!equals)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "time '%s' has no '='; " TIMES_EXAMPLE, item);
    *equals = '\0';
    const char *digits = equals + 1;
    bool is_body = strcmp(item, "body") == 0;
    double *slot = is_body                     ? &times->body
                   : strcmp(item, "head") == 0 ? &times->head
                   : strcmp(item, "tail") == 0 ? &times->tail
                                               : NULL;
    if (!slot)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "time of '%s' is not known, only head, body and tail are; " TIMES_EXAMPLE, item);
    if (!isnan(*slot))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "time of %s is given twice; keep one", item);
    double value, least = is_body ? EK__MIN_TIME : 0.0;
    if (!ek__text_is_number(digits, &value) || value < least || value > EK__MAX_TIME)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "time of %s is '%s', expected a number from %g to %g; " TIMES_EXAMPLE, item, digits, least,
                        EK__MAX_TIME);
    *slot = value;
    return EK_OK;
}

ek_status ek_times_parse(const char *text, ek_times *out, ek_error *err)
{
    ek_times times = {NAN, NAN, NAN};
    for (const char *at = text;; at++) {
        char item[80];
        size_t length = strcspn(at, ",");
        if (length >= sizeof item)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "time '%.40s...' is too long; " TIMES_EXAMPLE, at);
        memcpy(item, at, length);
        item[length] = '\0';
        ek_status status = parse_time(item, &times, err);
        if (status)
            return status;
        at += length;
        if (*at == '\0')
            break;
    }
    *out = times;
    return EK_OK;
}

/* ---- writing ---- */

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* In the shortest form that reads back to the same double. */
static void write_number(FILE *out, const char *indent, const char *key, double value)
{
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        ek__snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (ek__strtod(digits, NULL) == value)
            break;
    }
    fprintf(out, ",\n%s\"%s\": %s", indent, key, digits);
}

/* Does the time follow from the backward time by the default coefficient, so that it can be omitted? Sums over entries
 * round. */
static bool is_default_time(const ek_layer *layer, int kind)
{
    double expected = layer->backward_time[EK_RECOMPUTE_NONE] * (1.0 + ek_recompute_coefficient[kind]);
    return fabs(layer->backward_time[kind] - expected) <= 1e-12 * expected;
}

static void write_layer(FILE *out, const ek_layer *layer, const char *type, bool split_known)
{
    fprintf(out, "    {\n      \"name\": ");
    write_string(out, layer->name);
    fprintf(out, ",\n      \"type\": \"%s\",\n      \"nb_layer\": %d", type, layer->n_layers);
    static const char indent[] = "      ";
    write_number(out, indent, "time", layer->forward_time);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (k == EK_RECOMPUTE_NONE || layer->modelled[k] || !is_default_time(layer, k))
            write_number(out, indent, ek__layer_keys[k].time, layer->backward_time[k]);
    if (split_known) {
        write_number(out, indent, EK__KEY_INPUT_TIME, layer->backward_time[EK_RECOMPUTE_NONE] - layer->weight_time);
        write_number(out, indent, EK__KEY_WEIGHT_TIME, layer->weight_time);
    }
    write_number(out, indent, "memory_parameter", layer->parameter_mb);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (layer->modelled[k])
            write_number(out, indent, ek__layer_keys[k].memory, layer->activation_mb[k]);
    fprintf(out, "\n    }");
}

ek_status ek_layers_write(const ek_layers *layers, FILE *out, ek_error *err)
{
    fprintf(out, "{\n  \"name\": ");
    write_string(out, layers->name);
    write_number(out, "  ", "stage_const_mem", layers->const_mb);
    fprintf(out, ",\n  \"layers_description\": [\n");
    write_layer(out, &layers->head, "HEAD", layers->split_known);
    for (int b = 0; b < layers->n_body; b++) {
        fprintf(out, ",\n");
        write_layer(out, &layers->body[b], "BODY", layers->split_known);
    }
    fprintf(out, ",\n");
    write_layer(out, &layers->tail, "TAIL", layers->split_known);
    fprintf(out, "\n  ]\n}\n");
    if (fflush(out) || ferror(out))
        return ek__fail(err, ek__system_status(), EK__NOWHERE, "the layer file cannot be written: %s", strerror(errno));
    return EK_OK;
}
