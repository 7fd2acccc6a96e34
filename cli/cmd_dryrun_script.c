/* `evenkeel dryrun-script`: writes the script of the dry runs that measure the peaks of an init file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/job.h"

#include "cmd.h"
#include "files.h"
#include "options.h"

enum { MAX_WORDS = 4096, MAX_SETTINGS = 256, MAX_ROUNDS = 64 };

typedef struct command {
    ek_dryrun_script script;
    const char *train, *only, *output;
    const char *settings[MAX_SETTINGS];
    char *own[MAX_ROUNDS]; /* names of --yaml, copied */
    const char *configs[MAX_ROUNDS];
    bool chosen[EK_MAX_STAGES];
    const char *words[MAX_WORDS];
} command;

static bool read_layout(const cli_option *option, const char *text, void *place)
{
    (void)option;
    for (int i = 0; i < EK_N_LOG_LAYOUTS; i++)
        if (strcmp(ek_log_layout_name[i], text) == 0) {
            *(ek_log_layout *)place = (ek_log_layout)i;
            return true;
        }
    cli_error(NULL, "no layout is called '%s'; there are stage-rank, rank and log", text);
    return false;
}

static bool add_setting(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    (void)option;
    if (c->script.n_settings == MAX_SETTINGS) {
        cli_error(NULL, "at most %d times --env", MAX_SETTINGS);
        return false;
    }
    c->settings[c->script.n_settings++] = text;
    return true;
}

static bool add_configs(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    (void)option;
    for (;; text++) {
        size_t n = strcspn(text, ",");
        if (n == 0 || c->script.n_configs == MAX_ROUNDS) {
            cli_error(NULL,
                      n == 0 ? "--yaml names files with commas between them, none empty (got '%s')"
                             : "at most 64 rounds fit into one script (--yaml '%s' is beyond)",
                      text);
            return false;
        }
        char *name = strndup(text, n);
        if (!name) {
            cli_error(NULL, "out of memory");
            return false;
        }
        c->own[c->script.n_configs++] = name;
        text += n;
        if (!*text)
            return true;
    }
}

