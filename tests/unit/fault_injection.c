/* Injects faults: makes sound runs, changes them for each kind of fault, and writes the files of a run as a user has
 * them. A kind is a line of the table and a function that turns a share of the step into the generator's figures; the
 * real cost follows from the generated run, so the share is only approximate. */
#include "fault_injection.h"
#include "evenkeel/ir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hold(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "seeded faults: %s cannot be used\n", what);
    exit(2);
}

const char *const fault_form_name[3] = {"MindSpore", "GPU", "torch_npu"};

/* ---- runs ---- */

static int n_layers_of(const trace_shape *s)
{
    int n = 0;
    for (int i = 0; i < s->n_stages * s->n_chunks; i++)
        n += s->layers_of ? s->layers_of[i] : s->n_layers;
    return n;
}

static void ignore(void *user, const trace_item *item)
{
    (void)user;
    (void)item;
}

/* Mean step of a run, in seconds. */
double fault_step(const trace_shape *shape)
{
    trace_truth truth;
    double sum = 0;
    hold(trace_generate(shape, ignore, NULL, &truth), "a shape that can be generated");
    for (int i = 0; i < truth.n_steps; i++)
        sum += (double)truth.period[i];
    sum /= truth.n_steps;
    trace_truth_clear(&truth);
    return sum / 1e9;
}

trace_shape fault_sound(trace_form form, int n_stages, double jitter, unsigned seed, bool small)
{
    int enough = n_stages == 2 ? 28 : 96; /* (stages - 1) / (4 chunks x micro-batches) < 1 % */
    return (trace_shape){.form = form,
                         .n_stages = n_stages,
                         .n_steps = 2,
                         .n_chunks = n_stages == 1 ? 1 : 4,
                         .n_layers = n_stages == 1 ? 8 : 1,
                         .n_micro_batches = n_stages == 1 ? 8
                                            : small       ? 4 * n_stages
                                                          : enough,
                         .scale = 10,
                         .equal_layers = true,
                         .no_ends = true,
                         .gradients = true,
                         .n_data = 1,
                         .jitter = jitter,
                         .seed = seed};
}

/* ---- the files of a run ---- */

static FILE *open_file(const char *folder, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    hold(f != NULL, path);
    return f;
}

static void write_list(FILE *f, const fault_run *r, int what)
{
    const trace_shape *s = &r->shape;
    int total = n_layers_of(s), n = s->n_stages * s->n_chunks, first = 0;
    fputs(s->n_chunks > 1 ? "[[" : "[", f);
    for (int i = 0; i < n; i++) {
        int layers = s->layers_of ? s->layers_of[i] : s->n_layers, full = 0;
        for (int k = first; k < first + layers; k++)
            full += s->rerun && s->rerun[k] == TRACE_RERUN_FULL;
        first += layers;
        fprintf(f, "%s%d", i == 0 ? "" : i % s->n_stages == 0 ? "], [" : ", ", what ? full : layers - total / n);
    }
    fputs(s->n_chunks > 1 ? "]]" : "]", f);
}

/* Settings of the job: a model small enough that memory has room for anything. */
static void write_settings(const fault_run *r, const char *folder, char *path, size_t size)
{
    const trace_shape *s = &r->shape;
    FILE *f = open_file(folder, "train.yaml", path, size);
    fprintf(f,
            "context:\n  max_device_memory: \"58GB\"\n"
            "runner_config:\n  batch_size: %d\n  gradient_accumulation_steps: %d\n"
            "optimizer:\n  type: AdamW\n"
            "parallel:\n  full_batch: True\n  enable_parallel_optimizer: False\n"
            "  pipeline_config:\n    pipeline_interleave: %s\n    pipeline_scheduler: '1f1b'\n"
            "parallel_config:\n  data_parallel: %d\n  model_parallel: 1\n  pipeline_stage: %d\n"
            "  micro_batch_num: %d\n",
            r->batch > 0 ? r->batch : 1, s->n_stages == 1 ? s->n_micro_batches : 1, s->n_chunks > 1 ? "True" : "False",
            s->n_data, s->n_stages, s->n_stages == 1 ? 1 : s->n_micro_batches);
    fprintf(f,
            "model:\n  model_config:\n    type: LlamaConfig\n    seq_length: 1024\n    hidden_size: 512\n"
            "    num_layers: %d\n    num_heads: 8\n    vocab_size: 1000\n    multiple_of: 32\n"
            "    compute_dtype: bfloat16\n    param_init_type: float32\n    use_flash_attention: True\n"
            "    pp_interleave_num: %d\n    offset: ",
            n_layers_of(s), s->n_chunks);
    write_list(f, r, 0);
    fputs("\nrecompute_config:\n  recompute: ", f);
    write_list(f, r, 1);
    fputs("\n", f);
    hold(fclose(f) == 0, path);
}

