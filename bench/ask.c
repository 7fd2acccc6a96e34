/* Measures queries of an index: the time to open it, to the first picture, for any zoom, a search and the total sums,
 * and the resident memory. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "copies.h"
#include "index/opened.h"
#include "index/write.h"

enum { MB = 1000000, N_ROWS = 60, N_PIXELS = 1280, N_ZOOMS = 300, MOST_BOXES = 4 * N_PIXELS };

static char folder[] = "/tmp/evenkeel_benchXXXXXX";

/* Seconds. */
typedef struct asked {
    double open, picture, zoom[N_ZOOMS], search, sums, peak_mb, n_events, n_boxes;
} asked;

typedef struct view {
    const ek_trace_index *index;
    int n_rows, row[N_ROWS];
    uint64_t random;
    ek__index_blocks blocks;
} view;

/* The rows with most events. */
static void choose_rows(view *v)
{
    v->n_rows = 0;
    for (int r = 0; r < ek__index_n_rows(v->index); r++) {
        int at = v->n_rows < N_ROWS ? v->n_rows++ : N_ROWS;
        while (at > 0 && ek__index_row_events(v->index, v->row[at - 1]) < ek__index_row_events(v->index, r)) {
            if (at < N_ROWS)
                v->row[at] = v->row[at - 1];
            at--;
        }
        if (at < N_ROWS)
            v->row[at] = r;
    }
}

static double draw(view *v, int64_t begin, int64_t end)
{
    double start = bench_now();
    v->blocks.n = 0;
    for (int i = 0; i < v->n_rows; i++)
        if (ek__index_row_blocks(v->index, v->row[i], begin, end, (end - begin) / N_PIXELS, MOST_BOXES, &v->blocks,
                                 NULL) != EK_OK)
            bench_give_up("a picture failed");
    return bench_now() - start;
}

static uint64_t next_random(view *v)
{
    v->random ^= v->random << 13;
    v->random ^= v->random >> 7;
    v->random ^= v->random << 17;
    return v->random;
}

/* Widths from 100 ns to everything, each size as often; the best of three, since others may be disturbed. */
static double zoom(view *v)
{
    int64_t all = ek__index_end(v->index), width = all;
    int n = 0;
    for (int64_t w = 100; w < all; w *= 2)
        n++;
    for (uint64_t k = n > 0 ? next_random(v) % (uint64_t)n : 0; k > 0; k--)
        width /= 2;
    int64_t begin = (int64_t)(next_random(v) % (uint64_t)(all - width + 1));
    double best = draw(v, begin, begin + width);
    for (int i = 1; i < 3; i++) {
        double again = draw(v, begin, begin + width);
        best = again < best ? again : best;
    }
    return best;
}

static double search_rarest(const ek_trace_index *index)
{
    const ek__index_opened *f = &index->file[0];
    uint32_t rarest = 0;
    size_t size;
    ek__index_search *search;
    ek__index_hit hit;
    const ek__index_names_read *names;
    if (ek__index_names_of(f, &names, NULL) != EK_OK)
        bench_give_up("names cannot be read");
    for (uint32_t i = 1; i < f->n_names; i++)
        if (names->name[i].n_events > 0 &&
            (names->name[rarest].n_events == 0 || names->name[i].n_events < names->name[rarest].n_events))
            rarest = i;
    double start = bench_now();
    const char *text = ek__index_text_of(f, names, rarest, &size);
    if (ek__index_search_new(index, text, size, &search, NULL) != EK_OK ||
        ek__index_find(index, search, NULL, 0, true, ek__index_end(index) / 2, -1, 0, &hit, NULL) != EK_OK)
        bench_give_up("a search failed");
    ek__index_search_free(search);
    return bench_now() - start;
}

static double sum_all(const ek_trace_index *index)
{
    double start = bench_now();
    ek__index_summing sums = {0};
    int n = ek__index_n_rows(index);
    while (sums.next_row < n)
        if (ek__index_sum_up(index, NULL, n, INT64_MIN, INT64_MAX, 50, &sums, NULL) != EK_OK)
            bench_give_up("sums failed");
    ek__index_summing_clear(&sums);
    return bench_now() - start;
}

static void ask(const ek_trace_index *index, asked *a)
{
    view v = {.index = index, .random = UINT64_C(88172645463325252)};
    double start = bench_now();
    choose_rows(&v);
    draw(&v, 0, ek__index_end(index));
    a->picture = a->open + bench_now() - start;
    a->n_boxes = (double)v.blocks.n;
    for (int i = 0; i < N_ZOOMS; i++)
        a->zoom[i] = zoom(&v);
    a->search = search_rarest(index);
    a->sums = sum_all(index);
    a->n_events = (double)ek_trace_index_n_events(index);
    ek__index_blocks_clear(&v.blocks);
    a->peak_mb = bench_peak_mb();
}

