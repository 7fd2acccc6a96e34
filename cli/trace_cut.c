/* `evenkeel trace cut`: not there yet, and it says so. */
#include "trace.h"

#include <stddef.h>

#include "cmd.h"
#include "options.h"

int cli_trace_cut(int argc, char **argv)
{
    (void)argc, (void)argv;
    cli_error(NULL, "trace cut is not there yet");
    return EXIT_WRONG;
}
