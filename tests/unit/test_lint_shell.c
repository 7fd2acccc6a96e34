/* Tests the reader of launch scripts: which variables reach the started programs, by POSIX's rules for export and
 * assignments before commands; here-documents, conditions and places. Words themselves are tested with
 * job/arguments.c. */
#include "input.h"

#include "job/arguments.h"
#include "lint/shell.h"

typedef struct script {
    ek__pool *pool;
    ek__shell *shell;
} script;

static script read_text(const char *text)
{
    script out = {ek__pool_new(), NULL};
    ek_error err;
    assert_non_null(out.pool);
    if (ek__shell_read("run.sh", text, strlen(text), out.pool, &out.shell, &err))
        fail_msg("%d:%d: %s: %s", err.line, err.column, err.message, text);
    return out;
}

/* NAME=VALUE of each setting, with marks: ! not exported, ? maybe, 1 for one command, - fallback, x unset, * unknown.
 */
static void spell(const ek__lint_settings *all, char *out, size_t room)
{
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < all->n; i++) {
        const ek__lint_setting *s = &all->setting[i];
        n += (size_t)snprintf(out + n, room - n, "%s%s=%s%s%s%s%s%s", i ? " " : "", s->name, s->value ? s->value : "*",
                              s->exported ? "" : "!", s->maybe ? "?" : "", s->one_command ? "1" : "",
                              s->fallback ? "-" : "", s->unset ? "x" : "");
        assert_true(n < room);
    }
}

static void settings_are_those_that_programs_see(void **state)
{
    (void)state;
    static const struct {
        const char *text, *settings;
    } cases[] = {
        {"", ""},
        {"export A=1 B='2 3' C=\"4\"\n", "A=1 B=2 3 C=4"},
        {"A=1\nB=2 # c\n", "A=1 B=2"}, /* only assignments */
        {"A=1\npython x\n", "A=1!"},
        {"A=1\nexport A\npython x\n", "A=1"},
        {"A=1 B=2 python x\n", "A=11 B=21"},
        {"A=1; python x\n", "A=1!"},
        {"set -a\nA=1\npython x\n", "A=1"},
        {"set -o allexport\nA=1\npython x\n", "A=1"},
        {"env A=1 python x B=2\n", "A=11 B=21"},
        {"mpirun -x A=1 -np 2 python x C=3\n", "A=11"},
        {"declare -x A=1\nx\n", "A=1"},
        {"export A=$(date) B=$1 C=$A\n", "A=* B=* C=*"},
        {"export A=1\nexport A=$A,2\n", "A=1 A=1,2"},
        {"export A=${A:-1}\nexport B=${A:-1}\n", "A=1- B=1"},
        {"export A=$((2*3))\n", "A=6"},
        {"if [ x ]; then\nexport A=1\nfi\nexport B=2\n", "A=1? B=2"},
        {"if a; then export A=1; else export A=2; fi; export B=1\n", "A=1? A=2? B=1"},
        /* nor by its own values, which the caller or the next edit can change */
        {"N=0\nif [ $N = 1 ]; then\nexport A=1\nelse\nexport A=2\nfi\nexport B=2\n", "N=0! A=1? A=2? B=2"},
        {"export N=${N:-1}\nif [ $N = 1 ]; then export A=1; elif a; then export A=2; fi\n", "N=1- A=1? A=2?"},
        {"if a; then env A=1 python x; declare -x B=2; fi\nenv C=3 python x\n", "A=1?1 B=2? C=31"},
        {"case $x in\n1) export A=1;;\nesac\nexport B=2\n", "A=1? B=2"},
        {"for i in 1 2; do export A=1; done\n", "A=1"},
        {"[ -z \"$A\" ] && export A=1\nexport B=2\n", "A=1? B=2"},
        {"a || \\\n  export A=1\n", "A=1?"},
        {"a & export A=1\na | b; export B=1\n", "A=1 B=1"},
        {"export A=1\nunset A\nexport B=2\n", "A=1x B=2"},
        {"if a; then unset A; fi; export A=1\n", "A=1"},
        {"echo fi A=1\nexport B=1\n", "B=1"},
        {"export \\\n  A=1\n", "A=1"},
        {"export A=\"x\ny\"\n", "A=x\ny"},
        {"f() {\nexport A=1\n}\n", "A=1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char settings[256];
        script s = read_text(cases[i].text);
        spell(&s.shell->environment, settings, sizeof settings);
        if (strcmp(settings, cases[i].settings) != 0)
            fail_msg("%s: '%s' instead of '%s'", cases[i].text, settings, cases[i].settings);
        ek__pool_free(s.pool);
    }
}

static void here_documents_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *text, *settings;
    } cases[] = {
        {"cat <<EOF\nexport A=1\nEOF\nexport B=2\n", "B=2"},
        {"cat <<'E F'\nexport A=1\nE F\nexport B=2\n", "B=2"},
        {"cat <<\\EOF\nexport A=1\nEOF\nexport B=2\n", "B=2"},
        {"cat << \"EOF\" > x\nexport A=1\n EOF\nEOF\nexport B=2\n", "B=2"},
        {"cat <<-EOF\n\texport A=1\n\tEOF\nexport B=2\n", "B=2"},
        {"cat <<A <<B\nexport X=1\nA\nexport Y=1\nB\nexport Z=2\n", "Z=2"},
        {"cat <<< EOF\nexport A=1\n", "A=1"},
        {"x=$((1 << 2))\nexport A=1\n", "x=* A=1"},
        {"echo '<<EOF'\nexport A=1\n", "A=1"},
        {"# <<EOF\nexport A=1\n", "A=1"},
        {"cat <<EOF\r\nexport A=1\r\nEOF\r\nexport B=2\r\n", "B=2"},
        {"cat <<EOF\nexport A=1\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char settings[256];
        script s = read_text(cases[i].text);
        spell(&s.shell->environment, settings, sizeof settings);
        if (strcmp(settings, cases[i].settings) != 0)
            fail_msg("%s: '%s' instead of '%s'", cases[i].text, settings, cases[i].settings);
        ek__pool_free(s.pool);
    }
}

