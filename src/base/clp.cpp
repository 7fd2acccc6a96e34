/* The only door between C and what CLP and CBC throw. Everything thrown counts as memory that is out: they throw
 * nothing else for programs that are well formed. */
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

} // namespace

void *ek__clp_new(bool scales)
{
    void *model = nullptr;
    run([&] {
        model = Clp_newModel();
        Clp_setLogLevel(model, 0);
        if (!scales)
            Clp_scaling(model, 0);
    });
    return model;
}

void ek__clp_free(void *model)
{
    if (model)
        run([=] { Clp_deleteModel(model); });
}

void ek__clp_load(void *model, int n_columns, int n_rows, const int *start, const int *index, const double *value,
                  const double *column_low, const double *column_high, const double *cost, const double *row_low,
                  const double *row_high, bool *no_memory)
{
    run(no_memory, [=] {
        Clp_loadProblem(model, n_columns, n_rows, start, index, value, column_low, column_high, cost, row_low,
                        row_high);
    });
}

void ek__clp_add_row(void *model, double low, double high, int n, const int *column, const double *value,
                     bool *no_memory)
{
    const CoinBigIndex start[2] = {0, n};
    run(no_memory, [&] { Clp_addRows(model, 1, &low, &high, start, column, value); });
}

void ek__clp_add_column(void *model, double high, int n, const int *row, const double *value, bool *no_memory)
{
    const CoinBigIndex start[2] = {0, n};
    const double zero = 0;
    run(no_memory, [&] { Clp_addColumns(model, 1, &zero, &high, &zero, start, row, value); });
}

void ek__clp_delete_rows(void *model, int n, const int *which, bool *no_memory)
{
    run(no_memory, [=] { Clp_deleteRows(model, n, which); });
}

int ek__clp_dual(void *model, bool *no_memory)
{
    run(no_memory, [=] { Clp_dual(model, 0); });
    return *no_memory ? -1 : Clp_status(model);
}

int ek__clp_primal(void *model, bool *no_memory)
{
    run(no_memory, [=] { Clp_primal(model, 0); });
    return *no_memory ? -1 : Clp_status(model);
}

bool ek__coin_run(void (*work)(void *user), void *user)
{
    return run([=] { work(user); });
}
