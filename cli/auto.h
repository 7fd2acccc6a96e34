/* cli/auto.h - `balance --schedule auto|A,B,...` and `-i auto|1,2,...`: balance under each and rank them. */
#ifndef EK_CLI_AUTO_H
#define EK_CLI_AUTO_H

#include "model.h"
#include "search.h"

/** What is left open, as given; NULL: not open. */
typedef struct cli_open {
    const char *schedules, *chunks;
} cli_open;

/** The best of all candidates, and how the others did. */
typedef struct cli_choice {
    const ek_schedule *schedule;
    int n_chunks;
    ek_order *order;
    ek_balance_result result;
    ek_ranking ranking;
} cli_choice;

/** Does the value of --schedule or -i leave a choice? */
bool cli_is_open(const char *text);

/**
 * Balance under every candidate, each with a fair share of the time that is left. Candidates that cannot be are listed
 * with the reason; when nothing fits under any, the choice is the one with the smallest limit.
 * @return false after a message: a wrong list, or no candidate at all
 */
bool cli_choose(const cli_open *open, const cli_model *model, const ek_layers *layers, cli_search *search,
                cli_choice *out);
void cli_choice_clear(cli_choice *choice);

#endif
