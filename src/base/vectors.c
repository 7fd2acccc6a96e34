/* Detects the vector instructions of this processor. */
#include "base/vectors.h"

bool ek__vectors_here(ek__vectors vectors)
{
    switch (vectors) {
    case EK__VECTORS_NONE:
#if defined(__x86_64__)
    case EK__VECTORS_SSE2:
#endif
#if EK__HAVE_NEON
    case EK__VECTORS_NEON:
#endif
        return true;
#if defined(__x86_64__)
    case EK__VECTORS_AVX:
        return __builtin_cpu_supports("avx");
    case EK__VECTORS_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul");
#endif
    default:
        return false;
    }
}

const char *ek__vectors_name(ek__vectors vectors)
{
    static const char *const name[] = {"none", "SSE2", "AVX", "AVX2", "NEON"};
    return name[vectors];
}
