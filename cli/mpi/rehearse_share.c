/* Shares the program's version and the rehearsal between all processes. Only process 0 reads the rehearsal from files
 * and sends it to the others, so no other machine needs the files. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/evenkeel.h"

#include "mpi/rehearse_mpi.h"
#include "mpi/rehearse_parts.h"
#include "options.h"
#include "team.h"

enum { VERSION_SIZE = 64 };

/* Names of the processes' machines, to the end of the process; NULL when memory is out. */
static char (*machines)[MPI_MAX_PROCESSOR_NAME];

static void gather_machines(int n_processes)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "";
    int n, fine, all;
    MPI_Get_processor_name(own, &n);
    machines = calloc((size_t)n_processes, sizeof *machines);
    fine = machines != NULL;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all)
        MPI_Allgather(own, sizeof own, MPI_CHAR, machines, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
}

const char *mpi_machine_name(int process)
{
    return machines ? machines[process] : "";
}

int mpi_rehearse_meet(void)
{
    const ek_team *team = cli_team();
    gather_machines(team->size);
    char own[VERSION_SIZE] = EK_VERSION;
    char(*all)[VERSION_SIZE] = calloc((size_t)team->size, sizeof *all);
    int wrong = 0;
    if (all)
        MPI_Gather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 1; team->index == 0 && all && i < team->size && !wrong; i++) {
        wrong = memcmp(all[i], all[0], sizeof own) != 0;
        if (wrong)
            cli_error(NULL,
                      "process %d (%s) runs version %.*s and process 0 (%s) version %s: install the same one on all "
                      "machines",
                      i, mpi_machine_name(i), VERSION_SIZE - 1, all[i], mpi_machine_name(0), own);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(all);
    return wrong ? EXIT_WRONG : EXIT_DONE;
}

/* Send `n` items in pieces that an int counts. */
static void send_all(void *items, size_t n, size_t size)
{
    char *at = items;
    for (size_t left = n * size; left > 0;) {
        int part = left < INT_MAX ? (int)left : INT_MAX;
        MPI_Bcast(at, part, MPI_BYTE, 0, MPI_COMM_WORLD);
        at += part;
        left -= (size_t)part;
    }
}

static bool make_room(ek_rehearsal *r)
{
    r->first = malloc(((size_t)r->n_stages + 1) * sizeof *r->first);
    r->block = malloc((r->n_blocks + 1) * sizeof *r->block);
    r->message = malloc((r->n_messages + 1) * sizeof *r->message);
    r->edge = malloc(((size_t)r->n_edges + 1) * sizeof *r->edge);
    return r->first && r->block && r->message && r->edge;
}

static bool tags_fit(const ek_rehearsal *r)
{
    int *most, given;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&most, &given);
    if (!given || r->largest_tag <= *most)
        return true;
    cli_error(NULL,
              "this MPI has tags up to %d, and %d micro-batches of %d chunks need them up to %d: rehearse fewer "
              "micro-batches with -mb",
              *most, r->n_micro_batches, r->n_chunks, r->largest_tag);
    return false;
}

int mpi_rehearse_share(int code, ek_rehearsal *rehearsal)
{
    const ek_team *team = cli_team();
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (code != EXIT_DONE)
        return code;
    ek_rehearsal head = *rehearsal;
    MPI_Bcast(&head, sizeof head, MPI_BYTE, 0, MPI_COMM_WORLD);
    int fine = 1;
    if (team->index > 0 && head.n_blocks > 0) {
        *rehearsal = head;
        fine = make_room(rehearsal);
    }
    fine = tags_fit(&head) && fine;
    MPI_Allreduce(MPI_IN_PLACE, &fine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!fine)
        return EXIT_WRONG;
    if (head.n_blocks == 0) /* only the code is shared */
        return EXIT_DONE;
    send_all(rehearsal->first, (size_t)head.n_stages + 1, sizeof *head.first);
    send_all(rehearsal->block, head.n_blocks, sizeof *head.block);
    send_all(rehearsal->message, head.n_messages, sizeof *head.message);
    send_all(rehearsal->edge, (size_t)head.n_edges, sizeof *head.edge);
    return EXIT_DONE;
}

static const cli_rehearser rehearser = {mpi_rehearse_meet, mpi_rehearse_share, mpi_rehearse_run,
                                        mpi_rehearse_time_links};

const cli_rehearser *cli_rehearser_of_program(void)
{
    return &rehearser;
}
