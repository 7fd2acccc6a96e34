/* base/regex.h - regular expressions without heap memory, so that matches do not depend on the available memory.
 * Expressions are Perl's, as PCRE2 reads them, and equal Python's for everything that settings use. */
#ifndef EK_BASE_REGEX_H
#define EK_BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Room for a handful of short expressions and for matching names with them. It is on the stack. */
enum { EK__REGEX_ROOM = 192 << 10, EK__REGEX_WHY = 256 };

typedef struct ek__regex_room {
    size_t used;
    void *general, *match, *limits; /**< PCRE2's contexts, and the memory for a match */
    uint64_t words[EK__REGEX_ROOM / 8];
} ek__regex_room;

/** Empty the room; expressions in it are gone. O(1). */
void ek__regex_start(ek__regex_room *room);

/** Read an expression. @return NULL when it is none, or too long for the room; else valid as long as the room is.
 *  O(size). */
const void *ek__regex_read(ek__regex_room *room, const char *expression, size_t size);

/** Compile an expression for ek__regex_find(). @param why out: the error of an invalid expression */
const void *ek__regex_read_part(ek__regex_room *room, const char *expression, size_t size, char why[EK__REGEX_WHY]);

typedef enum ek__regex_found { EK__REGEX_ABSENT, EK__REGEX_FOUND, EK__REGEX_TOO_LONG } ek__regex_found;

/** Is it anywhere in a text? TOO_LONG: not within the steps or the room that any sensible expression takes. O(size) for
 *  expressions that do not go back. */
ek__regex_found ek__regex_find(ek__regex_room *room, const void *regex, const char *text, size_t size);

/** Does it match the whole of a text? Also not where that takes more steps than any sensible expression does. O(size)
 *  for expressions that do not go back. */
bool ek__regex_fits(ek__regex_room *room, const void *regex, const char *text, size_t size);

#endif
