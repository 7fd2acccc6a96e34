/* Prints the metrics of a run for people: the verdict, a table of figures with the basis of each, the FLOPs of a token
 * by term, and remarks. Unknown figures are omitted. */
#include <math.h>
#include <string.h>

#include "base/page.h"
#include "evenkeel/layout_advice.h"
#include "evenkeel/metrics.h"
#include "evenkeel/train_log.h"
#include "figures/metrics_figures.h"
#include "report/report_internal.h"
#include "report/writers.h"

static const char *attention_words(ek_attention_count attention)
{
    static const char *const words[] = {[EK_ATTENTION_CAUSAL] = "half of the score matrix (causal)",
                                        [EK_ATTENTION_FULL] = "the whole score matrix",
                                        [EK_ATTENTION_NONE] = "no attention scores"};
    return words[attention];
}

/* ---- the verdict ---- */

static void print_verdict(const ek_metrics_report *r, FILE *out)
{
    const ek_metrics *m = r->metrics;
    if (!isnan(m->mfu)) {
        fprintf(out, "MFU %s %%: ", ek__fixed(100 * m->mfu, 1).text);
        fprintf(out, "%s of ", ek__fixed(m->achieved_tflops, 1).text);
        fprintf(out, "%s TFLOP/s a device", ek__fixed(m->peak_tflops, 1).text);
        if (!isnan(m->hfu))
            fprintf(out, "; HFU %s %%", ek__fixed(100 * m->hfu, 1).text);
        fputc('\n', out);
    } else if (!isnan(m->achieved_tflops)) {
        fprintf(out, "%s TFLOP/s a device", ek__fixed(m->achieved_tflops, 1).text);
        fputs("; the MFU needs a peak (--device or --peak-tflops)\n", out);
    } else if (!isnan(m->tokens_per_second_per_device)) {
        fprintf(out, "%s tokens/s a device", ek__fixed(m->tokens_per_second_per_device, 1).text);
        fputs("; FLOPs need a model file, --parameters or --flops-per-token\n", out);
    } else if (!isnan(m->samples_per_second)) {
        fprintf(out, "%s samples/s\n", ek__fixed(m->samples_per_second, 3).text);
    } else if (!isnan(m->step_seconds)) {
        fputs("only the step time is known: throughput and MFU need the batch and more (a model file, or --GBS,\n"
              "--devices, --seq-length and --parameters)\n",
              out);
    } else {
        fprintf(out, "nothing was measured%s: give --log, --trace, --step-seconds or a rate\n",
                r->predicted ? ", so the step is predicted" : ", no step time and no rate is known");
    }
    if (m->mfu > 1 || m->hfu > 1)
        fputs("more than the device can do: the peak, the number of devices or the batch is wrong\n", out);
}

/* ---- the prediction ---- */

/* "assumed 93.0 %, derived 7.0 %" */
static void print_basis(const ek_metrics_prediction *p, FILE *out)
{
    const char *between = "rests on ";
    for (int i = EK_N_COST_BASES - 1; i >= 0; i--)
        if (p->basis_share[i] >= 0.0005) {
            fprintf(out, "%s%s %s %%", between, ek_cost_basis_name[i], ek__fixed(100 * p->basis_share[i], 1).text);
            between = ", ";
        }
}

/* Marked as a prediction, next to a measured step if there is one. */
static void print_predicted(const ek_metrics_report *r, FILE *out)
{
    const ek_metrics_prediction *p = r->predicted;
    if (r->not_predicted)
        fprintf(out, "not predicted: %s\n", r->not_predicted);
    if (!p)
        return;
    bool brief = p->step.seconds < 1;
    fprintf(out, "predicted: %s %s a step", ek__fixed(p->step.seconds * (brief ? 1e3 : 1), 3).text, brief ? "ms" : "s");
    if (p->step.standard_error > 0)
        fprintf(out, " +- %s %%", ek__fixed(100 * p->step.standard_error / p->step.seconds, 1).text);
    fprintf(out, ", %s tokens/s a device", ek__fixed(p->metrics.tokens_per_second_per_device, 1).text);
    fprintf(out, ", MFU %s %%", ek__fixed(100 * p->metrics.mfu, 1).text);
    fprintf(out, ", HFU %s %%\n           ", ek__fixed(100 * p->metrics.hfu, 1).text);
    print_basis(p, out);
    if (!isnan(p->error))
        fprintf(out, "\n           %s %% %s than the measured step", ek__fixed(100 * fabs(p->error), 1).text,
                p->error < 0 ? "shorter" : "longer");
    fputs("; evenkeel estimate has its parts\n", out);
}

