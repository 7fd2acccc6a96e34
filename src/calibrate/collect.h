/* calibrate/collect.h - the collected data of all sources. */
#ifndef EK_CALIBRATE_COLLECT_H
#define EK_CALIBRATE_COLLECT_H

#include "evenkeel/calibration.h"

/* A run of a table, or of a log and its job. */
typedef struct ek__run_item {
    const ek_job *job; /* NULL: the row lacks data */
    double seconds;    /* NAN: not measured */
    char name[160], group[160], device[96], why[200];
    ek_origin origin;
    bool suspect;
} ek__run_item;

/* A run to fit or hold out: it has a job and a step and is not suspect. */
bool ek__is_priced(const ek__run_item *item);

typedef struct ek__collected {
    int n_sources;
    struct ek_calibration_source *source; /* [n_sources] */
    ek_measured_runs *table;              /* [n_sources], some empty */
    ek_job *job;                          /* [n_sources], where source is a job */
    ek_train_log *log;                    /* [n_sources] */
    ek_link_log *link;                    /* [n_sources] */
    int n;
    size_t room;
    ek__run_item *item; /* [n] */
} ek__collected;

/* Read all but kernels and rates, which need a device. @param per_node  devices of a node, for link tests; 0: not known
 * yet, which leaves them unread */
ek_status ek__collect(const ek_calibrate_input *input, ek__collected *out, ek_error *err);
ek_status ek__collect_links(int per_node, ek__collected *collected, ek_error *err);
/* Append a run; NULL when memory is out. */
ek__run_item *ek__collected_add(ek__collected *collected);
/* The job that a log or profile is of: the one in its folder, else the only one; -1 when that is not one. */
int ek__collected_job(const ek__collected *collected, int source);
/* Is the job's time known from a log? */
bool ek__collected_has_log(const ek__collected *collected, const ek_job *job);
/* Its name and group, of a run that is not a row of a table. */
void ek__run_item_name(const ek_job *job, ek__run_item *item);
void ek__collected_clear(ek__collected *collected);

#endif
