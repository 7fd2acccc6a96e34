/* Parses arguments of operators in profiles: PyTorch's nested lists of dimensions, strides, types and values, in the
 * same order in four texts; Ascend's cells with semicolons between operands. Both have hand-written parsers, since they
 * are short and most of a profile's texts. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "compute/profiled.h"

/* ---- types ---- */

typedef struct type_name {
    const char *name;
    int type;
    double size;
} type_name;

static const type_name type_names[] = {
    {"c10::BFloat16", EK_BF16, 2},
    {"c10::Half", EK_FP16, 2},
    {"float", EK_FP32, 4},
    {"c10::Float8_e4m3fn", EK_TYPE_FP8, 1},
    {"c10::Float8_e5m2", EK_TYPE_FP8, 1},
    {"c10::Float8_e4m3fnuz", EK_TYPE_FP8, 1},
    {"c10::Float8_e5m2fnuz", EK_TYPE_FP8, 1},
    {"double", -1, 8},
    {"long", -1, 8},
    {"long int", -1, 8},
    {"int", -1, 4},
    {"short", -1, 2},
    {"bool", -1, 1},
    {"unsigned char", -1, 1},
    {"signed char", -1, 1},
    {"BF16", EK_BF16, 2},
    {"BFLOAT16", EK_BF16, 2},
    {"FLOAT16", EK_FP16, 2},
    {"FLOAT", EK_FP32, 4},
    {"FLOAT32", EK_FP32, 4},
    {"FLOAT8_E4M3FN", EK_TYPE_FP8, 1},
    {"FLOAT8_E5M2", EK_TYPE_FP8, 1},
    {"DOUBLE", -1, 8},
    {"INT64", -1, 8},
    {"UINT64", -1, 8},
    {"INT32", -1, 4},
    {"UINT32", -1, 4},
    {"INT16", -1, 2},
    {"INT8", -1, 1},
    {"UINT8", -1, 1},
    {"BOOL", -1, 1},
};

static void set_type(ek__profile_tensor *t, const char *text, size_t size)
{
    t->type = -1;
    if (size > 3 && strncmp(text, "DT_", 3) == 0) {
        text += 3;
        size -= 3;
    }
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strlen(type_names[i].name) == size && strncmp(type_names[i].name, text, size) == 0) {
            t->type = type_names[i].type;
            t->size = type_names[i].size;
        }
}

/* ---- PyTorch's lists ---- */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* The end of the item that begins here: the comma or bracket after it. */
static const char *item_end(const char *at)
{
    int depth = 0;
    bool quoted = false;
    for (; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (!quoted && *at == '[')
            depth++;
        else if (!quoted && depth == 0 && (*at == ',' || *at == ']'))
            return at;
        else if (!quoted && *at == ']')
            depth--;
    }
    return at;
}

/* The items of a list. @return how many, 0 when it is none */
static int items_of(const char *text, const char **begin, const char **end, int most)
{
    int n = 0;
    const char *at = skip_blanks(text);
    if (*at++ != '[')
        return 0;
    for (at = skip_blanks(at); *at && *at != ']' && n < most; n++) {
        begin[n] = at;
        end[n] = item_end(at);
        at = *end[n] == ',' ? skip_blanks(end[n] + 1) : end[n];
    }
    return n;
}

/* "[4096, 1024]". @return how many numbers; -1 when it is a list of lists or has too many */
static int numbers_of(const char *text, const char *end, double out[EK__PROFILE_MAX_DIMS])
{
    const char *begin[EK__PROFILE_MAX_DIMS + 1], *stop[EK__PROFILE_MAX_DIMS + 1];
    if (*text != '[' || memchr(text + 1, '[', (size_t)(end - text - 1)))
        return -1;
    int n = items_of(text, begin, stop, EK__PROFILE_MAX_DIMS + 1);
    for (int i = 0; i < n && i < EK__PROFILE_MAX_DIMS; i++) {
        char *after;
        out[i] = ek__strtod(begin[i], &after);
        if (after == begin[i] || !(out[i] >= 0 && out[i] < 1e12))
            return -1;
    }
    return n <= EK__PROFILE_MAX_DIMS ? n : -1;
}

static double product_of(const double *dim, int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= dim[i];
    return product;
}

