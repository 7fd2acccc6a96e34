/* Fuzzes a layout written into a training file: reading the written file gives the requested layout, and a refusal has
 * a message. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/job_write.h"
#include "fuzz.h"
#include "job/settings.h"

static void check_text(const char *path, const char *text, size_t size, const ek_job *now)
{
    ek_job read;
    ek_error err = {0};
    ek__job_step step;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.literal = now->literal;
    bool script = strstr(text, "#!/bin/bash") == text; /* of a config.json */
    assert(text[size] == '\0');
    ek_status status =
        ek__job_parse_file(script ? "written.sh" : path, text, size, &overrides, NULL, &read, &step, &err);
    assert(status == EK_OK && read.parallel.data == now->parallel.data && read.parallel.tensor == now->parallel.tensor);
    assert(read.parallel.batch == now->parallel.batch && read.parallel.pipeline == now->parallel.pipeline);
    assert(read.parallel.n_micro_batches == now->parallel.n_micro_batches);
    ek_job_clear(&read);
}

static void write_with(const char *path, const ek_job *was, int data, int tensor, int batch)
{
    ek_job now;
    ek_error err = {0};
    char *text = NULL;
    size_t size = 0;
    assert(ek_job_copy(was, &now, &err) == EK_OK);
    now.parallel.data *= data;
    now.parallel.tensor *= tensor;
    now.parallel.batch *= batch;
    now.parallel.n_micro_batches *= was->parallel.pipeline > 1 ? 2 : 1;
    ek_status status = ek__job_follow(was, &now, &err);
    if (status == EK_OK)
        status = ek_job_write_text(was, &now, &text, &size, &err);
    if (status == EK_OK)
        check_text(path, text, size, &now);
    else
        assert(err.message[0] != '\0' && !text);
    free(text);
    ek_job_clear(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    ek_job was;
    ek_error err = {0};
    if (ek_job_read(path, NULL, NULL, &was, &err))
        return 0;
    bool small = was.parallel.data <= 1 << 16 && was.parallel.tensor <= 1 << 12 && was.parallel.batch <= 1 << 12 &&
                 was.parallel.n_micro_batches <= 1 << 12;
    for (int k = 0; k < 4 && small; k++)
        write_with(path, &was, k == 0 ? 2 : 1, k == 1 ? 2 : 1, k == 2 ? 3 : 1);
    ek_job_clear(&was);
    return 0;
}
