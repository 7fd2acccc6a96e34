/* cli/cluster.h - options for uneven clusters and steps: limits, speeds and transfers by stage, costs by micro-batch,
 * and constraints on plans. */
#ifndef EK_CLI_CLUSTER_H
#define EK_CLI_CLUSTER_H

#include "evenkeel/balance.h"

#include "options.h"

enum { CLI_MAX_FIXES = 64 };

/** As given on the command line; lists are text until the pipeline's size is known. */
typedef struct cli_cluster {
    const char *memory, *speed, *edges, *costs; /**< NULL when not given */
    const char *fixes[CLI_MAX_FIXES];           /**< texts of --fix */
    int n_fixes;
    int stages_per_node; /**< 0: not given */
    bool inter_given;
    double inter_time;
    bool recompute_transient;
    bool any_forbidden, forbidden[EK_N_RECOMPUTE];
} cli_cluster;

/** The same for one pipeline; lists that were not given are NULL. */
typedef struct cli_stages {
    double *memory_mb, *speed, *slowdown; /**< [n_stages] */
    double *edge_time;                    /**< [n_stages] as ek_comm wants it */
    double *micro_batch_cost;             /**< [whole micro-batches] */
    double *piece_cost;                   /**< [micro-batches of the shape]: those of sequence pieces */
    int *fixed_layers;                    /**< [n_stages] -1: free */
} cli_stages;

/** Rows for a command's table: the clusters, and the constraints on plans. */
#define CLI_CLUSTER_OPTIONS(owner, field) CLI_ROWS(cli_cluster_rows, cli_cluster, owner, field)
#define CLI_CHOICE_OPTIONS(owner, field)  CLI_ROWS(cli_choice_rows, cli_cluster, owner, field)
extern const cli_option cli_cluster_rows[], cli_choice_rows[];

/** Lay the options out for a pipeline. False after filling `err`, with nothing to clear. */
bool cli_cluster_lay_out(const cli_cluster *cluster, const ek_comm *comm, const ek_shape *shape, cli_stages *out,
                         ek_error *err);
void cli_stages_clear(cli_stages *stages);

/** Enter the limits, edges, speeds, costs and choices into options, which borrow them. */
void cli_stages_options(const cli_stages *stages, const cli_cluster *cluster, ek_balance_options *options);

/** For ek_balance_lists with a cli_cluster as its user: lays the cluster's lists out for the shape, as cli_stages in
 * *own. */
ek_status cli_cluster_fill(const void *cluster, const ek_shape *shape, ek_balance_options *options, void **own,
                           ek_error *err);
void cli_cluster_release(void *own);

/** Enter the given lists into a report, which borrows them, and the largest of the stages' limits. */
void cli_stages_report(const cli_stages *stages, const cli_cluster *cluster, int n_stages, ek_report *report);

#endif
