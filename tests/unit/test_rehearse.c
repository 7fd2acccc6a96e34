/* Tests rehearsals against ek_simulate(), and their waits against all interleavings of tiny ones by brute force. */
#include "input.h"

#include <limits.h>
#include <math.h>

#include "assert_close.h"
#include "base/random.h"
#include "cost/collective.h"
#include "evenkeel/rehearse.h"
#include "evenkeel/uniform.h"

static const ek_uniform times = {.forward_time = 3,
                                 .backward_time = 7,
                                 .weight_time = 3,
                                 .weight_share = 0.5,
                                 .split_given = true,
                                 .share_given = true};

static int chunks_of(const ek_schedule *schedule, int wanted)
{
    return wanted < schedule->min_chunks   ? schedule->min_chunks
           : wanted > schedule->max_chunks ? schedule->max_chunks
                                           : wanted;
}

static ek_rehearsal made(const ek_schedule *schedule, int p, int v, int m, int n_processes)
{
    const ek_shape shape = {p, chunks_of(schedule, v), m, 1};
    ek_uniform_run run;
    ek_rehearsal r;
    ek_error err;
    if (ek_uniform_simulate(schedule, &shape, &times, NULL, 0, &run, &err) ||
        ek_rehearsal_make(&run.timeline, 0.001, 16, n_processes, &r, &err))
        fail_msg("%s: %s", schedule->name, err.message);
    ek_uniform_run_clear(&run);
    return r;
}

/* ---- against the simulator ---- */

static void check_times(const ek_schedule *schedule, int p, int v, int m, double p2p)
{
    const ek_shape shape = {p, chunks_of(schedule, v), m, 1};
    const ek_comm comm = {.p2p_time = p2p};
    double slowdown[16], edge[256];
    ek_uniform_run run;
    ek_order *order;
    ek_timeline t;
    ek_rehearsal r;
    ek_rehearse_play play;
    ek_error err;
    assert_int_equal(ek_uniform_simulate(schedule, &shape, &times, NULL, 0, &run, &err), EK_OK);
    assert_int_equal(ek_order_new(schedule, &shape, &order, &err), EK_OK);
    for (int s = 0; s < p; s++) /* the same from both ends, for schedules that run both ways */
        slowdown[s] = 1 + 0.1 * (s < p / 2 ? s : p - 1 - s);
    assert_int_equal(ek_order_slow_stages(order, slowdown, &err), EK_OK);
    assert_int_equal(ek_simulate(order, &run.plan, &run.layers, &comm, &t, &err), EK_OK);
    assert_int_equal(ek_rehearsal_make(&t, 1, 16, p, &r, &err), EK_OK);
    assert_true(r.n_edges <= 256);
    for (int i = 0; i < r.n_edges; i++)
        edge[i] = p2p;
    assert_int_equal(ek_rehearsal_play(&r, EK_SEND_NONBLOCKING, edge, &play, &err), EK_OK);
    assert_true(play.completes);
    assert_int_equal(play.n_cycle, 0);
    assert_close_to(play.step, t.step_time, 1e-9);
    for (size_t k = 0; k < t.n_blocks; k++) {
        assert_close_to(play.start[k], t.block[k].start, 1e-9 * (1 + t.step_time));
        assert_close_to(play.end[k], t.block[k].end, 1e-9 * (1 + t.step_time));
    }
    ek_rehearse_play_clear(&play);
    ek_rehearsal_clear(&r);
    ek_timeline_clear(&t);
    ek_order_free(order);
    ek_uniform_run_clear(&run);
}

static void without_blocking_the_times_are_those_of_the_simulator(void **state)
{
    (void)state;
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        for (int p = 2; p <= 6; p += 2)
            for (int v = 1; v <= (p == 2 ? 3 : 2); v++) {
                check_times(*s, p, v, 2 * p, 0);
                check_times(*s, p, v, p < 6 ? 4 * p : 2 * p, 0.7);
            }
}

/* ---- times with rendezvous ---- */