/* The compiled graph of one stage: in every layer and direction it has a gather caused by a change of layout, of as
 * many bytes as in the trace. */
static void write_graph(const fault_run *r, const char *folder, char *path, size_t size)
{
    static const char *const direction[] = {"", "Gradients/"};
    const char *name = r->shape.redistribute_to_all ? "AlltoAll" : "AllGather";
    FILE *f = open_file(folder, "18_validate_0001.ir", path, size);
    int n_layers = n_layers_of(&r->shape) / r->shape.n_stages, n = 0;
    fputs("# IR entry: @validate\n# Total subgraphs: 1\n\n# Total params: 1\n# Params:\n"
          "%para1_x: <Tensor[BFloat16], (512, 4096)>\n\nsubgraph attr:\nsubgraph instance: validate : 0x1\n"
          "subgraph @validate() {\n",
          f);
    for (int way = 0; way < 2; way++)
        for (int layer = 0; layer < n_layers; layer++) {
            char scope[256], before[32];
            snprintf(scope, sizeof scope,
                     "%sDefault/network-PipelineCell/backbone-Model/layers-CellList/%d-DecoderLayer/"
                     "attention-Attention",
                     direction[way], layer);
            snprintf(before, sizeof before, n ? "%%%d" : "%%para1_x", n - 1);
            fprintf(f,
                    "  %%%d(CNode_%d) = PrimFunc_Mul(%s, %s) {instance name: mul} primitive_attrs: {in_strategy: ((2, "
                    "1), (2, 1))} cnode_primal_attrs: {micro: I64(0)} {in_strategy: ((2, 1), (2, 1))}\n"
                    "      : (<Tensor[BFloat16], (512, 4096)>, <Tensor[BFloat16], (512, 4096)>) -> (<Tensor[BFloat16], "
                    "(512, 4096)>)\n      # Fullname with scope: (%s/Mul-op%d)\n",
                    n, n, before, before, scope, n);
            n++;
            fprintf(f,
                    "  %%%d(CNode_%d) = PrimFunc_%s(%%%d) {instance name: redistribution_op_5500%s} primitive_attrs: "
                    "{group: \"2-5500\", rank_list: (0, 1), fusion: I64(0)} cnode_primal_attrs: {micro: I64(0)}\n"
                    "      : (<Tensor[BFloat16], (512, 4096)>) -> (<Tensor[BFloat16], (1024, 4096)>)\n"
                    "      # Fullname with scope: (%s/%s-op%d)\n",
                    n, n, name, n - 1, name, scope, name, n);
            n++;
        }
    fprintf(f, "  Return(%%%d)\n      : (<Tensor[BFloat16], (1024, 4096)>)\n}\n", n - 1);
    hold(fclose(f) == 0, path);
}

/* ---- diagnosing ---- */

static void must(ek_status status, const ek_error *err)
{
    hold(!status, err->message);
}

static void remove_ranks(const trace_shape *shape, const char *folder)
{
    for (int rank = 0; rank < FAULT_MAX_RANKS; rank++)
        trace_remove(shape->form, folder, rank);
}

void fault_diagnose(const fault_run *r, const char *folder, fault_diagnosed *d)
{
    ek_error err = {0};
    char settings[4096], graph[4096];
    const char *const path[] = {folder};
    *d = (fault_diagnosed){0};
    hold(trace_write(&r->shape, folder, NULL), folder);
    write_settings(r, folder, settings, sizeof settings);
    const ek_trace_options how = {.stages = r->shape.n_stages};
    must(ek_trace_run_read(path, 1, &how, NULL, &d->trace, &err), &err);
    must(ek_job_read(settings, NULL, NULL, &d->job, &err), &err);
    ek_run_input input = {.trace = &d->trace, .job = &d->job};
    const ek_ir_report *reports[] = {&d->report};
    if (r->graph) {
        write_graph(r, folder, graph, sizeof graph);
        must(ek_ir_read(graph, NULL, NULL, &d->ir, &err), &err);
        must(ek_ir_check(d->ir, NULL, &d->report, &err), &err);
        input.ir = reports;
        input.n_ir = 1;
    }
    /* A slow machine must find the balance, too; the others hardly search. */
    const ek_diagnose_options options = {.seconds = r->shape.layers_of ? 10 : 2};
    must(ek_diagnose(&input, &options, &d->diagnosis, &err), &err);
    if (r->graph && !getenv("EK_KEEP"))
        unlink(graph);
    if (getenv("EK_KEEP"))
        return;
    unlink(settings);
    remove_ranks(&r->shape, folder);
}

