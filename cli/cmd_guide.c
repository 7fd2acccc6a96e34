/* `evenkeel guide`: lists the dry runs to make. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "cmd.h"
#include "evenkeel/guide.h"
#include "evenkeel/job.h"
#include "files.h"
#include "guide_rounds.h"
#include "model.h"
#include "progress.h"

typedef struct command {
    ek_guide_options options;
    const char *format;
    const char *rough, *times, *init_out, *apply, *folder;
    ek_times time;
    ek_layers layers; /* the rough model */
    ek_job job;       /* of --apply: its sizes, or the whole job when it is not a MindFormers YAML */
} command;

/* clang-format off */
static const cli_option options[] = {
    {"s|stages", "N", "pipeline stages of the job; from --apply's file when not given", "job",
     CLI_INT(command, options.n_stages, 1, EK_MAX_STAGES),
     .otherwise = "`--apply`'s"},
    {"layers", "N", "body layers of the model; from --apply's file when not given", NULL,
     CLI_INT(command, options.n_layers, 1, EK_MAX_LAYERS),
     .otherwise = "`--apply`'s"},
    {"full", NULL, "full recomputation is to be balanced", "recomputation",
     CLI_FLAG(command, options.kind[EK_RECOMPUTE_FULL]),
     .manual = "full recomputation is to be balanced. Without recomputation is always measured"},
    {"select", NULL, "selective recomputation is", NULL,
     CLI_FLAG(command, options.kind[EK_RECOMPUTE_SELECT]),
     .manual = "selective recomputation is to be balanced"},
    {"both", NULL, "selective and communication recomputation on the same layer are", NULL,
     CLI_FLAG(command, options.kind[EK_RECOMPUTE_BOTH]),
     .manual = "selective and communication recomputation on the same layer are to be balanced"},
    {"comm", NULL, "communication recomputation on separate layers is", NULL,
     CLI_FLAG(command, options.kind[EK_RECOMPUTE_COMM]),
     .manual = "communication recomputation on separate layers is to be balanced"},
    {"rounds", "N", "dry runs to make ({})", "dry runs",
     CLI_INT(command, options.n_rounds, 1, EK_MAX_ROUNDS), .otherwise = "as few as can do",
     .manual = "dry runs to make; more make the answers more exact"},
    {"spread", "SHARE", "keep layers of a stage within the even split x (1 +- SHARE); narrower is closer to the job, wider gives better conditioned answers ({})", NULL,
     CLI_DOUBLE(command, options.spread, 0, 1000), .otherwise = "as narrow as is good",
     .manual = "keep layers of a stage within the even split x (1 +- SHARE), by at least one layer; narrower is closer to the job, wider gives better conditioned answers. The default is the narrowest value with a good condition number"},
    {"rough", "FILE", "a rough layer file or an older init file, to predict the peaks with", "limits",
     CLI_TEXT(command, rough),
     .manual = "a layer file or an older init file of about the same model, to predict the peaks with"},
    {"mem|memory", "MB", "limit that the predicted peaks must keep (none; needs --rough)", NULL,
     CLI_DOUBLE(command, options.memory_limit_mb, 1, 1e9),
     .otherwise = "none",
     .manual = "limit that the predicted peaks keep; needs `--rough`. A simulated dry run need not fit the device"},
    {"time", "TIMES", "forward times for --init-out, for example head=0.1,body=3.1,tail=3.5", NULL,
     CLI_TEXT(command, times)},
    {"format", "text|yaml|json", "report for people, the lists, or docs/json.md", "output",
     CLI_CALL(command, format, cli_take_format), .otherwise = "text"},
    {"init-out", "FILE", "write the init file of these dry runs, with the peaks to be filled in by `collect`", NULL,
     CLI_OUTPUT(command, init_out)},
    {"apply", "FILE", "read stages and layers from this training file of any framework and write a copy for every round, FILE.round1.yaml and so on, if the framework can express the rounds", NULL,
     CLI_TEXT(command, apply),
     .manual = "read stages and layers from this [training file](formats.md#training-file) and write a copy for every round, `FILE.round1.yaml` and so on; only the pipeline settings differ. Interleaving and sequence pieces are switched off, and there are at least as many micro-batches as stages. If the framework cannot express a round exactly, no copy is written, and a note names the missing setting"},
    {"o|output", "DIR", "folder for the copies ({})", NULL,
     CLI_OUTPUT_FOLDER(command, folder), .otherwise = "beside the training file"},
    CLI_HELP_ROW,
    CLI_END,
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "evenkeel guide --stages N --layers N [OPTIONS]\n       evenkeel guide --apply FILE [OPTIONS]\n"
             "       evenkeel guide",
    .summary =
        "Chooses the layers and recomputation of dry runs such that the parameters and the activations of a layer, "
        "for\n"
        "every kind of recomputation, follow from the peaks of their stages: the smallest number of dry runs, well\n"
        "conditioned, near the even split. Without arguments on a terminal it prompts. The answer is reproducible. "
        "Options take one dash or two.\n"
        "\n"
        "Exit status: 0 done, 2 wrong usage or input, or no dry runs determine the memory.",
    .examples = "examples:\n"
                "  evenkeel guide --stages 16 --layers 96 --select --both --comm --init-out init.yaml\n"
                "  evenkeel guide --apply train.yaml --full --init-out init.yaml -o rounds\n"
                "  evenkeel guide --stages 8 --layers 80 --full --mem 56000 --rough layers.json --format json\n",
    .operand = "nothing",
    .options = options,
};

