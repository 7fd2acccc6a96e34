/* cli/rehearse.h - the runner of a rehearsal: processes that exchange messages. cli/alone.c has no runner, cli/mpi/ has
 * one.
 */
#ifndef EK_CLI_REHEARSE_H
#define EK_CLI_REHEARSE_H

#include "evenkeel/rehearse.h"

/** How a rehearsal is run. */
typedef struct cli_rehearse {
    ek_rehearse_send send;
    ek_rehearse_compute compute;
    int n_steps;
    double watchdog;                  /**< seconds without progress, after which stages report the message that they
                                       * wait for */
    int damaged_stage, damaged_block; /**< one byte of its messages in the first step is changed; stage -1: none */
    double largest;                   /**< of timed links: bytes */
} cli_rehearse;

/** Of all processes together, each of which calls the same functions one after another. Exit codes are the same in all.
 */
typedef struct cli_rehearser {
    /** Do all run the same version? @return EXIT_DONE, or EXIT_WRONG after a message */
    int (*meet)(void);
    /** Give everyone the rehearsal of process 0, which all others clear. @param code  of process 0: EXIT_DONE, or why
     * it has none. @return that code; EXIT_WRONG after a message where memory is out or tags do not fit */
    int (*share)(int code, ek_rehearsal *rehearsal);
    /** Run. @param measured out, in process 0: free its `record` @param result in process 0: the known properties of
     * machines and clocks are filled in; its `stage` is allocated. @return EXIT_DONE; EXIT_NO after a message: a
     * deadlock, a message that differs from the sent one; EXIT_WRONG: memory is out */
    int (*run)(const ek_rehearsal *rehearsal, const cli_rehearse *how, ek_rehearse_measured *measured,
               ek_rehearse_result *result);
    /** Time messages and collectives. @param time  out, in process 0: [n] to be freed. @return EXIT_DONE, EXIT_WRONG */
    int (*time_links)(const cli_rehearse *how, ek_link_time **time, int *n);
} cli_rehearser;

/** NULL in the program without MPI. */
const cli_rehearser *cli_rehearser_of_program(void);

#endif
