/* evenkeel/layers.h - reads the time and memory of a model's layers, per recompute kind.
 *
 * ek_layers is one of the two central types: readers (init file, layer file) produce it, the balancer and the simulator
 * consume it. Times are in the unit of the input (milliseconds when they come from a profile), memory in MB of 2^20
 * bytes.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LAYERS_H
#define EVENKEEL_LAYERS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Lower-case names: "none", "select", "comm", "both", "full". */
extern const char *const *const ek_recompute_name;

/** Explicit limits of the inputs; anything beyond is refused with the limit in the message. */
enum {
    EK_MAX_STAGES = 1024,
    EK_MAX_CHUNKS = 64,
    EK_MAX_MICRO_BATCHES = 65535,
    EK_MAX_LAYERS = 4096,
    EK_MAX_BODY_KINDS = 16,
    EK_MAX_RANKS = 1 << 24,
};

/** Cost of one layer (embedding, one decoder layer, or head and loss) for one micro-batch on one device. */
typedef struct ek_layer {
    char name[EK_NAME_SIZE];
    int n_layers;                         /**< number of consecutive layers of the kind */
    double forward_time;                  /**< one layer, one micro-batch */
    double backward_time[EK_N_RECOMPUTE]; /**< including recomputation */
    double weight_time;                   /**< the part of each backward_time that is the gradient of the weights:
                                               recomputation precedes the gradient of the input, so it does not grow */
    double parameter_mb;                  /**< held for the whole step: weights, gradients, optimizer */
    double activation_mb[EK_N_RECOMPUTE]; /**< held from the end of F to the end of B of one micro-batch */
    bool modelled[EK_N_RECOMPUTE];        /**< false: no memory is known, so a plan may not use the kind */
} ek_layer;

/** How well the memory decomposition explains one measured peak. */
typedef struct ek_residual {
    int round; /**< dry-run round, from 0 */
    int stage; /**< from 0 */
    double measured_mb;
    double predicted_mb; /**< by the layers' values; as the original: before they are cut */
} ek_residual;

/** Source of the memory figures; n_residuals = 0 when a layer file stated them. */
typedef struct ek_memory_fit {
    double condition;    /**< 2-norm condition number of the system solved; 0 when there was none */
    bool const_modelled; /**< false: too few stages were given to separate the constant part */
    int n_residuals;
    ek_residual *residual; /**< [n_residuals], the given middle stages in file order */
} ek_memory_fit;

/** A model: head, body layers of one or several kinds in model order, tail. */
typedef struct ek_layers {
    char name[EK_NAME_SIZE];
    ek_layer head;                 /**< extra of chunk 0 of stage 0; its activation counts as kind NONE */
    ek_layer tail;                 /**< extra of the last chunk of the last stage */
    int n_body;                    /**< kinds of body layer, 1..EK_MAX_BODY_KINDS */
    ek_layer *body;                /**< [n_body], in model order */
    int n_layers;                  /**< sum of body[].n_layers */
    bool modelled[EK_N_RECOMPUTE]; /**< kinds that every body kind models */
    bool split_known;              /**< every weight_time was given; else some are assumed, EK_WEIGHT_TIME_SHARE */
    double const_mb;               /**< on every stage */
    bool recompute_transient; /**< count the activations that a layer recomputes during its backward pass; needs the
                                   activations of NONE of every body kind */
    ek_memory_fit fit;
} ek_layers;

/** Times given separately from a file (`--time head=0.1,body=3.1,tail=3.5`); a missing one is NAN. */
typedef struct ek_times {
    double head, body, tail;
} ek_times;

/** Backward time of a layer without recomputation over its forward time, when only the latter is known. Source:
 *  the original tool (docs/models.md); measured times, where given, replace it. */
#define EK_BACKWARD_RATIO 2.0

/** Share of the backward pass without recomputation that is the gradient of the weights, when not given. *Assumed*: in
 * a matrix product both gradients take the same operations. */
#define EK_WEIGHT_TIME_SHARE 0.5

/** Share by which each recompute kind lengthens the backward pass when no time is given: 0, 0.04, 0.125, 0.165, 0.5.
 *  Source: the original tool's defaults. */
extern const double *const ek_recompute_coefficient;

/**
 * Parse `head=0.1,body=3.1,tail=3.5` (any order, any subset, each at most once).
 *
 * @return EK_OK, or EK_ERR_INPUT for an unknown or repeated name, or a value that is not finite and positive
 *         (body) or non-negative (head, tail). O(length).
 */
ek_status ek_times_parse(const char *text, ek_times *out, ek_error *err);

/**
 * Read a layer file (JSON, docs/formats.md).
 *
 * Backward time of kind k: the file's own time, else backward x (1 + the file's coefficient or the default one), where
 * backward is the file's `backward_time`, else `backward_input_time` + `backward_weight_time`, else
 * 2 x forward x (1 + `backward_coef`). The weight part is `backward_weight_time`, else half; at most any kind's time.
 *
 * @param path      file to read; "-" is standard input
 * @param times     overrides of the file's times, or NULL; `body` replaces that of every body kind. A layer's measured
 *   backward times belong to its forward time, so an override replaces them too (coefficients stay)
 * @param listener  warned about unknown keys; may be NULL
 * @param out       filled on success; ek_layers_clear() frees it
 * @return EK_OK, EK_ERR_INPUT with the place, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size).
 */
ek_status ek_layers_read(const char *path, const ek_times *times, const ek_listener *listener, ek_layers *out,
                         ek_error *err);
/** The same from memory. @param name file name used in messages. @return as ek_layers_read(). O(size). */
ek_status ek_layers_parse(const char *name, const char *text, size_t size, const ek_times *times,
                          const ek_listener *listener, ek_layers *out, ek_error *err);

/**
 * Write a layer file that ek_layers_read() reads back to the same figures.
 *
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(body kinds).
 */
ek_status ek_layers_write(const ek_layers *layers, FILE *out, ek_error *err);

/**
 * Can the model be balanced and simulated? For models made in memory; readers check theirs. ek_balance(), ek_simulate()
 * and other functions that calculate with a model call it.
 *
 *   - 1..EK_MAX_BODY_KINDS kinds of body layer of 1..EK_MAX_LAYERS layers each, which add up to n_layers, at most
 *     EK_MAX_LAYERS
 *   - names end within their array
 *   - every time, of the kinds that are not modelled too, is a number from 0 to 1e12; weight_time is at most the
 * backward_time of each modelled kind, of NONE in head and tail
 *   - every activation is a number from 0 to 1e9 MB, so is parameter_mb of a body layer; parameter_mb of head and tail,
 *     which a decomposition may leave negative, and const_mb are from -1e9 to 1e9 MB
 *   - at least one kind of recomputation is modelled, and each modelled kind is modelled in every body layer; with
 *     recompute_transient NONE is among those of every body layer
 *   - fit has residuals where it is marked so
 *
 * @return EK_OK; EK_ERR_INPUT naming the layer, the member and its value. O(body kinds).
 */
ek_status ek_layers_check(const ek_layers *layers, ek_error *err);

/** A model of which nothing is known but its number of layers, to read plans of it: every kind counts as modelled, all
 *  times and memory are 0. `body` is its one body kind, filled and borrowed; so it is not for ek_layers_clear(). */
ek_layers ek_layers_bare(int n_layers, ek_layer *body);

/** Free the contents of `layers` and zero it. Accepts a zeroed struct. */
void ek_layers_clear(ek_layers *layers);

EK_END_DECLS
#endif
