/* Tests readers of jobs with Megatron's rules: arguments of scripts, MindSpeed-Core-MS, Hugging Face. The expected job
 * of a file is written beside it; the output of the project's own emitters is read back to the plan it was made from;
 * and damaged files are read or refused. */
#include "job_text.h"

#include <limits.h>
#include <math.h>

#include "base/error.h"
#include "base/random.h"
#include "evenkeel/emit.h"
#include "evenkeel/layers.h"
#include "evenkeel/metrics.h"
#include "job/job_internal.h"
#include "no_memory.h"

/* ---- memory that runs out ---- */

FAILING_ALLOC
FAILING_POOL_ALLOC
FAILING_POOL_TEXT
FAILING_POOL_PUSH

/* ---- reading a text ---- */

static ek_job_overrides none;

static void read_good(const char *text, const ek_job_overrides *overrides, said *s, ek_job *job)
{
    if (read_with(text, strlen(text), overrides, s, job) != EK_OK)
        fail_msg("refused: %s", s->text);
}

#define MODEL "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 "
#define RUN   "--micro-batch-size 1 --global-batch-size 8 --vocab-size 32000 --data-parallel-size 1 "
#define REST  "--bf16 --use-flash-attn "

/* ---- effects of arguments ---- */

typedef int getter(const ek_job *job);

static int data(const ek_job *j)
{
    return j->parallel.data;
}
static int tensor(const ek_job *j)
{
    return j->parallel.tensor;
}
static int pipeline(const ek_job *j)
{
    return j->parallel.pipeline;
}
static int context_ring(const ek_job *j)
{
    return j->parallel.context_algorithm == EK_CONTEXT_RING;
}
static int ulysses(const ek_job *j)
{
    return j->parallel.ulysses;
}
static int expert_tensor(const ek_job *j)
{
    return j->parallel.expert_tensor;
}
static int chosen_experts(const ek_job *j)
{
    return j->model.top_k;
}

static int expert_ranks(const ek_job *j)
{
    return j->parallel.expert;
}

static int micro_batches(const ek_job *j)
{
    return j->parallel.n_micro_batches;
}
static int sequence_parallel(const ek_job *j)
{
    return j->parallel.sequence_parallel;
}
static int seq(const ek_job *j)
{
    return j->parallel.seq_length;
}
static int positions(const ek_job *j)
{
    return j->model.max_position;
}
static int kv_heads(const ek_job *j)
{
    return j->model.n_kv_heads;
}
static int head_dim(const ek_job *j)
{
    return j->model.head_dim;
}
static int value_dim(const ek_job *j)
{
    return j->model.value_dim;
}
static int intermediate(const ek_job *j)
{
    return j->model.intermediate;
}
static int vocab(const ek_job *j)
{
    return j->model.vocab;
}
static int gated(const ek_job *j)
{
    return j->model.gated;
}
static int fused(const ek_job *j)
{
    return j->model.fused_swiglu;
}
static int flash(const ek_job *j)
{
    return j->model.flash_attention;
}
static int tied(const ek_job *j)
{
    return j->model.tied;
}
static int qkv_bias(const ek_job *j)
{
    return j->model.qkv_bias;
}
static int linear_bias(const ek_job *j)
{
    return j->model.linear_bias;
}
static int layer_norm(const ek_job *j)
{
    return j->model.layer_norm;
}
static int table(const ek_job *j)
{
    return j->model.position_table;
}
static int dropout_percent(const ek_job *j)
{
    return (int)(100 * j->model.hidden_dropout + 0.5);
}
static int experts(const ek_job *j)
{
    return j->model.n_experts;
}
static int expert_width(const ek_job *j)
{
    return j->model.expert_intermediate;
}
static int shared_width(const ek_job *j)
{
    return j->model.shared_intermediate;
}
static int dense(const ek_job *j)
{
    return j->model.n_dense_layers;
}
static int period(const ek_job *j)
{
    return j->model.expert_period;
}
static int weight(const ek_job *j)
{
    return j->states.weight;
}
static int gradient(const ek_job *j)
{
    return j->states.gradient;
}
static int optimizer(const ek_job *j)
{
    return j->states.optimizer;
}
static int sharded(const ek_job *j)
{
    return j->states.shard_optimizer + 2 * j->states.shard_gradient + 4 * j->states.shard_weight;
}
static int residual_fp32(const ek_job *j)
{
    return j->types.residual == EK_FP32;
}
static int chunks(const ek_job *j)
{
    return j->plan.n_chunks;
}
static int first_layers(const ek_job *j)
{
    return j->plan.layers[0];
}
static int selected_everywhere(const ek_job *job)
{
    return job->n_patterns == 1 && strcmp(job->pattern[0].text, "mlp\\.activation_func") == 0 &&
           memcmp(job->plan.select, job->plan.layers, sizeof(int)) == 0;
}

/* z, h, m: which of the schedules in a V, with two chunks */
static int v_schedule(const ek_job *job)
{
    const char *name = job->schedule ? job->schedule->name : "";
    return job->plan.n_chunks != 2 ? 0 : strcmp(name, "zb-v") == 0 ? 'z' : name[0] == 'v' ? name[2] : 0;
}

/* Of the model's last chunk, which is the first stage's second one in a V. */
static int v_last_layers(const ek_job *job)
{
    return job->plan.layers[job->plan.n_stages];
}

static int layers_of_model(const ek_job *j)
{
    return j->model.n_layers;
}

/* Named by a schedule in which the model ends on the first stage: layers of its last chunk. */
static int dualpipev_last_layers(const ek_job *j)
{
    return j->schedule && strcmp(j->schedule->name, "dualpipev") == 0 && j->plan.n_chunks == 2 ? j->plan.layers[2] : -1;
}

static int last_layers(const ek_job *j)
{
    return j->plan.layers[j->plan.n_stages * j->plan.n_chunks - 1];
}
static int first_full(const ek_job *j)
{
    return j->plan.full[0];
}
static int last_full(const ek_job *j)
{
    return j->plan.full[j->plan.n_stages * j->plan.n_chunks - 1];
}
static int full_group(const ek_job *j)
{
    return j->full_group;
}
static int first_select(const ek_job *j)
{
    return j->plan.select[0];
}
static int patterns(const ek_job *j)
{
    return j->n_patterns;
}
static int prediction(const ek_job *j)
{
    return j->model.n_prediction_layers;
}
static int loss_fused(const ek_job *j)
{
    return j->rules.loss_fused;
}

static int statistics(const ek_job *j)
{
    return j->rules.statistics_width;
}
static int caching(const ek_job *j)
{
    return j->rules.allocation == EK_ALLOCATION_CACHING;
}

typedef struct expectation {
    const char *text;
    getter *get;
    int expected;
    int n_warnings;
} expectation;

