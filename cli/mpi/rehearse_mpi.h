/* cli/mpi/rehearse_mpi.h - shared parts of a rehearsal over MPI: communicators, clocks, computing, the watchdog. */
#ifndef EK_CLI_MPI_REHEARSE_MPI_H
#define EK_CLI_MPI_REHEARSE_MPI_H

#include <mpi.h>

#include "rehearse.h"

/** Seconds of this machine's clock, which sleeping uses. */
double mpi_now(void);
/** Sleep until then. */
void mpi_sleep_until(double then);

/* ---- clocks ---- */

/** The lead of this process's clock over that of process 0, and its error bound; 0 and 0 on one machine. Collective. */
typedef struct mpi_clock {
    double ahead, error;
} mpi_clock;
mpi_clock mpi_clock_compare(MPI_Comm comm, bool same_machine);

/** Is this process on the machine of process 0; the number of processes of this machine, and its cores. Collective. */
typedef struct mpi_machine {
    bool with_first;
    int n_processes, index, cores; /**< index: of this process among them */
    int n_machines, number;        /**< number: of this machine */
} mpi_machine;
mpi_machine mpi_machine_find(MPI_Comm comm);
/** Of a process, for messages, after mpi_rehearse_meet(); "" when not known. */
const char *mpi_machine_name(int process);

/* ---- computing ---- */

/** One block that computes. */
typedef struct mpi_work {
    ek_rehearse_compute how;
    ek_rehearse_product *product; /**< of EK_COMPUTE_GEMM */
    double product_seconds;       /**< measured */
    double deadline;              /**< on mpi_now(): sleep and spin */
    double products;              /**< still to be multiplied */
} mpi_work;

/** Measure the time of a product while all processes multiply. Collective. @return false: memory is out */
bool mpi_work_prepare(mpi_work *work, ek_rehearse_compute how, MPI_Comm comm);
void mpi_work_begin(mpi_work *work, double start, double seconds);
/** Compute for some 50 us at most; sleeping does nothing here. */
void mpi_work_slice(mpi_work *work);
bool mpi_work_is_over(const mpi_work *work, double now);
void mpi_work_clear(mpi_work *work);

/* ---- watchdog ---- */

typedef struct mpi_watch mpi_watch;

/** Messages of the watchdog use a separate communicator. @return NULL: memory is out */
mpi_watch *mpi_watch_new(const ek_rehearsal *rehearsal, double seconds, MPI_Comm comm);
void mpi_watch_free(mpi_watch *watch);
/** A stage of this process moved (EK_WAIT_NOT) or waits, since then. */
void mpi_watch_tell(mpi_watch *watch, const ek_rehearse_wait *wait, double since);
/** Send due messages and read those that arrived. Process 0 reports which stage waits for which once none can proceed.
 * @return whether to end */
bool mpi_watch_look(mpi_watch *watch);
/** All are waited for at the end of a step since then: process 0 gives up where that is longer than all blocks one
 * after another could take. O(blocks). */
void mpi_watch_meet(mpi_watch *watch, double since);
/** Have all processes end; process 0 then prints `text`. */
void mpi_watch_stop(mpi_watch *watch, const char *text);

#endif
