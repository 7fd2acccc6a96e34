/* Tests the document tree: accepted and refused texts, places of values, and types of scalars. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "base/config_tree.h"

static ek__config_tree *parse(const char *text, ek_error *err)
{
    ek__config_tree *doc = NULL;
    ek__config_parse_buffer("t", text, strlen(text), &doc, err);
    return doc;
}

/* "L:C path=value" of every scalar, in order. */
static void dump(const ek__node *node, char *out, size_t size)
{
    for (const ek__node *child = node->first; child; child = child->next)
        dump(child, out, size);
    if (node->kind != EK__SCALAR)
        return;
    char path[256];
    size_t at = strlen(out);
    ek__node_path(node, path, sizeof path);
    snprintf(out + at, size - at, "%d:%d %s=%s%s;", node->line, node->column, path, node->quoted ? "\"" : "",
             node->text);
}

static void values_keep_their_places(void **state)
{
    (void)state;
    static const struct {
        const char *what, *text, *expected;
    } cases[] = {
        {"a YAML map", "a: 1\nb:\n  - x\n  - 'y'\n", "1:4 a=1;3:5 b[0]=x;4:5 b[1]=\"y;"},
        {"JSON", "{\"a\": [1, {\"b\": null}]}", "1:8 a[0]=1;1:17 a[1].b=null;"},
        {"JSON indented with tabs", "{\n\t\"a\":\t1,\n\t\t\"b\":2}", "2:7 a=1;3:7 b=2;"},
        {"JSON after a tab and a line", "\t\n\t{\"a\":1}", "2:7 a=1;"},
        {"an escaped slash", "{\"a\":\"x\\/y\"}", "1:6 a=\"x/y;"},
        {"a surrogate pair, which moves nothing", "{\"a\":\"\\ud83d\\ude00\",\"b\":2}",
         "1:6 a=\"\xF0\x9F\x98\x80;1:25 b=2;"},
        {"surrogate pairs and quotes in one string", "[\"\\\"\\uD83D\\uDE00\\\\\\ud83d\\ude00\", 7]",
         "1:2 [0]=\"\"\xF0\x9F\x98\x80\\\xF0\x9F\x98\x80;1:34 [1]=7;"},
        {"escapes of the basic plane", "{\"a\":\"\\u4e2d\\n\"}", "1:6 a=\"\xE4\xB8\xAD\n;"},
        {"columns count characters, not bytes", "{\"\xE4\xB8\xAD\":\"\xE4\xB8\xAD\", \"b\":2}",
         "1:6 \xE4\xB8\xAD=\"\xE4\xB8\xAD;1:15 b=2;"},
        {"a byte order mark",
         "\xEF\xBB\xBF"
         "a: 1\n",
         "1:4 a=1;"},
        {"Windows line ends", "a: 1\r\nb: 2\r\n", "1:4 a=1;2:4 b=2;"},
        {"a trailing comma and comments", "{a: 1, # one\n}", "1:5 a=1;"},
        {"an anchor that nothing uses", "a: &x 1\n", "1:4 a=1;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        char out[512] = "";
        ek__config_tree *doc = parse(cases[i].text, &err);
        if (!doc)
            fail_msg("%s: %d:%d: %s", cases[i].what, err.line, err.column, err.message);
        dump(ek__config_root(doc), out, sizeof out);
        if (strcmp(out, cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].what, out);
        ek__config_free(doc);
    }
}

static void broken_text_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "1:1: the file is empty\n"},
        {"# only\n", "1:1: the file contains only comments or white space\n"},
        {"a: 1\nb: 2\na: 3\n", "3:1: a is given twice, first at line 1, column 1; keep one\n"},
        {"{\"x\":{\"b\":1,\"c\":2,\"b\":3}}", "1:19: x.b is given twice, first at line 1, column 7; keep one\n"},
        {"a: &a [1]\nb: *a\n", "2:4: aliases (a word after '*') are not supported; write the value out\n"},
        {"a: !!python/object:os.system x\n", "1:4: tags (a word after '!') are not supported; remove it\n"},
        {"a: 1\n---\nb: 2\n", "2:1: a second document begins here; keep one per file\n"},
        {"[a, b]: 1\n", "1:1: a list or map cannot be a key; write 'key: value'\n"},
        {"a: \"x\\0y\"\n", "1:4: the text contains a NUL character; remove it\n"},
        {"a: 1\nb: \x01\n", "2:4: control character 0x01: the file is damaged or binary; expected YAML or JSON text\n"},
        {"a: \xC3(\n",
         "1:4: byte 0xC3 is not UTF-8 text: the file is damaged, binary or in another encoding; save it as "
         "UTF-8\n"},
        {"\xED\xA0\x80",
         "1:1: byte 0xED is not UTF-8 text: the file is damaged, binary or in another encoding; save it "
         "as UTF-8\n"},
        {"{\"a\":\"\\ud83d\"}",
         "1:9: not valid YAML or JSON: found invalid Unicode character escape code while parsing a "
         "quoted scalar that begins at line 1, column 6; correct the text there\n"},
        {"{\"a\": [1, 2\n",
         "2:1: not valid YAML or JSON: did not find expected ',' or ']' while parsing a flow sequence "
         "that begins at line 1, column 7; the text ends too early; is the file complete?\n"},
        {"a:\n\tb: 1\n", "2:1: not valid YAML or JSON: found character that cannot start any token while scanning for "
                         "the next token that begins at line 2, column 1; indent with spaces, not tabs, and quote text "
                         "that begins with a special character\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        said s = {{0}, 0, 0};
        assert_null(parse(cases[i].text, &err));
        assert_int_equal(err.status, EK_ERR_INPUT);
        say(&s, "", &err);
        if (strcmp(s.text, cases[i].expected) != 0)
            fail_msg("case %zu: %s", i, s.text);
    }
}

