/* Reads the expressions of gates: a name, and optionally a relation and a value with its unit. A name is one of a
 * finding or level where the result has such, else a path of the JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/lint.h"
#include "figures/names.h"
#include "figures/schema.h"
#include "report/sarif.h"
#include "write/gate.h"

enum { MAX_NAMES = EK_MAX_LINT_RULES + EK__MAX_SARIF_RULES };

/* ---- findings ---- */

const ek__findings *ek__findings_of(ek_output_kind kind)
{
    static const ek__findings lint = {"findings", "rule", "level",  ek__lint_level_name, NULL, NULL, NULL,
                                      "path",     "line", "message"},
                              ir = {"findings", "check", "severity", ek__ir_severity_name, NULL, NULL, "bytes",
                                    "file",     "line",  "text"},
                              diagnosis = {"bottlenecks",  "id", NULL, NULL, "share",
                                           "cost_seconds", NULL, NULL, NULL, "title"};
    return kind == EK_OUTPUT_LINT        ? &lint
           : kind == EK_OUTPUT_IR        ? &ir
           : kind == EK_OUTPUT_DIAGNOSIS ? &diagnosis
                                         : NULL;
}

int ek__finding_names(ek_output_kind kind, const char **out, int most)
{
    int n = 0;
    if (kind == EK_OUTPUT_LINT) {
        const ek_lint_rule *rule[EK_MAX_LINT_RULES];
        n = ek_lint_rules(rule);
        for (int i = 0; i < n && i < most; i++)
            out[i] = rule[i]->id;
    } else if (kind == EK_OUTPUT_IR || kind == EK_OUTPUT_DIAGNOSIS) {
        ek__sarif_rule rules[EK__MAX_SARIF_RULES];
        const ek__sarif_rule *rule = rules;
        if (kind == EK_OUTPUT_IR)
            rule = ek__ir_sarif_rules(&n);
        else
            n = ek__diagnosis_sarif_rules(rules);
        for (int i = 0; i < n && i < most; i++)
            out[i] = rule[i].id;
    }
    return n < most ? n : most;
}

/* ---- units ---- */

typedef struct unit {
    const char *word;
    ek__quantity quantity;
    double in_base;
} unit;

static const unit units[] = {
    {"us", EK__QUANTITY_TIME, 1e-6},    {"ms", EK__QUANTITY_TIME, 1e-3},     {"s", EK__QUANTITY_TIME, 1},
    {"min", EK__QUANTITY_TIME, 60},     {"h", EK__QUANTITY_TIME, 3600},      {"B", EK__QUANTITY_SIZE, 0x1p-20},
    {"KB", EK__QUANTITY_SIZE, 0x1p-10}, {"MB", EK__QUANTITY_SIZE, 1},        {"GB", EK__QUANTITY_SIZE, 0x1p10},
    {"TB", EK__QUANTITY_SIZE, 0x1p20},  {"KiB", EK__QUANTITY_SIZE, 0x1p-10}, {"MiB", EK__QUANTITY_SIZE, 1},
    {"GiB", EK__QUANTITY_SIZE, 0x1p10}, {"TiB", EK__QUANTITY_SIZE, 0x1p20},  {"%", EK__QUANTITY_PART, 0.01},
    {"GB/s", EK__QUANTITY_SPEED, 1},
};
enum { N_UNITS = sizeof units / sizeof *units };

static const unit *find_unit(const char *word)
{
    for (int i = 0; i < N_UNITS; i++)
        if (strcmp(units[i].word, word) == 0)
            return &units[i];
    return NULL;
}

static const char *words_of(ek__quantity quantity)
{
    static const char *const words[] = {[EK__QUANTITY_NONE] = "no unit",
                                        [EK__QUANTITY_TIME] = "us, ms, s, min or h",
                                        [EK__QUANTITY_SIZE] = "B, KB, MB, GB or TB",
                                        [EK__QUANTITY_PART] = "% or no unit",
                                        [EK__QUANTITY_SPEED] = "GB/s"};
    return words[quantity];
}

/* ---- values ---- */

