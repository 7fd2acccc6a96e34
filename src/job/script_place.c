/* Finds the place in a script where the value of a word is assigned. Uses the assignments found by the reader
 * (job/arguments.h), so that both use the same one. */
#include "job/script.h"

#include <string.h>

enum { MAX_DEPTH = 8 };

static bool is_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool ek__script_is_number(const ek__script *s, ek__bytes bytes)
{
    bool digits = bytes.end > bytes.at;
    for (size_t i = bytes.at; i < bytes.end; i++)
        digits = digits && s->file->text[i] >= '0' && s->file->text[i] <= '9';
    return digits;
}

ek__bytes ek__script_unquoted(const ek__script *s, ek__bytes b)
{
    const char *text = s->file->text;
    if (b.end - b.at >= 2 && (text[b.at] == '"' || text[b.at] == '\'') && text[b.end - 1] == text[b.at])
        return (ek__bytes){b.at + 1, b.end - 1};
    return b;
}

/* A word that consists of a variable: its name, and the value of ${NAME:-VALUE}. */
typedef struct reference {
    ek__bytes name, fallback; /* empty: none */
} reference;

static bool is_reference(const char *text, ek__bytes b, reference *out)
{
    if (b.end - b.at < 2 || text[b.at] != '$')
        return false;
    bool braced = text[b.at + 1] == '{' && text[b.end - 1] == '}';
    size_t at = b.at + (braced ? 2 : 1), end = b.end - (braced ? 1 : 0), n = ek__name_length(text + at, end - at);
    *out = (reference){.name = {at, at + n}};
    at += n;
    if (n == 0 || at == end)
        return n > 0;
    size_t skip = end - at >= 2 && text[at] == ':' && text[at + 1] == '-' ? 2 : text[at] == '-' ? 1 : 0;
    out->fallback = (ek__bytes){at + skip, end};
    return braced && skip > 0;
}

static bool is_named(const ek__script *s, const ek__assignment *a, const char *name, size_t n)
{
    const char *other = s->a.words.variable[a->variable].name;
    return strlen(other) == n && memcmp(other, name, n) == 0;
}

/* Is byte `i` in an assignment of the name? */
static bool is_assigned_at(const ek__script *s, const char *name, size_t n, size_t i)
{
    for (int k = 0; k < s->a.words.n_assignments; k++) {
        const ek__assignment *a = &s->a.words.assignment[k];
        if (i >= a->at && i < a->end && is_named(s, a, name, n))
            return true;
    }
    return false;
}

/* The number of occurrences of a name in the script, without its assignments and comments. */
static int count_mentions(const ek__script *s, const char *name, size_t n)
{
    const char *text = s->file->text;
    int found = 0;
    for (size_t i = 0; i < s->file->size; i++) {
        bool starts = i == 0 || strchr(" \t\n", text[i - 1]);
        if (text[i] == '#' && starts)
            while (i < s->file->size && text[i] != '\n')
                i++;
        bool whole = i + n <= s->file->size && memcmp(text + i, name, n) == 0 && !is_in_name(text[i + n]) &&
                     (i == 0 || !is_in_name(text[i - 1]));
        found += whole && !is_assigned_at(s, name, n, i);
    }
    return found;
}

/* The only assignment of a name, NULL: none or several. */
static const ek__assignment *only_assignment(const ek__script *s, const char *name, size_t n)
{
    const ek__assignment *found = NULL;
    int n_found = 0;
    for (int k = 0; k < s->a.words.n_assignments; k++)
        if (is_named(s, &s->a.words.assignment[k], name, n)) {
            found = &s->a.words.assignment[k];
            n_found++;
        }
    return n_found == 1 ? found : NULL;
}

static bool place_at(const ek__script *s, ek__bytes word, bool alone, int depth, ek__bytes *out);

static bool place_of_variable(const ek__script *s, const reference *r, bool alone, int depth, ek__bytes *out)
{
    const char *text = s->file->text, *name = text + r->name.at;
    size_t n = r->name.end - r->name.at;
    const ek__assignment *a = only_assignment(s, name, n);
    int variable = ek__words_find(&s->a.words, name, n);
    bool itself = a && r->name.at >= a->at && r->name.at < a->end; /* TP=${TP:-2} */
    if (!itself && alone && count_mentions(s, name, n) != 1)
        return false;
    if (itself)
        return r->fallback.end > r->fallback.at && place_at(s, r->fallback, alone, depth + 1, out);
    if (a) {
        ek__bytes value = {a->at + n + 1, a->end}; /* after the '=' */
        return text[a->at + n] == '=' && text[value.at] != '(' && place_at(s, value, alone, depth + 1, out);
    }
    if (variable >= 0 && s->a.words.variable[variable].comment_at > 0) { /* Slurm's */
        size_t at = s->a.words.variable[variable].comment_at, end = at;
        while (end < s->file->size && text[end] >= '0' && text[end] <= '9')
            end++;
        *out = (ek__bytes){at, end};
        return true;
    }
    bool assigned = variable >= 0 && s->a.words.variable[variable].line > 0;
    return !assigned && r->fallback.end > r->fallback.at && place_at(s, r->fallback, alone, depth + 1, out);
}

/* Is the text literal to a shell? */
static bool is_plain(const char *text, ek__bytes b)
{
    for (size_t i = b.at; i < b.end; i++)
        if (strchr("$`\\\"'", text[i]))
            return false;
    return true;
}

static bool place_at(const ek__script *s, ek__bytes word, bool alone, int depth, ek__bytes *out)
{
    const ek__bytes b = ek__script_unquoted(s, word);
    reference r;
    if (depth == MAX_DEPTH)
        return false;
    if (is_plain(s->file->text, b)) {
        *out = ek__script_is_number(s, b) ? b : word; /* a number keeps its quotes */
        return true;
    }
    return is_reference(s->file->text, b, &r) && place_of_variable(s, &r, alone, depth, out);
}

bool ek__script_place(const ek__script *s, ek__bytes word, bool alone, ek__bytes *out)
{
    return place_at(s, word, alone, 0, out);
}

bool ek__script_environment(const ek__script *s, ek__bytes word, ek__bytes *name)
{
    reference r;
    if (!is_reference(s->file->text, ek__script_unquoted(s, word), &r) || r.fallback.end > r.fallback.at)
        return false;
    int variable = ek__words_find(&s->a.words, s->file->text + r.name.at, r.name.end - r.name.at);
    if (variable >= 0 && s->a.words.variable[variable].line > 0)
        return false;
    *name = r.name;
    return true;
}
