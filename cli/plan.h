/* cli/plan.h - what the files of `evenkeel plan` share: what was asked for, what was found, and what is left behind. */
#ifndef EK_CLI_PLAN_H
#define EK_CLI_PLAN_H

#include "evenkeel/evenkeel.h"

#include "job_options.h"
#include "model.h"
#include "options.h"
#include "progress.h"
#include "warnings.h"

typedef struct cli_plan_command {
    const char *source, *device, *cluster, *format, *svg, *html;
    cli_job_options job;
    ek_layout_options layout;
    int global_batch;
    bool quiet;
} cli_plan_command;

typedef struct cli_plan {
    cli_spool spool;
    cli_warnings warnings;
    ek_job job;
    ek_device device;
    bool owns_device; /**< read from a file: its tables are ours */
    ek_layout_result result;
    ek_layout_fits fits;
    cli_progress progress;
    double time_limit;
} cli_plan;

/** The picture and the page of what was found, where they were asked for. False after a message. */
bool cli_plan_pictures(const cli_plan_command *command, cli_plan *found);

#endif