/* "10%", "1.5 GB", "3": a number and the word after it. */
static ek_status read_number(ek__gate *gate, const char *value, const unit **found, ek_error *err)
{
    char number[EK__GATE_TEXT];
    size_t size = strspn(value, "0123456789.+-eE");
    /* The e of an exponent has a digit or a sign after it. */
    while (size > 0 && (value[size - 1] == 'e' || value[size - 1] == 'E'))
        size--;
    snprintf(number, sizeof number, "%.*s", (int)size, value);
    const char *word = value + size + strspn(value + size, " ");
    char *end = number;
    gate->limit = ek__strtod(number, &end);
    if (size == 0 || *end || !isfinite(gate->limit))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: '%s' is no number with a unit; write for example %s%s10%%",
                        gate->text, value, gate->name, gate->relation == EK__GATE_BELOW ? "<" : ">");
    *found = *word ? find_unit(word) : NULL;
    if (*word && !*found)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%s: '%s' is no unit; known are us, ms, s, min, h, B, KB, MB, GB, TB, %% and GB/s", gate->text,
                        word);
    snprintf(gate->unit, sizeof gate->unit, "%s", word);
    return EK_OK;
}

static ek_status wrong_unit(const ek__gate *gate, ek__quantity quantity, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: %s takes %s (got '%s')", gate->text, gate->name,
                    words_of(quantity), gate->unit);
}

/* A number compared with a figure of a kind. Without a unit it is in that of the JSON. */
static ek_status read_quantity(ek__gate *gate, const char *value, ek__kind kind, ek_error *err)
{
    const unit *u;
    double in_base;
    ek__quantity quantity = ek__quantity_of(kind, &in_base);
    ek_status status = read_number(gate, value, &u, err);
    if (status)
        return status;
    if (u && u->quantity != quantity)
        return wrong_unit(gate, quantity, err);
    gate->scale = u ? in_base / u->in_base : 1;
    if (!u && quantity != EK__QUANTITY_NONE && quantity != EK__QUANTITY_PART)
        snprintf(gate->unit, sizeof gate->unit, "%.15s", ek__kind_unit(kind));
    return EK_OK;
}

/* A word compared with a text, true or false compared with a flag. */
static ek_status read_word(ek__gate *gate, const char *value, ek_error *err)
{
    if (gate->relation != EK__GATE_IS && gate->relation != EK__GATE_IS_NOT)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: %s is %s, which takes = or !=", gate->text, gate->name,
                        gate->is_flag ? "true or false" : "a text");
    if (gate->is_flag && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: %s is true or false (got '%s')", gate->text, gate->name,
                        value);
    snprintf(gate->word, sizeof gate->word, "%s", value);
    return EK_OK;
}

/* A number compared with a finding: without a unit a count, with one the figure of that quantity. */
static ek_status read_of_finding(const ek__findings *findings, ek__gate *gate, const char *value, ek_error *err)
{
    const unit *u;
    ek_status status = read_number(gate, value, &u, err);
    if (status)
        return status;
    gate->scale = u ? 1 / u->in_base : 1;
    gate->key = !u                                 ? NULL
                : u->quantity == EK__QUANTITY_PART ? findings->share
                : u->quantity == EK__QUANTITY_TIME ? findings->seconds
                : u->quantity == EK__QUANTITY_SIZE ? findings->bytes
                                                   : NULL;
    if (u && u->quantity == EK__QUANTITY_SIZE)
        gate->scale *= 0x1p-20;
    if (u && (!gate->key || gate->about == EK__GATE_LEVEL))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: findings of '%s' have no figure in %s; %s", gate->text,
                        gate->name, gate->unit,
                        findings->share   ? "a bottleneck has a share (%) and a time (ms, s)"
                        : findings->bytes ? "a finding has bytes (MB, GB), or is counted without a unit"
                                          : "they are counted, without a unit");
    gate->about = gate->key ? EK__GATE_FINDING : gate->about;
    if (!u && findings->share)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%s: a bottleneck is compared with a share or a time; write for example %s>10%% or %s>50ms",
                        gate->text, gate->name, gate->name);
    return EK_OK;
}

/* ---- expressions ---- */

const char *const ek__gate_word[] = {
    [EK__GATE_ABOVE] = "above", [EK__GATE_NOT_BELOW] = "not below",
    [EK__GATE_BELOW] = "below", [EK__GATE_NOT_ABOVE] = "not above",
    [EK__GATE_IS] = "",         [EK__GATE_IS_NOT] = "not",
};

