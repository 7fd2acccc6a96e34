/* Reads a request's address: splits it at slashes, ampersands and equals signs, and decodes each value into a scratch
 * buffer in the form that its name has in EK__VALUE_LIST. One pass. It does not check that rows and counters exist, nor
 * how an address uses its values. */
#include "serve/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef enum form {
    FORM_LIST,   /* numbers, in ascending order */
    FORM_TIME,   /* nanoseconds, of either sign */
    FORM_SPAN,   /* nanoseconds, 0 or more */
    FORM_LIMIT,  /* how many */
    FORM_NUMBER, /* of a counter */
    FORM_ROW,    /* a row, or -1 */
    FORM_INDEX,  /* of an event in its row */
    FORM_FLAG,   /* 0 or 1 */
    FORM_TEXT,   /* any but empty */
    FORM_STATE,  /* result of an earlier answer */
    FORM_RUN,    /* number of a served run */
} form;

static const struct {
    const char *name;
    form form;
} values[EK__N_VALUES] = {
#define VALUE_ROW(id, name, form) {name, FORM_##form},
    EK__VALUE_LIST(VALUE_ROW)
#undef VALUE_ROW
};

int ek__hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool ek__target_split(const char *text, size_t size, ek__target *out)
{
    if (size == 0 || text[0] != '/')
        return false;
    const char *end = text + size, *mark = memchr(text, '?', size);
    *out = (ek__target){.query = mark ? mark + 1 : end, .query_size = mark ? (size_t)(end - mark - 1) : 0};
    if (mark)
        end = mark;
    const char *token = text + 1, *slash = memchr(token, '/', (size_t)(end - token));
    out->token = token;
    out->token_size = (size_t)((slash ? slash : end) - token);
    out->name = slash ? slash + 1 : NULL;
    out->name_size = slash ? (size_t)(end - slash - 1) : 0;
    return true;
}

/* ---- one value ---- */

/* Percent-encoding decoded, and '+' read as a blank as forms write it. False when it is damaged, contains a byte 0, or
 * is longer than the room. */
static bool decode(const char *text, size_t size, char *out, size_t room, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i] == '+' ? ' ' : text[i];
        if (c == '%') {
            int high = size - i > 2 ? ek__hex_digit(text[i + 1]) : -1;
            int low = size - i > 2 ? ek__hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(16 * high + low);
            i += 2;
        }
        if (c == '\0' || *n == room)
            return false;
        out[(*n)++] = c;
    }
    return true;
}

