/* Reads typed values out of a document and words every error the same way: path, found value, expected value, advice.
 * Types follow YAML 1.1 as PyYAML resolves it, except that base-60, octal and hexadecimal numbers are refused. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "base/error.h"

enum {
    PATH_SIZE = 256,
    FOUND_SIZE = 96,
    SHOWN_BYTES = 40,      /* of a user's text in a message */
    MAX_UNKNOWN_KEYS = 20, /* warnings per map */
};

/* ---- descriptions ---- */

/* Append user text: control characters as \xNN, at most SHOWN_BYTES, never half a UTF-8 sequence. */
static size_t show_text(const char *text, char *out, size_t size, size_t at)
{
    size_t length = strlen(text), n = length;
    if (n > SHOWN_BYTES) {
        n = SHOWN_BYTES;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
    }
    for (size_t i = 0; i < n && at + 5 < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7F)
            at += (size_t)snprintf(out + at, size - at, "\\x%02X", c);
        else
            out[at++] = text[i];
    }
    out[at] = '\0';
    if (n < length && at + 4 < size)
        at += (size_t)snprintf(out + at, size - at, "...");
    return at;
}

static size_t path_of(const ek__node *node, char *out, size_t size)
{
    if (!node->parent)
        return 0;
    size_t at = path_of(node->parent, out, size);
    if (at + 8 >= size)
        return at;
    if (!node->key)
        return at + (size_t)snprintf(out + at, size - at, "[%d]", node->index);
    if (at > 0)
        out[at++] = '.';
    return show_text(node->key, out, size, at);
}

void ek__node_path(const ek__node *node, char *out, size_t size)
{
    out[0] = '\0';
    if (path_of(node, out, size) == 0)
        snprintf(out, size, "the file");
}

void ek__node_describe(const ek__node *node, char *out, size_t size)
{
    const char *what = node->kind == EK__LIST ? "a list" : "a map";
    if (node->kind != EK__SCALAR && node->n == 0) {
        snprintf(out, size, "an empty %s", what + 2);
    } else if (node->kind != EK__SCALAR) {
        snprintf(out, size, "%s of %d", what, node->n);
    } else if (ek__node_is_null(node)) {
        snprintf(out, size, "nothing");
    } else {
        bool bare = !node->quoted && (ek__node_is_bool(node, NULL) || strchr("+-.0123456789", node->text[0]) != NULL);
        size_t at = (size_t)snprintf(out, size, "%s", node->quoted ? "the text \"" : bare ? "" : "'");
        at = show_text(node->text, out, size, at);
        snprintf(out + at, size - at, "%s", node->quoted ? "\"" : bare ? "" : "'");
    }
}

ek_origin ek__node_origin(const ek__config_tree *doc, const ek__node *node)
{
    return (ek_origin){ek__config_name(doc), node->line, node->column};
}

