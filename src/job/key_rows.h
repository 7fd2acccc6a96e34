/* job/key_rows.h - macros for the tables of keys (ek__key_argument): one for each way in which a key sets an argument,
 * and the end of a table. */
#ifndef EK_JOB_KEY_ROWS_H
#define EK_JOB_KEY_ROWS_H

#include "job/key_arguments.h"

#define VALUE(path, argument)                                                                                          \
    {                                                                                                                  \
        path, argument, EK__KEY_VALUE, NULL                                                                            \
    }
#define SWITCH(path, argument)                                                                                         \
    {                                                                                                                  \
        path, argument, EK__KEY_SWITCH, NULL                                                                           \
    }
#define ANY(path, argument)                                                                                            \
    {                                                                                                                  \
        path, argument, EK__KEY_ANY, NULL                                                                              \
    }
#define WITHOUT(path, argument)                                                                                        \
    {                                                                                                                  \
        path, argument, EK__KEY_WITHOUT, NULL                                                                          \
    }
#define LIST(path, argument)                                                                                           \
    {                                                                                                                  \
        path, argument, EK__KEY_LIST, NULL                                                                             \
    }
#define SPELLED(path, argument)                                                                                        \
    {                                                                                                                  \
        path, argument, EK__KEY_SPELLED, NULL                                                                          \
    }
#define WITH(path, argument, by)                                                                                       \
    {                                                                                                                  \
        path, argument, EK__KEY_VALUE, by                                                                              \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL, EK__KEY_VALUE, NULL                                                                                \
    }

#endif
