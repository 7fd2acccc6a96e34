/* Findings in SARIF 2.1.0, the form that code-review services read (OASIS, Static Analysis Results Interchange Format):
 * one run, all rules with their help, a result for each finding with its region, and a replacement where there is a
 * fix. Findings that comments took away are results with a suppression in the source. Columns count characters. */
#include <string.h>

#include "base/error.h"
#include "evenkeel/evenkeel.h"
#include "report/json.h"
#include "report/lint_internal.h"
#include "report/writers.h"

static json_t *text_json(ek__json *b, const char *text)
{
    json_t *object = json_object();
    ek__json_put(b, object, "text", ek__json_string(text));
    return object;
}

static json_t *level_json(const ek_lint_rule *rule)
{
    return ek__json_string(ek_lint_level_name[rule->level]);
}

static json_t *rule_json(ek__json *b, const ek_lint_rule *rule)
{
    json_t *object = json_object(), *configuration = json_object(), *help = json_object(), *properties = json_object();
    char text[4096];
    ek__json_put(b, object, "id", ek__json_string(rule->id));
    ek__json_put(b, object, "shortDescription", text_json(b, rule->title));
    ek__json_put(b, object, "fullDescription", text_json(b, rule->why));
    snprintf(text, sizeof text, "%s\n\nWhat it costs: %s\n\nWhat to write: %s\n\nSource: %s", rule->why, rule->cost,
             rule->fix, rule->source);
    ek__json_put(b, help, "text", ek__json_string(text));
    ek__json_put(b, object, "help", help);
    ek__json_put(b, configuration, "level", level_json(rule));
    ek__json_put(b, object, "defaultConfiguration", configuration);
    ek__json_put(b, properties, "source", ek__json_string(rule->source));
    ek__json_put(b, object, "properties", properties);
    return object;
}

/* A path as the reference of a URI (RFC 3986): bytes that may not stand there become %XX. A relative path stays one,
 * and one from the root becomes a URI of files (RFC 8089), so that nothing in it is taken for a scheme or a host. */
static json_t *uri_json(const char *path)
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
    return ek__json_string(text);
}

static json_t *region_json(ek__json *b, const ek_lint_finding *finding, bool snippet)
{
    json_t *region = json_object();
    ek__json_put(b, region, "startLine", json_integer(finding->line));
    ek__json_put(b, region, "startColumn", json_integer(finding->column));
    if (finding->end_column > 0)
        ek__json_put(b, region, "endColumn", json_integer(finding->end_column));
    if (snippet)
        ek__json_put(b, region, "snippet", text_json(b, finding->excerpt));
    return region;
}

static json_t *artifact_json(ek__json *b, const ek_lint_finding *finding)
{
    json_t *artifact = json_object();
    ek__json_put(b, artifact, "uri", uri_json(finding->path));
    return artifact;
}

static json_t *location_json(ek__json *b, const ek_lint_finding *finding)
{
    json_t *location = json_object(), *physical = json_object();
    ek__json_put(b, physical, "artifactLocation", artifact_json(b, finding));
    ek__json_put(b, physical, "region", region_json(b, finding, true));
    ek__json_put(b, location, "physicalLocation", physical);
    return location;
}

static json_t *fix_json(ek__json *b, const ek_lint_finding *finding)
{
    json_t *fix = json_object(), *changes = json_array(), *change = json_object(), *replacements = json_array(),
           *replacement = json_object();
    char text[256];
    snprintf(text, sizeof text, "Write %s", finding->fix);
    ek__json_put(b, fix, "description", text_json(b, text));
    ek__json_put(b, replacement, "deletedRegion", region_json(b, finding, false));
    ek__json_put(b, replacement, "insertedContent", text_json(b, finding->fix));
    ek__json_append(b, replacements, replacement);
    ek__json_put(b, change, "artifactLocation", artifact_json(b, finding));
    ek__json_put(b, change, "replacements", replacements);
    ek__json_append(b, changes, change);
    ek__json_put(b, fix, "artifactChanges", changes);
    return fix;
}

static int index_of(const ek_lint_rule *const *rules, int n, const ek_lint_rule *rule)
{
    for (int i = 0; i < n; i++)
        if (rules[i] == rule)
            return i;
    return -1;
}

static json_t *list_of(ek__json *b, json_t *one)
{
    json_t *list = json_array();
    ek__json_append(b, list, one);
    return list;
}

static json_t *result_json(ek__json *b, const ek_lint_finding *finding, int rule_index, bool suppressed)
{
    json_t *result = json_object();
    ek__json_put(b, result, "ruleId", ek__json_string(finding->rule->id));
    ek__json_put(b, result, "ruleIndex", json_integer(rule_index));
    ek__json_put(b, result, "level", level_json(finding->rule));
    ek__json_put(b, result, "message", text_json(b, finding->message));
    ek__json_put(b, result, "locations", list_of(b, location_json(b, finding)));
    if (finding->fix && finding->end_column > 0)
        ek__json_put(b, result, "fixes", list_of(b, fix_json(b, finding)));
    if (suppressed) {
        json_t *suppression = json_object();
        ek__json_put(b, suppression, "kind", ek__json_string("inSource"));
        ek__json_put(b, result, "suppressions", list_of(b, suppression));
    }
    return result;
}

static json_t *tool_json(ek__json *b, const ek_lint_rule *const *rules, int n)
{
    json_t *tool = json_object(), *driver = json_object(), *list = json_array();
    ek__json_put(b, driver, "name", ek__json_string("evenkeel lint"));
    ek__json_put(b, driver, "semanticVersion", ek__json_string(EK_VERSION));
    for (int i = 0; i < n; i++)
        ek__json_append(b, list, rule_json(b, rules[i]));
    ek__json_put(b, driver, "rules", list);
    ek__json_put(b, tool, "driver", driver);
    return tool;
}

ek_status ek__lint_write_sarif(const ek_lint *lint, FILE *out, ek_error *err)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    ek__json b = {0};
    json_t *root = json_object(), *run = json_object(), *results = json_array();
    ek__json_put(&b, root, "$schema", ek__json_string("https://json.schemastore.org/sarif-2.1.0.json"));
    ek__json_put(&b, root, "version", ek__json_string("2.1.0"));
    ek__json_put(&b, run, "tool", tool_json(&b, rules, n));
    ek__json_put(&b, run, "columnKind", ek__json_string("unicodeCodePoints"));
    for (int i = 0; i < lint->n_findings; i++)
        ek__json_append(&b, results,
                        result_json(&b, &lint->finding[i], index_of(rules, n, lint->finding[i].rule), false));
    for (int i = 0; i < lint->n_suppressed; i++)
        ek__json_append(&b, results,
                        result_json(&b, &lint->suppressed[i], index_of(rules, n, lint->suppressed[i].rule), true));
    ek__json_put(&b, run, "results", results);
    ek__json_put(&b, root, "runs", list_of(&b, run));
    return ek__json_finish(&b, root, out, err);
}
