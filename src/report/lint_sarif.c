/* Writes findings of the linter as SARIF: all rules with their help, a result for each finding with its region, and a
 * replacement if there is a fix. Findings suppressed by comments are results with a suppression in the source. */
#include <stdlib.h>

#include "base/error.h"
#include "base/pool.h"
#include "evenkeel/lint.h"
#include "report/sarif.h"
#include "report/writers.h"

/* @return false when out of memory */
static bool make_rule(const ek_lint_rule *rule, ek__pool *pool, ek__sarif_rule *out)
{
    char *help = ek__pool_format(pool, "%s\n\nWhat it costs: %s\n\nWhat to write: %s\n\nSource: %s", rule->why,
                                 rule->cost, rule->fix, rule->source);
    *out = (ek__sarif_rule){rule->id, rule->title, rule->why, help, ek_lint_level_name[rule->level], rule->source};
    return help != NULL;
}

static void add_results(ek__sarif *sarif, const ek_lint_finding *finding, int n, bool suppressed)
{
    for (int i = 0; i < n; i++) {
        const ek_lint_finding *f = &finding[i];
        ek__sarif_add(sarif, &(ek__sarif_result){.rule = f->rule->id,
                                                 .level = ek_lint_level_name[f->rule->level],
                                                 .message = f->message,
                                                 .place = {.path = f->path,
                                                           .line = f->line,
                                                           .column = f->column,
                                                           .end_column = f->end_column,
                                                           .excerpt = f->excerpt},
                                                 .fix = f->fix,
                                                 .suppressed = suppressed});
    }
}

ek_status ek__lint_write_sarif(const ek_lint *lint, FILE *out, ek_error *err)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules), made = 0;
    ek__pool *pool = ek__pool_new();
    ek__sarif_rule *rule = ek__alloc((size_t)n, sizeof *rule);
    while (rule && pool && made < n && make_rule(rules[made], pool, &rule[made]))
        made++;
    ek_status status = made == n ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        ek__sarif sarif;
        ek__sarif_begin(&sarif, "evenkeel lint", rule, n, out);
        add_results(&sarif, lint->finding, lint->n_findings, false);
        add_results(&sarif, lint->suppressed, lint->n_suppressed, true);
        status = ek__sarif_end(&sarif, err);
    }
    free(rule);
    ek__pool_free(pool);
    return status;
}
