/* Additions of Python's extension module to the public headers (shim.h). cdef.py puts both into its source. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- warnings ---- */

static void take_warning(void *user, const ek_error *warning)
{
    ekpy_warnings *warnings = user;
    if (warnings->n == warnings->room) {
        int room = warnings->room ? 2 * warnings->room : 8;
        ek_error *at = realloc(warnings->at, (size_t)room * sizeof *at);
        if (!at) {
            warnings->lost = true;
            return;
        }
        warnings->at = at;
        warnings->room = room;
    }
    warnings->at[warnings->n++] = *warning;
}

void ekpy_listen(ek_listener *listener, ekpy_warnings *warnings)
{
    *listener = (ek_listener){.warn = take_warning, .user = warnings};
}

void ekpy_warnings_clear(ekpy_warnings *warnings)
{
    free(warnings->at);
    memset(warnings, 0, sizeof *warnings);
}

/* ---- watching ---- */

struct ekpy_watch {
    ek_interrupt interrupt;
    pthread_mutex_t lock; /* of `now` */
    ekpy_progress now;
};

static const ekpy_progress untold = {.seconds = NAN, .best = INFINITY, .gap = 1, .balanced = -1, .left = -1};

ekpy_watch *ekpy_watch_new(void)
{
    ekpy_watch *watch = calloc(1, sizeof *watch);
    if (watch) {
        pthread_mutex_init(&watch->lock, NULL);
        watch->now = untold;
    }
    return watch;
}

void ekpy_watch_free(ekpy_watch *watch)
{
    if (watch)
        pthread_mutex_destroy(&watch->lock);
    free(watch);
}

void ekpy_watch_read(ekpy_watch *watch, ekpy_progress *out)
{
    pthread_mutex_lock(&watch->lock);
    *out = watch->now;
    pthread_mutex_unlock(&watch->lock);
}

void ekpy_watch_stop(ekpy_watch *watch)
{
    ek_interrupt_set(&watch->interrupt);
}

static void put(ekpy_watch *watch, ekpy_progress now)
{
    pthread_mutex_lock(&watch->lock);
    now.told = watch->now.told + 1;
    watch->now = now;
    pthread_mutex_unlock(&watch->lock);
}

static void take_share(void *user, double share, const char *what)
{
    ekpy_progress now = untold;
    now.share = share;
    strncpy(now.what, what ? what : "", sizeof now.what - 1);
    put(user, now);
}

static void take_balance(void *user, const ek_balance_progress *progress)
{
    ekpy_progress now = untold;
    now.seconds = progress->seconds;
    now.share = progress->done;
    now.best = progress->best_step_time;
    if (isfinite(now.best) && progress->lower_bound > 0)
        now.gap = fmax(1 - progress->lower_bound / now.best, 0);
    strcpy(now.what, "searching");
    put(user, now);
}

static void take_layout(void *user, const ek_layout_progress *progress)
{
    ekpy_progress now = untold;
    now.seconds = progress->seconds;
    now.best = progress->best_seconds;
    now.gap = progress->gap;
    now.balanced = progress->n_balanced;
    now.left = progress->n_left;
    strcpy(now.what, "searching");
    put(user, now);
}

void ekpy_watch_begin(ekpy_watch *watch)
{
    ek_progress_begin(take_share, watch);
}

void ekpy_watch_end(void)
{
    ek_progress_end();
}

void ekpy_watch_balance(ekpy_watch *watch, ek_balance_options *options)
{
    options->progress = take_balance;
    options->user = watch;
    options->interrupt = &watch->interrupt;
}

void ekpy_watch_layout(ekpy_watch *watch, ek_layout_options *options)
{
    options->progress = take_layout;
    options->user = watch;
    options->interrupt = &watch->interrupt;
}

void ekpy_watch_calibrate(ekpy_watch *watch, ek_calibrate_input *input)
{
    input->progress = take_share;
    input->progress_user = watch;
    input->interrupt = &watch->interrupt;
}

void ekpy_watch_trace(ekpy_watch *watch, ek_trace_options *options)
{
    options->progress = take_share;
    options->user = watch;
    options->interrupt = &watch->interrupt;
}

/* ---- lists of a pipeline's stages ---- */

static bool is_wrong(const char *name, int n, int wanted, const char *what, ek_error *err)
{
    if (n == 0 || n == wanted)
        return false;
    memset(err, 0, sizeof *err);
    err->status = EK_ERR_INPUT;
    snprintf(err->message, sizeof err->message, "%s has %d values, but there are %d %s; give one for each", name, n,
             wanted, what);
    return true;
}

static ek_status fill(const void *user, const ek_shape *shape, ek_balance_options *options, void **own, ek_error *err)
{
    const ekpy_lists *v = user;
    int pieces = shape->n_pieces > 1 ? shape->n_pieces : 1;
    *own = NULL;
    if (is_wrong("stage_memory_mb", v->n_memory, shape->n_stages, "stages", err) ||
        is_wrong("stage_speed", v->n_slowdown, shape->n_stages, "stages", err) ||
        is_wrong("p2p_edges", v->n_edges, shape->n_stages, "stages", err) ||
        is_wrong("micro_batch_cost", v->n_scale / pieces, shape->n_micro_batches / pieces, "micro-batches", err))
        return EK_ERR_INPUT;
    options->activation_limit = v->activation_limit;
    options->stage_memory_mb = v->n_memory ? v->stage_memory_mb : NULL;
    options->slowdown = v->n_slowdown ? v->slowdown : NULL;
    options->comm.edge_time = v->n_edges ? v->edge_time : NULL;
    options->micro_batch_scale = v->n_scale ? v->micro_batch_scale : NULL;
    return EK_OK;
}

static void release(void *own)
{
    (void)own; /* the lists are Python's */
}

void ekpy_lists_of(ek_balance_lists *lists, const ekpy_lists *values)
{
    *lists = (ek_balance_lists){.fill = fill, .release = release, .user = values};
}

/* ---- files into memory ---- */

static ek_status no_memory(ek_error *err)
{
    memset(err, 0, sizeof *err);
    err->status = EK_ERR_MEMORY;
    strcpy(err->message, "out of memory");
    return EK_ERR_MEMORY;
}

/* Ends the text of a stream in memory. */
static ek_status finish(FILE *memory, ek_status status, char **text, ek_error *err)
{
    if ((fclose(memory) || !*text) && status == EK_OK)
        status = no_memory(err);
    if (status) {
        free(*text);
        *text = NULL;
    }
    return status;
}

ek_status ekpy_emit(const ek_emitter *emitter, const ek_emission *emission, char **text, size_t *size, ek_telling *told,
                    ek_error *err)
{
    FILE *memory = open_memstream(text, size);
    return memory ? finish(memory, emitter->write(emission, memory, told, err), text, err) : no_memory(err);
}

ek_status ekpy_device_text(const ek_calibration *calibration, char **text, size_t *size, ek_error *err)
{
    FILE *memory = open_memstream(text, size);
    return memory ? finish(memory, ek_calibration_write_device(calibration, memory, err), text, err) : no_memory(err);
}

ek_status ekpy_layers_text(const ek_layers *layers, char **text, size_t *size, ek_error *err)
{
    FILE *memory = open_memstream(text, size);
    return memory ? finish(memory, ek_layers_write(layers, memory, err), text, err) : no_memory(err);
}
