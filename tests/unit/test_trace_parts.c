/* Tests partial results: every rank of every made and every reference profile is read back unchanged, whole runs give
 * the same JSON from parts in any order, and from processes of a team; bytes that are cut, changed or random are
 * refused or harmless. Columns and records are compared with random ones. */
#define _XOPEN_SOURCE 700
#include "input.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include <zlib.h>

#include "base/pool.h"
#include "base/random.h"
#include "effort.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "made_traces.h"
#include "report/writers.h"
#include "thread_team.h"
#include "trace/analyse/launch_queue.h"
#include "trace/partial/derived.h"
#include "trace/partial/pack.h"
#include "trace/partial/part.h"
#include "trace/tables/files.h"

/* ---- columns ---- */

static int64_t odd_number(ek__random *random, int kind, int64_t before)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MAX, 0, -1, 1, 63, 64, -64, -65, INT32_MIN, INT32_MAX};
    switch (kind) {
    case 0:
        return 7;
    case 1:
        return before + ek__random_below(random, 50);
    case 2:
        return ek__random_below(random, 5) - 2;
    case 3:
        return (int64_t)ek__random_next(random);
    default:
        return edges[ek__random_below(random, sizeof edges / sizeof *edges)];
    }
}

static void columns_come_back(void **state)
{
    (void)state;
    enum { MOST = 70 };
    ek__random random = ek__random_seed(3);
    for (int round = 0; round < 4000; round++) {
        int64_t value[MOST], beside[MOST], back[MOST];
        double real[MOST], real_back[MOST];
        size_t n = (size_t)ek__random_below(&random, MOST);
        int kind = round % 5;
        for (size_t i = 0; i < n; i++) {
            value[i] = odd_number(&random, kind, i > 0 ? value[i - 1] : 1000000);
            beside[i] = round % 3 ? value[i] + ek__random_below(&random, 3) * (kind != 4) : odd_number(&random, 3, 0);
            real[i] = kind == 0 ? -0.0 : kind == 1 ? (double)value[i] : kind == 2 ? NAN : ek__random_unit(&random);
        }
        ek__column_bytes out = {0};
        ek__column_write(&out, value, n, round % 2 ? beside : NULL);
        ek__column_write_real(&out, real, n);
        ek__cursor in = {out.at, out.at + out.n, false};
        ek__column_read(&in, back, n, round % 2 ? beside : NULL);
        ek__column_read_real(&in, real_back, n);
        assert_false(in.wrong);
        assert_ptr_equal(in.at, in.end);
        assert_memory_equal(value, back, n * sizeof *value);
        assert_memory_equal(real, real_back, n * sizeof *real);
        for (size_t cut = 0; cut < out.n; cut++) { /* a cut is noticed */
            ek__cursor less = {out.at, out.at + cut, false};
            ek__column_read(&less, back, n, round % 2 ? beside : NULL);
            ek__column_read_real(&less, real_back, n);
            assert_true(less.wrong);
        }
        free(out.at);
    }
}

/* ---- records ---- */

static const ek__record_type *const all_records[] = {&ek__record_rank, &ek__record_derived, &ek__record_files};

/* Bytes of a record that belong to no member, except padding before the next. */
static void check_members(const ek__record_type *record)
{
    unsigned char *named = calloc(1, record->size);
    for (int i = 0; i < record->n_members; i++) {
        const ek__record_member *m = &record->member[i];
        for (size_t k = 0; k < m->size * (size_t)m->n; k++)
            named[m->offset + k]++;
        if (m->of && m->of != record)
            check_members(m->of);
        if (m->kind == EK__MEMBER_LIST) { /* its count is a member, read before it */
            int at = 0;
            while (at < i && record->member[at].offset != m->count)
                at++;
            assert_true(at < i);
            assert_int_equal(record->member[at].size, m->count_size);
        }
    }
    size_t gap = 0;
    for (size_t k = 0; k < record->size; k++) {
        assert_true(named[k] <= 1);
        gap = named[k] ? 0 : gap + 1;
        if (gap > 7 || (gap > 3 && k + 1 < record->size && k % 8 == 3))
            fail_msg("%s: bytes up to %zu have no member", record->name, k);
    }
    free(named);
}

