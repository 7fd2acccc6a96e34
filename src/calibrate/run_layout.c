/* Reads the layout from the cells of a row of measured runs: empty cells are filled from the public model of that name,
 * from the other degrees, or from the scripts of a published table. A missing value is a reason not to use the row, a
 * contradiction is an error. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "calibrate/run_table.h"
#include "evenkeel/layers.h"

/* ---- cells ---- */

const char *ek__run_cell(const ek__run_row *row, ek__run_column column)
{
    return ek__csv_cell(row->csv, row->at[column]);
}

ek_origin ek__run_place(const ek__run_row *row, ek__run_column column)
{
    int64_t line = 1, wanted = ek__csv_line(row->csv);
    const char *at = row->text;
    for (; *at && line < wanted; at++)
        line += *at == '\n' || (*at == '\r' && at[1] != '\n');
    const char *start = at;
    bool quoted = false;
    for (int left = row->at[column]; *at && left > 0; at++) {
        quoted ^= *at == '"';
        left -= *at == ',' && !quoted;
    }
    return (ek_origin){row->path, (int)(wanted < INT_MAX ? wanted : INT_MAX),
                       row->at[column] < 0 ? 0 : (int)(at - start) + 1};
}

bool ek__run_has(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text || n == 0; text++)
        if (ek__strncasecmp(text, word, n) == 0)
            return true;
    return false;
}

ek_status ek__run_number(const ek__run_row *row, ek__run_column column, double least, double most, double *out)
{
    double value;
    const char *cell = ek__run_cell(row, column), *text = strncmp(cell, ">=", 2) == 0 ? cell + 2 : cell;
    if (cell[0] == '\0')
        return EK_OK;
    if (!ek__text_is_number(text, &value) || !(value >= least && value <= most))
        return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, column),
                        "%s is '%.40s', expected a number from %.10g to %.10g; correct it, or leave the cell empty",
                        ek__csv_header(row->csv, row->at[column]), cell, least, most);
    *out = value;
    return EK_OK;
}

ek_status ek__run_whole(const ek__run_row *row, ek__run_column column, int least, int most, int *out)
{
    double value = *out;
    ek_status status = ek__run_number(row, column, least, most, &value);
    if (status == EK_OK && value != floor(value))
        return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, column),
                        "%s is '%.40s', expected a whole number; correct it", ek__csv_header(row->csv, row->at[column]),
                        ek__run_cell(row, column));
    *out = (int)value;
    return status;
}

ek_status ek__run_switch(const ek__run_row *row, ek__run_column column, bool *out)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
    const char *cell = ek__run_cell(row, column);
    size_t n = strcspn(cell, " (,;");
    if (n == 0)
        return EK_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && ek__strncasecmp(words[i], cell, n) == 0) {
            *out = i % 2;
            return EK_OK;
        }
    return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, column), "%s is '%.40s', expected yes or no; correct it",
                    ek__csv_header(row->csv, row->at[column]), cell);
}

/* ---- the model ---- */

typedef struct number {
    ek__run_column column;
    int least, most;
    int *out;
} number;

static ek_status read_numbers(const ek__run_row *row, const number *numbers, size_t n)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < n && status == EK_OK; i++)
        status = ek__run_whole(row, numbers[i].column, numbers[i].least, numbers[i].most, numbers[i].out);
    return status;
}

static ek_status read_shapes(const ek__run_row *row, ek__run_layout *l)
{
    const ek_public_model *m = l->model = ek_public_model_find(ek__run_cell(row, EK__RUN_MODEL));
    if (m) {
        l->layers = m->layers;
        l->hidden = m->hidden;
        l->heads = m->heads;
        l->kv_heads = m->kv_heads;
        l->ffn = m->ffn;
        l->vocab = m->vocab;
        l->seq = m->sequence;
    }
    const number numbers[] = {
        {EK__RUN_LAYERS, 1, EK_MAX_LAYERS, &l->layers},   {EK__RUN_HIDDEN, 1, EK__JOB_MAX_HIDDEN, &l->hidden},
        {EK__RUN_HEADS, 1, EK__JOB_MAX_HEADS, &l->heads}, {EK__RUN_KV_HEADS, 1, EK__JOB_MAX_HEADS, &l->kv_heads},
        {EK__RUN_FFN, 1, EK__JOB_MAX_WIDTH, &l->ffn},     {EK__RUN_VOCAB, 1, EK__JOB_MAX_WIDTH, &l->vocab},
        {EK__RUN_SEQ, 1, EK__JOB_MAX_SEQUENCE, &l->seq},
    };
    ek_status status = read_numbers(row, numbers, sizeof numbers / sizeof *numbers);
    if (l->kv_heads == 0)
        l->kv_heads = l->heads;
    if (l->vocab == 0)
        l->vocab = 51200; /* GPT-2's, padded: the default of such tables */
    if (l->ffn == 0 && l->hidden > 0 && !l->framework->mindformers)
        l->ffn = 4 * l->hidden;
    l->style = m ? m->style : l->ffn == 4 * (int64_t)l->hidden ? EK_STYLE_GPT : EK_STYLE_LLAMA;
    return status;
}

