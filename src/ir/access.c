/* Accessors of a graph that has been read: texts, scopes and types as text, the layer of a node, and the bytes of a
 * node, which are read from the file again. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/texts.h"
#include "evenkeel/ir.h"

const char *ek_ir_text(const ek_ir *ir, uint32_t text)
{
    return text < ir->n_texts ? ir->text[text] : "";
}

uint32_t ek_ir_find_text(const ek_ir *ir, const char *text)
{
    uint32_t number = ek__texts_find(ir->memory, text, strlen(text));
    return number == UINT32_MAX ? EK_IR_NONE : number;
}

const char *ek_ir_attribute_of(const ek_ir *ir, const ek_ir_node *node, const char *key)
{
    uint32_t number = ek_ir_find_text(ir, key);
    if (number == EK_IR_NONE)
        return NULL;
    for (uint32_t i = 0; i < node->n_attributes; i++) {
        const ek_ir_attribute *a = &ir->attribute[node->first_attribute + i];
        if (a->key == number)
            return ek_ir_text(ir, a->value);
    }
    return NULL;
}

void ek_ir_scope(const ek_ir *ir, const ek_ir_node *node, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", ek_ir_text(ir, node->scope), node->scope == EK_IR_NONE ? "" : "/",
             ek_ir_text(ir, node->scope_last));
}

/* "3-LLamaDecodeLayer" at `at`: 3, otherwise -1. */
static int layer_number(const char *at, const char *end)
{
    int number = 0;
    const char *p = at;
    for (; p < end && *p >= '0' && *p <= '9' && number < 100000; p++)
        number = 10 * number + (*p - '0');
    return p > at && p + 1 < end && *p == '-' ? number : -1;
}

int ek_ir_layer(const ek_ir *ir, const ek_ir_node *node)
{
    for (const char *p = ek_ir_text(ir, node->scope); *p;) {
        const char *end = strchr(p, '/');
        if (!end)
            end = p + strlen(p);
        int number = layer_number(p, end);
        if (number >= 0)
            return number;
        p = *end ? end + 1 : end;
    }
    return -1;
}

/* ---- types ---- */

typedef struct sink {
    char *out;
    size_t size, n;
} sink;

static void add(sink *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(sink *s, const char *format, ...)
{
    va_list arguments;
    if (s->n + 1 >= s->size)
        return;
    va_start(arguments, format);
    int n = ek__vsnprintf(s->out + s->n, s->size - s->n, format, arguments);
    va_end(arguments);
    if (n > 0)
        s->n += (size_t)n < s->size - s->n ? (size_t)n : s->size - s->n - 1;
}

static void add_type(const ek_ir *ir, uint32_t number, sink *s)
{
    if (number >= ir->n_types) {
        add(s, "?");
        return;
    }
    const ek_ir_type *t = &ir->type[number];
    if (t->tensor) {
        add(s, "%s (", ek_ir_dtype_name[t->dtype]);
        for (uint32_t i = 0; i < t->rank; i++) {
            int64_t dim = ir->dim[t->first_dim + i];
            add(s, i > 0 ? ", " : "");
            if (dim < 0)
                add(s, "?");
            else
                add(s, "%" PRId64, dim);
        }
        add(s, t->rank == 0 && t->bytes < 0 ? "?)" : ")");
    } else if (t->name != EK_IR_NONE)
        add(s, "%s", ek_ir_text(ir, t->name));
    else {
        add(s, "[");
        for (uint32_t i = 0; i < t->n_parts && s->n + 1 < s->size; i++) {
            add(s, i > 0 ? ", " : "");
            add_type(ir, ir->part[t->first_part + i], s);
        }
        add(s, "]");
    }
}

void ek_ir_type_text(const ek_ir *ir, uint32_t type, char *out, size_t size)
{
    sink s = {out, size, 0};
    if (size == 0)
        return;
    out[0] = '\0';
    add_type(ir, type, &s);
}

/* ---- source ---- */

static bool is_unchanged(const ek_ir *ir, FILE *file)
{
    struct stat about;
    return fstat(fileno(file), &about) == 0 && about.st_size == ir->bytes;
}

ek_status ek_ir_node_source(const ek_ir *ir, uint32_t node, char **out, ek_error *err)
{
    const ek_ir_node *n = &ir->node[node];
    const ek_origin origin = {ir->path, (int)n->line, 0};
    FILE *file = ir->in_file ? fopen(ir->path, "rb") : NULL;
    if (!file)
        return ek__fail(err, ek__system_status(), origin, "a node's text can only be shown from a file%s%s",
                        ir->in_file ? ": " : "", ir->in_file ? strerror(errno) : "");
    char *text = ek__alloc((size_t)n->bytes + 1, 1);
    ek_status status = EK_OK;
    if (!text)
        status = ek__no_memory(err);
    else if (!is_unchanged(ir, file) || fseeko(file, n->offset, SEEK_SET) != 0 ||
             fread(text, 1, n->bytes, file) != n->bytes)
        status = ek__fail(err, EK_ERR_SYSTEM, origin, "the file has changed since it was read; run the command again");
    fclose(file);
    if (status)
        free(text);
    else
        *out = text;
    return status;
}
