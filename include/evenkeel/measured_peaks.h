/* evenkeel/measured_peaks.h - reads measured peaks of stages, from logs or from a list, to calibrate a prediction.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_MEASURED_PEAKS_H
#define EVENKEEL_MEASURED_PEAKS_H

#include <stdbool.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Memory as people write it ("56000", "58GB", "47.7 GiB"), in MB; a number without a unit is in MB, and a GB is 1024
 *  MB. NAN for anything else. O(length). */
double ek_memory_amount_mb(const char *text);

/** Measured peaks of stages. */
typedef struct ek_measured_peaks {
    char *name; /**< of the source, for messages */
    int n;
    ek_memory_peak *peak; /**< [n] each stage once */
    bool *fitted;         /**< [n] to be fitted to, all at first; the others judge */
    int n_fitted;
} ek_measured_peaks;

/**
 * Read peaks from the logs of a dry run or of a real run (a folder or a listing, as ek_collection_read() takes them),
 * or from a list of lines `stage,mb`, with or without a heading. A file is a list when its first line that is not a
 * comment begins with a stage's number, or is a heading with a column "stage".
 *
 * @param name      name of the source in messages; NULL: `path`
 * @param n_stages  of the job: peaks of other stages are refused
 * @param actual    peaks with fragments, else without: selects the peak of logs and the column of lists
 * @param warnings  receives warnings of ek_collection_read(); may be NULL
 * @param notes     receives a note on logs without such a peak; may be NULL
 * @param out       ek_measured_peaks_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT with the place for a line that is not a peak, a stage with two peaks, a stage that the
 *   job does not have, and a source without peaks; as ek_collection_read() for logs; EK_ERR_MEMORY. O(bytes + peaks^2).
 */
ek_status ek_measured_peaks_read(const char *path, const char *name, int n_stages, bool actual,
                                 const ek_listener *warnings, const ek_listener *notes, ek_measured_peaks *out,
                                 ek_error *err);
/** Free the name and the peaks; then as zeroed. */
void ek_measured_peaks_clear(ek_measured_peaks *peaks);

EK_END_DECLS
#endif
