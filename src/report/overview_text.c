/* An overview for people: the sentence, whether it fits and how fast it is, causes of lost time, and the commands to
 * type next. */
#include <math.h>
#include <string.h>

#include "base/page.h"
#include "evenkeel/overview.h"
#include "report/memory_internal.h"
#include "report/writers.h"

static const char red[] = "\033[31m", green[] = "\033[32m", plain[] = "\033[0m";

typedef struct page {
    FILE *out;
    bool color;
    const ek_overview *o;
} page;

static void print_paths(const page *p)
{
    for (int i = 0; i < p->o->n_paths; i++) {
        fputs(i > 0 ? " " : "", p->out);
        ek__print_name(p->o->path[i], p->out);
    }
    fputs(": ", p->out);
    ek__print_name(p->o->sentence, p->out);
    fputc('\n', p->out);
}

/* ---- a job ---- */

/* The line of `evenkeel memory`. */
static void print_memory(const page *p, bool fits, int64_t limit, int64_t peak, int fullest, bool reserved)
{
    int64_t margin = limit - peak, distance = margin < 0 ? -margin : margin;
    ek__color(p->color, fits ? green : red, p->out);
    fputs(fits ? "fits" : "does not fit", p->out);
    ek__color(p->color, plain, p->out);
    fprintf(p->out, ": fullest is stage %d with %s MB%s of %s MB, ", fullest, ek__whole_mb(peak).text,
            reserved ? " reserved" : "", ek__whole_mb(limit).text);
    fprintf(p->out, "%s MB (%s %%) %s\n", ek__whole_mb(distance).text,
            ek__fixed(100 * (double)distance / (double)limit, 1).text, fits ? "free" : "too much");
}

static void print_step(const page *p, double seconds, double tokens, double mfu, const char *device)
{
    if (isnan(seconds))
        return;
    fprintf(p->out, "%s%s a step", p->o->run ? "predicted: " : "", ek__seconds(seconds).text);
    if (device) {
        fputs(" on ", p->out);
        ek__print_name(device, p->out);
    }
    fprintf(p->out, ": %s tokens/s a device, ", ek__fixed(tokens, 1).text);
    fprintf(p->out, "MFU %s %%\n", ek__fixed(100 * mfu, 1).text);
}

static void print_remedies(const page *p, const ek_overview_job *f)
{
    if (f->n_remedies == 0)
        return;
    fprintf(p->out, "%s with %s MB:", f->remedies_fit ? "would fit" : "less memory, though still too much,",
            ek__whole_mb(f->remedied_peak).text);
    for (int i = 0; i < f->n_remedies; i++)
        fprintf(p->out, "%s %s", i > 0 ? "," : "", f->remedy[i]);
    fputc('\n', p->out);
}

static void print_job(const page *p)
{
    const ek_overview_job *f = p->o->job;
    if (!f)
        return;
    if (f->has_layout && f->limit > 0)
        print_memory(p, f->fits, f->limit, f->peak, f->fullest, f->reserved);
    else if (f->has_layout)
        fprintf(p->out, "no limit is known: fullest is stage %d with %s MB%s\n", f->fullest, ek__whole_mb(f->peak).text,
                f->reserved ? " reserved" : "");
    else
        fprintf(p->out, "weights, gradients and optimizer states take %s GB, shared by all devices\n",
                ek__grouped(ceil(f->state_mb / 1024)).text);
    print_step(p, f->step_seconds, f->tokens_per_second, f->mfu, f->device);
    print_remedies(p, f);
}

