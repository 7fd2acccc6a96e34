/* cli/cluster.h - options for clusters and steps that are not all alike: limits, speeds and transfers by stage, costs
 * by micro-batch, and what a plan must keep to. */
#ifndef EK_CLI_CLUSTER_H
#define EK_CLI_CLUSTER_H

#include "evenkeel/evenkeel.h"

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

/** The same for one pipeline; NULL what was not given. */
typedef struct cli_stages {
    double *memory_mb, *speed, *slowdown; /**< [n_stages] */
    double *edge_time;                    /**< [n_stages] as ek_comm wants it */
    double *micro_batch_cost;             /**< [whole micro-batches] */
    double *piece_cost;                   /**< [micro-batches of the shape]: those of sequence pieces */
    int *fixed_layers;                    /**< [n_stages] -1: free */
} cli_stages;

/* clang-format off */
#define CLI_CLUSTER_OPTIONS                                                                                            \
    {"stage-memory", "LIST", "memory limit of each stage in MB, as 56000x4,64000x12 (xN: N stages); wins over -mem", "cluster"},\
    {"stage-speed", "LIST", "speed of each stage, as 1x8,0.8x8; 1 is that of the layer times", NULL},                  \
    {"p2p-edges", "LIST", "time of one send from each stage to the next, the last one to stage 0; wins over --p2p-time", NULL},\
    {"stages-per-node", "N", "stages of a node: a send within it takes --p2p-time, between nodes --p2p-inter", NULL},  \
    {"p2p-inter", "TIME", "time of one send between nodes (with --stages-per-node)", NULL},                            \
    {"micro-batch-cost", "LIST|FILE", "factors of each micro-batch's times and activations, as 1x8,0.5x8; a name of "  \
     "a file with such a list, lines allowed", NULL},                                                                  \
    {"recompute-transient", NULL, "count the activations that recomputing a layer brings back while its backward "     \
     "runs; balance keeps the most of any layer free on every stage", NULL}
#define CLI_CHOICE_OPTIONS                                                                                             \
    {"fix", "STAGE:LAYERS,...", "stages (from 0) that hold this many layers, over all their chunks; may be repeated", NULL},\
    {"forbid", "KIND,...", "recomputation that a plan may not use: none, select, comm, both, full", NULL}
/* clang-format on */

/** Handle one of the options. @return CLI_OK, CLI_WRONG after a message, or CLI_HELP when it is not one of them. */
int cli_cluster_option(cli_cluster *cluster, const cli_option *option, const char *text);

/** Lay the options out for a pipeline. False after filling `err`, with nothing to clear. */
bool cli_cluster_lay_out(const cli_cluster *cluster, const ek_comm *comm, const ek_shape *shape, cli_stages *out,
                         ek_error *err);
void cli_stages_clear(cli_stages *stages);

/** Enter the limits, edges, speeds, costs and choices into options, which borrow them. */
void cli_stages_options(const cli_stages *stages, const cli_cluster *cluster, ek_balance_options *options);

/** Enter what there is into a report, which borrows it; also the largest of the stages' limits. */
void cli_stages_report(const cli_stages *stages, const cli_cluster *cluster, int n_stages, ek_report *report);

#endif