static void aliases_become_copies_where_they_are_allowed(void **state)
{
    (void)state;
    char path[] = "/tmp/ek_doc_XXXXXX", out[512] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fputs("a: &x {n: &y 1, l: [*y, 2]}\nb: *x\ny: &y 3\nc: [*y, &y 4, *y]\n", file);
    fclose(file);
    ek__config_tree *doc = NULL;
    ek_error err = {0};
    ek_status status = ek__config_read_with_aliases(path, &doc, &err);
    remove(path);
    if (status)
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    dump(ek__config_root(doc), out, sizeof out);
    assert_string_equal(out, "1:11 a.n=1;1:11 a.l[0]=1;1:25 a.l[1]=2;1:11 b.n=1;1:11 b.l[0]=1;1:25 b.l[1]=2;3:4 y=3;"
                             "3:4 c[0]=3;4:9 c[1]=4;4:9 c[2]=4;");
    ek__config_free(doc);
}

/* Every value and key as the bytes it spans, containers in brackets of different kinds. */
static void dump_spans(const ek__node *node, const char *text, FILE *out)
{
    if (node->key)
        fprintf(out, "<%.*s>", node->key_end - node->key_begin, text + node->key_begin);
    fprintf(out, "%s<%.*s>", node->original ? "*" : node->flow ? "f" : "", node->end - node->begin, text + node->begin);
    if (node->anchor)
        fprintf(out, "&%s", node->anchor);
    for (const ek__node *child = node->first; child && !node->original; child = child->next)
        dump_spans(child, text, out);
}

static void values_know_their_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *what, *text, *expected;
    } cases[] = {
        {"a block map ends with its last value", "a:\n  b: 1\n  c: x y # z\n\n# w\nd: 2\n",
         "<a:\n  b: 1\n  c: x y # z\n\n# w\nd: 2><a><b: 1\n  c: x y><b><1><c><x y><d><2>"},
        {"brackets and braces", "{a: [1, 'b' ] , c: {}}", "f<{a: [1, 'b' ] , c: {}}><a>f<[1, 'b' ]><1><'b'><c>f<{}>"},
        {"characters of several bytes", "层: 中 # 文\n数: \"\U0001F600\"\n",
         "<层: 中 # 文\n数: \"\U0001F600\"><层><中><数><\"\U0001F600\">"},
        {"a byte-order mark", "\xEF\xBB\xBF中: 1\n", "<中: 1><中><1>"},
        {"CR LF", "a: 1\r\nb:\r\n- 2\r\n", "<a: 1\r\nb:\r\n- 2><a><1><b><- 2><2>"},
        {"nothing", "a:\nb: ~\n", "<a:\nb: ~><a><><b><~>"},
        {"anchors and aliases", "a: &x 1\nb: *x\nc: &y [*x]\n",
         "<a: &x 1\nb: *x\nc: &y [*x]><a><&x 1>&x<b>*<*x><c>f<&y [*x]>&y*<*x>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        ek__config_tree *doc = NULL;
        char *spans = NULL;
        size_t size;
        FILE *out = open_memstream(&spans, &size);
        if (ek__config_parse_buffer_with_aliases("t", cases[i].text, strlen(cases[i].text), &doc, &err))
            fail_msg("%s: %d:%d: %s", cases[i].what, err.line, err.column, err.message);
        dump_spans(ek__config_root(doc), cases[i].text, out);
        fclose(out);
        if (strcmp(spans, cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].what, spans);
        free(spans);
        ek__config_free(doc);
    }
}

