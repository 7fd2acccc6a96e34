/* Fuzzes training logs: whatever the bytes, a step has a number, a line and a time or a rate above 0, every other
 * figure is a number or missing, the summary lies within the steps, and lines without steps after the log change
 * nothing. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/train_log.h"
#include "fuzz.h"

static void check_step(const ek_train_log_step *step, int line)
{
    assert(step->step >= 0 && step->line >= line);
    double rate = step->tokens_per_second_per_device;
    assert(isnan(step->seconds) || (isfinite(step->seconds) && step->seconds > 0));
    assert(isnan(rate) || (isfinite(rate) && rate > 0));
    assert(isnan(step->seconds) != isnan(rate));
    assert(isnan(step->loss) || isfinite(step->loss));
    assert(isnan(step->samples_per_second_per_device) || step->samples_per_second_per_device > 0);
    assert(isnan(step->tflops_per_device) || isfinite(step->tflops_per_device));
    assert(isnan(step->global_batch) || isfinite(step->global_batch));
}

static void check_log(const ek_train_log *log)
{
    ek_train_log_summary s;
    double least = INFINITY;
    assert(log->n > 0 && log->path);
    for (int i = 0; i < log->n; i++)
        check_step(&log->step[i], i > 0 ? log->step[i - 1].line : 1);
    assert(log->world_size == -1 || log->world_size >= 1);
    assert(isnan(log->peak_mb) || log->peak_mb > 0);
    if (!ek_train_log_summarise(log, &s))
        return;
    assert(s.first >= 0 && s.n >= 1 && s.first + s.n <= log->n);
    for (int i = s.first; i < log->n; i++)
        least = fmin(least, log->step[i].seconds);
    assert(s.median_seconds >= least && s.median_seconds <= s.worst_seconds);
    assert(s.deviation_seconds >= 0);
}

static void check_number(double a, double b)
{
    assert(a == b || (isnan(a) && isnan(b)));
}

static void check_same(const ek_train_log_step *a, const ek_train_log_step *b)
{
    assert(a->step == b->step && a->line == b->line && a->overflow == b->overflow);
    check_number(a->seconds, b->seconds);
    check_number(a->tokens_per_second_per_device, b->tokens_per_second_per_device);
    check_number(a->loss, b->loss);
    check_number(a->samples_per_second_per_device, b->samples_per_second_per_device);
    check_number(a->tflops_per_device, b->tflops_per_device);
    check_number(a->global_batch, b->global_batch);
}

static ek_status read(const uint8_t *data, size_t size, const char *behind, ek_train_log *out)
{
    size_t more = strlen(behind);
    uint8_t *all = malloc(size + more + 1);
    ek_error err = {0};
    assert(all);
    if (size > 0)
        memcpy(all, data, size);
    memcpy(all + size, behind, more + 1);
    ek_status status = ek_train_log_read(fuzz_file(all, size + more), NULL, out, &err);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0]));
    free(all);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_train_log log = {0}, longer = {0}, cut = {0};
    ek_status status = read(data, size, "\n", &log);
    assert(read(data, size, "\nno step 5 in here\n\n", &longer) == status);
    if (status == EK_OK) {
        check_log(&log);
        assert(log.n == longer.n);
        for (int i = 0; i < log.n; i++)
            check_same(&log.step[i], &longer.step[i]);
    }
    if (read(data, size, "", &cut) == EK_OK) {
        check_log(&cut);
        assert(status == EK_OK && cut.n <= log.n);
    }
    ek_train_log_clear(&log);
    ek_train_log_clear(&longer);
    ek_train_log_clear(&cut);
    return 0;
}
