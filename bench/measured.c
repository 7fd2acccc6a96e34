/* Reads published memory figures with their jobs. Tables that give a layout instead of a file become the arguments of a
 * Megatron script, so that they are read like a user's script; settings missing in a table are its repository's
 * defaults, noted beside it. */
#include "measured.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/memory.h"
#include "trace/text/csv.h"

typedef struct collector {
    const char *shared;
    measured_rows out;
    size_t capacity;
    ek_error *err;
} collector;

/* A table while it is read. */
typedef struct table {
    ek__csv *csv;
    collector *to;
    double states_mb;      /* of the line before, where rows come in pairs */
    ek_measured_runs runs; /* as jobs, of a table of runs */
    int n_rows;            /* of them so far */
} table;

/* ---- rows ---- */

/* Takes the job over. */
static ek_status add(collector *c, measured_row row)
{
    measured_row *grown = ek__with_room(c->out.row, &c->capacity, (size_t)c->out.n + 1, sizeof *grown);
    if (!grown) {
        ek_job_clear(&row.job);
        return ek__no_memory(c->err);
    }
    c->out.row = grown;
    c->out.row[c->out.n++] = row;
    return EK_OK;
}

static const char *cell(const table *t, const char *column)
{
    return ek__csv_cell(t->csv, ek__csv_column(t->csv, column, NULL));
}

static double number(const table *t, const char *column)
{
    double value = 0;
    ek__csv_number(t->csv, ek__csv_column(t->csv, column, NULL), &value);
    return value;
}

static int whole(const table *t, const char *column)
{
    return (int)number(t, column);
}

/* Read the arguments as a script would be. */
static ek_status read_arguments(collector *c, const char *text, ek_job *job)
{
    char path[] = "/tmp/measured-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return ek__fail(c->err, EK_ERR_SYSTEM, EK__NOWHERE, "no temporary file can be made");
    bool written = fputs(text, file) >= 0;
    written = fclose(file) == 0 && written;
    ek_status status = written ? ek_job_read(path, NULL, NULL, job, c->err)
                               : ek__fail(c->err, EK_ERR_SYSTEM, EK__NOWHERE, "%s cannot be written", path);
    unlink(path);
    return status;
}

/* Arguments that all of the Megatron-like tables have in common. */
static const char llama_arguments[] =
    " --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights"
    " --position-embedding-type rope --attention-dropout 0 --hidden-dropout 0 --use-flash-attn --sequence-parallel";

static ek_status read_table(collector *c, const char *name, bool of_runs, ek_status (*row)(table *))
{
    char path[1024];
    ek__csv *csv;
    snprintf(path, sizeof path, "%s/reference/measured/%s", c->shared, name);
    ek_status status = ek__csv_open(path, &csv, c->err);
    if (status)
        return status;
    table t = {.csv = csv, .to = c};
    bool more = true;
    if (of_runs)
        status = ek_run_table_read(path, NULL, &t.runs, c->err);
    while (status == EK_OK) {
        status = ek__csv_next(csv, &more, c->err);
        if (status || !more)
            break;
        status = row(&t);
    }
    ek__csv_close(csv);
    ek_measured_runs_clear(&t.runs);
    return status;
}

/* ---- Llama-175B: the published dry run of a balancing tool ---- */

static ek_status sapp_row(table *t)
{
    char path[1024];
    if (strcmp(cell(t, "suspect"), "1") == 0)
        return EK_OK;
    measured_row row = {.table = MEASURED_SAPP, .stage = whole(t, "stage"), .actual = true, .mb = number(t, "peak_mb")};
    snprintf(row.name, sizeof row.name, "Llama-175B, 16 stages, stage %d", row.stage);
    snprintf(path, sizeof path, "%s/reference/configs/llama_175b_dryrun.yaml", t->to->shared);
    ek_status status = ek_job_read(path, NULL, NULL, &row.job, t->to->err);
    return status ? status : add(t->to, row);
}

/* ---- Qwen2.5-7B: dry run beside real run ---- */

