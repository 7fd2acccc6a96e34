/* golden_page.h - compares the document of a page of one run with its golden file, one line per row or value. */
#ifndef TESTS_UNIT_GOLDEN_PAGE_H
#define TESTS_UNIT_GOLDEN_PAGE_H

#include "golden.h"

#include <jansson.h>

#include "evenkeel/view.h"
#include "evenkeel/write.h"

/* Compressed figures differ between versions of zlib: other tests read them back. */
static inline void without_data(json_t *value)
{
    const char *key;
    json_t *one;
    void *next;
    size_t i;
    json_object_foreach_safe(value, next, key, one)
    {
        if ((strcmp(key, "data") == 0 || strcmp(key, "args") == 0) && json_is_string(one))
            json_object_set_new(value, key, json_string("..."));
        else
            without_data(one);
    }
    json_array_foreach(value, i, one) without_data(one);
}

static inline bool is_flat(const json_t *value)
{
    size_t i;
    const json_t *one;
    json_array_foreach(value, i, one) if (json_is_array(one) || json_is_object(one)) return false;
    const char *key;
    json_object_foreach((json_t *)value, key, one) if (json_is_array(one) || json_is_object(one)) return false;
    return true;
}

/* A value without lists or objects in it is one line. */
static inline void print_lines(const json_t *value, int indent, FILE *out)
{
    bool list = json_is_array(value), first = true;
    if (is_flat(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
        fputs(text, out);
        free(text);
        return;
    }
    fputs(list ? "[" : "{", out);
    size_t i;
    const json_t *one;
    json_array_foreach(value, i, one)
    {
        fprintf(out, "%s\n%*s", first ? "" : ",", indent + 1, "");
        print_lines(one, indent + 1, out);
        first = false;
    }
    const char *key;
    json_object_foreach((json_t *)value, key, one)
    {
        fprintf(out, "%s\n%*s\"%s\": ", first ? "" : ",", indent + 1, "", key);
        print_lines(one, indent + 1, out);
        first = false;
    }
    fprintf(out, "\n%*s%s", indent, "", list ? "]" : "}");
}

/** A document without its compressed and version-dependent parts. */
static inline void assert_golden_document(const char *name, json_t *root)
{
    char *text = NULL;
    size_t size = 0;
    json_object_del(root, "tool"); /* its version */
    json_object_del(root, "types");
    without_data(root);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print_lines(root, 0, out);
    fputc('\n', out);
    assert_int_equal(fclose(out), 0);
    assert_golden(name, text);
    free(text);
}

/** The document of a page of one run; the caller frees it. */
static inline char *page_text(const ek_view_run *run)
{
    const ek_view view = {.title = "made up", .n_runs = 1, .run = run};
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (ek_write(ek_output_of_page(&view), "json", out, &err))
        fail_msg("%s", err.message);
    assert_int_equal(fclose(out), 0);
    return text;
}

/** Takes the text over. */
static inline void assert_golden_page_text(const char *name, char *text)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    free(text);
    assert_golden_document(name, root);
    json_decref(root);
}

static inline void assert_golden_page(const char *name, const ek_view_run *run)
{
    assert_golden_page_text(name, page_text(run));
}

#endif
