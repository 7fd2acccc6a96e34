/* The description of a trace's figures against what its writers print. A run is filled from the description, an entry
 * or two in every list, and written: every figure is in the JSON and nothing else is, with a value of its kind; columns
 * are in the tables they say; each figure has a sentence, which docs/trace-json.md has. */
#include "input.h"

#include <jansson.h>
#include <math.h>

#include "base/pool.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/view.h"
#include "figures/trace_figures.h"

enum { MAX_FIELDS = 128, ENTRIES = 2 };

/* ---- a run with everything ---- */

static void fill(const ek__fields *fields, void *record, int number, ek__pool *pool);

/* Entries of a list; what another description of the same struct filled is left to it. */
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
    } else if (ek__member_is_whole(f)) {
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
        if (f->kind == EK__KIND_LIST || f->kind == EK__KIND_MAP)
            fill_list(f->fields, record, f->n_at, f->at, f->kind == EK__KIND_MAP, pool);
    }
}

/* What no description says: indices, and what composed texts are made of. */
static void fill_rest(ek_trace_run *run, ek__pool *pool)
{
    static int members[] = {0, 1};
    static const char *note[] = {"a note"};
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
        }
        rank->producer = EK_PRODUCER_MSPROF; /* its steps have iterations */
        rank->recompute.n_regions = 1;
    }
    for (int i = 0; i < run->topology.n_groups; i++) {
        run->topology.group[i].n_ranks = 2;
        run->topology.group[i].rank = members;
    }
    for (int i = 0; i < run->n_cluster_rows; i++)
        run->cluster_row[i].computed = i > 0;
    run->topology.tells_sequence_parallel = true;
    run->sapp.made = true;
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
    return run;
}

static void free_run(ek_trace_run *run)
{
    ek__pool_free(run->pool);
    free(run);
}

/* ---- all fields ---- */

static const ek__fields *all[MAX_FIELDS];
static int n_all;

/* Those below `fields`, each once, outermost first. */
static void gather(const ek__fields *fields)
{
    for (int i = 0; i < n_all; i++)
        if (all[i] == fields)
            return;
    assert_true(n_all < MAX_FIELDS);
    all[n_all++] = fields;
    for (int i = 0; i < fields->n; i++)
        if (fields->field[i].fields)
            gather(fields->field[i].fields);
}

static int gather_all(void **state)
{
    const ek__rows *rows = NULL;
    (void)state;
    gather(&ek__trace_run);
    while ((rows = ek__next_trace_rows(rows)) != NULL)
        gather(rows->fields);
    return 0;
}

/* ---- JSON ---- */

static bool is_bare(const ek__fields *fields)
{
    const ek__member *last = &fields->field[fields->n - 1];
    return last->key && !*last->key;
}

/* The field of a key, also within PARTS. */
static const ek__member *find_field(const ek__fields *fields, const char *key)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i], *inner;
        if (f->key && strcmp(f->key, key) == 0)
            return f;
        if (f->kind == EK__KIND_PARTS && (inner = find_field(f->fields, key)) != NULL)
            return inner;
    }
    return NULL;
}

static bool has_type(const ek__member *f, const json_t *value)
{
    switch (f->kind) {
    case EK__KIND_TEXT:
    case EK__KIND_WORD:
        return json_is_string(value);
    case EK__KIND_FLAG:
        return json_is_boolean(value);
    case EK__KIND_COUNT:
    case EK__KIND_NUMBER:
    case EK__KIND_SIZE:
    case EK__KIND_BYTES:
        return json_is_integer(value);
    case EK__KIND_OBJECT:
    case EK__KIND_MAP:
    case EK__KIND_JSON:
        return json_is_object(value);
    case EK__KIND_LIST:
        return json_is_array(value);
    case EK__KIND_OWN:
        return true;
    default:
        return json_is_number(value);
    }
}

static void check_object(const ek__fields *fields, const json_t *object, const char *where);

static void check_value(const ek__member *f, const json_t *value, const char *where)
{
    const char *key;
    json_t *entry;
    size_t i;
    if (!value || !has_type(f, value))
        fail_msg("%s.%s is %s", where, f->key, value ? "of another type" : "not in the JSON");
    if (!f->fields)
        return;
    if (json_is_array(value)) {
        if (json_array_size(value) == 0)
            fail_msg("%s.%s is empty", where, f->key);
        json_array_foreach(value, i, entry) check_object(f->fields, entry, f->key);
    } else if (f->kind == EK__KIND_MAP || f->kind == EK__KIND_OWN) {
        if (json_object_size(value) == 0)
            fail_msg("%s.%s is empty", where, f->key);
        json_object_foreach((json_t *)(uintptr_t)value, key, entry)
        {
            if (!is_bare(f->fields))
                check_object(f->fields, entry, f->key);
        }
    } else {
        check_object(f->fields, value, f->key);
    }
}

