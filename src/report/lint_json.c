/* Findings for scripts: one object, documented in docs/lint.md. */
#include "base/json_stream.h"
#include "base/print.h"
#include "report/lint_internal.h"
#include "report/writers.h"

static void write_finding(ek__stream *s, const ek_lint_finding *finding)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "rule", finding->rule->id);
    ek__stream_text(s, "level", ek_lint_level_name[finding->rule->level]);
    ek__stream_text(s, "path", finding->path);
    ek__stream_int(s, "line", finding->line);
    ek__stream_int(s, "column", finding->column);
    ek__stream_from(s, "end_column", finding->end_column, 1);
    ek__stream_text(s, "message", finding->message);
    ek__stream_text(s, "fix", finding->fix);
    ek__stream_end(s);
}

static void write_findings(ek__stream *s, const char *key, const ek_lint_finding *finding, int n)
{
    ek__stream_list(s, key, false);
    for (int i = 0; i < n; i++)
        write_finding(s, &finding[i]);
    ek__stream_end(s);
}

ek_status ek__lint_write_json(const ek_lint *lint, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out, .points = true};
    ek__lint_counts count = ek__lint_count(lint);
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    ek__stream_int(&s, "n_files", lint->n_files);
    ek__stream_object(&s, "counts", false);
    for (int level = 0; level < 3; level++)
        ek__stream_int(&s, ek_lint_level_name[level], count.of[level]);
    ek__stream_end(&s);
    write_findings(&s, "findings", lint->finding, lint->n_findings);
    write_findings(&s, "suppressed", lint->suppressed, lint->n_suppressed);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
