/* trace/tables/tables.h - helpers of the readers of tables: steps, operators' families, groups of ranks. */
#ifndef EK_TRACE_TABLES_TABLES_H
#define EK_TRACE_TABLES_TABLES_H

#include "trace/tables/files.h"

/** The member of the pool for a text: a copy. */
ek_status ek__table_text(ek__pool *pool, const char *text, const char **out, ek_error *err);

enum { EK__MAX_TABLE_STEPS = 10000 };

/** Everything unknown. */
void ek__step_clear(ek_trace_step *step);
/**
 * The step with the name `name` in tables, created when there is none: every figure unknown, from_table true. *out is
 * NULL when there are EK__MAX_TABLE_STEPS already: the search is linear, and no profile has as many.
 * @param alone  the table has only this step: then any single step is the same when one of both has no name
 */
ek_status ek__table_step(const ek__table_in *in, const char *name, bool alone, ek_trace_step **out, ek_error *err);
/** The producer of the rank's tables, if known: "torch_npu", "mindspore" or NULL. */
const char *ek__table_producer(const ek__table_in *in);

/** The family of an operator, by its type or name and its core (may be NULL): "matmul", "attention", "vector",
 *  "communication", "copy", "other". */
const char *ek__operator_family(const char *type, const char *core);
/** Is a row of this core and name communication? */
bool ek__is_communication_row(const char *core, const char *name);

enum { EK__MAX_GROUPS = 65536 };

/** Add the groups of one file, which are sorted, to the topology: one that several files list appears once, the nth of
 *  one name and the same ranks in a file being the nth of the others.
 *  @return EK_OK; EK_ERR_INPUT for one beyond EK__MAX_GROUPS: adding one moves those after it; EK_ERR_MEMORY */
ek_status ek__topology_add(ek_trace_run *run, ek_trace_group *group, size_t n, ek_error *err);

#endif
