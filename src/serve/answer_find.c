/* Answers with the next event with a text in its name. The matching names are found once and kept for the last few
 * texts, since people press "next" more often than they type. A search in use is never freed: uses are counted. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "serve/answer.h"

enum { KEPT = 4 };

typedef struct kept_search {
    ek__index_search *search; /* NULL: free */
    char text[EK__REQUEST_MAX_TEXT + 1];
    int users;
    unsigned long used; /* of its last use: a count of requests */
} kept_search;

struct ek__searches {
    pthread_mutex_t lock;
    unsigned long clock;
    kept_search kept[KEPT];
};

ek__searches *ek__searches_new(void)
{
    ek__searches *searches = ek__alloc(1, sizeof *searches);
    if (searches && pthread_mutex_init(&searches->lock, NULL) != 0) {
        free(searches);
        return NULL;
    }
    return searches;
}

void ek__searches_free(ek__searches *searches)
{
    if (!searches)
        return;
    for (int i = 0; i < KEPT; i++)
        ek__index_search_free(searches->kept[i].search);
    pthread_mutex_destroy(&searches->lock);
    free(searches);
}

/* The kept search of a text, counted as used; NULL: none. */
static kept_search *parse(ek__searches *searches, const char *text)
{
    kept_search *found = NULL;
    pthread_mutex_lock(&searches->lock);
    for (int i = 0; i < KEPT && !found; i++)
        if (searches->kept[i].search && strcmp(searches->kept[i].text, text) == 0)
            found = &searches->kept[i];
    if (found) {
        found->users++;
        found->used = ++searches->clock;
    }
    pthread_mutex_unlock(&searches->lock);
    return found;
}

static void give_back(ek__searches *searches, kept_search *kept)
{
    pthread_mutex_lock(&searches->lock);
    kept->users--;
    pthread_mutex_unlock(&searches->lock);
}

/* Keep a search in place of the least recently used one. NULL: all are in use; the caller keeps ownership. */
static kept_search *keep(ek__searches *searches, const char *text, ek__index_search *search)
{
    kept_search *place = NULL;
    ek__index_search *old = NULL;
    pthread_mutex_lock(&searches->lock);
    for (int i = 0; i < KEPT; i++) {
        kept_search *other = &searches->kept[i];
        if (other->users == 0 && (!place || other->used < place->used))
            place = other;
    }
    if (place) {
        old = place->search;
        *place = (kept_search){.search = search, .users = 1, .used = ++searches->clock};
        memcpy(place->text, text, strlen(text) + 1);
    }
    pthread_mutex_unlock(&searches->lock);
    ek__index_search_free(old);
    return place;
}

static ek_status print(const ek__serving *serving, const ek__index_search *search, const ek__index_hit *hit,
                       ek__reply *out, ek_error *err)
{
    ek__answer_json json;
    uint64_t n_events;
    ek_status status = ek__answer_json_begin(&json, err);
    if (status)
        return status;
    if (hit->row < 0) {
        ek__stream_null(&json.s, NULL);
        return ek__answer_json_end(&json, out, err);
    }
    ek__stream_object(&json.s, NULL, false);
    ek__stream_int(&json.s, "row", hit->row);
    ek__stream_int(&json.s, "index", hit->index);
    ek__answer_json_name(&json, "name", serving->index, hit->name);
    ek__stream_int(&json.s, "begin", hit->begin);
    ek__stream_int(&json.s, "end", hit->end);
    ek__stream_int(&json.s, "names", ek__index_search_names(search, &n_events));
    ek__stream_end(&json.s);
    return ek__answer_json_end(&json, out, err);
}

static ek_status find(const ek__serving *serving, const ek__request *request, const ek__index_search *search,
                      ek__reply *out, ek_error *err)
{
    const int *rows;
    ek__index_hit hit;
    if (ek__answer_rows_of(serving, request, &rows, err))
        return EK_ERR_INPUT;
    bool some = (request->given & EK__HAS(ROWS)) != 0;
    ek_status status = ek__index_find(serving->index, search, some ? rows : NULL, some ? request->rows.n : 0,
                                      request->forward, request->time, request->row, request->index, &hit, err);
    return status ? status : print(serving, search, &hit, out, err);
}

static ek_status make(const ek__serving *serving, const ek__request *request, ek__reply *out, ek_error *err)
{
    kept_search *kept = parse(serving->searches, request->text);
    ek__index_search *own = NULL;
    if (!kept) {
        ek_status status = ek__index_search_new(serving->index, request->text, request->text_size, &own, err);
        if (status)
            return status;
        kept = keep(serving->searches, request->text, own);
    }
    ek_status status = find(serving, request, kept ? kept->search : own, out, err);
    if (kept)
        give_back(serving->searches, kept);
    else
        ek__index_search_free(own);
    return status;
}

const ek__answer ek__answer_find = {.name = "find",
                                    .needs = EK__HAS(TEXT) | EK__HAS(FORWARD) | EK__HAS(TIME) | EK__HAS(ROW) |
                                             EK__HAS(INDEX),
                                    .takes = EK__HAS(ROWS),
                                    .make = make};
