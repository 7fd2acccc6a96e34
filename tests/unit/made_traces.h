/* made_traces.h - generated profiles of jobs, in the layout of the reference traces in ../shared: files of profilers
 * and an expected.json with cases (name, command_kind, files, params, tolerance, expected).
 *
 * One job of two stages with two replicas each, as MindSpore, PyTorch and PyTorch on Ascend write it, with the tables
 * beside the traces; the stages of another one with recomputed layers; MindSpore's files until 2023. The events are
 * trace_generator.h's, with some added. Expected results are counted by slow loops over these events and not over
 * files, or are the generator's truth; tables without events and their sums are written by hand. */
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

/* A case of every test that goes through them: without published ones it is skipped, so that the summary counts it. */
void traces_of_others_are_among_them(void **state);

#endif
