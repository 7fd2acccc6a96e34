/* Makes one allocation of the command and the library fail: linked with --wrap for the functions below. EK_FAIL_AT is
 * the number of the one that fails, from 1 on; their count is written to the file that EK_FAIL_COUNT names. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
FILE *__real_fopen(const char *path, const char *mode);
DIR *__real_opendir(const char *path);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
FILE *__wrap_fopen(const char *path, const char *mode);
DIR *__wrap_opendir(const char *path);

static long failing, n_allocations;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("EK_FAIL_AT");
    failing = at ? strtol(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("EK_FAIL_COUNT");
    FILE *out = path ? __real_fopen(path, "w") : NULL;
    if (!out)
        return;
    fprintf(out, "%ld\n", n_allocations);
    fclose(out);
}

static int fails(void)
{
    if (__atomic_add_fetch(&n_allocations, 1, __ATOMIC_RELAXED) != failing)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    return fails() ? NULL : __real_fopen(path, mode);
}

DIR *__wrap_opendir(const char *path)
{
    return fails() ? NULL : __real_opendir(path);
}
