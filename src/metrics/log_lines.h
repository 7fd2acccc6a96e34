/* metrics/log_lines.h - the interface of the readers of training logs' lines. One file per framework: log_NAME.c, with
 * its line in EK__LOG_FORMATS, one in src/meson.build, and its lines in tests/unit/test_train_log.c. */
#ifndef EK_METRICS_LOG_LINES_H
#define EK_METRICS_LOG_LINES_H

#include "base/needles.h"
#include "evenkeel/train_log.h"

typedef enum ek__said {
    EK__SAID_NOTHING, /* the needle was part of something else, or the line is truncated */
    EK__SAID_STEP,
    EK__SAID_RATE,     /* samples_per_second_per_device of the step before */
    EK__SAID_MEMORY,   /* MB of a device */
    EK__SAID_WORLD,    /* number of devices */
    EK__SAID_BATCH,    /* global batch, sequences */
    EK__SAID_SEQUENCE, /* tokens */
} ek__said;

typedef struct ek__log_line {
    ek__said said;
    double value;           /* of all except steps */
    ek_train_log_step step; /* of steps, with its line */
} ek__log_line;

typedef struct ek__log_format {
    ek_train_log_kind kind;
    const char *const *needle; /* NULL at the end */
    /* @param needle  the index of the framework's needle found at hit->at */
    void (*read)(int needle, const ek__hit *hit, ek__log_line *out);
} ek__log_format;

extern const ek__log_format ek__log_mindformers, ek__log_megatron, ek__log_torchtitan;
#define EK__LOG_FORMATS &ek__log_mindformers, &ek__log_megatron, &ek__log_torchtitan

/* ---- reading fields (log_fields.c) ---- */

/* The part of a line that belongs to one record, since lines of several processes may be mixed. */
typedef struct ek__record {
    const unsigned char *start, *end;
    bool cut; /* the bytes end at `end`: a number there may continue */
} ek__record;

/* A record around a hit: from the last `opening` before it (a text followed by blanks and a digit) to the next one.
 * False if there is none before it. */
bool ek__record_around(const ek__hit *hit, const char *opening, ek__record *out);
/* The place directly after the first `name` in the record, or NULL. */
const unsigned char *ek__record_find(const ek__record *record, const char *name);
/* The number at `at` after blanks, colours, '[' and ':'. NAN if there is none or it may be truncated; `*end` is set
 * after it. */
double ek__record_number(const ek__record *record, const unsigned char *at, const unsigned char **end);
/* The number after `name`; NAN. */
double ek__record_value(const ek__record *record, const char *name);
/* A step without any figures. */
ek_train_log_step ek__no_step(const ek__hit *hit);

#endif
