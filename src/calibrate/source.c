/* Recognises the kind of a source by its content: a table by its header, a link test by its columns, a training log by
 * its steps, a job by its reader, a profile by its events or columns. A folder is that of a profile, and its reader
 * searches it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "evenkeel/calibration.h"
#include "evenkeel/train_log.h"

const char *const ek__source_kind_name[EK_N_SOURCE_KINDS] = {
    "measured runs", "measured kernels", "rates", "link test", "training log", "job", "profile",
};
const char *const *const ek_source_kind_name = ek__source_kind_name;

enum { HEAD = 1 << 16 };

/* The first bytes, unpacked, NUL-terminated. */
static ek_status read_head(const char *path, char head[HEAD], bool *packed, ek_error *err)
{
    gzFile in = gzopen(path, "rb");
    if (!in)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "'%.400s' cannot be read; give a file that is there", path);
    int n = gzread(in, head, HEAD - 1);
    *packed = gzdirect(in) == 0;
    gzclose(in);
    if (n < 0)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "'%.400s' cannot be read; it is cut off or damaged", path);
    head[n] = '\0';
    if (n == 0)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}), "the file is empty; give measurements");
    if (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 1, 1}),
                        "the text is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)");
    for (int i = 0; i < n; i++)
        if (head[i] == '\0')
            head[i] = ' ';
    return EK_OK;
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

/* Is it a table of runs with another separator of columns? Spreadsheets use that of their language. */
static ek_status check_separator(const char *path, char head[HEAD], ek_error *err)
{
    static const char others[] = ";\t|";
    size_t line = strcspn(head, "\r\n");
    for (const char *other = others; *other; other++) {
        if (!memchr(head, *other, line))
            continue;
        for (size_t i = 0; i < line; i++)
            head[i] = head[i] == *other ? ',' : head[i];
        if (is_runs(head))
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 1, 1}),
                            "the columns of this table have %s between them; write it with commas, and decimals with a "
                            "point",
                            *other == '\t'  ? "tabs"
                            : *other == ';' ? "semicolons"
                                            : "bars");
        return EK_OK;
    }
    return EK_OK;
}

/* Events or times of collectives as JSON, or a table of a device's work. */
static bool is_profile(const char *head)
{
    static const char *const json[] = {"\"traceEvents\"", "\"ph\"", "\"Communication Time Info\""};
    static const char *const column[] = {"Duration(us)", "Task Duration(us)", "Communication(Not Overlapped)"};
    const char *at = head + strspn(head, "\xef\xbb\xbf \t\r\n");
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

/* An ek_source_kind; -1: the readers decide. */
static int kind_of_head(const char *head)
{
    bool table = strchr(head, ',') != NULL;
    if (is_profile(head))
        return EK_SOURCE_PROFILE;
    if (table && has_column(head, "share_of_peak"))
        return EK_SOURCE_KERNELS;
    if (table && has_column(head, "what") && has_column(head, "operator"))
        return EK_SOURCE_RATES;
    if (table && is_runs(head))
        return EK_SOURCE_RUNS;
    if (strstr(head, "algbw") || strstr(head, "aveg_time") || strstr(head, "avg_time(us)"))
        return EK_SOURCE_LINKS;
    return -1;
}

static ek_status kind_of_file(const char *path, char head[HEAD], ek_source_kind *out, ek_error *err)
{
    bool packed = false;
    ek_status status = read_head(path, head, &packed, err);
    if (status)
        return status;
    int kind = kind_of_head(head);
    if (packed && kind != (int)EK_SOURCE_PROFILE)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                        "only profiles are read packed, and this is none; unpack it (gunzip)");
    if (kind >= 0) {
        *out = (ek_source_kind)kind;
        return EK_OK;
    }
    status = check_separator(path, head, err);
    return status ? status : by_readers(path, out, err);
}

ek_status ek_source_kind_of(const char *path, ek_source_kind *out, ek_error *err)
{
    if (is_folder(path)) {
        *out = EK_SOURCE_PROFILE;
        return EK_OK;
    }
    char *head = ek__alloc(HEAD, 1);
    if (!head)
        return ek__no_memory(err);
    ek_status status = kind_of_file(path, head, out, err);
    free(head);
    return status;
}
