/* Reads lists with repeats (56000,64000x3): once for their syntax and again when the pipeline is known, which
 * determines their length. */
#include "cluster.h"
#include "evenkeel/layers.h"
#include "evenkeel/report.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILE (4 << 20) /* bytes of a file of micro-batch costs */

static const char blank[] = " \t\r\n";

/* Write the message of an error without a place. Returns false. */
static bool fail(ek_error *err, const char *format, ...)
{
    va_list arguments;
    *err = (ek_error){0};
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    return false;
}

/* Places of rows in cli_cluster_rows. */
enum { MEMORY, SPEED, EDGES, PER_NODE, INTER, COSTS, TRANSIENT };

/* A list's text: from the command line, or from a file. */
typedef struct list {
    const char *option; /* "stage-memory" */
    const char *file;   /* NULL: the command line */
    const char *text;
    double least, most; /* of a value */
    int room;           /* most values */
} list;

/* The list of a row. */
static list list_of(int row, const char *file, const char *text)
{
    const cli_option *option = &cli_cluster_rows[row];
    return (list){option->names, file,         text,
                  option->least, option->most, row == COSTS ? EK_MAX_MICRO_BATCHES : EK_MAX_STAGES};
}

/* An error at a place of the list. Returns false. */
static bool wrong_item(const list *l, const char *at, const char *why, ek_error *err)
{
    int length = (int)strcspn(at, ", \t\r\n");
    length = length < 40 ? length : 40;
    if (!l->file)
        return fail(err, "--%s: '%.*s' %s", l->option, length, at, why);
    fail(err, "'%.*s' %s", length, at, why);
    snprintf(err->file, sizeof err->file, "%s", l->file);
    err->line = err->column = 1;
    for (const char *c = l->text; c < at; c++) {
        err->column = *c == '\n' ? 1 : err->column + 1;
        err->line += *c == '\n';
    }
    return false;
}

/* "64000" or "64000x3"; the end of it in *end. */
static bool read_item(const list *l, const char *at, double *value, int *repeats, const char **end, ek_error *err)
{
    char why[160], number[64], *read;
    size_t n = strspn(at, "0123456789+-.eE"); /* neither nan, inf nor hexadecimal: 0x3 is three zeros */
    snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : 0), at);
    *value = strtod(number, &read);
    bool plain = read > number && !*read;
    const char *rest = at + n;
    *repeats = 1;
    if (plain && *rest == 'x') {
        char *after;
        long times = strtol(rest + 1, &after, 10);
        plain = after > rest + 1 && times >= 1 && times <= l->room;
        *repeats = plain ? (int)times : 0;
        rest = after;
    }
    if (!plain || (*rest && !strchr(", \t\r\n", *rest))) {
        snprintf(why, sizeof why, "is not a number, or a number and how often (64000x3, at most x%d)", l->room);
        return wrong_item(l, at, why, err);
    }
    if (!(*value >= l->least && *value <= l->most)) {
        snprintf(why, sizeof why, "must be from %g to %g", l->least, l->most);
        return wrong_item(l, at, why, err);
    }
    *end = rest;
    return true;
}

/* All values; `value` may be NULL to count and check only. False after filling err. */
static bool read_list(const list *l, double *value, int *n, ek_error *err)
{
    const char *at = l->text;
    *n = 0;
    for (;;) {
        double x;
        int repeats;
        at += l->file ? strspn(at, blank) : 0;
        if (l->file && !*at)
            break;
        if (!read_item(l, at, &x, &repeats, &at, err))
            return false;
        if (repeats > l->room - *n)
            return fail(err, "--%s: more than %d values", l->option, l->room);
        for (; repeats > 0; repeats--, ++*n)
            if (value)
                value[*n] = x;
        at += l->file ? strspn(at, blank) : 0;
        if (!*at)
            break;
        if (*at == ',')
            at++;
    }
    return true;
}

/* A new array of exactly `wanted` values; NULL after filling err. */
static double *parse_list(const list *l, int wanted, const char *of_what, ek_error *err)
{
    int n;
    if (!read_list(l, NULL, &n, err))
        return NULL;
    if (n != wanted) {
        fail(err, "--%s has %d value%s, but there are %d %s: one for each is wanted (VALUExN for N equal ones)",
             l->option, n, n == 1 ? "" : "s", wanted, of_what);
        return NULL;
    }
    assert(wanted > 0);
    double *value = calloc((size_t)wanted, sizeof *value);
    if (!value)
        fail(err, "out of memory");
    else
        read_list(l, value, &n, err);
    return value;
}

