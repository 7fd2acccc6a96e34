/* Reads the log of a training run. It is searched for a few texts in one pass with bounded memory, and each hit is
 * passed to the reader of its framework; only the steps are stored. Ranks print the same step one after the other, and
 * a restarted run counts from an earlier one on: a number among the last REMEMBERED steps is another rank's line, an
 * older one begins a restarted run. Not handled: rates of several ranks in mixed lines, which are assigned to the step
 * printed last. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "base/median.h"
#include "evenkeel/job.h"
#include "metrics/log_lines.h"

const char *const ek__train_log_kind_name[EK_N_TRAIN_LOG_KINDS] = {"MindFormers", "Megatron", "torchtitan"};
const char *const *const ek_train_log_kind_name = ek__train_log_kind_name;

enum { REMEMBERED = 64, MAX_STEPS = 1 << 26, FIRST_STEPS = 10 };

/* Leading steps that take longer than this many medians were compiling or warming up. */
static const double slow_start = 1.5;

static const ek__log_format *const formats[] = {EK__LOG_FORMATS};
enum { N_FORMATS = sizeof formats / sizeof *formats };

typedef struct reader {
    ek_train_log log;
    size_t room;
    int n_others; /* steps in another framework's words */
    int other_line;
    bool too_many, no_memory, packed;
    int n_needles;
    const char *needle[EK__MAX_NEEDLES];
    struct {
        int format, needle;
    } owner[EK__MAX_NEEDLES];
} reader;

static void list_needles(reader *r)
{
    for (int f = 0; f < N_FORMATS; f++)
        for (int k = 0; formats[f]->needle[k] && r->n_needles < EK__MAX_NEEDLES; k++) {
            r->owner[r->n_needles].format = f;
            r->owner[r->n_needles].needle = k;
            r->needle[r->n_needles++] = formats[f]->needle[k];
        }
}

/* ---- steps ---- */

static ek_train_log_step *find_recent(const ek_train_log *log, int64_t step)
{
    int first = log->n > REMEMBERED ? log->n - REMEMBERED : 0;
    for (int i = log->n - 1; i >= first; i--)
        if (log->step[i].step == step)
            return &log->step[i];
    return NULL;
}

static void fill(double *to, double from)
{
    if (isnan(*to))
        *to = from;
}

static void add_step(reader *r, const ek_train_log_step *step)
{
    ek_train_log_step *same = find_recent(&r->log, step->step);
    if (same) {
        fill(&same->loss, step->loss);
        fill(&same->tflops_per_device, step->tflops_per_device);
        fill(&same->global_batch, step->global_batch);
        same->overflow |= step->overflow;
        return;
    }
    r->too_many |= r->log.n >= MAX_STEPS;
    if (r->too_many)
        return;
    ek_train_log_step *grown = ek__with_room(r->log.step, &r->room, (size_t)r->log.n + 1, sizeof *grown);
    r->no_memory |= !grown;
    if (!grown)
        return;
    r->log.step = grown;
    grown[r->log.n++] = *step;
}

static void read_step(reader *r, ek_train_log_kind kind, const ek_train_log_step *step)
{
    if (r->log.n == 0)
        r->log.kind = kind;
    if (r->log.kind == kind) {
        add_step(r, step);
    } else if (r->n_others++ == 0) {
        r->other_line = step->line;
    }
}

static void read_hit(void *user, const ek__hit *hit)
{
    reader *r = user;
    const ek__log_format *format = formats[r->owner[hit->needle].format];
    ek__log_line line = {.said = EK__SAID_NOTHING};
    format->read(r->owner[hit->needle].needle, hit, &line);
    switch (line.said) {
    case EK__SAID_STEP:
        read_step(r, format->kind, &line.step);
        break;
    case EK__SAID_RATE:
        if (r->log.n > 0)
            fill(&r->log.step[r->log.n - 1].samples_per_second_per_device, line.value);
        break;
    case EK__SAID_MEMORY:
        r->log.peak_mb = fmax(r->log.peak_mb, line.value);
        break;
    case EK__SAID_WORLD:
        r->log.world_size = (int64_t)line.value;
        break;
    case EK__SAID_BATCH:
        r->log.global_batch = (int64_t)line.value;
        break;
    case EK__SAID_SEQUENCE:
        r->log.seq_length = (int64_t)line.value;
        break;
    case EK__SAID_NOTHING:
    default:
        break;
    }
}

/* ---- a file ---- */

static ek_status check(const reader *r, const char *path, const ek_listener *listener, ek_error *err)
{
    if (r->no_memory)
        return ek__no_memory(err);
    if (r->too_many)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                        "it has more than %d steps; give a part of the log", MAX_STEPS);
    if (r->log.n == 0 && r->packed)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}), "it is packed; unpack it (gunzip)");
    if (r->log.n == 0)
        return ek__fail(
            err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
            "no line of a training step is in it: looked for '%s' with 'step:[', as MindFormers prints, "
            "for '%s', as Megatron-LM and MindSpeed do, and for '%s' with 'step:', as torchtitan does; give the log of "
            "a rank that prints steps",
            ek__log_mindformers.needle[0], ek__log_megatron.needle[0], ek__log_torchtitan.needle[0]);
    if (r->n_others > 0)
        ek__warn(listener, (ek_origin){path, r->other_line, 0},
                 "%d line%s of steps here and below %s in the words of another framework than the first; left out",
                 r->n_others, r->n_others == 1 ? "" : "s", r->n_others == 1 ? "is" : "are");
    return EK_OK;
}

