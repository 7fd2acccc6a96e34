/* Reads communication_matrix.json: the traffic and time of each pair of ranks of a group, summed over operators and
 * steps (docs/trace.md). Newer files contain totals per kind of collective ("allreduce-total@<group>"), which are the
 * only ones counted; older ones contain every operator by its full name, which all count except "Total Op Info". A pair
 * that used two transports is two links, as bandwidths of different transports have no common meaning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/events/links.h"
#include "trace/scan/part.h"
#include "trace/text/left_out.h"
#include "trace/text/side_json.h"

typedef struct links {
    ek__texts index; /* of link and transport, one after the other */
    ek_trace_link *link;
    size_t capacity;
    ek__texts moves; /* of link, step and operation */
    ek_trace_move *move;
    size_t move_capacity;
    int64_t n_entries;
    ek__left_out left;
    ek__pool *pool;    /* the rank's */
    ek__pool *scratch; /* freed with the file */
} links;

/* The sums for this link, identified by "17522688603477080586:0-6\nHCCS". NULL when memory is out. */
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

static const char total_end[] = "-total";

/* Does the name's part before '@' have this end? */
static bool is_total(const char *name)
{
    const char *at = strrchr(name, '@');
    size_t size = at ? (size_t)(at - name) : strlen(name), end = strlen(total_end);
    return size >= end && memcmp(name + size - end, total_end, end) == 0;
}

/* The kind of operation in "allreduce-total@1752..", "hcom_allReduce__586_2_1@1752..". */
static size_t operation_of(const char *name, bool total)
{
    const char *at = strrchr(name, '@'), *numbers = strstr(name, "__");
    size_t size = at ? (size_t)(at - name) : strlen(name);
    if (total)
        return size - strlen(total_end);
    return numbers && numbers > name && (size_t)(numbers - name) < size ? (size_t)(numbers - name) : size;
}

/* The sums of a link in a step, by this kind of operation. NULL when memory is out. */
static ek_trace_move *move_of(links *l, int link, const char *step, const char *name, bool total)
{
    int size = (int)operation_of(name, total), n = (int)l->moves.n;
    char *unique = ek__pool_format(l->scratch, "%d\n%s\n%.*s", link, step, size, name);
    int number = unique ? (int)ek__texts_intern(&l->moves, unique, strlen(unique)) : -1;
    if (number < 0)
        return NULL;
    if (number < n)
        return &l->move[number];
    ek_trace_move *move = ek__with_room(l->move, &l->move_capacity, (size_t)n + 1, sizeof *move);
    if (!move)
        return NULL;
    l->move = move;
    move[number] = (ek_trace_move){.link = link,
                                   .step = ek__pool_text(l->pool, step, strlen(step)),
                                   .operation = ek__pool_text(l->pool, name, (size_t)size)};
    return move[number].step && move[number].operation ? &move[number] : NULL;
}

static ek_status add_operator(links *l, const char *step, const char *name, bool total, json_t *pairs, ek_error *err)
{
    const char *at = strrchr(name, '@');
    const char *pair;
    json_t *entry;
    if (!json_is_object(pairs))
        ek__left_out_add(&l->left, "'%.80s' contains no links", name);
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
        ek_trace_move *move = link ? move_of(l, (int)(link - l->link), step, name, total) : NULL;
        if (!move)
            return ek__no_memory(err);
        link->size_mb += size;
        link->time_ms += time;
        move->size_mb += size;
        move->time_ms += time;
    }
    return EK_OK;
}

/* An ek__take_section. */
static ek_status add_section(void *user, const char *step, bool p2p, json_t *section, ek_error *err)
{
    links *l = user;
    (void)p2p;
    const char *name;
    json_t *pairs;
    bool has_totals = false;
    json_object_foreach(section, name, pairs) has_totals = has_totals || is_total(name);
    json_object_foreach(section, name, pairs)
    {
        if (has_totals ? !is_total(name) : strncmp(name, "Total Op Info", strlen("Total Op Info")) == 0)
            continue;
        ek_status status = add_operator(l, step, name, has_totals, pairs, err);
        if (status)
            return status;
    }
    return EK_OK;
}

static int by_link(const void *a, const void *b)
{
    const ek_trace_move *x = a, *y = b;
    int order = (x->link > y->link) - (x->link < y->link);
    order = order ? order : strcmp(x->step, y->step);
    return order ? order : strcmp(x->operation, y->operation);
}

/* Append links to those of the rank, and after that their sums. */
static ek_status add_links(links *l, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_communication *out = &rank->communication;
    size_t n = l->moves.n, n_before = (size_t)out->n_moves;
    int first = out->n_links;
    ek_trace_move *all = ek__pool_alloc(l->pool, n_before + n, sizeof *all);
    ek_status status = all ? ek__links_add(rank, l->link, (size_t)l->index.n, err) : ek__no_memory(err);
    if (status)
        return status;
    if (n > 1)
        qsort(l->move, n, sizeof *l->move, by_link);
    for (size_t i = 0; i < n_before; i++)
        all[i] = out->move[i];
    for (size_t i = 0; i < n; i++) {
        all[n_before + i] = l->move[i];
        all[n_before + i].link += first;
    }
    out->move = all;
    out->n_moves = (int)(n_before + n);
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
        status = add_links(&l, in->rank, err);
    if (!status)
        in->source->items = l.n_entries;
    json_decref(root);
    ek__pool_free(l.scratch);
    ek__texts_clear(&l.index);
    ek__texts_clear(&l.moves);
    free(l.link);
    free(l.move);
    return status;
}