/* The equations of every message and block, which determine all times: a transfer begins when both stages are ready. */
static void check_equations(const ek_schedule *schedule, int p, double travel)
{
    ek_rehearsal r = made(schedule, p, 2, 2 * p, p);
    double edge[256], *gone = calloc(r.n_blocks, sizeof *gone), *ready = calloc(r.n_blocks, sizeof *ready);
    size_t *sender = calloc(2 * r.n_messages, sizeof *sender), *receiver = sender + r.n_messages, n_run = 0;
    ek_rehearse_play play;
    ek_error err;
    assert_true(gone && ready && sender && r.n_edges <= 256);
    for (int i = 0; i < r.n_edges; i++)
        edge[i] = travel * (1 + i % 3);
    assert_int_equal(ek_rehearsal_play(&r, EK_SEND_RENDEZVOUS, edge, &play, &err), EK_OK);
    for (size_t k = 0; k < r.n_blocks; k++)
        if (r.block[k].sends != EK_NO_BLOCK)
            sender[r.block[k].sends] = k;
    for (size_t k = 0; k < r.n_blocks; k++)
        if (r.block[k].receives != EK_NO_BLOCK)
            receiver[r.block[k].receives] = k;
    for (size_t k = 0; k < r.n_blocks; k++) /* deadlocked blocks stay unknown */
        gone[k] = ready[k] = NAN;
    for (bool changed = true; changed;) {
        changed = false;
        for (int s = 0; s < p; s++)
            for (size_t k = r.first[s]; k < r.first[s + 1]; k++) {
                double left = play.end[k], here = k > r.first[s] ? gone[k - 1] : 0;
                changed = changed || (isnan(ready[k]) && !isnan(here));
                ready[k] = here;
                if (r.block[k].sends != EK_NO_BLOCK) {
                    double there = ready[receiver[r.block[k].sends]];
                    left = isnan(left) || isnan(there) ? (double)NAN : fmax(left, there);
                    left += edge[r.message[r.block[k].sends].edge];
                }
                changed = changed || (isnan(gone[k]) && !isnan(left));
                gone[k] = left;
            }
    }
    for (size_t k = 0; k < r.n_blocks; k++) {
        ptrdiff_t message = r.block[k].receives;
        if (isnan(play.start[k]))
            continue;
        double start = ready[k];
        if (message != EK_NO_BLOCK)
            start = fmax(play.end[sender[message]], ready[k]) + edge[r.message[message].edge];
        assert_close_to(play.start[k], start, 1e-9);
        assert_close_to(play.end[k], play.start[k] + r.block[k].seconds, 1e-9);
        n_run++;
    }
    assert_int_equal(n_run == r.n_blocks, play.completes);
    assert_true(n_run > 0);
    ek_rehearse_play_clear(&play);
    free(gone);
    free(ready);
    free(sender);
    ek_rehearsal_clear(&r);
}

static void rendezvous_begin_when_both_are_there(void **state)
{
    (void)state;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        check_equations(*s, 2, 0.0003);
        check_equations(*s, 4, 0.002);
    }
}

/* ---- against all interleavings ---- */

enum { MOST_P = 4, MOST_EXPLORED = 3, MOST_ACTIONS = 128 };
static const size_t MOST_PLACES = (size_t)MOST_ACTIONS * MOST_ACTIONS * MOST_ACTIONS;

/* How far each stage is, in actions: three a block (receive, compute, send). */
typedef struct place {
    unsigned char at[MOST_P];
} place;

typedef struct explorer {
    const ek_rehearsal *r;
    ek_rehearse_send send;
    unsigned char *seen; /* [MOST_PLACES] */
    bool completes, deadlocks;
    place end; /* the one place where nothing is possible */
} explorer;

static const ek_rehearse_block *block_at(const explorer *x, const place *p, int s)
{
    return &x->r->block[x->r->first[s] + (size_t)p->at[s] / 3];
}

