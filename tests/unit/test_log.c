/* Tests logs of dry runs: every form of a memory line, several runs in one log, the errors of a log without peaks, and
 * lines anywhere in a stream. The oracle reads a whole log into memory, line by line, by regular expressions. */
#include "input.h"

#include <math.h>
#include <regex.h>
#include <unistd.h>

#include "dryrun/log.h"

#define USED   "Used peak memory usage (without fragments): "
#define ACTUAL "Actual peak memory usage (with fragments): "

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state >> 20) % n);
}

/* Read bytes as a file. */
static ek_status read_bytes(const char *text, size_t size, ek_log *log, ek_error *err)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    rewind(file);
    ek_status status = ek__log_read_fd(fileno(file), "log", log, err);
    fclose(file);
    return status;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void a_memory_line_is_read_in_every_variant(void **state)
{
    (void)state;
    static const struct {
        const char *what, *text;
        double used, actual, device, framework;
    } cases[] = {
        {"as documented",
         "Device MOC memory size: 62432M\nMindSpore Used memory size: 59392M\nMindSpore memory base address: 0\n" USED
         "48874M\n" ACTUAL "48875M\n",
         48874, 48875, 62432, 59392},
        {"older device line", "Device HBM memory size: 65536M\n" USED "1M\n" ACTUAL "2M\n", 1, 2, 65536, NAN},
        {"MB", USED "7MB\n" ACTUAL "8MB\n", 7, 8, NAN, NAN},
        {"MiB and a blank", USED "7 MiB\n" ACTUAL "8 MB\n", 7, 8, NAN, NAN},
        {"GB are 1024 MB", USED "1.5GB\n" ACTUAL "2G\n", 1536, 2048, NAN, NAN},
        {"a fraction", USED "7.25M\n", 7.25, NAN, NAN, NAN},
        {"the largest memory", USED "1000000000M\n", 1e9, NAN, NAN, NAN},
        {"the smallest memory", USED "1M\n", 1, NAN, NAN, NAN},
        {"without the parentheses", "Used peak memory usage: 7M\nActual peak memory usage: 8M\n", 7, 8, NAN, NAN},
        {"the actual peak alone", "Actual peak memory usage: 8M\n", NAN, 8, NAN, NAN},
        {"a bare actual peak beside a full one",
         "Actual peak memory usage: 1M\n" USED "7M\nActual peak memory usage: 2M\nActual peak memory usage: 3M\n" ACTUAL
         "8M\nActual peak memory usage: 4M\n",
         7, 8, NAN, NAN},
        {"a log prefix", "[INFO] DEVICE(1,7f,python):2025-01-02-03:04:05 [mem.cc:52] Finalize] " USED "7M\n", 7, NAN,
         NAN, NAN},
        {"grep's prefix", "a/b.log:5482:" ACTUAL "8M\n", NAN, 8, NAN, NAN},
        {"CRLF", USED "7M\r\n" ACTUAL "8M\r\n", 7, 8, NAN, NAN},
        {"no blank after the colon, many before the value",
         "Used peak memory usage (without fragments):7M\nActual peak memory usage (with fragments): \t  8M\n", 7, 8,
         NAN, NAN},
        {"punctuation behind", USED "7M, " ACTUAL "8M.\n", 7, 8, NAN, NAN},
        {"colour around", "\33[32m" USED "7M\33[0m\n", 7, NAN, NAN, NAN},
        {"no line end at the end of the file", USED "7M\n" ACTUAL "8M", 7, 8, NAN, NAN},
        {"words alone", "Used peak memory usage is printed below\nActual peak memory usage (with\n", NAN, NAN, NAN,
         NAN},
        {"another capital", "used peak memory usage: 7M\n", NAN, NAN, NAN, NAN},
        {"a device line that cannot be read is not missed", "Device MOC memory size: lots\n" USED "7M\n", 7, NAN, NAN,
         NAN},
        {"two runs: the last counts", USED "1M\n" ACTUAL "2M\nretry\n" USED "7M\n" ACTUAL "8M\n", 7, 8, NAN, NAN},
        {"two runs with devices",
         "Device MOC memory size: 5M\n" USED "1M\n" ACTUAL "2M\nDevice MOC memory size: 6M\n" USED "7M\n" ACTUAL "8M\n",
         7, 8, 6, NAN},
        {"the last run ended between the peaks", USED "1M\n" ACTUAL "2M\n" USED "7M\n", 7, NAN, NAN, NAN},
        {"the last run has no peak", USED "1M\n" ACTUAL "2M\nDevice MOC memory size: 6M\n", 1, 2, NAN, NAN},
        {"a wrong value of an earlier run", USED "-4M\n" ACTUAL "abc\n" USED "7M\n" ACTUAL "8M\n", 7, 8, NAN, NAN},
        {"the order of the peaks does not matter", ACTUAL "8M\n" USED "7M\n", 7, 8, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_log log;
        ek_error err = {0};
        if (read_bytes(cases[i].text, strlen(cases[i].text), &log, &err))
            fail_msg("%s: %s", cases[i].what, err.message);
        if (!same(log.used_mb, cases[i].used) || !same(log.actual_mb, cases[i].actual) ||
            !same(log.device_mb, cases[i].device) || !same(log.framework_mb, cases[i].framework))
            fail_msg("%s: %g %g %g %g", cases[i].what, log.used_mb, log.actual_mb, log.device_mb, log.framework_mb);
    }
}

static void bytes_that_are_no_text_do_no_harm(void **state)
{
    (void)state;
    static const char text[] = "\0\0\xff\xfe\n\x80 \0" USED "7M\0\n\xc3\x28" ACTUAL "8M\n\0";
    ek_log log;
    assert_int_equal(read_bytes(text, sizeof text - 1, &log, NULL), EK_OK);
    assert_true(log.used_mb == 7 && log.actual_mb == 8);
}

static void a_value_that_is_no_memory_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *value, *message;
    } cases[] = {
        {"48874K", "'48874K' has an unknown unit"},
        {"48874m", "'48874m' has an unknown unit"},
        {"48874Mx", "'48874Mx' has an unknown unit"},
        {"48874", "'48874' has no unit"},
        {"48,874M", "'48,874M' has no unit"},
        {"-5M", "'-5M' is negative"},
        {"0M", "'0M' is less than 1 MB"},
        {"0.5MB", "is less than 1 MB"},
        {"1000000001M", "is beyond any device"},
        {"999999999999999999999999999999999999999999M", "'99999999999999999999999999999999' has an unknown unit"},
        {"976563GB", "is beyond any device"},
        {"1.2.3M", "'1.2.3M' is no number"},
        {"M", "'M' is no number"},
        {"nanM", "'nanM' is no number"},
        {"0x10M", "has an unknown unit"},
        {"1e3M", "has an unknown unit"},
        {"", "'' is empty"},
        {"--", "'--' is no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        ek_log log = {.used_mb = 77};
        ek_error err = {0};
        int n = snprintf(text, sizeof text, "first\nx: " USED "%s\nlast\n", cases[i].value);
        ek_status status = read_bytes(text, (size_t)n, &log, &err);
        if (status != EK_ERR_INPUT || err.line != 2 || err.column != 4 + (int)strlen(USED) ||
            !strstr(err.message, cases[i].message) || strcmp(err.file, "log") != 0)
            fail_msg("%s: status %d, %s:%d:%d: %s", cases[i].value, status, err.file, err.line, err.column,
                     err.message);
        assert_true(log.used_mb == 77);
    }
}