static void every_byte_of_a_record_has_a_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_records / sizeof *all_records; i++)
        check_members(all_records[i]);
}

static void fill(const ek__record_type *record, char *at, ek__random *random, ek__pool *pool, int depth);

static int64_t any_of(const ek__record_member *m, ek__random *random)
{
    if (m->least == 0 && m->most <= 255)
        return ek__random_below(random, (int)m->most + 1);
    int64_t value = odd_number(random, ek__random_below(random, 5), 77);
    return m->size == 8 ? value : m->size == 4 ? (int32_t)value : m->size == 2 ? (uint16_t)value : (uint8_t)value;
}

static void fill_member(const ek__record_member *m, char *record, ek__random *random, ek__pool *pool, int depth)
{
    static const char *const texts[] = {NULL, "", "a", "longer text", "\xc3\xa4"};
    for (int k = 0; k < m->n; k++) {
        char *at = record + m->offset + (size_t)k * m->size;
        int64_t value = m->kind == EK__MEMBER_WHOLE ? any_of(m, random) : 0;
        double real = ek__random_below(random, 3) ? ek__random_unit(random) * 1e9 : (double)NAN;
        const char *text = texts[ek__random_below(random, 5)];
        text = !text && m->least == 1 ? "x" : text;
        switch (m->kind) {
        case EK__MEMBER_WHOLE:
            memcpy(at, &value, m->size);
            break;
        case EK__MEMBER_DOUBLE:
            memcpy(at, &real, sizeof real);
            break;
        case EK__MEMBER_TEXT:
            memcpy(at, &text, sizeof text);
            break;
        case EK__MEMBER_RECORD:
            fill(m->of, at, random, pool, depth);
            break;
        default:
            break;
        }
    }
    if (m->kind == EK__MEMBER_LIST) {
        int64_t n = depth < 3 ? ek__random_below(random, 4) : 0;
        char *list = ek__pool_alloc(pool, (size_t)n, m->of->size);
        for (int64_t i = 0; i < n; i++)
            fill(m->of, list + (size_t)i * m->of->size, random, pool, depth + 1);
        memcpy(record + m->offset, &list, sizeof list);
        memcpy(record + m->count, &n, m->count_size);
    }
}

static void fill(const ek__record_type *record, char *at, ek__random *random, ek__pool *pool, int depth)
{
    for (int i = 0; i < record->n_members; i++)
        if (record->member[i].kind != EK__MEMBER_LATER)
            fill_member(&record->member[i], at, random, pool, depth);
}

static void check_same(const ek__record_type *record, const char *a, const char *b)
{
    for (int i = 0; i < record->n_members; i++) {
        const ek__record_member *m = &record->member[i];
        const char *x = a + m->offset, *y = b + m->offset, *s, *t;
        switch (m->kind) {
        case EK__MEMBER_WHOLE:
        case EK__MEMBER_DOUBLE:
            if (memcmp(x, y, m->size * (size_t)m->n) != 0)
                fail_msg("%s.%s differs", record->name, m->name);
            break;
        case EK__MEMBER_TEXT:
            memcpy(&s, x, sizeof s);
            memcpy(&t, y, sizeof t);
            if (!s != !t || (s && strcmp(s, t) != 0))
                fail_msg("%s.%s: '%s' and '%s'", record->name, m->name, s ? s : "NULL", t ? t : "NULL");
            break;
        case EK__MEMBER_RECORD:
            check_same(m->of, x, y);
            break;
        case EK__MEMBER_LIST: {
            int64_t n = 0;
            memcpy(&n, a + m->count, m->count_size);
            memcpy(&s, x, sizeof s);
            memcpy(&t, y, sizeof t);
            for (int64_t k = 0; k < n; k++)
                check_same(m->of, s + (size_t)k * m->of->size, t + (size_t)k * m->of->size);
            break;
        }
        case EK__MEMBER_LATER:
            break;
        }
    }
}

