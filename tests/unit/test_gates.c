/* Tests gates: the expressions, their results, and the messages for wrong ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "evenkeel/device.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/gate.h"
#include "evenkeel/lint.h"
#include "evenkeel/metrics.h"
#include "evenkeel/metrics_report.h"

/* ---- a run's metrics, a linter's findings, a diagnosis ---- */

typedef struct made {
    ek_metrics_input input;
    ek_metrics metrics;
    ek_metrics_report report;
    ek_lint_finding finding[3];
    ek_lint lint;
    ek_bottleneck bottleneck[3];
    ek_diagnosis diagnosis;
} made;

static void make(made *m)
{
    ek_error err;
    *m = (made){.input = {.step_seconds = 11.5,
                          .n_devices = 128,
                          .global_batch = 256,
                          .seq_length = 4096,
                          .parameters = 38e9,
                          .peak_tflops = 360,
                          .n_stages = 4,
                          .n_chunks = 4,
                          .n_micro_batches = 32}};
    assert_int_equal(ek_metrics_compute(&m->input, &m->metrics, &err), EK_OK);
    m->report = (ek_metrics_report){.input = &m->input, .metrics = &m->metrics, .source = "given"};
    const ek_lint_rule *rule[EK_MAX_LINT_RULES], *of[3] = {NULL};
    for (int n = ek_lint_rules(rule), i = 0; i < n; i++)
        of[rule[i]->level] = rule[i];
    m->finding[0] = (ek_lint_finding){of[EK_LINT_WARNING], "a.yaml", 3, 1, 0, "first", NULL, "", NULL, 0};
    m->finding[1] = (ek_lint_finding){of[EK_LINT_NOTE], "a.yaml", 7, 1, 0, "second", NULL, "", NULL, 0};
    m->finding[2] = (ek_lint_finding){of[EK_LINT_NOTE], "b.yaml", 1, 1, 0, "third", NULL, "", NULL, 0};
    m->lint = (ek_lint){.n_findings = 3, .n_files = 2, .finding = m->finding};
    m->bottleneck[0] = (ek_bottleneck){.id = "memory",
                                       .title = "Stage 1 is over its limit.",
                                       .cost_seconds = NAN,
                                       .share = NAN,
                                       .gain_seconds = NAN,
                                       .gain_share = NAN};
    m->bottleneck[1] = (ek_bottleneck){.id = "bubble",
                                       .title = "Bubbles take 20.0 % of a step.",
                                       .cost_seconds = 0.2,
                                       .share = 0.2,
                                       .gain_seconds = 0.1,
                                       .gain_share = 0.1};
    m->bottleneck[2] = (ek_bottleneck){.id = "bubble",
                                       .title = "Bubbles take 5.0 % of a step.",
                                       .cost_seconds = 0.05,
                                       .share = 0.05,
                                       .gain_seconds = NAN,
                                       .gain_share = NAN};
    m->diagnosis = (ek_diagnosis){.step_seconds = 1, .n_bottlenecks = 3, .bottleneck = m->bottleneck};
}

static ek_output output_of(const made *m, ek_output_kind kind)
{
    return kind == EK_OUTPUT_METRICS ? ek_output_of_metrics(&m->report)
           : kind == EK_OUTPUT_LINT  ? ek_output_of_lint(&m->lint)
                                     : ek_output_of_diagnosis(&m->diagnosis);
}

/* ---- messages of gates ---- */

typedef struct said {
    int n;
    char last[2048];
} said;

static void listen(void *user, const char *sentence)
{
    said *s = user;
    s->n++;
    snprintf(s->last, sizeof s->last, "%s", sentence);
}

