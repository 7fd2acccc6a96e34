/* `evenkeel convert`: writes a plan as the settings of a training framework. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cmd.h"
#include "emit.h"
#include "evenkeel/job.h"
#include "evenkeel/strategies.h"
#include "files.h"
#include "model.h"
#include "progress.h"

typedef struct command {
    cli_model model;
    const ek_emitter *emitter;
    const char *plan, *apply;
    int n_layers; /* 0 when not given */
    bool list;
} command;

/* clang-format off */
static const cli_option options[] = {
    {"to", "mindformers|mindspeed|megatron|torchtitan", "training framework; --list names them", "settings",
     CLI_CALL(command, emitter, cli_take_emitter)},
    {"apply", "FILE", "put the plan into this training YAML of MindFormers: only the values of the pipeline change. The old "
     "file is kept as FILE.bak, or with -o the new one is written there instead", NULL,
     CLI_EDITED(command, apply),
     .manual = "training YAML of MindFormers to change, see [in place](convert.md#in-place): only the values of the pipeline change; also sets the number of layers. With `-o` the new file is written there (`-`: standard output), otherwise the old one is kept as `FILE.bak`"},
    {"list", NULL, "list the frameworks with the settings that each has, and exit", NULL,
     CLI_FLAG(command, list)},
    {"plan", "NAME", "which plan of the file ({})", NULL,
     CLI_TEXT(command, plan), .otherwise = "the first"},
    {"num-layers", "N", "layers of the model, if the plan file does not contain them and no model is given", NULL,
     CLI_INT(command, n_layers, 1, EK_MAX_LAYERS),
     .otherwise = "the file's",
     .manual = "layers of the model, when no model is given and no plan of the file has a list `layers` (the JSON "
               "form has it)"},
    {"o|output", "FILE", "file to write ({})", NULL,
     CLI_OUTPUT(command, model.output), .otherwise = "standard output",
     .manual = "file to write; it appears whole or not at all"},
    CLI_HELP_ROW,
    CLI_MODEL_OPTIONS(command, model),
    CLI_PIPELINE_OPTIONS(command, model),
    CLI_CLUSTER_OPTIONS(command, model.cluster),
    {"mem|max-memory|max_memory", "MB", "memory limit of every stage, in MB of 2^20 bytes, that a nearest plan keeps", "limits",
     CLI_DOUBLE(command, model.memory_mb, 1, 1e9), CLI_GIVEN(command, model.memory_given),
     .manual = "memory limit of every stage, in MB of 2^20 bytes, that a nearest plan keeps. Without one: the "
               "plan's own peak"},
    CLI_END,
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "evenkeel convert [OPTIONS] PLAN --to NAME\n       evenkeel convert [OPTIONS] PLAN --apply TRAIN.yaml\n"
             "       evenkeel convert --list",
    .summary =
        "Writes a plan as the settings of a training framework, to paste into its configuration. PLAN is\n"
        "an output of `balance --format yaml` (or json), or a file of named strategies. Comments name the basis of "
        "the\n"
        "settings. If a framework cannot express the recomputation of the plan, the settings are those of the nearest\n"
        "plan that it can express, with its cost; this needs the model, -mb, and the options that `balance` had.\n"
        "Options take one dash or two.\n"
        "\n"
        "Exit status: 0 done, 1 the settings place the layers without recomputation, 2 wrong usage or input, or a "
        "plan\n"
        "with layers that the framework cannot express.",
    .examples = "examples:\n"
                "  evenkeel balance init.yaml -s 16 -mb 16 --format json > plan.json\n"
                "  evenkeel convert plan.json --to mindformers\n"
                "  evenkeel convert plan.json --apply train.yaml\n"
                "  evenkeel convert plan.json --to megatron --init init.yaml -mem 56000 -o args.sh\n"
                "  evenkeel convert mine.yaml --to torchtitan --num-layers 96 --plan manual1\n",
    .operand = "PLAN",
    .options = options,
};

static bool print_emitters(void)
{
    for (const ek_emitter *const *e = ek_emitters; *e; e++)
        printf("%-12s %s\n", (*e)->name, (*e)->summary);
    return cli_printed(EK_OK, NULL);
}

static bool has_model(const cli_model *model)
{
    return model->init || model->layers || model->layer_folder;
}

