/* Reads the shared options, so that -s, --init, --time and others have one meaning in every command. */
#include "model.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "evenkeel/cases.h"
#include "evenkeel/job.h"
#include "evenkeel/model_files.h"
#include "evenkeel/sequence.h"
#include "files.h"
#include "named_files.h"
#include "page.h"

void cli_model_init(cli_model *model)
{
    *model = (cli_model){.name = "model_name", .n_pieces = 1, .less_memory = -1, .format = "text"};
}

const ek_schedule *cli_find_schedule(const char *text, size_t length)
{
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        if (strlen((*s)->name) == length && strncmp((*s)->name, text, length) == 0)
            return *s;
    char names[512] = "";
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*s)->name);
    }
    cli_error(NULL, "no schedule is called '%.*s'; there are %s", (int)length, text, names);
    return NULL;
}

bool cli_take_schedule(const cli_option *option, const char *text, void *place)
{
    const ek_schedule **schedule = place;
    (void)option;
    *schedule = cli_find_schedule(text, strlen(text));
    return *schedule != NULL;
}

bool cli_take_format(const cli_option *option, const char *text, void *place)
{
    static const char *const formats[] = {"text", "yaml", "json"};
    (void)option;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(text, formats[i]) == 0) {
            *(const char **)place = formats[i];
            return true;
        }
    cli_error(NULL, "no format is called '%s'; there are text, yaml and json", text);
    return false;
}

/* Keep a value that leaves a choice; the last one given counts. */
static bool read_open(const char **place, const char *text)
{
    *place = cli_is_open(text) ? text : NULL;
    return *place != NULL;
}

static bool read_model_schedule(const cli_option *option, const char *text, void *place)
{
    cli_model *model = place;
    return (model->open && read_open(&model->open->schedules, text)) ||
           cli_take_schedule(option, text, &model->schedule);
}

static bool read_chunks(const cli_option *option, const char *text, void *place)
{
    cli_model *model = place;
    return (model->open && read_open(&model->open->chunks, text)) || cli_int(option, text, &model->n_chunks);
}

/* "12", or "1.5p" for 1.5 x the stages. */
static bool read_activation_limit(const cli_option *option, const char *text, void *place)
{
    cli_model *model = place;
    char number[64];
    size_t n = strlen(text);
    bool per_stage = n > 1 && text[n - 1] == 'p';
    snprintf(number, sizeof number, "%.*s", (int)(per_stage ? n - 1 : n), text);
    model->activation_limit_per_stage = per_stage;
    return cli_double(option, number, &model->activation_limit);
}

double cli_activation_limit(const cli_model *model, int n_stages)
{
    return model->activation_limit * (model->activation_limit_per_stage ? n_stages : 1);
}

