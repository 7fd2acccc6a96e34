/* cli/team.h - the processes that a launcher (mpirun, srun) started together, where this program is built with MPI.
 *
 * cli/alone.c is the implementation of `evenkeel`, cli/mpi/team.c that of `evenkeel-mpi`. */
#ifndef EK_CLI_TEAM_H
#define EK_CLI_TEAM_H

#include "evenkeel/team.h"

#include "cmd.h"

/** The row of the time after which a process is given up; `field` is a real number. */
#define CLI_PATIENCE_ROW(owner, field)                                                                                 \
    {                                                                                                                  \
        "patience", "SECONDS",                                                                                         \
            "started by mpirun or srun: time without a sign of life after which a process is given up ({})", NULL,     \
            CLI_DOUBLE(owner, field, 1, 86400),                                                                        \
            .otherwise = "30",                                                                                         \
            .manual = "[started by a launcher](cluster.md#when-a-process-or-a-machine-is-lost): time without a sign "  \
                      "of life after which a process is given up"                                                      \
    }

/** Join the other processes, if there are any. Only process 0 prints from then on.
 *  @return EXIT_DONE, or EXIT_WRONG after a message when the command cannot be run by several processes */
int cli_team_begin(const ek_cmd *command);
/** Has a launcher started this process, as the only one or with others? */
bool cli_team_is_launched(void);
/** The processes; NULL when this is the only one. */
const ek_team *cli_team(void);
/** Part from the others. @return the code, for process 0 to end with */
int cli_team_end(int code);

#endif