/* "2:6,5:7" into `fixed`, [n_stages], or checked only when NULL. */
static bool read_fixes(const char *text, int n_stages, int *fixed, ek_error *err)
{
    for (const char *at = text;; at++) {
        char *colon, *end = NULL;
        long stage = strtol(at, &colon, 10), layers = 0;
        bool right = colon > at && *colon == ':' && *at != '-';
        if (right) {
            layers = strtol(colon + 1, &end, 10);
            right = end > colon + 1 && (*end == ',' || !*end) && layers >= 0 && layers <= EK_MAX_LAYERS;
        }
        if (!right)
            return fail(err, "--fix: '%s' is not STAGE:LAYERS, as 0:5 or 0:5,3:7 (stages from 0, at most %d layers)",
                        at, EK_MAX_LAYERS);
        if (stage >= n_stages)
            return fail(err, "--fix %ld:%ld: the pipeline has stages 0 to %d", stage, layers, n_stages - 1);
        if (fixed && fixed[stage] >= 0 && fixed[stage] != layers)
            return fail(err, "--fix: stage %ld is fixed to %d and to %ld layers", stage, fixed[stage], layers);
        if (fixed)
            fixed[stage] = (int)layers;
        at = end;
        if (!*at)
            return true;
    }
}

/* Prints an error message. */
static bool said(bool fine, const ek_error *err)
{
    if (!fine)
        cli_error(err, "%s", err->message);
    return fine;
}

static bool read_fix(const cli_option *option, const char *text, void *place)
{
    cli_cluster *cluster = place;
    ek_error err;
    (void)option;
    if (cluster->n_fixes == CLI_MAX_FIXES)
        return said(fail(&err, "--fix is given more than %d times; join them with commas", CLI_MAX_FIXES), &err);
    cluster->fixes[cluster->n_fixes++] = text;
    return said(read_fixes(text, EK_MAX_STAGES, NULL, &err), &err);
}

static bool read_forbidden(const cli_option *option, const char *text, void *place)
{
    cli_cluster *cluster = place;
    (void)option;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int k = 0;
        while (k < EK_N_RECOMPUTE &&
               (strlen(ek_recompute_name[k]) != length || strncmp(at, ek_recompute_name[k], length) != 0))
            k++;
        if (k == EK_N_RECOMPUTE) {
            cli_error(NULL, "--forbid: no recomputation is called '%.*s'; there are none, select, comm, both and full",
                      (int)length, at);
            return false;
        }
        cluster->forbidden[k] = cluster->any_forbidden = true;
        at += length;
        if (!*at)
            return true;
    }
}

/* A list, not the name of a file? */
static bool is_list(const char *text)
{
    return strspn(text, "0123456789.,xeE+-") == strlen(text);
}

/* Keep the text of a list that has no fault, or the name of a file. */
static bool read_values(const cli_option *option, const char *text, void *place)
{
    int n, row = (int)(option - cli_cluster_rows);
    ek_error err;
    list l = list_of(row, NULL, text);
    *(const char **)place = text;
    return (row == COSTS && !is_list(text)) || said(read_list(&l, NULL, &n, &err), &err);
}

