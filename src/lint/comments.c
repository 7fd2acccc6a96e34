/* Comments that take findings away: every line is searched for the tool's name after a comment sign, and the ids that
 * follow are noted with the lines they hold for. The search knows nothing of the file's language, so the words inside a
 * text in quotes count as well, as long as a comment sign precedes them. */
#include "lint/comments.h"

#include <string.h>

#include "base/c_locale.h"
#include "lint/source_position.h"

static const char mark[] = "evenkeel:";

typedef struct line {
    const char *start, *end;
    int number;
} line;

/* The comment sign before a place, with nothing but blanks between; NULL without one. */
static const char *sign_before(const char *start, const char *at)
{
    while (at > start && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    if (at > start && (at[-1] == '#' || at[-1] == ';'))
        return at - 1;
    return at > start + 1 && at[-1] == '/' && at[-2] == '/' ? at - 2 : NULL;
}

static const char *find_mark(const line *l, bool *alone)
{
    size_t n = sizeof mark - 1;
    for (const char *at = l->start; at + n <= l->end; at++) {
        const char *sign = memcmp(at, mark, n) == 0 ? sign_before(l->start, at) : NULL;
        if (!sign)
            continue;
        *alone = true;
        for (const char *c = l->start; c < sign; c++)
            *alone = *alone && ek__is_space((unsigned char)*c);
        return at + n;
    }
    return NULL;
}

static bool is_part_of_word(char c)
{
    return ek__is_alnum((unsigned char)c) || c == '-' || c == '_';
}

static const char *skip(const char *at, const char *end, bool word)
{
    while (at < end && (word ? is_part_of_word(*at) : *at == ' ' || *at == '\t' || *at == ','))
        at++;
    return at;
}

/* The ids after "evenkeel: off". */
static ek_status read_ids(const line *l, const char *at, bool alone, ek__pool *pool, ek__comments *out, ek_error *err)
{
    const char *word = skip(at, l->end, false);
    at = skip(word, l->end, true);
    bool whole = at - word == 8 && memcmp(word, "off-file", 8) == 0;
    if (!whole && !(at - word == 3 && memcmp(word, "off", 3) == 0))
        return EK_OK;
    for (;;) {
        word = skip(at, l->end, false);
        at = skip(word, l->end, true);
        if (at == word)
            return EK_OK;
        ek__comment *more = ek__pool_push(pool, out->comment, out->n, sizeof *more);
        const char *id = more ? ek__pool_text(pool, word, (size_t)(at - word)) : NULL;
        if (!id)
            return ek__no_memory(err);
        out->comment = more;
        more[out->n++] = (ek__comment){.id = id,
                                       .line = l->number,
                                       .column = ek__column_of(l->start, word),
                                       .end_column = ek__column_of(l->start, at),
                                       .from = whole ? 0 : l->number,
                                       .to = alone ? -1 : l->number};
    }
}

static bool is_whole(const ek__comments *comments, const char *id)
{
    for (int i = 0; i < comments->n_whole; i++)
        if (strcmp(comments->whole[i], id) == 0)
            return true;
    return false;
}

/* Comments on lines of their own apply to the next line that is not such a comment. */
static void close_open(ek__comments *comments, int number)
{
    for (int i = comments->n - 1; i >= 0 && comments->comment[i].to < 0; i--)
        comments->comment[i].to = number;
}

ek_status ek__comments_read(const char *text, size_t size, ek__pool *pool, ek__comments *out, ek_error *err)
{
    ek__comments found = {0};
    line l = {.start = text, .number = 1};
    const char *end = text + size;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        l.start += 3; /* a byte order mark is no column */
    for (; l.start < end; l.start = l.end + 1, l.number++) {
        const char *feed = memchr(l.start, '\n', (size_t)(end - l.start));
        bool alone = false;
        l.end = feed ? feed : end;
        const char *at = find_mark(&l, &alone);
        if (!at || !alone)
            close_open(&found, l.number);
        ek_status status = at ? read_ids(&l, at, alone, pool, &found, err) : EK_OK;
        if (status)
            return status;
    }
    close_open(&found, l.number);
    *out = found;
    return EK_OK;
}

void ek__comments_gather(ek__comments *comments, const ek_lint_rule *(*find)(const char *id))
{
    for (int i = 0; i < comments->n; i++) {
        const ek__comment *c = &comments->comment[i];
        if (c->from == 0 && comments->n_whole < EK__WHOLE_MAX && find(c->id) && !is_whole(comments, c->id))
            comments->whole[comments->n_whole++] = c->id;
    }
}

bool ek__comments_cover(const ek__comments *comments, const char *id, int number)
{
    if (is_whole(comments, id))
        return true;
    int first = 0, behind = comments->n; /* the first comment that applies to this line or a later one */
    while (first < behind) {
        int middle = first + (behind - first) / 2;
        if (comments->comment[middle].to < number)
            first = middle + 1;
        else
            behind = middle;
    }
    for (; first < comments->n && comments->comment[first].from <= number; first++)
        if (comments->comment[first].from > 0 && strcmp(comments->comment[first].id, id) == 0)
            return true;
    return false;
}
