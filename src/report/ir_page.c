/* How the writers of graphs print sizes, nodes, scopes and sentences for people. Names come from files and may hold
 * anything: all of them go through ek__print_name(). Widths are columns of a terminal, not bytes. */
#include <inttypes.h>
#include <string.h>

#include "report/ir_internal.h"

const char *const ek__ir_flag_name[EK__IR_N_FLAGS] = {"recompute",
                                                      "duplicated",
                                                      "need_cse_after_recompute",
                                                      "target_grad",
                                                      "backward",
                                                      "cell recomputed whole",
                                                      "recompute_comm_op",
                                                      "skip_redistribution",
                                                      "return",
                                                      "call",
                                                      "damaged",
                                                      "compilation stopped here"};

ek__digits ek__ir_node_label(const ek_ir *ir, uint32_t node)
{
    ek__digits text = {"-"};
    if (node == EK_IR_NONE)
        return text;
    if (ir->node[node].flags & EK_IR_RETURN)
        snprintf(text.text, sizeof text.text, "Return");
    else if (ir->node[node].number != EK_IR_NONE)
        snprintf(text.text, sizeof text.text, "%%%" PRIu32, ir->node[node].number);
    return text;
}

const char *ek__ir_primitive(const ek_ir *ir, uint32_t node)
{
    const ek_ir_node *n = &ir->node[node];
    return n->primitive != EK_IR_NONE ? ek_ir_text(ir, n->primitive) : n->flags & EK_IR_RETURN ? "Return" : "-";
}

void ek__ir_print_named(const ek_ir *ir, uint32_t node, FILE *out)
{
    if (ir->node[node].number != EK_IR_NONE)
        fprintf(out, "%%%" PRIu32 " ", ir->node[node].number);
    ek__print_name(ek__ir_primitive(ir, node), out);
}

/* ---- sizes ---- */

ek__digits ek__ir_size(int64_t bytes)
{
    static const struct {
        int64_t below, unit;
        const char *name;
    } scale[] = {{1 << 20, 1 << 10, "KiB"}, {10000LL << 20, 1 << 20, "MiB"}, {INT64_MAX, 1 << 30, "GiB"}};
    ek__digits text = {"-"};
    if (bytes < 0)
        return text;
    if (bytes < 1024) {
        snprintf(text.text, sizeof text.text, "%" PRId64 " B", bytes);
        return text;
    }
    int k = 0;
    while (k < 2 && bytes >= scale[k].below)
        k++;
    snprintf(text.text, sizeof text.text, "%.30s %s", ek__fixed((double)bytes / (double)scale[k].unit, 1).text,
             scale[k].name);
    return text;
}

ek__digits ek__ir_size_change(int64_t bytes)
{
    ek__digits text = {"0 B"};
    if (bytes != 0)
        snprintf(text.text, sizeof text.text, "%c%.40s", bytes < 0 ? '-' : '+',
                 ek__ir_size(bytes == INT64_MIN ? INT64_MAX
                             : bytes < 0        ? -bytes
                                                : bytes)
                     .text);
    return text;
}

/* ---- names ---- */

const char *ek__ir_tail(const char *text, int width)
{
    uint32_t code;
    int columns = ek__columns(text);
    if (columns <= width)
        return text;
    for (int length; columns > width - 3 && (length = ek__utf8_next(text, &code)); text += length) {
        char one[5] = "";
        memcpy(one, text, (size_t)length);
        columns -= ek__columns(one);
    }
    return text;
}

void ek__ir_print_tail(const char *text, int width, FILE *out)
{
    const char *tail = ek__ir_tail(text, width);
    fputs(tail > text ? "..." : "", out);
    ek__print_name(tail, out);
}

void ek__ir_print_cell(const char *text, int width, FILE *out)
{
    char cut[512];
    uint32_t code;
    int columns = ek__columns(text);
    if (columns > width) {
        size_t used = 0;
        columns = 0;
        for (int length; (length = ek__utf8_next(text + used, &code)) && used + 8 < sizeof cut;
             used += (size_t)length) {
            char one[5] = "";
            memcpy(one, text + used, (size_t)length);
            if (columns + ek__columns(one) > width - 3)
                break;
            columns += ek__columns(one);
        }
        snprintf(cut, sizeof cut, "%.*s...", (int)used, text);
        text = cut;
        columns += 3;
    }
    ek__print_name(text, out);
    fprintf(out, "%*s", columns < width ? width - columns : 0, "");
}

/* One line of a text: words until its end, broken where they would pass the last column. */
static void print_line(const char *text, size_t size, int indent, FILE *out)
{
    size_t at = 0;
    int column = indent;
    bool begun = false;
    fprintf(out, "%*s", indent, "");
    for (; at < size && text[at] == ' '; at++, column++)
        fputc(' ', out);
    while (at < size) {
        char word[1024];
        size_t n = 0;
        while (at + n < size && text[at + n] != ' ' && n + 1 < sizeof word)
            n++;
        memcpy(word, text + at, n);
        word[n] = '\0';
        int width = ek__columns(word);
        if (begun && column + 1 + width > EK__IR_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            begun = false;
        }
        if (begun) {
            fputc(' ', out);
            column++;
        }
        ek__print_name(word, out);
        column += width;
        begun = true;
        at += n;
        while (at < size && text[at] == ' ')
            at++;
    }
    fputc('\n', out);
}

void ek__ir_print_wrapped(const char *text, int indent, FILE *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        print_line(text, n, indent, out);
        text += n + (text[n] == '\n');
    }
}

void ek__ir_heading(const ek_ir_view *view, const char *text, FILE *out)
{
    bool color = view && view->color;
    fprintf(out, "\n%s%s%s", color ? "\033[1m" : "", text, color ? "\033[0m" : "");
}

ek__digits ek__ir_layers(int first, int last)
{
    ek__digits text = {"outside layers"};
    if (last >= 0 && first == last)
        snprintf(text.text, sizeof text.text, "layer %d", first);
    else if (last >= 0 && first >= 0)
        snprintf(text.text, sizeof text.text, "layers %d to %d", first, last);
    else if (last >= 0)
        snprintf(text.text, sizeof text.text, "layers to %d, and outside", last);
    return text;
}
