/* Writes settings of MindFormers as keys of its training YAML. If layers move to other chunks, offsets and lists of
 * recomputation, which count by stage and chunk, are written again, since the old ones would mean other layers. */
#include "job/settings.h"
#include "schedule/frameworks.h"

#include "evenkeel/schedule.h"
#include <stdio.h>
#include <string.h>

enum { LIST = 32768 };

/* ---- degrees ---- */

static void write_number(ek__settings *s, const char *section, const char *name, int now, int was)
{
    if (now != was)
        ek__settings_put(s, section, name, "%d", now);
}

/* A switch with a new value. */
static void write_switch(ek__settings *s, const char *section, const char *name, bool now, bool was)
{
    if (now != was)
        ek__settings_put(s, section, name, "%s", now ? "True" : "False");
}

static void write_batch(ek__settings *s)
{
    write_number(s, "runner_config", "batch_size", s->now->parallel.batch, s->was->parallel.batch);
}

static void write_degrees(ek__settings *s)
{
    static const char section[] = "parallel_config";
    const ek_job_parallel *a = &s->was->parallel, *b = &s->now->parallel;
    bool moved = b->tensor != a->tensor || b->context != a->context || b->pipeline != a->pipeline;
    if (!moved)
        write_batch(s);
    write_number(s, section, "model_parallel", b->tensor, a->tensor);
    write_number(s, section, "context_parallel", b->context, a->context);
    write_number(s, section, "pipeline_stage", b->pipeline, a->pipeline);
    write_number(s, section, "expert_parallel", b->expert, a->expert);
    write_number(s, section, "data_parallel", b->data, a->data);
    /* One rank does not show the cut of the table; it is whole if it could be cut and is not. */
    int over = b->tensor * b->context;
    bool whole = b->table_split == 1 && s->now->model.vocab % over == 0;
    if (a->tensor * a->context == 1 && over > 1 && !whole)
        ek__settings_put(s, section, "vocab_emb_dp", "False");
    write_switch(s, section, "use_seq_parallel", b->sequence_parallel, a->sequence_parallel);
    write_number(s, section, "micro_batch_num", b->n_micro_batches, a->n_micro_batches);
    if (b->pipeline == 1 && b->n_micro_batches > 1 && b->n_micro_batches != a->n_micro_batches)
        s->why = "without stages the framework runs no micro-batches but accumulates gradients "
                 "(gradient_accumulation_steps)";
    write_number(s, section, "seq_split_num", b->n_pieces, a->n_pieces);
    if (moved)
        write_batch(s);
    write_number(s, "runner_config", "gradient_accumulation_steps", b->n_accumulation, a->n_accumulation);
}

/* ---- sharing ---- */

static void write_states(ek__settings *s)
{
    static const char section[] = "parallel.parallel_optimizer_config";
    const ek_job_states *a = &s->was->states, *b = &s->now->states;
    const ek_job_parallel *p = &s->now->parallel;
    bool alone = p->data * p->context * p->tensor == 1; /* then the switch has no effect */
    write_switch(s, "parallel", "enable_parallel_optimizer", b->shard_optimizer, a->shard_optimizer && !alone);
    if (b->shard_gradient && !a->shard_gradient)
        ek__settings_put(s, section, "gradient_accumulation_shard", "True");
    if (!b->shard_gradient && a->shard_gradient) {
        ek__settings_put(s, section, "gradient_accumulation_shard", "False");
        ek__settings_put(s, section, "optimizer_level", "level1"); /* others share the gradients, too */
    }
    write_number(s, section, "optimizer_weight_shard_size", b->shard_size, a->shard_size);
    write_switch(s, "model.model_config", "parallel_optimizer", b->shard_table, a->shard_table);
}