static void random_records_come_back(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++)
        for (size_t k = 0; k < sizeof all_records / sizeof *all_records; k++) {
            const ek__record_type *record = all_records[k];
            ek__random random = ek__random_seed(seed);
            ek__pool *pool = ek__pool_new();
            ek__records_out out;
            ek__records_in in;
            size_t size;
            char *at = ek__pool_alloc(pool, 3, record->size), *back = ek__pool_alloc(pool, 3, record->size);
            for (size_t i = 0; i < 3; i++)
                fill(record, at + i * record->size, &random, pool, 0);
            assert_int_equal(ek__records_begin(&out, NULL), EK_OK);
            assert_int_equal(ek__records_add(&out, record, at, 3, NULL), EK_OK);
            unsigned char *bytes = ek__records_end(&out, &size);
            assert_int_equal(ek__records_open(&in, bytes, size, pool, NULL), EK_OK);
            assert_int_equal(ek__records_read(&in, record, back, 3, NULL), EK_OK);
            assert_ptr_equal(in.cursor.at, in.cursor.end);
            for (size_t i = 0; i < 3; i++)
                check_same(record, at + i * record->size, back + i * record->size);
            ek__records_clear(&out);
            ek__pool_free(pool);
            free(bytes);
        }
}

/* ---- results from pieces ---- */

static void what_follows_from_pieces_comes_back(void **state)
{
    (void)state;
    enum { N = 40 };
    int n_taken = 0, n_queues = 0;
    for (unsigned seed = 1; seed <= 300; seed++) {
        ek__random random = ek__random_seed(seed);
        ek_trace_piece piece[N];
        ek_trace_execution execution[N];
        ek_trace_member member[N];
        ek_trace_rank rank = {.pool = ek__pool_new()}, less;
        int64_t start = 1000;
        size_t n_executions = 0, n_members = 0;
        for (int i = 0; i < N; i++) { /* several start at once, and some have no launch */
            start += ek__random_below(&random, 3) * 5;
            piece[i] =
                (ek_trace_piece){.start = start, .end = start + ek__random_below(&random, 4), .launch = start - 50};
            if (ek__random_below(&random, 5) == 0)
                piece[i].launch = EK_TRACE_UNKNOWN;
            if (ek__random_below(&random, 3) == 0)
                execution[n_executions++] =
                    (ek_trace_execution){start, piece[i].end - start, ek__random_below(&random, 9), i % 3 - 1};
            if (ek__random_below(&random, 2) == 0)
                member[n_members++] = (ek_trace_member){start, ek__random_below(&random, 4)};
        }
        if (seed % 4 == 0 && n_executions > 2)
            execution[n_executions / 2].duration += 100; /* no piece */
        rank.work = (ek_trace_work){.n = N, .piece = piece};
        rank.measured.execution = execution, rank.measured.n_all = n_executions;
        rank.layers.member = member, rank.layers.n_members = n_members;
        ek__launched launched[N];
        for (int i = 0; i < N; i++)
            launched[i] = (ek__launched){piece[i].launch, piece[i].start};
        assert_int_equal(ek__launch_queue_make(launched, N, rank.pool, &rank.queue, NULL), EK_OK);
        if (seed % 5 == 0)
            rank.queue.lengths[3].value += 1; /* of work that is no piece */
        less = rank;
        ek__derived derived;
        assert_int_equal(ek__derived_take(&less, &derived, NULL), EK_OK);
        n_taken += n_executions > 0 && less.measured.n_all == 0;
        n_queues += less.queue.n_lengths == 0;
        assert_int_equal(less.layers.n_members, 0);
        assert_int_equal(ek__derived_put(&derived, &less, NULL), EK_OK);
        assert_int_equal(less.measured.n_all, n_executions);
        for (size_t i = 0; i < n_executions; i++) {
            const ek_trace_execution *a = &less.measured.execution[i], *b = &execution[i];
            assert_true(a->start == b->start && a->duration == b->duration && a->op == b->op && a->stream == b->stream);
        }
        assert_int_equal(less.layers.n_members, n_members);
        for (size_t i = 0; i < n_members; i++)
            assert_true(less.layers.member[i].start == member[i].start &&
                        less.layers.member[i].layer == member[i].layer);
        assert_int_equal(less.queue.n_lengths, rank.queue.n_lengths);
        assert_memory_equal(less.queue.lengths, rank.queue.lengths,
                            (size_t)rank.queue.n_lengths * sizeof *rank.queue.lengths);
        assert_memory_equal(less.queue.delays, rank.queue.delays,
                            (size_t)rank.queue.n_delays * sizeof *rank.queue.delays);
        ek__derived_clear(&derived);
        ek__pool_free(rank.pool);
    }
    assert_true(n_taken > 100 && n_taken < 260);
    assert_int_equal(n_queues, 240);
}

