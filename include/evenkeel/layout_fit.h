/* evenkeel/layout_fit.h - finds changes that make a job fit when none of its layouts does: other devices, more memory,
 * states of the optimizer on the host.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LAYOUT_FIT_H
#define EVENKEEL_LAYOUT_FIT_H

#include "evenkeel/decls.h"
#include "evenkeel/layout.h"

EK_BEGIN_DECLS

/** Kinds of changes. Recomputation is not one of them: layouts are ruled out by their memory with everything
 *  recomputed.
 */
typedef enum ek_fit_change {
    EK_FIT_FREE,    /**< axes that ranges held are free */
    EK_FIT_OFFLOAD, /**< the optimizer's states are on the host */
    EK_FIT_DEVICES, /**< a multiple of the devices, with the same global batch */
    EK_FIT_MEMORY,  /**< another limit */
} ek_fit_change;
enum { EK_N_FIT_CHANGES = 4 };
extern const char *const *const ek_fit_change_name; /**< "free", "offload", "devices", "memory" */

/** One change, tried. */
typedef struct ek_layout_fit {
    ek_fit_change change;
    bool fits;       /**< a plan was found; the next members describe it */
    int n_devices;   /**< of the plan; the most tried where none fits */
    double limit_mb; /**< that the plan fits into; where none fits, the largest tried */
    double peak_mb;  /**< of its fullest stage */
    double seconds;  /**< its step: no promise that it is the shortest */
    ek_layout layout;
} ek_layout_fit;

typedef struct ek_layout_fits {
    int n;
    ek_layout_fit fit[EK_N_FIT_CHANGES];
} ek_layout_fits;

/**
 * Try each change that the job's framework has, one at a time, and find one plan that fits by ek_memory_predict(): the
 * smallest of 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 and 64 times the devices that has one, and the smallest limit of a few
 * from the least peak upwards.
 *
 * @param result  without plans; its options' interrupt ends this as well
 * @return EK_OK; EK_ERR_MEMORY. Cost: at most 15 s for each search and 60 s in all; O(layouts) where their bounds show
 *   that nothing fits.
 */
ek_status ek_layout_would_fit(const ek_layout_result *result, ek_layout_fits *out, ek_error *err);

EK_END_DECLS
#endif