static bool check(const command *c, const char *path)
{
    if (!path)
        cli_error(NULL, "no plan: give a plan file, for example `evenkeel convert plan.json --to mindformers`");
    else if (!c->emitter && !c->apply)
        cli_error(NULL, "no framework: give one with --to NAME (--list names them), or a training YAML with --apply");
    else if (c->emitter && c->apply)
        cli_error(NULL, "--to prints settings, --apply changes a training YAML; leave one of them out");
    else if (c->n_layers && has_model(&c->model))
        cli_error(NULL, "--num-layers does not go with a model, which has its own number; leave one of them out");
    else
        return true;
    return false;
}

/* The plan of the name, or the first; NULL after a message. */
static const ek_strategy *choose(const ek_strategies *strategies, const char *name, const char *path)
{
    if (!name)
        return &strategies->strategy[0];
    char names[1024] = "";
    for (int i = 0; i < strategies->n; i++) {
        const ek_strategy *s = &strategies->strategy[i];
        if (strcmp(s->name, name) == 0)
            return s;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", s->name);
    }
    cli_error(NULL, "%s: no plan is called '%s'; there %s %s", path, name, strategies->n > 1 ? "are" : "is", names);
    return NULL;
}

/* Do -s, -i and --schedule fit this plan? */
static bool fits_options(const command *c, const ek_strategy *s, const ek_schedule *schedule)
{
    const ek_plan *plan = &s->plan;
    if (c->model.n_stages && plan->n_stages != c->model.n_stages)
        cli_error(NULL, "plan '%s' is for %d stages, but -s is %d", s->name, plan->n_stages, c->model.n_stages);
    else if (c->model.n_chunks && plan->n_chunks != c->model.n_chunks)
        cli_error(NULL, "plan '%s' has %d chunks per stage, but -i is %d", s->name, plan->n_chunks, c->model.n_chunks);
    else if (plan->n_chunks < schedule->min_chunks || plan->n_chunks > schedule->max_chunks)
        cli_error(NULL, "plan '%s' has %d chunk%s per stage, but the schedule %s is for %d%s", s->name, plan->n_chunks,
                  plan->n_chunks > 1 ? "s" : "", schedule->name, schedule->min_chunks,
                  schedule->max_chunks > schedule->min_chunks ? " or more" : "");
    else
        return true;
    return false;
}

/* The model's options, completed with the pipeline that the plan file was made for. False after a message. */
static bool complete_options(const command *c, const ek_strategy *s, cli_model *model)
{
    *model = c->model;
    if (!model->schedule)
        model->schedule = s->schedule;
    if (!model->n_micro_batches)
        model->n_micro_batches = s->n_micro_batches;
    if (model->less_memory < 0)
        model->less_memory = s->less_memory;
    if (s->n_pieces > 1 && model->n_pieces == 1 && has_model(model)) {
        cli_error(NULL,
                  "plan '%s' is for %d sequence pieces; their cost needs the shapes of the model: add -seq %d and "
                  "-train FILE, or remove the model",
                  s->name, s->n_pieces, s->n_pieces);
        return false;
    }
    if (model->n_pieces == 1 && s->n_pieces > 1)
        model->n_pieces = s->n_pieces;
    return true;
}

static int count_layers(const ek_plan *plan)
{
    int n_layers = 0;
    for (int i = 0; i < plan->n_stages * plan->n_chunks; i++)
        n_layers += plan->layers[i];
    return n_layers;
}

/* Files of other frameworks cannot be changed in place. False after a message. */
static bool check_applied(const command *c)
{
    ek_error err = {.file = ""};
    ek_job job;
    if (strcmp(c->apply, "-") == 0 || ek_job_read_part(c->apply, EK_JOB_DEGREES, NULL, &job, NULL))
        return true; /* the function that changes it prints the error */
    bool ours = job.framework == EK_MINDFORMERS || job.framework == EK_MINDFORMERS_MCORE;
    snprintf(err.file, sizeof err.file, "%s", c->apply);
    if (job.no_layout)
        cli_error(&err, "a config.json has no place for a plan; print the settings of a framework with --to NAME");
    else if (!ours)
        cli_error(&err,
                  "--apply changes training YAMLs of MindFormers, and this is a job of %s; print its settings with "
                  "--to %s, to be pasted",
                  ek_framework_name[job.framework], ek_framework_name[job.framework]);
    ek_job_clear(&job);
    return ours;
}