static bool at_end(const explorer *x, const place *p, int s)
{
    return (size_t)p->at[s] == 3 * (x->r->first[s + 1] - x->r->first[s]);
}

/* Is a stage beyond the sending of a message, or at its receive? Looked for from scratch. */
static bool has_sent(const explorer *x, const place *p, ptrdiff_t message)
{
    int s = x->r->message[message].from;
    for (size_t k = x->r->first[s]; k < x->r->first[s + 1]; k++)
        if (x->r->block[k].sends == message)
            return (size_t)p->at[s] > 3 * (k - x->r->first[s]) + 2;
    fail_msg("nobody sends message %td", message);
    return false;
}

static bool is_at(const explorer *x, const place *p, int s, int action, ptrdiff_t message)
{
    if (at_end(x, p, s) || p->at[s] % 3 != action)
        return false;
    const ek_rehearse_block *b = block_at(x, p, s);
    return (action == 0 ? b->receives : b->sends) == message;
}

/* Do a possible action of a stage. @return false: none is possible */
static bool step_of(const explorer *x, place *p, int s)
{
    if (at_end(x, p, s))
        return false;
    const ek_rehearse_block *b = block_at(x, p, s);
    int action = p->at[s] % 3;
    ptrdiff_t message = action == 0 ? b->receives : action == 2 ? b->sends : EK_NO_BLOCK;
    if (action == 1 && b->after != EK_NO_BLOCK) {
        size_t needed = (size_t)b->after - x->r->first[s];
        if ((size_t)p->at[s] / 3 <= needed)
            return false;
    }
    if (message == EK_NO_BLOCK) {
        p->at[s]++;
        return true;
    }
    if (x->send == EK_SEND_NONBLOCKING) {
        if (action == 0 && !has_sent(x, p, message))
            return false;
        p->at[s]++;
        return true;
    }
    /* Rendezvous: both go on together, so one of them is enough to look at. */
    if (action == 2 && is_at(x, p, x->r->message[message].to, 0, message)) {
        p->at[x->r->message[message].to]++;
        p->at[s]++;
        return true;
    }
    return false;
}

static void explore(explorer *x, const place *from)
{
    size_t number = 0;
    for (int s = 0; s < x->r->n_stages; s++)
        number = number * MOST_ACTIONS + from->at[s];
    if (x->seen[number])
        return;
    x->seen[number] = 1;
    bool any = false, all_ended = true;
    for (int s = 0; s < x->r->n_stages; s++) {
        place next = *from;
        all_ended = all_ended && at_end(x, from, s);
        if (!step_of(x, &next, s))
            continue;
        any = true;
        explore(x, &next);
    }
    if (any)
        return;
    if (x->completes || x->deadlocks) /* it does not matter which is first */
        assert_memory_equal(&x->end, from, sizeof *from);
    x->end = *from;
    x->completes = x->completes || all_ended;
    x->deadlocks = x->deadlocks || !all_ended;
}

/* Every wait of the cycle is one of the end, and for the next one's stage. */
static void check_cycle(const explorer *x, const ek_rehearse_play *play)
{
    assert_true(play->n_cycle >= 1);
    for (int i = 0; i < play->n_cycle; i++) {
        const ek_rehearse_wait *w = &play->cycle[i], *next = &play->cycle[(i + 1) % play->n_cycle];
        assert_int_equal(w->peer, next->stage);
        assert_int_equal(w->block - x->r->first[w->stage], x->end.at[w->stage] / 3);
        assert_int_equal(w->reason, EK_WAIT_RECEIVE + x->end.at[w->stage] % 3);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(play->cycle[j].stage, w->stage);
    }
}

