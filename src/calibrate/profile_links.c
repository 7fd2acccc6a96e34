/* Turns collectives of a profile into times for the fit of links: operation, bytes and ranks of the group, each once. A
 * rank that arrives early waits inside the collective. Where all ranks of a group are present, or the profiler itself
 * separates transfer and waiting, each rank's transfer is known, and their median is used; else the shortest of at
 * least three, since the last rank to arrive does not wait. The number of ranks on a node follows from the ranks of the
 * group.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/median.h"
#include "calibrate/profile.h"
#include "evenkeel/layers.h"

enum { LEAST_OF_A_SIZE = 3, MAX_TEXT_RANKS = 4096 };

const char *const ek__profile_collective_name[EK_N_PROFILE_COLLECTIVES] = {"whole",    "shortest", "unsized",
                                                                           "unplaced", "too_few",  "unmodelled"};
const char *const *const ek_profile_collective_name = ek__profile_collective_name;

typedef struct sample {
    ek_collective what;
    int n_ranks, per_node;
    double bytes, seconds;
    bool whole; /* without waiting */
} sample;

typedef struct samples {
    size_t n, room;
    sample *at;
} samples;

/* ---- properties of a collective ---- */

/* Words of all profilers, without case and underscores; the longer first where one is part of another. */
static const struct {
    const char *word;
    int what; /* ek_collective; -1: not modelled */
} words[] = {
    {"allreduce", EK_COLLECTIVE_ALL_REDUCE},
    {"reducescatter", EK_COLLECTIVE_REDUCE_SCATTER},
    {"allgather", EK_COLLECTIVE_ALL_GATHER},
    {"alltoall", EK_COLLECTIVE_ALL_TO_ALL},
    {"broadcast", -1},
    {"barrier", -1},
    {"scatter", -1},
    {"gather", -1},
    {"reduce", -1},
    {"send", EK_COLLECTIVE_P2P},
    {"receive", EK_COLLECTIVE_P2P},
    {"recv", EK_COLLECTIVE_P2P},
};

/* -2: of no word; -1: not modelled. `end` ends the name. */
static int operation_of(const char *name, const char *end)
{
    char plain[64];
    size_t n = 0;
    for (; name < end && *name && n + 1 < sizeof plain; name++)
        if (*name != '_' && *name != '-')
            plain[n++] = *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(plain, words[i].word))
            return words[i].what;
    return -2;
}

