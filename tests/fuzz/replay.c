/* Runs files through a fuzz target without libFuzzer: one TAP case per file of the given folders. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void replay(const char *path, const char *name, int number)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(data, 1, sizeof data, file) : 0;
    if (file) {
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%sok %d - %s\n", file ? "" : "not ", number, name);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    enum { MAX_FILES = 4096 };
    static char *names[MAX_FILES];
    int number = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder)
            continue;
        int n = 0;
        for (struct dirent *entry; n < MAX_FILES && (entry = readdir(folder));)
            if (entry->d_name[0] != '.')
                names[n++] = strdup(entry->d_name);
        closedir(folder);
        qsort(names, (size_t)n, sizeof *names, by_name);
        for (int k = 0; k < n; k++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], names[k]);
            replay(path, names[k], ++number);
            free(names[k]);
        }
    }
    printf("1..%d\n", number);
    return 0;
}
