/* evenkeel/interrupt.h - how a caller ends long work early: one flag, the same for every function that takes one.
 *
 * The caller keeps a zeroed ek_interrupt, puts its address into the options of the work, and sets it from anywhere: a
 * progress callback, another thread or a signal handler. The work reads it often, returns soon after it is set and
 * never writes it. One flag may end several pieces of work, also at the same time; it must outlive all of them.
 *
 *     static ek_interrupt stop;
 *     static void on_signal(int number) { ek_interrupt_set(&stop); }
 *     ...
 *     options.interrupt = &stop;
 *
 * It is an int that is only read and written by atomic operations without a lock. So there is no data race between
 * threads, which `volatile` does not exclude, and a signal handler may set it, which a lock would forbid. C11 and C++17
 * spell their atomic types differently; a struct with functions is one type in both. Other languages write a non-zero
 * int to its address.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects too. */
#ifndef EVENKEEL_INTERRUPT_H
#define EVENKEEL_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** A flag that ends work. {0} is not set. */
typedef struct ek_interrupt {
    int set; /**< for the functions below */
} ek_interrupt;

/** End the work that was given this flag. Async-signal-safe. */
static inline void ek_interrupt_set(ek_interrupt *interrupt)
{
    __atomic_store_n(&interrupt->set, 1, __ATOMIC_RELAXED);
}

/** Make it ready for further work. Async-signal-safe. */
static inline void ek_interrupt_reset(ek_interrupt *interrupt)
{
    __atomic_store_n(&interrupt->set, 0, __ATOMIC_RELAXED);
}

/** Was it set? Always false for NULL, work without an interrupt. Async-signal-safe. */
static inline bool ek_interrupted(const ek_interrupt *interrupt)
{
    return interrupt != NULL && __atomic_load_n(&interrupt->set, __ATOMIC_RELAXED) != 0;
}

EK_END_DECLS
#endif