/* @return how many failed */
static int failed(const made *m, ek_output_kind kind, const char *text, said *s)
{
    ek_gates *gates;
    ek_error err;
    int n = -1;
    *s = (said){0};
    if (ek_gates_read(kind, text, &gates, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_gates_check(gates, output_of(m, kind), listen, s, &n, &err), EK_OK);
    assert_int_equal(s->n, n);
    assert_int_equal(ek_gates_check(gates, output_of(m, kind), NULL, NULL, &n, &err), EK_OK);
    assert_int_equal(s->n, n);
    ek_gates_free(gates);
    return n;
}

typedef struct gate_case {
    ek_output_kind kind;
    const char *text;
    int failed;
    const char *said; /* the last sentence; NULL: not looked at */
} gate_case;

static const gate_case cases[] = {
    /* relations at their borders */
    {EK_OUTPUT_METRICS, "n_devices>128", 0, NULL},
    {EK_OUTPUT_METRICS, "n_devices>127", 1, "n_devices is 128, above 127 (n_devices>127)"},
    {EK_OUTPUT_METRICS, "n_devices>=128", 1, "n_devices is 128, not below 128 (n_devices>=128)"},
    {EK_OUTPUT_METRICS, "n_devices>=129", 0, NULL},
    {EK_OUTPUT_METRICS, "n_devices<128", 0, NULL},
    {EK_OUTPUT_METRICS, "n_devices<129", 1, "n_devices is 128, below 129 (n_devices<129)"},
    {EK_OUTPUT_METRICS, "n_devices<=128", 1, "n_devices is 128, not above 128 (n_devices<=128)"},
    {EK_OUTPUT_METRICS, "n_devices<=127", 0, NULL},
    {EK_OUTPUT_METRICS, "n_devices=128", 1, "n_devices is 128 (n_devices=128)"},
    {EK_OUTPUT_METRICS, "n_devices==127", 0, NULL},
    {EK_OUTPUT_METRICS, "n_devices!=128", 0, NULL},
    {EK_OUTPUT_METRICS, "n_devices!=127", 1, "n_devices is 128, not 127 (n_devices!=127)"},
    /* units */
    {EK_OUTPUT_METRICS, " mfu < 50 % ", 1, "mfu is 45.1154 %, below 50 % (mfu < 50 %)"},
    {EK_OUTPUT_METRICS, "mfu<0.5", 1, "mfu is 0.451154, below 0.5 (mfu<0.5)"},
    {EK_OUTPUT_METRICS, "mfu<45%", 0, NULL},
    {EK_OUTPUT_METRICS, "step_seconds>11499ms", 1, "step_seconds is 11500 ms, above 11499 ms (step_seconds>11499ms)"},
    {EK_OUTPUT_METRICS, "step_seconds>11501ms", 0, NULL},
    {EK_OUTPUT_METRICS, "step_seconds>1.15e7us", 0, NULL},
    {EK_OUTPUT_METRICS, "step_seconds>0.19min", 1, NULL},
    {EK_OUTPUT_METRICS, "step_seconds>0.0032h", 0, NULL},
    {EK_OUTPUT_METRICS, "step_seconds>11", 1, "step_seconds is 11.5 s, above 11 s (step_seconds>11)"},
    /* objects, lists, texts, unknown values */
    {EK_OUTPUT_METRICS, "bubble.n_stages=4", 1, NULL},
    {EK_OUTPUT_METRICS, "bubble.share>5%", 0, NULL},
    {EK_OUTPUT_METRICS, "terms[].forward>0", 0, NULL},
    {EK_OUTPUT_METRICS, "terms[0].forward>0", 1,
     "terms[0].forward is not known, and a gate does not pass for want of it (terms[0].forward>0)"},
    {EK_OUTPUT_METRICS, "flops_source=6P", 1, "flops_source is 6P (flops_source=6P)"},
    {EK_OUTPUT_METRICS, "flops_source!=6P", 0, NULL},
    {EK_OUTPUT_METRICS, "flops_source!=counted", 1, "flops_source is 6P (flops_source!=counted)"},
    {EK_OUTPUT_METRICS, "basis.mfu!=derived", 0, NULL},
    {EK_OUTPUT_METRICS, "predicted.mfu<1%", 1,
     "predicted.mfu is not known, and a gate does not pass for want of it (predicted.mfu<1%)"},
    {EK_OUTPUT_METRICS, "linearity>1e9", 1, NULL},
    {EK_OUTPUT_METRICS, "device.certain=false", 1, NULL},
    {EK_OUTPUT_METRICS, "n_devices=128,mfu<50%,mfu<1%", 2, "mfu is 45.1154 %, below 50 % (mfu<50%)"},
    /* findings of levels and names */
    {EK_OUTPUT_LINT, "error", 0, NULL},
    {EK_OUTPUT_LINT, "note", 1, NULL},
    {EK_OUTPUT_LINT, "note>3", 0, NULL},
    {EK_OUTPUT_LINT, "note>=3", 1, NULL},
    {EK_OUTPUT_LINT, "warning=1", 1, NULL},
    {EK_OUTPUT_LINT, "counts.note>1", 1, "counts.note is 2, above 1 (counts.note>1)"},
    {EK_OUTPUT_LINT, "findings[].line>6", 1, "findings[1].line is 7, above 6 (findings[].line>6)"},
    {EK_OUTPUT_LINT, "findings[].line>0", 1, "findings[1].line is 7, above 0, and 2 more (findings[].line>0)"},
    {EK_OUTPUT_LINT, "findings[].line<4", 1, "findings[2].line is 1, below 4, and 1 more (findings[].line<4)"},
    {EK_OUTPUT_LINT, "findings[2].path=b.yaml", 1, "findings[2].path is b.yaml (findings[2].path=b.yaml)"},
    {EK_OUTPUT_LINT, "findings[3].line>0", 1, NULL},
    {EK_OUTPUT_LINT, "suppressed[].line>0", 0, NULL},
    /* bottlenecks and their figures; unknown ones are passed over */
    {EK_OUTPUT_DIAGNOSIS, "bubble>10%", 1, "bubble has 20 %, above 10 %: Bubbles take 20.0 % of a step (bubble>10%)"},
    {EK_OUTPUT_DIAGNOSIS, "bubble>20%", 0, NULL},
    {EK_OUTPUT_DIAGNOSIS, "bubble>150ms", 1, NULL},
    {EK_OUTPUT_DIAGNOSIS, "bubble>0.2s", 0, NULL},
    {EK_OUTPUT_DIAGNOSIS, "bubble<10%", 1, "bubble has 5 %, below 10 %: Bubbles take 5.0 % of a step (bubble<10%)"},
    {EK_OUTPUT_DIAGNOSIS, "memory", 1, "there is 1 finding of memory, above 0: Stage 1 is over its limit (memory)"},
    {EK_OUTPUT_DIAGNOSIS, "memory>1%", 0, NULL},
    {EK_OUTPUT_DIAGNOSIS, "host,slow-rank", 0, NULL},
    {EK_OUTPUT_DIAGNOSIS, "bottlenecks[].gain_share>5%", 1,
     "bottlenecks[1].gain_share is 10 %, above 5 % (bottlenecks[].gain_share>5%)"},
    {EK_OUTPUT_DIAGNOSIS, "bottlenecks[0].share>5%", 1, NULL},
    {EK_OUTPUT_DIAGNOSIS, "bubble", 1,
     "there are 2 findings of bubble, above 0, the first: Bubbles take 20.0 % of a step (bubble)"},
};

static void gates_fail_where_their_condition_holds(void **state)
{
    made m;
    said s;
    (void)state;
    make(&m);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = failed(&m, cases[i].kind, cases[i].text, &s);
        if (n != cases[i].failed || (cases[i].said && strcmp(cases[i].said, s.last) != 0))
            fail_msg("%s: %d failed, not %d: %s", cases[i].text, n, cases[i].failed, s.last);
    }
}

