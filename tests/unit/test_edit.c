/* Tests the editor of YAML files: small cases to the byte, random files against a slow reading of both texts, published
 * training files, refusals and their messages. */
#include "input.h"

#include <dirent.h>

#include "base/edit.h"
#include "edit_oracle.h"
#include "skip.h"

/* A path is written with '/' between its keys. */
typedef struct setting {
    const char *path, *value, *after;
} setting;

static ek_status set(ek__edit *edit, const setting *s, ek_error *err)
{
    char copy[256];
    const char *keys[MAX_KEYS] = {NULL};
    int n = 0;
    snprintf(copy, sizeof copy, "%s", s->path);
    for (char *at = copy; at && n + 1 < MAX_KEYS; n++) {
        keys[n] = at;
        at = strchr(at, '/');
        if (at)
            *at++ = '\0';
    }
    return ek__edit_set(edit, keys, s->value, s->after, err);
}

/* Settings up to one without a path. The new text, to be freed, or NULL. */
static char *change_bytes(const char *text, size_t size, const setting *s, size_t *new_size, ek_error *err)
{
    ek__edit *edit = NULL;
    char *out = NULL;
    ek_status status = ek__edit_open_buffer("t", text, size, &edit, err);
    for (; status == EK_OK && s->path; s++)
        status = set(edit, s, err);
    if (status == EK_OK)
        status = ek__edit_finish(edit, &out, new_size, err);
    assert_int_equal(status == EK_OK, out != NULL);
    ek__edit_free(edit);
    return out;
}

static char *change(const char *text, const setting *s, ek_error *err)
{
    size_t size;
    char *out = change_bytes(text, strlen(text), s, &size, err);
    if (out)
        assert_int_equal(size, strlen(out));
    return out;
}

typedef struct example {
    const char *what, *text;
    setting set[8];
    const char *expected;
} example;

static void check_examples(const example *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ek_error err = {0};
        char *out = change(e[i].text, e[i].set, &err);
        if (!out)
            fail_msg("%s: %d:%d: %s", e[i].what, err.line, err.column, err.message);
        if (strcmp(out, e[i].expected) != 0)
            fail_msg("%s:\n%s", e[i].what, out);
        free(out);
    }
}

#define CHECK(examples) check_examples(examples, sizeof(examples) / sizeof *(examples))

static void a_scalar_changes_in_its_place(void **state)
{
    (void)state;
    static const example examples[] = {
        {"nothing is set", "a: 1 \r\n", {{0}}, "a: 1 \r\n"},
        {"a number", "a: 1\nb:   22   # two\nc: 3\n", {{"b", "7", NULL}}, "a: 1\nb:   7   # two\nc: 3\n"},
        {"lines end in CR LF",
         "a: 1\r\nb: 2 # two\r\n",
         {{"a", "5", NULL}, {"b", "6", NULL}},
         "a: 5\r\nb: 6 # two\r\n"},
        {"comments in Chinese",
         "# 并行\na: 1 # 阶段\nb: 2 # 层\n",
         {{"b", "6", NULL}},
         "# 并行\na: 1 # 阶段\nb: 6 # 层\n"},
        {"a byte-order mark", "\xEF\xBB\xBF# 层\na: 1\n", {{"a", "6", NULL}}, "\xEF\xBB\xBF# 层\na: 6\n"},
        {"tabs in comments", "a: 1\t#\tx\ty\n", {{"a", "6", NULL}}, "a: 6\t#\tx\ty\n"},
        {"quoted keys", "\"a\": 1\n'b c': 2\n", {{"a", "6", NULL}, {"b c", "7", NULL}}, "\"a\": 6\n'b c': 7\n"},
        {"quoted text",
         "a: 'x # y'  # z\nb: \"x \\\" # y\" # z\n",
         {{"a", "1", NULL}, {"b", "'w'", NULL}},
         "a: 1  # z\nb: 'w' # z\n"},
        {"text with a '#'", "a: x#y # z\n", {{"a", "w", NULL}}, "a: w # z\n"},
        {"no final line break", "a: 1\nb: 2", {{"b", "3", NULL}}, "a: 1\nb: 3"},
        {"a document's begin and end",
         "%YAML 1.1\n---\na: 1\n...\n",
         {{"a", "3", NULL}},
         "%YAML 1.1\n---\na: 3\n...\n"},
        {"deep inside",
         "a:\n    b:\n        c: 1\n    d: 2\n",
         {{"a/b/c", "9", NULL}},
         "a:\n    b:\n        c: 9\n    d: 2\n"},
        {"a value on the next line", "a:\n  # why\n  1\nb: 2\n", {{"a", "9", NULL}}, "a:\n  # why\n  9\nb: 2\n"},
        {"nothing",
         "a:\nb:   # todo\nc: ~\nd: null # no\n",
         {{"a", "1", NULL}, {"b", "[2]", NULL}, {"c", "3", NULL}, {"d", "4", NULL}},
         "a: 1\nb: [2]   # todo\nc: 3\nd: 4 # no\n"},
        {"nothing, at the end", "a:", {{"a", "1", NULL}}, "a: 1"},
        {"a block of text",
         "a: |  # note\n  x # y\n\n  z\n\nb: >-\n  w\nc: 1\n",
         {{"a", "1", NULL}, {"b", "2", NULL}},
         "a: 1  # note\n\nb: 2\nc: 1\n"},
        {"text on several lines",
         "a: 'x\n\n  # y' # z\nb: x\n   y\n",
         {{"a", "1", NULL}, {"b", "2", NULL}},
         "a: 1 # z\nb: 2\n"},
        {"blocks of text elsewhere",
         "a: |+\n  k: [1, # x\n\nb: 1\nc: >\n   b: 1\n",
         {{"b", "2", NULL}},
         "a: |+\n  k: [1, # x\n\nb: 2\nc: >\n   b: 1\n"},
        {"in braces",
         "x: {a: 1, 'b': two , c: }  # z\n",
         {{"x/a", "[1, 2]", NULL}, {"x/b", "{d: 1}", NULL}, {"x/c", "3", NULL}},
         "x: {a: [1, 2], 'b': {d: 1} , c: 3}  # z\n"},
        {"a key of braces without a value", "x: {a, b: 2}\n", {{"x/a", "1", NULL}}, "x: {a: 1, b: 2}\n"},
        {"JSON with a surrogate pair before it",
         "{\"\\ud83d\\ude00\": \"\\ud83d\\ude00\", \"b\":1}\n",
         {{"b", "2", NULL}},
         "{\"\\ud83d\\ude00\": \"\\ud83d\\ude00\", \"b\":2}\n"},
        {"a surrogate pair goes",
         "{\"\xF0\x9F\x98\x80\": \"\\ud83d\\ude00\", \"b\":1}\n",
         {{"\xF0\x9F\x98\x80", "\"x\"", NULL}},
         "{\"\xF0\x9F\x98\x80\": \"x\", \"b\":1}\n"},
        {"text that braces would take apart",
         "x: {a: 1}\ny: 1\n",
         {{"x/a", "b, c", NULL}, {"y", "b, c", NULL}},
         "x: {a: 'b, c'}\ny: b, c\n"},
        {"the last of two for one path counts", "a: 1\n", {{"a", "2", NULL}, {"a", "3", NULL}}, "a: 3\n"},
        {"a key after '?'", "? a\n", {{0}}, "? a\n"},
    };
    CHECK(examples);
}