static void places_count_characters(void **state)
{
    (void)state;
    script s = read_text("echo \xe8\xae\xad; export A=\"1\" B=2\\\n3\ncat <<E\n\xe8\nE\nexport C='\xe8\xae\xad'\n");
    static const struct {
        int line, column, end, value;
    } wanted[] = {{1, 16, 21, 19}, {1, 22, 0, 0}, {6, 8, 13, 0}};
    assert_int_equal(s.shell->environment.n, 3);
    for (int i = 0; i < 3; i++) {
        const ek__lint_setting *t = &s.shell->environment.setting[i];
        assert_int_equal(t->line, wanted[i].line);
        assert_int_equal(t->column, wanted[i].column);
        assert_int_equal(t->end_column, wanted[i].end);
        assert_int_equal(t->value_column, wanted[i].value);
    }
    ek__pool_free(s.pool);
}

static void commands_and_their_arguments_are_found(void **state)
{
    (void)state;
    script s =
        read_text("cd x\nif a; then\n  ./b c --tp=4\nfi\nARGS=\"\n  --pp 2\n  --flag\n\"\ntorchrun $ARGS --tp 8\n");
    static const char *const programs[] = {"cd", "a", "./b", "torchrun"};
    assert_int_equal(s.shell->n_commands, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(s.shell->word[s.shell->command[i].first_word].text, programs[i]);
        assert_int_equal(s.shell->command[i].maybe, i == 1 || i == 2);
    }
    assert_string_equal(ek__shell_argument(s.shell, "--tp"), "8"); /* the last one */
    assert_string_equal(ek__shell_argument(s.shell, "--pp"), "2");
    assert_true(ek__shell_has(s.shell, "--flag") && !ek__shell_has(s.shell, "--fla"));
    assert_null(ek__shell_argument(s.shell, "--t"));
    ek__pool_free(s.pool);
}

static void what_cannot_be_read_has_its_place(void **state)
{
    (void)state;
    ek__pool *pool = ek__pool_new();
    ek__shell *shell = NULL;
    ek_error err;
    assert_int_equal(ek__shell_read("run.sh", "a\nexport A=\"1\n", 14, pool, &shell, &err), EK_ERR_INPUT);
    assert_null(shell);
    assert_int_equal(err.line * 100 + err.column, 210);
    assert_string_equal(err.file, "run.sh");
    char *large = calloc(EK__ARGUMENTS_MAX_BYTES + 2, 1);
    memset(large, '\n', EK__ARGUMENTS_MAX_BYTES + 1);
    assert_int_equal(ek__shell_read("run.sh", large, EK__ARGUMENTS_MAX_BYTES + 1, pool, &shell, &err), EK_ERR_INPUT);
    assert_int_equal(ek__shell_read("run.sh", large, EK__ARGUMENTS_MAX_BYTES, pool, &shell, &err), EK_OK);
    free(large);
    ek__pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_those_that_programs_see),
        cmocka_unit_test(here_documents_are_left_out),
        cmocka_unit_test(places_count_characters),
        cmocka_unit_test(commands_and_their_arguments_are_found),
        cmocka_unit_test(what_cannot_be_read_has_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
