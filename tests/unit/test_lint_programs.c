/* Scripts and programs under all rules: what a program does to a script's settings, and texts where nothing is to be
 * found. The rules' own cases are in lint_programs.h. */
#include "input.h"

#include <unistd.h>

#include "lint/rules.h"
#include "lint_programs.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/ek_lint_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* Findings of a rule, or of all with NULL, in files with these texts. */
static int count_in(const ek_lint_kind *kind, const char *const *text, int n_files, const char *id)
{
    static const char *const ending[EK_N_LINT_KINDS] = {"yaml", "sh", "py"};
    char path[4][128];
    const char *paths[4];
    ek_lint lint;
    ek_error err;
    int n = 0;
    for (int i = 0; i < n_files; i++) {
        snprintf(path[i], sizeof path[i], "%s/%d.%s", folder, i, ending[kind[i]]);
        FILE *file = fopen(path[i], "wb");
        assert_non_null(file);
        fputs(text[i], file);
        assert_int_equal(fclose(file), 0);
        paths[i] = path[i];
    }
    if (ek_lint_run(paths, n_files, NULL, NULL, &lint, &err))
        fail_msg("%d:%d: %s in: %s", err.line, err.column, err.message, text[0]);
    for (int i = 0; i < lint.n_findings; i++)
        n += !id || strcmp(lint.finding[i].rule->id, id) == 0;
    for (int i = 0; i < n_files; i++)
        unlink(path[i]);
    ek_lint_clear(&lint);
    return n;
}

static void rules_find_in_scripts_and_programs_what_the_cases_say(void **state)
{
    (void)state;
    for (const program_case *c = program_cases; c < program_cases + N_PROGRAM_CASES; c++) {
        assert_non_null(ek_lint_rule_find(c->id));
        int n = count_in(&c->kind, &c->text, 1, c->id);
        if (n != c->n)
            fail_msg("%s, %s: %d findings instead of %d", c->id, c->what, n, c->n);
    }
}

/* Of every rule that looks at scripts or programs and has no near miss in test_lint.c. */
static void every_rule_on_scripts_and_programs_has_a_near_miss(void **state)
{
    (void)state;
    static const ek__lint_entry *const tables[] = {ek__lint_launch, ek__lint_python, ek__lint_hot, ek__lint_switches};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id; e++) {
            bool found = false;
            for (const program_case *c = program_cases; c < program_cases + N_PROGRAM_CASES; c++)
                found = found || (c->n == 0 && strcmp(c->id, e->about.id) == 0);
            if (!found)
                fail_msg("%s has no near miss", e->about.id);
        }
}

/* A script's list is replaced by the program that it starts, in whichever order the files are given. */
static void a_program_replaces_what_a_script_sets(void **state)
{
    (void)state;
    const ek_lint_kind kinds[] = {EK_LINT_PYTHON, EK_LINT_SHELL}, turned[] = {EK_LINT_SHELL, EK_LINT_PYTHON};
    const char *const texts[] = {"import os\nos.environ['MS_ALLOC_CONF'] = 'vmm_align_size:2MB'\n",
                                 "export MS_ALLOC_CONF=enable_vmm:True\npython 0.py\n"};
    const char *const other[] = {texts[1], texts[0]};
    assert_int_equal(count_in(kinds, texts, 2, "allocator-settings-twice"), 1);
    assert_int_equal(count_in(turned, other, 2, "allocator-settings-twice"), 1);
    assert_int_equal(count_in(kinds, texts, 1, "allocator-settings-twice"), 0);
}

/* Nothing is found where there is nothing. */
static void plain_programs_and_scripts_are_clean(void **state)
{
    (void)state;
    static const struct {
        ek_lint_kind kind;
        const char *text;
    } cases[] = {
        {EK_LINT_PYTHON, ""},
        {EK_LINT_PYTHON, "def f(x):\n    return [y.item() for y in x]\n\nprint(f([]))\n"},
        {EK_LINT_PYTHON, "class A:\n    def step(self):\n        self.x.sum()\n\nfor a in b:\n    a.step()\n"},
        {EK_LINT_SHELL, ""},
        {EK_LINT_SHELL, "#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")\"\nfor f in *; do echo \"$f\"; done\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(count_in(&cases[i].kind, &cases[i].text, 1, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_find_in_scripts_and_programs_what_the_cases_say),
        cmocka_unit_test(every_rule_on_scripts_and_programs_has_a_near_miss),
        cmocka_unit_test(a_program_replaces_what_a_script_sets),
        cmocka_unit_test(plain_programs_and_scripts_are_clean),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
