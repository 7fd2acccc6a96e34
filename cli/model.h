/* cli/model.h - the options that every command shares: model, pipeline and outputs. */
#ifndef EK_CLI_MODEL_H
#define EK_CLI_MODEL_H

#include "evenkeel/dryrun.h"
#include "evenkeel/report.h"

#include "cluster.h"
#include "options.h"
#include "plot.h"

/** Where the model comes from, and the pipeline it runs in, as given on the command line. */
typedef struct cli_model {
    const char *init, *layers, *layer_folder, *name, *times, *train;
    bool name_given;
    int n_stages, n_chunks, n_micro_batches; /**< 0 when not given */
    int n_pieces;                            /**< sequence pieces of a micro-batch, as given, then as the model is */
    int less_memory;                         /**< 0 or 1; -1 when not given */
    const ek_schedule *schedule;             /**< NULL: the original's choice */
    struct cli_open *open;                   /**< where --schedule and -i leave a choice; NULL: they may not */
    ek_comm comm;
    bool p2p_given;
    cli_cluster cluster;
    double activation_limit;         /**< as given; 0 when not */
    bool activation_limit_per_stage; /**< it was given as "2p": times the stages */
    bool list_schedules;
    bool sapp_compatible; /**< memory and times of an init file as the original takes them */
    bool memory_given;
    double memory_mb;
    double constant_mb; /**< of -mc: memory of every stage in addition to the model's */
    const char *format; /**< "text", "yaml" or "json" */
    bool format_given;
    const char *output, *svg, *chrome_trace, *html, *lang;
    cli_plot plot;
    bool no_default_folder; /**< pictures only where an option requests them */
    int dry_run_stages;     /**< of the init file that was loaded; 0 for a layer file */
    ek_dryrun_run run;      /**< that file's pipeline to balance for */
} cli_model;

/** Rows for a command's table. */
#define CLI_MODEL_OPTIONS(owner, field)    CLI_ROWS(cli_model_rows, cli_model, owner, field)
#define CLI_PIPELINE_OPTIONS(owner, field) CLI_ROWS(cli_pipeline_rows, cli_model, owner, field)
#define CLI_OUTPUT_OPTIONS(owner, field)   CLI_ROWS(cli_output_rows, cli_model, owner, field)
extern const cli_option cli_model_rows[], cli_pipeline_rows[], cli_output_rows[];

void cli_model_init(cli_model *model);

/** The schedule of a name; NULL after a message that lists the names. `length` bytes of `text`. */
const ek_schedule *cli_find_schedule(const char *text, size_t length);

/** Takers of --schedule, into a `const ek_schedule *`, and of --format, into a `const char *`. */
bool cli_take_schedule(const cli_option *option, const char *text, void *place);
bool cli_take_format(const cli_option *option, const char *text, void *place);

/** --activation-limit for a number of stages; 0 when not given. */
double cli_activation_limit(const cli_model *model, int n_stages);

/** Read the model's layers, those of a sequence piece with -seq; `operand` may name the file. False after a message. */
bool cli_model_load(cli_model *model, const char *operand, ek_layers *layers);
/** The shapes of a sequence piece from the file of -train; ek_job_clear() frees them. False after a message. */
bool cli_model_shapes(const cli_model *model, ek_job *out);

/** Take the values that the command line does not set from the init file's pipeline_config: stages, micro-batches,
 *  chunks (unless `open`, or a schedule is given), the order and the memory limit; a note names them. */
void cli_model_take_run(cli_model *model, bool open);

/** For ek_balance_lists with a cli_model as its user: its cluster and --activation-limit for the shape. Released by
 *  cli_cluster_release(). */
ek_status cli_model_fill(const void *model, const ek_shape *shape, ek_balance_options *options, void **own,
                         ek_error *err);

/** Size of a pipeline in the pieces that -seq cuts micro-batches into. */
ek_shape cli_model_shape(const cli_model *model, int n_stages, int n_chunks, int n_micro_batches);

/** The schedule for a number of chunks: --schedule, unless it is for other chunks than -i and this plan has those;
 *  else `sequence` with pieces, else by `less_memory` (-1 counts as 0). */
const ek_schedule *cli_model_schedule(const cli_model *model, int n_chunks, int less_memory);

#endif