static void a_file_cut_anywhere_has_what_stands_before_the_cut(void **state)
{
    (void)state;
    static const char text[] = "starts\n" USED "48874M\n" ACTUAL "48875MB\nends\n";
    size_t used_end = (size_t)(strstr(text, "48874M") - text) + 6,
           actual_end = (size_t)(strstr(text, "75MB") - text) + 3;
    for (size_t n = 0; n < sizeof text; n++) {
        ek_log log;
        assert_int_equal(read_bytes(text, n, &log, NULL), EK_OK);
        assert_true(same(log.used_mb, n >= used_end ? 48874 : NAN));
        assert_true(same(log.actual_mb, n >= actual_end ? 48875 : NAN));
        assert_int_equal(log.n_lines > 0, n > 0 && n < actual_end);
    }
}

/* ---- logs without peaks ---- */

static void the_last_errors_are_kept_each_line_once(void **state)
{
    (void)state;
    char text[4096];
    size_t n = 0;
    for (int i = 0; i < 12; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "fine\n%d [ERROR] RuntimeError: Exception %d\r\nfine\n", i, i);
    ek_log log;
    assert_int_equal(read_bytes(text, n, &log, NULL), EK_OK);
    assert_true(log.errors);
    assert_int_equal(log.n_lines, EK_LOG_LINES);
    assert_string_equal(log.line[0], "7 [ERROR] RuntimeError: Exception 7");
    assert_string_equal(log.line[EK_LOG_LINES - 1], "11 [ERROR] RuntimeError: Exception 11");
    static const char *const words[] = {"Traceback (most recent call last):", "x CRITICAL y", "ValueError: z",
                                        "Out of memory: Killed process 5"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(read_bytes(words[i], strlen(words[i]), &log, NULL), EK_OK);
        assert_true(log.errors && log.n_lines == 1);
        assert_string_equal(log.line[0], words[i]);
    }
}