/* clang-format off */
const cli_option cli_model_rows[] = {
    {"init", "FILE", "init file (YAML): peak memory of every stage in a dry run", "model", CLI_TEXT(cli_model, init),
     .manual = "init file (YAML): peak memory, layers and recomputation of every stage in a dry run, and the times of a layer ([formats.md](formats.md#init-file))"},
    {"layers", "FILE", "layer file (JSON): memory and time of each layer", NULL, CLI_TEXT(cli_model, layers),
     .manual = "layer file (JSON): memory and time of each layer ([formats.md](formats.md#layer-file))"},
    {"lf|layer-folder|layer_folder", "DIR", "folder of layer files; -m names the file in it (with --init: write it there)", NULL,
     CLI_OUTPUT_FOLDER(cli_model, layer_folder),
     .otherwise = "`layers`",
     .manual = "folder of layer files. With an init file: the layers found are written to `DIR/NAME.json`, `NAME` "
               "from `-m`. Without any file: that file is read"},
    {"m|model-name|model_name", "NAME", "name of the model ({})", NULL, CLI_TEXT(cli_model, name),
     CLI_GIVEN(cli_model, name_given),
     .manual = "name of a model from an init file, and of the file in `-lf`, without `/`. A layer file brings its "
               "own name"},
    {"mc|constant-memory|constant_memory", "MB", "memory of every stage in addition to the model ({})", NULL,
     CLI_DOUBLE(cli_model, constant_mb, 0, 1e9),
     .manual = "memory of every stage in addition to the model; with a note if the model has its own constant"},
    {"time", "TIMES", "forward times of one micro-batch through embedding, one layer, head and loss, for example "
     "head=0.1,body=3.1,tail=3.5; they win over the file's", NULL, CLI_TEXT(cli_model, times),
     .otherwise = "the file's",
     .manual = "forward times of one micro-batch through the embedding, one layer, and head with loss, as "
               "`head=0.1,body=3.1,tail=3.5`. Any of the three may be left out. They win over those of the file. "
               "`body` is from 1e-12, the others are from 0, to 1e12"},
    {"sapp-compatible", NULL, "the memory and the times of an init file as the original takes them from its peaks and traces, with its faults", NULL,
     CLI_FLAG(cli_model, sapp_compatible),
     .manual = "with an init file: its peaks taken apart [as the original does](models.md#memory-of-a-layer), and "
               "with `profiling_config` the times that its analyser takes from the traces, with its faults"},
    CLI_END,
};
const cli_option cli_pipeline_rows[] = {
    {"s|stages|stage", "N", "stages ({})", "pipeline", CLI_INT(cli_model, n_stages, 1, EK_MAX_STAGES), .otherwise = "4",
     .manual = "stages. `simulate` takes them from the plan; `balance` prints a note when it takes the default and"
               " the dry run had another number"},
    {"i|interleave|interleave_degree", "N", "chunks per stage: interleave, virtual pipeline ({})", NULL,
     CLI_CALL_ALL(read_chunks), CLI_RANGE(1, EK_MAX_CHUNKS), .otherwise = "1",
     .manual = "chunks per stage, also called interleave or virtual pipeline; default also the least that "
               "`--schedule` is for. For `balance` also `auto` (1, 2, 3, 4, 6 and 8) or several numbers with "
               "commas: each is tried, and all are [ranked](balance.md#several-schedules)"},
    {"mb|micro-batches|micro_batch", "N", "micro-batches of a step ({})", NULL,
     CLI_INT(cli_model, n_micro_batches, 1, EK_MAX_MICRO_BATCHES), .otherwise = "4",
     .manual = "micro-batches of a step. `simulate` defaults to those of the plan"},
    {"lm|less-memory|less_memory", "0|1", "interleaving with the shorter warm-up, which needs less memory", NULL,
     CLI_SWITCH(cli_model, less_memory),
     .otherwise = "0",
     .manual = "1: the interleaved schedule with the shorter warm-up, which needs less memory; without effect for one chunk"},
    {"schedule", "SCHEDULE", "order of the blocks (--list-schedules names all); default by -i, -lm and -seq", NULL,
     CLI_CALL_ALL(read_model_schedule),
     .otherwise = "by `-i`, `-lm`, `-seq`",
     .manual = "order of the blocks; `--list-schedules` names all. Without `-i` a schedule gets the least chunks "
               "that it is for. For `balance` also `auto` or several names with commas: each is tried, and all are"
               " [ranked](balance.md#several-schedules) by step time"},
    {"list-schedules", NULL, "name the schedules, with a line each on bubble and memory, and end", NULL,
     CLI_FLAG(cli_model, list_schedules)},
    {"activation-limit", "N|Np", "activations that a stage may store, in micro-batches of the whole stage, or as a multiple of the stages (1.5p); for schedules with an order made for it (the schedule's own)", NULL,
     CLI_CALL_ALL(read_activation_limit), CLI_RANGE(1e-3, 1e6),
     .otherwise = "the schedule's own",
     .manual = "activations that a stage may store, in micro-batches of the whole stage; `1.5p` is 1.5 times the stages. For schedules with an order made for times and memory"},
    {"p2p-time", "TIME", "time of one send between stages, in the unit of the layer times ({})", NULL,
     CLI_DOUBLE(cli_model, comm.p2p_time, 0, 1e12), CLI_GIVEN(cli_model, p2p_given)},
    {"p2p-blocking", NULL, "a send keeps its sender busy after the block and its receiver before it", NULL,
     CLI_FLAG(cli_model, comm.blocking),
     .manual = "a transfer occupies sender and receiver instead of only delaying the receiver"},
    {"seq|seq_split_num", "N", "sequence pieces of a micro-batch ({}); more need -train", NULL,
     CLI_INT(cli_model, n_pieces, 1, 1024),
     .manual = "sequence pieces of a micro-batch ([models.md](models.md#sequence-pipeline)). More than 1 needs `-train`. If a piece would be shorter than 4096 tokens, there are fewer of them, with a warning"},
    {"train|training-config|training_config", "FILE", "training file with the model's shapes, for -seq: a YAML, launch script or TOML", NULL,
     CLI_TEXT(cli_model, train),
     .manual = "training file with the shapes of the model: a YAML, launch script or TOML "
               "([formats.md](formats.md#training-file)); read only with `-seq` above 1"},
    CLI_END,
};
const cli_option cli_output_rows[] = {
    {"format", "text|yaml|json", "report for people, a plan file, or docs/json.md", "output",
     CLI_CALL(cli_model, format, cli_take_format), CLI_GIVEN(cli_model, format_given),
     .otherwise = "text",
     .manual = "output format: `text` for people, `yaml` a plan file, or [the JSON answer](json.md). Messages go to standard error"},
    {"o|output|output_folder", "DIR", "folder for pictures (./output with text; with yaml and json none unless given)", NULL,
     CLI_OUTPUT_FOLDER(cli_model, output),
     .otherwise = "`output` with text, else none",
     .manual = "folder for pictures, created when missing"},
    {"svg", "FILE", "picture of the result", NULL, CLI_OUTPUT(cli_model, svg),
     .manual = "picture of the result. With it, no folder is written unless `-o` is given"},
    {"chrome-trace", "FILE", "simulated timeline of the result as a trace for Perfetto", NULL, CLI_OUTPUT(cli_model, chrome_trace)},
    {"html", "FILE", "page for a browser: timelines, memory, tables; - for standard output, instead of the report", NULL,
     CLI_OUTPUT(cli_model, html),
     .manual = "[page for a browser](balance.md#a-page-for-a-browser), in one file that needs no network, with all"
               " plans of the report (timelines, memory, tables and comparisons) or with the sweep. `-` for "
               "standard output, instead of the report. With it, no folder is written unless `-o` is given"},
    CLI_LANG_ROW(cli_model, lang),
    CLI_PLOT_OPTIONS(cli_model, plot),
    CLI_HELP_ROW,
    CLI_END,
};
/* clang-format on */