void fault_diagnosed_clear(fault_diagnosed *d)
{
    ek_diagnosis_clear(&d->diagnosis);
    if (d->ir)
        ek_ir_report_clear(&d->report);
    ek_ir_free(d->ir);
    ek_job_clear(&d->job);
    ek_trace_run_clear(&d->trace);
}

/* ---- faults ---- */

static double one_step(const fault_run *r)
{
    return 1e9 * fault_step(&r->sound);
}

static int layers_of_stage(const fault_run *r)
{
    return r->sound.n_layers * r->sound.n_chunks;
}

static void slow_operator(fault_run *r)
{
    const int every = 3;
    double slow_ones = layers_of_stage(r) / (double)every * r->sound.n_micro_batches;
    r->shape.slow_operator = "FlashAttentionScore";
    r->shape.slow_every = every;
    r->shape.slow_by = 1 + r->share * one_step(r) / (slow_ones * 297e3 * r->sound.scale);
}

/* The same transfers after the last block that would be hidden in the last micro-batch's backward pass. Few
 * micro-batches, else that pass is too short to hide a relevant share of the step. */
static void exposed_all_reduce(fault_run *r)
{
    const double most = r->sound.n_stages == 1 ? 0.14 : 0.05;
    r->shape.n_micro_batches = r->sound.n_micro_batches = 4 * r->sound.n_stages;
    r->shape.gradient_transfer = r->sound.gradient_transfer =
        (int64_t)(fmin(r->share, most) * one_step(r) / layers_of_stage(r));
    r->shape.late_gradients = true;
}

static void exposed_reduce_scatter(fault_run *r)
{
    exposed_all_reduce(r);
    r->shape.scatter_gradients = r->sound.scatter_gradients = true;
}

static void redistribution(fault_run *r)
{
    double n = 2.0 * layers_of_stage(r) * r->sound.n_micro_batches;
    r->shape.redistribution = (int64_t)(r->share * one_step(r) / n);
    r->graph = true;
}

static void redistribution_to_all(fault_run *r)
{
    redistribution(r);
    r->shape.redistribute_to_all = true;
}

/* As many layers as come nearest to the share, the first ones of each chunk; at least one. */
static void recompute(fault_run *r)
{
    const int n = layers_of_stage(r);
    int wanted = (int)lround(r->share * n * 4226 / 1436);
    int layers = wanted < 1 ? 1 : wanted > n ? n : wanted;
    for (int stage = 0; stage < r->sound.n_stages; stage++)
        for (int i = 0; i < layers; i++) {
            int chunk = r->sound.n_chunks > 1 ? i : 0, within = r->sound.n_chunks > 1 ? 0 : i;
            r->rerun[(chunk * r->sound.n_stages + stage) * r->sound.n_layers + within] = TRACE_RERUN_FULL;
        }
    r->shape.rerun = r->rerun;
}

static void late_data(fault_run *r)
{
    r->shape.data_wait = (int64_t)(r->share * one_step(r));
}

static void garbage_collection(fault_run *r)
{
    r->shape.n_gaps = 4;
    r->shape.gap = (int64_t)(r->share * one_step(r) / 4);
    r->shape.launches = r->sound.launches = true;
}

static void synchronization(fault_run *r)
{
    garbage_collection(r);
    r->shape.gap_is_synchronization = true;
}

static void slow_dispatch(fault_run *r)
{
    double n = 17.0 * layers_of_stage(r) * r->sound.n_micro_batches;
    r->shape.dispatch = (int64_t)(r->share * one_step(r) / n);
    r->shape.launches = r->sound.launches = true;
}

