/* `evenkeel lint`: checks training files, launch scripts and training programs against the tuning guides'
 * checklists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/lint.h"
#include "evenkeel/lint_files.h"

#include "cmd.h"
#include "files.h"
#include "gates.h"
#include "job_options.h"
#include "options.h"
#include "progress.h"

enum { MAX_PATHS = 4096, MAX_IDS = 256, MAX_DEVICES = 1 << 24, MAX_LIST = 8192 };

/* Ids of options, cut at commas. */
typedef struct ids {
    const char *id[MAX_IDS];
    int n;
    char text[MAX_LIST]; /* the memory that they point into */
    size_t used;
} ids;

typedef struct command {
    const char *path[MAX_PATHS];
    ids only, off;
    ek_device device;
    bool owns_device; /* read from a file: its tables are ours */
    ek_lint_options options;
    ek_lint_level counts; /* from this level on */
    const char *format, *explain;
    bool list, quiet;
    cli_texts fail_on;
    ek_gates *gates;
} command;

static bool read_ids(const cli_option *option, const char *text, void *place)
{
    ids *list = place;
    size_t size = strlen(text) + 1;
    if (size > sizeof list->text - list->used) {
        cli_error(NULL, "--%s names more than can be", option->names);
        return false;
    }
    char *at = memcpy(list->text + list->used, text, size);
    list->used += size;
    for (char *id = strtok(at, ", "); id; id = strtok(NULL, ", ")) {
        if (list->n == MAX_IDS) {
            cli_error(NULL, "--%s names more than %d rules", option->names, MAX_IDS);
            return false;
        }
        list->id[list->n++] = id;
    }
    return true;
}

static bool read_device(const cli_option *option, const char *text, void *place)
{
    command *c = place;
    ek_error err;
    (void)option;
    if (ek_device_open(text, &cli_listener, &c->device, &c->owns_device, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    c->options.device = &c->device;
    return true;
}

_Static_assert(EK_LINT_NOTE == 0 && EK_LINT_ERROR == 2 && EK_LINT_TOML == 3, "words in the order of the enums");

static const cli_option options[] = {
    {"level", "note|warning|error", "from which level on findings make the exit status 1 ({})", "what counts",
     CLI_WORD(command, counts), .must = "one of note|warning|error"},
    CLI_GATES_ROW(command, fail_on, NULL, "error,mask-from-storage,note>10"),
    {"only", "RULE", "only these rules, separated by commas; may be repeated", NULL, CLI_CALL(command, only, read_ids)},
    {"off", "RULE", "without these rules; may be repeated", NULL, CLI_CALL(command, off, read_ids)},
    {"devices", "N", "devices of the run, if the files do not contain them", NULL,
     CLI_INT(command, options.n_devices, 1, MAX_DEVICES)},
    {"device", "NAME|FILE", "device of the run: rules on the step time then report predicted times", NULL,
     CLI_CALL_ALL(read_device)},
    {"kind", "yaml|shell|python|toml", "kind of files whose names do not show it, and of standard input (-)", NULL,
     CLI_WORD(command, options.kind), .must = "one of yaml|shell|python|toml"},
    {"explain", "RULE", "describe a rule with reason, cost, remedy and source, and exit", "output",
     CLI_TEXT(command, explain)},
    {"list", NULL, "name the rules, with level and title, and end", NULL, CLI_FLAG(command, list)},
    {"format", "text|json|sarif", "for people, for scripts (docs/lint.md), or for code review (SARIF 2.1.0)", NULL,
     CLI_WORD(command, format), .must = "one of text|json|sarif"},
    {"q|quiet", NULL, "only findings that count, one line each", NULL, CLI_FLAG(command, quiet)},
    CLI_HELP_ROW,
    CLI_END,
};

static const cli_spec spec = {
    .usage = "evenkeel lint [OPTIONS] FILE|DIR...\n       evenkeel lint --explain RULE\n       evenkeel lint --list",
    .summary =
        "Checks training YAMLs, launch scripts and training programs against the checklists of the tuning guides, "
        "without\n"
        "running them: *.yaml, *.yml, *.sh, *.bash, *.env and *.py below a DIR. A comment `evenkeel: off RULE` on a\n"
        "line, or on a line of its own above it, suppresses its findings; `evenkeel: off-file RULE` those of the "
        "file.\n"
        "Options take one dash or two.\n"
        "\n"
        "Exit status: 0 nothing of the level that counts, 1 something (with --fail-on: a condition holds), 2 wrong "
        "usage or\n"
        "input.",
    .examples = "examples:\n"
                "  evenkeel lint train.yaml run.sh\n"
                "  evenkeel lint . --level error\n"
                "  evenkeel lint train.yaml --format sarif >lint.sarif\n"
                "  evenkeel lint --explain sequence-parallel\n",
    .operand = "FILE",
    .max_operands = MAX_PATHS,
    .options = options,
};

/* ---- rules ---- */

static bool explain(const char *id)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES], *rule = ek_lint_rule_find(id);
    const char *names[EK_MAX_LINT_RULES];
    ek_error err;
    if (rule)
        return cli_printed(ek_lint_write_rule(rule, stdout, &err), &err);
    int n = ek_lint_rules(rules);
    for (int i = 0; i < n; i++)
        names[i] = rules[i]->id;
    const char *near = cli_nearest(id, names, n);
    cli_error(NULL, "no rule is called '%s'%s%s%s --list names them", id, near ? "; did you mean '" : ";",
              near ? near : "", near ? "'?" : "");
    return false;
}

