/* The build: its version, its optional parts, and whether it works: a small job whose memory and step are predicted. */
#include <math.h>
#include <string.h>

#include "base/digits.h"
#include "doctor/checks.h"
#include "evenkeel/device.h"
#include "evenkeel/estimate.h"
#include "evenkeel/features.h"
#include "evenkeel/job.h"
#include "evenkeel/version.h"

void ek__check_version(ek__doctor *d)
{
    const char *program = d->options->version;
    if (program && strcmp(program, ek_version()) != 0)
        ek__doctor_add(d, "version", EK_DOCTOR_NOTE, "install program and library of one version",
                       "program %s, library %s", program, ek_version());
    else
        ek__doctor_add(d, "version", EK_DOCTOR_OK, NULL, "evenkeel %s", ek_version());
}

void ek__check_features(ek__doctor *d)
{
    for (int i = 0; i < EK_N_FEATURES; i++) {
        const char *absent = ek_feature_absent((ek_feature)i);
        if (absent)
            ek__doctor_add(d, "feature", EK_DOCTOR_NOTE, "install a build that has it, or build with that option", "%s",
                           absent);
        else
            ek__doctor_add(d, "feature", EK_DOCTOR_OK, NULL, "%s", ek_feature_title((ek_feature)i));
    }
}

/* A Llama of four layers. */
static const char job_text[] =
    "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 1024, "
    "\"num_hidden_layers\": 4,"
    " \"num_attention_heads\": 8, \"num_key_value_heads\": 8, \"intermediate_size\": 2816, \"vocab_size\": 32000,"
    " \"max_position_embeddings\": 4096, \"torch_dtype\": \"bfloat16\"}\n";

void ek__check_work(ek__doctor *d)
{
    ek_job job;
    ek_error err = {EK_OK, 0, 0, "", "", ""};
    ek_estimate estimate;
    int n_devices;
    const ek_device *device = ek_devices(&n_devices);
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.pipeline = 2;
    ek_status status = ek_job_parse("config.json", job_text, sizeof job_text - 1, &overrides, NULL, &job, &err);
    bool has_job = status == EK_OK;
    if (status == EK_OK && n_devices > 0)
        status = ek_estimate_of(&job, ek_device_find("H100"), (double)NAN, &estimate, &err);
    if (status == EK_ERR_MEMORY)
        d->no_memory = true;
    else if (status || n_devices == 0)
        ek__doctor_add(d, "work", EK_DOCTOR_PROBLEM, "install Evenkeel anew", "a small job cannot be predicted: %s",
                       status ? err.message : "the library has no devices");
    else
        ek__doctor_add(d, "work", EK_DOCTOR_OK, NULL,
                       "a small job was predicted: %s a step on H100; %d devices are known",
                       ek__seconds(estimate.step.seconds).text, n_devices);
    if (status == EK_OK && has_job && n_devices > 0)
        ek_estimate_clear(&estimate);
    if (has_job)
        ek_job_clear(&job);
    (void)device;
}
