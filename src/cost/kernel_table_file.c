/* Reads and writes measured kernels as the `kernels` list of a device file: a map for each shape, without zeros. */
#include "base/field.h"
#include "cost/kernel_table.h"

#include <stdlib.h>

#include "base/error.h"
#include "cost/device_sections.h"
#include "cost/device_write.h"

#define SIZE 1e12 /* of any length of a shape */

#define KERNEL(field) #field, offsetof(ek_kernel_row, kernel.field)
static const ek__device_entry figures[] = {
    {KERNEL(batch), 0, SIZE, "it is the number of sequences"},
    {KERNEL(m), 0, SIZE, "it is the number of rows of a product, of one group"},
    {KERNEL(n), 0, SIZE, "it is the number of columns of a product"},
    {KERNEL(k), 0, SIZE, "it is the length of a product's sums"},
    {KERNEL(groups), 0, SIZE, "it is the number of products in one launch"},
    {KERNEL(seq), 0, SIZE, "it is the number of queries of a sequence"},
    {KERNEL(key_seq), 0, SIZE, "it is the number of keys of a sequence"},
    {KERNEL(heads), 0, SIZE, "it is the number of heads of queries"},
    {KERNEL(kv_heads), 0, SIZE, "it is the number of heads of keys"},
    {KERNEL(qk_dim), 0, SIZE, "it is the width of a query"},
    {KERNEL(v_dim), 0, SIZE, "it is the width of a value"},
    {KERNEL(flops), 0, 1e30, "it is the arithmetic of the whole kernel in FLOPs"},
    {KERNEL(bytes), 0, 1e30, "it is the traffic of the kernel, in bytes"},
    {"seconds", offsetof(ek_kernel_row, seconds), 1e-12, 1e9, "it is the measured time, above 0"},
};
enum { N_FIGURES = sizeof figures / sizeof *figures };

/* ---- reading ---- */

static ek_status read_words(const ek__in *in, const ek__node *map, ek_kernel *kernel)
{
    static const char kind_advice[] = "give the kind of kernel, as in kind: matmul";
    const ek__node *kind_node, *pass_node = ek__get(map, "pass"), *type_node = ek__get(map, "type"),
                               *accumulates = ek__get(map, "accumulates");
    int kind = 0, pass = EK_PASS_FORWARD, type = EK_BF16;
    ek_status status = ek__require(in, map, "kind", kind_advice, &kind_node);
    if (status == EK_OK)
        status = ek__read_word(in, kind_node, ek_kernel_name, EK_N_KERNEL_KINDS, &kind);
    if (status == EK_OK && pass_node)
        status = ek__read_word(in, pass_node, ek__product_name, 3, &pass);
    if (status == EK_OK && type_node)
        status = ek__read_word(in, type_node, ek__type_name, EK_N_TYPES, &type);
    if (status == EK_OK && accumulates)
        status = ek__bool(in, accumulates, "write whether it adds to a result in 32 bits", &kernel->accumulates);
    kernel->kind = (ek_kernel_kind)kind;
    kernel->pass = (ek_pass)pass;
    kernel->type = type;
    return status;
}

static ek_status read_row(const ek__in *in, const ek__node *map, ek_kernel_row *row)
{
    static const char *known[N_FIGURES + 5];
    const ek__node *seconds;
    ek_status status = ek__expect(in, map, EK__MAP,
                                  "write a shape as in {kind: matmul, m: 4096, n: 4096, k: 1024, "
                                  "flops: 3.4e10, bytes: 5e7, seconds: 2e-4}");
    if (status)
        return status;
    for (int i = 0; i < N_FIGURES; i++)
        known[i] = figures[i].key;
    known[N_FIGURES] = "kind", known[N_FIGURES + 1] = "pass", known[N_FIGURES + 2] = "type";
    known[N_FIGURES + 3] = "accumulates", known[N_FIGURES + 4] = NULL;
    *row = (ek_kernel_row){.line = map->line, .column = map->column};
    ek__warn_unknown_keys(in, map, known);
    status = ek__require(in, map, "seconds", figures[N_FIGURES - 1].advice, &seconds);
    if (status == EK_OK)
        status = read_words(in, map, &row->kernel);
    if (status == EK_OK)
        status = ek__read_figures(in, map, figures, N_FIGURES, row);
    if (status == EK_OK && row->kernel.flops <= 0 && row->kernel.bytes <= 0)
        return ek__fail_at(in, map, "has neither flops nor bytes; give at least one of them");
    return status;
}

static ek_status make(const ek__in *in, const ek_kernel_row *row, int n, ek_kernel_table **out)
{
    int clash[2];
    ek_kernel_table *table;
    ek_status status = ek__kernel_table_make(row, n, &table, clash, in->err);
    if (status)
        return status;
    if (!table) {
        const ek_kernel_row *a = &row[clash[0]], *b = &row[clash[1]];
        const ek_origin origin = {ek__config_name(in->doc), b->line, b->column};
        return ek__fail(in->err, EK_ERR_INPUT, origin,
                        "kernels has %g s for a shape that line %d has %g s for, more than twofold; leave one of them "
                        "out",
                        b->seconds, a->line, a->seconds);
    }
    *out = table;
    return EK_OK;
}

ek_status ek__kernel_table_read_list(const ek__in *in, const ek__node *list, ek_kernel_table **out)
{
    ek_status status = ek__expect(in, list, EK__LIST, "write a list of measured shapes");
    if (status)
        return status;
    if (list->n > EK__MAX_KERNEL_ROWS)
        return ek__fail_at(in, list, "has %d shapes; %d are the most", list->n, EK__MAX_KERNEL_ROWS);
    ek_kernel_row *row = ek__alloc((size_t)list->n, sizeof *row);
    if (!row)
        return ek__no_memory(in->err);
    int n = 0;
    for (const ek__node *map = list->first; map && status == EK_OK; map = map->next)
        status = read_row(in, map, &row[n++]);
    if (status == EK_OK && n > 0)
        status = make(in, row, n, out);
    free(row);
    return status;
}

/* ---- writing ---- */

void ek__kernel_table_write_list(const ek_kernel_table *table, FILE *out)
{
    int n;
    const ek_kernel_row *row = ek_kernel_table_rows(table, &n);
    if (n > 0)
        fputs("kernels:\n", out);
    for (int i = 0; i < n; i++) {
        const ek_kernel *k = &row[i].kernel;
        fprintf(out, "  - {kind: %s, pass: %s, type: %s, accumulates: %s", ek_kernel_name[k->kind],
                ek__product_name[k->pass], ek__type_name[k->type], k->accumulates ? "yes" : "no");
        for (int f = 0; f < N_FIGURES; f++) {
            double value = *ek__const_field(&row[i], figures[f].at);
            if (value != 0)
                ek__write_pair(", ", figures[f].key, value, out);
        }
        fputs("}\n", out);
    }
}