static void what_means_the_same_is_left_as_it_is(void **state)
{
    (void)state;
    static const example examples[] = {
        {"numbers",
         "a: +3\nb: 1.50\nc: -0\n",
         {{"a", "3", NULL}, {"b", "1.5", NULL}, {"c", "0", NULL}},
         "a: +3\nb: 1.50\nc: -0\n"},
        {"a whole number and a decimal differ", "a: 1.0\n", {{"a", "1", NULL}}, "a: 1\n"},
        {"truth", "a: yes\nb: False\n", {{"a", "True", NULL}, {"b", "no", NULL}}, "a: yes\nb: False\n"},
        {"text", "a: \"x\"\nb: x y\n", {{"a", "x", NULL}, {"b", "'x y'", NULL}}, "a: \"x\"\nb: x y\n"},
        {"text and number differ", "a: '1'\nb: 1\n", {{"a", "1", NULL}, {"b", "'1'", NULL}}, "a: 1\nb: '1'\n"},
        {"nothing", "a:\n", {{"a", "null", NULL}}, "a:\n"},
        {"a list in lines", "a:\n  - 1\n  - [2,  3]\n", {{"a", "[1, [2, 3]]", NULL}}, "a:\n  - 1\n  - [2,  3]\n"},
        {"an alias", "a: &x 1\nb: *x\n", {{"b", "1", NULL}}, "a: &x 1\nb: *x\n"},
    };
    CHECK(examples);
}

static void a_list_of_the_same_shape_keeps_its_layout(void **state)
{
    (void)state;
    static const example examples[] = {
        {"in brackets",
         "a: [ [ -1, -1, 0 ], [ 0, 0, 1 ] ]  # note\n",
         {{"a", "[[0, -1, 2], [0, 1, -1]]", NULL}},
         "a: [ [ 0, -1, 2 ], [ 0, 1, -1 ] ]  # note\n"},
        {"in lines", "a:\n- 1  # one\n# two\n-   2\n", {{"a", "[3, 4]", NULL}}, "a:\n- 3  # one\n# two\n-   4\n"},
        {"lists in lines",
         "a:\n  - - 1\n    - 2\n  - [3, 4]\n",
         {{"a", "[[1, 5], [6, 4]]", NULL}},
         "a:\n  - - 1\n    - 5\n  - [6, 4]\n"},
        {"brackets on several lines",
         "a: [1, # one\n  2,\n\n  3] # three\n",
         {{"a", "[4, 5, 6]", NULL}},
         "a: [4, # one\n  5,\n\n  6] # three\n"},
        {"an item without a value",
         "a:\n  -\n  - # x\n  - 1\n",
         {{"a", "[1, 2, 3]", NULL}},
         "a:\n  - 1\n  - 2 # x\n  - 3\n"},
        {"maps in lists",
         "a:\n  - k: 1 # x\n    l: 2\n",
         {{"a", "[{k: 3, l: 4}]", NULL}},
         "a:\n  - k: 3 # x\n    l: 4\n"},
        {"a map with the same keys",
         "a:\n  k: 1 # x\n  l:\n    - 2 # y\n",
         {{"a", "{k: 3, l: [4, 5]}", NULL}},
         "a:\n  k: 3 # x\n  l: [4, 5]\n    # y\n"},
        {"an element of another kind changes the shape",
         "a: [ 1,  2 ] # x\n",
         {{"a", "[1, [2]]", NULL}},
         "a: [1, [2]] # x\n"},
    };
    CHECK(examples);
}