static bool check_interleavings(const ek_rehearsal *r, ek_rehearse_send send)
{
    explorer x = {.r = r, .send = send, .seen = calloc(MOST_PLACES, 1)};
    assert_true(x.seen && r->n_stages <= MOST_EXPLORED && 3 * r->first[1] < MOST_ACTIONS);
    place from = {{0}};
    ek_rehearse_play play;
    ek_error err;
    explore(&x, &from);
    assert_true(x.completes != x.deadlocks);
    assert_int_equal(ek_rehearsal_play(r, send, NULL, &play, &err), EK_OK);
    assert_int_equal(play.completes, x.completes);
    if (!play.completes)
        check_cycle(&x, &play);
    bool completes = play.completes;
    ek_rehearse_play_clear(&play);
    free(x.seen);
    return completes;
}

static void what_completes_is_what_completes_in_every_interleaving(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(5);
    int completing = 0, deadlocking = 0;
    ek_error err;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        ek_rehearsal r = made(*s, 2, 1, 4, 2);
        for (int i = 0; i < 12; i++) {
            for (int send = 0; send < EK_N_REHEARSE_SENDS; send++) {
                bool completes = check_interleavings(&r, (ek_rehearse_send)send);
                assert_true(completes || i > 0 || send == EK_SEND_RENDEZVOUS);
                completing += completes;
                deadlocking += !completes;
            }
            int stage = ek__random_below(&random, 2), n = (int)(r.first[1] - r.first[0]);
            int a = ek__random_below(&random, n - 1), b = i % 4 == 3 && a != n - 1 - a ? n - 1 - a : a + 1;
            if (i % 2 == 0) { /* from the right order again */
                ek_rehearsal_clear(&r);
                r = made(*s, 2, 1, 4, 2);
            }
            assert_int_equal(ek_rehearsal_swap(&r, stage, a, b, &err), EK_OK);
        }
        ek_rehearsal_clear(&r);
    }
    if (completing < 50 || deadlocking < 50)
        fail_msg("%d complete and %d deadlock", completing, deadlocking);
}

static void three_stages_in_every_interleaving(void **state)
{
    (void)state;
    const char *const names[] = {"1f1b", "gpipe", "zb-h1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int send = 0; send < EK_N_REHEARSE_SENDS; send++) {
            ek_rehearsal r = made(ek_schedule_find(names[i]), 3, 1, 2, 3);
            bool completes = check_interleavings(&r, (ek_rehearse_send)send);
            if (send == EK_SEND_NONBLOCKING || strcmp(names[i], "gpipe") == 0)
                assert_true(completes);
            ek_rehearsal_clear(&r);
        }
}

/* ---- waits that were not seen at the same time ---- */

static void old_waits_prove_nothing_where_the_order_completes(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(11);
    int n_waits = 0;
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        ek_rehearsal r = made(*s, 4, 2, (*s)->min_micro_batches > 1 ? 8 : 4, 4);
        for (int send = 0; send < EK_N_REHEARSE_SENDS; send++)
            for (int i = 0; i < 40; i++) {
                explorer x = {.r = &r, .send = (ek_rehearse_send)send};
                ek_rehearse_wait seen[MOST_P] = {{0}}, cycle[MOST_P];
                ek_rehearse_play play;
                ek_error err;
                place p = {{0}};
                bool found = false;
                assert_int_equal(ek_rehearsal_play(&r, (ek_rehearse_send)send, NULL, &play, &err), EK_OK);
                for (int idle = 0; idle < 200;) {
                    int stage = ek__random_below(&random, 4);
                    if (step_of(&x, &p, stage)) {
                        idle = 0;
                        continue;
                    }
                    idle++;
                    /* Sometimes a stage reports its wait, and its continuation is not reported. */
                    if (at_end(&x, &p, stage) || ek__random_below(&random, 3) > 0)
                        continue;
                    size_t k = r.first[stage] + (size_t)p.at[stage] / 3;
                    seen[stage] =
                        ek_rehearsal_wait(&r, stage, k, (ek_rehearse_reason)(EK_WAIT_RECEIVE + p.at[stage] % 3));
                    n_waits++;
                    found = ek_rehearsal_cycle(&r, seen, cycle) > 0 || found;
                }
                assert_int_equal(found, !play.completes);
                ek_rehearse_play_clear(&play);
            }
        ek_rehearsal_clear(&r);
    }
    assert_true(n_waits > 1000);
}

