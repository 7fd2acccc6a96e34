/* Tests emitters: their output is read back by independent parsers that follow the frameworks' own rules: the layers
 * and kinds of random plans must be recovered. The nearest plan is compared with an enumeration of all plans that the
 * framework can express. */
#include "report_fixture.h"

#include <ctype.h>
#include <math.h>

#include "assert_close.h"
#include "base/random.h"
#include "emit/emit_internal.h"
#include "skip.h"

enum { MAX_CELLS = 64, N_RANDOM = 1000 };

/* ---- plans and their output ---- */

static uint64_t seed(void)
{
    const char *given = getenv("EK_SEED");
    uint64_t value = given ? strtoull(given, NULL, 10) : 20261121;
    print_message("# seed %llu (EK_SEED repeats it)\n", (unsigned long long)value);
    return value;
}

static int random_upto(ek__random *r, int most)
{
    return ek__random_below(r, most + 1);
}

/* Up to 6 stages, 1 to 4 chunks, 0 to 9 layers a chunk (from `least`), lists at random. Sometimes all are equal. */
static void random_plan(ek__random *r, int n_stages, int n_chunks, int least, ek_plan *plan)
{
    assert_int_equal(ek_plan_init(plan, n_stages, n_chunks, NULL), EK_OK);
    bool alike = ek__random_below(r, 4) == 0;
    for (int c = 0; c < n_stages * n_chunks; c++) {
        plan->layers[c] = alike && c > 0 ? plan->layers[c - 1] : least + random_upto(r, 9 - least);
        plan->full[c] = random_upto(r, plan->layers[c]);
        plan->select[c] = random_upto(r, plan->layers[c]);
        plan->comm[c] = random_upto(r, plan->layers[c]);
    }
    plan->layers[0] += plan->layers[0] == 0;
}

/* Make the plan follow a rule, so that the framework can express it. */
static void follow_rule(ek__random *r, ek_plan *plan)
{
    int kind = ek__random_below(r, 4), first = 1 + ek__random_below(r, 9);
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        int n = plan->layers[c], full = kind == 2 ? n : kind == 3 ? (first < n ? first : n) : 0;
        plan->full[c] = full;
        plan->select[c] = kind == 1 ? n : full;
        plan->comm[c] = full;
    }
}

static int n_cells(const ek_plan *plan)
{
    return plan->n_stages * plan->n_chunks;
}

static int total_layers(const ek_plan *plan)
{
    int total = 0;
    for (int c = 0; c < n_cells(plan); c++)
        total += plan->layers[c];
    return total;
}

static ek_emission emission_of(const ek_plan *plan)
{
    return (ek_emission){.name = "p", .plan = plan, .n_layers = total_layers(plan)};
}

/* The output of an emitter, to free. */
static char *emitted(const char *name, const ek_emission *e, ek_telling *told)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek_status status = ek_emitter_find(name)->write(e, out, told, &err);
    assert_int_equal(fclose(out), 0);
    if (status != EK_OK)
        fail_msg("%s: %s", name, err.message);
    return text;
}

/* `want` may run over the lines of a comment. */
static void assert_says(const char *text, const char *want)
{
    char *plain = strdup(text), *to = plain;
    assert_non_null(plain);
    for (const char *from = text; *from; from++) {
        bool wrapped = from > text && strncmp(from, "\n# ", 3) == 0 && from[-1] != '.';
        *to++ = wrapped ? ' ' : *from;
        from += wrapped ? 2 : 0;
    }
    *to = '\0';
    if (!strstr(plain, want))
        fail_msg("'%s' is not in:\n%s", want, text);
    free(plain);
}

static void assert_silent(const char *text, const char *unwanted)
{
    if (strstr(text, unwanted))
        fail_msg("'%s' is in:\n%s", unwanted, text);
}

/* The text after `key` at the beginning of a line that is no comment, NULL when there is none. */
static const char *value_of(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *word = line + strspn(line, " ");
        if (strncmp(word, key, n) == 0)
            return word + n;
    }
    return NULL;
}

/* Numbers of "[1, 2]" or "[[1, 2], [3, 4]]"; the depth of the list must be `depth`. */
static int read_numbers(const char *text, int depth, int *out)
{
    int open = 0, deepest = 0, n = 0;
    text += strspn(text, " ");
    for (; *text && *text != '\n'; text++) {
        open += (*text == '[') - (*text == ']');
        deepest = open > deepest ? open : deepest;
        if (isdigit((unsigned char)*text) || *text == '-') {
            char *end;
            assert_true(n < MAX_CELLS);
            out[n++] = (int)strtol(text, &end, 10);
            text = end - 1;
        }
    }
    assert_int_equal(open, 0);
    assert_int_equal(deepest, depth);
    return n;
}

/* ---- MindFormers and MindSpeed ---- */

/* Kinds of a chunk with layers labelled one by one. */
static void assert_kinds(const ek_plan *plan, int cell, const ek_recompute *kind)
{
    ek_chunk_mix mix = ek_plan_mix(plan, cell / plan->n_stages, cell % plan->n_stages);
    int n[EK_N_RECOMPUTE] = {0};
    for (int j = 0; j < plan->layers[cell]; j++)
        n[kind[j]]++;
    assert_memory_equal(n, mix.n, sizeof n);
}

