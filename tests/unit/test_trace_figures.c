/* Tests the description of a trace's figures against the output of its writers. A run is filled from the description,
 * an entry or two in every list, and written: every figure is in the JSON and nothing else is, with a value of its
 * kind; columns are in the described tables. */
#include "described.h"

#include <math.h>

#include "base/pool.h"
#include "evenkeel/compute.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/view.h"
#include "figures/trace_figures.h"
#include "report/writers.h"
#include "view/view.h"

enum { ENTRIES = 2 };

/* ---- a run with everything ---- */

static void fill(const ek__fields *fields, void *record, int number, ek__pool *pool);

/* Entries of a list; fields filled by another description of the same struct are left to it. */
static void fill_entries(const ek__fields *fields, char *entries, bool map, ek__pool *pool)
{
    for (int i = 0; i < ENTRIES; i++) {
        char *entry = entries + (size_t)i * fields->size;
        const char *name = i ? "y" : "x";
        if (map) /* entries are called by their first member, which may be no figure */
            memcpy(entry, &name, sizeof name);
        fill(fields, entry, i, pool);
    }
}

static void fill_list(const ek__fields *fields, void *record, size_t n_at, size_t at, bool map, ek__pool *pool)
{
    int n = ENTRIES;
    char *list;
    memcpy(&list, (char *)record + at, sizeof list);
    if (!list)
        list = ek__pool_alloc(pool, ENTRIES, fields->size);
    assert_non_null(list);
    fill_entries(fields, list, map, pool);
    memcpy((char *)record + at, &list, sizeof list);
    memcpy((char *)record + n_at, &n, sizeof n);
}

/* A member of a kind: texts that differ from entry to entry, numbers above 0. */
static void fill_member(const ek__member *f, char *member, int number, ek__pool *pool)
{
    if (f->kind == EK__KIND_JSON || f->kind == EK__KIND_TEXT) {
        const char *text = f->kind == EK__KIND_JSON ? "{}" : ek__pool_text(pool, number ? "y" : "x", 1);
        memcpy(member, &text, sizeof text);
    } else if (f->kind == EK__KIND_FLAG) {
        *(bool *)member = true;
    } else if (ek__kind_is_whole(f->kind)) {
        const int64_t wide = 1;
        const int narrow = 1;
        memcpy(member, f->size == sizeof wide ? (const void *)&wide : &narrow, f->size);
    } else if (f->kind != EK__KIND_WORD) {
        const double real = 0.5;
        memcpy(member, &real, sizeof real);
    }
}

static void fill(const ek__fields *fields, void *record, int number, ek__pool *pool)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        char *member = (char *)record + f->at;
        if (f->get || f->compose || f->find || f->kind == EK__KIND_OWN)
            continue;
        if (f->kind == EK__KIND_PARTS || f->kind == EK__KIND_OBJECT)
            fill(f->fields, member, number, pool);
        else if (f->kind != EK__KIND_LIST && f->kind != EK__KIND_MAP)
            fill_member(f, member, number, pool);
    }
    /* Lists last: their counts may be figures too. */
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        if (!f->find && (f->kind == EK__KIND_LIST || f->kind == EK__KIND_MAP))
            fill_list(f->fields, record, f->n_at, f->at, f->kind == EK__KIND_MAP, pool);
    }
}

