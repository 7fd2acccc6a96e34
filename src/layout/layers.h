/* layout/layers.h - makes a layout's layers for the balancer, so that it never overestimates a plan's time or
 * memory. */
#ifndef EK_LAYOUT_LAYERS_H
#define EK_LAYOUT_LAYERS_H

#include "cost/step_stage.h"
#include "layout/rule.h"
#include "memory/program.h"

/**
 * Times in ms from the pricer. Memory is the bytes that a stage holds for the whole step and the saved activations of
 * each micro-batch, without temporary tensors of a block: never more than a plan's used peak.
 *
 * @param rule  recomputation that the layers may use: of EK__RULE_LISTS, _FIRST and _EVERY all kinds or none and
 *              full; of the other rules only the recomputation that every layer has, as the kind NONE
 * @param out   ek_layers_clear() frees it
 */
ek_status ek__layout_layers(const ek_job *job, const ek__job_programs *programs, ek__stage_pricer *pricer,
                            ek__recompute_rule rule, ek_layers *out, ek_error *err);

#endif
