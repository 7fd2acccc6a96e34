/* What a source is, by its content: a table by its header, a link test by its columns, a training log by its steps, a
 * job by what reads it, a profile by its events or columns. A folder is that of a profile, whose reader looks into it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/doc.h"
#include "base/error.h"
#include "evenkeel/calibration.h"
#include "evenkeel/job.h"
#include "evenkeel/train_log.h"

const char *const ek_source_kind_name[EK_N_SOURCE_KINDS] = {
    "measured runs", "measured kernels", "rates", "link test", "training log", "job", "profile",
};

enum { HEAD = 1 << 16 };

/* The first bytes, NUL-terminated. */
static ek_status read_head(const char *path, char head[HEAD], ek_error *err)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "'%.400s' cannot be read; give a file that is there", path);
    size_t n = fread(head, 1, HEAD - 1, in);
    bool bad = ferror(in) != 0;
    fclose(in);
    head[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (head[i] == '\0')
            head[i] = ' ';
    return bad ? ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "'%.400s' cannot be read", path) : EK_OK;
}

/* Is the word a column of the first line? */
static bool has_column(const char *head, const char *word)
{
    size_t n = strlen(word), line = strcspn(head, "\r\n");
    for (const char *at = head; (at = strstr(at, word)) && (size_t)(at - head) + n <= line; at += n) {
        char before = at == head ? ',' : at[-1], behind = at[n];
        if (strchr(", \"\t\xbf", before) && (behind == '\0' || strchr(", \"\t\r\n", behind)))
            return true;
    }
    return false;
}

static bool is_runs(const char *head)
{
    static const char *const step[] = {
        "step_time_s",   "step_seconds", "derived_step_time_s", "tokens_per_s_per_gpu", "tokens_per_s_per_device",
        "tflops_per_gpu"};
    for (size_t i = 0; i < sizeof step / sizeof *step; i++)
        if (has_column(head, step[i]))
            return true;
    /* A misspelt column of the step is the table's mistake, not another kind of file. */
    return has_column(head, "hardware") && (has_column(head, "job") || has_column(head, "model"));
}

/* Packed, events or times of collectives as JSON, or a table of what a device did. */
static bool is_profile(const char *head)
{
    static const char *const json[] = {"\"traceEvents\"", "\"ph\"", "\"Communication Time Info\""};
    static const char *const column[] = {"Duration(us)", "Task Duration(us)", "Communication(Not Overlapped)"};
    const char *at = head + strspn(head, "\xef\xbb\xbf \t\r\n");
    if (head[0] == '\x1f' && head[1] == '\x8b')
        return true;
    for (size_t i = 0; i < 3 && (*at == '{' || *at == '['); i++)
        if (strstr(at, json[i]))
            return true;
    for (size_t i = 0; i < 3; i++)
        if (has_column(head, column[i]))
            return true;
    return false;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static ek_status by_readers(const char *path, ek_source_kind *out, ek_error *err)
{
    ek_train_log log;
    ek_job job;
    ek_error why = {0};
    ek_status status = ek_train_log_read(path, NULL, &log, &why);
    if (status == EK_OK) {
        ek_train_log_clear(&log);
        *out = EK_SOURCE_LOG;
        return EK_OK;
    }
    status = ek_job_read(path, NULL, NULL, &job, &why);
    if (status == EK_OK) {
        ek_job_clear(&job);
        *out = EK_SOURCE_JOB;
        return EK_OK;
    }
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    return ek__fail(
        err, EK_ERR_INPUT, EK__NOWHERE,
        "'%.256s' is no source that is known: no table of runs (a column step_time_s or tokens_per_s_per_gpu), "
        "kernels or rates, no link test (nccl-tests, hccl_test), no profile, no training log with steps; and as a "
        "job: "
        "%.300s",
        path, why.message);
}

ek_status ek_source_kind_of(const char *path, ek_source_kind *out, ek_error *err)
{
    char *head = ek__alloc(HEAD, 1);
    if (!head)
        return ek__no_memory(err);
    bool folder = is_folder(path);
    ek_status status = folder ? EK_OK : read_head(path, head, err);
    if (status == EK_OK) {
        bool table = strchr(head, ',') != NULL;
        if (folder || is_profile(head))
            *out = EK_SOURCE_PROFILE;
        else if (table && has_column(head, "share_of_peak"))
            *out = EK_SOURCE_KERNELS;
        else if (table && has_column(head, "what") && has_column(head, "operator"))
            *out = EK_SOURCE_RATES;
        else if (table && is_runs(head))
            *out = EK_SOURCE_RUNS;
        else if (strstr(head, "algbw") || strstr(head, "aveg_time") || strstr(head, "avg_time(us)"))
            *out = EK_SOURCE_LINKS;
        else
            status = by_readers(path, out, err);
    }
    free(head);
    return status;
}