static void another_shape_goes_behind_the_key_and_comments_stay(void **state)
{
    (void)state;
    static const example examples[] = {
        {"in brackets", "a: [ 1 ]  # x\nb: 2\n", {{"a", "[1, 2]", NULL}}, "a: [1, 2]  # x\nb: 2\n"},
        {"a number becomes a list", "a: 0  # x\n", {{"a", "[1, 2]", NULL}}, "a: [1, 2]  # x\n"},
        {"in lines", "r:\n  - 1\n  - 2\nb: 1\n", {{"r", "[3]", NULL}}, "r: [3]\nb: 1\n"},
        {"in lines, indented like the key", "r:\n- 1\n- 2\nb: 1\n", {{"r", "True", NULL}}, "r: True\nb: 1\n"},
        {"comments of lines",
         "x:\n  r: # all\n    # first\n    - 1 # one\n\n    -   2\n    # last\n    - 3 # three\n  b: 1\n",
         {{"x/r", "[3]", NULL}},
         "x:\n  r: [3] # all\n    # first\n    # one\n\n    # last\n    # three\n  b: 1\n"},
        {"comments in brackets",
         "x: [1, # one\n    2,\n    # two\n    3 ] # three\ny: 1\n",
         {{"x", "5", NULL}},
         "x: 5 # one\n    # two\n    # three\ny: 1\n"},
        {"brackets without comments", "x: [1,\n    '# 2',\n    3 ] # three\n", {{"x", "5", NULL}}, "x: 5 # three\n"},
        {"comments inside of braces",
         "x: {a: [1, # one\n     2], b: 3}\n",
         {{"x/a", "4", NULL}},
         "x: {a: 4 # one\n     , b: 3}\n"},
        {"brackets on the next line",
         "x:\n  # why\n  [1,\n  2]\ny: 1\n",
         {{"x", "[3]", NULL}},
         "x:\n  # why\n  [3]\ny: 1\n"},
        {"CR LF", "x:\r\n  - 1 # one\r\n  - 2\r\ny: 1\r\n", {{"x", "5", NULL}}, "x: 5\r\n  # one\r\ny: 1\r\n"},
        {"no final line break", "x:\n  - 1\n  - 2", {{"x", "5", NULL}}, "x: 5"},
        {"no final line break behind a comment", "x:\n  - 1\n  - 2 # two", {{"x", "5", NULL}}, "x: 5\n  # two"},
        {"a map becomes a number",
         "x:\n  'k # l': |  # text\n    # no comment\n  m: 1 # one\ny: 2\n",
         {{"x", "5", NULL}},
         "x: 5\n  # text\n  # one\ny: 2\n"},
        {"a map gets other keys",
         "x:\n  k: 1 # one\ny: 2\n",
         {{"x", "{l: 1, m: [2]}", NULL}},
         "x:\n  l: 1\n  m: [2]\n  # one\ny: 2\n"},
        {"a number becomes a map",
         "r:\n    s: False  # x\n    t: 1\n",
         {{"r/s", "{'feed_forward\\.mul': [1, 2], '.*\\.norm': {k: True}}", NULL}},
         "r:\n    s:  # x\n        'feed_forward\\.mul': [1, 2]\n        '.*\\.norm':\n            k: True\n    t: "
         "1\n"},
        {"a list becomes a map",
         "r:\n  - 1 # one\n  - 2\nt: 1\n",
         {{"r", "{k: 1}", NULL}},
         "r:\n  k: 1\n  # one\nt: 1\n"},
        {"a list becomes an empty map", "r: [1]\n", {{"r", "{}", NULL}}, "r: {}\n"},
        {"in braces a map stays on its line",
         "x: {r: 1, s: 2}\n",
         {{"x/r", "{k: {l: 1}}", NULL}},
         "x: {r: {k: {l: 1}}, s: 2}\n"},
    };
    CHECK(examples);
}

static void a_missing_key_is_added(void **state)
{
    (void)state;
    static const example examples[] = {
        {"behind another",
         "r:\n    a: 1  # one\n    # of b\n    b: 2\n",
         {{"r/c", "3", "a"}},
         "r:\n    a: 1  # one\n    c: 3\n    # of b\n    b: 2\n"},
        {"behind a list in lines",
         "r:\n  a:\n  - 1\n  - 2 # two\n  b: 2\n",
         {{"r/c", "3", "a"}},
         "r:\n  a:\n  - 1\n  - 2 # two\n  c: 3\n  b: 2\n"},
        {"at the end of its map",
         "r:\n  a: 1\n  b:\n    x: 1\n\n# s\ns: 2\n",
         {{"r/c", "3", NULL}},
         "r:\n  a: 1\n  b:\n    x: 1\n  c: 3\n\n# s\ns: 2\n"},
        {"behind a missing key: at the end", "r:\n  a: 1\ns: 2\n", {{"r/c", "3", "zzz"}}, "r:\n  a: 1\n  c: 3\ns: 2\n"},
        {"behind one that is added, too",
         "a: 1\nb: 2\n",
         {{"c", "3", "a"}, {"d", "4", "c"}, {"e", "5", "a"}},
         "a: 1\nc: 3\nd: 4\ne: 5\nb: 2\n"},
        {"at the end of the file", "a: 1\n", {{"b", "2", NULL}}, "a: 1\nb: 2\n"},
        {"at the end of a file without a final line break", "a: 1\r\nb: 2", {{"c", "3", NULL}}, "a: 1\r\nb: 2\r\nc: 3"},
        {"before the document's end", "---\na: 1\n...\n", {{"b", "2", NULL}}, "---\na: 1\nb: 2\n...\n"},
        {"CR LF", "a: 1\r\nb: 2\r\n", {{"c", "{d: 1}", "a"}}, "a: 1\r\nc:\r\n  d: 1\r\nb: 2\r\n"},
        {"in braces",
         "x: {a: 1, b: [2] } # z\n",
         {{"x/c", "3", "a"}, {"x/d", "{e: 1}", NULL}},
         "x: {a: 1, c: 3, b: [2], d: {e: 1} } # z\n"},
        {"in empty braces",
         "x: {}\ny: { }\n",
         {{"x/a", "1", NULL}, {"x/b/c", "2", NULL}, {"y/a", "1", NULL}},
         "x: {a: 1, b: {c: 2}}\ny: {a: 1 }\n"},
        {"in JSON",
         "{\n  \"a\": 1,\n  \"b\": {\"c\": 2}\n}\n",
         {{"b/d", "3", NULL}, {"e/f", "[4]", NULL}},
         "{\n  \"a\": 1,\n  \"b\": {\"c\": 2, \"d\": 3}, \"e\": {\"f\": [4]}\n}\n"},
        {"below nothing",
         "a: 1\np:   # todo\nq: 2\n",
         {{"p/x", "1", NULL}, {"p/y/z", "[2]", NULL}, {"p/v", "3", NULL}},
         "a: 1\np:   # todo\n  x: 1\n  'y':\n    z: [2]\n  v: 3\nq: 2\n"},
        {"below a written nothing", "a:\n   p: null # no\n", {{"a/p/x", "1", NULL}}, "a:\n   p: # no\n      x: 1\n"},
        {"a missing section",
         "a:\n    b: 1\n",
         {{"c/d/e", "1", NULL}, {"c/d/f", "{g: 2}", NULL}, {"a/h/i", "3", NULL}},
         "a:\n    b: 1\n    h:\n        i: 3\nc:\n    d:\n        e: 1\n        f:\n            g: 2\n"},
        {"keys that need quotes",
         "a: 1\n",
         {{"it's", "1", NULL},
          {"yes", "2", NULL},
          {"12", "3", NULL},
          {"a b: c", "4", NULL},
          {"x\\.y", "5", NULL},
          {"n\nl", "6", NULL},
          {"", "7", NULL}},
         "a: 1\n'it''s': 1\n'yes': 2\n'12': 3\n'a b: c': 4\n'x\\.y': 5\n\"n\\u000Al\": 6\n'': 7\n"},
        {"behind a block of text", "a: |\n  x\n\n# b\nb: 1\n", {{"c", "1", "a"}}, "a: |\n  x\nc: 1\n\n# b\nb: 1\n"},
        {"behind a block of text that keeps its blank lines",
         "a: |+\n  x\n\nb: 1\n",
         {{"c", "1", "a"}},
         "a: |+\n  x\n\nc: 1\nb: 1\n"},
        {"behind a block of text at the end", "a: >-\n  x", {{"c", "1", NULL}}, "a: >-\n  x\nc: 1"},
        {"behind a key whose value changes",
         "a:\n  - 1 # one\n  - 2\nb:\nd: {x: [1, # e\n 2]}\n",
         {{"c", "1", "a"},
          {"a", "5", NULL},
          {"b", "{k: 1}", NULL},
          {"e", "2", "b"},
          {"d/x", "3", NULL},
          {"d/z", "4", "x"}},
         "a: 5\n  # one\nc: 1\nb:\n  k: 1\ne: 2\nd: {x: 3 # e\n , z: 4}\n"},
        {"inside and behind one map",
         "a:\n  b: 1\n",
         {{"c", "1", NULL}, {"a/d", "2", NULL}, {"a/b", "3", NULL}},
         "a:\n  b: 3\n  d: 2\nc: 1\n"},
        {"behind an alias", "a: &x {k: 1}\nb: *x # c\n", {{"c", "2", "b"}}, "a: &x {k: 1}\nb: *x # c\nc: 2\n"},
        {"in a map inside a list's item is out of reach, beside it is not",
         "l:\n  - a: 1\nm: 2\n",
         {{"k", "1", "l"}},
         "l:\n  - a: 1\nk: 1\nm: 2\n"},
    };
    CHECK(examples);
}

