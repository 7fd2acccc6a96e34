/* Tests which layouts each framework accepts: ek_job_check() against a second implementation of the rules of
 * docs/plan-legal.md, by distributing items instead of dividing, over every combination of degrees up to 16 devices;
 * and the table of each framework's settings against both and against the emitters. */
#include "input.h"

#include <unistd.h>

#include "evenkeel/emit.h"
#include "evenkeel/schedule.h"
#include "job/job_internal.h"
#include "job/settings.h"
#include "layout/frameworks.h"

enum { MOST_DEVICES = 16, MOST_CHUNKS = 3, N_LAYERS = 8 };

/* ---- jobs ---- */

static const char *const texts[EK_N_FRAMEWORKS] = {
    [EK_MINDFORMERS] = "runner_config: {batch_size: 1}\n"
                       "parallel: {enable_parallel_optimizer: True}\n"
                       "parallel_config: {data_parallel: 1}\n"
                       "model: {model_config: {type: LlamaConfig, num_layers: 8, hidden_size: 768, num_heads: 12, "
                       "vocab_size: 960, seq_length: 240, use_flash_attention: True}}\n",
    [EK_MINDFORMERS_MCORE] = "runner_config: {batch_size: 1}\n"
                             "parallel: {enable_parallel_optimizer: True}\n"
                             "parallel_config: {data_parallel: 1}\n"
                             "model: {model_config: {model_type: newer, num_hidden_layers: 8, hidden_size: 768, "
                             "num_attention_heads: 12, intermediate_size: 1536, vocab_size: 960, seq_length: 240}}\n",
    [EK_MINDSPEED] = "model_config: {num_layers: 8, hidden_size: 768, num_attention_heads: 12, seq_length: 240, "
                     "vocab_size: 960, use_flash_attention: True}\n"
                     "training_config: {micro_batch_size: 1, global_batch_size: 8, bf16: True}\n"
                     "parallel_config: {tensor_model_parallel_size: 1, data_parallel_size: 1}\n",
    [EK_MEGATRON] = ("--num-layers 8 --hidden-size 768 --num-attention-heads 12 --seq-length 240 --micro-batch-size 1 "
                     "--padded-vocab-size 960 --bf16 --use-flash-attn --swiglu --data-parallel-size 1 "
                     "--global-batch-size 8 --use-distributed-optimizer\n"),
    [EK_TORCHTITAN] = "[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n[training]\nlocal_batch_size = 8\n"
                      "seq_len = 240\n[parallelism]\ndata_parallel_shard_degree = 1\n",
};

