/* Reads lines outside of nodes: the entry's name, the file's counts, attributes of graphs, types of formal parameters.
 * Remarks and order lists are skipped; other lines are counted. */
#include <string.h>

#include "ir/reader.h"

/* The text after the word and a colon; NULL when the line begins with something else. Blanks before the colon are
 * allowed: "#IR entry      : @name". */
static const char *value_behind(const char *at, const char *end, const char *word)
{
    if (!ek__ir_begins(at, end, word))
        return NULL;
    const char *p = ek__ir_skip_blanks(at + strlen(word), end);
    return p < end && *p == ':' ? ek__ir_skip_blanks(p + 1, end) : NULL;
}

static bool add_count(const ek__ir_reader *r, const char *at, const char *word, int64_t *out)
{
    int64_t count;
    const char *p = value_behind(at, r->end, word);
    if (!p || !ek__ir_number(p, ek__ir_trim(p, r->end), &count))
        return false;
    *out = count;
    return true;
}

static bool add_counts(ek__ir_reader *r, const char *at)
{
    ek_ir *ir = r->ir;
    if (add_count(r, at, "Total number of cnodes", &ir->said_cnodes)) {
        r->count_line = r->line;
        return true;
    }
    if (add_count(r, at, "Total subgraphs", &ir->said_graphs) || add_count(r, at, "Total subgraph", &ir->said_graphs)) {
        r->graphs_line = r->line;
        return true;
    }
    if (add_count(r, at, "Total params", &ir->said_parameters)) {
        r->parameters_line = r->line;
        return true;
    }
    return add_count(r, at, "Total number of nodes", &ir->said_nodes);
}

/* "# Parameters: 2, (<...>, <...>)": types for the graph that follows. */
static void formal_types(ek__ir_reader *r, const char *at)
{
    const char *open = memchr(at, '(', (size_t)(r->end - at));
    r->n_list = 0;
    if (open && !ek__ir_types_read(r, open, r->end))
        r->n_list = 0;
}

static void remark(ek__ir_reader *r, const char *at)
{
    static const char failed[] = "evaluat";
    const char *p = value_behind(at, r->end, "IR entry");
    if (p) {
        p += p < r->end && *p == '@';
        r->ir->entry = ek__ir_intern(r, p, ek__ir_trim(p, r->end));
    } else if (value_behind(at, r->end, "Parameters"))
        formal_types(r, at);
    else if (value_behind(at, r->end, "Attrs") || value_behind(at, r->end, "attrs"))
        r->in_attrs = true;
    else if (!add_counts(r, at) && r->ir->n_nodes == 0)
        for (const char *word = at; word + sizeof failed - 1 <= r->end; word++)
            r->ir->analyze_fail |= memcmp(word, failed, sizeof failed - 1) == 0;
}

void ek__ir_header_line(ek__ir_reader *r)
{
    const char *p = ek__ir_skip_blanks(r->begin, r->end), *end = ek__ir_trim(p, r->end);
    if (p == end || (end - p == 1 && *p == '}'))
        return;
    if (*p == '#') {
        remark(r, ek__ir_skip_blanks(p + 1, r->end));
        return;
    }
    if (ek__ir_begins(p, end, "...") || ek__ir_begins(p, end, "\xe2\x80\xa6")) {
        r->omitted = true;
        return;
    }
    if (ek__ir_begins(p, end, "subgraph attr:") || ek__ir_begins(p, end, "subgraph instance")) {
        r->in_attrs = true;
        return;
    }
    static const char *const titles[] = {"Node counting information:", "indirect:", "switch_input:"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (ek__ir_begins(p, end, titles[i]))
            return;
    if (add_counts(r, p) || (r->in_attrs && memchr(p, ':', (size_t)(end - p))))
        return;
    r->ir->n_unknown++;
}
