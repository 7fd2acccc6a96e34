/* Tests the sequence pipeline: the training file's shapes, the model of a piece against figures computed by hand, and
 * the order of the pieces, replayed here after the specification. Refused training files are in
 * tests/data/bad/train. */
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <math.h>

#include "evenkeel/job.h"
#include "evenkeel/layers.h"
#include "evenkeel/sequence.h"
#include "evenkeel/simulate.h"

static void read_shapes(const char *text, ek_job *job)
{
    char path[] = "/tmp/ek_train_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fputs(text, file);
    fclose(file);
    ek_error err = {0};
    ek_status status = ek_job_read_part(path, EK_JOB_SHAPES, NULL, job, &err);
    remove(path);
    if (status)
        fail_msg("%s\n%d:%d: %s", text, err.line, err.column, err.message);
}

/* ---- the training file ---- */

static void shapes_are_read_under_every_name(void **state)
{
    (void)state;
    static const struct {
        const char *what, *model;
        int heads, head_dim, intermediate, vocabulary, sequence;
    } cases[] = {
        {"Llama, stated", "num_heads: 32, seq_length: 8192, vocab_size: 32000, intermediate_size: 11008", 32, 128,
         11008, 32000, 8192},
        {"Llama, 4096: 2/3 of 16384 is 10922, up to 43 x 256",
         "num_heads: 32, seq_length: 1, vocab_size: 9, multiple_of: 256", 32, 128, 11008, 9, 1},
        {"with a multiplier: int(1.31 x 16384) = 21463, 2/3 of it 14308, up to 56 x 256",
         "n_heads: 64, seq_len: 10, vocab_size: 9, multiple_of: 256, ffn_dim_multiplier: 1.3", 64, 64, 14336, 9, 10},
        {"a multiplier alone rounds up to 256 too", "n_heads: 64, seq_len: 10, vocab_size: 9, ffn_dim_multiplier: 1.3",
         64, 64, 14336, 9, 10},
        {"rounding to 1000", "n_heads: 64, seq_len: 10, vocab_size: 9, multiple_of: 1000", 64, 64, 11000, 9, 10},
        {"GLM",
         "num_attention_heads: 32, kv_channels: 100, seq_length: 8, padded_vocab_size: 7, ffn_hidden_size: 13696", 32,
         100, 13696, 7, 8},
        {"stated wins over multiple_of",
         "num_heads: 3, head_dim: 9, seq_length: 8, vocab_size: 7, intermediate_size: 5, "
         "multiple_of: 256",
         3, 9, 5, 7, 8},
        {"latent attention: a key has 128 + 64, a value 128",
         "num_heads: 128, seq_length: 8, vocab_size: 7, "
         "intermediate_size: 5, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128",
         128, 160, 5, 7, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        ek_job t;
        snprintf(
            text, sizeof text,
            "model: {model_config: {hidden_size: 4096, batch_size: 2, %s}}\nparallel_config: {model_parallel: 4}\n",
            cases[i].model);
        read_shapes(text, &t);
        const ek_job_model *m = &t.model;
        int head_dim = (m->head_dim + m->value_dim + 1) / 2; /* of a key and a value, as pieces count */
        if (m->n_heads != cases[i].heads || head_dim != cases[i].head_dim || m->vocab != cases[i].vocabulary ||
            m->intermediate != cases[i].intermediate || t.parallel.seq_length != cases[i].sequence)
            fail_msg("%s: heads %d x %d, intermediate %d, vocabulary %d, sequence %d", cases[i].what, m->n_heads,
                     head_dim, m->intermediate, m->vocab, t.parallel.seq_length);
        assert_int_equal(m->hidden, 4096);
        assert_int_equal(t.parallel.batch, 2);
        assert_int_equal(t.parallel.tensor, 4);
        assert_int_equal(t.parallel.context, 1);
        ek_job_clear(&t);
    }
}

static void a_whole_training_file_is_read(void **state)
{
    (void)state;
    ek_job t;
    ek_error err = {0};
    const char *path = source_path("tests/data/small_train.yaml");
    if (ek_job_read_part(path, EK_JOB_SHAPES, NULL, &t, &err))
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    assert_int_equal(t.parallel.batch, 3); /* of the runner, through an alias */
    assert_int_equal(t.parallel.seq_length, 16384);
    assert_int_equal(t.model.hidden, 512);
    assert_int_equal(t.model.n_heads, 8);
    assert_int_equal(t.model.head_dim, 64);
    assert_int_equal(t.model.value_dim, 64);
    assert_int_equal(t.model.intermediate, 1536); /* 4 x 512 x 2 / 3 = 1365, up to 6 x 256 */
    assert_int_equal(t.model.vocab, 512);
    assert_int_equal(t.parallel.tensor, 2);
    assert_string_equal(t.path, path);
    assert_true(t.seq_line > 1 && t.seq_column > 1);
    ek_job_clear(&t);
    if (ek_job_read_part(path, EK_JOB_SIZES, NULL, &t, &err))
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    assert_int_equal(t.plan.n_stages, 6);
    assert_int_equal(t.plan.n_chunks, 2);
    assert_int_equal(t.parallel.n_micro_batches, 12);
    assert_int_equal(t.parallel.n_pieces, 2);
    ek_job_clear(&t);
    ek_job_clear(&t);
}

static void outputs_stay_untouched_on_failure(void **state)
{
    (void)state;
    ek_job t = {.parallel = {.batch = 77}};
    const char *path = source_path("tests/data/bad/train/no_model.yaml");
    assert_int_equal(ek_job_read_part(path, EK_JOB_SHAPES, NULL, &t, NULL), EK_ERR_INPUT);
    assert_int_equal(ek_job_read_part("no/such/train.yaml", EK_JOB_SHAPES, NULL, &t, NULL), EK_ERR_SYSTEM);
    assert_int_equal(t.parallel.batch, 77);
    assert_null(t.path);
}

/* Published training files; a template among them leaves every shape to another file. */
static void read_all(const char *folder, int least)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    int n_read = 0, n_refused = 0;
    for (struct dirent *entry; (entry = readdir(files));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".yaml") != 0)
            continue;
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ek_job t;
        ek_error err = {0};
        if (ek_job_read_part(path, EK_JOB_SHAPES, NULL, &t, &err) == EK_OK) {
            n_read++;
            assert_true(t.parallel.seq_length >= 4096 && t.model.intermediate >= t.model.hidden);
            ek_job_clear(&t);
            assert_int_equal(ek_job_read_part(path, EK_JOB_SIZES, NULL, &t, &err), EK_OK);
            assert_true(t.plan.n_stages >= 1);
            ek_job_clear(&t);
        } else {
            n_refused++;
            print_message("# %s:%d:%d: %s\n", entry->d_name, err.line, err.column, err.message);
            assert_string_equal(entry->d_name, "llm_pretrain_dense_template.yaml");
            assert_non_null(strstr(err.message, "model.model_config.hidden_size is missing"));
        }
    }
    closedir(files);
    print_message("# %d read, %d refused\n", n_read, n_refused);
    assert_true(n_read >= least && n_refused <= 1);
}

