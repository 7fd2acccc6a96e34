/* Tests placing that skips rounds against playing every allocation: the same peak, the same addresses of all played
 * allocations and, at the end of the step, the same address space. Linked with --wrap=ek__allocator_kind_of: allocators
 * without a state are played in full. */
#include "effort.h"
#include "input.h"

#include "memory/allocator.h"
#include "memory/period.h"
#include "memory/pieces.h"
#include "memory/start.h"
#include "memory_replay.h"
#include "no_memory.h"

FAILING_ALLOC
FAILING_WITH_ROOM

/* ---- allocators that are watched ---- */

const ek__allocator_kind *__real_ek__allocator_kind_of(ek_allocation allocation);
const ek__allocator_kind *__wrap_ek__allocator_kind_of(ek_allocation allocation);

static const ek__allocator_kind *real;
static bool in_full;
static ek__numbers left;    /* pieces of allocators that were destroyed, by address */
static ek__numbers *placed; /* addresses of all allocations; NULL: not needed */

static int32_t take_watched(ek__allocator *a, int64_t bytes, bool persistent)
{
    int32_t taken = real->take(a, bytes, persistent);
    if (placed)
        *ek__numbers_add(placed, 1) = real->offset(a, taken);
    return taken;
}

static int by_address(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void destroy_watched(ek__allocator *a)
{
    if (!a) /* there was no memory for it */
        return;
    const ek__pieces *pieces = real->pieces(a);
    int failing = atomic_exchange(&allocations_left, -1);
    size_t from = left.n, n = 0;
    int64_t *to = ek__numbers_add(&left, 2 * (size_t)pieces->n);
    for (int32_t i = 0; i < pieces->n; i++)
        if (pieces->at[i].bytes > 0) {
            to[2 * n] = pieces->at[i].offset;
            to[2 * n++ + 1] = pieces->at[i].bytes + pieces->at[i].free;
        }
    qsort(to, n, 2 * sizeof *to, by_address);
    left.n = from + 2 * n;
    real->destroy(a);
    atomic_store(&allocations_left, failing);
}

const ek__allocator_kind *__wrap_ek__allocator_kind_of(ek_allocation allocation)
{
    static ek__allocator_kind watched;
    real = __real_ek__allocator_kind_of(allocation);
    watched = *real;
    watched.take = take_watched;
    watched.destroy = destroy_watched;
    watched.state = in_full ? NULL : real->state;
    return &watched;
}

/* ---- stages ---- */

typedef struct stages {
    ek_job *job;
    ek__job_programs *programs;
    ek_block *blocks;
    size_t n_blocks;
} stages;

static stages stages_of(ek_job *job)
{
    stages s = {.job = job};
    ek_error err;
    if (ek__job_programs_new(job, &s.programs, &err) || ek__job_order(job, &s.blocks, &s.n_blocks, &err))
        fail_msg("%s", err.message);
    return s;
}

static void clear_stages(stages *s)
{
    free(s->blocks);
    ek__job_programs_free(s->programs);
}

static int64_t place(const stages *s, int stage, bool full, int64_t most)
{
    const ek__stop stop = {.most = most};
    int64_t actual;
    ek_error err;
    in_full = full;
    left.n = 0;
    if (ek__stage_place(s->job, s->programs, stage, s->blocks + (size_t)stage * s->n_blocks, s->n_blocks, &stop,
                        &actual, &err))
        fail_msg("%s", err.message);
    return actual;
}

/* ---- against playing all of it ---- */

static int seed; /* of the job at hand, for messages */

typedef struct tally {
    long n_full, n_played, n_shorter;
} tally;

/* Rounds are left out of one place of a step: its beginning and its end remain, address by address. */
static void check_addresses(const ek__numbers *all, const ek__numbers *played)
{
    size_t before = 0, behind = 0;
    while (before < played->n && played->at[before] == all->at[before])
        before++;
    while (behind < played->n && played->at[played->n - 1 - behind] == all->at[all->n - 1 - behind])
        behind++;
    if (before + behind < played->n)
        fail_msg("seed %d: of %zu tensors the first %zu and the last %zu lie where they should", seed, played->n,
                 before, behind);
}

static void check_stage(const stages *s, int stage, tally *t)
{
    static ek__numbers all, all_placed, played;
    all_placed.n = played.n = all.n = 0;
    placed = &all_placed;
    int64_t full = place(s, stage, true, 0);
    memcpy(ek__numbers_add(&all, left.n), left.at, left.n * sizeof *left.at);
    placed = &played;
    int64_t peak = place(s, stage, false, 0);
    placed = NULL;
    if (peak != full)
        fail_msg("seed %d, %s, %s, stage %d: peak %lld, played in full %lld", seed, s->job->schedule->name,
                 ek_allocation_name[s->job->rules.allocation], stage, (long long)peak, (long long)full);
    if (left.n != all.n || memcmp(left.at, all.at, all.n * sizeof *all.at) != 0)
        fail_msg("seed %d, %s, %s, stage %d: another address space than played in full", seed, s->job->schedule->name,
                 ek_allocation_name[s->job->rules.allocation], stage);
    if (!ek__starts_as_megatron(s->job)) /* one step of one rank */
        check_addresses(&all_placed, &played);
    t->n_full += (long)all_placed.n;
    t->n_played += (long)played.n;
    t->n_shorter += played.n < all_placed.n;
    /* A limit is exceeded or it is not; below it the peak is exact. */
    const int64_t most[] = {peak - 1, peak, peak / 2};
    for (int i = 0; i < 3; i++) {
        int64_t with = place(s, stage, false, most[i]);
        assert_true(with <= peak && (with == peak || with > most[i]));
        assert_true((with > most[i]) == (peak > most[i]));
    }
}

static void check(ek_job *job, tally tallies[EK_N_ALLOCATIONS])
{
    static const ek_allocation online[] = {EK_ALLOCATION_BLOCKS, EK_ALLOCATION_PAGES, EK_ALLOCATION_CACHING};
    stages s = stages_of(job);
    for (size_t i = 0; i < sizeof online / sizeof *online; i++) {
        job->rules.allocation = online[i];
        for (int stage = 0; stage < job->plan.n_stages; stage++)
            check_stage(&s, stage, &tallies[online[i]]);
    }
    clear_stages(&s);
}

static ek_job long_pipeline(ek__random *random)
{
    static const char *const schedules[] = {"1f1b", "1f1b", "interleaved", "zb-h1"};
    int p = 1 + ek__random_below(random, 16), which = ek__random_below(random, 4), v = which == 2 ? 2 : 1;
    ek_job job = plain_job(p, v, 1, p * (4 + ek__random_below(random, 20)));
    job.schedule = ek_schedule_find(schedules[which]);
    job.plan.full[0] = ek__random_below(random, 2);
    return job;
}

/* Devices too small for all, so that segments are released and blocks come from the rest. */
static void set_limits(ek__random *random, ek_job *job)
{
    static const double unit_mb[] = {0.001, 0.1, 1, 20};
    job->rules.block_bytes = (int64_t)(1 << 20) << ek__random_below(random, 5);
    job->rules.page_bytes = (int64_t)(1 << 16) << ek__random_below(random, 6);
    job->limit_mb =
        ek__random_below(random, 2) ? 0 : unit_mb[ek__random_below(random, 4)] * (1 + ek__random_below(random, 50));
}

static void peaks_are_those_of_playing_all(void **state)
{
    (void)state;
    enum { N = 60, SEED = 20261124 };
    tally tallies[EK_N_ALLOCATIONS] = {0};
    print_message("# seeds %d to %d\n", SEED, SEED + N - 1);
    for (int i = 0; i < effort(N, 10); i++) {
        seed = SEED + i;
        ek__random random = ek__random_seed((uint64_t)seed);
        ek_job job = i % 3 == 0 ? long_pipeline(&random) : random_job(&random);
        if (i % 3 > 0)
            job.parallel.n_micro_batches *= 10 + ek__random_below(&random, 40);
        set_limits(&random, &job);
        check(&job, tallies);
        ek_job_clear(&job);
    }
    for (int a = EK_ALLOCATION_BLOCKS; a <= EK_ALLOCATION_CACHING; a++) {
        const tally *t = &tallies[a];
        print_message("# %s: %ld of %ld requests played, fewer of %ld stages\n", ek_allocation_name[a], t->n_played,
                      t->n_full, t->n_shorter);
        assert_true(t->n_shorter >= effort(10, 1));
    }
}

/* ---- out of memory ---- */

/* @return how many allocations a stage takes */
static int fail_each(const stages *s, int stage)
{
    const ek__stop stop = {0};
    in_full = false;
    for (int n = 0;; n++) {
        int64_t actual = 7;
        ek_error err;
        atomic_store(&allocations_left, n);
        left.n = 0;
        ek_status status = ek__stage_place(s->job, s->programs, stage, s->blocks + (size_t)stage * s->n_blocks,
                                           s->n_blocks, &stop, &actual, &err);
        bool failed = atomic_exchange(&allocations_left, -1) < 0;
        assert_int_equal(status, failed ? EK_ERR_MEMORY : EK_OK);
        if (!failed)
            return n;
        assert_int_equal(actual, 7);
    }
}

static void every_failing_allocation_is_told(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 1, 128);
    job.rules.allocation = EK_ALLOCATION_CACHING;
    stages s = stages_of(&job);
    assert_true(fail_each(&s, 0) > 100); /* a frame for each micro-batch before a round, two lists for comparing */
    assert_true(fail_each(&s, 1) > 20);
    clear_stages(&s);
    ek_job_clear(&job);
}

