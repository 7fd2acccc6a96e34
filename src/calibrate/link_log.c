/* Logs of link tests: nccl-tests and hccl_test. Both print a row a message size between lines of other things, which
 * are passed over; a row is a line that begins with a whole number of bytes and has the tool's number of columns.
 *
 * Bandwidths that nccl-tests prints imply the ranks (busbw / algbw is 2 (n-1)/n for an all-reduce, (n-1)/n for the
 * others), with two decimals only, so the list of ranks comes first. hccl_test prints what one device contributes; its
 * bandwidth is that of the whole message, so the whole follows from it where it is several times the part. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "base/error.h"
#include "evenkeel/calibration.h"

enum { MAX_TIMES = 100000, MAX_LINE = 1024, MAX_WORDS = 16, MAX_HOSTS = 4096 };

typedef struct reader {
    const char *name;
    ek_link_log log;
    size_t capacity;
    int n_ranks; /* listed */
    int n_hosts; /* of those */
    char *host;  /* [n_hosts] names behind one another, NUL between */
    size_t host_bytes, host_room;
    int told_ranks;  /* by a command */
    bool hccl;       /* its header was seen */
    bool nccl, root; /* likewise; it has a column of roots, as newer versions do */
    int collective;  /* -1: not told */
    ek_error *err;
} reader;

/* Names of programs, the longer first where one is part of another. */
static const struct {
    const char *word;
    int what; /* ek_collective; -1: not modelled */
} programs[] = {
    {"all_reduce", EK_COLLECTIVE_ALL_REDUCE},
    {"allreduce", EK_COLLECTIVE_ALL_REDUCE},
    {"all_gather", EK_COLLECTIVE_ALL_GATHER},
    {"allgather", EK_COLLECTIVE_ALL_GATHER},
    {"reduce_scatter", EK_COLLECTIVE_REDUCE_SCATTER},
    {"reducescatter", EK_COLLECTIVE_REDUCE_SCATTER},
    {"alltoall", EK_COLLECTIVE_ALL_TO_ALL},
    {"all_to_all", EK_COLLECTIVE_ALL_TO_ALL},
    {"sendrecv", EK_COLLECTIVE_P2P},
    {"broadcast", -1},
    {"hypercube", -1},
    {"scatter", -1},
    {"gather", -1},
    {"reduce", -1},
};

/* The collective of a name like all_reduce_perf, all_reduce_test; -2: none is in it. @param whole  it must have one of
 * those endings */
static int collective_in(const char *text, bool whole)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *at = strstr(text, programs[i].word);
        const char *end = at ? at + strlen(programs[i].word) : NULL;
        if (at && (!whole || strncmp(end, "_perf", 5) == 0 || strncmp(end, "_test", 5) == 0))
            return programs[i].what;
    }
    return -2;
}

static ek_status fail_line(const reader *r, int line, const char *what)
{
    return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->name, line, 0}), "%s", what);
}

/* ---- ranks ---- */

static bool add_host(reader *r, const char *host)
{
    size_t size = strlen(host) + 1;
    for (size_t at = 0; at < r->host_bytes; at += strlen(r->host + at) + 1)
        if (strcmp(r->host + at, host) == 0)
            return true;
    if (r->n_hosts == MAX_HOSTS)
        return true;
    char *grown = ek__with_room(r->host, &r->host_room, r->host_bytes + size, 1);
    if (!grown)
        return false;
    r->host = grown;
    memcpy(r->host + r->host_bytes, host, size);
    r->host_bytes += size;
    r->n_hosts++;
    return true;
}

/* "#  Rank  0 Group  0 Pid 1234 on HOST device  0 [0x07] NAME" */
static bool take_rank(reader *r, char **word, int n)
{
    if (n < 4 || strcmp(word[0], "#") != 0 || strcmp(word[1], "Rank") != 0)
        return true;
    r->n_ranks++;
    for (int i = 2; i + 1 < n; i++)
        if (strcmp(word[i], "on") == 0)
            return add_host(r, word[i + 1]);
    return true;
}