static void training_files_of_public_models_are_read(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    read_all(folder, 11);
}

static void published_training_files_are_read(void **state)
{
    (void)state;
    read_all(need_shared("reference/configs"), 29);
}

/* ---- pieces ---- */

static void short_pieces_are_not_cut(void **state)
{
    (void)state;
    static const struct {
        int tokens, wanted, pieces, warnings;
    } cases[] = {
        {16384, 1, 1, 0}, {16384, 2, 2, 0}, {16384, 4, 4, 0}, {16384, 8, 4, 1}, {4096, 2, 1, 1},  {4096, 4, 1, 1},
        {8191, 2, 1, 1},  {8192, 2, 2, 0},  {8192, 3, 2, 1},  {2048, 4, 1, 1},  {32768, 5, 5, 1}, {100, 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said s = {{0}, 0, 0};
        const ek_listener listener = {say_warning, &s};
        const ek_job t = {.path = "t", .parallel.seq_length = cases[i].tokens, .seq_line = 3, .seq_column = 4};
        int pieces = ek_sequence_pieces(&t, cases[i].wanted, &listener);
        if (pieces != cases[i].pieces || s.n_warnings != cases[i].warnings)
            fail_msg("%d tokens, %d wanted: %d pieces, %s", cases[i].tokens, cases[i].wanted, pieces, s.text);
        assert_int_equal(ek_sequence_pieces(&t, cases[i].wanted, NULL), cases[i].pieces);
    }
}

/* ---- the model of a piece ---- */

/* B 1, S 8192, h 1024, H 8, D 128, V 32768, intermediate 4096. kv = 2 x 8 x 8192 x 128 B / t = 16 MB / t; 2BSh = 16 MB;
 * 2BS intermediate = 64 MB; loss = 4 x 8192 x 32768 B / t = 1024 MB / t. */
static ek_job shapes(int t)
{
    return (ek_job){
        .path = "train.yaml",
        .model =
            {.hidden = 1024, .n_heads = 8, .head_dim = 128, .value_dim = 128, .intermediate = 4096, .vocab = 32768},
        .parallel = {.batch = 1, .seq_length = 8192, .tensor = t, .context = 1}};
}

static ek_layer full_body(void)
{
    return (ek_layer){.name = "layer",
                      .n_layers = 12,
                      .forward_time = 12,
                      .backward_time = {24, 26, 27, 28, 36},
                      .parameter_mb = 300,
                      .activation_mb = {232, 132, 112, 72, 40},
                      .modelled = {true, true, true, true, true}};
}

static ek_layers model_of(ek_layer *body, int n_body)
{
    ek_layers layers = {
        .name = "toy",
        .head = {.n_layers = 1, .forward_time = 4, .backward_time = {8}, .parameter_mb = 500},
        .tail = {.n_layers = 1, .forward_time = 8, .backward_time = {16}, .parameter_mb = 4000, .activation_mb = {33}},
        .n_body = n_body,
        .body = body,
        .n_layers = n_body * 12,
        .const_mb = 100};
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        layers.modelled[k] = true;
        for (int b = 0; b < n_body; b++)
            layers.modelled[k] &= body[b].modelled[k];
    }
    return layers;
}

