/* Tests the analysis of the memory tracker's dumps: memory held after the last use, by place and layer, never released,
 * growth from step to step. Oracles: a replay of random dumps tick by tick, and dumps of training loops with known
 * growth. */
#include "tree.h"

#include <inttypes.h>
#include <math.h>

#include "base/pool.h"
#include "base/random.h"
#include "trace/analyse/analysis.h"
#include "trace/events/memory_sites.h"

static ek_trace_run run;

static const ek_trace_tracker *read_dump(void)
{
    const ek_trace_options options = {.n_threads = 1};
    const char *const paths[] = {top};
    ek_error err = {0};
    ek_status status = ek_trace_run_read(paths, 1, &options, NULL, &run, &err);
    if (status)
        print_error("%s\n", err.message);
    assert_int_equal(status, EK_OK);
    assert_int_equal(run.n_ranks, 1);
    return &run.rank[0].memory.tracker;
}

static const ek_trace_finding *finding(const char *id)
{
    const ek_trace_finding *found = NULL;
    for (int i = 0; i < run.n_findings; i++)
        if (strcmp(run.finding[i].id, id) == 0) {
            assert_null(found);
            found = &run.finding[i];
        }
    return found;
}

/* ---- a dump as the tracker writes it ---- */

enum { MAX_BLOCKS = 400, MAX_TASKS = 400, MAX_USERS = 24 };

typedef struct block {
    int64_t start, end, bytes, producer, user[MAX_USERS];
    int n_users, layer, place;
    bool weight;
} block;

typedef struct task {
    int64_t tick;
    char name[64];
} task;

static struct {
    int64_t tick;
    int n_blocks, n_tasks;
    block block[MAX_BLOCKS];
    task task[MAX_TASKS];
} dump;

static int64_t next_tick(void)
{
    return ++dump.tick;
}

static int64_t run_task(const char *format, int number)
{
    task *t = &dump.task[dump.n_tasks++];
    t->tick = next_tick();
    snprintf(t->name, sizeof t->name, format, number);
    return t->tick;
}

static block *allocate(int64_t mb, int layer, int place, bool weight)
{
    block *b = &dump.block[dump.n_blocks++];
    *b = (block){
        .start = next_tick(), .end = INT64_MAX, .bytes = mb << 20, .layer = layer, .place = place, .weight = weight};
    b->producer = dump.n_tasks > 0 ? dump.task[dump.n_tasks - 1].tick : 0;
    return b;
}

static void use(block *b)
{
    b->user[b->n_users++] = dump.task[dump.n_tasks - 1].tick;
}

static void release(block *b)
{
    b->end = next_tick();
}

static const char *place_of(int place)
{
    static char text[64];
    snprintf(text, sizeof text, "model/part.py:%d construct", place);
    return text;
}

static const char *layer_of(int layer)
{
    static char text[64];
    snprintf(text, sizeof text, layer < 0 ? "(other)" : "%d-Block", layer);
    return text;
}

static void write_dump(bool tasks)
{
    put("rank_0/memory_block.csv", "");
    FILE *out = fopen(below("rank_0/memory_block.csv"), "wb");
    assert_non_null(out);
    fputs("start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_peak_memory,file_name,line_num,"
          "type,producer_task,task_name,node_name,graph_name,user_tasks,python_stack,\n",
          out);
    for (int i = 0; i < dump.n_blocks; i++) {
        const block *b = &dump.block[i];
        fprintf(out, "%" PRId64 ",%" PRId64 ",0x1,0,Pool,%" PRId64 ",0,k.cc,1,%s,%" PRId64 ",Op,", b->start, b->end,
                b->bytes, b->weight ? "Weight" : "PyNativeOutput", b->producer);
        fprintf(out, b->layer < 0 ? "Default/Op-op1,graph,{" : "Default/%d-Block/Op-op1,graph,{", b->layer);
        for (int u = 0; u < b->n_users; u++)
            fprintf(out, "%" PRId64 "-", b->user[u]);
        fprintf(out,
                "},File:/opt/mindspore/ops.py;Line:1;Function:call|File:/home/a/model/part.py;Line:%d;"
                "Function:construct|File:/home/a/train.py;Line:9;Function:main|,\n",
                b->place);
    }
    fclose(out);
    unlink(below("rank_0/task.csv"));
    if (!tasks)
        return;
    put("rank_0/task.csv", "");
    out = fopen(below("rank_0/task.csv"), "wb");
    assert_non_null(out);
    fputs("time_stamp,task_name,node_name,graph_name,file_name,line_num,\n", out);
    for (int i = 0; i < dump.n_tasks; i++)
        fprintf(out, "%" PRId64 ",%s,,graph,k.cc,1,\n", dump.task[i].tick, dump.task[i].name);
    fclose(out);
}