static void mindformers_lists_are_the_plan(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(seed());
    for (int i = 0; i < N_RANDOM; i++) {
        ek_plan plan;
        random_plan(&r, 1 + ek__random_below(&r, 6), 1 + ek__random_below(&r, 4), 0, &plan);
        ek_emission e = emission_of(&plan);
        char *text = emitted("mindformers", &e, NULL);
        int n = n_cells(&plan), depth = plan.n_chunks > 1 ? 2 : 1;
        int offset[MAX_CELLS], full[MAX_CELLS], select[MAX_CELLS], comm[MAX_CELLS];
        assert_int_equal(read_numbers(value_of(text, "offset:"), depth, offset), n);
        assert_int_equal(read_numbers(value_of(text, "recompute:"), depth, full), n);
        assert_int_equal(read_numbers(value_of(text, "select_recompute:"), depth, select), n);
        assert_int_equal(read_numbers(value_of(text, "select_comm_recompute:"), depth, comm), n);
        assert_int_equal(atoi(value_of(text, "pipeline_stage:")), plan.n_stages);
        assert_int_equal(atoi(value_of(text, "pp_interleave_num:")), plan.n_chunks);
        int layers = atoi(value_of(text, "num_layers:")), sum = 0;
        for (int c = 0; c < n; c++) {
            ek_recompute kind[16];
            assert_int_equal(layers / n + offset[c], plan.layers[c]);
            sum += offset[c];
            /* A layer that is recomputed whole hides the two others. */
            for (int j = 0; j < plan.layers[c]; j++)
                kind[j] = j < full[c]                    ? EK_RECOMPUTE_FULL
                          : j < select[c] && j < comm[c] ? EK_RECOMPUTE_BOTH
                          : j < select[c]                ? EK_RECOMPUTE_SELECT
                          : j < comm[c]                  ? EK_RECOMPUTE_COMM
                                                         : EK_RECOMPUTE_NONE;
            assert_kinds(&plan, c, kind);
        }
        assert_int_equal(sum, layers % n); /* which the framework insists on */
        free(text);
        ek_plan_clear(&plan);
    }
}

static void mindspeed_lists_give_the_kinds_of_the_plan(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(seed());
    for (int i = 0; i < N_RANDOM; i++) {
        ek_plan plan;
        random_plan(&r, 2 + ek__random_below(&r, 5), 1 + ek__random_below(&r, 4), 1, &plan);
        ek_emission e = emission_of(&plan);
        char *text = emitted("mindspeed", &e, NULL);
        int n = n_cells(&plan), depth = plan.n_chunks > 1 ? 2 : 1;
        int layers[MAX_CELLS], full[MAX_CELLS], select[MAX_CELLS], comm[MAX_CELLS];
        assert_int_equal(read_numbers(value_of(text, "num_layer_list:"), depth, layers), n);
        assert_int_equal(read_numbers(value_of(text, "recompute:"), depth, full), n);
        assert_int_equal(read_numbers(value_of(text, "select_recompute:"), depth, select), n);
        assert_int_equal(read_numbers(value_of(text, "select_comm_recompute:"), depth, comm), n);
        for (int c = 0; c < n; c++) {
            /* As the framework makes its layers: whole ones, those in both lists, those in the longer one, the rest. */
            ek_recompute kind[16];
            int at = 0, both = select[c] < comm[c] ? select[c] : comm[c];
            assert_int_equal(layers[c], plan.layers[c]);
            assert_true(full[c] + select[c] <= layers[c] && full[c] + comm[c] <= layers[c]);
            for (int j = 0; j < full[c]; j++)
                kind[at++] = EK_RECOMPUTE_FULL;
            for (int j = 0; j < both; j++)
                kind[at++] = EK_RECOMPUTE_BOTH;
            for (int j = both; j < select[c] || j < comm[c]; j++)
                kind[at++] = select[c] > comm[c] ? EK_RECOMPUTE_SELECT : EK_RECOMPUTE_COMM;
            while (at < layers[c])
                kind[at++] = EK_RECOMPUTE_NONE;
            assert_kinds(&plan, c, kind);
        }
        free(text);
        ek_plan_clear(&plan);
    }
}

/* ---- Megatron ---- */

/* Megatron's two passes over a layout: first groups, which hold no group, then single characters. To free. */
static char *expand_groups(const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    assert_non_null(to);
    while (*text) {
        const char *close = *text == '(' ? strchr(text, ')') : NULL;
        if (!close) {
            fputc(*text++, to);
            continue;
        }
        assert_null(memchr(text + 1, '(', (size_t)(close - text - 1)));
        assert_true(close > text + 1 && close[1] == '*');
        char *end;
        for (long n = strtol(close + 2, &end, 10); n > 0; n--)
            fwrite(text + 1, 1, (size_t)(close - text - 1), to);
        text = end;
    }
    assert_int_equal(fclose(to), 0);
    return out;
}

static char *expand_characters(const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    assert_non_null(to);
    while (*text) {
        char *end = NULL;
        long n = text[1] == '*' ? strtol(text + 2, &end, 10) : 1;
        for (; n > 0; n--)
            fputc(*text, to);
        text = end ? end : text + 1;
    }
    assert_int_equal(fclose(to), 0);
    return out;
}

/* Decoder layers by stage of a layout, which must begin with the embedding and end with the loss. */
static int read_layout(const char *quoted, int *layers)
{
    char layout[4096];
    size_t length = strcspn(quoted, "\"");
    assert_true(length < sizeof layout);
    memcpy(layout, quoted, length);
    layout[length] = '\0';
    char *groups = expand_groups(layout), *plain = expand_characters(groups);
    int n = 1;
    assert_int_equal(plain[0], 'E');
    assert_int_equal(plain[strlen(plain) - 1], 'L');
    layers[0] = 0;
    for (const char *c = plain + 1; c[1]; c++) {
        assert_true(*c == 't' || *c == '|');
        if (*c == 't')
            layers[n - 1]++;
        else
            layers[n++] = 0;
        assert_true(n <= MAX_CELLS);
    }
    free(groups);
    free(plain);
    return n;
}

