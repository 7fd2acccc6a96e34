/* Clocks and machines of a rehearsal. Processes of one machine share its clock; between machines the difference is
 * measured as in network time protocols: a reply's time lies between sending the request and receiving the reply, and
 * the fastest of many round trips has the smallest error. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "mpi/rehearse_mpi.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

enum { QUESTIONS = 64, TAG = 1 };

double mpi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void mpi_sleep_until(double then)
{
    struct timespec t;
    if (then <= 0)
        return;
    t.tv_sec = (time_t)then;
    t.tv_nsec = (long)((then - (double)t.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

/* Process 0 answers with its time. */
static void answer(MPI_Comm comm, int to)
{
    char question;
    for (int i = 0; i < QUESTIONS; i++) {
        MPI_Recv(&question, 1, MPI_CHAR, to, TAG, comm, MPI_STATUS_IGNORE);
        double now = mpi_now();
        MPI_Send(&now, 1, MPI_DOUBLE, to, TAG, comm);
    }
}

static mpi_clock ask(MPI_Comm comm)
{
    mpi_clock best = {0, INFINITY};
    for (int i = 0; i < QUESTIONS; i++) {
        char question = 0;
        double there, before = mpi_now();
        MPI_Send(&question, 1, MPI_CHAR, 0, TAG, comm);
        MPI_Recv(&there, 1, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
        double after = mpi_now(), error = (after - before) / 2;
        if (error < best.error)
            best = (mpi_clock){(before + after) / 2 - there, error};
    }
    return best;
}

mpi_clock mpi_clock_compare(MPI_Comm comm, bool same_machine)
{
    int index, size;
    mpi_clock clock = {0, 0};
    MPI_Comm_rank(comm, &index);
    MPI_Comm_size(comm, &size);
    for (int i = 1; i < size; i++) {
        int far = i == index && !same_machine;
        MPI_Bcast(&far, 1, MPI_INT, i, comm);
        if (far && index == 0)
            answer(comm, i);
        else if (far && index == i)
            clock = ask(comm);
    }
    return clock;
}

mpi_machine mpi_machine_find(MPI_Comm comm)
{
    mpi_machine m = {0};
    MPI_Comm own;
    int index, first;
    cpu_set_t set;
    MPI_Comm_rank(comm, &index);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, index, MPI_INFO_NULL, &own);
    MPI_Comm_size(own, &m.n_processes);
    MPI_Comm_rank(own, &m.index);
    first = index;
    MPI_Bcast(&first, 1, MPI_INT, 0, own);
    MPI_Comm_free(&own);
    m.with_first = first == 0;
    int leads = m.index == 0, before = 0;
    MPI_Allreduce(&leads, &m.n_machines, 1, MPI_INT, MPI_SUM, comm);
    MPI_Scan(&leads, &before, 1, MPI_INT, MPI_SUM, comm);
    m.number = before - 1;
    m.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    /* Timers of a process are late by 50 us as it begins. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    return m;
}
