/* Tests drawings of characters: golden files of small plans, and invariants of any drawing - columns add up to busy
 * shares, idle time is not drawn as work, colours change no character, no line is wider than the terminal. */
#include "report_fixture.h"

#include <ctype.h>
#include <math.h>

#include "evenkeel/schedule.h"
#include "evenkeel/uniform.h"
#include "evenkeel/write.h"
#include "report/plot_internal.h"

enum { LEFT = 7, MOST_STAGES = 4, MOST_BLOCKS = 250 };

/* ---- drawings ---- */

static char *strip_of(const ek_plot *plot, const ek__strip *strip)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek__plot_strip(plot, strip, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *bars_of(const ek_plot *plot, const ek__bars *bars)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek__plot_bars(plot, bars, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static ek__strip strip_for(const ek_timeline *t)
{
    return (ek__strip){.timeline = t, .span = t->step_time, .scale = 1, .unit = "the unit of the given times"};
}

/* The row of a stage, from its border on; NULL where it is not drawn. */
static const char *row_of(const char *text, int stage)
{
    char begin[16];
    snprintf(begin, sizeof begin, "\n%5d |", stage);
    const char *row = strstr(text, begin);
    return row ? row + LEFT + 1 : NULL;
}

/* ---- golden files ---- */

typedef struct collected {
    char *text;
    size_t size;
    FILE *out;
} collected;

static void begin(collected *c)
{
    c->out = open_memstream(&c->text, &c->size);
    assert_non_null(c->out);
}

static void match(collected *c, const char *golden)
{
    assert_int_equal(fclose(c->out), 0);
    assert_golden(golden, c->text);
    free(c->text);
}

/* One timeline at several widths, in ASCII and in UTF-8, and in colour. */
static void timeline_matches(const char *golden, const ek_timeline *t)
{
    static const ek_plot plots[] = {{.columns = 40, .rows = 16},
                                    {.columns = 80, .rows = 16},
                                    {.columns = 120, .rows = 16},
                                    {.columns = 120, .rows = 16, .utf8 = true},
                                    {.columns = 80, .rows = 16, .utf8 = true, .color = true}};
    collected c;
    begin(&c);
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++) {
        const ek__strip strip = strip_for(t);
        char *text = strip_of(&plots[i], &strip);
        fprintf(c.out, "== %s, %d columns, %s%s\n%s", t->schedule->name, plots[i].columns,
                plots[i].utf8 ? "UTF-8" : "ASCII", plots[i].color ? ", colour" : "", text);
        free(text);
    }
    match(&c, golden);
}

static void plan_matches(const char *golden, ek_shape shape, const char *schedule, ek_recompute kind)
{
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add_schedule(&f, "result", shape, ek_schedule_find(schedule), kind);
    timeline_matches(golden, &f.timeline[0]);
    fixture_clear(&f);
}

static void uniform(const char *schedule, int p, int m, double forward, double backward, ek_uniform_run *run)
{
    ek_error err = {0};
    const ek_uniform times = {.forward_time = forward, .backward_time = backward, .weight_time = backward / 2};
    const ek_shape shape = {p, 1, m, 0};
    if (ek_uniform_simulate(ek_schedule_find(schedule), &shape, &times, NULL, 0, run, &err))
        fail_msg("%s", err.message);
}

static void plans_match_their_golden_files(void **state)
{
    (void)state;
    ek_uniform_run run;
    plan_matches("plot_1f1b.txt", (ek_shape){4, 1, 6, 0}, "1f1b", EK_RECOMPUTE_FULL);
    plan_matches("plot_interleaved.txt", (ek_shape){4, 2, 12, 0}, "interleaved", EK_RECOMPUTE_NONE);
    uniform("zb-h1", 4, 8, 1, 2, &run);
    timeline_matches("plot_zero_bubble.txt", &run.timeline);
    ek_uniform_run_clear(&run);
}

/* ---- degenerate ones ---- */

static void one_stage_with_one_micro_batch_is_two_blocks(void **state)
{
    (void)state;
    ek_uniform_run run;
    const ek_plot plot = {.columns = 40, .rows = 16};
    uniform("1f1b", 1, 1, 1, 2, &run);
    const ek__strip strip = strip_for(&run.timeline);
    char *text = strip_of(&plot, &strip);
    assert_string_equal(text, "stage\n"
                              "    0 |0ffffffffff0bbbbbbbbbbbbbbbbbbbbb\n"
                              "      ++----------+----------+---------+\n"
                              "       0          1          2         3\n"
                              "       f forward   b backward\n"
                              "       numbers: micro-batch\n"
                              "       time in the unit of the given\n"
                              "       times\n");
    free(text);
    ek_uniform_run_clear(&run);
}

static void of_many_stages_some_are_drawn_and_it_is_said(void **state)
{
    (void)state;
    ek_uniform_run run;
    const ek_plot plot = {.columns = 80, .rows = 16};
    uniform("1f1b", 1024, 2, 1, 2, &run);
    const ek__strip strip = strip_for(&run.timeline);
    char *text = strip_of(&plot, &strip);
    int rows = 0;
    for (int s = 0; s < 1024; s++)
        rows += row_of(text, s) != NULL;
    assert_int_equal(rows, 16);
    assert_non_null(row_of(text, 0));
    assert_non_null(row_of(text, 1023));
    assert_non_null(strstr(text, "16 of 1024 stages are drawn, evenly spaced\n"));
    free(text);
    ek_uniform_run_clear(&run);
}

static void blocks_without_time_are_not_drawn(void **state)
{
    (void)state;
    ek_uniform_run run;
    const ek_plot plot = {.columns = 60, .rows = 16};
    uniform("1f1b", 3, 4, 0, 2, &run);
    ek__strip strip = strip_for(&run.timeline);
    char *text = strip_of(&plot, &strip);
    assert_null(strstr(text, "forward"));
    for (int s = 0; s < 3; s++)
        assert_null(memchr(row_of(text, s), 'f', (size_t)(plot.columns - LEFT)));
    assert_non_null(strstr(text, "b backward"));
    free(text);
    /* Nothing takes time at all: no axis can be drawn. */
    for (size_t i = 0; i < run.timeline.n_blocks; i++)
        run.timeline.block[i].start = run.timeline.block[i].end = 0;
    run.timeline.step_time = 0;
    strip = strip_for(&run.timeline);
    text = strip_of(&plot, &strip);
    assert_string_equal(text, "stage\n    -  nothing takes time\n");
    free(text);
    ek_uniform_run_clear(&run);
}

static void what_follows_the_last_block_is_drawn_as_such(void **state)
{
    (void)state;
    ek_uniform_run run;
    const ek_plot plot = {.columns = 47, .rows = 16};
    uniform("gpipe", 2, 1, 1, 2, &run); /* 6: stage 1 ends at 4 */
    const ek_step_tail tail[2] = {{6, 7, 7, 8, 9}, {4, 5, 7, 8, 9}};
    const ek__strip strip = {.timeline = &run.timeline, .span = 10, .scale = 1000, .unit = "ms", .tail = tail};
    char *text = strip_of(&plot, &strip);
    assert_memory_equal(row_of(text, 0), "0fff............0bbbbbbboooooooooooooooo\n", 41);
    assert_memory_equal(row_of(text, 1), "....0fff0bbbbbbboooo........oooooooooooo\n", 41);
    assert_non_null(strstr(text, "10000\n")); /* the axis is in ms */
    assert_non_null(strstr(text, "o gradients, optimizer, rest of the step"));
    free(text);
    ek_uniform_run_clear(&run);
}

/* With very many blocks a row shows shares, with a note; characters in no column need no legend. */
static void what_a_column_cannot_show_is_said(void **state)
{
    static const struct {
        int micro_batches;
        bool coarse, shares;
    } cases[] = {{4, false, false}, {40, true, false}, {400, true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_uniform_run run;
        const ek_plot plot = {.columns = 120, .rows = 16};
        uniform("1f1b", 1, cases[i].micro_batches, 1, 2, &run);
        const double end = run.timeline.step_time;
        const ek_step_tail tail[1] = {{end, end, end, end, end}};
        const ek__strip strip = {
            .timeline = &run.timeline, .span = end * (1 + 1e-6), .scale = 1, .unit = "s", .tail = tail};
        char *text = strip_of(&plot, &strip);
        assert_true((strstr(text, "shows its largest part; the rest counts in the next\n") != NULL) == cases[i].coarse);
        assert_true((strstr(text, "no block is as long as a column: a row shows shares, not blocks\n") != NULL) ==
                    cases[i].shares);
        assert_null(strstr(text, "optimizer"));
        assert_null(strstr(text, "idle"));
        free(text);
        ek_uniform_run_clear(&run);
    }
}

static void numbers_out_of_range_count_as_the_nearest(void **state)
{
    static const struct {
        ek_plot given;
        int columns, rows;
    } cases[] = {{{.columns = 1, .rows = 1}, 40, 4}, {{.columns = 5000, .rows = 5000}, 200, 64}};
    (void)state;
    ek_uniform_run run;
    uniform("1f1b", 100, 2, 1, 2, &run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek__strip strip = strip_for(&run.timeline);
        char *text = strip_of(&cases[i].given, &strip);
        int rows = 0;
        for (int s = 0; s < 100; s++)
            rows += row_of(text, s) != NULL;
        assert_int_equal(rows, cases[i].rows);
        assert_int_equal(strcspn(row_of(text, 0), "\n"), cases[i].columns - LEFT);
        free(text);
    }
    ek_uniform_run_clear(&run);
}

/* ---- invariants of any drawing ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static double random_time(uint64_t *seed, double most)
{
    double share = (double)(next_random(seed) % 1000) / 1000;
    return next_random(seed) % 8 == 0 ? 0 : share * most;
}

/* A timeline of random blocks and gaps, many narrower than a column or of no length. */
typedef struct made {
    ek_timeline t;
    size_t first[MOST_STAGES + 1];
    ek_interval block[MOST_STAGES * MOST_BLOCKS];
} made;

static void make(made *m, uint64_t *seed)
{
    int p = 1 + (int)(next_random(seed) % MOST_STAGES), n = 1 + (int)(next_random(seed) % MOST_BLOCKS);
    double wide = 1 + (double)(next_random(seed) % 20), gaps = (double)(next_random(seed) % 4);
    *m = (made){
        .t = {.shape = {p, 1, n, 0}, .schedule = ek_schedule_find("1f1b"), .first = m->first, .block = m->block}};
    for (int s = 0; s < p; s++) {
        double now = 0;
        for (int i = 0; i < n; i++) {
            double begin = now + random_time(seed, gaps), end = begin + random_time(seed, wide);
            ek_block_kind kind = (ek_block_kind)(next_random(seed) % EK_N_BLOCK_KINDS);
            double part = kind == EK_BACKWARD ? random_time(seed, 1.2) : 0; /* may exceed the block by rounding */
            m->block[m->t.n_blocks++] = (ek_interval){.start = begin,
                                                      .end = end,
                                                      .micro_batch = (uint32_t)i,
                                                      .kind = kind,
                                                      .recompute_time = fmin(1, part) * (end - begin)};
            now = end;
        }
        m->first[s + 1] = m->t.n_blocks;
        m->t.step_time = fmax(m->t.step_time, now);
    }
}

static double overlap(double a, double b, double from, double to)
{
    return fmax(0, fmin(b, to) - fmax(a, from));
}

/* Share of a column in which a stage does the work of a character. */
static double share_of(const ek_timeline *t, int stage, char what, double from, double to)
{
    double sum = 0;
    for (size_t i = t->first[stage]; i < t->first[stage + 1]; i++) {
        const ek_interval *b = &t->block[i];
        double middle = b->start + b->recompute_time;
        char kind = b->kind == EK_FORWARD ? 'f' : b->kind == EK_BACKWARD ? 'b' : 'w';
        sum += what == 'r' ? overlap(b->start, middle, from, to) : 0;
        sum += what == kind ? overlap(middle, b->end, from, to) : 0;
    }
    return sum / (to - from);
}

static bool has_block(const ek_timeline *t, int stage, unsigned number, double from, double to)
{
    for (size_t i = t->first[stage]; i < t->first[stage + 1]; i++)
        if (t->block[i].micro_batch == number && overlap(t->block[i].start, t->block[i].end, from, to) > 0)
            return true;
    return false;
}

/* One row against the blocks of its stage, column by column. */
static void check_row(const ek_timeline *t, int stage, const char *row, int columns)
{
    static const char roles[] = "fbwr";
    double column = t->step_time / columns, busy = 0, drawn = 0;
    for (int i = 0; i < columns; i++) {
        double from = column * i, to = column * (i + 1), all = 0, here = 0;
        for (const char *role = roles; *role; role++) {
            double share = share_of(t, stage, *role, from, to);
            all += share;
            here = row[i] == *role ? share : here;
            if (share > 1 - 1e-9 && row[i] != *role && !isdigit((unsigned char)row[i]))
                fail_msg("stage %d, column %d: %c instead of %c alone\n%.*s", stage, i, row[i], *role, columns, row);
        }
        if (row[i] == '.')
            assert_true(all < 1 - 1e-9);
        else if (!isdigit((unsigned char)row[i]) && here <= 0)
            fail_msg("stage %d, column %d: no %c is there\n%.*s", stage, i, row[i], columns, row);
        else if (isdigit((unsigned char)row[i]) && (i == 0 || !isdigit((unsigned char)row[i - 1])))
            assert_true(has_block(t, stage, (unsigned)strtoul(row + i, NULL, 10), from, to));
        drawn += row[i] != '.';
        busy += all;
    }
    if (fabs(drawn - busy) > 0.5 + 1e-6)
        fail_msg("stage %d: %g columns are drawn busy, %g are\n%.*s", stage, drawn, busy, columns, row);
}

static void columns_add_up_and_show_what_is_there(void **state)
{
    enum { TRIALS = 90 };
    static made m;
    (void)state;
    uint64_t seed = 20240611;
    for (int trial = 0; trial < TRIALS; trial++) {
        make(&m, &seed);
        const ek_plot plot = {.columns = 40 + (int)(next_random(&seed) % 161), .rows = MOST_STAGES};
        if (!(m.t.step_time > 0))
            continue;
        const ek__strip strip = strip_for(&m.t);
        char *text = strip_of(&plot, &strip);
        for (int s = 0; s < m.t.shape.n_stages; s++)
            check_row(&m.t, s, row_of(text, s), plot.columns - LEFT);
        free(text);
    }
}

/* The table beside the drawing prints timeline.busy, and the drawing must agree with it for every schedule. */
static void columns_add_up_to_the_busy_share_of_the_table(void **state)
{
    (void)state;
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        for (int m = 8; m <= 32; m *= 2) {
            ek_uniform_run run;
            ek_error err = {0};
            const ek_uniform times = {.forward_time = 1, .backward_time = 2.25, .weight_time = 1};
            const ek_shape shape = {4, (*s)->min_chunks, m, 0};
            if (ek_uniform_simulate(*s, &shape, &times, NULL, 0, &run, &err))
                continue; /* not of this shape */
            const ek_plot plot = {.columns = 40 + m, .rows = 16};
            const ek__strip strip = strip_for(&run.timeline);
            char *text = strip_of(&plot, &strip);
            int columns = plot.columns - LEFT;
            for (int stage = 0; stage < 4; stage++) {
                double busy = 0;
                for (int i = 0; i < columns; i++)
                    busy += row_of(text, stage)[i] != '.';
                if (fabs(busy / columns - run.timeline.busy[stage]) > 1.0 / columns)
                    fail_msg("%s, stage %d: %g of %d columns, %g busy", (*s)->name, stage, busy, columns,
                             run.timeline.busy[stage]);
            }
            free(text);
            ek_uniform_run_clear(&run);
        }
}

static int columns_of_line(const char *line)
{
    int columns = 0;
    for (; *line && *line != '\n'; line++)
        columns += ((unsigned char)*line & 0xc0) != 0x80;
    return columns;
}

static void remove_escapes(char *text)
{
    char *to = text;
    for (const char *from = text; *from;)
        if (*from == '\033')
            from += strcspn(from, "m") + 1;
        else
            *to++ = *from++;
    *to = '\0';
}

static void colors_change_no_character_and_lines_fit(void **state)
{
    enum { TRIALS = 30 };
    static made m;
    (void)state;
    uint64_t seed = 7;
    for (int trial = 0; trial < TRIALS; trial++) {
        make(&m, &seed);
        ek_plot plot = {.columns = 40 + (int)(next_random(&seed) % 161), .rows = MOST_STAGES, .utf8 = trial % 2};
        if (!(m.t.step_time > 0))
            continue;
        const ek__strip strip = strip_for(&m.t);
        char *plain = strip_of(&plot, &strip);
        plot.color = true;
        char *colored = strip_of(&plot, &strip);
        assert_null(strchr(plain, '\033'));
        assert_non_null(strstr(colored, "\033["));
        remove_escapes(colored);
        assert_string_equal(plain, colored);
        for (const char *line = plain; *line; line += strcspn(line, "\n") + 1) {
            assert_true(columns_of_line(line) <= plot.columns);
            assert_true(line[strcspn(line, "\n")] == '\n');
        }
        free(plain);
        free(colored);
    }
}

/* Each label belongs to a tick at its time, and none touches another. */
static void labels_of_the_axis_stand_at_their_ticks(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int trial = 0; trial < 2000; trial++) {
        const ek_plot plot = {.columns = 40 + (int)(next_random(&seed) % 161)};
        int columns = plot.columns - LEFT, ticks = -1, labels = 0;
        double span = exp(log(10) * ((double)(next_random(&seed) % 150) / 10 - 6)), last = -1, value;
        char *text = NULL, *end;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        ek__plot_axis(&plot, LEFT, span, out);
        assert_int_equal(fclose(out), 0);
        const char *below = strchr(text, '\n') + 1;
        for (const char *c = text; c < below; c++)
            ticks += *c == '+';
        for (const char *label = below; (value = strtod(label, &end), end > label); label = end, labels++) {
            label += strspn(label, " ");
            int at = LEFT + (int)fmin(columns - 1, floor(value / span * columns + 1e-6));
            if (value <= last || text[at] != '+')
                fail_msg("span %g, label %g at column %d\n%s", span, value, at, text);
            assert_true(label - below <= at && end - below >= at); /* it covers the column of its tick */
            last = value;
        }
        assert_string_equal(end, "\n");
        assert_int_equal(labels, ticks);
        assert_true(labels >= 2);
        free(text);
    }
}

/* ---- bars ---- */

typedef struct lengths {
    const double (*part)[2];
    const char *const *label;
} lengths;

static void bar_at(const void *user, int i, ek__bar *out)
{
    const lengths *l = user;
    snprintf(out->label, sizeof out->label, "%s", l->label ? l->label[i] : "x");
    snprintf(out->value, sizeof out->value, "%d", i);
    memcpy(out->part, l->part[i], sizeof l->part[i]);
}

static void bars_are_as_long_as_their_values(void **state)
{
    static const double part[][2] = {{10, 0}, {5, 5}, {2.5, 0}, {0, 0}, {0.05, 9.95}, {20, 0}};
    const lengths l = {part, NULL};
    const ek__bars bars = {.n = 6,
                           .at = bar_at,
                           .user = &l,
                           .whole = 10,
                           .mark = 7.5,
                           .n_parts = 2,
                           .role = {EK__ROLE_SOLID, EK__ROLE_LIGHT}};
    const ek_plot ascii = {.columns = 46, .rows = 16}, utf8 = {.columns = 46, .rows = 16, .utf8 = true};
    (void)state;
    char *text = bars_of(&ascii, &bars);
    assert_string_equal(text, "x  0 |##############################|#########\n"
                              "x  1 |####################----------|---------\n"
                              "x  2 |##########                    |\n"
                              "x  3 |                              |\n"
                              "x  4 |------------------------------|---------\n"
                              "x  5 |##############################|#########\n");
    free(text);
    text = bars_of(&utf8, &bars);
    assert_non_null(strstr(text, "x  2 \u2502\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588\u2588   "));
    free(text);
}

static void a_solid_end_is_drawn_to_an_eighth(void **state)
{
    static const double part[][2] = {{10, 0}, {0.25, 0}, {0.27, 0}, {0.4375, 0}, {0.03125, 0}, {0.01, 0}};
    static const char *const want[] = {"\u2588\u2588",   "\u2588\n", "\u2588\u258f\n",
                                       "\u2588\u258a\n", "\u258f\n", "\u2502\n"};
    const lengths l = {part, NULL};
    const ek__bars bars = {.n = 6, .at = bar_at, .user = &l, .whole = 10, .n_parts = 1, .role = {EK__ROLE_SOLID}};
    const ek_plot plot = {.columns = 46, .rows = 16, .utf8 = true};
    (void)state;
    char *text = bars_of(&plot, &bars), *line = text;
    for (int i = 0; i < 6; i++, line = strchr(line, '\n') + 1)
        assert_ptr_equal(strstr(line, want[i]), strstr(line, "\u2502") + (i < 5 ? 3 : 0));
    free(text);
}

static void names_of_any_bytes_are_cut_and_the_rest_is_said(void **state)
{
    static const double part[8][2] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}};
    static const char *const label[8] = {
        "a name that is longer than a third", "手工手工手工手工手工手工", "\033[31mred", "\xff\xfe", "", "5", "6", "7"};
    const lengths l = {part, label};
    ek__bars bars = {
        .n = 8, .at = bar_at, .user = &l, .whole = 8, .n_parts = 1, .role = {EK__ROLE_SOLID}, .what = "things"};
    const ek_plot plot = {.columns = 40, .rows = 5};
    (void)state;
    char *text = bars_of(&plot, &bars);
    assert_string_equal(text, "a name tha...  0 |###\n"
                              "手工手工手...  1 |######\n"
                              "?[31mred       2 |########\n"
                              "\xef\xbf\xbd\xef\xbf\xbd             3 |###########\n"
                              "               4 |##############\n"
                              "the first 5 of 8 things are drawn\n");
    free(text);
    bars.spread = true;
    text = bars_of(&plot, &bars);
    assert_non_null(strstr(text, "5 of 8 things are drawn, evenly spaced\n"));
    assert_non_null(strstr(text, "7              7 |"));
    free(text);
}

