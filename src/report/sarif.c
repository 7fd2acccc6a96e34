/* Writes SARIF as a stream. Columns count characters. A place without a file is only a logical location, the standard's
 * form for results without a line in a file. */
#include "report/sarif.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/print.h"
#include "evenkeel/evenkeel.h"

static void write_message(ek__stream *s, const char *key, const char *text)
{
    ek__stream_object(s, key, false);
    ek__stream_text(s, "text", text);
    ek__stream_end(s);
}

/* ---- rules ---- */

static void write_rule(ek__stream *s, const ek__sarif_rule *rule)
{
    const char *why = rule->why ? rule->why : rule->title;
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "id", rule->id);
    write_message(s, "shortDescription", rule->title);
    write_message(s, "fullDescription", why);
    write_message(s, "help", rule->help ? rule->help : why);
    ek__stream_object(s, "defaultConfiguration", false);
    ek__stream_text(s, "level", rule->level);
    ek__stream_end(s);
    if (rule->source) {
        ek__stream_object(s, "properties", false);
        ek__stream_text(s, "source", rule->source);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void write_tool(ek__stream *s, const char *tool, const ek__sarif_rule *rule, int n)
{
    ek__stream_object(s, "tool", false);
    ek__stream_object(s, "driver", false);
    ek__stream_text(s, "name", tool);
    ek__stream_text(s, "semanticVersion", EK_VERSION);
    ek__stream_list(s, "rules", false);
    for (int i = 0; i < n; i++)
        write_rule(s, &rule[i]);
    ek__stream_end(s);
    ek__stream_end(s);
    ek__stream_end(s);
}

/* ---- places ---- */

/* A path as the reference of a URI (RFC 3986): bytes that are not allowed there become %XX. A relative path stays
 * relative, and an absolute one becomes a file URI (RFC 8089), so that no part of it can be read as a scheme or a
 * host. */
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

static void write_artifact(ek__stream *s, const ek__sarif_place *place)
{
    ek__stream_object(s, "artifactLocation", false);
    write_uri(s, place->path);
    ek__stream_end(s);
}

static void write_region(ek__stream *s, const char *key, const ek__sarif_place *place, bool snippet)
{
    ek__stream_object(s, key, false);
    ek__stream_int(s, "startLine", place->line);
    if (place->column > 0)
        ek__stream_int(s, "startColumn", place->column);
    if (place->end_column > 0)
        ek__stream_int(s, "endColumn", place->end_column);
    if (snippet && place->excerpt)
        write_message(s, "snippet", place->excerpt);
    ek__stream_end(s);
}

/* Related places have numbers, from 1 on. */
static void write_place(ek__stream *s, const ek__sarif_place *place, int number)
{
    ek__stream_object(s, NULL, false);
    if (number > 0)
        ek__stream_int(s, "id", number);
    if (place->path) {
        ek__stream_object(s, "physicalLocation", false);
        write_artifact(s, place);
        if (place->line > 0)
            write_region(s, "region", place, true);
        ek__stream_end(s);
    }
    if (place->name) {
        ek__stream_list(s, "logicalLocations", false);
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", place->name);
        if (place->fully_called)
            ek__stream_text(s, "fullyQualifiedName", place->fully_called);
        if (place->kind)
            ek__stream_text(s, "kind", place->kind);
        ek__stream_end(s);
        ek__stream_end(s);
    }
    if (place->said)
        write_message(s, "message", place->said);
    ek__stream_end(s);
}

/* ---- results ---- */

static void write_fixes(ek__stream *s, const ek__sarif_result *result)
{
    char text[256];
    assert(result->place.path);
    snprintf(text, sizeof text, "Write %s", result->fix);
    ek__stream_list(s, "fixes", false);
    ek__stream_object(s, NULL, false);
    write_message(s, "description", text);
    ek__stream_list(s, "artifactChanges", false);
    ek__stream_object(s, NULL, false);
    write_artifact(s, &result->place);
    ek__stream_list(s, "replacements", false);
    ek__stream_object(s, NULL, false);
    write_region(s, "deletedRegion", &result->place, false);
    write_message(s, "insertedContent", result->fix);
    for (int open = 0; open < 6; open++)
        ek__stream_end(s);
}

static void write_figures(ek__stream *s, const ek__sarif_result *result)
{
    int known = 0;
    for (int i = 0; i < result->n_figures; i++)
        known += isfinite(result->figure[i].value);
    if (known == 0)
        return;
    ek__stream_object(s, "properties", false);
    for (int i = 0; i < result->n_figures; i++)
        if (isfinite(result->figure[i].value))
            ek__stream_real(s, result->figure[i].key, result->figure[i].value);
    ek__stream_end(s);
}

static int index_of(const ek__sarif *sarif, const char *id)
{
    for (int i = 0; i < sarif->n_rules; i++)
        if (strcmp(sarif->rule[i].id, id) == 0)
            return i;
    assert(!"a result is of a rule");
    return -1;
}

void ek__sarif_begin(ek__sarif *sarif, const char *tool, const ek__sarif_rule *rule, int n_rules, FILE *out)
{
    *sarif = (ek__sarif){.s = {.out = out, .points = true}, .rule = rule, .n_rules = n_rules};
    ek__stream *s = &sarif->s;
    ek__stream_object(s, NULL, true);
    ek__stream_text(s, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    ek__stream_text(s, "version", "2.1.0");
    ek__stream_list(s, "runs", false);
    ek__stream_object(s, NULL, false);
    write_tool(s, tool, rule, n_rules);
    ek__stream_text(s, "columnKind", "unicodeCodePoints");
    ek__stream_list(s, "results", false);
}

void ek__sarif_add(ek__sarif *sarif, const ek__sarif_result *result)
{
    ek__stream *s = &sarif->s;
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "ruleId", result->rule);
    ek__stream_int(s, "ruleIndex", index_of(sarif, result->rule));
    ek__stream_text(s, "level", result->level);
    write_message(s, "message", result->message);
    ek__stream_list(s, "locations", false);
    if (result->place.path || result->place.name)
        write_place(s, &result->place, 0);
    ek__stream_end(s);
    if (result->fix && result->place.path && result->place.end_column > 0)
        write_fixes(s, result);
    if (result->suppressed)
        ek__stream_raw(s, "suppressions", "[{\"kind\": \"inSource\"}]");
    if (result->n_related > 0) {
        ek__stream_list(s, "relatedLocations", false);
        for (int i = 0; i < result->n_related; i++)
            write_place(s, &result->related[i], i + 1);
        ek__stream_end(s);
    }
    write_figures(s, result);
    ek__stream_end(s);
}

ek_status ek__sarif_end(ek__sarif *sarif, ek_error *err)
{
    for (int open = 0; open < 4; open++)
        ek__stream_end(&sarif->s);
    fputc('\n', sarif->s.out);
    return ek__finish(sarif->s.out, err);
}