/* ---- sources ---- */

/* The log also divides by all devices: if its rate differs, batch or devices are not those of the run. */
static void print_doubt(const ek_metrics_report *r, FILE *out)
{
    double printed = r->summary ? r->summary->median_rate : NAN;
    double off = printed / r->metrics->samples_per_second_per_device - 1;
    if (!(fabs(off) > 0.02))
        return;
    fprintf(out, "the log prints %s samples/s/p, ", ek__fixed(printed, 5).text);
    fprintf(out, "%s %% different from step time, batch and devices: check both\n", ek__fixed(100 * off, 1).text);
}

static void print_log(const ek_metrics_report *r, FILE *out)
{
    const ek_train_log *log = r->log;
    const ek_train_log_summary *s = r->summary;
    fprintf(out, "%s log ", ek_train_log_kind_name[log->kind]);
    ek__print_name(log->path, out);
    fprintf(out, ": %d step%s", log->n, log->n == 1 ? "" : "s");
    if (s) {
        fprintf(out, ", %d of them counted", s->n);
        if (s->first > 0)
            fprintf(out, " (%d slow or earlier one%s at the start left out)", s->first, s->first == 1 ? "" : "s");
        fprintf(out, "\nstep times: median %s s", ek__fixed(s->median_seconds, 3).text);
        fprintf(out, ", mean %s s", ek__fixed(s->mean_seconds, 3).text);
        fprintf(out, ", deviation %s s", ek__fixed(s->deviation_seconds, 3).text);
        fprintf(out, ", worst %s s", ek__fixed(s->worst_seconds, 3).text);
    }
    fputc('\n', out);
    if (s && !isnan(s->median_tflops))
        fprintf(out, "the log's own throughput, by its own count of FLOPs: median %s TFLOP/s a device\n",
                ek__fixed(s->median_tflops, 1).text);
    print_doubt(r, out);
    if (!isnan(log->peak_mb))
        fprintf(out, "largest memory in the log: %s MB\n", ek__grouped(log->peak_mb).text);
}

static void print_sources(const ek_metrics_report *r, FILE *out)
{
    const ek_metrics_input *in = r->input;
    if (r->log)
        print_log(r, out);
    if (r->n_trace_steps > 0)
        fprintf(out, "trace: %s; warm-up left out\n", r->trace_step);
    if (in->device) {
        fprintf(out, "device %s: ", in->device->name);
        ek__print_name(in->device->source, out);
        fputs(in->device->certain ? "\n" : " (uncertain)\n", out);
    }
}

/* ---- tables ---- */

static void print_figures(const ek_metrics_report *r, FILE *out)
{
    ek__metrics_line line[EK__N_METRICS_LINES];
    ek__metrics_lines(r, line);
    fprintf(out, "%-30s%14s %-11s%-11s%s\n", "figure", "value", "unit", "rests on", "formula");
    for (int i = 0; i < EK__N_METRICS_LINES; i++) {
        const ek__metrics_line *f = &line[i];
        double value = ek__metrics_value(f, r->metrics);
        if (isnan(value))
            continue;
        bool follows =
            strcmp(f->basis, "given") != 0 && strcmp(f->basis, "measured") != 0 && strcmp(f->basis, "log") != 0;
        const char *formula = follows ? f->formula : "";
        fprintf(out, "%-30s%14s %-11s%-*s", f->title, ek__fixed(value * f->scale, f->decimals).text, f->unit,
                *formula ? 11 : 0, f->basis);
        fprintf(out, "%s\n", formula);
    }
}

static void print_letters(const ek_job *job, FILE *out)
{
    const ek_job_model *m = &job->model;
    int prediction = m->n_prediction_layers;
    fprintf(out, "L %d layers", m->n_layers + prediction);
    if (prediction > 0)
        fprintf(out, " (Lp %d of them for prediction)", prediction);
    fprintf(out, ", S %d, H %d,\nN %d heads, D %d of queries and keys, E %d of values", job->parallel.seq_length,
            m->hidden, m->n_heads, m->head_dim, m->value_dim);
    if (m->kv_lora_rank > 0)
        fprintf(out, ", Rq %d, R %d, n %d, r %d", m->q_lora_rank, m->kv_lora_rank, m->nope_dim, m->rope_dim);
    else
        fprintf(out, ", K %d", m->n_kv_heads * m->head_dim);
    fprintf(out, ",\nI %d, V %d", m->intermediate, m->vocab);
    if (m->n_experts > 0)
        fprintf(out, ", X %d experts, k %d, Ie %d, Is %d", m->n_experts, m->top_k, m->expert_intermediate,
                m->shared_intermediate);
    fputc('\n', out);
}