static ek_status read_text(const char *text, const ek_job_overrides *overrides, said *heard, ek_job *job)
{
    char path[64];
    ek_error err = {0};
    const ek_listener listener = {say_warning, heard};
    snprintf(path, sizeof path, "/tmp/test_layout_frameworks_%ld", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    *heard = (said){0};
    ek_status status = ek_job_read(path, overrides, &listener, job, &err);
    unlink(path);
    if (status)
        say(heard, "", &err);
    return status;
}

typedef enum model_kind { DENSE, SPARSE, LATENT, N_KINDS } model_kind;
static const char *const kind_name[N_KINDS] = {"dense", "experts", "latent attention, experts, MTP"};

/* The same shapes in every framework: sizes with the divisors 2, 3 and 5 in different places, so that every rule both
 * passes and fails. */
static void shape(ek_job *job, model_kind kind)
{
    ek_job_model *m = &job->model;
    m->n_layers = N_LAYERS;
    m->hidden = 768;
    m->n_heads = 12;
    m->n_kv_heads = kind == LATENT ? 12 : 3;
    m->head_dim = m->value_dim = 64;
    m->intermediate = 1440;
    m->vocab = 960;
    m->max_position = job->parallel.seq_length = 180;
    m->vocab_multiple = 0;
    m->tied = kind == DENSE;
    if (kind == LATENT) {
        m->n_prediction_layers = 1;
        m->kv_lora_rank = 32;
        m->nope_dim = 48;
        m->rope_dim = 16;
    }
    if (kind == DENSE)
        return;
    m->n_experts = 12;
    m->top_k = 2;
    m->n_shared_experts = 1;
    m->expert_intermediate = 90;
    m->shared_intermediate = 96;
    m->expert_period = 1;
}

static ek_job base_of(ek_framework framework, model_kind kind)
{
    said heard;
    ek_job job;
    if (read_text(texts[framework], NULL, &heard, &job))
        fail_msg("%s: %s", ek_framework_name[framework], heard.text);
    assert_int_equal(job.framework, framework);
    shape(&job, kind);
    return job;
}

/* ---- the rules, slowly ---- */

typedef struct layout {
    ek_framework framework;
    model_kind kind;
    int d, t, p, cp, ep, etp, v, m, share; /* share: optimizer instances, replicas */
    bool sequence_parallel, ring;
    const char *schedule;
} layout;

/* Things dealt out in turn to n: does everyone get as many? */
static bool deals(int things, int n)
{
    while (things >= n)
        things -= n;
    return things == 0;
}

static bool is(const layout *l, const char *schedule)
{
    return strcmp(l->schedule, schedule) == 0;
}

static bool heads_fit(const layout *l, const ek_job_model *m)
{
    int parts = l->ring ? l->t : l->t * l->cp;
    if (!deals(m->n_heads, parts))
        return false;
    if (l->kind == LATENT)
        return true;
    if (l->framework == EK_MEGATRON && m->n_kv_heads < parts)
        return m->n_kv_heads >= l->t || deals(l->t, m->n_kv_heads);
    return deals(m->n_kv_heads, parts);
}

static bool sequence_fits(const layout *l, int tokens)
{
    bool halves =
        l->framework == EK_MEGATRON || l->framework == EK_TORCHTITAN || (l->framework == EK_MINDSPEED && l->ring);
    int slices = halves && l->cp > 1 ? 2 * l->cp : l->cp;
    if (!deals(tokens, slices))
        return false;
    if (!l->sequence_parallel)
        return true;
    return l->framework == EK_TORCHTITAN ? deals(tokens, slices * l->t) : deals(tokens, l->cp * l->t);
}

/* Ranks of a stage take experts one after another; a group of ep experts' holders must be full. */
static bool experts_fit(const layout *l, const ek_job_model *m)
{
    int holders = 0, data = l->framework == EK_TORCHTITAN ? l->d / l->share : l->d, etp = l->etp;
    if (l->kind == DENSE)
        return true;
    if (l->framework == EK_MINDFORMERS || l->framework == EK_MINDSPEED)
        etp = l->t;
    if (l->framework == EK_MINDFORMERS_MCORE)
        etp = deals(l->d * l->cp, l->ep) ? l->t : 1;
    if (l->framework == EK_TORCHTITAN && etp != 1 && etp != l->t)
        return false;
    for (int rank = 0; rank < data * l->cp * l->t; rank++)
        holders = holders == l->ep * etp ? 1 : holders + 1;
    if (holders != l->ep * etp || !deals(m->n_experts, l->ep))
        return false;
    if (l->framework == EK_MEGATRON && l->ep > 1 && l->t > 1 && !l->sequence_parallel)
        return false;
    return deals(m->expert_intermediate, etp) && deals(m->shared_intermediate, l->t);
}

static bool instances_fit(const layout *l)
{
    if (l->framework != EK_MEGATRON || l->share == 1)
        return true;
    return deals(l->d * l->cp, l->share) && (l->kind == DENSE || deals(l->d * l->cp * l->t / l->ep / l->etp, l->share));
}

/* Rounds of a schedule: as often as p micro-batches can be subtracted, at least once; then all are distributed. */
static bool rounds_are_equal(int m, int p)
{
    int rounds = 0;
    for (int left = m; left >= p; left -= p)
        rounds++;
    return deals(m, rounds > 0 ? rounds : 1);
}

static bool micro_batches_fit(const layout *l)
{
    if (is(l, "dualpipev") && l->m < 2 * l->p)
        return false;
    if (l->p == 1)
        return true;
    switch (l->framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        return l->m >= (is(l, "zb-v") || is(l, "dualpipev") ? 2 : 1) * l->p;
    case EK_MINDSPEED:
    case EK_MEGATRON:
        return !is(l, "interleaved") || deals(l->m, l->p);
    case EK_TORCHTITAN:
        return is(l, "interleaved") ? rounds_are_equal(l->m, l->p) : l->v == 2 || l->m >= l->p;
    }
    return false;
}

static bool runs(const layout *l, const ek_job *job)
{
    const ek_job_model *m = &job->model;
    bool megatron = l->framework == EK_MEGATRON || l->framework == EK_MINDSPEED;
    bool cut = megatron || l->framework == EK_TORCHTITAN; /* MindFormers leaves the table whole where it must */
    return heads_fit(l, m) && deals(m->hidden, l->t) && deals(m->intermediate, l->t) &&
           sequence_fits(l, job->parallel.seq_length) && (!cut || deals(m->vocab, l->t)) && experts_fit(l, m) &&
           instances_fit(l) && micro_batches_fit(l) && (!megatron || l->v == 1 || l->p > 1);
}

/* ---- the walk ---- */

typedef struct walk {
    ek_job base;
    ek_plan plan[MOST_DEVICES + 1][MOST_CHUNKS + 1];
    layout at;
    long n_legal, n_illegal, n_proposed;
} walk;

static void start_walk(walk *w, ek_framework framework, model_kind kind)
{
    ek_error err;
    *w = (walk){.base = base_of(framework, kind), .at = {.framework = framework, .kind = kind}};
    for (int p = 1; p <= MOST_DEVICES; p++)
        for (int v = 1; v <= MOST_CHUNKS; v++) {
            ek_plan *plan = &w->plan[p][v];
            int n = p * v, layers = w->base.model.n_layers + w->base.model.n_prediction_layers;
            assert_int_equal(ek_plan_init(plan, p, v, &err), EK_OK);
            for (int c = 0; c < n; c++)
                plan->layers[c] = layers / n + (c < layers % n);
        }
    ek_plan_clear(&w->base.plan);
}

static void end_walk(walk *w)
{
    for (int p = 1; p <= MOST_DEVICES; p++)
        for (int v = 1; v <= MOST_CHUNKS; v++)
            ek_plan_clear(&w->plan[p][v]);
    ek_job_clear(&w->base);
}

/* Restrictions of the table beyond the checks, with their own messages. */
static bool is_proposed(const layout *l, const ek_job *job)
{
    bool sparse = l->kind != DENSE, whole = l->t > 1 && !l->sequence_parallel;
    bool core = l->framework == EK_MEGATRON || l->framework == EK_MINDFORMERS_MCORE;
    if (whole && ((core && sparse) || l->framework == EK_TORCHTITAN))
        return false;
    if (l->framework == EK_MINDSPEED && sparse && l->ep > 1 && l->cp > 1)
        return false;
    if (l->framework == EK_TORCHTITAN && sparse && l->ep > 1 && !deals(l->ep, l->etp == 1 ? l->cp * l->t : l->cp))
        return false;
    if (l->p > 1 && l->framework == EK_MEGATRON && is(l, "dualpipev") && (l->cp > 1 || job->model.tied))
        return false;
    if (l->p > 1 && ((is(l, "gpipe") && (l->framework == EK_MEGATRON || l->framework == EK_MINDSPEED)) ||
                     (is(l, "zb-v") && (l->framework == EK_MEGATRON || l->framework == EK_MINDSPEED)) ||
                     (is(l, "dualpipev") && l->framework == EK_MINDSPEED)))
        return false;
    for (int c = 0; c < l->p * l->v && l->framework != EK_MEGATRON; c++) {
        bool turned = job->schedule->placement == EK_PLACE_V;
        bool last = turned ? l->v == 1 ? c == l->p - 1 : c == l->p : c == l->p * l->v - 1;
        if (job->plan.layers[c] == 0 && !(l->framework == EK_TORCHTITAN && (c == 0 || last)))
            return false;
    }
    return true;
}

static void judge(walk *w, const ek_job *job)
{
    const layout *l = &w->at;
    ek_error err = {0};
    const ek_schedule *schedule = ek_schedule_find(l->schedule);
    const ek__framework_schedule *entry = ek__framework_schedule_of(l->framework, schedule);
    ek_status status = ek_job_check(job, &err);
    bool legal = runs(l, job);
    *(legal ? &w->n_legal : &w->n_illegal) += 1;
    if ((status == EK_OK) != legal)
        fail_msg("%s, %s: d %d t %d p %d cp %d (%s) ep %d etp %d v %d m %d, sequence parallel %d, sharing %d, %s: %s",
                 ek_framework_name[l->framework], kind_name[l->kind], l->d, l->t, l->p, l->cp,
                 l->ring ? "ring" : "heads", l->ep, l->etp, l->v, l->m, l->sequence_parallel, l->share, l->schedule,
                 legal ? err.message : "not refused");
    const char *why = legal ? ek__framework_objection(job) : NULL;
    if (legal && (why == NULL) != is_proposed(l, job))
        fail_msg("%s, %s: d %d t %d p %d cp %d ep %d etp %d v %d, %s: %s", ek_framework_name[l->framework],
                 kind_name[l->kind], l->d, l->t, l->p, l->cp, l->ep, l->etp, l->v, l->schedule, why ? why : "proposed");
    w->n_proposed += legal && !why;
    if (entry && l->p > 1 && ek__framework_takes(l->framework, schedule, l->p, l->m) != micro_batches_fit(l))
        fail_msg("%s, %s: %d micro-batches on %d stages", ek_framework_name[l->framework], l->schedule, l->m, l->p);
}

static void walk_schedules(walk *w, ek_job *job)
{
    static const struct {
        int v;
        const char *name;
    } schedules[] = {{1, "1f1b"}, {1, "gpipe"}, {2, "interleaved"}, {2, "zb-v"}, {2, "dualpipev"}, {3, "interleaved"}};
    static const int micro_batches[] = {1, 2, 3, 4, 6, 8, 9};
    layout *l = &w->at;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
        for (size_t k = 0; k < sizeof micro_batches / sizeof *micro_batches; k++) {
            l->v = schedules[i].v;
            l->schedule = schedules[i].name;
            l->m = job->parallel.n_micro_batches = micro_batches[k];
            job->plan = w->plan[l->p][l->v];
            job->schedule = ek_schedule_find(l->schedule);
            judge(w, job);
        }
}

/* Ranks that share the optimizer's states, and sequence parallelism. */
static void walk_choices(walk *w, ek_job *job)
{
    layout *l = &w->at;
    bool shares = l->kind != LATENT && (l->framework == EK_MEGATRON || l->framework == EK_TORCHTITAN);
    for (l->share = 1; l->share <= (shares ? 3 : 1); l->share++) {
        if (l->framework == EK_TORCHTITAN && l->d % l->share != 0)
            continue;
        if (l->framework == EK_MEGATRON)
            job->states.instances = l->share;
        else if (l->framework == EK_TORCHTITAN)
            job->states.shard_size = l->share > 1 ? l->d / l->share * l->cp : -1;
        for (int on = 0; on <= (l->t > 1); on++) {
            l->sequence_parallel = job->parallel.sequence_parallel = on;
            walk_schedules(w, job);
        }
    }
}

/* Experts: in how many groups, and on how many ranks each where the framework has a setting. */
static void walk_experts(walk *w)
{
    static const int degrees[] = {1, 2, 3, 4, 5, 6, 8, 16};
    layout *l = &w->at;
    bool told = ek__framework_space_of(l->framework)->expert_tensor;
    for (size_t i = 0; i < (l->kind == DENSE ? 1 : sizeof degrees / sizeof *degrees); i++) {
        const int ranks[] = {l->t, 1, 2};
        for (int k = 0; k < (told && l->kind != DENSE ? 3 : 1); k++) {
            ek_job job = w->base;
            ek_error err = {0};
            if (k > 0 && ranks[k] == l->t)
                continue;
            job.parallel.data = l->d;
            job.parallel.tensor = l->t;
            job.parallel.pipeline = l->p;
            job.parallel.context = l->cp;
            job.parallel.expert = l->ep = degrees[i];
            job.parallel.context_algorithm = l->ring ? EK_CONTEXT_RING : EK_CONTEXT_ULYSSES;
            job.plan = w->plan[l->p][1];
            assert_int_equal(ek__job_follow(&w->base, &job, &err), EK_OK);
            job.parallel.ulysses = l->ring ? 1 : l->cp;
            l->etp = ranks[k];
            if (told)
                job.parallel.expert_tensor = l->etp;
            walk_choices(w, &job);
        }
    }
}

static void walk_degrees(walk *w)
{
    layout *l = &w->at;
    for (l->d = 1; l->d <= MOST_DEVICES; l->d++)
        for (l->t = 1; l->d * l->t <= MOST_DEVICES; l->t++)
            for (l->p = 1; l->d * l->t * l->p <= MOST_DEVICES; l->p++)
                for (l->cp = 1; l->d * l->t * l->p * l->cp <= MOST_DEVICES; l->cp++)
                    for (int heads = 0; heads <= (l->cp > 1); heads++) {
                        l->ring = heads == 0;
                        walk_experts(w);
                    }
}

static void what_is_refused_is_what_the_rules_refuse(void **state)
{
    (void)state;
    for (int f = 0; f < EK_N_FRAMEWORKS; f++)
        for (int k = 0; k < N_KINDS; k++) {
            static walk w;
            start_walk(&w, (ek_framework)f, (model_kind)k);
            walk_degrees(&w);
            print_message("# %s, %s: %ld legal, of which %ld are proposed, %ld refused\n", ek_framework_name[f],
                          kind_name[k], w.n_legal, w.n_proposed, w.n_illegal);
            assert_true(w.n_legal > 1000 && w.n_illegal > 1000);
            assert_true(w.n_proposed > 500 && w.n_proposed < w.n_legal);
            end_walk(&w);
        }
}

/* ---- the table ---- */

static void the_least_number_of_micro_batches_is_the_first_that_fits(void **state)
{
    (void)state;
    int n = 0;
    for (int f = 0; f < EK_N_FRAMEWORKS; f++)
        for (const ek_schedule *const *s = ek_schedules; *s; s++)
            for (int p = 1; p <= 9; p++)
                for (int from = 1; from <= 40; from++) {
                    const ek__framework_schedule *entry = ek__framework_schedule_of((ek_framework)f, *s);
                    int got = ek__framework_least_micro_batches((ek_framework)f, *s, p, from), m = from;
                    while (m < 200 && !ek__framework_takes((ek_framework)f, *s, p, m))
                        m++;
                    assert_int_equal(got, m < 200 ? m : 0);
                    assert_int_equal(got > 0, entry && p >= entry->least_stages);
                    n += got > from;
                }
    assert_true(n > 500);
}

/* Schedules of the table for a number of stages and chunks: in its order, each defined for them. */
static void schedules_are_those_for_the_chunks(void **state)
{
    (void)state;
    static const struct {
        ek_framework framework;
        int p, v;
        bool all;
        const char *names;
    } cases[] = {
        {EK_MINDFORMERS, 4, 1, false, "1f1b "},
        {EK_MINDFORMERS, 4, 2, false, "interleaved "},
        {EK_MINDFORMERS, 4, 3, true, "interleaved sequence "},
        {EK_MINDFORMERS, 4, 2, true, "interleaved sequence zb-v v-half v-min dualpipev "},
        {EK_MINDFORMERS, 1, 2, true, ""},
        {EK_MEGATRON, 4, 2, true, "interleaved dualpipev "},
        {EK_MEGATRON, 1, 1, true, "1f1b "},
        {EK_MINDSPEED, 4, 1, true, "1f1b "},
        {EK_TORCHTITAN, 4, 1, true, "1f1b gpipe zb-h1 "},
        {EK_TORCHTITAN, 4, 2, true, "interleaved zb-v dualpipev "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek_schedule *found[EK__MOST_FRAMEWORK_SCHEDULES];
        char names[200] = "";
        int n = ek__framework_schedules(cases[i].framework, cases[i].p, cases[i].v, cases[i].all, found);
        for (int k = 0; k < n; k++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", found[k]->name);
        assert_string_equal(names, cases[i].names);
    }
}

/* An emitter's output of a plan for a schedule: "" where the framework has no equivalent. */
static const char *told(const char *emitter, const ek_schedule *schedule, int v)
{
    static char text[8192];
    ek_error err;
    ek_plan plan;
    assert_int_equal(ek_plan_init(&plan, 2, v, &err), EK_OK);
    for (int c = 0; c < 2 * v; c++)
        plan.layers[c] = 2;
    const ek_emission emission = {
        .plan = &plan, .name = "test", .schedule = schedule, .n_layers = 4 * v, .n_micro_batches = 8};
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    memset(text, 0, sizeof text);
    ek_telling telling;
    ek_status status = ek_emitter_find(emitter)->write(&emission, out, &telling, &err);
    fclose(out);
    ek_plan_clear(&plan);
    return status ? "" : text;
}

static void emitters_know_the_schedules_of_the_table(void **state)
{
    (void)state;
    static const char *const emitters[EK_N_FRAMEWORKS] = {"mindformers", "mindformers", "mindspeed", "megatron",
                                                          "torchtitan"};
    for (int f = 0; f < EK_N_FRAMEWORKS; f++)
        for (const ek_schedule *const *s = ek_schedules; *s; s++) {
            const ek__framework_schedule *entry = ek__framework_schedule_of((ek_framework)f, *s);
            const char *text = told(emitters[f], *s, (*s)->min_chunks);
            bool same = *text && !strstr(text, "# Careful: the plan is made for the schedule");
            if (f == EK_MEGATRON && strcmp((*s)->name, "dualpipev") == 0)
                assert_true(entry && !*text); /* MindSpeed-LLM's, which settings of a job name */
            else if (strcmp((*s)->name, "interleaved-less-memory") == 0)
                assert_null(entry); /* no key picks it */
            else if (entry ? !*text || entry->same != same : same)
                fail_msg("%s, %s: in the table %d, told %d, the same %d", ek_framework_name[f], (*s)->name,
                         entry != NULL, *text != '\0', same);
        }
}

/* Where versions differ, the table is the stricter side, never the looser. */
static void the_table_is_within_the_checks(void **state)
{
    (void)state;
    for (int f = 0; f < EK_N_FRAMEWORKS; f++) {
        const ek__framework_space *space = ek__framework_space_of((ek_framework)f);
        int n_default = 0;
        assert_true(space->tensor && space->context && space->expert && space->pipeline && space->chunks);
        for (const ek_schedule *const *s = ek_schedules; *s; s++) {
            const ek__framework_schedule *entry = ek__framework_schedule_of((ek_framework)f, *s);
            if (!entry)
                continue;
            assert_true(!entry->by_default || entry->same);
            assert_true(entry->least >= (*s)->min_micro_batches);
            n_default += entry->by_default;
        }
        assert_int_equal(n_default, 2); /* one for one chunk, one for several */
        assert_true(space->sequence_parts == 1 || space->sequence_parts == 2);
        assert_true(space->expert_tensor <= space->experts_on_tensor);
    }
    assert_true(ek__framework_space_of(EK_MEGATRON)->experts_need_sequence_parallel);
}

/* ---- messages ---- */

#define MEGATRON(more)                                                                                                 \
    "--num-layers 8 --hidden-size 768 --num-attention-heads 12 --seq-length 240 --micro-batch-size 1 "                 \
    "--padded-vocab-size 960 --bf16 --use-flash-attn --swiglu --global-batch-size 48 " more "\n"
#define TITAN(training, parallel)                                                                                      \
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\n" training "[parallelism]\n" parallel
#define EXPERTS "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 96 --data-parallel-size 2 "

static void a_refusal_names_the_setting_and_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message; /* NULL: it runs */
    } cases[] = {
        {MEGATRON("--context-parallel-size 16 --data-parallel-size 1"),
         "seq-length is 240, which cannot be divided into 32 equal parts, two for each rank of context-parallel-size "
         "16"},
        {MEGATRON("--context-parallel-size 8 --data-parallel-size 1"), NULL},
        {MEGATRON(EXPERTS "--tensor-model-parallel-size 2 --expert-model-parallel-size 2"),
         "sequence-parallel is off, but experts on expert-model-parallel-size 2 with tensor-model-parallel-size 2 need "
         "it; switch it on"},
        {MEGATRON(EXPERTS "--tensor-model-parallel-size 2 --expert-model-parallel-size 2 --sequence-parallel"), NULL},
        {MEGATRON(EXPERTS "--tensor-model-parallel-size 2"), NULL},
        {MEGATRON("--data-parallel-size 1 --group-query-attention --num-query-groups 3 --tensor-model-parallel-size 4"),
         "tensor-model-parallel-size is 4, which cannot be divided into 3 equal parts, as num-query-groups requires"},
        {MEGATRON("--data-parallel-size 1 --group-query-attention --num-query-groups 2 --tensor-model-parallel-size 4"),
         NULL},
        {MEGATRON("--data-parallel-size 1 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 "
                  "--no-overlap-p2p-communication"),
         "a stage has 2 chunks, but pipeline-model-parallel-size is 2; interleaved stages are at least 3 if transfers "
         "do not overlap with computing"},
        {TITAN("local_batch_size = 2\nseq_len = 2048\n",
               "data_parallel_shard_degree = 2\npipeline_parallel_degree = 4\n"),
         "gives 2 micro-batches for 4 stages; PyTorch's schedules of one stage a rank need at least as many"},
        {TITAN("local_batch_size = 9\nseq_len = 2048\n",
               "data_parallel_shard_degree = 2\npipeline_parallel_degree = 4\n"
               "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"),
         "gives 9 micro-batches, which 2 rounds over 4 stages do not share equally"},
        {TITAN("local_batch_size = 10\nseq_len = 2048\n",
               "data_parallel_shard_degree = 2\npipeline_parallel_degree = 4\n"
               "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"),
         NULL},
        /* 2 runs of 7: each is one round */
        {TITAN("local_batch_size = 7\nglobal_batch_size = 28\nseq_len = 2048\n",
               "data_parallel_shard_degree = 2\npipeline_parallel_degree = 4\n"
               "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"),
         NULL},
        {TITAN("local_batch_size = 1\nseq_len = 2052\n",
               "data_parallel_shard_degree = 1\ncontext_parallel_degree = 4\n"),
         "seq_len is 2052, which cannot be divided into 8 equal parts, two for each rank of context_parallel_degree 4"},
        {TITAN("local_batch_size = 1\nseq_len = 2052\n", "data_parallel_shard_degree = 1\ncontext_parallel_degree = 4\n"
                                                         "context_parallel_load_balancer = \"\"\n"),
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said heard;
        ek_job job;
        ek_status status = read_text(cases[i].text, NULL, &heard, &job);
        if (cases[i].message ? status != EK_ERR_INPUT || !strstr(heard.text, cases[i].message) : status != EK_OK)
            fail_msg("case %zu: %s", i, heard.text);
        if (status == EK_OK)
            ek_job_clear(&job);
    }
}

static void what_only_a_changed_job_has_is_refused_too(void **state)
{
    (void)state;
    ek_error err = {0};
    walk w;
    start_walk(&w, EK_TORCHTITAN, SPARSE);
    ek_job job = w.base;
    job.plan = w.plan[1][1];
    job.parallel.data = 4;
    job.parallel.tensor = 4;
    job.model.n_kv_heads = 4;
    job.parallel.expert = 2;
    job.parallel.expert_tensor = 2;
    assert_int_equal(ek_job_check(&job, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "expert_tensor_parallel_degree is 2, expected 1 or the 4 of"));
    job.parallel.expert_tensor = 1;
    assert_int_equal(ek_job_check(&job, &err), EK_OK);
    job.states.shard_size = 1; /* four replicas of one */
    job.parallel.expert = 6;
    assert_int_equal(ek_job_check(&job, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "the ranks of data_parallel_shard_degree 1, context_parallel_degree 1"));
    end_walk(&w);
    start_walk(&w, EK_MINDFORMERS, DENSE);
    job = w.base;
    job.plan = w.plan[4][2];
    job.parallel.pipeline = 4;
    job.parallel.n_micro_batches = 7;
    job.schedule = ek_schedule_find("zb-v");
    assert_int_equal(ek_job_check(&job, &err), EK_ERR_INPUT);
    assert_non_null(
        strstr(err.message, "micro_batch_num gives 7 micro-batches for 4 stages; MindSpore's zero_bubble_v"));
    end_walk(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_is_what_the_rules_refuse),
        cmocka_unit_test(the_least_number_of_micro_batches_is_the_first_that_fits),
        cmocka_unit_test(schedules_are_those_for_the_chunks),
        cmocka_unit_test(emitters_know_the_schedules_of_the_table),
        cmocka_unit_test(the_table_is_within_the_checks),
        cmocka_unit_test(a_refusal_names_the_setting_and_what_to_do),
        cmocka_unit_test(what_only_a_changed_job_has_is_refused_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