/* ---- degrees ---- */

/* Micro-batches and chunks of runs from their published scripts, where the table leaves them out. */
static const struct {
    const char *source;
    int layers, hidden, micro_batch, vpp;
} scripts[] = {
    /* examples/sc21/run_table_1.sh of Megatron-LM */
    {"2104.04473", 24, 2304, 16, 1},  {"2104.04473", 30, 3072, 16, 1}, {"2104.04473", 36, 4096, 16, 1},
    {"2104.04473", 40, 6144, 8, 1},   {"2104.04473", 48, 8192, 4, 1},  {"2104.04473", 60, 10240, 2, 3},
    {"2104.04473", 80, 12288, 2, 2},  {"2104.04473", 96, 16384, 1, 2}, {"2104.04473", 105, 20480, 1, 3},
    {"2104.04473", 128, 25600, 1, 1},
};

static void fill_from_scripts(const ek__run_row *row, ek__run_layout *l)
{
    const char *source = ek__run_cell(row, EK__RUN_SOURCE);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (ek__run_has(source, scripts[i].source) && l->layers == scripts[i].layers &&
            l->hidden == scripts[i].hidden) {
            l->micro_batch = l->micro_batch ? l->micro_batch : scripts[i].micro_batch;
            l->vpp = l->vpp ? l->vpp : scripts[i].vpp;
        }
}

static ek_status read_degrees(const ek__run_row *row, ek__run_layout *l)
{
    const number numbers[] = {
        {EK__RUN_GPUS, 1, EK_MAX_RANKS, &l->gpus}, {EK__RUN_DP, 1, EK_MAX_RANKS, &l->dp},
        {EK__RUN_TP, 1, EK_MAX_RANKS, &l->tp},     {EK__RUN_PP, 1, EK_MAX_STAGES, &l->pp},
        {EK__RUN_VPP, 1, EK_MAX_CHUNKS, &l->vpp},  {EK__RUN_CP, 1, EK_MAX_RANKS, &l->cp},
        {EK__RUN_EP, 1, EK_MAX_RANKS, &l->ep},     {EK__RUN_MICRO_BATCH, 1, EK__JOB_MAX_BATCH, &l->micro_batch},
        {EK__RUN_COPIES, 1, 64, &l->copies},
    };
    int *const ones[] = {&l->tp, &l->pp, &l->vpp, &l->cp, &l->ep, &l->copies};
    ek_status status = read_numbers(row, numbers, sizeof numbers / sizeof *numbers);
    fill_from_scripts(row, l);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (*ones[i] == 0)
            *ones[i] = 1;
    int64_t model = (int64_t)l->tp * l->pp * l->cp;
    if (status || (l->gpus == 0 && l->dp == 0))
        return status;
    if (l->dp == 0)
        l->dp = (int)(l->gpus / model > 0 ? l->gpus / model : 1);
    if (l->gpus == 0 && l->dp * model <= EK_MAX_RANKS)
        l->gpus = (int)(l->dp * model);
    if (l->dp * model != l->gpus)
        return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_GPUS),
                        "data %d x tensor %d x pipeline %d x context %d are %lld devices, but the row has %d; correct "
                        "one of them, or mark the row suspect",
                        l->dp, l->tp, l->pp, l->cp, (long long)(l->dp * model), l->gpus);
    return EK_OK;
}

/* Sequences of a data-parallel rank in a step: one micro-batch without a pipeline, else as many micro-batches as there
 * are stages, the fewest that fill a pipeline: torchtitan's default while it counted micro-batches
 * (pipeline_parallel_microbatches), which is when its published tables were made. */
static void cut_local_batch(int local, ek__run_layout *l)
{
    int n = l->pp == 1 ? 1 : local % l->pp == 0 ? l->pp : local;
    l->n_micro_batches = n;
    l->micro_batch = local / n;
}

static ek_status fail_batch(const ek__run_row *row, const ek__run_layout *l, int global)
{
    return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_GLOBAL_BATCH),
                    "a global batch of %d sequences is not %d data-parallel ranks x %d sequences x %d micro-batches; "
                    "correct one of them, or mark the row suspect",
                    global, l->dp, l->micro_batch, l->n_micro_batches);
}

