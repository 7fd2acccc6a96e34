/* cli/interactive.h - the questions of `balance` when it runs on a terminal without options. */
#ifndef EK_CLI_INTERACTIVE_H
#define EK_CLI_INTERACTIVE_H

#include "model.h"

/**
 * Query the pipeline and the model as the original tool does, each value with unit, range and default. Layers that are
 * entered by hand are saved as a layer file. Ends with the equivalent command line.
 *
 * @param memory_mb   the default, then the answer
 * @param layer_file  the path that model->layers points to
 * @return false after a message, when the answers end early or the file cannot be written
 */
bool cli_interactive(cli_model *model, double *memory_mb, char *layer_file, size_t size);

#endif
