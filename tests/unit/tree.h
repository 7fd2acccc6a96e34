/* tree.h - a test's folder tree below /tmp, made before every test and removed after it. */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include "input.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64];

static inline int make_top(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/evenkeel_tree_XXXXXX");
    if (!mkdtemp(top))
        return -1;
    strcat(top, "/t"); /* the random name may end in a number, which would be a rank */
    return mkdir(top, 0777);
}

static inline void remove_tree(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char inner[4096];
        struct stat info;
        int n = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (n >= (int)sizeof inner || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
            remove_tree(inner);
        else
            unlink(inner);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

static inline int remove_top(void **state)
{
    (void)state;
    top[strlen(top) - 2] = '\0';
    remove_tree(top);
    return 0;
}

/* "top/name", one of a few static buffers. */
static inline const char *below(const char *name)
{
    static char path[8][4096];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s%s%s", top, *name ? "/" : "", name);
    return path[next];
}

/* A file below `top` with its folders. */
static inline void put_bytes(const char *name, const void *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", top, name);
    for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0777);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static inline void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

#endif
