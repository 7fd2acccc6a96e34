/* The first line that a program prints. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"

extern char **environ;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Its output is the pipe's end. @return its process, a group of its own; -1 */
static pid_t start(char *const argv[], int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t process = -1;
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    if (posix_spawnattr_init(&how) == 0) {
        bool fine = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                    posix_spawn_file_actions_adddup2(&files, out, 1) == 0 &&
                    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) == 0 &&
                    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP) == 0 &&
                    posix_spawnattr_setpgroup(&how, 0) == 0;
        if (!fine || posix_spawn(&process, argv[0], &files, &how, argv, environ) != 0)
            process = -1;
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return process;
}

static void read_line(int in, double until, char *line, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && !memchr(line, '\n', n)) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        double left = until - now();
        int code = left > 0 ? poll(&ready, 1, (int)ceil(1e3 * left)) : 0;
        ssize_t got = code > 0 ? read(in, line + n, size - 1 - n) : code;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
}

void ek__child_first_line(char *const argv[], double seconds, char *line, size_t size)
{
    int end[2];
    line[0] = '\0';
    if (pipe(end) != 0)
        return;
    /* A child that another thread forks meanwhile may hold the pipe open: the time limit ends the wait then. */
    fcntl(end[0], F_SETFD, FD_CLOEXEC);
    fcntl(end[1], F_SETFD, FD_CLOEXEC);
    pid_t process = start(argv, end[1]);
    close(end[1]);
    if (process > 0) {
        read_line(end[0], now() + seconds, line, size);
        kill(-process, SIGKILL);
        while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    close(end[0]);
}
