/* layout/mix_program.h - the linear program of a layout's mixes, for finding a mix (mix_program.c) and for branching on
 * layers (mix_branch.c). */
#ifndef EK_LAYOUT_MIX_PROGRAM_H
#define EK_LAYOUT_MIX_PROGRAM_H

#include "layout/mix.h"
#include "simulate/longest_path.h"

enum { EK__MOST_MIX_ROWS = 600 };

/* A path, or a moment of a stage's memory. */
typedef struct ek__mix_row {
    ek__mix *path;       /* NULL: none */
    const double *live;  /* of the moment, by cell; NULL: none */
    int stage, stride;   /* live[chunk x stride] */
    const ek__mix *mean; /* its path; NULL: the beginning of the backward pass of .. */
    int running;         /* this cell; -1: of the embedding's */
    int used;            /* the last solution in which it had a price, or for which it was added */
} ek__mix_row;

/* Layers of a group in a cell, recomputed in one way; column 0 is z. */
typedef struct ek__mix_column {
    int group, kind, cell, way;
} ek__mix_column;

typedef struct ek__mix_program {
    const ek__mix_layout *layout;
    const ek__mixes *mixes;
    void *model;                    /* of base/clp.h */
    bool no_memory;                 /* for it; the program is then unusable */
    double scale;                   /* seconds */
    double too_long;                /* of the step: tolerance of a path above the solution's z */
    int n_columns, n_rows, n_added; /* rows before the added ones */
    int n_solved, most_kept;        /* solutions so far; the number of rows above which unused ones are removed */
    int first_total;                /* rows of layers: [p] of stages, then [n_cells] of cells */
    ek__mix_column *column;
    ek__mix_row row[EK__MOST_MIX_ROWS];
    ek__path walked;
    double *duration, *tail, *update, *delay; /* scratch arrays for walking paths */
    ek__delays delays;
    ek__mix *mean, *best;
    double bound;
    int *index; /* for a row */
    double *value, *solution;
} ek__mix_program;

/* The program with initial paths. @return false when out of memory; call ek__mix_program_clear() also then */
bool ek__mix_program_begin(ek__mix_program *program, const ek__mix_layout *layout, double too_long);
void ek__mix_program_clear(ek__mix_program *program);

/* The result of a simplex run. */
typedef enum ek__mix_end {
    EK__MIX_OUT_OF_MEMORY,
    EK__MIX_INFEASIBLE,
    EK__MIX_CUT,  /* violated rows were added */
    EK__MIX_DONE, /* it violates none, or there is no room for more */
} ek__mix_end;

/* Solve into program->solution and add the violated rows.
 * @param bound  out: a lower bound of all solutions for any accuracy of the simplex run, seconds
 * @param most   seconds; solutions above it are irrelevant */
ek__mix_end ek__mix_program_solve(ek__mix_program *program, double most, double *bound);

#endif
