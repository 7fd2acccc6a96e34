/* The figures of a run in one order, with what each rests on. "given" is what the user said, "measured" comes from a
 * log or a trace, "log" and "model file" say where a size stands, "counted" comes from the model's shapes, "derived"
 * from the others by its formula, and "assumed" says that a figure behind it is on no product sheet. */
#include <math.h>

#include "evenkeel/metrics.h"
#include "report/metrics_internal.h"

static double from_zero(double value)
{
    return value > 0 ? value : NAN;
}

/* What a rate rests on: the one that was put in is measured or given, the others follow. */
static const char *basis_of(const ek_metrics_report *r, double put_in)
{
    if (isnan(put_in) || put_in == 0)
        return "derived";
    return r->log || r->n_trace_steps > 0 ? "measured" : "given";
}

/* What a size of the run rests on. */
static const char *size_basis(const ek_metrics_report *r, double put_in, bool of_log)
{
    bool given = !isnan(put_in) && put_in != 0;
    return r->input->job ? "model file" : of_log ? "log" : given ? "given" : "derived";
}

static bool is_assumed(const ek_metrics_input *in)
{
    return in->device && !in->device->certain && !(in->peak_tflops > 0);
}

static const char *peak_basis(const ek_metrics_input *in)
{
    return in->peak_tflops > 0 ? "given" : is_assumed(in) ? "assumed" : "data sheet";
}

static const char *flops_basis(const ek_metrics *m)
{
    return m->flops_source == EK_FLOPS_COUNTED ? "counted" : m->flops_source == EK_FLOPS_GIVEN ? "given" : "derived";
}

int ek__metrics_figures(const ek_metrics_report *r, ek__figure out[EK__MAX_FIGURES])
{
    const ek_metrics *m = r->metrics;
    const ek_metrics_input *in = r->input;
    bool brief = m->step_seconds < 1;
    const char *share = is_assumed(in) ? "assumed" : "derived";
    const ek__figure all[] = {
        {"step_seconds", "step time", brief ? "ms" : "s", m->step_seconds, 3, brief ? 1e3 : 1,
         basis_of(r, in->step_seconds), "GBS / samples/s"},
        {"global_batch", "global batch GBS", "sequences", from_zero(m->global_batch), 0, 1,
         size_basis(r, in->global_batch, r->log_batch), "d B m"},
        {"n_devices", "devices D", "", from_zero(m->n_devices), 0, 1, size_basis(r, in->n_devices, r->log_devices),
         "d t p cp"},
        {"seq_length", "sequence length S", "tokens", from_zero(m->seq_length), 0, 1,
         size_basis(r, in->seq_length, r->log_length), ""},
        {"samples_per_second", "throughput", "samples/s", m->samples_per_second, 3, 1,
         basis_of(r, in->samples_per_second), "GBS / step time"},
        {"samples_per_second_per_device", "samples/s/p, p all devices", "samples/s", m->samples_per_second_per_device,
         5, 1, "derived", "GBS / (step time D)"},
        {"tokens_per_second", "tokens of the cluster", "tokens/s", m->tokens_per_second, 0, 1, "derived",
         "GBS S / step time"},
        {"tokens_per_second_per_device", "tokens of a device", "tokens/s/p", m->tokens_per_second_per_device, 1, 1,
         basis_of(r, in->tokens_per_second_per_device), "GBS S / (step time D)"},
        {"model_flops_per_token", "model FLOPs of a token", "GFLOP", m->model_flops_per_token, 3, 1e-9, flops_basis(m),
         m->flops_source == EK_FLOPS_SIX_P ? "6 P" : "3 forward"},
        {"hardware_flops_per_token", "... with recomputation", "GFLOP", m->hardware_flops_per_token, 3, 1e-9,
         flops_basis(m), "3 forward + recomputed"},
        {"achieved_tflops", "achieved, model FLOPs", "TFLOP/s/p", m->achieved_tflops, 1, 1, "derived",
         "model FLOPs * tokens/s/p"},
        {"hardware_tflops", "achieved, with recomputation", "TFLOP/s/p", m->hardware_tflops, 1, 1, "derived",
         "hardware FLOPs * tokens/s/p"},
        {"peak_tflops", "peak of a device", "TFLOP/s", m->peak_tflops, 1, 1, peak_basis(in), ""},
        {"mfu", "MFU", "%", m->mfu, 1, 100, share, "achieved, model FLOPs / peak"},
        {"hfu", "HFU", "%", m->hfu, 1, 100, share, "achieved, with recomputation / peak"},
        {"linearity", "linearity", "%", m->linearity, 1, 100, "derived", "samples/s/p / that of the baseline"},
        {"bubble_share", "bubble, idle / step", "%", m->bubble_share, 2, 100, "derived", "(p-1) / (v m + p-1)"},
        {"bubble_ratio", "bubble, idle / useful (SAPP)", "%", m->bubble_ratio, 2, 100, "derived", "(p-1) / (v m)"},
    };
    int n = (int)(sizeof all / sizeof *all);
    for (int i = 0; i < n; i++)
        out[i] = all[i];
    return n;
}
