/* Fuzzes the plan file: a plan that is read is a plan of the model, so it can be simulated. */
#include <assert.h>
#include <string.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/layers.h"
#include "evenkeel/plan.h"
#include "evenkeel/simulate.h"
#include "evenkeel/strategies.h"
#include "fuzz.h"

/* 12 layers with every recompute kind. */
static ek_layer body = {.name = "layer",
                        .n_layers = 12,
                        .forward_time = 10,
                        .backward_time = {20, 21, 22, 23, 30},
                        .parameter_mb = 100,
                        .activation_mb = {50, 40, 35, 30, 10},
                        .modelled = {true, true, true, true, true}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_layers layers = {.name = "fuzz", .n_body = 1, .body = &body, .n_layers = 12, .const_mb = 20};
    memcpy(layers.modelled, body.modelled, sizeof layers.modelled);
    ek_strategies strategies;
    ek_error err = {0};
    if (ek_strategies_read(fuzz_file(data, size), NULL, 0, NULL, &strategies, &err) == EK_OK)
        ek_strategies_clear(&strategies);
    else
        assert(err.message[0] != '\0');
    err = (ek_error){0};
    if (ek_strategies_read(fuzz_file(data, size), &layers, 0, NULL, &strategies, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    for (int i = 0; i < strategies.n && i < 4; i++) {
        const ek_plan *plan = &strategies.strategy[i].plan;
        assert(ek_plan_check(plan, &layers, &err) == EK_OK);
        ek_shape shape = {.n_stages = plan->n_stages, .n_chunks = plan->n_chunks, .n_micro_batches = plan->n_stages};
        ek_order *order;
        if (ek_order_new(ek_schedule_default(plan->n_chunks, 0), &shape, &order, &err))
            continue;
        ek_timeline timeline;
        if (ek_simulate(order, plan, &layers, NULL, &timeline, &err) == EK_OK) {
            assert(timeline.step_time > 0);
            ek_timeline_clear(&timeline);
        }
        ek_order_free(order);
    }
    ek_strategies_clear(&strategies);
    return 0;
}
