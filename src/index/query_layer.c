/* Finds the layer of one event on demand. The layer is found from a numbered element of its name's path
 * ("12-LlamaDecoderLayer"; the outermost counts), from the operator named in its arguments, from the enclosing PyTorch
 * modules on the host, or from its launcher over up to MAX_HOPS arrows. Of the enclosing modules, the outermost one of
 * a kind that occurs more than once in the trace counts. Not handled: layers that can only be found from all passes of
 * a rank (src/trace/layers/layers_paths.c), which the layers tab shows. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "index/opened.h"
#include "trace/layers/layers.h"

enum { MAX_HOPS = 3, MAX_ARROWS = 8, LAYER_SIZE = 256 };

static const char module_prefix[] = "nn.Module: ";

static bool add_layer(const char *text, size_t size, char layer[LAYER_SIZE])
{
    if (size == 0 || size >= LAYER_SIZE)
        return false;
    memcpy(layer, text, size);
    layer[size] = '\0';
    assert(strlen(layer) < LAYER_SIZE);
    return true;
}

/* The outermost element "12-Name" of a path. */
static bool layer_of_path(const char *text, size_t size, char layer[LAYER_SIZE])
{
    for (size_t from = 0; from < size;) {
        const char *slash = memchr(text + from, '/', size - from);
        size_t n = slash ? (size_t)(slash - text) - from : size - from, kind;
        assert(from + n <= size);
        if (ek__element_number(text + from, n, &kind) >= 0)
            return add_layer(text + from, n, layer);
        from += n + 1;
    }
    return false;
}

/* ---- the event's own text ---- */

static bool layer_of_arguments(const char *text, size_t size, char layer[LAYER_SIZE])
{
    static const char *const key[] = {"mindspore_op", "fullname"};
    json_t *root = json_loadb(text, size, 0, NULL);
    const json_t *args = json_object_get(root, "args");
    bool found = false;
    for (size_t i = 0; i < sizeof key / sizeof *key && !found; i++) {
        const json_t *value = json_object_get(args, key[i]);
        if (json_is_string(value))
            found = layer_of_path(json_string_value(value), json_string_length(value), layer);
    }
    json_decref(root);
    return found;
}

/* ---- modules ---- */

/* Does the trace have another "nn.Module: Kind_N"? `prefix`: up to and with the '_'. O(names). */
static bool has_another(const ek__index_opened *file, const ek__index_names_read *names, uint32_t name,
                        const char *text, size_t prefix)
{
    assert(prefix >= 1 && text[prefix - 1] == '_');
    for (uint32_t i = 0; i < file->n_names; i++) {
        size_t size = names->name[i].text.size;
        if (i == name || size <= prefix || size > prefix + 7)
            continue;
        const char *other = ek__index_text_of(file, names, i, &size);
        if (size <= prefix || memcmp(other, text, prefix) != 0)
            continue;
        size_t digits = 0;
        while (prefix + digits < size && other[prefix + digits] >= '0' && other[prefix + digits] <= '9')
            digits++;
        if (prefix + digits == size)
            return true;
    }
    return false;
}

static bool layer_of_module(const ek__index_opened *file, const ek__index_names_read *names, uint32_t name,
                            char layer[LAYER_SIZE])
{
    char module[LAYER_SIZE];
    size_t size, kind, skip = sizeof module_prefix - 1;
    const char *text = ek__index_text_of(file, names, name, &size);
    if (size <= skip || memcmp(text, module_prefix, skip) != 0 || !add_layer(text + skip, size - skip, module) ||
        ek__module_number(module, &kind) < 0 || !has_another(file, names, name, text, skip + kind + 1))
        return false;
    return add_layer(module, size - skip, layer);
}

/* ---- the launcher ---- */

typedef struct asked {
    const ek__index_opened *file;
    const ek__index_names_read *names;
    ek__index_groups *groups;
    char *layer;
    ek_error *err;
} asked;

/* The modules that enclose a time on a track, outermost first; deeper rows are below. */
static ek_status layer_of_parents(const asked *a, int row, int64_t time)
{
    const ek__index_opened *file = a->file;
    assert(row >= 0 && (uint32_t)row < file->n_rows);
    const ek__index_track *track = &file->track[file->row[row].track];
    assert((uint32_t)row - track->first_row < track->n_rows);
    ek_status status = EK_OK;
    for (uint32_t r = track->first_row; (int)r <= row && !*a->layer && status == EK_OK; r++) {
        uint32_t at;
        ek__index_event event;
        status = ek__index_locate(file, &file->row[r], time, a->groups, &at, &event, a->err);
        if (status == EK_OK && at != UINT32_MAX)
            layer_of_module(file, a->names, event.name, a->layer);
    }
    return status;
}

static ek_status ask(const asked *a, int row, uint32_t at, const ek__index_event *event, int hops);

static ek_status ask_launchers(const asked *a, int row, uint32_t at, const ek__index_event *event, int hops)
{
    ek__index_arrow arrow[MAX_ARROWS];
    int n = 0;
    assert(hops >= 1 && hops <= MAX_HOPS);
    ek_status status = ek__index_arrows_of(a->file, row, at, event, true, a->groups, arrow, MAX_ARROWS, &n, a->err);
    for (int i = 0; i < n && !*a->layer && status == EK_OK; i++) {
        int from;
        uint32_t from_at;
        ek__index_event launcher;
        status = ek__index_locate_deepest(a->file, &a->file->track[arrow[i].from_track], arrow[i].from_time, a->groups,
                                          &from, &from_at, &launcher, a->err);
        if (status == EK_OK && from >= 0)
            status = ask(a, from, from_at, &launcher, hops - 1);
    }
    return status;
}

static ek_status ask(const asked *a, int row, uint32_t at, const ek__index_event *event, int hops)
{
    size_t size;
    const char *name = ek__index_text_of(a->file, a->names, event->name, &size);
    if (layer_of_path(name, size, a->layer))
        return EK_OK;
    ek_status status = layer_of_parents(a, row, event->begin);
    if (status == EK_OK && !*a->layer && hops > 0)
        status = ask_launchers(a, row, at, event, hops);
    return status;
}

ek_status ek__index_layer(const ek__index_opened *file, int row, uint32_t at, const ek__index_event *event,
                          const char *text, size_t size, ek__index_groups *groups, char layer[LAYER_SIZE],
                          ek_error *err)
{
    size_t name_size;
    const ek__index_names_read *names;
    ek_status status = ek__index_names_of(file, &names, err);
    layer[0] = '\0';
    if (status != EK_OK)
        return status;
    const char *name = ek__index_text_of(file, names, event->name, &name_size);
    if (layer_of_path(name, name_size, layer) || layer_of_arguments(text, size, layer))
        return EK_OK;
    asked a = {file, names, groups, layer, err};
    return ask(&a, row, at, event, MAX_HOPS);
}
