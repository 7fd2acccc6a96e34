/* The matrix product used as computation of blocks. It is small enough that BLAS libraries do not distribute it to
 * threads, and that a process can handle its messages between two products. */
#include <stdlib.h>

#include "base/error.h"
#include "base/linear.h"
#include "evenkeel/rehearse.h"

enum { SIDE = 64 };

struct ek_rehearse_product {
    double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
};

ek_rehearse_product *ek_rehearse_product_new(void)
{
    ek_rehearse_product *p = ek__alloc(1, sizeof *p);
    for (int i = 0; p && i < SIDE * SIDE; i++) {
        p->a[i] = (double)(i % 7) / SIDE; /* bounded: no product overflows or becomes denormal */
        p->b[i] = (double)(i % 5) / SIDE;
    }
    return p;
}

void ek_rehearse_product_free(ek_rehearse_product *product)
{
    free(product);
}

void ek_rehearse_product_run(ek_rehearse_product *product, long times)
{
    for (long i = 0; i < times; i++)
        ek__multiply(SIDE, product->a, product->b, product->c);
}

double ek_rehearse_product_flops(void)
{
    return 2.0 * SIDE * SIDE * SIDE;
}
