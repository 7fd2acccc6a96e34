/* Times the links between the processes of a launcher: messages and collectives from 1 KB on, each size four times the
 * one before, within a machine and across all. A time is the slowest process's, the median of the repetitions; large
 * messages are repeated less often. ek_link_time defines the bytes of a collective. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/rehearse_mpi.h"
#include "mpi/rehearse_parts.h"
#include "options.h"
#include "team.h"

enum { MOST_TIMES = 256, LEAST_BYTES = 1024, MOST_REPEATS = 50, LEAST_REPEATS = 3, TAG = 1 };
static const double REPEATED = 64e6; /* bytes of all repetitions of a size */

typedef struct group {
    MPI_Comm comm;
    int index, size, per_node;
} group;

typedef struct buffers {
    char *send, *receive;
    size_t bytes; /* of each */
} buffers;

/* Process 0 of the group and its last one send a message back and forth: half of it is one way. The others wait. */
static void ping_pong(const group *g, const buffers *b, int bytes)
{
    int last = g->size - 1;
    if (g->index == 0) {
        MPI_Send(b->send, bytes, MPI_BYTE, last, TAG, g->comm);
        MPI_Recv(b->receive, bytes, MPI_BYTE, last, TAG, g->comm, MPI_STATUS_IGNORE);
    } else if (g->index == last) {
        MPI_Recv(b->receive, bytes, MPI_BYTE, 0, TAG, g->comm, MPI_STATUS_IGNORE);
        MPI_Send(b->send, bytes, MPI_BYTE, 0, TAG, g->comm);
    }
}

/* @param bytes  the whole message, a multiple of 4 n */
static void run_once(const group *g, ek_collective what, const buffers *b, int bytes)
{
    int part = bytes / g->size;
    switch (what) {
    case EK_COLLECTIVE_P2P:
        ping_pong(g, b, bytes);
        break;
    case EK_COLLECTIVE_ALL_REDUCE:
        MPI_Allreduce(b->send, b->receive, bytes / 4, MPI_FLOAT, MPI_SUM, g->comm);
        break;
    case EK_COLLECTIVE_ALL_GATHER:
        MPI_Allgather(b->send, part, MPI_BYTE, b->receive, part, MPI_BYTE, g->comm);
        break;
    case EK_COLLECTIVE_REDUCE_SCATTER:
        MPI_Reduce_scatter_block(b->send, b->receive, part / 4, MPI_FLOAT, MPI_SUM, g->comm);
        break;
    case EK_COLLECTIVE_ALL_TO_ALL:
    default:
        MPI_Alltoall(b->send, part, MPI_BYTE, b->receive, part, MPI_BYTE, g->comm);
        break;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_one(const group *g, ek_collective what, const buffers *b, int bytes)
{
    double seconds[MOST_REPEATS];
    int n = (int)fmin(fmax(REPEATED / bytes, LEAST_REPEATS), MOST_REPEATS);
    for (int i = -1; i < n; i++) { /* the first one sets up connections */
        MPI_Barrier(g->comm);
        double start = mpi_now();
        run_once(g, what, b, bytes);
        double own = mpi_now() - start, slowest = 0;
        MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, g->comm);
        if (i >= 0)
            seconds[i] = what == EK_COLLECTIVE_P2P ? slowest / 2 : slowest;
    }
    qsort(seconds, (size_t)n, sizeof *seconds, compare);
    return seconds[n / 2];
}

static int time_group(const group *g, const buffers *b, ek_link_time *time)
{
    int n = 0;
    for (int what = 0; what < EK_N_COLLECTIVES; what++)
        for (size_t size = LEAST_BYTES; size <= b->bytes && n < MOST_TIMES / 2; size *= 4) {
            size_t unit = 4 * (size_t)g->size, bytes = (size + unit - 1) / unit * unit;
            bool pair = what == EK_COLLECTIVE_P2P;
            if (pair)
                bytes = size;
            double seconds = time_one(g, (ek_collective)what, b, (int)bytes);
            /* Two ranks of a message: in one machine, or one in each of two. */
            time[n++] = (ek_link_time){.what = (ek_collective)what,
                                       .n_ranks = pair ? 2 : g->size,
                                       .per_node = !pair                    ? g->per_node
                                                   : g->per_node == g->size ? 2
                                                                            : 1,
                                       .bytes = (double)bytes,
                                       .seconds = seconds};
        }
    return n;
}

int mpi_rehearse_time_links(const cli_rehearse *how, ek_link_time **time, int *n)
{
    const ek_team *team = cli_team();
    mpi_machine machine = mpi_machine_find(MPI_COMM_WORLD);
    group all = {.comm = MPI_COMM_WORLD, .index = team->index, .size = team->size}, one = {0};
    /* Each size is rounded up so that it can be shared out. */
    buffers b = {.bytes = (size_t)how->largest};
    size_t room = b.bytes + 4 * (size_t)team->size;
    b.send = calloc(room, 1);
    b.receive = calloc(room, 1);
    ek_link_time *times = calloc(MOST_TIMES, sizeof *times);
    int fine = b.send && b.receive && times, most = 0;
    MPI_Allreduce(MPI_IN_PLACE, &fine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&machine.n_processes, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    *n = 0;
    if (fine) {
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, team->index, MPI_INFO_NULL, &one.comm);
        one.index = machine.index;
        one.size = one.per_node = machine.n_processes;
        all.per_node = most;
        /* Only process 0's, while the others wait. */
        if (machine.with_first && one.size > 1)
            *n = time_group(&one, &b, times);
        MPI_Barrier(MPI_COMM_WORLD);
        if (machine.n_machines > 1)
            *n += time_group(&all, &b, times + *n);
        MPI_Comm_free(&one.comm);
    } else {
        cli_error(NULL, "out of memory for messages of %g bytes; give a smaller --max-size", how->largest);
    }
    free(b.send);
    free(b.receive);
    *time = times;
    return fine ? EXIT_DONE : EXIT_WRONG;
}
