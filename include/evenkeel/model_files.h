/* evenkeel/model_files.h - reads the layers of a model from an init file or a layer file for the balancer.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_MODEL_FILES_H
#define EVENKEEL_MODEL_FILES_H

#include "evenkeel/decls.h"
#include "evenkeel/dryrun.h"

EK_BEGIN_DECLS

/** Where a model is read from. All pointers are borrowed for the call. */
typedef struct ek_model_files {
    const char *init;      /**< init file: layers by decomposition of its peaks; NULL */
    const char *layers;    /**< layer file; NULL. With `init` too: layers from here, the pipeline from there */
    const char *name;      /**< of the model of an init file */
    const ek_times *times; /**< win over those of the file; NULL */
    bool sapp_compatible;  /**< of an init file: as the original takes its peaks and traces, with its faults */
} ek_model_files;

/** The model that was read. */
typedef struct ek_file_model {
    ek_layers layers;
    ek_dryrun_run run;  /**< the pipeline to balance for, from the init file; zeros without one */
    int dry_run_stages; /**< of the init file that the layers are from; 0 for a layer file */
} ek_file_model;

/**
 * Read a model: ek_layers_read(), or ek_dryrun_read() with ek_dryrun_read_profiles() where times are missing and
 * ek_dryrun_decompose().
 *
 * @param files     at least one of `init` and `layers` is given
 * @param warnings  receives warnings of the readers; may be NULL
 * @param notes     receives notes on measured and assumed values of traces; may be NULL
 * @param out       ek_layers_clear() frees its layers; untouched on failure
 * @return as the readers; EK_ERR_INPUT with the remedy where a file has the settings of a training job instead. O(file
 *         size), plus that of the traces an init file names and of ek_dryrun_decompose().
 */
ek_status ek_model_files_read(const ek_model_files *files, const ek_listener *warnings, const ek_listener *notes,
                              ek_file_model *out, ek_error *err);

/**
 * Add memory that every stage holds in addition to the layers.
 *
 * @param given_mb  the user's value: replaces that of the init file where it is above 0
 * @param run_mb    ek_dryrun_run.constant_mb
 * @param notes     receives a note where the layers have a constant already; may be NULL
 */
void ek_layers_add_constant(ek_layers *layers, double given_mb, double run_mb, const ek_listener *notes);

EK_END_DECLS
#endif