static void print_term(const char *name, double forward, double all, double recomputed, const char *formula, FILE *out)
{
    fprintf(out, "%-30s%14s", name, ek__fixed(forward / 1e9, 3).text);
    fprintf(out, "%8s", ek__fixed(all > 0 ? 100 * forward / all : 0, 1).text);
    fprintf(out, "%14s", ek__fixed(recomputed / 1e9, 3).text);
    fprintf(out, "%s%s\n", *formula ? "  " : "", formula);
}

static void print_terms(const ek_metrics_report *r, FILE *out)
{
    const ek_flops *flops = &r->metrics->flops;
    ek__print_heading(r->color, "FLOPs of a token", out);
    fputc('\n', out);
    fprintf(out, "%-30s%14s%8s%14s  %s\n", "term, GFLOP", "forward", "%", "recomputed", "formula of forward");
    for (int i = 0; i < flops->n; i++) {
        const ek_flops_term *t = &flops->term[i];
        print_term(t->name, t->forward, flops->forward, t->recomputed, t->formula, out);
    }
    print_term("sum", flops->forward, flops->forward, flops->recomputed, "", out);
    print_letters(r->input->job, out);
    fprintf(out, "%s parameters", ek__grouped(flops->parameters).text);
    if (flops->active_parameters < flops->parameters)
        fprintf(out, ", %s of them for a token", ek__grouped(flops->active_parameters).text);
    fprintf(out,
            "\n"
            "Backward counts twice forward. Attention counts %s;\n"
            "lookups, norms, softmax and recomputation within the backward pass of flash attention are left out.\n",
            attention_words(r->input->attention));
}

static void print_notes(const ek_metrics_report *r, FILE *out)
{
    const ek_metrics *m = r->metrics;
    const ek_metrics_input *in = r->input;
    if (m->flops_source == EK_FLOPS_SIX_P)
        fputs("6 P counts no attention scores, and every parameter as if it were used by every token.\n", out);
    if (!isnan(m->linearity)) {
        fprintf(out, "Linearity is against %s samples/s", ek__short(in->baseline).text);
        fprintf(out, " of %d device%s;", in->baseline_devices, in->baseline_devices == 1 ? "" : "s");
        fprintf(out, " %s %s, the mark of good scaling.\n", m->linearity < EK_LINEARITY_MARK ? "below" : "at least",
                ek__fixed(EK_LINEARITY_MARK, 1).text);
    }
    if (!isnan(m->bubble_share) && m->n_stages > 1)
        fprintf(out, "Bubbles are of %d equal stages, %d chunk%s each, %d micro-batches, without communication.\n",
                m->n_stages, m->n_chunks > 1 ? m->n_chunks : 1, m->n_chunks > 1 ? "s" : "", m->n_micro_batches);
}

ek_status ek__metrics_write_text(const ek_metrics_report *report, FILE *out, ek_error *err)
{
    print_verdict(report, out);
    print_sources(report, out);
    print_predicted(report, out);
    print_figures(report, out);
    print_notes(report, out);
    if (report->metrics->flops.n > 0)
        print_terms(report, out);
    return ek__finish(out, err);
}

ek_status ek__devices_write_text(FILE *out, ek_error *err)
{
    int n;
    const ek_device *device = ek_devices(&n);
    fprintf(out, "%-14s%9s%9s%9s%9s%9s%9s%9s  %s\n", "device", "bf16", "fp16", "fp32", "GiB", "GB/s", "node", "network",
            "source");
    for (int i = 0; i < n; i++) {
        const ek_device *d = &device[i];
        const ek_tier *last = &d->tier[d->n_tiers - 1];
        const double column[] = {d->peak_tflops[EK_BF16],
                                 d->peak_tflops[EK_FP16],
                                 d->peak_tflops[EK_FP32],
                                 d->memory_gib,
                                 d->memory_gbs,
                                 d->tier[0].gbs / d->tier[0].devices_per_card,
                                 last->gbs / last->devices_per_card};
        fprintf(out, "%-14s", d->name);
        for (size_t k = 0; k < sizeof column / sizeof *column; k++)
            fprintf(out, "%9s", column[k] > 0 ? ek__short(column[k]).text : "-");
        fprintf(out, "  %s%s\n", d->certain ? "" : "uncertain: ", d->source);
    }
    fputs("Peaks are dense, TFLOP/s; links are GB/s per direction and device, inside a node and between nodes.\n", out);
    return ek__finish(out, err);
}
