/* A new output format is a file format_NAME.c with its ek_format, one line in FORMATS, one declaration in
 * report_internal.h, one line in src/meson.build and one golden file.
 *
 * Besides that list: the helpers every writer shares. Numbers go through snprintf and then lose whatever decimal mark
 * the host's locale put in, because a picture or a JSON file must not depend on it. */
#include "report/report_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

#define FORMATS(X)                                                                                                     \
    X(text)                                                                                                            \
    X(yaml)                                                                                                            \
    X(json)

#define POINT(id) &ek__format_##id,
const ek_format *const ek_formats[] = {FORMATS(POINT) NULL};

const ek_format *ek_format_find(const char *name)
{
    for (const ek_format *const *f = ek_formats; *f; f++)
        if (strcmp((*f)->name, name) == 0)
            return *f;
    return NULL;
}

/* A locale's decimal mark may be several bytes: everything between the two runs of digits is replaced by a point. */
static void normalise_point(char *text)
{
    char *mark = text + strspn(text, "+-0123456789");
    size_t length = strcspn(mark, "+-0123456789e");
    if (length == 0)
        return;
    *mark = '.';
    memmove(mark + 1, mark + length, strlen(mark + length) + 1);
}

ek__digits ek__fixed(double value, int decimals)
{
    ek__digits out = {"-"};
    if (!isfinite(value))
        return out;
    if (fabs(value) >= 1e15)
        snprintf(out.text, sizeof out.text, "%.6g", value);
    else
        snprintf(out.text, sizeof out.text, "%.*f", decimals, value);
    normalise_point(out.text);
    if (out.text[0] == '-' && strspn(out.text + 1, "0.") == strlen(out.text + 1))
        memmove(out.text, out.text + 1, strlen(out.text));
    return out;
}

ek__digits ek__real(double value)
{
    ek__digits out = {"-"};
    if (!isfinite(value))
        return out;
    snprintf(out.text, sizeof out.text, "%.15g", value);
    normalise_point(out.text);
    return out;
}

/* By hand: large reports print a million of them. */
ek__digits ek__seconds(double seconds)
{
    bool whole = fabs(seconds) >= 1;
    ek__digits text = whole ? ek__fixed(seconds, 3) : ek__fixed(1e3 * seconds, 2);
    size_t used = strlen(text.text);
    snprintf(text.text + used, sizeof text.text - used, whole ? " s" : " ms");
    return text;
}

ek__digits ek__exact_us(int64_t ns)
{
    ek__digits out;
    char reversed[24];
    size_t n = 0, at = 0;
    uint64_t left = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    do {
        if (n == 3)
            reversed[n++] = '.';
        reversed[n++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0 || n < 5);
    if (ns < 0)
        out.text[at++] = '-';
    while (n > 0)
        out.text[at++] = reversed[--n];
    out.text[at] = '\0';
    return out;
}

static void cut_zeros(char *text)
{
    char *point = strchr(text, '.');
    if (!point)
        return;
    char *end = text + strlen(text);
    while (end[-1] == '0')
        end--;
    if (end[-1] == '.')
        end--;
    *end = '\0';
}

ek__digits ek__short(double value)
{
    double size = fabs(value);
    if (!isfinite(value) || value == 0)
        return ek__fixed(value, 0);
    if (size < 1e-6) {
        ek__digits out;
        snprintf(out.text, sizeof out.text, "%.6g", value);
        normalise_point(out.text);
        return out;
    }
    int decimals = 5 - (int)floor(log10(size));
    ek__digits out = ek__fixed(value, decimals > 0 ? decimals : 0);
    cut_zeros(out.text);
    return out;
}

ek__digits ek__grouped(double value)
{
    ek__digits plain = ek__fixed(value, 0), out;
    size_t length = strlen(plain.text), n = 0;
    if (strchr(plain.text, 'e'))
        return plain;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && plain.text[i - 1] != '-' && (length - i) % 3 == 0)
            out.text[n++] = ' ';
        out.text[n++] = plain.text[i];
    }
    out.text[n] = '\0';
    return out;
}

ek__digits ek__memory(const ek_report *report, double value)
{
    /* Fractions of chunks add up with rounding; what is below a millionth is that. */
    ek__digits number = report->memory_unit ? ek__short(round(value * 1e6) / 1e6) : ek__grouped(value), out;
    snprintf(out.text, sizeof out.text, "%.24s %.20s", number.text, report->memory_unit ? report->memory_unit : "MB");
    return out;
}

void ek__utf8_print(uint32_t code, FILE *out)
{
    char bytes[4];
    int n = ek__utf8_put(code, bytes);
    fwrite(bytes, 1, (size_t)n, out);
}

