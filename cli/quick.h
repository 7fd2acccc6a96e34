/* cli/quick.h - `balance --quick`: tuning by the rule of thumb, explained, and its cost. */
#ifndef EK_CLI_QUICK_H
#define EK_CLI_QUICK_H

#include "auto.h"
#include "model.h"
#include "search.h"

/** Is everything that was given for quick tuning? False after a message. To be called before the model is read. */
bool cli_check_quick(const cli_model *model, const cli_open *open);

/** Tune, let the balancer answer under the same rules, print both. @return an exit code. */
int cli_run_quick(cli_model *model, const ek_layers *layers, cli_search *search);

#endif
