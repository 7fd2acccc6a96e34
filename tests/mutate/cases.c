/* Runs only some cases of a unit test, which this library is preloaded into, and ends at the first that fails. EK_CASES
 * has their numbers, such as "0 4 5", counted through all groups of the program; with "names" it prints the names of
 * all and runs none. A case is a row of the table that cmocka runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef int run_group(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction);
run_group _cmocka_run_group_tests;

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
                            CMFixtureFunction teardown)
{
    static size_t before;
    const char *wanted = getenv("EK_CASES");
    run_group *run;
    void *real = dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    memcpy(&run, &real, sizeof run);
    if (!wanted)
        return run(group, tests, n, setup, teardown);
    size_t first = before;
    before += n;
    if (strcmp(wanted, "names") == 0) {
        for (size_t i = 0; i < n; i++)
            printf("%s\n", tests[i].name);
        return 0;
    }
    struct CMUnitTest *chosen = malloc((n + 1) * sizeof *chosen);
    size_t k = 0;
    char *end;
    for (unsigned long number = strtoul(wanted, &end, 10); end != wanted && chosen;
         number = strtoul(wanted, &end, 10)) {
        wanted = end;
        if (number >= first && number - first < n && k < n)
            chosen[k++] = tests[number - first];
    }
    int failed = k > 0 ? run(group, chosen, k, setup, teardown) : 0;
    free(chosen);
    return failed;
}

/* The function that a failed assertion calls. */
void _fail(const char *const file, const int line)
{
    void (*go_on)(const char *, int);
    void *real = dlsym(RTLD_NEXT, "_fail");
    memcpy(&go_on, &real, sizeof go_on);
    if (getenv("EK_CASES"))
        _exit(1);
    go_on(file, line);
}
