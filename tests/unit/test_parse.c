/* Tests readers of texts in memory: they give the same as the readers of files, for every example, and read no byte
 * beyond the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evenkeel/evenkeel.h"

/* Exactly this number of bytes, so that one too many is noticed. */
typedef struct text {
    char path[4096], *bytes;
    size_t size;
} text;

static text text_of(const char *name)
{
    text t;
    snprintf(t.path, sizeof t.path, "%s/%s", getenv("EK_SOURCE_ROOT"), name);
    FILE *in = fopen(t.path, "rb");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    t.size = (size_t)ftell(in);
    rewind(in);
    t.bytes = malloc(t.size);
    assert_non_null(t.bytes);
    assert_int_equal(fread(t.bytes, 1, t.size, in), t.size);
    fclose(in);
    return t;
}

static char *written(ek_status (*write)(const void *what, FILE *out, ek_error *err), const void *what)
{
    ek_error err;
    char *bytes = NULL;
    size_t size;
    FILE *out = open_memstream(&bytes, &size);
    assert_non_null(out);
    assert_int_equal(write(what, out, &err), EK_OK);
    fclose(out);
    return bytes;
}

static void both_are_written_alike(ek_status (*write)(const void *what, FILE *out, ek_error *err), const void *a,
                                   const void *b)
{
    char *first = written(write, a), *second = written(write, b);
    assert_true(strlen(first) > 20);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static ek_status write_layers(const void *what, FILE *out, ek_error *err)
{
    return ek_layers_write(what, out, err);
}

static ek_status write_device(const void *what, FILE *out, ek_error *err)
{
    return ek_device_write(what, NULL, out, err);
}

static ek_status write_memory(const void *what, FILE *out, ek_error *err)
{
    ek_memory memory;
    ek_status status = ek_memory_predict(what, NULL, &memory, err);
    if (status)
        return status;
    ek_memory_report report = {.job = what, .memory = &memory, .stage = -1};
    status = ek_write(ek_output_of_memory(&report), "json", out, err);
    ek_memory_clear(&memory);
    return status;
}

static void jobs(void **state)
{
    (void)state;
    static const char *const files[] = {"examples/llama175b_train.yaml", "examples/megatron_13b.sh",
                                        "examples/llama_1024.yaml", "tests/data/job/torchtitan_70b.toml",
                                        "examples/moe_16b_config.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ek_error err;
        ek_job a, b;
        text t = text_of(files[i]);
        ek_job_overrides overrides = ek_job_overrides_none();
        overrides.limit_mb = 50000;
        assert_int_equal(ek_job_read(t.path, &overrides, NULL, &a, &err), EK_OK);
        assert_int_equal(ek_job_parse(t.path, t.bytes, t.size, &overrides, NULL, &b, &err), EK_OK);
        both_are_written_alike(write_memory, &a, &b);
        ek_job_clear(&a);
        ek_job_clear(&b);
        free(t.bytes);
    }
}

static void layers(void **state)
{
    (void)state;
    static const char *const files[] = {"examples/moe_mtp_layers.json", "examples/vision_language_layers.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ek_error err;
        ek_layers a, b;
        ek_times times = {0};
        text t = text_of(files[i]);
        assert_int_equal(ek_times_parse("head=1.5", &times, &err), EK_OK);
        assert_int_equal(ek_layers_read(t.path, &times, NULL, &a, &err), EK_OK);
        assert_int_equal(ek_layers_parse("mine", t.bytes, t.size, &times, NULL, &b, &err), EK_OK);
        both_are_written_alike(write_layers, &a, &b);
        ek_layers_clear(&a);
        ek_layers_clear(&b);
        free(t.bytes);
    }
}

static void devices(void **state)
{
    (void)state;
    ek_error err;
    ek_device a, b;
    text t = text_of("data/devices/Atlas-800T-A2.yaml");
    assert_int_equal(ek_device_read(t.path, NULL, &a, &err), EK_OK);
    assert_int_equal(ek_device_parse(t.path, t.bytes, t.size, NULL, &b, &err), EK_OK);
    both_are_written_alike(write_device, &a, &b);
    ek_device_clear(&a);
    ek_device_clear(&b);
    free(t.bytes);
}

static void dry_runs(void **state)
{
    (void)state;
    ek_error err;
    ek_dryrun a, b;
    ek_layers of_a, of_b;
    text t = text_of("examples/llama175b_init.yaml");
    assert_int_equal(ek_dryrun_read(t.path, NULL, &a, &err), EK_OK);
    assert_int_equal(ek_dryrun_parse(t.path, t.bytes, t.size, NULL, &b, &err), EK_OK);
    assert_int_equal(ek_dryrun_decompose(&a, "model", NULL, false, &of_a, &err), EK_OK);
    assert_int_equal(ek_dryrun_decompose(&b, "model", NULL, false, &of_b, &err), EK_OK);
    both_are_written_alike(write_layers, &of_a, &of_b);
    ek_layers_clear(&of_a);
    ek_layers_clear(&of_b);
    ek_dryrun_clear(&a);
    ek_dryrun_clear(&b);
    free(t.bytes);
}

static void plans(void **state)
{
    (void)state;
    ek_error err;
    ek_strategies a, b;
    ek_layer body;
    text t = text_of("examples/llama175b_manual.yaml");
    ek_layers bare = ek_layers_bare(96, &body);
    assert_int_equal(ek_strategies_read(t.path, &bare, 16, NULL, &a, &err), EK_OK);
    assert_int_equal(ek_strategies_parse("mine", t.bytes, t.size, &bare, 16, NULL, &b, &err), EK_OK);
    assert_int_equal(a.n, b.n);
    assert_true(a.n > 0);
    for (int i = 0; i < a.n; i++) {
        const ek_plan *p = &a.strategy[i].plan, *q = &b.strategy[i].plan;
        assert_string_equal(a.strategy[i].name, b.strategy[i].name);
        assert_int_equal(p->n_stages * p->n_chunks, q->n_stages * q->n_chunks);
        size_t bytes = (size_t)(p->n_stages * p->n_chunks) * sizeof(int);
        assert_memory_equal(p->layers, q->layers, bytes);
        assert_memory_equal(p->full, q->full, bytes);
        assert_memory_equal(p->select, q->select, bytes);
        assert_memory_equal(p->comm, q->comm, bytes);
    }
    ek_strategies_clear(&a);
    ek_strategies_clear(&b);
    free(t.bytes);
}

/* The name is the file of messages, with the place in the text. */
static void what_is_wrong_has_its_place(void **state)
{
    (void)state;
    static const char wrong[] = "name: x\nbody: {\n";
    ek_error err;
    ek_job job;
    ek_layers some;
    ek_device device;
    ek_dryrun dryrun;
    ek_strategies strategies;
    for (int i = 0; i < 5; i++) {
        err = (ek_error){.line = 0};
        char *given = malloc(sizeof wrong - 1);
        assert_non_null(given);
        size_t n = sizeof wrong - 1;
        memcpy(given, wrong, n);
        ek_status status = i == 0   ? ek_job_parse("given.yaml", given, n, NULL, NULL, &job, &err)
                           : i == 1 ? ek_layers_parse("given.yaml", given, n, NULL, NULL, &some, &err)
                           : i == 2 ? ek_device_parse("given.yaml", given, n, NULL, &device, &err)
                           : i == 3 ? ek_dryrun_parse("given.yaml", given, n, NULL, &dryrun, &err)
                                    : ek_strategies_parse("given.yaml", given, n, NULL, 4, NULL, &strategies, &err);
        free(given);
        assert_int_equal(status, EK_ERR_INPUT);
        assert_string_equal(err.file, "given.yaml");
        assert_int_equal(err.line, 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs),     cmocka_unit_test(layers), cmocka_unit_test(devices),
        cmocka_unit_test(dry_runs), cmocka_unit_test(plans),  cmocka_unit_test(what_is_wrong_has_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
