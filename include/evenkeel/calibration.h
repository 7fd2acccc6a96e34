/* evenkeel/calibration.h - fits a device to measurements: kernels and links are taken as measured, the rest by least
 * squares on the steps of runs; the result lists which constants the data determine (docs/calibrate.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_CALIBRATION_H
#define EVENKEEL_CALIBRATION_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/compute.h"
#include "evenkeel/decls.h"
#include "evenkeel/device.h"
#include "evenkeel/interrupt.h"

EK_BEGIN_DECLS

/* ---- sources ---- */

/** Kinds of files. */
typedef enum ek_source_kind {
    EK_SOURCE_RUNS,    /**< a table of measured runs (ek_run_table_read) */
    EK_SOURCE_KERNELS, /**< a table of measured kernels (ek_kernel_table_read) */
    EK_SOURCE_RATES,   /**< rates of memory and collectives (ek_device_read_rates) */
    EK_SOURCE_LINKS,   /**< a log of nccl-tests or hccl_test */
    EK_SOURCE_LOG,     /**< a training log; its job file is a source, too */
    EK_SOURCE_JOB,
    EK_SOURCE_PROFILE, /**< a profile: any file or folder that ek_trace_run_read() reads */
} ek_source_kind;
enum { EK_N_SOURCE_KINDS = 7 };
extern const char *const *const ek_source_kind_name; /**< "measured runs", ... */

/**
 * The kind of a folder or file, from its content.
 *
 * @param out  untouched on failure
 * @return EK_OK; EK_ERR_INPUT for any other content; EK_ERR_SYSTEM, EK_ERR_MEMORY. Cost: one read of the file's
 *         beginning, of a bounded size.
 */
ek_status ek_source_kind_of(const char *path, ek_source_kind *out, ek_error *err);

/** A collective that a link test timed. */
typedef struct ek_link_time {
    ek_collective what;
    int n_ranks, per_node; /**< per_node: ranks of a node */
    double bytes;          /**< the whole message, as ek_cost_step() counts it: the full size of a gather or scatter */
    double seconds;
    int line;
} ek_link_time;

typedef struct ek_link_log {
    int n;
    ek_link_time *time; /**< [n] in the order of the file */
} ek_link_log;

/**
 * Read a log of nccl-tests (size, count, type, redop, root, time, algbw, busbw; out of place, in place where only that
 * is there) or of hccl_test (data_size, aveg_time, alg_bandwidth). The collective comes from the program's name in the
 * log (all_reduce_perf, all_reduce_test), else in the file's name. The number of ranks is that of the log's list, else
 * follows from its bandwidths, else from `-np`, `-n` or `-p` of a command in the log.
 *
 * @param per_node  devices of a node where the log does not list them
 * @param out       ek_link_log_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT with the line: no rows, a collective that is not modelled, an invalid size or time;
 *         EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size).
 */
ek_status ek_link_log_read(const char *path, int per_node, ek_link_log *out, ek_error *err);
/**
 * The same over bytes in memory; `name` replaces the file's name.
 *
 * @param text  [size] bytes
 * @return as ek_link_log_read(). O(size).
 */