static void a_piece_costs_what_the_formulas_say(void **state)
{
    (void)state;
    static const struct {
        int t, k;
        double activation[4], parameter, head, tail;
    } cases[] = {
        /* kv 16: (232 - 32) / 2 + 32; 300 + 64; 500 - (16 + 64) / 2; 4000 - 1.5 x 1024 + 512 */
        {1, 2, {132, 82, 72, 52}, 364, 460, 2976},
        {1, 4, {82, 57, 52, 42}, 364, 440, 2464},
        /* kv 8: (232 - 16) / 2 + 16; 300 + 32; 500 - (2 x 16 / 2 + 16) / 2; 4000 - 1.5 x 512 + 256 */
        {2, 2, {124, 74, 64, 44}, 332, 484, 3488},
        {4, 4, {64, 39, 34, 24}, 316, 482, 3616},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said s = {{0}, 0, 0};
        const ek_listener listener = {say_warning, &s};
        ek_job t = shapes(cases[i].t);
        ek_layer body = full_body();
        ek_layers in = model_of(&body, 1), out;
        int k = cases[i].k;
        assert_int_equal(ek_layers_split_sequence(&in, &t, k, &listener, &out, NULL), EK_OK);
        for (int r = 0; r < EK_RECOMPUTE_FULL; r++) {
            if (fabs(out.body[0].activation_mb[r] - cases[i].activation[r]) > 1e-9)
                fail_msg("case %zu, %s: %g", i, ek_recompute_name[r], out.body[0].activation_mb[r]);
            assert_true(out.body[0].backward_time[r] == body.backward_time[r] / k);
        }
        assert_true(fabs(out.body[0].parameter_mb - cases[i].parameter) < 1e-9);
        assert_true(fabs(out.head.parameter_mb - cases[i].head) < 1e-9);
        assert_true(fabs(out.tail.parameter_mb - cases[i].tail) < 1e-9);
        assert_true(out.tail.activation_mb[0] == 33 && out.const_mb == 100);
        assert_true(out.body[0].forward_time == 12.0 / k && out.head.forward_time == 4.0 / k);
        assert_true(out.head.backward_time[0] == 8.0 / k && out.tail.forward_time == 8.0 / k);
        assert_false(out.modelled[EK_RECOMPUTE_FULL] || out.body[0].modelled[EK_RECOMPUTE_FULL]);
        assert_string_equal(s.text,
                            "0:0: warning: full recomputation does not go with sequence pieces and is not used\n");
        ek_layers_clear(&out);
    }
}

static void one_piece_is_the_model_itself(void **state)
{
    (void)state;
    ek_job t = shapes(1);
    ek_layer body = full_body();
    ek_residual residual = {0, 1, 10, 11};
    ek_layers in = model_of(&body, 1), out;
    in.fit = (ek_memory_fit){.n_residuals = 1, .residual = &residual};
    assert_int_equal(ek_layers_split_sequence(&in, &t, 1, NULL, &out, NULL), EK_OK);
    assert_memory_equal(out.body, &body, sizeof body);
    assert_memory_equal(out.fit.residual, &residual, sizeof residual);
    assert_true(out.head.parameter_mb == 500 && out.tail.parameter_mb == 4000 && out.modelled[EK_RECOMPUTE_FULL]);
    ek_layers_clear(&out);
}

