/* shim.h - additions of Python's extension module to the public headers: calls of the library with callbacks that stay
 * in C, so that they need no interpreter. cffi reads this file unchanged. */

/* Warnings of a reader. */
typedef struct ekpy_warnings {
    ek_error *at;
    int n, room;
    bool lost;
} ekpy_warnings;
void ekpy_listen(ek_listener *listener, ekpy_warnings *warnings);
void ekpy_warnings_clear(ekpy_warnings *warnings);

/* How far a call is. */
typedef struct ekpy_progress {
    long told;           /* how often; 0: nothing is known yet */
    double seconds;      /* since the start; NAN where the call does not report it */
    double share;        /* of the work, 0..1 */
    double best;         /* the best answer so far; INFINITY: none */
    double gap;          /* how much better one could be, as a share; 1: not known */
    long balanced, left; /* layouts; -1: not a search for layouts */
    char what[96];
} ekpy_progress;

/* A call that another thread watches and ends. */
typedef struct ekpy_watch ekpy_watch;
ekpy_watch *ekpy_watch_new(void);
void ekpy_watch_free(ekpy_watch *watch);
void ekpy_watch_read(ekpy_watch *watch, ekpy_progress *out);
void ekpy_watch_stop(ekpy_watch *watch);
void ekpy_watch_begin(ekpy_watch *watch);
void ekpy_watch_end(void);
void ekpy_watch_balance(ekpy_watch *watch, ek_balance_options *options);
void ekpy_watch_layout(ekpy_watch *watch, ek_layout_options *options);
void ekpy_watch_calibrate(ekpy_watch *watch, ek_calibrate_input *input);
void ekpy_watch_trace(ekpy_watch *watch, ek_trace_options *options);

/* The values that depend on the shape of a pipeline, for ek_balance_lists. Borrowed. */
typedef struct ekpy_lists {
    int n_memory, n_slowdown, n_edges, n_scale; /* values of each list, of each piece of a micro-batch; 0: none */
    const double *stage_memory_mb, *slowdown, *edge_time, *micro_batch_scale;
    double activation_limit; /* 0: the schedule's own */
} ekpy_lists;
void ekpy_lists_of(ek_balance_lists *lists, const ekpy_lists *values);

/* Into memory; free() frees the text. */
ek_status ekpy_emit(const ek_emitter *emitter, const ek_emission *emission, char **text, size_t *size, ek_telling *told,
                    ek_error *err);
ek_status ekpy_device_text(const ek_calibration *calibration, char **text, size_t *size, ek_error *err);
ek_status ekpy_layers_text(const ek_layers *layers, char **text, size_t *size, ek_error *err);
