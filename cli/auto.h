/* cli/auto.h - `balance --schedule auto|A,B,...` and `-i auto|1,2,...`: balance under each and rank them. */
#ifndef EK_CLI_AUTO_H
#define EK_CLI_AUTO_H

#include "evenkeel/ranking.h"
#include "model.h"
#include "search.h"

/** The lists as given on the command line; NULL: not open. */
typedef struct cli_open {
    const char *schedules, *chunks;
} cli_open;

/** Does the value of --schedule or -i leave a choice? */
bool cli_is_open(const char *text);

/** ek_rank_schedules() over the open schedules and chunks. ek_choice_clear() frees the choice.
 *  @return false after a message: a wrong list, or no candidate at all */
bool cli_choose(const cli_open *open, const cli_model *model, const ek_layers *layers, cli_search *search,
                ek_choice *out);

#endif
