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
    char *help = ek__pool_format(pool, "%s\n\nCost: %s\n\nFix: %s\n\nSource: %s", rule->why, rule->cost, rule->fix,
                                 rule->source);
    *out = (ek__sarif_rule){rule->id, rule->title, rule->why, help, ek_lint_level_name[rule->level], rule->source};
    return help != NULL;
}

/* Further places of a finding, in memory that the caller frees; NULL: none, or memory is out, with `failed` set. */
static ek__sarif_place *places_of(const ek_lint_finding *f, bool *failed)
{
    ek__sarif_place *place = f->n_more > 0 ? ek__alloc((size_t)f->n_more, sizeof *place) : NULL;
    *failed |= f->n_more > 0 && !place;
    for (int i = 0; place && i < f->n_more; i++)
        place[i] = (ek__sarif_place){.path = f->path,
                                     .line = f->more[i].line,
                                     .column = f->more[i].column,
                                     .end_column = f->more[i].end_column,
                                     .said = f->more[i].message};
    return place;
}

/* @return false when memory is out */
static bool add_results(ek__sarif *sarif, const ek_lint_finding *finding, int n, bool suppressed)
{
    bool failed = false;
    for (int i = 0; i < n && !failed; i++) {
        const ek_lint_finding *f = &finding[i];
        ek__sarif_place *more = places_of(f, &failed);
        ek__sarif_add(sarif, &(ek__sarif_result){.rule = f->rule->id,
                                                 .level = ek_lint_level_name[f->rule->level],
                                                 .message = f->message,
                                                 .place = {.path = f->path,
                                                           .line = f->line,
                                                           .column = f->column,
                                                           .end_column = f->end_column,
                                                           .excerpt = f->excerpt},
                                                 .related = more,
                                                 .n_related = more ? f->n_more : 0,
                                                 .fix = f->fix,
                                                 .suppressed = suppressed});
        free(more);
    }
    return !failed;
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
        bool all = add_results(&sarif, lint->finding, lint->n_findings, false) &&
                   add_results(&sarif, lint->suppressed, lint->n_suppressed, true);
        status = ek__sarif_end(&sarif, err);
        status = status || all ? status : ek__no_memory(err);
    }
    free(rule);
    ek__pool_free(pool);
    return status;
}
