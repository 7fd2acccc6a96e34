/* evenkeel/run.h - reads the files of a training run into the input of a diagnosis or a page, and compares a measured
 * run with an estimate.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_RUN_H
#define EVENKEEL_RUN_H

#include "evenkeel/collect.h"
#include "evenkeel/decls.h"
#include "evenkeel/device.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/interrupt.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/trace.h"
#include "evenkeel/train_log.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

enum { EK_MAX_RUN_GRAPHS = 64 };

/** Paths to read and options. All pointers are borrowed for the call. */
typedef struct ek_run_reading {
    const ek_run_files *files;
    const ek_job_overrides *overrides; /**< settings instead of the job's file, its memory limit too; NULL: none */
    bool has_overrides;          /**< some are settings of the job: then settings that were found must be good too */
    const char *device;          /**< name or file of a device; NULL */
    int stages;                  /**< of the trace; 0: by the job */
    int n_threads;               /**< 0: all cores */
    bool quiet;                  /**< no notes on used and skipped files */
    const ek_listener *warnings; /**< receives warnings of the readers; may be NULL */
    const ek_listener *notes;    /**< receives notes on used and skipped files, with reasons; may be NULL */
    /** Called before the traces are read, once, from the calling thread; may be NULL. */
    void (*traces_begin)(void *user);
    /** As in ek_trace_options, for the traces. */
    void (*progress)(void *user, double share, const char *what);
    void *user;                    /**< of both */
    const ek_interrupt *interrupt; /**< may be NULL */
} ek_run_reading;

/** Data that was read. Zeroed at first; it must not move, since `input` points into it. */
typedef struct ek_run_evidence {
    ek_run_input input;
    ek_trace_run trace;
    ek_job job;
    ek_device device;
    bool owns_device; /**< it is of a file: its tables are freed with the rest */
    ek_collection dry_runs;
    ek_train_log log;
    int n_ir;
    ek_ir *ir[EK_MAX_RUN_GRAPHS];
    ek_ir_report report[EK_MAX_RUN_GRAPHS];
    const ek_ir_report *reports[EK_MAX_RUN_GRAPHS];
} ek_run_evidence;

/**
 * Read the files of a run: settings, dry runs, graphs, the training log, traces, each with its own reader.
 *
 * A file that was named must be valid. One found in a folder is skipped, with a note, where its reader refuses it. A
 * job has one file of settings; a run has one log, the last that was found. The device's memory is the limit where
 * neither the overrides nor a dry run's log give one.
 *
 * @param out  ek_run_evidence_clear() frees it, also after a failure: it then has the data read so far
 * @return EK_OK, also where there was nothing to read; the readers' errors for a file that must be valid; EK_ERR_INPUT
 *         for two files of settings; EK_ERR_SYSTEM after `interrupt` while traces were read. Cost: the sum of the
 *         readers'.
 */
ek_status ek_run_read(const ek_run_reading *how, ek_run_evidence *out, ek_error *err);
/** Free the data that was read. */
void ek_run_evidence_clear(ek_run_evidence *evidence);

/** Is a measured run a trace, a folder or a file, and not a training log? By content. Cost: ek_run_kind_of(). */
bool ek_run_is_trace(const char *path);

/**
 * Compare a measured run with an estimate: the step of a profiler's trace or of a training log, by the kind of `path`.
 *
 * @param path      a training log ("-": standard input), or a file or folder of traces
 * @param how       for traces; NULL: defaults
 * @param listener  receives warnings of the readers; may be NULL
 * @return as ek_estimate_against_log(), ek_estimate_against_trace() and the readers; EK_ERR_INPUT for an empty one.
 *   Cost: that of the reader.
 */
ek_status ek_run_against(const ek_estimate *estimate, const char *path, const ek_trace_options *how,
                         const ek_listener *listener, ek_against *out, ek_error *err);

EK_END_DECLS
#endif
