/* Finds the rules that the verdict depends on: each assumed rule is set to each of its alternatives, one at a time, and
 * the job is predicted again. Combinations of rules are not tried, since more changes make a case less likely. A rule
 * that differs from the framework's default was set by the file or by calibration, and one set by the user is certain;
 * neither is assumed. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/memory.h"
#include "memory/assumed.h"
#include "memory/program.h"

static bool is_assumed(const ek_job *job, const ek_rules *usual, int rule)
{
    char value[64], default_value[64];
    assert(rule >= 0 && rule < 64 && ek_rule_names[rule]); /* a bit of rules_told */
    if (!*ek_rule_alternatives[rule] || (job->rules_told >> rule & 1))
        return false;
    ek_rules_get(&job->rules, ek_rule_names[rule], value, sizeof value);
    ek_rules_get(usual, ek_rule_names[rule], default_value, sizeof default_value);
    return strcmp(value, default_value) == 0;
}

/* Is a the nearer one? Words and switches are all equally near. */
static bool is_nearer(const char *a, const char *b, const char *value)
{
    double to = ek__strtod(value, NULL), x = ek__strtod(a, NULL) - to, y = ek__strtod(b, NULL) - to;
    return x * x < y * y;
}

/* Alternatives of a rule, without its value, the nearest first. @return their number */
static int alternatives_of(int rule, const char *value, char out[][EK__ALTERNATIVE], int room)
{
    int n = 0;
    for (const char *at = ek_rule_alternatives[rule]; *at && n < room; at += strspn(at, ",")) {
        char text[32];
        size_t length = strcspn(at, ",");
        assert(length > 0 && length < sizeof text);
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

int ek__assumed_alternatives(const ek_job *job, const ek_rules *usual, int rule,
                             char out[EK__MAX_ALTERNATIVES][EK__ALTERNATIVE])
{
    char value[32];
    if (!is_assumed(job, usual, rule))
        return 0;
    ek_rules_get(&job->rules, ek_rule_names[rule], value, sizeof value);
    return alternatives_of(rule, value, out, EK__MAX_ALTERNATIVES);
}

/* ---- rules that cannot change the result ---- */

static bool same_program(const ek__program *a, const ek__program *b)
{
    if (a->n_buffers != b->n_buffers)
        return false;
    for (int i = 0; i < a->n_buffers; i++)
        if (a->buffer[i].bytes != b->buffer[i].bytes || a->buffer[i].what != b->buffer[i].what)
            return false;
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
        if (a->n_events[k] != b->n_events[k] ||
            memcmp(a->event[k], b->event[k], (size_t)a->n_events[k] * sizeof *a->event[k]) != 0)
            return false;
    return true;
}

/* Do two jobs that differ in one rule request the same tensors in the same order? Then their predictions are equal. */
static bool same_requests(const ek_job *a, const ek__job_programs *of_a, const ek_job *b, const ek__job_programs *of_b)
{
    if (of_a->n_programs != of_b->n_programs || of_a->border != of_b->border ||
        of_a->border_gradient != of_b->border_gradient || of_a->mask != of_b->mask ||
        memcmp(of_a->bytes, of_b->bytes, sizeof of_a->bytes) != 0)
        return false;
    for (int i = 0; i < of_a->n_programs; i++)
        if (!same_program(of_a->program[i], of_b->program[i]))
            return false;
    for (int s = 0; s < a->plan.n_stages; s++)
        if (ek__stage_other(a, of_a, s) != ek__stage_other(b, of_b, s))
            return false;
    return true;
}

/* @param same  out: whether the rule has no effect in this job */
static ek_status compare(const ek_job *job, const ek__job_programs *programs, const ek_job *changed, bool *same,
                         ek_error *err)
{
    ek__job_programs *others;
    ek_status status = ek__job_programs_new(changed, &others, err);
    if (status)
        return status;
    *same = same_requests(job, programs, changed, others);
    ek__job_programs_free(others);
    return EK_OK;
}

/* Live bytes alone exceed the limit, so the tensors need not be placed, which takes long. They may exceed the
 * allocator's figure by the rounding of tensors. */
static ek_status is_over(const ek_job *job, bool *over, ek_error *err)
{
    static const ek_memory_options used = {.without_allocation = true, .without_top = true};
    enum { ROUNDING = 16 << 20 };
    ek_memory memory;
    ek_status status = ek_memory_predict(job, &used, &memory, err);
    if (status)
        return status;
    *over = memory.limit > 0 && memory.margin < -ROUNDING;
    ek_memory_clear(&memory);
    return EK_OK;
}

static double peak_mb(const ek_memory *memory, int stage)
{
    assert(stage >= 0 && stage < memory->n_stages);
    return (double)memory->stage[stage].actual_peak / (1 << 20);
}

/* One rule with another value. @param changes out: the verdict is different */
static ek_status flip(const ek_job *job, const ek__job_programs *programs, const ek_memory *memory,
                      ek_memory_assumption *out, bool *changes, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    char assignment[128];
    ek_job changed = *job; /* borrows everything it points to */
    ek_memory other;
    snprintf(assignment, sizeof assignment, "%s=%s", out->rule, out->other);
    bool same = false;
    ek_status status = ek_rules_set(&changed.rules, assignment, err);
    if (!status)
        status = compare(job, programs, &changed, &same, err);
    if (!status && !same && !memory->fits)
        status = is_over(&changed, &same, err);
    if (same)
        return status;
    if (!status)
        status = ek_memory_predict(&changed, &options, &other, err);
    if (status)
        return status;
    *changes = other.fits != memory->fits;
    out->fits = other.fits;
    out->stage = memory->fits ? other.fullest : memory->fullest;
    assert(other.n_stages == memory->n_stages);
    out->mb = peak_mb(memory, out->stage);
    out->other_mb = peak_mb(&other, out->stage);
    ek_memory_clear(&other);
    return EK_OK;
}

ek_status ek_memory_assumptions(const ek_job *job, const ek_memory *memory,
                                ek_memory_assumption out[EK_MAX_ASSUMPTIONS], int *n, ek_error *err)
{
    const ek_rules usual = ek_rules_default(job->framework);
    ek__job_programs *programs = NULL;
    ek_status status = memory->limit > 0 ? ek__job_programs_new(job, &programs, err) : EK_OK;
    int found = 0;
    for (int rule = 0; programs && ek_rule_names[rule] && !status; rule++) {
        char other[EK__MAX_ALTERNATIVES][EK__ALTERNATIVE];
        ek_memory_assumption a = {.rule = ek_rule_names[rule]};
        ek_rules_get(&job->rules, a.rule, a.value, sizeof a.value);
        int n_other = ek__assumed_alternatives(job, &usual, rule, other);
        for (int i = 0; i < n_other && !status && found < EK_MAX_ASSUMPTIONS; i++) {
            bool changes = false;
            memcpy(a.other, other[i], sizeof a.other);
            status = flip(job, programs, memory, &a, &changes, err);
            if (changes)
                out[found++] = a;
        }
    }
    ek__job_programs_free(programs);
    assert(found <= EK_MAX_ASSUMPTIONS);
    *n = status ? 0 : found;
    return status;
}