/* Fields without a description: indices, and the parts of composed texts. */
static void fill_rest(ek_trace_run *run, ek__pool *pool)
{
    static int members[] = {0, 1, 7}; /* the last has no files */
    static const char *note[] = {"a note"};
    static const char *stack = "file.py:1 f";
    static ek_trace_block block = {.start = 1, .end = 2, .bytes = 3, .address = 4};
    for (int r = 0; r < run->n_ranks; r++) {
        ek_trace_rank *rank = &run->rank[r];
        const ek__rows *rows = NULL;
        while ((rows = ek__next_trace_rows(rows)) != NULL)
            if (!rows->of_run && !rows->inner && !rows->item)
                fill_list(rows->fields, rank, rows->n_at, rows->at, false, pool);
        rank->rank = r;
        rank->n_notes = 1;
        rank->note = note;
        for (int i = 0; i < ENTRIES; i++) {
            rank->communication.comm_sum[i].p2p = i > 0;
            rank->communication.comm_sum[i].step = rank->communication.comm_sum[i].key = "step1";
            rank->communication.collective[i].p2p = true;
            rank->idle.stream[i].pid = "1";
            rank->step[i].warm_up = false;
            rank->step[i].from_table = false;
            rank->memory.map[i].n_blocks = rank->memory.map[i].n_stacks = 1;
            rank->memory.map[i].block = &block;
            rank->memory.map[i].stack = &stack;
        }
        static ek_trace_shaped shaped = {.name = "op", .kernel = "kernel", .core = "core", .shapes = "1", .types = "t"};
        static ek_trace_execution execution = {.start = 1, .duration = 2};
        rank->measured = (ek_trace_measured){.n = 1, .op = &shaped, .n_all = 1, .execution = &execution};
        rank->producer = EK_PRODUCER_MSPROF; /* its steps have iterations */
        rank->recompute.n_regions = 1;
        rank->counts.by_phase['X'] = 1;
    }
    for (int i = 0; i < run->topology.n_groups; i++) {
        run->topology.group[i].n_ranks = 3;
        run->topology.group[i].rank = members;
    }
    for (int i = 0; i < run->n_cluster_rows; i++)
        run->cluster_row[i].computed = i > 0;
    run->topology.tells_sequence_parallel = true;
    run->sapp.made = true;
}

static ek_compute *new_compute(ek__pool *pool)
{
    ek_compute *c = ek__pool_alloc(pool, 1, sizeof *c);
    assert_non_null(c);
    fill(&ek__trace_compute, c, 0, pool);
    snprintf(c->device, sizeof c->device, "d"); /* "" is none */
    c->total = c->known = c->flops = 2;
    for (int i = 0; i < c->n; i++) {
        c->op[i].known = EK_PROFILE_TAKEN;
        c->op[i].work = (ek_kernel){.flops = 3, .bytes = 4};
        c->op[i].expected = 5;
    }
    return c;
}

static void fill_path(ek_trace_run *run, ek__pool *pool)
{
    static double of_rank[ENTRIES] = {1, 2};
    static ek_trace_segment segment = {.activity = EK_TRACE_FORWARD, .start = 1, .end = 3, .name = "op"};
    fill(&ek__trace_path, &run->path, 0, pool);
    run->path.of_rank = of_rank;
    run->path.length = 3;
    run->path.n_segments = 1;
    run->path.segment = &segment;
}

static ek_trace_run *new_run(void)
{
    ek__pool *pool = ek__pool_new();
    ek_trace_run *run = calloc(1, sizeof *run);
    assert_true(pool && run);
    run->pool = pool;
    fill(&ek__trace_run, run, 0, pool);
    run->rank = ek__pool_alloc(pool, ENTRIES, sizeof *run->rank);
    assert_non_null(run->rank);
    fill_entries(&ek__trace_rank, (char *)run->rank, false, pool);
    run->n_ranks = ENTRIES;
    fill_rest(run, pool);
    run->compute = new_compute(pool);
    fill_path(run, pool);
    return run;
}

static void free_run(ek_trace_run *run)
{
    ek__pool_free(run->pool);
    free(run);
}

/* ---- JSON ---- */