/* clang-format off */
static const cli_option options[] = {
    {"ranks|rank-size|rank_size", "N", "devices of the simulated run, RANK_SIZE", "pipeline",
     CLI_INT(command, script.n_ranks, 1, EK_MAX_RANKS),
     .otherwise = "from `--train`",
     .manual = "devices of the simulated run, `RANK_SIZE`; a multiple of the stages"},
    {"s|stages|stage", "N", "pipeline stages", NULL,
     CLI_INT(command, script.n_stages, 1, EK_MAX_STAGES),
     .otherwise = "from `--train`",
     .manual = "pipeline stages"},
    {"train", "FILE", "training file, YAML or launch script: stages and ranks are those of its job; also the value of {config} without --yaml", NULL,
     CLI_TEXT(command, train),
     .manual = "training YAML of MindFormers: stages are `parallel_config.pipeline_stage`, ranks the product of `data_parallel`, `model_parallel`, `context_parallel` (1 where missing) and the stages. A YAML of MindSpeed-Core-MS without data-parallel ranks has 1, with a warning. Arguments of Megatron are accepted, too, with a note that only runs on MindSpore are dry runs. `--ranks` and `--stages` override the file. Also the value of `{config}` without `--yaml`"},
    {"only", "STAGES", "run only these stages, as 0,3,7-9", NULL,
     CLI_TEXT(command, only),
     .otherwise = "all"},
    {"yaml", "FILE,...", "value of {config}; several: one round for each, logs in round1, round2, ...", "dry runs",
     CLI_CALL_ALL(add_configs),
     .otherwise = "the file of `--train`",
     .manual = "value of `{config}`; may be repeated. Several files are rounds, which run one after another, logs in `DIR/round1`, `DIR/round2` and so on. At most 64"},
    {"level", "0..3", "MS_SIMULATION_LEVEL ({}): 0 only compiles, 2 also counts workspace, 3 runs kernels", NULL,
     CLI_INT(command, script.level, 0, 3),
     .manual = "`MS_SIMULATION_LEVEL`: 0 only compiles, 1 counts inputs and outputs of operators, 2 also their workspace, 3 also measures their time"},
    {"env", "NAME=VALUE", "additional environment of every dry run; may be repeated", NULL,
     CLI_CALL_ALL(add_setting)},
    {"device-id", NULL, "DEVICE_ID is the number of the stage", NULL,
     CLI_FLAG(command, script.device_id),
     .manual = "`DEVICE_ID` is the number of the stage"},
    {"jobs", "N", "dry runs at the same time, in batches of that many ({})", NULL,
     CLI_INT(command, script.n_jobs, 1, EK_MAX_STAGES * MAX_ROUNDS), .otherwise = "all stages of a round",
     .manual = "dry runs at the same time: the next so many start when these have ended. Each takes the memory of "
               "a compiling host process"},
    {"logs", "DIR", "folder of the logs ({})", "output",
     CLI_OUTPUT_FOLDER(command, script.logs),
     .manual = "folder of the logs, relative to where the script is run"},
    {"layout", "stage-rank|rank|log", "stage-rank: DIR/stage_S_rank_R/mindformer.log (default); rank: DIR/rank_R.log; log: "
     "DIR/log/stageS_R/mindformer.log", NULL,
     CLI_CALL(command, script.layout, read_layout), .otherwise = "stage-rank",
     .manual = "where in it: `stage-rank` is `DIR/stage_S_rank_R/mindformer.log`, `rank` is `DIR/rank_R.log`, "
               "`log` is `DIR/log/stageS_R/mindformer.log`"},
    {"o|output", "FILE", "the script, made executable ({})", NULL,
     CLI_OUTPUT(command, output), .otherwise = "standard output"},
    CLI_HELP_ROW,
    CLI_END,
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "evenkeel dryrun-script [OPTIONS] -- COMMAND...\n       evenkeel dryrun-script [OPTIONS] 'COMMAND LINE'",
    .summary =
        "Writes the shell script that launches one simulated rank for each pipeline stage, so that the logs contain\n"
        "the peak memory of every stage. COMMAND starts one rank of the training: separate words after --, which are\n"
        "taken literally, or one quoted line for a shell. {stage}, {rank} and {config} are replaced in it. The script\n"
        "overwrites logs only with --force.\n"
        "\n"
        "Exit status: 0 done, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  evenkeel dryrun-script --ranks 16384 --stages 16 -o dryrun.sh -- python run_mindformer.py --config "
                "llama.yaml\n"
                "  evenkeel dryrun-script --train llama.yaml --jobs 4 'python run_mindformer.py --config {config}'\n"
                "  evenkeel dryrun-script --train r1.yaml --yaml r1.yaml,r2.yaml -- python run_mindformer.py --config "
                "{config}\n",
    .operand = "COMMAND",
    .max_operands = MAX_WORDS,
    .options = options,
};

/* Without --, options in the command's words would be read as options of evenkeel. */
static bool check_words(const command *c, int argc, char **argv)
{
    if (c->script.n_words < 2)
        return true;
    for (int i = 1; i < argc; i++)
        if (argv[i] == c->words[0] && strcmp(argv[i - 1], "--") == 0)
            return true;
    cli_error(NULL, "the command has several words: write -- before it, or quote it as one line");
    return false;
}

/* Can the dry runs of the script be made of a job? They are MindSpore's. False after a message. */
static bool check_framework(const command *c, const ek_job *job)
{
    ek_error err = {.file = ""};
    snprintf(err.file, sizeof err.file, "%s", c->train);
    if (job->no_layout && !(c->script.n_stages && c->script.n_ranks)) {
        cli_error(&err, "a config.json has no layout; give --stages N and --ranks N");
        return false;
    }
    if (job->framework == EK_TORCHTITAN) {
        cli_error(&err,
                  "torchtitan runs on PyTorch, which has no dry run: every rank of the script would be a real one; "
                  "`evenkeel memory %s` predicts the peaks without any run",
                  c->train);
        return false;
    }
    if (job->framework == EK_MEGATRON && !job->no_layout)
        cli_note("%s: the runs of this script are dry runs where Megatron's arguments go to MindSpore "
                 "(MindSpeed-Core-MS); on PyTorch they would be real ones, and `evenkeel memory %s` predicts the peaks "
                 "without any run",
                 c->train, c->train);
    return true;
}

