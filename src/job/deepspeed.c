/* Reads the section zero_optimization of DeepSpeed's JSON and sets the states and overlaps of its ZeRO stages. Reads
 * the stage, the offloading, the overlap, the bucket and the gathered parameters of stage 3. Not modelled: stage 1's
 * buckets in memory, which only some versions have, and a part of the parameters on the host. */
#include "job/deepspeed.h"

#include <string.h>

#include "job/sharding.h"

ek__zero ek__zero_usual(void)
{
    return (ek__zero){.copies = true, .bucket = 5e8, .reuse = 1e9, .prefetch = 5e7, .live = 1e9};
}

static ek_status read_host(const ek__in *in, const ek__node *map, const char *key, bool *out)
{
    const ek__node *section = NULL;
    ek_status status = ek__optional_map(in, map, key, &section);
    const ek__node *device = status == EK_OK && section ? ek__get(section, "device") : NULL;
    *out = device && device->kind == EK__SCALAR && strcmp(device->text, "none") != 0;
    return status;
}

/* The trainer sets "auto": transformers uses the square of the hidden size (integrations/deepspeed.py). */
static ek_status read_elements(const ek__in *in, const ek__node *map, ek__zero *z)
{
    const struct {
        const char *key;
        double min, *out, of_square;
    } counts[] = {{"reduce_bucket_size", 1, &z->bucket, 1},
                  {"stage3_max_reuse_distance", 0, &z->reuse, 0},
                  {"stage3_prefetch_bucket_size", 0, &z->prefetch, 0.9},
                  {"stage3_max_live_parameters", 0, &z->live, 0}};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == EK_OK; i++) {
        const ek__node *node = ek__get(map, counts[i].key);
        bool automatic = node && node->kind == EK__SCALAR && strcmp(node->text, "auto") == 0;
        if (automatic && z->hidden > 0 && counts[i].of_square > 0)
            *counts[i].out = counts[i].of_square * z->hidden * z->hidden;
        else if (node && !automatic)
            status = ek__number(in, node, counts[i].min, 1e15, "it is a number of elements", counts[i].out);
    }
    return status;
}

ek_status ek__zero_read(const ek__in *in, const ek__node *file, ek__zero *z)
{
    const ek__node *map = NULL;
    bool weights = false;
    ek_status status = ek__optional_map(in, file, "zero_optimization", &map);
    if (status || !map)
        return status;
    const ek__node *stage = ek__get(map, "stage"), *overlap = ek__get(map, "overlap_comm");
    const ek__node *copies = ek__get(map, "contiguous_gradients");
    if (stage)
        status = ek__int(in, stage, 0, 3, "it is the stage of ZeRO", &z->stage);
    if (status == EK_OK && overlap && !ek__node_is_null(overlap)) {
        z->overlap_said = true;
        status = ek__bool(in, overlap, "it is a switch", &z->overlaps);
    }
    if (status == EK_OK && copies)
        status = ek__bool(in, copies, "it is a switch", &z->copies);
    if (status == EK_OK)
        status = read_elements(in, map, z);
    if (status == EK_OK)
        status = read_host(in, map, "offload_optimizer", &z->offloads);
    if (status == EK_OK)
        status = read_host(in, map, "offload_param", &weights);
    if (weights)
        ek__warn_at(in, ek__get(map, "offload_param"),
                    "keeps weights on the host, which is not modelled; they are predicted on the device");
    return status;
}

/* DeepSpeed's stages 2 and 3, as in stage_1_and_2.py, stage3.py and partitioned_param_coordinator.py: gradients are
 * copied into a flat buffer until it is full; two buffers with overlap in stage 2. Stage 3 checks the coming modules
 * before it releases a weight; its prefetch is a number of elements, not of layers. */
static void count_elements(const ek__zero *z, ek_job_states *states)
{
    if (z->stage < 2)
        return;
    states->bucket_elements = z->copies ? z->bucket : 0;
    states->n_buckets = z->stage == 2 && z->overlaps ? 2 : 1;
    if (z->stage < 3)
        return;
    states->gathered_ahead = 0;
    states->reuse_elements = z->reuse;
    states->prefetch_elements = z->prefetch;
    states->live_elements = z->live;
}

void ek__zero_share(const ek__zero *z, ek_job *job)
{
    ek__job_share((ek__sharding)z->stage, job);
    count_elements(z, &job->states);
    job->run.offload_optimizer = z->offloads && z->stage > 0;
    job->run.overlap_gradients = z->overlap_said ? z->overlaps : z->stage == 3;
    job->run.bucket_bytes = job->run.overlap_gradients ? z->bucket * job->run.reduce_bytes : 0;
    job->run.first_stage_buckets = false;
}
