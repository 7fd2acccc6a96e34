/* cli/cases.h - the plans a command reports, each with its simulation. */
#ifndef EK_CLI_CASES_H
#define EK_CLI_CASES_H

#include "evenkeel/cases.h"

#include "model.h"

/** ek_cases_add() with the settings of the command line. False after a message. */
bool cli_cases_add(ek_cases *cases, const cli_model *model, const ek_layers *layers, const char *name, const char *file,
                   const ek_plan *plan, int n_micro_batches, int less_memory);

/** ek_cases_add_run(). False after a message. */
bool cli_cases_add_run(ek_cases *cases, const cli_model *model, const ek_layers *layers, const char *name,
                       const char *file, const ek_plan *plan, const ek_order *order);

/** ek_cases_add_file(). `same_chunks`: plans with other chunks per stage than -i are refused. False after a message.
 *  @param listener  of the file's warnings; NULL: none */
bool cli_cases_add_file(ek_cases *cases, const cli_model *model, const ek_layers *layers, bool same_chunks,
                        const char *path, const ek_listener *listener);

/** Print the cases as a list and draw them. @param memory_limit_mb  to compare the peaks with; 0: none. False after a
 *  message. */
bool cli_cases_report(ek_cases *cases, const cli_model *model, const ek_layers *layers, double memory_limit_mb);

#endif
