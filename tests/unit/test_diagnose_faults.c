/* Seeded faults: whole runs from a generator that knows what each fault costs, read as a user reads them (traces of all
 * ranks, settings, a graph where it takes one) and diagnosed. What was injected must stand first, and what fixing it is
 * predicted to bring must lie within 10 % of what the generator lost by it: the step of the run with the fault less
 * that of the same run without, both generated. A healthy run must yield nothing above 1 %. With EK_LONG set also
 * more sizes, shapes and seeds. */
#include "input.h"

#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/diagnose.h"
#include "trace_generator.h"

enum { MAX_RANKS = 16, MAX_POSITIONS = 64, MAX_LAYERS = 256 };

static const double tolerance = 0.10; /* promised */
static const double most_healthy = 0.01;

static char folder[] = "/tmp/evenkeel-faults-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_ranks(void)
{
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
        for (int rank = 0; rank < MAX_RANKS; rank++)
            trace_remove((trace_form)form, folder, rank);
}

static int remove_folder(void **state)
{
    (void)state;
    remove_ranks();
    return rmdir(folder);
}

/* ---- runs ---- */

/* A run as it is, and the same without its fault. */
typedef struct seeded {
    char what[160];
    const char *id; /* of the finding that it must be; NULL: healthy */
    double share;   /* aimed at; the truth is measured */
    trace_shape shape, sound;
    int layers_of[2][MAX_POSITIONS];
    trace_rerun rerun[MAX_LAYERS];
    bool graph;
} seeded;

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
static double truth_of(const trace_shape *shape)
{
    trace_truth truth;
    double sum = 0;
    assert_true(trace_generate(shape, ignore, NULL, &truth));
    for (int i = 0; i < truth.n_steps; i++)
        sum += (double)truth.period[i];
    sum /= truth.n_steps;
    trace_truth_clear(&truth);
    return sum / 1e9;
}

/* Runs that lose less than 1 %: few stages, or many micro-batches and chunks; gradients hidden, all layers alike. */
static trace_shape healthy(trace_form form, int n_stages, double jitter, unsigned seed)
{
    trace_shape s = {.form = form,
                     .n_stages = n_stages,
                     .n_steps = 2,
                     .n_chunks = n_stages == 1 ? 1 : 4,
                     .n_layers = n_stages == 1 ? 8 : 1,
                     .n_micro_batches = n_stages == 1   ? 8
                                        : n_stages == 2 ? 48
                                                        : 96,
                     .scale = 10,
                     .equal_layers = true,
                     .no_ends = true,
                     .gradients = true,
                     .n_data = 1,
                     .jitter = jitter,
                     .seed = seed};
    return s;
}

/* ---- the files of a run ---- */

static FILE *open_file(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    return f;
}

static void write_list(FILE *f, const seeded *r, int what)
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
static void write_settings(const seeded *r, char *path, size_t size)
{
    const trace_shape *s = &r->shape;
    FILE *f = open_file("train.yaml", path, size);
    fprintf(f,
            "context:\n  max_device_memory: \"58GB\"\n"
            "runner_config:\n  batch_size: 1\n  gradient_accumulation_steps: %d\n"
            "optimizer:\n  type: AdamW\n"
            "parallel:\n  full_batch: True\n  enable_parallel_optimizer: False\n"
            "  pipeline_config:\n    pipeline_interleave: %s\n    pipeline_scheduler: '1f1b'\n"
            "parallel_config:\n  data_parallel: %d\n  model_parallel: 1\n  pipeline_stage: %d\n"
            "  micro_batch_num: %d\n",
            s->n_stages == 1 ? s->n_micro_batches : 1, s->n_chunks > 1 ? "True" : "False", s->n_data, s->n_stages,
            s->n_stages == 1 ? 1 : s->n_micro_batches);
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
    assert_int_equal(fclose(f), 0);
}

/* The graph of one stage as its compiler leaves it: in every layer and direction a gather that a change of layout
 * brought in, of as many bytes as the trace says. */
static void write_graph(const seeded *r, char *path, size_t size)
{
    static const char *const direction[] = {"", "Gradients/"};
    const char *name = r->shape.redistribute_to_all ? "AlltoAll" : "AllGather";
    FILE *f = open_file("18_validate_0001.ir", path, size);
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
    assert_int_equal(fclose(f), 0);
}

