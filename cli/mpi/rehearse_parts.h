/* cli/mpi/rehearse_parts.h - the functions of a cli_rehearser (cli/rehearse.h), one file each. */
#ifndef EK_CLI_MPI_REHEARSE_PARTS_H
#define EK_CLI_MPI_REHEARSE_PARTS_H

#include "rehearse.h"

int mpi_rehearse_meet(void);
int mpi_rehearse_share(int code, ek_rehearsal *rehearsal);
int mpi_rehearse_run(const ek_rehearsal *rehearsal, const cli_rehearse *how, ek_rehearse_measured *measured,
                     ek_rehearse_result *result);
int mpi_rehearse_time_links(const cli_rehearse *how, ek_link_time **time, int *n);

#endif