/* DIR/NAME.json of -lf and -m; false when the name would leave the folder. */
static bool layer_path(const cli_model *model, char *path, size_t size)
{
    if (strchr(model->name, '/') || !*model->name) {
        cli_error(NULL, "-m must be a name without '/' (got '%s')", model->name);
        return false;
    }
    int n = snprintf(path, size, "%s/%s.json", model->layer_folder ? model->layer_folder : "layers", model->name);
    if (n < 0 || (size_t)n >= size) {
        cli_error(NULL, "the path of the layer file is too long");
        return false;
    }
    return true;
}

static ek_status write_layers(const void *layers, FILE *out, ek_error *err)
{
    return ek_layers_write(layers, out, err);
}

/* Read from one of the files, or both; the rest of the model stays as given. */
static bool read_model(cli_model *model, const char *init, const char *file, const ek_times *times, ek_layers *layers)
{
    const ek_model_files files = {
        .init = init, .layers = file, .name = model->name, .times = times, .sapp_compatible = model->sapp_compatible};
    ek_file_model read;
    ek_error err;
    if (ek_model_files_read(&files, &cli_listener, &cli_notes, &read, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    *layers = read.layers;
    if (init)
        model->run = read.run;
    model->dry_run_stages = read.dry_run_stages;
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool load_model(cli_model *model, const char *operand, ek_layers *layers)
{
    ek_times times;
    ek_error err;
    if (model->times && ek_times_parse(model->times, &times, &err)) {
        cli_error(NULL, "--time: %s", err.message);
        return false;
    }
    const ek_times *given = model->times ? &times : NULL;
    int sources = (model->init != NULL) + (model->layers != NULL) + (operand != NULL);
    if (sources == 2 && model->init && model->layers) /* as the original's library: pipeline here, layers there */
        return read_model(model, model->init, model->layers, given, layers);
    if (sources > 1) {
        cli_error(NULL,
                  "the model is given more than once: use one of --init FILE, --layers FILE and a positional file");
        return false;
    }
    static char path[4096]; /* named as an input */
    if (sources == 0) {
        struct stat unused;
        if (!layer_path(model, path, sizeof path))
            return false;
        if (!model->layer_folder && stat(path, &unused) != 0) {
            cli_error(NULL, "no model: give an init file (--init FILE) or a layer file (--layers FILE)%s%s%s",
                      model->name_given ? "; there is no '" : "", model->name_given ? path : "",
                      model->name_given ? "' (-m names a file in the folder of -lf, which is 'layers')" : "");
            return false;
        }
        return cli_named_add(NULL, path) && read_model(model, NULL, path, given, layers);
    }
    if (model->layers || (operand && ends_with(operand, ".json")))
        return read_model(model, NULL, model->layers ? model->layers : operand, given, layers);
    if (!read_model(model, model->init ? model->init : operand, NULL, given, layers))
        return false;
    if (!model->layer_folder)
        return true;
    /* As the original: the layers of the init file are saved as a layer file. */
    if (layer_path(model, path, sizeof path) && cli_make_folder(model->layer_folder) &&
        cli_write_file(path, write_layers, layers))
        return true;
    ek_layers_clear(layers);
    return false;
}

/* Does the given schedule keep the pieces of a micro-batch in order? Only one is made for that. */
static bool check_pieces(const cli_model *model)
{
    if (!model->train) {
        cli_error(NULL, "-seq %d needs the model's shapes: give its training file with -train FILE, or leave -seq out",
                  model->n_pieces);
        return false;
    }
    if (model->schedule && !model->schedule->pieces) {
        cli_error(NULL, "--schedule %s does not know sequence pieces; leave it out, or use --schedule sequence",
                  model->schedule->name);
        return false;
    }
    return true;
}

bool cli_model_shapes(const cli_model *model, ek_job *out)
{
    ek_error err;
    if (ek_job_read_part(model->train, EK_JOB_SHAPES, &cli_listener, out, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    if (!out->no_layout)
        return true;
    err = (ek_error){.file = ""};
    snprintf(err.file, sizeof err.file, "%s", out->path);
    cli_error(&err,
              "a config.json has no sequences of a micro-batch, sequence length and tensor parallel ranks, which the "
              "memory of sequence pieces needs; give the launch script or the training YAML of the run with -train");
    ek_job_clear(out);
    return false;
}

/* Replace the layers by those of a sequence piece. */
static bool cut_into_pieces(cli_model *model, ek_layers *layers)
{
    ek_error err;
    ek_job job;
    ek_layers pieces;
    if (!cli_model_shapes(model, &job))
        return false;
    model->n_pieces = ek_sequence_pieces(&job, model->n_pieces, &cli_listener);
    ek_status status = ek_layers_split_sequence(layers, &job, model->n_pieces, &cli_listener, &pieces, &err);
    if (status)
        cli_error(&err, "%s", err.message);
    ek_job_clear(&job);
    if (status)
        return false;
    if (model->n_pieces > 1 && model->less_memory == 1)
        cli_note("-lm 1 is not used: sequence pieces have one order");
    ek_layers_clear(layers);
    *layers = pieces;
    return true;
}

/* Count the memory that recomputation restores, where it is known. */
static bool count_transient(ek_layers *layers)
{
    for (int b = 0; b < layers->n_body; b++)
        if (!layers->body[b].modelled[EK_RECOMPUTE_NONE]) {
            cli_error(NULL,
                      "--recompute-transient: the activations of '%s' without recomputation are not known, so the "
                      "restored activations are not known either",
                      layers->body[b].name);
            return false;
        }
    layers->recompute_transient = true;
    return true;
}

bool cli_model_load(cli_model *model, const char *operand, ek_layers *layers)
{
    if (model->n_pieces > 1 && !check_pieces(model))
        return false;
    if (!load_model(model, operand, layers))
        return false;
    ek_layers_add_constant(layers, model->constant_mb, model->run.constant_mb, &cli_notes);
    if (model->constant_mb > 0) /* the command line wins */
        model->run.constant_mb = 0;
    if (!model->p2p_given)
        model->comm.p2p_time = model->run.p2p_time;
    if ((model->n_pieces == 1 || cut_into_pieces(model, layers)) &&
        (!model->cluster.recompute_transient || count_transient(layers)))
        return true;
    ek_layers_clear(layers);
    return false;
}

/* One setting of the init file that the command line does not set, for the note. */
static void note_taken(char *text, size_t size, const char *option, double value)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " %s %g", option, value);
}

void cli_model_take_run(cli_model *model, bool open)
{
    const ek_dryrun_run *run = &model->run;
    char taken[256] = "";
    const struct {
        const char *option;
        int *place;
        int value;
        bool wanted;
    } counts[] = {{"-s", &model->n_stages, run->n_stages, !model->n_stages},
                  {"-mb", &model->n_micro_batches, run->n_micro_batches, !model->n_micro_batches},
                  {"-i", &model->n_chunks, run->n_chunks, !model->n_chunks && !model->schedule && !open},
                  {"-lm", &model->less_memory, run->less_memory, model->less_memory < 0 && run->less_memory > 0}};
    for (size_t i = 0; run->given && i < sizeof counts / sizeof *counts; i++)
        if (counts[i].wanted && counts[i].value > 0) {
            *counts[i].place = counts[i].value;
            note_taken(taken, sizeof taken, counts[i].option, counts[i].value);
        }
    if (run->given && !model->memory_given && run->memory_mb > 0) {
        model->memory_given = true;
        model->memory_mb = run->memory_mb;
        note_taken(taken, sizeof taken, "-mem", run->memory_mb);
    }
    if (taken[0])
        cli_note("from pipeline_config of the init file, since the command line does not set it:%s", taken);
}

ek_shape cli_model_shape(const cli_model *model, int n_stages, int n_chunks, int n_micro_batches)
{
    return (ek_shape){.n_stages = n_stages,
                      .n_chunks = n_chunks,
                      .n_micro_batches = n_micro_batches * model->n_pieces,
                      .n_pieces = model->n_pieces};
}

ek_status cli_model_fill(const void *user, const ek_shape *shape, ek_balance_options *options, void **own,
                         ek_error *err)
{
    const cli_model *model = user;
    options->activation_limit = cli_activation_limit(model, shape->n_stages);
    return cli_cluster_fill(&model->cluster, shape, options, own, err);
}

const ek_schedule *cli_model_schedule(const cli_model *model, int n_chunks, int less_memory)
{
    const ek_case_options options = {
        .schedule = model->schedule, .n_chunks = model->n_chunks, .n_pieces = model->n_pieces};
    return ek_case_schedule(&options, n_chunks, less_memory);
}
