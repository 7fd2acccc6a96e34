/* lint/rules.h - the tables of rules, and the arguments of a check.
 *
 * A rule is one entry of a table in src/lint/rules_NAME.c; a new table is a file and a line in EK__LINT_TABLES. Its
 * check for a kind of file looks at that file and reports with ek__lint_report(); tests/unit/test_lint.c wants a case
 * that fires, one that does not and a near miss for every rule. */
#ifndef EK_LINT_RULES_H
#define EK_LINT_RULES_H

#include "base/config_tree.h"
#include "base/pool.h"
#include "evenkeel/lint.h"
#include "lint/python.h"
#include "lint/shell.h"

/** A reader's warning about a job. */
typedef struct ek__lint_remark {
    const char *rule; /**< id, or "" */
    int line, column; /**< from 1; 0: of the whole job */
    const char *message;
} ek__lint_remark;

/** Why a job could not be read. */
typedef enum ek__lint_refusal {
    EK__LINT_NO_REFUSAL, /**< it could, or there is none in the file */
    EK__LINT_UNREAD,     /**< a setting cannot be understood */
    EK__LINT_REFUSED,    /**< the framework would not run it */
} ek__lint_refusal;

/** A file under the checks. Members of other kinds of files are NULL. */
typedef struct ek__lint_file {
    const char *path;
    ek_lint_kind kind;
    const char *text; /**< [size], with a NUL after it */
    size_t size;
    const ek__node *yaml;
    const ek__config_tree *doc;
    const ek_job *job; /**< of a training YAML or of Megatron's arguments, where they can be read as one */
    int n_remarks;
    const ek__lint_remark *remark; /**< [n_remarks], of the job's reader and of ek_memory_lint() */
    ek__lint_refusal refusal;
    ek_error reason; /**< of a refusal */
    struct ek__comments *comments;
    const ek__shell *shell;
    const ek__python *python;
} ek__lint_file;

/** A run over all files; a check may look at the others (a launch script's environment counts for a program). */
typedef struct ek__lint_run {
    int n_files;
    const ek__lint_file *file;
    const ek_lint_options *options;
    ek__pool *pool; /**< of the result */
    struct ek__lint_found *found;
    int n_found;
    const ek_lint_rule *const *rule; /**< [n_rules] all rules that there are, by id */
    int n_rules;
    ek_error *err;
} ek__lint_run;

typedef struct ek__lint_entry ek__lint_entry;
/** @return EK_OK or EK_ERR_MEMORY, findings or not */
typedef ek_status ek__lint_check(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file);

struct ek__lint_entry {
    ek_lint_rule about;
    bool together; /* findings of a file that differ in few words, such as the pattern, are one with many places */
    ek__lint_check *check[EK_N_LINT_KINDS]; /**< by kind; NULL where it does not apply */
};

#define EK__LINT_TABLES(X)                                                                                             \
    X(comments)                                                                                                        \
    X(job)                                                                                                             \
    X(moe)                                                                                                             \
    X(remarks)                                                                                                         \
    X(yaml)                                                                                                            \
    X(profile)                                                                                                         \
    X(launch)                                                                                                          \
    X(host)                                                                                                            \
    X(switches)                                                                                                        \
    X(python)                                                                                                          \
    X(hot)                                                                                                             \
    X(dynamic)                                                                                                         \
    X(fused)

/** A finding at a place; `fix` may be NULL; the message is formatted. Suppressed ones are counted only. */
ek_status ek__lint_report(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, int line,
                          int column, int end_column, const char *fix, const char *format, ...)
    __attribute__((format(printf, 8, 9)));

/** The id of `rules`, [n], that is nearest to a word, that word itself if it is one; NULL when none is near. */
const char *ek__lint_nearest(const ek_lint_rule *const *rules, int n, const char *id);

/** Fill the findings of the result: sorted, without repetitions, those of one cause as one, those that comments take
 *  away apart. EK_OK or EK_ERR_MEMORY. O(findings log findings + sizes of the files). */
ek_status ek__lint_finish(ek__lint_run *run, ek_lint *out);

#define EK__LINT_DECLARE(name) extern const ek__lint_entry ek__lint_##name[]; /* ends with about.id NULL */
EK__LINT_TABLES(EK__LINT_DECLARE)
#undef EK__LINT_DECLARE

#endif
