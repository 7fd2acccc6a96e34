/* cli/model.h - the options that every command shares: which model, which pipeline, which outputs. */
#ifndef EK_CLI_MODEL_H
#define EK_CLI_MODEL_H

#include "evenkeel/evenkeel.h"

#include "cluster.h"
#include "options.h"

/** Where the model comes from, and the pipeline it runs in, as given on the command line. */
typedef struct cli_model {
    const char *init, *layers, *layer_folder, *name, *times, *train;
    bool name_given;
    int n_stages, n_chunks, n_micro_batches; /**< 0 when not given */
    int n_pieces;                            /**< sequence pieces of a micro-batch, as given, then as the model is */
    int less_memory;                         /**< 0 or 1; -1 when not given */
    const ek_schedule *schedule;             /**< NULL: the original's choice */
    ek_comm comm;
    bool p2p_given;
    cli_cluster cluster;
    double activation_limit;         /**< as given; 0 when not */
    bool activation_limit_per_stage; /**< it was given as "2p": times the stages */
    bool list_schedules;
    bool sapp_compatible; /**< memory and times of an init file as the original takes them */
    bool memory_given;
    double memory_mb;
    double constant_mb; /**< of -mc: held on every stage besides what the model says */
    const ek_format *format;
    bool format_given;
    const char *output, *svg, *chrome_trace, *html;
    bool no_default_folder; /**< pictures only where an option asks for them */
    int dry_run_stages;     /**< of the init file that was loaded; 0 for a layer file */
    ek_dryrun_run run;      /**< what that file says of the pipeline to balance for */
} cli_model;

/* clang-format off */
#define CLI_MODEL_OPTIONS                                                                                              \
    {"init", "FILE", "init file (YAML): what a dry run held on every stage", "model"},                                 \
    {"layers", "FILE", "layer file (JSON): what each layer holds and how long it takes", NULL},                        \
    {"lf|layer-folder|layer_folder", "DIR", "folder of layer files; -m names the file in it (with --init: write it there)", NULL},\
    {"m|model-name|model_name", "NAME", "name of the model (model_name)", NULL},                                       \
    {"mc|constant-memory|constant_memory", "MB", "memory that every stage holds besides what the model says (0)", NULL},\
    {"time", "TIMES", "forward times of one micro-batch through embedding, one layer, head and loss, for example "     \
     "head=0.1,body=3.1,tail=3.5; they win over the file's", NULL},                                                     \
    {"sapp-compatible", NULL, "the memory and the times of an init file as the original takes them from its peaks and traces, with its faults", NULL}
#define CLI_PIPELINE_OPTIONS                                                                                           \
    {"s|stages|stage", "N", "stages (4)", "pipeline"},                                                                 \
    {"i|interleave|interleave_degree", "N", "chunks per stage: interleave, virtual pipeline (1)", NULL},               \
    {"mb|micro-batches|micro_batch", "N", "micro-batches of a step (4)", NULL},                                        \
    {"lm|less-memory|less_memory", "0|1", "interleaving with the shorter warm-up, which holds less memory", NULL},     \
    {"schedule", "SCHEDULE", "order of the blocks (--list-schedules names all); default by -i, -lm and -seq", NULL}, \
    {"list-schedules", NULL, "name the schedules, with a line each on bubble and memory, and end", NULL},                \
    {"activation-limit", "N|Np", "activations a stage may hold, in micro-batches of the whole stage, or that many times "\
     "the stages (1.5p); for schedules that make their order for it (the schedule's own)", NULL},                      \
    {"p2p-time", "TIME", "time of one send between stages, in the unit of the layer times (0)", NULL},                 \
    {"p2p-blocking", NULL, "a send keeps its sender busy after the block and its receiver before it", NULL},           \
    {"seq|seq_split_num", "N", "sequence pieces of a micro-batch (1); more need -train", NULL},                        \
    {"train|training-config|training_config", "FILE", "training file (YAML) with the model's shapes, for -seq", NULL}
#define CLI_OUTPUT_OPTIONS                                                                                             \
    {"format", "text|yaml|json", "report for people, a plan file, or docs/json.md", "output"},                                   \
    {"o|output|output_folder", "DIR", "folder for pictures (./output with text; with yaml and json none unless given)", NULL},\
    {"svg", "FILE", "picture of the result", NULL},                                                                    \
    {"chrome-trace", "FILE", "simulated timeline of the result as a trace for Perfetto", NULL},                        \
    {"html", "FILE", "page for a browser: timelines, memory, tables; - for standard output, instead of the report", NULL},\
    {"h|help", NULL, "this text", NULL}
/* clang-format on */

void cli_model_init(cli_model *model);

/** Handle one of the shared options. @return CLI_OK, CLI_WRONG after a message, or CLI_HELP when it is not shared. */
int cli_model_option(cli_model *model, const cli_option *option, const char *text);

/** The schedule of a name; NULL after a message that lists the names. `length` bytes of `text`. */
const ek_schedule *cli_find_schedule(const char *text, size_t length);

/** --activation-limit for a number of stages; 0 when not given. */
double cli_activation_limit(const cli_model *model, int n_stages);

/** Read the model's layers, those of a sequence piece with -seq; `operand` may name the file. False after a message. */
bool cli_model_load(cli_model *model, const char *operand, ek_layers *layers);

/** Take from the init file's pipeline_config what the command line does not say: stages, micro-batches, chunks (unless
 *  `open`, or a schedule is given), the order and the memory limit; a note names them. */
void cli_model_take_run(cli_model *model, bool open);

/** Size of a pipeline in the pieces that -seq cuts micro-batches into. */
ek_shape cli_model_shape(const cli_model *model, int n_stages, int n_chunks, int n_micro_batches);

/** The schedule for a number of chunks: --schedule, unless it is for other chunks than -i and this plan has those;
 *  else `sequence` with pieces, else by `less_memory` (-1 counts as 0). */
const ek_schedule *cli_model_schedule(const cli_model *model, int n_chunks, int less_memory);

#endif