/* MindSpeed-LLM on MindSpore. The stage is not stated; both figures fit the first one. */
static ek_status pair_row(table *t)
{
    if (strncmp(cell(t, "case"), "Qwen2.5-7B", 10) != 0)
        return EK_OK;
    bool full = strncmp(cell(t, "recompute"), "full", 4) == 0;
    ek_status status = EK_OK;
    for (int actual = 0; actual < 2 && status == EK_OK; actual++) {
        char text[2048];
        measured_row row = {.table = MEASURED_PAIRS, .stage = 0, .actual = actual};
        row.mb = number(t, actual ? "actual_peak_with_frag_mb" : "used_peak_without_frag_mb");
        snprintf(row.name, sizeof row.name, "Qwen2.5-7B t2 p2 S10240, recompute %s, %s", cell(t, "recompute"),
                 cell(t, "run"));
        snprintf(text, sizeof text,
                 "--num-layers 28 --hidden-size 3584 --ffn-hidden-size 18944 --num-attention-heads 28"
                 " --group-query-attention --num-query-groups 4 --padded-vocab-size 152064 --add-qkv-bias"
                 " --seq-length %d --max-position-embeddings %d --micro-batch-size %d --global-batch-size %d"
                 " --tensor-model-parallel-size %d --pipeline-model-parallel-size %d --data-parallel-size 1 --bf16%s%s",
                 whole(t, "seq"), whole(t, "seq"), whole(t, "mbs"), whole(t, "gbs"), whole(t, "tp"), whole(t, "pp"),
                 llama_arguments,
                 full ? " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1" : "");
        status = read_arguments(t->to, text, &row.job);
        if (status == EK_OK) {
            row.job.framework = EK_MINDSPEED;
            row.job.rules = ek_rules_default(EK_MINDSPEED);
            status = add(t->to, row);
        }
    }
    return status;
}

/* ---- Megatron on B200 ---- */

static ek_status simumax_add(table *t, const ek_job *job, int stage, const char *column, double scale, bool actual)
{
    measured_row row = {.table = MEASURED_SIMUMAX, .stage = stage, .actual = actual, .mb = number(t, column) * scale};
    row.kind = strncmp(cell(t, "model"), "deepseek", 8) == 0 ? MEASURED_EXPERTS
               : whole(t, "cp") > 1                          ? MEASURED_LONG
                                                             : MEASURED_DENSE;
    snprintf(row.name, sizeof row.name, "%s L%d d%d t%d p%d cp%d ep%d S%d m%d%s", cell(t, "model"), whole(t, "layers"),
             whole(t, "dp"), whole(t, "tp"), whole(t, "pp"), whole(t, "cp"), whole(t, "ep"), whole(t, "seq"),
             whole(t, "num_microbatches"), stage >= 0 ? ", first stage" : "");
    ek_status status = ek_job_copy(job, &row.job, t->to->err);
    return status ? status : add(t->to, row);
}

/* Jobs are those that steps are judged by: the reader of tables of measured runs makes them of the same rows. */
static ek_status simumax_row(table *t)
{
    const ek_job *job = &t->runs.run[t->n_rows++].job;
    ek_status status = simumax_add(t, job, -1, "mem_alloc_gib", 1024, false);
    if (status == EK_OK)
        status = simumax_add(t, job, -1, "mem_reserved_gib", 1024, true);
    /* With two stages the emptier ranks are those of the first one. */
    if (status == EK_OK && whole(t, "pp") == 2)
        status = simumax_add(t, job, 0, "rank_min_alloc_mib", 1, false);
    return status;
}

/* ---- Llama2-7B of one to four layers ---- */

/* Model states and the peak of activations are two consecutive lines of the table.
 *
 * 16 bytes a parameter and 32 MB a checkpointed input of 2048 x 4096 show that the run was in fp32, whatever the file's
 * name; states go over the data-parallel ranks with the weights (FSDP), which are gathered layer by layer. Without
 * "vtp" tokens instead of the vocabulary are split in the head, which no job here can express: those rows are left
 * out. */
