/* Tests tables as profilers write them, and decimal microseconds. Oracles: a reader that goes byte by byte over the
 * whole text, and arithmetic on digits as text. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "trace/text/csv.h"
#include "trace/trace.h"

static ek__csv *open_text(const char *text, size_t size)
{
    ek_error err = {0};
    ek__csv *csv = NULL;
    if (ek__csv_open_buffer("table.csv", text, size, &csv, &err))
        fail_msg("%s", err.message);
    return csv;
}

/* All rows below the header: "line:cell|cell;line:..." */
static const char *rows_of(ek__csv *csv)
{
    static char text[4096];
    size_t n = 0;
    bool more;
    ek_error err = {0};
    text[0] = '\0';
    for (;;) {
        if (ek__csv_next(csv, &more, &err)) {
            snprintf(text + n, sizeof text - n, "%d:%d: %s", err.line, err.column, err.message);
            break;
        }
        if (!more)
            break;
        n += (size_t)snprintf(text + n, sizeof text - n, "%d:", (int)ek__csv_line(csv));
        for (int i = 0; i < ek__csv_n_columns(csv); i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "|" : "", ek__csv_cell(csv, i));
        n += (size_t)snprintf(text + n, sizeof text - n, ";");
    }
    ek__csv_close(csv);
    return text;
}

static void assert_rows(const char *text, const char *rows)
{
    assert_string_equal(rows_of(open_text(text, strlen(text))), rows);
}

static void takes_every_line_end(void **state)
{
    (void)state;
    assert_rows("a,b\n1,2\n3,4\n", "2:1|2;3:3|4;");
    assert_rows("a,b\r\n1,2\r\n3,4\r\n", "2:1|2;3:3|4;");
    assert_rows("a,b\r1,2\r3,4\r", "2:1|2;3:3|4;");
    assert_rows("a,b\n1,2\n3,4", "2:1|2;3:3|4;");
    assert_rows("a,b\r\n1,2\r\n3,", "2:1|2;3:3|;");
    assert_rows("\xef\xbb\xbf\r\n\r\na,b\r\n\r\n1,2\r\n\r\n", "5:1|2;");
}

static void cuts_blanks_and_quotes(void **state)
{
    (void)state;
    assert_rows("a,b\n 1\t , 2 \n", "2:1|2;");
    assert_rows("a,b\n\"1736408883704643.212\t\",\"  x y\t\"\n", "2:1736408883704643.212|x y;");
    assert_rows("a,b\n  \"x\"  ,\"\"\n", "2:x|;");
    assert_rows("a,b\n\"\"\"64,3;1\"\"\",\"\"\"\"\"\"\n", "2:64,3;1|;");
    assert_rows("a,b\n\"say \"\"hi\"\" to\",\"{\"\"1-0\"\": {}}\"\n", "2:say \"hi\" to|{\"1-0\": {}};");
    assert_rows("a,b\nx\"y,\"p\" q\n", "2:x\"y|p q;");
    assert_rows("a,b\n\"\"\"a\"\" b \"\"c\"\"\",1\n", "2:\"a\" b \"c\"|1;");
}

static void keeps_lines_inside_quotes_and_counts_them(void **state)
{
    (void)state;
    assert_rows("a,b\n\"x\ny\",1\nz,2\n", "2:x\ny|1;4:z|2;");
    assert_rows("a,b\n\"x\r\ny\rz\",1\nz,2\n", "2:x\r\ny\rz|1;5:z|2;");
}

static void takes_short_and_long_rows(void **state)
{
    (void)state;
    assert_rows("a,b,\n1,2,\n3\n4,5,6,7\n,,\n", "2:1|2;3:3|;4:4|5;5:|;");
}

static void names_an_open_quote(void **state)
{
    (void)state;
    assert_rows("a,b\n1,2\nx,\"y\nz",
                "2:1|2;3:3: the quote that opens here never closes; the rows before it were read");
    assert_rows("a,b\n\"u\nv\",\"y\nz", "3:4: the quote that opens here never closes; the rows before it were read");
}

static void replaces_nul(void **state)
{
    (void)state;
    static const char text[] = "a,b\n1\0x,\"\0\"\n\0";
    assert_string_equal(rows_of(open_text(text, sizeof text - 1)), "2:1?x|?;3:?|;");
}

