/* cli/plan.h - shared types and functions of `evenkeel plan`: requests, results and output files. */
#ifndef EK_CLI_PLAN_H
#define EK_CLI_PLAN_H

#include "evenkeel/calibrate.h"
#include "evenkeel/layout_advice.h"
#include "evenkeel/layout_fit.h"

#include "gates.h"
#include "job_options.h"
#include "model.h"
#include "options.h"
#include "plot.h"
#include "progress.h"
#include "warnings.h"

enum { CLI_PLAN_MAX_VALUES = 100 };
/** Part of the time limit for the search where a layout or the way to it is to be explained: the rest is for that. */
#define CLI_PLAN_SEARCH_SHARE 0.75

/** The value of --sweep. */
typedef struct cli_plan_values {
    ek_layout_sweep_of what;
    int n; /**< 0: no sweep */
    double value[CLI_PLAN_MAX_VALUES];
} cli_plan_values;

typedef struct cli_plan_command {
    const char *source, *device, *cluster, *format, *svg, *html, *lang, *write, *explain, *tried, *start;
    const cli_option *explain_option; /**< for messages */
    int n_trials;
    cli_plan_values values; /**< of a sweep */
    double wanted_seconds;  /**< of a sweep: steps that are short enough; 0: not given */
    bool batch_grows;
    bool way; /**< from today's layout to the best */
    cli_job_options job;
    ek_layout_options layout;
    int global_batch;
    cli_plot plot;
    bool quiet;
    cli_texts fail_on;
    ek_gates *gates;
} cli_plan_command;

typedef struct cli_plan {
    cli_spool spool;
    cli_warnings warnings;
    ek_job job;
    ek_job searched; /**< with the operators to recompute that are worth it */
    ek_device device;
    bool owns_device; /**< read from a file: its tables are ours */
    ek_layout_result result;
    ek_layout_fits fits;
    ek_layout_explanation explanation;
    bool has_way;
    ek_layout_way way;
    bool has_thumbs;
    ek_layout_thumb thumb[EK_N_LAYOUT_THUMBS];
    ek_layout_trials trials;
    ek_measured_runs runs; /**< of --tried */
    bool has_tries;
    ek_layout_tries tries;
    char **file;       /**< [n_plans] written ones */
    char **trial_file; /**< [EK_MAX_LAYOUT_TRIALS] */
    cli_progress progress;
    double time_limit;
} cli_plan;

/** The picture and the page of the result, where requested. False after a message. */
bool cli_plan_pictures(const cli_plan_command *command, cli_plan *found);

/** Groups, the layout to explain, rules of thumb and trials, as far as requested. False after a message.
 */
bool cli_plan_advise(const cli_plan_command *command, cli_plan *found);
/** The runs of --tried. False after a message. */
bool cli_plan_read_tried(const cli_plan_command *command, cli_plan *found);
void cli_plan_clear_advice(cli_plan *found);

/** The plans, or the trials where requested, as files of the job's framework in a folder, for --write. False after a
 *  message where a file could not be written; a plan without an equivalent in its framework is only noted. */
bool cli_plan_write(const cli_plan_command *command, cli_plan *found);
void cli_plan_clear_files(cli_plan *found);

/** Takes WHAT=A:B[:STEP] or WHAT=A,B,C into cli_plan_values. False after a message. */
bool cli_plan_take_sweep(const cli_option *option, const char *text, void *place);
/** A search at each value of --sweep, printed. @return the exit status */
int cli_plan_sweep(const cli_plan_command *command, cli_plan *found);

#endif
