/* Reads the values of the axes of layouts. */
#include "axes.h"
#include "evenkeel/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 30, SEQUENCE_PARALLEL = EK_N_LAYOUT_AXES };

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

static int find_axis(const cli_option *option, const char *text, size_t length)
{
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++)
        if (is_word(ek_layout_axis_option[i], text, length) || is_word(ek_layout_axis_name[i], text, length))
            return i;
    if (is_word("sp", text, length) || is_word("sequence_parallel", text, length))
        return SEQUENCE_PARALLEL;
    char all[256] = "";
    for (int i = 0; i < EK_N_LAYOUT_AXES; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s, ", ek_layout_axis_option[i]);
    }
    cli_error(NULL, "--%s: no axis is called '%.*s'; there are %ssp", option->names, (int)length, text, all);
    return -1;
}

/* A whole number of `length` characters. */
static bool read_number(const char *text, size_t length, int *out)
{
    char *end;
    if (length == 0 || length > 9 || strspn(text, "0123456789") < length)
        return false;
    *out = (int)strtol(text, &end, 10);
    return *out >= 1 && *out <= MOST;
}

static bool wrong(const cli_option *option, const char *text, size_t length, const char *want)
{
    cli_error(NULL, "--%s %.*s: must be %s", option->names, (int)length, text, want);
    return false;
}

/* LEAST:MOST, either of which may be left out. */
static bool read_range(const char *text, size_t length, ek_layout_range *out)
{
    const char *colon = memchr(text, ':', length);
    ek_layout_range range = {1, 0};
    if (!colon || length == 1)
        return false;
    size_t before = (size_t)(colon - text), after = length - before - 1;
    if ((before > 0 && !read_number(text, before, &range.least)) ||
        (after > 0 && (!read_number(colon + 1, after, &range.most) || range.most < range.least)))
        return false;
    *out = range;
    return true;
}

static bool read_switch(const cli_option *option, const char *text, size_t length, const char *value, size_t size,
                        ek_layout_options *out)
{
    bool on = is_word("on", value, size);
    if (!on && !is_word("off", value, size))
        return wrong(option, text, length, "sp=on or sp=off");
    out->sequence_parallel = on;
    return true;
}

/* One AXIS=VALUE, `length` characters long. */
static bool read_one(const cli_option *option, const char *text, size_t length, bool ranges, ek_layout_options *out)
{
    const char *value = memchr(text, '=', length);
    if (!value)
        return wrong(option, text, length, ranges ? "AXIS=LEAST:MOST, as pp=1:16" : "AXIS=VALUE, as tp=8");
    int axis = find_axis(option, text, (size_t)(value - text));
    size_t size = length - (size_t)(++value - text);
    if (axis < 0)
        return false;
    if (axis == SEQUENCE_PARALLEL)
        return read_switch(option, text, length, value, size, out);
    ek_layout_range *range = &out->range[axis];
    if (ranges)
        return read_range(value, size, range) ||
               wrong(option, text, length, "AXIS=LEAST:MOST of whole numbers from 1 on, as pp=1:16, pp=4: or pp=:8");
    if (!read_number(value, size, &range->least))
        return wrong(option, text, length, "AXIS=VALUE with one whole number from 1 on, as tp=8");
    range->most = range->least;
    return true;
}

bool cli_take_axes(const cli_option *option, const char *text, void *place)
{
    bool ranges = cli_is(option, "range");
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        if (!read_one(option, at, length, ranges, place))
            return false;
        if (at[length] == '\0')
            return true;
        at += length + 1;
    }
}
