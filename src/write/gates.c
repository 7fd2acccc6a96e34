/* Gates: compares a result's JSON with expressions. The figures are those that a script would read from that JSON, so a
 * gate and a script cannot disagree. */
#include "evenkeel/gate.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "base/error.h"
#include "write/gate.h"

enum { PLACE = 512, SENTENCE = 1536 };

struct ek_gates {
    ek_output_kind kind;
    int n;
    ek__gate gate[EK__MAX_GATES];
};

/* ---- reading ---- */

static ek_status read_all(ek_gates *gates, const char *text, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t size; status == EK_OK; text += size + 1) {
        size = strcspn(text, ",");
        if (gates->n == EK__MAX_GATES)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there are more than %d gates", EK__MAX_GATES);
        status = ek__gate_read(gates->kind, text, size, &gates->gate[gates->n++], err);
        if (!text[size])
            break;
    }
    return status;
}

ek_status ek_gates_read(ek_output_kind kind, const char *text, ek_gates **out, ek_error *err)
{
    ek_gates *gates = ek__alloc(1, sizeof *gates);
    if (!gates)
        return ek__no_memory(err);
    gates->kind = kind;
    ek_status status = read_all(gates, text, err);
    if (status)
        ek_gates_free(gates);
    else
        *out = gates;
    return status;
}

void ek_gates_free(ek_gates *gates)
{
    free(gates);
}

/* ---- values ---- */

/* The result of one gate. */
typedef struct judged {
    int n, n_unknown, n_failed; /* figures, or findings; the unknown ones among them; the failing ones */
    double worst;               /* of those that fail the most extreme one */
    char where[PLACE];          /* its path; of findings the first one */
    char word[EK__GATE_TEXT];   /* of a text */
} judged;

static bool holds(ek__gate_relation relation, double value, double limit)
{
    switch (relation) {
    case EK__GATE_ABOVE:
        return value > limit;
    case EK__GATE_NOT_BELOW:
        return value >= limit;
    case EK__GATE_BELOW:
        return value < limit;
    case EK__GATE_NOT_ABOVE:
        return value <= limit;
    case EK__GATE_IS:
        return value == limit;
    default:
        return value != limit;
    }
}

/* Is a value more extreme in the direction of the gate than the worst one so far? */
static bool is_worse(const ek__gate *gate, const judged *j, double value)
{
    bool low = gate->relation == EK__GATE_BELOW || gate->relation == EK__GATE_NOT_ABOVE;
    return j->n_failed == 0 || (low ? value < j->worst : value > j->worst);
}

static void judge_number(const ek__gate *gate, double value, const char *where, judged *j)
{
    value *= gate->scale;
    if (!holds(gate->relation, value, gate->limit))
        return;
    if (is_worse(gate, j, value)) {
        j->worst = value;
        snprintf(j->where, sizeof j->where, "%s", where);
    }
    j->n_failed++;
}

static void judge_word(const ek__gate *gate, const char *word, const char *where, judged *j)
{
    bool same = strcmp(word, gate->word) == 0;
    if (same != (gate->relation == EK__GATE_IS))
        return;
    if (j->n_failed++ == 0) {
        snprintf(j->where, sizeof j->where, "%s", where);
        snprintf(j->word, sizeof j->word, "%s", word);
    }
}

static void judge_value(const ek__gate *gate, const json_t *value, const char *where, judged *j)
{
    j->n++;
    if (gate->is_flag && json_is_boolean(value))
        judge_word(gate, json_is_true(value) ? "true" : "false", where, j);
    else if (gate->is_text && json_is_string(value))
        judge_word(gate, json_string_value(value), where, j);
    else if (!gate->is_flag && !gate->is_text && json_is_number(value))
        judge_number(gate, json_number_value(value), where, j);
    else
        j->n_unknown++;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the path */
/* Go down the path from its part `at` on; `where` is the path so far, with the numbers of entries. */
static void judge_path(const ek__gate *gate, int at, const json_t *value, const char *where, judged *j)
{
    const ek__segment *s = &gate->segment[at];
    char here[PLACE];
    if (at == gate->n_segments) {
        judge_value(gate, value, where, j);
    } else if (!s->in_list) {
        snprintf(here, sizeof here, "%s%s%s", where, *where ? "." : "", s->key);
        judge_path(gate, at + 1, json_object_get(value, s->key), here, j);
    } else if (s->index >= 0) {
        snprintf(here, sizeof here, "%s[%d]", where, s->index);
        judge_path(gate, at + 1, json_array_get(value, (size_t)s->index), here, j);
    } else if (!json_is_array(value)) {
        judge_value(gate, NULL, where, j);
    } else {
        for (size_t i = 0; i < json_array_size(value); i++) {
            snprintf(here, sizeof here, "%s[%zu]", where, i);
            judge_path(gate, at + 1, json_array_get(value, i), here, j);
        }
    }
}
/* NOLINTEND(misc-no-recursion) */

/* ---- findings ---- */

static const char *text_of(const json_t *finding, const char *key)
{
    return key ? json_string_value(json_object_get(finding, key)) : NULL;
}

static bool is_meant(const ek__gate *gate, const ek__findings *f, const json_t *finding)
{
    const char *name = text_of(finding, f->name), *level = text_of(finding, f->level);
    if (gate->about != EK__GATE_LEVEL)
        return name && strcmp(name, gate->name) == 0;
    for (int i = gate->level; level && i < 3; i++)
        if (strcmp(level, f->levels[i]) == 0)
            return true;
    return false;
}

/* "at train.yaml:3", or the finding's own text. */
static void place_finding(const ek__findings *f, const json_t *finding, char text[PLACE])
{
    const char *file = text_of(finding, f->file), *title = text_of(finding, f->title);
    const json_t *line = f->line ? json_object_get(finding, f->line) : NULL;
    if (file && json_is_integer(line))
        snprintf(text, PLACE, "%s at %.400s:%d", text_of(finding, f->name), file, (int)json_integer_value(line));
    else
        snprintf(text, PLACE, "%.500s", title ? title : text_of(finding, f->name));
    size_t n = strlen(text);
    if (n > 0 && text[n - 1] == '.')
        text[n - 1] = '\0';
}

static void judge_findings(const ek__gate *gate, const ek__findings *f, const json_t *root, judged *j)
{
    const json_t *list = json_object_get(root, f->list);
    char where[PLACE];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *finding = json_array_get(list, i);
        if (!is_meant(gate, f, finding))
            continue;
        place_finding(f, finding, where);
        if (gate->about == EK__GATE_FINDING) {
            const json_t *value = json_object_get(finding, gate->key);
            if (json_is_number(value))
                judge_number(gate, json_number_value(value), where, j);
        } else if (j->n++ == 0) {
            snprintf(j->where, sizeof j->where, "%s", where);
        }
    }
    if (gate->about != EK__GATE_FINDING)
        j->n_failed = holds(gate->relation, j->n, gate->limit);
}

