/* Reads logs of link tests: nccl-tests and hccl_test. Both print a row for each message size between other lines, which
 * are skipped; a row is a line that begins with a whole number of bytes and has the tool's number of columns.
 *
 * Bandwidths that nccl-tests prints imply the ranks (busbw / algbw is 2 (n-1)/n for an all-reduce, (n-1)/n for the
 * others), with two decimals only, so the list of ranks comes first. hccl_test prints the part of one device; its
 * bandwidth is that of the whole message, so the whole follows from it where it is several times the part.
 *
 * A log may have several tests, one after another, as from a loop over the programs: a line after rows with ranks, a
 * collective or columns begins the next one. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "evenkeel/calibration.h"

enum { MAX_TIMES = 100000, MAX_LINE = 1024, MAX_WORDS = 64, MAX_HOSTS = 4096 };
enum { NOT_TOLD = -2, NOT_MODELLED = -1 };

typedef struct reader {
    const char *name;
    ek_link_log log;
    size_t capacity;
    int n_ranks; /* listed */
    int n_hosts; /* of those */
    char *host;  /* [n_hosts] names one after another, with NULs between */
    size_t host_bytes, host_room;
    int per_node;              /* devices of a node, where no hosts are listed */
    int processes;             /* by a command; 0 */
    int per_process;           /* ranks, by the test's first line; 0 */
    bool hccl;                 /* its header was seen */
    bool nccl, root;           /* likewise; it has a column of roots, as newer versions do */
    int collective;            /* NOT_TOLD, NOT_MODELLED */
    int first;                 /* row of log.time that the test begins with */
    bool passed_over;          /* a test of a collective that is not modelled */
    int last_ranks, last_node; /* of the test before; 0 */
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

/* The collective of a name like all_reduce_perf, all_reduce_test, or NOT_TOLD. @param whole  it must have one of those
 * endings */
static int collective_in(const char *text, bool whole)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const char *at = strstr(text, programs[i].word);
        const char *end = at ? at + strlen(programs[i].word) : NULL;
        if (at && (!whole || strncmp(end, "_perf", 5) == 0 || strncmp(end, "_test", 5) == 0))
            return programs[i].what;
    }
    return NOT_TOLD;
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
static bool read_rank(reader *r, char **word, int n)
{
    if (n < 4 || strcmp(word[0], "#") != 0 || strcmp(word[1], "Rank") != 0)
        return true;
    r->n_ranks++;
    for (int i = 2; i + 1 < n; i++)
        if (strcmp(word[i], "on") == 0)
            return add_host(r, word[i + 1]);
    return true;
}

/* A count that a command gives as "-n 16" or "--ntasks=16". */
static int count_of(const char *word, const char *next, const char *option)
{
    size_t n = strlen(option);
    if (strncmp(word, option, n) != 0 || (word[n] != '\0' && word[n] != '='))
        return 0;
    int count = word[n] == '=' ? atoi(word + n + 1) : next ? atoi(next) : 0;
    return count > 0 && count <= 1 << 20 ? count : 0;
}

/* mpirun -np 16 PROGRAM, srun -n 16 PROGRAM: after the program -n is its number of repetitions. */
static void read_command(reader *r, char **word, int n)
{
    static const char *const options[] = {"-np", "-n", "--np", "--ntasks"};
    for (int i = 0; i < n && collective_in(word[i], true) == NOT_TOLD; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            int count = count_of(word[i], i + 1 < n ? word[i + 1] : NULL, options[k]);
            r->processes = count ? count : r->processes;
        }
}

/* "# nThread 1 nGpus 8 minBytes ..." */
static void read_first_line(reader *r, char **word, int n)
{
    if (n < 5 || strcmp(word[1], "nThread") != 0 || strcmp(word[3], "nGpus") != 0)
        return;
    int threads = atoi(word[2]), gpus = atoi(word[4]);
    if (threads > 0 && threads <= 1024 && gpus > 0 && gpus <= 1024)
        r->per_process = threads * gpus;
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
    /* Values that imply the ranks are kept until all lines are read. */
    r->log.time[r->log.n++] = (ek_link_time){.bytes = bytes * share_of_whole,
                                             .seconds = seconds,
                                             .line = line,
                                             .n_ranks = ratio > 0 ? (int)lround(1000 * ratio) : 0};
    return EK_OK;
}

