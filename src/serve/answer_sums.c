/* Answers with sums over a stretch of time, a slice of work at each request: the first request returns a state that the
 * following ones name, until the sum is complete. A few states are kept; the least recently used one is dropped, and a
 * request for it is answered with 400, after which a page begins again. A state in use is removed from the table, so
 * that two requests never continue the same one. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/trace_index.h"
#include "serve/answer.h"

enum { KEPT = 8, SLICE_MILLISECONDS = 25, MOST_TOTALS = 1 << 16 };

/* A sum in progress. */
typedef struct summing {
    ek__number_list rows;
    int64_t begin, end;
    ek__index_summing state;
    uint64_t number;
} summing;

struct ek__summings {
    pthread_mutex_t lock;
    uint64_t last; /* last number given */
    summing *kept[KEPT];
};

ek__summings *ek__summings_new(void)
{
    ek__summings *summings = ek__alloc(1, sizeof *summings);
    if (summings && pthread_mutex_init(&summings->lock, NULL) != 0) {
        free(summings);
        return NULL;
    }
    return summings;
}

static void drop(summing *s)
{
    if (s)
        ek__index_summing_clear(&s->state);
    free(s);
}

void ek__summings_free(ek__summings *summings)
{
    if (!summings)
        return;
    for (int i = 0; i < KEPT; i++)
        drop(summings->kept[i]);
    pthread_mutex_destroy(&summings->lock);
    free(summings);
}

static bool is_of(const summing *s, const ek__request *request)
{
    return s->begin == request->begin && s->end == request->end && s->rows.n == request->rows.n &&
           memcmp(s->rows.at, request->rows.at, (size_t)s->rows.n * sizeof *s->rows.at) == 0;
}

/* Take a state out of the table. NULL: it does not exist, or it is of another stretch or other rows. */
static summing *parse(ek__summings *summings, const ek__request *request)
{
    uint64_t number = strtoull(request->state, NULL, 16);
    summing *found = NULL;
    pthread_mutex_lock(&summings->lock);
    for (int i = 0; i < KEPT && !found; i++) {
        summing *s = summings->kept[i];
        if (s && s->number == number && is_of(s, request)) {
            found = s;
            summings->kept[i] = NULL;
        }
    }
    pthread_mutex_unlock(&summings->lock);
    return found;
}

/* Put it in the table under a new number: the smallest number there is the oldest. */
static uint64_t add(ek__summings *summings, summing *s)
{
    pthread_mutex_lock(&summings->lock);
    int place = 0;
    for (int i = 0; i < KEPT; i++) {
        const summing *other = summings->kept[i], *chosen = summings->kept[place];
        if (chosen && (!other || other->number < chosen->number))
            place = i;
    }
    summing *old = summings->kept[place];
    uint64_t number = s->number = ++summings->last;
    summings->kept[place] = s;
    pthread_mutex_unlock(&summings->lock);
    drop(old);
    return number;
}

static ek_status begin(const ek__serving *serving, const ek__request *request, summing **out, ek_error *err)
{
    const int *rows;
    if (ek__answer_rows_of(serving, request, &rows, err))
        return EK_ERR_INPUT;
    *out = ek__alloc(1, sizeof **out);
    if (!*out)
        return ek__no_memory(err);
    (*out)->rows = request->rows;
    (*out)->begin = request->begin;
    (*out)->end = request->end;
    return EK_OK;
}

/* By the number of events of the rows. */
static double covered(const ek_trace_index *index, const summing *s)
{
    double before = 0, all = 0;
    for (int i = 0; i < s->rows.n; i++) {
        double n = (double)ek__index_row_events(index, (int)s->rows.at[i]), done = (double)s->state.next_event;
        before += i < s->state.next_row ? n : i == s->state.next_row && done < n ? done : 0;
        all += n;
    }
    return all > 0 ? before / all : 1;
}

static int by_time(const void *a, const void *b)
{
    const ek__index_total *one = a, *other = b;
    return (one->total < other->total) - (one->total > other->total);
}

/* The largest ones, when there are more than fit in an answer. */
static void print_totals(ek__answer_json *json, const ek_trace_index *index, ek__index_summing *state)
{
    size_t n = state->n < MOST_TOTALS ? state->n : MOST_TOTALS;
    if (n < state->n)
        qsort(state->total, state->n, sizeof *state->total, by_time);
    ek__stream_int(&json->s, "left_out", (int64_t)(state->n - n));
    ek__stream_list(&json->s, "totals", false);
    for (size_t i = 0; i < n; i++) {
        const ek__index_total *total = &state->total[i];
        ek__stream_object(&json->s, NULL, false);
        ek__answer_json_name(json, "name", index, total->name);
        ek__stream_int(&json->s, "type", total->type);
        ek__stream_int(&json->s, "track", total->track);
        ek__stream_int(&json->s, "n", total->n);
        ek__stream_int(&json->s, "total", total->total);
        ek__stream_end(&json->s);
    }
    ek__stream_end(&json->s);
}

/* Takes ownership of `s`. */
static ek_status print(const ek__serving *serving, summing *s, ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status) {
        drop(s);
        return status;
    }
    bool done = s->state.next_row >= s->rows.n;
    ek__stream_object(&json.s, NULL, false);
    ek__stream_bool(&json.s, "done", done);
    ek__stream_fixed(&json.s, "covered", done ? 1 : covered(serving->index, s), 4);
    if (done) {
        ek__stream_null(&json.s, "state");
        print_totals(&json, serving->index, &s->state);
        drop(s);
    } else {
        char number[EK__REQUEST_STATE_SIZE + 1];
        snprintf(number, sizeof number, "%016" PRIx64, add(serving->summings, s));
        ek__stream_text(&json.s, "state", number);
        ek__stream_list(&json.s, "totals", false);
        ek__stream_end(&json.s);
    }
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    summing *s = NULL;
    ek_status status = EK_OK;
    if (!request->state[0])
        status = begin(serving, request, &s, err);
    else if (!(s = parse(serving->summings, request)))
        status =
            ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "these sums are no longer stored; request again without state");
    if (status)
        return status;
    status = ek__index_sum_up(serving->index, (const int *)s->rows.at, s->rows.n, s->begin, s->end, SLICE_MILLISECONDS,
                              &s->state, err);
    if (status) {
        drop(s);
        return status;
    }
    return print(serving, s, out, err);
}

const ek__answer ek__answer_sums = {
    .name = "sums", .needs = EK__HAS(ROWS) | EK__HAS(BEGIN) | EK__HAS(END), .takes = EK__HAS(STATE), .make = make};
