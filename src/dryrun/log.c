/* Reads the log of a dry run for the peaks that the framework prints last. A first pass searches only for the memory
 * lines, which have long needles and so are found quickly; only a log without them is searched for errors, from longer
 * and longer parts of its end. A log may contain several runs in sequence: their lines are separated by their order,
 * and the last run with a peak counts. Times, warnings and everything else in a log are not read. */
#include "dryrun/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "base/error.h"
#include "layers/layers.h"

enum {
    MAX_NOTE = 64,          /* bytes in the parentheses of a memory line */
    MAX_SHOWN = 32,         /* of a wrong value */
    LEAD = 80,              /* bytes shown before an error deep in its line */
    FIRST_SPAN = 1 << 20,   /* bytes of the end that are searched for errors at first */
    SECOND_SPAN = 32 << 20, /* then, before all */
};

static const char *const memory_text[] = {"Device MOC memory size", "Device HBM memory size",
                                          "MindSpore Used memory size", "Used peak memory usage",
                                          "Actual peak memory usage"};
static const ek__memory_kind memory_kind[] = {EK__DEVICE, EK__DEVICE, EK__FRAMEWORK, EK__USED, EK__ACTUAL};
enum { N_MEMORY_TEXTS = sizeof memory_text / sizeof *memory_text };

static const char *const error_text[] = {"ERROR",        "CRITICAL",      "Traceback",     "Error:", "Exception",
                                         "RuntimeError", "out of memory", "Out of memory", "Killed"};
enum { N_ERROR_TEXTS = sizeof error_text / sizeof *error_text };

/* ---- one line ---- */

static const unsigned char *skip_blanks(const unsigned char *s, const unsigned char *end)
{
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    return s;
}

/* Skip "(with fragments)"; NULL when the parenthesis does not end. */
static const unsigned char *skip_note(const unsigned char *s, const unsigned char *end)
{
    if (s == end || *s != '(')
        return s;
    size_t room = end - s < MAX_NOTE ? (size_t)(end - s) : MAX_NOTE;
    const unsigned char *close = memchr(s, ')', room);
    return close ? skip_blanks(close + 1, end) : NULL;
}

/* MB of a value in a unit; 0 when the unit is unknown. */
static double unit_mb(const unsigned char *unit, size_t n)
{
    static const struct {
        const char *name;
        double mb;
    } units[] = {{"M", 1}, {"MB", 1}, {"MiB", 1}, {"G", 1024}, {"GB", 1024}, {"GiB", 1024}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && memcmp(unit, units[i].name, n) == 0)
            return units[i].mb;
    return 0;
}

static void wrong(ek__memory_line *out, const unsigned char *text, size_t n, const char *what)
{
    static const char advice[] = "expected the peak with its unit M, MB, G or GB, as '48874M'; correct it, or run the "
                                 "stage again";
    char shown[MAX_SHOWN + 1];
    size_t length = 0;
    out->mb = NAN;
    for (; length < n && length < MAX_SHOWN; length++)
        shown[length] = (char)(text[length] >= 0x20 && text[length] < 0x7f ? text[length] : '?');
    shown[length] = '\0';
    snprintf(out->wrong, sizeof out->wrong, "the peak '%s' %s; %s", shown, what, advice);
}

/* Digits, a fraction and a unit from `s`, after the colon. @return false when the end is cut off. */
static bool read_value(const ek__hit *hit, const unsigned char *s, ek__memory_line *out)
{
    const unsigned char *begin = s, *end = hit->end;
    char digits[32];
    size_t n = 0;
    bool negative = s < end && *s == '-';
    s += s < end && (*s == '-' || *s == '+');
    for (; s < end && (isdigit(*s) || *s == '.') && n + 1 < sizeof digits; s++)
        digits[n++] = (char)*s;
    digits[n] = '\0';
    const unsigned char *unit = skip_blanks(s, end), *word = unit;
    while (word < end && ek__is_alnum(*word))
        word++;
    /* The part that was cut off may have been the unit, or a part of it; "M" may have been complete. */
    double mb = unit_mb(unit, (size_t)(word - unit)), number;
    if (word == end && hit->cut && mb == 0)
        return false;
    size_t length = (size_t)(word - begin);
    while (begin + length < end && !ek__is_space(begin[length]))
        length++;
    if (length == 0)
        wrong(out, begin, 0, "is empty");
    else if (n == 0 || !ek__text_is_number(digits, &number))
        wrong(out, begin, length, "is no number");
    else if (word == unit)
        wrong(out, begin, length, "has no unit");
    else if (mb == 0)
        wrong(out, begin, length, "has an unknown unit");
    else if (negative)
        wrong(out, begin, length, "is negative");
    else if (out->kind >= EK__USED && number * mb < 1)
        wrong(out, begin, length, "is less than 1 MB: nothing was simulated (is MS_SIMULATION_LEVEL at least 1?)");
    else if (number * mb > EK__MAX_MEMORY_MB)
        wrong(out, begin, length, "is beyond any device");
    else
        out->mb = number * mb;
    return true;
}

