/* cli/uniform.h - `simulate --uniform`: a schedule by itself, without a model or a plan file. */
#ifndef EK_CLI_UNIFORM_H
#define EK_CLI_UNIFORM_H

#include "evenkeel/uniform.h"

#include "model.h"

/** Simulate what --uniform got as `text`. ek_uniform_run_clear() frees it. False after a message. */
bool cli_simulate_uniform(cli_model *model, const char *text, ek_uniform_run *out);

/** Run and print. `text` is what --uniform got. @return an exit code. */
int cli_run_uniform(cli_model *model, const char *text);

#endif