/* Layers by model position from Megatron's flags; n_stages of them when there is one chunk a stage. */
static int read_megatron_layers(const char *text, int *layers)
{
    int total = atoi(value_of(text, "--num-layers ")), p = atoi(value_of(text, "--pipeline-model-parallel-size "));
    const char *layout = value_of(text, "--pipeline-model-parallel-layout \"");
    const char *each = value_of(text, "--num-layers-per-virtual-pipeline-stage ");
    assert_false(layout && each);
    if (layout)
        return read_layout(layout, layers);
    int n = each ? total / atoi(each) : p;
    assert_int_equal(total % n, 0);
    for (int q = 0; q < n; q++)
        layers[q] = total / n;
    return n;
}

/* The alternative for versions without a layout: the first and the last stage as given, the others alike. */
static void check_ends(const char *text, const ek_plan *plan)
{
    const char *line = strstr(text, "# or instead of the layout:");
    if (!line)
        return;
    const char *first = strstr(line, "--decoder-first-pipeline-num-layers "),
               *last = strstr(line, "--decoder-last-pipeline-num-layers ");
    assert_int_equal(plan->n_chunks, 1);
    int rest = total_layers(plan), others = plan->n_stages;
    if (first) {
        assert_int_equal(atoi(strpbrk(first, "0123456789")), plan->layers[0]);
        rest -= plan->layers[0];
        others--;
    }
    if (last) {
        assert_int_equal(atoi(strpbrk(last, "0123456789")), plan->layers[plan->n_stages - 1]);
        rest -= plan->layers[plan->n_stages - 1];
        others--;
    }
    for (int s = first ? 1 : 0; s < plan->n_stages - (last ? 1 : 0); s++)
        assert_int_equal(plan->layers[s] * others, rest);
}

/* Layers of a chunk by kind from Megatron's flags. */
static ek_chunk_mix megatron_mix(const char *text, int n)
{
    ek_chunk_mix mix = {{0}};
    const char *granularity = value_of(text, "--recompute-granularity ");
    int full = 0;
    if (granularity && strncmp(granularity, "selective", 9) == 0) {
        mix.n[EK_RECOMPUTE_SELECT] = n;
        return mix;
    }
    if (granularity && strstr(granularity, "--recompute-method uniform --recompute-num-layers 1\n"))
        full = n;
    else if (granularity) {
        const char *block = strstr(granularity, "--recompute-method block --recompute-num-layers ");
        assert_non_null(block);
        full = atoi(strpbrk(block, "0123456789"));
        full = full < n ? full : n;
    }
    mix.n[EK_RECOMPUTE_FULL] = full;
    mix.n[EK_RECOMPUTE_NONE] = n - full;
    return mix;
}

static ek_chunk_mix mix_of(const ek_plan *plan, int cell)
{
    return ek_plan_mix(plan, cell / plan->n_stages, cell % plan->n_stages);
}

/* Is there a rule for all chunks, tried one after the other? Known by counting kinds. */
static bool one_rule(const ek_plan *plan, bool partial)
{
    bool none = true, select = true, full = true, block = false;
    for (int c = 0; c < n_cells(plan); c++) {
        ek_chunk_mix mix = mix_of(plan, c);
        none = none && mix.n[EK_RECOMPUTE_NONE] == plan->layers[c];
        select = select && mix.n[EK_RECOMPUTE_SELECT] == plan->layers[c];
        full = full && mix.n[EK_RECOMPUTE_FULL] == plan->layers[c];
    }
    for (int k = 1; k < 10 && partial && !block; k++) {
        block = true;
        for (int c = 0; c < n_cells(plan) && block; c++) {
            ek_chunk_mix mix = mix_of(plan, c);
            int n = plan->layers[c] < k ? plan->layers[c] : k;
            block = mix.n[EK_RECOMPUTE_FULL] == n && mix.n[EK_RECOMPUTE_NONE] == plan->layers[c] - n;
        }
    }
    return none || select || full || block;
}

static void megatron_flags_give_the_plan_or_say_that_they_do_not(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(seed());
    int n_told = 0, n_ends = 0, n_groups = 0;
    for (int i = 0; i < N_RANDOM; i++) {
        ek_plan plan;
        random_plan(&r, 2 + ek__random_below(&r, 5), 1 + ek__random_below(&r, 4), ek__random_below(&r, 2) * 8, &plan);
        if (ek__random_below(&r, 2))
            follow_rule(&r, &plan);
        ek_emission e = emission_of(&plan);
        ek_telling told = EK_TELLS_NEAREST;
        char *text = emitted("megatron", &e, &told);
        int layers[MAX_CELLS], n = read_megatron_layers(text, layers);
        assert_int_equal(n, n_cells(&plan));
        assert_memory_equal(layers, plan.layers, (size_t)n * sizeof *layers);
        check_ends(text, &plan);
        assert_int_equal(told, one_rule(&plan, true) ? EK_TELLS_PLAN : EK_TELLS_LAYERS);
        assert_int_equal(strstr(text, "cannot express the recomputation of this plan") != NULL, told != EK_TELLS_PLAN);
        for (int c = 0; c < n && told == EK_TELLS_PLAN; c++) {
            ek_chunk_mix got = megatron_mix(text, plan.layers[c]), want = mix_of(&plan, c);
            assert_memory_equal(got.n, want.n, sizeof want.n);
        }
        if (told != EK_TELLS_PLAN)
            assert_null(value_of(text, "--recompute-granularity"));
        n_told += told == EK_TELLS_PLAN;
        n_ends += strstr(text, "instead of the layout") != NULL;
        n_groups += strstr(text, "|)*") != NULL;
        free(text);
        ek_plan_clear(&plan);
    }
    assert_true(n_told > 100 && n_told < N_RANDOM - 100 && n_ends > 10 && n_groups > 10);
}