static void write_model(ek__settings *s)
{
    static const char section[] = "model.model_config";
    write_number(s, section, "fine_grain_interleave", s->now->parallel.fine_grain, s->was->parallel.fine_grain);
    if (s->now->model.flash_attention && !s->was->model.flash_attention)
        ek__settings_put(s, section, "use_flash_attention", "True");
    if (s->now->model.mask_compressed && !s->was->model.mask_compressed)
        ek__settings_put(s, section, "use_attn_mask_compression", "True");
}

/* ---- data ---- */

static bool same_cut(const ek_job_run *a, const ek_job_run *b)
{
    return a->n_inputs == b->n_inputs && memcmp(a->input_cut, b->input_cut, sizeof a->input_cut) == 0;
}

/* [[8, 1], [8, 1]]: an entry for each input, with a number for each of its axes. */
static void write_data(ek__settings *s)
{
    char text[LIST] = "[";
    const ek_job_run *a = &s->was->run, *b = &s->now->run;
    size_t used = 1;
    if (a->full_batch && !b->full_batch)
        ek__settings_put(s, "parallel", "full_batch", "False");
    if (b->full_batch || b->n_inputs == 0 || same_cut(a, b))
        return;
    for (int i = 0; i < b->n_inputs; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, i > 0 ? ", [" : "[");
        for (int k = 0; k < EK_MAX_INPUT_AXES && b->input_cut[i][k] != 0; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", k > 0 ? ", " : "",
                                     b->input_cut[i][k] < 0 ? s->now->parallel.data : b->input_cut[i][k]);
        used += (size_t)snprintf(text + used, sizeof text - used, "]");
    }
    ek__settings_put(s, "parallel", "dataset_strategy", "%s]", text);
}

/* ---- the step ---- */

static void write_run(ek__settings *s)
{
    static const char speed[] = "context.ascend_config.parallel_speed_up_json";
    const ek_job_run *a = &s->was->run, *b = &s->now->run;
    const ek_gather was = s->was->rules.weight_gather, now = s->now->rules.weight_gather;
    if (b->overlap_gradients && !a->overlap_gradients)
        ek__settings_put(s, speed, "enable_grad_comm_opt", "True");
    if (b->overlap_weights && !a->overlap_weights)
        ek__settings_put(s, speed, "enable_opt_shard_comm_opt", "True");
    if (b->overlap_tensor && !a->overlap_tensor)
        ek__settings_put(s, speed, "compute_communicate_fusion_level", "3");
    if (b->overlap_tensor_gradients && !a->overlap_tensor_gradients)
        ek__settings_put(s, speed, "matmul_grad_comm_overlap", "True");
    if (b->fused_optimizer && !a->fused_optimizer)
        ek__settings_put(s, "optimizer", "use_fused", "True");
    if (!b->offload_optimizer && a->offload_optimizer)
        ek__settings_put(s, "optimizer", "swap", "False");
    if (b->launch == EK_LAUNCH_GRAPH && a->launch != EK_LAUNCH_GRAPH)
        ek__settings_put(s, "context", "mode", "0");
    if (now == EK_GATHER_STEP && was == EK_GATHER_LAYER)
        ek__settings_put(s, "recompute_config", "parallel_optimizer_comm_recompute", "False");
}

/* ---- the schedule, layers ---- */

/* The name of the schedule in MindFormers; NULL: it follows from the chunks, or there is none. */
static const char *name_of(const ek_schedule *schedule)
{
    const ek__framework_schedule *theirs = ek__schedule_in(schedule, EK_MINDFORMERS);
    return theirs && !theirs->by_chunks ? theirs->word : NULL;
}

