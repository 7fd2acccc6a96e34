/* Reads measured kernels from CSV: shares of the peak by shape. The operators' FLOPs are 2 m n k of a product, and of
 * attention the whole score matrix: forward 2 S^2 h (qk_dim + v_dim), backward 2.5 times that. That is how the tables'
 * sources count causal attention too, which is why shares above 1 occur; a row's kernel has half of it, the computed
 * part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "cost/columns.h"
#include "cost/kernel_table.h"

/* Columns, in the order of the names. */
typedef enum column {
    DEVICE,
    OPERATOR,
    BATCH,
    M,
    K,
    N,
    LAYOUT,
    ACCUMULATE,
    OUT_DTYPE,
    GROUPS,
    STAGE,
    SEQ,
    HEADS,
    KV_HEADS,
    QK_DIM,
    V_DIM,
    CONTIGUOUS,
    PEAK,
    SHARE,
    N_COLUMNS,
} column;
static const char *const names[] = {
    "device",         "operator",    "batch",         "m",   "k",     "n",        "layout", "accumulate",
    "out_dtype",      "groups",      "stage",         "seq", "heads", "kv_heads", "qk_dim", "v_dim",
    "qkv_contiguous", "peak_tflops", "share_of_peak", NULL};

typedef struct reader {
    const char *path;
    ek__csv *csv;
    int at[N_COLUMNS];
    ek_kernel_row *row;
    size_t n, room;
    ek_error *err;
} reader;

static ek_origin place(const reader *r, column c)
{
    return (ek_origin){r->path, (int)ek__csv_line(r->csv), r->at[c] + 1};
}

/* The place of a cell is its line and its column of the table. */
static ek_status wrong(const reader *r, column c, const char *advice)
{
    return ek__fail(r->err, EK_ERR_INPUT, place(r, c), "%s is '%.60s'; %s", names[c], ek__csv_cell(r->csv, r->at[c]),
                    advice);
}

static ek_status number(const reader *r, column c, double min, double max, double *out)
{
    char advice[80];
    if (ek__csv_number(r->csv, r->at[c], out) && *out >= min && *out <= max)
        return EK_OK;
    ek__snprintf(advice, sizeof advice, "write a number from %g to %g", min, max);
    return wrong(r, c, advice);
}

/* One of the words; their index. */
static ek_status word(const reader *r, column c, const char *const *words, const char *advice, int *out)
{
    const char *text = ek__csv_cell(r->csv, r->at[c]);
    for (*out = 0; words[*out]; ++*out)
        if (ek__strcasecmp(text, words[*out]) == 0)
            return EK_OK;
    return wrong(r, c, advice);
}

/* ---- shapes ---- */

#define MOST 1e9

static ek_status read_lengths(const reader *r, const column *c, int n, double **out)
{
    ek_status status = EK_OK;
    for (int i = 0; i < n && status == EK_OK; i++)
        status = number(r, c[i], 1, MOST, out[i]);
    return status;
}

/* Bytes an element of the result moves: in 32 bits read and written when it is added to. */
static double result_bytes(bool accumulates)
{
    return accumulates ? 8 : 2;
}

static ek_status read_flags(const reader *r, ek_kernel *k)
{
    static const char *const yes_no[] = {"false", "true", NULL};
    static const char *const types[] = {"bf16", "fp16", "fp32", NULL};
    int accumulates, type;
    ek_status status = word(r, ACCUMULATE, yes_no, "write true or false", &accumulates);
    if (status == EK_OK)
        status = word(r, OUT_DTYPE, types, "write bf16, fp16 or fp32", &type);
    if (status)
        return status;
    k->type = type == 1 ? EK_FP16 : EK_BF16;
    k->accumulates = accumulates && (type == 2 || k->kind == EK_KERNEL_GROUPED);
    return EK_OK;
}

static void finish_product(ek_kernel *k, double batch)
{
    k->flops = 2 * batch * k->groups * k->m * k->n * k->k;
    k->bytes = batch * k->groups * (2 * (k->m * k->k + k->k * k->n) + result_bytes(k->accumulates) * k->m * k->n);
}

static ek_status read_product(const reader *r, ek_kernel *k)
{
    static const char *const layouts[] = {"TN", "NN", "NT", NULL};
    static const column columns[] = {BATCH, M, K, N};
    double batch = 1;
    int layout;
    k->kind = EK_KERNEL_MATMUL;
    k->groups = 1;
    ek_status status = read_lengths(r, columns, 4, (double *[]){&batch, &k->m, &k->k, &k->n});
    if (status == EK_OK)
        status =
            word(r, LAYOUT, layouts, "write TN (forward), NN (gradient of the input) or NT (of the weight)", &layout);
    if (status == EK_OK)
        status = read_flags(r, k);
    if (status)
        return status;
    k->pass = (ek_pass)layout;
    k->groups = batch; /* a batch of products is one launch */
    finish_product(k, 1);
    return EK_OK;
}

/* m, k and n of a grouped product are those of the forward pass for every stage. */
static ek_status read_grouped(const reader *r, ek_kernel *out)
{
    static const char *const stages[] = {"fwd", "bwd_grad_act", "bwd_grad_w", NULL};
    static const column columns[] = {M, K, N, GROUPS};
    ek_kernel k = {.kind = EK_KERNEL_GROUPED};
    double m, n, sum;
    int stage;
    ek_status status = read_lengths(r, columns, 4, (double *[]){&m, &sum, &n, &k.groups});
    if (status == EK_OK)
        status = word(r, STAGE, stages, "write fwd, bwd_grad_act or bwd_grad_w", &stage);
    if (status == EK_OK)
        status = read_flags(r, &k);
    if (status)
        return status;
    k.pass = (ek_pass)stage;
    k.m = k.pass == EK_PASS_WEIGHT ? n : m;
    k.n = k.pass == EK_PASS_FORWARD ? n : sum;
    k.k = k.pass == EK_PASS_FORWARD ? sum : k.pass == EK_PASS_INPUT ? n : m;
    finish_product(&k, 1);
    *out = k;
    return EK_OK;
}