static char *written(ek_status write(const ek_trace_run *, const ek_trace_view *, FILE *, ek_error *),
                     const ek_trace_run *run)
{
    char *text = NULL;
    size_t size;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (write(run, NULL, out, &err))
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

static void the_json_has_every_figure_and_nothing_else(void **state)
{
    (void)state;
    ek_trace_run *run = new_run();
    char *text = written(ek__trace_write_json, run);
    check_described(&ek__trace_run, text, false);
    free(text);
    free_run(run);
}

/* ---- tables ---- */

static void every_csv_has_its_columns_and_rows(void **state)
{
    (void)state;
    ek_trace_run *run = new_run();
    int n_described = 0;
    const ek__rows *rows = NULL;
    while ((rows = ek__next_trace_rows(rows)) != NULL)
        n_described += rows->csv != NULL;
    assert_int_equal(n_described, EK_N_TRACE_TABLES);
    for (int i = 0; i < EK_N_TRACE_TABLES; i++) {
        char *text = NULL;
        size_t size;
        ek_error err;
        ek__column column[EK__MAX_COLUMNS];
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(ek__trace_write_csv(run, &ek_trace_tables[i], NULL, out, &err), EK_OK);
        fclose(out);
        rows = NULL;
        do
            rows = ek__next_trace_rows(rows);
        while (rows && (!rows->csv || strcmp(rows->csv, ek_trace_tables[i].name) != 0));
        assert_non_null(rows);
        char *row = strchr(text, '\n');
        assert_true(row && row[1]); /* a row below the header */
        *row++ = '\0';
        int n = ek__fields_columns(rows->fields, rows->also, EK__OF_CSV, column), n_commas[2] = {0};
        for (int k = 0; k < n; k++) {
            char name[64];
            ek__column_name(&column[k], EK__OF_CSV, name, sizeof name);
            if (!strstr(text, name))
                fail_msg("%s.csv has no column %s", rows->csv, name);
        }
        for (const char *c = text; *c; c++)
            n_commas[0] += *c == ',';
        for (const char *c = row; *c != '\n'; c++)
            n_commas[1] += *c == ',';
        assert_int_equal(n_commas[0], n_commas[1]);
        free(text);
    }
    free_run(run);
}

static const json_t *find_named(const json_t *list, const char *key, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
    {
        const char *is = json_string_value(json_object_get(one, key));
        size_t n = is ? strlen(name) : 0;
        if (is && strncmp(is, name, n) == 0 && (!is[n] || is[n] == '-'))
            return one;
    }
    return NULL;
}

/* The findings' table is only there where a diagnosis is; test_view_runs has it. */
static void the_page_has_every_table_with_its_columns_and_rows(void **state)
{
    (void)state;
    ek_trace_run *run = new_run();
    const ek_view_run one = {.name = "run", .trace = run};
    const ek_view view = {.title = "page", .n_runs = 1, .run = &one};
    char *text = NULL;
    size_t size;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    if (ek__view_write_json(&view, out, &err))
        fail_msg("%s", err.message);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    const json_t *sections = json_object_get(json_array_get(json_object_get(root, "runs"), 0), "sections");
    const ek__rows *rows = NULL;
    while ((rows = ek__next_trace_rows(rows)) != NULL) {
        ek__column column[EK__MAX_COLUMNS];
        if (!rows->section || strcmp(rows->id, "trace-findings") == 0)
            continue;
        const json_t *section = find_named(sections, "name", rows->section);
        const json_t *table = find_named(json_object_get(section, "tables"), "id", rows->id);
        if (!table)
            fail_msg("section %s has no table %s", rows->section, rows->id);
        const json_t *columns = json_object_get(table, "columns");
        if (json_array_size(json_object_get(table, "rows")) == 0)
            fail_msg("the table %s has no row", rows->id);
        assert_int_equal(json_array_size(json_array_get(json_object_get(table, "rows"), 0)), json_array_size(columns));
        for (int n = ek__fields_columns(rows->fields, rows->also, EK__OF_PAGE, column), i = 0; i < n; i++)
            if (!find_named(columns, "name", column[i].field->page.name))
                fail_msg("the table %s has no column %s", rows->id, column[i].field->page.name);
    }
    json_decref(root);
    free(text);
    free_run(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_has_every_figure_and_nothing_else),
        cmocka_unit_test(every_csv_has_its_columns_and_rows),
        cmocka_unit_test(the_page_has_every_table_with_its_columns_and_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
