/* Reads the steps in logs of MindFormers. The form, in all releases that print "per_step_time":
 *
 *   { Epoch:[  1/  2], step:[    5/ 6500], loss: 8.314, per_step_time: 2302ms, lr: 3e-06, overflow cond: False, ...
 *       train_throughput_per_npu: 123.4T            (where the model's FLOPs are known; older releases without)
 *      0.1% |          | 0.43440 samples/s/p  4:09:25 }                                (a line of its own)
 *   { step:[    5/   10], loss:  11.75, per_step_time:    710ms, ..., throughput:  25.92T }   (newer models)
 *
 * Steps of later epochs count on. "loss" may be a pair, of the step and the mean, or N/A on stages without it. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "metrics/log_lines.h"

enum { STEP_TIME, RATE, PEAK };
static const char *const needles[] = {"per_step_time", "samples/s/p", "Actual peak memory usage", NULL};

/* a and b of "a/ b". */
static bool read_pair(const ek__record *r, const unsigned char *at, double *a, double *b)
{
    const unsigned char *end = NULL;
    *a = at ? ek__record_number(r, at, &end) : NAN;
    *b = end && end < r->end && *end == '/' ? ek__record_number(r, end + 1, NULL) : NAN;
    return !isnan(*a);
}

static bool is_whole(double value)
{
    return value >= 0 && value <= 1e12 && value == floor(value);
}

/* The epoch is before the step and the record, in the 64 bytes before it. */
static double epoch_of(const ek__hit *hit, const ek__record *step)
{
    enum { NEAR = 64 };
    ek__record before = {step->start - hit->start > NEAR ? step->start - NEAR : hit->start, step->start, false};
    double epoch, of;
    const unsigned char *at = NULL, *next;
    for (ek__record rest = before; (next = ek__record_find(&rest, "Epoch:")); rest.start = next)
        at = next;
    return read_pair(&before, at, &epoch, &of) && is_whole(epoch) && epoch >= 1 ? epoch : 1;
}

static double seconds_of(const ek__record *r, const unsigned char *at)
{
    const unsigned char *end = NULL;
    double ms = ek__record_number(r, at, &end);
    bool unit = end && end + 1 < r->end && end[0] == 'm' && end[1] == 's';
    return unit && ms > 0 ? ms / 1000 : NAN;
}

static bool says_true(const ek__record *r, const char *name)
{
    const unsigned char *at = ek__record_find(r, name);
    while (at && at < r->end && (*at == ' ' || *at == ':' || *at == '['))
        at++;
    return at && r->end - at >= 4 && memcmp(at, "True", 4) == 0;
}

static void read_step(const ek__hit *hit, ek__log_line *out)
{
    ek__record r;
    double number, of;
    if (!ek__record_around(hit, "step:[", &r))
        return;
    const unsigned char *at = ek__record_find(&r, "step:[");
    double seconds = seconds_of(&r, hit->at + strlen(needles[STEP_TIME]));
    if (!read_pair(&r, at, &number, &of) || !is_whole(number) || isnan(seconds))
        return;
    double epoch = epoch_of(hit, &r);
    if (is_whole(of) && of >= 1)
        number += (epoch - 1) * of;
    if (!is_whole(number))
        return;
    ek_train_log_step step = ek__no_step(hit);
    step.step = (int64_t)number;
    step.seconds = seconds;
    step.loss = ek__record_value(&r, " loss:");
    step.tflops_per_device = ek__record_value(&r, "throughput_per_npu:");
    if (isnan(step.tflops_per_device))
        step.tflops_per_device = ek__record_value(&r, " throughput:");
    step.overflow = says_true(&r, "overflow cond:");
    *out = (ek__log_line){.said = EK__SAID_STEP, .step = step};
}

/* The number before the needle. */
static void read_rate(const ek__hit *hit, ek__log_line *out)
{
    const unsigned char *end = hit->at, *start;
    while (end > hit->start && end[-1] == ' ')
        end--;
    for (start = end; start > hit->start && (isdigit(start[-1]) || start[-1] == '.');)
        start--;
    const ek__record r = {start, hit->at, false};
    double value = ek__record_number(&r, start, NULL);
    if (value > 0)
        *out = (ek__log_line){.said = EK__SAID_RATE, .value = value};
}

static void read_peak(const ek__hit *hit, ek__log_line *out)
{
    const ek__record r = {hit->at, hit->end, hit->cut};
    const unsigned char *at = ek__record_find(&r, ":");
    double mb = at ? ek__record_number(&r, at, NULL) : NAN;
    if (mb > 0)
        *out = (ek__log_line){.said = EK__SAID_MEMORY, .value = mb};
}

static void read(int needle, const ek__hit *hit, ek__log_line *out)
{
    if (needle == STEP_TIME)
        read_step(hit, out);
    else if (needle == RATE)
        read_rate(hit, out);
    else
        read_peak(hit, out);
}

const ek__log_format ek__log_mindformers = {EK_TRAIN_LOG_MINDFORMERS, needles, read};
