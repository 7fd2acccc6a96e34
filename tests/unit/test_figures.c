/* Tests the descriptions of figures: columns are in the described tables, each figure has a sentence, and each document
 * agrees with the description. The output of writers is in the tests of the results. */
#include "input.h"

#include <string.h>

#include "figures/results.h"

enum { MAX_FIELDS = 128 };

/* ---- all fields ---- */

/* The result that is looked at, and its fields. */
static const ek__result *result;
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

/* The fields of a result, after those that are already gathered. */
static void gather_more(const ek__result *one)
{
    result = one;
    gather(one->fields);
    for (const ek__fields *const *also = one->also; also && *also; also++)
        gather(*also);
    for (const ek__rows *rows = NULL; one->next_rows && (rows = one->next_rows(rows)) != NULL;)
        gather(rows->fields);
}

static void gather_result(const ek__result *one)
{
    n_all = 0;
    gather_more(one);
}

static const ek__rows *next_rows(const ek__rows *last)
{
    return result->next_rows ? result->next_rows(last) : NULL;
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
    while ((rows = next_rows(rows)) != NULL) {
        if (!(which == EK__OF_CSV ? rows->csv : rows->section))
            continue;
        for (int n = columns_of(rows, which, column), i = 0; i < n; i++)
            if (column[i].field == f)
                return true;
    }
    return false;
}

static void check_columns(void)
{
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
            if (f->page.at > 0 && f->kind != EK__KIND_BY_WORD && (!f->page.name || !f->page.title))
                fail_msg("the column %s of the page has no name or title", name);
        }
    const ek__rows *rows = NULL;
    ek__column column[EK__MAX_COLUMNS];
    while ((rows = next_rows(rows)) != NULL)
        for (int which = EK__OF_CSV; which <= EK__OF_PAGE; which++)
            for (int n = columns_of(rows, (ek__columns_of)which, column), i = 1; i < n; i++)
                if (column[i].at == column[i - 1].at && column[i].word <= 0 &&
                    (which == EK__OF_CSV ? rows->csv : rows->section))
                    fail_msg("two columns of %s are at %d", rows->id ? rows->id : rows->csv, column[i].at);
}

static void every_column_is_in_a_table_at_a_place_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < ek__n_results; i++) {
        gather_result(ek__results[i]);
        check_columns();
    }
}

/* ---- the documentation ---- */

static void check_sentences(void)
{
    for (int i = 0; i < n_all; i++)
        for (int k = 0; k < all[i]->n; k++) {
            const ek__member *f = &all[i]->field[k];
            if (f->key && *f->key && (!f->about || !*f->about))
                fail_msg("%s: %s of %s has no sentence", result->name, f->key,
                         all[i]->path ? all[i]->path : "the whole");
        }
}

static void every_figure_has_a_sentence(void **state)
{
    (void)state;
    for (int i = 0; i < ek__n_results; i++) {
        gather_result(ek__results[i]);
        check_sentences();
    }
}

static bool is_bare(const ek__fields *fields)
{
    const ek__member *last = &fields->field[fields->n - 1];
    return last->key && !*last->key;
}

static const char *bare_list(const ek__member *f)
{
    const ek__member *value = &f->fields->field[f->fields->n - 1];
    bool whole = ek__kind_is_whole(value->kind) && value->kind != EK__KIND_BYTES_MB;
    if (f->grid)
        return whole ? "list of lists of integers" : "list of lists of numbers";
    return value->kind == EK__KIND_LIST    ? "list of lists"
           : value->numeral                ? "list of integers or strings"
           : ek__kind_is_text(value->kind) ? "list of strings"
           : whole                         ? "list of integers"
                                           : "list of numbers";
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
        [EK__KIND_SECONDS] = "s",     [EK__KIND_TIME] = "time",      [EK__KIND_BYTES_MB] = "MB",
    };
    if (f->kind == EK__KIND_LIST && is_bare(f->fields))
        return bare_list(f);
    if (f->kind == EK__KIND_BY_WORD)
        return "object";
    if (f->kind == EK__KIND_TEXT && f->numeral)
        return "integer or string";
    return f->own ? f->own : type[f->kind];
}

