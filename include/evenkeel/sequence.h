/* evenkeel/sequence.h - the sequence pipeline: cuts micro-batches into pieces along the sequence.
 *
 * A model is turned into that of its pieces, so that the balancer and the simulator need no changes: their input has k
 * times the micro-batches, each a piece. The order of the pieces is the schedule `sequence`.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_SEQUENCE_H
#define EVENKEEL_SEQUENCE_H

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Tokens that a piece needs to keep a device busy. Source: the original tool. */
enum { EK_LEAST_PIECE = 4096 };

/**
 * The number of pieces of a micro-batch when k are requested: k, or fewer when they would be shorter than
 * EK_LEAST_PIECE tokens: 1 instead of 2, else S / EK_LEAST_PIECE, but at least 1. Source: the original tool.
 *
 * @param job       with its sequence length; EK_JOB_SHAPES is enough
 * @param listener  warned when it is not k, and when the pieces are not equally long; may be NULL
 * @return 1..k. O(1).
 */
int ek_sequence_pieces(const ek_job *job, int k, const ek_listener *listener);

/**
 * The model of one of k sequence pieces. With B, H, S, h, V, t of the job, D the mean size of a head's key and value:
 *
 *     time'      = time / k                                                      all of them
 *     kv         = 2 B H S D / t                                                 bytes of all keys, or of all values
 *     activation'= (activation - 2 kv) / k + 2 kv                                each body layer and kind
 *     parameter' = parameter + 4 kv                                              each body layer
 *     head'      = head - (1 - 1/k) (t > 1 ? 4 BSh/t + 2 BSh : 2 BSh + 2 BS intermediate)
 *     loss       = 4 B S V / t
 *     tail'      = tail - (3 - 3/k) loss + (k - 1) loss / k
 *
 * head and tail are their parameter_mb; their activation_mb stays. A piece's own backward pass needs the keys and
 * values of the pieces before it, so kv is not divided: caches of keys, values and both gradients are held for the
 * whole step. Source: the original tool, with the intermediate size from the file instead of 11008. Assumes 16-bit keys
 * and values, as many key heads as query heads, and that every piece takes the same time. FULL recomputation does not
 * exist here. A head or tail that the formula makes smaller than zero becomes zero.
 *
 * @param job       EK_JOB_SHAPES is enough
 * @param k         1 or more; 1 copies
 * @param listener  warned about removed FULL, memory cut at zero, activations below 2 kv, and context parallelism,
 * which the formulas ignore; may be NULL
 * @param out       filled on success; ek_layers_clear() frees it
 * @return EK_OK; EK_ERR_INPUT for a model that ek_layers_check() refuses, k below 1, and when FULL is the only kind of
 *   recomputation of a body layer; EK_ERR_MEMORY. O(layers).
 */
ek_status ek_layers_split_sequence(const ek_layers *in, const ek_job *job, int k, const ek_listener *listener,
                                   ek_layers *out, ek_error *err);

EK_END_DECLS
#endif
