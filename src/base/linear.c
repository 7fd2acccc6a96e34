/* Solves linear algebra with LAPACK, by the layer of LAPACKE that takes work space from its caller, and by columns,
 * which needs no transposed copies. A matrix by rows is its transpose by columns: the lower half of one is the upper
 * half of the other. */
#include "base/linear.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

bool ek__linear_present(void)
{
    return true;
}

ek_status ek__linear_needed(const char *what, ek_error *err)
{
    (void)what, (void)err;
    return EK_OK;
}

static bool is_finite(const double *value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(value[i]))
            return false;
    return true;
}

static ek__linear ended(lapack_int info)
{
    assert(info >= 0); /* below: an argument of ours is wrong */
    return info == 0 ? EK__LINEAR_OK : EK__LINEAR_SINGULAR;
}

static int largest(int a, int b)
{
    return a > b ? a : b;
}

/* @param left  'N': no U; 'O': U takes the place of a. @param all 'N', 'S', 'A': no V^T, its first rows, all of it */
static ek__linear svd(char left, char all, int m, int n, double *a, double *value, double *right)
{
    double size, unused[1];
    assert(m >= 1 && n >= 1);
    if (!is_finite(a, (size_t)m * (size_t)n))
        return EK__LINEAR_SINGULAR;
    lapack_int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, left, all, m, n, a, m, value, unused, m,
                                          right ? right : unused, right ? n : 1, &size, -1);
    double *work = info == 0 ? ek__alloc((size_t)size, sizeof *work) : NULL;
    if (!work)
        return info == 0 ? EK__LINEAR_NO_MEMORY : ended(info);
    info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, left, all, m, n, a, m, value, unused, m, right ? right : unused,
                               right ? n : 1, work, (lapack_int)size);
    free(work);
    return ended(info);
}

ek__linear ek__singular_values(int m, int n, double *a, double *value, double *right)
{
    assert(m >= n);
    return right ? svd('O', 'S', m, n, a, value, right) : svd('N', 'N', m, n, a, value, NULL);
}

ek__linear ek__right_vectors(int m, int n, double *a, double *value, double *right)
{
    return svd('N', 'A', m, n, a, value, right);
}

ek__linear ek__least_squares(int m, int n, double *a, double *b, double *value, double tolerance, int *rank)
{
    double size;
    lapack_int n_whole, found = 0;
    assert(m >= n && n >= 1);
    if (!is_finite(a, (size_t)m * (size_t)n) || !is_finite(b, (size_t)m))
        return EK__LINEAR_SINGULAR;
    lapack_int info =
        LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, m, n, 1, a, m, b, m, value, tolerance, &found, &size, -1, &n_whole);
    if (info != 0)
        return ended(info);
    double *work = ek__alloc((size_t)size, sizeof *work);
    lapack_int *whole = ek__alloc((size_t)largest(n_whole, 1), sizeof *whole);
    if (work && whole)
        info = LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, m, n, 1, a, m, b, m, value, tolerance, &found, work,
                                   (lapack_int)size, whole);
    ek__linear end = work && whole ? ended(info) : EK__LINEAR_NO_MEMORY;
    free(whole);
    free(work);
    *rank = found;
    return end;
}

ek__linear ek__solve(int n, double *a, double *b)
{
    assert(n >= 1);
    if (!is_finite(a, (size_t)n * (size_t)n) || !is_finite(b, (size_t)n))
        return EK__LINEAR_SINGULAR;
    lapack_int *pivot = ek__alloc((size_t)n, sizeof *pivot);
    if (!pivot)
        return EK__LINEAR_NO_MEMORY;
    lapack_int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, a, n, pivot);
    if (info == 0)
        info = LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', n, 1, a, n, pivot, b, n);
    free(pivot);
    return ended(info);
}

static bool is_half_finite(const double *a, int n)
{
    for (int i = 0; i < n; i++)
        if (!is_finite(a + (size_t)i * (size_t)n, (size_t)i + 1))
            return false;
    return true;
}

ek__linear ek__cholesky(int n, double *a)
{
    assert(n >= 1);
    return is_half_finite(a, n) ? ended(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n)) : EK__LINEAR_SINGULAR;
}

ek__linear ek__cholesky_solve(int n, const double *root, double *b)
{
    assert(n >= 1);
    return is_finite(b, (size_t)n) ? ended(LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', n, 1, root, n, b, n))
                                   : EK__LINEAR_SINGULAR;
}

ek__linear ek__cholesky_invert(int n, double *root)
{
    assert(n >= 1);
    return ended(LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', n, root, n));
}

void ek__multiply(int n, const double *a, const double *b, double *c)
{
    assert(n >= 1);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
}
