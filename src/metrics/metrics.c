/* Computes throughput, MFU, HFU, linearity and bubble from the data of a run. Each figure is one line of arithmetic;
 * most of the code derives missing values and rejects contradictions, since a wrong number of devices looks like a good
 * utilisation. Not handled: bubbles of unequal stages and of other schedules, which the simulator computes. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/metrics.h"
#include "metrics/flops.h"

static const char *const ek__flops_source_name[4] = {"unknown", "counted", "given", "6P"};
const char *const *const ek_flops_source_name = ek__flops_source_name;

/* Two values of one rate that differ by more are not from the same run; rounding in logs is smaller. */
static const double tolerance = 0.005;

ek_status ek_job_count_parameters(const ek_job *job, double *all, double *active, ek_error *err)
{
    return ek__job_parameters(job, all, active, err);
}

static bool given(double value)
{
    return !isnan(value) && value != 0;
}

static bool agree(double a, double b)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

/* ---- input ---- */

static ek_status check_numbers(const ek_metrics_input *in, ek_error *err)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"the step time", in->step_seconds},
                   {"samples/s", in->samples_per_second},
                   {"tokens/s of a device", in->tokens_per_second_per_device},
                   {"the number of devices", in->n_devices},
                   {"the global batch", in->global_batch},
                   {"the sequence length", in->seq_length},
                   {"FLOPs of a token", in->model_flops_per_token},
                   {"the number of parameters", in->parameters},
                   {"the peak", in->peak_tflops},
                   {"the baseline's samples/s", in->baseline},
                   {"the baseline's devices", in->baseline_devices},
                   {"the number of stages", in->n_stages},
                   {"the number of chunks", in->n_chunks},
                   {"the number of micro-batches", in->n_micro_batches}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (given(numbers[i].value) && !(numbers[i].value > 0 && isfinite(numbers[i].value)))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s must be a number above 0 (got %g)", numbers[i].name,
                            numbers[i].value);
    if (given(in->baseline) != given(in->baseline_devices))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "a baseline is samples/s and the number of devices they were measured on; give both");
    return EK_OK;
}

/* A number from the job and a separately given one: the existing one, or both if they agree. */
static ek_status settle(const char *name, double said, double of_job, const char *advice, double *out, ek_error *err)
{
    if (given(said) && given(of_job) && !agree(said, of_job))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s is given as %.10g, but the model file comes to %.10g; %s",
                        name, said, of_job, advice);
    *out = given(said) ? said : of_job;
    return EK_OK;
}

static ek_status settle_sizes(const ek_metrics_input *in, ek_metrics *m, ek_error *err)
{
    const ek_job *job = in->job;
    double devices = 0, length = 0, stages = 0, chunks = 0, micro_batches = 0;
    ek_status status = settle("the number of devices", in->n_devices, job ? (double)ek_job_devices(job) : 0,
                              "give the degrees of the run that was measured", &devices, err);
    if (!status)
        status = settle("the global batch", in->global_batch, job ? (double)ek_job_sequences(job) : 0,
                        "give micro-batches, their size or the data parallel ranks of the run that was measured",
                        &m->global_batch, err);
    if (!status)
        status = settle("the sequence length", in->seq_length, job ? job->parallel.seq_length : 0,
                        "give the length that was measured", &length, err);
    if (!status)
        status = settle("the number of stages", in->n_stages, job ? job->parallel.pipeline : 0,
                        "give the stages that were measured", &stages, err);
    if (!status)
        status = settle("the number of chunks", in->n_chunks, job ? job->plan.n_chunks : 0,
                        "give the chunks that were measured", &chunks, err);
    if (!status)
        status = settle("the number of micro-batches", in->n_micro_batches, job ? job->parallel.n_micro_batches : 0,
                        "give the micro-batches that were measured", &micro_batches, err);
    m->n_devices = (int)devices;
    m->seq_length = (int)length;
    m->n_stages = (int)stages;
    m->n_chunks = (int)chunks;
    m->n_micro_batches = (int)micro_batches;
    return status;
}

/* ---- throughput ---- */

/* Samples per second, from every source. */
static ek_status find_rate(const ek_metrics_input *in, const ek_metrics *m, double *rate, ek_error *err)
{
    const struct {
        const char *name;
        double value;
    } ways[] = {
        {"samples/s", in->samples_per_second},
        {"global batch / step time", in->step_seconds > 0 ? m->global_batch / in->step_seconds : 0},
        {"tokens/s/device * devices / sequence length",
         m->seq_length > 0 ? in->tokens_per_second_per_device * m->n_devices / m->seq_length : 0},
    };
    int first = -1;
    for (int i = 0; i < 3; i++) {
        if (!given(ways[i].value))
            continue;
        if (first >= 0 && !agree(ways[first].value, ways[i].value))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "%s is %.6g, but %s is %.6g: more than 0.5 %% apart; leave one out, or correct batch, "
                            "sequence length or devices",
                            ways[first].name, ways[first].value, ways[i].name, ways[i].value);
        first = first < 0 ? i : first;
    }
    *rate = first < 0 ? NAN : ways[first].value;
    return EK_OK;
}