/* The end is searched first, then more: errors are found wherever they are, in the order of the log. */
static void the_last_errors_of_a_large_log_are_found_wherever_they_stand(void **state)
{
    (void)state;
    enum { SIZE = 40 << 20, N_PLACES = 7 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    static const size_t places[][N_PLACES] = {
        {0, 100, 200, 300, 400, 500, 600},
        {5, 3000000, 12000000, 20000000, SIZE - 2000000, SIZE - 1048577, SIZE - 20},
        {10, 20, SIZE - 1048576 - 3, SIZE - 400, SIZE - 300, SIZE - 200, SIZE - 100},
        {10, SIZE - 1000, SIZE - 900, SIZE - 400, SIZE - 300, SIZE - 200, SIZE - 100},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        ek_log log;
        memset(text, '\n', SIZE);
        for (int k = 0; k < N_PLACES; k++) {
            char line[32];
            memcpy(text + places[i][k], line, (size_t)snprintf(line, sizeof line, "ERROR %d", k));
        }
        assert_int_equal(read_bytes(text, SIZE, &log, NULL), EK_OK);
        assert_int_equal(log.n_lines, EK_LOG_LINES);
        for (int k = 0; k < EK_LOG_LINES; k++) {
            char line[32];
            snprintf(line, sizeof line, "ERROR %d", N_PLACES - EK_LOG_LINES + k);
            assert_string_equal(log.line[k], line);
        }
    }
    free(text);
}

static void without_errors_the_last_lines_are_kept(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo\n\nthree\n  \r\nfour\nfive\nsix \1\0x\n\n";
    ek_log log;
    assert_int_equal(read_bytes(text, sizeof text - 1, &log, NULL), EK_OK);
    assert_false(log.errors);
    assert_int_equal(log.n_lines, EK_LOG_LINES);
    assert_string_equal(log.line[0], "two");
    assert_string_equal(log.line[EK_LOG_LINES - 1], "six   x");
    assert_int_equal(read_bytes("", 0, &log, NULL), EK_OK);
    assert_int_equal(log.n_lines, 0);
}

static void an_error_deep_in_a_long_line_is_shown_with_what_is_around_it(void **state)
{
    (void)state;
    static char text[100000];
    ek_log log;
    for (size_t i = 0; i < sizeof text; i += 2) /* two bytes a letter, to be cut between them */
        memcpy(text + i, "\xc3\xa4", 2);
    memcpy(text + 60001, "ERROR", 5);
    assert_int_equal(read_bytes(text, sizeof text, &log, NULL), EK_OK);
    assert_int_equal(log.n_lines, 1);
    assert_non_null(strstr(log.line[0], "ERROR"));
    assert_memory_equal(log.line[0], "...\xc3\xa4", 5);
    size_t n = strlen(log.line[0]);
    assert_memory_equal(log.line[0] + n - 5, "\xc3\xa4...", 5);
}

/* ---- the oracle ---- */

typedef struct event {
    int kind; /* 0 device, 1 framework, 2 used, 3 actual */
    bool bare;
    double mb;
} event;

/* All memory lines of a text without wrong values: line by line, by a regular expression. */
static int slow_events(const char *text, size_t size, event *out, int most)
{
    static regex_t line_of, value_of;
    static bool made;
    if (!made) {
        assert_int_equal(regcomp(&line_of,
                                 "(Device (MOC|HBM) memory size|MindSpore Used memory size|Used peak memory usage|"
                                 "Actual peak memory usage)",
                                 REG_EXTENDED),
                         0);
        assert_int_equal(regcomp(&value_of,
                                 "^[ \t]*([(][^)]{0,62}[)])?[ \t]*:[ \t]*([0-9]+([.][0-9]+)?)[ \t]*(M|MB|MiB|G|GB|GiB)"
                                 "([^0-9A-Za-z]|$)",
                                 REG_EXTENDED),
                         0);
        made = true;
    }
    int n = 0;
    char *copy = malloc(size + 1);
    memcpy(copy, text, size);
    for (size_t i = 0; i < size; i++)
        copy[i] = (char)(copy[i] ? copy[i] : 1); /* regexec() stops at NUL */
    copy[size] = '\0';
    for (char *line = copy, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        regmatch_t m[5], v[6];
        for (; regexec(&line_of, line, 5, m, 0) == 0; line += m[0].rm_so + 1) {
            const char *word = line + m[0].rm_so, *rest = line + m[0].rm_eo;
            if (regexec(&value_of, rest, 6, v, 0) != 0)
                continue;
            assert_true(n < most);
            out[n].kind = word[0] == 'D' ? 0 : word[0] == 'M' ? 1 : word[0] == 'U' ? 2 : 3;
            out[n].bare = out[n].kind == 3 && v[1].rm_so < 0;
            out[n++].mb = atof(rest + v[2].rm_so) * (rest[v[4].rm_so] == 'G' ? 1024 : 1);
        }
    }
    free(copy);
    return n;
}

/* The last block with a peak, from the list of all lines. */
static void slow_read(const char *text, size_t size, double out[4])
{
    static event events[10000];
    int n = slow_events(text, size, events, 10000), kept = 0;
    bool full = false;
    for (int i = 0; i < n; i++)
        full = full || (events[i].kind == 3 && !events[i].bare);
    for (int i = 0; i < n; i++)
        if (!full || !events[i].bare)
            events[kept++] = events[i];
    for (int k = 0; k < 4; k++)
        out[k] = NAN;
    for (int from = 0, to; from < kept; from = to) {
        double block[4] = {NAN, NAN, NAN, NAN};
        for (to = from; to < kept; to++) {
            bool peaks = !isnan(block[2]) || !isnan(block[3]);
            if (!isnan(block[events[to].kind]) || (events[to].kind < 2 && peaks))
                break;
            block[events[to].kind] = events[to].mb;
        }
        if (!isnan(block[2]) || !isnan(block[3]))
            memcpy(out, block, sizeof block);
    }
}

static size_t add(char *text, size_t n, const char *more)
{
    memcpy(text + n, more, strlen(more));
    return n + strlen(more);
}

static size_t add_noise(char *text, size_t n, unsigned length)
{
    static const char letters[] = "aUDMActusedpeak memory(:)123 \r\t\0\xff\x80M";
    for (; length > 0; length--)
        text[n++] = letters[random_below(sizeof letters)];
    return n;
}

/* One line: memory, nearly memory, or noise; now and then a very long one. */
static size_t add_line(char *text, size_t n)
{
    static const char *const words[] = {"Device MOC memory size",     "Device HBM memory size",
                                        "MindSpore Used memory size", "Used peak memory usage (without fragments)",
                                        "Used peak memory usage",     "Actual peak memory usage (with fragments)",
                                        "Actual peak memory usage",   "Actual peak memory usag"};
    static const char *const units[] = {"M", "MB", " MB", "G", "GiB", "MiB"};
    static const char *const ends[] = {"\n", "\r\n", " x\n", ".\n", ";"};
    n = add_noise(text, n, random_below(40) == 0 ? random_below(20000) : random_below(30));
    if (random_below(3) > 0) {
        char value[64];
        n = add(text, n, words[random_below(8)]);
        snprintf(value, sizeof value, ":%s%u%s%s", random_below(3) ? " " : "", 1 + random_below(99999),
                 random_below(4) ? "" : ".5", units[random_below(6)]);
        n = add(text, n, value);
        n = add(text, n, ends[random_below(5)]);
    } else {
        n = add(text, n, random_below(4) ? "\n" : "");
    }
    return n;
}

static void random_logs_are_read_as_the_slow_reader_reads_them(void **state)
{
    (void)state;
    static char text[1 << 20];
    int with_peaks = 0;
    for (int round = 0; round < 400; round++) {
        size_t n = 0;
        for (unsigned lines = random_below(round % 20 == 0 ? 1200 : 25); lines > 0 && n < sizeof text - 30000; lines--)
            n = add_line(text, n);
        n = add(text, n, "\n");
        double slow[4];
        ek_log log;
        ek_error err = {0};
        slow_read(text, n, slow);
        if (read_bytes(text, n, &log, &err))
            fail_msg("round %d: %s", round, err.message);
        if (!same(log.device_mb, slow[0]) || !same(log.framework_mb, slow[1]) || !same(log.used_mb, slow[2]) ||
            !same(log.actual_mb, slow[3]))
            fail_msg("round %d, %zu bytes: %g %g %g %g, slowly %g %g %g %g", round, n, log.device_mb, log.framework_mb,
                     log.used_mb, log.actual_mb, slow[0], slow[1], slow[2], slow[3]);
        with_peaks += !isnan(slow[2]) || !isnan(slow[3]);
    }
    assert_true(with_peaks > 250);
}

/* ---- needles and streams ---- */

typedef struct hits {
    int n;
    struct {
        int needle, line, column;
        size_t before, after;
        bool from_start, cut;
    } hit[5000];
} hits;

static void keep_hit(void *user, const ek__hit *hit)
{
    hits *h = user;
    assert_true(h->n < 5000);
    h->hit[h->n].needle = hit->needle;
    h->hit[h->n].line = hit->line;
    h->hit[h->n].column = hit->column;
    h->hit[h->n].before = (size_t)(hit->at - hit->start);
    h->hit[h->n].after = (size_t)(hit->end - hit->at);
    h->hit[h->n].from_start = hit->from_start;
    h->hit[h->n++].cut = hit->cut;
}

static const char *const some_needles[] = {"abcab", "bca", "aaaaaaaa", "cab\nc", "\xff\xff"};

static void slow_hits(const unsigned char *text, size_t size, hits *out)
{
    memset(out, 0, sizeof *out);
    size_t start = 0;
    int line = 1;
    for (size_t at = 0; at < size; at++) {
        int needle = 0;
        while (needle < 5 && (size - at < strlen(some_needles[needle]) ||
                              memcmp(text + at, some_needles[needle], strlen(some_needles[needle])) != 0))
            needle++;
        if (needle < 5) {
            size_t end = at;
            while (end < size && text[end] != '\n' && end - at < EK__HIT_AFTER)
                end++;
            out->hit[out->n].needle = needle;
            out->hit[out->n].line = line;
            out->hit[out->n].column = (int)(at - start) + 1;
            out->hit[out->n].before = at - start < EK__HIT_BEFORE ? at - start : EK__HIT_BEFORE;
            out->hit[out->n].after = end - at;
            out->hit[out->n].from_start = at - start <= EK__HIT_BEFORE;
            /* a needle may hold a line feed itself, but not at its start */
            out->hit[out->n++].cut = end == size;
        }
        if (text[at] == '\n') {
            line++;
            start = at + 1;
        }
    }
}

static void hits_do_not_depend_on_how_a_stream_is_cut(void **state)
{
    (void)state;
    static unsigned char text[700000];
    static hits slow, fast;
    ek__needles set;
    ek__needles_init(&set, some_needles, 5);
    for (int round = 0; round < 40; round++) {
        size_t size = round % 4 == 0 ? 300000 + random_below(400000) : random_below(3000);
        unsigned rare = round % 4 == 0 ? 4000 : 30;
        for (size_t i = 0; i < size; i++)
            text[i] = random_below(rare) ? 'x' : (unsigned char)"\n\xff"[random_below(2)];
        for (unsigned k = (unsigned)size / 400; k > 0; k--) {
            const char *needle = some_needles[random_below(5)];
            size_t at = random_below((unsigned)size);
            if (size - at >= strlen(needle))
                memcpy(text + at, needle, strlen(needle));
        }
        if (size > 262144 + 20) /* across the end of the buffer */
            memcpy(text + 262144 - random_below(6), "abcab", 5);
        slow_hits(text, size, &slow);
        memset(&fast, 0, sizeof fast);
        ek__scan scan = {.set = &set, .handle = keep_hit, .user = &fast};
        for (size_t at = 0, n; at < size; at += n) {
            n = 1 + random_below(round % 3 == 0 ? 300000 : 5000);
            n = n < size - at ? n : size - at;
            assert_int_equal(ek__scan_feed(&scan, text + at, n, NULL), EK_OK);
        }
        ek__scan_finish(&scan);
        ek__scan_clear(&scan);
        assert_int_equal(fast.n, slow.n);
        assert_memory_equal(&fast, &slow, sizeof fast);
    }
}

static void every_needle_is_found_at_its_first_place(void **state)
{
    (void)state;
    ek__needles set;
    ek__needles_init(&set, some_needles, 5);
    for (int round = 0; round < 20000; round++) {
        unsigned char text[24];
        size_t size = random_below(sizeof text + 1), from = random_below((unsigned)size + 1);
        for (size_t i = 0; i < size; i++)
            text[i] = (unsigned char)"abc\n\xff"[random_below(random_below(2) ? 5 : 2)];
        size_t expected = size;
        int needle = -1, which = -1;
        for (size_t at = size; at-- > from;)
            for (int k = 4; k >= 0; k--)
                if (size - at >= strlen(some_needles[k]) &&
                    memcmp(text + at, some_needles[k], strlen(some_needles[k])) == 0) {
                    expected = at;
                    needle = k;
                }
        assert_int_equal(ek__needles_find(&set, text, size, from, &which), expected);
        assert_int_equal(which, needle);
    }
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    ek_log log = {.used_mb = 77};
    ek_error err = {0};
    assert_int_equal(ek_log_read("no/such.log", &log, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.file, "no/such.log");
    assert_int_equal(ek_log_read(".", &log, &err), EK_ERR_SYSTEM);
    assert_true(log.used_mb == 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_memory_line_is_read_in_every_variant),
        cmocka_unit_test(bytes_that_are_no_text_do_no_harm),
        cmocka_unit_test(a_value_that_is_no_memory_is_refused_with_its_place),
        cmocka_unit_test(a_file_cut_anywhere_has_what_stands_before_the_cut),
        cmocka_unit_test(the_last_errors_are_kept_each_line_once),
        cmocka_unit_test(the_last_errors_of_a_large_log_are_found_wherever_they_stand),
        cmocka_unit_test(without_errors_the_last_lines_are_kept),
        cmocka_unit_test(an_error_deep_in_a_long_line_is_shown_with_what_is_around_it),
        cmocka_unit_test(random_logs_are_read_as_the_slow_reader_reads_them),
        cmocka_unit_test(hits_do_not_depend_on_how_a_stream_is_cut),
        cmocka_unit_test(every_needle_is_found_at_its_first_place),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
