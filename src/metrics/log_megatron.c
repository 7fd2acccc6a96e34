/* Reads the steps in logs of Megatron-LM and its derivatives (MindSpeed-LLM, MindSpeed-Core-MS). The form:
 *
 *   iteration       20/  500000 | consumed samples:  5120 | elapsed time per iteration (ms): 11532.1 |
 *       throughput per GPU (TFLOP/s/GPU): 143.2 | learning rate: ... | global batch size:   256 | lm loss: 6.1E+00 |
 *       loss scale: 1.0 | ... | number of skipped iterations:   0 | number of nan iterations:   0 |      (one line)
 *   [Rank 0] (after 20 iterations) memory (MB) | allocated: 7253.7 | max allocated: 7959.9 | reserved: ...
 *
 * and the list of arguments before them (" seq_length ........ 4096"). A line's time is the mean of the iterations
 * since the previous line. An interval in which an iteration was skipped counts as skipped. */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "metrics/log_lines.h"

enum { STEP_TIME, ALLOCATED, WORLD, BATCH, SEQUENCE };
static const char *const needles[] = {"elapsed time per iteration (ms)",
                                      "max allocated:",
                                      "world_size ..",
                                      "global_batch_size ..",
                                      "seq_length ..",
                                      NULL};

static double value_or(const ek__record *r, const char *name, const char *older)
{
    double value = ek__record_value(r, name);
    return isnan(value) ? ek__record_value(r, older) : value;
}

static void read_step(const ek__hit *hit, ek__log_line *out)
{
    ek__record r;
    const unsigned char *end = NULL;
    if (!ek__record_around(hit, "iteration ", &r))
        return;
    double number = ek__record_value(&r, "iteration ");
    double ms = ek__record_number(&r, hit->at + strlen(needles[STEP_TIME]), &end);
    if (!(number >= 0 && number <= 1e12 && number == floor(number)) || !(ms > 0))
        return;
    ek_train_log_step step = ek__no_step(hit);
    step.step = (int64_t)number;
    step.seconds = ms / 1000;
    step.loss = value_or(&r, "lm loss:", "lm loss");
    step.tflops_per_device = value_or(&r, "throughput per GPU (TFLOP/s/GPU):", "TFLOPs:");
    step.global_batch = ek__record_value(&r, "global batch size:");
    step.overflow = ek__record_value(&r, "number of skipped iterations:") > 0;
    *out = (ek__log_line){.said = EK__SAID_STEP, .step = step};
}

/* "name ......... 4096" at the start of an argument's name: not the end of another one, such as decoder_seq_length. */
static void read_argument(int needle, const ek__hit *hit, ek__log_line *out)
{
    if (hit->at > hit->start && (ek__is_alnum(hit->at[-1]) || hit->at[-1] == '_'))
        return;
    const unsigned char *s = hit->at;
    while (s < hit->end && *s != '.')
        s++;
    while (s < hit->end && *s == '.')
        s++;
    const ek__record r = {s, hit->end, hit->cut};
    double value = ek__record_number(&r, s, NULL);
    if (!(value >= 1 && value <= 1e12 && value == floor(value)))
        return;
    out->said = needle == WORLD ? EK__SAID_WORLD : needle == BATCH ? EK__SAID_BATCH : EK__SAID_SEQUENCE;
    out->value = value;
}

static void read(int needle, const ek__hit *hit, ek__log_line *out)
{
    if (needle == STEP_TIME) {
        read_step(hit, out);
    } else if (needle == ALLOCATED) {
        const ek__record r = {hit->at, hit->end, hit->cut};
        double mb = ek__record_value(&r, needles[ALLOCATED]);
        if (mb > 0)
            *out = (ek__log_line){.said = EK__SAID_MEMORY, .value = mb};
    } else {
        read_argument(needle, hit, out);
    }
}

const ek__log_format ek__log_megatron = {EK_TRAIN_LOG_MEGATRON, needles, read};