/* ---- through the one function for all results ---- */

static void a_report_has_a_drawing_where_it_is_wanted(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 8);
    fixture_add(&f, "result", (ek_shape){4, 1, 6, 0}, 0, EK_RECOMPUTE_FULL);
    ek_report report = fixture_report(&f, 0, NULL);
    char *text[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        size_t size = 0;
        ek_error err = {0};
        FILE *out = open_memstream(&text[i], &size);
        assert_non_null(out);
        report.plot.columns = i > 0 ? 80 : 0;
        assert_int_equal(ek_write(ek_output_of_balance(&report), i < 2 ? "text" : "plot", out, &err), EK_OK);
        assert_int_equal(fclose(out), 0);
    }
    assert_null(strstr(text[0], "work of each stage"));
    assert_non_null(strstr(text[1], text[2])); /* the drawing itself equals the one in the text */
    assert_non_null(strstr(text[2], "\n1f1b: work of each stage in a step of "));
    assert_true(strlen(text[1]) == strlen(text[0]) + strlen(text[2]));
    for (int i = 0; i < 3; i++)
        free(text[i]);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_match_their_golden_files),
        cmocka_unit_test(one_stage_with_one_micro_batch_is_two_blocks),
        cmocka_unit_test(of_many_stages_some_are_drawn_and_it_is_said),
        cmocka_unit_test(blocks_without_time_are_not_drawn),
        cmocka_unit_test(what_follows_the_last_block_is_drawn_as_such),
        cmocka_unit_test(what_a_column_cannot_show_is_said),
        cmocka_unit_test(numbers_out_of_range_count_as_the_nearest),
        cmocka_unit_test(columns_add_up_and_show_what_is_there),
        cmocka_unit_test(columns_add_up_to_the_busy_share_of_the_table),
        cmocka_unit_test(colors_change_no_character_and_lines_fit),
        cmocka_unit_test(labels_of_the_axis_stand_at_their_ticks),
        cmocka_unit_test(bars_are_as_long_as_their_values),
        cmocka_unit_test(a_solid_end_is_drawn_to_an_eighth),
        cmocka_unit_test(names_of_any_bytes_are_cut_and_the_rest_is_said),
        cmocka_unit_test(a_report_has_a_drawing_where_it_is_wanted),
    };
    return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
