/* index_model.h - random traces with all events, arrows and points known, for tests and the bench of the index. */
#ifndef TESTS_UNIT_INDEX_MODEL_H
#define TESTS_UNIT_INDEX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parameters of a trace. */
typedef struct index_shape {
    uint64_t seed;
    int n_tracks, n_names, n_arrows, n_points;
    int n_events;    /* of all tracks */
    int64_t begin;   /* nanoseconds of the first event's clock */
    int64_t longest; /* of an event */
    int rank;        /* distributedInfo.rank; -1: an array without it */
    bool compressed;
} index_shape;

typedef struct model_event {
    int track, name;
    int64_t begin, duration;
    uint64_t place;
    uint32_t size;
} model_event;

typedef struct model_arrow {
    int from_track, to_track;
    int64_t from_time, to_time;
} model_arrow;

typedef struct model_point {
    int64_t time;
    double value;
} model_point;

typedef struct index_model {
    index_shape shape;
    char *text; /* [size] the trace, decompressed */
    size_t size, capacity;
    size_t n_events, n_arrows, n_points;
    model_event *event;
    model_arrow *arrow;
    model_point *point; /* of one counter, in order of time */
    uint64_t random;
} index_model;

void index_model_make(const index_shape *shape, index_model *out);
/* Write it to a file, in its form. */
bool index_model_write(const index_model *model, const char *path);
void index_model_clear(index_model *model);
/* From 0 to n - 1; of any size, small ones more often (log-uniform), up to n - 1. */
uint64_t model_random(uint64_t *state, uint64_t n);
int64_t model_log_random(uint64_t *state, int64_t n);

#endif