static double size_of_type(const char *type, size_t size)
{
    static const struct {
        const char *name;
        double bytes;
    } types[] = {{"Float", 4}, {"BFloat16", 2}, {"Half", 2},  {"Double", 8}, {"Long", 8},          {"Int", 4},
                 {"Char", 1},  {"Byte", 1},     {"Short", 2}, {"Bool", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == size && strncmp(types[i].name, type, size) == 0)
            return types[i].bytes;
    return 0;
}

/* "allreduce|Float|2049000|2049000|2|[0, 1]" in parts. */
typedef struct message {
    const char *name, *type, *in, *out, *ranks_text;
    int n_ranks;
    size_t type_size;
} message;

static bool parse(const char *text, message *m)
{
    const char *part[6] = {text};
    for (int i = 1; i < 6; i++) {
        const char *bar = strchr(part[i - 1], '|');
        if (!bar)
            return false;
        part[i] = bar + 1;
    }
    *m = (message){.name = text, .type = part[1], .in = part[2], .out = part[3], .ranks_text = part[5]};
    m->type_size = (size_t)(part[2] - part[1]) - 1;
    long n = strtol(part[4], NULL, 10);
    m->n_ranks = n > 1 && n <= EK_MAX_RANKS ? (int)n : 0;
    return true;
}

/* The share of a whole message that one rank sends, as in communication.json. */
static double share_sent(ek_collective what, int n)
{
    double others = (n - 1.0) / n;
    return what == EK_COLLECTIVE_ALL_REDUCE ? 2 * others : what == EK_COLLECTIVE_P2P ? 1 : others;
}

/* ---- where its ranks are ---- */

/* "[0, 8]": the most of them on one node; 0 when the text does not list n ranks, as where profilers cut it. */
static int per_node_of(const char *text, int n, int node)
{
    int at_node[MAX_TEXT_RANKS], count = 0, most = 0;
    if (*text++ != '[' || n > MAX_TEXT_RANKS)
        return 0;
    while (count < n) {
        char *end;
        long rank = strtol(text, &end, 10);
        if (end == text || rank < 0 || rank >= EK_MAX_RANKS)
            return 0;
        at_node[count++] = (int)rank / node;
        text = end + strspn(end, ", ");
    }
    if (*text != ']')
        return 0;
    for (int i = 0, run = 0; i < n; i++) { /* ranks ascend, so those of a node follow one another */
        run = i > 0 && at_node[i] == at_node[i - 1] ? run + 1 : 1;
        most = run > most ? run : most;
    }
    return most;
}

/* Links that the group's ranks used, where all of them are within a node. */
static bool stays_in_node(const ek_trace_rank *rank, const char *group)
{
    const ek_trace_communication *c = &rank->communication;
    bool any = false;
    for (int i = 0; i < c->n_links; i++) {
        const char *colon = strchr(c->link[i].link, ':');
        size_t size = colon ? (size_t)(colon - c->link[i].link) : 0, n = group ? strlen(group) : 0;
        if (n == 0 || size < n || memcmp(colon - n, group, n) != 0)
            continue;
        if (strcmp(c->link[i].transport, "RDMA") == 0)
            return false;
        any = true;
    }
    return any;
}

static int placed(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_collective *c, const char *ranks,
                  int n, int node)
{
    int listed = ranks ? per_node_of(ranks, n, node) : 0;
    int world = rank->world_size > 0 ? rank->world_size : run->topology.world_size;
    if (listed > 0)
        return listed;
    if (world > 0 && world <= node) /* one node */
        return n;
    if (world > 0 && n == world)
        return node;
    return n <= node && stays_in_node(rank, c->group) ? n : 0;
}

/* ---- samples ---- */

static ek_profile_collective describe(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_collective *c,
                                      int64_t transfer, int node, sample *out)
{
    message m = {.name = c->name};
    bool told = c->message && parse(c->message, &m);
    const char *bar = strchr(m.name, '|');
    int what = operation_of(m.name, bar ? bar : m.name + strlen(m.name));
    if (what < 0)
        return what == -1 ? EK_PROFILE_UNMODELLED : EK_PROFILE_UNSIZED;
    *out = (sample){.what = (ek_collective)what, .n_ranks = told ? m.n_ranks : c->n_group};
    if (what == EK_COLLECTIVE_P2P && out->n_ranks == 0)
        out->n_ranks = 2;
    if (told)
        out->bytes = fmax(ek__strtod(m.in, NULL), ek__strtod(m.out, NULL)) * size_of_type(m.type, m.type_size);
    else if (out->n_ranks > 1)
        out->bytes = c->moved_mb * 1e6 / share_sent(out->what, out->n_ranks);
    if (out->n_ranks < 2 || !(out->bytes >= 1 && out->bytes < 1e15))
        return EK_PROFILE_UNSIZED;
    if (what == EK_COLLECTIVE_P2P && out->n_ranks > 2) /* a pipeline's group does not say which two of it */
        return EK_PROFILE_UNPLACED;
    out->per_node = placed(run, rank, c, told ? m.ranks_text : NULL, out->n_ranks, node);
    if (out->per_node == 0)
        return EK_PROFILE_UNPLACED;
    bool transit = c->transit != EK_TRACE_UNKNOWN && c->transit > 0;
    /* Ascend's transit is the profiler's own; of GPUs it is the shortest of the ranks in the run. */
    out->whole =
        transfer > 0 || (transit && !c->at_most && (rank->producer != EK_PRODUCER_KINETO || c->n_here >= out->n_ranks));
    out->seconds = (double)(transfer > 0 ? transfer : transit ? c->transit : c->duration) * 1e-9;
    return out->seconds > 0 ? EK_PROFILE_WHOLE : EK_PROFILE_UNSIZED;
}

/* Collectives that only a table has are in no step. */
static bool is_warm_up(const ek_trace_rank *rank, const ek_trace_collective *c)
{
    return c->step >= 0 && c->step < rank->n_steps && rank->step[c->step].warm_up;
}

/* @param transfer  of each collective, as ek__profile_arrivals() has it */
static ek_status gather(const ek_trace_run *run, const int64_t *transfer, int node, samples *all,
                        ek_calibrated_profile *out, ek_error *err)
{
    size_t at = 0;
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].communication.n_collectives; i++, at++) {
            const ek_trace_collective *c = &run->rank[r].communication.collective[i];
            sample one;
            if (!c->name || is_warm_up(&run->rank[r], c))
                continue;
            ek_profile_collective became = describe(run, &run->rank[r], c, transfer[at], node, &one);
            if (became != EK_PROFILE_WHOLE) {
                out->n_collectives[became]++;
                continue;
            }
            sample *grown = ek__with_room(all->at, &all->room, all->n + 1, sizeof *grown);
            if (!grown)
                return ek__no_memory(err);
            all->at = grown;
            all->at[all->n++] = one;
        }
    return EK_OK;
}

