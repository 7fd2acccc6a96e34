/* schedule/list.h - the list of schedules. A new one is a file schedule_NAME.c with its stage order and its
 * description, one line here, one row of the table in frameworks.c, one line in src/meson.build and one test. */
#ifndef EK_SCHEDULE_LIST_H
#define EK_SCHEDULE_LIST_H

#include "evenkeel/schedule.h"

#define EK__SCHEDULES(X)                                                                                               \
    X(1f1b)                                                                                                            \
    X(interleaved)                                                                                                     \
    X(interleaved_less_memory)                                                                                         \
    X(sequence)                                                                                                        \
    X(gpipe)                                                                                                           \
    X(zb_h1)                                                                                                           \
    X(zb_1p)                                                                                                           \
    X(zb_2p)                                                                                                           \
    X(zb_v)                                                                                                            \
    X(v_half)                                                                                                          \
    X(v_min)                                                                                                           \
    X(dualpipe)                                                                                                        \
    X(dualpipev)

#define EK__DECLARE_SCHEDULE(id) extern const ek_schedule ek__schedule_##id;
EK__SCHEDULES(EK__DECLARE_SCHEDULE)
#undef EK__DECLARE_SCHEDULE

#endif