/* ---- profiles ---- */

static char *json_of(const char *const *path, int n, const ek_trace_options *options, ek_error *err)
{
    ek_trace_run run = {0};
    char *text = NULL;
    size_t size = 0;
    if (ek_trace_run_read(path, n, options, NULL, &run, err))
        return NULL;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__trace_write_json(&run, NULL, out, err), EK_OK);
    assert_int_equal(ek__trace_write_jsonl(&run, NULL, out, err), EK_OK);
    for (int i = 0; i < EK_N_TRACE_TABLES; i++)
        assert_int_equal(ek__trace_write_csv(&run, &ek_trace_tables[i], NULL, out, err), EK_OK);
    fclose(out);
    ek_trace_run_clear(&run);
    return text;
}

static bool make_part(const char *const *path, int n, const char *to, ek_trace_options options)
{
    ek_trace_run run = {0};
    ek_error err;
    options.ranks_only = true;
    if (ek_trace_run_read(path, n, &options, NULL, &run, &err))
        return false;
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    assert_int_equal(ek_trace_part_write(&run, &options, out, &err), EK_OK);
    assert_int_equal(fclose(out), 0);
    ek_trace_run_clear(&run);
    return true;
}

static char folder[] = "/tmp/evenkeel-parts-XXXXXX";
static const char *part_path(int i)
{
    static char path[32][sizeof folder + 32];
    snprintf(path[i], sizeof path[i], "%s/%d.ekr", folder, i);
    return path[i];
}

static int n_looked_at, n_same;

static int look_at(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    const ek_trace_options options = {.n_threads = 1, .measure = true};
    const char *const one[] = {path}, *const part[] = {part_path(0)};
    ek_error err;
    if ((kind == FTW_D && at->level > 3) || (kind == FTW_F && n_looked_at % effort(1, 3) != 0 && ++n_looked_at))
        return 0;
    n_looked_at += kind == FTW_F;
    char *expected = json_of(one, 1, &options, &err);
    if (!expected)
        return 0;
    assert_true(make_part(one, 1, part[0], options));
    char *text = json_of(part, 1, &options, &err);
    if (!text)
        fail_msg("%s: %s", path, err.message);
    if (strcmp(text, expected) != 0)
        fail_msg("%s comes back otherwise", path);
    free(text);
    free(expected);
    n_same++;
    return 0;
}

static void profiles_come_back(void **state)
{
    (void)state;
    n_looked_at = n_same = 0;
    assert_int_equal(nftw(made_traces(), look_at, 20, FTW_PHYS), 0);
    assert_true(n_same > 20);
}

/* ---- runs ---- */

/* Folders of four ranks of the made job. */
static int ranks_of(const char **path)
{
    static char room[4][4096];
    int n = 0;
    for (int i = 0; i < 4; i++) {
        snprintf(room[i], sizeof room[i], "%s/torch_npu/rank_%d_ascend_pt", made_traces(), i);
        if (access(room[i], R_OK) == 0)
            path[n++] = room[i];
    }
    return n;
}

