/* cli/search.h - running the balancer from the command line: Ctrl-C ends it, a terminal gets a progress line, and the
 * time limit counts from the start of the command. */
#ifndef EK_CLI_SEARCH_H
#define EK_CLI_SEARCH_H

#include "cluster.h"
#include "evenkeel/interrupt.h"
#include "options.h"

typedef struct cli_search {
    ek_balance_options options; /**< without comm, time and callbacks, which a run fills in */
    cli_cluster cluster;        /**< laid out for every run's pipeline */
    double begin;               /**< cli_now() when the command began */
    bool terminal;              /**< a progress line is wanted */
    char label[80];             /**< the beginning of the progress line; empty: the command */
    double run_limit;           /**< time limit of the present run */
    double patience;            /**< with other processes of a sweep; 0: the library's */
} cli_search;

/** Seconds of a clock that only runs forward. */
double cli_now(void);

void cli_search_init(cli_search *search);

/** Seconds of the time limit that are left, at least a millisecond. */
double cli_search_left(const cli_search *search);

/** Catch Ctrl-C (the first ends the search, a later one the program) until cli_release_interrupt(). */
void cli_catch_interrupt(void);
void cli_release_interrupt(void);
/** Let every signal that ends the process remove its temporary files first; one that is ignored stays so. */
void cli_clear_up_at_ends(void);
/** Set by a caught Ctrl-C. */
extern ek_interrupt cli_interrupt;

/** The options of a run with all of the time that is left, the progress line and Ctrl-C; without lists by stage. */
ek_balance_options cli_search_options(cli_search *search, const ek_comm *comm);
/** Before a run: catch Ctrl-C, and show the library's reports on the work outside the search. */
void cli_search_begin(cli_search *search);
/** After it: give Ctrl-C back and wipe the progress line. */
void cli_search_end(const cli_search *search);

/** Balance with all of `seconds`, Ctrl-C caught. As ek_balance_arranged(). */
ek_status cli_search_run(cli_search *search, const ek_layers *layers, const ek_schedule *schedule,
                         const ek_shape *shape, const ek_comm *comm, double seconds, ek_order **order,
                         ek_balance_result *result, ek_error *err);

#endif
