/* base/threads.h - counts the threads that a process may use, and runs work on them, for all modules. */
#ifndef EK_BASE_THREADS_H
#define EK_BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

#include "evenkeel/error.h"

/** More threads than this are never started at once. */
enum { EK__MOST_THREADS = 256 };

/** Is it a valid number of threads: 0 or more? @return EK_OK, EK_ERR_INPUT */
ek_status ek__threads_check(int asked, ek_error *err);

/**
 * The number of threads for a requested number `asked`; 0: as many as this process has cores. These are the cores of
 * its affinity mask, and at most the CPU quota of its cgroup, rounded up: a container that may use 2 of 64 cores gets
 * 2, since more threads would only be throttled.
 *
 * @param asked  passes ek__threads_check()
 * @return 1..EK__MOST_THREADS. Reads a few files of the kernel for 0.
 */
int ek__thread_count(int asked);

/**
 * Cores that the CPU quotas of a process's cgroups pay for: cpu.max of version 2, cpu.cfs_quota_us over
 * cpu.cfs_period_us of version 1. A group's ancestors limit it too, so the least counts.
 *
 * @param groups  the process's groups: /proc/self/cgroup, or a test's
 * @param root    where they are mounted: /sys/fs/cgroup, or a test's
 * @return cores, above 0; INFINITY where nothing limits them
 */
double ek__cgroup_cores(const char *groups, const char *root);

/** Threads that run. {0} is none. */
typedef struct ek__threads {
    pthread_t thread[EK__MOST_THREADS];
    int n;
} ek__threads;

/**
 * Start up to `n` threads (0 or more; EK__MOST_THREADS at most), each with work(first + i * stride). Signals go to the
 * caller's threads: these block all of them, so that handlers of a program that uses the library run where it expects.
 *
 * @param stride  bytes between the arguments; 0: all get the same one
 * @param why     out: the error number of the thread that could not be started, 0 without; may be NULL
 * @return threads started; fewer than n when the system has no more. ek__threads_join() ends them
 */
int ek__threads_start(ek__threads *threads, int n, void *(*work)(void *), void *first, size_t stride, int *why);
void ek__threads_join(ek__threads *threads);

/** Run work on `n` threads (1 or more), the caller's is one, with arguments as above, and wait for all. When threads
 *  cannot be started, fewer run: so the started ones must do all the work, those of the first arguments first. */
void ek__run_threads(int n, void *(*work)(void *), void *first, size_t stride);

#endif
