/* The sentence of an overview, which names the files. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "base/error.h"
#include "overview/overview_internal.h"

enum { MOST = 2048 };

typedef struct text {
    char at[MOST];
    size_t n;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = ek__vsnprintf(t->at + t->n, sizeof t->at - t->n, format, arguments);
    va_end(arguments);
    t->n = n < 0 ? t->n : t->n + (size_t)n < sizeof t->at ? t->n + (size_t)n : sizeof t->at - 1;
}

/* "70.55 billion", "560 million". */
static void add_count(text *t, double count)
{
    bool billions = count >= 1e9;
    add(t, "%s %s", ek__fixed(count / (billions ? 1e9 : 1e6), billions ? 2 : 0).text, billions ? "billion" : "million");
}

static void add_degrees(text *t, const ek_overview_job *f)
{
    const struct {
        const char *name;
        int value, n_chunks;
    } degree[] = {{"data", f->data, 1},
                  {"tensor", f->tensor, 1},
                  {"context", f->context, 1},
                  {"pipeline", f->pipeline, f->n_chunks},
                  {"expert", f->expert, 1}};
    bool any = false;
    for (size_t i = 0; i < sizeof degree / sizeof *degree; i++) {
        if (degree[i].value < 2)
            continue;
        add(t, "%s%s %d", any ? ", " : " (", degree[i].name, degree[i].value);
        if (degree[i].n_chunks > 1)
            add(t, " x %d chunks", degree[i].n_chunks);
        any = true;
    }
    add(t, "%s", any ? ")" : "");
}

static void add_job(text *t, const ek_overview_job *f)
{
    add(t, "%s: %s, ", f->format, f->name);
    add_count(t, f->parameters);
    add(t, " parameters");
    if (f->active_parameters < 0.99 * f->parameters) {
        add(t, " (");
        add_count(t, f->active_parameters);
        add(t, " active)");
    }
    add(t, ", %d layers", f->n_layers);
    if (!f->has_layout)
        return;
    add(t, ", on %" PRId64 " device%s", f->n_devices, f->n_devices == 1 ? "" : "s");
    add_degrees(t, f);
    add(t, ", %" PRId64 " sequence%s of %d tokens a step", f->global_batch, f->global_batch == 1 ? "" : "s",
        f->seq_length);
}

static void add_bytes(text *t, int64_t bytes)
{
    double mb = (double)bytes / EK__MB;
    if (mb >= 1024)
        add(t, " (%s GB)", ek__fixed(mb / 1024, 1).text);
    else if (mb >= 0.05)
        add(t, " (%s MB)", ek__fixed(mb, 1).text);
}

/* "2 files of traces (1.2 GB), a training log" */
static void add_parts(text *t, const ek_overview *out)
{
    bool any = false;
    for (int i = 0; i < out->n_parts; i++) {
        const ek_overview_part *part = &out->part[i];
        if (part->kind == EK_OVERVIEW_OTHER)
            continue;
        if (part->n_files > 1)
            add(t, "%s%d %s", any ? ", " : "", part->n_files, part->what);
        else
            add(t, "%s%s", any ? ", " : "", part->what);
        if (part->kind == EK_OVERVIEW_TRACE)
            add_bytes(t, part->bytes);
        any = true;
    }
}

ek_status ek__overview_say(ek__overview *o, ek_error *err)
{
    const ek_overview *out = o->out;
    text t = {.n = 0};
    bool folder = out->folder && out->n_paths == 1;
    bool alone = !out->folder && out->n_parts == 1 && out->part->n_files == 1;
    if (folder)
        add(&t, "a folder with ");
    if (out->n_parts == 0)
        add(&t, "nothing in it");
    else if (out->part->kind == EK_OVERVIEW_OTHER)
        add(&t, "nothing that Evenkeel reads: %d file%s of other kinds", out->part->n_files,
            out->part->n_files == 1 ? "" : "s");
    else if (out->job && alone)
        add_job(&t, out->job);
    else
        add_parts(&t, out);
    if (out->job && !alone) {
        add(&t, "; the job is ");
        add_job(&t, out->job);
    }
    o->out->sentence = ek__pool_text(o->pool, t.at, t.n);
    return o->out->sentence ? EK_OK : ek__no_memory(err);
}