static void parts_in_any_order_are_the_run(void **state)
{
    (void)state;
    const ek_trace_options options = {.n_threads = 1, .measure = true};
    const char *rank[4], *path[4];
    ek_error err;
    int n = ranks_of(rank);
    assert_int_equal(n, 4);
    char *expected = json_of(rank, n, &options, &err);
    assert_non_null(expected);
    for (int i = 0; i < n; i++)
        assert_true(make_part(&rank[i], 1, part_path(i), options));
    ek__random random = ek__random_seed(5);
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < n; i++) {
            int k = ek__random_below(&random, i + 1);
            path[i] = path[k];
            path[k] = round % 3 == 2 && i == 1 ? rank[i] : part_path(i); /* a part beside profiles, too */
        }
        char *text = json_of(path, n, &options, &err);
        assert_non_null(text);
        assert_string_equal(text, expected);
        free(text);
    }
    assert_true(make_part(rank, 2, part_path(4), options)); /* two ranks in one */
    const char *const larger[] = {part_path(3), part_path(4), part_path(2)};
    char *text = json_of(larger, 3, &options, &err);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
}

/* ---- a team ---- */

typedef struct member {
    thread_team *all;
    int index;
    const char *const *path;
    int n;
    ek_trace_options options;
    char *text;
    ek_status status;
    ek_error error;
} member;

static void *take_part(void *argument)
{
    member *m = argument;
    ek_trace_run run = {0};
    size_t size;
    m->options.team = &m->all->process[m->index].team;
    m->status = ek_trace_run_read(m->path, m->n, &m->options, NULL, &run, &m->error);
    if (m->status)
        return NULL;
    if (m->index > 0)
        assert_int_equal(run.n_ranks, 0);
    else {
        FILE *out = open_memstream(&m->text, &size);
        assert_int_equal(ek__trace_write_json(&run, NULL, out, &m->error), EK_OK);
        assert_int_equal(ek__trace_write_jsonl(&run, NULL, out, &m->error), EK_OK);
        for (int i = 0; i < EK_N_TRACE_TABLES; i++)
            assert_int_equal(ek__trace_write_csv(&run, &ek_trace_tables[i], NULL, out, &m->error), EK_OK);
        fclose(out);
    }
    ek_trace_run_clear(&run);
    return NULL;
}

/* `own`: process i has only path i, and all of them --local. */
static char *read_together(int size, const char *const *path, int n, bool own, ek_trace_options options, ek_error *err)
{
    thread_team team;
    member all[THREAD_TEAM_MOST] = {{0}};
    thread_team_make(&team, size);
    options.local = own;
    for (int i = 0; i < size; i++)
        all[i] =
            (member){.all = &team, .index = i, .path = own ? &path[i] : path, .n = own ? 1 : n, .options = options};
    thread_team_run(&team, take_part, all, sizeof *all);
    thread_team_clear(&team);
    *err = all[0].error;
    return all[0].text;
}

