/* Tests one member of an object as text: cases by hand, and random objects against jansson. */
#include "input.h"

#include <jansson.h>

#include "base/json_compact.h"

static void members_come_on_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted; /* NULL: the member is not there */
    } cases[] = {
        {"{\"ph\":\"X\", \"args\": {\"a\" : [1, -2.5e+3 ,\"x y\\n\"],\r\n \"b\": null } , \"z\":[{}]}",
         "{\"a\":[1,-2.5e+3,\"x y\\n\"],\"b\":null}"},
        {"{\"args\":{}}", "{}"},
        {"  {\"args\":\"text\"}\n", "\"text\""},
        {"{\"other\":{\"args\":1}}", NULL},
        {"{}", NULL},
        {"{\"args\":1,\"x\":2,\"args\":3}", "3"},
        {"{\"args\":[NaN,-Infinity,Infinity,true,false]}", "[\"NaN\",\"-Infinity\",\"Infinity\",true,false]"},
        {"{\"args\":\"a\tb\001\"}", "\"a\\u0009b\\u0001\""},
        {"{\"args\":\"\\u00e9\\\\\\\"\"}", "\"\\u00e9\\\\\\\"\""},
        {"{\"args\":18446744073709551616}", "18446744073709551616"},
        {"{\"argsx\":1,\"arg\":2}", NULL},
    };
    ek__json_text out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool found = false;
        out.n = 0;
        if (!ek__json_compact(cases[i].text, strlen(cases[i].text), "args", &out, &found))
            fail_msg("%s", cases[i].text);
        assert_int_equal(found, cases[i].wanted != NULL);
        assert_int_equal(out.n, cases[i].wanted ? strlen(cases[i].wanted) : 0);
        if (cases[i].wanted)
            assert_memory_equal(out.at, cases[i].wanted, out.n);
    }
    free(out.at);
}

static void what_is_not_sound_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "[]",
        "{",
        "{\"args\"}",
        "{\"args\":}",
        "{\"args\":1,}",
        "{\"args\":01}",
        "{args:1}",
        "{\"args\":1",
        "{\"args\":-}",
        "{\"args\":1.}",
        "{\"args\":1e}",
        "{\"args\":\"}",
        "{\"args\":\"\\x\"}",
        "{\"a\":1}}",
        "{\"a\":[1}",
        "{\"a\":tru}",
        "{\"a\":\"\\u12\"}",
        "{\"args\":1}\"x\"",
        "{\"a\":1 \"b\":2}",
        "{,}",
    };
    ek__json_text out = {0};
    bool found = false;
    assert_true(ek__json_compact("{\"args\":7}", 10, "args", &out, &found));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (ek__json_compact(cases[i], strlen(cases[i]), "args", &out, &found))
            fail_msg("%s", cases[i]);
        assert_int_equal(out.n, 1);
        assert_true(out.at[0] == '7');
    }
    for (int depth = EK__JSON_COMPACT_DEPTH - 2; depth < EK__JSON_COMPACT_DEPTH + 2; depth++) {
        char text[400] = "{\"args\":";
        size_t n = strlen(text);
        memset(text + n, '[', (size_t)depth);
        memset(text + n + depth, ']', (size_t)depth);
        text[n + 2 * (size_t)depth] = '}';
        bool sound = ek__json_compact(text, n + 2 * (size_t)depth + 1, "args", &out, &found);
        assert_int_equal(sound, depth < EK__JSON_COMPACT_DEPTH);
        out.n = 0;
    }
    free(out.at);
}

static uint64_t random_state = 7;

static unsigned random_below(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static json_t *random_value(int depth)
{
    char text[20];
    json_t *value;
    switch (random_below(depth > 4 ? 5 : 7)) {
    case 0:
        return json_integer((json_int_t)random_below(100000) - 50000);
    case 1:
        return json_real((double)random_below(1000) / 8);
    case 2:
        return json_boolean(random_below(2));
    case 3:
        return json_null();
    case 4:
        snprintf(text, sizeof text, "%u\"\\/{}[],:\n\xc3\xa9", random_below(99));
        return json_string(text);
    case 5:
        value = json_array();
        for (unsigned n = random_below(4); n-- > 0;)
            json_array_append_new(value, random_value(depth + 1));
        return value;
    default:
        value = json_object();
        for (unsigned n = random_below(4); n-- > 0;) {
            snprintf(text, sizeof text, "k%u", n);
            json_object_set_new(value, random_below(4) ? text : "args", random_value(depth + 1));
        }
        return value;
    }
}

/* As jansson reads it: the same value where it is sound; and where one byte is changed, sound for both or for none,
 * except for deliberate differences. */
static void random_objects_are_as_jansson_reads_them(void **state)
{
    (void)state;
    ek__json_text out = {0};
    for (int i = 0; i < 4000; i++) {
        json_t *root = json_object();
        bool found = false;
        json_object_set_new(root, "before", random_value(0));
        json_object_set_new(root, "args", random_value(0));
        json_object_set_new(root, "behind", random_value(0));
        char *text = json_dumps(root, random_below(2) ? JSON_INDENT(2) : JSON_COMPACT);
        size_t size = strlen(text);
        out.n = 0;
        assert_true(ek__json_compact(text, size, "args", &out, &found) && found);
        json_t *copy = json_loadb(out.at, out.n, JSON_DECODE_ANY, NULL);
        assert_true(copy && json_equal(copy, json_object_get(root, "args")));
        assert_null(memchr(out.at, '\n', out.n));
        json_decref(copy);
        size_t at = random_below((unsigned)size);
        if ((unsigned char)text[at] < 0x80) /* whether characters are whole is not looked at */
            text[at] = "{}[],:\"0a \\"[random_below(11)];
        json_t *changed = json_loadb(text, size, 0, NULL);
        bool sound = ek__json_compact(text, size, "args", &out, &found);
        if (json_is_object(changed) && !sound)
            fail_msg("refused: %s", text);
        if (sound && !changed && !strstr(text, "\\u"))
            fail_msg("taken: %s", text);
        json_decref(changed);
        free(text);
        json_decref(root);
    }
    free(out.at);
}

static void any_bytes_become_a_text(void **state)
{
    (void)state;
    ek__json_text out = {0};
    char bytes[130];
    for (int i = 0; i < 126; i++)
        bytes[i] = (char)(i + 1);
    ek__json_quote(bytes, 126, &out);
    json_t *text = json_loadb(out.at, out.n, JSON_DECODE_ANY, NULL);
    assert_true(json_is_string(text) && json_string_length(text) == 126);
    assert_memory_equal(json_string_value(text), bytes, 126);
    json_decref(text);
    free(out.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_on_one_line),
        cmocka_unit_test(what_is_not_sound_is_refused),
        cmocka_unit_test(random_objects_are_as_jansson_reads_them),
        cmocka_unit_test(any_bytes_become_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
