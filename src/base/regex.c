/* Runs regular expressions with PCRE2 in memory of the caller, allocated from front to back and never freed. */
#include "base/regex.h"

#include <assert.h>
#include <stdio.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { ALIGNMENT = sizeof(uint64_t), MOST_STEPS = 100000 };

static void *take_room(size_t size, void *data)
{
    ek__regex_room *room = data;
    size_t at = room->used;
    if (size > sizeof room->words - at - ALIGNMENT)
        return NULL;
    room->used = (at + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return (unsigned char *)room->words + at;
}

static void leave_room(void *memory, void *data)
{
    (void)memory;
    (void)data;
}

void ek__regex_start(ek__regex_room *room)
{
    room->used = 0;
    room->general = pcre2_general_context_create(take_room, leave_room, room);
    room->match = pcre2_match_data_create(1, room->general);
    room->limits = pcre2_match_context_create(room->general);
    assert(room->general && room->match && room->limits); /* there is room for all three */
    pcre2_set_match_limit(room->limits, MOST_STEPS);
}

static const void *compile(ek__regex_room *room, const char *expression, size_t size, uint32_t options, int *problem)
{
    PCRE2_SIZE at;
    pcre2_compile_context *context = pcre2_compile_context_create(room->general);
    *problem = PCRE2_ERROR_NOMEMORY;
    return !context ? NULL : pcre2_compile((PCRE2_SPTR)expression, size, options, problem, &at, context);
}

const void *ek__regex_read(ek__regex_room *room, const char *expression, size_t size)
{
    int problem;
    return compile(room, expression, size, PCRE2_ANCHORED | PCRE2_ENDANCHORED, &problem);
}

const void *ek__regex_read_part(ek__regex_room *room, const char *expression, size_t size, char why[EK__REGEX_WHY])
{
    int problem;
    const void *regex = compile(room, expression, size, 0, &problem);
    if (!regex && (problem == PCRE2_ERROR_NOMEMORY || problem == PCRE2_ERROR_HEAP_FAILED))
        snprintf(why, EK__REGEX_WHY, "it is too long");
    else if (!regex)
        pcre2_get_error_message(problem, (PCRE2_UCHAR *)why, EK__REGEX_WHY);
    return regex;
}

ek__regex_found ek__regex_find(ek__regex_room *room, const void *regex, const char *text, size_t size)
{
    int result = pcre2_match(regex, (PCRE2_SPTR)text, size, 0, 0, room->match, room->limits);
    return result >= 0 ? EK__REGEX_FOUND : result == PCRE2_ERROR_NOMATCH ? EK__REGEX_ABSENT : EK__REGEX_TOO_LONG;
}

bool ek__regex_fits(ek__regex_room *room, const void *regex, const char *text, size_t size)
{
    return pcre2_match(regex, (PCRE2_SPTR)text, size, 0, 0, room->match, room->limits) >= 0;
}
