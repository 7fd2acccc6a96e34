/* The training file: what is read has shapes that a model can be split by, and a plan that places its layers; putting
 * another plan there is refused with a message, or gives a file from which that plan is read. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <evenkeel/evenkeel.h>

#include "fuzz.h"

static ek_layer body = {.name = "layer",
                        .n_layers = 12,
                        .forward_time = 10,
                        .backward_time = {20},
                        .parameter_mb = 100,
                        .activation_mb = {50},
                        .modelled = {true}};

static void check_plan(const char *path)
{
    ek_train_plan now;
    ek_error err = {0};
    if (ek_train_plan_read(path, NULL, &now, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    int n_cells = now.plan.n_stages * now.plan.n_chunks, sum = 0;
    for (int c = 0; c < n_cells; c++) {
        sum += now.plan.layers[c];
        assert(now.plan.full[c] >= 0 && now.plan.full[c] <= now.plan.layers[c]);
        now.plan.full[c] = now.plan.layers[c] / 2;
    }
    assert(sum == now.n_layers);
    const ek_train_change change = {.plan = &now.plan, .n_layers = now.n_layers, .schedule = now.schedule};
    char *text;
    size_t size;
    if (ek_train_apply(path, &change, NULL, &text, &size, &err)) {
        assert(err.message[0] != '\0');
    } else {
        ek_train_plan then;
        assert(ek_train_plan_read(fuzz_file((const uint8_t *)text, size), NULL, &then, &err) == EK_OK);
        for (int c = 0; c < n_cells; c++)
            assert(then.plan.layers[c] == now.plan.layers[c] && then.plan.full[c] == now.plan.full[c]);
        ek_train_plan_clear(&then);
        free(text);
    }
    ek_train_plan_clear(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ek_layers model = {.name = "fuzz", .n_body = 1, .body = &body, .n_layers = 12, .modelled = {true}};
    ek_train train;
    ek_train_devices devices;
    ek_error err = {0};
    if (ek_train_read_devices(fuzz_file(data, size), &devices, &err) == EK_OK)
        assert(devices.n_ranks >= devices.n_stages && devices.n_ranks <= EK_MAX_RANKS);
    check_plan(fuzz_file(data, size));
    err = (ek_error){0};
    if (ek_train_read(fuzz_file(data, size), &train, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    int k = ek_sequence_pieces(&train, 4, NULL);
    assert(k >= 1 && k <= 4);
    ek_layers pieces;
    if (ek_layers_split_sequence(&model, &train, k, NULL, &pieces, &err) == EK_OK) {
        assert(isfinite(pieces.body[0].activation_mb[0]) && isfinite(pieces.tail.parameter_mb));
        ek_layers_clear(&pieces);
    }
    ek_train_clear(&train);
    return 0;
}
