/* Tests the reader of programs: tokens by hand-made tables (tests/python/compare.py compares thousands of programs with
 * Python's own tokenize), blocks, calls, assignments and the environment as in the language's reference, refusals with
 * their places, and time that grows linearly with the text. */
#include "effort.h"
#include "input.h"

#include <limits.h>
#include <malloc.h>
#include <time.h>

#include "lint/hot.h"
#include "lint/python.h"

typedef struct program {
    ek__pool *pool;
    ek__python *python;
} program;

static program read_text(const char *text)
{
    program out = {ek__pool_new(), NULL};
    ek_error err;
    assert_non_null(out.pool);
    if (ek__python_read("program.py", text, strlen(text), out.pool, &out.python, &err))
        fail_msg("%d:%d: %s: %s", err.line, err.column, err.message, text);
    return out;
}

/* The tokens as text: names, numbers, strings and operators as they are, the rest by a letter. */
static void spell(const ek__python *p, char *out, size_t room)
{
    static const char *const kinds[] = {
        [EK__PYTHON_FSTRING_START] = "F(", [EK__PYTHON_FSTRING_END] = ")F", [EK__PYTHON_NEWLINE] = "NL",
        [EK__PYTHON_INDENT] = "IN",        [EK__PYTHON_DEDENT] = "DE",      [EK__PYTHON_END] = "END"};
    size_t n = 0;
    for (int i = 0; i < p->n_tokens; i++) {
        const ek__python_token *t = &p->token[i];
        bool word = t->kind <= EK__PYTHON_OPERATOR;
        n += (size_t)snprintf(out + n, room - n, "%s%.*s", i ? " " : "", word ? t->size : 99,
                              word ? p->text + t->at : kinds[t->kind]);
        assert_true(n < room);
    }
}

static void tokens_are_those_of_the_reference_manual(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        {"", "END"},
        {"\xef\xbb\xbfx", "x NL END"},
        {"# nothing\n\n   \n", "END"},
        {"x=1 # c\n", "x = 1 NL END"},
        {"x = 1_000+0x_fF-.5e-3*1.j", "x = 1_000 + 0x_fF - .5e-3 * 1.j NL END"},
        {"1if x else 0or y", "1 if x else 0 or y NL END"},
        {"a**=b//c>>d->e:=f...g<=h!=i@j", "a **= b // c >> d -> e := f ... g <= h != i @ j NL END"},
        {"rb'\\'' + Br\"#\" + u'x' + \"\"\"a\"b\"\"\"", "rb'\\'' + Br\"#\" + u'x' + \"\"\"a\"b\"\"\" NL END"},
        {"if x:\n    y\n\n  # c\n    z\nw", "if x : NL IN y NL z NL DE w NL END"},
        {"if x:\n\ty\n        z\n", "if x : NL IN y NL z NL DE END"},
        {"f(a,\n  b # c )\n)\n", "f ( a , b ) NL END"},
        {"a = \\\n    b\n", "a = b NL END"},
        {"'a\\\nb'\n", "'a\\\nb' NL END"},
        {"x\r\n\r\ny\r", "x NL y NL END"},
        {"f'{x}'", "F( { x } )F NL END"},
        {"f'{{}}a'", "F( )F NL END"},
        {"f'{x!r:>{w}.{p}}:{y}'", "F( { x ! r : { w } { p } } { y } )F NL END"},
        {"f'{x[\"a\"]}{(lambda: 1)}{y:=3}'", "F( { x [ \"a\" ] } { ( lambda : 1 ) } { y : } )F NL END"},
        {"f'{f'{'a'}'}'", "F( { F( { 'a' } )F } )F NL END"},
        {"rf'\\{x}' fR\"\\\"\"", "F( { x } )F F( )F NL END"},
        {"f'\\N{BULLET}{x}'", "F( { x } )F NL END"},
        {"f'''{\nx\n}\n'''", "F( { x } )F NL END"},
        {"\xc3\xa9t\xc3\xa9 = \xe8\xae\xad", "\xc3\xa9t\xc3\xa9 = \xe8\xae\xad NL END"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char tokens[512];
        program p = read_text(cases[i].text);
        spell(p.python, tokens, sizeof tokens);
        assert_string_equal(tokens, cases[i].tokens);
        ek__pool_free(p.pool);
    }
}