static const expectation arguments[] = {
    {MODEL RUN REST, kv_heads, 16, 0},
    {MODEL RUN REST, intermediate, 4096, 0},
    {MODEL RUN REST "--swiglu", intermediate, 2688, 0}, /* 4096 x 2/3 is 2730.7, 42 x 64 below it */
    {MODEL RUN REST "--swiglu --ffn-hidden-size 4000", intermediate, 4000, 0},
    {MODEL RUN REST "--swiglu", gated, 1, 0},
    {MODEL RUN REST "--swiglu", fused, 1, 0},
    {MODEL RUN REST "--swiglu --no-bias-swiglu-fusion", fused, 0, 0},
    {MODEL RUN REST "--group-query-attention", kv_heads, 1, 0},
    {MODEL RUN REST "--group-query-attention --num-query-groups 4", kv_heads, 4, 0},
    {MODEL RUN REST "--num-query-groups 4", kv_heads, 16, 1},
    {MODEL RUN REST, head_dim, 64, 0},
    {MODEL RUN REST "--kv-channels 128", head_dim, 128, 0},
    {MODEL RUN REST, positions, 2048, 0},
    {MODEL RUN REST "--max-position-embeddings 4096", positions, 4096, 0},
    {MODEL RUN REST, vocab, 32000, 0},
    {MODEL RUN REST "--tensor-model-parallel-size 4", vocab, 32256, 0},
    {MODEL RUN REST "--tensor-model-parallel-size 4 --make-vocab-size-divisible-by 1", vocab, 32000, 0},
    {MODEL RUN REST "--padded-vocab-size 33000", vocab, 33000, 0},
    {MODEL RUN REST, tied, 1, 0},
    {MODEL RUN REST "--untie-embeddings-and-output-weights", tied, 0, 0},
    {MODEL RUN REST, qkv_bias, 1, 0},
    {MODEL RUN REST "--disable-bias-linear", qkv_bias, 0, 0},
    {MODEL RUN REST "--disable-bias-linear", linear_bias, 0, 0},
    {MODEL RUN REST "--disable-bias-linear --add-qkv-bias", qkv_bias, 1, 0},
    {MODEL RUN REST, layer_norm, 1, 0},
    {MODEL RUN REST "--normalization RMSNorm", layer_norm, 0, 0},
    {MODEL RUN REST, table, 1, 0},
    {MODEL RUN REST "--position-embedding-type rope", table, 0, 0},
    {MODEL RUN REST "--use-rotary-position-embeddings", table, 0, 0},
    {MODEL RUN REST, dropout_percent, 10, 0},
    {MODEL RUN REST "--hidden-dropout 0.0", dropout_percent, 0, 0},
    {MODEL RUN REST "--fp32-residual-connection", residual_fp32, 1, 0},
    {MODEL RUN REST "--cross-entropy-loss-fusion", loss_fused, 1, 0},
    /* Megatron-DeepSpeed's own defaults and names */
    {MODEL RUN "--fp16 --deepspeed", flash, 0, 0},
    {MODEL RUN "--fp16 --deepspeed --use-flash-attn-v2", flash, 1, 0},
    {MODEL RUN REST "--deepspeed --num-experts 8", period, 2, 0},
    {MODEL RUN REST "--deepspeed --num-experts 8 --expert-interval 4", period, 4, 0},
    {MODEL RUN REST "--deepspeed --num-experts 8 --topk 2", chosen_experts, 2, 0},
    {MODEL RUN REST "--deepspeed --num-experts 8", chosen_experts, 1, 0},
    {MODEL RUN REST "--num-experts 8", chosen_experts, 2, 0},
    {MODEL RUN REST "--deepspeed --num-experts 8 --moe-expert-parallel-size 1", expert_ranks, 1, 0},
    {MODEL "--micro-batch-size 1 --data-parallel-size 1 --merge-file gpt2-merges.txt " REST, vocab, 50304, 1},
    {"NUM_GPUS=16\nrun " MODEL "--micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 " REST, data, 16, 0},
    /* arguments of MindSpeed-LLM */
    {MODEL RUN REST "--noop-layers 0,7", layers_of_model, 6, 0},
    {MODEL RUN REST "--noop-layers 6,7 --pipeline-model-parallel-size 2", last_layers, 2, 0},
    {MODEL RUN REST "--noop-layers 0,7 --num-experts 8 --first-k-dense-replace 3", dense, 2, 0},
    {MODEL RUN REST "--schedules-method dualpipev --pipeline-model-parallel-size 2", dualpipev_last_layers, 2, 0},
    {MODEL RUN REST "--schedules-method dualpipev --pipeline-model-parallel-size 2 --noop-layers 7",
     dualpipev_last_layers, 1, 0},
    {MODEL RUN REST "--tensor-model-parallel-size 4 --expert-model-parallel-size 1 --num-experts 8 --moe-tp-extend-ep",
     expert_ranks, 4, 0},
    {MODEL RUN REST "--tensor-model-parallel-size 4 --expert-model-parallel-size 1 --num-experts 8 --moe-tp-extend-ep",
     expert_tensor, 1, 0},
    {MODEL RUN REST "--window-size 128", seq, 2048, 1},
    {MODEL RUN REST "--no-masked-softmax-fusion", seq, 2048, 0},
    {MODEL RUN "--bf16 --transformer-impl local --no-masked-softmax-fusion", seq, 2048, 1},
    /* attention */
    {MODEL RUN "--bf16 --use-flash-attn", flash, 1, 0},
    {MODEL RUN "--bf16", flash, 1, 1},
    {MODEL RUN "--bf16 --transformer-impl local", flash, 0, 0},
    {MODEL RUN "--bf16 --transformer-impl local --use-flash-attn", flash, 1, 0},
    {MODEL RUN "--bf16 --attention-backend unfused", flash, 0, 0},
    {MODEL RUN "--bf16 --attention-backend=fused", flash, 1, 0},
    /* states; Megatron Core's guide, "Distributed Optimizer" */
    {MODEL RUN "--bf16 --use-flash-attn", weight, 2, 0},
    {MODEL RUN "--bf16 --use-flash-attn", gradient, 4, 0},
    {MODEL RUN "--bf16 --use-flash-attn", optimizer, 12, 0},
    {MODEL RUN "--bf16 --use-flash-attn --grad-reduce-in-bf16", gradient, 2, 0},
    {MODEL RUN "--bf16 --use-flash-attn --grad-reduce-in-bf16", optimizer, 16, 0},
    {MODEL RUN "--fp16 --use-flash-attn", gradient, 2, 0},
    {MODEL RUN "--fp16 --use-flash-attn", optimizer, 16, 0},
    {MODEL RUN "--fp16 --accumulate-allreduce-grads-in-fp32 --use-flash-attn", gradient, 4, 0},
    {MODEL RUN "--fp16 --accumulate-allreduce-grads-in-fp32 --use-flash-attn", optimizer, 12, 0},
    {MODEL RUN "--use-flash-attn", weight, 4, 0},
    {MODEL RUN "--use-flash-attn", gradient, 4, 0},
    {MODEL RUN "--use-flash-attn", optimizer, 8, 0},
    {MODEL RUN REST, sharded, 0, 0},
    {MODEL RUN REST "--use-distributed-optimizer", sharded, 1, 0},
    {MODEL RUN REST "--optimizer sgd", optimizer, 8, 0},
    {MODEL RUN REST "--exp-avg-dtype bf16", optimizer, 12, 0},
    {MODEL RUN REST "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8 --main-params-dtype "
                    "fp16 --main-grads-dtype bf16",
     optimizer, 5, 0},
    {MODEL RUN REST "--use-precision-aware-optimizer --main-grads-dtype bf16", gradient, 2, 0},
    {MODEL "--micro-batch-size 2 --pad-vocab-size-to 1000 --data-parallel-size 2 " REST, vocab, 1000, 0},
    /* degrees */
    {MODEL RUN REST "--tensor-model-parallel-size 2 --sequence-parallel", sequence_parallel, 1, 0},
    {MODEL RUN REST "--sequence-parallel", sequence_parallel, 0, 1},
    {MODEL RUN REST "--context-parallel-size 2", context_ring, 1, 0},
    {MODEL RUN REST "--context-parallel-size 2 --cp-comm-type a2a", ulysses, 2, 0},
    {MODEL RUN REST "--context-parallel-size 4 --context-parallel-algo hybrid_cp_algo --ulysses-degree-in-cp 2",
     ulysses, 2, 0},
    {MODEL RUN REST "--context-parallel-size 4 --context-parallel-algo megatron_cp_algo --ulysses-degree-in-cp 2",
     ulysses, 1, 0},
    {MODEL RUN REST "--data-parallel-size 2", micro_batches, 4, 1},
    {MODEL "--micro-batch-size 2 --global-batch-size 24 --vocab-size 32000 --nproc_per_node 8 --nnodes 2 "
           "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 " REST,
     data, 4, 0},
    {MODEL "--micro-batch-size 2 --global-batch-size 24 --vocab-size 32000 --worker_num 8 "
           "--pipeline-model-parallel-size 2 " REST,
     micro_batches, 3, 0},
    {MODEL "--micro-batch-size 2 --vocab-size 32000 --data-parallel-size 2 " REST, micro_batches, 1, 0},
    {MODEL "--micro-batch-size 2 --vocab-size 32000 --pipeline-model-parallel-size 2 --data-parallel-size 2 " REST,
     micro_batches, 2, 1},
    {MODEL "--micro-batch-size 2 --global-batch-size 24 --vocab-size 32000 " REST, data, 1, 1},
    /* device */
    {MODEL RUN REST, statistics, 0, 0},
    {MODEL RUN REST "--use-fused-rmsnorm", statistics, 8, 0},
    {MODEL RUN REST "--use-fused-rmsnorm", caching, 1, 0},
    {MODEL RUN REST "--ai-framework mindspore", caching, 0, 0},
    /* experts */
    {MODEL RUN REST "--num-experts 8", experts, 8, 0},
    {MODEL RUN REST "--num-experts 8", expert_width, 4096, 0},
    {MODEL RUN REST "--num-experts 8 --tensor-model-parallel-size 2 --data-parallel-size 1", expert_tensor, 2, 0},
    {MODEL RUN REST "--num-experts 8 --moe-ffn-hidden-size 512 --n-shared-experts 2", shared_width, 1024, 0},
    {MODEL RUN REST "--num-experts 8 --moe-layer-freq 2", period, 2, 0},
    {MODEL RUN REST "--num-experts 8 --moe-layer-freq '([0]*3+[1]*5)'", dense, 3, 0},
    {MODEL RUN REST "--num-experts 8 --moe-layer-freq [0,0,1,1,1,1,1,1]", dense, 2, 0},
    {MODEL RUN REST "--num-experts 8 --moe-layer-freq [0,1]*4", dense, 1, 0},
    {MODEL RUN REST "--num-experts 8 --moe-layer-freq [0,1]*4", period, 2, 0},
    {MODEL RUN REST "--num-experts 8 --moe-layer-freq [1,0]*4", period, 2, 0},
    {MODEL RUN REST "--num-experts 8 --first-k-dense-replace 1", dense, 1, 0},
    /* latent attention */
    {MODEL RUN REST "--multi-latent-attention", head_dim, 192, 0},
    {MODEL RUN REST "--multi-latent-attention --qk-head-dim 64 --qk-pos-emb-head-dim 16 --v-head-dim 48", value_dim, 48,
     0},
    {MODEL RUN REST "--recompute-activation-function", selected_everywhere, 1, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --zero-bubble-v-schedule", v_schedule, 'z', 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half",
     v_schedule, 'h', 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup min",
     v_schedule, 'm', 0},
    {MODEL RUN REST "--mtp-num-layers 1 --pipeline-model-parallel-size 2 --zero-bubble-v-schedule", v_last_layers, 3,
     0},
    {MODEL RUN REST "--mtp-num-layers 1", prediction, 1, 0},
    {MODEL RUN REST "--mtp-num-layers 1 --pipeline-model-parallel-size 2", last_layers, 5, 0},
    /* layers */
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", chunks, 4, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2", chunks, 2, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 1 "
                    "--decoder-last-pipeline-num-layers 3",
     last_layers, 3, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --decoder-last-pipeline-num-layers 3", first_layers, 5, 0},
    {"--num-layers 7 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 " RUN REST
     "--pipeline-model-parallel-size 4 --account-for-embedding-in-pipeline-split",
     first_layers, 1, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --num-layer-list 3,5", last_layers, 5, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*2|(t|)*2t*4L", chunks, 2, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*2|(t|)*2t*4L", last_layers, 4,
     0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E|t*8L", first_layers, 0, 0},
    /* recomputation */
    {MODEL RUN REST "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2", full_group, 2,
     0},
    {MODEL RUN REST "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2", first_full, 8,
     0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --recompute-granularity full --recompute-method block "
                    "--recompute-num-layers 3",
     last_full, 3, 0},
    {MODEL RUN REST "--pipeline-model-parallel-size 2 --recompute-granularity full --recompute-method block "
                    "--recompute-num-layers 30",
     last_full, 4, 0},
    {MODEL RUN REST "--recompute-granularity full --recompute-method block", first_full, 1, 1},
    {MODEL RUN REST "--recompute-granularity selective", first_select, 8, 0},
    {MODEL RUN REST "--recompute-activations", patterns, 1, 0},
    {MODEL RUN REST "--recompute-granularity selective --recompute-modules core_attn layernorm mlp", patterns, 4, 0},
    {MODEL RUN REST "--moe-layer-recompute", patterns, 3, 0},
    {MODEL RUN REST "--recompute-num-layers 3", first_full, 0, 1},
};

static void arguments_do_what_megatron_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        const expectation *e = &arguments[i];
        said s;
        ek_job job;
        read_good(e->text, NULL, &s, &job);
        if (e->get(&job) != e->expected || s.n_warnings != e->n_warnings)
            fail_msg("line %zu: '%s' gives %d, expected %d, with %d warnings: %s", i, e->text, e->get(&job),
                     e->expected, s.n_warnings, s.text);
        assert_int_equal(job.framework, EK_MEGATRON);
        ek_job_clear(&job);
    }
}

/* Layouts of 8 layers in all that the grammar allows, with the layers of each part in the order of the model; and the
 * errors of wrong ones. Each is for as many stages as it has parts, up to 2. */
static void layouts_are_read_letter_by_letter(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *more;
        int n_stages, layers[4];
        const char *wrong;
    } cases[] = {
        {"Etttt|ttttL", "", 2, {4, 4}, NULL},
        {"Et*3|t*5L", "", 2, {3, 5}, NULL},
        {"E, t*3, | ,t*5,L", "", 2, {3, 5}, NULL},
        {"E(t*2|)*3t*2L", "", 2, {2, 2, 2, 2}, NULL},
        {"E((t)*2|)*3(tt)*1L", "", 2, {2, 2, 2, 2}, NULL},
        {"E(t|t)*0t*3|t*5L", "", 2, {3, 5}, NULL},
        {"Et*0t*3|()*4t*5L", "", 2, {3, 5}, NULL},
        {"E||t*8|L", "", 2, {0, 0, 8, 0}, NULL},
        {"Et*4|t*4m*2L", "--mtp-num-layers 2", 2, {4, 6}, NULL},
        {"E((((((((t*8))))))))L", "", 1, {8}, NULL},
        {"E(((((((((t*8)))))))))L", "", 1, {0}, "has groups inside groups inside groups"},
        {"Et*4|t*4mL", "", 2, {0}, "has 1 m, but --mtp-num-layers is 0"},
        {"Et*4|t*4L", "--mtp-num-layers 1", 2, {0}, "has 0 m, but --mtp-num-layers is 1"},
        {"Et*4m|t*4L", "--mtp-num-layers 1", 2, {0}, "has an m elsewhere than in its last part, which is not modelled"},
        {"Et,*4|t*4L", "", 2, {0}, "has something else than E, t, m, L, |, ( ) and *N"},
        {"Et*4|x*4L", "", 2, {0}, "has something else than E, t, m, L, |, ( ) and *N"},
        {"Et*|t*4L", "", 2, {0}, "has a * without a number after it"},
        {"Et*4|t*4)L", "", 2, {0}, "has a ) without a ("},
        {"E(t*4|t*4L", "", 2, {0}, "has a ( that does not end"},
        {"Et*4|Lt*4", "", 2, {0}, "must begin with E and end with L"},
        {"Et*4|Lt*4L", "", 2, {0}, "has an L elsewhere than at the end"},
        {"t*4|t*4L", "", 2, {0}, "must begin with E and end with L"},
        {"Et*4|t*4", "", 2, {0}, "must begin with E and end with L"},
        {"|", "", 2, {0}, "must begin with E and end with L"},
        {"E(tt)*65534|L", "", 2, {0}, "places 131068 layers, but --num-layers is 8"},
        {"Et*131069|L", "", 2, {0}, "places 131069 layers, but --num-layers is 8"},
        {"Et*131070|L", "", 2, {0}, "is longer than 131072 letters when written out"},
        {"Et*131072|L", "", 2, {0}, "is longer than 131072 letters when written out"},
        {"Et*4294967298|t*6L", "", 2, {0}, "is longer than 131072 letters when written out"},
        {"Et*2|t*2|t*4L", "", 2, {0}, "has 3 parts, expected a multiple of the 2 stages"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        said s;
        ek_job job;
        snprintf(text, sizeof text,
                 "run " MODEL RUN REST "%s --pipeline-model-parallel-size %d "
                 "--pipeline-model-parallel-layout \"%s\"\n",
                 cases[i].more, cases[i].n_stages, cases[i].layout);
        ek_status status = read_with(text, strlen(text), NULL, &s, &job);
        if (cases[i].wrong ? status != EK_ERR_INPUT || !strstr(s.text, cases[i].wrong) : status != EK_OK)
            fail_msg("%s: '%s' (%d), expected '%s'", cases[i].layout, s.text, status,
                     cases[i].wrong ? cases[i].wrong : "nothing");
        if (status)
            continue;
        assert_int_equal(job.plan.n_stages, cases[i].n_stages);
        for (int c = 0; c < job.plan.n_stages * job.plan.n_chunks; c++)
            if (job.plan.layers[c] != cases[i].layers[c])
                fail_msg("%s: part %d has %d layers", cases[i].layout, c, job.plan.layers[c]);
        ek_job_clear(&job);
    }
}

