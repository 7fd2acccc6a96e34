/* The shared options: one meaning of -s, --init, --time and the rest for every command. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"

void cli_model_init(cli_model *model)
{
    *model = (cli_model){.name = "model_name", .n_pieces = 1, .less_memory = -1, .format = ek_format_find("text")};
}

static int done(bool fine)
{
    return fine ? CLI_OK : CLI_WRONG;
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

static int set_schedule(cli_model *model, const char *text)
{
    model->schedule = cli_find_schedule(text, strlen(text));
    return model->schedule ? CLI_OK : CLI_WRONG;
}

/* "12", or "1.5p" for 1.5 x the stages. */
static int set_activation_limit(cli_model *model, const cli_option *option, const char *text)
{
    char number[64];
    size_t n = strlen(text);
    bool per_stage = n > 1 && text[n - 1] == 'p';
    snprintf(number, sizeof number, "%.*s", (int)(per_stage ? n - 1 : n), text);
    if (!cli_double(option, number, 1e-3, 1e6, &model->activation_limit))
        return CLI_WRONG;
    model->activation_limit_per_stage = per_stage;
    return CLI_OK;
}

double cli_activation_limit(const cli_model *model, int n_stages)
{
    return model->activation_limit * (model->activation_limit_per_stage ? n_stages : 1);
}

static int set_format(cli_model *model, const char *text)
{
    model->format = ek_format_find(text);
    model->format_given = true;
    if (model->format)
        return CLI_OK;
    cli_error(NULL, "no format is called '%s'; there are text, yaml and json", text);
    return CLI_WRONG;
}

static int set_less_memory(cli_model *model, const cli_option *option, const char *text)
{
    bool less;
    if (!cli_switch(option, text, &less))
        return CLI_WRONG;
    model->less_memory = less;
    return CLI_OK;
}