static void memory_that_does_not_go_with_the_shapes_is_said(void **state)
{
    (void)state;
    said s = {{0}, 0, 0};
    const ek_listener listener = {say_warning, &s};
    ek_job t = shapes(1);
    t.parallel.context = 4;
    ek_layer body = full_body();
    body.modelled[EK_RECOMPUTE_FULL] = false;
    body.activation_mb[EK_RECOMPUTE_BOTH] = 20;
    ek_layers in = model_of(&body, 1), out;
    in.head.parameter_mb = 30;
    in.tail.parameter_mb = -7;
    assert_int_equal(ek_layers_split_sequence(&in, &t, 2, &listener, &out, NULL), EK_OK);
    assert_true(out.head.parameter_mb == 0 && out.tail.parameter_mb == -7);
    assert_string_equal(
        s.text,
        "0:0: warning: keys and values take 32 MB by this file, but layer 'layer' holds less than that; do its shapes "
        "belong to this model?\n"
        "0:0: warning: context_parallel is 4, which the memory of sequence pieces does not know; it counts as 1\n"
        "0:0: warning: sequence pieces would take 40 MB off the head's 30 MB; it counts as 0 MB. Do its shapes belong "
        "to "
        "this model?\n"
        "0:0: warning: sequence pieces would take 1024 MB off the tail's -7 MB; it counts as -7 MB. Do its shapes "
        "belong "
        "to this model?\n");
    ek_layers_clear(&out);
}

static void a_model_with_nothing_but_full_recomputation_is_refused(void **state)
{
    (void)state;
    ek_job t = shapes(1);
    ek_layer bodies[2] = {full_body(), full_body()};
    memset(bodies[1].modelled, 0, EK_RECOMPUTE_FULL * sizeof(bool));
    ek_layers in = model_of(bodies, 2), out = {.n_layers = 77};
    ek_error err;
    assert_int_equal(ek_layers_split_sequence(&in, &t, 2, NULL, &out, &err), EK_ERR_INPUT);
    assert_int_equal(out.n_layers, 77);
    assert_non_null(strstr(err.message, "layer 'layer' is only known with full recomputation"));
}

/* ---- the order of pieces ---- */

enum { MAX_P = 16, MAX_N = 24 * 8 * 4 };

typedef struct orders {
    ek_shape shape;
    int n; /* blocks of a stage */
    ek_block blocks[MAX_P][2 * MAX_N];
} orders;

static void fill(orders *o, const char *schedule, int p, int v, int m, int k)
{
    o->shape = (ek_shape){.n_stages = p, .n_chunks = v, .n_micro_batches = m * k, .n_pieces = k};
    o->n = 2 * v * m * k;
    for (int s = 0; s < p; s++)
        ek_schedule_find(schedule)->stage_order(&o->shape, s, o->blocks[s]);
}

/* Run the stages' lists, a block as soon as its chain and, within its micro-batch and stage, the piece before (forward)
 * or after it (backward) are done. Returns the number of blocks that ran. */
static int replay(const orders *o, int most_alive[MAX_P])
{
    static bool forward[MAX_P * 4][MAX_N], backward[MAX_P * 4][MAX_N]; /* [position][piece] */
    memset(forward, 0, sizeof forward);
    memset(backward, 0, sizeof backward);
    int p = o->shape.n_stages, last = p * o->shape.n_chunks - 1, k = o->shape.n_pieces, ran = 0;
    int next[MAX_P] = {0}, alive[MAX_P] = {0};
    for (bool moved = true; moved;) {
        moved = false;
        for (int s = 0; s < p; s++) {
            for (; next[s] < o->n; next[s]++, ran++, moved = true) {
                const ek_block *b = &o->blocks[s][next[s]];
                int at = b->chunk * p + s, j = (int)b->micro_batch;
                bool ready = b->kind == EK_FORWARD
                                 ? (at == 0 || forward[at - 1][j]) && (j % k == 0 || forward[at][j - 1])
                                 : (at == last ? forward[at][j] : backward[at + 1][j]) &&
                                       ((j + 1) % k == 0 || backward[at][j + 1]);
                bool *done = b->kind == EK_FORWARD ? &forward[at][j] : &backward[at][j];
                if (!ready || *done)
                    break;
                *done = true;
                alive[s] += b->kind == EK_FORWARD ? 1 : -1;
                most_alive[s] = alive[s] > most_alive[s] ? alive[s] : most_alive[s];
            }
        }
    }
    return ran;
}