static void print_layout(const page *p)
{
    const ek_overview_layout *l = p->o->layout;
    if (!l)
        return;
    fprintf(p->out, "%d device%s %s, ", (int)l->n_devices, l->n_devices == 1 ? "" : "s", p->o->job->device);
    fprintf(p->out, "%s sequence%s of %d tokens a step\n", ek__grouped((double)l->global_batch).text,
            l->global_batch == 1 ? "" : "s", p->o->job->seq_length);
    if (!l->found) {
        ek__color(p->color, red, p->out);
        fputs("does not fit", p->out);
        ek__color(p->color, plain, p->out);
        fprintf(p->out, ": the layout that needs least (%s) needs %s MB", l->words, ek__whole_mb(l->peak).text);
        fprintf(p->out, " of %s MB\n", ek__whole_mb(l->limit).text);
        return;
    }
    fprintf(p->out, "best layout%s: %s\n", l->proved ? ", proved" : " found", l->words);
    print_memory(p, true, l->limit, l->peak, l->fullest, p->o->job->reserved);
    print_step(p, l->step_seconds, l->tokens_per_second, l->mfu, NULL);
    if (!l->proved)
        fprintf(p->out, "the search ended after %s s; a step may be up to %s %% shorter\n",
                ek__fixed(l->seconds, 1).text, ek__fixed(100 * l->gap, 2).text);
}

/* ---- a run ---- */

static const char *const producers[EK_N_PRODUCERS] = {
    [EK_PRODUCER_UNKNOWN] = "",
    [EK_PRODUCER_TORCH_NPU] = " of PyTorch on Ascend",
    [EK_PRODUCER_MINDSPORE] = " of MindSpore",
    [EK_PRODUCER_MSPROF] = " of CANN's device profiler",
    [EK_PRODUCER_TIMELINE] = " of MindSpore before 2.0",
    [EK_PRODUCER_KINETO] = " of PyTorch on GPU",
};

static void print_run(const page *p)
{
    const ek_overview_run *r = p->o->run;
    if (!r)
        return;
    if (r->n_ranks > 0)
        fprintf(p->out, "%d rank%s%s; ", r->n_ranks, r->n_ranks == 1 ? "" : "s", producers[r->producer]);
    if (!isnan(r->step_seconds))
        fprintf(p->out, "a step takes %s: %s\n", ek__seconds(r->step_seconds).text,
                r->step_source ? r->step_source : "measured");
    else if (r->n_ranks > 0)
        fputs("the time of a step is not known\n", p->out);
    if (r->n_causes == 0)
        fputs("nothing that slows it down was found\n", p->out);
    for (int i = 0; i < r->n_causes; i++) {
        fprintf(p->out, "%d. ", i + 1);
        ek__print_name(r->cause[i].title, p->out);
        if (!isnan(r->cause[i].gain_seconds))
            fprintf(p->out, " (gain %s, %s %%)", ek__seconds(r->cause[i].gain_seconds).text,
                    ek__fixed(100 * r->cause[i].gain_share, 1).text);
        fputc('\n', p->out);
    }
    if (r->n_bottlenecks > r->n_causes)
        fprintf(p->out, "%d more\n", r->n_bottlenecks - r->n_causes);
}

/* ---- commands ---- */

static void print_next(const page *p)
{
    const ek_overview *o = p->o;
    int width = 0;
    for (int i = 0; i < o->n_next; i++) {
        int columns = ek__columns(o->next[i].command);
        width = columns > width && columns <= EK__PAGE_WIDTH ? columns : width;
    }
    if (o->n_next == 0)
        return;
    ek__print_heading(p->color, "next", p->out);
    fputc('\n', p->out);
    for (int i = 0; i < o->n_next; i++) {
        int columns = ek__columns(o->next[i].command);
        fputs("  ", p->out);
        ek__print_name(o->next[i].command, p->out);
        fprintf(p->out, "%*s  # %s\n", columns < width ? width - columns : 0, "", o->next[i].why);
    }
}

ek_status ek__overview_write_text(const ek_overview *overview, bool color, FILE *out, ek_error *err)
{
    const page p = {out, color, overview};
    print_paths(&p);
    print_job(&p);
    print_layout(&p);
    print_run(&p);
    for (int i = 0; i < overview->n_notes; i++) {
        fputs("note: ", out);
        ek__print_name(overview->note[i], out);
        fputc('\n', out);
    }
    print_next(&p);
    return ek__finish(out, err);
}