/* Required keys of a file of MindSpeed-Core-MS, one left out at a time. */
static void what_mindspeed_needs_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *what;
    } needed[] = {
        {"num_layers", "8", "give the number of the model's layers"},
        {"hidden_size", "1024", "give the model's width"},
        {"num_attention_heads", "16", "give the attention's heads"},
        {"seq_length", "2048", "give the tokens of a sequence"},
        {"micro_batch_size", "1", "give the sequences of a micro-batch (batch_size in older files)"},
        {"vocab_size", "32000", "give the number of tokens the model knows"},
        {"padded_vocab_size", "33000", NULL}, /* in place of vocab_size */
    };
    enum { N = sizeof needed / sizeof *needed };
    for (int without = 0; without < N; without++) {
        char text[1024] = "parallel_config:\n  tensor_model_parallel_size: 2\nmodel_config:\n", says[256];
        said s;
        ek_job job;
        for (int i = 0; i < N - (without != N - 1); i++)
            if (without == N - 1 ? i != N - 2 : i != without)
                snprintf(text + strlen(text), sizeof text - strlen(text), "  %s: %s\n", needed[i].key, needed[i].value);
        ek_status status = read_with(text, strlen(text), NULL, &s, &job);
        if (!needed[without].what) {
            assert_int_equal(status, EK_OK);
            assert_int_equal(job.model.vocab, 33000);
            ek_job_clear(&job);
            continue;
        }
        snprintf(says, sizeof says, "%s is missing; %s", needed[without].key, needed[without].what);
        if (status != EK_ERR_INPUT || !strstr(s.text, says))
            fail_msg("without %s: '%s' (%d), expected '%s'", needed[without].key, s.text, status, says);
    }
}

