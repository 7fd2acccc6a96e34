/* Rules that the verdict hangs on: every rule that is assumed is put to each of its alternatives, alone, and the job is
 * predicted again. One at a time: what two rules do together is not looked for, since the more are changed the less
 * likely the case is. A rule that differs from the framework's default was set by the file or by calibration, and one
 * that the user named is his word; neither is assumed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/memory.h"

static bool is_assumed(const ek_job *job, const ek_rules *usual, int rule)
{
    char value[64], default_value[64];
    if (!*ek_rule_alternatives[rule] || (job->rules_told >> rule & 1))
        return false;
    ek_rules_get(&job->rules, ek_rule_names[rule], value, sizeof value);
    ek_rules_get(usual, ek_rule_names[rule], default_value, sizeof default_value);
    return strcmp(value, default_value) == 0;
}

/* Is a the nearer one? Words and switches are all alike. */
static bool is_nearer(const char *a, const char *b, const char *value)
{
    double to = strtod(value, NULL), x = strtod(a, NULL) - to, y = strtod(b, NULL) - to;
    return x * x < y * y;
}

/* Alternatives of a rule, without its value, the nearest first. @return how many */
static int alternatives_of(int rule, const char *value, char out[][32], int room)
{
    int n = 0;
    for (const char *at = ek_rule_alternatives[rule]; *at && n < room; at += strspn(at, ",")) {
        char text[32];
        size_t length = strcspn(at, ",");
        snprintf(text, sizeof text, "%.*s", (int)length, at);
        at += length;
        if (strcmp(text, value) == 0)
            continue;
        int place = n++;
        for (; place > 0 && is_nearer(text, out[place - 1], value); place--)
            memcpy(out[place], out[place - 1], sizeof out[place]);
        memcpy(out[place], text, sizeof text);
    }
    return n;
}

static double peak_mb(const ek_memory *memory, int stage)
{
    return (double)memory->stage[stage].actual_peak / (1 << 20);
}

/* One rule with another value. @return whether the verdict changes, in *changes */
static ek_status flip(const ek_job *job, const ek_memory *memory, ek_memory_assumption *out, bool *changes,
                      ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    char assignment[128];
    ek_job changed = *job; /* borrows all that it points to */
    ek_memory other;
    snprintf(assignment, sizeof assignment, "%s=%s", out->rule, out->other);
    ek_status status = ek_rules_set(&changed.rules, assignment, err);
    if (!status)
        status = ek_memory_predict(&changed, &options, &other, err);
    if (status)
        return status;
    *changes = other.fits != memory->fits;
    out->fits = other.fits;
    out->stage = memory->fits ? other.fullest : memory->fullest;
    out->mb = peak_mb(memory, out->stage);
    out->other_mb = peak_mb(&other, out->stage);
    ek_memory_clear(&other);
    return EK_OK;
}

ek_status ek_memory_assumptions(const ek_job *job, const ek_memory *memory,
                                ek_memory_assumption out[EK_MAX_ASSUMPTIONS], int *n, ek_error *err)
{
    enum { MOST = 8 };
    const ek_rules usual = ek_rules_default(job->framework);
    ek_status status = EK_OK;
    int found = 0;
    for (int rule = 0; memory->limit > 0 && ek_rule_names[rule] && !status; rule++) {
        char other[MOST][32];
        ek_memory_assumption a = {.rule = ek_rule_names[rule]};
        ek_rules_get(&job->rules, a.rule, a.value, sizeof a.value);
        int n_other = is_assumed(job, &usual, rule) ? alternatives_of(rule, a.value, other, MOST) : 0;
        for (int i = 0; i < n_other && !status && found < EK_MAX_ASSUMPTIONS; i++) {
            bool changes = false;
            memcpy(a.other, other[i], sizeof a.other);
            status = flip(job, memory, &a, &changes, err);
            if (changes)
                out[found++] = a;
        }
    }
    *n = status ? 0 : found;
    return status;
}