/* ---- random dumps, replayed ---- */

static int64_t over_at(const block *b)
{
    if (b->n_users == 0)
        return INT64_MAX;
    for (int i = 0; i < dump.n_tasks; i++)
        if (dump.task[i].tick > b->user[b->n_users - 1])
            return dump.task[i].tick > b->start ? dump.task[i].tick : b->start + 1;
    return INT64_MAX;
}

static bool lives(const block *b, int64_t tick, bool released)
{
    bool over = released && !b->weight && tick >= over_at(b);
    return b->start <= tick && tick < b->end && !over;
}

static int64_t replay(bool released, int64_t *at)
{
    int64_t peak = 0;
    for (int64_t tick = 0; tick <= dump.tick + 1; tick++) {
        int64_t sum = 0;
        for (int i = 0; i < dump.n_blocks; i++)
            sum += lives(&dump.block[i], tick, released) ? dump.block[i].bytes : 0;
        if (sum > peak) {
            peak = sum;
            *at = tick;
        }
    }
    return peak;
}

static void make_random(ek__random *random)
{
    int open[MAX_BLOCKS], n_open = 0;
    dump.tick = dump.n_blocks = dump.n_tasks = 0;
    for (int i = 0; i < 40; i++) {
        run_task("Task%d", ek__random_below(random, 5));
        for (int k = ek__random_below(random, 3); k > 0; k--) {
            open[n_open++] = dump.n_blocks;
            allocate(ek__random_below(random, 50), ek__random_below(random, 3) - 1, ek__random_below(random, 4),
                     ek__random_below(random, 6) == 0);
            if (ek__random_below(random, 4))
                use(&dump.block[dump.n_blocks - 1]);
        }
        for (int k = 0; k < n_open; k++) {
            block *b = &dump.block[open[k]];
            if (ek__random_below(random, 4) == 0 && b->n_users < MAX_USERS)
                use(b);
            if (ek__random_below(random, 8) == 0) {
                release(b);
                open[k--] = open[--n_open];
            }
        }
    }
}

typedef struct sums {
    int64_t live, held, never_freed;
} sums;

static sums sums_of(int place, int layer, int64_t peak_tick)
{
    sums s = {0};
    for (int i = 0; i < dump.n_blocks; i++) {
        const block *b = &dump.block[i];
        if (b->place != place || b->layer != layer)
            continue;
        bool live = lives(b, peak_tick, false);
        s.live += live ? b->bytes : 0;
        s.held += live && !lives(b, peak_tick, true) ? b->bytes : 0;
        s.never_freed += b->end == INT64_MAX && !b->weight ? b->bytes : 0;
    }
    return s;
}

static const ek_trace_tracker_site *site_of(const ek_trace_tracker *t, int place, int layer)
{
    for (int i = 0; i < t->n_sites; i++)
        if (strcmp(t->site[i].place, place_of(place)) == 0 && strcmp(t->site[i].layer, layer_of(layer)) == 0)
            return &t->site[i];
    return NULL;
}

static void check_replay(const ek_trace_tracker *t)
{
    int64_t tick = EK_TRACE_UNKNOWN, other, held = 0, never_freed = 0;
    assert_int_equal(t->peak_bytes, replay(false, &tick));
    assert_int_equal(t->peak_tick, tick);
    assert_int_equal(t->released_peak_bytes, replay(true, &other));
    for (int place = 0; place < 4; place++)
        for (int layer = -1; layer < 2; layer++) {
            const ek_trace_tracker_site *site = site_of(t, place, layer);
            sums s = sums_of(place, layer, tick);
            assert_true(site != NULL || (s.live == 0 && s.never_freed == 0));
            if (site) {
                assert_int_equal(site->live_bytes, s.live);
                assert_int_equal(site->held_bytes, s.held);
                assert_int_equal(site->never_freed_bytes, s.never_freed);
            }
            held += s.held;
            never_freed += s.never_freed;
        }
    assert_int_equal(t->held_bytes, held);
    assert_int_equal(t->never_freed_other_bytes, never_freed);
    assert_true((finding("memory-held") != NULL) == (held >= 1 << 20 && 20 * held > t->peak_bytes));
    assert_true((finding("memory-never-released") != NULL) ==
                (t->n_steps < 2 && never_freed >= 1 << 20 && 20 * never_freed > t->peak_bytes));
}