/* Whole numbers of a config.json, by each of their names: just outside the range at either end, and a fraction. */
static void hugging_faces_numbers_have_a_range(void **state)
{
    (void)state;
    static const struct {
        const char *key, *instead_of; /* of the base below */
        int64_t least, most;
    } cases[] = {
        {"num_hidden_layers", "num_hidden_layers", 1, EK_MAX_LAYERS},
        {"num_layers", "num_hidden_layers", 1, EK_MAX_LAYERS},
        {"n_layer", "num_hidden_layers", 1, EK_MAX_LAYERS},
        {"hidden_size", "hidden_size", 1, EK__JOB_MAX_HIDDEN},
        {"n_embd", "hidden_size", 1, EK__JOB_MAX_HIDDEN},
        {"n_embed", "hidden_size", 1, EK__JOB_MAX_HIDDEN},
        {"num_attention_heads", "num_attention_heads", 1, EK__JOB_MAX_HEADS},
        {"n_head", "num_attention_heads", 1, EK__JOB_MAX_HEADS},
        {"num_key_value_heads", "", 1, EK__JOB_MAX_HEADS},
        {"multi_query_group_num", "", 1, EK__JOB_MAX_HEADS},
        {"num_kv_heads", "", 1, EK__JOB_MAX_HEADS},
        {"head_dim", "", 1, EK__JOB_MAX_HIDDEN},
        {"kv_channels", "", 1, EK__JOB_MAX_HIDDEN},
        {"intermediate_size", "", 1, EK__JOB_MAX_WIDTH},
        {"ffn_hidden_size", "", 1, EK__JOB_MAX_WIDTH},
        {"n_inner", "", 1, EK__JOB_MAX_WIDTH},
        {"ffn_dim", "", 1, EK__JOB_MAX_WIDTH},
        {"padded_vocab_size", "vocab_size", 1, EK__JOB_MAX_WIDTH},
        {"vocab_size", "vocab_size", 1, EK__JOB_MAX_WIDTH},
        {"max_position_embeddings", "", 1, EK__JOB_MAX_SEQUENCE},
        {"seq_length", "", 1, EK__JOB_MAX_SEQUENCE},
        {"n_positions", "", 1, EK__JOB_MAX_SEQUENCE},
        {"num_nextn_predict_layers", "", 0, EK_MAX_LAYERS},
    };
    static const char *const base[][2] = {
        {"num_hidden_layers", "8"}, {"hidden_size", "1024"}, {"num_attention_heads", "16"}, {"vocab_size", "32000"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 3; k++) {
            const char *value = outside(k, cases[i].least, cases[i].most, "2.5");
            char text[512], says[256];
            said s;
            ek_job job;
            snprintf(text, sizeof text, "{\"%s\": %s", cases[i].key, value);
            for (size_t b = 0; b < sizeof base / sizeof *base; b++)
                if (strcmp(base[b][0], cases[i].instead_of) != 0)
                    snprintf(text + strlen(text), sizeof text - strlen(text), ", \"%s\": %s", base[b][0], base[b][1]);
            strcat(text, "}");
            snprintf(says, sizeof says, "1:%d: %s is %s, expected a whole number from %lld to %lld",
                     (int)strlen(cases[i].key) + 6, cases[i].key, value, (long long)cases[i].least,
                     (long long)cases[i].most);
            ek_status status = read_with(text, strlen(text), NULL, &s, &job);
            if (status != EK_ERR_INPUT || !strstr(s.text, says))
                fail_msg("%s is '%s' (%d), expected '%s'", text, s.text, status, says);
        }
}

/* ---- scripts ---- */

#define BRANCH(CONDITION) "N=2\nA=\"" MODEL RUN REST "\"\nif " CONDITION "; then\n"

#define OF_WORLD MODEL "--micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 " REST

static const expectation scripts[] = {
    /* variables, with and without braces, defaults, arithmetic */
    {"TP=2\nargs=\"" MODEL RUN REST "--tensor-model-parallel-size ${TP}\"\nrun $args\n", tensor, 2, 0},
    {"TP=2;PP=$((TP*2))\nrun " MODEL RUN REST "--pipeline-model-parallel-size $PP\n", pipeline, 4, 0},
    {"PP=${PP:-4}\nrun " MODEL RUN REST "--pipeline-model-parallel-size ${PP}\n", pipeline, 4, 0},
    {"A=3;B=$(( ($A + 1) * 2 / 4 ))\nrun " MODEL RUN REST "--pipeline-model-parallel-size $B\n", pipeline, 2, 0},
    {"export TP=\"2\"\nrun " MODEL RUN REST "--tensor-model-parallel-size \"$TP\"\n", tensor, 2, 0},
    {"SP=--sequence-parallel\nrun " MODEL RUN REST "--tensor-model-parallel-size 2 $SP\n", sequence_parallel, 1, 0},
    /* arrays, comments, continuations, Windows line ends */
    {"ARGS=(\n  " MODEL "# the model\n  " RUN REST "\n)\nrun \"${ARGS[@]}\"\n", seq, 2048, 0},
    {"run " MODEL "\\\n" RUN "\\\r\n" REST "\\\n--tensor-model-parallel-size 2\n", tensor, 2, 0},
    {"run " MODEL RUN REST " # --tensor-model-parallel-size 2\n", tensor, 1, 0},
    {"A=\"" MODEL RUN "\"\nA=\"$A " REST "--tensor-model-parallel-size 2\"\nrun $A\n", tensor, 2, 0},
    {"bash -c \"run " MODEL RUN REST "--tensor-model-parallel-size 2\"\n", tensor, 2, 0},
    /* unreferenced parts are left out, unless nothing is referenced */
    {"A=\"" MODEL RUN REST "\"\nB=\"--swiglu --fp16\"\nrun $A\n", gated, 0, 1},
    {"A=( " MODEL RUN REST ")\nB=( --swiglu --disable-bias-linear )\n", gated, 1, 0},
    /* unknown variables matter only where their value does */
    {"run " MODEL RUN REST "--data-path $DATA --lr $LR\n", tensor, 1, 0},
    {"if [ x ]; then TP=2; else TP=4; fi\nrun " MODEL RUN REST "--tensor-model-parallel-size $TP\n", tensor, 4, 1},
    {"export TP=${TP:-\"4\"}\nrun " MODEL RUN REST "--tensor-model-parallel-size $TP\n", tensor, 4, 0},
    {"B=2\nTP=${OURS:-\"${THEIRS:-$((B * 2))}\"}\nrun " MODEL RUN REST "--tensor-model-parallel-size $TP\n", tensor, 4,
     0},
    /* branches that the script's own values decide */
    {BRANCH("[ \"$N\" -eq 2 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 1, 0},
    {BRANCH("[ \"$N\" -gt 2 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 0, 0},
    {BRANCH("[[ $N == \"1\" ]]") "A=\"$A --swiglu\"\nelif [ $N = 2 ]; then :\nelse A=\"$A --swiglu\"\nfi\nrun $A\n",
     gated, 0, 0},
    {BRANCH("[ $N -eq 2 ]") ":\nelse A+=(--swiglu)\n if [ 1 = 1 ]; then A=\"$A --swiglu\"; fi\nfi\nrun $A\n", gated, 0,
     0},
    {BRANCH("[ $N -lt 2 ] || [ -n \"$N\" ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 1, 0},
    {BRANCH("[ $N -lt 2 ] && [ -n \"$N\" ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 0, 0},
    {BRANCH("[ ! -z $N ]") ":\nelse\nA=\"$A --swiglu\"\nfi\nrun $A\n", gated, 0, 0},
    {"N=2\nif [ $N -eq 2 ]; then TP=2; else TP=4; fi\nrun " MODEL RUN REST "--tensor-model-parallel-size $TP\n", tensor,
     2, 0},
    {BRANCH("! [ $N -eq 2 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 0, 0},
    {BRANCH("! [ $N -eq 3 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 1, 0},
    {BRANCH("[ $N -eq 2 ] && ! [ $N -gt 1 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 0, 0},
    /* and branches that depend on the run: both count */
    {BRANCH("[ $1 -eq 3 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 1, 0},
    {BRANCH("[ -d $N ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 1, 0},
    {BRANCH("[ $N = 1* ]") "A=\"$A --swiglu\"\nfi\nrun $A\n", gated, 1, 0},
    /* another language's if is none of the shell's */
    {"python - <<E\nif x:\n  pass\nelse:\n  y\nE\nN=2\n" BRANCH("[ $N -eq 2 ]") "A=\"$A --swiglu\"\nfi\nrun $A\n",
     gated, 1, 0},
    /* the world */
    {"GPUS_PER_NODE=8\nNNODES=2\nrun " MODEL "--micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 " REST,
     data, 16, 0},
    {"D=\"--nproc_per_node 8 --nnodes $NNODES\"\ntorchrun $D x.py " MODEL
     "--micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 " REST,
     data, 1, 1},
    {"deepspeed --num_nodes=2 --num_gpus 4 x.py " MODEL
     "--micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 " REST,
     data, 8, 0},
    /* as Slurm starts it */
    {"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=h100:4 # each\n"
     "N=${SLURM_NNODES:-1}\ntorchrun --nproc-per-node $SLURM_GPUS_PER_NODE --nnodes $N x.py " OF_WORLD,
     data, 8, 0},
    {"#SBATCH -p gpu -N2 --ntasks-per-node 8 --gres=gpu:8,disk:1\nsrun x.py " OF_WORLD, data, 16, 0},
    {"#SBATCH -N 4\n#SBATCH --gres=gpu:a100:2\nsrun x.py " OF_WORLD, data, 8, 0},
    {"#SBATCH -n 16\nsrun x.py " OF_WORLD, data, 16, 0},
    {"#SBATCH --nodes=2\n#SBATCH "
     "--gpus-per-node=4\nSLURM_NNODES=4\nNNODES=$SLURM_NNODES\nGPUS_PER_NODE=4\nx.py " OF_WORLD,
     data, 16, 0},
    /* any number of nodes, a comment that Slurm does not read, one inside of arguments */
    {"#SBATCH --nodes=2-4 --gpus-per-node=4\nsrun x.py " OF_WORLD, data, 1, 1},
    {"##SBATCH --nodes=2 --gpus-per-node=4\n# SBATCH -N 2 --gpus-per-node=4\nsrun x.py " OF_WORLD, data, 1, 1},
    {"A=(\n#SBATCH --nodes=2 --gpus-per-node=4\n" OF_WORLD ")\nsrun x.py ${A[@]}\n", data, 1, 1},
    /* one a line */
    {"--num-layers\n8\n--hidden-size\n1024\n--num-attention-heads=16\n--seq-length 2048\n" RUN "\n" REST, seq, 2048, 0},
};

static void scripts_are_read_without_running(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const expectation *e = &scripts[i];
        said s;
        ek_job job;
        read_good(e->text, NULL, &s, &job);
        if (e->get(&job) != e->expected || s.n_warnings != e->n_warnings)
            fail_msg("script %zu gives %d, expected %d, with %d warnings: %s", i, e->get(&job), e->expected,
                     s.n_warnings, s.text);
        ek_job_clear(&job);
    }
}

/* A megabyte of them is neither a stack nor an hour. */
static void defaults_inside_each_other_end(void **state)
{
    enum { DEEP = 100000 };
    static const char front[] = "TP=", last = '2';
    static const char rest[] = "\nrun " MODEL RUN REST "--tensor-model-parallel-size $TP\n";
    (void)state;
    for (int n = 30; n <= DEEP; n += DEEP - 30) {
        char *text = malloc(6 * (size_t)n + sizeof rest + 8), *at = text;
        said s;
        ek_job job;
        if (!text) {
            fail_msg("out of memory");
            return;
        }
        at += sprintf(at, "%s", front);
        for (int i = 0; i < n; i++)
            at += sprintf(at, "${A:-");
        *at++ = last;
        for (int i = 0; i < n; i++)
            *at++ = '}';
        memcpy(at, rest, sizeof rest);
        ek_status status = read_with(text, strlen(text), NULL, &s, &job);
        assert_int_equal(status, n == 30 ? EK_OK : EK_ERR_INPUT);
        if (status == EK_OK) {
            assert_int_equal(tensor(&job), 2);
            ek_job_clear(&job);
        }
        free(text);
    }
}

typedef struct refusal {
    const char *text, *message; /* message: "line:column: beginning" */
} refusal;

static const refusal refusals[] = {
    {"run --num-layers 8", "0:0: --hidden-size is missing; give the model's width"},
    {"run " MODEL RUN REST "--tensor-model-parallel-size $TP\n",
     "1:220: --tensor-model-parallel-size is given as $TP, with a value known only at run time; write the value there, "
     "or put a line NAME=VALUE with a plain number above"},
    {"TP=$(nproc)\nrun --num-layers \\\n  ${TP}\n",
     "3:3: --num-layers is given as $(nproc), with a value known only at run time"},
    {"TP=$((X*2))\nrun --num-layers $TP\n", "2:18: --num-layers is given as $X, with"},
    {"run --num-layers 8 --hidden-size wide",
     "1:34: --hidden-size is 'wide', expected a whole number from 1 to 1048576"},
    {"run --num-layers 8.5", "1:18: --num-layers is '8.5', expected a whole number"},
    {"run --num-layers", "1:5: --num-layers has no value; write one"},
    {"run --num-layers --hidden-size 4", "1:5: --num-layers has no value; write one"},
    {"run --num-layers \"8", "1:18: begins with \" and does not end; close it with \""},
    {"A=( --num-layers 8", "1:1: is an array that does not end; close it with )"},
    {"run --num-layers 8 ${A", "1:20: begins with ${ and does not end"},
    {"run " MODEL RUN REST "--noop-layers 3,8", "1:191: --noop-layers is '3,8', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--data-parallel-size 4 --use-distributed-optimizer --num-distributed-optimizer-instances 3",
     "num-distributed-optimizer-instances is 3, which does not divide the 4 ranks of data-parallel-size 4 x "
     "context-parallel-size 1; correct it"},
    {"run " MODEL RUN REST "--data-parallel-size 4 --use-distributed-optimizer --num-distributed-optimizer-instances 2 "
     "--num-experts 8 --expert-model-parallel-size 4",
     "num-distributed-optimizer-instances is 2, which does not divide the 1 data-parallel ranks of an expert "
     "(expert-model-parallel-size 4); correct it"},
    {"run " MODEL RUN REST "--noop-layers ,3", "1:191: --noop-layers is ',3', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--noop-layers 3,,4",
     "1:191: --noop-layers is '3,,4', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--noop-layers x", "1:191: --noop-layers is 'x', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--noop-layers 3x", "1:191: --noop-layers is '3x', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--noop-layers -1", "1:191: --noop-layers is '-1', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--noop-layers 99999999999",
     "1:191: --noop-layers is '99999999999', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--noop-layers 3,3", "1:191: --noop-layers is '3,3', expected different layers from 0 to 7"},
    {"run " MODEL RUN REST "--schedules-method dualpipe",
     "1:210: --schedules-method is 'dualpipe', expected one of dua"},
    {"run " MODEL RUN "--bf16 --fp16", "1:174: --fp16 and --bf16 are both given; give one"},
    {"run " MODEL "--micro-batch-size 1", "0:0: --vocab-size is missing, and the files of the tokenizer"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 3", "1:5: 8 layers cannot be spread over 3 stages"},
    {"run " MODEL RUN REST "--attention-backend slow", "is 'slow', expected one of flash, fused, auto, unfused, local"},
    {"run " MODEL RUN REST "--micro-batch-size 3", "--global-batch-size is 8, expected a multiple of the 3 sequences"},
    {"run " MODEL "--micro-batch-size 1 --vocab-size 9 --nproc_per_node 6 --tensor-model-parallel-size 4 " REST,
     "the script starts 6 ranks, no multiple of the 4 of tensor 4 x pipeline 1 x context 1"},
    {"run " MODEL RUN REST "--recompute-granularity full", "0:0: --recompute-method is missing"},
    {"run " MODEL RUN REST "--recompute-granularity selective --recompute-modules all",
     "'all' is no module that can be recomputed; give some of core_attn, layernorm"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-router-group-topk 2", "--moe-router-group-topk is given without"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-router-num-groups 3 --moe-router-group-topk 2",
     "--moe-router-num-groups is 3, which does not divide the 8 experts"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-router-num-groups 4 --moe-router-group-topk 5",
     "--moe-router-group-topk is 5, expected at most the 4 groups"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-router-topk 3 --moe-router-num-groups 8 --moe-router-group-topk 2",
     "2 groups have 2 experts, fewer than the 3"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-layer-freq '[1,1,0,1]*2'",
     "--moe-layer-freq is '[1,1,0,1]*2', expected"},
    {"run " MODEL RUN REST "--hybrid-override-pattern 'M-M*M-M*'",
     "--hybrid-override-pattern gives layers that differ from one another, which is not modelled"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-layer-freq 0",
     "--moe-layer-freq is '0', expected a whole number from 1 to 4096"},
    {"run " MODEL RUN REST "--transformer-impl slow",
     "--transformer-impl is 'slow', expected one of transformer_engine, inference_optimized, local"},
    {"run " MODEL RUN REST "--transformer-impl local --cross-entropy-loss-fusion --cross-entropy-fusion-impl slow",
     "--cross-entropy-fusion-impl is 'slow', expected one of native, te"},
    {"run " MODEL RUN REST "--position-embedding-type some",
     "--position-embedding-type is 'some', expected one of learned_absolute, rope, mrope, relative, alibi, none, yarn"},
    {"run " MODEL RUN REST "--normalization some", "--normalization is 'some', expected one of LayerNorm, RMSNorm"},
    {"run " MODEL RUN REST "--attention-dropout 1.5", "--attention-dropout is '1.5', expected a number from 0 to 1"},
    {"run " MODEL RUN REST "--hidden-dropout -0.5", "--hidden-dropout is '-0.5', expected a number from 0 to 1"},
    {"run " MODEL RUN REST "--num-experts 8 --moe-expert-capacity-factor some",
     "--moe-expert-capacity-factor is 'some', expected a number from -1 to 1e+06"},
    {"run " MODEL RUN REST "--optimizer some", "--optimizer is 'some', expected one of adam, sgd, adamw, muon"},
    {"run " MODEL RUN REST "--context-parallel-size 2 --cp-comm-type some",
     "--cp-comm-type is 'some', expected one of p2p, all_gather, allgather, a2a, a2a+p2p"},
    {"run " MODEL RUN REST "--context-parallel-size 2 --context-parallel-algo some",
     "--context-parallel-algo is 'some', expected one of ulysses_cp_algo, megatron_cp_algo, hybrid_cp_algo, "
     "adaptive_cp_algo, hybrid_adaptive_cp_algo"},
    {"run " MODEL RUN REST "--recompute-granularity some",
     "--recompute-granularity is 'some', expected one of full, selective"},
    {"run " MODEL RUN REST "--recompute-granularity full --recompute-method some",
     "--recompute-method is 'some', expected one of uniform, block"},
    {"run " MODEL RUN REST "--recompute-granularity full --recompute-method uniform --recompute-num-layers 0",
     "--recompute-num-layers is 0, expected at least 1 with --recompute-method uniform"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"Et|tL\"",
     "the layout places 2 layers, but --num-layers is 8"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"Et*4|t*4|L\"",
     "the layout has 3 parts, expected a multiple of the 2 stages"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"E(t*4|t*4L\"",
     "has a ( that does not end"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"E((t*9999)*999)*99|L\"",
     "is longer than 131072 letters when written out"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"Et|tEL\"",
     "has an E elsewhere than at the beginning"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --num-layer-list 3,4", "the list of layers is '3,4'"},
    {"run " MODEL RUN REST "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3",
     "--num-layers-per-virtual-pipeline-stage is 3, but a stage has 4 layers"},
    /* MindSpeed-Core-MS */
    {"parallel_config:\n  pipeline_model_parallel_size: 2\n", "2:3: num_layers is missing; give the number"},
    {"parallel_config:\n  pipeline_model_parallel_size: two\n",
     "2:33: parallel_config.pipeline_model_parallel_size is 'two', expected a whole number from 1 to 1024"},
    /* Hugging Face */
    {"{\"num_hidden_layers\": 2, \"hidden_size\": 64}", "1:1: num_attention_heads is missing"},
    {"{\"num_hidden_layers\": 2, \"hidden_size\": 64.5}", "1:41: hidden_size is 64.5, expected a whole number"},
};

static void wrong_files_are_refused_with_a_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        said s;
        ek_job job;
        ek_status status = read_with(refusals[i].text, strlen(refusals[i].text), NULL, &s, &job);
        if (status != EK_ERR_INPUT || !strstr(s.text, refusals[i].message))
            fail_msg("refusal %zu is '%s' (%d), expected '%s'", i, s.text, status, refusals[i].message);
    }
}

/* Whole numbers among the arguments, with the arguments that some of them require. */
static const struct {
    const char *before, *argument;
    int64_t least, most;
} numbers[] = {
    {"", "num-layers", 1, EK_MAX_LAYERS},
    {"", "hidden-size", 1, EK__JOB_MAX_HIDDEN},
    {"", "num-attention-heads", 1, EK__JOB_MAX_HEADS},
    {"", "num-query-groups", 1, EK__JOB_MAX_HEADS},
    {"", "kv-channels", 1, EK__JOB_MAX_HIDDEN},
    {"", "ffn-hidden-size", 1, EK__JOB_MAX_WIDTH},
    {"", "seq-length", 1, EK__JOB_MAX_SEQUENCE},
    {"", "max-position-embeddings", 1, EK__JOB_MAX_SEQUENCE},
    {"", "micro-batch-size", 1, EK__JOB_MAX_BATCH},
    {"", "mtp-num-layers", 0, EK_MAX_LAYERS},
    {"", "make-vocab-size-divisible-by", 1, 1 << 20},
    {"", "vocab-size", 1, EK__JOB_MAX_WIDTH},
    {"", "padded-vocab-size", 1, EK__JOB_MAX_WIDTH},
    {"", "tensor-model-parallel-size", 1, EK_MAX_RANKS},
    {"", "pipeline-model-parallel-size", 1, EK_MAX_STAGES},
    {"", "context-parallel-size", 1, EK_MAX_RANKS},
    {"", "expert-model-parallel-size", 1, EK_MAX_RANKS},
    {"", "expert-tensor-parallel-size", 1, EK_MAX_RANKS},
    {"", "data-parallel-size", 1, EK_MAX_RANKS},
    {"", "global-batch-size", 1, INT_MAX},
    {"", "microbatch-group-size-per-virtual-pipeline-stage", 1, EK_MAX_MICRO_BATCHES},
    {"", "num-layers-per-virtual-pipeline-stage", 1, EK_MAX_LAYERS},
    {"", "num-virtual-stages-per-pipeline-rank", 1, EK_MAX_CHUNKS},
    {"", "decoder-first-pipeline-num-layers", 0, EK_MAX_LAYERS},
    {"", "decoder-last-pipeline-num-layers", 0, EK_MAX_LAYERS},
    {"", "num-experts", 1, EK__JOB_MAX_EXPERTS},
    {"--multi-latent-attention", "q-lora-rank", 1, EK__JOB_MAX_HIDDEN},
    {"--multi-latent-attention", "kv-lora-rank", 1, EK__JOB_MAX_HIDDEN},
    {"--multi-latent-attention", "qk-head-dim", 1, EK__JOB_MAX_HIDDEN},
    {"--multi-latent-attention", "qk-pos-emb-head-dim", 0, EK__JOB_MAX_HIDDEN},
    {"--multi-latent-attention", "v-head-dim", 1, EK__JOB_MAX_HIDDEN},
    {"--num-experts 8", "expert-interval", 1, EK_MAX_LAYERS},
    {"--num-experts 8", "moe-router-topk", 1, EK__JOB_MAX_EXPERTS},
    {"--num-experts 8", "moe-ffn-hidden-size", 1, EK__JOB_MAX_WIDTH},
    {"--num-experts 8", "moe-shared-expert-intermediate-size", 1, EK__JOB_MAX_WIDTH},
    {"--num-experts 8", "moe-router-num-groups", 1, EK__JOB_MAX_EXPERTS},
    {"--num-experts 8", "moe-router-group-topk", 1, EK__JOB_MAX_EXPERTS},
    {"--num-experts 8", "n-shared-experts", 0, EK__JOB_MAX_EXPERTS},
    {"--num-experts 8", "first-k-dense-replace", 0, EK_MAX_LAYERS},
    {"--use-distributed-optimizer", "num-distributed-optimizer-instances", 1, EK_MAX_RANKS},
    {"--context-parallel-size 4 --context-parallel-algo hybrid_cp_algo", "ulysses-degree-in-cp", 1, EK_MAX_RANKS},
    {"--recompute-granularity full --recompute-method block", "recompute-num-layers", 0, EK_MAX_LAYERS},
    {"--checkpoint-activations", "checkpoint-num-layers", 1, EK_MAX_LAYERS},
};

/* Just outside the range at either end, and a word. */
static void numbers_outside_their_range_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int k = 0; k < 3; k++) {
            const char *value = outside(k, numbers[i].least, numbers[i].most, "two");
            char text[1024], message[256];
            said s;
            ek_job job;
            snprintf(text, sizeof text, "run " MODEL RUN REST "%s --%s %s\n", numbers[i].before, numbers[i].argument,
                     value);
            snprintf(message, sizeof message, "--%s is '%s', expected a whole number from %lld to %lld",
                     numbers[i].argument, value, (long long)numbers[i].least, (long long)numbers[i].most);
            ek_status status = read_with(text, strlen(text), NULL, &s, &job);
            if (status != EK_ERR_INPUT || !strstr(s.text, message))
                fail_msg("--%s %s is '%s' (%d), expected '%s'", numbers[i].argument, value, s.text, status, message);
        }
}

static const refusal warnings[] = {
    {MODEL RUN REST "--tensor-model-paralel-size 2",
     "1:187: warning: --tensor-model-paralel-size is not a known argument and is ignored; did you mean "
     "--tensor-model-parallel-size?"},
    {MODEL RUN REST "--num-layers 8 --hidden-size 2048",
     "--hidden-size is given again, before on line 1; the last one"},
    {MODEL RUN REST "--optimizer-cpu-offload --optimizer-offload-fraction 0.5",
     "--optimizer-offload-fraction is 0.5; states of the optimizer are predicted as if all stayed on the device"},
    {MODEL "--micro-batch-size 1 --data-parallel-size 1 --tokenizer-type GPT2BPETokenizer " REST,
     "no --vocab-size is given; 50257 is taken, which a GPT2BPETokenizer usually has"},
};

static void doubtful_files_are_warned_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
        said s;
        ek_job job;
        read_good(warnings[i].text, NULL, &s, &job);
        if (!strstr(s.text, warnings[i].message))
            fail_msg("warning %zu is '%s', expected '%s'", i, s.text, warnings[i].message);
        ek_job_clear(&job);
    }
}

/* ---- whole files ---- */

static void read_file(const char *name, const ek_job_overrides *overrides, said *s, ek_job *job)
{
    ek_error err = {0};
    *s = (said){0};
    const ek_listener listener = {say_warning, s};
    if (ek_job_read(source_path(name), overrides, &listener, job, &err))
        fail_msg("%s:%d:%d: %s", name, err.line, err.column, err.message);
}

/* The run of Qwen2.5-7B with the measured peak that the project compares with: shapes as its parameters are counted. */
static void qwen_script_has_the_published_shapes(void **state)
{
    (void)state;
    said s;
    ek_job job;
    read_file("tests/data/job/qwen25_7b.sh", NULL, &s, &job);
    assert_int_equal(s.n_warnings, 1);
    assert_non_null(strstr(s.text, "RECOMPUTE_ARGS"));
    const ek_job_model *m = &job.model;
    const ek_job_parallel *p = &job.parallel;
    assert_int_equal(p->tensor, 2);
    assert_int_equal(p->pipeline, 2);
    assert_int_equal(p->data, 1);
    assert_int_equal(p->seq_length, 10240);
    assert_int_equal(p->n_micro_batches, 2);
    assert_true(p->sequence_parallel && m->fused_swiglu && m->flash_attention && m->qkv_bias && !m->linear_bias);
    int64_t kv = (int64_t)m->n_kv_heads * m->head_dim;
    assert_int_equal(kv, 512);
    /* Elements of stage 0: 14 layers and the table, 1.904e9; with 18 bytes each 32684 MiB. */
    int64_t h = m->hidden, t = p->tensor;
    int64_t layer = (2 * h * h + 2 * h * kv + 3 * h * m->intermediate + h + 2 * kv) / t + 2 * h;
    int64_t elements = job.plan.layers[0] * layer + (int64_t)m->vocab * h / p->table_split;
    int64_t bytes = job.states.weight + job.states.gradient + job.states.optimizer;
    assert_int_equal(bytes, 18);
    assert_false(job.states.shard_optimizer);
    /* Its launcher is MindSpore's. */
    assert_int_equal(job.rules.statistics_width, 8);
    assert_int_equal(job.rules.allocation, EK_ALLOCATION_BLOCKS);
    assert_int_equal((elements * bytes + (1 << 19)) >> 20, 32684);
    ek_job_clear(&job);
}

static void moe_list_is_read(void **state)
{
    (void)state;
    said s;
    ek_job job;
    read_file("tests/data/job/moe.args", NULL, &s, &job);
    assert_string_equal(s.text, "");
    const int layers[] = {2, 3, 3, 5};
    assert_int_equal(job.plan.n_chunks, 2);
    assert_memory_equal(job.plan.layers, layers, sizeof layers);
    assert_int_equal(job.model.n_dense_layers, 1);
    assert_int_equal(job.model.q_lora_rank, 768);
    assert_int_equal(job.parallel.expert_tensor, 1);
    assert_int_equal(job.model.head_dim, 96);
    assert_true(job.model.grouped_matmul);
    assert_int_equal(job.n_patterns, 2);
    assert_ptr_equal(job.pattern[0].origin.file, job.path);
    assert_int_equal(job.pattern[0].origin.line, 26);
    ek_job_clear(&job);
}

static void mindspeed_file_is_read(void **state)
{
    (void)state;
    said s;
    ek_job job;
    read_file("tests/data/job/mindspeed.yaml", NULL, &s, &job);
    assert_string_equal(s.text, "");
    assert_int_equal(job.framework, EK_MINDSPEED);
    /* Gathered inputs are kept where select_comm_recompute does not gather them again. */
    assert_false(job.rules.regather);
    assert_int_equal(job.parallel.n_micro_batches, 8);
    assert_int_equal(job.model.n_kv_heads, 4);
    assert_true(job.model.gated && !job.model.layer_norm && !job.model.position_table && !job.model.tied);
    assert_int_equal(sharded(&job), 1);
    const int full[] = {1, 0, 0, 0, 0, 0, 1, 0}, select[] = {2, 1, 1, 0, 1, 0, 2, 0}, comm[] = {0, 2, 1, 0, 0, 0, 0, 0};
    assert_memory_equal(job.plan.full, full, sizeof full);
    assert_memory_equal(job.plan.select, select, sizeof select);
    assert_memory_equal(job.plan.comm, comm, sizeof comm);
    ek_job_clear(&job);
}

static const char section[] = "model_config:\n  num_layers: 8\n  hidden_size: 1024\n  num_attention_heads: 16\n"
                              "  vocab_size: 32000\n  seq_length: 2048\n";
static const char flat[] = "language_model:\n  num_layers: 8\n  hidden_size: 1024\n  num_attention_heads: 16\n"
                           "vocab_size: 32000\nseq_length: 2048\nmicro_batch_size: 1\nglobal_batch_size: 8\n";

#define TWO_RANKS "model_parallel:\n  tensor_model_parallel_size: 2\n"

/* Versions of sections, and unmodelled or wrong parts of lists. */
static void mindspeed_sections_and_lists(void **state)
{
    (void)state;
    const struct {
        const char *head, *tail;
        getter *get;
        int expected;
        const char *refused;
    } cases[] = {
        {section,
         "dataset_config:\n  batch_size: 2\n  micro_batch_num: 4\nparallel_config:\n"
         "  tensor_model_parallel_size: 2\n",
         micro_batches, 4, NULL},
        {flat, "model_parallel:\n  tensor_model_parallel_size: 2\n  zero_level: z3\n  data_parallel_size: 2\n", sharded,
         7, NULL},
        {flat, "model_parallel:\n  tensor_model_parallel_size: 2\n  zero_level: z1\n", sharded, 1, NULL},
        {flat, TWO_RANKS, linear_bias, 0, NULL},
        {flat, TWO_RANKS "add_bias_linear: True\n", linear_bias, 1, NULL},
        {flat, TWO_RANKS "mlp_has_bias: True\n", qkv_bias, 1, NULL},
        {flat, TWO_RANKS "add_bias_linear: True\nqkv_has_bias: False\n", qkv_bias, 0, NULL},
        {flat, TWO_RANKS "add_qkv_bias: True\n", qkv_bias, 1, NULL},
        {flat, TWO_RANKS "add_qkv_bias: True\n", linear_bias, 0, NULL},
        {flat, TWO_RANKS "untie_embeddings_and_output_weights: True\n", tied, 0, NULL},
        {flat, TWO_RANKS "untie_embeddings_and_output_weights: False\n", tied, 1, NULL},
        {flat, TWO_RANKS, gated, 0, NULL},
        {flat, TWO_RANKS "hidden_act: swiglu\n", gated, 1, NULL},
        {flat, TWO_RANKS "activation_func: silu\n", gated, 1, NULL},
        {flat, TWO_RANKS "activation_func: gelu\n", gated, 0, NULL},
        {flat, TWO_RANKS "hidden_act: silu\ngated_linear_unit: False\n", gated, 0, NULL},
        {flat, TWO_RANKS "swiglu: True\n", gated, 1, NULL},
        {flat, "model_parallel:\n  tensor_model_parallel_size: 2\n", weight, 4, NULL},
        {flat, "model_parallel:\n  tensor_model_parallel_size: 2\n", optimizer, 8, NULL},
        {flat, "model_parallel:\n  tensor_model_parallel_size: 2\n  params_dtype: bfloat16\n", optimizer, 12, NULL},
        {flat, TWO_RANKS "bf16: True\n", residual_fp32, 0, NULL},
        {flat, TWO_RANKS "bf16: True\nfp32_residual_connection: True\n", residual_fp32, 1, NULL},
        {flat, TWO_RANKS "bf16: True\nresidual_connection_dtype: float32\n", residual_fp32, 1, NULL},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 3\n", first_layers, 3, NULL},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 3\n", last_layers, 2, NULL},
        {flat, "recompute_granularity: selective\nmodel_parallel:\n  pipeline_model_parallel_size: 2\n", first_select,
         4, NULL},
        {flat,
         "recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 3\nmodel_parallel:\n"
         "  pipeline_model_parallel_size: 2\n",
         last_full, 3, NULL},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 2\n  num_layer_list: [4, 5]\n", NULL, 0,
         "11:19: model_parallel.num_layer_list adds up to at least 9, but num_layers is 8"},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 2\n  num_layer_list: [0, 8]\n", NULL, 0,
         "gives chunk 0 of stage 0 no layers"},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 2\n  num_layer_list: [[4, 4], [0, 0]]\n", NULL, 0,
         "must be a list of numbers, for 1 chunk on 2 stages"},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 2\n  recompute_config:\n    recompute: [3, 5]\n", NULL,
         0,
         "12:16: model_parallel.recompute_config.recompute counts 5 layers of chunk 0 on stage 1, which has 4; lower "
         "it"},
        {flat,
         "model_parallel:\n  pipeline_model_parallel_size: 2\n  recompute_config:\n    recompute: [3, 3]\n"
         "    select_recompute: [2, 0]\n",
         NULL, 0, "counts 2 layers of chunk 0 on stage 0 after 3 with full recomputation, of 4 there; lower it"},
        {flat, "model_parallel:\n  pipeline_model_parallel_size: 2\n  standalone_embedding_stage: true\n", NULL, 0,
         "standalone_embedding_stage is on, a stage without layers, which is not modelled; switch it off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        said s;
        ek_job job;
        snprintf(text, sizeof text, "%s%s", cases[i].head, cases[i].tail);
        ek_status status = read_with(text, strlen(text), NULL, &s, &job);
        if (cases[i].refused ? status != EK_ERR_INPUT || !strstr(s.text, cases[i].refused) : status != EK_OK)
            fail_msg("case %zu: %s", i, s.text);
        if (status == EK_OK) {
            if (cases[i].get(&job) != cases[i].expected)
                fail_msg("case %zu gives %d", i, cases[i].get(&job));
            ek_job_clear(&job);
        }
    }
}

/* ---- Hugging Face ---- */

#define HF "\"num_hidden_layers\": 4, \"hidden_size\": 1024, \"num_attention_heads\": 16, \"vocab_size\": 32000, "

static const expectation configs[] = {
    {"{" HF "\"model_type\": \"llama\", \"intermediate_size\": 2816}", intermediate, 2816, 2},
    {"{" HF "\"model_type\": \"llama\"}", qkv_bias, 0, 2},
    {"{" HF "\"model_type\": \"qwen2\"}", qkv_bias, 1, 2},
    {"{" HF "\"model_type\": \"llama\", \"attention_bias\": true}", qkv_bias, 1, 2},
    {"{" HF "\"model_type\": \"llama\", \"bias\": true}", linear_bias, 0, 2},
    {"{" HF "\"model_type\": \"gptj\"}", linear_bias, 0, 2},
    {"{" HF "\"model_type\": \"gptj\", \"use_bias\": true}", linear_bias, 1, 2},
    {"{" HF "\"model_type\": \"gptj\", \"enable_bias\": true}", qkv_bias, 1, 2},
    {"{" HF "\"model_type\": \"falcon\", \"bias\": true}", linear_bias, 1, 2},
    {"{" HF "\"model_type\": \"starcoder2\", \"use_bias\": false}", linear_bias, 0, 2},
    {"{" HF "\"model_type\": \"opt\", \"enable_bias\": false}", qkv_bias, 0, 2},
    {"{" HF "\"model_type\": \"llama\", \"num_key_value_heads\": 4}", kv_heads, 4, 2},
    {"{" HF "\"model_type\": \"llama\", \"tie_word_embeddings\": true}", tied, 1, 2},
    {"{" HF "\"model_type\": \"qwen3\", \"head_dim\": 128}", head_dim, 128, 2},
    {"{" HF "\"model_type\": \"llama\", \"max_position_embeddings\": 2048}", seq, 2048, 2},
    {"{" HF "\"model_type\": \"llama\", \"max_position_embeddings\": 65536}", seq, 4096, 2},
    {"{" HF "\"model_type\": \"mixtral\", \"intermediate_size\": 512, \"num_local_experts\": 8}", expert_width, 512, 2},
    {"{" HF "\"model_type\": \"qwen2_moe\", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": "
     "256, \"shared_expert_intermediate_size\": 768, \"decoder_sparse_step\": 2}",
     shared_width, 768, 2},
    {"{" HF "\"model_type\": \"qwen2_moe\", \"num_experts\": 8, \"decoder_sparse_step\": 2}", period, 2, 2},
    {"{" HF
     "\"model_type\": \"deepseek_v3\", \"n_routed_experts\": 8, \"n_shared_experts\": 2, \"moe_intermediate_size\": "
     "256, \"first_k_dense_replace\": 1, \"kv_lora_rank\": 64, \"q_lora_rank\": null, \"qk_nope_head_dim\": 32, "
     "\"qk_rope_head_dim\": 16, \"v_head_dim\": 32, \"num_nextn_predict_layers\": 1}",
     shared_width, 512, 2},
    {"{" HF
     "\"model_type\": \"deepseek_v3\", \"kv_lora_rank\": 64, \"qk_nope_head_dim\": 32, \"qk_rope_head_dim\": 16, "
     "\"v_head_dim\": 32, \"num_nextn_predict_layers\": 1}",
     last_layers, 5, 2},
    {"{" HF "\"model_type\": \"unheard_of\"}", gated, 1, 3},
    {"{" HF "\"a\": 1}", gated, 1, 3},
    {"{\"n_layer\": 4, \"n_embd\": 1024, \"n_head\": 16, \"vocab_size\": 50257, \"n_positions\": 1024, \"model_type\": "
     "\"gpt2\"}",
     table, 1, 2},
    {"{\"n_layer\": 4, \"n_embd\": 1024, \"n_head\": 16, \"vocab_size\": 50257, \"n_positions\": 1024, \"model_type\": "
     "\"gpt2\"}",
     vocab, 50304, 2},
    {"{\"num_layers\": 4, \"hidden_size\": 1024, \"num_attention_heads\": 16, \"padded_vocab_size\": 65024, "
     "\"ffn_hidden_size\": 3000, \"multi_query_group_num\": 2, \"model_type\": \"chatglm\"}",
     kv_heads, 2, 2},
    {"{\"model_type\": \"some_vl\", \"text_config\": {" HF "\"model_type\": \"llama\"}}", micro_batches, 1, 3},
};

static void configs_of_hugging_face_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const expectation *e = &configs[i];
        said s;
        ek_job job;
        read_good(e->text, NULL, &s, &job);
        if (e->get(&job) != e->expected || s.n_warnings != e->n_warnings)
            fail_msg("config %zu gives %d, expected %d: %s", i, e->get(&job), e->expected, s.text);
        assert_int_equal(sharded(&job), 1);
        ek_job_clear(&job);
    }
    said s;
    ek_job job;
    ek_job_overrides o = none;
    o.tensor = 2;
    o.pipeline = 2;
    o.data = 4;
    o.n_micro_batches = 8;
    o.seq_length = 8192;
    read_file("tests/data/job/qwen2.json", &o, &s, &job);
    assert_string_equal(s.text, "");
    assert_int_equal(job.parallel.data, 4);
    assert_int_equal(job.parallel.seq_length, 8192);
    assert_int_equal(job.parallel.table_split, 2);
    assert_int_equal(job.plan.n_stages, 2);
    assert_true(job.parallel.sequence_parallel);
    assert_int_equal(job.model.vocab, 152064);
    ek_job_clear(&job);
}

/* Published models: properties that only the type determines (gates, biases, one head of keys, shared experts, a tied
 * head) are visible in the count of parameters. */
static const struct {
    const char *text;
    double parameters;
    int n_warnings; /* the sequence and the micro-batches, and a window that is shorter */
} published[] = {
    {"{\"model_type\": \"opt\", \"hidden_size\": 5120, \"num_attention_heads\": 40, \"num_hidden_layers\": 40, "
     "\"vocab_size\": 50272, \"max_position_embeddings\": 2048, \"ffn_dim\": 20480}",
     12853473280, 2},
    {"{\"model_type\": \"falcon\", \"hidden_size\": 8192, \"num_attention_heads\": 128, \"num_hidden_layers\": 60, "
     "\"vocab_size\": 65024, \"num_kv_heads\": 8, \"multi_query\": true, \"new_decoder_architecture\": true, \"bias\": "
     "false}",
     41303293952, 2},
    {"{\"model_type\": \"bloom\", \"num_attention_heads\": 112, \"vocab_size\": 250880, \"n_embed\": 14336, "
     "\"n_layer\": 70, \"seq_length\": 2048}",
     176247271424, 2},
    {"{\"model_type\": \"gpt_neox\", \"hidden_size\": 6144, \"intermediate_size\": 24576, \"num_attention_heads\": 64, "
     "\"num_hidden_layers\": 44, \"vocab_size\": 50432, \"max_position_embeddings\": 2048, \"tie_word_embeddings\": "
     "false}",
     20554567680, 2},
    {"{\"model_type\": \"starcoder2\", \"hidden_size\": 6144, \"intermediate_size\": 24576, \"num_attention_heads\": "
     "48, \"num_hidden_layers\": 40, \"vocab_size\": 49152, \"max_position_embeddings\": 16384, "
     "\"num_key_value_heads\": 4, \"tie_word_embeddings\": false, \"use_bias\": true}",
     15957889024, 2},
    {"{\"model_type\": \"gemma2\", \"hidden_size\": 3584, \"intermediate_size\": 14336, \"num_attention_heads\": 16, "
     "\"num_hidden_layers\": 42, \"vocab_size\": 256000, \"max_position_embeddings\": 8192, \"num_key_value_heads\": "
     "8, \"head_dim\": 256}",
     9241705984, 3},
    {"{\"model_type\": \"phi3\", \"hidden_size\": 3072, \"intermediate_size\": 8192, \"num_attention_heads\": 32, "
     "\"num_hidden_layers\": 32, \"vocab_size\": 32064, \"max_position_embeddings\": 4096, \"sliding_window\": 2047, "
     "\"tie_word_embeddings\": false}",
     3821079552, 3},
    {"{\"model_type\": \"gpt_oss\", \"hidden_size\": 2880, \"intermediate_size\": 2880, \"num_attention_heads\": 64, "
     "\"num_hidden_layers\": 24, \"vocab_size\": 201088, \"max_position_embeddings\": 131072, \"num_key_value_heads\": "
     "8, \"head_dim\": 64, \"num_local_experts\": 32, \"num_experts_per_tok\": 4, \"sliding_window\": 128}",
     20914757184, 3},
    {"{\"model_type\": \"llama4_text\", \"hidden_size\": 5120, \"intermediate_size\": 8192, \"num_attention_heads\": "
     "40, \"num_hidden_layers\": 48, \"vocab_size\": 202048, \"max_position_embeddings\": 10485760, "
     "\"num_key_value_heads\": 8, \"head_dim\": 128, \"num_local_experts\": 16, \"num_experts_per_tok\": 1}",
     107770839040, 2},
    /* Llama 4 Maverick, 400 B in all of which the vision encoder has 0.9 (ai.meta.com, The Llama 4 herd) */
    {"{\"model_type\": \"llama4_text\", \"num_local_experts\": 128, \"interleave_moe_layer_step\": 2, "
     "\"attention_chunk_size\": 8192}",
     400.7e9, 3},
    /* Gemma 3 without its vision encoder: embedding and the rest of table 1, arXiv 2503.19786 */
    {"{\"model_type\": \"gemma3_text\", \"hidden_size\": 1152, \"intermediate_size\": 6912, "
     "\"num_attention_heads\": 4, \"num_key_value_heads\": 1, \"num_hidden_layers\": 26, \"vocab_size\": 262144, "
     "\"sliding_window\": 512}",
     302e6 + 698e6, 5},
    {"{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 2560, "
     "\"intermediate_size\": 10240, \"num_hidden_layers\": 34, \"sliding_window\": 1024}}",
     675e6 + 3209e6, 6},
    {"{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 3840, "
     "\"intermediate_size\": 15360, \"num_hidden_layers\": 48, \"num_attention_heads\": 16, "
     "\"num_key_value_heads\": 8, \"sliding_window\": 1024}}",
     1012e6 + 10759e6, 6},
    {"{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 5376, "
     "\"intermediate_size\": 21504, \"num_hidden_layers\": 62, \"num_attention_heads\": 32, \"head_dim\": 128, "
     "\"num_key_value_heads\": 16, \"sliding_window\": 1024}}",
     1416e6 + 25600e6, 6},
    /* Qwen3's technical report, arXiv 2505.09388, and model cards */
    {"{\"model_type\": \"qwen3\", \"hidden_size\": 4096, \"intermediate_size\": 12288, \"num_attention_heads\": 32, "
     "\"num_hidden_layers\": 36, \"vocab_size\": 151936, \"num_key_value_heads\": 8, \"head_dim\": 128}",
     8.19e9, 2},
    {"{\"model_type\": \"qwen3_moe\", \"hidden_size\": 2048, \"intermediate_size\": 6144, \"num_attention_heads\": "
     "32, \"num_hidden_layers\": 48, \"vocab_size\": 151936, \"num_key_value_heads\": 4, \"head_dim\": 128, "
     "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 768, \"decoder_sparse_step\": 1, "
     "\"mlp_only_layers\": []}",
     30.53e9, 2},
    {"{\"model_type\": \"qwen3_moe\", \"hidden_size\": 4096, \"intermediate_size\": 12288, \"num_attention_heads\": "
     "64, \"num_hidden_layers\": 94, \"vocab_size\": 151936, \"num_key_value_heads\": 4, \"head_dim\": 128, "
     "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1536}",
     235.1e9, 2},
    {"{\"model_type\": \"qwen2_moe\", \"hidden_size\": 2048, \"intermediate_size\": 5632, \"num_attention_heads\": 16, "
     "\"num_hidden_layers\": 24, \"vocab_size\": 151936, \"max_position_embeddings\": 8192, \"num_experts\": 60, "
     "\"num_experts_per_tok\": 4, \"moe_intermediate_size\": 1408, \"shared_expert_intermediate_size\": 5632, "
     "\"tie_word_embeddings\": false}",
     14315784192, 2},
    {"{\"model_type\": \"gpt2\", \"n_embd\": 1600, \"n_head\": 25, \"n_layer\": 48, \"n_positions\": 1024, "
     "\"vocab_size\": 50257}",
     1557611200, 2},
    {"{\"model_type\": \"falcon\", \"hidden_size\": 4544, \"num_attention_heads\": 71, \"num_hidden_layers\": 32, "
     "\"vocab_size\": 65024, \"multi_query\": true, \"bias\": false}",
     6921720704, 2},
};

static void published_models_have_their_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        said s;
        ek_job job;
        double all = 0, active = 0;
        read_good(published[i].text, NULL, &s, &job);
        assert_int_equal(ek_job_count_parameters(&job, &all, &active, NULL), EK_OK);
        if (fabs(all / published[i].parameters - 1) > 0.004 || s.n_warnings != published[i].n_warnings)
            fail_msg("model %zu has %.0f parameters, expected %.0f; %d warnings: %s", i, all, published[i].parameters,
                     s.n_warnings, s.text);
        ek_job_clear(&job);
    }
}

/* A model of which `line` is the third line. */
static ek_status read_config(const char *line, said *s, ek_job *job)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"hidden_size\": 1024, \"num_attention_heads\": 16,\n"
             "\"num_hidden_layers\": 4, \"vocab_size\": 32000, \"max_position_embeddings\": 2048,\n%s}",
             line);
    return read_with(text, strlen(text), NULL, s, job);
}

#define LLAMA "\"model_type\": \"llama\", "
/* Layers of kinds that are not modelled: the key is named with its place and the model refused. */
static const struct {
    const char *line, *message;
} unlike_layers[] = {
    {"\"model_type\": \"jamba\"", "3:15: model_type is 'jamba', whose layers have a state space"},
    {"\"model_type\": \"nemotron_h\"", "3:15: model_type is 'nemotron_h', whose layers have a state space"},
    {"\"model_type\": \"falcon_h1\"", "whose layers have a state space"},
    {"\"model_type\": \"granitemoehybrid\"", "whose layers have a state space"},
    {"\"model_type\": \"mamba2\"", "whose layers have a state space"},
    {"\"model_type\": \"rwkv\"", "3:15: model_type is 'rwkv', whose layers have linear attention or a recurrence"},
    {"\"model_type\": \"qwen3_next\"", "whose layers have linear attention"},
    {"\"model_type\": \"lfm2\"", "whose layers have a convolution"},
    {"\"model_type\": \"bert\"", "whose layers are those of an encoder"},
    {"\"model_type\": \"gemma3n_text\"", "whose layers have embeddings of their own"},
    {LLAMA "\"attn_layer_period\": 8", "3:45: attn_layer_period is of a model that has layers without attention"},
    {LLAMA "\"hybrid_override_pattern\": \"M-M*\"",
     "hybrid_override_pattern is of a model that has layers with a state space"},
    {LLAMA "\"mamba_d_state\": 128", "mamba_d_state is of a model that has layers with a state space"},
    {LLAMA "\"linear_num_value_heads\": 32", "linear_num_value_heads is of a model that has layers with linear"},
    {LLAMA "\"conv_L_cache\": 3", "conv_L_cache is of a model that has layers with a convolution"},
    {LLAMA "\"block_configs\": [{\"a\": 1}]", "block_configs is of a model that has layers with different parts"},
    {LLAMA "\"is_encoder_decoder\": true", "is_encoder_decoder is on: a model with an encoder and a decoder"},
    {LLAMA "\"type_vocab_size\": 2", "type_vocab_size is of a model that has layers of an encoder"},
    {LLAMA "\"layer_types\": [\"full_attention\", \"linear_attention\"]",
     "3:39: layer_types has layers of the kind 'linear_attention', which are not modelled"},
    {LLAMA "\"layer_types\": [\"full_attention\", [1]]", "layer_types has layers of the kind '?'"},
    {LLAMA "\"layers_block_type\": [\"attention\", \"mamba\"]",
     "layers_block_type has layers of the kind 'mamba', which are not modelled"},
    {LLAMA "\"layer_types\": \"mamba\"", "3:39: layer_types is"},
    {LLAMA "\"attn_type_list\": [1, 0, 1, 1]", "attn_type_list has layers with linear attention"},
    {LLAMA "\"intermediate_size_mlp\": 16384", "3:49: intermediate_size_mlp gives some layers a different width"},
    {"\"model_type\": \"unheard_of\", \"moe_num_experts\": 64",
     "3:48: moe_num_experts is of a mixture of experts, but none of the known keys for their number is there"},
    {"\"model_type\": \"unheard_of\", \"ffn_config\": {\"moe_num_experts\": 16}",
     "ffn_config.moe_num_experts is of a mixture of experts"},
    {"\"model_type\": \"qwen3_moe\", \"num_experts\": 8, \"mlp_only_layers\": [2]",
     "3:65: mlp_only_layers leaves experts in layers without a regular pattern after the first dense layers"},
    {"\"model_type\": \"qwen3_moe\", \"num_experts\": 8, \"mlp_only_layers\": [4]",
     "3:66: mlp_only_layers[0] is 4, expected a whole number from 0 to 3"},
    {"\"model_type\": \"some_moe\", \"num_experts\": 8, \"moe_layer_freq\": [0, 1, 1]",
     "moe_layer_freq has 3 entries, expected one for each of the 4 layers"},
};

static void layers_of_other_kinds_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unlike_layers / sizeof *unlike_layers; i++) {
        said s;
        ek_job job;
        if (read_config(unlike_layers[i].line, &s, &job) != EK_ERR_INPUT || !strstr(s.text, unlike_layers[i].message))
            fail_msg("layers %zu: %s", i, s.text);
    }
}

/* Parts of layers that are predicted otherwise: the key is named with its line. The last has none. */
static const struct {
    const char *line, *message;
    int n_warnings; /* with two for the length and the micro-batches */
} other_layers[] = {
    {LLAMA "\"num_kv_shared_layers\": 2", "3:48: warning: num_kv_shared_layers counts layers that share keys", 3},
    {LLAMA "\"cross_attention_layers\": [3]", "cross_attention_layers names layers of cross-attention", 3},
    {LLAMA "\"sliding_window\": 512", "3:42: warning: sliding_window is 512, fewer than the 2048 tokens", 3},
    {LLAMA "\"attention_chunk_size\": 1024", "attention_chunk_size is 1024, fewer than the 2048 tokens", 3},
    {"\"model_type\": \"gpt_oss\"", "3:15: warning: the type has attention to 128 tokens in most layers", 3},
    {"\"model_type\": \"glm4\"", "3:15: warning: model_type is 'glm4', which also has norms after the attention", 3},
    {LLAMA "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"chunked_attention\"], "
           "\"num_kv_shared_layers\": 0, \"cross_attention_layers\": [], \"intermediate_size_mlp\": null",
     "3:39: warning: layer_types has layers of sliding_attention, but the number of tokens is missing", 3},
    {LLAMA "\"layer_types\": null, \"attn_type_list\": [1, 1, 1, 1], \"attn_layer_period\": 1", "", 2},
    {"\"model_type\": \"unheard_of\", \"num_experts\": 8",
     "3:44: warning: the number of the 8 experts for each token (num_experts_per_tok) is missing; 2 is used", 4},
    {"\"model_type\": \"unheard_of\", \"num_experts\": 1, \"num_experts_per_tok\": 1", "", 3},
};

/* Models that no reader recognises, since they lack even the sizes that every decoder has. */
static void other_configs_are_refused_by_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"model_type\": \"t5\", \"d_model\": 512, \"num_layers\": 6}",
         "is the configuration of a model whose layers"},
        {"{\"d_model\": 2560, \"n_layer\": 64, \"ssm_cfg\": {}}", "is the configuration of a model whose layers"},
        {"{\"model_type\": \"some\", \"architectures\": [\"X\"]}", "without num_hidden_layers and hidden_size"},
        {"{\"zero_optimization\": {\"stage\": 2}}",
         "is a configuration of DeepSpeed, which does not contain the model"},
        {"model: {config: {}}\ntrainer: {strategy: {tensor_model_parallel_size: 2}}", "is a recipe of NeMo 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said s;
        ek_job job;
        if (read_with(cases[i].text, strlen(cases[i].text), NULL, &s, &job) != EK_ERR_INPUT ||
            !strstr(s.text, cases[i].message))
            fail_msg("case %zu: %s", i, s.text);
    }
}