static void refuses_what_is_no_table(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        size_t size;
    } cases[] = {
        {"", "is empty", 0},
        {"\n\r\n \n", "is empty", 5},
        {"\xef\xbb\xbf", "is empty", 3},
        {"\xff\xfe"
         "a\0",
         "UTF-16", 4},
        {"a,\"b", "never closes", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_error err = {0};
        ek__csv *csv = NULL;
        assert_int_equal(ek__csv_open_buffer("t.csv", cases[i].text, cases[i].size, &csv, &err), EK_ERR_INPUT);
        assert_null(csv);
        assert_string_equal(err.file, "t.csv");
        assert_non_null(strstr(err.message, cases[i].message));
    }
    char *wide = malloc(EK__CSV_MAX_COLUMNS + 2);
    memset(wide, ',', EK__CSV_MAX_COLUMNS + 2);
    ek_error err = {0};
    ek__csv *csv = NULL;
    assert_int_equal(ek__csv_open_buffer("t.csv", wide, EK__CSV_MAX_COLUMNS + 2, &csv, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "65536 columns"));
    free(wide);
}

static void names_a_file_that_cannot_be_read(void **state)
{
    (void)state;
    ek_error err = {0};
    ek__csv *csv = NULL;
    assert_int_equal(ek__csv_open("/nowhere/t.csv", &csv, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.file, "/nowhere/t.csv");
    assert_non_null(strstr(err.message, "cannot be opened"));
    assert_int_equal(ek__csv_open("/tmp", &csv, &err), EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, "cannot be read"));
    assert_null(csv);
}

static void finds_columns_by_any_spelling(void **state)
{
    (void)state;
    static const char text[] = "Step Id, \"Start Time(us)\" ,Block Num,\n1,2,3,\n";
    ek__csv *csv = open_text(text, sizeof text - 1);
    assert_int_equal(ek__csv_n_columns(csv), 3);
    assert_int_equal(ek__csv_column(csv, "Step ID", NULL), 0);
    assert_int_equal(ek__csv_column(csv, "Task Start Time(us)", "start time(us)", NULL), 1);
    assert_int_equal(ek__csv_column(csv, "Block Dim", "Block Num", NULL), 2);
    assert_int_equal(ek__csv_column(csv, "Block", NULL), -1);
    assert_string_equal(ek__csv_header(csv, 2), "Block Num");
    assert_string_equal(ek__csv_header(csv, 3), "");
    assert_string_equal(ek__csv_cell(csv, -1), "");
    assert_int_equal(ek__csv_bytes(csv), sizeof text - 1);
    ek__csv_close(csv);
}

static void reads_numbers(void **state)
{
    (void)state;
    static const char text[] =
        "c\n1736408883704643.212\t\n-1\nN/A\n9223372036854775807\n3.0\n3.5\n1e3\n0x10\ninf\nnan\n"
        "9223372036854775808\n+7\n1 2\n-\n";
    static const struct {
        bool is_us, is_number, is_int;
        int64_t ns, whole;
        double number;
    } want[] = {
        {true, true, false, 1736408883704643212, 0, 1736408883704643.212},
        {true, true, true, -1000, -1, -1},
        {0},
        {false, true, true, 0, INT64_MAX, 9223372036854775807.0},
        {true, true, true, 3000, 3, 3},
        {true, true, false, 3500, 0, 3.5},
        {true, true, false, 1000000, 0, 1000},
        {0},
        {0},
        {0},
        {false, true, false, 0, 0, 9223372036854775808.0},
        {true, true, true, 7000, 7, 7},
        {0},
        {0},
    };
    ek__csv *csv = open_text(text, sizeof text - 1);
    bool more;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int64_t ns = 42, whole = 42;
        double number = 42;
        assert_int_equal(ek__csv_next(csv, &more, NULL), EK_OK);
        assert_true(more);
        assert_int_equal(ek__csv_us(csv, 0, &ns), want[i].is_us);
        assert_int_equal(ek__csv_number(csv, 0, &number), want[i].is_number);
        assert_int_equal(ek__csv_int(csv, 0, &whole), want[i].is_int);
        assert_true(ns == (want[i].is_us ? want[i].ns : 42));
        assert_true(whole == (want[i].is_int ? want[i].whole : 42));
        assert_true(number == (want[i].is_number ? want[i].number : 42));
    }
    assert_int_equal(ek__csv_next(csv, &more, NULL), EK_OK);
    assert_false(more);
    ek__csv_close(csv);
}

/* ---- against a slow reader ---- */

static uint64_t random_state;

static unsigned roll(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* Text of quoted and plain cells of any length, blanks, line ends inside; never a quote in a plain cell. */
static size_t random_table(char *to, size_t size)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    const char *end = ends[roll(3)];
    size_t n = (size_t)snprintf(to, size, "a,b,c%s", end);
    while (n < size - 400000) {
        for (int c = 0; c < 3; c++) {
            unsigned length = roll(100) == 0 ? roll(100000) : roll(12), quoted = roll(2);
            if (c > 0)
                to[n++] = ',';
            if (quoted)
                to[n++] = '"';
            for (unsigned i = 0; i < length; i++) {
                static const char plain[] = "abc xyz\t0123.456789", inside[] = "ab\"\n\r,  \t12";
                char chosen = quoted ? inside[roll(sizeof inside - 1)] : plain[roll(sizeof plain - 1)];
                to[n++] = chosen;
                if (chosen == '"')
                    to[n++] = '"';
            }
            if (quoted)
                to[n++] = '"';
        }
        n += (size_t)snprintf(to + n, size - n, "%s", end);
    }
    return n;
}

