/* Figures of the linter's findings: counts by level, findings with their places. */
#include "evenkeel/lint.h"

#include "figures/results.h"
#include "figures/rows.h"

/* ---- findings ---- */

#define EK__T ek_lint_place
static const ek__member place[] = {
    {"line", COUNT(line), "from 1"},
    {"column", COUNT(column), "from 1, of characters"},
    {"end_column", SIZE(end_column), "as in the finding"},
    {"message", TEXT(message), "of this place"},
};
static const ek__fields places = {FIELDS(place, "findings[].more[], suppressed[].more[]", NULL)};
#undef EK__T

#define EK__T ek_lint_finding
GETTER(rule, text, it->rule->id);
GETTER(level, text, ek_lint_level_name[it->rule->level]);
static const ek__member finding[] = {
    {"rule", GET(TEXT, rule), "its id"},
    {"level", GET(TEXT, level), "`note`, `warning` or `error`"},
    {"path", TEXT(path), "of the file, as given"},
    {"line", COUNT(line), "from 1"},
    {"column", COUNT(column), "from 1, of characters"},
    {"end_column", SIZE(end_column), "the column after the place; null: to the end of the line"},
    {"message", TEXT(message), "the setting and the change to make, with the file's values"},
    {"fix", TEXT(fix), "the text to put from `column` to `end_column`; null: there is none"},
    {"more", SHORT_LIST(n_more, more, places),
     "further places of the same cause in the file, as other patterns of a list"},
};
static const ek__fields findings = {FIELDS(finding, "findings[], suppressed[]", NULL)};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_lint
static int64_t count_level(const ek_lint *lint, int level)
{
    int64_t n = 0;
    for (int i = 0; i < lint->n_findings; i++)
        n += (int)lint->finding[i].rule->level == level;
    return n;
}

GETTER(version, number, 1);
GETTER(of_level, number, count_level(it, of->number));
static const ek__member lint[] = {
    {"version", GET(COUNT, version), "of this contract, 1; fields may be added without a new number"},
    {"n_files", COUNT(n_files), "files that were read"},
    {"counts", GET_BY_WORD(COUNT, of_level, ek__lint_level_name, 3), "findings of each level"},
    {"findings", SHORT_LIST(n_findings, finding, findings), "by file in the order given, line, column and rule"},
    {"suppressed", SHORT_LIST(n_suppressed, suppressed, findings), "those that comments take away"},
};
static const ek__fields fields = {FIELDS(lint, NULL, NULL), .lines = true, .points = true};
#undef EK__T

const ek__result ek__result_lint = {"lint", "lint-json.md", &fields, NULL, NULL};