/* Facts of the whole run from tables: three ranks, each with another part of them. */
static void topologies_are_put_together(void **state)
{
    (void)state;
    static const char *const sizes[] = {
        "\"tensor_model_parallel_size\":2,\"pipeline_model_parallel_size\":1,\"world_size\":8,\"sequence_parallel\":"
        "false",
        "\"tensor_model_parallel_size\":1,\"pipeline_model_parallel_size\":4,\"data_parallel_size\":3",
        "\"context_parallel_size\":5,\"expert_model_parallel_size\":6,\"sequence_parallel\":true"};
    const ek_trace_options options = {.n_threads = 1, .measure = true, .patience = 20};
    static char room[3][sizeof folder + 40];
    const char *rank[4], *path[3], *part[3];
    ek_error err;
    assert_int_equal(ranks_of(rank), 4);
    for (int i = 0; i < 3; i++) {
        char name[sizeof room[0] + 60], command[9000];
        snprintf(room[i], sizeof room[i], "%s/rank_%d_ascend_pt", folder, i);
        snprintf(command, sizeof command, "cp -r '%s' '%s'", rank[i], room[i]);
        assert_int_equal(system(command), 0);
        snprintf(name, sizeof name, "%s/profiler_metadata.json", room[i]);
        FILE *out = fopen(name, "w");
        assert_non_null(out);
        fprintf(out,
                "{\"distributed_args\":{%s},\"parallel_group_info\":{\"common\":{\"group_name\":\"tp\","
                "\"global_ranks\":[0,1,2]},\"own_%d\":{\"group_name\":\"dp\",\"global_ranks\":[%d,7]}}}",
                sizes[i], i, i);
        fclose(out);
        path[i] = room[i];
        part[i] = part_path(2 - i);
        assert_true(make_part(&path[i], 1, part[i], options));
    }
    ek_trace_run run = {0};
    assert_int_equal(ek_trace_run_read(part, 3, &options, NULL, &run, &err), EK_OK);
    const ek_trace_topology *t = &run.topology;
    assert_true(t->known && t->tensor == 2 && t->pipeline == 4 && t->data == 3 && t->context == 5 && t->expert == 6);
    assert_true(t->world_size == 8 && t->sequence_parallel && t->tells_sequence_parallel);
    assert_int_equal(t->n_groups, 4);
    ek_trace_run_clear(&run);
    char *expected = json_of(path, 3, &options, &err), *text = json_of(part, 3, &options, &err);
    assert_string_equal(text, expected);
    free(text);
    text = read_together(3, path, 3, false, options, &err);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    for (int i = 0; i < 3; i++) {
        char command[sizeof room[0] + 20];
        snprintf(command, sizeof command, "rm -r '%s'", room[i]);
        assert_int_equal(system(command), 0);
    }
}

static void wrong_parts_are_told_of(void **state)
{
    (void)state;
    const ek_trace_options options = {.n_threads = 1, .measure = true};
    ek_trace_options other = options, only = options;
    const char *rank[4], *path[2] = {part_path(0), part_path(1)};
    ek_error err = {.status = EK_OK};
    size_t size;
    assert_int_equal(ranks_of(rank), 4);
    for (int i = 0; i < 2; i++)
        assert_true(make_part(&rank[0], 1, part_path(i), options));
    assert_null(json_of(path, 2, &options, &err));
    assert_non_null(strstr(err.message, "was read from this file twice"));
    other.drop_first_steps = 1;
    assert_null(json_of(path, 1, &other, &err));
    assert_non_null(strstr(err.message, "was written with no options, but the current options are --drop-first 1"));
    only.parts_only = true;
    assert_null(json_of(rank, 1, &only, &err));
    assert_non_null(strstr(err.message, "is no partial result"));
    char *bytes = slurp(path[0], &size);
    bytes[9]++; /* of other records */
    FILE *out = fopen(path[1], "wb");
    fwrite(bytes, 1, size, out);
    fclose(out);
    assert_null(json_of(&path[1], 1, &options, &err));
    assert_non_null(strstr(err.message, "was written by another evenkeel"));
    free(bytes);
}

/* ---- bytes ---- */

static unsigned char *bytes_of_a_part(size_t *size)
{
    const ek_trace_options options = {.n_threads = 1, .measure = true};
    const char *rank[4];
    assert_int_equal(ranks_of(rank), 4);
    assert_true(make_part(&rank[1], 1, part_path(0), options));
    return (unsigned char *)slurp(part_path(0), size);
}

static ek_status read_bytes(const unsigned char *bytes, size_t size)
{
    ek__trace_part part;
    ek_error err;
    /* A copy of just its size, so that reading beyond it is noticed. */
    unsigned char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, bytes, size);
    ek_status status = ek__part_read(copy, size, "part", &part, &err);
    if (!status)
        ek_trace_run_clear(&part.run);
    free(copy);
    return status;
}