static void layers_not_modelled_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof other_layers / sizeof *other_layers; i++) {
        said s;
        ek_job job;
        if (read_config(other_layers[i].line, &s, &job) != EK_OK || !strstr(s.text, other_layers[i].message) ||
            s.n_warnings != other_layers[i].n_warnings)
            fail_msg("layers %zu: %d warnings: %s", i, s.n_warnings, s.text);
        ek_job_clear(&job);
    }
}

/* Which of six layers have experts, by the keys of each family; 2 is one after the last. */
static const struct {
    const char *keys;
    int n_dense, period;
} expert_layers[] = {
    {"\"model_type\": \"qwen3_moe\", \"num_experts\": 8", 0, 1},
    {"\"model_type\": \"qwen2_moe\", \"num_experts\": 8, \"decoder_sparse_step\": 2", 1, 2},
    {"\"model_type\": \"qwen2_moe\", \"num_experts\": 8, \"decoder_sparse_step\": 2, \"mlp_only_layers\": [1]", 3, 2},
    {"\"model_type\": \"qwen3_moe\", \"num_experts\": 8, \"mlp_only_layers\": [0, 1]", 2, 1},
    {"\"model_type\": \"deepseek_v3\", \"n_routed_experts\": 8, \"first_k_dense_replace\": 3", 3, 1},
    {"\"model_type\": \"deepseek_v2\", \"n_routed_experts\": 8, \"first_k_dense_replace\": 1, \"moe_layer_freq\": 2", 2,
     2},
    {"\"model_type\": \"mimo\", \"n_routed_experts\": 8, \"moe_layer_freq\": [0, 1, 1, 1, 1, 1]", 1, 1},
    {"\"model_type\": \"llama4_text\", \"num_local_experts\": 8, \"interleave_moe_layer_step\": 2", 1, 2},
    {"\"model_type\": \"llama4_text\", \"num_local_experts\": 8, \"interleave_moe_layer_step\": 1", 0, 1},
    {"\"model_type\": \"llama4_text\", \"num_local_experts\": 8, \"moe_layers\": [2, 5]", 2, 3},
    {"\"model_type\": \"llama4_text\", \"num_local_experts\": 8, \"moe_layers\": [4]", 4, 2},
};