static void says_of_random_dumps_what_a_replay_says(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(12);
    for (int round = 0; round < 150; round++) {
        make_random(&random);
        write_dump(true);
        check_replay(read_dump());
        ek_trace_run_clear(&run);
    }
}

/* ---- training loops ---- */

enum { N_LAYERS = 3 };

/* `steps` steps; each keeps `leak` MB, and each layer `held` MB for its backward pass without reading it. The names of
 * tasks are those of their layer, or all alike as in PyNative mode. */
static void make_loop(int steps, int leak, int held, bool alike)
{
    block *weight[N_LAYERS];
    dump.tick = dump.n_blocks = dump.n_tasks = 0;
    run_task("Load%d", 0);
    for (int l = 0; l < N_LAYERS; l++)
        weight[l] = allocate(16, l, 100 + l, true);
    for (int s = 0; s < steps; s++) {
        block *kept[N_LAYERS], *dead[N_LAYERS];
        for (int l = 0; l < N_LAYERS; l++) {
            run_task("MatMul%d", alike ? 0 : l);
            use(weight[l]);
            kept[l] = allocate(128, l, 1, false);
            use(kept[l]);
            dead[l] = allocate(held, l, 2, false);
            use(dead[l]);
        }
        for (int l = N_LAYERS; l-- > 0;) {
            run_task("Grad%d", alike ? 0 : l);
            use(weight[l]);
            use(kept[l]);
            release(kept[l]);
            release(dead[l]);
        }
        if (steps > 1 || !alike) {
            run_task("Loss%d", 0);
            if (leak > 0)
                use(allocate(leak, -1, 3, false));
        }
    }
}

static void tells_growth_and_what_is_held(void **state)
{
    (void)state;
    make_loop(5, 8, 64, false);
    write_dump(true);
    const ek_trace_tracker *t = read_dump();
    assert_int_equal(t->n_steps, 5);
    assert_true(t->grows && fabs(t->growth_bytes - (8 << 20)) < 1e-6);
    for (int i = 0; i < t->n_steps; i++)
        assert_int_equal(t->step[i].live_bytes, (int64_t)(N_LAYERS * 16 + 8 * i) << 20);
    assert_int_equal(t->leaked_bytes, (int64_t)(4 * 8) << 20); /* the last step's may still go */
    assert_int_equal(t->never_freed_other_bytes, (int64_t)(5 * 8) << 20);
    /* When the last layer's second block is allocated, the two layers before it keep theirs, and four losses are
     * kept. */
    assert_int_equal(t->peak_bytes, (int64_t)(3 * 16 + 3 * 128 + 3 * 64 + 4 * 8) << 20);
    assert_int_equal(t->held_bytes, (int64_t)(2 * 64 + 4 * 8) << 20);
    const ek_trace_finding *held = finding("memory-held"), *growth = finding("memory-growth");
    assert_non_null(held);
    assert_non_null(strstr(held->text, "160.0 of the 656.0 MB alive at the peak"));
    assert_non_null(strstr(held->text, "64.0 MB by model/part.py:2 construct (0-Block)"));
    assert_non_null(strstr(held->text, "last used by MatMul0 at tick"));
    assert_non_null(strstr(held->advice, "used_bprop_inputs"));
    assert_non_null(strstr(held->advice, "contiguous"));
    assert_true(held->rank == 0 && held->gain_ns == EK_TRACE_UNKNOWN && isnan(held->share));
    assert_non_null(growth);
    assert_non_null(strstr(growth->text, "8.0 MB on average: 48.0 MB at the first of 5 steps, 80.0 MB at the last"));
    ek_trace_run_clear(&run);
}

