/* Runs lint: counts the findings in the training files that a framework ships by rule, and measures the time per file.
 * Those files are tuned by the authors of the guides, so a rule that fires on most of them is either a note or wrong;
 * an error in any of them is wrong. The files are read from the folder that EK_SHARED names; without it the part is
 * skipped with a note. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "evenkeel/lint.h"

enum { MOST_FILES = 1000, REPETITIONS = 5 };

typedef struct configs {
    char *path[MOST_FILES];
    int n;
} configs;

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_configs(configs *out)
{
    char folder[2048], path[4096];
    const char *shared = getenv("EK_SHARED");
    snprintf(folder, sizeof folder, "%s/reference/configs", shared ? shared : "");
    DIR *dir = shared ? opendir(folder) : NULL;
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (strstr(e->d_name, ".yaml") && out->n < MOST_FILES) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            out->path[out->n] = strdup(path);
            if (!out->path[out->n++])
                bench_give_up("out of memory");
        }
    if (dir)
        closedir(dir);
    qsort(out->path, (size_t)out->n, sizeof *out->path, compare_paths);
}

/* Seconds that a file takes, the best of several. */
static double time_of(const char *path)
{
    double best = INFINITY;
    for (int i = 0; i < REPETITIONS; i++) {
        ek_lint lint;
        ek_error err;
        double begin = bench_now();
        if (ek_lint_run(&path, 1, NULL, NULL, &lint, &err))
            bench_give_up("%s: %s", path, err.message);
        best = fmin(best, bench_now() - begin);
        ek_lint_clear(&lint);
    }
    return best;
}

/* Files, and findings, of a rule. */
static int count(const ek_lint *lint, const ek_lint_rule *rule, int *n_files)
{
    const char *last = NULL;
    int n = 0;
    *n_files = 0;
    for (int i = 0; i < lint->n_findings; i++) {
        const ek_lint_finding *f = &lint->finding[i];
        if (f->rule != rule)
            continue;
        n++;
        *n_files += !last || strcmp(last, f->path) != 0;
        last = f->path;
    }
    return n;
}

static void table(const ek_lint *lint)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n_rules = ek_lint_rules(rules), n_silent = 0, n_errors = 0;
    bench_say("| rule | level | findings | files of %d |\n|---|---|--:|--:|\n", lint->n_files);
    for (int i = 0; i < n_rules; i++) {
        int n_files, n = count(lint, rules[i], &n_files);
        n_silent += n == 0;
        n_errors += rules[i]->level == EK_LINT_ERROR ? n : 0;
        if (n > 0)
            bench_say("| %s | %s | %d | %d |\n", rules[i]->id, ek_lint_level_name[rules[i]->level], n, n_files);
        bench_hold(rules[i]->level == EK_LINT_NOTE || 2 * n_files <= lint->n_files,
                   "%s: above the level of a note, and on at most half of the files shipped", rules[i]->id);
    }
    bench_say("\n%d of %d rules find nothing in them.\n", n_silent, n_rules);
    bench_hold(n_errors == 0, "no errors in files that a framework ships");
}

void bench_lint(double seconds)
{
    (void)seconds;
    static configs found;
    ek_lint lint;
    ek_error err;
    bench_say("## Lint: shipped training files\n\n");
    find_configs(&found);
    if (found.n == 0) {
        bench_say("EK_SHARED names no folder with them: left out.\n\n");
        return;
    }
    if (ek_lint_run((const char *const *)found.path, found.n, NULL, NULL, &lint, &err))
        bench_give_up("%s: %s", err.file, err.message);
    table(&lint);
    double sum = 0, worst = 0;
    for (int i = 0; i < found.n; i++) {
        double s = time_of(found.path[i]);
        sum += s;
        worst = fmax(worst, s);
    }
    bench_say("A file takes %.1f ms in the mean and %.1f ms at worst, best of %d runs each.\n\n", 1e3 * sum / found.n,
              1e3 * worst, REPETITIONS);
    bench_hold(worst < 0.1, "a training file in less than 0.1 s");
    ek_lint_clear(&lint);
    for (int i = 0; i < found.n; i++)
        free(found.path[i]);
}
