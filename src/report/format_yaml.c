/* Writes a plan file that ek_strategies_read() reads back: the original's manual format, one named strategy per case,
 * with the micro-batches and the schedule's memory variant of the figures. Comments give the basis of the numbers. */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/cases.h"
#include "evenkeel/strategies.h"
#include "report/report_internal.h"
#include "report/writers.h"

/* Words that YAML 1.1 reads as something other than a string. */
static bool is_reserved(const char *word)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ek__strcasecmp(word, words[i]) == 0)
            return true;
    return false;
}

static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    return text[0] && strchr(letters, text[0]) && strspn(text, rest) == strlen(text) && !is_reserved(text);
}

static void quoted(const char *text, FILE *out)
{
    int length;
    fputc('"', out);
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        if (code == '"' || code == '\\')
            fprintf(out, "\\%c", (int)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || code == 0xfeff)
            fprintf(out, "\\u%04x", (unsigned)code);
        else
            ek__utf8_print(code, out);
    }
    fputc('"', out);
}

/* Two strategies of one name would be a repeated key: the later ones get a number, and the name is shortened to fit
 * it. */
static void unique_name(const ek_report *report, int index, char name[EK_NAME_SIZE])
{
    const char *own = report->cases[index].name;
    char suffix[16] = "";
    int same = 1, length;
    for (int i = 0; i < index; i++)
        same += strcmp(report->cases[i].name, own) == 0;
    if (same > 1)
        snprintf(suffix, sizeof suffix, "_%d", same);
    size_t n = 0, room = EK_NAME_SIZE - 1 - strlen(suffix);
    for (uint32_t code; (length = ek__utf8_next(own + n, &code)) && n + (size_t)length <= room;)
        n += (size_t)length;
    memcpy(name, own, n);
    memcpy(name + n, suffix, strlen(suffix) + 1);
}

static void write_case(const ek_report *report, int index, FILE *out)
{
    const ek_case *c = &report->cases[index];
    const ek_timeline *timeline = c->timeline;
    char name[EK_NAME_SIZE], picture[EK_NAME_SIZE + 8];
    int stage;
    double peak = ek_timeline_peak(timeline, &stage);
    unique_name(report, index, name);
    snprintf(picture, sizeof picture, "%s.svg", name);
    for (char *p = picture; *p; p++)
        if (*p == '/' || *p == '\\')
            *p = '_';

    fprintf(out, "\n# step time %s, in the unit of the given times, simulated with the schedule %s\n",
            ek__short(timeline->step_time).text, timeline->schedule->name);
    if (report->train_file) {
        fprintf(out, "# sequence pieces %d, for -seq; model of a piece by ", ek__shape_pieces(&timeline->shape));
        ek__print_name(report->train_file, out);
        fputs(", for -train\n", out);
    }
    if (report->search && index == 0)
        fprintf(out, "# status %s: %s\n", ek_balance_status_name[report->search->status],
                ek__status_basis(report->search->status));
    if (report->search && report->search->lower_bound > 0 && !report->search->proved_optimal)
        fprintf(out, "# lower bound %s (proved): within %s %%\n", ek__short(report->search->lower_bound).text,
                ek__fixed(100 * report->search->gap, 2).text);
    fprintf(out, "# peak %s MB at stage %d", ek__fixed(peak, 0).text, stage);
    int tightest = ek__tightest_stage(report, timeline);
    if (report->memory_limit_mb > 0)
        fprintf(out, ", %s the limit of %s MB", ek__over_limit(report, timeline, tightest) ? "over" : "within",
                ek__fixed(ek__stage_limit(report, tightest), 0).text);
    if (report->stage_memory_mb)
        fprintf(out, " of stage %d, the tightest", tightest);
    fputc('\n', out);
    if (is_plain(name))
        fputs(name, out);
    else
        quoted(name, out);
    fputs(":\n", out);
    ek__print_lists(c->plan, report->layers->n_layers, "  ", out);
    fprintf(out, "  interleave_num: %d\n  micro_batch_num: %d\n  less_memory: %s\n  show: true\n  file_name: ",
            timeline->shape.n_chunks, ek__micro_batches(&timeline->shape),
            ek__less_memory(timeline) ? "true" : "false");
    quoted(picture, out);
    fputc('\n', out);
}

ek_status ek__balance_write_yaml(const ek_report *report, FILE *out, ek_error *err)
{
    fputs("# Plan file of Evenkeel; `simulate` and `balance -manual` read it back.\n# model ", out);
    ek__print_name(report->layers->name, out);
    fputc('\n', out);
    if (report->search && report->search->status == EK_BALANCE_INFEASIBLE) {
        fputs("# status infeasible: no plan keeps every stage within ", out);
        if (report->stage_memory_mb)
            fputs("its limit\n", out);
        else
            fprintf(out, "%s MB\n", ek__fixed(report->memory_limit_mb, 0).text);
        if (isfinite(report->search->smallest_limit_mb))
            fprintf(out, "# the smallest limit %s fits is %s MB; stage %d is the bottleneck\n",
                    report->search->smallest_limit_exact ? "that" : "found that",
                    ek__fixed(ceil(report->search->smallest_limit_mb), 0).text, report->search->bottleneck_stage);
    }
    for (int i = 0; i < report->n_cases; i++)
        write_case(report, i, out);
    return ek__finish(out, err);
}
