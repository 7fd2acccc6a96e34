/* Findings for scripts: one object, documented in docs/lint.md. */
#include "base/error.h"
#include "report/json.h"
#include "report/lint_internal.h"
#include "report/writers.h"

static json_t *number_or_null(int value)
{
    return value > 0 ? json_integer(value) : json_null();
}

static json_t *finding_json(ek__json *b, const ek_lint_finding *finding)
{
    json_t *object = json_object();
    ek__json_put(b, object, "rule", ek__json_string(finding->rule->id));
    ek__json_put(b, object, "level", ek__json_string(ek_lint_level_name[finding->rule->level]));
    ek__json_put(b, object, "path", ek__json_string(finding->path));
    ek__json_put(b, object, "line", json_integer(finding->line));
    ek__json_put(b, object, "column", json_integer(finding->column));
    ek__json_put(b, object, "end_column", number_or_null(finding->end_column));
    ek__json_put(b, object, "message", ek__json_string(finding->message));
    ek__json_put(b, object, "fix", finding->fix ? ek__json_string(finding->fix) : json_null());
    return object;
}

static json_t *findings_json(ek__json *b, const ek_lint_finding *finding, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        ek__json_append(b, list, finding_json(b, &finding[i]));
    return list;
}

ek_status ek__lint_write_json(const ek_lint *lint, FILE *out, ek_error *err)
{
    ek__json b = {0};
    json_t *root = json_object(), *counts = json_object();
    ek__lint_counts count = ek__lint_count(lint);
    ek__json_put(&b, root, "version", json_integer(EK__JSON_VERSION));
    ek__json_put(&b, root, "n_files", json_integer(lint->n_files));
    for (int level = 0; level < 3; level++)
        ek__json_put(&b, counts, ek_lint_level_name[level], json_integer(count.of[level]));
    ek__json_put(&b, root, "counts", counts);
    ek__json_put(&b, root, "findings", findings_json(&b, lint->finding, lint->n_findings));
    ek__json_put(&b, root, "suppressed", findings_json(&b, lint->suppressed, lint->n_suppressed));
    return ek__json_finish(&b, root, out, err);
}
