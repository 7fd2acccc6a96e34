/* Tests the script of the dry runs: whatever words the launch command has, a real shell passes them on unchanged, and
 * impossible ones are refused before anything is written. tests/cli runs the scripts with a launch command of several
 * stages.
 */
#include <unistd.h>

#include "evenkeel/dryrun.h"
#include "evenkeel/job.h"
#include "input.h"
#include "skip.h"

static ek_dryrun_script plain(const char *const *words, int n)
{
    return (ek_dryrun_script){
        .n_words = n, .words = words, .n_stages = 1, .n_ranks = 1, .logs = "logs", .layout = EK_LOGS_RANK, .level = 1};
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* A word of characters that mean something to a shell, and bytes that mean nothing. */
static void random_word(uint64_t *state, char *word, size_t size)
{
    static const char nasty[] = "'\"\\$`~*?[]{}()<>|&;!# \t\n=-%^a0\x80\xff";
    size_t n = next_random(state) % (size - 1);
    for (size_t i = 0; i < n; i++)
        word[i] = nasty[next_random(state) % (sizeof nasty - 1)];
    word[n] = '\0';
}

static void random_words_arrive_unchanged(void **unused)
{
    (void)unused;
    enum { ROUNDS = 40, WORDS = 24, SIZE = 12 };
    char folder[] = "/tmp/evenkeel_script_XXXXXX", line[128], path[128];
    assert_non_null(mkdtemp(folder));
    uint64_t state = 20250101;
    for (int round = 0; round < ROUNDS; round++) {
        char text[WORDS][SIZE], expected[WORDS * (SIZE + 2) + 1] = "", setting[SIZE + 2] = "A=";
        const char *words[WORDS + 2] = {"printf", "<%s>"}, *settings[] = {setting};
        for (int w = 0; w < WORDS; w++) {
            random_word(&state, text[w], SIZE);
            words[2 + w] = text[w];
            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "<%s>", text[w]);
        }
        random_word(&state, setting + 2, SIZE);
        ek_dryrun_script script = plain(words, WORDS + 2);
        script.settings = settings;
        script.n_settings = 1;
        snprintf(path, sizeof path, "%s/script.sh", folder);
        FILE *out = fopen(path, "w");
        assert_int_equal(ek_dryrun_script_write(&script, out, NULL), EK_OK);
        fclose(out);
        snprintf(line, sizeof line, "cd %s && sh script.sh --force >/dev/null", folder);
        assert_int_equal(system(line), 0);
        size_t size;
        snprintf(path, sizeof path, "%s/logs/rank_0.log", folder);
        char *log = slurp(path, &size);
        assert_string_equal(log, expected);
        free(log);
    }
    snprintf(line, sizeof line, "rm -rf %s", folder);
    assert_int_equal(system(line), 0);
}

static void refused(const ek_dryrun_script *script, const char *why)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ek_error err = {0};
    assert_int_equal(ek_dryrun_script_write(script, out, &err), EK_ERR_INPUT);
    fclose(out);
    assert_non_null(strstr(err.message, why));
    assert_int_equal(size, 0);
    free(text);
}

static void what_cannot_be_is_refused_before_anything_is_written(void **unused)
{
    (void)unused;
    const char *const words[] = {"train", "{config}"}, *const line[] = {"train ${config}"}, *const empty[] = {" \t"};
    const char *const files[] = {"a.yaml", "b.yaml"}, *const setting[] = {"RANK_SIZE=4"};
    const bool none[4] = {false};
    ek_dryrun_script script = plain(words, 1);
    script.n_stages = 4;
    refused(&script, "4 stages need as many ranks or more, but there are 1");
    script.n_ranks = 10;
    refused(&script, "10 ranks cannot be shared evenly by 4 stages: 2 would be over");
    script.n_ranks = 8;
    script.chosen = none;
    refused(&script, "no stage is chosen");
    script.chosen = NULL;
    script.level = 4;
    refused(&script, "simulation level must be 0 to 3 (got 4)");
    script = plain(words, 2);
    refused(&script, "no file is given for it");
    script = plain(words, 0);
    refused(&script, "no launch command");
    script = plain(empty, 1);
    refused(&script, "no launch command");
    script = plain(line, 1); /* a '$' before it: the shell's own */
    script.configs = files;
    script.n_configs = 2;
    refused(&script, "2 rounds would run the same command");
    script = plain(words, 1);
    script.settings = setting;
    script.n_settings = 1;
    refused(&script, "RANK_SIZE is set by the script itself");
    script = plain(words, 1);
    script.logs = "";
    refused(&script, "folder of the logs has no name");
}

static void a_full_disk_is_an_error(void **unused)
{
    (void)unused;
    const char *const words[] = {"train", "x"};
    const ek_dryrun_script script = plain(words, 2);
    FILE *out = need_full_disk();
    ek_error err;
    assert_int_equal(ek_dryrun_script_write(&script, out, &err), EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, "cannot be written"));
    fclose(out);
}

static void devices_come_from_parallel_config_alone(void **unused)
{
    (void)unused;
    ek_job job;
    const char *path = source_path("tests/data/dryrun/train.yaml");
    assert_int_equal(ek_job_read_part(path, EK_JOB_DEGREES, NULL, &job, NULL), EK_OK);
    assert_int_equal(job.parallel.data, 2);
    assert_int_equal(job.parallel.tensor, 4);
    assert_int_equal(job.parallel.context, 1);
    assert_int_equal(job.parallel.pipeline, 4);
    assert_int_equal(ek_job_devices(&job), 32);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_words_arrive_unchanged),
        cmocka_unit_test(what_cannot_be_is_refused_before_anything_is_written),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(devices_come_from_parallel_config_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