/* size count type redop [root] time algbw busbw error [time algbw busbw error] */
static ek_status read_nccl(reader *r, char **word, int n, int line)
{
    double bytes, count, type, time, algbw, busbw;
    if (n < 8 || !number(word[0], &bytes) || !number(word[1], &count) || number(word[2], &type))
        return EK_OK;
    int at = r->root ? 5 : 4;
    if (at + 2 >= n || !number(word[at], &time) || !number(word[at + 1], &algbw) || !number(word[at + 2], &busbw))
        return fail_line(r, line, "has no time, algbw and busbw where nccl-tests prints them; mend or remove the row");
    return add(r, bytes, time * 1e-6, algbw > 1 ? busbw / algbw : 0, 1, line);
}

/* data_size | aveg_time | alg_bandwidth | check_result; a transfer that arrived wrong is none. */
static ek_status read_hccl(reader *r, char **word, int n, int line)
{
    double cell[3];
    int n_cells = 0;
    for (int i = 0; i < n && n_cells < 3; i++) {
        if (!number(word[i], &cell[n_cells]))
            return n_cells == 0 ? EK_OK : fail_line(r, line, "has no size, time and bandwidth; mend or remove the row");
        n_cells++;
    }
    if (n_cells < 3 || (n > 3 && strcmp(word[3], "failed") == 0))
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

/* Of a line that a launcher has put its rank before: "[1,0]<stdout>:" of mpirun, "0: " of srun. */
static const char *behind_rank(const char *text)
{
    size_t digits;
    if (text[0] == '[' && (digits = strspn(text + 1, "0123456789,.")) > 0 && text[digits + 1] == ']') {
        const char *colon = strchr(text + digits, ':');
        return colon && text[digits + 2] == '<' ? colon + 1 : text;
    }
    digits = strspn(text, "0123456789");
    return digits > 0 && text[digits] == ':' && (text[digits + 1] == ' ' || text[digits + 1] == '\0')
               ? text + digits + 1
               : text;
}

static bool is_hccl_header(const char *text)
{
    return strstr(text, "aveg_time") || strstr(text, "avg_time(us)");
}

/* ---- the test of the rows ---- */

static ek_status fail_collective(const reader *r, const char *what)
{
    char text[400];
    snprintf(text, sizeof text,
             "%s; name the file after its program, as all_reduce_perf.log, all_gather, reduce_scatter, alltoall or "
             "sendrecv",
             what);
    return fail_line(r, r->first < r->log.n ? r->log.time[r->first].line : 0, text);
}

/* busbw / algbw of the row with the largest message; 0. */
static double ratio_of(const reader *r)
{
    double ratio = 0, largest = 0;
    for (int i = r->first; i < r->log.n; i++)
        if (r->log.time[i].n_ranks > 0 && r->log.time[i].bytes >= largest) {
            largest = r->log.time[i].bytes;
            ratio = r->log.time[i].n_ranks / 1000.0;
        }
    return ratio;
}

static ek_status find_collective(reader *r)
{
    const char *slash = strrchr(r->name, '/');
    double ratio = ratio_of(r);
    if (r->collective == NOT_TOLD)
        r->collective = collective_in(slash ? slash + 1 : r->name, false);
    if (r->collective == NOT_TOLD)
        return fail_collective(r, "the rows from this line on do not name their collective");
    /* 2 (n-1)/n is 1 or more, (n-1)/n less. */
    bool sums = r->collective == EK_COLLECTIVE_ALL_REDUCE;
    if (r->collective >= 0 && ratio > 0 && (sums ? ratio < 0.95 : ratio > 1.05))
        return fail_collective(r, sums ? "the bandwidths from this line on are not those of an all-reduce"
                                       : "the bandwidths from this line on are those of an all-reduce");
    return EK_OK;
}

static int implied_ranks(const reader *r)
{
    double ratio = ratio_of(r), share = r->collective == EK_COLLECTIVE_ALL_REDUCE ? ratio / 2 : ratio;
    return share > 0 && share < 0.9995 && r->collective != EK_COLLECTIVE_P2P ? (int)lround(1 / (1 - share)) : 0;
}

static ek_status find_ranks(reader *r)
{
    int told = r->processes * (r->per_process > 0 ? r->per_process : 1), implied = implied_ranks(r);
    int ranks = r->n_ranks > 1 ? r->n_ranks : told > 1 ? told : implied > 1 ? implied : r->last_ranks;
    if (ranks < 2 && r->collective == EK_COLLECTIVE_P2P)
        ranks = 2;
    if (ranks < 2)
        return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->name, 0, 0}),
                        "the log does not contain the number of ranks; keep its lines '# Rank', or put the command "
                        "with -n or -np before it");
    int hosts = r->n_hosts > 0 ? r->n_hosts : 0;
    int node = hosts > 0                ? (ranks + hosts - 1) / hosts
               : ranks == r->last_ranks ? r->last_node
               : ranks < r->per_node    ? ranks
                                        : r->per_node;
    for (int i = r->first; i < r->log.n; i++) {
        r->log.time[i].what = (ek_collective)r->collective;
        r->log.time[i].n_ranks = ranks;
        r->log.time[i].per_node = node;
    }
    r->last_ranks = ranks;
    r->last_node = node;
    return EK_OK;
}

