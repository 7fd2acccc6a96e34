/* layout/space.h - lists every layout of a job on a number of devices. */
#ifndef EK_LAYOUT_SPACE_H
#define EK_LAYOUT_SPACE_H

#include "layout/layout.h"

/* The settings that differ between layouts of one group: chunks and schedule. They share all others, and so the costs
 * of their layers. */
typedef struct ek__layout_group {
    ek_layout layout; /* with one chunk and the first schedule */
    long first;       /* the number of combinations before it */
} ek__layout_group;

typedef struct ek__space {
    const ek_job *job;
    const ek_layout_options *options;
    int64_t global_batch;
    size_t n_groups, capacity;
    ek__layout_group *group;
} ek__space;

/* Lists all groups: factorisations of the devices into data, tensor, context and pipeline, with every expert degree,
 * group of states, micro-batch size, number of copies, with and without sequence parallelism. Divisibility is checked
 * here; the framework's other rules are checked by ek_job_check(). @return EK_OK, EK_ERR_INPUT if nothing divides */
ek_status ek__space_new(const ek_job *job, const ek_layout_options *options, ek__space *out, ek_error *err);
void ek__space_clear(ek__space *space);

/* Chunks and schedules of a group: calls the function for each that the schedule allows. */
int ek__space_most_chunks(const ek__space *space, const ek__layout_group *group);
/* Would the framework run the group's job with the given chunks and schedule? The result of ek_job_check(). */
bool ek__space_allows(const ek__space *space, const ek__layout_group *group, int n_chunks, const ek_schedule *schedule);

#endif