/* The dump begins in the middle of a step, so its tasks repeat from there; steps begin where the least is alive. */
static void a_step_begins_where_the_least_is_alive(void **state)
{
    (void)state;
    enum { STEPS = 5 };
    dump.tick = dump.n_blocks = dump.n_tasks = 0;
    block *weight = allocate(16, 0, 100, true), *kept = NULL, *grad = NULL;
    int64_t begun[STEPS];
    for (int s = -1; s < STEPS; s++) {
        if (s >= 0) {
            begun[s] = run_task("Forward%d", 0);
            use(weight);
            kept = allocate(128, 0, 1, false);
            use(kept);
            use(allocate(8, -1, 3, false)); /* stays */
        }
        run_task("Grad%d", 0);
        if (s >= 0) {
            use(weight);
            grad = allocate(32, 0, 2, false);
            use(grad);
            release(kept);
        }
        run_task("Update%d", 0);
        if (s >= 0)
            release(grad);
    }
    write_dump(true);
    const ek_trace_tracker *t = read_dump();
    assert_int_equal(t->n_steps, STEPS);
    for (int s = 0; s < STEPS; s++) {
        assert_int_equal(t->step[s].tick, begun[s]);
        assert_int_equal(t->step[s].live_bytes, (int64_t)(16 + 8 * s) << 20);
    }
    assert_true(t->grows && fabs(t->growth_bytes - (8 << 20)) < 1e-6);
    ek_trace_run_clear(&run);
}

static void a_leak_is_named_when_it_is_much(void **state)
{
    (void)state;
    make_loop(6, 40, 0, false);
    write_dump(true);
    read_dump();
    const ek_trace_finding *kept = finding("memory-never-released");
    assert_non_null(kept);
    assert_non_null(
        strstr(kept->text, "200.0 MB of blocks other than weights and constants, allocated in steps before"));
    assert_non_null(strstr(kept->text, "200.0 MB by model/part.py:3 construct"));
    ek_trace_run_clear(&run);
}

static void a_clean_loop_has_no_finding(void **state)
{
    (void)state;
    make_loop(4, 0, 0, false);
    write_dump(true);
    const ek_trace_tracker *t = read_dump();
    assert_int_equal(t->n_steps, 4);
    assert_false(t->grows);
    assert_true(t->growth_bytes == 0);
    assert_int_equal(t->held_bytes, 0);
    assert_int_equal(t->released_peak_bytes, t->peak_bytes);
    assert_int_equal(run.n_findings, 0);
    ek_trace_run_clear(&run);
}

/* Layers with tasks of the same names repeat, but they are no steps: each uses its own weights. */
static void layers_are_no_steps(void **state)
{
    (void)state;
    dump.tick = dump.n_blocks = dump.n_tasks = 0;
    block *weight[12];
    run_task("Load%d", 0);
    for (int l = 0; l < 12; l++)
        weight[l] = allocate(16, -1, 100, true);
    for (int l = 0; l < 12; l++) {
        run_task("Norm%d", 0);
        run_task("MatMul%d", 0);
        use(weight[l]);
        use(allocate(32, -1, 1, false));
    }
    write_dump(true);
    const ek_trace_tracker *t = read_dump();
    assert_int_equal(t->n_steps, 0);
    assert_true(isnan(t->growth_bytes) && !t->grows);
    assert_int_equal(t->leaked_bytes, EK_TRACE_UNKNOWN);
    assert_null(finding("memory-growth"));
    ek_trace_run_clear(&run);
    /* The same where the weights of all are used in all. */
    make_loop(4, 8, 0, true);
    write_dump(true);
    t = read_dump();
    assert_int_equal(t->n_steps, 4);
    assert_true(fabs(t->growth_bytes - (8 << 20)) < 1e-6);
    ek_trace_run_clear(&run);
}

/* The tracker counts a task before its allocations: the outputs of the running task are not held. */
static void what_the_running_task_makes_is_in_use(void **state)
{
    (void)state;
    for (int tasks = 0; tasks < 2; tasks++) {
        dump.tick = dump.n_blocks = dump.n_tasks = 0;
        run_task("A%d", 0);
        allocate(10, -1, 1, false);
        use(&dump.block[0]);
        run_task("B%d", 0);
        use(allocate(100, -1, 2, false));
        write_dump(tasks);
        const ek_trace_tracker *t = read_dump();
        assert_int_equal(t->peak_bytes, (int64_t)110 << 20);
        assert_int_equal(t->held_bytes, (int64_t)10 << 20); /* only of A */
        assert_int_equal(t->released_peak_bytes, (int64_t)100 << 20);
        ek_trace_run_clear(&run);
    }
}

