/* Tests the readers on random mutations of every file under tests/data: no crash, no leak, no undefined behaviour, an
 * error has a message, and accepted input satisfies the contract of its header. The same checks as in the fuzz targets,
 * but short, repeatable (EK_SEED, EK_MUTATIONS) and without clang. */
#include "input.h"

#include <dirent.h>

#include "dryrun/init.h"
#include "evenkeel/strategies.h"
#include "layers/layers.h"
#include "strategies/strategies.h"

enum { MAX_FILES = 1024, MAX_SIZE = 16384 };

static struct sample {
    char *text;
    size_t size;
} samples[MAX_FILES];
static int n_samples;

/* Samples that some reader accepts: mutations of these get furthest, so every other one is of them. */
static const struct sample *good[MAX_FILES];
static int n_good;

static uint64_t random_state;

static size_t random_below(size_t n)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return n ? (size_t)((random_state * 2685821657736338717u) >> 33) % n : 0;
}

static void add_samples(const char *folder, int depth)
{
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && n_samples < MAX_FILES && (entry = readdir(files));) {
        char path[2048];
        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path)
            continue;
        DIR *inner = opendir(path);
        if (inner) {
            closedir(inner);
            if (depth > 0)
                add_samples(path, depth - 1);
            continue;
        }
        struct sample *sample = &samples[n_samples];
        sample->text = slurp(path, &sample->size);
        if (sample->text && sample->size < MAX_SIZE / 2)
            n_samples++;
        else
            free(sample->text);
    }
    if (files)
        closedir(files);
}

static void check_error(ek_status status, const ek_error *err)
{
    assert_true(status == EK_ERR_INPUT);
    assert_int_equal(err->status, status);
    assert_true(err->message[0] != '\0');
}

static void try_init(const ek__config_tree *doc, int counts[2])
{
    ek_dryrun init;
    ek_layers layers;
    ek_error err = {0};
    const ek_times times = {1, 2, 3};
    ek_status status = ek__dryrun_from_config(doc, NULL, &init, &err);
    if (status) {
        check_error(status, &err);
        return;
    }
    counts[0]++;
    status = ek_dryrun_decompose(&init, "m", &times, false, &layers, &err);
    if (status) {
        check_error(status, &err);
    } else {
        counts[1]++;
        assert_true(layers.body[0].parameter_mb >= 0 && layers.body[0].activation_mb[0] >= 1);
        assert_int_equal(layers.fit.n_residuals, init.n_measurements);
        ek_layers_clear(&layers);
    }
    ek_dryrun_clear(&init);
}

static void try_layers(const ek__config_tree *doc, int counts[1])
{
    ek_layers layers;
    ek_error err = {0};
    ek_status status = ek__layers_from_config(doc, NULL, NULL, &layers, &err);
    if (status) {
        check_error(status, &err);
        return;
    }
    counts[0]++;
    int total = 0;
    for (int b = 0; b < layers.n_body; b++)
        total += layers.body[b].n_layers;
    assert_int_equal(total, layers.n_layers);
    ek_layers_clear(&layers);
}

/* 0 layers: the file's number. */
static void try_strategies(const ek__config_tree *doc, int n_layers, int counts[1])
{
    ek_layer body;
    const ek_layers layers = ek_layers_bare(n_layers, &body);
    ek_strategies strategies;
    ek_error err = {0};
    ek_status status = ek__strategies_from_config(doc, n_layers ? &layers : NULL, 0, NULL, &strategies, &err);
    if (status) {
        check_error(status, &err);
        return;
    }
    counts[0]++;
    for (int i = 0; i < strategies.n && n_layers; i++)
        assert_int_equal(ek_plan_check(&strategies.strategy[i].plan, &layers, &err), EK_OK);
    ek_strategies_clear(&strategies);
}

/* Accepted documents, init files, decompositions, layer files, plan files. */
static int accepted[5];

