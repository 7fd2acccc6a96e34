/* Reads a file record by record: the first bytes of a line show whether it begins a node, a graph or a parameter, and a
 * node lasts until the next line that begins a record. So damage within a node cannot hide later nodes. This file has
 * the loop; the other files of this folder read the contents of a record. */
#include "ir/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "base/error.h"

enum { PROGRESS_BYTES = 8 << 20 };

/* ---- the kind of a line ---- */

typedef enum line_kind {
    LINE_OTHER,
    LINE_NODE,
    LINE_GRAPH,
    LINE_GRAPH_END,
    LINE_PARAMETER,
    LINE_MARK,
    LINE_TITLE, /* does not begin a node, but ends one */
} line_kind;

static line_kind percent_line(const char *p, const char *end, bool in_node)
{
    const char *digits = p + 1;
    if (ek__ir_begins(p, end, "%para"))
        return in_node ? LINE_OTHER : LINE_PARAMETER;
    while (digits < end && ek__ir_is_digit(*digits))
        digits++;
    return digits > p + 1 && digits < end && (*digits == ' ' || *digits == '(') ? LINE_NODE : LINE_OTHER;
}

static line_kind remark_line(const char *p, const char *end)
{
    const char *dash = p + 1;
    while (dash < end && *dash == '-')
        dash++;
    if (dash - p > 4 && dash < end && *dash == '>')
        return LINE_MARK;
    const char *word = ek__ir_skip_blanks(p + 1, end);
    if (word == end)
        return LINE_OTHER;
    if (*word == '[' && ek__ir_begins(word, end, "[No."))
        return LINE_TITLE;
    return ek__ir_begins(word, end, "IR entry") || ek__ir_begins(word, end, "Order:") ||
                   ek__ir_begins(word, end, "order:")
               ? LINE_TITLE
               : LINE_OTHER;
}

static line_kind kind_of(const char *line, const char *end, bool in_node)
{
    const char *p = ek__ir_skip_blanks(line, end);
    if (p == end)
        return LINE_OTHER;
    switch (*p) {
    case '%':
        return percent_line(p, end, in_node);
    case 'R':
        return ek__ir_begins(p, end, "Return(") ? LINE_NODE : LINE_OTHER;
    case 'P':
        return ek__ir_begins(p, end, "Primitive::Return") ? LINE_NODE : LINE_OTHER;
    case '}':
        return LINE_GRAPH_END;
    case 's':
        if (ek__ir_begins(p, end, "subgraph @"))
            return LINE_GRAPH;
        return ek__ir_begins(p, end, "subgraph attr:") || ek__ir_begins(p, end, "subgraph instance") ? LINE_TITLE
                                                                                                     : LINE_OTHER;
    case 'f':
        return ek__ir_begins(p, end, "funcgraph ") ? LINE_GRAPH : LINE_OTHER;
    case '#':
        return remark_line(p, end);
    case ',':
        return !in_node && ek__ir_begins(ek__ir_skip_blanks(p + 1, end), end, "%para") ? LINE_PARAMETER : LINE_OTHER;
    default:
        return LINE_OTHER;
    }
}

/* Whether the head of a graph ends with this line. */
static bool opens_body(const char *line, const char *end)
{
    end = ek__ir_trim(line, end);
    return end > line && end[-1] == '{';
}

/* ---- records ---- */

typedef struct source {
    ek__ir_feed feed;
    uint32_t line; /* of the next record */
} source;

/* Lengthen a record by the lines that belong to it; *n_lines counts them. */
static ek_status lengthen(source *s, line_kind kind, size_t *size, uint32_t *n_lines)
{
    bool open = kind == LINE_GRAPH && !opens_body(s->feed.text + s->feed.begin, s->feed.text + s->feed.begin + *size);
    while (kind == LINE_NODE || open) {
        size_t next;
        ek_status status = ek__ir_feed_line(&s->feed, *size, &next);
        if (status || next == *size)
            return status;
        const char *line = s->feed.text + s->feed.begin + *size, *end = s->feed.text + s->feed.begin + next;
        line_kind found = kind_of(line, end, true);
        if (found != LINE_OTHER)
            return EK_OK;
        open = open && !opens_body(line, end);
        *size = next;
        ++*n_lines;
    }
    return EK_OK;
}

