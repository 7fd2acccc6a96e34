/* Writes the memory of a dry run as the values of an init file's memory_usage: the first and the last stage from the
 * first round, the middle stages of every round in the order of stages. One line each, in YAML's flow style, which is
 * JSON as well. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/collect.h"

enum { NUMBER_SIZE = 32 };

/* A growing text; `failed` when memory was out. */
typedef struct line {
    char *text;
    size_t n, room;
    bool failed;
} line;

static void add(line *to, const char *text)
{
    size_t n = strlen(text);
    char *grown = to->failed ? NULL : ek__with_room(to->text, &to->room, to->n + n + 1, 1);
    if (!grown) {
        to->failed = true;
        return;
    }
    to->text = grown;
    memcpy(to->text + to->n, text, n + 1);
    to->n += n;
}

static void write_list(const ek_collection *all, int r, ek_peak which, line *stages, line *peaks)
{
    const char *separator = "[";
    for (int s = 1; s < all->n_stages - 1; s++) {
        char number[NUMBER_SIZE];
        double peak = ek_stage_log_peak(ek_round_find(&all->round[r], s), which);
        if (isnan(peak))
            continue;
        snprintf(number, sizeof number, "%s%d", separator, s);
        add(stages, number);
        ek__snprintf(number, sizeof number, "%s%.15g", separator, peak);
        add(peaks, number);
        separator = ", ";
    }
    add(stages, "]");
    add(peaks, "]");
}

static ek_status check_end(const ek_collection *all, int stage, ek_peak which, const char *key, ek_error *err)
{
    if (isnan(ek_stage_log_peak(ek_round_find(&all->round[0], stage), which)))
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){all->round[0].source, 0, 0}),
                        "stage %d has no peak in the first round, and %s is its peak; run that stage again", stage,
                        key);
    return EK_OK;
}

static ek_status check(const ek_collection *all, ek_peak which, ek_error *err)
{
    if (all->n_stages < 3)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){all->round[0].source, 0, 0}),
                        "%d stage%s cannot be taken apart into layers: a dry run needs a stage between the first and "
                        "the last; run it with 3 stages or more",
                        all->n_stages, all->n_stages == 1 ? "" : "s");
    ek_status status = check_end(all, 0, which, "head_memory", err);
    if (status == EK_OK)
        status = check_end(all, all->n_stages - 1, which, "tail_memory", err);
    for (int r = 0; r < all->n_rounds && status == EK_OK; r++) {
        int n = 0;
        for (int s = 1; s < all->n_stages - 1; s++)
            n += !isnan(ek_stage_log_peak(ek_round_find(&all->round[r], s), which));
        if (n == 0)
            status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){all->round[r].source, 0, 0}),
                              "no stage between the first and the last has a peak; run some of them again");
    }
    return status;
}

void ek_memory_usage_clear(ek_memory_usage *usage)
{
    free(usage->stage_id);
    free(usage->memories);
    *usage = (ek_memory_usage){0};
}

ek_status ek_memory_usage_make(const ek_collection *collection, ek_peak which, ek_memory_usage *out, ek_error *err)
{
    ek_status status = check(collection, which, err);
    if (status)
        return status;
    bool nested = collection->n_rounds > 1;
    line stages = {0}, peaks = {0};
    for (int r = 0; r < collection->n_rounds; r++) {
        const char *separator = !nested ? "" : r == 0 ? "[" : ", ";
        add(&stages, separator);
        add(&peaks, separator);
        write_list(collection, r, which, &stages, &peaks);
    }
    add(&stages, nested ? "]" : "");
    add(&peaks, nested ? "]" : "");
    if (stages.failed || peaks.failed) {
        free(stages.text);
        free(peaks.text);
        return ek__no_memory(err);
    }
    ek_memory_usage usage = {.stage_id = stages.text, .memories = peaks.text};
    const ek_round *first = &collection->round[0];
    ek__snprintf(usage.head, sizeof usage.head, "%.15g", ek_stage_log_peak(ek_round_find(first, 0), which));
    ek__snprintf(usage.tail, sizeof usage.tail, "%.15g",
                 ek_stage_log_peak(ek_round_find(first, collection->n_stages - 1), which));
    *out = usage;
    return EK_OK;
}
