/* evenkeel/version.h - the version of these headers, and that of the library at run time. */
#ifndef EVENKEEL_VERSION_H
#define EVENKEEL_VERSION_H

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** Of the headers. */
#define EK_VERSION       "0.1.0"
#define EK_VERSION_MAJOR 0
#define EK_VERSION_MINOR 1
#define EK_VERSION_PATCH 0
/** As one number that grows with the version, for conditions of the preprocessor. */
#define EK_VERSION_NUMBER (EK_VERSION_MAJOR * 1000000 + EK_VERSION_MINOR * 1000 + EK_VERSION_PATCH)

/** Version of the library that runs, as EK_VERSION of its headers: "0.1.0". Static. O(1); any thread. */
const char *ek_version(void);
/** The same as EK_VERSION_NUMBER. O(1); any thread. */
int ek_version_number(void);

EK_END_DECLS
#endif