static void columns_count_characters(void **state)
{
    (void)state;
    program p = read_text("x = '\xe8\xae\xad\xe7\xbb\x83'; f(y)\n\xc3\xa9 = '''\n\xc3\xa9''' + z\n");
    const ek__python *q = p.python;
    assert_int_equal(q->call[0].token, 4);
    assert_int_equal(q->token[4].column, 11);
    assert_int_equal(ek__python_end_column(q, 2), 9);
    assert_int_equal(q->token[9].column, 1);
    assert_int_equal(q->token[11].line, 2);
    assert_int_equal(ek__python_end_column(q, 11), 0); /* ends in another line */
    assert_true(ek__python_is(q, 13, "z") && q->token[13].line == 3 && q->token[13].column == 8);
    ek__pool_free(p.pool);
}

static void what_python_refuses_has_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column;
        const char *message;
    } cases[] = {
        {"x = 1\ny = 'abc\nz", 2, 5, "does not end in its line"},
        {"x\n  + \"\"\"abc\n", 2, 5, "three quotes that does not end"},
        {"f(\n[1, 2\n", 2, 1, "begins with ["},
        {"f(1]\n", 1, 4, "closes a bracket of another kind"},
        {"x = 1)\n", 1, 6, "closes no bracket"},
        {"f'{x'", 1, 5, "string that does not end"},
        {"f'{x:>'\n", 1, 3, "begins with {"},
        {"f'abc\n", 1, 1, "begins with f'"},
        {"if x:\n    y\n  z\n", 3, 3, "indented like no line above"},
        {"x = $y\n", 1, 5, "'$'"},
        {"x = a ? b\n", 1, 7, "'?'"},
        {"x \\ y\n", 1, 4, "follows a backslash"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__pool *pool = ek__pool_new();
        ek__python *python = NULL;
        ek_error err;
        assert_int_equal(ek__python_read("p.py", cases[i].text, strlen(cases[i].text), pool, &python, &err),
                         EK_ERR_INPUT);
        assert_null(python);
        assert_string_equal(err.file, "p.py");
        if (err.line != cases[i].line || err.column != cases[i].column || !strstr(err.message, cases[i].message))
            fail_msg("%s: %d:%d: %s", cases[i].text, err.line, err.column, err.message);
        ek__pool_free(pool);
    }
    ek_error err;
    ek__python *python;
    ek__pool *pool = ek__pool_new();
    assert_int_equal(ek__python_read("p.py", "x\ny\0z", 5, pool, &python, &err), EK_ERR_INPUT);
    assert_int_equal(err.line * 10 + err.column, 22);
    ek__pool_free(pool);
}

/* ---- structure ---- */

static const ek__python_call *call_of(const ek__python *p, const char *name)
{
    for (int i = 0; i < p->n_calls; i++)
        if (strcmp(p->call[i].name, name) == 0)
            return &p->call[i];
    fail_msg("%s is not called", name);
    return NULL;
}

static void callees_have_imports_put_in(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *callee;
        bool imported;
    } cases[] = {
        {"f(1)", "f", "f", false},
        {"import os\nos.path.join(a)", "join", "os.path.join", true},
        {"import a.b.c as d, e\nd.f()\n", "f", "a.b.c.f", true},
        {"import a.b\na.b.f()\n", "f", "a.b.f", true},
        {"from a.b import (c, d as e,)\ne()\n", "d", "a.b.d", true},
        {"from a import b; b.c()\n", "c", "a.b.c", true},
        {"from . import b\nb.c()\n", "c", "..b.c", true},
        {"from a import *\nb.c()\n", "c", "b.c", false},
        {"x.y().z()\n", "z", NULL, false},
        {"x[0].z()\n", "z", NULL, false},
        {"'a'.join(b)\n", "join", NULL, false},
        {"f'{x.z()}'\n", "z", "x.z", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program p = read_text(cases[i].text);
        const ek__python_call *call = call_of(p.python, cases[i].name);
        assert_int_equal(call->imported, cases[i].imported);
        if (cases[i].callee)
            assert_string_equal(call->callee, cases[i].callee);
        else
            assert_null(call->callee);
        ek__pool_free(p.pool);
    }
}