static void a_finding_is_told_with_its_place(void **state)
{
    made m;
    said s;
    char text[512], wanted[1024];
    (void)state;
    make(&m);
    const char *warning = m.finding[0].rule->id, *note = m.finding[1].rule->id;
    assert_int_equal(failed(&m, EK_OUTPUT_LINT, "warning", &s), 1);
    snprintf(wanted, sizeof wanted, "there is 1 finding of level warning or above, above 0: %s at a.yaml:3 (warning)",
             warning);
    assert_string_equal(s.last, wanted);
    snprintf(text, sizeof text, "%s>=2", note);
    assert_int_equal(failed(&m, EK_OUTPUT_LINT, text, &s), 1);
    snprintf(wanted, sizeof wanted, "there are 2 findings of %s, not below 2, the first: %s at a.yaml:7 (%s>=2)", note,
             note, note);
    assert_string_equal(s.last, wanted);
    snprintf(text, sizeof text, "%s<1", note);
    assert_int_equal(failed(&m, EK_OUTPUT_LINT, text, &s), 0);
    m.lint.n_findings = 0;
    assert_int_equal(failed(&m, EK_OUTPUT_LINT, text, &s), 1);
    snprintf(wanted, sizeof wanted, "there are 0 findings of %s, below 1 (%s<1)", note, note);
    assert_string_equal(s.last, wanted);
}

