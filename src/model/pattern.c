/* Finds the operators that a pattern of recompute_config names. The pattern is cut at every `\.` and each part must
 * match a whole name: all except the last walk through cells, the last is a primitive of the reached cells, or a cell
 * in them. A cell's primitives are recomputed except for those that make its output (MindSpore's Cell.recompute),
 * unless the cell is one activation function: the tuning guide has feed_forward\.w1\.activation as a working setting.
 *
 * Parts are regular expressions; an invalid one matches nothing. */
#include <assert.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/regex.h"
#include "model/pattern.h"

enum { MAX_PARTS = 8, LONGEST_PART = 160 };

/* A part; most are plain names, which are compared directly: a regular expression takes a hundred times as long. */
typedef struct part {
    const char *name; /* [size] of the pattern; NULL: an expression */
    size_t size;
    const void *expression;
} part;

typedef struct compiled {
    int n;
    part part[MAX_PARTS];
    bool has_room; /* if one is an expression */
    ek__regex_room room;
} compiled;

static bool is_plain(const char *text, size_t size)
{
    bool plain = size > 0 && size < LONGEST_PART - 8;
    for (size_t i = 0; i < size; i++)
        plain = plain && (ek__is_alnum((unsigned char)text[i]) || text[i] == '_');
    return plain;
}

static bool compile_part(compiled *c, const char *text, size_t size)
{
    part *p = &c->part[c->n];
    *p = (part){.name = is_plain(text, size) ? text : NULL, .size = size};
    if (p->name || size >= LONGEST_PART)
        return p->name != NULL;
    if (!c->has_room)
        ek__regex_start(&c->room);
    c->has_room = true;
    p->expression = ek__regex_read(&c->room, text, size);
    return p->expression != NULL;
}

static bool compile(const char *pattern, compiled *c)
{
    c->has_room = false;
    c->n = 0;
    for (const char *at = pattern;;) {
        const char *cut = strstr(at, "\\.");
        size_t size = cut ? (size_t)(cut - at) : strlen(at);
        if (c->n == MAX_PARTS || !compile_part(c, at, size))
            return false;
        c->n++;
        if (!cut)
            return true;
        at = cut + 2;
    }
}

void ek__pattern_of_path(const char *path, char *out, size_t size)
{
    size_t n = 0;
    assert(size > 0);
    for (; *path && n + 3 < size; path++) {
        if (*path == '.')
            out[n++] = '\\';
        out[n++] = *path;
    }
    out[n] = '\0';
}

bool ek__pattern_compiles(const char *pattern)
{
    compiled c;
    return compile(pattern, &c);
}

/* The match of a path's names with the parts. */
typedef enum fit { NO_FIT, FITS_CELL, FITS_PRIMITIVE } fit;

static bool part_fits(compiled *c, const part *p, const char *text, size_t size)
{
    if (p->name)
        return p->size == size && memcmp(p->name, text, size) == 0;
    return ek__regex_fits(&c->room, p->expression, text, size);
}

/* @param length  out: characters of the path that the parts match */
static fit fit_path(compiled *c, const char *path, size_t *length)
{
    const char *at = path;
    assert(c->n >= 1 && c->n <= MAX_PARTS);
    for (int i = 0; i < c->n; i++) {
        size_t size = strcspn(at, ".");
        if (size == 0 || size >= LONGEST_PART || !part_fits(c, &c->part[i], at, size))
            return NO_FIT;
        at += size;
        *length = (size_t)(at - path);
        if (*at == '.')
            at++;
        else if (i < c->n - 1)
            return NO_FIT;
    }
    return *at ? FITS_CELL : FITS_PRIMITIVE;
}

static bool in_cell(const ek__op *op, const char *cell, size_t length)
{
    return strncmp(op->path, cell, length) == 0 && op->path[length] == '.';
}

static bool reads(const ek__op *op, int tensor)
{
    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] == tensor)
            return true;
    return false;
}

/* Does an operator outside the cell read this one's output, or is it the graph's output? */
static bool makes_output(const ek__graph *graph, const ek__op *maker, size_t length)
{
    for (int i = 0; i < maker->n_out; i++) {
        if (maker->out[i] == graph->output)
            return true;
        for (const ek__op *op = graph->op; op < graph->op + graph->n_ops; op++)
            if (reads(op, maker->out[i]) && !in_cell(op, maker->path, length))
                return true;
    }
    return false;
}

static bool is_activation(const ek__graph *graph, const ek__op *op, size_t length)
{
    int n = 0;
    for (const ek__op *other = graph->op; other < graph->op + graph->n_ops; other++)
        n += in_cell(other, op->path, length);
    return n == 1 && op->kind == EK__OP_ELEMENTWISE;
}

static bool is_matched(const ek__graph *graph, compiled *c, int index, bool comm)
{
    const ek__op *op = &graph->op[index];
    size_t length = 0;
    if (comm) {
        if (op->kind != EK__OP_COMM || op->comm_after < 0)
            return false;
        assert(op->comm_after < graph->n_ops && op->comm_after != index);
        return fit_path(c, graph->op[op->comm_after].path, &length) == FITS_PRIMITIVE;
    }
    fit fits = fit_path(c, op->path, &length);
    if (fits == FITS_CELL)
        return is_activation(graph, op, length) || !makes_output(graph, op, length);
    return fits == FITS_PRIMITIVE && op->kind != EK__OP_COMM;
}

