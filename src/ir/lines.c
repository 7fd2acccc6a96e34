/* Reads the parts after a node's operands: groups of attributes, type lines, scope, source lines, in any order and on
 * any line, since releases differ in both. The first bytes of a part identify it. After a damaged part reading
 * continues at the next group or line; an unknown part is counted and skipped. Of the source lines only the last is
 * parsed. */
#include <string.h>

#include "ir/reader.h"

static const char *const group_words[] = {"primitive_attrs", "cnode_attrs", "cnode_primal_attrs"};
enum { N_GROUP_WORDS = 3 };

/* ---- scope ---- */

static void set_scope(ek__ir_reader *r, const char *at, const char *end)
{
    ek_ir_node *n = &r->node;
    const char *last = end, *blank = memchr(at, ' ', (size_t)(end - at));
    if (at == end)
        return;
    if (blank)
        ek__ir_damage(r, blank, "a blank within the scope; it is kept unchanged");
    while (last > at && last[-1] != '/')
        last--;
    n->scope_last = ek__ir_intern(r, last, end);
    if (last > at)
        n->scope = ek__ir_intern(r, at, last - 1);
    if (ek__ir_begins(at, end, "recompute_"))
        n->flags |= EK_IR_CELL_RECOMPUTE;
    if (ek__ir_begins(at, end, "Gradients/"))
        n->flags |= EK_IR_BACKWARD;
}

/* "(path)" or "path" up to the end of the line; if empty, it is on the next line. */
static const char *path_line(ek__ir_reader *r, const char *at)
{
    const char *line_end = ek__ir_line_end(at, r->end), *end = ek__ir_trim(at, line_end);
    at = ek__ir_skip_blanks(at, end);
    r->wants_path = at == end;
    if (at < end && *at == '(') {
        at++;
        if (end[-1] == ')')
            end--;
        else
            ek__ir_damage(r, at - 1, "the scope that opens here is not closed; it is kept unchanged");
    }
    if (r->node.scope_last == EK_IR_NONE)
        set_scope(r, at, end);
    return line_end;
}

/* ---- source ---- */

/* "file.py:15~20, 4~16/" or "file.py(33)/" as "file.py:15". */
static void set_source(ek__ir_reader *r)
{
    static const char mark[] = "In file ";
    char text[512];
    const char *line = r->source ? r->source : r->outside;
    if (!line)
        return;
    const char *at = line + sizeof mark - 1, *end = ek__ir_line_end(at, r->end), *p = at;
    while (p + 1 < end && !((*p == ':' || *p == '(') && ek__ir_is_digit(p[1])))
        p++;
    const char *digits = p + 1;
    size_t n_file = (size_t)(p - at), n_digits = 0;
    while (digits + n_digits < end && ek__ir_is_digit(digits[n_digits]))
        n_digits++;
    if (p + 1 >= end || n_file + n_digits + 1 > sizeof text) {
        r->node.source = ek__ir_intern(r, at, ek__ir_trim(at, end));
        return;
    }
    memcpy(text, at, n_file);
    text[n_file] = ':';
    memcpy(text + n_file + 1, digits, n_digits);
    r->node.source = ek__ir_intern(r, text, text + n_file + 1 + n_digits);
}

/* ---- types ---- */

/* Types of the first line that has any; the kernel's types after it belong to the device. */
static void add_types(ek__ir_reader *r, uint32_t first, uint32_t n, uint32_t output)
{
    ek_ir_node *node = &r->node;
    for (uint32_t i = 0; i < n && i + r->n_callee < node->n_inputs && !r->has_types; i++)
        r->ir->input[node->first_input + r->n_callee + i].type = r->list[first + i];
    if (output != EK_IR_NONE && !r->has_types)
        node->type = output;
    r->has_types = true;
    r->n_list = first;
}

