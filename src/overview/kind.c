/* Kinds of files: those of a run (run/kind.c), training files of every framework,
 * device files, tables of measurements, pages and programs. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config_tree.h"
#include "evenkeel/calibration.h"
#include "evenkeel/overview.h"
#include "evenkeel/run_files.h"
#include "job/job_internal.h"
#include "overview/kind.h"

enum { MOST_BYTES = 16 << 20 };

const char *const ek__overview_kind_name[EK_N_OVERVIEW_KINDS] = {
    "job",  "model",   "trace", "log",   "dry-run", "graph", "init",    "layers", "plan", "device",
    "runs", "kernels", "rates", "links", "answer",  "page",  "program", "report", "other"};
const char *const *const ek_overview_kind_name = ek__overview_kind_name;

static bool ends_with_any(const char *path, const char *const *pattern)
{
    for (; *pattern; pattern++)
        if (fnmatch(*pattern, path, 0) == 0)
            return true;
    return false;
}

/* Prose shows calls and settings of others. */
static bool is_prose(const char *path)
{
    static const char *const ends[] = {"*.md", "*.rst", "*.html", "*.htm", "*.tex", "*.ipynb", NULL};
    return ends_with_any(path, ends);
}

static bool is_program(const char *path)
{
    static const char *const ends[] = {"*.py", NULL};
    return ends_with_any(path, ends);
}

static bool is_report(const char *path)
{
    static const char *const ends[] = {"*.nsys-rep", "*.qdrep", NULL};
    return ends_with_any(path, ends);
}

/* A mapping with the key that every device file needs. */
static bool is_device(const char *name, const char *text, size_t size)
{
    ek__config_tree *doc = NULL;
    ek_error unused;
    bool found = false;
    if (!strstr(text, "peak_tflops") || ek__config_parse_buffer_with_aliases(name, text, size, &doc, &unused) != EK_OK)
        return false;
    const ek__node *root = ek__config_root(doc);
    found = root && root->kind == EK__MAP && ek__get(root, "peak_tflops");
    ek__config_free(doc);
    return found;
}

static bool is_page(const char *text)
{
    static const char *const begin[] = {"<!doctype html", "<!DOCTYPE html", "<html", NULL};
    const char *at = text + strspn(text, " \t\r\n");
    for (int i = 0; begin[i]; i++)
        if (strncmp(at, begin[i], strlen(begin[i])) == 0)
            return strstr(at, "evenkeel") != NULL || strstr(at, "Evenkeel") != NULL;
    return false;
}

/* Of a text that is no file of a run. */
static ek_overview_kind kind_of_source(const char *path)
{
    ek_source_kind kind;
    ek_error unused;
    if (ek_source_kind_of(path, &kind, &unused) != EK_OK)
        return EK_OVERVIEW_OTHER;
    switch (kind) {
    case EK_SOURCE_RUNS:
        return EK_OVERVIEW_RUNS;
    case EK_SOURCE_KERNELS:
        return EK_OVERVIEW_KERNELS;
    case EK_SOURCE_RATES:
        return EK_OVERVIEW_RATES;
    case EK_SOURCE_LINKS:
        return EK_OVERVIEW_LINKS;
    case EK_SOURCE_LOG:
        return EK_OVERVIEW_LOG;
    case EK_SOURCE_PROFILE:
        return EK_OVERVIEW_TRACE;
    case EK_SOURCE_JOB:
        return EK_OVERVIEW_JOB;
    }
    return EK_OVERVIEW_OTHER;
}

static ek_overview_kind kind_of_text(const char *path, const char *text, size_t size, const char **what)
{
    const ek__job_format *format = is_prose(path) ? NULL : ek__job_format_of(path, text, size);
    if (format && is_program(path) && format == &ek__job_megatron)
        format = NULL; /* it declares the arguments that a script gives */
    if (format) {
        *what = format->name;
        return format == &ek__job_hugging_face ? EK_OVERVIEW_MODEL : EK_OVERVIEW_JOB;
    }
    if (is_program(path))
        return EK_OVERVIEW_PROGRAM;
    if (is_page(text))
        return EK_OVERVIEW_PAGE;
    if (is_device(path, text, size))
        return EK_OVERVIEW_DEVICE;
    return is_prose(path) ? EK_OVERVIEW_OTHER : kind_of_source(path);
}

static ek_overview_kind kind_of_content(const char *path, const char **what)
{
    struct stat about;
    char *text = NULL;
    size_t size = 0;
    ek_error unused;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST_BYTES ||
        ek__config_read_text(path, &text, &size, &unused) != EK_OK)
        return EK_OVERVIEW_OTHER;
    bool binary = memchr(text, '\0', size) != NULL;
    ek_overview_kind kind = binary || size == 0 ? EK_OVERVIEW_OTHER : kind_of_text(path, text, size, what);
    free(text);
    return kind;
}

ek_overview_kind ek__overview_recognise(const char *path, const char **what)
{
    *what = NULL;
    if (is_report(path))
        return EK_OVERVIEW_REPORT;
    switch (ek_run_kind_of(path)) {
    case EK_RUN_TRACE:
        return EK_OVERVIEW_TRACE;
    case EK_RUN_DRY_RUN:
        return EK_OVERVIEW_DRY_RUN;
    case EK_RUN_IR:
        return EK_OVERVIEW_GRAPH;
    case EK_RUN_LOG:
        return is_program(path) ? kind_of_content(path, what) : EK_OVERVIEW_LOG;
    case EK_RUN_PLAN:
        return EK_OVERVIEW_PLAN;
    case EK_RUN_LAYERS:
        return EK_OVERVIEW_LAYERS;
    case EK_RUN_INIT:
        return EK_OVERVIEW_INIT;
    case EK_RUN_ANSWER:
        return EK_OVERVIEW_ANSWER;
    case EK_RUN_CONFIG:
    case EK_RUN_UNKNOWN:
        break;
    }
    return kind_of_content(path, what);
}

ek_overview_kind ek_overview_kind_of(const char *path)
{
    const char *what;
    return ek__overview_recognise(path, &what);
}
