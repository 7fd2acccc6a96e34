/* balance/choices.h - lists every choice of a stage for its chunks. Library-internal.
 */
#ifndef EK_BALANCE_CHOICES_H
#define EK_BALANCE_CHOICES_H

#include "balance/bound.h"

/**
 * The undominated choices of every stage: layers and recomputation of each of its chunks, within its memory. A choice
 * is dominated when another one has the same layers in every chunk and no longer backward in any.
 */
typedef struct ek__choices {
    const ek__problem *problem;
    int width;     /**< durations of a choice: kinds of block x chunks */
    int most;      /**< layers of the largest choice of any stage */
    int *n;        /**< [n_stages] */
    int **first;   /**< [n_stages][most + 2]: choices [first[l], first[l + 1]) have l layers */
    int **row;     /**< [n_stages][n][n_chunks] layers of each chunk */
    int **option;  /**< [n_stages][n][n_chunks] which of its ways to recompute */
    double **time; /**< [n_stages][n][width], by kind, then chunk */
} ek__choices;

/**
 * List them all, of one body kind and an order that runs micro-batches one way and does not depend on times.
 * @param upper  choices with a path that is this long are left out
 * @param most   give up beyond this number of choices of all stages together; above 0
 * @param whole  out: false when given up, or when a chunk had more ways to recompute than are listed
 * @return EK_OK, EK_ERR_MEMORY
 */
ek_status ek__choices_init(ek__choices *choices, ek__search *search, double upper, long most, bool *whole,
                           ek_error *err);
void ek__choices_clear(ek__choices *choices);

#endif
