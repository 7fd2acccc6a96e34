/* cli/gates.h - the option --fail-on of commands: conditions on their findings that make the exit status 1. */
#ifndef EK_CLI_GATES_H
#define EK_CLI_GATES_H

#include "evenkeel/gate.h"

#include "options.h"

/** The row of a command with a cli_texts as `field`; `example` is an example for the help. */
#define CLI_GATES_ROW(owner, field, group_, example)                                                                   \
    {                                                                                                                  \
        "fail-on", "EXPR[,EXPR...]", "exit with 1 where a figure of the JSON, or a finding, is so: " example, group_,  \
            CLI_TEXTS(owner, field),                                                                                   \
            .manual = "exit with 1 where one of these [conditions](interfaces.md#gates) holds, as `" example "`"       \
    }

/** Read them for results of a kind, before long work begins. NULL where there are none. False after a message. */
bool cli_gates_open(const cli_texts *texts, ek_output_kind kind, ek_gates **out);
/** Check a result against them, and print a sentence for each that fails. @return `code`; EXIT_NO where one failed;
 *  EXIT_WRONG after a message */
int cli_gates_check(const ek_gates *gates, ek_output output, int code);

#endif
