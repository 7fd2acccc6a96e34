/* base/linear.h - the linear algebra that the library needs, by LAPACK. Work space is allocated first, and NaNs are
 * refused before the call: LAPACKE's convenience layer prints to standard output where memory is out, which a library
 * must not. */
#ifndef EK_BASE_LINEAR_H
#define EK_BASE_LINEAR_H

#include <stdbool.h>

#include "evenkeel/error.h"

/** Is LAPACK part of this build? */
bool ek__linear_present(void);
/** Call it before functions that need LAPACK: it fails where the build has none. @param what  "calibration" */
ek_status ek__linear_needed(const char *what, ek_error *err);

/** How a call ended. */
typedef enum ek__linear {
    EK__LINEAR_OK,
    EK__LINEAR_SINGULAR, /**< no solution, no convergence, or an entry that is not finite */
    EK__LINEAR_NO_MEMORY,
} ek__linear;

/**
 * Singular values of a matrix, and its thin factors: a = U S V^T.
 *
 * @param a      [n][m] by columns, m >= n >= 1; overwritten, with `right` by U
 * @param value  out: [n] falling
 * @param right  out: [n][n] V^T by columns; NULL: only the values O(m n^2).
 */
ek__linear ek__singular_values(int m, int n, double *a, double *value, double *right);

/** The same with all of V^T, for a matrix of any shape. @param a overwritten @param value out: [min(m, n)] falling
 *  @param right out: [n][n]. O(m n (m + n)) */
ek__linear ek__right_vectors(int m, int n, double *a, double *value, double *right);

/**
 * The shortest solution of a least squares problem, by singular values.
 *
 * @param a          [n][m] by columns, m >= n >= 1; overwritten
 * @param b          [m]; out: [n] the solution
 * @param value      out: [n] singular values, falling
 * @param tolerance  values below it times the largest count as 0
 * @param rank       out: values that count
 * O(m n^2).
 */
ek__linear ek__least_squares(int m, int n, double *a, double *b, double *value, double tolerance, int *rank);

/** Solve a x = b. @param a [n][n] by rows; overwritten @param b [n]; out: x. O(n^3) */
ek__linear ek__solve(int n, double *a, double *b);

/** a = L L^T. @param a [n][n] by rows, positive definite, of which the lower half is read; out: L there. O(n^3) */
ek__linear ek__cholesky(int n, double *a);
/** Solve L L^T x = b. @param root [n][n] of ek__cholesky() @param b [n]; out: x. O(n^2) */
ek__linear ek__cholesky_solve(int n, const double *root, double *b);
/** The inverse of L L^T. @param root [n][n] of ek__cholesky(); out: the inverse, its lower half. O(n^3) */
ek__linear ek__cholesky_invert(int n, double *root);

/** c = a b, by columns. @param c out: [n][n]. O(n^3) */
void ek__multiply(int n, const double *a, const double *b, double *c);

#endif