/* ": (A, B) -> (C)", ": (A) -> (B) -> (C)", ": (C)" of a Return. */
static const char *type_line(ek__ir_reader *r, const char *at)
{
    uint32_t first = r->n_list, last = first, n_lists = 0;
    const char *p = at;
    for (bool more = true; more;) {
        if (p == r->end || *p != '(') {
            ek__ir_damage(r, p, "the types after '->' are missing; the output's type is left out");
            p = NULL;
            break;
        }
        last = r->n_list;
        p = ek__ir_types_read(r, p, r->end);
        if (!p)
            break;
        const char *arrow = ek__ir_skip_space(p, r->end);
        more = ek__ir_begins(arrow, r->end, "->");
        p = more ? ek__ir_skip_space(arrow + 2, r->end) : p;
        n_lists++;
    }
    bool has_output = p && n_lists > 1 && r->n_list > last;
    add_types(r, first, n_lists > 1 ? last - first : r->n_list - first, has_output ? r->list[last] : EK_IR_NONE);
    return p ? p : ek__ir_line_end(at, r->end);
}

static const char *colon(ek__ir_reader *r, const char *at)
{
    static const char full[] = "full_name_with_scope:";
    const char *p = ek__ir_skip_blanks(at + 1, r->end);
    if (ek__ir_begins(p, r->end, full))
        return path_line(r, p + sizeof full - 1);
    if (p < r->end && *p == '(') {
        const char *inner = ek__ir_skip_space(p + 1, r->end);
        if (inner < r->end && (*inner == '<' || *inner == ')'))
            return type_line(r, p);
        return path_line(r, p);
    }
    r->ir->n_unknown++;
    return ek__ir_line_end(at, r->end);
}

/* ---- remarks ---- */

/* "#(Tensor(F32)[3, 8], ...)": types of operands, without that of the output. */
static const char *argument_types(ek__ir_reader *r, const char *at)
{
    uint32_t first = r->n_list;
    const char *p = ek__ir_types_read(r, at, ek__ir_line_end(at, r->end));
    add_types(r, first, p ? r->n_list - first : 0, EK_IR_NONE);
    return p ? p : ek__ir_line_end(at, r->end);
}

/* In the funcgraph dialect the name follows '#' at the end of a line. */
static void set_late_name(ek__ir_reader *r, const char *at, const char *end)
{
    end = ek__ir_trim(at, end);
    if (r->node.name == EK_IR_NONE && at < end && !memchr(at, ' ', (size_t)(end - at)))
        r->node.name = ek__ir_intern(r, at, end);
}

static const char *source_line(ek__ir_reader *r, const char *at)
{
    const char *end = ek__ir_line_end(at, r->end);
    *(r->candidates ? &r->outside : &r->source) = at;
    if (r->ir->analyze_fail && r->node.name == EK_IR_NONE)
        for (const char *p = end - 1; p > at; p--)
            if (*p == '#' && p[-1] == '/') {
                set_late_name(r, p + 1, end);
                break;
            }
    return end;
}

static const char *after_word(const char *at, const char *end, const char *word)
{
    return ek__ir_begins(at, end, word) ? at + strlen(word) : NULL;
}

static const char *remark(ek__ir_reader *r, const char *hash)
{
    static const char *const scopes[] = {"Fullname with scope:", "Scope:", "scope:"};
    const char *p = ek__ir_skip_blanks(hash + 1, r->end), *end;
    if (ek__ir_begins(p, r->end, "In file "))
        return source_line(r, p);
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if ((end = after_word(p, r->end, scopes[i])) != NULL)
            return path_line(r, end);
    if (ek__ir_begins(p, r->end, "Corresponding ")) {
        r->candidates = ek__ir_begins(p, r->end, "Corresponding forward");
        return ek__ir_line_end(p, r->end);
    }
    if (p < r->end && *p == '(')
        return argument_types(r, p);
    end = ek__ir_line_end(p, r->end);
    if (hash == r->begin || hash[-1] == '\n') {
        set_late_name(r, p, end);
        return end;
    }
    for (const char *next = p; next < end; next++)
        if (*next == '#')
            return next;
    r->ir->n_unknown++;
    return end;
}

