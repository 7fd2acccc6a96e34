/* Shared by the checks of an installation: adding a line, looking for programs, reading files of the kernel. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "doctor/checks.h"

enum { MAX_PATH = 4096 };

void ek__doctor_add(ek__doctor *d, const char *id, ek_doctor_level level, const char *remedy, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int n = ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = n < 0 ? NULL : ek__pool_text(d->out->pool, text, strlen(text));
    d->no_memory |= !kept;
    if (!kept || d->out->n_lines == EK_MAX_DOCTOR_LINES)
        return;
    d->out->line[d->out->n_lines++] = (ek_doctor_line){id, level, kept, remedy};
    d->out->n_of_level[level]++;
}

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static const char *find_in(ek__doctor *d, const char *folder, size_t n, const char *program)
{
    char path[MAX_PATH];
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)n, folder, program);
    if (n == 0 || length < 0 || length >= (int)sizeof path || !is_program(path))
        return NULL;
    const char *kept = ek__pool_text(d->out->pool, path, (size_t)length);
    d->no_memory |= !kept;
    return kept;
}

const char *ek__doctor_find(ek__doctor *d, const char *program)
{
    const char *at = d->options->program, *slash = at ? strrchr(at, '/') : NULL;
    const char *found = slash ? find_in(d, at, (size_t)(slash - at), program) : NULL;
    const char *path = getenv("PATH");
    while (path && *path && !found) {
        size_t n = strcspn(path, ":");
        found = find_in(d, path, n, program);
        path += n + (path[n] == ':');
    }
    return found;
}

bool ek__doctor_line(const ek__doctor *d, const char *path, char *out, size_t size)
{
    char whole[MAX_PATH];
    snprintf(whole, sizeof whole, "%s%s", d->root, path);
    FILE *file = fopen(whole, "re");
    if (!file)
        return false;
    bool read = fgets(out, (int)size, file) != NULL;
    fclose(file);
    if (read)
        out[strcspn(out, "\n")] = '\0';
    return read;
}
