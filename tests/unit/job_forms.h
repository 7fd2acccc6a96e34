/* job_forms.h - shared parts of the tests of readers with files that are equivalent to arguments of Megatron-LM. */
#ifndef TESTS_UNIT_JOB_FORMS_H
#define TESTS_UNIT_JOB_FORMS_H

#include "job_text.h"

#include "base/random.h"
#include "evenkeel/job.h"
#include "evenkeel/memory.h"
#include "job/write.h"

/* The same run in two forms is the same job with the same memory. */
static inline void assert_same(const char *name, const char *text, const char *arguments,
                               const ek_job_overrides *overrides)
{
    said s;
    ek_job job, other;
    char why[512] = "";
    ek_memory memory, others;
    if (read_with(text, strlen(text), overrides, &s, &job) != EK_OK)
        fail_msg("%s is refused: %s", name, s.text);
    if (read_with(arguments, strlen(arguments), overrides, &s, &other) != EK_OK)
        fail_msg("the arguments of %s are refused: %s", name, s.text);
    if (ek__job_differs(&job, &other, why, sizeof why))
        fail_msg("%s differs: %s", name, why);
    ek_memory_options options = {0};
    assert_int_equal(ek_memory_predict(&job, &options, &memory, NULL), EK_OK);
    assert_int_equal(ek_memory_predict(&other, &options, &others, NULL), EK_OK);
    assert_int_equal(memory.n_stages, others.n_stages);
    for (int i = 0; i < memory.n_stages; i++)
        if (memory.stage[i].actual_peak != others.stage[i].actual_peak || memory.stage[i].actual_peak <= 0)
            fail_msg("%s: stage %d holds other bytes", name, i);
    ek_memory_clear(&memory);
    ek_memory_clear(&others);
    ek_job_clear(&job);
    ek_job_clear(&other);
}

static inline char *data(const char *name)
{
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "tests/data/job_forms/%s", name);
    char *text = slurp(source_path(path), &size);
    assert_non_null(text);
    return text;
}

/* The text with one of its lines, the one that begins like `line` up to the colon, replaced, or removed (NULL). */
static inline char *with_line(const char *text, const char *begin, const char *line)
{
    char *out = malloc(strlen(text) + 400);
    const char *at = strstr(text, begin);
    assert_non_null(at);
    assert_non_null(out);
    while (at > text && at[-1] != '\n')
        at--;
    const char *end = strchr(at, '\n');
    sprintf(out, "%.*s%s%s", (int)(at - text), text, line ? line : "", line ? end : end + 1);
    return out;
}

/* Copies of texts by turns, with 1 to `most` bytes of each replaced by one of `letters`: each is read or refused, and
 * both happen. */
static inline void assert_damaged_are_told(char *const *texts, int n_texts, int times, int most, const char *letters,
                                           const ek_job_overrides *overrides)
{
    ek__random random = ek__random_seed(20261128);
    int n_read = 0, n_refused = 0;
    for (int i = 0; i < times; i++) {
        size_t size = strlen(texts[i % n_texts]);
        char *text = malloc(size);
        assert_non_null(text);
        memcpy(text, texts[i % n_texts], size);
        for (int k = 1 + ek__random_below(&random, most); k > 0; k--)
            text[ek__random_below(&random, (int)size)] = letters[ek__random_below(&random, (int)strlen(letters))];
        said s;
        ek_job job;
        ek_status status = read_with(text, size, overrides, &s, &job);
        assert_true(status == EK_OK || status == EK_ERR_INPUT);
        if (status == EK_OK)
            ek_job_clear(&job);
        n_read += status == EK_OK;
        n_refused += status != EK_OK;
        free(text);
    }
    print_message("# %d read, %d refused\n", n_read, n_refused);
    assert_true(n_read > 50 && n_refused > 50);
}

#endif