/* ---- sentences ---- */

/* "29.9 %", in the form for messages. */
static void print_value(double value, const char *unit, char text[96])
{
    snprintf(text, 96, "%s%s%s", ek__short(value).text, *unit ? " " : "", unit);
}

/* ", above 10 %": the relation to the gate's value; empty where the gate names the value. */
static void print_relation(const ek__gate *gate, const char *unit, char text[128])
{
    char limit[96];
    print_value(gate->limit, unit, limit);
    snprintf(text, 128, ", %s %s", ek__gate_word[gate->relation], limit);
    if (gate->relation == EK__GATE_IS)
        *text = '\0';
}

static void tell_unknown(const ek__gate *gate, char text[SENTENCE])
{
    snprintf(text, SENTENCE, "%s is not known, and a gate does not pass for want of it (%s)", gate->name, gate->text);
}

static void tell_figure(const ek__gate *gate, const judged *j, char text[SENTENCE])
{
    char value[96], relation[128], more[48] = "";
    if (j->n_failed > 1)
        snprintf(more, sizeof more, ", and %d more", j->n_failed - 1);
    if (gate->is_text || gate->is_flag) {
        snprintf(text, SENTENCE, "%s is %s%s (%s)", j->where, j->word, more, gate->text);
        return;
    }
    print_value(j->worst, gate->unit, value);
    print_relation(gate, gate->unit, relation);
    snprintf(text, SENTENCE, "%s is %s%s%s (%s)", j->where, value, relation, more, gate->text);
}

static void tell_finding(const ek__gate *gate, const judged *j, char text[SENTENCE])
{
    char value[96], relation[128];
    print_value(j->worst, gate->unit, value);
    print_relation(gate, gate->unit, relation);
    snprintf(text, SENTENCE, "%s has %s%s: %s (%s)", gate->name, value, relation, j->where, gate->text);
}

static void tell_count(const ek__gate *gate, const judged *j, char text[SENTENCE])
{
    char relation[128], first[PLACE + 16] = "", of[EK__GATE_TEXT + 32];
    print_relation(gate, "", relation);
    if (j->n > 0)
        snprintf(first, sizeof first, "%s%s", j->n > 1 ? ", the first: " : ": ", j->where);
    snprintf(of, sizeof of, gate->about == EK__GATE_LEVEL ? "of level %s or above" : "of %s", gate->name);
    snprintf(text, SENTENCE, "there %s %d finding%s %s%s%s (%s)", j->n == 1 ? "is" : "are", j->n, j->n == 1 ? "" : "s",
             of, relation, first, gate->text);
}

/* ---- checking ---- */

/* @return does it fail? Then with a sentence. */
static bool check(const ek__gate *gate, const ek__findings *findings, const json_t *root, char text[SENTENCE])
{
    judged j = {.n = 0};
    if (gate->about != EK__GATE_FIGURE) {
        assert(findings);
        judge_findings(gate, findings, root, &j);
        if (j.n_failed > 0)
            (gate->about == EK__GATE_FINDING ? tell_finding : tell_count)(gate, &j, text);
        return j.n_failed > 0;
    }
    judge_path(gate, 0, root, "", &j);
    if (j.n_failed > 0)
        tell_figure(gate, &j, text);
    else if (j.n > 0 && j.n_unknown == j.n)
        tell_unknown(gate, text);
    return j.n_failed > 0 || (j.n > 0 && j.n_unknown == j.n);
}

ek_status ek_gates_check(const ek_gates *gates, ek_output output, ek_gate_failed tell, void *user, int *n_failed,
                         ek_error *err)
{
    char *text, sentence[SENTENCE];
    size_t size;
    int failed = 0;
    assert(output.kind == gates->kind);
    ek_status status = ek_write_text(output, "json", &text, &size, err);
    if (status)
        return status;
    locale_t before = ek__c_locale_enter();
    json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
    ek__c_locale_leave(before);
    free(text);
    if (!root)
        return ek__no_memory(err);
    for (int i = 0; i < gates->n; i++)
        if (check(&gates->gate[i], ek__findings_of(gates->kind), root, sentence)) {
            failed++;
            if (tell)
                tell(user, sentence);
        }
    json_decref(root);
    *n_failed = failed;
    return EK_OK;
}