/* ---- numbers, against plain comparisons ---- */

static void numbers_are_compared_as_c_compares_them(void **state)
{
    static const char *const relation[] = {">", ">=", "<", "<=", "=", "!="};
    made m;
    said s;
    char text[128];
    ek__random random = ek__random_seed(7);
    (void)state;
    make(&m);
    for (int i = 0; i < 600; i++) {
        int a = (int)(ek__random_next(&random) % 9), b = (int)(ek__random_next(&random) % 9), r = i % 6;
        m.metrics.step_seconds = a / 4.0;
        snprintf(text, sizeof text, "step_seconds%s%d%s", relation[r], b * 250, "ms");
        bool wanted = r == 0 ? a > b : r == 1 ? a >= b : r == 2 ? a < b : r == 3 ? a <= b : r == 4 ? a == b : a != b;
        if (failed(&m, EK_OUTPUT_METRICS, text, &s) != wanted)
            fail_msg("%g s: %s fails wrongly, or does not", a / 4.0, text);
    }
}

/* ---- wrong ones ---- */

static const struct {
    ek_output_kind kind;
    const char *text, *message; /* how it begins */
} wrong[] = {
    {EK_OUTPUT_METRICS, "mfuu<1",
     "mfuu<1: the JSON has no figure 'mfuu'; did you mean 'mfu'? Known are version, step_s"},
    {EK_OUTPUT_METRICS, "zzzzzz<1", "zzzzzz<1: the JSON has no figure 'zzzzzz'; known are version, step_seconds, "},
    {EK_OUTPUT_METRICS, "mfu", "mfu: a figure is compared; write for example mfu>1"},
    {EK_OUTPUT_METRICS, "device.certain",
     "device.certain: a figure is compared; write for example device.certain=false"},
    {EK_OUTPUT_METRICS, "source", "source: a figure is compared; write for example source=WORD"},
    {EK_OUTPUT_METRICS, "warning", "warning: the JSON has no figure 'warning'"},
    {EK_OUTPUT_METRICS, "mfu<", "mfu<: a relation is one of > >= < <= = != followed by a value"},
    {EK_OUTPUT_METRICS, "mfu!1", "mfu!1: a relation is one of > >= < <= = != followed by a value"},
    {EK_OUTPUT_METRICS, "<1", "'<1' is no gate; write a figure with a relation and a value, or a finding's name"},
    {EK_OUTPUT_METRICS, "mfu<1,", "'' is no gate; write a figure"},
    {EK_OUTPUT_METRICS, "mfu<x", "mfu<x: 'x' is no number with a unit; write for example mfu<10%"},
    {EK_OUTPUT_METRICS, "mfu>1e999", "mfu>1e999: '1e999' is no number with a unit; write for example mfu>10%"},
    {EK_OUTPUT_METRICS, "mfu<1.2.3", "mfu<1.2.3: '1.2.3' is no number"},
    {EK_OUTPUT_METRICS, "mfu<1parsec",
     "mfu<1parsec: 'parsec' is no unit; known are us, ms, s, min, h, B, KB, MB, GB, TB, % and GB/s"},
    {EK_OUTPUT_METRICS, "mfu<1MB", "mfu<1MB: mfu takes % or no unit (got 'MB')"},
    {EK_OUTPUT_METRICS, "n_devices<1s", "n_devices<1s: n_devices takes no unit (got 's')"},
    {EK_OUTPUT_METRICS, "step_seconds<1%", "step_seconds<1%: step_seconds takes us, ms, s, min or h (got '%')"},
    {EK_OUTPUT_METRICS, "bubble>1", "bubble>1: 'bubble' is an object; write bubble. and one of share, ratio, n_stages"},
    {EK_OUTPUT_METRICS, "basis=given", "basis=given: 'basis' is an object; write basis. and one of step_seconds"},
    {EK_OUTPUT_METRICS, "basis.mfuu=given", "basis.mfuu=given: the JSON has no figure 'mfuu'; did you mean 'mfu'?"},
    {EK_OUTPUT_METRICS, "terms>1", "terms>1: 'terms' is a list; write terms[] for each of it"},
    {EK_OUTPUT_METRICS, "terms.forward>1", "terms.forward>1: 'forward' is in a list; write terms[] before it"},
    {EK_OUTPUT_METRICS, "terms[-1].forward>1",
     "terms[-1].forward>1: brackets are empty, for each of a list, or have a"},
    {EK_OUTPUT_METRICS, "terms[1.forward>1", "terms[1.forward>1: brackets are empty, for each of a list, or have a"},
    {EK_OUTPUT_METRICS, "mfu[]>1", "mfu[]>1: the part before the brackets is no list"},
    {EK_OUTPUT_METRICS, "mfu.x>1", "mfu.x>1: there is nothing within 'mfu'"},
    {EK_OUTPUT_METRICS, "bubble..share>1", "bubble..share>1: a key of the path is empty or too long"},
    {EK_OUTPUT_METRICS, "bubble.>1", "bubble.>1: a key of the path is empty or too long"},
    {EK_OUTPUT_METRICS, "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q>1",
     "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q>1: the path has more"},
    {EK_OUTPUT_METRICS, "source>a", "source>a: source is a text, which takes = or !="},
    {EK_OUTPUT_METRICS, "device.certain<true",
     "device.certain<true: device.certain is true or false, which takes = or"},
    {EK_OUTPUT_METRICS, "device.certain=maybe", "device.certain=maybe: device.certain is true or false (got 'maybe')"},
    {EK_OUTPUT_LINT, "warnin", "warnin: there are no findings 'warnin'; did you mean 'warning'? Known are "},
    {EK_OUTPUT_LINT, "warning>1%",
     "warning>1%: findings of 'warning' have no figure in %; they are counted, without a"},
    {EK_OUTPUT_LINT, "warning>x", "warning>x: 'x' is no number"},
    {EK_OUTPUT_DIAGNOSIS, "buble", "buble: there are no findings 'buble'; did you mean 'bubble'? Known are "},
    {EK_OUTPUT_DIAGNOSIS, "bubble>0.1",
     "bubble>0.1: a bottleneck is compared with a share or a time; write for example "
     "bubble>10% or bubble>50ms"},
    {EK_OUTPUT_DIAGNOSIS, "bubble>1MB",
     "bubble>1MB: findings of 'bubble' have no figure in MB; a bottleneck has a share"},
    {EK_OUTPUT_IR, "error>1s",
     "error>1s: findings of 'error' have no figure in s; a finding has bytes (MB, GB), or is"},
    {EK_OUTPUT_IR, "error>1MB", "error>1MB: findings of 'error' have no figure in MB"},
    {EK_OUTPUT_GUIDE, "errors_per_mb>1",
     "errors_per_mb>1: 'errors_per_mb' is an object by name; write errors_per_mb.NAME"},
    {EK_OUTPUT_GUIDE, "errors_per_mb.constant.x>1",
     "errors_per_mb.constant.x>1: the JSON has no figure 'x'; known are "},
    {EK_OUTPUT_GUIDE, "predicted_peak_mb[]>1", "predicted_peak_mb[]>1: 'predicted_peak_mb[]' is a list; write "},
    {EK_OUTPUT_GUIDE, "predicted_peak_mb[][][]>1",
     "predicted_peak_mb[][][]>1: the part before the brackets is no list"},
    {EK_OUTPUT_TRACE, "ranks[].topology>1", "ranks[].topology>1: the JSON has no figure 'topology'"},
    {EK_OUTPUT_PAGE, "a>1", "a>1: this result has no figures for gates"},
    {EK_OUTPUT_PAGE, "a", "a: this result has no figures for gates"},
};

