/* evenkeel/gate.h - checks gates for continuous integration: conditions on a result under which a run has failed, as
 * expressions of the option `--fail-on`.
 *
 *     expression = path relation value | name | name relation value
 *     relation   = > >= < <= = !=
 *     value      = number [unit] | word
 *
 * A path is that of a figure in the result's JSON: `mfu`, `predicted.step_seconds`, `stages[].margin_mb` (each of a
 * list, of which one is enough), `stages[3].margin_mb`. Units: us ms s min h, B KB MB GB TB (of 2^10 each), %, GB/s;
 * without one the number is in the unit of the JSON. Texts and flags take = and != with a word.
 *
 * A name is that of a finding (a rule of the linter, a check of a graph, a bottleneck) or of a level (`note`,
 * `warning`, `error`: those of it and above). Without a relation it fails where there is such a finding; with a number,
 * on their count; with a number and a unit, on a finding's figure of that kind.
 *
 * Unless stated otherwise, functions take O(1) and may be called from several threads at once, on the same objects
 * where these are const. */
#ifndef EVENKEEL_GATE_H
#define EVENKEEL_GATE_H

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/write.h"

EK_BEGIN_DECLS

/** Expressions that were read. */
typedef struct ek_gates ek_gates;

/** Takes a sentence about a gate that failed, without the full stop: "mfu is 29.9 %, below 40 % (mfu<40%)". */
typedef void (*ek_gate_failed)(void *user, const char *sentence);

/**
 * Read expressions.
 *
 * @param kind  of the results that will be held against them; its JSON is that of ek_write()
 * @param text  expressions, separated by commas
 * @param out   ek_gates_free() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT for an expression that is none, a figure or finding that is not known (with those that
 * are), or a unit that the figure does not have; EK_ERR_MEMORY. O(text x figures).
 */
ek_status ek_gates_read(ek_output_kind kind, const char *text, ek_gates **out, ek_error *err);
/** Free them. Accepts NULL. */
void ek_gates_free(ek_gates *gates);

/**
 * Check a result against gates. A gate fails where its condition is true, and where its figure is unknown, so that
 * missing data never passes. In a list, entries with an unknown figure are skipped where others are known.
 *
 * @param output    of the kind that the gates were read for
 * @param tell      is called once for each gate that failed, in their order; may be NULL
 * @param n_failed  out: how many failed; untouched on failure
 * @return EK_OK, also where gates failed; as ek_write_text(). O(JSON of the result).
 */
ek_status ek_gates_check(const ek_gates *gates, ek_output output, ek_gate_failed tell, void *user, int *n_failed,
                         ek_error *err);

EK_END_DECLS
#endif
