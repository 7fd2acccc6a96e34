/* communication_matrix.json: what each pair of ranks of a group moved and how long that took, summed over operators and
 * steps (docs/trace.md). Newer files hold totals per kind of collective ("allreduce-total@<group>"), which alone count;
 * older ones every operator by its full name, which all count but "Total Op Info". A pair that used two transports is
 * two links, as bandwidths of different transports have no common meaning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/events/links.h"
#include "trace/scan/part.h"
#include "trace/text/left_out.h"
#include "trace/text/side_json.h"

typedef struct links {
    ek__texts index; /* of link and transport, one behind the other */
    ek_trace_link *link;
    size_t capacity;
    int64_t n_entries;
    ek__left_out left;
    ek__pool *pool;    /* the rank's */
    ek__pool *scratch; /* goes with the file */
} links;

/* A place of sums for this link, known by "17522688603477080586:0-6\nHCCS". NULL when memory is out. */
static ek_trace_link *link_of(links *l, const char *group, const char *pair, const char *transport)
{
    char *unique = ek__pool_format(l->scratch, "%s%s%s\n%s", group, *group ? ":" : "", pair, transport);
    if (!unique)
        return NULL;
    int n = (int)l->index.n;
    int number = (int)ek__texts_intern(&l->index, unique, strlen(unique));
    if (number < 0)
        return NULL;
    if (number < n)
        return &l->link[number];
    ek_trace_link *link = ek__with_room(l->link, &l->capacity, (size_t)n + 1, sizeof *link);
    if (!link)
        return NULL;
    l->link = link;
    size_t name_size = strlen(unique) - strlen(transport) - 1;
    const char *name = ek__pool_text(l->pool, unique, name_size);
    const char *kept = ek__pool_text(l->pool, transport, strlen(transport));
    if (!name || !kept)
        return NULL;
    link[number] = (ek_trace_link){.link = name, .transport = kept, .size_kb = NAN, .bytes_per_s = NAN};
    return &link[number];
}

static ek_status add_operator(links *l, const char *name, json_t *pairs, ek_error *err)
{
    const char *at = strrchr(name, '@');
    const char *pair;
    json_t *entry;
    if (!json_is_object(pairs))
        ek__left_out_add(&l->left, "'%.80s' holds no links", name);
    json_object_foreach(pairs, pair, entry)
    {
        l->n_entries++;
        const char *transport = json_string_value(json_object_get(entry, "Transport Type"));
        double size = 0, time = 0;
        if (!transport || !ek__side_json_number(entry, "Transit Size(MB)", true, &size) ||
            !ek__side_json_number(entry, "Transit Time(ms)", true, &time) || size < 0 || time < 0) {
            ek__left_out_add(&l->left, "link '%.40s' of '%.80s' lacks a usable transport, size or time", pair, name);
            continue;
        }
        ek_trace_link *link = link_of(l, at ? at + 1 : "", pair, transport);
        if (!link)
            return ek__no_memory(err);
        link->size_mb += size;
        link->time_ms += time;
    }
    return EK_OK;
}

/* Does the name's part before '@' end so? */
static bool is_total(const char *name)
{
    const char *at = strrchr(name, '@');
    size_t size = at ? (size_t)(at - name) : strlen(name);
    return size >= strlen("-total") && memcmp(name + size - strlen("-total"), "-total", strlen("-total")) == 0;
}

/* An ek__take_section. */
static ek_status add_section(void *user, const char *step, bool p2p, json_t *section, ek_error *err)
{
    links *l = user;
    (void)step;
    (void)p2p;
    const char *name;
    json_t *pairs;
    bool has_totals = false;
    json_object_foreach(section, name, pairs) has_totals = has_totals || is_total(name);
    json_object_foreach(section, name, pairs)
    {
        if (has_totals ? !is_total(name) : strncmp(name, "Total Op Info", strlen("Total Op Info")) == 0)
            continue;
        ek_status status = add_operator(l, name, pairs, err);
        if (status)
            return status;
    }
    return EK_OK;
}

ek_status ek__table_communication_matrix(const ek__table_in *in, ek_error *err)
{
    json_t *root = NULL;
    ek_status status = ek__side_json_read(in, &root, err);
    if (status)
        return status;
    links l = {.pool = in->rank->pool, .scratch = ek__pool_new()};
    status = !l.scratch ? ek__no_memory(err) : ek__side_json_steps(in, root, "links", &l.left, add_section, &l, err);
    for (int i = 0; !status && i < (int)l.index.n; i++) /* MB / ms = GB/s */
        l.link[i].bandwidth_gbps = l.link[i].time_ms > 0 ? l.link[i].size_mb / l.link[i].time_ms : NAN;
    if (!status)
        status = ek__left_out_report(&l.left, "entry", "entries", NULL, in, err);
    if (!status)
        status = ek__links_add(in->rank, l.link, (size_t)l.index.n, err);
    if (!status)
        in->source->items = l.n_entries;
    json_decref(root);
    ek__pool_free(l.scratch);
    ek__texts_clear(&l.index);
    free(l.link);
    return status;
}
