/* metrics/log_lines.h - what a line of a training log says. One file a framework: log_NAME.c, with its line in
 * EK__LOG_FORMATS, one in src/meson.build, and its lines in tests/unit/test_train_log.c. */
#ifndef EK_METRICS_LOG_LINES_H
#define EK_METRICS_LOG_LINES_H

#include "base/needles.h"
#include "evenkeel/train_log.h"

typedef enum ek__said {
    EK__SAID_NOTHING, /* the needle stood in something else, or the line is cut off */
    EK__SAID_STEP,
    EK__SAID_RATE,     /* samples_per_second_per_device of the step before */
    EK__SAID_MEMORY,   /* MB of a device */
    EK__SAID_WORLD,    /* number of devices */
    EK__SAID_BATCH,    /* global batch, sequences */
    EK__SAID_SEQUENCE, /* tokens */
} ek__said;

typedef struct ek__log_line {
    ek__said said;
    double value;           /* of all but steps */
    ek_train_log_step step; /* of steps, with its line */
} ek__log_line;

typedef struct ek__log_format {
    ek_train_log_kind kind;
    const char *const *needle; /* NULL at the end */
    /* @param needle  which of its own was found at hit->at */
    void (*read)(int needle, const ek__hit *hit, ek__log_line *out);
} ek__log_format;

extern const ek__log_format ek__log_mindformers, ek__log_megatron, ek__log_torchtitan;
#define EK__LOG_FORMATS &ek__log_mindformers, &ek__log_megatron, &ek__log_torchtitan

/* ---- reading fields (log_fields.c) ---- */

/* The part of a line that one record takes, since lines of several processes may stand in one another's. */
typedef struct ek__record {
    const unsigned char *start, *end;
    bool cut; /* the bytes end at `end`: a number that touches it may go on */
} ek__record;

/* A record around a hit: from the last `opening` in front of it (a text and, right behind it and blanks, a digit) to
 * the next one. False when there is none in front. */
bool ek__record_around(const ek__hit *hit, const char *opening, ek__record *out);
/* Right behind the first `name` in the record, or NULL. */
const unsigned char *ek__record_find(const ek__record *record, const char *name);
/* The number at `at` behind blanks, colours, '[' and ':'. NAN when there is none or it may be cut off; `*end` is set
 * behind it. */
double ek__record_number(const ek__record *record, const unsigned char *at, const unsigned char **end);
/* The number behind `name`; NAN. */
double ek__record_value(const ek__record *record, const char *name);
/* A step without any figures. */
ek_train_log_step ek__no_step(const ek__hit *hit);

#endif