/* ---- groups ---- */

static bool begins_group(const char *at, const char *end)
{
    for (int i = 0; i < N_GROUP_WORDS; i++)
        if (ek__ir_begins(at, end, group_words[i]))
            return true;
    return ek__ir_begins(at, end, "{in_strategy:") || ek__ir_begins(at, end, "{instance name:");
}

const char *ek__ir_resume(const ek__ir_reader *r, const char *at)
{
    const char *end = ek__ir_line_end(at, r->end);
    while (at < end && !(at > r->begin && (at[-1] == ' ' || at[-1] == '}') && begins_group(at, end)))
        at++;
    return at;
}

static const char *group(ek__ir_reader *r, const char *open)
{
    const char *behind = ek__ir_pairs_read(r, open + 1, ':', '}');
    return behind ? behind : ek__ir_resume(r, open + 1);
}

/* A word: the name of a group, a title, or something unknown. */
static const char *word(ek__ir_reader *r, const char *at)
{
    for (int i = 0; i < N_GROUP_WORDS; i++) {
        const char *p = after_word(at, r->end, group_words[i]);
        if (!p || p == r->end || *p != ':')
            continue;
        p = ek__ir_skip_space(p + 1, r->end);
        if (p < r->end && *p == '{')
            return group(r, p);
        ek__ir_damage(r, p, "'{' is missing after '%s:'; this group is left out", group_words[i]);
        return ek__ir_resume(r, p);
    }
    if (ek__ir_begins(at, r->end, "Corresponding ")) {
        r->candidates = ek__ir_begins(at, r->end, "Corresponding forward");
        return ek__ir_line_end(at, r->end);
    }
    const char *end = ek__ir_line_end(at, r->end), *p = at;
    while (p < end && *p != '{' && *p != ':' && *p != '#')
        p++;
    r->ir->n_unknown++;
    if (p + 1 < end && *p == ':') { /* a group of a future release */
        ek__ir_fault fault;
        const char *open = ek__ir_skip_blanks(p + 1, end);
        const char *close =
            open < end && *open == '{' ? ek__ir_item_end(open + 1, r->end, EK__IR_ITEM_WHOLE, &fault) : NULL;
        return close && close < r->end ? close + 1 : end;
    }
    return p < end && *p != ':' ? p : end;
}

static bool is_omission(const char *at, const char *end)
{
    return ek__ir_begins(at, end, "...") || ek__ir_begins(at, end, "\xe2\x80\xa6");
}

/* A backward node names its forward node; so does a recomputed copy, which is not a backward node. */
static bool names_forward(const ek__ir_reader *r)
{
    const ek_ir_attribute *a = r->ir->attribute;
    for (uint32_t i = 0; i < r->node.n_attributes; i++)
        if (a[r->node.first_attribute + i].key == r->forward_name)
            return true;
    return r->node.forward_unique_id >= 0;
}

void ek__ir_lines_read(ek__ir_reader *r, const char *at)
{
    for (const char *p = at; p < r->end;) {
        char c = *p;
        if (ek__ir_is_space(c))
            p++;
        else if (c == '{')
            p = group(r, p);
        else if (c == ':')
            p = colon(r, p);
        else if (c == '#')
            p = remark(r, p);
        else if (c == '(' && r->wants_path)
            p = path_line(r, p);
        else if (is_omission(p, r->end)) {
            r->omitted = true;
            p = ek__ir_line_end(p, r->end);
        } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            p = word(r, p);
        else {
            r->ir->n_unknown++;
            p = ek__ir_resume(r, p + 1);
        }
    }
    if (!(r->node.flags & EK_IR_DUPLICATED) && names_forward(r))
        r->node.flags |= EK_IR_BACKWARD;
    set_source(r);
}
