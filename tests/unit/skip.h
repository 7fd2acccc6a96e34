/* tests/unit/skip.h - skips cases that cannot run here, for example without published files. A skipped case prints its
 * reason; tests/tap.sh joins it to the line of TAP, and the summary of `./run test` counts cases by reason. */
#ifndef EK_TESTS_SKIP_H
#define EK_TESTS_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

/* Ends the case as skipped. The reason is one line; the same cause has the same words everywhere. */
#define skip_because(...)                                                                                              \
    do {                                                                                                               \
        print_message("# skipped: " __VA_ARGS__);                                                                      \
        print_message("\n");                                                                                           \
        skip();                                                                                                        \
    } while (0)

/* "EK_SHARED/name" in one of a few static buffers; ../shared where that is not set. */
static inline const char *shared_path(const char *name)
{
    static char path[4][4096];
    static int next;
    const char *shared = getenv("EK_SHARED");
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", shared ? shared : "../shared", name);
    return path[next];
}

/* The path of a file or folder below ../shared. The case is skipped where it is absent. */
static inline const char *need_shared(const char *name)
{
    const char *path = shared_path(name);
    if (access(shared_path("reference"), R_OK) != 0)
        skip_because("../shared is not there");
    if (access(path, R_OK) != 0)
        skip_because("../shared has no %s", name);
    return path;
}

/* A file that takes no byte. The case is skipped where the system has none. */
static inline FILE *need_full_disk(void)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip_because("no /dev/full here");
    return full;
}

#endif
