/* A file for the checks: its kind, by its name, else by its first bytes, and everything that can be read from it
 * once, so that no check parses: the tree of a YAML, the job in it with the warnings of its reader, the statements of a
 * script or a program. A YAML that holds no training job still has its tree. */
#include "lint/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/config_tree_toml.h"
#include "base/error.h"
#include "evenkeel/memory.h"
#include "job/job_internal.h"
#include "lint/comments.h"
#include "lint/python.h"
#include "lint/shell.h"

/* ---- which kind ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

int ek_lint_kind_by_name(const char *path)
{
    static const struct {
        const char *end;
        ek_lint_kind kind;
    } names[] = {{".yaml", EK_LINT_YAML},  {".yml", EK_LINT_YAML},  {".sh", EK_LINT_SHELL}, {".env", EK_LINT_SHELL},
                 {".bash", EK_LINT_SHELL}, {".py", EK_LINT_PYTHON}, {".toml", EK_LINT_TOML}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ends_with(path, names[i].end))
            return (int)names[i].kind;
    return -1;
}

/* By the interpreter that the first line names, or by being a YAML with keys. */
static int kind_by_content(const char *name, const char *text, size_t size)
{
    size_t n = strcspn(text, "\n");
    char first[128];
    if (n > 2 && n < sizeof first && memcmp(text, "#!", 2) == 0) {
        memcpy(first, text, n);
        first[n] = '\0';
        return strstr(first, "python") ? (int)EK_LINT_PYTHON : strstr(first, "sh") ? (int)EK_LINT_SHELL : -1;
    }
    ek__config_tree *doc = NULL;
    bool map = ek__config_parse_buffer_with_aliases(name, text, size, &doc, NULL) == EK_OK && ek__config_root(doc) &&
               ek__config_root(doc)->kind == EK__MAP;
    ek__config_free(doc);
    return map ? (int)EK_LINT_YAML : -1;
}

/* ---- the job ---- */

typedef struct remarks {
    ek__pool *pool;
    ek__lint_remark *remark;
    int n;
    bool failed;
} remarks;

static void read_remark(void *user, const ek_error *warning)
{
    remarks *r = user;
    ek__lint_remark *more = ek__pool_push(r->pool, r->remark, r->n, sizeof *more);
    const char *rule = ek__pool_text(r->pool, warning->rule, strlen(warning->rule));
    const char *message = ek__pool_text(r->pool, warning->message, strlen(warning->message));
    if (!more || !rule || !message) {
        r->failed = true;
        return;
    }
    r->remark = more;
    more[r->n++] =
        (ek__lint_remark){.rule = rule, .line = warning->line, .column = warning->column, .message = message};
}

static ek_status parse_job(ek__lint_file *file, const ek_job_overrides *overrides, remarks *r, ek_job *job)
{
    const ek_listener listener = {.warn = read_remark, .user = r};
    ek__job_step step = EK__JOB_RECOGNISING;
    r->n = 0;
    ek_status status =
        ek__job_parse_file(file->path, file->text, file->size, overrides, &listener, job, &step, &file->reason);
    file->refusal = status != EK_ERR_INPUT || step == EK__JOB_RECOGNISING ? EK__LINT_NO_REFUSAL
                    : step == EK__JOB_READING                             ? EK__LINT_UNREAD
                                                                          : EK__LINT_REFUSED;
    return status;
}

/* Data-parallel ranks that a number of devices leaves for a job whose file does not set them; 0: nothing to change. */
static int data_of(const ek_job *job, int n_devices)
{
    const ek_job_parallel *p = &job->parallel;
    int64_t model = (int64_t)p->tensor * p->pipeline * p->context;
    bool told = job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
    if (told || n_devices == 0 || n_devices % model != 0 || n_devices / model == p->data)
        return 0;
    return (int)(n_devices / model);
}

static ek_status read_job(ek__lint_file *file, int n_devices, ek__pool *pool, ek_error *err)
{
    remarks r = {.pool = pool};
    ek_job *job = ek__pool_alloc(pool, 1, sizeof *job);
    if (!job)
        return ek__no_memory(err);
    ek_status status = parse_job(file, NULL, &r, job);
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.data = status == EK_OK ? data_of(job, n_devices) : 0;
    if (overrides.data > 0) {
        ek_job_clear(job);
        status = parse_job(file, &overrides, &r, job);
    }
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    if (status == EK_OK) {
        file->job = job;
        status = ek_memory_lint(job, &(ek_listener){.warn = read_remark, .user = &r}, err);
        if (status)
            return status;
    }
    file->remark = r.remark;
    file->n_remarks = file->refusal == EK__LINT_NO_REFUSAL ? r.n : 0;
    return r.failed ? ek__no_memory(err) : EK_OK;
}

/* ---- the file ---- */

static ek_status read_as(ek__lint_file *file, const ek_lint_options *options, ek__pool *pool, ek_error *err)
{
    ek__config_tree *doc = NULL;
    ek__shell *shell = NULL;
    ek__python *python = NULL;
    ek_status status = EK_OK;
    if (file->kind == EK_LINT_YAML) {
        status = ek__config_parse_buffer_with_aliases(file->path, file->text, file->size, &doc, err);
        file->doc = doc;
        file->yaml = doc ? ek__config_root(doc) : NULL;
    } else if (file->kind == EK_LINT_TOML) {
        status = ek__config_parse_toml(file->path, file->text, file->size, &doc, err);
        file->doc = doc;
        file->yaml = doc ? ek__config_root(doc) : NULL;
    } else if (file->kind == EK_LINT_SHELL) {
        status = ek__shell_read(file->path, file->text, file->size, pool, &shell, err);
        file->shell = shell;
    } else {
        status = ek__python_read(file->path, file->text, file->size, pool, &python, err);
        file->python = python;
    }
    return status || file->kind == EK_LINT_PYTHON ? status : read_job(file, options->n_devices, pool, err);
}

ek_status ek__lint_file_read(const char *path, const ek_lint_options *options, ek__pool *pool, ek__lint_file *out,
                             ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *out = (ek__lint_file){.path = ek__pool_text(pool, ek__path_name(path), strlen(ek__path_name(path)))};
    out->comments = ek__pool_alloc(pool, 1, sizeof *out->comments);
    if (!out->path || !out->comments)
        return ek__no_memory(err);
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    out->text = text;
    out->size = size;
    int kind = ek_lint_kind_by_name(path);
    if (kind < 0)
        kind = options->kind >= 0 ? options->kind : kind_by_content(out->path, text, size);
    if (kind < 0)
        return ek__fail(
            err, EK_ERR_INPUT, ((ek_origin){.file = out->path}),
            "has no kind that lint reads, by its name or its first line; set it with --kind yaml, shell, python or "
            "toml");
    out->kind = (ek_lint_kind)kind;
    status = ek__comments_read(text, size, pool, out->comments, err);
    return status ? status : read_as(out, options, pool, err);
}

void ek__lint_file_clear(ek__lint_file *file)
{
    ek_job job = file->job ? *file->job : (ek_job){0};
    ek_job_clear(&job);
    ek__config_free((ek__config_tree *)file->doc);
    free((char *)file->text);
    *file = (ek__lint_file){0};
}
