/* Findings in SARIF 2.1.0, the form that code-review services read (OASIS, Static Analysis Results Interchange Format):
 * one run, all rules with their help, a result for each finding with its region, and a replacement where there is a
 * fix. Findings that comments took away are results with a suppression in the source. Columns count characters. */
#include <string.h>

#include "base/json_stream.h"
#include "base/print.h"
#include "evenkeel/evenkeel.h"
#include "report/lint_internal.h"
#include "report/writers.h"

static void write_message(ek__stream *s, const char *key, const char *text)
{
    ek__stream_object(s, key, false);
    ek__stream_text(s, "text", text);
    ek__stream_end(s);
}

static void write_rule(ek__stream *s, const ek_lint_rule *rule)
{
    char text[4096];
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "id", rule->id);
    write_message(s, "shortDescription", rule->title);
    write_message(s, "fullDescription", rule->why);
    snprintf(text, sizeof text, "%s\n\nWhat it costs: %s\n\nWhat to write: %s\n\nSource: %s", rule->why, rule->cost,
             rule->fix, rule->source);
    write_message(s, "help", text);
    ek__stream_object(s, "defaultConfiguration", false);
    ek__stream_text(s, "level", ek_lint_level_name[rule->level]);
    ek__stream_end(s);
    ek__stream_object(s, "properties", false);
    ek__stream_text(s, "source", rule->source);
    ek__stream_end(s);
    ek__stream_end(s);
}

/* A path as the reference of a URI (RFC 3986): bytes that may not stand there become %XX. A relative path stays one,
 * and one from the root becomes a URI of files (RFC 8089), so that nothing in it is taken for a scheme or a host. */
static void write_uri(ek__stream *s, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/",
                      hex[] = "0123456789ABCDEF";
    static const char scheme[] = "file://";
    char text[sizeof scheme + 3 * 4096];
    size_t n = path[0] == '/' ? sizeof scheme - 1 : 0;
    memcpy(text, scheme, n);
    while (strncmp(path, "./", 2) == 0 && path[2] && path[2] != '/')
        path += 2;
    for (const char *c = path; *c && n + 3 < sizeof text; c++) {
        unsigned char byte = (unsigned char)*c;
        if (strchr(plain, *c)) {
            text[n++] = *c;
            continue;
        }
        text[n++] = '%';
        text[n++] = hex[byte >> 4];
        text[n++] = hex[byte & 15];
    }
    text[n] = '\0';
    ek__stream_text(s, "uri", text);
}

static void write_region(ek__stream *s, const char *key, const ek_lint_finding *finding, bool snippet)
{
    ek__stream_object(s, key, false);
    ek__stream_int(s, "startLine", finding->line);
    ek__stream_int(s, "startColumn", finding->column);
    if (finding->end_column > 0)
        ek__stream_int(s, "endColumn", finding->end_column);
    if (snippet)
        write_message(s, "snippet", finding->excerpt);
    ek__stream_end(s);
}

static void write_artifact(ek__stream *s, const ek_lint_finding *finding)
{
    ek__stream_object(s, "artifactLocation", false);
    write_uri(s, finding->path);
    ek__stream_end(s);
}

static void write_locations(ek__stream *s, const ek_lint_finding *finding)
{
    ek__stream_list(s, "locations", false);
    ek__stream_object(s, NULL, false);
    ek__stream_object(s, "physicalLocation", false);
    write_artifact(s, finding);
    write_region(s, "region", finding, true);
    ek__stream_end(s);
    ek__stream_end(s);
    ek__stream_end(s);
}

static void write_fixes(ek__stream *s, const ek_lint_finding *finding)
{
    char text[256];
    snprintf(text, sizeof text, "Write %s", finding->fix);
    ek__stream_list(s, "fixes", false);
    ek__stream_object(s, NULL, false);
    write_message(s, "description", text);
    ek__stream_list(s, "artifactChanges", false);
    ek__stream_object(s, NULL, false);
    write_artifact(s, finding);
    ek__stream_list(s, "replacements", false);
    ek__stream_object(s, NULL, false);
    write_region(s, "deletedRegion", finding, false);
    write_message(s, "insertedContent", finding->fix);
    for (int open = 0; open < 6; open++)
        ek__stream_end(s);
}

static int index_of(const ek_lint_rule *const *rules, int n, const ek_lint_rule *rule)
{
    for (int i = 0; i < n; i++)
        if (rules[i] == rule)
            return i;
    return -1;
}

static void write_result(ek__stream *s, const ek_lint_finding *finding, int rule_index, bool suppressed)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "ruleId", finding->rule->id);
    ek__stream_int(s, "ruleIndex", rule_index);
    ek__stream_text(s, "level", ek_lint_level_name[finding->rule->level]);
    write_message(s, "message", finding->message);
    write_locations(s, finding);
    if (finding->fix && finding->end_column > 0)
        write_fixes(s, finding);
    if (suppressed)
        ek__stream_raw(s, "suppressions", "[{\"kind\": \"inSource\"}]");
    ek__stream_end(s);
}

static void write_tool(ek__stream *s, const ek_lint_rule *const *rules, int n)
{
    ek__stream_object(s, "tool", false);
    ek__stream_object(s, "driver", false);
    ek__stream_text(s, "name", "evenkeel lint");
    ek__stream_text(s, "semanticVersion", EK_VERSION);
    ek__stream_list(s, "rules", false);
    for (int i = 0; i < n; i++)
        write_rule(s, rules[i]);
    ek__stream_end(s);
    ek__stream_end(s);
    ek__stream_end(s);
}

static void write_results(ek__stream *s, const ek_lint *lint, const ek_lint_rule *const *rules, int n)
{
    ek__stream_list(s, "results", false);
    for (int i = 0; i < lint->n_findings; i++)
        write_result(s, &lint->finding[i], index_of(rules, n, lint->finding[i].rule), false);
    for (int i = 0; i < lint->n_suppressed; i++)
        write_result(s, &lint->suppressed[i], index_of(rules, n, lint->suppressed[i].rule), true);
    ek__stream_end(s);
}

ek_status ek__lint_write_sarif(const ek_lint *lint, FILE *out, ek_error *err)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    ek__stream s = {.out = out, .points = true};
    ek__stream_object(&s, NULL, true);
    ek__stream_text(&s, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    ek__stream_text(&s, "version", "2.1.0");
    ek__stream_list(&s, "runs", false);
    ek__stream_object(&s, NULL, false);
    write_tool(&s, rules, n);
    ek__stream_text(&s, "columnKind", "unicodeCodePoints");
    write_results(&s, lint, rules, n);
    ek__stream_end(&s);
    ek__stream_end(&s);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
