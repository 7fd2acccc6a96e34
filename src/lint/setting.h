/* lint/setting.h - an environment variable that a script or a program sets, with its place. */
#ifndef EK_LINT_SETTING_H
#define EK_LINT_SETTING_H

#include <stdbool.h>

enum { EK__SETTINGS_MAX = 1000 /* of a file that are looked at */ };

typedef struct ek__lint_setting {
    const char *name;
    const char *value;            /* NULL: not known without running */
    int line, column, end_column; /* from 1, in characters; end_column 0: to the line's end */
    int value_column;             /* where the value begins, when that line has it literally; else 0 */
    bool maybe;                   /* only under a condition */
    bool fallback;                /* only where there is none yet: setdefault, ${X:-Y} */
    bool one_command;             /* only for the command after it */
    bool exported;                /* programs that are started see it */
    bool unset;                   /* taken away again further down */
} ek__lint_setting;

typedef struct ek__lint_settings {
    int n;
    ek__lint_setting *setting; /* by place */
} ek__lint_settings;

#endif