/* ---- tags ---- */

static int by_number(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void check_tags(const ek_schedule *schedule, int p, int v, int m, int n_processes)
{
    ek_rehearsal r = made(schedule, p, v, m, n_processes);
    long long *key = malloc(r.n_messages * sizeof *key);
    size_t gradients = 0;
    assert_non_null(key);
    for (size_t i = 0; i < r.n_messages; i++) {
        const ek_rehearse_message *message = &r.message[i];
        assert_true(message->tag >= 0 && message->tag <= r.largest_tag);
        assert_int_not_equal(message->from, message->to);
        gradients += message->kind == EK_BACKWARD;
        key[i] = (long long)ek_rehearsal_process(&r, message->to) * (1LL << 32) + message->tag;
    }
    assert_int_equal(2 * gradients, r.n_messages);
    qsort(key, r.n_messages, sizeof *key, by_number);
    for (size_t i = 1; i < r.n_messages; i++)
        assert_true(key[i - 1] < key[i]);
    free(key);
    ek_rehearsal_clear(&r);
}

static void no_two_messages_to_a_process_have_one_tag(void **state)
{
    (void)state;
    check_tags(ek_schedule_find("interleaved"), 4, 8, 1024, 4);
    check_tags(ek_schedule_find("interleaved"), 4, 8, 1024, 2);
    check_tags(ek_schedule_find("dualpipe"), 4, 1, 1024, 2);
    for (const ek_schedule *const *s = ek_schedules; *s; s++)
        check_tags(*s, 4, 2, 16, 2);
}

static void processes_must_fit(void **state)
{
    (void)state;
    const ek_shape shape = {6, 1, 6, 1};
    ek_uniform_run run;
    ek_rehearsal r;
    ek_error err;
    assert_int_equal(ek_uniform_simulate(ek_schedule_find("1f1b"), &shape, &times, NULL, 0, &run, &err), EK_OK);
    for (int n = -1; n < 9; n++) {
        bool fits = n == 2 || n == 3 || n == 6;
        assert_int_equal(ek_rehearsal_make(&run.timeline, 1, 16, n, &r, &err), fits ? EK_OK : EK_ERR_INPUT);
        if (fits) {
            assert_int_equal(ek_rehearsal_process(&r, 5), n - 1);
            ek_rehearsal_clear(&r);
        }
    }
    ek_uniform_run_clear(&run);
}

/* ---- swaps ---- */

static void a_swap_twice_is_none(void **state)
{
    (void)state;
    ek_rehearsal r = made(ek_schedule_find("zb-v"), 4, 2, 8, 4), other = made(ek_schedule_find("zb-v"), 4, 2, 8, 4);
    ek_error err;
    assert_int_equal(ek_rehearsal_swap(&r, 2, 3, 9, &err), EK_OK);
    assert_memory_not_equal(r.block, other.block, r.n_blocks * sizeof *r.block);
    assert_int_equal(ek_rehearsal_swap(&r, 2, 9, 3, &err), EK_OK);
    assert_memory_equal(r.block, other.block, r.n_blocks * sizeof *r.block);
    assert_int_equal(ek_rehearsal_swap(&r, 4, 0, 1, &err), EK_ERR_INPUT);
    assert_int_equal(ek_rehearsal_swap(&r, 0, 1, 1, &err), EK_ERR_INPUT);
    assert_int_equal(ek_rehearsal_swap(&r, 0, 0, 48, &err), EK_ERR_INPUT);
    ek_rehearsal_clear(&other);
    ek_rehearsal_clear(&r);
}

static void a_backward_before_its_forward_waits_for_itself(void **state)
{
    (void)state;
    ek_rehearsal r = made(ek_schedule_find("1f1b"), 4, 1, 4, 4);
    ek_rehearse_play play;
    ek_error err;
    char text[512];
    assert_int_equal(ek_rehearsal_swap(&r, 3, 0, 1, &err), EK_OK);
    assert_int_equal(ek_rehearsal_play(&r, EK_SEND_NONBLOCKING, NULL, &play, &err), EK_OK);
    assert_false(play.completes);
    ek_rehearse_cycle_text(&r, play.cycle, play.n_cycle, NULL, text, sizeof text);
    assert_string_equal(text, "stage 3, at block 0, waits to run the backward of micro-batch 0, chunk 0, for its own "
                              "block 1, the forward of micro-batch 0, chunk 0");
    ek_rehearse_play_clear(&play);
    ek_rehearsal_clear(&r);
}

static const char *some_machine(int process)
{
    static char name[16];
    snprintf(name, sizeof name, "m%d", process);
    return name;
}

static void a_long_cycle_is_told_in_short(void **state)
{
    (void)state;
    ek_rehearsal r = made(ek_schedule_find("interleaved"), 16, 2, 16, 16);
    ek_rehearse_play play;
    char text[1024], more[64], last[320];
    assert_int_equal(ek_rehearsal_play(&r, EK_SEND_RENDEZVOUS, NULL, &play, NULL), EK_OK);
    assert_true(!play.completes && play.n_cycle > 6);
    ek_rehearse_cycle_text(&r, play.cycle, play.n_cycle, some_machine, text, sizeof text);
    snprintf(more, sizeof more, " (m2); %d more stages likewise; stage %d", play.n_cycle - 5,
             play.cycle[play.n_cycle - 2].stage);
    assert_non_null(strstr(text, more));
    ek_rehearse_wait_text(&r, &play.cycle[play.n_cycle - 1], last, sizeof last);
    assert_non_null(strstr(text, last));
    assert_string_equal(text + strlen(text) - 6, " (m15)");
    ek_rehearse_play_clear(&play);
    ek_rehearsal_clear(&r);
}

/* ---- content ---- */

static void every_damaged_byte_is_found(void **state)
{
    (void)state;
    const ek_rehearse_message m = {.from = 1, .to = 2, .tag = 77};
    unsigned char content[61];
    for (size_t n = 16; n <= sizeof content; n++) {
        ek_rehearse_fill(&m, 3, content, n);
        assert_int_equal(ek_rehearse_check(&m, 3, content, n), n);
        for (size_t i = 0; i < n; i++)
            for (int bit = 0; bit < 8; bit++) {
                content[i] ^= (unsigned char)(1 << bit);
                assert_int_equal(ek_rehearse_check(&m, 3, content, n), i);
                content[i] ^= (unsigned char)(1 << bit);
            }
    }
}

static void another_message_is_found(void **state)
{
    (void)state;
    const ek_rehearse_message m = {.from = 1, .to = 2, .tag = 77};
    const ek_rehearse_message others[] = {
        {.from = 2, .to = 1, .tag = 77}, {.from = 0, .to = 2, .tag = 77}, {.from = 1, .to = 2, .tag = 76}};
    unsigned char content[16];
    ek_rehearse_fill(&m, 3, content, sizeof content);
    assert_true(ek_rehearse_check(&m, 4, content, sizeof content) < 8);
    for (size_t i = 0; i < 3; i++)
        assert_true(ek_rehearse_check(&others[i], 3, content, sizeof content) < 8);
}

/* ---- measured ---- */

/* Records of a rehearsal with all messages taking `travel`: the prediction must equal the measured step. */
static void check_compared(double travel)
{
    ek_rehearsal r = made(ek_schedule_find("1f1b"), 4, 1, 8, 4);
    ek_rehearse_measured measured = {3, calloc(3 * r.n_blocks, sizeof *measured.record)};
    ek_rehearse_record *middle = measured.record + r.n_blocks;
    ek_rehearse_result result = {.send = EK_SEND_NONBLOCKING, .stage = calloc(4, sizeof *result.stage)};
    double edge[16];
    ek_rehearse_play play;
    ek_error err;
    for (int i = 0; i < r.n_edges; i++)
        edge[i] = travel;
    assert_int_equal(ek_rehearsal_play(&r, EK_SEND_NONBLOCKING, edge, &play, &err), EK_OK);
    for (int s = 0; s < 4; s++)
        for (size_t k = r.first[s]; k < r.first[s + 1]; k++) {
            ek_rehearse_record *at = &middle[k];
            ptrdiff_t message = r.block[k].receives;
            *at = (ek_rehearse_record){.start = play.start[k], .end = play.end[k], .sent = play.end[k]};
            at->ready = at->arrived = k > r.first[s] ? play.end[k - 1] : 0;
            for (size_t i = 0; i < r.n_blocks && message != EK_NO_BLOCK; i++)
                if (r.block[i].sends == message)
                    at->arrived = fmax(at->ready, play.end[i] + travel);
        }
    for (size_t k = 0; k < r.n_blocks; k++) { /* one step of another length before, one after */
        measured.record[k] = middle[r.n_blocks + k] = middle[k];
        measured.record[k].end *= 2;
        middle[r.n_blocks + k].end *= 0.5;
    }
    assert_int_equal(ek_rehearse_compare(&r, &measured, &result, &err), EK_OK);
    assert_int_equal(result.shown, 1);
    assert_close_to(result.best, play.step / 2, 1e-12);
    size_t n = 0, n_timed = 0;
    assert_close_to(result.predicted, play.step, 1e-9);
    assert_close_to(result.bubble, result.predicted_bubble, 1e-9);
    assert_close_to(result.late, 0, 1e-12);
    for (int i = 0; i < r.n_edges; i++) {
        n += result.edge[i].n;
        n_timed += result.edge[i].n_timed;
        if (result.edge[i].n_timed > 0) {
            assert_close_to(result.edge[i].mean, travel, 1e-9);
            assert_close_to(result.edge[i].least, travel, 1e-9);
        }
    }
    assert_int_equal(n, r.n_messages);
    assert_true(n_timed > 0 && n_timed < n); /* some came before they were waited for */
    ek_rehearse_play_clear(&play);
    ek_rehearse_result_clear(&result);
    free(measured.record);
    ek_rehearsal_clear(&r);
}

static void what_took_as_long_as_predicted_is_said_to(void **state)
{
    (void)state;
    check_compared(0);
    check_compared(0.0004);
}

/* ---- links ---- */

static void links_come_out_as_they_were(void **state)
{
    (void)state;
    ek_link_time time[128];
    ek_device truth = *ek_device_find("A100-80"), found = truth;
    ek_error err;
    int n = 0;
    truth.n_tiers = 1;
    truth.devices_per_node = 8;
    truth.tier[0] = (ek_tier){.size = 0, .gbs = 6, .devices_per_card = 1, .latency_us = 3};
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        truth.tier[0].share[c] = 1 - 0.15 * c;
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        for (double bytes = 1024; bytes <= 256 << 20; bytes *= 4) {
            int ranks = c == EK_COLLECTIVE_P2P ? 2 : 8;
            const ek__ranks group = {.n = ranks, .in = {ranks}, .sharing = {1}};
            time[n++] = (ek_link_time){(ek_collective)c,
                                       ranks,
                                       ranks,
                                       bytes,
                                       ek__collective_seconds(&truth, (ek_collective)c, &group, bytes).seconds,
                                       0};
        }
    assert_int_equal(ek_rehearse_links(time, n, &found, &err), EK_OK);
    assert_int_equal(found.n_tiers, 1);
    assert_close_to(found.memory_gib, truth.memory_gib, 0);
    assert_close_to(found.tier[0].gbs, 6, 1e-6);
    assert_close_to(found.tier[0].latency_us, 3, 1e-6);
    assert_close_to(found.tier[0].share[EK_COLLECTIVE_P2P], 0.4, 1e-6);
    assert_close_to(found.tier[0].error, 0, 1e-6);
    for (int i = 0; i < n; i++) {
        const ek__ranks group = {.n = time[i].n_ranks, .in = {time[i].n_ranks}, .sharing = {1}};
        double seconds = ek__collective_seconds(&found, time[i].what, &group, time[i].bytes).seconds;
        if (fabs(log(seconds / time[i].seconds)) > 1e-6)
            fail_msg("%s of %g bytes: %g s, and %g s was timed", ek_collective_name[time[i].what], time[i].bytes,
                     seconds, time[i].seconds);
    }
    assert_int_equal(ek_rehearse_links(time, 0, &found, &err), EK_ERR_INPUT);
}

/* Two machines of four ranks: times within one and across both give two tiers. A line cannot have the corner where the
 * slower of two tiers changes, so that middle sizes are predicted less well. */
static void two_machines_give_two_tiers(void **state)
{
    (void)state;
    ek_link_time time[128];
    ek_device truth = *ek_device_find("A100-80"), found = truth;
    ek_error err;
    int n = 0;
    truth.n_tiers = 2;
    truth.devices_per_node = 4;
    truth.tier[0] = (ek_tier){.size = 4, .gbs = 20, .devices_per_card = 1, .latency_us = 2};
    truth.tier[1] = (ek_tier){.size = 0, .gbs = 3, .devices_per_card = 1, .latency_us = 9};
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        truth.tier[0].share[c] = truth.tier[1].share[c] = 1;
    for (int across = 0; across < 2; across++)
        for (int c = 0; c < EK_N_COLLECTIVES; c++)
            for (double bytes = 1024; bytes <= 256 << 20; bytes *= 4) {
                bool pair = c == EK_COLLECTIVE_P2P;
                int ranks = pair ? 2 : across ? 8 : 4, here = across ? (pair ? 1 : 4) : ranks;
                const ek__ranks group = {.n = ranks, .in = {here, ranks}, .sharing = {1, 1}};
                time[n++] = (ek_link_time){(ek_collective)c,
                                           ranks,
                                           here,
                                           bytes,
                                           ek__collective_seconds(&truth, (ek_collective)c, &group, bytes).seconds,
                                           0};
            }
    assert_int_equal(ek_rehearse_links(time, n, &found, &err), EK_OK);
    assert_int_equal(found.n_tiers, 2);
    assert_int_equal(found.tier[0].size, 4);
    assert_close_to(found.tier[0].gbs, 20, 1e-6);
    for (int i = 0; i < n; i++) {
        const ek__ranks group = {.n = time[i].n_ranks, .in = {time[i].per_node, time[i].n_ranks}, .sharing = {1, 1}};
        double seconds = ek__collective_seconds(&found, time[i].what, &group, time[i].bytes).seconds;
        if (fabs(log(seconds / time[i].seconds)) > (time[i].bytes > 1e7 ? 0.05 : 0.7))
            fail_msg("%s of %g bytes, %d ranks: %g s, and %g s was timed", ek_collective_name[time[i].what],
                     time[i].bytes, time[i].n_ranks, seconds, time[i].seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_blocking_the_times_are_those_of_the_simulator),
        cmocka_unit_test(rendezvous_begin_when_both_are_there),
        cmocka_unit_test(what_completes_is_what_completes_in_every_interleaving),
        cmocka_unit_test(three_stages_in_every_interleaving),
        cmocka_unit_test(old_waits_prove_nothing_where_the_order_completes),
        cmocka_unit_test(no_two_messages_to_a_process_have_one_tag),
        cmocka_unit_test(processes_must_fit),
        cmocka_unit_test(a_swap_twice_is_none),
        cmocka_unit_test(a_backward_before_its_forward_waits_for_itself),
        cmocka_unit_test(a_long_cycle_is_told_in_short),
        cmocka_unit_test(every_damaged_byte_is_found),
        cmocka_unit_test(another_message_is_found),
        cmocka_unit_test(what_took_as_long_as_predicted_is_said_to),
        cmocka_unit_test(links_come_out_as_they_were),
        cmocka_unit_test(two_machines_give_two_tiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
