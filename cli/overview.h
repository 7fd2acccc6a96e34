/* cli/overview.h - the command that runs where a file or a folder is in place of a command's name. */
#ifndef EK_CLI_OVERVIEW_H
#define EK_CLI_OVERVIEW_H

#include <stdbool.h>

/** Is a word one of the options of `evenkeel FILE`, or of `evenkeel balance`? */
bool cli_overview_option(const char *word);
bool cli_balance_option(const char *word);

#endif
