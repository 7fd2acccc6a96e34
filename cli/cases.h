/* cli/cases.h - the plans a command reports, each with its simulation. */
#ifndef EK_CLI_CASES_H
#define EK_CLI_CASES_H

#include "evenkeel/report.h"

#include "model.h"

enum { CLI_MAX_CASES = 260 }; /* a plan file's most, the answer and the naive ones */

typedef struct cli_cases {
    int n;
    ek_case cases[CLI_MAX_CASES];
    ek_plan plans[CLI_MAX_CASES];
    ek_timeline timelines[CLI_MAX_CASES];
    cli_stages stages[CLI_MAX_CASES]; /**< what the timelines borrow their edges from */
    char names[CLI_MAX_CASES][EK_NAME_SIZE];
    char files[CLI_MAX_CASES][256]; /**< of the picture, in the output folder */
    const char *file_names[CLI_MAX_CASES];
    ek_order *order; /**< the last one laid out; plans of one shape share it */
} cli_cases;

/**
 * Simulate a plan and add it under a name. The plan is copied.
 * @param n_micro_batches  of the step
 * @param file             picture's file name; NULL or "": NAME.svg
 * @return false after a message
 */
bool cli_cases_add(cli_cases *cases, const cli_model *model, const ek_layers *layers, const char *name,
                   const char *file, const ek_plan *plan, int n_micro_batches, int less_memory);

/** Add a plan under an order that is laid out already. */
bool cli_cases_add_run(cli_cases *cases, const cli_model *model, const ek_layers *layers, const char *name,
                       const char *file, const ek_plan *plan, const ek_order *order);

/** Read a plan file and add its strategies; those that say how many micro-batches they are for keep that unless -mb was
 *  given. `same_chunks`: those with other chunks per stage than -i are refused. False after a message.
 *  @param listener  of the file's warnings; NULL: nobody */
bool cli_cases_add_file(cli_cases *cases, const cli_model *model, const ek_layers *layers, bool same_chunks,
                        const char *path, const ek_listener *listener);

/** Print the cases as a list and draw them. @param memory_limit_mb  to compare the peaks with; 0: none. False after a
 *  message. */
bool cli_cases_report(cli_cases *cases, const cli_model *model, const ek_layers *layers, double memory_limit_mb);

void cli_cases_clear(cli_cases *cases);

#endif