/* ---- diagnosing ---- */

typedef struct diagnosed {
    ek_trace_run trace;
    ek_job job;
    ek_ir *ir;
    ek_ir_report report;
    ek_diagnosis diagnosis;
} diagnosed;

static void must(ek_status status, const ek_error *err)
{
    if (status)
        fail_msg("%s:%d: %s", err->file, err->line, err->message);
}

static void diagnose(const seeded *r, diagnosed *d)
{
    ek_error err = {0};
    char settings[4096], graph[4096];
    const char *const path[] = {folder};
    *d = (diagnosed){0};
    assert_true(trace_write(&r->shape, folder, NULL));
    write_settings(r, settings, sizeof settings);
    const ek_trace_options how = {.stages = r->shape.n_stages};
    must(ek_trace_run_read(path, 1, &how, NULL, &d->trace, &err), &err);
    must(ek_job_read(settings, NULL, NULL, &d->job, &err), &err);
    ek_run_input input = {.trace = &d->trace, .job = &d->job};
    const ek_ir_report *reports[] = {&d->report};
    if (r->graph) {
        write_graph(r, graph, sizeof graph);
        must(ek_ir_read(graph, NULL, NULL, &d->ir, &err), &err);
        must(ek_ir_check(d->ir, NULL, &d->report, &err), &err);
        input.ir = reports;
        input.n_ir = 1;
    }
    const ek_diagnose_options options = {.seconds = 1};
    must(ek_diagnose(&input, &options, &d->diagnosis, &err), &err);
    if (r->graph && !getenv("EK_KEEP"))
        unlink(graph);
    if (getenv("EK_KEEP"))
        return;
    unlink(settings);
    remove_ranks();
}

static void clear(diagnosed *d)
{
    ek_diagnosis_clear(&d->diagnosis);
    if (d->ir)
        ek_ir_report_clear(&d->report);
    ek_ir_free(d->ir);
    ek_job_clear(&d->job);
    ek_trace_run_clear(&d->trace);
}

static int n_wrong;

static void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("# WRONG: ", stdout);
    vfprintf(stdout, format, list);
    fputc('\n', stdout);
    va_end(list);
    n_wrong++;
}

static void list_findings(const ek_diagnosis *d)
{
    for (int i = 0; i < d->n_bottlenecks; i++)
        for (int k = 0; k < d->bottleneck[i].n_evidence; k++)
            printf("#        %s\n", d->bottleneck[i].evidence[k].text);
    for (int i = 0; i < d->n_bottlenecks; i++)
        printf("#     %d. %s: gain %.3f ms, %.2f %%, cost %.3f ms\n", i + 1, d->bottleneck[i].id,
               1e3 * d->bottleneck[i].gain_seconds, 100 * d->bottleneck[i].gain_share,
               1e3 * d->bottleneck[i].cost_seconds);
    for (int i = 0; i < d->n_notes; i++)
        printf("#     note: %s\n", d->note[i]);
}

static void check_seeded(const seeded *r)
{
    diagnosed d;
    double step = truth_of(&r->shape), cost = step - truth_of(&r->sound);
    diagnose(r, &d);
    const ek_bottleneck *first = d.diagnosis.n_bottlenecks > 0 ? &d.diagnosis.bottleneck[0] : NULL;
    double gain = first ? first->gain_seconds : NAN;
    printf("# %-64s injected %9.3f ms (%5.2f %%), predicted %9.3f ms, off by %6.2f %%\n", r->what, 1e3 * cost,
           100 * cost / step, 1e3 * gain, 100 * (gain / cost - 1));
    int before = n_wrong;
    if (!first || strcmp(first->id, r->id) != 0)
        wrong("%s: first is %s, expected %s", r->what, first ? first->id : "nothing", r->id);
    else if (!(fabs(gain - cost) <= tolerance * cost))
        wrong("%s: gain %.3f ms, injected %.3f ms", r->what, 1e3 * gain, 1e3 * cost);
    if (!(fabs(d.diagnosis.step_seconds - step) <= 0.01 * step))
        wrong("%s: a step is said to take %.3f ms, and takes %.3f ms", r->what, 1e3 * d.diagnosis.step_seconds,
              1e3 * step);
    if (n_wrong > before)
        list_findings(&d.diagnosis);
    clear(&d);
}

