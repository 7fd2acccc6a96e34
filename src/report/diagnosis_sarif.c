/* Writes bottlenecks as SARIF: a rule for each kind, a result for each bottleneck with its share, its change and its
 * gain. Few are at a line of a file, so places are files of the evidence and, by name, its ranks and steps. A
 * bottleneck with an unknown gain is a note. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/compute.h"
#include "evenkeel/diagnose.h"
#include "report/sarif.h"
#include "report/writers.h"

enum { PLACE = 96 };

/* docs/diagnose.md has the same; those of computing are in a separate list. */
static const ek__sarif_rule rules[] = {
    {"slow-operators", "Executions of an operator take far longer than others of its kind.",
     "Some executions take far longer than the same operator elsewhere: the device was slow then, or something ran at "
     "the same time. Look at these executions in the timeline.",
     NULL, "warning", NULL},
    {"optimizer", "The update of the optimizer's states is long.",
     "Every step ends with reading and writing all states. Shard them over data-parallel ranks, or use a fused "
     "optimizer.",
     NULL, "warning", NULL},
    {"exposed-communication", "Communication is not overlapped with computing.",
     "Gradients, weights, tensor and expert parallel collectives that no computing hides are time of the step.", NULL,
     "warning", NULL},
    {"redistribution", "Collectives are there because neighbours are cut differently.",
     "The compiler puts them in where operators with different strategies follow each other.", NULL, "warning", NULL},
    {"recompute", "Recomputation takes time that memory has room to do without.",
     "Activations that fit into memory need not be calculated again; where nothing fits, a measure makes room.", NULL,
     "warning", NULL},
    {"memory", "A stage is over its memory limit or at it.",
     "The run cannot work, or is close to not working. Take the cheapest measure that makes room.", NULL, "warning",
     NULL},
    {"data-loading", "Steps begin late because data are not there.",
     "The device waits for its next batch. Use more workers, prefetch, and remove data from the dataset that can be "
     "computed while reading.",
     NULL, "warning", NULL},
    {"host", "The device is idle because launches came late.",
     "Garbage collection, synchronisation, compilation or dispatch on the host take longer than the launched work.",
     NULL, "warning", NULL},
    {"host-on-path", "The host is on the critical path.",
     "The device waits for launches of the host. Launch less, or earlier: fused operators, graphs, no synchronisation "
     "within a step.",
     NULL, "warning", NULL},
    {"slow-steps", "Some steps take far longer than the median.",
     "Their cost is the time above the median: checkpoints, evaluation, garbage collection, reading data. Do these "
     "less often or asynchronously.",
     NULL, "warning", NULL},
    {"bubble", "There are too few micro-batches or chunks for the stages.",
     "Stages are idle while a pipeline fills and drains. Take more micro-batches, or more chunks per stage.", NULL,
     "warning", NULL},
    {"load-balance", "Layers or recomputation are spread unevenly over the stages.",
     "All stages wait for the slowest one. Move layers or recomputation between stages; evenkeel balance finds how.",
     NULL, "warning", NULL},
    {"slow-rank", "A rank computes longer than others with the same work.",
     "All ranks wait for the slowest one. Look at its device, its host and its part of the data.", NULL, "warning",
     NULL},
    {"pipeline-wait", "Stages wait for each other.",
     "A stage waits for data of another stage. More micro-batches or chunks, or layers spread otherwise, shorten it.",
     NULL, "warning", NULL},
    {"stage-imbalance", "Stages compute for different times.",
     "All stages wait for the one that computes longest. Move layers or recomputation from it to others.", NULL,
     "warning", NULL},
    {"exposed-copies", "Copies are not overlapped with computing.",
     "Copies between host and device stop computing. Use pinned memory and overlap copies with computing, or keep data "
     "on the device.",
     NULL, "warning", NULL},
    {"slow-link", "A link is far slower than others of its kind.",
     "Transfers over it take longer than over others of its kind. Check the link, and which ranks share it.", NULL,
     "warning", NULL},
    {"idle", "The device is idle.", "Nothing runs on the device. The host part of the profile shows the reason.", NULL,
     "warning", NULL},
    {"memory-held", "Memory stays allocated after its last use.",
     "Allocations live longer than they are used. Free or offload them earlier.", NULL, "warning", NULL},
    {"memory-growth", "Memory grows from step to step.",
     "Something is kept from each step. Look at where its allocations are made.", NULL, "warning", NULL},
    {"memory-never-released", "Memory of a step is never released.",
     "Allocations of one step are still there at the end. Look at where they are made.", NULL, "warning", NULL},
    {"memory-fragmentation", "Much of the reserved memory is fragments.",
     "Free memory lies in pieces that are too small. Change the allocator's settings, or the order of allocations.",
     NULL, "warning", NULL},
};
enum { N_RULES = sizeof rules / sizeof *rules };