static void cut_and_changed_parts_are_refused(void **state)
{
    (void)state;
    size_t size;
    unsigned char *bytes = bytes_of_a_part(&size);
    assert_int_equal(read_bytes(bytes, size), EK_OK);
    for (size_t n = 0; n < size; n += 1 + n / 20)
        assert_int_equal(read_bytes(bytes, n), EK_ERR_INPUT);
    ek__random random = ek__random_seed(8);
    for (int i = 0; i < 400; i++) {
        size_t at = (size_t)ek__random_below(&random, (int)size);
        bytes[at] ^= (unsigned char)(1 << ek__random_below(&random, 8));
        assert_int_equal(read_bytes(bytes, size), EK_ERR_INPUT);
        free(bytes);
        bytes = (unsigned char *)slurp(part_path(0), &size);
    }
    free(bytes);
}

/* Records with changed bytes and a valid checksum: refused, or a rank that can be reported. */
static void made_up_records_are_refused_or_harmless(void **state)
{
    (void)state;
    size_t size;
    unsigned char *file = bytes_of_a_part(&size);
    ek__trace_part part;
    ek_error err;
    assert_int_equal(ek__part_read(file, size, NULL, &part, &err), EK_OK);
    ek__records_out out;
    size_t n;
    assert_int_equal(ek__records_begin(&out, NULL), EK_OK);
    assert_int_equal(ek__records_add(&out, &ek__record_rank, &part.run.rank[0], 1, NULL), EK_OK);
    unsigned char *bytes = ek__records_end(&out, &n), *changed = malloc(n);
    int n_read = 0, rounds = effort(60000, 6000);
    ek__random random = ek__random_seed(21);
    for (int round = 0; round < rounds; round++) {
        ek__records_in in;
        ek_trace_rank rank = {0};
        ek__pool *pool = ek__pool_new();
        memcpy(changed, bytes, n);
        for (int k = 0; k <= round % 3; k++)
            changed[ek__random_below(&random, (int)n)] = (unsigned char)ek__random_next(&random);
        size_t left = round % 10 == 0 ? (size_t)ek__random_below(&random, (int)n) : n;
        if (ek__records_open(&in, changed, left, pool, &err) == EK_OK &&
            ek__records_read(&in, &ek__record_rank, &rank, 1, &err) == EK_OK)
            n_read++;
        ek__pool_free(pool);
    }
    assert_true(n_read > 0 && n_read < rounds);
    free(changed);
    free(bytes);
    ek__records_clear(&out);
    ek_trace_run_clear(&part.run);
    free(file);
}

/* ---- processes ---- */

static void processes_read_the_run_together(void **state)
{
    (void)state;
    const ek_trace_options options = {.n_threads = 1, .measure = true, .patience = 20};
    const char *rank[4];
    ek_error err;
    int n = ranks_of(rank);
    assert_int_equal(n, 4);
    char *expected = json_of(rank, n, &options, &err);
    for (int size = 2; size <= 7; size += 5) {
        char *text = read_together(size, rank, n, false, options, &err);
        assert_non_null(text);
        assert_string_equal(text, expected);
        free(text);
    }
    char *text = read_together(4, rank, n, true, options, &err);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    const char *const same[] = {rank[1], rank[1], rank[2]};
    assert_null(read_together(3, same, 3, true, options, &err));
    assert_non_null(strstr(err.message, "was read from this file twice"));
    const char *const none[] = {"/nowhere"};
    assert_null(read_together(3, none, 1, false, options, &err));
    assert_non_null(strstr(err.message, "cannot be opened"));
    free(expected);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int clean_up(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        unlink(part_path(i));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_back),
        cmocka_unit_test(every_byte_of_a_record_has_a_member),
        cmocka_unit_test(random_records_come_back),
        cmocka_unit_test(what_follows_from_pieces_comes_back),
        cmocka_unit_test(profiles_come_back),
        cmocka_unit_test(parts_in_any_order_are_the_run),
        cmocka_unit_test(topologies_are_put_together),
        cmocka_unit_test(wrong_parts_are_told_of),
        cmocka_unit_test(cut_and_changed_parts_are_refused),
        cmocka_unit_test(made_up_records_are_refused_or_harmless),
        cmocka_unit_test(processes_read_the_run_together),
        cmocka_unit_test(traces_of_others_are_among_them),
    };
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