static void a_nul_byte_is_refused(void **state)
{
    (void)state;
    ek_error err = {0};
    ek__config_tree *doc = NULL;
    assert_int_equal(ek__config_parse_buffer("t", "a: 1\0\n", 6, &doc, &err), EK_ERR_INPUT);
    assert_int_equal(err.column, 5);
    assert_null(doc);
}

static void limits_hold(void **state)
{
    (void)state;
    ek_error err = {0};
    enum { DEEP = 100000 };
    char *text = malloc(DEEP + 1);
    memset(text, '[', DEEP);
    text[DEEP] = '\0';
    assert_null(parse(text, &err));
    assert_string_equal(err.message, "more than 64 levels of nesting, the limit; this is no file of this kind");
    assert_int_equal(err.column, 65);
    free(text);

    size_t size = 2 * (size_t)EK__CONFIG_MAX_NODES + 1;
    text = malloc(size);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 2 ? '0' : ',';
    text[0] = '[';
    ek__config_tree *doc = NULL;
    assert_int_equal(ek__config_parse_buffer("t", text, size, &doc, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "more than 2000000 values, the limit; this is no file of this kind");
    free(text);

    text = calloc(1, (size_t)EK__CONFIG_MAX_BYTES + 1);
    assert_int_equal(ek__config_parse_buffer("t", text, (size_t)EK__CONFIG_MAX_BYTES + 1, &doc, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "larger than the limit of 64 MiB; this is no file of this kind");
    free(text);
    assert_null(doc);
}

static void scalars_are_typed_as_people_expect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_int, is_number, is_bool, is_null;
    } cases[] = {
        {"1", true, true, false, false},
        {"-7", true, true, false, false},
        {"+3", true, true, false, false},
        {"0", true, true, false, false},
        {"010", false, true, false, false},
        {"1.5", false, true, false, false},
        {"1e3", true, true, false, false}, /* a JSON writer's 1000.0 */
        {"8.0", true, true, false, false},
        {"-8.000", true, true, false, false},
        {"8.0000001", false, true, false, false},
        {"1.5e1", true, true, false, false},
        {"2147483648.0", false, true, false, false},
        {"\"8.0\"", false, false, false, false},
        {".5", false, true, false, false},
        {"5.", true, true, false, false},
        {"-1.25E-3", false, true, false, false},
        {"1e999", false, false, false, false},
        {".nan", false, false, false, false},
        {"nan", false, false, false, false},
        {".inf", false, false, false, false},
        {"inf", false, false, false, false},
        {"0x10", false, false, false, false},
        {"1_000", false, false, false, false},
        {"1:30", false, false, false, false},
        {"99999999999", false, true, false, false},
        {"-", false, false, false, false},
        {"1e", false, false, false, false},
        {"1.2.3", false, false, false, false},
        {"\"1\"", false, false, false, false},
        {"'true'", false, false, false, false},
        {"true", false, false, true, false},
        {"False", false, false, true, false},
        {"yes", false, false, true, false},
        {"OFF", false, false, true, false},
        {"y", false, false, false, false},
        {"~", false, false, false, true},
        {"null", false, false, false, true},
        {"'null'", false, false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "[%s]", cases[i].text);
        ek_error err = {0};
        ek__config_tree *doc = parse(text, &err);
        assert_non_null(doc);
        const ek__in in = {doc, NULL, &err};
        const ek__node *node = ek__config_root(doc)->first;
        double number;
        bool is_number = ek__number(&in, node, -1e300, 1e300, "", &number) == EK_OK;
        if (ek__node_is_int(node, NULL) != cases[i].is_int || is_number != cases[i].is_number ||
            ek__node_is_bool(node, NULL) != cases[i].is_bool || ek__node_is_null(node) != cases[i].is_null)
            fail_msg("%s is typed wrongly", cases[i].text);
        ek__config_free(doc);
    }
}