static bool has_rule(const ek__sarif_rule *rule, int n, const char *id)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rule[i].id, id) == 0)
            return true;
    return false;
}

int ek__diagnosis_sarif_rules(ek__sarif_rule out[EK__MAX_SARIF_RULES])
{
    int n = N_RULES;
    memcpy(out, rules, sizeof rules);
    for (int i = 0; i < EK_N_COMPUTE_FAULTS; i++)
        out[n++] =
            (ek__sarif_rule){.id = ek_compute_fault_name[i], .title = ek_compute_fault_title[i], .level = "warning"};
    return n;
}

/* The known ones, and one for each bottleneck without a known one. @return their number */
static int gather_rules(const ek_diagnosis *d, ek__sarif_rule out[EK__MAX_SARIF_RULES])
{
    int n = ek__diagnosis_sarif_rules(out);
    for (int i = 0; i < d->n_bottlenecks && n < EK__MAX_SARIF_RULES; i++)
        if (!has_rule(out, n, d->bottleneck[i].id))
            out[n++] = (ek__sarif_rule){.id = d->bottleneck[i].id, .title = d->bottleneck[i].title, .level = "warning"};
    return n;
}

/* "rank 3, step 20", or the run. */
static void name_place(const ek_evidence *e, char text[PLACE])
{
    int n = e->rank >= 0 ? snprintf(text, PLACE, "rank %d", e->rank) : 0;
    if (e->step)
        n += snprintf(text + n, PLACE - (size_t)n, "%sstep %.48s", n > 0 ? ", " : "", e->step);
    if (n == 0)
        snprintf(text, PLACE, "the run");
}

/* The title has the figure; the change follows, as a sentence and as settings of the run's files. */
static char *make_message(const ek_bottleneck *b)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(b->title, out);
    if (b->change)
        fprintf(out, " %s", b->change);
    if (b->setting)
        fprintf(out, "\n\n%s", b->setting);
    if (b->rests_on)
        fprintf(out, "\n\nThe gain: %s", b->rests_on);
    if (b->caution)
        fprintf(out, "\n\nCaution: %s", b->caution);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static ek_status add_bottleneck(ek__sarif *sarif, const ek_bottleneck *b, ek_error *err)
{
    char name[EK_MAX_EVIDENCE][PLACE];
    ek__sarif_place related[EK_MAX_EVIDENCE], place = {.name = "the run", .kind = "resource"};
    const ek__sarif_figure figure[] = {{"cost_seconds", b->cost_seconds},
                                       {"share", b->share},
                                       {"gain_seconds", b->gain_seconds},
                                       {"gain_share", b->gain_share},
                                       {"peak_mb", b->peak_mb > 0 ? b->peak_mb : (double)NAN}};
    int n = b->n_evidence < EK_MAX_EVIDENCE ? b->n_evidence : EK_MAX_EVIDENCE;
    char *message = make_message(b);
    if (!message)
        return ek__no_memory(err);
    for (int i = 0; i < n; i++) {
        const ek_evidence *e = &b->evidence[i];
        name_place(e, name[i]);
        related[i] = (ek__sarif_place){.path = e->file, .name = name[i], .kind = "resource", .said = e->text};
        if (e->file && !place.path)
            place = (ek__sarif_place){.path = e->file, .name = name[i], .kind = "resource"};
    }
    ek__sarif_add(sarif,
                  &(ek__sarif_result){.rule = b->id,
                                      .level = isnan(b->gain_seconds) && !isnan(b->cost_seconds) ? "note" : "warning",
                                      .message = message,
                                      .place = place,
                                      .related = related,
                                      .n_related = n,
                                      .figure = figure,
                                      .n_figures = sizeof figure / sizeof *figure});
    free(message);
    return EK_OK;
}

ek_status ek__diagnosis_write_sarif(const ek_diagnosis *diagnosis, FILE *out, ek_error *err)
{
    ek__sarif sarif;
    ek__sarif_rule all[EK__MAX_SARIF_RULES];
    int n = gather_rules(diagnosis, all);
    ek_status status = EK_OK;
    ek__sarif_begin(&sarif, "evenkeel diagnose", all, n, out);
    for (int i = 0; i < diagnosis->n_bottlenecks && status == EK_OK; i++)
        status = add_bottleneck(&sarif, &diagnosis->bottleneck[i], err);
    return status ? status : ek__sarif_end(&sarif, err);
}