ek_status ek_link_log_parse(const char *name, const char *text, size_t size, int per_node, ek_link_log *out,
                            ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_link_log_clear(ek_link_log *log);

/* ---- calibration ---- */

/** Result of the fit for a constant. */
typedef enum ek_fit_state {
    EK_FIT_DETERMINED,
    EK_FIT_AT_BOUND,  /**< the data push it out of its range: it compensates for another error */
    EK_FIT_WIDE,      /**< the data reduce its error by less than a fifth */
    EK_FIT_NO_EFFECT, /**< no run depends on it */
} ek_fit_state;
enum { EK_N_FIT_STATES = 4 };
extern const char *const *const ek_fit_state_name; /**< determined, at_bound, wide, no_effect */

typedef struct ek_calibrated_constant {
    char name[48];
    const char *unit; /**< "" for a share */
    double start, value;
    double error; /**< standard error of the value, in its unit */
    ek_fit_state state;
} ek_calibrated_constant;

/** A run and its results. */
typedef struct ek_calibrated_run {
    char name[160], group[160];
    char file[256];
    int line;
    double measured;      /**< seconds of a step, as are: */
    double before, after; /**< predicted with the start and with the result; NAN: not possible */
    double left_out;      /**< predicted without the run, NAN: it was not fitted */
    double group_out;     /**< predicted without its group */
    double weight;        /**< in the fit, below 1 for one that is off */
    bool used, held;      /**< fitted; held out */
    char why[200];        /**< neither: the reason */
} ek_calibrated_run;

/** Of |predicted / measured - 1|. */
typedef struct ek_calibration_error {
    int n;
    double mean, median, worst;
    double bias; /**< mean of predicted / measured - 1 */
} ek_calibration_error;

/** A collective of a tier by link tests. */
typedef struct ek_calibrated_link {
    int tier;
    ek_collective what;
    int n; /**< times */
    double share, start_us;
    double median_error; /**< of |predicted / measured - 1| */
} ek_calibrated_link;

/** Collectives of a profile, by how they were used. */
typedef enum ek_profile_collective {
    EK_PROFILE_WHOLE,     /**< waiting is known, so that their time is that of the transfer */
    EK_PROFILE_SHORTEST,  /**< waiting may be inside: of each size the shortest was taken */
    EK_PROFILE_UNSIZED,   /**< operation, bytes or ranks of the group are unknown */
    EK_PROFILE_UNPLACED,  /**< the nodes of their ranks are unknown */
    EK_PROFILE_TOO_FEW,   /**< waiting may be inside, and too few of their size to hold one without */
    EK_PROFILE_UNMODELLED /**< broadcasts and others that no step is priced with */
} ek_profile_collective;
enum { EK_N_PROFILE_COLLECTIVES = 6 };
extern const char *const *const ek_profile_collective_name; /**< whole, shortest, ... */

enum { EK_N_PROFILE_NOTES = 3 };

/** The data taken from a profile. */
typedef struct ek_calibrated_profile {
    char path[256]; /**< the first of its sources */
    int n_ranks;
    int n_shapes[EK_N_KERNEL_KINDS];          /**< that were measured, of each kind */
    bool fitted[EK_N_KERNEL_KINDS];           /**< enough of them for the kind's curve */
    double start_error[EK_N_KERNEL_KINDS];    /**< median of |predicted / measured - 1| of the start over the shapes */
    long long n_operators[EK_N_PROFILE_LEFT]; /**< executions */
    long long n_causal_assumed; /**< attention operators with an unknown mask; a causal mask was assumed */
    long long n_layout_assumed; /**< products with an unknown direction; forward was assumed */
    long long n_collectives[EK_N_PROFILE_COLLECTIVES];
    int n_link_times;                   /**< operation, bytes and ranks, each once */
    long long n_intervals;              /**< between launches of one thread */
    double launch_us;                   /**< their median; NAN: not known */
    bool launch_used;                   /**< it is now the device's */
    int launch;                         /**< ek_launch that it is of */
    double step_seconds;                /**< NAN: not known */
    bool step_used;                     /**< as a measured run of a job */
    char note[EK_N_PROFILE_NOTES][240]; /**< missing data and how to record it; "" after the last */
} ek_calibrated_profile;
enum { EK_PROFILE_LEAST_SHAPES = 6 }; /* more than a curve has constants */

/** A run worth measuring. */
typedef struct ek_proposed_run {
    char what[200];
    char from[200];   /**< the measured layout that it is derived from, by */
    char change[320]; /**< these settings of its framework */
    double seconds;   /**< predicted */
    double expected;  /**< standard error of the prediction's logarithm */
    double after;     /**< root mean square of all candidates' once this and those before are measured */
    bool new_cell;    /**< its layers are unlike any that were measured */
} ek_proposed_run;
enum { EK_N_PROPOSED = 3, EK_MAX_LINK_FITS = EK_MAX_TIERS * EK_N_COLLECTIVES };

typedef struct ek_calibration {
    ek_device device; /**< the result */
    char start[EK_NAME_SIZE];
    int n_sources;
    struct ek_calibration_source {
        char path[256];
        ek_source_kind kind;
        int n; /**< rows, times, steps, operators and collectives */
    } * source;
    int n_runs;
    ek_calibrated_run *run; /**< [n_runs] */
    int n_groups;           /**< of the runs that are fitted */
    int n_used, n_held;
    int n_left; /**< neither fitted nor held out */
    ek_calibration_error before, fit, leave_one_out, leave_group_out;
    ek_calibration_error held_before, held;
    double noise; /**< standard deviation of a run's logarithm, the constants being known */
    int n_constants;
    ek_calibrated_constant *constant; /**< [n_constants] */
    bool has_kernels;
    ek_kernel_fit kernels[EK_N_KERNEL_KINDS];
    int n_links;
    ek_calibrated_link link[EK_MAX_LINK_FITS];
    int n_profiles;
    ek_calibrated_profile *profile; /**< [n_profiles], one a run; files of one folder are of one run */
    int n_layers;                   /**< rows of the table of layers, 0: none */
    double layer_width, layer_lambda;
    double met_error, new_error; /**< standard errors of the logarithm of a step: layers that were met, and others */
    int n_candidates, n_proposed;
    double candidate_error; /**< root mean square over the candidates, before any of them is measured */
    ek_proposed_run proposed[EK_N_PROPOSED];
} ek_calibration;

typedef struct ek_calibrate_input {
    const char *const *path; /**< [n_paths] of any kind and order */
    int n_paths;
    const ek_device *start; /**< borrowed; NULL: the shipped device that the runs name */
    double holdout;         /**< share of the groups held out, 0..0.9 */
    const ek_listener *listener;
    void (*progress)(void *user, double share, const char *what); /**< may be NULL */
    void *progress_user;
    const ek_interrupt *interrupt; /**< may be NULL */
} ek_calibrate_input;

/**
 * Fit a device to sources of any mixture: kernels and rates as measured, profiles' operators, collectives and launches,
 * links fitted to their tests, then constants to the steps of runs, then a table of the remaining time of layers.
 * Groups of runs are held out by a hash of their names.
 *
 * @param out  ek_calibration_clear() frees it, its device too; untouched on failure
 * @return EK_OK; EK_ERR_INPUT naming the file or the missing input (a start, a log's job, runs that can be predicted);
 *         EK_ERR_SYSTEM, EK_ERR_MEMORY. Cost: about 2000 ek_cost_step() of each run.
 */
ek_status ek_calibrate(const ek_calibrate_input *input, ek_calibration *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_calibration_clear(ek_calibration *calibration);

/**
 * Write the device as a file, with its sources and the remaining errors as comments.
 *
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(output).
 */
ek_status ek_calibration_write_device(const ek_calibration *calibration, FILE *out, ek_error *err);
EK_END_DECLS
#endif
