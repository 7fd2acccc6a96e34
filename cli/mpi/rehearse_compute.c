/* Fills the time of a block: by waiting (sleep), by using a processor (spin), or with matrix products, as many as took
 * the block's time when all processes multiplied at once. Between slices the process handles its messages. */
#include "mpi/rehearse_mpi.h"

#include <math.h>

static const double SLICE = 50e-6, MEASURED = 0.3;

bool mpi_work_prepare(mpi_work *work, ek_rehearse_compute how, MPI_Comm comm)
{
    *work = (mpi_work){.how = how};
    if (how != EK_COMPUTE_GEMM)
        return true;
    work->product = ek_rehearse_product_new();
    if (!work->product)
        return false;
    ek_rehearse_product_run(work->product, 100);
    MPI_Barrier(comm);
    double start = mpi_now(), end = start;
    long n = 0;
    for (; end - start < MEASURED; end = mpi_now()) {
        ek_rehearse_product_run(work->product, 10);
        n += 10;
    }
    work->product_seconds = (end - start) / (double)n;
    return true;
}

void mpi_work_begin(mpi_work *work, double start, double seconds)
{
    work->deadline = start + seconds;
    if (work->how == EK_COMPUTE_GEMM) {
        double left = work->deadline - mpi_now(); /* filling and checking messages took the rest */
        work->products = round(fmax(left, 0) / work->product_seconds);
    }
}

void mpi_work_slice(mpi_work *work)
{
    if (work->how == EK_COMPUTE_GEMM) {
        double n = fmin(work->products, fmax(1, floor(SLICE / work->product_seconds)));
        ek_rehearse_product_run(work->product, (long)n);
        work->products -= n;
    } else if (work->how == EK_COMPUTE_SPIN) {
        double end = fmin(work->deadline, mpi_now() + SLICE);
        while (mpi_now() < end)
            continue;
    }
}

bool mpi_work_is_over(const mpi_work *work, double now)
{
    return work->how == EK_COMPUTE_GEMM ? work->products <= 0 : now >= work->deadline;
}

void mpi_work_clear(mpi_work *work)
{
    ek_rehearse_product_free(work->product);
    work->product = NULL;
}
