/* Reads measured peaks of stages: from the logs that ek_collection_read() finds, or from a list of stages and MB. The
 * kind is decided by the first line with content: a list begins with a stage's number or with a heading that has the
 * word "stage". */
#include "evenkeel/collect.h"
#include "evenkeel/measured_peaks.h"
#include "evenkeel/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/error.h"

enum { MAX_LINE = 1024, MAX_CELLS = 64 };

double ek_memory_amount_mb(const char *text)
{
    static const struct {
        const char *unit;
        double mb;
    } units[] = {{"", 1}, {"M", 1}, {"MB", 1}, {"MiB", 1}, {"G", 1024}, {"GB", 1024}, {"GiB", 1024}};
    char *end;
    double value = ek__strtod(text, &end);
    size_t digits = (size_t)(end - text);
    if (digits == 0 || strspn(text, "0123456789+-.eE") < digits)
        return NAN;
    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ek__strcasecmp(end, units[i].unit) == 0)
            return value * units[i].mb;
    return NAN;
}

/* ---- growing ---- */

static ek_status add_peak(ek_measured_peaks *peaks, int stage, double mb, int line, ek_error *err)
{
    for (int i = 0; i < peaks->n; i++)
        if (peaks->peak[i].stage == stage)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){peaks->name, line, 1}),
                            "stage %d has two peaks; leave one out", stage);
    ek_memory_peak *peak = realloc(peaks->peak, ((size_t)peaks->n + 1) * sizeof *peak);
    if (peak)
        peaks->peak = peak;
    bool *fitted = realloc(peaks->fitted, ((size_t)peaks->n + 1) * sizeof *fitted);
    if (fitted)
        peaks->fitted = fitted;
    if (!peak || !fitted)
        return ek__no_memory(err);
    peak[peaks->n] = (ek_memory_peak){stage, mb, {peaks->name, line, line > 0 ? 1 : 0}};
    fitted[peaks->n++] = true;
    return EK_OK;
}

void ek_measured_peaks_clear(ek_measured_peaks *peaks)
{
    free(peaks->name);
    free(peaks->peak);
    free(peaks->fitted);
    *peaks = (ek_measured_peaks){0};
}

/* ---- a list ---- */

/* Cells of a line, in place. @return how many */
static int cut(char *line, char *cell[MAX_CELLS])
{
    static const char *const separators[] = {",", ";", "\t"};
    const char *separator = " ";
    int n = 0;
    for (int i = 2; i >= 0; i--)
        if (strchr(line, separators[i][0]))
            separator = separators[i];
    for (char *at = line; at && n < MAX_CELLS;) {
        char *end = strpbrk(at, separator);
        if (end)
            *end++ = '\0';
        at += strspn(at, " \"");
        size_t length = strlen(at);
        while (length > 0 && strchr(" \"\r\n", at[length - 1]))
            at[--length] = '\0';
        if (length > 0 || *separator != ' ')
            cell[n++] = at;
        at = end;
    }
    return n;
}

/* The next line. The part that does not fit is skipped, and *is_long is set. */
static bool next_line(FILE *in, char line[MAX_LINE], bool *is_long)
{
    if (!fgets(line, MAX_LINE, in))
        return false;
    int byte = strchr(line, '\n') ? '\n' : getc(in);
    *is_long = byte != '\n' && byte != EOF;
    while (byte != '\n' && byte != EOF)
        byte = getc(in);
    return true;
}

static bool says_nothing(const char *line)
{
    const char *text = line + strspn(line, " \t\r\n");
    return *text == '\0' || *text == '#';
}

typedef struct columns {
    int stage, mb;
} columns;