static void anchors_keep_the_values_of_others(void **state)
{
    (void)state;
    static const example examples[] = {
        {"nobody refers to it", "a: &x 61 # n\n", {{"a", "62", NULL}}, "a: &x 62 # n\n"},
        {"nobody refers to it, in lines", "a: &x # n\n  - 1\n  - 2\n", {{"a", "3", NULL}}, "a: &x 3 # n\n"},
        {"an alias takes the old value over",
         "a: &x 61 # n\nb: *x # m\nc: *x\n",
         {{"a", "62", NULL}},
         "a: 62 # n\nb: &x 61 # m\nc: *x\n"},
        {"an alias gets a value of its own",
         "a: &off 1\noffset: *off # o\nc: *off\n",
         {{"offset", "[1, 2]", NULL}},
         "a: &off 1\noffset: [1, 2] # o\nc: *off\n"},
        {"both change", "a: &x 1\nb: *x\nc: *x\n", {{"b", "5", NULL}, {"a", "4", NULL}}, "a: 4\nb: 5\nc: &x 1\n"},
        {"all change", "a: &x 1\nb: *x\n", {{"b", "4", NULL}, {"a", "4", NULL}}, "a: &x 4\nb: 4\n"},
        {"a list, element by element",
         "a: &x [ 1, 2 ]\nb: *x\n",
         {{"a", "[1, 3]", NULL}},
         "a: [ 1, 3 ]\nb: &x [1, 2]\n"},
        {"a list in lines",
         "a: &x\n  - 1 # one\n  - 2\nb: [*x, 1]\n",
         {{"a", "[1]", NULL}},
         "a: [1]\n  # one\nb: [&x [1, 2], 1]\n"},
        {"a map changed inside",
         "a: &x\n  k: 1\n  l: 'u # v'\nb: *x\n",
         {{"a/k", "2", NULL}, {"a/m", "3", NULL}},
         "a:\n  k: 2\n  l: 'u # v'\n  m: 3\nb: &x {k: 1, l: 'u # v'}\n"},
        {"an anchor inside of what goes",
         "a: [&x 1, &y {z: 2}]\nb: *x\nc: {d: *y}\n",
         {{"a", "0", NULL}},
         "a: 0\nb: &x 1\nc: {d: &y {z: 2}}\n"},
        {"an element", "a: [&x 1, 2]\nb: *x\nc: *x\n", {{"a", "[3, 4]", NULL}}, "a: [3, 4]\nb: &x 1\nc: *x\n"},
        {"an alias as an element", "a: &x 1\nb: [ *x, 2 ]\n", {{"b", "[[3], 2]", NULL}}, "a: &x 1\nb: [ [3], 2 ]\n"},
        {"a name that is used again",
         "a: &x 1\nb: *x\nc: &x 2\nd: *x\n",
         {{"a", "3", NULL}, {"c", "4", NULL}},
         "a: 3\nb: &x 1\nc: 4\nd: &x 2\n"},
        {"an alias inside of an anchor's value",
         "a: &x 1\nb: &y [*x]\nc: *y\n",
         {{"a", "2", NULL}, {"b", "3", NULL}},
         "a: &x 2\nb: 3\nc: &y [1]\n"},
        {"nothing", "a: &x\nb: *x\n", {{"a", "2", NULL}}, "a: 2\nb: &x null\n"},
        {"an alias becomes a map", "a: &x 1\nb: *x # y\n", {{"b", "{k: 1}", NULL}}, "a: &x 1\nb: # y\n  k: 1\n"},
        {"an anchor alone on its line",
         "a: # b\n  &x\n  k: 1\nc: *x\n",
         {{"a/k", "2", NULL}},
         "a: # b\n  k: 2\nc: &x {k: 1}\n"},
        {"an anchor stays before a new map",
         "a: &x 1 # y\nb: 2\n",
         {{"a", "{k: 1}", NULL}},
         "a: &x # y\n  k: 1\nb: 2\n"},
    };
    CHECK(examples);
}

