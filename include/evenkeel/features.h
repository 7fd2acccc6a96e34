/* evenkeel/features.h - what a build of the library may have been made without.
 *
 * Unless stated otherwise, functions take O(1) and may be called from several threads at once. */
#ifndef EVENKEEL_FEATURES_H
#define EVENKEEL_FEATURES_H

#include <stdbool.h>

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** Parts that rest on a library of their own, or that a build may do without. New ones come at the end. */
typedef enum ek_feature {
    EK_FEATURE_LINEAR_PROGRAMS, /**< CLP and CBC: solver `milp`, and the bounds of searches that linear programs give */
    EK_FEATURE_LINEAR_ALGEBRA,  /**< LAPACK: calibration, dry runs taken apart and planned, trials weighed */
    EK_FEATURE_SERVER,          /**< libmicrohttpd: ek_server_start() */
    EK_FEATURE_PAGE,            /**< the viewer's page: ek_view_write_html() */
    EK_FEATURE_FAST_GZIP,       /**< ISA-L: compressed traces are read in a third of the time */
} ek_feature;

enum { EK_N_FEATURES = EK_FEATURE_FAST_GZIP + 1 };

/** Does this build have it? False for a number that is none of the above. */
bool ek_has_feature(ek_feature feature);

/** What it is and which library it needs: "linear programs (CLP, CBC)"; NULL for a number that is none of the above.
 *  Static. */
const char *ek_feature_title(ek_feature feature);

/** What is missing and what that means, one sentence to show to a user; NULL where the build has it. Static. */
const char *ek_feature_absent(ek_feature feature);

EK_END_DECLS
#endif
