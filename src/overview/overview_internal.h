/* overview/overview_internal.h - shared by the parts of an overview: the files that were found, the job and the run
 * that are worked out from them, and the commands that follow. */
#ifndef EK_OVERVIEW_OVERVIEW_INTERNAL_H
#define EK_OVERVIEW_OVERVIEW_INTERNAL_H

#include "base/pool.h"
#include "evenkeel/device.h"
#include "evenkeel/overview.h"

/** An overview while it is made. */
typedef struct ek__overview {
    ek_overview *out;
    ek__pool *pool;
    const ek_overview_options *options;

    int64_t trace_bytes;

    const ek_overview_job *job;
} ek__overview;

/** Recognise a file, or all files of a folder, and count them by kind. A file that is named must be recognised.
 *  @return EK_OK, EK_ERR_INPUT, EK_ERR_SYSTEM, EK_ERR_MEMORY. Cost: ek_overview_kind_of() for each file */
ek_status ek__overview_add(ek__overview *o, const char *path, ek_error *err);
/** The part of a kind; NULL: there is none. */
const ek_overview_part *ek__overview_part(const ek_overview *overview, ek_overview_kind kind);

/** Several training files: they are of several jobs, and the files beside them of no one run. */
bool ek__overview_is_collection(const ek_overview *overview);

/** Read the job of a training file or a model, the first of its part, and predict it on a device: out->job
 * and out->layout.
 *  @return as ek_overview_of() */
ek_status ek__overview_job(ek__overview *o, const ek_overview_part *part, ek_error *err);
/** The usual device of a framework: Ascend for those of MindSpore, as in their tuning guides, otherwise H100. Static.
 */
const char *ek__overview_usual_device(ek_framework framework);
/** Search a layout of a job for options->n_devices: out->layout. @param job  with its memory limit. @return as
 *  ek_layout_search() */
ek_status ek__overview_search(ek__overview *o, const ek_job *job, const ek_device *device, ek_error *err);
/** Read the measured run and diagnose it: out->run. @return as ek_run_read() and ek_diagnose() */
ek_status ek__overview_run(ek__overview *o, ek_error *err);

/** out->sentence. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__overview_say(ek__overview *o, ek_error *err);
/** out->next. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__overview_next(ek__overview *o, ek_error *err);

/** Add a note. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__overview_note(ek__overview *o, const char *note, ek_error *err);

/** A word as a POSIX shell reads it back: itself where no character of it means anything to a shell, else in single
 *  quotes; a path that begins with a dash gets "./" before it. NULL when memory is out. O(length). */
const char *ek__shell_quote(ek__pool *pool, const char *word);

#endif