static void what_cannot_be_changed_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        setting set[3];
        const char *expected;
    } cases[] = {
        {"a: 1\nb: 2\n",
         {{"b/c", "1", NULL}},
         "2:4: b is 2, expected a map of 'key: value' lines; a key cannot be set in it; change it by hand\n"},
        {"a: [1]\n",
         {{"a/c/d", "1", NULL}},
         "1:4: a is a list of 1, expected a map of 'key: value' lines; a key cannot be set in it; change it by hand\n"},
        {"- 1\n",
         {{"a", "1", NULL}},
         "1:1: the file is a list of 1, expected a map of 'key: value' lines; a key cannot be set in it; change it by "
         "hand\n"},
        {"m: &m\n  k: 1\na:\n  b: *m\n",
         {{"a/b/k", "2", NULL}},
         "4:3: a.b is an alias of the map at line 1: to change a key here would change that too; write the map out "
         "here, or change it there\n"},
        {"a: 1\nb: 2\n",
         {{"b", "[1", NULL}},
         "2:1: the new value '[1' of b is wrong: not valid YAML or JSON: did not find expected ',' or ']' "
         "while parsing a flow sequence that begins at line 1, column 1; the text ends too early; is the file "
         "complete?\n"},
        {"a: 1\n", {{"a", "", NULL}}, "1:1: the new value '' of a is wrong: the file is empty\n"},
        {"a: 1\n",
         {{"a", "*x", NULL}},
         "1:1: the new value '*x' of a is wrong: aliases (a word after '*') are "
         "not supported; write the value out\n"},
        {"a:\n  b: 1\n",
         {{"a/b", "2", NULL}, {"a", "3", NULL}},
         "1:1: a is set as a whole, and so is a key inside it; set one of them\n"},
        {"x: 1\n",
         {{"a/b", "2", NULL}, {"a", "3", NULL}},
         "1:1: a is set as a whole, and so is a key inside it; set one of them\n"},
        {"? a\n: - 1\nb: 2\n",
         {{"a", "[2, 3]", NULL}},
         "1:3: a has no ':' on its line and cannot be changed; write 'key: value'\n"},
        {"b: 1\na: |\n  x",
         {{"c", "2", NULL}},
         "2:1: a would change together with the values that are to be set; write it in the simple form 'key: value', "
         "or "
         "change the file by hand\n"},
        {"? a\n: 2\n",
         {{"c", "2", NULL}},
         "1:1: c cannot be changed here without touching other values; write it in the simple form 'key: value', or "
         "change "
         "it by hand\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        said s = {{0}, 0, 0};
        char *out = change(cases[i].text, cases[i].set, &err);
        if (out)
            fail_msg("case %zu gives:\n%s", i, out);
        assert_int_equal(err.status, EK_ERR_INPUT);
        assert_string_equal(err.file, "t");
        say(&s, "", &err);
        if (strcmp(s.text, cases[i].expected) != 0)
            fail_msg("case %zu: %s", i, s.text);
    }
}

static void a_file_is_opened_by_its_path(void **state)
{
    (void)state;
    static const char *const path[] = {"recompute_config", "recompute", NULL};
    ek_error err = {0};
    ek__edit *edit = NULL;
    assert_int_equal(ek__edit_open("no/such/file.yaml", &edit, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.message, "cannot be opened: No such file or directory");
    assert_null(edit);
    size_t old_size, size;
    char *old = slurp(source_path("tests/data/small_train.yaml"), &old_size), *now = NULL;
    assert_int_equal(ek__edit_open(source_path("tests/data/small_train.yaml"), &edit, &err), EK_OK);
    assert_string_equal(ek__config_name(ek__edit_config(edit)), source_path("tests/data/small_train.yaml"));
    assert_int_equal(ek__edit_finish(edit, &now, &size, &err), EK_OK);
    assert_int_equal(size, old_size);
    assert_memory_equal(now, old, size);
    free(now);
    assert_int_equal(ek__edit_set(edit, path, "7", NULL, &err), EK_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ek__edit_finish(edit, &now, &size, &err), EK_OK);
        assert_non_null(strstr(now, "recompute: 7"));
        free(now);
    }
    free(old);
    ek__edit_free(edit);
}

/* ---- random files ---- */

static uint64_t random_state;

static int below(int n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (int)(((random_state * 2685821657736338717u) >> 33) % (uint64_t)n);
}

/* A file in the making: every comment has a number, "#c7.", and nothing else looks like one. */
typedef struct sheet {
    char text[1 << 16];
    size_t n;
    int n_comments, n_keys;
    int n_anchors, anchor[64]; /* that may be referred to */
    bool is_open[5];           /* names with an incomplete value */
    const char *line_break;
} sheet;

