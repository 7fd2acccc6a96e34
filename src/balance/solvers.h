/* balance/solvers.h - the list of solvers. A new one is a file with its ek__solver, one line here, one line in
 * src/meson.build and one test. The first is the default. */
#ifndef EK_BALANCE_SOLVERS_H
#define EK_BALANCE_SOLVERS_H

#include "balance/search.h"

#define EK__SOLVERS(X)                                                                                                 \
    X(staged)                                                                                                          \
    X(anneal)                                                                                                          \
    X(branch)                                                                                                          \
    X(milp)                                                                                                            \
    X(exhaustive)

#define EK__DECLARE_SOLVER(id) extern const ek__solver ek__solver_##id;
EK__SOLVERS(EK__DECLARE_SOLVER)
#undef EK__DECLARE_SOLVER

#endif
