/* cli/trace.h - the subcommands of `evenkeel trace` with their own options: argv[0] is "merge" or "cut". */
#ifndef EK_CLI_TRACE_H
#define EK_CLI_TRACE_H

/** `evenkeel trace merge`: traces of several ranks as one file. @return an exit code. */
int cli_trace_merge(int argc, char **argv);
/** `evenkeel trace cut`: a part of a trace as a trace. @return an exit code. */
int cli_trace_cut(int argc, char **argv);

#endif