/* Experts of a token: the key's, or the type's. */
static void a_token_has_its_experts(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        int top_k;
    } cases[] = {{"\"model_type\": \"mixtral\", \"num_local_experts\": 16", 2},
                 {"\"model_type\": \"qwen3_moe\", \"num_experts\": 16", 8},
                 {"\"model_type\": \"qwen3_moe\", \"num_experts\": 16, \"num_experts_per_tok\": 3", 3},
                 {"\"model_type\": \"llama4_text\"", 1},
                 {"\"model_type\": \"some_moe\", \"num_experts\": 16, \"moe_topk\": 5", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said s;
        ek_job job;
        if (read_config(cases[i].keys, &s, &job) != EK_OK)
            fail_msg("%s", s.text);
        assert_int_equal(job.model.top_k, cases[i].top_k);
        ek_job_clear(&job);
    }
}

static void layers_with_experts_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expert_layers / sizeof *expert_layers; i++) {
        char text[1024];
        said s;
        ek_job job;
        snprintf(
            text, sizeof text,
            "{\"hidden_size\": 1024, \"num_attention_heads\": 16, \"num_hidden_layers\": 6, \"vocab_size\": 32000, "
            "%s}",
            expert_layers[i].keys);
        read_good(text, NULL, &s, &job);
        if (job.model.n_dense_layers != expert_layers[i].n_dense || job.model.expert_period != expert_layers[i].period)
            fail_msg("case %zu: %d dense ones, then every %d", i, job.model.n_dense_layers, job.model.expert_period);
        ek_job_clear(&job);
    }
}