static void check_object(const ek__fields *fields, const json_t *object, const char *where)
{
    const char *key;
    json_t *value;
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        if (f->kind == EK__KIND_PARTS)
            for (int k = 0; k < f->fields->n; k++)
                if (f->fields->field[k].key && !json_object_get(object, f->fields->field[k].key))
                    fail_msg("%s.%s is not in the JSON", where, f->fields->field[k].key);
        if (f->key)
            check_value(f, json_object_get(object, f->key), where);
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!find_field(fields, key))
            fail_msg("%s.%s is in the JSON, but not described", where, key);
    }
}

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
    json_error_t wrong;
    ek_trace_run *run = new_run();
    char *text = written(ek_trace_write_json, run);
    json_t *root = json_loads(text, 0, &wrong);
    if (!root)
        fail_msg("line %d: %s", wrong.line, wrong.text);
    check_object(&ek__trace_run, root, "the run");
    json_decref(root);
    free(text);
    free_run(run);
}

/* ---- columns ---- */

static int columns_of(const ek__rows *rows, ek__columns_of which, ek__column column[EK__MAX_COLUMNS])
{
    return ek__fields_columns(rows->fields, rows->also, which, column);
}

/* Is the field a column of one of the tables? */
static bool in_a_table(const ek__member *f, ek__columns_of which)
{
    const ek__rows *rows = NULL;
    ek__column column[EK__MAX_COLUMNS];
    while ((rows = ek__next_trace_rows(rows)) != NULL) {
        if (!(which == EK__OF_CSV ? rows->csv : rows->section))
            continue;
        for (int n = columns_of(rows, which, column), i = 0; i < n; i++)
            if (column[i].field == f)
                return true;
    }
    return false;
}

static void every_column_is_in_a_table_at_a_place_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < n_all; i++)
        for (int k = 0; k < all[i]->n; k++) {
            const ek__member *f = &all[i]->field[k];
            const char *name = f->key ? f->key : f->page.name ? f->page.name : "?";
            if (f->kind == EK__KIND_OBJECT)
                continue;
            if (f->csv.at > 0 && !in_a_table(f, EK__OF_CSV))
                fail_msg("%s is a column of no CSV", name);
            if (f->page.at > 0 && !in_a_table(f, EK__OF_PAGE))
                fail_msg("%s is a column of no table of the page", name);
            if (f->page.at > 0 && (!f->page.name || !f->page.title))
                fail_msg("the column %s of the page has no name or title", name);
        }
    const ek__rows *rows = NULL;
    ek__column column[EK__MAX_COLUMNS];
    while ((rows = ek__next_trace_rows(rows)) != NULL)
        for (int which = EK__OF_CSV; which <= EK__OF_PAGE; which++)
            for (int n = columns_of(rows, (ek__columns_of)which, column), i = 1; i < n; i++)
                if (column[i].at == column[i - 1].at && (which == EK__OF_CSV ? rows->csv : rows->section))
                    fail_msg("two columns of %s are at %d", rows->id ? rows->id : rows->csv, column[i].at);
}

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
        assert_int_equal(ek_trace_write_csv(run, &ek_trace_tables[i], NULL, out, &err), EK_OK);
        fclose(out);
        rows = NULL;
        do
            rows = ek__next_trace_rows(rows);
        while (rows && (!rows->csv || strcmp(rows->csv, ek_trace_tables[i].name) != 0));
        assert_non_null(rows);
        char *row = strchr(text, '\n');
        assert_true(row && row[1]); /* a row below the header */
        *row++ = '\0';
        int n = columns_of(rows, EK__OF_CSV, column), n_commas[2] = {0};
        for (int k = 0; k < n; k++) {
            const char *name = column[k].field->csv.name ? column[k].field->csv.name : column[k].field->key;
            const char *at = strstr(text, name);
            if (!at)
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
    if (ek_view_write_json(&view, out, &err))
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
        for (int n = columns_of(rows, EK__OF_PAGE, column), i = 0; i < n; i++)
            if (!find_named(columns, "name", column[i].field->page.name))
                fail_msg("the table %s has no column %s", rows->id, column[i].field->page.name);
    }
    json_decref(root);
    free(text);
    free_run(run);
}

/* ---- the documentation ---- */

static void every_figure_has_a_sentence(void **state)
{
    (void)state;
    for (int i = 0; i < n_all; i++)
        for (int k = 0; k < all[i]->n; k++) {
            const ek__member *f = &all[i]->field[k];
            if (f->key && *f->key && (!f->about || !*f->about))
                fail_msg("%s of %s has no sentence", f->key, all[i]->path ? all[i]->path : "the run");
        }
}

static const char *type_of(const ek__member *f)
{
    static const char *const type[] = {
        [EK__KIND_TEXT] = "string",   [EK__KIND_WORD] = "string",    [EK__KIND_FLAG] = "boolean",
        [EK__KIND_COUNT] = "integer", [EK__KIND_NUMBER] = "integer", [EK__KIND_SIZE] = "integer",
        [EK__KIND_BYTES] = "bytes",   [EK__KIND_NS] = "us",          [EK__KIND_NS_MS] = "ms",
        [EK__KIND_MEAN] = "us",       [EK__KIND_MS] = "ms",          [EK__KIND_MS_6] = "ms",
        [EK__KIND_REAL] = "number",   [EK__KIND_SHARE] = "fraction", [EK__KIND_PERCENT] = "percent",
        [EK__KIND_MB] = "MB",         [EK__KIND_KB] = "KB",          [EK__KIND_GBPS] = "GB/s",
        [EK__KIND_JSON] = "object",   [EK__KIND_OBJECT] = "object",  [EK__KIND_LIST] = "list",
        [EK__KIND_MAP] = "object",    [EK__KIND_PARTS] = "fields",   [EK__KIND_OWN] = NULL,
    };
    return f->kind == EK__KIND_OWN ? f->own : type[f->kind];
}

