/* The training file: what is read has shapes that a model can be split by. */
#include <assert.h>
#include <math.h>

#include <evenkeel/evenkeel.h>

#include "fuzz.h"

static ek_layer body = {.name = "layer",
                        .n_layers = 12,
                        .forward_time = 10,
                        .backward_time = {20},
                        .parameter_mb = 100,
                        .activation_mb = {50},
                        .modelled = {true}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ek_layers model = {.name = "fuzz", .n_body = 1, .body = &body, .n_layers = 12, .modelled = {true}};
    ek_train train;
    ek_train_devices devices;
    ek_error err = {0};
    if (ek_train_read_devices(fuzz_file(data, size), &devices, &err) == EK_OK)
        assert(devices.n_ranks >= devices.n_stages && devices.n_ranks <= EK_MAX_RANKS);
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
