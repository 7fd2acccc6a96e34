/* Counts the cores of the process from the scheduler and from cgroup files, and runs work on threads; unreadable files
 * limit nothing. Not handled: a quota that changes while work runs, and cpusets that the affinity mask does not
 * show. */
#define _GNU_SOURCE /* the affinity mask */
#include "base/threads.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/error.h"

enum { PATH_ROOM = 4096 + 256, MOST_CORES = 1 << 16 };

/* ---- cgroups ---- */

/* The first line of a small file; false when it cannot be read. */
static bool read_line(const char *path, char *line, int room)
{
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, room, file);
    if (file)
        fclose(file);
    return read;
}

/* "max 100000", "150000 100000": microseconds of CPU time in each period. */
static double quota_of_2(const char *folder)
{
    char path[PATH_ROOM + 32], line[128], *end;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_line(path, line, sizeof line))
        return INFINITY;
    double quota = ek__strtod(line, &end), period = end > line ? ek__strtod(end, NULL) : 0;
    return quota > 0 && period > 0 ? quota / period : INFINITY; /* "max" is read as 0 */
}

/* Two files; a quota of -1 is none. */
static double quota_of_1(const char *folder)
{
    char path[PATH_ROOM + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota))
        return INFINITY;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, period, sizeof period))
        return INFINITY;
    double of_quota = ek__strtod(quota, NULL), of_period = ek__strtod(period, NULL);
    return of_quota > 0 && of_period > 0 ? of_quota / of_period : INFINITY;
}

/* The least of a group's quota and those of its ancestors up to the mount. A container often sees its own group as the
 * mount's root while its name is still the host's, so folders that do not exist are skipped. */
static double least_quota(const char *mount, const char *group, double (*quota_of)(const char *folder))
{
    char folder[PATH_ROOM];
    double least = INFINITY;
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return least;
    for (char *end = folder + length; end; end = strrchr(folder, '/')) {
        *end = '\0';
        if (strlen(folder) < strlen(mount))
            break;
        least = fmin(least, quota_of(folder));
    }
    return least;
}

/* Is "cpu" one of the names, which commas separate? */
static bool has_cpu(const char *controllers)
{
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
            return true;
    return false;
}

/* A line "id:controllers:path"; version 2 has no controllers. */
static double cores_of_line(char *line, const char *root)
{
    char mount[PATH_ROOM], *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return INFINITY;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (strcmp(group, "/") == 0)
        *group = '\0';
    if (*controllers == '\0')
        return least_quota(root, group, quota_of_2);
    if (!has_cpu(controllers))
        return INFINITY;
    snprintf(mount, sizeof mount, "%s/%s", root, controllers); /* "cpu,cpuacct"; "cpu" is often a link to it */
    double cores = least_quota(mount, group, quota_of_1);
    snprintf(mount, sizeof mount, "%s/cpu", root);
    return fmin(cores, least_quota(mount, group, quota_of_1));
}

double ek__cgroup_cores(const char *groups, const char *root)
{
    FILE *file = fopen(groups, "re");
    char line[PATH_ROOM];
    double cores = INFINITY;
    while (file && fgets(line, sizeof line, file))
        cores = fmin(cores, cores_of_line(line, root));
    if (file)
        fclose(file);
    return cores;
}

/* ---- number of threads ---- */

/* Cores of the affinity mask; a mask of more cores than a cpu_set_t has needs a larger one. */
static int affinity_cores(void)
{
    for (int room = CPU_SETSIZE; room <= MOST_CORES; room *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        size_t size = CPU_ALLOC_SIZE((size_t)room);
        int n = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0)
            return n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_CORES ? MOST_CORES : (int)n;
}

ek_status ek__threads_check(int asked, ek_error *err)
{
    if (asked >= 0)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "threads must be 1 or more, or 0 for all cores (got %d)", asked);
}

int ek__thread_count(int asked)
{
    assert(asked >= 0);
    double n = asked;
    if (asked <= 0)
        n = fmin(affinity_cores(), ceil(ek__cgroup_cores("/proc/self/cgroup", "/sys/fs/cgroup")));
    return n < 1 ? 1 : n > EK__MOST_THREADS ? EK__MOST_THREADS : (int)n;
}

/* ---- running ---- */

int ek__threads_start(ek__threads *threads, int n, void *(*work)(void *), void *first, size_t stride, int *why)
{
    sigset_t all, before;
    int failed = 0;
    threads->n = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* threads inherit it */
    while (threads->n < n && threads->n < EK__MOST_THREADS && !failed) {
        void *argument = (char *)first + (size_t)threads->n * stride;
        failed = pthread_create(&threads->thread[threads->n], NULL, work, argument);
        threads->n += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why)
        *why = failed;
    return threads->n;
}

void ek__threads_join(ek__threads *threads)
{
    for (int i = 0; i < threads->n; i++)
        pthread_join(threads->thread[i], NULL);
    threads->n = 0;
}

void ek__run_threads(int n, void *(*work)(void *), void *first, size_t stride)
{
    ek__threads threads;
    assert(n >= 1);
    ek__threads_start(&threads, n - 1, work, (char *)first + stride, stride, NULL);
    work(first);
    ek__threads_join(&threads);
}