/* "[[32, 10], [32, 20]]", as of a list of tensors: all of their elements. */
static double elements_of_list(const char *text)
{
    const char *begin[EK__PROFILE_MAX_TENSORS], *end[EK__PROFILE_MAX_TENSORS];
    int n = items_of(text, begin, end, EK__PROFILE_MAX_TENSORS);
    double sum = 0, dim[EK__PROFILE_MAX_DIMS];
    for (int i = 0; i < n; i++) {
        int dims = numbers_of(begin[i], end[i], dim);
        sum += dims > 0 ? product_of(dim, dims) : 0;
    }
    return sum;
}

static void set_dims(ek__profile_tensor *t, const char *text, const char *end)
{
    t->n = numbers_of(text, end, t->dim);
    t->elements = t->n > 0 ? product_of(t->dim, t->n) : t->n < 0 && *text == '[' ? elements_of_list(text) : 0;
}

/* A dimension that is repeated without being there (stride 0) is read once. */
static void set_strides(ek__profile_tensor *t, const char *text, const char *end)
{
    t->has_strides = t->n > 0 && numbers_of(text, end, t->stride) == t->n;
    for (int i = 0; t->has_strides && i < t->n; i++)
        if (t->stride[i] <= 0 && t->dim[i] > 0)
            t->elements /= t->dim[i];
}

/* Without quotes. */
static void unquoted(const char **begin, const char **end)
{
    while (*end > *begin && ((*end)[-1] == ' ' || (*end)[-1] == '"'))
        --*end;
    while (*begin < *end && **begin == '"')
        ++*begin;
}

static void set_value(ek__profile_tensor *t, const char *begin, const char *end)
{
    unquoted(&begin, &end);
    size_t size = (size_t)(end - begin);
    size = size < sizeof t->value ? size : sizeof t->value - 1;
    memcpy(t->value, begin, size);
}

int ek__profile_arguments(const ek_trace_shaped *op, ek__profile_tensor out[EK__PROFILE_MAX_TENSORS])
{
    const char *begin[EK__PROFILE_MAX_TENSORS], *end[EK__PROFILE_MAX_TENSORS];
    int n_values = items_of(op->values, begin, end, EK__PROFILE_MAX_TENSORS), n_dims;
    for (int i = 0; i < EK__PROFILE_MAX_TENSORS; i++)
        out[i] = (ek__profile_tensor){.n = -1, .type = -1};
    for (int i = 0; i < n_values; i++)
        set_value(&out[i], begin[i], end[i]);
    n_dims = items_of(op->shapes, begin, end, EK__PROFILE_MAX_TENSORS);
    for (int i = 0; i < n_dims; i++)
        set_dims(&out[i], begin[i], end[i]);
    int n_types = items_of(op->types, begin, end, n_dims);
    for (int i = 0; i < n_types; i++) {
        unquoted(&begin[i], &end[i]);
        set_type(&out[i], begin[i], (size_t)(end[i] - begin[i]));
    }
    int n_strides = items_of(op->layout, begin, end, n_dims);
    for (int i = 0; i < n_strides; i++)
        set_strides(&out[i], begin[i], end[i]);
    return n_dims > n_values ? n_dims : n_values;
}

/* ---- Ascend's cells ---- */

static bool is_end(char c)
{
    return c == '\0' || c == ';' || c == '"';
}

static void set_cell(ek__profile_tensor *t, const char *at)
{
    *t = (ek__profile_tensor){.n = 0, .type = -1};
    while (!is_end(*at)) {
        char *after;
        double value = ek__strtod(at, &after);
        if (after == at || t->n == EK__PROFILE_MAX_DIMS || !(value >= 0 && value < 1e12)) {
            t->n = -1;
            return;
        }
        t->dim[t->n++] = value;
        at = after + (*after == ',');
    }
    t->elements = t->n > 0 ? product_of(t->dim, t->n) : 0;
}

int ek__profile_cells(const char *shapes, const char *types, ek__profile_tensor out[EK__PROFILE_MAX_TENSORS])
{
    int n = 0;
    const char *at = shapes + strspn(shapes, "\" ");
    for (; n < EK__PROFILE_MAX_TENSORS && (*at && *at != '"'); n++) {
        set_cell(&out[n], at);
        at += strcspn(at, ";\"");
        at += *at == ';';
    }
    at = types + strspn(types, "\" ");
    for (int i = 0; i < n && *at; i++) {
        size_t size = strcspn(at, ";\"");
        set_type(&out[i], at, size);
        at += size + (at[size] != '\0');
    }
    return n;
}