/* By blocks of Unicode's East Asian Width, not by single characters. */
int ek__width(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        int width;
    } blocks[] = {
        {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x200B, 0x200F, 0},   {0x2E80, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},
        {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
        {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (code >= blocks[i].first && code <= blocks[i].last)
            return blocks[i].width;
    return 1;
}

int ek__columns(const char *text)
{
    int columns = 0, length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length)
        columns += ek__width(code);
    return columns;
}

void ek__print_name(const char *text, FILE *out)
{
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
        ek__utf8_print(control ? '?' : code, out);
    }
}

void ek__print_csv(const char *text, FILE *out)
{
    bool quote = strpbrk(text, ",\"\r\n") != NULL;
    if (quote)
        fputc('"', out);
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        if (code == '"')
            fputc('"', out);
        ek__utf8_print(code, out);
    }
    if (quote)
        fputc('"', out);
}

double ek__stage_limit(const ek_report *report, int stage)
{
    return report->stage_memory_mb ? report->stage_memory_mb[stage] : report->memory_limit_mb;
}

bool ek__over_limit(const ek_report *report, const ek_timeline *timeline, int stage)
{
    double limit = ek__stage_limit(report, stage);
    /* A peak is a sum of a few hundred terms; one part in 10^9 is rounding, not memory. */
    return limit > 0 && timeline->peak_mb[stage] > limit * (1 + 1e-9);
}

int ek__tightest_stage(const ek_report *report, const ek_timeline *timeline)
{
    int stage = 0;
    if (!report->stage_memory_mb) {
        ek_timeline_peak(timeline, &stage);
        return stage;
    }
    for (int s = 1; s < timeline->shape.n_stages; s++)
        if (report->stage_memory_mb[s] - timeline->peak_mb[s] <
            report->stage_memory_mb[stage] - timeline->peak_mb[stage])
            stage = s;
    return stage;
}

bool ek__any_over_limit(const ek_report *report, const ek_timeline *timeline)
{
    for (int s = 0; s < timeline->shape.n_stages; s++)
        if (ek__over_limit(report, timeline, s))
            return true;
    return false;
}

void ek__print_repeats(const double *value, int n, FILE *out)
{
    for (int i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && value[i + same] == value[i];)
            same++;
        fprintf(out, "%s%s", i ? ", " : "", ek__short(value[i]).text);
        if (same > 1)
            fprintf(out, "x%d", same);
    }
}

int ek__shape_pieces(const ek_shape *shape)
{
    return shape->n_pieces > 1 ? shape->n_pieces : 1;
}

int ek__micro_batches(const ek_shape *shape)
{
    return shape->n_micro_batches / ek__shape_pieces(shape);
}

ek__digits ek__micro_batch(const ek_shape *shape, uint32_t micro_batch)
{
    ek__digits digits;
    uint32_t k = (uint32_t)ek__shape_pieces(shape);
    if (k == 1)
        snprintf(digits.text, sizeof digits.text, "%" PRIu32, micro_batch);
    else
        snprintf(digits.text, sizeof digits.text, "%" PRIu32 ".%" PRIu32, micro_batch / k, micro_batch % k);
    return digits;
}

bool ek__less_memory(const ek_timeline *timeline)
{
    int v = timeline->shape.n_chunks;
    return v > 1 && timeline->schedule == ek_schedule_default(v, 1);
}

static int list_entry(const ek_plan *plan, int n_layers, int list, int chunk, int stage)
{
    int at = chunk * plan->n_stages + stage;
    switch (list) {
    case 0:
        return ek_plan_offset(plan, n_layers, chunk, stage);
    case 1:
        return plan->full[at];
    case 2:
        return plan->select[at];
    default:
        return plan->comm[at];
    }
}

void ek__print_lists(const ek_plan *plan, int n_layers, const char *indent, FILE *out)
{
    static const char *const name[] = {"offset", "recompute", "select_recompute", "select_comm_recompute"};
    for (int list = 0; list < 4; list++) {
        fprintf(out, "%s%s: [", indent, name[list]);
        for (int i = 0; i < plan->n_chunks; i++) {
            fputs(i ? ", [" : "[", out);
            for (int s = 0; s < plan->n_stages; s++)
                fprintf(out, "%s%d", s ? ", " : "", list_entry(plan, n_layers, list, i, s));
            fputc(']', out);
        }
        fputs("]\n", out);
    }
}

const char *ek__status_basis(ek_balance_status status)
{
    switch (status) {
    case EK_BALANCE_OPTIMAL:
        return "proved: no plan within the limit has a shorter simulated step";
    case EK_BALANCE_FEASIBLE:
        return "the search ended by its own criterion; a better plan may exist";
    case EK_BALANCE_TIME_LIMIT:
        return "the time limit or an interrupt ended the search; the best plan so far";
    case EK_BALANCE_INFEASIBLE:
        break;
    }
    return NULL;
}

ek_status ek__finish(FILE *out, ek_error *err)
{
    bool failed = fflush(out) != 0;
    if (failed || ferror(out))
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE,
                        "the output could not be written: is the disk full, or was the pipe closed?");
    return EK_OK;
}
