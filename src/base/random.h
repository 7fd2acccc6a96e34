/* base/random.h - a small reproducible generator (splitmix64 seeds xoshiro256**, Blackman and Vigna 2018). */
#ifndef EK_BASE_RANDOM_H
#define EK_BASE_RANDOM_H

#include <stdint.h>

typedef struct ek__random {
    uint64_t s[4];
} ek__random;

static inline ek__random ek__random_seed(uint64_t seed)
{
    ek__random r;
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        r.s[i] = z ^ (z >> 31);
    }
    return r;
}

static inline uint64_t ek__random_next(ek__random *r)
{
    uint64_t x = r->s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = (r->s[3] << 45) | (r->s[3] >> 19);
    return result;
}

/** 0 .. n - 1, n >= 1; the bias of 2^-32 n is of no matter here. */
static inline int ek__random_below(ek__random *r, int n)
{
    return (int)(((ek__random_next(r) >> 32) * (uint64_t)n) >> 32);
}

/** [0, 1). */
static inline double ek__random_unit(ek__random *r)
{
    return (double)(ek__random_next(r) >> 11) * 0x1p-53;
}

#endif
