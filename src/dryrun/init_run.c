/* Reads from pipeline_config of an init file the pipeline to balance for: the original's newest version has its
 * command-line options there. Its optimization_level belongs to its solver, and enable_simulation and use_backward_time
 * have no meaning here: they are checked and not used. */
#include <string.h>

#include "base/c_locale.h"
#include "dryrun/init.h"
#include "layers/layers.h"

enum { N_DRY_RUN_KEYS = 3 };
const char *const ek__pipeline_keys[] = {"pipeline_num",
                                         "num_layer",
                                         "offset",
                                         "micro_batch_num",
                                         "num_of_interleave",
                                         "vpp_less_memory",
                                         "optimization_level",
                                         "memory_limit",
                                         "constant_memory",
                                         "enable_simulation",
                                         "sim_comm_time",
                                         "use_backward_time",
                                         NULL};

/* A switch in the forms that the original accepts: true, yes, 1, 0, also as text. */
static ek_status read_switch(const ek__in *in, const ek__node *node, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "0", "1"};
    if (ek__node_is_bool(node, out))
        return EK_OK;
    for (int w = 0; w < 6 && node->kind == EK__SCALAR; w++)
        if (ek__strcasecmp(node->text, words[w]) == 0) {
            *out = w % 2;
            return EK_OK;
        }
    return ek__bool(in, node, "0 and 1 will do too", out);
}

static ek_status read_run_switches(const ek__in *in, const ek__node *pipeline, ek_dryrun_run *run)
{
    const ek__node *less = ek__get(pipeline, "vpp_less_memory");
    const ek__node *unused[] = {ek__get(pipeline, "enable_simulation"), ek__get(pipeline, "use_backward_time")};
    bool on = false;
    ek_status status = EK_OK;
    run->less_memory = -1;
    if (less) {
        status = read_switch(in, less, &on);
        run->less_memory = on;
    }
    for (int i = 0; i < 2 && status == EK_OK; i++)
        if (unused[i]) /* every plan is simulated, and a layer file's backward times are always used */
            status = read_switch(in, unused[i], &on);
    return status;
}

/* The pipeline to balance for in the file. */
ek_status ek__dryrun_run_read(const ek__in *in, const ek__node *pipeline, ek_dryrun_run *run)
{
    int level = 0;
    const struct {
        const char *key;
        int least, most, *out;
    } counts[] = {{"pipeline_num", 1, EK_MAX_STAGES, &run->n_stages},
                  {"micro_batch_num", 1, EK_MAX_MICRO_BATCHES, &run->n_micro_batches},
                  {"num_of_interleave", 1, EK_MAX_CHUNKS, &run->n_chunks},
                  {"optimization_level", 0, 2, &level}};
    const struct {
        const char *key, *advice;
        double most, *out;
    } numbers[] = {
        {"memory_limit", "it is the limit of a stage in MB; 0 is none", EK__MAX_MEMORY_MB, &run->memory_mb},
        {"constant_memory", "it is the additional memory of every stage, in MB", EK__MAX_MEMORY_MB, &run->constant_mb},
        {"sim_comm_time", "it is the time of one transfer between stages", EK__MAX_TIME, &run->p2p_time}};
    for (int i = N_DRY_RUN_KEYS; ek__pipeline_keys[i]; i++)
        run->given = run->given || ek__get(pipeline, ek__pipeline_keys[i]);
    ek_status status = read_run_switches(in, pipeline, run);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == EK_OK; i++) {
        const ek__node *node = ek__get(pipeline, counts[i].key);
        if (node)
            status = ek__int(in, node, counts[i].least, counts[i].most, "write a whole number", counts[i].out);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == EK_OK; i++) {
        const ek__node *node = ek__get(pipeline, numbers[i].key);
        if (node)
            status = ek__number(in, node, 0, numbers[i].most, numbers[i].advice, numbers[i].out);
    }
    return status;
}
