/* Formats operators, modules and bytes for the texts of findings. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "ir/check.h"

enum { MODULE_PATH = 256 };

const char *ek__ir_say(ek__ir_context *context, const char *format, ...)
{
    va_list arguments;
    char small[512];
    va_start(arguments, format);
    int n = ek__vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    char *out = n < 0 ? NULL : ek__pool_alloc(context->report->pool, (size_t)n + 1, 1);
    if (!out) {
        context->out_of_memory = true;
        return "";
    }
    va_start(arguments, format);
    ek__vsnprintf(out, (size_t)n + 1, format, arguments);
    va_end(arguments);
    return out;
}

const char *ek__ir_bytes_text(char out[static 32], int64_t bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024;
    int u = 0;
    if (bytes < 0)
        return "an unknown number of bytes";
    if (bytes < 1024) {
        snprintf(out, 32, "%d B", (int)bytes);
        return out;
    }
    for (; value >= 1024 && u < 3; u++)
        value /= 1024;
    ek__snprintf(out, 32, value < 10 ? "%.2f %s" : "%.1f %s", value, unit[u]);
    return out;
}

/* The start of the elements below the outermost layer; NULL without a layer. */
static const char *below_layer(const char *scope)
{
    for (const char *at = scope; *at;) {
        size_t n = strcspn(at, "/");
        if (ek__ir_layer_digits(at))
            return at + n + (at[n] == '/');
        at += n + (at[n] == '/');
    }
    return NULL;
}

bool ek__ir_module_path(const ek__ir_context *context, uint32_t node, const char *separator, char *out, size_t size)
{
    uint32_t text = context->ir->node[node].scope;
    if (text == EK_IR_NONE)
        return false;
    const char *scope = context->ir->text[text], *at = below_layer(scope), *last = strrchr(scope, '/');
    size_t used = 0;
    if (!at)
        at = last ? last + 1 : scope;
    out[0] = '\0';
    while (*at) {
        size_t n = strcspn(at, "/"), name = strcspn(at, "-");
        int wrote = snprintf(out + used, size - used, "%s%.*s", used ? separator : "", (int)(name < n ? name : n), at);
        if (wrote < 0 || (size_t)wrote >= size - used)
            return false;
        used += (size_t)wrote;
        at += n + (at[n] == '/');
    }
    return true;
}

const char *ek__ir_name(ek__ir_context *context, uint32_t node)
{
    const ek_ir_node *n = &context->ir->node[node];
    char path[MODULE_PATH] = "", number[16] = "";
    if (n->number != EK_IR_NONE)
        snprintf(number, sizeof number, " %%%" PRIu32, n->number);
    bool known = ek__ir_module_path(context, node, ".", path, sizeof path) && *path;
    return ek__ir_say(context, known ? "%s%s (%s)" : "%s%s", ek_ir_text(context->ir, n->primitive), number, path);
}
