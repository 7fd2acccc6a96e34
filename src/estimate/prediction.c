/* Computes all of a job's memory for a page: the prediction, mitigations, saved tensors, memory over time, times of
 * layers. */
#include "evenkeel/prediction.h"

ek_status ek_memory_times(const ek_job *job, const ek_device *device, ek_memory_time *time, int *n, ek_error *err)
{
    static const char *const name[EK_MAX_MEMORY_TIMES] = {"embedding", "decoder", "decoder with experts", "prediction",
                                                          "head and loss"};
    const ek_job_model *m = &job->model;
    const bool there[EK_MAX_MEMORY_TIMES] = {true, m->n_experts == 0 || m->n_dense_layers > 0 || m->expert_period > 1,
                                             m->n_experts > 0, m->n_prediction_layers > 0, true};
    *n = 0;
    for (int place = EK_LAYER_HEAD; place <= EK_LAYER_TAIL; place++) {
        if (!there[place])
            continue;
        time[*n].name = name[place];
        ek_status status = ek_cost_layer(job, device, place, &time[(*n)++].ms, err);
        if (status)
            return status;
    }
    return EK_OK;
}

static ek_status fill(const ek_job *job, const ek_device *device, ek_prediction *p, ek_error *err)
{
    ek_status status = ek_memory_predict(job, NULL, &p->memory, err);
    if (status == EK_OK)
        status = ek_memory_mitigations(job, device, p->measure, &p->n_measures, err);
    if (status == EK_OK)
        status = ek_memory_kept(job, p->kept, &p->n_kept, err);
    if (status == EK_OK)
        status = ek_memory_course_of(job, &p->course, err);
    if (status == EK_OK && device)
        status = ek_memory_times(job, device, p->time, &p->n_times, err);
    return status;
}

ek_status ek_prediction_of(const ek_job *job, const ek_device *device, ek_prediction *out, ek_error *err)
{
    *out = (ek_prediction){0};
    ek_status status = fill(job, device, out, err);
    if (status) {
        ek_prediction_clear(out);
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

void ek_prediction_clear(ek_prediction *prediction)
{
    ek_memory_clear(&prediction->memory);
    ek_memory_course_clear(&prediction->course);
    for (int i = 0; i < prediction->n_kept; i++)
        ek_kept_clear(&prediction->kept[i]);
    *prediction = (ek_prediction){0};
}
