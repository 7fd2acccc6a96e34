/* Computes the basis of a step: seconds of its slowest stage by the basis of their parts. */
#include "evenkeel/cost.h"

#include <string.h>

void ek_step_basis_share(const ek_step *step, double share[EK_N_COST_BASES])
{
    const ek_step_stage *slowest = &step->stage[step->slowest];
    double sum = 0;
    memset(share, 0, EK_N_COST_BASES * sizeof *share);
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        share[step->basis[i]] += slowest->seconds[i];
        sum += slowest->seconds[i];
    }
    for (int i = 0; i < EK_N_COST_BASES && sum > 0; i++)
        share[i] /= sum;
}
