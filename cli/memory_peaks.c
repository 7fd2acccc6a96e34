/* Measured peaks for `evenkeel memory --calibrate`: from the logs that `evenkeel collect` finds, or from a list of
 * stages and MB. Which of the two a file is shows its first line that says something: a list begins with a stage's
 * number or with a heading that has the word "stage". */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "options.h"

enum { MAX_LINE = 1024, MAX_CELLS = 64 };

/* ---- standard input ---- */

bool cli_spool_stdin(cli_spool *spool)
{
    const char *folder = getenv("TMPDIR");
    char buffer[65536];
    snprintf(spool->path, sizeof spool->path, "%.4000s/evenkeel-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(spool->path);
    FILE *out = file < 0 ? NULL : fdopen(file, "wb");
    if (!out) {
        cli_error(NULL, "cannot keep standard input in '%s': %s; set TMPDIR to a folder that can be written",
                  spool->path, strerror(errno));
        spool->path[0] = '\0';
        return false;
    }
    bool fine = true;
    for (size_t n; fine && (n = fread(buffer, 1, sizeof buffer, stdin)) > 0;)
        fine = fwrite(buffer, 1, n, out) == n;
    fine = fclose(out) == 0 && fine && !ferror(stdin);
    if (!fine) {
        cli_error(NULL, "cannot read standard input, or keep it in '%s'", spool->path);
        cli_spool_remove(spool);
    }
    return fine;
}

void cli_spool_remove(cli_spool *spool)
{
    if (spool->path[0])
        unlink(spool->path);
    spool->path[0] = '\0';
}

void cli_spool_rename(const cli_spool *spool, ek_error *err)
{
    if (spool->path[0] && strcmp(err->file, spool->path) == 0)
        snprintf(err->file, sizeof err->file, "<stdin>");
}

/* ---- amounts ---- */

/* A number of MB with an optional unit; NAN when it is none. */
static double amount(const char *text)
{
    static const struct {
        const char *unit;
        double mb;
    } units[] = {{"", 1}, {"M", 1}, {"MB", 1}, {"MiB", 1}, {"G", 1024}, {"GB", 1024}, {"GiB", 1024}};
    char *end;
    double value = strtod(text, &end);
    size_t digits = (size_t)(end - text);
    if (digits == 0 || strspn(text, "0123456789+-.eE") < digits)
        return NAN;
    end += strspn(end, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(end, units[i].unit) == 0)
            return value * units[i].mb;
    return NAN;
}

bool cli_memory_mb(const char *option, const char *text, double *mb)
{
    double value = amount(text);
    if (!(value >= 1 && value <= 1e9)) {
        cli_error(NULL, "%s must be MB of a device, at least 1, or have a unit, as 59392 or 58GB (got '%s')", option,
                  text);
        return false;
    }
    if (value < 1024 && strspn(text, "0123456789.") == strlen(text))
        cli_note("%s %s is taken as MB; write %sGB for gigabytes", option, text, text);
    *mb = value;
    return true;
}

/* ---- growing ---- */

static bool add_peak(cli_peaks *peaks, int stage, double mb, int line)
{
    for (int i = 0; i < peaks->n; i++)
        if (peaks->peak[i].stage == stage) {
            ek_error err = {.line = line, .column = 1};
            snprintf(err.file, sizeof err.file, "%s", peaks->name);
            cli_error(&err, "stage %d has two peaks; leave one out", stage);
            return false;
        }
    ek_memory_peak *peak = realloc(peaks->peak, ((size_t)peaks->n + 1) * sizeof *peak);
    if (peak)
        peaks->peak = peak;
    bool *fitted = realloc(peaks->fitted, ((size_t)peaks->n + 1) * sizeof *fitted);
    if (fitted)
        peaks->fitted = fitted;
    if (!peak || !fitted) {
        cli_error(NULL, "out of memory");
        return false;
    }
    peak[peaks->n] = (ek_memory_peak){stage, mb, {peaks->name, line, line > 0 ? 1 : 0}};
    fitted[peaks->n++] = true;
    return true;
}

void cli_peaks_clear(cli_peaks *peaks)
{
    free(peaks->name);
    free(peaks->peak);
    free(peaks->fitted);
    *peaks = (cli_peaks){0};
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

static bool says_nothing(const char *line)
{
    const char *text = line + strspn(line, " \t\r\n");
    return *text == '\0' || *text == '#';
}

typedef struct columns {
    int stage, mb;
} columns;

/* Is a line the heading of a list? Where are its columns? */
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
        if (strcasecmp(cell[i], "stage") == 0 || strcasecmp(cell[i], "stage_id") == 0)
            out->stage = i;
    for (size_t k = 0; k < sizeof names / sizeof *names && out->mb < 0; k++)
        for (int i = 0; i < n; i++)
            if (strcasecmp(cell[i], names[k]) == 0)
                out->mb = i;
    const char *other = actual ? "used" : "actual"; /* the column of which would be the wrong one */
    if (out->mb < 0 && n == 2 && out->stage >= 0 && strncasecmp(cell[1 - out->stage], other, strlen(other)) != 0)
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
    bool list = false;
    while (in && fgets(line, sizeof line, in)) {
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

/* One line of a list. False after a message. */
static bool take_line(cli_peaks *peaks, char *const *cell, int n, columns at, int line)
{
    ek_error err = {.line = line, .column = 1};
    snprintf(err.file, sizeof err.file, "%s", peaks->name);
    if (n <= at.stage || n <= at.mb || !is_number(cell[at.stage]) || strlen(cell[at.stage]) > 5) {
        cli_error(&err, "expected a stage from 0 and its peak in MB, as `3,48874`");
        return false;
    }
    double mb = amount(cell[at.mb]);
    if (!(mb >= 1 && mb <= 1e9)) {
        cli_error(&err, "the peak '%s' is no amount of memory; write MB, or a unit behind it, as 48874 or 47.7GB",
                  cell[at.mb]);
        return false;
    }
    return add_peak(peaks, atoi(cell[at.stage]), mb, line);
}

static bool read_list(const char *path, bool actual, cli_peaks *peaks)
{
    char line[MAX_LINE], *cell[MAX_CELLS];
    columns at = {0, 1};
    bool fine = true, begun = false;
    FILE *in = fopen(path, "r");
    if (!in) {
        cli_error(NULL, "cannot read '%s': %s", peaks->name, strerror(errno));
        return false;
    }
    for (int number = 1; fine && fgets(line, sizeof line, in); number++) {
        if (says_nothing(line))
            continue;
        int n = cut(line, cell);
        columns heading;
        if (begun || !read_heading(cell, n, actual, &heading))
            fine = take_line(peaks, cell, n, at, number);
        else if (heading.mb >= 0)
            at = heading;
        else {
            cli_error(NULL, "'%s' has no column of %s peaks; call it %s", peaks->name, actual ? "actual" : "used",
                      actual ? "actual_mb" : "used_mb");
            fine = false;
        }
        begun = true;
    }
    fclose(in);
    return fine;
}

/* ---- logs ---- */

static bool read_logs(const char *path, bool actual, cli_peaks *peaks)
{
    ek_collection logs;
    ek_error err;
    if (ek_collection_read(&path, 1, 0, &cli_listener, &logs, &err)) {
        if (strcmp(err.file, path) == 0)
            snprintf(err.file, sizeof err.file, "%s", peaks->name);
        cli_error(&err, "%s", err.message);
        return false;
    }
    bool fine = true;
    int without = 0;
    for (int i = 0; i < logs.round[0].n && fine; i++) {
        const ek_stage_log *log = &logs.round[0].stage[i];
        double mb = ek_stage_log_peak(log, actual ? EK_PEAK_ACTUAL : EK_PEAK_USED);
        without += isnan(mb);
        if (!isnan(mb))
            fine = add_peak(peaks, log->stage, mb, 0);
    }
    ek_collection_clear(&logs);
    if (fine && without > 0)
        cli_note("%d log%s of '%s' without the %s peak %s left out", without, without == 1 ? "" : "s", peaks->name,
                 actual ? "actual" : "used", without == 1 ? "is" : "are");
    return fine;
}

/* ---- which are fitted ---- */

/* "0,3-5" -> chosen[]. False after a message. */
static bool choose(const char *list, int n_stages, bool chosen[EK_MAX_STAGES])
{
    for (const char *at = list; *at;) {
        char *end;
        long first = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1, last = first;
        if (first >= 0 && *end == '-')
            last = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        if (first < 0 || last < first || (*end && *end != ',') || (*end == ',' && !end[1])) {
            cli_error(NULL, "--calibrate-stages must be stages from 0, as 0,3-5,15 (got '%s')", list);
            return false;
        }
        if (last >= n_stages) {
            cli_error(NULL, "--calibrate-stages names stage %ld, but the job has %d stage%s, 0 to %d", last, n_stages,
                      n_stages == 1 ? "" : "s", n_stages - 1);
            return false;
        }
        for (long s = first; s <= last; s++)
            chosen[s] = true;
        at = end + (*end == ',');
    }
    return true;
}

static bool mark_fitted(cli_peaks *peaks, const char *list, int n_stages)
{
    bool chosen[EK_MAX_STAGES] = {false};
    if (!choose(list, n_stages, chosen))
        return false;
    peaks->n_fitted = 0;
    for (int i = 0; i < peaks->n; i++) {
        peaks->fitted[i] = chosen[peaks->peak[i].stage];
        peaks->n_fitted += peaks->fitted[i];
        chosen[peaks->peak[i].stage] = false;
    }
    for (int s = 0; s < n_stages; s++)
        if (chosen[s]) {
            cli_error(NULL, "--calibrate-stages names stage %d, of which '%s' has no peak", s, peaks->name);
            return false;
        }
    if (peaks->n_fitted == 0)
        cli_error(NULL, "--calibrate-stages names no stage; give some, as 0,3-5");
    return peaks->n_fitted > 0;
}

static bool check_peaks(const cli_peaks *peaks, int n_stages)
{
    for (int i = 0; i < peaks->n; i++) {
        const ek_memory_peak *peak = &peaks->peak[i];
        ek_error err = {.line = peak->origin.line, .column = peak->origin.column};
        snprintf(err.file, sizeof err.file, "%s", peaks->name);
        if (peak->stage < n_stages)
            continue;
        cli_error(
            &err,
            "a peak of stage %d, but the job has %d stage%s, 0 to %d: are these peaks of another run? --pp sets the "
            "stages of the job",
            peak->stage, n_stages, n_stages == 1 ? "" : "s", n_stages - 1);
        return false;
    }
    if (peaks->n == 0)
        cli_error(NULL, "'%s' has no peaks to calibrate with", peaks->name);
    return peaks->n > 0;
}

bool cli_peaks_read(const char *source, const char *stages, int n_stages, bool actual, cli_peaks *out)
{
    cli_spool spool = {{0}};
    cli_peaks peaks = {.name = strdup(strcmp(source, "-") == 0 ? "<stdin>" : source)};
    if (!peaks.name) {
        cli_error(NULL, "out of memory");
        return false;
    }
    bool fine = strcmp(source, "-") != 0 || cli_spool_stdin(&spool);
    const char *path = spool.path[0] ? spool.path : source;
    if (fine)
        fine = is_list(path, actual) ? read_list(path, actual, &peaks) : read_logs(path, actual, &peaks);
    cli_spool_remove(&spool);
    peaks.n_fitted = peaks.n;
    fine = fine && check_peaks(&peaks, n_stages) && (!stages || mark_fitted(&peaks, stages, n_stages));
    if (fine)
        *out = peaks;
    else
        cli_peaks_clear(&peaks);
    return fine;
}