static void layouts_are_short(void **state)
{
    (void)state;
    static const struct {
        int n_stages, n_chunks, layers[24];
        const char *layout;
    } cases[] = {
        {8, 1, {5, 6, 6, 6, 6, 6, 6, 5}, "\"Et*5|(t*6|)*6t*5L\""},
        {4, 2, {1, 2, 2, 2, 2, 2, 2, 0}, "\"Et|(tt|)*6L\""},
        {4, 2, {3, 0, 0, 0, 0, 1, 1, 2}, "\"Ettt|||||t|t|ttL\""},
        {4, 4, {1, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 9}, "\"Et|(t*4|t*5|)*7t*9L\""},
        {2, 2, {0, 12, 1, 0}, "\"E|t*12|t|L\""},
        {4,
         6,
         {1, 7, 7, 7, 7, 8, 8, 8, 8, 7, 7, 7, 7, 8, 8, 8, 8, 7, 7, 7, 7, 8, 8, 1},
         "\"Et|(t*7|t*7|t*7|t*7|t*8|t*8|t*8|t*8|)*2(t*7|)*4t*8|t*8|tL\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_plan plan;
        assert_int_equal(ek_plan_init(&plan, cases[i].n_stages, cases[i].n_chunks, NULL), EK_OK);
        memcpy(plan.layers, cases[i].layers, (size_t)n_cells(&plan) * sizeof(int));
        ek_emission e = emission_of(&plan);
        char *text = emitted("megatron", &e, NULL);
        assert_says(text, cases[i].layout);
        int layers[MAX_CELLS];
        assert_int_equal(read_megatron_layers(text, layers), n_cells(&plan));
        assert_memory_equal(layers, plan.layers, (size_t)n_cells(&plan) * sizeof(int));
        free(text);
        ek_plan_clear(&plan);
    }
}

/* ---- torchtitan ---- */

/* Layers of each part, with names that count up from 0, the embedding first and the head last. */
static int read_parts(const char *text, int *layers)
{
    int n = 0, next = 0;
    for (text = strchr(text, '\n') + 1; *text != ']'; text = strchr(text, '\n') + 1) {
        const char *end = strchr(text, '\n');
        assert_true(n < MAX_CELLS);
        layers[n] = 0;
        assert_memory_equal(text, "    [", 5);
        assert_memory_equal(end - 2, "],", 2);
        for (const char *name = text + 5; name < end - 2;) {
            char *after;
            if (strncmp(name, "\"tok_embeddings\"", 16) == 0) {
                assert_true(n == 0 && layers[0] == 0);
                name += 16;
            } else if (strncmp(name, "\"norm\", \"output\"", 16) == 0) {
                assert_memory_equal(end + 1, "]", 1);
                name += 16;
            } else {
                assert_memory_equal(name, "\"layers.", 8);
                assert_int_equal(strtol(name + 8, &after, 10), next++);
                assert_int_equal(*after, '"');
                name = after + 1;
                layers[n]++;
            }
            name += strncmp(name, ", ", 2) == 0 ? 2 : 0;
        }
        n++;
    }
    return n;
}

/* The same from the split points: each begins a part. */
static int read_split_points(const char *text, int n_layers, int *layers)
{
    const char *list = strstr(text, "pipeline_parallel_split_points = [");
    int n = 0, before = 0;
    assert_non_null(list);
    for (const char *name = strchr(list, '['); *name != ']' && *name != '\n'; name += strcspn(name + 1, "\"],") + 1) {
        bool norm = strncmp(name, "\"norm\"", 6) == 0;
        if (!norm && strncmp(name, "\"layers.", 8) != 0)
            continue;
        int begin = norm ? n_layers : atoi(name + 8);
        layers[n++] = begin - before;
        before = begin;
    }
    layers[n++] = n_layers - before;
    return n;
}

/* The part that torchtitan gives a rank as its chunk: in a loop, or in a V. */
static int part_of(const ek_plan *plan, bool v_shaped, int rank, int chunk)
{
    int p = plan->n_stages;
    if (v_shaped)
        return chunk == 0 ? rank : 2 * p - 1 - rank;
    return rank + chunk * p;
}

static void torchtitan_parts_give_the_plan_or_say_that_they_do_not(void **state)
{
    (void)state;
    static const char *const v_schedules[] = {"zb-v", "dualpipev", "v-half", "v-min"};
    ek__random r = ek__random_seed(seed());
    int n_told = 0;
    for (int i = 0; i < N_RANDOM; i++) {
        ek_plan plan;
        bool v_shaped = ek__random_below(&r, 3) == 0;
        int p = 2 + ek__random_below(&r, 5), v = v_shaped ? 2 : 1 + ek__random_below(&r, 4);
        random_plan(&r, p, v, 1, &plan);
        /* The two that hold the embedding and the head may do without layers. */
        plan.layers[ek_cell_at(v_shaped ? EK_PLACE_V : EK_PLACE_WRAP, p, p * v - 1)] *= ek__random_below(&r, 4) > 0;
        plan.layers[0] *= ek__random_below(&r, 4) > 0;
        for (int c = 0; c < n_cells(&plan); c++) {
            int *lists[] = {plan.full, plan.select, plan.comm};
            for (int k = 0; k < 3; k++)
                lists[k][c] = lists[k][c] < plan.layers[c] ? lists[k][c] : plan.layers[c];
        }
        if (ek__random_below(&r, 2))
            follow_rule(&r, &plan);
        ek_emission e = emission_of(&plan);
        if (v_shaped)
            e.schedule = ek_schedule_find(v_schedules[ek__random_below(&r, 4)]);
        ek_telling told = EK_TELLS_NEAREST;
        char *text = emitted("torchtitan", &e, &told);
        int layers[MAX_CELLS], split[MAX_CELLS];
        assert_int_equal(read_parts(value_of(text, "module_fqns_per_model_part = ["), layers), n_cells(&plan));
        for (int s = 0; s < p; s++)
            for (int c = 0; c < v; c++)
                assert_int_equal(layers[part_of(&plan, v_shaped, s, c)], plan.layers[c * p + s]);
        assert_int_equal(read_split_points(text, e.n_layers, split), n_cells(&plan));
        assert_memory_equal(split, layers, (size_t)n_cells(&plan) * sizeof *layers);
        assert_int_equal(told, one_rule(&plan, false) ? EK_TELLS_PLAN : EK_TELLS_LAYERS);
        const char *mode = value_of(text, "mode = ");
        assert_int_equal(mode != NULL, told == EK_TELLS_PLAN);
        for (int c = 0; c < n_cells(&plan) && mode; c++) {
            ek_recompute kind = strncmp(mode, "\"none\"", 6) == 0   ? EK_RECOMPUTE_NONE
                                : strncmp(mode, "\"full\"", 6) == 0 ? EK_RECOMPUTE_FULL
                                                                    : EK_RECOMPUTE_SELECT;
            assert_int_equal(mix_of(&plan, c).n[kind], plan.layers[c]);
        }
        n_told += told == EK_TELLS_PLAN;
        free(text);
        ek_plan_clear(&plan);
    }
    assert_true(n_told > 100 && n_told < N_RANDOM - 100);
}

/* ---- the nearest plan ---- */

/* A model of one body kind with whole numbers as figures. */
typedef struct instance {
    ek_layer body;
    ek_layers layers;
    ek_order *order;
    ek_plan plan;
    ek_emission emission;
} instance;

static void random_model(ek__random *r, int n_layers, instance *x)
{
    static const double keep[EK_N_RECOMPUTE] = {1, 0.8, 0.7, 0.5, 0.1};
    x->body = (ek_layer){.name = "layer", .n_layers = n_layers, .forward_time = 1 + ek__random_below(r, 10)};
    x->body.parameter_mb = ek__random_below(r, 30);
    double activation = 10 * (1 + ek__random_below(r, 5));
    bool select = ek__random_below(r, 4) > 0, full = ek__random_below(r, 4) > 0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        x->body.modelled[k] = k != EK_RECOMPUTE_SELECT && k != EK_RECOMPUTE_FULL;
        x->body.backward_time[k] = 2 * x->body.forward_time + k;
        x->body.activation_mb[k] = activation * keep[k];
    }
    x->body.modelled[EK_RECOMPUTE_SELECT] = select;
    x->body.modelled[EK_RECOMPUTE_FULL] = full;
    x->layers = (ek_layers){.n_body = 1, .body = &x->body, .n_layers = n_layers, .const_mb = 5};
    x->layers.head.forward_time = ek__random_below(r, 3);
    x->layers.tail.forward_time = ek__random_below(r, 6);
    memcpy(x->layers.modelled, x->body.modelled, sizeof x->layers.modelled);
}

