/* Reads the layers of stages in Megatron's forms: an even split, counts for the first and last stage, a list, or a
 * layout string. A layout is expanded letter by letter, up to a maximum length. The rules are Megatron's (Megatron
 * Core, "Custom Pipeline Model Parallel Layout"; arguments of Megatron-LM), and a layout that it rejects is rejected
 * here; layouts with multi-token prediction outside the last chunk are valid in Megatron but rejected here. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "job/megatron.h"

enum { MAX_LAYOUT = 1 << 17, MAX_NESTING = 8 };

/* ---- layouts ---- */

typedef struct layout {
    const char *at;
    char *text; /* [MAX_LAYOUT], letters and bars */
    int n;
    const char *wrong; /* the unsupported part, NULL: none */
} layout;

/* "*N" at l->at, otherwise 1. */
static int repetitions(layout *l)
{
    if (*l->at != '*')
        return 1;
    int n = 0, digits = 0;
    for (l->at++; *l->at >= '0' && *l->at <= '9'; l->at++, digits++)
        n = n < MAX_LAYOUT ? 10 * n + (*l->at - '0') : n;
    if (digits == 0)
        l->wrong = "has a * without a number after it";
    return n;
}

/* Repeat the letters from `from` on `times` times. */
static void repeat(layout *l, int from, int times)
{
    int length = l->n - from;
    if (times == 0)
        l->n = from;
    if (length == 0 || times == 0)
        return;
    if (times > (MAX_LAYOUT - from) / length) {
        l->wrong = "is longer than 131072 letters when written out";
        return;
    }
    for (int i = 1; i < times; i++)
        memcpy(l->text + from + (size_t)i * (size_t)length, l->text + from, (size_t)length);
    l->n = from + times * length;
}

static void expand(layout *l, int depth)
{
    while (*l->at && *l->at != ')' && !l->wrong) {
        int from = l->n;
        if (*l->at == '(') {
            l->at++;
            if (depth == MAX_NESTING)
                l->wrong = "has groups inside groups inside groups";
            else
                expand(l, depth + 1);
            if (!l->wrong && *l->at != ')')
                l->wrong = "has a ( that does not end";
            l->at += *l->at == ')';
        } else if (strchr("EtmL|", *l->at)) {
            if (l->n == MAX_LAYOUT) {
                l->wrong = "is longer than 131072 letters when written out";
                return;
            }
            l->text[l->n++] = *l->at++;
        } else if (strchr(", ", *l->at)) {
            l->at++;
            continue;
        } else {
            l->wrong = "has something else than E, t, m, L, |, ( ) and *N";
        }
        if (!l->wrong)
            repeat(l, from, repetitions(l));
    }
    if (!l->wrong && depth == 0 && *l->at == ')')
        l->wrong = "has a ) without a (";
}

/* Positions of the model and their parts. */
static void count_layout(const layout *l, int n_positions, int *layers, int *predictions, const char **wrong)
{
    int position = 0;
    for (int i = 0; i < l->n; i++) {
        char c = l->text[i];
        position += c == '|';
        layers[position] += c == 't';
        predictions[position] += c == 'm';
        if (c == 'E' && i != 0)
            *wrong = "has an E elsewhere than at the beginning";
        if (c == 'L' && i + 1 != l->n)
            *wrong = "has an L elsewhere than at the end";
        if (c == 'm' && position + 1 != n_positions)
            *wrong = "has an m elsewhere than in its last part, which is not modelled";
    }
    if (l->n == 0 || l->text[0] != 'E' || l->text[l->n - 1] != 'L')
        *wrong = "must begin with E and end with L";
}

static ek_status fail_layout(const ek__megatron_cut *cut, const char *what, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, cut->at,
                    "the layout '%.80s' %s; write it like \"Et*3|(t*4|)*2t*3L\", parts between | in the order of the "
                    "model",
                    cut->layout, what);
}

/* Counts of all positions into the plan: a layout is in the order of the model, which is also the order of a V. */
static ek_status place_layout(const ek__megatron_cut *cut, const int *layers, const int *predictions, int n_positions,
                              ek_job *job, ek_error *err)
{
    ek_placement placement = job->schedule ? job->schedule->placement : EK_PLACE_WRAP;
    int p = job->parallel.pipeline, sum = 0;
    for (int q = 0; q < n_positions; q++)
        sum += layers[q];
    if (n_positions % p != 0 || n_positions / p > EK_MAX_CHUNKS)
        return ek__fail(err, EK_ERR_INPUT, cut->at,
                        "the layout has %d parts, expected a multiple of the %d stages, at most %d times as many; "
                        "correct it",
                        n_positions, p, EK_MAX_CHUNKS);
    if (sum != job->model.n_layers)
        return ek__fail(err, EK_ERR_INPUT, cut->at,
                        "the layout places %d layers, but --num-layers is %d; correct one of them", sum,
                        job->model.n_layers);
    if (predictions[n_positions - 1] != job->model.n_prediction_layers)
        return ek__fail(err, EK_ERR_INPUT, cut->at,
                        "the layout has %d m, but --mtp-num-layers is %d; correct one of them",
                        predictions[n_positions - 1], job->model.n_prediction_layers);
    ek_status status = ek_plan_init(&job->plan, p, n_positions / p, err);
    for (int q = 0; q < n_positions && status == EK_OK; q++)
        job->plan.layers[ek_cell_at(placement, p, q)] = layers[q] + predictions[q];
    return status;
}