/* Cut blanks at both ends. */
static void trim(const char *text, size_t size, char out[EK__GATE_TEXT])
{
    while (size > 0 && strchr(" \t\n", *text))
        text++, size--;
    while (size > 0 && strchr(" \t\n", text[size - 1]))
        size--;
    snprintf(out, EK__GATE_TEXT, "%.*s", (int)size, text);
}

/* @return bytes of the relation; 0: there is none */
static size_t read_relation(const char *at, ek__gate_relation *out)
{
    static const struct {
        const char *text;
        ek__gate_relation relation;
    } known[] = {{">=", EK__GATE_NOT_BELOW}, {"<=", EK__GATE_NOT_ABOVE}, {"!=", EK__GATE_IS_NOT}, {"==", EK__GATE_IS},
                 {">", EK__GATE_ABOVE},      {"<", EK__GATE_BELOW},      {"=", EK__GATE_IS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(at, known[i].text, strlen(known[i].text)) == 0) {
            *out = known[i].relation;
            return strlen(known[i].text);
        }
    return 0;
}

/* Is the name one of a finding, or a level? */
static bool is_finding(ek_output_kind kind, const ek__findings *findings, ek__gate *gate)
{
    const char *name[MAX_NAMES];
    int n = findings ? ek__finding_names(kind, name, MAX_NAMES) : 0;
    for (int i = 0; findings && findings->levels && i < 3; i++)
        if (strcmp(findings->levels[i], gate->name) == 0) {
            gate->about = EK__GATE_LEVEL;
            gate->level = i;
            return true;
        }
    gate->about = EK__GATE_COUNT;
    for (int i = 0; i < n; i++)
        if (strcmp(name[i], gate->name) == 0)
            return true;
    gate->about = EK__GATE_FIGURE;
    return false;
}

/* A name without a relation that is not the name of a finding. */
static ek_status bare_name(ek_output_kind kind, const ek__findings *findings, ek__gate *gate, ek_error *err)
{
    const char *name[MAX_NAMES + 3];
    ek__kind figure;
    int n = findings ? ek__finding_names(kind, name, MAX_NAMES) : 0;
    bool path = ek__gate_path(kind, gate, &figure, err) == EK_OK;
    if (path)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: a figure is compared; write for example %s%s", gate->text,
                        gate->name,
                        gate->is_flag   ? "=false"
                        : gate->is_text ? "=WORD"
                                        : ">1");
    for (int i = 0; findings && findings->levels && i < 3; i++)
        name[n++] = findings->levels[2 - i];
    return n > 0 ? ek__gate_unknown(gate, "there are no findings", gate->name, name, n, err) : EK_ERR_INPUT;
}

ek_status ek__gate_read(ek_output_kind kind, const char *text, size_t size, ek__gate *out, ek_error *err)
{
    const ek__findings *findings = ek__findings_of(kind);
    ek__gate gate = {.scale = 1};
    ek__kind figure;
    char value[EK__GATE_TEXT];
    trim(text, size, gate.text);
    size_t n = strcspn(gate.text, "<>=!"), more = read_relation(gate.text + n, &gate.relation);
    if (size >= EK__GATE_TEXT)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a gate has at most %d bytes (got %zu)", EK__GATE_TEXT - 1,
                        size);
    trim(gate.text, n, gate.name);
    trim(gate.text + n + more, strlen(gate.text + n + more), value);
    if (!*gate.name)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "'%s' is no gate; write a figure with a relation and a value, or a finding's name", gate.text);
    if (gate.text[n] && (more == 0 || !*value))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: a relation is one of > >= < <= = != followed by a value",
                        gate.text);
    bool finding = is_finding(kind, findings, &gate);
    ek_status status = EK_OK;
    if (finding && more == 0)
        gate.relation = EK__GATE_ABOVE; /* fails when there is any */
    else if (finding)
        status = read_of_finding(findings, &gate, value, err);
    else if (more == 0)
        status = bare_name(kind, findings, &gate, err);
    else if ((status = ek__gate_path(kind, &gate, &figure, err)) == EK_OK)
        status = gate.is_text || gate.is_flag ? read_word(&gate, value, err) : read_quantity(&gate, value, figure, err);
    if (status == EK_OK)
        *out = gate;
    return status;
}
