/* schedule/frameworks.h - one table, schedule x framework: the name of a schedule in a framework's settings, the
 * framework's schedule that runs a plan made for it, and the layouts the framework accepts with it. Read by the readers
 * of jobs, the writers of settings, the emitters, the linter and the search for layouts. */
#ifndef EK_SCHEDULE_FRAMEWORKS_H
#define EK_SCHEDULE_FRAMEWORKS_H

#include <stdbool.h>

#include "evenkeel/job.h"

/** The numbers of micro-batches that a schedule accepts, in addition to at least `least` for each stage. */
typedef enum ek__micro_rule {
    EK__MICRO_ANY,
    EK__MICRO_GROUPS, /**< the last group of p has none or p: m % p == 0 */
    EK__MICRO_ROUNDS, /**< max(1, m / p) rounds of equally many */
} ek__micro_rule;

/** A further word of a framework's settings that is read as this schedule. */
typedef struct ek__schedule_alias {
    const char *word;
    bool exact; /**< it names this schedule; else an unknown schedule nearest to this one */
} ek__schedule_alias;

/* Arguments of MindSpeed-LLM: the memory limit of its zero-bubble schedule in a V; its other schedules. */
#define EK__ZERO_BUBBLE_SETUP "zero-bubble-v-schedule-mem-setup"
#define EK__SCHEDULES_METHOD  "schedules-method"

enum { EK__MAX_SCHEDULE_ALIASES = 4, EK__MAX_SCHEDULE_WORDS = 32, EK__MOST_FRAMEWORK_SCHEDULES = 16 };

/** A schedule in a framework. */
typedef struct ek__framework_schedule {
    /* A plan as settings. */
    const char *single, *several; /**< the framework's schedule for a plan of one chunk a stage and of several; NULL: it
                                       cannot place such chunks */
    bool same;                    /**< it runs this order of blocks; else one with the same placement of chunks */
    /* Settings of a job. */
    const char *word;     /**< read as this schedule, and written for it; NULL: no setting names it */
    const char *argument; /**< the argument with that word, where a framework has several; NULL: it has one */
    bool by_chunks;       /**< without a word, this schedule is selected by the number of chunks */
    ek__schedule_alias alias[EK__MAX_SCHEDULE_ALIASES]; /**< up to the first without a word */
    /* Layouts. */
    bool offered;    /**< a layout may have it */
    bool by_default; /**< for a search without a given framework: `same`, and in every build of the framework */
    ek__micro_rule micro_batches;
    int least;            /**< micro-batches for each stage; 0: any number */
    int least_stages;     /**< 2: it needs a pipeline; 0: any number */
    bool without_context; /**< it runs only with one context-parallel rank */
    bool untied;          /**< it does not take a head that uses the embedding's table */
} ek__framework_schedule;

/** The cell of a schedule in a framework; NULL when the schedule has no row. O(schedules). */
const ek__framework_schedule *ek__schedule_in(const ek_schedule *schedule, ek_framework framework);

/** The schedule of a row, in the order of the table, from 0; NULL after the last. */
const ek_schedule *ek__schedule_row(int index);

/** A word that a framework's settings may have, and its meaning. */
typedef struct ek__schedule_word {
    const char *word;
    const ek_schedule *schedule;
    bool exact; /**< else the nearest schedule to the named one */
} ek__schedule_word;

/**
 * The words that a framework's setting accepts, in the order of the table.
 * @param argument  as in ek__framework_schedule; NULL for a framework with one setting
 * @param out       [EK__MAX_SCHEDULE_WORDS]
 * @return their number. O(schedules).
 */
int ek__schedule_words(ek_framework framework, const char *argument, ek__schedule_word *out);

/** The meaning of a word of a framework's one setting; `out->schedule` is NULL when it has none here. A word of several
 *  schedules, which are distinguished by the number of chunks, gives the first. */
ek__schedule_word ek__schedule_of_word(ek_framework framework, const char *word);

#endif