/* ---- rounds of several periods ---- */

/* Two micro-batches at once, each of which takes the place of the one before the last. Once tensors are placed, no
 * period equals the previous one, and every second is the same. */
static void a_round_may_be_two_periods(void **state)
{
    (void)state;
    ek__numbers address = {0};
    ek_job job = plain_job(2, 1, 1, 256);
    job.rules.allocation = EK_ALLOCATION_CACHING;
    stages s = stages_of(&job);
    size_t period = 0, n = 0;
    placed = &address;
    for (job.parallel.n_micro_batches = 255; job.parallel.n_micro_batches <= 256; job.parallel.n_micro_batches++) {
        clear_stages(&s);
        s = stages_of(&job);
        address.n = 0;
        place(&s, 0, true, 0);
        period = address.n - n;
        n = address.n;
    }
    job.parallel.n_micro_batches = 256;
    placed = NULL;
    bool one = true;
    for (size_t i = n / 2; i < n / 2 + 4 * period; i++) {
        one = one && address.at[i] == address.at[i + period];
        assert_int_equal(address.at[i], address.at[i + 2 * period]);
    }
    assert_false(one);
    tally t = {0};
    check_stage(&s, 0, &t);
    assert_true(t.n_played < t.n_full / 2);
    free(address.at);
    clear_stages(&s);
    ek_job_clear(&job);
}

