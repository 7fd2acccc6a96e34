/* The rule on the comments that switch rules off: an id in them that no rule has would silently switch off nothing. */
#include <string.h>

#include "lint/comments.h"
#include "lint/rules.h"

static ek_status check_comments(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = EK_OK;
    for (int i = 0; i < file->comments->n && status == EK_OK; i++) {
        const ek__comment *c = &file->comments->comment[i];
        const char *near = ek__lint_nearest(run->rule, run->n_rules, c->id);
        if (!near || strcmp(near, c->id) != 0)
            status = ek__lint_report(run, entry, file, c->line, c->column, c->end_column, near,
                                     "no rule is called '%.80s', so the comment switches nothing off%s%s%s", c->id,
                                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return status;
}

const ek__lint_entry ek__lint_comments[] = {
    {
        .about = {.id = "unknown-rule",
                  .level = EK_LINT_WARNING,
                  .kinds = 1U << EK_LINT_YAML | 1U << EK_LINT_SHELL | 1U << EK_LINT_PYTHON,
                  .title = "A comment switches off a rule that there is not",
                  .why =
                      "A comment `evenkeel: off ID` takes the findings of a rule away. With an id that no rule has it "
                      "suppresses nothing, without a message.",
                  .cost = "Nothing in a run; the finding that was to go stays.",
                  .fix = "Write the id as `evenkeel lint --list` names it.",
                  .source = "docs/lint.md, comments",
                  .bad = "context:\n"
                         "  mode: 0 # evenkeel: off deterministik\n",
                  .good = "context:\n"
                          "  mode: 0 # evenkeel: off deterministic\n"},
        .check = {check_comments, check_comments, check_comments},
    },
    {.about = {.id = NULL}},
};