/* The next cell from *at, unquoted and cut. @return the separator after it */
static char slow_cell(const char *text, size_t size, size_t *at, char *to)
{
    size_t n = 0, i = *at;
    bool quoted = false;
    for (; i < size; i++) {
        char c = text[i];
        if (c == '"' && quoted && i + 1 < size && text[i + 1] == '"')
            to[n++] = text[i++];
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ',' || c == '\n' || c == '\r'))
            break;
        else
            to[n++] = c;
    }
    for (int round = 0; round < 2; round++) {
        while (n > 0 && strchr(" \t", to[n - 1]))
            n--;
        size_t skip = 0;
        while (skip < n && strchr(" \t", to[skip]))
            skip++;
        memmove(to, to + skip, n -= skip);
        if (round == 0 && n >= 2 && to[0] == '"' && to[n - 1] == '"' && !memchr(to + 1, '"', n - 2))
            memmove(to, to + 1, n -= 2);
    }
    to[n] = '\0';
    char stop = i < size ? text[i++] : '\0';
    if (stop == '\r' && i < size && text[i] == '\n')
        i++;
    *at = i;
    return stop;
}

static void agrees_with_a_slow_reader(void **state)
{
    (void)state;
    enum { SIZE = 1500000 };
    char *text = malloc(SIZE), *cell = malloc(SIZE);
    for (int round = 0; round < 6; round++) {
        random_state = (uint64_t)round + 1;
        size_t size = random_table(text, SIZE), at = 0;
        int64_t n_rows = 0;
        bool more = true;
        ek__csv *csv = open_text(text, size);
        while (slow_cell(text, size, &at, cell) == ',')
            ;
        while (at < size) {
            assert_int_equal(ek__csv_next(csv, &more, NULL), EK_OK);
            assert_true(more);
            for (int c = 0; c < 3; c++) {
                slow_cell(text, size, &at, cell);
                assert_string_equal(ek__csv_cell(csv, c), cell);
            }
            n_rows++;
        }
        assert_int_equal(ek__csv_next(csv, &more, NULL), EK_OK);
        assert_false(more);
        assert_true(n_rows > 50);
        ek__csv_close(csv);
    }
    free(text);
    free(cell);
}

static void reads_a_file_as_it_reads_memory(void **state)
{
    (void)state;
    char path[] = "/tmp/evenkeel_csv_XXXXXX";
    int fd = mkstemp(path);
    enum { SIZE = 1500000 };
    char *text = malloc(SIZE);
    random_state = 99;
    size_t size = random_table(text, SIZE);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
    ek__csv *file = NULL, *memory = open_text(text, size);
    assert_int_equal(ek__csv_open(path, &file, NULL), EK_OK);
    for (bool more = true, same = true; more && same;) {
        assert_int_equal(ek__csv_next(file, &more, NULL), EK_OK);
        assert_int_equal(ek__csv_next(memory, &same, NULL), EK_OK);
        assert_int_equal(more, same);
        for (int c = 0; c < 3; c++)
            assert_string_equal(ek__csv_cell(file, c), ek__csv_cell(memory, c));
    }
    assert_int_equal(ek__csv_bytes(file), size);
    ek__csv_close(file);
    ek__csv_close(memory);
    free(text);
    unlink(path);
}

static void refuses_a_row_without_end(void **state)
{
    (void)state;
    size_t size = (size_t)EK__CSV_MAX_ROW + (1 << 20);
    char *text = malloc(size);
    memset(text, 'x', size);
    memcpy(text, "a,b\n1,2\n\"", 9);
    ek__csv *csv = open_text(text, size);
    ek_error err = {0};
    bool more;
    assert_int_equal(ek__csv_next(csv, &more, &err), EK_OK);
    assert_string_equal(ek__csv_cell(csv, 1), "2");
    assert_int_equal(ek__csv_next(csv, &more, &err), EK_ERR_INPUT);
    assert_int_equal(err.line, 3);
    assert_non_null(strstr(err.message, "longer than"));
    ek__csv_close(csv);
    free(text);
}

/* ---- microseconds ---- */

