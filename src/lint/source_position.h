/* lint/source_position.h - the position of a job's setting in a file, for rules that look at jobs. */
#ifndef EK_LINT_SOURCE_POSITION_H
#define EK_LINT_SOURCE_POSITION_H

#include "lint/rules.h"

typedef struct ek__source_position {
    int line, column, end_column; /* 1, 1, 0 where the setting is not in the file */
    const ek__node *node;         /* its value in a YAML; NULL */
} ek__source_position;

enum { EK__PLACE_KEYS = 3 };
/** The names a setting goes by. */
typedef struct ek__job_key {
    const char *key[EK__PLACE_KEYS]; /* in YAMLs */
    const char *argument;            /* in scripts: "--sequence-parallel" */
} ek__job_key;

/** The value of the first of the keys, each looked for in the whole tree, maps before their later neighbours; or the
 *  argument, outside of comments. O(size). */
ek__source_position ek__source_position_of(const ek__lint_file *file, const ek__job_key *setting);
/** The setting where the file has it, else the setting that a check starts from. */
const ek__job_key *ek__source_either(const ek__lint_file *file, const ek__job_key *setting,
                                     const ek__job_key *otherwise);
/** A finding at a setting of the job. */
#define EK__LINT_AT(setting, fix, ...)                                                                                 \
    ek__lint_report(run, entry, file, ek__source_position_of(file, (setting)).line,                                    \
                    ek__source_position_of(file, (setting)).column,                                                    \
                    ek__source_position_of(file, (setting)).end_column, (fix), __VA_ARGS__)
/** The column, in characters from 1, of a place in a line of UTF-8 that begins at `start`. */
int ek__column_of(const char *start, const char *at);
/** Of a value in a YAML. */
ek__source_position ek__source_position_of_node(const ek__node *node);
/** A value in the tree by the names of the maps on its way, "context.deterministic"; NULL without one. */
const ek__node *ek__lint_get(const ek__node *root, const char *path);
/** A scalar by its key, anywhere in the tree; NULL without one. O(nodes). */
const ek__node *ek__lint_find(const ek__node *root, const char *key);
/** Is it a switch that is on, or the word "ON"? */
bool ek__lint_is_on(const ek__node *node);

#endif