static void a_simple_dump_tells_no_users(void **state)
{
    (void)state;
    dump.tick = dump.n_blocks = dump.n_tasks = 0;
    run_task("A%d", 0);
    release(allocate(10, -1, 1, false));
    write_dump(false);
    const ek_trace_tracker *t = read_dump();
    assert_false(t->tells_users);
    assert_true(t->tells_stacks);
    assert_int_equal(t->held_bytes, 0);
    assert_int_equal(run.n_findings, 0);
    ek_trace_run_clear(&run);
}

/* ---- findings ---- */

#define MEGA(n) ((int64_t)(n) << 20)

/* Two ranks of 1000 MB, of which the second is hit harder; with steps, without, and just at the limits. */
static void findings_are_worded_by_the_figures(void **state)
{
    (void)state;
    static ek_trace_tracker_step steps[] = {{1, MEGA(100)}, {2, MEGA(150)}, {3, MEGA(200)}};
    static ek_trace_tracker_site sites[] = {
        {"m.py:1 f", "0-Block", .held_bytes = MEGA(120), .last_user = "MatMul0", .last_used_tick = 7,
         .released_tick = 90, .never_freed_bytes = MEGA(300), .leaked_bytes = MEGA(10)},
        {"m.py:2 g", "1-Block", .held_bytes = MEGA(50), .never_freed_bytes = MEGA(50), .leaked_bytes = MEGA(40)},
        {"m.py:3 h", "(other)", .held_bytes = MEGA(30), .never_freed_bytes = MEGA(100)},
        {"m.py:4 k", "(other)", .never_freed_bytes = MEGA(20), .leaked_bytes = MEGA(20)}};
    const ek_trace_tracker much = {.peak_bytes = MEGA(1000),
                                   .peak_tick = 77,
                                   .held_bytes = MEGA(200),
                                   .released_peak_bytes = MEGA(800),
                                   .never_freed_other_bytes = MEGA(500),
                                   .leaked_bytes = MEGA(60),
                                   .growth_bytes = MEGA(50),
                                   .grows = true,
                                   .n_steps = 3,
                                   .step = steps,
                                   .n_sites = 4,
                                   .site = sites};
    ek_trace_tracker less = much, least = much;
    less.held_bytes = MEGA(150);
    less.leaked_bytes = MEGA(51);
    less.growth_bytes = MEGA(40);
    least.held_bytes = least.leaked_bytes = MEGA(50); /* 5 % */
    least.growth_bytes = MEGA(1);                     /* 0.1 % */
    ek_trace_rank ranks[] = {{.rank = 4, .stage = -1}, {.rank = 5, .stage = -1}};
    ek_error err;
    ranks[0].memory.tracker = less;
    ranks[1].memory.tracker = much;
    run = (ek_trace_run){.rank = ranks, .n_ranks = 2, .pool = ek__pool_new()};
    assert_int_equal(ek__compare_tracker(NULL, &run, &err), EK_OK);
    assert_int_equal(run.n_findings, 3);
    assert_string_equal(
        finding("memory-held")->text,
        "Rank 5: 200.0 of the 1000.0 MB alive at the peak (tick 77) are still allocated after their last use (20.0 %, "
        "weights and constants not counted). If every block were released after its last use, the peak would be 800.0 "
        "MB. Most: 120.0 MB by m.py:1 f (0-Block), 50.0 MB by m.py:2 g (1-Block), 30.0 MB by m.py:3 h; its "
        "largest block was last used by MatMul0 at tick 7, and released at tick 90; 1 other rank likewise.");
    assert_string_equal(
        finding("memory-growth")->text,
        "Rank 5: every step begins with more memory alive than the one before, 50.0 MB on average: 100.0 "
        "MB at the first of 3 steps, 200.0 MB at the last; 1 other rank likewise.");
    const ek_trace_finding *never = finding("memory-never-released");
    assert_string_equal(never->text,
                        "Rank 5: 60.0 MB of blocks other than weights and constants, allocated in steps before the "
                        "last one, were not released at the end of the dump. Most: 40.0 MB by m.py:2 g (1-Block), 20.0 "
                        "MB by m.py:4 k, 10.0 MB by m.py:1 f (0-Block); 1 other rank likewise.");
    assert_non_null(strstr(never->advice, "created in the first step are normal"));
    assert_true(never->rank == 5 && never->gain_ns == EK_TRACE_UNKNOWN && isnan(never->share));
    ek__pool_free(run.pool);

    /* Without steps nothing grows, and all that is there at the end counts. */
    sites[0].last_user = NULL;
    sites[0].released_tick = EK_TRACE_UNKNOWN;
    ranks[1].memory.tracker.n_steps = 1;
    run = (ek_trace_run){.rank = &ranks[1], .n_ranks = 1, .pool = ek__pool_new()};
    assert_int_equal(ek__compare_tracker(NULL, &run, &err), EK_OK);
    assert_int_equal(run.n_findings, 2);
    assert_non_null(strstr(finding("memory-held")->text,
                           "m.py:3 h; its largest block was last used at tick 7, and never released."));
    never = finding("memory-never-released");
    assert_string_equal(
        never->text,
        "Rank 5: 500.0 MB of blocks other than weights and constants were not released at the end of the dump. Most: "
        "300.0 MB by m.py:1 f (0-Block), 100.0 MB by m.py:3 h, 50.0 MB by m.py:2 g (1-Block).");
    assert_non_null(strstr(never->advice, "a dump of three or more steps shows"));
    ek__pool_free(run.pool);

    /* Two steps are too few to report growth; a value at the limit is not reported. */
    ranks[0].memory.tracker = ranks[1].memory.tracker = least;
    ranks[1].memory.tracker.growth_bytes = MEGA(9);
    ranks[1].memory.tracker.n_steps = 2;
    run = (ek_trace_run){.rank = ranks, .n_ranks = 2, .pool = ek__pool_new()};
    assert_int_equal(ek__compare_tracker(NULL, &run, &err), EK_OK);
    assert_int_equal(run.n_findings, 0);
    ek__pool_free(run.pool);
}

