/* Finds suspiciously short durations of one collective, as msprof-analyze votes: Dixon's ratio test for up to 100 ranks
 * (99.5 % values; the tables of Dixon and of Rorabacher), three standard deviations beyond. The rank with the shortest
 * collective came last: the others had waited for it. */
#include "trace/compare/dixon.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* For n values: 3 to 25, then every ten to 100; straight lines between. */
static const double of_few[] = {.994, .920, .823, .744, .680, .723, .676, .638, .707, .675, .649, .672,
                                .649, .629, .611, .595, .580, .568, .556, .545, .536, .526, .519};
static const double of_many[] = {.484, .439, .409, .388, .372, .360, .350, .341};
enum { MAX_DIXON = 100, FEW_DISTINCT = 3 };

double ek__dixon_limit(int n)
{
    if (n < 3 || n > MAX_DIXON)
        return NAN;
    if (n <= 25)
        return of_few[n - 3];
    if (n <= 30)
        return of_few[22] + (of_many[0] - of_few[22]) * (n - 25) / 5;
    int at = (n - 30) / 10;
    return n % 10 == 0 ? of_many[at] : of_many[at] + (of_many[at + 1] - of_many[at]) * (n % 10) / 10;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int count_distinct(const int64_t *sorted, int n)
{
    int n_distinct = 0;
    for (int i = 0; i < n; i++)
        n_distinct += i == 0 || sorted[i] != sorted[i - 1];
    return n_distinct;
}

double ek__dixon_ratio(const int64_t *sorted, int n)
{
    if (n < 3 || n > MAX_DIXON || count_distinct(sorted, n) <= FEW_DISTINCT)
        return NAN;
    int second = n <= 10 ? 1 : 2; /* x2 or x3 */
    int last = n <= 7 ? n - 1 : n <= 13 ? n - 2 : n - 3;
    double range = (double)sorted[last] - (double)sorted[0];
    return range > 0 ? ((double)sorted[second] - (double)sorted[0]) / range : 0;
}

static int by_dixon(const int64_t *duration, int n, int64_t *sorted, bool *vote)
{
    int shortest = 0;
    for (int i = 0; i < n; i++)
        if (duration[i] < duration[shortest])
            shortest = i;
    vote[shortest] = ek__dixon_ratio(sorted, n) > ek__dixon_limit(n);
    return vote[shortest];
}

static int by_deviation(const int64_t *duration, int n, bool *vote)
{
    double sum = 0, squares = 0;
    int shortest = 0, n_votes = 0;
    bool long_one = false;
    for (int i = 0; i < n; i++) {
        sum += (double)duration[i];
        shortest = duration[i] < duration[shortest] ? i : shortest;
    }
    double mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += ((double)duration[i] - mean) * ((double)duration[i] - mean);
    double three_sigma = 3 * sqrt(squares / n);
    for (int i = 0; i < n; i++) {
        vote[i] = (double)duration[i] < mean - three_sigma;
        long_one |= (double)duration[i] > mean + three_sigma;
    }
    vote[shortest] |= long_one;
    for (int i = 0; i < n; i++)
        n_votes += vote[i];
    return n_votes;
}

int ek__slow_votes(const int64_t *duration, int n, int64_t *sorted, bool *vote)
{
    for (int i = 0; i < n; i++) {
        vote[i] = false;
        sorted[i] = duration[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    if (n <= 2 || count_distinct(sorted, n) <= FEW_DISTINCT)
        return 0;
    return n <= MAX_DIXON ? by_dixon(duration, n, sorted, vote) : by_deviation(duration, n, vote);
}
