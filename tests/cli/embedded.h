/* cli/embedded.h - replaces libc's calls in the command's files in `evenkeel_embedded`, which sets a locale as programs
 * that use the library do. It is included before every file. The command itself never sets one, so it calls libc
 * directly; here its own calls are the library's, and every figure that still changes with the locale is the library's
 * fault. */
#ifndef EK_TESTS_CLI_EMBEDDED_H
#define EK_TESTS_CLI_EMBEDDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/c_locale.h"

#define strtod      ek__strtod
#define snprintf    ek__snprintf
#define vsnprintf   ek__vsnprintf
#define fprintf     ek__fprintf
#define printf(...) ek__fprintf(stdout, __VA_ARGS__)
#define strcasecmp  ek__strcasecmp
#define strncasecmp ek__strncasecmp

#endif