static ek_status read_batch(const ek__run_row *row, ek__run_layout *l)
{
    int global = 0, local = 0;
    const number numbers[] = {{EK__RUN_N_MICRO_BATCHES, 1, EK_MAX_MICRO_BATCHES, &l->n_micro_batches},
                              {EK__RUN_GLOBAL_BATCH, 1, INT_MAX, &global},
                              {EK__RUN_LOCAL_BATCH, 1, INT_MAX, &local}};
    ek_status status = read_numbers(row, numbers, sizeof numbers / sizeof *numbers);
    if (status || l->dp == 0)
        return status;
    if (l->micro_batch == 0 && local > 0)
        cut_local_batch(local, l);
    if (global > 0 && l->micro_batch == 0)
        l->micro_batch = l->n_micro_batches ? global / l->dp / l->n_micro_batches : 1;
    if (global > 0 && l->n_micro_batches == 0 && l->micro_batch > 0)
        l->n_micro_batches = global / l->dp / l->micro_batch;
    if (l->n_micro_batches == 0 || (l->framework->mindformers && l->pp == 1))
        l->n_micro_batches = 1; /* MindFormers: micro-batches only with a pipeline */
    if (global > 0 && (int64_t)l->dp * l->micro_batch * l->n_micro_batches != global)
        return fail_batch(row, l, global);
    return EK_OK;
}

/* ---- the rest ---- */

static ek_status read_recompute(const ek__run_row *row, ek__run_layout *l)
{
    static const struct {
        const char *word;
        ek__run_recompute mode;
    } words[] = {{"none", EK__RUN_KEEP},
                 {"no", EK__RUN_KEEP},
                 {"full", EK__RUN_FULL},
                 {"selective attention", EK__RUN_ATTENTION},
                 {"selective", EK__RUN_OPERATORS},
                 {"per-op", EK__RUN_OPERATORS},
                 {"config default", EK__RUN_OPERATORS}};
    const char *cell = ek__run_cell(row, EK__RUN_RECOMPUTE);
    if (cell[0] == '\0' || l->framework->mindformers)
        return EK_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if (ek__strncasecmp(cell, words[i].word, n) == 0 && !ek__is_alpha((unsigned char)cell[n]) &&
            !(strcmp(words[i].word, "selective") == 0 && ek__run_has(cell, "attention"))) {
            l->recompute = words[i].mode;
            return EK_OK;
        }
    }
    return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_RECOMPUTE),
                    "recompute is '%.40s', expected none, full, selective attention (its core) or selective (operators "
                    "dropped by PyTorch's per-operator policy); correct it",
                    cell);
}

/* The ranks that share states, in words in some tables: "zero1=8", "fsdp=True". */
static ek_status read_sharding(const ek__run_row *row, ek__run_layout *l)
{
    const char *source = ek__run_cell(row, EK__RUN_SOURCE), *zero = strstr(source, "zero1=");
    l->zero = l->shard_size = -1;
    l->fsdp = strstr(source, "fsdp=True") != NULL;
    if (zero && l->framework->settle)
        l->shard_size = (int)strtol(zero + 6, NULL, 10);
    if (l->shard_size < 1)
        l->shard_size = -1;
    ek_status status = ek__run_whole(row, EK__RUN_ZERO, 0, 3, &l->zero);
    if (status == EK_OK)
        status = ek__run_whole(row, EK__RUN_SHARD_SIZE, -1, EK_MAX_RANKS, &l->shard_size);
    if (status == EK_OK)
        status = ek__run_switch(row, EK__RUN_FSDP, &l->fsdp);
    return status ? status : ek__run_switch(row, EK__RUN_SEQ_PARALLEL, &l->sequence_parallel);
}

static void report_missing(const ek__run_row *row, const ek__run_layout *l, size_t size, char *why)
{
    const char *missing = l->layers == 0 || l->hidden == 0 || l->heads == 0 ? "the model's shape"
                          : l->gpus == 0                                    ? "the number of devices"
                          : l->micro_batch == 0                             ? "the sequences of a micro-batch"
                          : l->seq == 0                                     ? "the tokens of a sequence"
                                                                            : NULL;
    why[0] = '\0';
    if (missing)
        snprintf(why, size, "it has no %s", missing);
    else if (ek__run_has(ek__run_cell(row, EK__RUN_PHASE), "lora"))
        snprintf(why, size, "LoRA trains a part of the weights, which is not modelled");
}

ek_status ek__run_layout_read(const ek__run_row *row, ek__run_layout *out, size_t size, char *why)
{
    static ek_status (*const steps[])(const ek__run_row *, ek__run_layout *) = {read_shapes, read_degrees, read_batch,
                                                                                read_recompute, read_sharding};
    *out = (ek__run_layout){.precision = ek__run_cell(row, EK__RUN_PRECISION)};
    ek_status status = ek__run_framework_of(row, &out->framework);
    out->half = out->precision[0] ? ek__run_has(out->precision, "fp16") : status == EK_OK && out->framework->half;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == EK_OK; i++)
        status = steps[i](row, out);
    if (status == EK_OK)
        report_missing(row, out, size, why);
    return status;
}