void ek__memory_needles(ek__needles *set)
{
    ek__needles_init(set, memory_text, N_MEMORY_TEXTS);
}

bool ek__memory_line_read(const ek__hit *hit, ek__memory_line *out)
{
    const unsigned char *s = skip_blanks(hit->at + strlen(memory_text[hit->needle]), hit->end);
    *out = (ek__memory_line){.kind = memory_kind[hit->needle], .line = hit->line};
    out->bare = out->kind == EK__ACTUAL && (s == hit->end || *s != '(');
    s = skip_note(s, hit->end);
    if (!s || s == hit->end || *s != ':')
        return false;
    s = skip_blanks(s + 1, hit->end);
    out->column = hit->column + (int)(s - hit->at);
    return read_value(hit, s, out) && (out->kind >= EK__USED || !out->wrong[0]);
}

/* ---- the last block ---- */

static bool has_peak(const ek__peak_block *block)
{
    return block->has[EK__USED] || block->has[EK__ACTUAL];
}

static void add_line(ek__fold *fold, const ek__memory_line *line)
{
    bool next_run = fold->next.has[line->kind] || (line->kind < EK__USED && has_peak(&fold->next));
    if (next_run)
        fold->next = (ek__peak_block){0};
    fold->next.at[line->kind] = *line;
    fold->next.has[line->kind] = true;
    if (has_peak(&fold->next))
        fold->last = fold->next;
}

void ek__blocks_add(ek__blocks *blocks, const ek__memory_line *line)
{
    add_line(&blocks->all, line);
    if (!line->bare)
        add_line(&blocks->full, line);
    blocks->with_fragments |= line->kind == EK__ACTUAL && !line->bare;
}

ek_status ek__blocks_finish(const ek__blocks *blocks, const char *file, ek_log *out, ek_error *err)
{
    const ek__peak_block *last = blocks->with_fragments ? &blocks->full.last : &blocks->all.last;
    double value[EK__N_MEMORY];
    for (int k = 0; k < EK__N_MEMORY; k++) {
        const ek__memory_line *line = &last->at[k];
        value[k] = last->has[k] ? line->mb : NAN;
        if (last->has[k] && line->wrong[0])
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){file, line->line, line->column}), "%s", line->wrong);
    }
    out->device_mb = value[EK__DEVICE];
    out->framework_mb = value[EK__FRAMEWORK];
    out->used_mb = value[EK__USED];
    out->actual_mb = value[EK__ACTUAL];
    return EK_OK;
}

static void parse_memory(void *user, const ek__hit *hit)
{
    ek__memory_line line;
    if (ek__memory_line_read(hit, &line))
        ek__blocks_add(user, &line);
}

/* ---- errors of a run ---- */

/* Errors in a ring, the newest at (n - 1) % EK_LOG_LINES. */
typedef struct errors {
    size_t n;
    int line;
    char text[EK_LOG_LINES][EK_LOG_LINE_SIZE];
} errors;

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Removes control characters, which would reach the user's terminal. */
static void copy_line(const unsigned char *from, const unsigned char *end, bool from_start, char to[EK_LOG_LINE_SIZE])
{
    static const char dots[] = "...";
    char *put = to, *last = to + EK_LOG_LINE_SIZE - sizeof dots;
    while (end > from && ek__is_space(end[-1]))
        end--;
    if (!from_start) {
        put += snprintf(put, sizeof dots, "%s", dots);
        while (from < end && is_continuation(*from))
            from++;
    }
    for (; from < end && put < last; from++)
        *put++ = (char)(*from < 0x20 || *from == 0x7f ? ' ' : *from);
    if (from < end) {
        for (; put > to && is_continuation(*from); from--) /* not half a character */
            put--;
        put += snprintf(put, sizeof dots, "%s", dots);
    }
    *put = '\0';
}

