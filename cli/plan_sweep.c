/* `evenkeel plan --sweep`: finds the best layout for each of several numbers of devices, memory limits or global
 * batches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "evenkeel/layout_report.h"
#include "files.h"
#include "memory.h"
#include "plan.h"
#include "search.h"
#include "team.h"

typedef cli_plan_values sweep;

typedef struct shown {
    const sweep *sweep;
    cli_progress *progress;
} shown;

/* ---- values ---- */

static bool wrong(const cli_option *option, const char *text)
{
    cli_error(NULL,
              "--%s %s: must be devices=, memory= or global-batch= with values from least on, as devices=64:1024 "
              "(doubled each time), devices=64:256:64 (with a step), or devices=48,64,96",
              option->names, text);
    return false;
}

/* As --mem takes it. */
static bool read_memory(const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);
    bool fine = *end == '\0' || strcspn(end, "GgMm") == 0;
    return fine && value > 0 && cli_memory_mb("--sweep memory", text, out);
}

/* One value, `length` characters long. */
static bool read_value(ek_layout_sweep_of what, const char *text, size_t length, double *out)
{
    char part[32], *end;
    if (length == 0 || length >= sizeof part)
        return false;
    memcpy(part, text, length);
    part[length] = '\0';
    if (what == EK_SWEEP_MEMORY)
        return read_memory(part, out);
    *out = strtod(part, &end);
    return *end == '\0' && strspn(part, "0123456789") == length && *out >= 1;
}

static bool read_list(sweep *s, const char *text)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (s->n == CLI_PLAN_MAX_VALUES || !read_value(s->what, at, length, &s->value[s->n]) ||
            (s->n > 0 && s->value[s->n] <= s->value[s->n - 1]))
            return false;
        s->n++;
        at += length;
        if (*at == '\0')
            return true;
    }
}

static bool read_range(sweep *s, const char *text)
{
    double part[3] = {0, 0, 0};
    int n = 0;
    for (const char *at = text; n < 3; at++) {
        size_t length = strcspn(at, ":");
        if (!read_value(s->what, at, length, &part[n++]))
            return false;
        at += length;
        if (*at == '\0')
            break;
        if (n == 3)
            return false;
    }
    s->n = n >= 2 ? ek_layout_sweep_values(part[0], part[1], part[2], CLI_PLAN_MAX_VALUES, s->value) : 0;
    return s->n > 0;
}

bool cli_plan_take_sweep(const cli_option *option, const char *text, void *place)
{
    const char *values = strchr(text, '=');
    for (int i = 0; values && i < EK_N_LAYOUT_SWEEPS; i++)
        if (strlen(ek_layout_sweep_name[i]) == (size_t)(values - text) &&
            strncmp(ek_layout_sweep_name[i], text, (size_t)(values - text)) == 0) {
            sweep *s = place;
            *s = (sweep){.what = (ek_layout_sweep_of)i};
            return (strchr(values, ':') ? read_range(s, values + 1) : read_list(s, values + 1)) || wrong(option, text);
        }
    return wrong(option, text);
}

/* ---- searches ---- */

static void show(void *user, int which, const ek_layout_sweep_point *point)
{
    const shown *s = user;
    char text[96];
    snprintf(text, sizeof text, "%s %g: %s", ek_layout_sweep_name[s->sweep->what], point->value,
             point->found ? "found" : "nothing fits");
    cli_progress_show(s->progress, (which + 1.0) / s->sweep->n, text);
}

/* @return exit code of the command */
static int print(const cli_plan_command *c, const cli_plan *f, const ek_layout_sweep *found)
{
    int code = EXIT_NO;
    for (int i = 0; i < found->n; i++)
        code = found->point[i].found ? EXIT_DONE : code;
    const ek_layout_sweep_report report = {.sweep = found,
                                           .job = &f->job,
                                           .device = &f->device,
                                           .wanted_seconds = c->wanted_seconds,
                                           .color = cli_color(STDOUT_FILENO)};
    if (!cli_print(ek_output_of_layout_sweep(&report), c->format))
        code = EXIT_WRONG;
    return cli_gates_check(c->gates, ek_output_of_layout_sweep(&report), code);
}

int cli_plan_sweep(const cli_plan_command *c, cli_plan *f)
{
    ek_error err;
    ek_layout_sweep found;
    shown s = {&c->values, &f->progress};
    ek_layout_sweep_input input = {.what = c->values.what,
                                   .value = c->values.value,
                                   .n = c->values.n,
                                   .batch_grows = c->batch_grows,
                                   .wanted_seconds = c->wanted_seconds,
                                   .options = c->layout,
                                   .done = show,
                                   .user = &s};
    bool answers = !cli_team() || cli_team()->index == 0;
    const ek_listener listener = {cli_take_warning, &f->warnings};
    input.options.interrupt = &cli_interrupt;
    input.options.listener = &listener;
    if (answers)
        cli_progress_catch(&f->progress);
    ek_status status = ek_layout_sweep_run(&f->searched, &f->device, &input, &found, &err);
    cli_progress_end(&f->progress);
    if (!cli_said(&f->spool, status, &err))
        return EXIT_WRONG;
    int code = answers ? print(c, f, &found) : EXIT_DONE;
    ek_layout_sweep_clear(&found);
    return code;
}
