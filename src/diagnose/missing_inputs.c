/* Describes how to get missing inputs, in the words of the run's framework: that of the settings, else that of the
 * trace, the log or the graph. Without any, the description is general. */
#include "diagnose/bottleneck.h"

typedef enum words { WORDS_GENERAL, WORDS_MINDFORMERS, WORDS_MEGATRON, WORDS_PYTORCH } words;
enum { N_WORDS = 4 };

static words words_of_trace(const ek_trace_run *run)
{
    for (int r = 0; r < run->n_ranks; r++)
        switch (run->rank[r].producer) {
        case EK_PRODUCER_MINDSPORE:
        case EK_PRODUCER_TIMELINE:
            return WORDS_MINDFORMERS;
        case EK_PRODUCER_TORCH_NPU:
        case EK_PRODUCER_KINETO:
            return WORDS_PYTORCH;
        case EK_PRODUCER_UNKNOWN:
        case EK_PRODUCER_MSPROF: /* of either */
        default:
            break;
        }
    return WORDS_GENERAL;
}

static words words_of(const ek__diagnose *d)
{
    const ek_run_input *in = d->input;
    words found = WORDS_GENERAL;
    if (in->job && in->job->framework == EK_TORCHTITAN)
        return WORDS_PYTORCH;
    if (in->job)
        return in->job->framework == EK_MEGATRON || in->job->framework == EK_MINDSPEED ? WORDS_MEGATRON
                                                                                       : WORDS_MINDFORMERS;
    if (in->log)
        found = in->log->kind == EK_TRAIN_LOG_MEGATRON ? WORDS_MEGATRON : WORDS_MINDFORMERS;
    else if (in->trace)
        found = words_of_trace(in->trace);
    /* Graphs and dry runs are MindSpore's. */
    return found == WORDS_GENERAL && (in->n_ir > 0 || in->dry_runs) ? WORDS_MINDFORMERS : found;
}

ek_framework ek__framework_of(const ek__diagnose *d)
{
    if (d->input->job)
        return d->input->job->framework;
    words w = words_of(d);
    return w == WORDS_MEGATRON || w == WORDS_PYTORCH ? EK_MEGATRON : EK_MINDFORMERS;
}

const char *ek__how_to_trace(const ek__diagnose *d)
{
    static const char *const text[N_WORDS] = {
        [WORDS_GENERAL] = "profile 3 to 5 steps after the first ten on all ranks, host and device, then give the "
                          "folder of all ranks' profiles",
        [WORDS_MINDFORMERS] =
            "set profile: True, profile_start_step and profile_stop_step (3 to 5 steps), profiler_level: 1 and "
            "profile_pipeline: True in the training YAML, then give the folder of all ranks' profiles",
        [WORDS_MEGATRON] =
            "start with --profile --profile-step-start 10 --profile-step-end 13 (on Ascend also --profile-level level1 "
            "--profile-with-cpu), then give the folder of all ranks' profiles",
        [WORDS_PYTORCH] = "profile 3 to 5 steps of all ranks with activities CPU and the device's, with_modules=True "
                          "(on Ascend profiler_level=Level1), then give the folder of all ranks' profiles",
    };
    return text[words_of(d)];
}

const char *ek__how_to_graph(const ek__diagnose *d)
{
    (void)d; /* only one framework has such graphs */
    return "export MS_DEV_SAVE_GRAPHS=1, start again for one step, then give the last validate graph of rank_0";
}

const char *ek__how_to_times(const ek__diagnose *d)
{
    static const char *const text[N_WORDS] = {
        [WORDS_GENERAL] = "give a trace with layers, or the settings of the job with --device",
        [WORDS_MINDFORMERS] = "give a trace with layers, or the training YAML with --device",
        [WORDS_MEGATRON] = "give a trace with layers, or the script of the job with --device",
        [WORDS_PYTORCH] = "give a trace with modules, or the settings of the job with --device",
    };
    return text[words_of(d)];
}

const char *ek__how_to_memory(const ek__diagnose *d)
{
    static const char *const text[N_WORDS] = {
        [WORDS_GENERAL] = "give the settings of the job, and the memory of a device with --limit or --device",
        [WORDS_MINDFORMERS] =
            ("give the training YAML, or run the script of `evenkeel dryrun-script` and give its log folder"),
        [WORDS_MEGATRON] = "give the script of the job, and the memory of a device with --limit or --device",
        [WORDS_PYTORCH] = "give the settings of the job, and the memory of a device with --limit or --device",
    };
    return text[words_of(d)];
}