/* mpirun -np 16, mpirun -n 16 */
static void take_command(reader *r, char **word, int n)
{
    for (int i = 0; i + 1 < n; i++)
        if (strcmp(word[i], "-np") == 0 || strcmp(word[i], "-n") == 0 || strcmp(word[i], "--np") == 0) {
            int ranks = atoi(word[i + 1]);
            if (ranks > 0 && ranks <= 1 << 20)
                r->told_ranks = ranks;
        }
}

/* ---- rows ---- */

static bool number(const char *text, double *out)
{
    return ek__text_is_number(text, out) && isfinite(*out);
}

static ek_status add(reader *r, double bytes, double seconds, double ratio, double share_of_whole, int line)
{
    if (bytes <= 0)
        return EK_OK; /* rounded down to nothing by more ranks than elements */
    if (!(seconds > 0))
        return fail_line(r, line, "a time must be above 0; remove the row");
    if (r->log.n == MAX_TIMES)
        return fail_line(r, line, "has more rows than a test prints; give the log of one test");
    ek_link_time *grown = ek__with_room(r->log.time, &r->capacity, (size_t)r->log.n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(r->err);
    r->log.time = grown;
    /* What implies the ranks is kept until all lines are read. */
    r->log.time[r->log.n++] = (ek_link_time){.bytes = bytes * share_of_whole,
                                             .seconds = seconds,
                                             .line = line,
                                             .n_ranks = ratio > 0 ? (int)lround(1000 * ratio) : 0};
    return EK_OK;
}

/* size count type redop [root] time algbw busbw error [time algbw busbw error] */
static ek_status take_nccl(reader *r, char **word, int n, int line)
{
    double bytes, count, type, time, algbw, busbw;
    if (n < 8 || !number(word[0], &bytes) || !number(word[1], &count) || number(word[2], &type))
        return EK_OK;
    int at = r->root ? 5 : 4;
    if (at + 2 >= n || !number(word[at], &time) || !number(word[at + 1], &algbw) || !number(word[at + 2], &busbw))
        return fail_line(r, line, "has no time, algbw and busbw where nccl-tests prints them; mend or remove the row");
    return add(r, bytes, time * 1e-6, algbw > 1 ? busbw / algbw : 0, 1, line);
}

/* data_size | aveg_time | alg_bandwidth | check_result */
static ek_status take_hccl(reader *r, char **word, int n, int line)
{
    double cell[3];
    int n_cells = 0;
    for (int i = 0; i < n && n_cells < 3; i++) {
        if (!number(word[i], &cell[n_cells]))
            return n_cells == 0 ? EK_OK : fail_line(r, line, "has no size, time and bandwidth; mend or remove the row");
        n_cells++;
    }
    if (n_cells < 3)
        return EK_OK;
    double whole = cell[0] > 0 ? cell[2] * 1e9 * cell[1] * 1e-6 / cell[0] : 1;
    return add(r, cell[0], cell[1] * 1e-6, 0, whole > 1.5 ? round(whole) : 1, line);
}

/* ---- lines ---- */

/* Words between blanks and bars. */
static int split(char *text, char **word)
{
    static const char between[] = " \t\r\v\f|";
    int n = 0;
    for (char *at = text + strspn(text, between); *at && n < MAX_WORDS; at += strspn(at, between)) {
        word[n++] = at;
        at += strcspn(at, between);
        if (*at)
            *at++ = '\0';
    }
    return n;
}

static ek_status take_line(reader *r, const char *text, size_t size, int line)
{
    char copy[MAX_LINE], *word[MAX_WORDS];
    size_t n = size < sizeof copy - 1 ? size : sizeof copy - 1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    r->hccl |= strstr(copy, "aveg_time") != NULL;
    if (strstr(copy, "algbw")) {
        r->nccl = true;
        r->root = strstr(copy, "root") != NULL;
    }
    int what = r->collective < 0 ? collective_in(copy, true) : -2;
    if (what == -1 && !r->hccl && !r->nccl)
        r->collective = -1;
    else if (what >= 0)
        r->collective = what;
    int n_words = split(copy, word);
    if (n_words == 0)
        return EK_OK;
    if (!take_rank(r, word, n_words))
        return ek__no_memory(r->err);
    if (r->log.n == 0)
        take_command(r, word, n_words);
    if (!isdigit((unsigned char)word[0][0]))
        return EK_OK;
    return r->nccl ? take_nccl(r, word, n_words, line) : r->hccl ? take_hccl(r, word, n_words, line) : EK_OK;
}

/* ---- what the rows are of ---- */

static ek_status find_collective(reader *r)
{
    const char *slash = strrchr(r->name, '/');
    if (r->collective < 0) {
        int what = collective_in(slash ? slash + 1 : r->name, false);
        r->collective = what >= 0 ? what : r->collective;
    }
    if (r->collective >= 0)
        return EK_OK;
    return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->name, 0, 0}),
                    "the log does not say which collective it timed, or one that no step has; name the file after its "
                    "program, as all_reduce_perf.log, all_gather, reduce_scatter, alltoall or sendrecv");
}