static int by_message(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    if (x->what != y->what)
        return x->what < y->what ? -1 : 1;
    if (x->n_ranks != y->n_ranks)
        return x->n_ranks - y->n_ranks;
    if (x->per_node != y->per_node)
        return x->per_node - y->per_node;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Those without waiting first, then by time. */
static int by_message_and_time(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    int order = by_message(a, b);
    if (order == 0 && x->whole != y->whole)
        return x->whole ? -1 : 1;
    return order ? order : (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* The time of n of one message; 0 when its waiting time is unknown. */
static double time_of(const sample *at, size_t n, ek_calibrated_profile *out)
{
    size_t whole = 0;
    while (whole < n && at[whole].whole)
        whole++;
    if (whole == 0 && n < LEAST_OF_A_SIZE) {
        out->n_collectives[EK_PROFILE_TOO_FEW] += (long long)n;
        return 0;
    }
    out->n_collectives[whole > 0 ? EK_PROFILE_WHOLE : EK_PROFILE_SHORTEST] += (long long)(whole > 0 ? whole : n);
    return whole > 0 ? (at[(whole - 1) / 2].seconds + at[whole / 2].seconds) / 2 : at[0].seconds;
}

static ek_status bring_together(samples *all, ek_link_log *log, ek_calibrated_profile *out, ek_error *err)
{
    if (all->n > 1)
        qsort(all->at, all->n, sizeof *all->at, by_message_and_time);
    for (size_t i = 0, end; i < all->n; i = end) {
        for (end = i + 1; end < all->n && by_message(&all->at[end], &all->at[i]) == 0;)
            end++;
        const sample *s = &all->at[i];
        double seconds = time_of(s, end - i, out);
        if (!(seconds > 0))
            continue;
        size_t room = (size_t)log->n; /* profiles have tens of sizes */
        ek_link_time *grown = ek__with_room(log->time, &room, room + 1, sizeof *grown);
        if (!grown)
            return ek__no_memory(err);
        log->time = grown;
        log->time[log->n++] = (ek_link_time){s->what, s->n_ranks, s->per_node, s->bytes, seconds, 0};
        out->n_link_times++;
    }
    return EK_OK;
}

ek_status ek__profile_links(const ek_trace_run *run, int per_node, ek_link_log *log, ek_calibrated_profile *out,
                            ek_error *err)
{
    samples all = {0};
    int64_t *transfer = NULL;
    ek_status status = ek__profile_arrivals(run, &transfer, err);
    if (status == EK_OK)
        status = gather(run, transfer, per_node > 0 ? per_node : 1, &all, out, err);
    if (status == EK_OK)
        status = bring_together(&all, log, out, err);
    free(all.at);
    free(transfer);
    return status;
}
