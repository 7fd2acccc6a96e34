/* layers/layers.h - constants and functions shared by the readers of layers. */
#ifndef EK_LAYERS_LAYERS_H
#define EK_LAYERS_LAYERS_H

#include "base/config_tree.h"
#include "evenkeel/layers.h"

/** Smallest time of a body layer, in any unit: it must not be zero. */
#define EK__MIN_TIME 1e-12
/** Largest time and largest memory of an input: far above any machine, far below overflow. */
#define EK__MAX_TIME      1e12
#define EK__MAX_MEMORY_MB 1e9

/** Tolerance for rounding of sums: the weight gradient may exceed the backward pass that contains it by this share.
 */
#define EK__WEIGHT_TOLERANCE 1e-9

/** Keys of the layer file per recompute kind: activations, backward time, coefficient. */
extern const struct ek__layer_keys {
    const char *memory, *time, *coefficient;
} ek__layer_keys[EK_N_RECOMPUTE];

/** Keys of the two parts of the backward time without recomputation. */
#define EK__KEY_INPUT_TIME  "backward_input_time"
#define EK__KEY_WEIGHT_TIME "backward_weight_time"

/** Set every kind's backward time from that of NONE by the default coefficients, and the weight part to its half. */
void ek__layer_default_times(ek_layer *layer, double backward);

/** ek_layers_read() of a document. */
ek_status ek__layers_from_config(const ek__config_tree *doc, const ek_times *times, const ek_listener *listener,
                                 ek_layers *out, ek_error *err);

#endif
