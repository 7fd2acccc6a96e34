/* Reads the steps in logs of torchtitan. The form, in one line, coloured or not:
 *
 *   [rank0]:[titan] 2025-04-07 15:34:29,173 - root - INFO - step: 10  loss:  7.1234  grad_norm:  1.2345
 *       memory: 35.00GiB(44.22%)  tps: 6,123  tflops: 312.70  mfu: 31.61%                              (one line)
 *
 * A line has no time, but tokens/s per device since the previous line. If a version prints the batch at the start, it
 * is read too: "..., global batch size 64, gradient accumulation steps 1, sequence length 8192, ...". */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "metrics/log_lines.h"

enum { RATE, MEMORY, BATCH, SEQUENCE };
static const char *const needles[] = {"tps: ", "GiB(", ", global batch size ", ", sequence length ", NULL};

/* "6,123": groups of three digits. NAN if there is none or it may be truncated. */
static double grouped_number(const ek__record *r, const unsigned char *at)
{
    double value = NAN;
    int run = 0;
    bool grouped = false;
    while (at < r->end && *at == ' ')
        at++;
    for (; at < r->end && (isdigit(*at) || *at == ','); at++) {
        if (*at == ',') {
            if (isnan(value) || run > 3 || (grouped && run != 3))
                return NAN;
            grouped = true;
            run = 0;
        } else {
            value = 10 * (isnan(value) ? 0 : value) + (*at - '0');
            run++;
        }
    }
    return (at == r->end && r->cut) || (grouped && run != 3) ? NAN : value;
}

static void read_step(const ek__hit *hit, ek__log_line *out)
{
    ek__record r;
    if (!ek__record_around(hit, "step:", &r))
        return;
    double number = ek__record_value(&r, "step:"), rate = grouped_number(&r, hit->at + strlen(needles[RATE]));
    if (!(number >= 0 && number <= 1e12 && number == floor(number)) || !(rate > 0 && rate <= 1e9))
        return;
    ek_train_log_step step = ek__no_step(hit);
    step.step = (int64_t)number;
    step.tokens_per_second_per_device = rate;
    step.loss = ek__record_value(&r, "loss:");
    step.tflops_per_device = ek__record_value(&r, "tflops:");
    *out = (ek__log_line){.said = EK__SAID_STEP, .step = step};
}

/* The allocator's maximum reserved memory, in a line of a step. */
static void read_memory(const ek__hit *hit, ek__log_line *out)
{
    ek__record r;
    double gib = ek__record_around(hit, "memory:", &r) ? ek__record_value(&r, "memory:") : NAN;
    if (gib > 0)
        *out = (ek__log_line){.said = EK__SAID_MEMORY, .value = 1024 * gib};
}

static void read(int needle, const ek__hit *hit, ek__log_line *out)
{
    if (needle == RATE) {
        read_step(hit, out);
    } else if (needle == MEMORY) {
        read_memory(hit, out);
    } else {
        const ek__record r = {hit->at, hit->end, hit->cut};
        double value = ek__record_value(&r, needles[needle]);
        if (value >= 1 && value <= 1e12 && value == floor(value))
            *out = (ek__log_line){.said = needle == BATCH ? EK__SAID_BATCH : EK__SAID_SEQUENCE, .value = value};
    }
}

const ek__log_format ek__log_torchtitan = {EK_TRAIN_LOG_TORCHTITAN, needles, read};
