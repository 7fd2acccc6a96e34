/* cli/sweep.h - `balance --sweep KEY=VALUES`: finds the best plan for each of several values of one option. */
#ifndef EK_CLI_SWEEP_H
#define EK_CLI_SWEEP_H

#include "model.h"
#include "search.h"

/** Balance for every value of `text` (mem=48000:62000:2000, i=1,2,3, ...) and print the table or JSON, and the picture.
 *  @param layers  of the whole micro-batch, not of a sequence piece
 *  @return an exit code */
int cli_run_sweep(const cli_model *model, const ek_layers *layers, cli_search *search, const char *text);

/** Is this a sweep over `key`? One over "seq" cuts the model into pieces itself. */
bool cli_sweeps(const char *text, const char *key);

#endif