int cli_model_option(cli_model *model, const cli_option *option, const char *text)
{
    const struct {
        const char *name;
        const char **place;
    } words[] = {{"init", &model->init},
                 {"layers", &model->layers},
                 {"lf", &model->layer_folder},
                 {"time", &model->times},
                 {"o", &model->output},
                 {"svg", &model->svg},
                 {"chrome-trace", &model->chrome_trace},
                 {"html", &model->html},
                 {"train", &model->train}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (cli_is(option, words[i].name)) {
            *words[i].place = text;
            return CLI_OK;
        }
    }
    if (cli_is(option, "m")) {
        model->name = text;
        model->name_given = true;
        return CLI_OK;
    }
    if (cli_is(option, "mc"))
        return done(cli_double(option, text, 0, 1e9, &model->constant_mb));
    if (cli_is(option, "s"))
        return done(cli_int(option, text, 1, EK_MAX_STAGES, &model->n_stages));
    if (cli_is(option, "i"))
        return done(cli_int(option, text, 1, EK_MAX_CHUNKS, &model->n_chunks));
    if (cli_is(option, "mb"))
        return done(cli_int(option, text, 1, EK_MAX_MICRO_BATCHES, &model->n_micro_batches));
    if (cli_is(option, "mem")) {
        model->memory_given = true;
        return done(cli_double(option, text, 1, 1e9, &model->memory_mb));
    }
    if (cli_is(option, "lm"))
        return set_less_memory(model, option, text);
    if (cli_is(option, "p2p-time")) {
        model->p2p_given = true;
        return done(cli_double(option, text, 0, 1e12, &model->comm.p2p_time));
    }
    if (cli_is(option, "p2p-blocking")) {
        model->comm.blocking = true;
        return CLI_OK;
    }
    if (cli_is(option, "schedule"))
        return set_schedule(model, text);
    if (cli_is(option, "list-schedules")) {
        model->list_schedules = true;
        return CLI_OK;
    }
    if (cli_is(option, "sapp-compatible")) {
        model->sapp_compatible = true;
        return CLI_OK;
    }
    if (cli_is(option, "activation-limit"))
        return set_activation_limit(model, option, text);
    if (cli_is(option, "format"))
        return set_format(model, text);
    if (cli_is(option, "seq"))
        return done(cli_int(option, text, 1, 1024, &model->n_pieces));
    return cli_cluster_option(&model->cluster, option, text);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A launch script, or a config.json, in the model's place. @return false without a word when it is no such job */
static bool say_job(const char *path)
{
    ek_error err = {.file = ""};
    ek_job job;
    if (strcmp(path, "-") == 0 || ek_job_read(path, NULL, NULL, &job, NULL))
        return false;
    ek_job_clear(&job);
    snprintf(err.file, sizeof err.file, "%s", path);
    cli_error(&err,
              "this says how a job is trained, not what its layers take; `evenkeel memory %s --layers-out "
              "layers.json` makes a model for `--layers layers.json` from it",
              path);
    return true;
}

/* One note for each sentence; cuts them at their line breaks. */
static void tell_notes(char *notes)
{
    for (char *line = notes, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        cli_note("%s", line);
    }
}

static bool load_init(cli_model *model, const char *path, const ek_times *times, ek_layers *layers)
{
    ek_error err;
    ek_dryrun init;
    if (ek_dryrun_read(path, &cli_listener, &init, &err)) {
        /* The reader knows a training YAML itself. */
        if (ends_with(path, ".yaml") || ends_with(path, ".yml") || !say_job(path))
            cli_error(&err, "%s", err.message);
        return false;
    }
    char *notes = NULL;
    ek_status status = EK_OK;
    if (ek_dryrun_wants_profiles(&init, times))
        status = ek_dryrun_read_profiles(&init, model->sapp_compatible, &cli_listener, &notes, &err);
    if (status == EK_OK)
        status = ek_dryrun_decompose(&init, model->name, times, model->sapp_compatible, layers, &err);
    if (status)
        cli_error(&err, "%s", err.message);
    else
        tell_notes(notes);
    if (status == EK_OK && model->sapp_compatible && layers->const_mb != 0)
        cli_note("--sapp-compatible: head and tail hold the constant of %g MB too, so the first and the last stage are "
                 "shown with %g MB %s than they hold",
                 layers->const_mb, fabs(layers->const_mb), layers->const_mb > 0 ? "more" : "less");
    free(notes);
    model->dry_run_stages = init.n_stages;
    model->run = init.run;
    ek_dryrun_clear(&init);
    return status == EK_OK;
}

/* The pipeline of an init file whose layers are given beside it. */
static bool load_run(cli_model *model)
{
    ek_error err;
    if (ek_dryrun_read_run(model->init, &cli_listener, &model->run, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    return true;
}

static bool load_layers(const char *path, const ek_times *times, ek_layers *layers)
{
    ek_error err;
    if (ek_layers_read(path, times, &cli_listener, layers, &err)) {
        if (!say_job(path))
            cli_error(&err, "%s", err.message);
        return false;
    }
    return true;
}

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
        return load_run(model) && load_layers(model->layers, given, layers);
    if (sources > 1) {
        cli_error(NULL,
                  "the model is given more than once: use one of --init FILE, --layers FILE and a positional file");
        return false;
    }
    char path[4096];
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
        return load_layers(path, given, layers);
    }
    if (model->layers || (operand && ends_with(operand, ".json")))
        return load_layers(model->layers ? model->layers : operand, given, layers);
    if (!load_init(model, model->init ? model->init : operand, given, layers))
        return false;
    if (!model->layer_folder)
        return true;
    /* As the original: what the init file gave is kept as a layer file. */
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

/* Replace the layers by those of a sequence piece. */
static bool cut_into_pieces(cli_model *model, ek_layers *layers)
{
    ek_error err;
    ek_train train;
    ek_layers pieces;
    if (ek_train_read(model->train, &train, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    model->n_pieces = ek_sequence_pieces(&train, model->n_pieces, &cli_listener);
    ek_status status = ek_layers_split_sequence(layers, &train, model->n_pieces, &cli_listener, &pieces, &err);
    if (status)
        cli_error(&err, "%s", err.message);
    ek_train_clear(&train);
    if (status)
        return false;
    if (model->n_pieces > 1 && model->less_memory == 1)
        cli_note("-lm 1 is not used: sequence pieces have one order");
    ek_layers_clear(layers);
    *layers = pieces;
    return true;
}

/* Have what recomputation brings back counted, where it is known. */
static bool count_transient(ek_layers *layers)
{
    for (int b = 0; b < layers->n_body; b++)
        if (!layers->body[b].modelled[EK_RECOMPUTE_NONE]) {
            cli_error(
                NULL,
                "--recompute-transient: the activations of '%s' without recomputation are not known, so neither is "
                "what recomputation brings back",
                layers->body[b].name);
            return false;
        }
    layers->recompute_transient = true;
    return true;
}

/* What every stage holds besides: of -mc and of the init file, on top of a constant that the layers have. */
static void add_constant(const cli_model *model, ek_layers *layers)
{
    double besides = model->constant_mb + model->run.constant_mb;
    if (besides > 0 && layers->const_mb != 0)
        cli_note("the layers have a constant of %g MB on every stage; %s %g MB come on top", layers->const_mb,
                 model->constant_mb > 0 ? "-mc" : "constant_memory", besides);
    layers->const_mb += besides;
}

bool cli_model_load(cli_model *model, const char *operand, ek_layers *layers)
{
    if (model->n_pieces > 1 && !check_pieces(model))
        return false;
    if (!load_model(model, operand, layers))
        return false;
    if (model->constant_mb > 0) /* the command line wins */
        model->run.constant_mb = 0;
    add_constant(model, layers);
    if (!model->p2p_given)
        model->comm.p2p_time = model->run.p2p_time;
    if ((model->n_pieces == 1 || cut_into_pieces(model, layers)) &&
        (!model->cluster.recompute_transient || count_transient(layers)))
        return true;
    ek_layers_clear(layers);
    return false;
}

/* One setting that the init file has and the command line has not, for the note. */
static void say_taken(char *text, size_t size, const char *option, double value)
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
            say_taken(taken, sizeof taken, counts[i].option, counts[i].value);
        }
    if (run->given && !model->memory_given && run->memory_mb > 0) {
        model->memory_given = true;
        model->memory_mb = run->memory_mb;
        say_taken(taken, sizeof taken, "-mem", run->memory_mb);
    }
    if (taken[0])
        cli_note("from the init file's pipeline_config, since the command line does not say it:%s", taken);
}

ek_shape cli_model_shape(const cli_model *model, int n_stages, int n_chunks, int n_micro_batches)
{
    return (ek_shape){.n_stages = n_stages,
                      .n_chunks = n_chunks,
                      .n_micro_batches = n_micro_batches * model->n_pieces,
                      .n_pieces = model->n_pieces};
}

const ek_schedule *cli_model_schedule(const cli_model *model, int n_chunks, int less_memory)
{
    const ek_schedule *given = model->schedule;
    bool another_plan = model->n_chunks && n_chunks != model->n_chunks;
    if (given && !(another_plan && (n_chunks < given->min_chunks || n_chunks > given->max_chunks)))
        return given;
    if (model->n_pieces > 1)
        return ek_schedule_of(EK_SCHEDULE_SEQUENCE, EK_PLACE_WRAP);
    return ek_schedule_default(n_chunks, less_memory == 1);
}