static void random_instance(ek__random *r, instance *x)
{
    static const char *const names[] = {"1f1b",  "interleaved", "interleaved-less-memory",
                                        "gpipe", "zb-h1",       "dualpipev"};
    const ek_schedule *schedule = ek_schedule_find(names[ek__random_below(r, 6)]);
    int p = 2 + ek__random_below(r, 3);
    ek_shape shape = {p, schedule->max_chunks == 1 ? 1 : 2, 2 * p, 0};
    random_plan(r, shape.n_stages, shape.n_chunks, ek__random_below(r, 2), &x->plan);
    random_model(r, total_layers(&x->plan), x);
    assert_int_equal(ek_order_new(schedule, &shape, &x->order, NULL), EK_OK);
    x->emission = (ek_emission){.name = "p",
                                .plan = &x->plan,
                                .n_layers = x->layers.n_layers,
                                .schedule = schedule,
                                .n_micro_batches = shape.n_micro_batches,
                                .layers = &x->layers,
                                .order = x->order};
}

static void clear_instance(instance *x)
{
    ek_order_free(x->order);
    ek_plan_clear(&x->plan);
}

/* A plan with the layers of another and every chunk's first `full` layers recomputed whole, or all selectively. */
static void uniform_plan(const ek_plan *like, int full, bool select, ek_plan *out)
{
    assert_int_equal(ek_plan_init(out, like->n_stages, like->n_chunks, NULL), EK_OK);
    for (int c = 0; c < n_cells(like); c++) {
        out->layers[c] = like->layers[c];
        out->full[c] = full < like->layers[c] ? full : like->layers[c];
        out->select[c] = select ? like->layers[c] : 0; /* the lists need not contain one another */
    }
}

