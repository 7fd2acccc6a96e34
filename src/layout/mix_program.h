/* layout/mix_program.h - the linear program of a layout's mixes, for those who find a mix (mix_program.c) and those who
 * branch on layers (mix_branch.c). */
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
    const ek__mix *mean; /* what it is of; NULL: the beginning of the backward pass of .. */
    int running;         /* this cell; -1: of the embedding's */
    int used;            /* the last solution that it had a price in, or was added for */
} ek__mix_row;

/* Layers of a group in a cell, recomputed in one way; column 0 is z. */
typedef struct ek__mix_column {
    int group, kind, cell, way;
} ek__mix_column;

typedef struct ek__mix_program {
    const ek__mix_layout *layout;
    const ek__mixes *mixes;
    void *model;                    /* of base/clp.h */
    bool no_memory;                 /* for it; it is good for nothing then */
    double scale;                   /* seconds */
    double too_long;                /* of the step: what a path may be longer than the solution says */
    int n_columns, n_rows, n_added; /* rows before those that were added */
    int n_solved, most_kept;        /* solutions so far; rows from which on those out of use go */
    int first_total;                /* rows of layers: [p] of stages, then [n_cells] of cells */
    ek__mix_column *column;
    ek__mix_row row[EK__MOST_MIX_ROWS];
    ek__path walked;
    double *duration, *tail, *update, *delay; /* arrays of what is walked */
    ek__delays delays;
    ek__mix *mean, *best;
    double bound;
    int *index; /* for a row */
    double *value, *solution;
} ek__mix_program;

/* The program with paths to begin with. @return false when memory is out; ek__mix_program_clear() all the same */
bool ek__mix_program_begin(ek__mix_program *program, const ek__mix_layout *layout, double too_long);
void ek__mix_program_clear(ek__mix_program *program);

/* What a simplex run ended with. */
typedef enum ek__mix_end {
    EK__MIX_OUT_OF_MEMORY,
    EK__MIX_INFEASIBLE,
    EK__MIX_CUT,  /* rows were added that the solution violates */
    EK__MIX_DONE, /* it violates none, or there is no room for more */
} ek__mix_end;

/* Solve, and add what the solution violates: program->solution.
 * @param bound  out: no solution is below it, whatever the accuracy of the simplex run, seconds
 * @param most   seconds; what is above it does not matter */
ek__mix_end ek__mix_program_solve(ek__mix_program *program, double most, double *bound);

#endif