/* Two micro-batches are alive between all periods, and the allocator's state is the same after each, with their buffers
 * swapped. The first two blocks are in the other order, so that periods begin with a backward pass. */
static void change_places(int m)
{
    ek_job job = plain_job(3, 1, 1, m);
    job.rules.allocation = EK_ALLOCATION_CACHING;
    job.plan.full[1] = 1; /* only a layer's input is alive between blocks */
    stages s = stages_of(&job);
    ek_block *of = s.blocks + s.n_blocks;
    assert_int_equal(s.n_blocks, 2 * m);
    of[0] = (ek_block){1, 0, EK_FORWARD};
    of[1] = (ek_block){0, 0, EK_FORWARD};
    for (int b = 2; b < m; b++) {
        of[2 * b - 2] = (ek_block){(uint32_t)b - 2, 0, EK_BACKWARD};
        of[2 * b - 1] = (ek_block){(uint32_t)b, 0, EK_FORWARD};
    }
    of[2 * m - 2] = (ek_block){(uint32_t)m - 2, 0, EK_BACKWARD};
    of[2 * m - 1] = (ek_block){(uint32_t)m - 1, 0, EK_BACKWARD};
    assert_int_equal(ek__period_of(of, s.n_blocks).begin, 2);
    tally t = {0};
    check_stage(&s, 1, &t);
    assert_true(t.n_played < t.n_full / 2);
    clear_stages(&s);
    ek_job_clear(&job);
}

