/* `evenkeel trace merge`: not there yet, and it says so. */
#include "trace.h"

#include <stddef.h>

#include "cmd.h"
#include "options.h"

int cli_trace_merge(int argc, char **argv)
{
    (void)argc, (void)argv;
    cli_error(NULL, "trace merge is not there yet");
    return EXIT_WRONG;
}