/* Step and peak of a plan, computed again; false when the model does not support it. */
static bool simulate(const instance *x, const ek_plan *plan, double *step, double *peak, bool *within)
{
    ek_timeline timeline;
    if (ek_plan_check(plan, &x->layers, NULL) != EK_OK)
        return false;
    assert_int_equal(ek_simulate(x->order, plan, &x->layers, NULL, &timeline, NULL), EK_OK);
    *step = timeline.step_time;
    *peak = 0;
    *within = true;
    for (int s = 0; s < plan->n_stages; s++) {
        const ek_emission *e = &x->emission;
        double limit = e->stage_memory_mb ? e->stage_memory_mb[s] : e->memory_limit_mb;
        *peak = fmax(*peak, timeline.peak_mb[s]);
        *within = *within && (limit == 0 || timeline.peak_mb[s] <= limit);
    }
    ek_timeline_clear(&timeline);
    return true;
}

/* Every plan that the framework can express. */
static void try_all(const instance *x, bool partial, double own_peak, int *n, double *best_step, double *best_peak,
                    double *smallest_peak)
{
    bool limited = x->emission.memory_limit_mb > 0 || x->emission.stage_memory_mb;
    *best_step = *best_peak = *smallest_peak = INFINITY;
    *n = 0;
    for (int k = 0; k <= 11; k++) {
        if (!partial && k > 0 && k < 10)
            continue;
        ek_plan plan;
        double step, peak;
        bool within;
        uniform_plan(&x->plan, k == 11 ? 0 : k, k == 11, &plan);
        if (simulate(x, &plan, &step, &peak, &within)) {
            ++*n;
            *smallest_peak = fmin(*smallest_peak, peak);
            bool fits = limited ? within : peak <= own_peak;
            if (fits && (step < *best_step || (step == *best_step && peak < *best_peak))) {
                *best_step = step;
                *best_peak = peak;
            }
        }
        ek_plan_clear(&plan);
    }
}

static void the_nearest_plan_is_the_best_of_all_that_can_be_told(void **state)
{
    (void)state;
    ek__random r = ek__random_seed(seed());
    int n_nearest = 0, n_none = 0;
    for (int i = 0; i < 1000; i++) {
        instance x;
        double own_step, own_peak = 0, step, peak, smallest, limits[8];
        bool within, partial = ek__random_below(&r, 2), known;
        int n;
        ek__told told;
        random_instance(&r, &x);
        known = simulate(&x, &x.plan, &own_step, &own_peak, &within);
        if (!known || one_rule(&x.plan, partial)) { /* `convert` would not have read it; nothing to be nearest to */
            clear_instance(&x);
            continue;
        }
        int limit = ek__random_below(&r, 3);
        double room = own_peak * (0.1 + 1.2 * ek__random_unit(&r));
        for (int s = 0; s < 8; s++)
            limits[s] = room * (0.8 + 0.4 * ek__random_unit(&r));
        x.emission.memory_limit_mb = limit == 1 ? room : 0;
        x.emission.stage_memory_mb = limit == 2 ? limits : NULL;
        try_all(&x, partial, own_peak, &n, &step, &peak, &smallest);
        assert_int_equal(ek__tell(&x.emission, partial, &told, NULL), EK_OK);
        assert_close_to(told.own.step_time, own_step, 0);
        if (isfinite(step)) {
            assert_int_equal(told.telling, EK_TELLS_NEAREST);
            assert_close_to(told.nearest.step_time, step, 0);
            assert_close_to(told.nearest.peak_mb, peak, 1e-9);
            ek_plan plan;
            double again, again_peak;
            assert_int_equal(ek__rule_plan(&x.plan, told.rule, &plan, NULL), EK_OK);
            assert_true(one_rule(&plan, partial));
            assert_memory_equal(plan.layers, x.plan.layers, (size_t)n_cells(&plan) * sizeof(int));
            assert_true(simulate(&x, &plan, &again, &again_peak, &within));
            assert_close_to(again, step, 0);
            ek_plan_clear(&plan);
            n_nearest++;
        } else {
            assert_int_equal(told.telling, EK_TELLS_LAYERS);
            assert_close_to(told.nearest.peak_mb, smallest, 1e-9);
            n_none++;
        }
        /* Recomputing the first 9 layers of every chunk is recomputing all; smaller chunks make more of them alike. */
        assert_true(told.n_judged <= n && told.n_judged >= 1);
        clear_instance(&x);
    }
    print_message("# %d nearest plans, %d times nothing fits\n", n_nearest, n_none);
    assert_true(n_nearest > 50 && n_none > 50);
}

/* ---- goldens ---- */

