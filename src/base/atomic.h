/* base/atomic.h - C11's atomics, or C++'s where a header is compiled as C++17, which has no <stdatomic.h>. */
#ifndef EK_BASE_ATOMIC_H
#define EK_BASE_ATOMIC_H

#ifdef __cplusplus
#include <atomic>
#define EK__ATOMIC(type) std::atomic<type>
using std::atomic_load_explicit;
using std::atomic_store_explicit;
using std::memory_order_relaxed;
#else
#include <stdatomic.h>
#define EK__ATOMIC(type) _Atomic(type)
#endif

#endif
