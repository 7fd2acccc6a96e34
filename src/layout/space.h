/* layout/space.h - every layout of a job on so many devices. */
#ifndef EK_LAYOUT_SPACE_H
#define EK_LAYOUT_SPACE_H

#include "layout/layout.h"

/* What differs between layouts of one group: chunks and schedule. All else, and so what its layers take, is theirs in
 * common. */
typedef struct ek__layout_group {
    ek_layout layout; /* with one chunk and the first schedule */
    long first;       /* how many combinations come before it */
} ek__layout_group;

typedef struct ek__space {
    const ek_job *job;
    const ek_layout_options *options;
    int64_t global_batch;
    size_t n_groups, capacity;
    ek__layout_group *group;
} ek__space;

/* Lists all groups: factorisations of the devices into data, tensor, context and pipeline, with every expert degree,
 * group of states, micro-batch size, number of copies, with and without sequence parallelism. What has to divide is
 * looked at; what else the framework asks for is ek_job_check()'s. @return EK_OK, EK_ERR_INPUT where nothing divides */
ek_status ek__space_new(const ek_job *job, const ek_layout_options *options, ek__space *out, ek_error *err);
void ek__space_clear(ek__space *space);

/* Chunks and schedules of a group: calls for each that the schedule allows. */
int ek__space_most_chunks(const ek__space *space, const ek__layout_group *group);
/* Would the framework run the group's job with so many chunks under the schedule? What ek_job_check() says of them. */
bool ek__space_allows(const ek__space *space, const ek__layout_group *group, int n_chunks, const ek_schedule *schedule);

#endif