/* The plan into a training YAML. */
static int apply(const command *c, const ek_emission *emission)
{
    const ek_train_change change = {.plan = emission->plan,
                                    .n_layers = emission->n_layers,
                                    .n_micro_batches = emission->n_micro_batches,
                                    .n_pieces = emission->n_pieces,
                                    .schedule = emission->schedule};
    ek_error err;
    char *text;
    size_t size;
    if (ek_train_apply(c->apply, &change, &cli_listener, &text, &size, &err)) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    cli_replaced how;
    bool fine = cli_replace_file(c->apply, c->model.output, text, size, &how);
    free(text);
    if (fine && !how.changed)
        cli_note("%s has these settings already; nothing was written", c->apply);
    else if (fine && how.backup[0])
        cli_note("changed %s; the old one is %s", c->apply, how.backup);
    else if (fine && strcmp(c->model.output, "-") != 0)
        cli_note("wrote %s", c->model.output);
    return fine ? EXIT_DONE : EXIT_WRONG;
}

/* @param layers  the model, or NULL */
static int convert(const command *c, const ek_strategy *s, const ek_layers *layers)
{
    static ek_cases cases; /* too large for the stack */
    cli_model model;
    if (!complete_options(c, s, &model))
        return EXIT_WRONG;
    ek_emission emission = {.name = s->name,
                            .plan = &s->plan,
                            .n_layers = count_layers(&s->plan),
                            .schedule = cli_model_schedule(&model, s->plan.n_chunks, model.less_memory),
                            .n_micro_batches = model.n_micro_batches,
                            .n_pieces = model.n_pieces,
                            .layers = layers,
                            .memory_limit_mb = model.memory_given ? model.memory_mb : 0};
    if (!fits_options(c, s, emission.schedule))
        return EXIT_WRONG;
    if (c->apply)
        return apply(c, &emission);
    bool fine = true;
    if (layers && model.n_micro_batches) {
        fine = cli_cases_add(&cases, &model, layers, s->name, NULL, &s->plan, model.n_micro_batches, model.less_memory);
        emission.order = cases.order;
        emission.comm = &cases.timelines[0].comm;
        if (fine)
            emission.stage_memory_mb = ((const cli_stages *)cases.own[0])->memory_mb;
    }
    ek_telling told = EK_TELLS_PLAN;
    fine = fine && cli_emit(c->emitter, &emission, model.output, &told);
    ek_cases_clear(&cases);
    return !fine ? EXIT_WRONG : told == EK_TELLS_LAYERS ? EXIT_NO : EXIT_DONE;
}

/* @param layers  the layers that plans are checked against; NULL: the file gives the number of layers */
static int convert_file(const command *c, const char *path, const ek_layers *layers)
{
    ek_error err;
    ek_strategies strategies;
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status = ek_strategies_read(path, layers, c->model.n_stages, &progress.listener, &strategies, &err);
    cli_progress_end(&progress);
    if (status) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    const ek_strategy *strategy = choose(&strategies, c->plan, path);
    int code = strategy ? convert(c, strategy, has_model(&c->model) ? layers : NULL) : EXIT_WRONG;
    ek_strategies_clear(&strategies);
    return code;
}

/* The training YAML gives the number of layers. */
static bool count_from_train(command *c)
{
    ek_error err;
    ek_job job;
    if (ek_job_read_part(c->apply, EK_JOB_SIZES, &cli_listener, &job, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    c->n_layers = job.model.n_layers + job.model.n_prediction_layers;
    ek_job_clear(&job);
    return true;
}

static int run(int argc, char **argv)
{
    command c = {0};
    const char *path = NULL;
    cli_model_init(&c.model);
    int parsed = cli_parse(&spec, argc, argv, &c, &path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (c.list)
        return print_emitters() ? EXIT_DONE : EXIT_WRONG;
    if (c.model.list_schedules)
        return cli_print_schedules(&c.model);
    if (!check(&c, path) || (c.apply && !check_applied(&c)))
        return EXIT_WRONG;
    ek_layers layers;
    ek_layer body;
    if (has_model(&c.model)) {
        if (!cli_model_load(&c.model, NULL, &layers))
            return EXIT_WRONG;
        int code = convert_file(&c, path, &layers);
        ek_layers_clear(&layers);
        return code;
    }
    if (!c.n_layers && c.apply && !count_from_train(&c))
        return EXIT_WRONG;
    layers = ek_layers_bare(c.n_layers, &body);
    return convert_file(&c, path, c.n_layers ? &layers : NULL);
}

const ek_cmd cmd_convert = {"convert", "write a plan as the settings of a framework, or into a training file", run,
                            false, CLI_GROUP_PIPELINE};
