/* Fuzzes a request's address: whatever the bytes, its pieces lie within it, values are within their ranges, a list is
 * ascending, and values that are written again are read as the same. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/request.h"

static size_t print_list(const char *name, const ek__number_list *list, char *out)
{
    size_t n = (size_t)sprintf(out, "%s=", name);
    for (int i = 0, last; i < list->n; i = last + 1) { /* in ranges */
        for (last = i; last + 1 < list->n && list->at[last + 1] == list->at[last] + 1; last++) {
        }
        n += (size_t)sprintf(out + n, "%s%" PRIu32 "-%" PRIu32, i ? "," : "", list->at[i], list->at[last]);
    }
    n += (size_t)sprintf(out + n, "&");
    return n;
}

static size_t print_text(const ek__request *r, char *out)
{
    size_t n = (size_t)sprintf(out, "text=");
    for (size_t i = 0; i < r->text_size; i++)
        n += (size_t)sprintf(out + n, "%%%02x", (unsigned char)r->text[i]);
    return n + (size_t)sprintf(out + n, "&");
}

/* Written again, every text encoded and every list as ranges. */
static size_t print(const ek__request *r, char *out)
{
    size_t n = 0;
    if (r->given & EK__HAS(ROWS))
        n += print_list("rows", &r->rows, out + n);
    if (r->given & EK__HAS(NAMES))
        n += print_list("names", &r->names, out + n);
    if (r->given & EK__HAS(TEXT))
        n += print_text(r, out + n);
    if (r->given & EK__HAS(STATE))
        n += (size_t)sprintf(out + n, "state=%s&", r->state);
    if (r->given & EK__HAS(FORWARD))
        n += (size_t)sprintf(out + n, "forward=%d&", r->forward);
    const struct {
        unsigned given;
        const char *name;
        int64_t value;
    } numbers[] = {
        {EK__HAS(BEGIN), "begin", r->begin}, {EK__HAS(END), "end", r->end},
        {EK__HAS(TIME), "time", r->time},    {EK__HAS(RESOLUTION), "resolution", r->resolution},
        {EK__HAS(LIMIT), "limit", r->limit}, {EK__HAS(COUNTER), "counter", r->counter},
        {EK__HAS(ROW), "row", r->row},       {EK__HAS(INDEX), "index", r->index},
        {EK__HAS(RUN), "run", r->run},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (r->given & numbers[i].given)
            n += (size_t)sprintf(out + n, "%s=%" PRId64 "&", numbers[i].name, numbers[i].value);
    return n;
}

static void check_list(const ek__number_list *list, bool given)
{
    assert(given ? list->n > 0 && list->n <= EK__REQUEST_MAX_LIST : list->n == 0);
    for (int i = 1; i < list->n; i++)
        assert(list->at[i - 1] < list->at[i]);
}

static void check_values(const ek__request *r)
{
    check_list(&r->rows, (r->given & EK__HAS(ROWS)) != 0);
    check_list(&r->names, (r->given & EK__HAS(NAMES)) != 0);
    assert(r->text_size == strlen(r->text) && r->text_size <= EK__REQUEST_MAX_TEXT);
    assert(r->resolution >= 0 && r->resolution <= EK__REQUEST_MAX_TIME);
    assert(r->begin >= -EK__REQUEST_MAX_TIME && r->end <= EK__REQUEST_MAX_TIME);
    assert(r->row >= -1 && r->counter >= 0 && r->limit >= 0 && r->limit <= EK__REQUEST_MAX_ARROWS);
    assert(!(r->given & EK__HAS(BEGIN)) || !(r->given & EK__HAS(END)) || r->begin <= r->end);
}

/* Written again it may be longer than the limit of addresses. */
static void check_again(const ek__request *r, unsigned takes)
{
    static char text[1 << 18];
    static ek__request again;
    size_t size = print(r, text);
    if (size > EK__REQUEST_MAX_SIZE)
        return;
    assert(ek__request_read(text, size, r->given, takes, &again, NULL) == EK_OK);
    assert(memcmp(&again, r, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ek__request request;
    const unsigned all = (1u << EK__N_VALUES) - 1;
    char *text = malloc(size ? size : 1); /* of exactly this size, so that reading beyond is noticed */
    ek__target target;
    ek_error err = {0};
    if (!text)
        return 0;
    memcpy(text, data, size);
    if (ek__target_split(text, size, &target)) {
        assert(target.token == text + 1 && target.token_size < size && !memchr(target.token, '/', target.token_size));
        assert(!target.name || (target.name > target.token && target.name + target.name_size <= text + size));
        assert(target.query + target.query_size == text + size);
        ek_status status = ek__request_read(target.query, target.query_size, 0, all, &request, &err);
        assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0]));
        if (status == EK_OK) {
            check_values(&request);
            check_again(&request, all);
            assert(ek__request_read(target.query, target.query_size, all & ~request.given, all, &request, NULL) ==
                   (request.given == all ? EK_OK : EK_ERR_INPUT));
        }
    }
    free(text);
    return 0;
}
