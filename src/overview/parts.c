/* The files of an overview: those that were named, and those of folders, counted by kind. Symbolic links to
 * folders are not followed, so that the walk ends. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/trace_index.h"
#include "job/job_internal.h"
#include "overview/kind.h"
#include "overview/overview_internal.h"

enum { MAX_DEPTH = 8, MAX_PATH = 4096 };

/* Names of several files of a kind, and of one with its article. */
static const struct {
    const char *many, *one;
} titles[EK_N_OVERVIEW_KINDS] = {
    [EK_OVERVIEW_JOB] = {"training files", "a training file"},
    [EK_OVERVIEW_MODEL] = {"model files", "a config.json of Hugging Face"},
    [EK_OVERVIEW_TRACE] = {"files of traces", "a trace"},
    [EK_OVERVIEW_LOG] = {"training logs", "a training log"},
    [EK_OVERVIEW_DRY_RUN] = {"logs of a dry run", "a log of a dry run"},
    [EK_OVERVIEW_GRAPH] = {"graphs of MindSpore", "a graph of MindSpore"},
    [EK_OVERVIEW_INIT] = {"init files of SAPP", "an init file of SAPP's pipeline balance"},
    [EK_OVERVIEW_LAYERS] = {"layer files", "a layer file"},
    [EK_OVERVIEW_PLAN] = {"plan files", "a plan file"},
    [EK_OVERVIEW_DEVICE] = {"device files", "a device file"},
    [EK_OVERVIEW_RUNS] = {"tables of measured runs", "a table of measured runs"},
    [EK_OVERVIEW_KERNELS] = {"tables of measured kernels", "a table of measured kernels"},
    [EK_OVERVIEW_RATES] = {"tables of rates", "a table of rates of memory and collectives"},
    [EK_OVERVIEW_LINKS] = {"link tests", "a link test of nccl-tests or hccl_test"},
    [EK_OVERVIEW_ANSWER] = {"answers of commands", "an answer of a command as JSON"},
    [EK_OVERVIEW_PAGE] = {"pages", "a page for a browser that a command wrote"},
    [EK_OVERVIEW_PROGRAM] = {"Python programs", "a Python program"},
    [EK_OVERVIEW_REPORT] = {"reports of Nsight Systems", "a report of Nsight Systems"},
    [EK_OVERVIEW_OTHER] = {"other files", "another file"},
};

const ek_overview_part *ek__overview_part(const ek_overview *overview, ek_overview_kind kind)
{
    for (int i = 0; i < overview->n_parts; i++)
        if (overview->part[i].kind == kind)
            return &overview->part[i];
    return NULL;
}

bool ek__overview_is_collection(const ek_overview *overview)
{
    const ek_overview_part *job = ek__overview_part(overview, EK_OVERVIEW_JOB);
    return job && job->n_files > 1;
}

ek_status ek__overview_note(ek__overview *o, const char *note, ek_error *err)
{
    if (!note)
        return ek__no_memory(err);
    if (o->out->n_notes < EK_MAX_OVERVIEW_NOTES)
        o->out->note[o->out->n_notes++] = note;
    return EK_OK;
}

/* Parts are in the order of their kinds. */
static ek_overview_part *part_of(ek_overview *out, ek_overview_kind kind)
{
    int at = 0;
    while (at < out->n_parts && out->part[at].kind < kind)
        at++;
    if (at == out->n_parts || out->part[at].kind != kind) {
        memmove(&out->part[at + 1], &out->part[at], (size_t)(out->n_parts - at) * sizeof *out->part);
        out->part[at] = (ek_overview_part){.kind = kind};
        out->n_parts++;
    }
    return &out->part[at];
}

static ek_status count(ek__overview *o, const char *path, int64_t bytes, ek_error *err)
{
    const char *what;
    ek_overview_kind kind = ek__overview_recognise(path, &what);
    ek_overview_part *part = part_of(o->out, kind);
    if (part->n_files == 0 && !(part->path = ek__pool_text(o->pool, path, strlen(path))))
        return ek__no_memory(err);
    part->n_files++;
    part->bytes += bytes;
    part->what = part->n_files > 1 ? titles[kind].many : what ? what : titles[kind].one;
    o->trace_bytes += kind == EK_OVERVIEW_TRACE ? bytes : 0;
    return EK_OK;
}

/* ---- folders ---- */

/* An index that lies beside the traces is no part of the run. */
static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, EK_TRACE_INDEX_FOLDER) != 0;
}

static ek_status walk(ek__overview *o, const char *folder, int depth, ek_error *err)
{
    struct dirent **entry = NULL;
    ek_status status = EK_OK;
    int n = scandir(folder, &entry, keep_visible, ek__alphasort);
    if (n < 0 && depth == 0)
        return ek__fail(err, ek__system_status(), EK__NOWHERE, "cannot read the folder '%s': %s", folder,
                        strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[MAX_PATH];
        struct stat about;
        const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
        int length = snprintf(path, sizeof path, "%s%s%s", folder, slash, entry[i]->d_name);
        free(entry[i]);
        if (status != EK_OK || length >= (int)sizeof path || lstat(path, &about) != 0)
            continue;
        if (S_ISLNK(about.st_mode) && (stat(path, &about) != 0 || S_ISDIR(about.st_mode)))
            continue;
        if (S_ISDIR(about.st_mode) && depth < MAX_DEPTH)
            status = walk(o, path, depth + 1, err);
        else if (S_ISREG(about.st_mode) && about.st_size > 0)
            status = count(o, path, about.st_size, err);
    }
    free(entry);
    return status;
}

/* ---- named paths ---- */

/* A file that is none of the known kinds, in a sentence. */
static ek_status refuse(const char *path, ek_error *err)
{
    char text[512];
    FILE *file = fopen(path, "rb");
    if (!file)
        return ek__fail(err, ek__system_status(), EK__NOWHERE, "cannot read '%s': %s", path, strerror(errno));
    size_t n = fread(text, 1, sizeof text, file);
    bool binary = memchr(text, '\0', n) != NULL;
    fclose(file);
    if (n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' is empty", path);
    ek_job job;
    ek_error why;
    if (!binary && ek_job_read(path, NULL, NULL, &job, &why) == EK_OK)
        ek_job_clear(&job);
    else if (!binary && why.line > 0 && strstr(why.message, EK__NO_TRAINING_JOB) == NULL) {
        if (err)
            *err = why;
        return why.status;
    }
    return ek__fail(
        err, EK_ERR_INPUT, EK__NOWHERE,
        "'%s' is %s, and none of the kinds that Evenkeel reads: training files and scripts, a config.json of "
        "Hugging Face, traces, logs, graphs of MindSpore (.ir), init, layer, plan and device files, tables "
        "of measured runs",
        path, binary ? "a binary file" : "a text");
}

ek_status ek__overview_add(ek__overview *o, const char *path, ek_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode)) {
        o->out->folder = true;
        return walk(o, path, 0, err);
    }
    if (!S_ISREG(about.st_mode))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%s' is neither a file nor a folder", path);
    if (access(path, R_OK) != 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "cannot read '%s': %s", path, strerror(errno));
    const char *what;
    if (ek__overview_recognise(path, &what) == EK_OVERVIEW_OTHER)
        return refuse(path, err);
    return count(o, path, about.st_size, err);
}