/* Is a line the heading of a list? Finds its columns. */
static bool read_heading(char *const *cell, int n, bool actual, columns *out)
{
    const char *const names[] = {actual ? "actual_peak_mb" : "used_peak_mb",
                                 actual ? "actual_mb" : "used_mb",
                                 actual ? "actual" : "used",
                                 "peak_mb",
                                 "mb",
                                 "memory",
                                 "peak"};
    *out = (columns){-1, -1};
    for (int i = 0; i < n; i++)
        if (ek__strcasecmp(cell[i], "stage") == 0 || ek__strcasecmp(cell[i], "stage_id") == 0)
            out->stage = i;
    for (size_t k = 0; k < sizeof names / sizeof *names && out->mb < 0; k++)
        for (int i = 0; i < n; i++)
            if (ek__strcasecmp(cell[i], names[k]) == 0)
                out->mb = i;
    const char *other = actual ? "used" : "actual"; /* its column would be wrong */
    if (out->mb < 0 && n == 2 && out->stage >= 0 && ek__strncasecmp(cell[1 - out->stage], other, strlen(other)) != 0)
        out->mb = 1 - out->stage;
    return out->stage >= 0;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* Is the file a list? */
static bool is_list(const char *path, bool actual)
{
    char line[MAX_LINE], *cell[MAX_CELLS];
    struct stat info;
    columns found;
    FILE *in = stat(path, &info) == 0 && !S_ISDIR(info.st_mode) ? fopen(path, "r") : NULL;
    bool list = false, is_long;
    while (in && next_line(in, line, &is_long)) {
        if (says_nothing(line))
            continue;
        int n = cut(line, cell);
        list = read_heading(cell, n, actual, &found) || (n > 0 && is_number(cell[0]));
        break;
    }
    if (in)
        fclose(in);
    return list;
}

/* One line of a list. */
static ek_status read_line(ek_measured_peaks *peaks, char *const *cell, int n, columns at, int line, ek_error *err)
{
    const ek_origin origin = {peaks->name, line, 1};
    if (n <= at.stage || n <= at.mb || !is_number(cell[at.stage]) || strlen(cell[at.stage]) > 5)
        return ek__fail(err, EK_ERR_INPUT, origin, "expected a stage from 0 and its peak in MB, as `3,48874`");
    double mb = ek_memory_amount_mb(cell[at.mb]);
    if (!(mb >= 1 && mb <= 1e9))
        return ek__fail(err, EK_ERR_INPUT, origin,
                        "the peak '%s' is no amount of memory; write MB, or a unit after it, as 48874 or 47.7GB",
                        cell[at.mb]);
    return add_peak(peaks, atoi(cell[at.stage]), mb, line, err);
}

static ek_status read_list(const char *path, bool actual, ek_measured_peaks *peaks, ek_error *err)
{
    char line[MAX_LINE], *cell[MAX_CELLS];
    columns at = {0, 1};
    bool begun = false, is_long;
    ek_status status = EK_OK;
    FILE *in = fopen(path, "r");
    if (!in)
        return ek__fail(err, ek__system_status(), EK__NOWHERE, "cannot read '%s': %s", peaks->name, strerror(errno));
    for (int number = 1; status == EK_OK && next_line(in, line, &is_long); number++) {
        if (says_nothing(line))
            continue;
        if (is_long) {
            status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){peaks->name, number, 1}),
                              "the line is longer than %d bytes; a list has a stage and its peak on each line",
                              MAX_LINE - 1);
            break;
        }
        int n = cut(line, cell);
        columns heading;
        if (begun || !read_heading(cell, n, actual, &heading))
            status = read_line(peaks, cell, n, at, number, err);
        else if (heading.mb >= 0)
            at = heading;
        else
            status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' has no column of %s peaks; call it %s", peaks->name,
                              actual ? "actual" : "used", actual ? "actual_mb" : "used_mb");
        begun = true;
    }
    fclose(in);
    return status;
}

/* ---- logs ---- */

static ek_status read_logs(const char *path, bool actual, const ek_listener *warnings, const ek_listener *notes,
                           ek_measured_peaks *peaks, ek_error *err)
{
    ek_collection logs;
    ek_error own = {.file = ""};
    ek_error *why = err ? err : &own;
    ek_status status = ek_collection_read(&path, 1, 0, warnings, &logs, why);
    if (status) {
        if (strcmp(why->file, path) == 0)
            snprintf(why->file, sizeof why->file, "%s", peaks->name);
        return status;
    }
    int without = 0;
    for (int i = 0; i < logs.round[0].n && status == EK_OK; i++) {
        const ek_stage_log *log = &logs.round[0].stage[i];
        double mb = ek_stage_log_peak(log, actual ? EK_PEAK_ACTUAL : EK_PEAK_USED);
        without += isnan(mb);
        if (!isnan(mb))
            status = add_peak(peaks, log->stage, mb, 0, err);
    }
    ek_collection_clear(&logs);
    if (status == EK_OK && without > 0)
        ek__warn(notes, EK__NOWHERE, "%d log%s of '%s' without the %s peak %s left out", without,
                 without == 1 ? "" : "s", peaks->name, actual ? "actual" : "used", without == 1 ? "is" : "are");
    return status;
}

static ek_status check(const ek_measured_peaks *peaks, int n_stages, ek_error *err)
{
    for (int i = 0; i < peaks->n; i++) {
        const ek_memory_peak *peak = &peaks->peak[i];
        if (peak->stage >= n_stages)
            return ek__fail(
                err, EK_ERR_INPUT, peak->origin,
                "a peak of stage %d, but the job has %d stage%s, 0 to %d: are these peaks of another run? --pp sets "
                "the stages of the job",
                peak->stage, n_stages, n_stages == 1 ? "" : "s", n_stages - 1);
    }
    if (peaks->n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' has no peaks to calibrate with", peaks->name);
    return EK_OK;
}

ek_status ek_measured_peaks_read(const char *path, const char *name, int n_stages, bool actual,
                                 const ek_listener *warnings, const ek_listener *notes, ek_measured_peaks *out,
                                 ek_error *err)
{
    ek_measured_peaks peaks = {.name = strdup(name ? name : path)};
    if (!peaks.name)
        return ek__no_memory(err);
    ek_status status = is_list(path, actual) ? read_list(path, actual, &peaks, err)
                                             : read_logs(path, actual, warnings, notes, &peaks, err);
    peaks.n_fitted = peaks.n;
    if (status == EK_OK)
        status = check(&peaks, n_stages, err);
    if (status == EK_OK)
        *out = peaks;
    else
        ek_measured_peaks_clear(&peaks);
    return status;
}
