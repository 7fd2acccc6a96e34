/* Fuzzes predictions of a job's memory: whatever the file, a job that passes the checks has a prediction with parts
 * that add up, a memory timeline with the peak as its maximum, and the saved activations of its layers; only a schedule
 * without an order is refused.
 */
#include <assert.h>
#include <stdlib.h>

#include <evenkeel/evenkeel.h>
#include <evenkeel/memory_report.h>

#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "evenkeel/memory_report.h"
#include "fuzz.h"

enum { MOST_BLOCKS = 4096, MOST_PLAYED = 1000 }; /* limit of a step's size, so that an input takes milliseconds */

static void ignore(void *user, const ek_error *warning)
{
    (void)user;
    assert(warning->message[0]);
}

static void check_stages(const ek_memory *memory)
{
    for (int s = 0; s < memory->n_stages; s++) {
        const ek_memory_stage *stage = &memory->stage[s];
        int64_t sum = 0;
        for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
            sum += stage->part[i];
        assert(sum == stage->used_peak && stage->alive >= 0);
    }
}

static void check_course(const ek_job *job, const ek_memory *memory)
{
    ek_memory_course course;
    assert(ek_memory_course_of(job, &course, NULL) == EK_OK);
    for (int s = 0; s < course.n_stages; s++) {
        int64_t most = 0;
        for (size_t b = 0; b < course.n_blocks; b++) {
            const ek_memory_moment *moment = &course.moment[(size_t)s * course.n_blocks + b];
            assert(moment->after >= course.whole_step[s] && moment->peak >= moment->after);
            most = b == 0 || moment->peak > most ? moment->peak : most;
        }
        assert(most == memory->stage[s].used_peak);
    }
    ek_memory_course_clear(&course);
}

static void check_layers(const ek_job *job)
{
    ek_kept kept[EK_MAX_KEPT];
    ek_layers layers;
    int n = 0;
    assert(ek_memory_kept(job, kept, &n, NULL) == EK_OK);
    for (int i = 0; i < n; i++) {
        assert(kept[i].bytes >= 0 && kept[i].n > 0);
        ek_kept_clear(&kept[i]);
    }
    assert(ek_memory_to_layers(job, NULL, &layers, NULL) == EK_OK);
    ek_layers_clear(&layers);
}

static void predict(const ek_job *job, bool allocate)
{
    const ek_memory_options options = {.without_allocation = !allocate};
    ek_memory memory;
    ek_error err = {0};
    ek_status status = ek_memory_predict(job, &options, &memory, &err);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0]));
    if (status)
        return;
    check_stages(&memory);
    check_course(job, &memory);
    ek_memory_clear(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_job job;
    if (ek_job_read(fuzz_file(data, size), NULL, NULL, &job, NULL))
        return 0;
    int64_t micro_batches = (int64_t)job.parallel.n_micro_batches * job.parallel.n_pieces;
    int64_t blocks = micro_batches * job.plan.n_stages * job.plan.n_chunks;
    int64_t layers = job.model.n_layers + job.model.n_prediction_layers;
    (void)ek_memory_lint(&job, &(ek_listener){.warn = ignore}, NULL);
    check_layers(&job);
    if (blocks <= MOST_BLOCKS)
        predict(&job, micro_batches * layers * job.parallel.n_batch_interleave <= MOST_PLAYED);
    ek_job_clear(&job);
    return 0;
}