/* Set the test of the rows since the last one; nothing is known of the next one then. */
static ek_status end_test(reader *r)
{
    if (r->log.n == r->first)
        return EK_OK;
    ek_status status = find_collective(r);
    if (r->collective == NOT_MODELLED) {
        r->log.n = r->first; /* broadcasts, say: a loop over all programs has them, a step has not */
        r->passed_over = true;
    } else if (status == EK_OK) {
        status = find_ranks(r);
    }
    r->first = r->log.n;
    r->n_ranks = r->n_hosts = r->processes = r->per_process = 0;
    r->host_bytes = 0;
    r->collective = NOT_TOLD;
    return status;
}

/* ---- a line ---- */

/* Is it text that occurs only before a test's rows? */
static bool begins_test(const char *text, int what)
{
    return what != NOT_TOLD || strstr(text, "algbw") || is_hccl_header(text) || strstr(text, "# nThread ");
}

static ek_status read_line(reader *r, const char *text, size_t size, int line)
{
    char copy[MAX_LINE], *word[MAX_WORDS];
    size_t n = size < sizeof copy - 1 ? size : sizeof copy - 1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    char *words = copy + (behind_rank(copy) - copy);
    int what = strstr(words, "concluded") ? NOT_TOLD : collective_in(words, true);
    ek_status status = begins_test(words, what) ? end_test(r) : EK_OK;
    if (status)
        return status;
    r->hccl |= is_hccl_header(words);
    if (strstr(words, "algbw")) {
        r->nccl = true;
        r->root = strstr(words, "root") != NULL;
    }
    r->collective = what != NOT_TOLD ? what : r->collective;
    int n_words = split(words, word);
    if (n_words == 0)
        return EK_OK;
    if (!read_rank(r, word, n_words))
        return ek__no_memory(r->err);
    read_first_line(r, word, n_words);
    if (!isdigit((unsigned char)word[0][0])) {
        read_command(r, word, n_words);
        return EK_OK;
    }
    return r->nccl ? read_nccl(r, word, n_words, line) : r->hccl ? read_hccl(r, word, n_words, line) : EK_OK;
}

ek_status ek_link_log_parse(const char *name, const char *text, size_t size, int per_node, ek_link_log *out,
                            ek_error *err)
{
    reader r = {.name = name, .per_node = per_node, .collective = NOT_TOLD, .err = err};
    ek_status status = EK_OK;
    int line = 1;
    for (size_t at = 0; at < size && status == EK_OK; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at : size - at;
        status = read_line(&r, text + at, n, line);
        at += n + 1;
    }
    if (status == EK_OK)
        status = end_test(&r);
    if (status == EK_OK && r.log.n == 0 && r.passed_over)
        status = fail_collective(&r, "it timed a collective that no step has");
    else if (status == EK_OK && r.log.n == 0)
        status =
            ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, 0, 0}),
                     "no row of nccl-tests or hccl_test is in it; give the output of the program, with its header");
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
    ek_status status = ek__config_read_text(path, &text, &size, err);
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
