/* Replaces linear algebra in a build without LAPACK: ek__linear_needed() refuses operations that need it before
 * anything is computed; any call that gets here nevertheless has no solution. */
#include "base/linear.h"

#include "base/error.h"

bool ek__linear_present(void)
{
    return false;
}

ek_status ek__linear_needed(const char *what, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "this build has no LAPACK, which %s needs: build with -Dlapack=enabled", what);
}

ek__linear ek__singular_values(int m, int n, double *a, double *value, double *right)
{
    (void)m, (void)n, (void)a, (void)value, (void)right;
    return EK__LINEAR_SINGULAR;
}

ek__linear ek__right_vectors(int m, int n, double *a, double *value, double *right)
{
    (void)m, (void)n, (void)a, (void)value, (void)right;
    return EK__LINEAR_SINGULAR;
}

ek__linear ek__least_squares(int m, int n, double *a, double *b, double *value, double tolerance, int *rank)
{
    (void)m, (void)n, (void)a, (void)b, (void)value, (void)tolerance, (void)rank;
    return EK__LINEAR_SINGULAR;
}

ek__linear ek__solve(int n, double *a, double *b)
{
    (void)n, (void)a, (void)b;
    return EK__LINEAR_SINGULAR;
}

ek__linear ek__cholesky(int n, double *a)
{
    (void)n, (void)a;
    return EK__LINEAR_SINGULAR;
}

ek__linear ek__cholesky_solve(int n, const double *root, double *b)
{
    (void)n, (void)root, (void)b;
    return EK__LINEAR_SINGULAR;
}

ek__linear ek__cholesky_invert(int n, double *root)
{
    (void)n, (void)root;
    return EK__LINEAR_SINGULAR;
}

/* A product only fills the compute time of a rehearsal: any operation that takes time will do. */
void ek__multiply(int n, const double *a, const double *b, double *c)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += a[j * n + i] * b[k * n + j];
            c[k * n + i] = sum;
        }
}