static void another_task_csv_is_left_alone(void **state)
{
    (void)state;
    make_loop(1, 0, 0, false);
    write_dump(false);
    put("rank_0/task.csv", "id,owner\n1,me\n");
    read_dump();
    assert_int_equal(run.rank[0].n_sources, 1);
    ek_trace_run_clear(&run);
}

static void places_are_the_innermost_frames_of_the_program(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *place;
    } cases[] = {
        {"File:/a/b/c/d.py;Line:12;Function:f|", "c/d.py:12 f"},
        {"File:d.py;Line:12;Function:f", "d.py:12 f"},
        {"File:/x/mindspore/a.py;Line:1;Function:g|File:/u/m/n.py;Line:2;Function:h|", "m/n.py:2 h"},
        {"File:/x/mindspore/a/b.py;Line:1;Function:g|", "a/b.py:1 g"},
        {"|File:/x/mindspore/a/b.py;Line:1;Function:g|File:/mindspore/o.py;Line:3;Function:k|", "a/b.py:1 g"},
        {"File:/u/mindformers/m/n.py;Line:2;Function:h|", "m/n.py:2 h"},
        {"something else|rest", "something else"},
        {"File:a;Line:3", "File:a;Line:3"},
        {"", NULL},
        {"|||", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char place[512] = "";
        assert_int_equal(ek__tracker_place(cases[i].stack, place, sizeof place), cases[i].place != NULL);
        assert_string_equal(place, cases[i].place ? cases[i].place : "");
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_of_random_dumps_what_a_replay_says),
        TEST(tells_growth_and_what_is_held),
        TEST(a_step_begins_where_the_least_is_alive),
        TEST(a_leak_is_named_when_it_is_much),
        TEST(a_clean_loop_has_no_finding),
        TEST(layers_are_no_steps),
        TEST(what_the_running_task_makes_is_in_use),
        TEST(a_simple_dump_tells_no_users),
        cmocka_unit_test(findings_are_worded_by_the_figures),
        TEST(another_task_csv_is_left_alone),
        cmocka_unit_test(places_are_the_innermost_frames_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