/* Stages and ranks that no option gives, from the training file. */
static bool read_train(command *c)
{
    ek_error err;
    ek_job job;
    if (!c->train)
        return true;
    if (ek_job_read_part(c->train, EK_JOB_DEGREES, &cli_listener, &job, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    const ek_job_parallel degrees = job.parallel;
    bool fine = check_framework(c, &job);
    ek_job_clear(&job);
    if (!fine)
        return false;
    if (!c->script.n_stages)
        c->script.n_stages = degrees.pipeline;
    if (!c->script.n_ranks && c->script.n_stages) {
        long long ranks = (long long)degrees.data * degrees.tensor * degrees.context * c->script.n_stages;
        if (ranks > EK_MAX_RANKS) {
            cli_error(NULL, "%lld ranks are too many, %d at most; correct --stages or '%s'", ranks, EK_MAX_RANKS,
                      c->train);
            return false;
        }
        c->script.n_ranks = (int)ranks;
    }
    return true;
}

static bool check_shape(const command *c)
{
    if (!c->script.n_stages)
        cli_error(NULL,
                  c->train ? "'%s' has no parallel_config.pipeline_stage; add it, or give --stages N"
                           : "how many stages does the pipeline have? Give --stages N, or --train FILE",
                  c->train);
    else if (!c->script.n_ranks)
        cli_error(NULL, "how many devices does the run have? Give --ranks N, or --train FILE");
    return c->script.n_stages && c->script.n_ranks;
}

/* "0,3,7-9" */
static bool choose_stages(command *c)
{
    const char *at = c->only;
    int p = c->script.n_stages;
    while (at) {
        char *end;
        long from = strspn(at, "0123456789") ? strtol(at, &end, 10) : -1, to = from;
        if (from >= 0 && *end == '-')
            to = strspn(end + 1, "0123456789") ? strtol(end + 1, &end, 10) : -1;
        if (from < 0 || to < from || to >= p || (*end && *end != ',')) {
            cli_error(NULL, "--only: '%.*s' is no stage of 0..%d, nor a range of them; write for example 0,3,7-9",
                      (int)strcspn(at, ","), at, p - 1);
            return false;
        }
        for (long s = from; s <= to; s++)
            c->chosen[s] = true;
        at = *end ? end + 1 : NULL;
    }
    c->script.chosen = c->only ? c->chosen : NULL;
    return true;
}

/* Made in memory first, so that wrong options are not reported as a file that cannot be written. */
static bool write_out(const command *c)
{
    ek_error err = {.message = "out of memory"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ek_status status = out ? ek_dryrun_script_write(&c->script, out, &err) : EK_ERR_MEMORY;
    if (out && (fclose(out) != 0 || !text) && status == EK_OK)
        status = EK_ERR_MEMORY;
    bool fine = status == EK_OK;
    if (!fine)
        cli_error(&err, "%s", err.message);
    else
        fine = cli_put_script(c->output, text, size);
    free(text);
    return fine;
}

static int run(int argc, char **argv)
{
    static command c; /* too large for the stack */
    c.script = (ek_dryrun_script){.words = c.words, .settings = c.settings, .logs = "output_dryrun", .level = 1};
    int parsed = cli_parse(&spec, argc, argv, &c, c.words), code = EXIT_WRONG;
    while (c.script.n_words < MAX_WORDS && c.words[c.script.n_words])
        c.script.n_words++;
    int n_own = c.script.n_configs;
    if (parsed == CLI_HELP)
        code = EXIT_DONE;
    if (parsed != CLI_OK || !check_words(&c, argc, argv) || !read_train(&c))
        goto done;
    for (int i = 0; i < n_own; i++)
        c.configs[i] = c.own[i];
    if (n_own == 0 && c.train)
        c.configs[c.script.n_configs++] = c.train;
    c.script.configs = c.configs;
    if (check_shape(&c) && choose_stages(&c) && write_out(&c))
        code = EXIT_DONE;
done:
    for (int i = 0; i < n_own; i++)
        free(c.own[i]);
    return code;
}

const ek_cmd cmd_dryrun_script = {"dryrun-script", "write the script that dry-runs one rank of every stage", run, false,
                                  CLI_GROUP_DRYRUN};