static void check_healthy(const seeded *r)
{
    diagnosed d;
    diagnose(r, &d);
    const ek_diagnosis *found = &d.diagnosis;
    printf("# %-64s %d findings, %d notes, %d not looked at\n", r->what, found->n_bottlenecks, found->n_notes,
           found->n_not_looked_at);
    for (int i = 0; i < found->n_bottlenecks; i++)
        if (!(found->bottleneck[i].gain_share <= most_healthy || found->bottleneck[i].share <= most_healthy))
            wrong("%s: finds %s", r->what, found->bottleneck[i].id);
    if (found->n_bottlenecks > 0)
        list_findings(found);
    clear(&d);
}

/* ---- faults ---- */

typedef void seed_fault(seeded *r);

static double one_step(const seeded *r)
{
    return 1e9 * truth_of(&r->sound);
}

static int layers_of_stage(const seeded *r)
{
    return r->sound.n_layers * r->sound.n_chunks;
}

static void slow_operator(seeded *r)
{
    const int every = 3;
    double slow_ones = layers_of_stage(r) / (double)every * r->sound.n_micro_batches;
    r->shape.slow_operator = "FlashAttentionScore";
    r->shape.slow_every = every;
    r->shape.slow_by = 1 + r->share * one_step(r) / (slow_ones * 297e3 * r->sound.scale);
}

/* The same transfers after the last block that would be hidden in the last micro-batch's backward pass. Few
 * micro-batches, else that pass is too short to hide a share of the step worth naming. */
static void exposed_all_reduce(seeded *r)
{
    const double most = r->sound.n_stages == 1 ? 0.14 : 0.05;
    r->shape.n_micro_batches = r->sound.n_micro_batches = 4 * r->sound.n_stages;
    r->shape.gradient_transfer = r->sound.gradient_transfer =
        (int64_t)(fmin(r->share, most) * one_step(r) / layers_of_stage(r));
    r->shape.late_gradients = true;
}

static void exposed_reduce_scatter(seeded *r)
{
    exposed_all_reduce(r);
    r->shape.scatter_gradients = r->sound.scatter_gradients = true;
}

static void redistribution(seeded *r)
{
    double n = 2.0 * layers_of_stage(r) * r->sound.n_micro_batches;
    r->shape.redistribution = (int64_t)(r->share * one_step(r) / n);
    r->graph = true;
}

static void redistribution_to_all(seeded *r)
{
    redistribution(r);
    r->shape.redistribute_to_all = true;
}

/* As many layers as come nearest to the share, the first ones of each chunk; at least one. */
static void recompute(seeded *r)
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

static void late_data(seeded *r)
{
    r->shape.data_wait = (int64_t)(r->share * one_step(r));
}

static void garbage_collection(seeded *r)
{
    r->shape.n_gaps = 4;
    r->shape.gap = (int64_t)(r->share * one_step(r) / 4);
    r->shape.launches = r->sound.launches = true;
}

static void synchronization(seeded *r)
{
    garbage_collection(r);
    r->shape.gap_is_synchronization = true;
}

static void slow_dispatch(seeded *r)
{
    double n = 17.0 * layers_of_stage(r) * r->sound.n_micro_batches;
    r->shape.dispatch = (int64_t)(r->share * one_step(r) / n);
    r->shape.launches = r->sound.launches = true;
}

/* One chunk where there could be four. The bubble is that of the micro-batches. */
static void few_chunks(seeded *r)
{
    int m = (int)lround(0.75 * (r->sound.n_stages - 1) / r->share / r->sound.n_stages) * r->sound.n_stages;
    r->shape.n_micro_batches = r->sound.n_micro_batches = m > r->sound.n_stages ? m : r->sound.n_stages;
    r->shape.n_chunks = 1;
    r->shape.n_layers = 4;
}

/* A layer too many in the first chunk and one too few in the last, of so many that it is that share of a stage. With
 * four stages at least a twelfth of it, else the traces get large. */
