/* Computes one row of the memory system; see design.h. */
#include "dryrun/design.h"
#include "evenkeel/layers.h"

#include <stdio.h>

int ek__unknowns_count(const ek__unknowns *unknowns)
{
    return 1 + unknowns->n_kinds + unknowns->has_const;
}

void ek__design_row(const ek__unknowns *unknowns, const ek_chunk_mix *mix, int alive, double row[EK__MAX_UNKNOWNS])
{
    int column = 0, n_layers = 0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        n_layers += mix->n[k];
    row[column++] = n_layers;
    for (int k = 0; k < unknowns->n_kinds; k++)
        row[column++] = (double)alive * mix->n[unknowns->kind[k]];
    if (unknowns->has_const)
        row[column] = 1.0;
}

void ek__unknown_name(const ek__unknowns *unknowns, int column, char *out, size_t size)
{
    if (column == 0)
        snprintf(out, size, "the parameters of a layer");
    else if (column <= unknowns->n_kinds)
        snprintf(out, size, "the activations of a layer with recompute kind '%s'",
                 ek_recompute_name[unknowns->kind[column - 1]]);
    else
        snprintf(out, size, "the constant part");
}