/* clang-format off */
const cli_option cli_cluster_rows[] = {
    [MEMORY] = {"stage-memory", "LIST", "memory limit of each stage in MB, as 56000x4,64000x12 (xN: N stages); wins over -mem", "cluster",
     CLI_CALL(cli_cluster, memory, read_values), CLI_RANGE(1, 1e9),
     .otherwise = "`-mem` everywhere",
     .manual = "memory limit of each stage's peak in MB, as `56000x4,64000x12` (`xN`: N equal stages); wins over "
               "`-mem`"},
    [SPEED] = {"stage-speed", "LIST", "speed of each stage, as 1x8,0.8x8; 1 is that of the layer times", NULL,
     CLI_CALL(cli_cluster, speed, read_values), CLI_RANGE(1e-3, 1e3),
     .otherwise = "1 everywhere",
     .manual = "speed of each stage, as `1x8,0.8x8`: at 0.8 a block takes 1 / 0.8 of the given time. Transfers and memory do not change"},
    [EDGES] = {"p2p-edges", "LIST", "time of one send from each stage to the next, the last one to stage 0; wins over --p2p-time", NULL,
     CLI_CALL(cli_cluster, edges, read_values), CLI_RANGE(0, 1e12),
     .otherwise = "`--p2p-time` everywhere",
     .manual = "time of one send from each stage to the next; the last value is from the last stage to stage 0, "
               "which several chunks use. Wins over `--p2p-time`"},
    [PER_NODE] = {"stages-per-node", "N", "stages of a node: a send within it takes --p2p-time, between nodes --p2p-inter", NULL,
     CLI_INT(cli_cluster, stages_per_node, 1, EK_MAX_STAGES),
     .manual = "consecutive stages of a node: a send within it takes `--p2p-time`, one between nodes `--p2p-inter`"},
    [INTER] = {"p2p-inter", "TIME", "time of one send between nodes (with --stages-per-node)", NULL,
     CLI_DOUBLE(cli_cluster, inter_time, 0, 1e12), CLI_GIVEN(cli_cluster, inter_given)},
    [COSTS] = {"micro-batch-cost", "LIST|FILE", "factors of each micro-batch's times and activations, as 1x8,0.5x8; a name of "
     "a file with such a list, lines allowed", NULL, CLI_CALL(cli_cluster, costs, read_values), CLI_RANGE(1e-3, 1e3),
     .otherwise = "1 everywhere",
     .manual = "factor of each micro-batch's times and activations, for sequences of different length, as "
               "`1x8,0.5x8`; a list, or the name of a file with one. A file has commas, blanks or line ends "
               "between values; one named like a list is given as `./NAME`"},
    [TRANSIENT] = {"recompute-transient", NULL, "count the activations that recomputing a layer brings back while its backward "
     "runs; balance keeps the most of any layer free on every stage", NULL, CLI_FLAG(cli_cluster, recompute_transient),
     .manual = "count the activations that recomputation restores while the backward pass of the layer runs ([models.md](models.md#memory-of-a-stage-over-time)). Off, as in the original. The search of `balance` reserves the largest such amount of any layer on every stage. This is safe but can miss plans that need less, so nothing is reported as proved"},
    [TRANSIENT + 1] = CLI_END,
};
const cli_option cli_choice_rows[] = {
    {"fix", "STAGE:LAYERS,...", "stages (from 0) with this number of layers, over all their chunks; may be repeated", NULL,
     CLI_CALL_ALL(read_fix),
     .manual = "stages (from 0) with exactly this number of body layers, over all their chunks; may be repeated. With bidirectional micro-batches the mirror of the stage is fixed, too"},
    {"forbid", "KIND,...", "recomputation that a plan may not use: none, select, comm, both, full", NULL,
     CLI_CALL_ALL(read_forbidden),
     .manual = "recomputation that is excluded: `none`, `select`, `comm`, `both`, `full`; may be repeated. At least one kind with known memory must remain"},
    CLI_END,
};
/* clang-format on */

/* The whole of a small text file; NULL after filling err. */
static char *read_file(const char *path, ek_error *err)
{
    FILE *in = fopen(path, "r");
    char *text = in ? malloc(MOST_FILE + 1) : NULL;
    size_t n = text ? fread(text, 1, MOST_FILE + 1, in) : 0;
    const char *wrong = !in                  ? strerror(errno)
                        : !text              ? "out of memory"
                        : ferror(in)         ? strerror(errno)
                        : n > MOST_FILE      ? "the file is larger than 4 MB"
                        : memchr(text, 0, n) ? "it is not a text file"
                        : n == 0             ? "the file is empty"
                                             : NULL;
    if (in)
        fclose(in);
    if (wrong) {
        fail(err, "--micro-batch-cost: cannot read '%s' (neither a list as 1x8,0.5x8): %s", path, wrong);
        free(text);
        return NULL;
    }
    assert(text); /* else `wrong` explains why */
    text[n] = '\0';
    return text;
}

static bool lay_out_costs(const cli_cluster *cluster, const ek_shape *shape, cli_stages *out, ek_error *err)
{
    int pieces = shape->n_pieces > 1 ? shape->n_pieces : 1, n = shape->n_micro_batches / pieces;
    char *text = is_list(cluster->costs) ? NULL : read_file(cluster->costs, err);
    if (!text && !is_list(cluster->costs))
        return false;
    list l = list_of(COSTS, text ? cluster->costs : NULL, text ? text : cluster->costs);
    out->micro_batch_cost = parse_list(&l, n, "micro-batches", err);
    free(text);
    if (!out->micro_batch_cost)
        return false;
    out->piece_cost = malloc((size_t)shape->n_micro_batches * sizeof *out->piece_cost);
    for (int b = 0; b < shape->n_micro_batches && out->piece_cost; b++)
        out->piece_cost[b] = out->micro_batch_cost[b / pieces];
    if (!out->piece_cost)
        fail(err, "out of memory");
    return out->piece_cost != NULL;
}

static bool lay_out_edges(const cli_cluster *cluster, const ek_comm *comm, int n_stages, cli_stages *out, ek_error *err)
{
    int per_node = cluster->stages_per_node;
    if (cluster->edges && (per_node || cluster->inter_given))
        return fail(err, "transfer times are given twice: use --p2p-edges, or --stages-per-node with --p2p-inter");
    if (!per_node != !cluster->inter_given)
        return fail(err, "%s needs %s", per_node ? "--stages-per-node" : "--p2p-inter",
                    per_node ? "--p2p-inter, the time of one send between nodes" : "--stages-per-node");
    if (cluster->edges) {
        list l = list_of(EDGES, NULL, cluster->edges);
        out->edge_time = parse_list(&l, n_stages, "stages (the last value is from the last stage to stage 0)", err);
        return out->edge_time != NULL;
    }
    if (!per_node)
        return true;
    out->edge_time = malloc((size_t)n_stages * sizeof *out->edge_time);
    for (int s = 0; s < n_stages && out->edge_time; s++)
        out->edge_time[s] = s / per_node == (s + 1) % n_stages / per_node ? comm->p2p_time : cluster->inter_time;
    if (!out->edge_time)
        fail(err, "out of memory");
    return out->edge_time != NULL;
}