/* An existing index. */
static void ask_trace(const char *path, void *result)
{
    asked *a = result;
    ek_trace_index *index;
    ek_error err;
    double start = bench_now();
    if (ek_trace_index_open(&path, 1, NULL, NULL, &index, NULL, &err) != EK_OK)
        bench_give_up("%s", err.message);
    a->open = bench_now() - start;
    ask(index, a);
    ek_trace_index_close(index);
}

static void ask_file(const char *path, void *result)
{
    asked *a = result;
    ek__index_opened file;
    ek_error err;
    ek_trace_index index = {.n_files = 1, .file = &file};
    double start = bench_now();
    if (ek__index_file_open(path, &file, &err) != EK_OK || ek__index_number(&index, &err) != EK_OK)
        bench_give_up("%s", err.message);
    a->open = bench_now() - start;
    ask(&index, a);
    ek__index_file_close(&file);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say_line(const char *size, asked *a)
{
    qsort(a->zoom, N_ZOOMS, sizeof *a->zoom, by_size);
    double high = a->zoom[N_ZOOMS * 95 / 100], worst = a->zoom[N_ZOOMS - 1];
    bench_say("| %s | %.1f million | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.2f s | %.0f MB |\n", size,
              a->n_events / 1e6, 1e3 * a->open, 1e3 * a->picture, 1e3 * high, 1e3 * worst, 1e3 * a->search, a->sums,
              a->peak_mb);
    bench_hold(a->picture < 1, "the first picture of %s within 1 s", size);
    bench_hold(worst < 0.1, "any zoom of %s within 100 ms", size);
    bench_hold(a->peak_mb < 300, "asking the index of %s in 300 MB", size);
}

static void write_index(const char *path, void *result)
{
    ek__index_written written;
    ek_error err;
    char out[128];
    *(bool *)result = true;
    snprintf(out, sizeof out, "%s/index", folder);
    if (ek__index_write(path, out, NULL, 0, 1, &written, &err) != EK_OK)
        bench_give_up("%s", err.message);
}

static void open_trace(const char *path, void *result)
{
    ek_trace_index *index;
    ek_error err;
    *(bool *)result = true;
    if (ek_trace_index_open(&path, 1, NULL, NULL, &index, NULL, &err) != EK_OK)
        bench_give_up("%s", err.message);
    ek_trace_index_close(index);
}

static void file_line(const bench_copies *o)
{
    char path[128], command[256];
    asked a = {0};
    bool done = false;
    snprintf(path, sizeof path, "%s/trace_view.json", folder);
    bench_copies_make(o, path, (int64_t)1000 * MB);
    bench_apart(open_trace, path, &done, sizeof done);
    bench_apart(ask_trace, path, &a, sizeof a);
    say_line("1 GB", &a);
    unlink(path);
    snprintf(command, sizeof command, "rm -r '%s/evenkeel-index'", folder);
    bench_hold(system(command) == 0, "the index of 1 GB beside its trace");
}

static void pipe_line(const bench_copies *o, int64_t bytes)
{
    char path[128], index[128];
    asked a = {0};
    bool done = false;
    if (!bench_index_has_room(folder, bytes))
        return;
    snprintf(path, sizeof path, "%s/pipe.json", folder);
    snprintf(index, sizeof index, "%s/index", folder);
    bench_copies_pipe(o, path, bytes, write_index, &done, sizeof done);
    bench_apart(ask_file, index, &a, sizeof a);
    say_line(bytes == (int64_t)20000 * MB ? "20 GB" : "part of 20 GB", &a);
    unlink(index);
}

void bench_ask(double seconds)
{
    bench_copies o = {0};
    bench_say("## Asking indices\n\n");
    if (!bench_copies_take(&o, BENCH_ASCEND)) {
        bench_say("Not measured: the real trace to copy is not there (EK_SHARED).\n");
        bench_copies_clear(&o);
        return;
    }
    if (!mkdtemp(folder))
        bench_give_up("no folder in /tmp");
    bench_say(
        "The indices of the same traces, written before, in the cache: until it is open; until the first picture, of "
        "everything, %d rows of %d pixels; %d pictures of random stretches from 100 ns to everything; the rarest "
        "name from the middle on; times of all events by name and track. Resident: of all that.\n\n"
        "| trace | events | open | first picture | 95 %% of zooms | slowest zoom | search | sums | resident |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        N_ROWS, N_PIXELS, N_ZOOMS);
    file_line(&o);
    pipe_line(&o, (int64_t)(20 * seconds) * 1000 * MB);
    rmdir(folder);
    bench_copies_clear(&o);
}