/* The original's questions. */
static bool ask(command *c)
{
    ek_guide_options *o = &c->options;
    fputs("Which dry runs to make: some questions first. An empty answer selects the value in brackets.\n", stderr);
    return cli_ask_int("pipeline stages", NULL, 1, EK_MAX_STAGES, 16, &o->n_stages) &&
           cli_ask_int("body layers of the model", NULL, o->n_stages, EK_MAX_LAYERS, 6 * o->n_stages, &o->n_layers) &&
           cli_ask_yes("consider full recomputation", false, &o->kind[EK_RECOMPUTE_FULL]) &&
           cli_ask_yes("consider selective recomputation", true, &o->kind[EK_RECOMPUTE_SELECT]) &&
           cli_ask_yes("may communication recomputation work together with selective recomputation", true,
                       &o->kind[EK_RECOMPUTE_BOTH]) &&
           cli_ask_yes("consider communication recomputation on further layers", true, &o->kind[EK_RECOMPUTE_COMM]);
}

/* Missing options come from the training file. A YAML's own lists may be wrong. */
static bool read_from_train(command *c)
{
    ek_error err;
    if (!c->apply)
        return true;
    if (ek_job_read_part(c->apply, EK_JOB_SIZES, &cli_listener, &c->job, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    int n_layers = c->job.model.n_layers + c->job.model.n_prediction_layers;
    bool same = !c->options.n_layers || c->options.n_layers == n_layers;
    if (!same)
        cli_error(NULL, "--layers %d, but '%s' has %d; leave --layers out", c->options.n_layers, c->apply, n_layers);
    c->options.n_layers = n_layers;
    if (!c->options.n_stages && c->job.no_layout) {
        cli_error(NULL, "'%s' is a config.json, which has layers but no layout; give the stages with --stages N",
                  c->apply);
        return false;
    }
    if (!c->options.n_stages)
        c->options.n_stages = c->job.plan.n_stages;
    return same;
}

static bool load_rough(command *c)
{
    ek_error err;
    if (c->times && ek_times_parse(c->times, &c->time, &err)) {
        cli_error(NULL, "--time: %s", err.message);
        return false;
    }
    if (!c->rough)
        return true;
    cli_model model;
    cli_model_init(&model);
    /* Only its memory matters here, so missing times are accepted. */
    model.times = c->times ? c->times : "head=1,body=1,tail=1";
    if (!cli_model_load(&model, c->rough, &c->layers))
        return false;
    c->options.layers = &c->layers;
    return true;
}

static ek_status write_init(const void *user, FILE *out, ek_error *err)
{
    const void *const *both = user;
    return ek_guide_write_init(both[0], both[1], out, err);
}

static bool write_answer(const command *c, const ek_guide *guide)
{
    const void *const init[] = {guide, c->times ? &c->time : NULL};
    if (c->init_out && !cli_write_file(c->init_out, write_init, init))
        return false;
    if (c->init_out && !cli_on_stdout(c->init_out))
        cli_note("wrote %s", c->init_out);
    if (c->apply && !cli_write_rounds(c->apply, c->folder, &c->job, guide))
        return false;
    return cli_answer(ek_output_of_guide(guide), c->format);
}

static bool check(const command *c)
{
    if (!c->options.n_stages || !c->options.n_layers)
        cli_error(NULL, "give the job's size with --stages N and --layers N, or its training file with --apply FILE");
    else if (c->options.memory_limit_mb > 0 && !c->rough)
        cli_error(NULL, "--mem needs a rough model to predict the peaks with; give one with --rough FILE");
    else
        return true;
    return false;
}

static int answer(const command *c)
{
    ek_guide guide = {0};
    ek_error err;
    int code = EXIT_WRONG;
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status = ek_guide_make(&c->options, &guide, &err);
    cli_progress_end(&progress);
    if (status)
        cli_error(NULL, "%s", err.message);
    else if (write_answer(c, &guide))
        code = EXIT_DONE;
    ek_guide_clear(&guide);
    return code;
}

static int run(int argc, char **argv)
{
    command c = {.format = "text", .time = {NAN, NAN, NAN}};
    const char *operand = NULL;
    ek_guide_options_init(&c.options);
    int parsed = cli_parse(&spec, argc, argv, &c, &operand);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (operand) {
        cli_error(NULL, "'%s' is not expected; name the training YAML with --apply, the rough model with --rough",
                  operand);
        return EXIT_WRONG;
    }
    if (argc == 1 && cli_can_ask() && !ask(&c))
        return EXIT_WRONG;
    int code = read_from_train(&c) && check(&c) && load_rough(&c) ? answer(&c) : EXIT_WRONG;
    ek_layers_clear(&c.layers);
    ek_job_clear(&c.job);
    return code;
}

const ek_cmd cmd_guide = {"guide", "choose the dry runs that determine the memory of a layer", run, false,
                          CLI_GROUP_DRYRUN};