/* pp_interleave_num applies if pipeline_interleave is on; zero_bubble_v requires it to be on, too. */
static void write_schedule(ek__settings *s)
{
    static const char section[] = "parallel.pipeline_config", model[] = "model.model_config";
    int v = s->now->plan.n_chunks, before = s->was->plan.n_chunks;
    const char *name = name_of(s->now->schedule), *name_before = name_of(s->was->schedule);
    bool same = s->now->schedule == s->was->schedule, usual = s->now->schedule == ek_schedule_default(v, false);
    if ((s->now->parallel.pipeline == 1 || same) && v == before)
        return;
    if (!same && !name && !usual)
        s->why = "the framework has no such schedule";
    bool v_shaped = name && s->now->schedule->placement == EK_PLACE_V;
    if (v_shaped)
        ek__settings_put(s, section, "pipeline_interleave", "True");
    if (name ? !same || v_shaped : name_before != NULL)
        ek__settings_put(s, section, "pipeline_scheduler", "'%s'",
                         name ? name : ek__schedule_in(ek_schedule_default(1, 0), EK_MINDFORMERS)->word);
    if (v > 1 || before > 1)
        ek__settings_put(s, model, "pp_interleave_num", "%d", v);
    if (!v_shaped && (v > 1 || before > 1))
        ek__settings_put(s, section, "pipeline_interleave", "%s", v > 1 ? "True" : "False");
}

static bool same_cells(const ek__settings *s)
{
    return s->was->plan.n_stages == s->now->plan.n_stages && s->was->plan.n_chunks == s->now->plan.n_chunks;
}