/* A decimal number without a sign, up to `most`; *at is moved after it. False when there is none, or a larger one. */
static bool parse_number(const char **at, const char *end, uint64_t most, uint64_t *out)
{
    const char *c = *at;
    uint64_t value = 0;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        unsigned digit = (unsigned)(*c - '0');
        if (digit > most || value > (most - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    if (c == *at)
        return false;
    *at = c;
    *out = value;
    return true;
}

/* The whole text as a number; `least` is 0 or below. */
static bool read_number(const char *text, size_t size, int64_t least, int64_t most, int64_t *out)
{
    const char *end = text + size;
    bool negative = size > 0 && text[0] == '-';
    uint64_t value;
    text += negative;
    if (!parse_number(&text, end, (uint64_t)(negative ? -least : most), &value) || text < end)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Ascending order prevents a row from being counted twice, and costs a page nothing. */
static bool read_list(const char *text, size_t size, ek__number_list *out)
{
    const char *end = text + size;
    uint64_t next = 0;
    for (out->n = 0; text < end; text++) {
        uint64_t first, last;
        if (!parse_number(&text, end, UINT32_MAX - 1, &first) || first < next)
            return false;
        last = first;
        if (text < end && *text == '-' && (++text, !parse_number(&text, end, UINT32_MAX - 1, &last) || last < first))
            return false;
        if (last - first >= (uint64_t)(EK__REQUEST_MAX_LIST - out->n))
            return false;
        for (next = first; next <= last; next++)
            out->at[out->n++] = (uint32_t)next;
        if (text == end)
            return true;
        if (*text != ',')
            return false;
    }
    return false;
}

/* An empty address is that of the first request. */
static bool read_state(const char *text, size_t size, char *out)
{
    if (size != 0 && size != EK__REQUEST_STATE_SIZE)
        return false;
    for (size_t i = 0; i < size; i++)
        if (ek__hex_digit(text[i]) < 0)
            return false;
    memcpy(out, text, size);
    out[size] = '\0';
    return true;
}

static bool read_text(const char *text, size_t size, ek__request *out)
{
    if (size == 0 || size > EK__REQUEST_MAX_TEXT)
        return false;
    memcpy(out->text, text, size);
    out->text[size] = '\0';
    out->text_size = size;
    return true;
}

/* The expected form, for messages. */
static const char *const wanted[] = {
    [FORM_LIST] = "a list of numbers in ascending order, as 3, 3-9 or 1,4-6, of at most 4096",
    [FORM_TIME] = "a time in nanoseconds, a whole number of at most 2^53",
    [FORM_SPAN] = "a time in nanoseconds, a whole number from 0 to 2^53",
    [FORM_LIMIT] = "a whole number from 1 to 65536",
    [FORM_NUMBER] = "a whole number from 0 to 2147483647",
    [FORM_ROW] = "the number of a row, or -1",
    [FORM_INDEX] = "a whole number from 0 to 4294967295",
    [FORM_FLAG] = "0 or 1",
    [FORM_TEXT] = "a text of 1 to 1024 bytes",
    [FORM_STATE] = "the state that an earlier answer gave, or empty",
    [FORM_RUN] = "0, or 1 for a second run",
};

static bool read_value(ek__value which, const char *text, size_t size, ek__request *out)
{
    int64_t *const time = which == EK__VALUE_BEGIN ? &out->begin : which == EK__VALUE_END ? &out->end : &out->time;
    int64_t number = 0;
    bool fine = false;
    switch (values[which].form) {
    case FORM_LIST:
        return read_list(text, size, which == EK__VALUE_ROWS ? &out->rows : &out->names);
    case FORM_TIME:
        return read_number(text, size, -EK__REQUEST_MAX_TIME, EK__REQUEST_MAX_TIME, time);
    case FORM_SPAN:
        return read_number(text, size, 0, EK__REQUEST_MAX_TIME, &out->resolution);
    case FORM_TEXT:
        return read_text(text, size, out);
    case FORM_STATE:
        return read_state(text, size, out->state);
    case FORM_LIMIT:
        fine = read_number(text, size, 0, EK__REQUEST_MAX_ARROWS, &number) && number > 0;
        out->limit = (int)number;
        return fine;
    case FORM_NUMBER:
        fine = read_number(text, size, 0, INT32_MAX, &number);
        out->counter = (int)number;
        return fine;
    case FORM_ROW:
        fine = read_number(text, size, -1, INT32_MAX, &number);
        out->row = (int)number;
        return fine;
    case FORM_INDEX:
        fine = read_number(text, size, 0, UINT32_MAX, &number);
        out->index = (uint32_t)number;
        return fine;
    case FORM_FLAG:
        fine = read_number(text, size, 0, 1, &number);
        out->forward = number == 1;
        return fine;
    case FORM_RUN:
        fine = read_number(text, size, 0, 1, &number);
        out->run = (int)number;
        return fine;
    }
    return false;
}

/* ---- all of them ---- */

static ek__value find_value(const char *name, size_t size)
{
    ek__value which = 0;
    while (which < EK__N_VALUES && (strlen(values[which].name) != size || memcmp(values[which].name, name, size) != 0))
        which++;
    return which;
}

/* "NAME=VALUE". Texts of the client are not repeated in messages. */
static ek_status read_pair(const char *pair, size_t size, unsigned takes, ek__request *out, ek_error *err)
{
    char text[EK__REQUEST_MAX_SIZE];
    const char *equals = memchr(pair, '=', size);
    size_t name_size = equals ? (size_t)(equals - pair) : size, n = 0;
    ek__value which = find_value(pair, name_size);
    if (which == EK__N_VALUES || !(takes & (1u << which)))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a value that this address does not have");
    const char *name = values[which].name;
    if (out->given & (1u << which))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s is given twice", name);
    if (!equals || !decode(equals + 1, size - name_size - 1, text, sizeof text, &n) || !read_value(which, text, n, out))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s must be %s", name, wanted[values[which].form]);
    out->given |= 1u << which;
    return EK_OK;
}

static ek_status read_pairs(const char *query, size_t size, unsigned needs, unsigned takes, ek__request *out,
                            ek_error *err)
{
    const char *end = query + size;
    for (const char *next; query < end; query = next ? next + 1 : end) {
        next = memchr(query, '&', (size_t)(end - query));
        if (read_pair(query, (size_t)((next ? next : end) - query), needs | takes, out, err))
            return EK_ERR_INPUT;
    }
    for (ek__value which = 0; which < EK__N_VALUES; which++)
        if ((needs & (1u << which)) && !(out->given & (1u << which)))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s is missing: %s", values[which].name,
                            wanted[values[which].form]);
    if ((out->given & EK__HAS(BEGIN)) && (out->given & EK__HAS(END)) && out->begin > out->end)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "begin must not be after end");
    return EK_OK;
}

ek_status ek__request_read(const char *query, size_t size, unsigned needs, unsigned takes, ek__request *out,
                           ek_error *err)
{
    if (size > EK__REQUEST_MAX_SIZE)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "an address of more than %d bytes", EK__REQUEST_MAX_SIZE);
    ek__request *read = ek__alloc(1, sizeof *read);
    if (!read)
        return ek__no_memory(err);
    ek_status status = read_pairs(query, size, needs, takes, read, err);
    if (status == EK_OK)
        *out = *read;
    free(read);
    return status;
}