static bool lay_out_speed(const cli_cluster *cluster, int n_stages, cli_stages *out, ek_error *err)
{
    list l = list_of(SPEED, NULL, cluster->speed);
    out->speed = parse_list(&l, n_stages, "stages", err);
    out->slowdown = out->speed ? malloc((size_t)n_stages * sizeof *out->slowdown) : NULL;
    for (int s = 0; s < n_stages && out->slowdown; s++)
        out->slowdown[s] = 1 / out->speed[s];
    if (out->speed && !out->slowdown)
        fail(err, "out of memory");
    return out->slowdown != NULL;
}

static bool lay_out_fixes(const cli_cluster *cluster, int n_stages, cli_stages *out, ek_error *err)
{
    out->fixed_layers = malloc((size_t)n_stages * sizeof *out->fixed_layers);
    for (int s = 0; s < n_stages && out->fixed_layers; s++)
        out->fixed_layers[s] = -1;
    bool fine = out->fixed_layers != NULL;
    if (!fine)
        fail(err, "out of memory");
    for (int i = 0; i < cluster->n_fixes && fine; i++)
        fine = read_fixes(cluster->fixes[i], n_stages, out->fixed_layers, err);
    return fine;
}

bool cli_cluster_lay_out(const cli_cluster *cluster, const ek_comm *comm, const ek_shape *shape, cli_stages *out,
                         ek_error *err)
{
    int p = shape->n_stages;
    cli_stages stages = {0};
    bool fine = lay_out_edges(cluster, comm, p, &stages, err);
    if (fine && cluster->memory) {
        list l = list_of(MEMORY, NULL, cluster->memory);
        stages.memory_mb = parse_list(&l, p, "stages", err);
        fine = stages.memory_mb != NULL;
    }
    if (fine && cluster->speed)
        fine = lay_out_speed(cluster, p, &stages, err);
    if (fine && cluster->n_fixes)
        fine = lay_out_fixes(cluster, p, &stages, err);
    if (fine && cluster->costs)
        fine = lay_out_costs(cluster, shape, &stages, err);
    if (fine)
        *out = stages;
    else
        cli_stages_clear(&stages);
    return fine;
}

void cli_stages_clear(cli_stages *stages)
{
    free(stages->memory_mb);
    free(stages->speed);
    free(stages->slowdown);
    free(stages->edge_time);
    free(stages->micro_batch_cost);
    free(stages->piece_cost);
    free(stages->fixed_layers);
    *stages = (cli_stages){0};
}

void cli_stages_options(const cli_stages *stages, const cli_cluster *cluster, ek_balance_options *options)
{
    options->comm.edge_time = stages->edge_time;
    options->stage_memory_mb = stages->memory_mb;
    options->slowdown = stages->slowdown;
    options->micro_batch_scale = stages->piece_cost;
    options->fixed_layers = stages->fixed_layers;
    memcpy(options->forbidden, cluster->forbidden, sizeof options->forbidden);
}

ek_status cli_cluster_fill(const void *user, const ek_shape *shape, ek_balance_options *options, void **own,
                           ek_error *err)
{
    const cli_cluster *cluster = user;
    cli_stages *stages = malloc(sizeof *stages);
    if (!stages) {
        fail(err, "out of memory");
        return EK_ERR_MEMORY;
    }
    if (!cli_cluster_lay_out(cluster, &options->comm, shape, stages, err)) {
        free(stages);
        return EK_ERR_INPUT;
    }
    cli_stages_options(stages, cluster, options);
    *own = stages;
    return EK_OK;
}

void cli_cluster_release(void *own)
{
    if (own)
        cli_stages_clear(own);
    free(own);
}

void cli_stages_report(const cli_stages *stages, const cli_cluster *cluster, int n_stages, ek_report *report)
{
    report->stage_memory_mb = stages->memory_mb;
    report->stage_speed = stages->speed;
    report->micro_batch_cost = stages->micro_batch_cost;
    report->fixed_layers = stages->fixed_layers;
    report->forbidden = cluster->any_forbidden ? cluster->forbidden : NULL;
    for (int s = 0; s < n_stages && stages->memory_mb; s++)
        report->memory_limit_mb = fmax(s ? report->memory_limit_mb : 0, stages->memory_mb[s]);
}
