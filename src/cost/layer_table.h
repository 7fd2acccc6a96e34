/* cost/layer_table.h - what whole layers took beside what their kernels add up to. */
#ifndef EK_COST_LAYER_TABLE_H
#define EK_COST_LAYER_TABLE_H

#include "evenkeel/cost.h"
#include "memory/graph.h"

/* Factor on what a layer of a job computes, by the device's measured layers; 1 where there are none. */
double ek__layer_factor(const ek_job *job, const ek_device *device, ek__graph_kind kind);

#endif
