/* Prints sizes, nodes and layers for the writers of graphs. Names come from files and may contain any bytes: all of
 * them go through ek__print_name(). */
#include <inttypes.h>

#include "evenkeel/ir.h"
#include "report/ir_internal.h"

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

/* ---- lines ---- */

void ek__ir_heading(const ek_ir_view *view, const char *text, FILE *out)
{
    ek__print_heading(view && view->color, text, out);
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