static bool list_rules(void)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    for (int i = 0; i < n; i++) {
        char kinds[64] = "";
        for (int k = 0; k < EK_N_LINT_KINDS; k++)
            if (rules[i]->kinds & 1U << k)
                snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%s%s", kinds[0] ? "," : "",
                         ek_lint_kind_name[k]);
        printf("%-38s %-8s %-18s %s\n", rules[i]->id, ek_lint_level_name[rules[i]->level], kinds, rules[i]->title);
    }
    return cli_printed(EK_OK, NULL);
}

/* ---- findings ---- */

static void print_sums(const ek_lint *lint)
{
    int count[3] = {0};
    for (int i = 0; i < lint->n_findings; i++)
        count[lint->finding[i].rule->level]++;
    printf("%d file%s: %d error%s, %d warning%s, %d note%s", lint->n_files, lint->n_files == 1 ? "" : "s",
           count[EK_LINT_ERROR], count[EK_LINT_ERROR] == 1 ? "" : "s", count[EK_LINT_WARNING],
           count[EK_LINT_WARNING] == 1 ? "" : "s", count[EK_LINT_NOTE], count[EK_LINT_NOTE] == 1 ? "" : "s");
    if (lint->n_suppressed > 0)
        printf("; comments take %d away", lint->n_suppressed);
    puts(lint->n_findings > 0 ? "; see evenkeel lint --explain RULE" : "");
}

static bool print(const command *c, const ek_lint *lint)
{
    ek_error err;
    ek_output output = ek_output_of_lint(lint);
    output.brief = c->quiet;
    ek_status status = ek_write(output, c->format, stdout, &err);
    if (status == EK_OK && !c->quiet && strcmp(c->format, "text") == 0)
        print_sums(lint);
    return cli_printed(status, &err);
}

/* The findings that count; findings that comments suppress stay as they are. */
static void keep_what_counts(const command *c, ek_lint *lint)
{
    int n = 0;
    for (int i = 0; i < lint->n_findings; i++)
        if (lint->finding[i].rule->level >= c->counts)
            lint->finding[n++] = lint->finding[i];
    lint->n_findings = n;
}

/* Findings of a level make the exit status 1, unless gates define the condition. */
static int judge(const command *c, const ek_lint *lint)
{
    if (c->gates)
        return cli_gates_check(c->gates, ek_output_of_lint(lint), EXIT_DONE);
    for (int i = 0; i < lint->n_findings; i++)
        if (lint->finding[i].rule->level >= c->counts)
            return EXIT_NO;
    return EXIT_DONE;
}

static int run_files(command *c, const ek_lint_files *files)
{
    ek_lint lint;
    ek_error err;
    c->options.only = c->only.id, c->options.n_only = c->only.n;
    c->options.off = c->off.id, c->options.n_off = c->off.n;
    c->options.least = c->quiet && !c->gates ? c->counts : EK_LINT_NOTE;
    c->options.may_skip = files->found;
    cli_progress progress;
    cli_progress_follow(&progress);
    ek_status status = ek_lint_run((const char *const *)files->path, files->n, &c->options,
                                   c->quiet ? NULL : &cli_listener, &lint, &err);
    cli_progress_end(&progress);
    if (status) {
        cli_error(&err, "%s", err.message);
        return EXIT_WRONG;
    }
    int code = judge(c, &lint);
    if (c->quiet)
        keep_what_counts(c, &lint);
    if (!print(c, &lint))
        code = EXIT_WRONG;
    ek_lint_clear(&lint);
    return code;
}

static bool add_file(ek_lint_files *files, const char *path)
{
    ek_error err;
    if (ek_lint_files_add(files, path, &cli_notes, &err) == EK_OK)
        return true;
    cli_error(NULL, "%s", err.message);
    return false;
}

static int run(int argc, char **argv)
{
    static command c; /* too large for the stack */
    c = (command){.format = "text", .counts = EK_LINT_WARNING, .options = ek_lint_options_default()};
    int parsed = cli_parse(&spec, argc, argv, &c, c.path);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (c.explain)
        return explain(c.explain) ? EXIT_DONE : EXIT_WRONG;
    if (c.list)
        return list_rules() ? EXIT_DONE : EXIT_WRONG;
    if (!c.path[0]) {
        cli_error(NULL, "no files: give training files, scripts or a folder, for example `evenkeel lint train.yaml`");
        return EXIT_WRONG;
    }
    if (!cli_gates_open(&c.fail_on, EK_OUTPUT_LINT, &c.gates))
        return EXIT_WRONG;
    ek_lint_files files = {0};
    int code = EXIT_DONE;
    for (int i = 0; i < MAX_PATHS && c.path[i] && code == EXIT_DONE; i++)
        code = add_file(&files, c.path[i]) ? EXIT_DONE : EXIT_WRONG;
    if (code == EXIT_DONE && files.n == 0) {
        cli_error(NULL, "no *.yaml, *.yml, *.sh, *.bash, *.env or *.py below %s", c.path[0]);
        code = EXIT_WRONG;
    }
    code = code == EXIT_DONE ? run_files(&c, &files) : code;
    ek_lint_files_clear(&files);
    ek_gates_free(c.gates);
    if (c.owns_device)
        ek_device_clear(&c.device);
    return code;
}

const ek_cmd cmd_lint = {"lint", "check training files, launch scripts and programs against the tuning guides", run,
                         false, CLI_GROUP_JOB};
