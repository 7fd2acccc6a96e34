/* Predictions of memory for a page. */
#include "prediction.h"

static ek_status fill(const ek_job *job, const ek_device *device, cli_prediction *p, ek_error *err)
{
    ek_status status = ek_memory_predict(job, NULL, &p->memory, err);
    if (status == EK_OK)
        status = ek_memory_mitigations(job, device, p->measure, &p->n_measures, err);
    if (status == EK_OK)
        status = ek_memory_kept(job, p->kept, &p->n_kept, err);
    if (status == EK_OK)
        status = ek_memory_course_of(job, &p->course, err);
    if (status == EK_OK && device)
        status = cli_memory_times(job, device, p->time, &p->n_times, err);
    return status;
}

ek_status cli_prediction_make(const ek_job *job, const ek_device *device, cli_prediction *out, ek_error *err)
{
    *out = (cli_prediction){0};
    ek_status status = fill(job, device, out, err);
    if (status) {
        cli_prediction_clear(out);
        return status;
    }
    out->report = (ek_memory_report){.job = job,
                                     .memory = &out->memory,
                                     .course = &out->course,
                                     .device = device,
                                     .n_times = out->n_times,
                                     .time = out->time,
                                     .n_measures = out->n_measures,
                                     .measure = out->measure,
                                     .n_kept = out->n_kept,
                                     .kept = out->kept,
                                     .stage = -1};
    return EK_OK;
}

void cli_prediction_clear(cli_prediction *prediction)
{
    ek_memory_clear(&prediction->memory);
    ek_memory_course_clear(&prediction->course);
    for (int i = 0; i < prediction->n_kept; i++)
        ek_kept_clear(&prediction->kept[i]);
    *prediction = (cli_prediction){0};
}