/* The columns of CSV that a field is, "steps, ranks". */
static void print_csv_columns(const ek__member *f, FILE *out)
{
    const ek__rows *rows = NULL;
    ek__column column[EK__MAX_COLUMNS];
    bool begun = false;
    while ((rows = ek__next_trace_rows(rows)) != NULL)
        for (int n = rows->csv ? columns_of(rows, EK__OF_CSV, column) : 0, i = 0; i < n; i++)
            if (column[i].field == f) {
                fprintf(out, "%s%s", begun ? ", " : "", rows->csv);
                begun = true;
            }
    if (begun && f->csv.name && strcmp(f->csv.name, f->key) != 0)
        fprintf(out, ": `%s`", f->csv.name);
}

/* A list of paths, each as code. */
static void print_path(const char *path, FILE *out)
{
    fputc('`', out);
    for (; *path; path++)
        if (strncmp(path, ", ", 2) == 0) {
            fputs("`, `", out);
            path++;
        } else {
            fputc(*path, out);
        }
    fputc('`', out);
}

static void print_fields(const ek__fields *fields, bool columns, FILE *out)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        if (f->kind == EK__KIND_PARTS && !f->key && f->fields->path) {
            fputs("| *parts* | us | the fields of ", out);
            print_path(f->fields->path, out);
            fputs(columns ? " | | |\n" : " |\n", out);
        } else if (f->kind == EK__KIND_PARTS) {
            print_fields(f->fields, columns, out);
        }
        if (!f->key || !*f->key)
            continue;
        fprintf(out, "| `%s` | %s | %s |", f->key, type_of(f), f->about);
        if (columns) {
            fputc(' ', out);
            print_csv_columns(f, out);
            fprintf(out, " | %s |", f->page.at > 0 ? f->page.title : "");
        }
        fputc('\n', out);
    }
}

static bool has_columns(const ek__fields *fields)
{
    for (int i = 0; i < fields->n; i++)
        if (fields->field[i].key && (fields->field[i].csv.at > 0 || fields->field[i].page.at > 0))
            return true;
    return false;
}

static char *documentation(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (int i = 0; i < n_all; i++) {
        const ek__fields *fields = all[i];
        bool columns = has_columns(fields);
        if (fields != &ek__trace_run && !fields->path)
            continue;
        fputs("\n### ", out);
        if (fields->path)
            print_path(fields->path, out);
        else
            fputs("The run", out);
        fprintf(out, "\n\n%s%s", fields->about ? fields->about : "", fields->about ? "\n\n" : "");
        fputs(columns ? "| field | type, unit | meaning | CSV | page |\n|---|---|---|---|---|\n"
                      : "| field | type, unit | meaning |\n|---|---|---|\n",
              out);
        print_fields(fields, columns, out);
    }
    fclose(out);
    return text;
}

/* Everything behind the heading of the fields is what the description says. EK_WRITE_DOCS=1 writes it. */
static void the_document_says_what_the_description_says(void **state)
{
    (void)state;
    static const char heading[] = "\n## The fields\n";
    size_t size = 0;
    char *text = slurp(source_path("docs/trace-json.md"), &size), *wanted = documentation();
    assert_non_null(text);
    char *at = strstr(text, heading);
    assert_non_null(at);
    at += sizeof heading - 1;
    if (getenv("EK_WRITE_DOCS")) {
        FILE *file = fopen(source_path("docs/trace-json.md"), "wb");
        assert_non_null(file);
        fwrite(text, 1, (size_t)(at - text), file);
        fputs(wanted, file);
        assert_int_equal(fclose(file), 0);
    } else if (strcmp(at, wanted) != 0) {
        size_t same = 0, line = 1;
        for (const char *c = text; c < at; c++)
            line += *c == '\n';
        for (; at[same] && at[same] == wanted[same]; same++)
            line += at[same] == '\n';
        fail_msg("docs/trace-json.md:%zu is not what the description says; EK_WRITE_DOCS=1 with this test writes it",
                 line);
    }
    free(wanted);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_has_every_figure_and_nothing_else),
        cmocka_unit_test(every_column_is_in_a_table_at_a_place_of_its_own),
        cmocka_unit_test(every_csv_has_its_columns_and_rows),
        cmocka_unit_test(the_page_has_every_table_with_its_columns_and_rows),
        cmocka_unit_test(every_figure_has_a_sentence),
        cmocka_unit_test(the_document_says_what_the_description_says),
    };
    return cmocka_run_group_tests(tests, gather_all, NULL);
}
