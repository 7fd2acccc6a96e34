/* Reads plans in the output or the log of the balancer, the original's or Evenkeel's: from the line "To put in yaml
 * configuration:" to the first line that is not one of a plan's lists. The line becomes the plan's name, lines outside
 * are emptied, and the remaining text is a plan file. The micro-batches come from the line of the bubble that follows
 * ("pp:16, vp: 1, micro: 16"). A log of several blocks, as of several runs, contains several plans. */
#include "strategies/log_block.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"

static const char heading[] = "To put in yaml configuration:";
static const char *const keys[] = {"offset", "recompute", "select_recompute", "select_comm_recompute"};

typedef struct line {
    const char *text; /* without its end */
    size_t n;
} line;

/* The next line from *at on; false at the end. */
static bool next_line(const char *text, size_t size, size_t *at, line *out)
{
    if (*at >= size)
        return false;
    const char *end = memchr(text + *at, '\n', size - *at);
    *out = (line){text + *at, end ? (size_t)(end - (text + *at)) : size - *at};
    *at += out->n + 1;
    if (out->n > 0 && out->text[out->n - 1] == '\r')
        out->n--;
    return true;
}

static size_t indent_of(const line *l)
{
    size_t i = 0;
    while (i < l->n && ek__is_space((unsigned char)l->text[i]))
        i++;
    return i;
}

/* Position of `word` in a line; NULL when it is not there. */
static const char *find(const line *l, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= l->n; i++)
        if (memcmp(l->text + i, word, size) == 0)
            return l->text + i;
    return NULL;
}

static bool is_heading(const line *l)
{
    size_t i = indent_of(l);
    return i < l->n && l->text[i] != '#' && find(l, heading);
}

/* A key of the lists with a list, or with a value that may replace one: 0, true or false. */
static bool is_list(const line *l)
{
    static const char *const values[] = {"[", "0", "true", "false", "True", "False"};
    size_t i = indent_of(l);
    bool known = false;
    for (size_t k = 0; k < sizeof keys / sizeof *keys && !known; k++) {
        size_t size = strlen(keys[k]);
        known = i + size < l->n && memcmp(l->text + i, keys[k], size) == 0 && l->text[i + size] == ':';
        if (known)
            i += size + 1;
    }
    while (i < l->n && l->text[i] == ' ')
        i++;
    for (size_t v = 0; v < sizeof values / sizeof *values && known; v++) {
        size_t size = strlen(values[v]);
        if (i + size <= l->n && memcmp(l->text + i, values[v], size) == 0)
            return true;
    }
    return false;
}

/* The number after "micro:" in the line of the bubble; 0 in another line. */
static int micro_batches(const line *l)
{
    const char *at = find(l, "pp:") ? find(l, "micro:") : NULL;
    int n = 0;
    for (const char *c = at ? at + strlen("micro:") : NULL; c && c < l->text + l->n && n < 1000000; c++) {
        if (isdigit((unsigned char)*c))
            n = 10 * n + (*c - '0');
        else if (n > 0 || *c != ' ')
            break;
    }
    return n;
}

bool ek__is_balancer_log(const char *text, size_t size)
{
    line l;
    for (size_t at = 0; next_line(text, size, &at, &l);)
        if (is_heading(&l))
            return true;
    return false;
}

/* A list's line below the plan's name: YAML does not allow tabs at a line's beginning, and at least one blank is
 * needed.
 * @return the blanks before it */
static int write_list(const line *l, FILE *out)
{
    size_t indent = indent_of(l);
    int blanks = indent > 0 ? (int)indent : 1;
    fprintf(out, "%*s", blanks, "");
    fwrite(l->text + indent, 1, l->n - indent, out);
    return blanks;
}

/* @return the line of the last heading without lists; 0 when there is none */
static int write_lists(const char *text, size_t size, FILE *out)
{
    line l;
    bool inside = false, counted = true;
    int number = 0, n_plans = 0, n_lists = 1, heading_line = 0, blanks = 1;
    for (size_t at = 0; next_line(text, size, &at, &l);) {
        number++;
        if (is_heading(&l)) {
            if (n_lists == 0)
                return heading_line;
            fprintf(out, "log-%d:", ++n_plans);
            inside = true;
            counted = false;
            n_lists = 0;
            heading_line = number;
        } else if (inside && is_list(&l)) {
            blanks = write_list(&l, out);
            n_lists++;
        } else {
            inside = false;
            if (!counted && n_lists > 0 && micro_batches(&l) > 0) {
                fprintf(out, "%*smicro_batch_num: %d", blanks, "", micro_batches(&l));
                counted = true;
            }
        }
        fputc('\n', out);
    }
    return n_lists == 0 ? heading_line : 0;
}

ek_status ek__balancer_log_lists(const char *name, const char *text, size_t size, char **out, size_t *out_size,
                                 ek_error *err)
{
    char *made = NULL;
    FILE *stream = open_memstream(&made, out_size);
    if (!stream)
        return ek__no_memory(err);
    int wrong = write_lists(text, size, stream);
    bool failed = ferror(stream) != 0;
    failed |= fclose(stream) != 0 || !made;
    if (!failed && wrong == 0) {
        *out = made;
        return EK_OK;
    }
    free(made);
    if (failed)
        return ek__no_memory(err);
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, wrong, 1}),
                    "no list follows; expected lines such as 'offset: [[0, 1, 0, -1]]' directly below");
}
