/* The engine of the linter: files are read one after another, then every entry of every table that is wanted looks at
 * every file of its kinds, and the findings are sorted. Rules know nothing of one another; an entry may look at
 * the other files of the run, which is how a launch script's environment counts for
 * the program that it starts. */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/watch.h"
#include "lint/comments.h"
#include "lint/read.h"

enum { MAX_FILES = 100000 };

const char *const ek__lint_level_name[3] = {"note", "warning", "error"};
const char *const *const ek_lint_level_name = ek__lint_level_name;
static const char *const ek__lint_kind_name[EK_N_LINT_KINDS] = {"yaml", "shell", "python", "toml"};
const char *const *const ek_lint_kind_name = ek__lint_kind_name;

#define POINT(name) ek__lint_##name,
static const ek__lint_entry *const tables[] = {EK__LINT_TABLES(POINT)};
#undef POINT
enum { N_TABLES = sizeof tables / sizeof *tables };

ek_lint_options ek_lint_options_default(void)
{
    return (ek_lint_options){.least = EK_LINT_NOTE, .kind = -1};
}

/* ---- rules ---- */

int ek_lint_rules(const ek_lint_rule *out[EK_MAX_LINT_RULES])
{
    int n = 0;
    for (int t = 0; t < N_TABLES; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id && n < EK_MAX_LINT_RULES; e++) {
            int at = n++;
            for (; at > 0 && strcmp(out[at - 1]->id, e->about.id) > 0; at--)
                out[at] = out[at - 1];
            out[at] = &e->about;
        }
    return n;
}

const ek_lint_rule *ek_lint_rule_find(const char *id)
{
    for (int t = 0; t < N_TABLES; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id; e++)
            if (strcmp(e->about.id, id) == 0)
                return &e->about;
    return NULL;
}

static ek_status check_ids(const char *const *ids, int n, ek_error *err)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n_rules = ek_lint_rules(rules);
    for (int i = 0; i < n; i++) {
        const char *near = ek_lint_rule_find(ids[i]) ? ids[i] : ek__lint_nearest(rules, n_rules, ids[i]);
        if (near != ids[i])
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no rule is called '%.80s'%s%s%s", ids[i],
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return EK_OK;
}

static bool is_in(const char *id, const char *const *ids, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return false;
}

static bool is_wanted(const ek_lint_rule *rule, const ek_lint_options *options)
{
    return rule->level >= options->least && !is_in(rule->id, options->off, options->n_off) &&
           (options->n_only == 0 || is_in(rule->id, options->only, options->n_only));
}

/* ---- the run ---- */

static ek_status check_file(ek__lint_run *run, const ek__lint_file *file)
{
    ek_status status = EK_OK;
    for (int t = 0; t < N_TABLES; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id && status == EK_OK; e++)
            if (e->check[file->kind] && is_wanted(&e->about, run->options))
                status = e->check[file->kind](run, e, file);
    return status;
}

/* A file that cannot be read or parsed is skipped where the options allow it. */
static ek_status read_file(const char *path, bool may_skip, const ek_lint_options *options, const ek_listener *listener,
                           ek__pool *pool, ek__lint_file *file, ek_error *err)
{
    ek_error reason = {0};
    ek_status status = ek__lint_file_read(path, options, pool, file, &reason);
    if ((status == EK_ERR_INPUT || status == EK_ERR_SYSTEM) && may_skip) {
        ek__warn(listener, (ek_origin){reason.file, reason.line, reason.column}, "is left out: %s", reason.message);
        ek__lint_file_clear(file);
        return EK_OK;
    }
    if (status && err)
        *err = reason;
    if (status == EK_OK)
        ek__comments_gather(file->comments, ek_lint_rule_find);
    if (status == EK_OK && (file->kind == EK_LINT_YAML || file->kind == EK_LINT_TOML) && !file->job && !file->refusal)
        ek__warn(listener, (ek_origin){.file = file->path},
                 "holds no training job that is known here; only rules about single keys look at it");
    return status;
}

static ek_status run_all(const char *const *path, int n_paths, const ek_lint_options *options,
                         const ek_listener *listener, ek__lint_file *file, ek_lint *out, ek_error *err)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    ek__lint_run run = {.file = file, .options = options, .pool = out->pool, .rule = rules, .err = err};
    run.n_rules = ek_lint_rules(rules);
    ek_status status = EK_OK;
    for (int i = 0; i < n_paths && status == EK_OK; i++) {
        ek__watch_step("reading", i, n_paths);
        status = read_file(path[i], options->may_skip && options->may_skip[i], options, listener, out->pool,
                           &file[run.n_files], err);
        run.n_files += status == EK_OK && file[run.n_files].text;
    }
    for (int i = 0; i < run.n_files && status == EK_OK; i++) {
        ek__watch_step("checking", i, run.n_files);
        status = check_file(&run, &file[i]);
    }
    ek__watch_step(NULL, 0, 0);
    out->n_files = run.n_files;
    return status ? status : ek__lint_finish(&run, out);
}

ek_status ek_lint_run(const char *const *path, int n_paths, const ek_lint_options *options, const ek_listener *listener,
                      ek_lint *out, ek_error *err)
{
    const ek_lint_options usual = ek_lint_options_default();
    options = options ? options : &usual;
    ek_status status = check_ids(options->only, options->n_only, err);
    if (status == EK_OK)
        status = check_ids(options->off, options->n_off, err);
    if (status)
        return status;
    if (n_paths > MAX_FILES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%d files are too many, at most %d go together", n_paths,
                        MAX_FILES);
    ek_lint lint = {.pool = ek__pool_new()};
    ek__lint_file *file = ek__alloc((size_t)n_paths, sizeof *file);
    status = lint.pool && file ? run_all(path, n_paths, options, listener, file, &lint, err) : ek__no_memory(err);
    for (int i = 0; file && i < n_paths; i++)
        ek__lint_file_clear(&file[i]);
    free(file);
    if (status == EK_OK)
        *out = lint;
    else
        ek_lint_clear(&lint);
    return status;
}

void ek_lint_clear(ek_lint *lint)
{
    ek__pool_free(lint->pool);
    *lint = (ek_lint){0};
}