static void put(sheet *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(sheet *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(s->text + s->n, sizeof s->text - s->n, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && (size_t)n < sizeof s->text - s->n);
    s->n += (size_t)n;
}

static void put_comment(sheet *s)
{
    static const char *const words[] = {"", " 重计算", " 'a: [", "\tk: 1", " \"", " &x *y"};
    put(s, "#c%d.%s", s->n_comments++, words[below(6)]);
}

static void end_line(sheet *s)
{
    if (below(4) == 0) {
        /* libyaml refuses a tab where a block may begin. */
        put(s, "%s", below(2) || s->n == 0 || strchr("-: \n\xBF", s->text[s->n - 1]) ? " " : " \t ");
        put_comment(s);
    }
    put(s, "%s", s->line_break);
    while (below(6) == 0) {
        put(s, "%*s", below(5), "");
        if (below(2))
            put_comment(s);
        put(s, "%s", s->line_break);
    }
}

static void put_word(sheet *s)
{
    static const char *const words[] = {"0",    "1",        "12",      "-1",       "+3",         "2.50", "True",
                                        "'1'",  "\"# x\"",  "'it''s'", "text",     "two words",  "~",    "a#b",
                                        "并行", "\"\\\"\"", "yes",     "'x: [ #'", "http://x/y", "false"};
    put(s, "%s", words[below((int)(sizeof words / sizeof *words))]);
}

static void put_key(sheet *s)
{
    int number = s->n_keys++;
    switch (below(5)) {
    case 0:
        put(s, "'k%d # [':", number);
        break;
    case 1:
        put(s, "\"k%d\" :", number);
        break;
    case 2:
        put(s, "重.%d:", number);
        break;
    default:
        put(s, "k%d:", number);
    }
}

/* Between the tokens inside of brackets: mostly a blank, at times a comment and a new line. */
static void put_gap(sheet *s, int indent, bool lines)
{
    if (!lines || below(3)) {
        put(s, "%*s", below(3), "");
        return;
    }
    if (below(2)) {
        put(s, " ");
        put_comment(s);
    }
    put(s, "%s%*s", s->line_break, indent + 1 + below(4), "");
}

/* An anchor now and then; remember_anchor() once its value is complete. */
static int put_anchor(sheet *s)
{
    if (below(8))
        return -1;
    int name = below(5);
    if (s->is_open[name])
        return -1;
    s->is_open[name] = true;
    put(s, " &n%d", name);
    return name;
}

static void remember_anchor(sheet *s, int name)
{
    if (name < 0)
        return;
    s->is_open[name] = false;
    if (s->n_anchors < 64)
        s->anchor[s->n_anchors++] = name;
}

static bool put_alias(sheet *s)
{
    int name = s->n_anchors > 0 ? s->anchor[below(s->n_anchors)] : -1;
    if (name < 0 || s->is_open[name] || below(6))
        return false;
    put(s, " *n%d ", name);
    return true;
}

static void put_flow(sheet *s, int depth, int indent, bool lines)
{
    if (put_alias(s))
        return;
    int kind = depth > 0 ? below(4) : 0, n = below(4), anchor = put_anchor(s);
    put(s, " ");
    if (kind < 2) {
        put_word(s);
    } else {
        put(s, "%s", kind == 2 ? "[" : "{");
        put_gap(s, indent, lines);
        for (int i = 0; i < n; i++) {
            if (kind == 3)
                put_key(s);
            if (kind == 2 || below(8))
                put_flow(s, depth - 1, indent, lines);
            else
                put(s, " ");
            put_gap(s, indent, lines);
            if (i + 1 < n) {
                put(s, ",");
                put_gap(s, indent, lines);
            }
        }
        put(s, "%s", kind == 2 ? "]" : "}");
    }
    remember_anchor(s, anchor);
}

static void put_block_map(sheet *s, int depth, int indent, bool begun);

static void put_block_text(sheet *s, int indent)
{
    static const char *const headers[] = {"|", ">", "|-", ">-", "|+"};
    put(s, " %s", headers[below(5)]);
    if (below(3) == 0) {
        put(s, "  ");
        put_comment(s);
    }
    for (int i = 1 + below(3); i > 0; i--)
        put(s, "%s%*sk: [ # no comment%s", s->line_break, indent + 2, "", below(4) ? "" : s->line_break);
    put(s, "%s", s->line_break);
}

/* The text after '-' or 'key:' up to the end of its last line. */
static void put_block_value(sheet *s, int depth, int indent, bool in_map)
{
    int kind = below(depth > 0 ? 10 : 5);
    if (put_alias(s) || kind == 0) {
        end_line(s);
        return;
    }
    int anchor = kind == 3 ? -1 : put_anchor(s);
    if (kind < 3) {
        put(s, " ");
        put_word(s);
        end_line(s);
    } else if (kind == 3) {
        if (in_map && below(4) == 0) {
            end_line(s);
            put(s, "%*s", indent + 2, "");
        }
        put_flow(s, 3, indent, below(2));
        end_line(s);
    } else if (kind == 4) {
        put_block_text(s, indent);
    } else if (kind < 8 && in_map) {
        end_line(s);
        put_block_map(s, depth - 1, indent + 1 + below(4), false);
    } else {
        int deeper = in_map ? indent + below(4) : indent + 1 + below(3);
        end_line(s);
        for (int i = 1 + below(3); i > 0; i--) {
            put(s, "%*s-", deeper, "");
            if (below(5) == 0) {
                put(s, " ");
                put_block_map(s, depth - 1, deeper + 2, true);
            } else {
                put_block_value(s, depth - 1, deeper, false);
            }
        }
    }
    remember_anchor(s, anchor);
}

/* `begun`: the first key is on an existing line. */
static void put_block_map(sheet *s, int depth, int indent, bool begun)
{
    for (int i = 1 + below(4); i > 0; i--) {
        put(s, "%*s", begun ? 0 : indent, "");
        begun = false;
        put_key(s);
        put_block_value(s, depth, indent, true);
    }
}

static void put_file(sheet *s)
{
    s->n = 0;
    s->n_comments = s->n_keys = s->n_anchors = 0;
    s->line_break = below(4) ? "\n" : "\r\n";
    if (below(6) == 0)
        put(s, "\xEF\xBB\xBF");
    if (below(6) == 0)
        put(s, "---%s", s->line_break);
    if (below(3) == 0)
        end_line(s);
    if (below(8) == 0) {
        put(s, "{");
        for (int i = below(4); i > 0; i--) {
            put_key(s);
            put_flow(s, 3, 0, true);
            put(s, "%s", i > 1 ? ", " : "");
        }
        put(s, "}");
    } else {
        put_block_map(s, 4, 0, false);
        put(s, "last: 0");
    }
    if (below(4))
        put(s, "%s", s->line_break);
    if (below(8) == 0)
        put(s, "%s...%s", s->text[s->n - 1] == '\n' ? "" : s->line_break, s->line_break);
}

/* ---- permitted changes, read slowly ---- */

/* A path that leads through no alias; the last key, or the last few, may be new. */
static void make_wish(const ek__node *map, wish *w)
{
    static const char *const values[] = {
        "7", "[1, 2]", "[[1, -1], [0, 2]]", "True", "{u: 1, 'v.w\\.x': [3]}", "{}", "'# q'", "[]", "~", "plain words",
        "1", "[7]",    "{u: {w: [{z: 1}]}}"};
    static const char *const names[] = {"new", "it's", "yes", "a: b # c", "feed\\.mul", "新"};
    memset(w, 0, sizeof *w);
    w->value = values[below((int)(sizeof values / sizeof *values))];
    while (map && w->n < 8) {
        const ek__node *child = map->kind == EK__MAP ? map->first : NULL;
        for (int i = map->n > 0 ? below(map->n) : 0; child && i > 0; i--)
            child = child->next;
        if (!child || below(5) == 0) {
            w->after = child && below(2) ? child->key : NULL;
            w->key[w->n++] = names[below(6)];
            map = NULL;
            if (below(3) == 0) {
                w->key[w->n++] = names[below(6)];
                w->after = NULL;
            }
            break;
        }
        w->key[w->n++] = child->key;
        bool further = !child->original && (child->kind == EK__MAP || ek__node_is_null(child));
        map = further && below(4) ? child : NULL;
    }
}

/* The numbers of all comments, in order. */
static void list_comments(const char *text, FILE *out)
{
    for (const char *at = text; (at = strstr(at, "#c")); at += 2)
        fprintf(out, "%ld ", strtol(at + 2, NULL, 10));
}

static void mark_lines(const char *text, int begin, int end, bool *may_change, int n)
{
    int line = 0;
    for (int i = 0; text[i] && line < n; i++) {
        if (i + 1 >= begin && i <= end)
            may_change[line] = true;
        line += text[i] == '\n';
    }
}

/* Mark the lines that a request may change: those of the value it changes; braces that a key is added to. */
static void mark_wish(const ek__node *root, const char *text, const wish *w, bool *may_change, int n)
{
    const ek__node *node = root;
    for (int i = 0; i < w->n && node->kind == EK__MAP; i++) {
        const ek__node *child = find_child(node, w->key[i]);
        if (!child) {
            if (node->flow)
                mark_lines(text, node->begin, node->end, may_change, n);
            return;
        }
        node = child;
    }
    mark_lines(text, node->key_begin, node->end, may_change, n);
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\r\n");
}

static const char *next_line(const char *line)
{
    line = strchr(line, '\n');
    return line ? line + 1 : NULL;
}

/* Is every line of `old` that must not change in `now`, in order? Lines with anchors and aliases may change. */
static bool other_lines_stay(const char *old, const char *now, const bool *may_change)
{
    for (int i = 0; old && *old; i++, old = next_line(old)) {
        size_t n = line_length(old);
        const char *anchor = strpbrk(old, "&*");
        if (may_change[i] || (anchor && anchor < old + n))
            continue;
        while (now && (line_length(now) != n || memcmp(now, old, n) != 0))
            now = next_line(now);
        if (!now)
            return false;
        now = next_line(now);
    }
    return true;
}

static char *comments_of(const char *text)
{
    char *list = NULL;
    size_t size;
    FILE *out = open_memstream(&list, &size);
    list_comments(text, out);
    fclose(out);
    return list;
}

static bool comments_stay(const char *old, const char *now)
{
    char *a = comments_of(old), *b = comments_of(now);
    bool same = strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

static void show_wishes(const wish *w, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < w[i].n; k++)
            print_message("# %s%s", k ? " / " : "", w[i].key[k]);
        print_message(" := %s behind %s\n", w[i].value, w[i].after ? w[i].after : "-");
    }
}