int ek__pattern_match(const ek__graph *graph, const char *pattern, ek_pattern_kind kind, bool matched[EK__MAX_OPS])
{
    compiled c;
    int n = 0;
    assert((unsigned)kind < EK_N_PATTERN_KINDS);
    memset(matched, 0, EK__MAX_OPS * sizeof *matched);
    if (!compile(pattern, &c))
        return 0;
    bool comm = kind == EK_PATTERN_COMM || kind == EK_PATTERN_COMM_EXCLUDE;
    for (int i = 0; i < graph->n_ops; i++) {
        matched[i] = is_matched(graph, &c, i, comm);
        n += matched[i];
    }
    return n;
}

ek__pattern_names ek__pattern_names_in(const ek__graph *graph, const char *pattern)
{
    compiled c;
    ek__pattern_names names = {0};
    if (!compile(pattern, &c))
        return names;
    for (int i = 0; i < graph->n_ops; i++) {
        size_t length;
        fit fits = fit_path(&c, graph->op[i].path, &length);
        names.cell |= fits == FITS_CELL;
        names.primitive |= fits == FITS_PRIMITIVE;
        names.reshape |= fits == FITS_PRIMITIVE && graph->op[i].kind == EK__OP_VIEW;
    }
    return names;
}

/* An operator with a recomputation that the compiler would undo, because a later operator saves the result anyway. */
static void drop_undone(const ek__graph *graph, bool *recomputed)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < graph->n_ops; i++) {
            int other = graph->op[i].requires;
            assert(other < graph->n_ops && other != i);
            if (!recomputed[i] || other < 0 || recomputed[other])
                continue;
            recomputed[i] = false;
            changed = true;
        }
    }
}

void ek__graph_settle(const ek__graph *graph, bool *recomputed)
{
    drop_undone(graph, recomputed);
    for (int i = 0; i < graph->n_ops; i++)
        recomputed[i] |= graph->op[i].always_recomputed;
}

void ek__graph_recomputed(const ek_job *job, const ek__graph *graph, ek__recompute recompute, bool out[EK__MAX_OPS])
{
    bool matched[EK__MAX_OPS], excluded[EK__MAX_OPS] = {false};
    assert(job->n_patterns >= 0 && job->n_patterns <= EK_MAX_PATTERNS);
    for (int i = 0; i < EK__MAX_OPS; i++)
        out[i] = recompute.full && i < graph->n_ops;
    for (int k = 0; k < job->n_patterns; k++) {
        const ek_pattern *pattern = &job->pattern[k];
        bool excludes = pattern->kind == EK_PATTERN_SELECT_EXCLUDE || pattern->kind == EK_PATTERN_COMM_EXCLUDE;
        if (!(recompute.patterns >> k & 1) || (recompute.full && !excludes))
            continue;
        ek__pattern_match(graph, pattern->text, pattern->kind, matched);
        for (int i = 0; i < graph->n_ops; i++) {
            out[i] |= !excludes && matched[i];
            excluded[i] |= excludes && matched[i];
        }
    }
    for (int i = 0; i < graph->n_ops; i++)
        out[i] = out[i] && !excluded[i];
    ek__graph_settle(graph, out);
}

/* Recomputed operators with results that are read neither by a gradient nor by another operator that runs again. */
static void drop_unread(const ek__graph *graph, bool *runs)
{
    bool read[EK__MAX_TENSORS] = {false};
    assert(graph->n_ops <= EK__MAX_OPS && graph->n_tensors <= EK__MAX_TENSORS);
    for (int i = 0; i < graph->n_ops; i++)
        for (int k = 0; k < graph->op[i].n_needs; k++)
            read[graph->op[i].needs[k]] = true;
    for (int i = graph->n_ops - 1; i >= 0; i--) {
        const ek__op *op = &graph->op[i];
        bool wanted = false;
        for (int k = 0; k < op->n_out; k++)
            wanted |= read[op->out[k]];
        runs[i] &= wanted || op->always_recomputed;
        for (int k = 0; k < op->n_in && runs[i]; k++)
            read[op->in[k]] = true;
    }
}

void ek__graph_run_again(const ek_job *job, const ek__graph *graph, ek__recompute recompute, bool out[EK__MAX_OPS])
{
    ek__graph_recomputed(job, graph, recompute, out);
    if (job->framework == EK_TORCHTITAN)
        drop_unread(graph, out);
    for (int k = 0; k < job->n_patterns && job->framework == EK_MEGATRON; k++) {
        compiled c;
        if (!(recompute.patterns >> k & 1) || job->pattern[k].kind != EK_PATTERN_SELECT ||
            !compile(job->pattern[k].text, &c))
            continue;
        for (int i = 0; i < graph->n_ops; i++) {
            size_t length;
            out[i] |= fit_path(&c, graph->op[i].path, &length) != NO_FIT && graph->op[i].kind != EK__OP_COMM;
        }
    }
}