static void a_message_shows_no_control_characters_and_cuts_long_text(void **state)
{
    (void)state;
    ek_error err = {0};
    ek__config_tree *doc =
        parse("[\"\\e[31m\", \"\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD"
              "\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\"]",
              &err);
    assert_non_null(doc);
    const ek__in in = {doc, NULL, &err};
    int value;
    assert_int_equal(ek__int(&in, ek__config_root(doc)->first, 0, 9, "fix it", &value), EK_ERR_INPUT);
    assert_string_equal(err.message, "[0] is the text \"\\x1B[31m\", expected a whole number from 0 to 9; fix it");
    char found[96];
    ek__node_describe(ek__config_root(doc)->last, found, sizeof found);
    assert_string_equal(found + strlen(found) - 4, "...\"");
    assert_int_equal(strlen(found), strlen("the text \"") + 39 + 4);
    ek__config_free(doc);
}

/* A name of more than 40 bytes is cut, and any name where its buffer ends; room for the following text is left. */
static void a_path_fits_its_buffer(void **state)
{
    static const struct {
        const char *text;
        int depth; /* of the node that is named */
        size_t size;
        const char *expected;
    } cases[] = {
        {"a123456789b123456789c123456789d123456789: 1", 1, 64, "a123456789b123456789c123456789d123456789"},
        {"a123456789b123456789c123456789d123456789e: 1", 1, 64, "a123456789b123456789c123456789d123456789..."},
        {"a123456789b123456789c123456789d123456789e: 1", 1, 45, "a123456789b123456789c123456789d123456789..."},
        {"a123456789b123456789c123456789d123456789e: 1", 1, 44, "a123456789b123456789c123456789d12345678..."},
        {"abcdefgh: 1", 1, 13, "abcdefgh"},
        {"abcdefgh: 1", 1, 12, "abcdefg"},
        {"\"a\\x1f\\x20\\x7e\\x7f\": 1", 1, 64, "a\\x1F ~\\x7F"},
        {"a: {b: 1}", 2, 10, "a.b"},
        {"a: {b: 1}", 2, 9, "a"},
        {"a: [1]", 2, 10, "a[0]"},
        {"a: [1]", 2, 9, "a"},
        {"[[1]]", 2, 12, "[0][0]"},
        {"[[1]]", 2, 11, "[0]"},
        {"a: 1", 0, 64, "the file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        ek__config_tree *doc = parse(cases[i].text, &err);
        if (!doc)
            fail_msg("%s: %s", cases[i].text, err.message);
        const ek__node *node = ek__config_root(doc);
        for (int k = 0; k < cases[i].depth; k++)
            node = node->first;
        char path[65];
        memset(path, '#', sizeof path);
        ek__node_path(node, path, cases[i].size);
        if (strcmp(path, cases[i].expected) != 0)
            fail_msg("%s in %zu bytes: %s", cases[i].text, cases[i].size, path);
        assert_int_equal(path[cases[i].size], '#');
        ek__config_free(doc);
    }
}

static void a_value_is_described_by_its_kind(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"[]", "an empty list"},
        {"[{}]", "a list of 1"},
        {"{}", "an empty map"},
        {"{a: 1, b: 2}", "a map of 2"},
        {"~", "nothing"},
        {"7", "7"},
        {"-7", "-7"},
        {"true", "true"},
        {"some", "'some'"},
        {"'7'", "the text \"7\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        char text[64], found[96];
        snprintf(text, sizeof text, "a: %s\n", cases[i].text);
        ek__config_tree *doc = parse(text, &err);
        assert_non_null(doc);
        ek__node_describe(ek__config_root(doc)->first, found, sizeof found);
        assert_string_equal(found, cases[i].expected);
        ek__config_free(doc);
    }
}

/* A list, no value, an empty text, one that is too long and one with control characters are all refused as a text. */
static void a_text_is_short_and_printable(void **state)
{
    static const char *const wrong[] = {"[]", "~", "''", "abcd", "\"a\\t\""};
    (void)state;
    for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        bool right = i == sizeof wrong / sizeof *wrong;
        ek_error err = {0};
        char text[64], out[4] = "???";
        snprintf(text, sizeof text, "a: %s\n", right ? "abc" : wrong[i]);
        ek__config_tree *doc = parse(text, &err);
        assert_non_null(doc);
        const ek__in in = {doc, NULL, &err};
        ek_status status = ek__string(&in, ek__config_root(doc)->first, sizeof out, "fix it", out);
        if (status != (right ? EK_OK : EK_ERR_INPUT) || strcmp(out, right ? "abc" : "???") != 0)
            fail_msg("'%s': %d, '%s'", text, (int)status, out);
        assert_int_equal(strncmp(err.message, "a is ", 5) == 0, !right);
        ek__config_free(doc);
    }
}

