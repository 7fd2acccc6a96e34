/* The machine: cores and their limits, nodes of memory, memory, folders that are written into. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "base/threads.h"
#include "doctor/checks.h"

enum { MAX_PATH = 4096, LINE = 1024 };

/* ---- cores ---- */

/* Numbers in a list as "0-3,8". */
static int count_list(const char *list)
{
    int n = 0;
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            break;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        n += last >= first ? (int)(last - first + 1) : 0;
        list = end + (*end == ',');
    }
    return n;
}

/* The value of "NAME:" in a file of the kernel. */
static bool find_value(const ek__doctor *d, const char *path, const char *name, char *out, size_t size)
{
    char whole[MAX_PATH], line[LINE];
    size_t n = strlen(name);
    snprintf(whole, sizeof whole, "%s%s", d->root, path);
    FILE *file = fopen(whole, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        found = strncmp(line, name, n) == 0 && line[n] == ':';
        if (found) {
            const char *value = line + n + 1;
            value += strspn(value, " \t");
            snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
        }
    }
    if (file)
        fclose(file);
    return found;
}

static void add_nodes(ek__doctor *d)
{
    char online[LINE];
    int n = ek__doctor_line(d, "/sys/devices/system/node/online", online, sizeof online) ? count_list(online) : 0;
    if (n > 1)
        ek__doctor_add(
            d, "numa", EK_DOCTOR_NOTE,
            "for large traces and searches of many threads, `numactl --cpunodebind=0 --membind=0 evenkeel ...` "
            "keeps the work on one of them",
            "%d NUMA nodes", n);
}

void ek__check_cores(ek__doctor *d)
{
    char text[LINE], groups[MAX_PATH], mounts[MAX_PATH];
    int online = ek__doctor_line(d, "/sys/devices/system/cpu/online", text, sizeof text) ? count_list(text) : 0;
    int allowed =
        find_value(d, "/proc/self/status", "Cpus_allowed_list", text, sizeof text) ? count_list(text) : online;
    snprintf(groups, sizeof groups, "%s/proc/self/cgroup", d->root);
    snprintf(mounts, sizeof mounts, "%s/sys/fs/cgroup", d->root);
    double quota = ek__cgroup_cores(groups, mounts);
    int threads = d->out->n_threads;
    if (online == 0) {
        ek__doctor_add(d, "cores", EK_DOCTOR_OK, NULL, "%d threads are used", threads);
        return;
    }
    bool limited = isfinite(quota) && quota < allowed;
    char of_quota[96] = "";
    if (limited)
        snprintf(of_quota, sizeof of_quota, ", a CPU quota of %s cores", ek__short(quota).text);
    ek__doctor_add(
        d, "cores", limited || allowed < online ? EK_DOCTOR_NOTE : EK_DOCTOR_OK,
        limited            ? "give the container more CPU (docker --cpus, a limit of Kubernetes) for faster searches"
        : allowed < online ? "give the process more cores (taskset, cpuset, --cpus-per-task of srun) for faster "
                             "searches"
                           : NULL,
        "%d of %d cores may be used%s: %d thread%s", allowed, online, of_quota, threads, threads == 1 ? "" : "s");
    add_nodes(d);
}

/* ---- memory ---- */

static double mb_of(const char *value)
{
    return ek__strtod(value, NULL) / 1024; /* kB */
}

/* MB that the process's group may take; INFINITY. */
static double group_limit(const ek__doctor *d)
{
    static const char *const path[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    char text[LINE];
    for (int i = 0; i < 2; i++)
        if (ek__doctor_line(d, path[i], text, sizeof text)) {
            double bytes = ek__strtod(text, NULL);
            return bytes > 0 && bytes < 1e18 ? bytes / EK__MB : INFINITY;
        }
    return INFINITY;
}

void ek__check_memory(ek__doctor *d)
{
    char total[LINE], available[LINE];
    struct rlimit most;
    double limit = group_limit(d);
    if (!find_value(d, "/proc/meminfo", "MemTotal", total, sizeof total) ||
        !find_value(d, "/proc/meminfo", "MemAvailable", available, sizeof available))
        return;
    double free_mb = mb_of(available), all = mb_of(total);
    bool in_group = limit < all;
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY && (double)most.rlim_cur / EK__MB < limit)
        limit = (double)most.rlim_cur / EK__MB;
    double usable = fmin(free_mb, limit);
    char of_limit[96] = "";
    if (limit < all)
        snprintf(of_limit, sizeof of_limit, ", %s MB allowed by %s", ek__grouped(floor(limit)).text,
                 in_group ? "the cgroup" : "ulimit -v");
    bool tight = usable < 256, small = usable < 2048;
    char of_all[48];
    snprintf(of_all, sizeof of_all, "%s", ek__grouped(floor(all)).text);
    ek__doctor_add(d, "memory",
                   tight   ? EK_DOCTOR_PROBLEM
                   : small ? EK_DOCTOR_NOTE
                           : EK_DOCTOR_OK,
                   small ? "close other programs, or raise the limit: searches and large traces take up to some GB"
                         : NULL,
                   "%s MB available of %s MB%s", ek__grouped(floor(free_mb)).text, of_all, of_limit);
}

/* ---- folders ---- */

static void check_temporary(ek__doctor *d)
{
    const char *folder = getenv("TMPDIR");
    char path[MAX_PATH];
    struct statvfs about;
    folder = folder && *folder ? folder : "/tmp";
    snprintf(path, sizeof path, "%s/evenkeel-doctor-XXXXXX", folder);
    int file = mkstemp(path);
    if (file < 0) {
        ek__doctor_add(d, "temporary", EK_DOCTOR_PROBLEM, "set TMPDIR to a folder that can be written into",
                       "the temporary folder '%s' cannot be written into: %s", folder, strerror(errno));
        return;
    }
    close(file);
    unlink(path);
    double mb = statvfs(folder, &about) == 0 ? (double)about.f_bavail * (double)about.f_frsize / EK__MB : (double)NAN;
    bool small = mb < 1024;
    ek__doctor_add(d, "temporary", small ? EK_DOCTOR_NOTE : EK_DOCTOR_OK,
                   small ? "set TMPDIR to a folder with more space: profilers' databases are unpacked there" : NULL,
                   "the temporary folder '%s' has %s MB free", folder, ek__grouped(floor(mb)).text);
}

void ek__check_folders(ek__doctor *d)
{
    check_temporary(d);
    if (access(".", W_OK) == 0)
        ek__doctor_add(d, "folder", EK_DOCTOR_OK, NULL, "this folder can be written into");
    else
        ek__doctor_add(d, "folder", EK_DOCTOR_NOTE, "give outputs a path with -o, or change the folder",
                       "this folder cannot be written into: %s", strerror(errno));
}