static ek_status read_all(int fd, const char *path, reader *r, ek_error *err)
{
    ek__needles set;
    ek__needles_init(&set, r->needle, r->n_needles);
    ek__scan scan = {.set = &set, .handle = read_hit, .user = r};
    ek_status status = ek__scan_file(&scan, fd, path, err);
    if (!status)
        ek__scan_finish(&scan);
    ek__scan_clear(&scan);
    return status;
}

ek_status ek_train_log_read(const char *path, const ek_listener *listener, ek_train_log *out, ek_error *err)
{
    reader r = {.log = {.world_size = -1, .global_batch = -1, .seq_length = -1, .peak_mb = NAN}};
    const char *file = path;
    path = ek__path_name(file);
    int fd = path == file ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (fd < 0)
        return ek__fail(err, ek__system_status(), ((ek_origin){path, 0, 0}), "cannot open it: %s", strerror(errno));
    list_needles(&r);
    unsigned char magic[2];
    r.packed = pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    ek_status status = read_all(fd, path, &r, err);
    if (fd != STDIN_FILENO)
        close(fd);
    if (!status)
        status = check(&r, path, listener, err);
    if (!status) {
        size_t n = strlen(path) + 1;
        r.log.path = ek__alloc(n, 1);
        if (r.log.path)
            memcpy(r.log.path, path, n);
        else
            status = ek__no_memory(err);
    }
    if (status)
        ek_train_log_clear(&r.log);
    else
        *out = r.log;
    return status;
}

void ek_train_log_clear(ek_train_log *log)
{
    free(log->path);
    free(log->step);
    *log = (ek_train_log){0};
}

/* ---- times from rates ---- */

void ek_train_log_time(ek_train_log *log, const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    double sequences = (double)p->batch * p->n_micro_batches * p->n_accumulation * p->n_batch_interleave;
    double tokens = sequences * p->seq_length / ((double)p->tensor * p->pipeline * p->context);
    for (int i = 0; i < log->n; i++)
        if (isnan(log->step[i].seconds))
            log->step[i].seconds = tokens / log->step[i].tokens_per_second_per_device; /* NAN without a rate */
}

double ek_train_log_token_rate(const ek_train_log *log)
{
    double *value = ek__alloc((size_t)log->n, sizeof *value);
    int n = 0;
    for (int i = 0; i < log->n && value; i++)
        if (log->step[i].tokens_per_second_per_device > 0)
            value[n++] = log->step[i].tokens_per_second_per_device;
    double median = n > 0 ? ek__median(value, (size_t)n) : (double)NAN;
    free(value);
    return median;
}

/* ---- summary ---- */

/* A ramped-up batch grows from step to step: the final size is the run's. */
static bool counts(const ek_train_log *log, const ek_train_log_step *step)
{
    double batch = log->step[log->n - 1].global_batch;
    bool smaller = !isnan(batch) && !isnan(step->global_batch) && step->global_batch != batch;
    return !isnan(step->seconds) && !step->overflow && !smaller;
}

typedef enum column { COLUMN_SECONDS, COLUMN_TFLOPS, COLUMN_RATE } column;

static double figure(const ek_train_log_step *step, column what)
{
    return what == COLUMN_SECONDS  ? step->seconds
           : what == COLUMN_TFLOPS ? step->tflops_per_device
                                   : step->samples_per_second_per_device;
}

/* A figure of the steps that count, from `first` on. @return the number of steps with it */
static int gather(const ek_train_log *log, int first, column what, double *value)
{
    int n = 0;
    for (int i = first; i < log->n; i++)
        if (counts(log, &log->step[i]) && !isnan(figure(&log->step[i], what)))
            value[n++] = figure(&log->step[i], what);
    return n;
}

/* The step after the last slow one of the first steps, of at most half of all. */
static int find_first(const ek_train_log *log, double limit)
{
    int most = log->n / 2 < FIRST_STEPS ? log->n / 2 : FIRST_STEPS, first = 0;
    for (int i = 0; i < most; i++)
        if (log->step[i].seconds > limit)
            first = i + 1;
    return first;
}

/* Mean, worst, deviation and median of the times. Sorts them. */
static void sum_up(double *value, ek_train_log_summary *s)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < s->n; i++) {
        sum += value[i];
        s->worst_seconds = fmax(s->worst_seconds, value[i]);
    }
    s->mean_seconds = sum / s->n;
    for (int i = 0; i < s->n; i++)
        squares += (value[i] - s->mean_seconds) * (value[i] - s->mean_seconds);
    s->deviation_seconds = sqrt(squares / s->n);
    s->median_seconds = ek__median(value, (size_t)s->n);
}

bool ek_train_log_summarise(const ek_train_log *log, ek_train_log_summary *out)
{
    double *value = ek__alloc((size_t)log->n, sizeof *value);
    ek_train_log_summary s = {0};
    int n = value ? gather(log, 0, COLUMN_SECONDS, value) : 0;
    if (n > 0) {
        s.first = find_first(log, slow_start * ek__median(value, (size_t)n));
        s.n = gather(log, s.first, COLUMN_SECONDS, value);
        if (s.n == 0) /* all others were skipped */
            s.n = gather(log, s.first = 0, COLUMN_SECONDS, value);
        sum_up(value, &s);
        n = gather(log, s.first, COLUMN_TFLOPS, value);
        s.median_tflops = ek__median(value, (size_t)n);
        n = gather(log, s.first, COLUMN_RATE, value);
        s.median_rate = ek__median(value, (size_t)n);
        *out = s;
    }
    free(value);
    return s.n > 0;
}
