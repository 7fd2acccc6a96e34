/* Runs work in a child process that returns its answer in shared memory. A pipe would not do, since another thread's
 * child would inherit its writing end and keep it open. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/error.h"

enum { FIRST_WAIT_NS = 200 * 1000, LONGEST_WAIT_NS = 10 * 1000 * 1000 };

/* At the head of the shared memory, the answer after it. */
typedef struct head {
    _Alignas(max_align_t) atomic_bool answered;
} head;

static _Noreturn void be_child(bool (*work)(void *user, void *answer), void *user, head *shared, pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) /* it ended before */
        _exit(1);
    /* The terminal's Ctrl-C reaches both processes: the parent decides. Handlers of the parent are not for this
     * copy. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    if (work(user, shared + 1))
        atomic_store(&shared->answered, true);
    _exit(0);
}

/* @return when the child is gone */
static void wait_for(pid_t child, bool (*over)(void *user), void *user, bool *stopped)
{
    struct timespec wait = {.tv_nsec = FIRST_WAIT_NS};
    for (;;) {
        pid_t gone = waitpid(child, NULL, *stopped ? 0 : WNOHANG);
        if (gone == child || (gone < 0 && errno != EINTR)) /* ECHILD: the process ignores its children's ends */
            return;
        if (gone < 0 || *stopped)
            continue;
        if (over(user)) {
            kill(child, SIGKILL);
            *stopped = true;
            continue;
        }
        nanosleep(&wait, NULL);
        wait.tv_nsec = wait.tv_nsec * 2 < LONGEST_WAIT_NS ? wait.tv_nsec * 2 : LONGEST_WAIT_NS;
    }
}

ek_status ek__child_run(bool (*work)(void *user, void *answer), bool (*over)(void *user), void *user, void *answer,
                        size_t size, ek__child_end *end, ek_error *err)
{
    assert(size > 0);
    size_t all = sizeof(head) + size;
    head *shared = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return ek__no_memory(err);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        be_child(work, user, shared, parent);
    ek_status status = EK_OK;
    if (child < 0) {
        status = errno == ENOMEM
                     ? ek__no_memory(err)
                     : ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "no process could be started: %s", strerror(errno));
    } else {
        bool stopped = false;
        wait_for(child, over, user, &stopped);
        bool answered = atomic_load(&shared->answered);
        *end = answered ? EK__CHILD_ANSWERED : stopped ? EK__CHILD_STOPPED : EK__CHILD_CRASHED;
        if (answered)
            memcpy(answer, shared + 1, size);
    }
    munmap(shared, all);
    return status;
}
