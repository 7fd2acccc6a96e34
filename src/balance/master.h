/* balance/master.h - the linear program of planner against path. Library-internal. */
#ifndef EK_BALANCE_MASTER_H
#define EK_BALANCE_MASTER_H

#include "balance/pricing.h"

/** One thread's linear program: paths and choices found so far, those of the box in force. */
typedef struct ek__master ek__master;

/**
 * @param scale   the step time that the program counts in, above 0
 * @param search  ends a simplex under way once its proof is over
 * @return NULL when memory is out.
 */
ek__master *ek__master_new(const ek__problem *problem, const ek__choices *choices, double scale, ek__search *search);
void ek__master_free(ek__master *master);

/** Add all choices of the game's box. */
void ek__master_add_alive(ek__master *master, const ek__pricing *game);

/** Add the choices of the planner's last plan, and the path that answers its average. */
void ek__master_add_plan(ek__master *master, const ek__pricing *game);
void ek__master_add_path(ek__master *master, const ek__pricing *game, double transfers);

typedef enum ek__verdict { EK__SHUT, EK__OPEN, EK__LOST, EK__NO_MEMORY } ek__verdict;

/**
 * Raise the bound of the game's box towards that of its linear relaxation: mixes of choices per stage against paths,
 * with choices and paths added as they are needed. Ends when the bound reaches the target (EK__SHUT), or a mix of plans
 * shows that the relaxation is below it (EK__OPEN); that mix is then in the game's mean_row and duration. EK__LOST when
 * the time is over or the program fails.
 */
ek__verdict ek__master_solve(ek__master *master, ek__pricing *game, const ek__search *search);

#endif
