/* Fuzzes the training file: a file that is read has shapes that a model can be split by, and a plan that places its
 * layers; writing another plan into it is refused with a message, or gives a file with that plan. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/emit.h"
#include "evenkeel/job.h"
#include "evenkeel/layers.h"
#include "evenkeel/sequence.h"
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
    ek_job now;
    ek_error err = {0};
    if (ek_job_read_part(path, EK_JOB_PLAN, NULL, &now, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    int n_cells = now.plan.n_stages * now.plan.n_chunks, sum = 0;
    int n_layers = now.model.n_layers + now.model.n_prediction_layers;
    for (int c = 0; c < n_cells; c++) {
        sum += now.plan.layers[c];
        assert(now.plan.full[c] >= 0 && now.plan.full[c] <= now.plan.layers[c]);
        now.plan.full[c] = now.plan.layers[c] / 2;
    }
    assert(sum == n_layers);
    const ek_train_change change = {.plan = &now.plan, .n_layers = n_layers, .schedule = now.schedule};
    char *text;
    size_t size;
    if (ek_train_apply(path, &change, NULL, &text, &size, &err)) {
        assert(err.message[0] != '\0');
    } else {
        ek_job then;
        const char *changed = fuzz_file((const uint8_t *)text, size);
        assert(ek_job_read_part(changed, EK_JOB_PLAN, NULL, &then, &err) == EK_OK);
        for (int c = 0; c < n_cells; c++)
            assert(then.plan.layers[c] == now.plan.layers[c] && then.plan.full[c] == now.plan.full[c]);
        ek_job_clear(&then);
        free(text);
    }
    ek_job_clear(&now);
}

/* The degrees have no more devices than the limit. */
static void check_degrees(const char *path)
{
    ek_job job;
    ek_error err = {0};
    if (ek_job_read_part(path, EK_JOB_DEGREES, NULL, &job, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    assert(ek_job_devices(&job) >= 0 && ek_job_devices(&job) <= EK_MAX_RANKS);
    ek_job_clear(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ek_layers model = {.name = "fuzz", .n_body = 1, .body = &body, .n_layers = 12, .modelled = {true}};
    ek_job job;
    ek_error err = {0};
    check_degrees(fuzz_file(data, size));
    check_plan(fuzz_file(data, size));
    if (ek_job_read_part(fuzz_file(data, size), EK_JOB_SHAPES, NULL, &job, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    int k = ek_sequence_pieces(&job, 4, NULL);
    assert(k >= 1 && k <= 4);
    ek_layers pieces;
    if (ek_layers_split_sequence(&model, &job, k, NULL, &pieces, &err) == EK_OK) {
        assert(isfinite(pieces.body[0].activation_mb[0]) && isfinite(pieces.tail.parameter_mb));
        ek_layers_clear(&pieces);
    }
    ek_job_clear(&job);
    return 0;
}
