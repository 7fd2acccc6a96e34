/* Options that commands about training jobs share. */
#include "job_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

/* Whole numbers that go straight into the overrides. */
static const struct {
    const char *name;
    size_t at;
    int most;
} numbers[] = {
    {"dp", offsetof(ek_job_overrides, data), EK_MAX_RANKS},
    {"tp", offsetof(ek_job_overrides, tensor), EK_MAX_RANKS},
    {"pp", offsetof(ek_job_overrides, pipeline), EK_MAX_STAGES},
    {"cp", offsetof(ek_job_overrides, context), EK_MAX_RANKS},
    {"ep", offsetof(ek_job_overrides, expert), EK_MAX_RANKS},
    {"vpp", offsetof(ek_job_overrides, n_chunks), EK_MAX_CHUNKS},
    {"mb", offsetof(ek_job_overrides, n_micro_batches), EK_MAX_MICRO_BATCHES},
    {"batch", offsetof(ek_job_overrides, batch), 1 << 16},
    {"seq-length", offsetof(ek_job_overrides, seq_length), 1 << 28},
    {"num-layers", offsetof(ek_job_overrides, n_layers), EK_MAX_LAYERS},
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

void cli_job_options_init(cli_job_options *out)
{
    *out = (cli_job_options){.overrides = ek_job_overrides_none()};
    out->overrides.rules = out->rule;
}

int cli_word(const cli_option *option, const char *text, const char *const *known, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, known[i]) == 0)
            return i;
    cli_error(NULL, "--%.*s must be %s (got '%s')", (int)strcspn(option->names, "|"), option->names, option->argument,
              text);
    return -1;
}

bool cli_take_rule(cli_job_options *options, const char *text)
{
    ek_rules scratch = ek_rules_default(EK_MINDFORMERS);
    ek_error err;
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

bool cli_is_job_option(const cli_option *option)
{
    for (int i = 0; i < N_NUMBERS; i++)
        if (cli_is(option, numbers[i].name))
            return true;
    return cli_is(option, "sequence-parallel") || cli_is(option, "recompute") || cli_is(option, "schedule");
}

bool cli_take_job_option(cli_job_options *options, const cli_option *option, const char *text)
{
    static const char *const switches[] = {"off", "on"}, *const recompute[] = {"none", "full"};
    ek_job_overrides *o = &options->overrides;
    for (int i = 0; i < N_NUMBERS; i++)
        if (cli_is(option, numbers[i].name))
            return cli_int(option, text, 1, numbers[i].most, (int *)((char *)o + numbers[i].at));
    if (cli_is(option, "schedule")) {
        o->schedule = cli_find_schedule(text, strlen(text));
        return o->schedule != NULL;
    }
    if (cli_is(option, "sequence-parallel")) {
        int i = cli_word(option, text, switches, 2);
        o->sequence_parallel = i;
        return i >= 0;
    }
    int i = cli_word(option, text, recompute, 2);
    o->recompute = i == 1 ? EK_RECOMPUTE_FULL : EK_RECOMPUTE_NONE;
    return i >= 0;
}

bool cli_is_reading_option(const cli_option *option)
{
    return cli_is(option, "mem") || cli_is(option, "literal") || cli_is(option, "rule");
}

bool cli_take_reading_option(cli_job_options *options, const cli_option *option, const char *text)
{
    if (cli_is(option, "mem"))
        return cli_memory_mb("--mem", text, &options->overrides.limit_mb);
    if (cli_is(option, "rule"))
        return cli_take_rule(options, text);
    options->overrides.literal = true;
    return true;
}

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
    ek_memory_lint(out, &listener);
    return true;
}

ek_status cli_find_device(const char *name, const ek_listener *listener, ek_device *out, ek_error *err)
{
    char all[512] = "";
    int n;
    const ek_device *known = ek_devices(&n), *device = ek_device_find(name);
    if (device) {
        *out = *device;
        return EK_OK;
    }
    if (strcmp(name, "-") != 0 && access(name, F_OK) == 0)
        return ek_device_read(name, listener, out, err);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", known[i].name);
    }
    *err = (ek_error){.status = EK_ERR_INPUT};
    snprintf(err->message, sizeof err->message, "no device is called '%.256s', and there is no such file; there are %s",
             name, all);
    return EK_ERR_INPUT;
}