static ek_status galvatron_row(table *t)
{
    char text[2048];
    const char *quantity = cell(t, "quantity");
    int p = whole(t, "pp"), tp = whole(t, "tp"), dp = whole(t, "dp");
    bool full = strstr(cell(t, "strategy"), "_c_") != NULL, split = strstr(cell(t, "strategy"), "vtp") != NULL;
    if (strcmp(quantity, "model_states") == 0)
        t->states_mb = number(t, "value_mb");
    if (strcmp(quantity, "activation_peak") != 0 || strcmp(cell(t, "suspect"), "1") == 0 || whole(t, "rank") != 0 ||
        (tp > 1 && !split))
        return EK_OK;
    measured_row row = {.table = MEASURED_GALVATRON, .stage = 0, .mb = t->states_mb + number(t, "value_mb")};
    snprintf(row.name, sizeof row.name, "Llama2-7B of %s layers, p%d t%d d%d%s", cell(t, "layers"), p, tp, dp,
             full ? ", full recompute" : "");
    /* All of the global batch's sequences of a rank are one micro-batch; p of them as p, which keeps the same. */
    snprintf(text, sizeof text,
             "--num-layers %d --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32"
             " --padded-vocab-size 32000 --seq-length %d --max-position-embeddings %d --micro-batch-size %d"
             " --global-batch-size %d --tensor-model-parallel-size %d --pipeline-model-parallel-size %d"
             " --data-parallel-size %d --use-distributed-optimizer --transformer-impl local%s%s",
             whole(t, "layers"), whole(t, "seq"), whole(t, "seq"), whole(t, "global_batch") / dp / p,
             whole(t, "global_batch"), tp, p, dp, llama_arguments,
             full ? " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1" : "");
    ek_status status = read_arguments(t->to, text, &row.job);
    if (status)
        return status;
    row.job.states.shard_weight = row.job.states.shard_gradient = row.job.states.shard_optimizer = true;
    row.job.states.shard_table = true;
    row.job.states.gathered = 4;
    row.job.rules.weight_gather = EK_GATHER_LAYER;
    row.job.rules.gather_buffer = false; /* its modules are its own */
    row.job.rules.workspace_mb = 0;
    return add(t->to, row);
}

ek_status measured_read(const char *shared, measured_rows *out, ek_error *err)
{
    static const struct {
        const char *name;
        bool of_runs;
        ek_status (*row)(table *);
    } tables[] = {{"sapp_demo_stage_memory.csv", false, sapp_row},
                  {"mindspore_dryrun_vs_real.csv", false, pair_row},
                  {"simumax_b200.csv", true, simumax_row},
                  {"galvatron_llama2_7b_memory_profile.csv", false, galvatron_row}};
    collector c = {.shared = shared, .err = err};
    char path[1024];
    ek_status status = EK_OK;
    if (shared)
        snprintf(path, sizeof path, "%s/reference/measured", shared);
    if (shared && access(path, R_OK) == 0)
        for (size_t i = 0; i < sizeof tables / sizeof *tables && status == EK_OK; i++)
            status = read_table(&c, tables[i].name, tables[i].of_runs, tables[i].row);
    if (status == EK_OK)
        *out = c.out;
    else
        measured_clear(&c.out);
    return status;
}

void measured_clear(measured_rows *rows)
{
    for (int i = 0; i < rows->n; i++)
        ek_job_clear(&rows->row[i].job);
    free(rows->row);
    *rows = (measured_rows){0};
}

double measured_predicted(const measured_row *row, const ek_memory *memory)
{
    int64_t most = 0;
    for (int s = 0; s < memory->n_stages; s++) {
        int64_t peak = row->actual ? memory->stage[s].actual_peak : memory->stage[s].used_peak;
        if (s == row->stage)
            return (double)peak / (1 << 20);
        most = peak > most ? peak : most;
    }
    return (double)most / (1 << 20);
}