ek_status ek__fail_at(const ek__in *in, const ek__node *node, const char *format, ...)
{
    char path[PATH_SIZE], text[sizeof((ek_error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ek__node_path(node, path, sizeof path);
    return ek__fail(in->err, EK_ERR_INPUT, ek__node_origin(in->doc, node), "%s %s", path, text);
}

void ek__warn_at(const ek__in *in, const ek__node *node, const char *format, ...)
{
    char path[PATH_SIZE], text[sizeof((ek_error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ek__node_path(node, path, sizeof path);
    ek__warn(in->listener, ek__node_origin(in->doc, node), "%s %s", path, text);
}

void ek__warn_of_at(const ek__in *in, const char *rule, const ek__node *node, const char *format, ...)
{
    char path[PATH_SIZE], text[sizeof((ek_error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ek__node_path(node, path, sizeof path);
    ek__warn_of(in->listener, rule, ek__node_origin(in->doc, node), "%s %s", path, text);
}

/* "PATH is FOUND, expected WHAT; ADVICE" */
static ek_status fail_type(const ek__in *in, const ek__node *node, const char *expected, const char *advice)
{
    char found[FOUND_SIZE];
    ek__node_describe(node, found, sizeof found);
    return ek__fail_at(in, node, "is %s, expected %s; %s", found, expected, advice);
}

/* ---- type of a scalar ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

bool ek__node_is_null(const ek__node *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return node->kind == EK__SCALAR && !node->quoted && is_one_of(node->text, words);
}

bool ek__node_is_bool(const ek__node *node, bool *value)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", NULL};
    static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", NULL};
    if (node->kind != EK__SCALAR || node->quoted)
        return false;
    bool is_true = is_one_of(node->text, yes);
    if (!is_true && !is_one_of(node->text, no))
        return false;
    if (value)
        *value = is_true;
    return true;
}

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* Frameworks take int() of a count, so that 8.0 is 8 to them. */
static bool is_whole_float(const char *text, int *value)
{
    double number;
    if (!strpbrk(text, ".eE") || !ek__text_is_number(text, &number) || number < INT_MIN || number > INT_MAX ||
        number != floor(number))
        return false;
    if (value)
        *value = (int)number;
    return true;
}

bool ek__node_is_int(const ek__node *node, int *value)
{
    if (node->kind != EK__SCALAR || node->quoted)
        return false;
    if (is_whole_float(node->text, value))
        return true;
    const char *digits = node->text + (node->text[0] == '+' || node->text[0] == '-');
    const char *end = skip_digits(digits);
    /* A leading zero is octal to some YAML readers and decimal to others. */
    if (end == digits || *end || (digits[0] == '0' && digits[1]))
        return false;
    errno = 0;
    long number = strtol(node->text, NULL, 10);
    if (errno || number < INT_MIN || number > INT_MAX)
        return false;
    if (value)
        *value = (int)number;
    return true;
}

/* strtod() would also accept "nan", "infinity" and "0x1p3". */
bool ek__text_is_number(const char *text, double *value)
{
    const char *s = text + (text[0] == '+' || text[0] == '-');
    const char *end = skip_digits(s);
    bool digits = end > s;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits = digits || end > fraction;
    }
    if (!digits)
        return false;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + 1;
        exponent += *exponent == '+' || *exponent == '-';
        end = skip_digits(exponent);
        if (end == exponent)
            return false;
    }
    char *parsed;
    *value = ek__strtod(text, &parsed);
    return *end == '\0' && parsed == end && isfinite(*value);
}

bool ek__text_is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            return false;
    return true;
}

static bool is_quoted_number(const ek__node *node)
{
    double value;
    return node->kind == EK__SCALAR && node->quoted && ek__text_is_number(node->text, &value);
}

/* ---- typed reading ---- */

static const ek__node *find(const ek__node *map, const char *key)
{
    for (const ek__node *node = map->first; node; node = node->next)
        if (node->key && strcmp(node->key, key) == 0)
            return node;
    return NULL;
}

const ek__node *ek__get(const ek__node *map, const char *key)
{
    const ek__node *node = find(map, key);
    return node && !ek__node_is_null(node) ? node : NULL;
}

ek_status ek__require(const ek__in *in, const ek__node *map, const char *key, const char *advice, const ek__node **out)
{
    const ek__node *node = find(map, key);
    if (!node) {
        char path[PATH_SIZE];
        size_t at = path_of(map, path, sizeof path);
        path[at] = '\0';
        return ek__fail(in->err, EK_ERR_INPUT, ek__node_origin(in->doc, map), "%s%s%s is missing; %s", path,
                        at ? "." : "", key, advice);
    }
    if (ek__node_is_null(node))
        return ek__fail_at(in, node, "has no value; %s", advice);
    *out = node;
    return EK_OK;
}

ek_status ek__expect(const ek__in *in, const ek__node *node, ek__node_kind kind, const char *advice)
{
    static const char *const name[] = {"a single value", "a list", "a map of 'key: value' lines"};
    return node->kind == kind ? EK_OK : fail_type(in, node, name[kind], advice);
}

ek_status ek__require_map(const ek__in *in, const ek__node *map, const char *key, const char *advice,
                          const ek__node **out)
{
    const ek__node *node = NULL;
    ek_status status = ek__require(in, map, key, advice, &node);
    assert(status != EK_OK || node);
    if (status == EK_OK)
        status = ek__expect(in, node, EK__MAP, advice);
    if (status == EK_OK)
        *out = node;
    return status;
}

ek_status ek__optional_map(const ek__in *in, const ek__node *map, const char *key, const ek__node **out)
{
    const ek__node *node = map ? ek__get(map, key) : NULL;
    ek_status status = node ? ek__expect(in, node, EK__MAP, "write its settings below it") : EK_OK;
    if (status == EK_OK)
        *out = node;
    return status;
}

ek_status ek__int(const ek__in *in, const ek__node *node, int min, int max, const char *advice, int *out)
{
    int value;
    if (ek__node_is_int(node, &value) && value >= min && value <= max) {
        *out = value;
        return EK_OK;
    }
    char expected[96];
    size_t at = min == max ? (size_t)snprintf(expected, sizeof expected, "%d", min)
                           : (size_t)snprintf(expected, sizeof expected, "a whole number from %d to %d", min, max);
    snprintf(expected + at, sizeof expected - at, "%s", is_quoted_number(node) ? " without quotes" : "");
    return fail_type(in, node, expected, advice);
}

ek_status ek__number(const ek__in *in, const ek__node *node, double min, double max, const char *advice, double *out)
{
    double value;
    if (node->kind == EK__SCALAR && !node->quoted && ek__text_is_number(node->text, &value) && value >= min &&
        value <= max) {
        *out = value;
        return EK_OK;
    }
    char expected[96];
    ek__snprintf(expected, sizeof expected, "a number from %g to %g%s", min, max,
                 is_quoted_number(node) ? " without quotes" : "");
    return fail_type(in, node, expected, advice);
}

ek_status ek__bool(const ek__in *in, const ek__node *node, const char *advice, bool *out)
{
    return ek__node_is_bool(node, out) ? EK_OK : fail_type(in, node, "true or false", advice);
}

ek_status ek__string(const ek__in *in, const ek__node *node, size_t size, const char *advice, char *out)
{
    if (node->kind != EK__SCALAR || ek__node_is_null(node) || !node->text[0])
        return fail_type(in, node, "text", advice);
    size_t length = strlen(node->text);
    if (length >= size)
        return ek__fail_at(in, node, "is %zu bytes long, at most %zu are possible; shorten it", length, size - 1);
    if (!ek__text_is_printable(node->text))
        return fail_type(in, node, "text without control characters", advice);
    memcpy(out, node->text, length + 1);
    return EK_OK;
}

/* ---- unknown keys ---- */

/* Long words are far from everything. */
size_t ek__edit_distance(const char *a, const char *b)
{
    enum { MAX = 48 };
    size_t n = strlen(a), m = strlen(b), row[MAX + 1];
    if (n > MAX || m > MAX)
        return MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *ek__nearest_word(const char *word, const char *const *names, int n)
{
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2; /* a third of the letters may be wrong */
    for (int i = 0; n < 0 ? names[i] != NULL : i < n; i++) {
        size_t distance = ek__edit_distance(word, names[i]);
        if (distance < least) {
            least = distance;
            best = names[i];
        }
    }
    return best;
}

static const char *nearest(const char *key, const char *const *known)
{
    const char *best = NULL;
    size_t limit = strlen(key) / 3 + 1;
    for (; *known; known++) {
        size_t distance = ek__edit_distance(key, *known);
        if (distance <= limit) {
            limit = distance - 1;
            best = *known;
        }
        if (distance <= 1)
            break;
    }
    return best;
}

enum { MAX_LISTED_KEYS = 24 }; /* more say less */

static void warn_unknown_key(const ek__in *in, const ek__node *node, const char *const *known)
{
    char path[PATH_SIZE], remedy[512];
    const char *guess = nearest(node->key, known);
    int n = 0;
    while (known[n])
        n++;
    if (guess) {
        snprintf(remedy, sizeof remedy, "did you mean '%s'?", guess);
    } else if (n > MAX_LISTED_KEYS) {
        snprintf(remedy, sizeof remedy, "none of the %d known there is spelt like it", n);
    } else {
        size_t at = (size_t)snprintf(remedy, sizeof remedy, "known keys are");
        for (; *known && at + 1 < sizeof remedy; known++)
            at += (size_t)snprintf(remedy + at, sizeof remedy - at, " %s%s", *known, known[1] ? "," : "");
    }
    ek__node_path(node, path, sizeof path);
    ek__warn(in->listener, (ek_origin){ek__config_name(in->doc), node->key_line, node->key_column},
             "%s is not a known key and is ignored; %s", path, remedy);
}

void ek__warn_unknown_keys(const ek__in *in, const ek__node *map, const char *const *known)
{
    int warnings = 0;
    for (const ek__node *node = map->first; node && warnings < MAX_UNKNOWN_KEYS; node = node->next) {
        if (!is_one_of(node->key, known)) {
            warn_unknown_key(in, node, known);
            warnings++;
        }
    }
}

char *ek__text_copy(const char *text, size_t size)
{
    char *copy = ek__alloc(size + 1, 1);
    if (copy && size > 0)
        memcpy(copy, text, size);
    return copy;
}

char *ek__strdup(const char *text)
{
    return ek__text_copy(text, strlen(text));
}
