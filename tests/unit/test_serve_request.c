/* Tests the parsing of requests and their permissions: tables of addresses, values, hosts and tokens. */
#include "input.h"

#include "serve/guard.h"
#include "serve/request.h"

static ek__request request; /* too large for the stack of a test */

static ek_status read_values(const char *query, unsigned needs, unsigned takes, ek_error *err)
{
    return ek__request_read(query, strlen(query), needs, takes, &request, err);
}

static void address_is_cut_at_slashes_and_question_mark(void **state)
{
    static const struct {
        const char *text, *token, *name, *query;
    } cases[] = {
        {"/abc/", "abc", "", ""},
        {"/abc", "abc", NULL, ""},
        {"/", "", NULL, ""},
        {"//", "", "", ""},
        {"/abc/rows", "abc", "rows", ""},
        {"/abc/rows?", "abc", "rows", ""},
        {"/abc/rows?rows=1&begin=0", "abc", "rows", "rows=1&begin=0"},
        {"/abc/rows?a=/b/?c", "abc", "rows", "a=/b/?c"},
        {"/abc?x=/rows", "abc", NULL, "x=/rows"},
        {"/abc/../rows", "abc", "../rows", ""},
        {"/abc/%2e%2e/rows", "abc", "%2e%2e/rows", ""},
        {"/?", "", NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__target target;
        assert_true(ek__target_split(cases[i].text, strlen(cases[i].text), &target));
        assert_int_equal(target.token_size, strlen(cases[i].token));
        assert_memory_equal(target.token, cases[i].token, target.token_size);
        assert_int_equal(target.query_size, strlen(cases[i].query));
        assert_memory_equal(target.query, cases[i].query, target.query_size);
        assert_true((target.name == NULL) == (cases[i].name == NULL));
        assert_int_equal(target.name_size, cases[i].name ? strlen(cases[i].name) : 0);
        if (cases[i].name)
            assert_memory_equal(target.name, cases[i].name, target.name_size);
    }
    ek__target target;
    assert_false(ek__target_split("", 0, &target));
    assert_false(ek__target_split("http://127.0.0.1/abc/", 21, &target));
    assert_false(ek__target_split("*", 1, &target));
}

static void lists_are_numbers_and_ranges(void **state)
{
    static const struct {
        const char *text;
        int n;
        uint32_t at[8];
    } cases[] = {
        {"rows=3", 1, {3}},
        {"rows=0", 1, {0}},
        {"rows=3-5", 3, {3, 4, 5}},
        {"rows=7-7", 1, {7}},
        {"rows=1,4-6", 4, {1, 4, 5, 6}},
        {"rows=1%2C4-6", 4, {1, 4, 5, 6}},
        {"rows=%31%2c4-6", 4, {1, 4, 5, 6}},
        {"rows=1,2,3", 3, {1, 2, 3}},
        {"rows=4294967294", 1, {4294967294u}},
        {"rows=007", 1, {7}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err;
        assert_int_equal(read_values(cases[i].text, EK__HAS(ROWS), 0, &err), EK_OK);
        assert_int_equal(request.given, EK__HAS(ROWS));
        assert_int_equal(request.rows.n, cases[i].n);
        assert_memory_equal(request.rows.at, cases[i].at, (size_t)cases[i].n * sizeof *cases[i].at);
    }
    ek_error err;
    assert_int_equal(read_values("names=5-4100", EK__HAS(NAMES), 0, &err), EK_OK);
    assert_int_equal(request.names.n, EK__REQUEST_MAX_LIST);
    for (int i = 0; i < request.names.n; i++)
        assert_int_equal(request.names.at[i], 5 + i);
}

static void values_within_their_ranges_are_read(void **state)
{
    ek_error err;
    (void)state;
    assert_int_equal(read_values("begin=-9007199254740992&end=9007199254740992&time=-1&resolution=9007199254740992",
                                 EK__HAS(BEGIN) | EK__HAS(END), EK__HAS(TIME) | EK__HAS(RESOLUTION), &err),
                     EK_OK);
    assert_true(request.begin == -EK__REQUEST_MAX_TIME && request.end == EK__REQUEST_MAX_TIME);
    assert_true(request.time == -1 && request.resolution == EK__REQUEST_MAX_TIME);
    assert_int_equal(read_values("limit=65536&counter=2147483647&row=-1&index=4294967295&forward=1",
                                 EK__HAS(LIMIT) | EK__HAS(COUNTER) | EK__HAS(ROW) | EK__HAS(INDEX) | EK__HAS(FORWARD),
                                 0, &err),
                     EK_OK);
    assert_int_equal(request.limit, EK__REQUEST_MAX_ARROWS);
    assert_int_equal(request.counter, INT32_MAX);
    assert_int_equal(request.row, -1);
    assert_true(request.index == UINT32_MAX && request.forward);
    assert_int_equal(read_values("text=a%20b%26%3D%2b+%c3%a9%3cscript%3E", EK__HAS(TEXT), 0, &err), EK_OK);
    assert_string_equal(request.text, "a b&=+ \xc3\xa9<script>");
    assert_int_equal(request.text_size, strlen(request.text));
    assert_int_equal(read_values("state=0123456789abcDEF&", EK__HAS(STATE), 0, &err), EK_OK);
    assert_string_equal(request.state, "0123456789abcDEF");
    assert_int_equal(read_values("state=", EK__HAS(STATE), 0, &err), EK_OK);
    assert_string_equal(request.state, "");
    assert_int_equal(read_values("", 0, EK__HAS(STATE), &err), EK_OK);
    assert_int_equal(request.given, 0);
}

static void wrong_values_are_told(void **state)
{
    static const struct {
        const char *query;
        unsigned needs, takes;
        const char *message;
    } cases[] = {
        {"", EK__HAS(ROWS), 0, "rows is missing"},
        {"begin=1", EK__HAS(BEGIN) | EK__HAS(END), 0, "end is missing"},
        {"begin=2&end=1", EK__HAS(BEGIN) | EK__HAS(END), 0, "begin must not be after end"},
        {"rows=1&rows=2", EK__HAS(ROWS), 0, "rows is given twice"},
        {"rows=1&path=/etc/passwd", EK__HAS(ROWS), 0, "a value that this address does not have"},
        {"rows=1&begin=2", EK__HAS(ROWS), 0, "a value that this address does not have"},
        {"=", EK__HAS(ROWS), 0, "a value that this address does not have"},
        {"&rows=1", EK__HAS(ROWS), 0, "a value that this address does not have"},
        {"r%6fws=1", EK__HAS(ROWS), 0, "a value that this address does not have"},
        {"rows", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=,", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1,", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=,1", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1-", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=-1", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1-2-3", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=5-4", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=2,1", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1,1", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1-5,5", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=0-4096", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=0-4294967294", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=4294967295", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=99999999999999999999999999", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1 ", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=0x1", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1%", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1%3", EK__HAS(ROWS), 0, "rows must be a list"},
        {"rows=1%3g", EK__HAS(ROWS), 0, "rows must be a list"},
        {"begin=9007199254740993", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=-9007199254740993", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=--1", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=+1", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=-", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=1e3", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=1.5", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"begin=nan", EK__HAS(BEGIN), 0, "begin must be a time"},
        {"resolution=-1", EK__HAS(RESOLUTION), 0, "resolution must be"},
        {"limit=0", EK__HAS(LIMIT), 0, "limit must be"},
        {"limit=65537", EK__HAS(LIMIT), 0, "limit must be"},
        {"counter=2147483648", EK__HAS(COUNTER), 0, "counter must be"},
        {"counter=-1", EK__HAS(COUNTER), 0, "counter must be"},
        {"row=-2", EK__HAS(ROW), 0, "row must be"},
        {"index=4294967296", EK__HAS(INDEX), 0, "index must be"},
        {"index=-1", EK__HAS(INDEX), 0, "index must be"},
        {"forward=2", EK__HAS(FORWARD), 0, "forward must be 0 or 1"},
        {"forward=true", EK__HAS(FORWARD), 0, "forward must be 0 or 1"},
        {"text=", EK__HAS(TEXT), 0, "text must be"},
        {"text=a%00b", EK__HAS(TEXT), 0, "text must be"},
        {"state=0123456789abcde", EK__HAS(STATE), 0, "state must be"},
        {"state=0123456789abcdeg", EK__HAS(STATE), 0, "state must be"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        memset(&request, 0x55, sizeof request);
        if (read_values(cases[i].query, cases[i].needs, cases[i].takes, &err) != EK_ERR_INPUT ||
            !strstr(err.message, cases[i].message))
            fail_msg("'%s' gave '%s' instead of '%s'", cases[i].query, err.message, cases[i].message);
        for (size_t k = 0; k < sizeof request; k++)
            assert_int_equal(((unsigned char *)&request)[k], 0x55);
    }
}

static void texts_and_addresses_have_a_longest(void **state)
{
    char query[EK__REQUEST_MAX_SIZE + 8];
    ek_error err;
    (void)state;
    int n = snprintf(query, sizeof query, "text=%0*d", EK__REQUEST_MAX_TEXT, 1);
    assert_int_equal(ek__request_read(query, (size_t)n, EK__HAS(TEXT), 0, &request, &err), EK_OK);
    assert_int_equal(request.text_size, EK__REQUEST_MAX_TEXT);
    n = snprintf(query, sizeof query, "text=%0*d", EK__REQUEST_MAX_TEXT + 1, 1);
    assert_int_equal(ek__request_read(query, (size_t)n, EK__HAS(TEXT), 0, &request, &err), EK_ERR_INPUT);
    n = snprintf(query, sizeof query, "rows=%0*d", EK__REQUEST_MAX_SIZE - 5, 1);
    assert_int_equal(ek__request_read(query, (size_t)n, EK__HAS(ROWS), 0, &request, &err), EK_OK);
    n = snprintf(query, sizeof query, "rows=%0*d", EK__REQUEST_MAX_SIZE - 4, 1);
    assert_int_equal(ek__request_read(query, (size_t)n, EK__HAS(ROWS), 0, &request, &err), EK_ERR_INPUT);
}

static void token_must_be_whole(void **state)
{
    char token[EK__TOKEN_DIGITS + 1], other[EK__TOKEN_DIGITS + 1], text[EK__TOKEN_DIGITS + 2];
    (void)state;
    assert_true(ek__guard_draw(token) && ek__guard_draw(other));
    assert_int_equal(strlen(token), EK__TOKEN_DIGITS);
    assert_int_equal(strspn(token, "0123456789abcdef"), EK__TOKEN_DIGITS);
    assert_string_not_equal(token, other);
    assert_true(ek__guard_is_token(token, token, EK__TOKEN_DIGITS));
    assert_false(ek__guard_is_token(token, other, EK__TOKEN_DIGITS));
    for (size_t n = 0; n < EK__TOKEN_DIGITS; n++)
        assert_false(ek__guard_is_token(token, token, n));
    snprintf(text, sizeof text, "%s0", token);
    assert_false(ek__guard_is_token(token, text, EK__TOKEN_DIGITS + 1));
    for (size_t i = 0; i < EK__TOKEN_DIGITS; i++) {
        snprintf(text, sizeof text, "%s", token);
        text[i] = text[i] == '0' ? '1' : '0';
        assert_false(ek__guard_is_token(token, text, EK__TOKEN_DIGITS));
    }
}

static void only_this_machine_is_the_host(void **state)
{
    static const char *const good[] = {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"};
    static const char *const bad[] = {"",
                                      "127.0.0.1",
                                      "127.0.0.1:80",
                                      "127.0.0.1:80800",
                                      "127.0.0.1:8080 ",
                                      "127.0.0.1:8080.evil.example",
                                      "evil.example:8080",
                                      "localhost.evil.example:8080",
                                      "user@127.0.0.1:8080",
                                      "127.0.0.2:8080",
                                      "0.0.0.0:8080",
                                      "::1:8080",
                                      "2130706433:8080"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(ek__guard_is_host(good[i], 8080));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(ek__guard_is_host(bad[i], 8080));
    assert_false(ek__guard_is_host(NULL, 8080));
}

static void other_sites_are_told_apart(void **state)
{
    (void)state;
    assert_true(ek__guard_is_origin(NULL, 8080));
    assert_true(ek__guard_is_origin("http://127.0.0.1:8080", 8080));
    assert_false(ek__guard_is_origin("https://127.0.0.1:8080", 8080));
    assert_false(ek__guard_is_origin("http://127.0.0.1:8081", 8080));
    assert_false(ek__guard_is_origin("http://evil.example", 8080));
    assert_false(ek__guard_is_origin("null", 8080));
    assert_false(ek__guard_is_origin("", 8080));
    assert_true(ek__guard_is_site(NULL) && ek__guard_is_site("same-origin") && ek__guard_is_site("none"));
    assert_false(ek__guard_is_site("cross-site") || ek__guard_is_site("same-site") || ek__guard_is_site(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_cut_at_slashes_and_question_mark),
        cmocka_unit_test(lists_are_numbers_and_ranges),
        cmocka_unit_test(values_within_their_ranges_are_read),
        cmocka_unit_test(wrong_values_are_told),
        cmocka_unit_test(texts_and_addresses_have_a_longest),
        cmocka_unit_test(token_must_be_whole),
        cmocka_unit_test(only_this_machine_is_the_host),
        cmocka_unit_test(other_sites_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