/* One chunk, uneven, the first 2 layers of each recomputed; two chunks of all kinds; the same in a V. */
static void golden_plan(int which, instance *x)
{
    static const int layers[3][8] = {{3, 4, 4, 5}, {2, 3, 3, 3, 3, 3, 4, 3}, {2, 3, 3, 3, 3, 3, 4, 3}};
    static const int full[3][8] = {{2, 2, 2, 2}, {1, 0, 2, 0, 0, 1, 0, 0}, {1, 0, 2, 0, 0, 1, 0, 0}};
    static const int select[3][8] = {{0}, {2, 1, 3, 2, 0, 1, 0, 0}, {2, 1, 3, 2, 0, 1, 0, 0}};
    static const char *const schedule[] = {"1f1b", "interleaved", "dualpipev"};
    ek_shape shape = {4, which == 0 ? 1 : 2, 8, 0};
    *x = (instance){0};
    assert_int_equal(ek_plan_init(&x->plan, 4, shape.n_chunks, NULL), EK_OK);
    size_t size = (size_t)n_cells(&x->plan) * sizeof(int);
    memcpy(x->plan.layers, layers[which], size);
    memcpy(x->plan.full, full[which], size);
    memcpy(x->plan.select, select[which], size);
    x->body = fixture_layer("Decoder", total_layers(&x->plan), 2, 512, 256);
    x->layers =
        (ek_layers){.name = "small", .n_body = 1, .body = &x->body, .n_layers = x->body.n_layers, .const_mb = 128};
    x->layers.head = fixture_layer("Embedding", 1, 0.5, 640, 0);
    x->layers.tail = fixture_layer("Head", 1, 1.25, 704, 0);
    memcpy(x->layers.modelled, x->body.modelled, sizeof x->layers.modelled);
    assert_int_equal(ek_order_new(ek_schedule_find(schedule[which]), &shape, &x->order, NULL), EK_OK);
    x->emission = (ek_emission){.name = "small",
                                .plan = &x->plan,
                                .n_layers = x->layers.n_layers,
                                .schedule = ek_order_schedule(x->order),
                                .n_micro_batches = 8,
                                .layers = &x->layers,
                                .order = x->order,
                                .memory_limit_mb = 5200};
}

static void check_golden(const char *name, int n_plans)
{
    char *all = NULL, file[64];
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    assert_non_null(out);
    for (int i = 0; i < n_plans; i++) {
        instance x;
        golden_plan(i, &x);
        char *text = emitted(name, &x.emission, NULL);
        fprintf(out, "%s%s", i ? "\n" : "", text);
        free(text);
        clear_instance(&x);
    }
    assert_int_equal(fclose(out), 0);
    snprintf(file, sizeof file, "emit_%s.txt", name);
    assert_golden(file, all);
    free(all);
}

static void settings_match_their_goldens(void **state)
{
    (void)state;
    check_golden("mindformers", 3);
    check_golden("mindspeed", 2);
    check_golden("megatron", 2);
    check_golden("torchtitan", 3);
}

/* ---- refusals and messages ---- */

static void assert_refused(const char *name, const ek_emission *e, const char *want)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    ek_telling told = EK_TELLS_NEAREST;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(ek_emitter_find(name)->write(e, out, &told, &err), EK_ERR_INPUT);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(size, 0);
    assert_int_equal(told, EK_TELLS_NEAREST);
    assert_says(err.message, want);
    free(text);
}

static void layers_that_cannot_be_told_are_refused(void **state)
{
    (void)state;
    ek_layer body;
    const ek_layers eight = ek_layers_bare(8, &body);
    ek_plan one, two, stacked, empty;
    assert_int_equal(ek_plan_even(&eight, 4, 1, EK_RECOMPUTE_NONE, &one, NULL), EK_OK);
    assert_int_equal(ek_plan_even(&eight, 4, 2, EK_RECOMPUTE_NONE, &two, NULL), EK_OK);
    assert_int_equal(ek_plan_even(&eight, 1, 2, EK_RECOMPUTE_NONE, &stacked, NULL), EK_OK);
    assert_int_equal(ek_plan_even(&eight, 4, 1, EK_RECOMPUTE_NONE, &empty, NULL), EK_OK);
    empty.layers[1] = 0;
    empty.layers[2] = 4;
    static const char *const v_shaped[] = {"zb-v", "v-half", "v-min", "dualpipev"};
    for (int i = 0; i < 4; i++) {
        ek_emission e = emission_of(&two);
        e.schedule = ek_schedule_find(v_shaped[i]);
        assert_refused("megatron", &e, v_shaped[i]);
        assert_refused("mindspeed", &e, "chunks run down the stages and back up");
    }
    for (const ek_emitter *const *emitter = ek_emitters; *emitter; emitter++) {
        ek_emission e = emission_of(&one);
        e.schedule = ek_schedule_find("dualpipe");
        assert_refused((*emitter)->name, &e, "schedule dualpipe: its chunks are held by two stages each");
    }
    ek_emission e = emission_of(&stacked);
    assert_refused("megatron", &e, "2 chunks on one stage");
    assert_refused("mindspeed", &e, "2 chunks on one stage");
    assert_refused("torchtitan", &e, "2 chunks on one stage");
    e = emission_of(&empty);
    assert_refused("mindspeed", &e, "chunk 0 of stage 1 without layers");
    assert_refused("torchtitan", &e, "chunk 0 of stage 1 without layers");
    ek_plan_clear(&one);
    ek_plan_clear(&two);
    ek_plan_clear(&stacked);
    ek_plan_clear(&empty);
}

/* Every schedule is either refused or named, and another order is admitted. */
static void every_schedule_has_an_answer(void **state)
{
    (void)state;
    ek_layer body;
    const ek_layers eight = ek_layers_bare(8, &body);
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        ek_plan plan;
        int n_told = 0;
        assert_int_equal(ek_plan_even(&eight, 4, (*s)->min_chunks, EK_RECOMPUTE_NONE, &plan, NULL), EK_OK);
        ek_emission e = emission_of(&plan);
        e.schedule = *s;
        e.n_micro_batches = 8;
        for (const ek_emitter *const *emitter = ek_emitters; *emitter; emitter++) {
            char *text = NULL;
            size_t size = 0;
            FILE *out = open_memstream(&text, &size);
            ek_status status = (*emitter)->write(&e, out, NULL, NULL);
            assert_int_equal(fclose(out), 0);
            assert_true(status == EK_OK || status == EK_ERR_INPUT);
            bool usual = *s == ek_schedule_default(1, 0) || *s == ek_schedule_default(2, 0);
            if (usual) {
                assert_int_equal(status, EK_OK);
                assert_silent(text, "Careful");
            }
            n_told += status == EK_OK;
            free(text);
        }
        assert_int_equal(n_told == 0, (*s)->placement == EK_PLACE_BOTH_WAYS);
        ek_plan_clear(&plan);
    }
}

