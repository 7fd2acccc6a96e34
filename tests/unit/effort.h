/* tests/unit/effort.h - sets how many cases of an oracle a test goes through, and for how long. Tests that compute for
 * long are built twice (tests/meson.build): without sanitizers they run all cases, and with them, which takes several
 * times as long, a few. EK_SLOWER is the factor by which the processor is slower than usual: `./run aarch64` sets it
 * for qemu. */
#ifndef EK_TESTS_EFFORT_H
#define EK_TESTS_EFFORT_H

#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EK_TEST_IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EK_TEST_IS_SANITIZED 1
#endif
#ifndef EK_TEST_IS_SANITIZED
#define EK_TEST_IS_SANITIZED 0
#endif

/** `all`; `few` where a sanitizer looks on or EK_SLOWER is set, unless EK_SLOW is. */
static inline int effort(int all, int few)
{
    return (EK_TEST_IS_SANITIZED || getenv("EK_SLOWER")) && !getenv("EK_SLOW") ? few : all;
}

/** How many times as long as usual a limit by the clock has to be for the same work. */
static inline double slower(void)
{
    const char *times = getenv("EK_SLOWER");
    return times ? atof(times) : 1;
}

#endif