static ek_status read_attention(const reader *r, bool backward, ek_kernel *k)
{
    static const column columns[] = {BATCH, SEQ, HEADS, KV_HEADS, QK_DIM, V_DIM};
    ek_status status =
        read_lengths(r, columns, 6, (double *[]){&k->batch, &k->seq, &k->heads, &k->kv_heads, &k->qk_dim, &k->v_dim});
    if (status)
        return status;
    double width = k->qk_dim + k->v_dim;
    k->kind = backward ? EK_KERNEL_ATTENTION_BACKWARD : EK_KERNEL_ATTENTION_FORWARD;
    k->type = EK_BF16;
    k->key_seq = k->seq;
    k->flops = k->batch * k->heads * k->seq * k->seq * width * (backward ? 2.5 : 1);
    k->bytes = 2 * k->batch * k->seq * width * (k->heads + k->kv_heads) * (backward ? 2 : 1);
    return EK_OK;
}

static ek_status read_shape(const reader *r, ek_kernel *k, double *counted)
{
    static const char *const operators[] = {"matmul", "group_matmul", "sdp_fwd", "sdp_bwd", NULL};
    int what;
    ek_status status = word(r, OPERATOR, operators, "write matmul, group_matmul, sdp_fwd or sdp_bwd", &what);
    if (status)
        return status;
    status = what == 0 ? read_product(r, k) : what == 1 ? read_grouped(r, k) : read_attention(r, what == 3, k);
    *counted = k->flops * (what < 2 ? 1 : 2);
    return status;
}

/* ---- rows ---- */

static ek_status read_row(reader *r)
{
    ek_kernel_row row = {.line = (int)ek__csv_line(r->csv), .column = 1};
    double peak, share, counted;
    ek_status status = read_shape(r, &row.kernel, &counted);
    if (status == EK_OK)
        status = number(r, PEAK, 1e-3, 1e9, &peak);
    if (status == EK_OK)
        status = number(r, SHARE, 1e-6, 4, &share);
    if (status)
        return status;
    row.seconds = counted / (share * peak * 1e12);
    if (r->n == EK__MAX_KERNEL_ROWS)
        return ek__fail(r->err, EK_ERR_INPUT, place(r, DEVICE), "is row %d; %d are the most", EK__MAX_KERNEL_ROWS + 1,
                        EK__MAX_KERNEL_ROWS);
    ek_kernel_row *all = ek__with_room(r->row, &r->room, r->n + 1, sizeof *all);
    if (!all)
        return ek__no_memory(r->err);
    r->row = all;
    r->row[r->n++] = row;
    return EK_OK;
}

static ek_status make(const reader *r, ek_kernel_table **out)
{
    int clash[2];
    ek_kernel_table *table;
    if (r->n == 0)
        return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->path, 2, 1}), "has no rows; write a row a shape");
    ek_status status = ek__kernel_table_make(r->row, (int)r->n, &table, clash, r->err);
    if (status)
        return status;
    if (!table)
        return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->path, r->row[clash[1]].line, r->at[SHARE] + 1}),
                        "%s contradicts line %d, which has the same shape: their times, %g and %g s, differ more than "
                        "twofold; leave one of them out",
                        names[SHARE], r->row[clash[0]].line, r->row[clash[1]].seconds, r->row[clash[0]].seconds);
    *out = table;
    return EK_OK;
}

static bool adds_gradients(const ek_kernel *k)
{
    return k->kind == EK_KERNEL_GROUPED && k->accumulates;
}

static bool same_shape(const ek_kernel *a, const ek_kernel *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->groups == b->groups && a->pass == b->pass;
}

/* A row of a grouped product that adds lacks the type of the sum: `out_dtype` is that of its operands. Where a shape
 * was timed twice, it was with buffers of 32 and of 16 bits, of which the first moves twice the bytes: that is the one
 * of kernels that accumulate here, the slower. */
static void keep_wide_buffers(reader *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        bool twice = false;
        for (size_t j = 0; j < n && adds_gradients(&r->row[i].kernel) && !twice; j++)
            if (adds_gradients(&r->row[j].kernel) && same_shape(&r->row[i].kernel, &r->row[j].kernel)) {
                r->row[j].seconds = fmax(r->row[i].seconds, r->row[j].seconds);
                twice = true;
            }
        if (!twice)
            r->row[n++] = r->row[i];
    }
    r->n = n;
}

static ek_status read_table(reader *r, ek_kernel_table **out)
{
    bool more = true;
    ek_status status = ek__csv_columns(r->csv, r->path, names, r->at, r->err);
    while (status == EK_OK) {
        status = ek__csv_next(r->csv, &more, r->err);
        if (status || !more)
            break;
        status = read_row(r);
    }
    if (status)
        return status;
    keep_wide_buffers(r);
    return make(r, out);
}

ek_status ek_kernel_table_read(const char *path, const ek_listener *listener, ek_kernel_table **out, ek_error *err)
{
    (void)listener; /* no part of such a table is skipped */
    reader r = {.path = ek__path_name(path), .err = err};
    ek_status status = ek__csv_open(path, &r.csv, err);
    if (status)
        return status;
    status = read_table(&r, out);
    free(r.row);
    ek__csv_close(r.csv);
    return status;
}