static ek_status cut_by_layout(const ek__megatron_cut *cut, ek_job *job, ek_error *err)
{
    layout l = {.at = cut->layout, .text = ek__alloc(MAX_LAYOUT, 1)};
    if (!l.text)
        return ek__no_memory(err);
    expand(&l, 0);
    int n_positions = 1;
    for (int i = 0; i < l.n; i++)
        n_positions += l.text[i] == '|';
    int *counts = ek__alloc(2 * (size_t)n_positions, sizeof *counts);
    ek_status status = EK_OK;
    if (!counts)
        status = ek__no_memory(err);
    else if (!l.wrong)
        count_layout(&l, n_positions, counts, counts + n_positions, &l.wrong);
    if (status == EK_OK)
        status = l.wrong ? fail_layout(cut, l.wrong, err)
                         : place_layout(cut, counts, counts + n_positions, n_positions, job, err);
    free(counts);
    free(l.text);
    return status;
}

/* ---- counts ---- */

static ek_status cut_by_list(const ek__megatron_cut *cut, ek_job *job, ek_error *err)
{
    int p = job->parallel.pipeline, sum = 0, n = 0;
    ek_status status = ek_plan_init(&job->plan, p, 1, err);
    const char *at = cut->list;
    for (; status == EK_OK && *at && n < p; n++) {
        int value = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            value = value < EK_MAX_LAYERS ? 10 * value + (*at - '0') : value;
        job->plan.layers[n] = value;
        sum += value;
        if (*at != ',')
            break;
        at++;
    }
    n += n < p;
    if (status == EK_OK && (*at || n != p || sum != job->model.n_layers))
        return ek__fail(err, EK_ERR_INPUT, cut->at,
                        "the list of layers is '%.80s', expected %d numbers with commas that add up to the %d layers; "
                        "correct it",
                        cut->list, p, job->model.n_layers);
    if (status == EK_OK)
        job->plan.layers[p - 1] += job->model.n_prediction_layers;
    return status;
}

/* Chunks of a stage as given, when a stage has `per_stage` layers. */
static ek_status count_chunks(const ek__megatron_cut *cut, int per_stage, int *out, ek_error *err)
{
    *out = cut->n_chunks > 0 ? cut->n_chunks : 1;
    if (cut->chunk_layers == 0)
        return EK_OK;
    *out = per_stage / cut->chunk_layers;
    if (per_stage % cut->chunk_layers == 0 && *out >= 1 && *out <= EK_MAX_CHUNKS)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, cut->at,
                    "--num-layers-per-virtual-pipeline-stage is %d, but a stage has %d layers; give a number that "
                    "divides them, at most %d times",
                    cut->chunk_layers, per_stage, EK_MAX_CHUNKS);
}

/* An even split, in which the embedding and the loss may count as layers, or with separate counts for the ends. */
static ek_status cut_evenly(const ek__megatron_cut *cut, ek_job *job, ek_error *err)
{
    int p = job->parallel.pipeline, n_layers = job->model.n_layers;
    int ends = (cut->first >= 0) + (cut->last >= 0 && p > 1);
    int left = n_layers + cut->embedding + cut->loss, middle = 0, n_chunks;
    left -= (cut->first >= 0 ? cut->first : 0) + (cut->last >= 0 && p > 1 ? cut->last : 0);
    if (left < 0 || (p > ends ? left % (p - ends) : left) != 0)
        return ek__fail(err, EK_ERR_INPUT, cut->at,
                        "%d layers cannot be spread over %d stages like that: %d are left for %d stages; give counts "
                        "that come out even, or a --pipeline-model-parallel-layout",
                        n_layers, p, left, p - ends);
    middle = p > ends ? left / (p - ends) : 0;
    ek_status status = count_chunks(cut, p > ends ? middle : cut->first, &n_chunks, err);
    if (status == EK_OK)
        status = ek_plan_init(&job->plan, p, n_chunks, err);
    if (status)
        return status;
    for (int c = 0; c < p * n_chunks; c++) {
        int s = c % p;
        int here = s == 0 && cut->first >= 0 ? cut->first : s == p - 1 && p > 1 && cut->last >= 0 ? cut->last : middle;
        if (here % n_chunks != 0)
            return ek__fail(err, EK_ERR_INPUT, cut->at,
                            "stage %d has %d layers for %d chunks; give numbers that divide, or a "
                            "--pipeline-model-parallel-layout",
                            s, here, n_chunks);
        job->plan.layers[c] = here / n_chunks;
    }
    job->plan.layers[0] -= cut->embedding;
    job->plan.layers[p * n_chunks - 1] += job->model.n_prediction_layers - cut->loss;
    if (job->plan.layers[0] < 0 || job->plan.layers[p * n_chunks - 1] < 0)
        return ek__fail(err, EK_ERR_INPUT, cut->at,
                        "%d layers leave nothing for the stage of the embedding or the loss", n_layers);
    return EK_OK;
}

ek_status ek__megatron_layers(const ek__megatron_cut *cut, ek_job *job, ek_error *err)
{
    if (cut->layout)
        return cut_by_layout(cut, job, err);
    return cut->list ? cut_by_list(cut, job, err) : cut_evenly(cut, job, err);
}

bool ek__megatron_expert_layers(const bool *experts, int n, int *n_dense, int *period)
{
    int first = 0, second;
    while (first < n && !experts[first])
        first++;
    for (second = first + 1; second < n && !experts[second];)
        second++;
    int every = first < n ? second - first : 1;
    for (int i = first; i < n; i++)
        if (experts[i] != ((i - first) % every == 0))
            return false;
    *n_dense = first;
    *period = every;
    return true;
}
