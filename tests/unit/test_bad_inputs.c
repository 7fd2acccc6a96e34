/* Tests every file of tests/data/bad/PARSER against NAME.expected beside it: all messages of the reader, word for word,
 * warnings first. A new case is two files; EK_UPDATE_EXPECTED=1 writes the second, for you to read. */
#include "evenkeel/dryrun.h"
#include "evenkeel/job.h"
#include "evenkeel/strategies.h"
#include "input.h"

#include <dirent.h>
#include <math.h>

enum { MAX_CASES = 1024 };

typedef struct bad_case {
    ek_status (*read)(const char *path, const ek_listener *listener, ek_error *err);
    char path[1024];
    char name[300];
} bad_case;

static ek_status read_init(const char *path, const ek_listener *listener, ek_error *err)
{
    ek_dryrun init;
    ek_layers layers;
    ek_status status = ek_dryrun_read(path, listener, &init, err);
    if (status)
        return status;
    status = ek_dryrun_decompose(&init, "model", NULL, false, &layers, err);
    if (status == EK_OK)
        ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
    return status;
}

static ek_status read_layers(const char *path, const ek_listener *listener, ek_error *err)
{
    ek_layers layers;
    ek_status status = ek_layers_read(path, NULL, listener, &layers, err);
    if (status == EK_OK)
        ek_layers_clear(&layers);
    return status;
}

/* 12 layers of which the memory of every kind but FULL is known. */
static ek_status read_strategies(const char *path, const ek_listener *listener, ek_error *err)
{
    ek_layer body = {.n_layers = 12, .modelled = {true, true, true, true, false}};
    const ek_layers layers = {.n_body = 1, .body = &body, .n_layers = 12, .modelled = {true, true, true, true, false}};
    ek_strategies strategies;
    ek_status status = ek_strategies_read(path, &layers, 0, listener, &strategies, err);
    if (status == EK_OK)
        ek_strategies_clear(&strategies);
    return status;
}

static ek_status read_train(const char *path, const ek_listener *listener, ek_error *err)
{
    ek_job job;
    ek_status status = ek_job_read_part(path, EK_JOB_SHAPES, listener, &job, err);
    if (status == EK_OK)
        ek_job_clear(&job);
    return status;
}

static ek_status read_times(const char *path, const ek_listener *listener, ek_error *err)
{
    (void)listener;
    size_t size;
    char *text = slurp(path, &size);
    assert_non_null(text);
    ek_times times;
    ek_status status = ek_times_parse(text, &times, err);
    free(text);
    return status;
}

static void says_what_is_expected(void **state)
{
    const bad_case *c = *state;
    said s = {{0}, 0, 0};
    const ek_listener listener = {say_warning, &s};
    ek_error err = {0};
    ek_status status = c->read(c->path, &listener, &err);
    if (status) {
        say(&s, "", &err);
        assert_int_equal(err.status, status);
        assert_int_equal(status, EK_ERR_INPUT);
    }
    assert_true(s.length > 0);
    char expected_path[1040];
    snprintf(expected_path, sizeof expected_path, "%s", c->path);
    strcpy(strrchr(expected_path, '.'), ".expected");
    if (getenv("EK_UPDATE_EXPECTED")) {
        FILE *file = fopen(expected_path, "wb");
        assert_non_null(file);
        fwrite(s.text, 1, s.length, file);
        fclose(file);
        return;
    }
    size_t size;
    char *expected = slurp(expected_path, &size);
    assert_non_null(expected);
    assert_string_equal(s.text, expected);
    free(expected);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const bad_case *)a)->path, ((const bad_case *)b)->path);
}

static int collect(bad_case *cases, int n, const char *parser,
                   ek_status (*read)(const char *, const ek_listener *, ek_error *))
{
    char folder[900];
    if ((size_t)snprintf(folder, sizeof folder, "%s/%s", source_path("tests/data/bad"), parser) >= sizeof folder)
        return n;
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && n < MAX_CASES && (entry = readdir(files));) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || entry->d_name[0] == '.' || strcmp(end, ".expected") == 0)
            continue;
        bad_case *c = &cases[n++];
        c->read = read;
        snprintf(c->path, sizeof c->path, "%s/%.100s", folder, entry->d_name);
        snprintf(c->name, sizeof c->name, "%s: %.*s", parser, (int)(end - entry->d_name), entry->d_name);
    }
    if (files)
        closedir(files);
    return n;
}

int main(void)
{
    static bad_case cases[MAX_CASES];
    static struct CMUnitTest tests[MAX_CASES];
    int n = collect(cases, 0, "init", read_init);
    n = collect(cases, n, "layers", read_layers);
    n = collect(cases, n, "strategies", read_strategies);
    n = collect(cases, n, "times", read_times);
    n = collect(cases, n, "train", read_train);
    if (n < 60)
        return 1;
    qsort(cases, (size_t)n, sizeof *cases, by_path);
    for (int i = 0; i < n; i++) {
        for (char *c = cases[i].name; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        tests[i] = (struct CMUnitTest){cases[i].name, says_what_is_expected, NULL, NULL, &cases[i]};
    }
    return _cmocka_run_group_tests("bad inputs", tests, (size_t)n, NULL, NULL);
}