static void reads_microseconds_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t ns;
    } cases[] = {
        {"1736408883688177.930", true, 1736408883688177930},
        {"1736408883688177", true, 1736408883688177000},
        {"840.07675", true, 840077},
        {"0.0005", true, 0},
        {"0.0015", true, 2},
        {"0.0025", true, 2},
        {"0.00250000000000000000000001", true, 3},
        {"-0.0015", true, -2},
        {"  12.5\t", true, 12500},
        {"1.7364088836881779e15", true, 1736408883688177900},
        {"17364088836.881779E+5", true, 1736408883688177900},
        {"1500000e-9", true, 2},
        {"2500e-6", true, 2},
        {"5e-4", true, 0},
        {"50e-5", true, 0},
        {"9e-5", true, 0},
        {"1e-999999999999", true, 0},
        {"0e999999999999", true, 0},
        {"0.000e5", true, 0},
        {"9223372036854775.807", true, INT64_MAX},
        {"-9223372036854775.807", true, -INT64_MAX},
        {"9223372036854775.8074999", true, INT64_MAX},
        {"9223372036854775.8075", false, 0},
        {"9223372036854775.808", false, 0},
        {"-9223372036854775.808", false, 0},
        {"9223372036854775807", false, 0},
        {"99999999999999999999999999", false, 0},
        {"1e16", false, 0},
        {"1e999999999999", false, 0},
        {".5", true, 500},
        {"5.", true, 5000},
        {"+5", true, 5000},
        {"", false, 0},
        {".", false, 0},
        {"-", false, 0},
        {"e5", false, 0},
        {"1e", false, 0},
        {"1e+", false, 0},
        {"1.2.3", false, 0},
        {"1,5", false, 0},
        {"0x10", false, 0},
        {"nan", false, 0},
        {"Infinity", false, 0},
        {"1 2", false, 0},
        {"--1", false, 0},
        {"N/A", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = 42;
        bool good = ek__parse_us(cases[i].text, strlen(cases[i].text), &ns);
        if (good != cases[i].good || ns != (good ? cases[i].ns : 42))
            fail_msg("%s: %d, %lld", cases[i].text, good, (long long)ns);
    }
}

/* The digits of `text` (plain decimal) with the point moved by `exponent` + 3, rounded by comparing texts. */
static bool slow_us(const char *digits, int n_whole, int exponent, int64_t *ns)
{
    char padded[400];
    int n = (int)strlen(digits), before = 100, point;
    memset(padded, '0', sizeof padded);
    memcpy(padded + before, digits, (size_t)n);
    point = before + n_whole + exponent + 3;
    uint64_t value = 0;
    for (int i = 0; i < point; i++) {
        if (value > ((uint64_t)INT64_MAX - (uint64_t)(padded[i] - '0')) / 10)
            return false;
        value = value * 10 + (uint64_t)(padded[i] - '0');
    }
    char rest[400], half[400];
    snprintf(rest, sizeof rest, "%.*s", (int)sizeof padded - point, padded + point);
    memset(half, '0', sizeof half);
    half[0] = '5';
    int order = memcmp(rest, half, sizeof padded - (size_t)point);
    value += order > 0 || (order == 0 && value % 2 == 1);
    if (value > INT64_MAX)
        return false;
    *ns = (int64_t)value;
    return true;
}

static void agrees_with_digits_moved_as_text(void **state)
{
    (void)state;
    random_state = 7;
    int n_good = 0;
    for (int round = 0; round < 200000; round++) {
        char digits[64], text[128];
        int n = 1 + (int)roll(24), n_whole = (int)roll((unsigned)n + 1), exponent = (int)roll(41) - 20;
        for (int i = 0; i < n; i++)
            digits[i] = (char)('0' + (roll(3) == 0 ? 5 : roll(3) == 0 ? 0 : roll(10)));
        digits[n] = '\0';
        bool with = roll(2) == 0;
        int length = snprintf(text, sizeof text, "%.*s.%s", n_whole, digits, digits + n_whole);
        if (with)
            length += snprintf(text + length, sizeof text - (size_t)length, "e%d", exponent);
        int64_t want = 0, got = 0;
        bool good = slow_us(digits, n_whole, with ? exponent : 0, &want);
        if (ek__parse_us(text, (size_t)length, &got) != good || got != want)
            fail_msg("%s: %lld, not %lld", text, (long long)got, (long long)want);
        n_good += good;
    }
    assert_true(n_good > 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_every_line_end),
        cmocka_unit_test(cuts_blanks_and_quotes),
        cmocka_unit_test(keeps_lines_inside_quotes_and_counts_them),
        cmocka_unit_test(takes_short_and_long_rows),
        cmocka_unit_test(names_an_open_quote),
        cmocka_unit_test(replaces_nul),
        cmocka_unit_test(refuses_what_is_no_table),
        cmocka_unit_test(names_a_file_that_cannot_be_read),
        cmocka_unit_test(finds_columns_by_any_spelling),
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(agrees_with_a_slow_reader),
        cmocka_unit_test(reads_a_file_as_it_reads_memory),
        cmocka_unit_test(refuses_a_row_without_end),
        cmocka_unit_test(reads_microseconds_exactly),
        cmocka_unit_test(agrees_with_digits_moved_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
