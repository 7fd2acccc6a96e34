/* base/grid.h - reads rows x stages of whole numbers, with the shorthands of the framework's YAML.
 *
 * Rows are dry-run rounds in an init file and chunks in a plan file. A field is a list with one number per stage (one
 * row), a list of such lists, or one word for everything: 0, and for recompute lists false and true. In a list of rows
 * a word may replace a row. Whether [0, 0] is one row or two is decided by the other fields, so all of them are
 * measured before any is read. */
#ifndef EK_BASE_GRID_H
#define EK_BASE_GRID_H

#include "base/config_tree.h"

typedef struct ek__grid {
    int n_rows;   /**< 1 unless there is a list of lists */
    int n_stages; /**< 0 while unknown */
    bool nested;  /**< lists are lists of rows */
    int max_rows;
    const char *row_name;      /**< "round", "chunk" */
    const ek__node *rows_from; /**< the field that fixed n_rows, for messages; may be NULL */
} ek__grid;

/** The allowed numbers of a field. */
typedef struct ek__grid_field {
    const int *all; /**< the numbers of `true`, [n_rows][n_stages]; NULL when the field takes no booleans */
    int min, max;
    const char *advice; /**< for a number that is none */
} ek__grid_field;

#define EK__OFFSET_ADVICE    "it is how many layers the stage has beyond the even split"
#define EK__RECOMPUTE_ADVICE "it is how many of the stage's layers are recomputed"

/** Take the number of rows from a list of lists. @return EK_ERR_INPUT when fields disagree. */
ek_status ek__grid_measure(const ek__in *in, ek__grid *grid, const ek__node *node);

/** Stages of the first row written out as a list, or 0. */
int ek__grid_count_stages(const ek__grid *grid, const ek__node *node);

/** Read a field into out[n_rows][n_stages], which is partly written on failure. */
ek_status ek__grid_read(const ek__in *in, const ek__grid *grid, const ek__node *node, const ek__grid_field *field,
                        int *out);

/** The node of a row: its list, or the word in its place. */
const ek__node *ek__grid_row(const ek__grid *grid, const ek__node *node, int row);

/** The node of a cell: the number itself, or the word in its place. */
const ek__node *ek__grid_cell(const ek__grid *grid, const ek__node *node, int row, int stage);

#endif
