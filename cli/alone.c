/* The team of processes in a program without MPI: every process is a team of one. */
#include <stddef.h>

#include "rehearse.h"
#include "team.h"

int cli_team_begin(const ek_cmd *command)
{
    (void)command;
    return EXIT_DONE;
}

bool cli_team_is_launched(void)
{
    return false;
}

const ek_team *cli_team(void)
{
    return NULL;
}

int cli_team_end(int code)
{
    return code;
}

const cli_rehearser *cli_rehearser_of_program(void)
{
    return NULL;
}
