/* cli/uniform.h - `simulate --uniform`: simulates a schedule without a model or a plan file. */
#ifndef EK_CLI_UNIFORM_H
#define EK_CLI_UNIFORM_H

#include "evenkeel/uniform.h"

#include "model.h"

/** Simulate `text`, the value of --uniform. ek_uniform_run_clear() frees it. False after a message. */
bool cli_simulate_uniform(cli_model *model, const char *text, ek_uniform_run *out);

/** Run and print. `text` is the value of --uniform. @return an exit code. */
int cli_run_uniform(cli_model *model, const char *text);

#endif
