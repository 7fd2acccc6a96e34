/* made_traces.h - profiles of jobs that nobody ran, laid out as the reference of traces in ../shared is: files of
 * profilers and an expected.json with cases (name, command_kind, files, params, tolerance, expected).
 *
 * One job of two stages with two replicas each, as MindSpore, PyTorch and PyTorch on Ascend write it, with the tables
 * beside the traces; the stages of another one with layers that are run again; MindSpore's files until 2023. The
 * events are trace_generator.h's, with some added. What is expected of them is counted by slow loops over these events
 * and not over files, or is the generator's truth; tables without events are written by hand, and so are their sums. */
#ifndef TESTS_UNIT_MADE_TRACES_H
#define TESTS_UNIT_MADE_TRACES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The folder, made at the first call and gone when the process exits. Ends the process where it cannot be made. */
const char *made_traces(void);

enum { MAX_TRACE_REFERENCES = 2 };

/* Folders with an expected.json: the made one, and that of ../shared where it is there. @return how many */
int trace_references(const char *folder[MAX_TRACE_REFERENCES]);

/* A case of every test that goes through them: where those of others are not there it is skipped, so that the summary
 * counts it. */
void traces_of_others_are_among_them(void **state);

#endif