static void an_unknown_key_is_told_with_the_nearest_known_one(void **state)
{
    (void)state;
    static const char *const known[] = {"offset", "pipeline_num", "num_layer", NULL};
    ek_error err = {0};
    ek__config_tree *doc = parse("ofset: 1\npipelinenum: 2\nzzz: 3\noffset: 4\n", &err);
    assert_non_null(doc);
    said s = {{0}, 0, 0};
    const ek_listener listener = {say_warning, &s};
    const ek__in in = {doc, &listener, &err};
    ek__warn_unknown_keys(&in, ek__config_root(doc), known);
    assert_string_equal(s.text,
                        "1:1: warning: ofset is not a known key and is ignored; did you mean 'offset'?\n"
                        "2:1: warning: pipelinenum is not a known key and is ignored; did you mean 'pipeline_num'?\n"
                        "3:1: warning: zzz is not a known key and is ignored; known keys are offset, pipeline_num, "
                        "num_layer\n");
    ek__config_free(doc);
}

/* A list of all would be cut off and is too long to read. */
static void of_many_known_keys_their_number_is_told(void **state)
{
    (void)state;
    enum { N = 25 };
    static char name[N][24];
    const char *known[N + 1] = {NULL};
    ek_error err = {0};
    for (int i = 0; i < N; i++) {
        snprintf(name[i], sizeof name[i], "setting_%02d", i);
        known[i] = name[i];
    }
    ek__config_tree *doc = parse("zzz: 3\nseting_07: 4\n", &err);
    assert_non_null(doc);
    said s = {{0}, 0, 0};
    const ek_listener listener = {say_warning, &s};
    const ek__in in = {doc, &listener, &err};
    ek__warn_unknown_keys(&in, ek__config_root(doc), known);
    assert_string_equal(
        s.text, "1:1: warning: zzz is not a known key and is ignored; none of the 25 known there is spelt like it\n"
                "2:1: warning: seting_07 is not a known key and is ignored; did you mean 'setting_07'?\n");
    ek__config_free(doc);
}

static void a_file_that_is_not_there_or_a_folder_is_a_system_error(void **state)
{
    (void)state;
    ek_error err = {0};
    ek__config_tree *doc = NULL;
    assert_int_equal(ek__config_read("no/such/file.yaml", &doc, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.file, "no/such/file.yaml");
    assert_string_equal(err.message, "cannot be opened: No such file or directory");
    assert_int_equal(ek__config_read("/", &doc, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.message, "cannot be read: Is a directory");
    assert_null(doc);
}

static void a_dash_reads_standard_input(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "a: 1\n", 5), 5);
    close(ends[1]);
    int saved = dup(0);
    dup2(ends[0], 0);
    ek_error err = {0};
    ek__config_tree *doc = NULL;
    assert_int_equal(ek__config_read("-", &doc, &err), EK_OK);
    assert_string_equal(ek__config_name(doc), "<stdin>");
    dup2(saved, 0);
    ek__config_free(doc);
    close(saved);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_their_places),
        cmocka_unit_test(broken_text_is_refused_with_its_place),
        cmocka_unit_test(aliases_become_copies_where_they_are_allowed),
        cmocka_unit_test(values_know_their_bytes),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(scalars_are_typed_as_people_expect),
        cmocka_unit_test(a_message_shows_no_control_characters_and_cuts_long_text),
        cmocka_unit_test(a_path_fits_its_buffer),
        cmocka_unit_test(a_value_is_described_by_its_kind),
        cmocka_unit_test(a_text_is_short_and_printable),
        cmocka_unit_test(an_unknown_key_is_told_with_the_nearest_known_one),
        cmocka_unit_test(of_many_known_keys_their_number_is_told),
        cmocka_unit_test(a_file_that_is_not_there_or_a_folder_is_a_system_error),
        cmocka_unit_test(a_dash_reads_standard_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