static void add_record(ek__ir_reader *r, line_kind kind)
{
    switch (kind) {
    case LINE_NODE:
        ek__ir_node_read(r);
        break;
    case LINE_GRAPH:
        ek__ir_graph_open(r);
        break;
    case LINE_GRAPH_END:
        ek__ir_graph_close(r);
        break;
    case LINE_PARAMETER:
        ek__ir_parameter_line(r);
        break;
    case LINE_MARK:
        r->stopped = true;
        break;
    default:
        ek__ir_header_line(r);
    }
}

/* One record; *more is cleared at the end of the file. */
static ek_status next_record(ek__ir_reader *r, source *s, bool *more)
{
    size_t size;
    uint32_t n_lines = 1;
    r->line = s->line;
    ek_status status = ek__ir_feed_line(&s->feed, 0, &size);
    *more = status == EK_OK && size > 0;
    if (!*more)
        return status;
    const char *text = s->feed.text + s->feed.begin;
    line_kind kind = kind_of(text, text + size, false);
    status = lengthen(s, kind, &size, &n_lines);
    if (status)
        return status;
    text = s->feed.text + s->feed.begin;
    r->begin = text;
    r->end = ek__ir_trim(text, text + size);
    if (r->end > text && r->end < text + size && ek__ir_is_blank(*r->end) && ek__ir_is_digit(r->end[-1]))
        r->end++; /* "%1 " begins a node, a bare "%1" would not when it is read again */
    r->offset = s->feed.offset;
    r->has_nul = memchr(text, '\0', size) != NULL;
    if (ek__ir_skip_blanks(r->begin, r->end) < r->end)
        add_record(r, kind);
    ek__ir_feed_skip(&s->feed, size);
    s->line += n_lines;
    return r->status;
}

static bool is_interrupted(const ek_ir_options *options)
{
    return options && ek_interrupted(options->interrupt);
}

static void report_progress(const ek_ir_options *options, int64_t done, int64_t all)
{
    if (options && options->progress && all > 0)
        options->progress(options->user, (double)done / (double)all, "reading the graph");
}

static ek_status read_records(ek__ir_reader *r, source *s, const ek_ir_options *options)
{
    int64_t told = 0;
    for (bool more = true; more;) {
        ek_status status = next_record(r, s, &more);
        if (status)
            return status;
        if (s->feed.offset - told < PROGRESS_BYTES)
            continue;
        told = s->feed.offset;
        report_progress(options, told, r->ir->bytes);
        if (is_interrupted(options))
            return EK_ERR_SYSTEM;
    }
    return EK_OK;
}

/* ---- the whole ---- */

/* The file must have the header's counts, unless lines were omitted or only a part was evaluated. The number of "nodes"
 * includes constants, which have no lines, and cannot be checked. */
static void check_counts(ek__ir_reader *r)
{
    const ek_ir *ir = r->ir;
    if (r->omitted || ir->analyze_fail)
        return;
    if (ir->said_cnodes >= 0 && ir->said_cnodes != ir->n_nodes)
        ek__ir_damage_line(r, r->count_line, "the file counts %lld cnodes and shows %u; it may be cut short",
                           (long long)ir->said_cnodes, ir->n_nodes);
    if (ir->said_graphs >= 0 && ir->said_graphs != ir->n_graphs)
        ek__ir_damage_line(r, r->graphs_line, "the file counts %lld graphs and shows %u; it may be cut short",
                           (long long)ir->said_graphs, ir->n_graphs);
    if (ir->said_parameters >= 0 && ir->said_parameters != r->n_listed)
        ek__ir_damage_line(r, r->parameters_line, "the file counts %lld parameters and lists %u; it may be cut short",
                           (long long)ir->said_parameters, r->n_listed);
}

static ek_status index_texts(ek_ir *ir, const ek__texts *texts)
{
    ir->text = ek__alloc(texts->n, sizeof *ir->text);
    if (!ir->text)
        return EK_ERR_MEMORY;
    for (uint32_t i = 0; i < texts->n; i++)
        ir->text[i] = ek__texts_at(texts, i);
    ir->n_texts = texts->n;
    return EK_OK;
}

static ek_status finish(ek__ir_reader *r)
{
    ek__ir_graph_close(r);
    if (r->status == EK_OK)
        ek__ir_resolve(r);
    if (r->status)
        return r->status;
    check_counts(r);
    if (r->ir->n_diagnostics > EK__IR_MAX_DIAGNOSTICS)
        ek__warn(r->listener, (ek_origin){r->path, 0, 0}, "%u more damaged places are not reported",
                 r->ir->n_diagnostics - EK__IR_MAX_DIAGNOSTICS);
    return index_texts(r->ir, r->texts);
}