/* Half of the possible micro-batches, with twice the size, and a number such that halving them costs the share. */
static void large_micro_batches(fault_run *r)
{
    const int p = r->sound.n_stages;
    int m = (int)lround((p - 1) / (2 * r->share * r->sound.n_chunks) / p) * p;
    int least = r->share < 0.1 ? 2 * p : p;
    r->shape.n_micro_batches = m > least ? m : least;
    r->shape.scale = 2 * r->sound.scale;
    r->shape.gradient_transfer = r->sound.gradient_transfer = (int64_t)(1e5 * r->sound.scale);
    r->shape.bare = r->sound.bare = true; /* the optimizer takes as long for any size */
    r->sound.n_micro_batches = 2 * r->shape.n_micro_batches;
    r->batch = 2;
}

/* One chunk where there could be four. The bubble is that of the micro-batches. */
static void few_chunks(fault_run *r)
{
    int m = (int)lround(0.75 * (r->sound.n_stages - 1) / r->share / r->sound.n_stages) * r->sound.n_stages;
    r->shape.n_micro_batches = r->sound.n_micro_batches = m > r->sound.n_stages ? m : r->sound.n_stages;
    r->shape.n_chunks = 1;
    r->shape.n_layers = 4;
}

/* A layer too many in the first chunk and one too few in the last, with a number of layers such that one is that share
 * of a stage. With four stages at least a twelfth of it, else the traces get large. */
static void uneven_layers(fault_run *r)
{
    const int n = r->sound.n_stages * r->sound.n_chunks, enough = (r->share < 0.05 ? 24 : 12) * r->sound.n_stages;
    if (r->sound.n_micro_batches < enough) /* less than that and durations that vary move the truth */
        r->shape.n_micro_batches = r->sound.n_micro_batches = enough;
    int even = (int)lround(1 / (r->share * r->sound.n_chunks));
    even = even < 2 ? 2 : r->sound.n_stages > 2 && even > 3 ? 3 : even;
    r->shape.n_layers = r->sound.n_layers = even;
    for (int i = 0; i < n; i++)
        r->layers_of[i] = even + (i == 0) - (i == n - 1);
    r->shape.layers_of = r->layers_of;
}

static void slow_rank(fault_run *r)
{
    r->shape.n_data = r->sound.n_data = 4;
    r->shape.slow_rank = 2;
    r->shape.slow_rank_by = r->share;
    if (r->sound.jitter == 0)
        r->shape.jitter = r->sound.jitter = 0.002;
}

const fault_kind fault_kinds[N_FAULT_KINDS] = {
    {"an operator slow in some layers", "slow-operators", slow_operator, 1, 4, true},
    {"gradients reduced after the backward pass", "exposed-communication", exposed_all_reduce, 1, 4, true},
    {"gradients scattered after the backward pass", "exposed-communication", exposed_reduce_scatter, 1, 2, false},
    {"a gather in every layer", "redistribution", redistribution, 1, 4, false},
    {"an exchange in every layer", "redistribution", redistribution_to_all, 1, 2, false},
    {"recomputation with room for all", "recompute", recompute, 1, 4, false},
    {"data that come late", "data-loading", late_data, 1, 4, true},
    {"garbage collection", "host", garbage_collection, 1, 2, true},
    {"synchronization", "host", synchronization, 1, 2, true},
    {"slow dispatch", "host", slow_dispatch, 1, 2, true},
    {"one chunk where there could be four", "bubble", few_chunks, 2, 4, false},
    {"large micro-batches", "bubble", large_micro_batches, 2, 4, false},
    {"uneven layers", "load-balance", uneven_layers, 2, 4, false},
    {"a slow rank", "slow-rank", slow_rank, 1, 2, false},
};
void fault_make(fault_run *out, const trace_shape *sound, const int *kind, const double *share, int n)
{
    *out = (fault_run){.shape = *sound, .sound = *sound};
    for (int i = 0; i < n; i++) {
        out->id = fault_kinds[kind[i]].id;
        out->share = share[i];
        fault_kinds[kind[i]].seed(out);
    }
}

void fault_make_one(fault_run *out, int kind, trace_form form, int n_stages, double share, double jitter, unsigned seed,
                    bool small)
{
    const trace_shape sound = fault_sound(form, n_stages, jitter, seed, small);
    fault_make(out, &sound, &kind, &share, 1);
    snprintf(out->what, sizeof out->what, "%s, %g %%, %s, %d stages, jitter %g", fault_kinds[kind].name, 100 * share,
             fault_form_name[form], n_stages, jitter);
}