static void definitions_and_keywords_are_no_calls(void **state)
{
    (void)state;
    program p = read_text("class A(B):\n    def f(self, a=g(1)): return (a)\n    async def h(): yield (1)\n@deco(2)\n"
                          "def i(): pass\nif (x): print((y))\nnot (z)\n");
    static const char *const calls[] = {"g", "deco", "print"};
    assert_int_equal(p.python->n_calls, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(p.python->call[i].name, calls[i]);
    ek__pool_free(p.pool);
}

static void receivers_are_whole_expressions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *receiver;
    } cases[] = {{"y = x.c()", "x"},
                 {"y = a + x.b[0](1).d.c()", "x.b[0](1).d"},
                 {"y = -(a + b).c()", "(a + b)"},
                 {"y = [1, 2].c()", "[1, 2]"},
                 {"y = not f(\n x).c()", "f(\n x)"},
                 {"y = {1: 2}.c()", "{1: 2}"},
                 {"y = f'{z}'.c()", "f'{z}'"},
                 {"return x.c()", "x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program p = read_text(cases[i].text);
        const ek__python_call *call = call_of(p.python, "c");
        assert_true(call->receiver >= 0);
        const ek__python_token *first = &p.python->token[call->receiver], *last = &p.python->token[call->token - 2];
        char text[64];
        snprintf(text, sizeof text, "%.*s", last->at + last->size - first->at, p.python->text + first->at);
        assert_string_equal(text, cases[i].receiver);
        ek__pool_free(p.pool);
    }
}

static void arguments_are_found_by_name_and_place(void **state)
{
    (void)state;
    program p = read_text("f(1, (2, 3), lambda x, y: x, a='t', b=-4, *c, **d)\ng(*x, 5)\nh()\nk(a for a, b in c)\n");
    const ek__python *q = p.python;
    const ek__python_call *f = call_of(q, "f"), *g = call_of(q, "g");
    assert_int_equal(f->n_arguments, 7);
    assert_int_equal(call_of(q, "h")->n_arguments, 0);
    assert_int_equal(call_of(q, "k")->n_arguments, 1);
    const ek__python_argument *a = ek__python_argument_of(q, f, "a", -1), *b = ek__python_argument_of(q, f, "b", -1);
    assert_string_equal(ek__python_value(q, a->begin, a->end).text, "t");
    assert_int_equal(ek__python_value(q, b->begin, b->end).whole, -4);
    const ek__python_argument *first = ek__python_argument_of(q, f, "none", 0);
    assert_int_equal(ek__python_value(q, first->begin, first->end).whole, 1);
    assert_true(ek__python_is(q, ek__python_argument_of(q, f, "none", 2)->begin, "lambda"));
    assert_null(ek__python_argument_of(q, f, "none", 3));
    assert_null(ek__python_argument_of(q, g, "none", 1)); /* the number of *x is unknown */
    ek__pool_free(p.pool);
}

static void literals_are_values_and_nothing_else_is(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ek__python_literal_kind kind;
        int64_t whole;
        const char *value;
    } cases[] = {
        {"True", EK__PYTHON_TRUE, 0, ""},
        {"((False))", EK__PYTHON_FALSE, 0, ""},
        {"None", EK__PYTHON_NONE, 0, ""},
        {"12", EK__PYTHON_WHOLE, 12, ""},
        {"-1_0", EK__PYTHON_WHOLE, -10, ""},
        {"0x1F", EK__PYTHON_WHOLE, 31, ""},
        {"'a' \"b\"", EK__PYTHON_TEXT, 0, "ab"},
        {"'''a\nb'''", EK__PYTHON_TEXT, 0, "a\nb"},
        {"r'a'", EK__PYTHON_TEXT, 0, "a"},
        {"''", EK__PYTHON_TEXT, 0, ""},
        {"'a\\n'", EK__PYTHON_UNKNOWN, 0, ""},
        {"b'a'", EK__PYTHON_UNKNOWN, 0, ""},
        {"f'a'", EK__PYTHON_UNKNOWN, 0, ""},
        {"1.5", EK__PYTHON_UNKNOWN, 0, ""},
        {"x", EK__PYTHON_UNKNOWN, 0, ""},
        {"1 + 1", EK__PYTHON_UNKNOWN, 0, ""},
        {"99999999999999999999", EK__PYTHON_UNKNOWN, 0, ""},
        {"not True", EK__PYTHON_UNKNOWN, 0, ""},
        {"(1)(2)", EK__PYTHON_UNKNOWN, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "x = %s\n", cases[i].text);
        program p = read_text(text);
        const ek__python_assignment *a = &p.python->assignment[0];
        ek__python_literal v = ek__python_value(p.python, a->value, a->value_end);
        if (v.kind != cases[i].kind || v.whole != cases[i].whole || strcmp(v.text, cases[i].value) != 0)
            fail_msg("%s: kind %d, %lld, '%s'", cases[i].text, (int)v.kind, (long long)v.whole, v.text);
        ek__pool_free(p.pool);
    }
}

