/* calibrate/calibrating.h - the state of a calibration that its stages pass on to each other. */
#ifndef EK_CALIBRATE_CALIBRATING_H
#define EK_CALIBRATE_CALIBRATING_H

#include "calibrate/collect.h"
#include "calibrate/runs_fit.h"

typedef struct ek__calibrating {
    const ek_calibrate_input *input;
    ek__collected c;
    ek_calibration out;
    int n;              /* runs that are fitted or held out */
    int *item;          /* [n] of c.item */
    const ek_job **job; /* [n] */
    double *seconds;    /* [n] */
    int *group;         /* [n] */
    bool *held;         /* [n] */
    ek__runs_fit found; /* its table of layers is out.device's */
    ek_error *err;
} ek__calibrating;

/* Runs, errors and constants into out, from `found`. out.run has room for all items. */
ek_status ek__report_runs(ek__calibrating *k);
/* The next runs to measure into out. */
ek_status ek__propose_runs(ek__calibrating *k);

#endif
