/* Reads properties from the names of files and folders: types by shell patterns, ranks and stages by numbers. Numbers
 * of more than six digits are times or process ids, never ranks. */
#include <fnmatch.h>
#include <string.h>

#include "base/c_locale.h"
#include "trace/find/layout.h"

static const char *const patterns[EK__N_FILE_TYPES] = {
#define PATTERN(name, pattern) [EK__FILE_##name] = (pattern),
    EK__TABLE_LIST(PATTERN)
#undef PATTERN
};

static const char *const names[EK__N_FILE_TYPES] = {[EK__FILE_TRACE] = "trace",
#define NAME(name, pattern) [EK__FILE_##name] = #name,
                                                    EK__TABLE_LIST(NAME)
#undef NAME
};

/* Each also with .gz appended. */
static const char *const traces[] = {
    "trace_view*.json", "msprof.json", "msprof_*.json", "*timeline_display*.json", "*.pt.trace.json",
};

const char *ek__file_type_name(ek__file_type type)
{
    return (unsigned)type < EK__N_FILE_TYPES ? names[type] : "unknown";
}

static bool is_trace_name(const char *name)
{
    if (fnmatch("*.json.gz", name, 0) == 0)
        return true;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        if (fnmatch(traces[i], name, 0) == 0)
            return true;
    return false;
}

bool ek__type_of_name(const char *name, ek__file_type *type)
{
    for (int i = EK__FILE_TRACE + 1; i < EK__N_FILE_TYPES; i++)
        if (fnmatch(patterns[i], name, 0) == 0) {
            *type = (ek__file_type)i;
            return true;
        }
    *type = EK__FILE_TRACE;
    return is_trace_name(name);
}

/* ---- paths ---- */

ek__path_part ek__part_of(const char *text)
{
    return (ek__path_part){text, strlen(text)};
}

ek__path_part ek__folder_of(ek__path_part path)
{
    while (path.n > 0 && path.at[path.n - 1] != '/')
        path.n--;
    while (path.n > 1 && path.at[path.n - 1] == '/')
        path.n--;
    return path;
}

ek__path_part ek__last_of(ek__path_part path)
{
    size_t from = path.n;
    while (from > 0 && path.at[from - 1] != '/')
        from--;
    return (ek__path_part){path.at + from, path.n - from};
}

bool ek__part_is(ek__path_part part, const char *text)
{
    return part.n == strlen(text) && memcmp(part.at, text, part.n) == 0;
}

bool ek__part_begins(ek__path_part part, const char *text)
{
    size_t n = strlen(text);
    return part.n >= n && memcmp(part.at, text, n) == 0;
}

static bool cut_end(ek__path_part *name, const char *end)
{
    size_t n = strlen(end);
    if (name->n < n || memcmp(name->at + name->n - n, end, n) != 0)
        return false;
    name->n -= n;
    return true;
}

ek__path_part ek__stem_of(ek__path_part name)
{
    cut_end(&name, ".gz");
    if (!cut_end(&name, ".json") && !cut_end(&name, ".csv") && !cut_end(&name, ".db"))
        cut_end(&name, ".sqlite");
    return name;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int value_of(const char *digits, size_t n)
{
    int value = 0;
    if (n == 0 || n > 6)
        return -1;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (digits[i] - '0');
    return value;
}

int ek__number_behind(ek__path_part name, const char *word)
{
    size_t length = strlen(word);
    int found = -1;
    for (size_t i = 0; i + length < name.n; i++) {
        size_t from = i + length, to;
        if (ek__strncasecmp(name.at + i, word, length) != 0 || (i > 0 && ek__is_alpha((unsigned char)name.at[i - 1])))
            continue;
        from += from < name.n && strchr("-_ ", name.at[from]) ? 1 : 0;
        for (to = from; to < name.n && is_digit(name.at[to]);)
            to++;
        int value = value_of(name.at + from, to - from);
        found = value >= 0 ? value : found;
    }
    return found;
}

int ek__last_number(ek__path_part name)
{
    size_t to = name.n, from;
    while (to > 0 && !is_digit(name.at[to - 1]))
        to--;
    for (from = to; from > 0 && is_digit(name.at[from - 1]);)
        from--;
    return value_of(name.at + from, to - from);
}

int ek__end_numbers(ek__path_part stem, int number[3])
{
    int n = 0, reversed[3];
    while (n < 3 && stem.n > 0) {
        size_t from = stem.n;
        while (from > 0 && is_digit(stem.at[from - 1]))
            from--;
        reversed[n] = value_of(stem.at + from, stem.n - from);
        if (reversed[n] < 0 || from == 0 || stem.at[from - 1] != '_')
            break;
        n++;
        stem.n = from - 1;
    }
    for (int i = 0; i < n; i++)
        number[i] = reversed[n - 1 - i];
    return n;
}