static void assignments_have_targets_and_values(void **state)
{
    (void)state;
    program p =
        read_text("a = b = 1\nc: int = 2; d.e[f] += 3\nif x == y: g = lambda: 4\nh(i=5)\nj: str\n(k := 6)\nx <= y\n");
    static const struct {
        const char *target;
        int value;
    } wanted[] = {{"a", 1}, {"b", 1}, {"c", 2}, {"d.e[f]", 3}, {"g", -1}};
    const ek__python *q = p.python;
    assert_int_equal(q->n_assignments, 5);
    for (int i = 0; i < 5; i++) {
        const ek__python_assignment *a = &q->assignment[i];
        const ek__python_token *first = &q->token[a->target], *last = &q->token[a->target_end - 1];
        char text[32];
        snprintf(text, sizeof text, "%.*s", last->at + last->size - first->at, q->text + first->at);
        assert_string_equal(text, wanted[i].target);
        if (wanted[i].value > 0)
            assert_int_equal(ek__python_value(q, a->value, a->value_end).whole, wanted[i].value);
        assert_int_equal(a->augmented, i == 3);
    }
    ek__pool_free(p.pool);
}

/* The context of a call: its function, whether it is in a loop of it, its class. */
static void calls_know_their_blocks(void **state)
{
    (void)state;
    program p = read_text("class A:\n"
                          "    def f(self):\n"
                          "        for i in once():\n"
                          "            if cond(): inner(); second()\n"
                          "            def g(x=default()): own()\n"
                          "        else:\n"
                          "            last()\n"
                          "        while every(): pass\n"
                          "        after()\n"
                          "match word():\n"
                          "    case 1:\n"
                          "        case()\n"
                          "top()\n");
    static const struct {
        const char *call, *function, *class;
        bool loop;
    } wanted[] = {{"once", "f", "A", false},  {"cond", "f", "A", true},    {"inner", "f", "A", true},
                  {"second", "f", "A", true}, {"default", "f", "A", true}, {"own", "g", "A", false},
                  {"last", "f", "A", false},  {"every", "f", "A", true},   {"after", "f", "A", false},
                  {"word", "", "", false},    {"case", "", "", false},     {"top", "", "", false}};
    const ek__python *q = p.python;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const ek__python_call *call = call_of(q, wanted[i].call);
        const ek__python_block *b = &q->block[call->block];
        assert_int_equal(b->loop >= 0, wanted[i].loop);
        assert_true(b->function == 0 ? !*wanted[i].function
                                     : ek__python_is(q, q->block[b->function].name, wanted[i].function));
        assert_true(
            b->in_class < 0 ? !*wanted[i].class : ek__python_is(q, q->block[b->in_class].name, wanted[i].class));
        assert_true(b->header <= call->token && call->close < b->end);
    }
    ek__pool_free(p.pool);
}

static void the_environment_is_what_the_program_sets(void **state)
{
    (void)state;
    program p = read_text("import os\nfrom os import environ, putenv as put\n"
                          "os.environ['A'] = '1'\nenviron[\"B\"] = str(2)\n"
                          "if x:\n    os.environ.setdefault('C', '3')\n"
                          "put('D', '4'); os.environ.update({'E': '5', key: '6'})\n"
                          "os.environ['F'] += '7'\nother['G'] = '8'\nos.environ.pop('A')\nx = os.environ['H']\n");
    static const struct {
        const char *name, *value;
        int line, value_column;
        bool maybe, fallback, unset;
    } wanted[] = {{"A", "1", 3, 20, false, false, true},
                  {"B", NULL, 4, 0, false, false, false},
                  {"C", "3", 6, 33, true, true, false},
                  {"D", "4", 7, 11, false, false, false},
                  {"E", "5", 7, 41, false, false, false}};
    assert_int_equal(p.python->environment.n, 5);
    for (int i = 0; i < 5; i++) {
        const ek__lint_setting *s = &p.python->environment.setting[i];
        assert_string_equal(s->name, wanted[i].name);
        if (wanted[i].value)
            assert_string_equal(s->value, wanted[i].value);
        else
            assert_null(s->value);
        assert_int_equal(s->line, wanted[i].line);
        assert_int_equal(s->value_column, wanted[i].value_column);
        assert_int_equal(s->maybe, wanted[i].maybe);
        assert_int_equal(s->fallback, wanted[i].fallback);
        assert_int_equal(s->unset, wanted[i].unset);
    }
    ek__pool_free(p.pool);
}