static void a_wrong_expression_is_told_with_what_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ek_gates *gates = NULL;
        ek_error err = {.message = ""};
        if (ek_gates_read(wrong[i].kind, wrong[i].text, &gates, &err) != EK_ERR_INPUT)
            fail_msg("%s is taken", wrong[i].text);
        assert_null(gates);
        if (strncmp(err.message, wrong[i].message, strlen(wrong[i].message)) != 0)
            fail_msg("%s: %s", wrong[i].text, err.message);
    }
}

static void figures_of_every_shape_are_found(void **state)
{
    static const struct {
        ek_output_kind kind;
        const char *text;
    } right[] = {
        {EK_OUTPUT_GUIDE, "errors_per_mb.constant.one_peak_mb>1MB"},
        {EK_OUTPUT_GUIDE, "predicted_peak_mb[0][3]>50000"},
        {EK_OUTPUT_GUIDE, "kinds[]=full"},
        {EK_OUTPUT_MEMORY, "stages[].used_peak_mb>50GB,stages[].margin_mb<2GB,fits=false"},
        {EK_OUTPUT_TRACE, "step_us>1s,ranks[].steps[].computing_us<1ms,findings[3].gain_us>5ms"},
        {EK_OUTPUT_TRACE, "ranks[].comm_summary.1.p2p.x.elapse_ms>1s"},
        {EK_OUTPUT_TRACE, "ranks[].warnings[]=x"},
        {EK_OUTPUT_IR, "error,dtype>3,redistribution>1GB,files[].kept_bytes>1e9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        ek_gates *gates;
        ek_error err;
        if (ek_gates_read(right[i].kind, right[i].text, &gates, &err))
            fail_msg("%s", err.message);
        ek_gates_free(gates);
    }
}

static void there_may_be_64_gates_of_255_bytes(void **state)
{
    char text[65 * 8 + 1] = "", longer[300];
    ek_gates *gates = NULL;
    ek_error err;
    (void)state;
    for (int i = 0; i < 64; i++)
        strcat(text, i ? ",mfu>1" : "mfu>1");
    assert_int_equal(ek_gates_read(EK_OUTPUT_METRICS, text, &gates, &err), EK_OK);
    ek_gates_free(gates);
    strcat(text, ",mfu>1");
    assert_int_equal(ek_gates_read(EK_OUTPUT_METRICS, text, &gates, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "there are more than 64 gates");
    memset(longer, 'a', sizeof longer);
    longer[256] = '\0';
    assert_int_equal(ek_gates_read(EK_OUTPUT_METRICS, longer, &gates, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "a gate has at most 255 bytes (got 256)");
    ek_gates_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_fail_where_their_condition_holds),
        cmocka_unit_test(a_finding_is_told_with_its_place),
        cmocka_unit_test(numbers_are_compared_as_c_compares_them),
        cmocka_unit_test(a_wrong_expression_is_told_with_what_is_known),
        cmocka_unit_test(figures_of_every_shape_are_found),
        cmocka_unit_test(there_may_be_64_gates_of_255_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