static void micro_batches_that_change_places_are_not_a_round(void **state)
{
    (void)state;
    change_places(256);
    change_places(257); /* an odd number of periods is not left out by chance */
}

/* ---- periods ---- */

static bool is_period(const ek_block *blocks, ek__period p)
{
    for (size_t i = p.begin; i + p.length < p.end; i++) {
        const ek_block *a = &blocks[i], *b = &blocks[i + p.length];
        if (a->kind != b->kind || a->chunk != b->chunk || (int64_t)b->micro_batch - a->micro_batch != p.shift)
            return false;
    }
    return true;
}

/* The shortest length for which some run of blocks around the middle is long enough; by trying all runs. */
static ek__period slow_period(const ek_block *blocks, size_t n)
{
    for (size_t length = 1; n / 2 + length < n; length++) {
        ek__period best = {0};
        int64_t shift = (int64_t)blocks[n / 2 + length].micro_batch - blocks[n / 2].micro_batch;
        for (size_t begin = 0; begin <= n / 2; begin++) {
            ek__period p = {begin, n / 2 + length + 1, length, shift};
            if (!is_period(blocks, p))
                continue;
            while (p.end < n && is_period(blocks, (ek__period){begin, p.end + 1, length, shift}))
                p.end++;
            best = p;
            break;
        }
        if (2 * (best.end - best.begin) >= n && best.end - best.begin >= 3 * length)
            return best;
    }
    return (ek__period){0};
}

static void periods_are_those_that_a_slow_search_finds(void **state)
{
    (void)state;
    int n_found = 0;
    for (int i = 0; i < 150; i++) {
        ek__random random = ek__random_seed((uint64_t)(7 + i));
        ek_job job = random_job(&random);
        ek_block *blocks;
        size_t n;
        ek_error err;
        job.parallel.n_micro_batches *= 1 + ek__random_below(&random, 4);
        assert_int_equal(ek__job_order(&job, &blocks, &n, &err), EK_OK);
        for (int s = 0; s < job.plan.n_stages; s++) {
            const ek_block *of = blocks + (size_t)s * n;
            ek__period fast = ek__period_of(of, n), slow = slow_period(of, n);
            assert_int_equal(fast.length, slow.length);
            assert_int_equal(fast.begin, slow.begin);
            assert_int_equal(fast.end, slow.end);
            assert_int_equal(fast.shift, slow.shift);
            n_found += fast.length > 0;
        }
        free(blocks);
        ek_job_clear(&job);
    }
    assert_true(n_found > 50);
}

static int free_lists(void **state)
{
    (void)state;
    free(left.at);
    left = (ek__numbers){0};
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_those_of_playing_all),
        cmocka_unit_test(every_failing_allocation_is_told),
        cmocka_unit_test(a_round_may_be_two_periods),
        cmocka_unit_test(micro_batches_that_change_places_are_not_a_round),
        cmocka_unit_test(periods_are_those_that_a_slow_search_finds),
    };
    return cmocka_run_group_tests_name("memory rounds", tests, NULL, free_lists);
}