/* The columns of CSV that a field is, "steps, ranks", and their names where these are others. */
static void print_csv_columns(const ek__member *f, FILE *out)
{
    const ek__rows *rows = NULL;
    ek__column column[EK__MAX_COLUMNS], one = {.field = f, .word = -1};
    int n_words = f->kind == EK__KIND_BY_WORD ? f->n_words : 0;
    char name[64];
    bool begun = false;
    while ((rows = next_rows(rows)) != NULL)
        for (int n = rows->csv ? columns_of(rows, EK__OF_CSV, column) : 0, i = 0; i < n; i++)
            if (column[i].field == f && column[i].word <= 0) {
                fprintf(out, "%s%s", begun ? ", " : "", rows->csv);
                begun = true;
            }
    if (begun && n_words == 0 && f->csv.name && strcmp(f->csv.name, f->key) != 0)
        fprintf(out, ": `%s`", f->csv.name);
    for (one.word = 0; begun && one.word < n_words; one.word++) {
        ek__column_name(&one, EK__OF_CSV, name, sizeof name);
        fprintf(out, "%s`%s`", one.word ? ", " : ": ", name);
    }
}

/* The heading of its column of the page, or of its columns. */
static void print_titles(const ek__member *f, FILE *out)
{
    const char *const *titles = f->page.titles ? f->page.titles : f->word;
    if (f->page.at > 0 && f->kind != EK__KIND_BY_WORD)
        fputs(f->page.title, out);
    for (int i = 0; f->page.at > 0 && f->kind == EK__KIND_BY_WORD && i < f->n_words; i++)
        fprintf(out, "%s%s", i ? ", " : "", titles[i]);
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
            fputs("| *parts* | | the fields of ", out);
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
            fputs(" | ", out);
            print_titles(f, out);
            fputs(" |", out);
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

/* The fields from `first` on of those that are gathered. */
static void print_sections(int first, FILE *out)
{
    for (int i = first; i < n_all; i++) {
        const ek__fields *fields = all[i];
        bool columns = has_columns(fields);
        if (fields != result->fields && !fields->path)
            continue;
        fputs("\n### ", out);
        if (fields->path)
            print_path(fields->path, out);
        else
            fputs("The whole", out);
        fprintf(out, "\n\n%s%s", fields->about ? fields->about : "", fields->about ? "\n\n" : "");
        fputs(columns ? "| field | type, unit | meaning | CSV | page |\n|---|---|---|---|---|\n"
                      : "| field | type, unit | meaning |\n|---|---|---|\n",
              out);
        print_fields(fields, columns, out);
    }
}

/* All results of one document, in their order. */
static char *documentation(const char *document)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    n_all = 0;
    for (int i = 0; i < ek__n_results; i++) {
        int first = n_all;
        if (strcmp(ek__results[i]->document, document) != 0)
            continue;
        gather_more(ek__results[i]);
        print_sections(first, out);
    }
    fclose(out);
    return text;
}

/* Everything after the heading of the fields is made from the description. EK_WRITE_DOCS=1 writes it. */
static void check_document(const char *document)
{
    static const char heading[] = "\n## The fields\n";
    char path[64];
    size_t size = 0;
    snprintf(path, sizeof path, "docs/%s", document);
    char *text = slurp(source_path(path), &size), *wanted = documentation(document);
    assert_non_null(text);
    char *at = strstr(text, heading);
    if (!at)
        fail_msg("%s has no section \"The fields\"", path);
    at += sizeof heading - 1;
    if (getenv("EK_WRITE_DOCS")) {
        FILE *file = fopen(source_path(path), "wb");
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
        fail_msg("%s:%zu is not what the description says; EK_WRITE_DOCS=1 with this test writes it", path, line);
    }
    free(wanted);
    free(text);
}

static void the_documents_say_what_the_descriptions_say(void **state)
{
    (void)state;
    for (int i = 0; i < ek__n_results; i++)
        check_document(ek__results[i]->document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_is_in_a_table_at_a_place_of_its_own),
        cmocka_unit_test(every_figure_has_a_sentence),
        cmocka_unit_test(the_documents_say_what_the_descriptions_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
