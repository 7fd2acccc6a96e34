/* Writes rows of a table as files of torchtitan, so that they are read like a user's file. Settings missing in the
 * table are the defaults of the model's published TOML, noted beside it: sequences of 8192, per-operator recomputation
 * where the table has "selective" or "config default", as many micro-batches as stages in pipelines (torchtitan's
 * default then), float8 scales per tensor, which are then gathered in 8 bits. At the end of 2024 the loss was not
 * compiled with the model (pull request 755 of torchtitan), in 2025 it was (1033). */
#include "measured_torchtitan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "job/job_internal.h"
#include "trace/text/csv.h"

static const char *cell(const ek__csv *csv, const char *column)
{
    return ek__csv_cell(csv, ek__csv_column(csv, column, NULL));
}

static double number(const ek__csv *csv, const char *column)
{
    double value = 0;
    ek__csv_number(csv, ek__csv_column(csv, column, NULL), &value);
    return value;
}

/* The value of a cell, or the default where it is empty. */
static int whole(const ek__csv *csv, const char *column, int otherwise)
{
    int value = (int)number(csv, column);
    return value > 0 ? value : otherwise;
}

static bool says(const ek__csv *csv, const char *column, const char *word)
{
    return strstr(cell(csv, column), word) != NULL;
}

/* "Llama-3.1-70B" is the flavor 70B. */
static const char *flavor_of(const ek__csv *csv)
{
    const char *dash = strrchr(cell(csv, "model"), '-');
    return dash ? dash + 1 : "8B";
}

static void put_toml(const ek__csv *csv, measured_torchtitan_row *row)
{
    int t = whole(csv, "tp", 1), p = whole(csv, "pp", 1), cp = whole(csv, "cp", 1);
    bool full = says(csv, "recompute", "full"), async = says(csv, "precision", "sync");
    bool float8 = says(csv, "precision", "float8"), rowwise = says(csv, "precision", "rowwise");
    /* Only the compiled model has asynchronous tensor parallelism and float8. */
    bool compiled = !says(csv, "precision", "eager");
    snprintf(row->toml, sizeof row->toml,
             "[model]\nname = \"llama3\"\nflavor = \"%s\"\nconverters = [%s]\n\n"
             "[optimizer]\nname = \"AdamW\"\nimplementation = \"fused\"\n\n"
             "[training]\nlocal_batch_size = %d\nseq_len = %d\n\n"
             "[parallelism]\ndata_parallel_replicate_degree = 1\ndata_parallel_shard_degree = %d\n"
             "tensor_parallel_degree = %d\nenable_async_tensor_parallel = %s\npipeline_parallel_degree = %d\n"
             "pipeline_parallel_schedule = \"%s\"\npipeline_parallel_microbatch_size = %d\n"
             "context_parallel_degree = %d\n\n"
             "[activation_checkpoint]\nmode = \"%s\"\nselective_ac_option = \"op\"\n\n"
             "[compile]\nenable = %s\ncomponents = [\"model\"%s]\n\n"
             "[float8]\nrecipe_name = \"%s\"\nenable_fsdp_float8_all_gather = %s\n",
             flavor_of(csv), float8 ? "\"float8\"" : "", whole(csv, "local_batch", 1), whole(csv, "seq", 8192),
             whole(csv, "dp", row->devices / (t * p * cp)), t, async ? "true" : "false", p,
             says(csv, "precision", "Interleaved") ? "Interleaved1F1B" : "1F1B",
             p > 1 && whole(csv, "local_batch", 1) >= p ? whole(csv, "local_batch", 1) / p : 1, cp,
             full ? "full" : "selective", compiled ? "true" : "false",
             says(csv, "source", "_202412_") ? "" : ", \"loss\"", rowwise ? "rowwise" : "tensorwise",
             float8 && !rowwise ? "true" : "false");
}

static void fill(const ek__csv *csv, measured_torchtitan_row *row)
{
    *row = (measured_torchtitan_row){.devices = whole(csv, "gpus", 1),
                                     .tokens_per_s_per_device = number(csv, "tokens_per_s_per_gpu"),
                                     .mem_gib = number(csv, "mem_gib"),
                                     .suspect = strcmp(cell(csv, "suspect"), "1") == 0};
    snprintf(row->hardware, sizeof row->hardware, "%s", cell(csv, "hardware"));
    snprintf(row->precision, sizeof row->precision, "%s", cell(csv, "precision"));
    /* One call a cell: each is good until the next row only. */
    int n = snprintf(row->name, sizeof row->name, "%s, %d x", cell(csv, "model"), row->devices);
    n += snprintf(row->name + n, sizeof row->name - (size_t)n, " %.20s, S %d,", row->hardware, whole(csv, "seq", 8192));
    n += snprintf(row->name + n, sizeof row->name - (size_t)n, " t%d p%d cp%d,", whole(csv, "tp", 1),
                  whole(csv, "pp", 1), whole(csv, "cp", 1));
    snprintf(row->name + n, sizeof row->name - (size_t)n, " %s, %s", cell(csv, "recompute"), row->precision);
    put_toml(csv, row);
}

ek_status measured_torchtitan_read(const char *shared, measured_torchtitan_rows *out, ek_error *err)
{
    char path[1024];
    ek__csv *csv;
    size_t capacity = 0;
    measured_torchtitan_rows rows = {0};
    *out = rows;
    snprintf(path, sizeof path, "%s/reference/measured/torchtitan_h100_h200.csv", shared ? shared : "");
    if (!shared || access(path, R_OK) != 0)
        return EK_OK;
    ek_status status = ek__csv_open(path, &csv, err);
    if (status)
        return status;
    bool more = true;
    while (status == EK_OK && (status = ek__csv_next(csv, &more, err)) == EK_OK && more) {
        measured_torchtitan_row *grown = ek__with_room(rows.row, &capacity, (size_t)rows.n + 1, sizeof *grown);
        if (!grown) {
            status = ek__no_memory(err);
            break;
        }
        rows.row = grown;
        fill(csv, &rows.row[rows.n++]);
    }
    ek__csv_close(csv);
    if (status == EK_OK)
        *out = rows;
    else
        measured_torchtitan_clear(&rows);
    return status;
}

void measured_torchtitan_clear(measured_torchtitan_rows *rows)
{
    free(rows->row);
    *rows = (measured_torchtitan_rows){0};
}

ek_status measured_torchtitan_job(const measured_torchtitan_row *row, ek_job *out, ek_error *err)
{
    ek__job_step step;
    return ek__job_parse("row.toml", row->toml, strlen(row->toml), NULL, NULL, out, &step, err);
}