/* Does the path of one of the wishes lead through or to that of another? */
static bool clash(const wish *w, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            int k = 0;
            while (k < w[i].n && k < w[j].n && strcmp(w[i].key[k], w[j].key[k]) == 0)
                k++;
            if (k == w[i].n || k == w[j].n)
                return true;
        }
    return false;
}

static void try_wishes(const sheet *s, const ek__config_tree *doc, const wish *w, int n)
{
    enum { MAX_LINES = 4096 };
    static bool may_change[MAX_LINES];
    const wish *all[MAX_WISHES];
    ek__edit *edit = NULL;
    ek__config_tree *new_doc = NULL;
    char *now = NULL;
    size_t size;
    ek_error err = {0};
    memset(may_change, 0, sizeof may_change);
    ek_status status = ek__edit_open_buffer("random", s->text, s->n, &edit, &err);
    for (int i = 0; i < n && status == EK_OK; i++) {
        all[i] = &w[i];
        mark_wish(ek__config_root(doc), s->text, &w[i], may_change, MAX_LINES);
        status = ek__edit_set(edit, w[i].key, w[i].value, w[i].after, &err);
    }
    if (status == EK_OK)
        status = ek__edit_finish(edit, &now, &size, &err);
    const char *wrong = status ? err.message : NULL;
    if (status == EK_OK && ek__config_parse_buffer_with_aliases("new", now, size, &new_doc, &err))
        wrong = err.message;
    else if (status == EK_OK && !only_wishes(ek__config_root(doc), ek__config_root(new_doc), all, n, 0))
        wrong = "another value changed";
    else if (status == EK_OK && !comments_stay(s->text, now))
        wrong = "comments are lost";
    else if (status == EK_OK && !other_lines_stay(s->text, now, may_change))
        wrong = "another line changed";
    if (wrong) {
        show_wishes(w, n);
        fprintf(stderr, "%s\n--- becomes\n%s\n", s->text, now ? now : "(nothing)");
        fail_msg("%d:%d: %s", err.line, err.column, wrong);
    }
    free(now);
    ek__config_free(new_doc);
    ek__edit_free(edit);
}