/* A type that leaves sizes out has its class's, with a note; without a type they are required. */
static void gemmas_defaults_are_taken_and_told(void **state)
{
    (void)state;
    said s;
    ek_job job;
    read_good("{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\",\n\"hidden_size\": 2560, "
              "\"intermediate_size\": 10240, \"num_hidden_layers\": 34, \"sliding_window\": 1024},\n\"vision_config\": "
              "{\"hidden_size\": 1152, \"model_type\": \"siglip_vision_model\"}}",
              NULL, &s, &job);
    assert_int_equal(job.model.n_heads, 8);
    assert_int_equal(job.model.n_kv_heads, 4);
    assert_int_equal(job.model.head_dim, 256);
    assert_int_equal(job.model.vocab_told, 262208);
    assert_int_equal(job.model.max_position, 131072);
    assert_non_null(strstr(s.text,
                           "1:56: warning: the file relies on defaults of Gemma3TextConfig: num_attention_heads 8, "
                           "num_key_value_heads 4, head_dim 256, vocab_size 262208, max_position_embeddings 131072"));
    assert_non_null(strstr(s.text, "3:18: warning: vision_config is a part of the model outside its language model"));
    assert_non_null(strstr(s.text, "sliding_window is 1024, fewer than the 4096 tokens"));
    ek_job_clear(&job);
    const char *none_given = "{\"text_config\": {\"hidden_size\": 2560, \"num_hidden_layers\": 34}}";
    assert_int_equal(read_with(none_given, strlen(none_given), NULL, &s, &job), EK_ERR_INPUT);
    assert_non_null(strstr(s.text, "num_attention_heads is missing"));
}

