/* Reads the options that commands about training jobs share. */
#include "job_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/memory.h"
#include "model.h"

void cli_job_options_init(cli_job_options *out)
{
    *out = (cli_job_options){.overrides = ek_job_overrides_none()};
    out->overrides.rules = out->rule;
}

bool cli_take_rule(const cli_option *option, const char *text, void *place)
{
    cli_job_options *options = place;
    ek_rules scratch = ek_rules_default(EK_MINDFORMERS);
    ek_error err;
    (void)option;
    if (ek_rules_set(&scratch, text, &err)) {
        cli_error(NULL, "--rule %s: %s", text, err.message);
        return false;
    }
    if (options->overrides.n_rules == CLI_MAX_RULES) {
        cli_error(NULL, "at most %d times --rule (got '%s' too)", CLI_MAX_RULES, text);
        return false;
    }
    options->rule[options->overrides.n_rules++] = text;
    return true;
}

bool cli_take_memory(const cli_option *option, const char *text, void *place)
{
    char name[CLI_NAME_SIZE];
    return cli_memory_mb(cli_shown(option, name, sizeof name), text, place);
}

static bool read_recompute(const cli_option *option, const char *text, void *place)
{
    int i = cli_word(option, text);
    *(int *)place = i == 1 ? EK_RECOMPUTE_FULL : EK_RECOMPUTE_NONE;
    return i >= 0;
}

static bool read_on_off(const cli_option *option, const char *text, void *place)
{
    int i = cli_word(option, text);
    *(int *)place = i == 0;
    return i >= 0;
}

#define COUNT(field, most) CLI_INT(cli_job_options, overrides.field, 1, most), GIVEN
#define GIVEN              CLI_GIVEN(cli_job_options, given)

/* clang-format off */
const cli_option cli_job_rows[] = {
    {"dp", "N", "data parallel ranks", "the job; overrides the file", COUNT(data, EK_MAX_RANKS),
     .manual = "data parallel ranks. Like the options below it wins over the file"},
    {"tp", "N", "tensor parallel ranks (model_parallel)", NULL, COUNT(tensor, EK_MAX_RANKS)},
    {"pp", "N", "pipeline stages; other stages or chunks than the file's spread the layers evenly", NULL,
     COUNT(pipeline, EK_MAX_STAGES)},
    {"cp", "N", "context parallel ranks", NULL, COUNT(context, EK_MAX_RANKS)},
    {"ep", "N", "expert parallel ranks", NULL, COUNT(expert, EK_MAX_RANKS)},
    {"vpp", "N", "chunks per stage (pp_interleave_num)", NULL, COUNT(n_chunks, EK_MAX_CHUNKS)},
    {"mb|micro-batches", "N", "micro-batches of a step", NULL, COUNT(n_micro_batches, EK_MAX_MICRO_BATCHES)},
    {"batch", "N", "sequences of a micro-batch", NULL, COUNT(batch, 1 << 16)},
    {"seq-length", "N", "tokens of a sequence", NULL, COUNT(seq_length, 1 << 28)},
    {"num-layers", "N", "decoder layers", NULL, COUNT(n_layers, EK_MAX_LAYERS)},
    {"sequence-parallel", "on|off", "split norms and kept inputs over the tensor parallel ranks", NULL,
     CLI_CALL(cli_job_options, overrides.sequence_parallel, read_on_off), GIVEN},
    {"recompute", "none|full", "of every layer, instead of the file's lists", NULL,
     CLI_CALL(cli_job_options, overrides.recompute, read_recompute), GIVEN},
    {"schedule", "SCHEDULE", "order of the blocks (`evenkeel balance --list-schedules` names all)", NULL,
     CLI_CALL(cli_job_options, overrides.schedule, cli_take_schedule), GIVEN},
    CLI_END,
};
const cli_option cli_reading_rows[] = {
    {"mem|max-memory", "MB", "memory of a device that the framework may use: MB, or with a unit as 58GB", NULL,
     CLI_CALL(cli_job_options, overrides.limit_mb, cli_take_memory),
     .manual = "memory of a device that the framework may use: MB, or with a unit as `58GB`; a GB is 1024 MB. Without it and without a limit in the file, `estimate` uses all memory of the device"},
    {"literal", NULL, "keys that the framework ignores are ignored, also where they look like a slip", NULL,
     CLI_FLAG(cli_job_options, overrides.literal)},
    CLI_END,
};
/* clang-format on */

bool cli_said(const cli_spool *spool, ek_status status, ek_error *err)
{
    if (status == EK_OK)
        return true;
    cli_spool_rename(spool, err);
    cli_error(err, "%s", err->message);
    return false;
}

bool cli_read_job(const char *source, const ek_job_overrides *overrides, cli_spool *spool, cli_warnings *warnings,
                  ek_job *out)
{
    ek_error err;
    const ek_listener listener = {cli_take_warning, warnings};
    if (strcmp(source, "-") == 0 && !cli_spool_stdin(spool))
        return false;
    if (!cli_said(spool, ek_job_read(spool->path[0] ? spool->path : source, overrides, &listener, out, &err), &err))
        return false;
    return cli_said(spool, ek_memory_lint(out, &listener, &err), &err);
}