/* ---- limits and time ---- */

static ek_status read_repeated(const char *open, int n, const char *middle, const char *close, ek_error *err)
{
    size_t room = (strlen(open) + strlen(close)) * (size_t)n + strlen(middle) + 1, at = 0;
    char *text = malloc(room);
    assert_non_null(text);
    for (int i = 0; i < n; i++, at += strlen(open))
        memcpy(text + at, open, strlen(open));
    memcpy(text + at, middle, strlen(middle));
    at += strlen(middle);
    for (int i = 0; i < n; i++, at += strlen(close))
        memcpy(text + at, close, strlen(close));
    ek__pool *pool = ek__pool_new();
    ek__python *python;
    text[at] = '\0';
    ek_status status = ek__python_read("p.py", text, at, pool, &python, err);
    ek__pool_free(pool);
    free(text);
    return status;
}

static void limits_are_refused_by_name(void **state)
{
    (void)state;
    ek_error err;
    assert_int_equal(read_repeated("(", 200, "x", ")", &err), EK_OK);
    assert_int_equal(read_repeated("(", 201, "x", ")", &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "201st bracket"));
    assert_int_equal(err.column, 201);
    assert_int_equal(read_repeated("x\n", EK__PYTHON_MAX_BYTES / 2, "", "", &err), EK_OK);
    assert_int_equal(read_repeated("x\n", EK__PYTHON_MAX_BYTES / 2, "y", "", &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "2 MiB"));
    char text[64 * 400] = "";
    for (int depth = 0, at = 0; depth <= 101; depth++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%*sif x:\n", depth, "");
    ek__pool *pool = ek__pool_new();
    ek__python *python;
    assert_int_equal(ek__python_read("p.py", text, strlen(text), pool, &python, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "101st time"));
    ek__pool_free(pool);
}

static double seconds_of(const char *piece, int n)
{
    ek_error err;
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    assert_int_equal(read_repeated(piece, n, "\n", "", &err), EK_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* Eight times the text takes eight times as long, not sixty-four: chains, names, long lines and deep loops. */
static void time_grows_with_the_text(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a.b(c)[d].",
                                         "x = f(y, k=1)\n",
                                         "(a, b);",
                                         "import a.b as c\nc.d()\n",
                                         "f'{x}';",
                                         "'\xe8\xae\xad';x;",
                                         "for i in x: f(i)\n",
                                         "import os; os.environ['a'] = 'b'; os.environ.pop('a')\n"};
    /* Memory stays with the process, since new pages can take longer than reading, and only a long text needs them. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i += (size_t)effort(1, 4)) {
        char text[128];
        snprintf(text, sizeof text, "%s", pieces[i]);
        int n = (int)(EK__PYTHON_MAX_BYTES / strlen(text)) - 16;
        if (strncmp(text, "a.b", 3) == 0)
            snprintf(text, sizeof text, "a.b(c)[d]()");
        double small = 1e9, large = 1e9;
        /* the least of several, against other work on the machine */
        for (int k = 0; k < 10 && (k < 3 || large > 25 * (small + 0.002)); k++) {
            double s = seconds_of(text, n / 8), l = seconds_of(text, n - n / 8);
            small = s < small ? s : small;
            large = l < large ? l : large;
        }
        if (large > 25 * (small + 0.002))
            fail_msg("%s: %.4f s, seven times the text %.4f s", pieces[i], small, large);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_those_of_the_reference_manual),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(what_python_refuses_has_its_place),
        cmocka_unit_test(callees_have_imports_put_in),
        cmocka_unit_test(definitions_and_keywords_are_no_calls),
        cmocka_unit_test(receivers_are_whole_expressions),
        cmocka_unit_test(arguments_are_found_by_name_and_place),
        cmocka_unit_test(literals_are_values_and_nothing_else_is),
        cmocka_unit_test(assignments_have_targets_and_values),
        cmocka_unit_test(calls_know_their_blocks),
        cmocka_unit_test(the_environment_is_what_the_program_sets),
        cmocka_unit_test(limits_are_refused_by_name),
        cmocka_unit_test(time_grows_with_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