/* Its lists are by stage and chunk, for any order of the chunks. */
static bool same_list(const ek__settings *s, const int *a, const int *b)
{
    const ek_plan *plan = &s->now->plan;
    return same_cells(s) && memcmp(a, b, (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *a) == 0;
}

static void write_layers(ek__settings *s)
{
    char text[LIST];
    const ek_plan *plan = &s->now->plan;
    int n = plan->n_stages * plan->n_chunks;
    int average = (s->now->model.n_layers + s->now->model.n_prediction_layers) / n;
    bool even = true;
    for (int c = 0; c < n; c++)
        even = even && plan->layers[c] == average;
    if (same_list(s, s->was->plan.layers, plan->layers))
        return;
    ek__settings_put(s, "model.model_config", "offset", "%s",
                     even ? "0" : ek__settings_list(plan, plan->layers, average, text, sizeof text));
}

/* ---- recomputation ---- */

static const struct {
    const char *key;
    ek_pattern_kind kind;
} kinds[] = {{"select_recompute", EK_PATTERN_SELECT},
             {"select_comm_recompute", EK_PATTERN_COMM},
             {"select_recompute_exclude", EK_PATTERN_SELECT_EXCLUDE},
             {"select_comm_recompute_exclude", EK_PATTERN_COMM_EXCLUDE}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const ek_pattern *next_of(const ek_job *job, ek_pattern_kind kind, int *i)
{
    while (*i < job->n_patterns)
        if (job->pattern[(*i)++].kind == kind)
            return &job->pattern[*i - 1];
    return NULL;
}

/* Patterns for every layer do not depend on the number of layers: are they equal? */
static bool same_kind(const ek__settings *s, ek_pattern_kind kind)
{
    int i = 0, k = 0;
    for (;;) {
        const ek_pattern *a = next_of(s->was, kind, &i), *b = next_of(s->now, kind, &k);
        if (!a || !b)
            return !a && !b;
        bool all = !ek__job_has(s->now, "lists") && ek__settings_all(&s->was->plan, a->layers) &&
                   ek__settings_all(&s->now->plan, b->layers);
        if (strcmp(a->text, b->text) != 0 || (!all && !same_list(s, a->layers, b->layers)))
            return false;
    }
}

/* Are they the framework's default patterns, all with the plan's list, so that counts are sufficient? */
static bool is_usual(const ek_job *job, ek_pattern_kind kind)
{
    const ek_plan *plan = &job->plan;
    const int *counts = kind == EK_PATTERN_SELECT ? plan->select : plan->comm;
    const size_t bytes = (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *counts;
    int i = 0;
    for (const ek_pattern *pattern; (pattern = next_of(job, kind, &i));)
        if (!pattern->by_default || memcmp(pattern->layers, counts, bytes) != 0)
            return false;
    return true;
}

/* Do all patterns of a kind apply to every layer? */
static bool holds_for_all(const ek_job *job, ek_pattern_kind kind)
{
    int i = 0;
    for (const ek_pattern *pattern; (pattern = next_of(job, kind, &i));)
        if (!ek__settings_all(&job->plan, pattern->layers))
            return false;
    return true;
}

static bool had_any(const ek_job *was, ek_pattern_kind kind)
{
    int i = 0;
    for (const ek_pattern *pattern; (pattern = next_of(was, kind, &i));)
        if (ek__settings_any(&was->plan, pattern->layers))
            return true;
    return false;
}

/* ['a', 'b'] for every layer; {'a': True, 'b': [1, 0]} with zeros for a pattern of no layer, as in the tuning guide,
 * each with its own list, so that the patterns of one set may apply to more layers than those of another; counts
 * without patterns mean the framework's default patterns, False means none. */
static void write_kind(ek__settings *s, const char *key, ek_pattern_kind kind)
{
    char text[LIST] = "", list[LIST];
    const ek_plan *plan = &s->now->plan;
    const bool all = holds_for_all(s->now, kind), usual = is_usual(s->now, kind);
    size_t used = 0;
    int i = 0, n = 0;
    const ek_pattern *pattern = next_of(s->now, kind, &i);
    if (!pattern) {
        int k = 0;
        if (had_any(s->was, kind) || (next_of(s->was, kind, &k) && !same_cells(s)))
            ek__settings_put(s, "recompute_config", key, "False");
        return;
    }
    if (usual) {
        const int *counts = kind == EK_PATTERN_SELECT ? plan->select : plan->comm;
        ek__settings_put(s, "recompute_config", key, "%s", ek__settings_list(plan, counts, 0, text, sizeof text));
        return;
    }
    for (; pattern && used < sizeof text; pattern = next_of(s->now, kind, &i)) {
        const char *between = n++ > 0 ? ", " : "";
        const char *value = ek__settings_all(plan, pattern->layers)
                                ? "True"
                                : ek__settings_list(plan, pattern->layers, 0, list, sizeof list);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s'%s%s", between, pattern->text, all ? "" : ": ",
                                 all ? "" : value);
    }
    if (used >= sizeof text) {
        s->why =
            "its lists of patterns are longer than can be written here"; /* a part of them would be another setting */
        return;
    }
    ek__settings_put(s, "recompute_config", key, all ? "[%s]" : "{%s}", text);
}

static void write_full(ek__settings *s)
{
    char text[LIST];
    const ek_plan *a = &s->was->plan, *b = &s->now->plan;
    bool all = ek__settings_all(b, b->full), none = !ek__settings_any(b, b->full), lists = ek__job_has(s->now, "lists");
    bool as_before = (all && ek__settings_all(a, a->full)) || (none && !ek__settings_any(a, a->full));
    if (lists ? same_list(s, a->full, b->full) : as_before || same_list(s, a->full, b->full))
        return;
    ek__settings_put(s, "recompute_config", "recompute", "%s",
                     all              ? "True"
                     : none && !lists ? "False"
                                      : ek__settings_list(b, b->full, 0, text, sizeof text));
}

/* The file's lists for other chunks would be rejected or mean other layers. Those of full recomputation come first, and
 * all are written together with them. */
static void write_recompute(ek__settings *s)
{
    bool partial =
        ek__settings_any(&s->now->plan, s->now->plan.full) && !ek__settings_all(&s->now->plan, s->now->plan.full);
    if (partial)
        ek__job_note(s->now, "lists");
    write_full(s);
    for (int k = 0; k < N_KINDS; k++)
        if (!same_kind(s, kinds[k].kind) || (!same_cells(s) && ek__job_has(s->was, "lists")))
            write_kind(s, kinds[k].key, kinds[k].kind);
}

void ek__settings_mindformers(ek__settings *s)
{
    write_schedule(s);
    write_degrees(s);
    write_states(s);
    write_data(s);
    write_model(s);
    write_run(s);
    write_layers(s);
    write_recompute(s);
}