/* From busbw / algbw of the row with the largest bandwidths. */
static int implied_ranks(const reader *r)
{
    double ratio = 0, largest = 0;
    for (int i = 0; i < r->log.n; i++)
        if (r->log.time[i].n_ranks > 0 && r->log.time[i].bytes >= largest) {
            largest = r->log.time[i].bytes;
            ratio = r->log.time[i].n_ranks / 1000.0;
        }
    double share = r->collective == EK_COLLECTIVE_ALL_REDUCE ? ratio / 2 : ratio;
    return share > 0 && share < 0.9995 && r->collective != EK_COLLECTIVE_P2P ? (int)lround(1 / (1 - share)) : 0;
}

static ek_status find_ranks(reader *r, int per_node)
{
    int implied = implied_ranks(r), ranks = r->n_ranks > 1 ? r->n_ranks : r->told_ranks > 1 ? r->told_ranks : implied;
    if (ranks < 2 && r->collective == EK_COLLECTIVE_P2P)
        ranks = 2;
    if (ranks < 2)
        return ek__fail(
            r->err, EK_ERR_INPUT, ((ek_origin){r->name, 0, 0}),
            "the log does not say how many ranks took part; keep its lines '# Rank', or put the command with "
            "-n or -np before it");
    int hosts = r->n_hosts > 0 ? r->n_hosts : 0;
    int node = hosts > 0 ? (ranks + hosts - 1) / hosts : ranks < per_node ? ranks : per_node;
    for (int i = 0; i < r->log.n; i++) {
        r->log.time[i].what = (ek_collective)r->collective;
        r->log.time[i].n_ranks = ranks;
        r->log.time[i].per_node = node;
    }
    return EK_OK;
}

ek_status ek_link_log_parse(const char *name, const char *text, size_t size, int per_node, ek_link_log *out,
                            ek_error *err)
{
    reader r = {.name = name, .collective = -2, .err = err};
    ek_status status = EK_OK;
    int line = 1;
    for (size_t at = 0; at < size && status == EK_OK; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at : size - at;
        status = take_line(&r, text + at, n, line);
        at += n + 1;
    }
    if (status == EK_OK && r.log.n == 0)
        status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, 0, 0}),
                          "no row of nccl-tests or hccl_test is in it; give what the program printed, with its header");
    if (status == EK_OK)
        status = find_collective(&r);
    if (status == EK_OK)
        status = find_ranks(&r, per_node);
    free(r.host);
    if (status)
        ek_link_log_clear(&r.log);
    else
        *out = r.log;
    return status;
}

ek_status ek_link_log_read(const char *path, int per_node, ek_link_log *out, ek_error *err)
{
    char *text;
    size_t size;
    ek_status status = ek__doc_read_text(path, &text, &size, err);
    if (status)
        return status;
    status = ek_link_log_parse(ek__path_name(path), text, size, per_node, out, err);
    free(text);
    return status;
}

void ek_link_log_clear(ek_link_log *log)
{
    free(log->time);
    *log = (ek_link_log){0};
}
