/* evenkeel/lint.h - checks training files, launch scripts and training programs against the tuning guides' checklists.
 * Files are read, never run.
 *
 * A rule is an entry of a table (src/lint/rules_*.c); docs/lint.md is written from it.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LINT_H
#define EVENKEEL_LINT_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/device.h"

EK_BEGIN_DECLS

typedef enum ek_lint_level { EK_LINT_NOTE, EK_LINT_WARNING, EK_LINT_ERROR } ek_lint_level;
/** "note", "warning", "error": SARIF's words. */
extern const char *const *const ek_lint_level_name;

/** Kinds of files. */
typedef enum ek_lint_kind {
    EK_LINT_YAML,   /**< training YAML of MindFormers or MindSpeed-Core-MS */
    EK_LINT_SHELL,  /**< launch script or environment file; Megatron's arguments in it */
    EK_LINT_PYTHON, /**< training program */
    EK_LINT_TOML,   /**< TOML of torchtitan */
} ek_lint_kind;
enum { EK_N_LINT_KINDS = 4 };
extern const char *const *const ek_lint_kind_name; /**< "yaml", "shell", "python", "toml" */

/** A rule, for people. */
typedef struct ek_lint_rule {
    const char *id; /**< "deterministic-off" */
    ek_lint_level level;
    unsigned kinds;         /**< 1 << ek_lint_kind */
    const char *title;      /**< "Deterministic computation is on" */
    const char *why;        /**< sentences */
    const char *cost;       /**< with a figure where a source has one */
    const char *fix;        /**< the change to make */
    const char *source;     /**< "MindFormers performance guide, IO bottleneck" */
    const char *bad, *good; /**< an example of each, a few lines */
} ek_lint_rule;

enum { EK_MAX_LINT_RULES = 128 };
/** The rules in the order of their ids. @return how many; O(rules^2). @param out  [EK_MAX_LINT_RULES] */
int ek_lint_rules(const ek_lint_rule *out[EK_MAX_LINT_RULES]);
/** The kind of file by the end of its name, an ek_lint_kind; -1 when unknown. O(length). */
int ek_lint_kind_by_name(const char *path);

/** By id, or NULL. O(rules). */
const ek_lint_rule *ek_lint_rule_find(const char *id);

/** A further place of a finding: the same cause, as another pattern of one list. */
typedef struct ek_lint_place {
    int line, column, end_column; /**< from 1; end_column 0: to the line's end */
    const char *message;          /**< of this place, whole */
} ek_lint_place;

typedef struct ek_lint_finding {
    const ek_lint_rule *rule;
    const char *path;
    int line, column, end_column; /**< from 1; end_column 0: to the line's end */
    const char *message;          /**< the setting and the change to make, with the file's values */
    const char *fix;              /**< text to put from column to end_column, where it is one line; NULL */
    const char *excerpt;          /**< the line, with blanks for control characters, cut to 160 bytes */
    const ek_lint_place *more;    /**< [n_more] further places in the same file, in its order */
    int n_more;
} ek_lint_finding;

typedef struct ek_lint {
    int n_findings, n_suppressed, n_files;
    ek_lint_finding *finding;    /**< [n_findings], by path in the order given, line, column, id */
    ek_lint_finding *suppressed; /**< [n_suppressed], taken away by comments, in the same order */
    struct ek__pool *pool;
} ek_lint;

struct ek_device;
typedef struct ek_lint_options {
    ek_lint_level least;     /**< findings below it are left out */
    const char *const *only; /**< [n_only] ids; none: all */
    const char *const *off;  /**< [n_off] ids */
    int n_only, n_off;
    int n_devices; /**< of the run, where the files do not have it; 0 */
    /** The run's device: rules on the time of a step then name the predicted time; NULL: not known. */
    const struct ek_device *device;
    /** The kind of files with an unknown name; -1: by content. */
    int kind;
    /** [n_paths] files that are skipped with a warning, instead of ending the run, where they cannot be read or are
     *  invalid; NULL: none. */
    const bool *may_skip;
} ek_lint_options;

/** All rules, notes too, kinds by name or content. */
ek_lint_options ek_lint_options_default(void);

/**
 * Check files together: settings of a launch script apply to a program that is given with it, those of an environment
 * file to a script that names it.
 *
 * A comment `evenkeel: off ID[, ID...]` (any comment sign) on a line, or on a separate line above it, suppresses its
 * findings; `evenkeel: off-file ID` anywhere suppresses those of the file. An unknown id there is itself a finding.
 *
 * @param path      [n_paths]; "-" is standard input
 * @param options   may be NULL: ek_lint_options_default()
 * @param listener  may be NULL
 * @return EK_OK, findings or not; EK_ERR_INPUT for a file of an unknown kind or that is invalid for its kind, and for
 *   an unknown id; EK_ERR_SYSTEM; EK_ERR_MEMORY. O(bytes x rules), and a memory prediction for each job.
 */
ek_status ek_lint_run(const char *const *path, int n_paths, const ek_lint_options *options, const ek_listener *listener,
                      ek_lint *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_lint_clear(ek_lint *lint);

/** Print a rule with all its texts. @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(output). */
ek_status ek_lint_write_rule(const ek_lint_rule *rule, FILE *out, ek_error *err);

EK_END_DECLS
#endif
