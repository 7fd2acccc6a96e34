/* Prints readers' warnings and keeps them for reports. */
#include "warnings.h"

#include <stdio.h>
#include <stdlib.h>

#include "options.h"

void cli_take_warning(void *user, const ek_error *warning)
{
    cli_warnings *w = user;
    ek_error copy = *warning;
    if (w->spool)
        cli_spool_rename(w->spool, &copy);
    if (!w->quiet)
        cli_listener.warn(cli_listener.user, &copy);
    if (w->n == w->room) {
        int room = w->room ? 2 * w->room : 8;
        ek_error *at = realloc(w->at, (size_t)room * sizeof *at);
        if (!at)
            return;
        w->at = at;
        w->room = room;
    }
    w->at[w->n++] = copy;
}

void cli_warn_absent(ek_feature feature, const ek_listener *listener)
{
    const char *what = ek_feature_absent(feature);
    ek_error warning = {.status = EK_OK};
    if (!what)
        return;
    snprintf(warning.message, sizeof warning.message, "%s", what);
    listener->warn(listener->user, &warning);
}