static void read_error(void *user, const ek__hit *hit)
{
    errors *e = user;
    if (e->n > 0 && e->line == hit->line)
        return;
    bool deep = hit->at - hit->start > LEAD || !hit->from_start;
    copy_line(deep ? hit->at - LEAD : hit->start, hit->end, !deep, e->text[e->n % EK_LOG_LINES]);
    e->line = hit->line;
    e->n++;
}

static void last_errors(const errors *e, ek_log *out)
{
    size_t n = e->n < EK_LOG_LINES ? e->n : EK_LOG_LINES;
    for (size_t i = 0; i < n; i++)
        memcpy(out->line[i], e->text[(e->n - n + i) % EK_LOG_LINES], EK_LOG_LINE_SIZE);
    out->n_lines = (int)n;
    out->errors = true;
}

/* The last lines that are not blank, the oldest first. */
static void last_lines(const unsigned char *bytes, size_t n, ek_log *out)
{
    const unsigned char *end = bytes + n;
    int count = 0;
    while (end > bytes && count < EK_LOG_LINES) {
        const unsigned char *start = end;
        while (start > bytes && start[-1] != '\n')
            start--;
        memmove(out->line[1], out->line[0], sizeof out->line - sizeof out->line[0]);
        copy_line(start, end, true, out->line[0]);
        if (out->line[0][strspn(out->line[0], " ")])
            count++;
        else
            memmove(out->line[0], out->line[1], sizeof out->line - sizeof out->line[0]);
        end = start > bytes ? start - 1 : bytes;
    }
    out->n_lines = count;
}

/* Errors and last lines of a file from `start` on. */
static ek_status read_from(int fd, off_t start, const char *name, errors *found, ek_log *out, ek_error *err)
{
    ek__needles set;
    *found = (errors){0};
    ek__needles_init(&set, error_text, N_ERROR_TEXTS);
    if (lseek(fd, start, SEEK_SET) != start)
        return ek__fail(err, ek__system_status(), ((ek_origin){name, 0, 0}), "cannot read it twice: %s",
                        strerror(errno));
    ek__scan scan = {.set = &set, .handle = read_error, .user = found};
    ek_status status = ek__scan_file(&scan, fd, name, err);
    if (status == EK_OK) {
        ek__scan_finish(&scan);
        size_t from = scan.n > EK__HIT_BEFORE ? scan.n - EK__HIT_BEFORE : 0;
        if (scan.n > 0)
            last_lines(scan.bytes + from, scan.n - from, out);
    }
    ek__scan_clear(&scan);
    return status;
}

/* The error that ended a run is mostly at the end of its log, and short needles are slow: so the end is searched
 * first. */
static ek_status read_errors(int fd, const char *name, ek_log *out, ek_error *err)
{
    errors found;
    ek_status status;
    off_t size = lseek(fd, 0, SEEK_END), span = FIRST_SPAN, start;
    do {
        start = size > span ? size - span : 0;
        status = read_from(fd, start, name, &found, out, err);
        span = span < SECOND_SPAN ? SECOND_SPAN : size;
    } while (status == EK_OK && start > 0 && found.n <= EK_LOG_LINES); /* one more: the first may be half a line */
    if (status == EK_OK && found.n > 0)
        last_errors(&found, out);
    return status;
}

/* ---- a log ---- */

static ek_status read_memory(int fd, const char *name, ek_log *out, ek_error *err)
{
    ek__needles set;
    ek__blocks blocks = {0};
    ek__memory_needles(&set);
    ek__scan scan = {.set = &set, .handle = parse_memory, .user = &blocks};
    ek_status status = ek__scan_file(&scan, fd, name, err);
    if (status == EK_OK) {
        ek__scan_finish(&scan);
        status = ek__blocks_finish(&blocks, name, out, err);
    }
    ek__scan_clear(&scan);
    return status;
}

ek_status ek__log_read_fd(int fd, const char *name, ek_log *out, ek_error *err)
{
    ek_log log = {0};
    ek_status status = read_memory(fd, name, &log, err);
    if (status == EK_OK && (isnan(log.used_mb) || isnan(log.actual_mb)))
        status = read_errors(fd, name, &log, err);
    if (status == EK_OK)
        *out = log;
    return status;
}

ek_status ek_log_read(const char *path, ek_log *out, ek_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ek__fail(err, ek__system_status(), ((ek_origin){path, 0, 0}), "cannot open it: %s", strerror(errno));
    ek_status status = ek__log_read_fd(fd, path, out, err);
    close(fd);
    return status;
}