/* ---- overrides ---- */

static void overrides_change_what_follows_from_degrees(void **state)
{
    (void)state;
    said s;
    ek_job job;
    ek_job_overrides o = none;
    o.tensor = 4;
    o.pipeline = 1;
    read_good("run --nproc_per_node 8 " MODEL "--micro-batch-size 1 --global-batch-size 8 --vocab-size 32000 " REST
              "--pipeline-model-parallel-size 2",
              &o, &s, &job);
    assert_int_equal(job.parallel.data, 2);
    assert_int_equal(job.parallel.n_micro_batches, 4);
    assert_int_equal(job.model.vocab, 32256);
    assert_int_equal(job.parallel.head_split, 4);
    assert_int_equal(job.plan.n_stages, 1);
    assert_int_equal(job.plan.layers[0], 8);
    ek_job_clear(&job);
    /* a value known only in the run is no problem where the command line gives it */
    o.seq_length = 512;
    o.n_micro_batches = 3;
    read_good(
        "TP=${10}\nrun --nproc_per_node 8 --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length $7 "
        "--max-position-embeddings 512 --micro-batch-size 1 --global-batch-size $4 --vocab-size 32000 " REST
        "--tensor-model-parallel-size $TP",
        &o, &s, &job);
    assert_int_equal(job.parallel.tensor, 4);
    assert_int_equal(job.parallel.seq_length, 512);
    assert_int_equal(job.parallel.n_micro_batches, 3);
    ek_job_clear(&job);
}

/* ---- reading back the project's output ---- */

static uint64_t seed(void)
{
    const char *given = getenv("EK_SEED");
    uint64_t value = given ? strtoull(given, NULL, 10) : 20261122;
    print_message("# seed %llu (EK_SEED repeats it)\n", (unsigned long long)value);
    return value;
}

static void make_plan(ek__random *r, bool of_one_rule, ek_plan *plan, int *n_layers)
{
    int p = 2 + ek__random_below(r, 5), v = 1 + ek__random_below(r, 3), rule = ek__random_below(r, 4);
    int first = 1 + ek__random_below(r, 6);
    bool alike = ek__random_below(r, 3) == 0;
    assert_int_equal(ek_plan_init(plan, p, v, NULL), EK_OK);
    *n_layers = 0;
    for (int c = 0; c < p * v; c++) {
        int n = alike && c > 0 ? plan->layers[0] : 1 + ek__random_below(r, 7);
        plan->layers[c] = n;
        *n_layers += n;
        plan->full[c] = of_one_rule ? (rule == 0   ? n
                                       : rule == 1 ? (first < n ? first : n)
                                                   : 0)
                                    : ek__random_below(r, n + 1);
        plan->select[c] = of_one_rule ? (rule == 2 ? n : plan->full[c]) : ek__random_below(r, n + 1);
        plan->comm[c] = of_one_rule ? plan->full[c] : ek__random_below(r, n + 1);
    }
}

/* The emitter's settings with a model around them. */
static char *emitted(const char *emitter, const ek_plan *plan, int n_layers, const char *head, const char *tail)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    const ek_emission e = {.name = "p", .plan = plan, .n_layers = n_layers, .n_micro_batches = 60};
    fputs(head, out);
    if (ek_emitter_find(emitter)->write(&e, out, NULL, &err))
        fail_msg("%s", err.message);
    fputs(tail, out);
    fclose(out);
    return text;
}

static void read_back(const char *emitter, bool of_one_rule, const char *head, const char *tail)
{
    ek__random random = ek__random_seed(seed());
    for (int i = 0; i < 400; i++) {
        ek_plan plan;
        int n_layers;
        said s;
        ek_job job;
        make_plan(&random, of_one_rule, &plan, &n_layers);
        char *text = emitted(emitter, &plan, n_layers, head, tail);
        read_good(text, NULL, &s, &job);
        size_t n = (size_t)plan.n_stages * (size_t)plan.n_chunks;
        assert_int_equal(job.plan.n_stages, plan.n_stages);
        assert_int_equal(job.plan.n_chunks, plan.n_chunks);
        assert_memory_equal(job.plan.layers, plan.layers, n * sizeof *plan.layers);
        for (int c = 0; c < (int)n; c++) {
            ek_chunk_mix want = ek_plan_mix(&plan, c / plan.n_stages, c % plan.n_stages);
            ek_chunk_mix got = ek_plan_mix(&job.plan, c / plan.n_stages, c % plan.n_stages);
            if (memcmp(&want, &got, sizeof want) != 0)
                fail_msg("chunk %d of plan %d is read back differently: %s", c, i, text);
        }
        free(text);
        ek_job_clear(&job);
        ek_plan_clear(&plan);
    }
}

static void megatron_settings_are_read_back(void **state)
{
    (void)state;
    read_back("megatron", true, "",
              "MODEL_ARGS=(\n  --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1\n"
              "  --global-batch-size 60 --vocab-size 32000 --bf16 --use-flash-attn --data-parallel-size 1\n)\n"
              "torchrun pretrain_gpt.py ${MODEL_ARGS[@]} ${PIPELINE_ARGS[@]}\n");
}

static void mindspeed_settings_are_read_back(void **state)
{
    (void)state;
    read_back("mindspeed", false, "",
              "language_model:\n  hidden_size: 1024\n  num_attention_heads: 16\nvocab_size: 32000\nseq_length: 2048\n"
              "micro_batch_size: 1\nglobal_batch_size: 60\n");
}

/* ---- memory and damage ---- */

static void failing_allocations_are_told(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/data/job/qwen25_7b.sh", "tests/data/job/moe.args",
                                        "tests/data/job/mindspeed.yaml", "tests/data/job/qwen2.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int n = 0;
        for (;; n++) {
            ek_error err = {0};
            ek_job job = {.full_group = -7};
            assert_true(n < 10000);
            allocations_left = n;
            ek_status status = ek_job_read(source_path(files[i]), NULL, NULL, &job, &err);
            bool failed = allocations_left < 0;
            allocations_left = -1;
            if (!failed) {
                assert_int_equal(status, EK_OK);
                ek_job_clear(&job);
                break;
            }
            assert_int_equal(status, EK_ERR_MEMORY);
            assert_int_equal(job.full_group, -7);
            assert_string_equal(err.message, "out of memory");
        }
        assert_true(n > 3);
    }
}

enum { MAX_SIZE = 1 << 14 };

static size_t mutate(ek__random *r, char *text, size_t size)
{
    static const char *const words[] = {
        "\"", "'", "$", "${", "$((", "))", "(", ")", "\\", "\n", "#", "--",           "=", "999999999999", "-1",
        "0",  "*", "|", "[",  "]",   "{",  "}", ":", "`",  "$(", ";", "--num-layers "};
    size_t at = (size_t)ek__random_below(r, (int)size + 1), length = (size_t)ek__random_below(r, 24);
    const char *word = words[ek__random_below(r, (int)(sizeof words / sizeof *words))];
    size_t n = strlen(word);
    length = length < size - at ? length : size - at;
    switch (ek__random_below(r, 4)) {
    case 0:
        memmove(text + at, text + at + length, size - at - length);
        return size - length;
    case 1:
        if (size + length > MAX_SIZE)
            return size;
        memmove(text + at + length, text + at, size - at);
        return size + length;
    case 2:
        if (at < size)
            text[at] = ek__random_below(r, 3) ? (char)('0' + ek__random_below(r, 10)) : (char)ek__random_below(r, 256);
        return size;
    default:
        if (size + n > MAX_SIZE)
            return size;
        memmove(text + at + n, text + at, size - at);
        for (size_t i = 0; i < n; i++)
            text[at + i] = word[i];
        return size + n;
    }
}

static void damaged_files_are_read_or_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/data/job/qwen25_7b.sh", "tests/data/job/moe.args",
                                        "tests/data/job/mindspeed.yaml", "tests/data/job/qwen2.json"};
    ek__random random = ek__random_seed(seed());
    int n_read = 0, n_refused = 0;
    for (int i = 0; i < 4000; i++) {
        static char text[MAX_SIZE];
        size_t size = 0;
        char *whole = slurp(source_path(files[i % 4]), &size);
        assert_non_null(whole);
        assert_true(size < MAX_SIZE);
        memcpy(text, whole, size);
        free(whole);
        for (int k = 1 + ek__random_below(&random, 3); k > 0; k--)
            size = mutate(&random, text, size);
        said s;
        ek_job job;
        ek_error err = {0};
        ek_status status = read_with(text, size, NULL, &s, &job);
        if (status == EK_OK) {
            assert_int_equal(ek_job_check(&job, &err), EK_OK);
            ek_job_clear(&job);
            n_read++;
        } else {
            assert_int_equal(status, EK_ERR_INPUT);
            assert_true(s.length > 8);
            n_refused++;
        }
    }
    print_message("# %d read, %d refused\n", n_read, n_refused);
    assert_true(n_read > 400 && n_refused > 400);
}

int main(void)
{
    none = ek_job_overrides_none();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_do_what_megatron_does),
        cmocka_unit_test(scripts_are_read_without_running),
        cmocka_unit_test(defaults_inside_each_other_end),
        cmocka_unit_test(layouts_are_read_letter_by_letter),
        cmocka_unit_test(what_mindspeed_needs_is_asked_for),
        cmocka_unit_test(hugging_faces_numbers_have_a_range),
        cmocka_unit_test(wrong_files_are_refused_with_a_place),
        cmocka_unit_test(numbers_outside_their_range_are_refused),
        cmocka_unit_test(doubtful_files_are_warned_of),
        cmocka_unit_test(qwen_script_has_the_published_shapes),
        cmocka_unit_test(moe_list_is_read),
        cmocka_unit_test(mindspeed_file_is_read),
        cmocka_unit_test(mindspeed_sections_and_lists),
        cmocka_unit_test(configs_of_hugging_face_are_read),
        cmocka_unit_test(published_models_have_their_parameters),
        cmocka_unit_test(layers_not_modelled_are_named),
        cmocka_unit_test(layers_of_other_kinds_are_refused),
        cmocka_unit_test(layers_with_experts_are_found),
        cmocka_unit_test(other_configs_are_refused_by_what_they_are),
        cmocka_unit_test(a_token_has_its_experts),
        cmocka_unit_test(gemmas_defaults_are_taken_and_told),
        cmocka_unit_test(overrides_change_what_follows_from_degrees),
        cmocka_unit_test(megatron_settings_are_read_back),
        cmocka_unit_test(mindspeed_settings_are_read_back),
        cmocka_unit_test(failing_allocations_are_told),
        cmocka_unit_test(damaged_files_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
