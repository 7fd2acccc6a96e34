/* Environment variables that a program sets for itself and for programs that it starts: items of os.environ,
 * setdefault, update and putenv with plain names. Dictionaries passed to subprocesses are not read. */
#include <string.h>

#include "lint/python.h"

typedef struct collector {
    ek__python *p;
    ek_error *err;
} collector;

/* Is the block under a condition? */
static bool is_maybe(const ek__python *p, int block)
{
    for (; block >= 0; block = p->block[block].parent)
        if (p->block[block].kind == EK__PYTHON_CONDITION)
            return true;
    return false;
}

/* Put NAME = VALUE, whose name is at tokens [name, name_end). */
static ek_status add(collector *c, int from, int block, int name, int name_end, int value, int value_end, bool fallback)
{
    ek__python *p = c->p;
    ek__python_literal n = ek__python_value(p, name, name_end), v = ek__python_value(p, value, value_end);
    ek__lint_settings *out = &p->environment;
    if (n.kind != EK__PYTHON_TEXT || value >= value_end || out->n == EK__SETTINGS_MAX)
        return EK_OK;
    ek__lint_setting *all = ek__pool_push(p->pool, out->setting, out->n, sizeof *all);
    const char *copy = ek__pool_text(p->pool, n.text, strlen(n.text));
    const char *text = v.kind == EK__PYTHON_TEXT ? ek__pool_text(p->pool, v.text, strlen(v.text)) : NULL;
    if (!all || !copy || (v.kind == EK__PYTHON_TEXT && !text))
        return ek__no_memory(c->err);
    out->setting = all;
    const ek__python_token *first = &p->token[from], *last = &p->token[value_end - 1], *begin = &p->token[value];
    bool one_line = last->line == first->line;
    all[out->n++] =
        (ek__lint_setting){.name = copy,
                           .value = text,
                           .line = first->line,
                           .column = first->column,
                           .end_column = one_line ? ek__python_end_column(p, value_end - 1) : 0,
                           .value_column = one_line && text && value + 1 == value_end &&
                                                   ek__python_end_column(p, value) - begin->column == begin->size &&
                                                   (size_t)begin->size == strlen(text) + 2
                                               ? begin->column + 1
                                               : 0,
                           .maybe = is_maybe(p, block),
                           .fallback = fallback,
                           .exported = true};
    return EK_OK;
}

/* Is [begin, end) os.environ, by whatever name? */
static bool is_environ(const ek__python *p, int begin, int end)
{
    if (begin >= end || p->token[begin].kind != EK__PYTHON_NAME)
        return false;
    const char *alias = p->alias[p->token[begin].symbol];
    if (!alias)
        return false;
    if (end - begin == 1)
        return strcmp(alias, "os.environ") == 0;
    return end - begin == 3 && strcmp(alias, "os") == 0 && ek__python_is(p, begin + 1, ".") &&
           ek__python_is(p, begin + 2, "environ");
}

static ek_status of_assignment(collector *c, const ek__python_assignment *a)
{
    const ek__python *p = c->p;
    int last = a->target_end - 1;
    if (a->augmented || last <= a->target || !ek__python_is(p, last, "]"))
        return EK_OK;
    int open = p->token[last].partner;
    if (!is_environ(p, a->target, open))
        return EK_OK;
    return add(c, a->target, a->block, open + 1, last, a->value, a->value_end, false);
}

/* Items of a dictionary that is written out: {"A": "B", ...}. */
static ek_status of_items(collector *c, const ek__python_call *call, const ek__python_argument *dictionary)
{
    const ek__python *p = c->p;
    int open = dictionary->begin, close = dictionary->end - 1;
    if (!ek__python_is(p, open, "{") || p->token[open].partner != close)
        return EK_OK;
    int key = open + 1, colon = -1;
    ek_status status = EK_OK;
    for (int i = key; status == EK_OK && i <= close; i++) {
        if (i == close || ek__python_is(p, i, ",")) {
            if (colon > key)
                status = add(c, key, call->block, key, colon, colon + 1, i, false);
            key = i + 1;
            colon = -1;
        } else if (colon < 0 && ek__python_is(p, i, ":")) {
            colon = i;
        } else if (p->token[i].partner > i) {
            i = p->token[i].partner;
        }
    }
    return status;
}

/* Settings of a name that is taken away. */
static void drop_names(const collector *c, const ek__python_argument *name)
{
    ek__python_literal n = ek__python_value(c->p, name->begin, name->end);
    for (int i = 0; n.kind == EK__PYTHON_TEXT && i < c->p->environment.n; i++)
        if (strcmp(c->p->environment.setting[i].name, n.text) == 0)
            c->p->environment.setting[i].unset = true;
}

static ek_status of_call(collector *c, const ek__python_call *call)
{
    const ek__python *p = c->p;
    if (!call->imported || !call->callee || call->n_arguments == 0 || strncmp(call->callee, "os.", 3) != 0)
        return EK_OK;
    const char *what = call->callee + 3;
    const ek__python_argument *a = p->argument + call->first_argument;
    if (strcmp(what, "environ.update") == 0 && !a->keyword)
        return of_items(c, call, a);
    bool fallback = strcmp(what, "environ.setdefault") == 0;
    if (call->n_arguments == 2 && (fallback || strcmp(what, "putenv") == 0))
        return add(c, call->token, call->block, a[0].begin, a[0].end, a[1].begin, a[1].end, fallback);
    if ((strcmp(what, "environ.pop") == 0 || strcmp(what, "unsetenv") == 0) && !is_maybe(p, call->block))
        drop_names(c, a);
    return EK_OK;
}

ek_status ek__python_environment(ek__python *python, ek_error *err)
{
    collector c = {python, err};
    ek_status status = EK_OK;
    int a = 0;
    for (int i = 0; status == EK_OK && i < python->n_calls; i++) {
        for (; status == EK_OK && a < python->n_assignments && python->assignment[a].value <= python->call[i].open; a++)
            status = of_assignment(&c, &python->assignment[a]);
        if (status == EK_OK)
            status = of_call(&c, &python->call[i]);
    }
    for (; status == EK_OK && a < python->n_assignments; a++)
        status = of_assignment(&c, &python->assignment[a]);
    return status;
}
