/* bench/other_parsers.h - simdjson over a file's text, where it is installed: seconds of the best of several runs. */
#ifndef EK_BENCH_OTHER_PARSERS_H
#define EK_BENCH_OTHER_PARSERS_H

#ifdef HAVE_SIMDJSON
enum { BENCH_HAS_SIMDJSON = 1 };
#else
enum { BENCH_HAS_SIMDJSON = 0 };
#endif

#ifdef __cplusplus
extern "C" {
#endif
/** The structure of all bytes: its first stage. Without simdjson both give INFINITY. */
double bench_simdjson_stage1(const char *path);
/** Name, time and duration of every event by On-Demand. */
double bench_simdjson_events(const char *path);
#ifdef __cplusplus
}
#endif

#endif
