/* cli/ask.h - questions on a terminal, each with its unit, range and default. A wrong answer repeats the question. */
#ifndef EK_CLI_ASK_H
#define EK_CLI_ASK_H

#include <stdbool.h>
#include <stddef.h>

/** Can a user answer? Standard input and error are terminals. */
bool cli_can_ask(void);

/** A whole number. `unit` may be NULL; an empty answer or '*' takes `preset`. All: false at the end of the input, after
 *  a message. */
bool cli_ask_int(const char *question, const char *unit, int least, int most, int preset, int *out);
/** A number; with `optional` an empty answer leaves NAN, else it takes `preset` (NAN: there is none). */
bool cli_ask_number(const char *question, const char *unit, double least, double most, bool optional, double preset,
                    double *out);
bool cli_ask_yes(const char *question, bool preset, bool *out);
/** A line of at most size - 1 bytes; an empty answer takes `preset`. */
bool cli_ask_text(const char *question, const char *preset, char *out, size_t size);

#endif
