/* Writes a layout as a training YAML of MindFormers and reads it like a user's file. Rows are joined with the columns
 * of such files: lists of recomputed layers, offsets, the cut of the vocabulary. Missing settings are those of the
 * files that ship with the models: flash attention, and formats by the file's name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/run_table.h"

/* Only a switch or a list of whole numbers, in YAML syntax. */
static ek_status list_of(const ek__run_row *row, ek__run_column column, const char *usual, const char **out)
{
    const char *cell = ek__run_cell(row, column);
    bool word = strcmp(cell, "True") == 0 || strcmp(cell, "False") == 0;
    *out = cell[0] ? cell : usual;
    if (cell[0] == '\0' || word || (strlen(cell) < 2000 && cell[strspn(cell, "0123456789-[], ")] == '\0'))
        return EK_OK;
    return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, column),
                    "%s is '%.40s', expected True, False or a list of whole numbers; correct it",
                    ek__csv_header(row->csv, row->at[column]), cell);
}

/* Column ffn_or_mult: a width, or the factor that Llama's width is derived with. */
static ek_status add_feed_forward(const ek__run_row *row, const ek__run_layout *l, ek__run_text *t)
{
    double ffn = l->ffn;
    ek_status status = ek__run_number(row, EK__RUN_FFN_OR_MULTIPLIER, 0.1, EK__JOB_MAX_WIDTH, &ffn);
    if (ffn >= 16)
        ek__run_write(t, "    intermediate_size: %d\n", (int)ffn);
    else if (ffn > 0) /* shipped with the models of 70 billion parameters, together with this multiple */
        ek__run_write(t, "    multiple_of: 4096\n    ffn_dim_multiplier: %.6g\n", ffn);
    else
        ek__run_write(t, "    multiple_of: 256\n");
    return status;
}

static ek_status add_model(const ek__run_row *row, const ek__run_layout *l, ek__run_text *t)
{
    const ek_public_model *m = l->model;
    const char *offset, *dtype = l->half ? "float16" : "bfloat16";
    bool gelu = l->style == EK_STYLE_GPT, latent = m && m->kv_lora > 0;
    ek_status status = list_of(row, EK__RUN_OFFSET, "0", &offset);
    if (status)
        return status;
    ek__run_write(t,
                  "model:\n  model_config:\n    type: %s\n    seq_length: %d\n    hidden_size: %d\n    num_layers: %d\n"
                  "    num_heads: %d\n    vocab_size: %d\n    use_flash_attention: True\n    compute_dtype: %s\n"
                  "    param_init_type: %s\n    softmax_compute_type: float32\n    layernorm_compute_type: float32\n",
                  latent ? "DeepseekV2Config" : "LlamaConfig", l->seq, l->hidden, l->layers, l->heads, l->vocab, dtype,
                  dtype);
    if (!latent && l->kv_heads != l->heads)
        ek__run_write(t, "    n_kv_heads: %d\n", l->kv_heads);
    if (l->style == EK_STYLE_QWEN || gelu)
        ek__run_write(t, "    qkv_has_bias: True\n");
    if (gelu)
        ek__run_write(t, "    hidden_act: gelu\n");
    ek__run_write(t, "    offset: %s\n", offset);
    status = add_feed_forward(row, l, t);
    if (m && m->experts > 0)
        ek__run_write(t,
                      "moe_config:\n  expert_num: %d\n  num_experts_chosen: %d\n  shared_expert_num: %d\n"
                      "  moe_intermediate_size: %d\n  first_k_dense_replace: %d\n",
                      m->experts, m->top_k, m->shared_ffn / m->expert_ffn, m->expert_ffn, m->dense_layers);
    return status;
}

static ek_status add_run(const ek__run_row *row, const ek__run_layout *l, ek__run_text *t)
{
    const char *recompute, *select;
    bool whole_table = true, shard = true;
    ek_status status = ek__run_switch(row, EK__RUN_VOCAB_WHOLE, &whole_table);
    if (status == EK_OK)
        status = ek__run_switch(row, EK__RUN_OPTIMIZER_SHARD, &shard);
    if (status == EK_OK)
        status = list_of(row, EK__RUN_RECOMPUTE, "False", &recompute);
    if (status == EK_OK)
        status = list_of(row, EK__RUN_SELECT, "False", &select);
    if (status)
        return status;
    ek__run_write(t,
                  "context:\n  mode: 0\nuse_parallel: True\nparallel:\n  parallel_mode: 1\n  full_batch: True\n"
                  "  enable_parallel_optimizer: %s\nrunner_config:\n  batch_size: %d\nmicro_batch_interleave_num: %d\n",
                  shard ? "True" : "False", l->micro_batch, l->copies);
    ek__run_write(
        t,
        "parallel_config:\n  data_parallel: %d\n  model_parallel: %d\n  pipeline_stage: %d\n  context_parallel: %d\n"
        "  expert_parallel: %d\n  micro_batch_num: %d\n  use_seq_parallel: %s\n  vocab_emb_dp: %s\n",
        l->dp, l->tp, l->pp, l->cp, l->ep, l->n_micro_batches, l->sequence_parallel ? "True" : "False",
        whole_table ? "True" : "False");
    ek__run_write(t, "recompute_config:\n  recompute: %s\n  select_recompute: %s\n", recompute, select);
    return EK_OK;
}

ek_status ek__run_mindformers(const ek__run_row *row, const ek__run_layout *layout, ek_job *out)
{
    ek__run_text *t = ek__alloc(1, sizeof *t);
    ek__run_layout l = *layout;
    if (!t)
        return ek__no_memory(row->err);
    if (l.precision[0] == '\0')
        l.half = !ek__run_has(ek__run_cell(row, EK__RUN_FILE), "bf16");
    ek_status status = add_run(row, &l, t);
    if (status == EK_OK)
        status = add_model(row, &l, t);
    if (status == EK_OK)
        status = ek__run_parse(row, t, out);
    free(t);
    return status;
}