static void uneven_layers(seeded *r)
{
    const int n = r->sound.n_stages * r->sound.n_chunks;
    int even = (int)lround(1 / (r->share * r->sound.n_chunks));
    even = even < 2 ? 2 : r->sound.n_stages > 2 && even > 3 ? 3 : even;
    r->shape.n_layers = r->sound.n_layers = even;
    for (int i = 0; i < n; i++)
        r->layers_of[0][i] = even + (i == 0) - (i == n - 1);
    r->shape.layers_of = r->layers_of[0];
}

static void slow_rank(seeded *r)
{
    r->shape.n_data = r->sound.n_data = 4;
    r->shape.slow_rank = 2;
    r->shape.slow_rank_by = r->share;
    if (r->sound.jitter == 0)
        r->shape.jitter = r->sound.jitter = 0.002;
}

static const struct {
    const char *name, *id;
    seed_fault *seed;
    int least_stages, most_stages;
    bool torch; /* also in the form of torch_npu */
} faults[] = {
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
    {"uneven layers", "load-balance", uneven_layers, 2, 4, false},
    {"a slow rank", "slow-rank", slow_rank, 1, 2, false},
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

static seeded seed(int fault, trace_form form, int n_stages, double share, double jitter, unsigned number)
{
    static const char *const form_name[] = {"MindSpore", "GPU", "torch_npu"};
    seeded r = {.id = faults[fault].id, .share = share};
    r.shape = r.sound = healthy(form, n_stages, jitter, number);
    snprintf(r.what, sizeof r.what, "%s, %g %%, %s, %d stages, jitter %g", faults[fault].name, 100 * share,
             form_name[form], n_stages, jitter);
    return r;
}

static bool is_chosen(const seeded *r)
{
    const char *chosen = getenv("EK_ONLY");
    return !chosen || strstr(r->what, chosen);
}

/* Pointers into a copy of what was seeded. */
static void settle(seeded *r)
{
    if (r->shape.layers_of)
        r->shape.layers_of = r->layers_of[0];
    if (r->shape.rerun)
        r->shape.rerun = r->rerun;
}

static void run_fault(int fault, trace_form form, int n_stages, double share, double jitter, unsigned number)
{
    seeded r = seed(fault, form, n_stages, share, jitter, number);
    if (!is_chosen(&r))
        return;
    faults[fault].seed(&r);
    settle(&r);
    check_seeded(&r);
}

static void each_fault(double share, double jitter, unsigned number)
{
    for (int fault = 0; fault < N_FAULTS; fault++)
        for (int stages = faults[fault].least_stages; stages <= faults[fault].most_stages; stages *= 2)
            run_fault(fault, TRACE_MINDSPORE, stages, share, jitter, number);
}

static void faults_of_two_percent_are_found(void **state)
{
    (void)state;
    n_wrong = 0;
    each_fault(0.02, 0, 1);
    assert_int_equal(n_wrong, 0);
}

static void faults_of_five_percent_are_found(void **state)
{
    (void)state;
    n_wrong = 0;
    each_fault(0.05, 0.03, 2);
    assert_int_equal(n_wrong, 0);
}

static void faults_of_fifteen_percent_are_found(void **state)
{
    (void)state;
    n_wrong = 0;
    each_fault(0.15, 0, 3);
    if (getenv("EK_LONG"))
        for (unsigned number = 4; number < 8; number++)
            each_fault(0.04 * number - 0.1, 0.01 * (number - 3), number);
    assert_int_equal(n_wrong, 0);
}

static void faults_are_found_in_traces_of_torch_npu(void **state)
{
    (void)state;
    n_wrong = 0;
    for (int fault = 0; fault < N_FAULTS; fault++)
        for (int stages = 1; faults[fault].torch && stages <= 2; stages *= 2)
            run_fault(fault, TRACE_TORCH_NPU, stages, stages == 1 ? 0.05 : 0.1, 0.03 * (stages - 1), 9);
    assert_int_equal(n_wrong, 0);
}

static void healthy_runs_yield_nothing(void **state)
{
    (void)state;
    n_wrong = 0;
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
        for (int stages = 1; stages <= 4; stages *= 2)
            for (int jitter = 0; jitter <= 3; jitter += 3) {
                seeded r = {.id = NULL};
                r.shape = healthy((trace_form)form, stages, 0.01 * jitter, 11);
                r.shape.launches = stages == 2;
                r.shape.n_data = stages == 1 ? 4 : 1;
                snprintf(r.what, sizeof r.what, "healthy, form %d, %d stages, jitter 0.0%d", form, stages, jitter);
                if (is_chosen(&r))
                    check_healthy(&r);
            }
    assert_int_equal(n_wrong, 0);
}

/* A run with one fault or two of those whose shares are given, on a sound run that suits both. */
static void seed_on(seeded *out, const trace_shape *sound, const int *fault, const double *share, bool first,
                    bool second)
{
    *out = (seeded){.shape = *sound, .sound = *sound};
    for (int i = 0; i < 2; i++)
        if (i == 0 ? first : second) {
            out->share = share[i];
            faults[fault[i]].seed(out);
        }
    settle(out);
}

/* What each of two costs: the run with both less the run with the other alone. */
static void check_two(int a, int b, double share_a, double share_b, int n_stages)
{
    const int fault[] = {a, b};
    const double share[] = {share_a, share_b};
    seeded both = seed(a, TRACE_MINDSPORE, n_stages, share_a, 0, 21), other;
    char what[160];
    diagnosed d;
    snprintf(what, sizeof what, "%s and %s, %d stages", faults[a].name, faults[b].name, n_stages);
    snprintf(both.what, sizeof both.what, "%s", what);
    if (!is_chosen(&both))
        return;
    for (int i = 0; i < 2; i++) {
        seed_on(&other, &both.sound, fault, share, i == 0, i == 1);
        both.sound = other.sound;
    }
    trace_shape sound = both.sound;
    seed_on(&both, &sound, fault, share, true, true);
    double step = truth_of(&both.shape);
    diagnose(&both, &d);
    int before = n_wrong;
    for (int i = 0; i < 2; i++) {
        seed_on(&other, &sound, fault, share, i == 1, i == 0);
        double cost = step - truth_of(&other.shape);
        const ek_bottleneck *found = i < d.diagnosis.n_bottlenecks ? &d.diagnosis.bottleneck[i] : NULL;
        printf("# %-64s injected %9.3f ms (%5.2f %%), predicted %9.3f ms\n", i ? "" : what, 1e3 * cost,
               100 * cost / step, found ? 1e3 * found->gain_seconds : NAN);
        if (!found || strcmp(found->id, faults[fault[i]].id) != 0)
            wrong("%s: number %d is %s, expected %s", what, i + 1, found ? found->id : "nothing", faults[fault[i]].id);
        else if (!(fabs(found->gain_seconds - cost) <= tolerance * cost))
            wrong("%s: gain of %s is %.3f ms, injected %.3f ms", what, found->id, 1e3 * found->gain_seconds,
                  1e3 * cost);
    }
    if (n_wrong > before)
        list_findings(&d.diagnosis);
    clear(&d);
}

static int fault_called(const char *name)
{
    for (int i = 0; i < N_FAULTS; i++)
        if (strcmp(faults[i].name, name) == 0)
            return i;
    fail_msg("no fault is called %s", name);
    return -1;
}

static void two_faults_are_found_in_the_order_of_their_cost(void **state)
{
    static const struct {
        const char *more, *less;
        int n_stages;
    } pairs[] = {
        {"gradients reduced after the backward pass", "data that come late", 1},
        {"data that come late", "gradients reduced after the backward pass", 2},
        {"a gather in every layer", "garbage collection", 1},
        {"slow dispatch", "data that come late", 1},
        {"data that come late", "an operator slow in some layers", 1},
        {"recomputation with room for all", "gradients reduced after the backward pass", 1},
    };
    (void)state;
    n_wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_two(fault_called(pairs[i].more), fault_called(pairs[i].less), 0.1, 0.04, pairs[i].n_stages);
    assert_int_equal(n_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_two_percent_are_found),
        cmocka_unit_test(faults_of_five_percent_are_found),
        cmocka_unit_test(faults_of_fifteen_percent_are_found),
        cmocka_unit_test(faults_are_found_in_traces_of_torch_npu),
        cmocka_unit_test(healthy_runs_yield_nothing),
        cmocka_unit_test(two_faults_are_found_in_the_order_of_their_cost),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