static ek_ir *new_ir(const char *name)
{
    ek_ir *ir = ek__alloc(1, sizeof *ir);
    ek__texts *texts = ek__alloc(1, sizeof *texts);
    size_t size = strlen(name) + 1;
    char *path = ek__alloc(size, 1);
    if (!ir || !texts || !path || !ek__texts_reset(texts)) {
        if (texts)
            ek__texts_clear(texts);
        free(ir);
        free(texts);
        free(path);
        return NULL;
    }
    memcpy(path, name, size);
    *ir = (ek_ir){.path = path,
                  .memory = texts,
                  .entry = EK_IR_NONE,
                  .said_nodes = -1,
                  .said_cnodes = -1,
                  .said_graphs = -1,
                  .said_parameters = -1};
    return ir;
}

void ek_ir_free(ek_ir *ir)
{
    if (!ir)
        return;
    ek__texts_clear(ir->memory);
    free(ir->memory);
    free(ir->path);
    free(ir->node);
    free(ir->input);
    free(ir->attribute);
    free(ir->type);
    free(ir->dim);
    free(ir->part);
    free(ir->graph);
    free(ir->parameter);
    free(ir->text);
    free(ir);
}

static void clear_reader(ek__ir_reader *r)
{
    ek__texts_clear(&r->raw_types);
    ek__texts_clear(&r->canon);
    ek__texts_clear(&r->keys);
    ek__texts_clear(&r->parameter_keys);
    free(r->raw_type);
    free(r->list);
    free(r->scratch);
    free(r->key_role);
    free(r->parameter_key);
    free(r->outer);
}

static ek_status explain(ek_status status, const ek__ir_reader *r, const char *name, const ek_ir_options *options,
                         ek_error *err)
{
    const ek_origin origin = {name, (int)r->line, 1};
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    if (status == EK_ERR_INPUT)
        return ek__fail(err, status, origin,
                        "a line or node of more than %d MB, or more than 2^31 items; this is no graph of MindSpore",
                        EK__IR_MAX_NODE_BYTES >> 20);
    if (is_interrupted(options))
        return ek__fail(err, status, ((ek_origin){name, 0, 0}), "interrupted");
    return ek__fail(err, status, origin, "cannot be read to its end");
}

static ek_status read_all(const char *name, source *s, int64_t size, const ek_ir_options *options,
                          const ek_listener *listener, ek_ir **out, ek_error *err)
{
    ek_ir *ir = new_ir(name);
    if (!ir)
        return ek__no_memory(err);
    ek__ir_reader r = {.path = name, .listener = listener, .ir = ir, .texts = ir->memory, .graph = EK_IR_NONE};
    ir->bytes = size;
    static const char forward[] = "forward_node_name";
    r.forward_name = ek__ir_intern(&r, forward, forward + sizeof forward - 1);
    ek_status status = r.status ? r.status : read_records(&r, s, options);
    ir->bytes = s->feed.offset;
    ir->n_lines = s->line - 1;
    if (status == EK_OK)
        status = finish(&r);
    if (status)
        explain(status, &r, name, options, err);
    else if (ir->n_nodes == 0 && ir->n_parameters == 0 && ir->n_graphs == 0)
        status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, 0, 0}),
                          "no node, parameter or graph in it; give a graph that MindSpore wrote as text (.ir)");
    clear_reader(&r);
    if (status)
        ek_ir_free(ir);
    else
        *out = ir;
    return status;
}

ek_status ek_ir_read(const char *path, const ek_ir_options *options, const ek_listener *listener, ek_ir **out,
                     ek_error *err)
{
    source s = {.line = 1};
    ek_status status = ek__ir_feed_open(&s.feed, path, err);
    if (status)
        return status;
    ek_ir *ir = NULL;
    status = read_all(ek__path_name(path), &s, ek__ir_feed_size(&s.feed), options, listener, &ir, err);
    if (status == EK_OK) {
        ir->in_file = s.feed.file > 0;
        *out = ir;
    }
    ek__ir_feed_close(&s.feed);
    return status;
}

ek_status ek_ir_parse(const char *name, const char *text, size_t size, const ek_listener *listener, ek_ir **out,
                      ek_error *err)
{
    source s = {.line = 1};
    ek__ir_feed_open_text(&s.feed, text, size);
    return read_all(name, &s, (int64_t)size, NULL, listener, out, err);
}