static void try_all(const char *text, size_t size)
{
    ek__config_tree *doc;
    ek_error err = {0};
    ek_status status = ek__config_parse_buffer("mutation", text, size, &doc, &err);
    if (status) {
        check_error(status, &err);
        return;
    }
    accepted[0]++;
    try_init(doc, accepted + 1);
    try_layers(doc, accepted + 3);
    try_strategies(doc, 12, accepted + 4);
    try_strategies(doc, 96, accepted + 4);
    try_strategies(doc, 0, accepted + 4);
    ek__config_free(doc);
}

/* One random change of text[0..size), which has room for MAX_SIZE; returns the new size. */
static size_t mutate(char *text, size_t size)
{
    static const char *const words[] = {"[",    "]",    "{",    "}",  ":",  ", ",          "\n",
                                        "- ",   "'",    "\"",   "-1", "0",  "99999999999", "1e308",
                                        ".nan", "true", "null", "*a", "&a", "!!int ",      "\\ud83d\\ude00",
                                        "\t",   "\xFF", "\x01", "# ", "|",  "? "};
    size_t at = random_below(size + 1), length = random_below(24);
    if (length > size - at)
        length = size - at;
    switch (random_below(5)) {
    case 0: /* remove */
        memmove(text + at, text + at + length, size - at - length);
        return size - length;
    case 1: /* repeat */
        if (size + length > MAX_SIZE)
            return size;
        memmove(text + at + length, text + at, size - at);
        return size + length;
    case 2: /* truncate */
        return random_below(8) ? size : at;
    case 3: { /* another byte */
        if (at < size)
            text[at] = random_below(4) ? (char)('0' + random_below(10)) : (char)random_below(256);
        return size;
    }
    default: { /* a word */
        const char *word = words[random_below(sizeof words / sizeof *words)];
        size_t n = strlen(word);
        if (size + n > MAX_SIZE)
            return size;
        memmove(text + at + n, text + at, size - at);
        memcpy(text + at, word, n);
        return size + n;
    }
    }
}

static void every_file_is_read_or_refused(void **state)
{
    (void)state;
    assert_true(n_samples > 60);
    for (int i = 0; i < n_samples; i++) {
        int before = accepted[1] + accepted[3] + accepted[4];
        try_all(samples[i].text, samples[i].size);
        if (accepted[1] + accepted[3] + accepted[4] > before)
            good[n_good++] = &samples[i];
    }
    assert_true(accepted[1] > 0 && accepted[2] > 0 && accepted[3] > 0 && accepted[4] > 0);
}

static void mutations_are_read_or_refused(void **state)
{
    (void)state;
    const char *seed_text = getenv("EK_SEED"), *count_text = getenv("EK_MUTATIONS");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : 20260101;
    long count = count_text ? strtol(count_text, NULL, 10) : 20000;
    random_state = seed * 2 + 1;
    memset(accepted, 0, sizeof accepted);
    for (long i = 0; i < count; i++) {
        static char text[MAX_SIZE];
        const struct sample *sample =
            random_below(2) ? good[random_below((size_t)n_good)] : &samples[random_below((size_t)n_samples)];
        size_t size = sample->size;
        memcpy(text, sample->text, size);
        for (size_t changes = 1 + random_below(3); changes > 0; changes--)
            size = mutate(text, size);
        try_all(text, size);
    }
    print_message("# seed %llu, %ld mutations of %d files (EK_SEED, EK_MUTATIONS)\n", (unsigned long long)seed, count,
                  n_samples);
    print_message("# accepted: %d documents, %d init files, %d decompositions, %d layer files, %d plan files\n",
                  accepted[0], accepted[1], accepted[2], accepted[3], accepted[4]);
}

int main(void)
{
    add_samples(source_path("tests/data"), 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_read_or_refused),
        cmocka_unit_test(mutations_are_read_or_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < n_samples; i++)
        free(samples[i].text);
    return failed;
}
