/* Calls CLP and CBC for C and catches their exceptions. Every exception counts as a lack of memory: they throw nothing
 * else for well-formed programs. */
#define CLP_EXTERN_C /* definition of Clp_Simplex */
#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>

#include <Clp_C_Interface.h>

extern "C" {
#include "base/clp.h"
}

static_assert(sizeof(CoinBigIndex) == sizeof(int), "places in a program are ints");

namespace
{

template <typename Work> bool run(const Work &work)
{
    try {
        work();
        return true;
    } catch (...) {
        return false;
    }
}

template <typename Work> void run(bool *no_memory, const Work &work)
{
    if (!*no_memory)
        *no_memory = !run(work);
}

Clp_Simplex *of(void *model)
{
    return static_cast<Clp_Simplex *>(model);
}

class Stop : public ClpEventHandler
{
  public:
    Stop(bool (*over)(void *user), void *user) : over_(over), user_(user)
    {
    }
    int event(Event which) override
    {
        return which == endOfIteration && over_(user_) ? 0 : -1;
    }
    ClpEventHandler *clone() const override
    {
        return new Stop(*this);
    }

  private:
    bool (*over_)(void *user);
    void *user_;
};

} // namespace

bool ek__clp_present(void)
{
    return true;
}

void *ek__clp_new(bool scales)
{
    void *model = nullptr;
    run([&] {
        model = Clp_newModel();
        Clp_setLogLevel(of(model), 0);
        if (!scales)
            Clp_scaling(of(model), 0);
    });
    return model;
}

void ek__clp_free(void *model)
{
    if (model)
        run([=] { Clp_deleteModel(of(model)); });
}

void ek__clp_stop_when(void *model, bool (*over)(void *user), void *user, bool *no_memory)
{
    run(no_memory, [=] {
        const Stop stop(over, user);
        of(model)->model_->passInEventHandler(&stop);
    });
}

void ek__clp_load(void *model, int n_columns, int n_rows, const int *start, const int *index, const double *value,
                  const double *column_low, const double *column_high, const double *cost, const double *row_low,
                  const double *row_high, bool *no_memory)
{
    run(no_memory, [=] {
        Clp_loadProblem(of(model), n_columns, n_rows, start, index, value, column_low, column_high, cost, row_low,
                        row_high);
    });
}

void ek__clp_add_row(void *model, double low, double high, int n, const int *column, const double *value,
                     bool *no_memory)
{
    const CoinBigIndex start[2] = {0, n};
    run(no_memory, [&] { Clp_addRows(of(model), 1, &low, &high, start, column, value); });
}

void ek__clp_add_column(void *model, double high, int n, const int *row, const double *value, bool *no_memory)
{
    const CoinBigIndex start[2] = {0, n};
    const double zero = 0;
    run(no_memory, [&] { Clp_addColumns(of(model), 1, &zero, &high, &zero, start, row, value); });
}

void ek__clp_delete_rows(void *model, int n, const int *which, bool *no_memory)
{
    run(no_memory, [=] { Clp_deleteRows(of(model), n, which); });
}

void ek__clp_set_column_high(void *model, const double *high)
{
    Clp_chgColumnUpper(of(model), high);
}

int ek__clp_dual(void *model, bool *no_memory)
{
    run(no_memory, [=] { Clp_dual(of(model), 0); });
    return *no_memory ? -1 : Clp_status(of(model));
}

int ek__clp_primal(void *model, bool *no_memory)
{
    run(no_memory, [=] { Clp_primal(of(model), 0); });
    return *no_memory ? -1 : Clp_status(of(model));
}

int ek__clp_n_rows(void *model)
{
    return Clp_numberRows(of(model));
}

int ek__clp_n_columns(void *model)
{
    return Clp_numberColumns(of(model));
}

const double *ek__clp_columns(void *model)
{
    return Clp_primalColumnSolution(of(model));
}

const double *ek__clp_row_prices(void *model)
{
    return Clp_dualRowSolution(of(model));
}

double *ek__clp_row_low(void *model)
{
    return Clp_rowLower(of(model));
}

double *ek__clp_row_high(void *model)
{
    return Clp_rowUpper(of(model));
}

double *ek__clp_column_low(void *model)
{
    return Clp_columnLower(of(model));
}

double *ek__clp_column_high(void *model)
{
    return Clp_columnUpper(of(model));
}

const int *ek__clp_starts(void *model)
{
    return Clp_getVectorStarts(of(model));
}

const int *ek__clp_lengths(void *model)
{
    return Clp_getVectorLengths(of(model));
}

const int *ek__clp_indices(void *model)
{
    return Clp_getIndices(of(model));
}

const double *ek__clp_elements(void *model)
{
    return Clp_getElements(of(model));
}

bool ek__coin_run(void (*work)(void *user), void *user)
{
    return run([=] { work(user); });
}
