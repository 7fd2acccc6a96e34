/* Lists the features of this build. Each part is a file that reports its presence; the build takes either that file or
 * its replacement in src/absent/. */
#include "evenkeel/features.h"

#include <stddef.h>

#include "base/clp.h"
#include "base/linear.h"
#include "serve/server.h"
#include "trace/scan/isal.h"
#include "view/shell.h"

static const char *const absent[EK_N_FEATURES] = {
    [EK_FEATURE_LINEAR_PROGRAMS] = "this build has no CLP and CBC (-Dcbc=enabled): no solver 'milp', and no bounds by "
                                   "linear programs, so that less is proved",
    [EK_FEATURE_LINEAR_ALGEBRA] =
        "this build has no LAPACK (-Dlapack=enabled): no calibration, no dry runs taken apart "
        "or planned, no trials",
    [EK_FEATURE_SERVER] = "this build has no libmicrohttpd (-Dserver=enabled): no page is served",
    [EK_FEATURE_PAGE] = "this build has no viewer's page (-Dpage=enabled): no page is written",
    [EK_FEATURE_FAST_GZIP] =
        "this build has no ISA-L (-Disal=enabled): compressed traces take three times as long to read",
};

static const char *const title[EK_N_FEATURES] = {
    [EK_FEATURE_LINEAR_PROGRAMS] = "linear programs (CLP, CBC)",
    [EK_FEATURE_LINEAR_ALGEBRA] = "linear algebra (LAPACK)",
    [EK_FEATURE_SERVER] = "server (libmicrohttpd)",
    [EK_FEATURE_PAGE] = "page for browsers",
    [EK_FEATURE_FAST_GZIP] = "fast gzip (ISA-L)",
};

bool ek_has_feature(ek_feature feature)
{
    switch (feature) {
    case EK_FEATURE_LINEAR_PROGRAMS:
        return ek__clp_present();
    case EK_FEATURE_LINEAR_ALGEBRA:
        return ek__linear_present();
    case EK_FEATURE_SERVER:
        return ek__server_present();
    case EK_FEATURE_PAGE:
        return ek__view_page_size > 0;
    case EK_FEATURE_FAST_GZIP:
        return ek__isal_present();
    }
    return false;
}

const char *ek_feature_absent(ek_feature feature)
{
    return ek_has_feature(feature) || (unsigned)feature >= EK_N_FEATURES ? NULL : absent[feature];
}

const char *ek_feature_title(ek_feature feature)
{
    return (unsigned)feature < EK_N_FEATURES ? title[feature] : NULL;
}
