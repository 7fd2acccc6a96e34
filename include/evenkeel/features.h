/* evenkeel/features.h - optional features that a build of the library may lack.
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
    EK_FEATURE_LINEAR_ALGEBRA,  /**< LAPACK: calibration, decomposition and planning of dry runs, choice of trials */
    EK_FEATURE_SERVER,          /**< libmicrohttpd: ek_server_start() */
    EK_FEATURE_PAGE,            /**< the viewer's page: ek_view_write_html() */
    EK_FEATURE_FAST_GZIP,       /**< ISA-L: compressed traces are read in a third of the time */
} ek_feature;

enum { EK_N_FEATURES = EK_FEATURE_FAST_GZIP + 1 };

/** Does this build have it? False for an unknown number. */
bool ek_has_feature(ek_feature feature);

/** The title of a feature with the library that it needs: "linear programs (CLP, CBC)"; NULL for any other number.
 *  Static. */
const char *ek_feature_title(ek_feature feature);

/** The missing feature and its effect, one sentence for users; NULL where the build has it. Static. */
const char *ek_feature_absent(ek_feature feature);

EK_END_DECLS
#endif
