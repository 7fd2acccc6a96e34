/* dryrun/design.h - the linear system of a dry run: the equation of each measured stage.
 *
 * Shared by the decomposition, which solves the system, and the guide, which chooses dry runs that make it easy to
 * solve. Columns: parameters of a layer, activations of the modelled kinds, the constant part. */
#ifndef EK_DRYRUN_DESIGN_H
#define EK_DRYRUN_DESIGN_H

#include <stdbool.h>

#include "evenkeel/plan.h"
#include <stddef.h>

enum { EK__MAX_UNKNOWNS = 2 + EK_N_RECOMPUTE };

/** The unknowns of the system. */
typedef struct ek__unknowns {
    int n_kinds;
    ek_recompute kind[EK_N_RECOMPUTE];
    bool has_const;
} ek__unknowns;

/** 1 + n_kinds + has_const. */
int ek__unknowns_count(const ek__unknowns *unknowns);

/** Coefficients of one stage's peak: its layers, alive x layers of each kind, 1. `alive` is P - s in 1F1B. */
void ek__design_row(const ek__unknowns *unknowns, const ek_chunk_mix *mix, int alive, double row[EK__MAX_UNKNOWNS]);

/** The meaning of a column, for messages. `size` of 96 is enough. */
void ek__unknown_name(const ek__unknowns *unknowns, int column, char *out, size_t size);

#endif