static void pieces_never_wait_for_one_another_and_few_are_alive(void **state)
{
    (void)state;
    static orders o;
    for (int p = 1; p <= 16; p++)
        for (int m = 1; m <= 24; m += m < 8 ? 1 : 4)
            for (int k = 1; k <= 8; k++) {
                int alive[MAX_P] = {0};
                fill(&o, "sequence", p, 1, m, k);
                if (replay(&o, alive) != o.n * p)
                    fail_msg("deadlock with p %d, m %d, k %d", p, m, k);
                for (int s = 0; s < p; s++) {
                    int bound = p - s + k - 1 < m * k ? p - s + k - 1 : m * k;
                    if (alive[s] != bound)
                        fail_msg("p %d, m %d, k %d: stage %d holds %d, not %d", p, m, k, s, alive[s], bound);
                }
            }
}

static void interleaved_pieces_never_wait_for_one_another(void **state)
{
    (void)state;
    static orders o;
    for (int p = 1; p <= 16; p++)
        for (int v = 2; v <= 4; v++)
            for (int m = 1; m <= 24; m += m < 8 ? 1 : 3)
                for (int k = 1; k <= 8; k++) {
                    int alive[MAX_P] = {0};
                    fill(&o, "sequence", p, v, m, k);
                    if (replay(&o, alive) != o.n * p)
                        fail_msg("deadlock with p %d, v %d, m %d, k %d", p, v, m, k);
                }
}

static void one_piece_gives_the_plain_orders(void **state)
{
    (void)state;
    static orders with, without;
    for (int p = 1; p <= 16; p++)
        for (int v = 1; v <= 4; v++)
            for (int m = v == 1 ? 1 : p; m <= 24; m++) {
                fill(&with, "sequence", p, v, m, 1);
                fill(&without, v == 1 ? "1f1b" : "interleaved", p, v, m, 1);
                for (int s = 0; s < p; s++)
                    assert_memory_equal(with.blocks[s], without.blocks[s], (size_t)with.n * sizeof(ek_block));
            }
}

/* Equal stages: the last one computes without a pause from the first piece's arrival, and with groups of at least p
 * pieces so does every chunk: the bubble is that of micro-batches, divided by k. */
static void equal_stages_take_the_closed_form(void **state)
{
    (void)state;
    static const int cases[][4] = {{1, 1, 1, 1}, {4, 1, 3, 4},  {16, 1, 24, 8}, {4, 1, 1, 8},
                                   {4, 2, 4, 2}, {6, 3, 12, 2}, {8, 2, 6, 4},   {3, 4, 5, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int p = cases[i][0], v = cases[i][1], n = cases[i][2] * cases[i][3];
        const ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = n, .n_pieces = cases[i][3]};
        ek_order *order;
        ek_error err;
        if (ek_order_new(ek_schedule_find("sequence"), &shape, &order, &err))
            fail_msg("case %zu: %s", i, err.message);
        ek_chunk_cost *cost = calloc((size_t)(p * v), sizeof *cost);
        double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
        for (int c = 0; c < p * v; c++) {
            cost[c].forward_time = 1;
            cost[c].backward_time = 2;
        }
        double step = ek_order_step_time(order, cost, NULL, scratch);
        if (step != 3 * (v * n + p - 1))
            fail_msg("case %zu: %g, not %d", i, step, 3 * (v * n + p - 1));
        free(scratch);
        free(cost);
        ek_order_free(order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_read_under_every_name),
        cmocka_unit_test(a_whole_training_file_is_read),
        cmocka_unit_test(outputs_stay_untouched_on_failure),
        cmocka_unit_test(training_files_of_public_models_are_read),
        cmocka_unit_test(published_training_files_are_read),
        cmocka_unit_test(short_pieces_are_not_cut),
        cmocka_unit_test(a_piece_costs_what_the_formulas_say),
        cmocka_unit_test(one_piece_is_the_model_itself),
        cmocka_unit_test(memory_that_does_not_go_with_the_shapes_is_said),
        cmocka_unit_test(a_model_with_nothing_but_full_recomputation_is_refused),
        cmocka_unit_test(pieces_never_wait_for_one_another_and_few_are_alive),
        cmocka_unit_test(interleaved_pieces_never_wait_for_one_another),
        cmocka_unit_test(one_piece_gives_the_plain_orders),
        cmocka_unit_test(equal_stages_take_the_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
