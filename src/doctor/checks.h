/* doctor/checks.h - the checks of an installation. A new one is a function in a file check_NAME.c and one line in
 * EK__CHECK_LIST; lines are added in the order of the list. */
#ifndef EK_DOCTOR_CHECKS_H
#define EK_DOCTOR_CHECKS_H

#include "base/pool.h"
#include "evenkeel/doctor.h"

#define EK__CHECK_LIST(X)                                                                                              \
    X(version)                                                                                                         \
    X(features)                                                                                                        \
    X(work)                                                                                                            \
    X(cores)                                                                                                           \
    X(memory)                                                                                                          \
    X(folders)                                                                                                         \
    X(mpi)                                                                                                             \
    X(browser)                                                                                                         \
    X(nsight)                                                                                                          \
    X(terminal)                                                                                                        \
    X(pages)                                                                                                           \
    X(completion)

/** Checks while they are made. */
typedef struct ek__doctor {
    ek_doctor *out;
    const ek_doctor_options *options;
    const char *root; /**< before the paths of the kernel's files: "", or a test's folder */
    bool no_memory;
} ek__doctor;

#define EK__CHECK_OF(name) void ek__check_##name(ek__doctor *d);
EK__CHECK_LIST(EK__CHECK_OF)
#undef EK__CHECK_OF

/** Add a line. @param remedy  static, NULL: there is nothing to do */
void ek__doctor_add(ek__doctor *d, const char *id, ek_doctor_level level, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/** The path of a program in the folders of PATH, or in the folder of options->program; NULL: there is none. */
const char *ek__doctor_find(ek__doctor *d, const char *program);
/** The first line of a file of the kernel, below d->root, without its end. @return false where it cannot be read */
bool ek__doctor_line(const ek__doctor *d, const char *path, char *out, size_t size);

#endif