static void comments_say_what_does_not_hold(void **state)
{
    (void)state;
    instance x;
    golden_plan(1, &x);
    x.emission.schedule = ek_schedule_find("interleaved-less-memory");
    char *text = emitted("megatron", &x.emission, NULL);
    assert_says(text, "Careful: the plan is made for the schedule interleaved-less-memory.");
    free(text);
    x.emission.n_micro_batches = 10;
    text = emitted("megatron", &x.emission, NULL);
    assert_says(text, "Careful: it refuses 10 micro-batches");
    free(text);
    text = emitted("torchtitan", &x.emission, NULL);
    assert_says(text, "Careful: Interleaved1F1B groups micro-batches");
    free(text);
    x.emission.n_micro_batches = 9;
    text = emitted("torchtitan", &x.emission, NULL);
    assert_says(text, "Careful: Interleaved1F1B wants the micro-batches to be a multiple of 2.");
    free(text);
    x.emission.n_micro_batches = 2;
    text = emitted("mindformers", &x.emission, NULL);
    assert_says(text, "Careful: MindSpore wants micro_batch_num to be at least pipeline_stage.");
    free(text);
    x.emission.n_micro_batches = 0;
    x.emission.order = NULL;
    text = emitted("mindformers", &x.emission, NULL);
    assert_says(text, "Step and peak are not known");
    assert_null(value_of(text, "micro_batch_num:"));
    free(text);
    x.emission.name = "two\nlines";
    x.emission.n_pieces = 4;
    x.emission.schedule = ek_schedule_find("sequence");
    text = emitted("mindformers", &x.emission, NULL);
    assert_says(text, "# Plan 'two?lines'");
    assert_says(text, "pipeline_scheduler: 'seqpipe'\n");
    assert_says(text, "seq_split_num: 4\n");
    free(text);
    clear_instance(&x);
}

/* The limit that the first two evaluated plans satisfy, and one that none satisfies. */
static void a_nearest_plan_says_what_it_costs(void **state)
{
    (void)state;
    instance x;
    ek_telling told;
    golden_plan(1, &x);
    x.emission.memory_limit_mb = 1e6;
    char *text = emitted("megatron", &x.emission, &told);
    assert_int_equal(told, EK_TELLS_NEAREST);
    assert_says(text, "The first chunk that prevents one is chunk 0 of stage 0, with 1 select, 1 full.");
    assert_says(text, "is set below: no recomputation.");
    assert_null(value_of(text, "--recompute-granularity"));
    free(text);
    x.emission.memory_limit_mb = 100;
    text = emitted("megatron", &x.emission, &told);
    assert_int_equal(told, EK_TELLS_LAYERS);
    assert_says(text, "none fits into 100 MB");
    assert_says(text, "with full recomputation of every layer");
    free(text);
    x.layers.modelled[EK_RECOMPUTE_FULL] = x.layers.modelled[EK_RECOMPUTE_SELECT] = false;
    x.layers.modelled[EK_RECOMPUTE_NONE] = false;
    text = emitted("torchtitan", &x.emission, &told);
    assert_int_equal(told, EK_TELLS_LAYERS);
    assert_says(text, "the model does not know the kinds");
    free(text);
    clear_instance(&x);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    instance x;
    golden_plan(0, &x);
    for (const ek_emitter *const *emitter = ek_emitters; *emitter; emitter++) {
        FILE *out = need_full_disk();
        ek_error err = {0};
        assert_int_equal((*emitter)->write(&x.emission, out, NULL, &err), EK_ERR_SYSTEM);
        assert_says(err.message, "disk full");
        fclose(out);
    }
    clear_instance(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"MindFormers' lists are the plan's layers and kinds", mindformers_lists_are_the_plan, NULL, NULL, NULL},
        {"MindSpeed's lists give the plan's layers and kinds", mindspeed_lists_give_the_kinds_of_the_plan, NULL, NULL,
         NULL},
        {"Megatron's flags give the plan, or say that they do not",
         megatron_flags_give_the_plan_or_say_that_they_do_not, NULL, NULL, NULL},
        {"layouts use repetitions where they are shorter", layouts_are_short, NULL, NULL, NULL},
        {"torchtitan's parts give the plan, or say that they do not",
         torchtitan_parts_give_the_plan_or_say_that_they_do_not, NULL, NULL, NULL},
        {"the nearest plan is the best of all that can be told", the_nearest_plan_is_the_best_of_all_that_can_be_told,
         NULL, NULL, NULL},
        {"settings match their golden files", settings_match_their_goldens, NULL, NULL, NULL},
        {"layers that cannot be told are refused", layers_that_cannot_be_told_are_refused, NULL, NULL, NULL},
        {"every schedule is told or refused", every_schedule_has_an_answer, NULL, NULL, NULL},
        {"comments say what does not hold", comments_say_what_does_not_hold, NULL, NULL, NULL},
        {"a nearest plan says what it costs", a_nearest_plan_says_what_it_costs, NULL, NULL, NULL},
        {"a full disk is reported", a_full_disk_is_reported, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
