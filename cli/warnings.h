/* cli/warnings.h - warnings of readers: printed at once, and kept for reports. */
#ifndef EK_CLI_WARNINGS_H
#define EK_CLI_WARNINGS_H

#include "evenkeel/features.h"
#include "memory.h"

typedef struct cli_warnings {
    const cli_spool *spool; /**< standard input's copy, which is displayed under another name; NULL: none */
    ek_error *at;           /**< [n], freed by the owner */
    int n, room;
    bool quiet; /**< kept and not said */
} cli_warnings;

/** For ek_listener.warn with a cli_warnings as its user. */
void cli_take_warning(void *user, const ek_error *warning);

/** Where this build is without something that the answer would be better with. */
void cli_warn_absent(ek_feature feature, const ek_listener *listener);

#endif