static double known(double value)
{
    return given(value) ? value : NAN;
}

static ek_status fill_throughput(const ek_metrics_input *in, ek_metrics *m, ek_error *err)
{
    double rate;
    ek_status status = find_rate(in, m, &rate, err);
    if (status)
        return status;
    double batch = known(m->global_batch), step = known(in->step_seconds), devices = known(m->n_devices),
           length = known(m->seq_length);
    if (isnan(batch))
        m->global_batch = isnan(rate * step) ? 0 : rate * step;
    m->step_seconds = isnan(step) ? batch / rate : step;
    m->samples_per_second = rate;
    m->samples_per_second_per_device = rate / devices;
    m->tokens_per_second = rate * length;
    m->tokens_per_second_per_device = m->tokens_per_second / devices;
    if (isnan(m->tokens_per_second_per_device))
        m->tokens_per_second_per_device = known(in->tokens_per_second_per_device);
    if (isnan(m->tokens_per_second))
        m->tokens_per_second = m->tokens_per_second_per_device * devices;
    return EK_OK;
}

/* ---- FLOPs ---- */

static ek_status fill_flops(const ek_metrics_input *in, ek_metrics *m, ek_error *err)
{
    ek_status status = in->job ? ek_flops_count(in->job, in->attention, &m->flops, err) : EK_OK;
    m->model_flops_per_token = m->hardware_flops_per_token = NAN;
    if (status)
        return status;
    if (given(in->model_flops_per_token)) {
        m->flops_source = EK_FLOPS_GIVEN;
        m->model_flops_per_token = in->model_flops_per_token;
    } else if (in->job) {
        m->flops_source = EK_FLOPS_COUNTED;
        m->model_flops_per_token = m->flops.model;
    } else if (given(in->parameters)) {
        m->flops_source = EK_FLOPS_SIX_P;
        m->model_flops_per_token = 6 * in->parameters;
    }
    if (in->job)
        m->hardware_flops_per_token = m->model_flops_per_token + m->flops.recomputed;
    return EK_OK;
}

/* Without a job the type is bf16, or fp16 on devices without bf16. */
static ek_status fill_peak(const ek_metrics_input *in, ek_metrics *m, ek_error *err)
{
    m->peak_tflops = known(in->peak_tflops);
    if (!isnan(m->peak_tflops) || !in->device)
        return EK_OK;
    const ek_device *device = in->device;
    ek_dtype type = in->job ? in->job->types.compute : device->peak_tflops[EK_BF16] > 0 ? EK_BF16 : EK_FP16;
    if (device->peak_tflops[type] <= 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "device '%s' has no peak for %s; choose another device, or give the peak", device->name,
                        ek_dtype_name[type]);
    m->peak_tflops = device->peak_tflops[type];
    return EK_OK;
}

/* ---- bubble ---- */

/* Equal stages in succession, in an order that fills and drains the pipeline once per step. */
static bool has_closed_form(const ek_job *job)
{
    if (!job || !job->schedule)
        return true;
    return job->parallel.n_pieces <= 1 && job->schedule->bubble == EK_BUBBLE_EXACT;
}

static void fill_bubble(const ek_metrics_input *in, ek_metrics *m)
{
    double v = m->n_chunks > 0 ? m->n_chunks : 1, useful = v * m->n_micro_batches, ends = m->n_stages - 1;
    m->bubble_share = m->bubble_ratio = NAN;
    if (m->n_stages <= 0 || m->n_micro_batches <= 0 || !has_closed_form(in->job))
        return;
    m->bubble_share = ends / (useful + ends);
    m->bubble_ratio = ends / useful;
}

/* ---- the whole ---- */

ek_status ek_metrics_compute(const ek_metrics_input *input, ek_metrics *out, ek_error *err)
{
    ek_metrics m = {0};
    ek_status status = check_numbers(input, err);
    if (!status)
        status = settle_sizes(input, &m, err);
    if (!status)
        status = fill_throughput(input, &m, err);
    if (!status)
        status = fill_flops(input, &m, err);
    if (!status)
        status = fill_peak(input, &m, err);
    if (status)
        return status;
    m.achieved_tflops = m.model_flops_per_token * m.tokens_per_second_per_device / 1e12;
    m.hardware_tflops = m.hardware_flops_per_token * m.tokens_per_second_per_device / 1e12;
    m.mfu = m.achieved_tflops / m.peak_tflops;
    m.hfu = m.hardware_tflops / m.peak_tflops;
    m.linearity =
        given(input->baseline) ? m.samples_per_second_per_device / (input->baseline / input->baseline_devices) : NAN;
    fill_bubble(input, &m);
    *out = m;
    return EK_OK;
}
