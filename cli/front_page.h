/* cli/front_page.h - the pages of `evenkeel` without arguments and of `evenkeel --help`. */
#ifndef EK_CLI_FRONT_PAGE_H
#define EK_CLI_FRONT_PAGE_H

#include <stdio.h>

#include "cmd.h"

/** The purpose of the program, first commands, the main commands. @param command  [n] all commands */
void cli_front_page(const ek_cmd *const *command, int n, FILE *out);
/** The purpose of the program, and all commands by task. */
void cli_front_help(const ek_cmd *const *command, int n, FILE *out);

#endif
