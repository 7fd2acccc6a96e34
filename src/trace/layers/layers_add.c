/* Helpers of the sources of layers: layers and passes as they are found, steps by time, numbers in the names of
 * modules. */
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"
#include "trace/layers/layers.h"

void ek__layer_search_clear(ek__layer_search *search)
{
    free(search->layer);
    free(search->pass);
    free(search->member);
    search->layer = NULL;
    search->pass = NULL;
    search->member = NULL;
    search->n_layers = search->layers_capacity = search->n_passes = search->passes_capacity = 0;
    search->n_members = search->members_capacity = 0;
}

int32_t ek__layer_add(ek__layer_search *search, const ek__found_layer *layer)
{
    if (search->n_layers >= INT32_MAX)
        return -1;
    void *room = ek__with_room(search->layer, &search->layers_capacity, search->n_layers + 1, sizeof *search->layer);
    if (!room)
        return -1;
    search->layer = room;
    search->layer[search->n_layers] = *layer;
    return (int32_t)search->n_layers++;
}

bool ek__layer_pass_add(ek__layer_search *search, const ek__layer_pass *pass)
{
    void *room = ek__with_room(search->pass, &search->passes_capacity, search->n_passes + 1, sizeof *search->pass);
    if (!room)
        return false;
    search->pass = room;
    search->pass[search->n_passes++] = *pass;
    return true;
}

bool ek__layer_member_add(ek__layer_search *search, int64_t start, int32_t layer)
{
    if (!search->options || !search->options->measure)
        return true;
    void *room =
        ek__with_room(search->member, &search->members_capacity, search->n_members + 1, sizeof *search->member);
    if (!room)
        return false;
    search->member = room;
    search->member[search->n_members++] = (ek__layer_member){start, layer};
    return true;
}

/* The last step that begins at `time` or before and lasts until it; steps are in order of time. */
static int32_t find_step(const ek__layer_search *search, int64_t time, bool on_host)
{
    const ek_trace_rank *rank = search->rank;
    if (rank->n_steps == 0)
        return 0;
    int low = 0, high = rank->n_steps;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const ek_trace_step *s = &rank->step[middle];
        if ((on_host ? s->host_start : s->start) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return -1;
    const ek_trace_step *s = &rank->step[low - 1];
    bool inside = on_host ? time - s->host_start <= s->host_step : time <= s->end;
    return inside && (!s->warm_up || search->use_warm_up) ? low - 1 : -1;
}

int32_t ek__layer_step(const ek__layer_search *search, int64_t time)
{
    return find_step(search, time, false);
}

int32_t ek__layer_host_step(const ek__layer_search *search, int64_t time)
{
    bool known = search->rank->n_steps > 0;
    for (int i = 0; i < search->rank->n_steps && known; i++)
        known = search->rank->step[i].host_start != EK_TRACE_UNKNOWN && search->rank->step[i].host_step > 0;
    return find_step(search, time, known);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int ek__element_number(const char *element, size_t size, size_t *kind)
{
    size_t n = 0;
    int number = 0;
    for (; n < size && is_digit(element[n]) && n < 9; n++)
        number = 10 * number + (element[n] - '0');
    if (n == 0 || n + 1 >= size || element[n] != '-')
        return -1;
    *kind = n + 1;
    return number;
}

int ek__module_number(const char *module, size_t *kind_size)
{
    size_t size = strlen(module), n = size;
    while (n > 0 && is_digit(module[n - 1]))
        n--;
    if (n == size || n < 2 || module[n - 1] != '_' || size - n > 9) {
        *kind_size = size;
        return -1;
    }
    *kind_size = n - 1;
    return atoi(module + n);
}

bool ek__layer_named(const char *const *name, int n, const char *element, size_t size)
{
    for (int i = 0; i < n; i++) {
        size_t length = strlen(name[i]);
        if (length == 0 || length > size)
            continue;
        bool at_end = memcmp(element + size - length, name[i], length) == 0;
        if (at_end && (length == size || element[size - length - 1] == '-'))
            return true;
        size_t at = size;
        while (at > 0 && is_digit(element[at - 1]))
            at--;
        if (at < size && at == length + 1 && element[length] == '_' && memcmp(element, name[i], length) == 0)
            return true;
    }
    return false;
}