static void random_files_change_only_where_they_should(void **state)
{
    (void)state;
    static sheet s;
    const char *seed_text = getenv("EK_SEED"), *count_text = getenv("EK_FILES");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 20260102;
    int count = count_text ? atoi(count_text) : 3000, n_tried = 0;
    random_state = seed * 2 + 1;
    print_message("# seed %llu, %d files (EK_SEED, EK_FILES)\n", (unsigned long long)seed, count);
    for (int i = 0; i < count; i++) {
        ek__config_tree *doc = NULL;
        ek_error err = {0};
        put_file(&s);
        if (ek__config_parse_buffer_with_aliases("random", s.text, s.n, &doc, &err)) {
            fprintf(stderr, "%s\n", s.text);
            fail_msg("the test's own file is wrong: %d:%d: %s", err.line, err.column, err.message);
        }
        wish w[MAX_WISHES];
        int n = 1 + below(4);
        for (int k = 0; k < n; k++)
            make_wish(ek__config_root(doc), &w[k]);
        if (!clash(w, n)) {
            n_tried++;
            try_wishes(&s, doc, w, n);
        }
        ek__config_free(doc);
    }
    assert_true(n_tried > count / 2);
}

/* ---- training files as they come ---- */

static const wish settings[] = {
    {{"recompute_config", "recompute"}, 2, "[5, 4, 3, 2, 1]", NULL},
    {{"recompute_config", "select_recompute"}, 2, "{'feed_forward\\.mul': [9, 8], '.*\\.norm': [7]}", "recompute"},
    {{"recompute_config", "select_comm_recompute"}, 2, "[[9, 8], [7, 6]]", "select_recompute"},
    {{"model", "model_config", "offset"}, 3, "[[9, -9], [8, -8]]", "num_layers"},
    {{"model", "model_config", "pp_interleave_num"}, 3, "9", "offset"},
    {{"parallel", "pipeline_config", "pipeline_interleave"}, 3, "True", NULL},
    {{"parallel_config", "pipeline_stage"}, 2, "12", NULL},
    {{"parallel_config", "micro_batch_num"}, 2, "77", NULL},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* May a line of the new text differ: a key on one of the paths, one of the new map, the anchor's new home, a comment?
 */
static bool is_of_settings(const char *line)
{
    static const char *const more[] = {"'feed_forward\\.mul': [9, 8]", "'.*\\.norm': [7]", "#"};
    line += strspn(line, " ");
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strncmp(line, more[i], strlen(more[i])) == 0)
            return true;
    for (int i = 0; i < N_SETTINGS; i++)
        for (int k = 0; k < settings[i].n; k++) {
            size_t n = strlen(settings[i].key[k]);
            if (strncmp(line, settings[i].key[k], n) == 0 && line[n] == ':')
                return true;
        }
    return false;
}

/* Every line of `old` outside of the values is in `now`, and the lines between them belong to the settings. */
static void check_lines(const char *name, const char *old, const char *now, const bool *may_change)
{
    for (int i = 0; old && *old; i++, old = next_line(old)) {
        size_t n = line_length(old);
        const char *alias = strchr(old, '*');
        if (may_change[i] || (alias && alias < old + n && is_of_settings(old)))
            continue;
        while (now && (line_length(now) != n || memcmp(now, old, n) != 0)) {
            if (!is_of_settings(now))
                fail_msg("%s: a new line: %.*s", name, (int)line_length(now), now);
            now = next_line(now);
        }
        if (!now)
            fail_msg("%s: this line is lost: %.*s", name, (int)n, old);
        now = next_line(now);
    }
    for (; now && *now; now = next_line(now))
        assert_true(is_of_settings(now));
}

static void check_training_file(const char *path, const char *name)
{
    enum { MAX_LINES = 4096 };
    static bool may_change[MAX_LINES];
    const wish *all[N_SETTINGS];
    ek_error err = {0};
    ek__edit *edit = NULL;
    ek__config_tree *new_doc = NULL;
    char *now = NULL;
    size_t old_size, size = 0;
    memset(may_change, 0, sizeof may_change);
    char *old = slurp(path, &old_size);
    ek_status status = ek__edit_open(path, &edit, &err);
    for (int i = 0; i < N_SETTINGS && status == EK_OK; i++) {
        const wish *w = all[i] = &settings[i];
        mark_wish(ek__config_root(ek__edit_config(edit)), old, w, may_change, MAX_LINES);
        status = ek__edit_set(edit, w->key, w->value, w->after, &err);
    }
    if (status == EK_OK)
        status = ek__edit_finish(edit, &now, &size, &err);
    if (status)
        fail_msg("%s:%d:%d: %s", name, err.line, err.column, err.message);
    check_lines(name, old, now, may_change);
    assert_int_equal(ek__config_parse_buffer_with_aliases("new", now, size, &new_doc, &err), EK_OK);
    if (!only_wishes(ek__config_root(ek__edit_config(edit)), ek__config_root(new_doc), all, N_SETTINGS, 0))
        fail_msg("%s: another value changed", name);
    ek__config_free(new_doc);
    ek__edit_free(edit);
    free(now);
    free(old);
}

static void check_training_files(const char *folder, int least)
{
    char path[4096];
    DIR *files = opendir(folder);
    assert_non_null(files);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(files));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        check_training_file(path, entry->d_name);
        n++;
    }
    closedir(files);
    print_message("# %d training files\n", n);
    assert_true(n >= least);
}

static void training_files_change_only_in_their_settings(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    check_training_files(folder, 11);
}

static void training_files_of_others_change_only_in_their_settings(void **state)
{
    (void)state;
    check_training_files(need_shared("reference/configs"), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scalar_changes_in_its_place),
        cmocka_unit_test(what_means_the_same_is_left_as_it_is),
        cmocka_unit_test(a_list_of_the_same_shape_keeps_its_layout),
        cmocka_unit_test(another_shape_goes_behind_the_key_and_comments_stay),
        cmocka_unit_test(a_missing_key_is_added),
        cmocka_unit_test(anchors_keep_the_values_of_others),
        cmocka_unit_test(what_cannot_be_changed_is_refused_with_its_place),
        cmocka_unit_test(a_file_is_opened_by_its_path),
        cmocka_unit_test(random_files_change_only_where_they_should),
        cmocka_unit_test(training_files_change_only_in_their_settings),
        cmocka_unit_test(training_files_of_others_change_only_in_their_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
