/* Tests compressed files: ISA-L and zlib, which notes restart points, read the same bytes and report the same errors,
 * for generated files that are whole, cut at every byte, and with two bits of every byte flipped. */
#include "input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/random.h"
#include "trace/scan/gunzip.h"

enum { MOST_PLAIN = 1 << 20, MOST_PACKED = 1 << 21, INPUT_BYTES = 64 << 10 };

static char folder[] = "/tmp/evenkeel_gunzipXXXXXX";
static char path[64];

/* A file, and its content as far as it is sound. */
typedef struct packed {
    unsigned char bytes[MOST_PACKED];
    char plain[MOST_PLAIN];
    size_t size, n;
} packed;

/* The result of reading. */
typedef struct given {
    char bytes[MOST_PLAIN + 1];
    size_t n;
    char problem[200];
} given;

static packed file;
static given by_isal, by_zlib;

/* A text like events, or noise; the more `repeats`, the better it packs. */
static void fill_plain(char *to, size_t size, int repeats, ek__random *random)
{
    for (size_t i = 0; i < size; i++) {
        size_t back = 40 + (size_t)ek__random_below(random, 40000);
        if (ek__random_below(random, 100) < repeats && back + 40 <= i && i + 40 <= size) {
            memcpy(to + i, to + i - back, 40);
            i += 39;
        } else
            to[i] = (char)ek__random_below(random, repeats > 0 ? 64 : 256);
    }
}

static void add_packed(z_stream *z, int flush)
{
    z->next_out = file.bytes + file.size;
    z->avail_out = (unsigned)(sizeof file.bytes - file.size);
    int code = deflate(z, flush);
    assert_true(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR);
    file.size = (size_t)(z->next_out - file.bytes);
    assert_true(z->avail_in == 0 && z->avail_out > 0);
}

/* One more member; with `head` it has a name and a checksum of its head, as gzip writes them; flushed in the middle. */
static void add_member(size_t size, int level, int strategy, int repeats, bool head, ek__random *random)
{
    z_stream z = {0};
    gz_header about = {.name = (unsigned char *)"trace_view.json", .hcrc = 1, .extra = (unsigned char *)"0123456789"};
    about.extra_len = 10;
    char *plain = file.plain + file.n;
    assert_true(file.n + size <= MOST_PLAIN);
    fill_plain(plain, size, repeats, random);
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 8, strategy), Z_OK);
    if (head)
        assert_int_equal(deflateSetHeader(&z, &about), Z_OK);
    z.next_in = (unsigned char *)plain;
    z.avail_in = (unsigned)(size / 2);
    add_packed(&z, Z_SYNC_FLUSH);
    z.avail_in = (unsigned)(size - size / 2);
    add_packed(&z, Z_FINISH);
    assert_int_equal(deflateEnd(&z), Z_OK);
    file.n += size;
}

static void clear_file(void)
{
    file.size = file.n = 0;
}

static void write_file(size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file.bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static void read_file(given *to, bool spots, size_t piece, size_t input)
{
    ek__gunzip *g = ek__gunzip_new(open(path, O_RDONLY | O_CLOEXEC));
    size_t n;
    assert_non_null(g);
    if (spots)
        ek__gunzip_note_spots(g, 1 << 16);
    ek__gunzip_limit_input(g, input);
    to->n = 0;
    while ((
        n = ek__gunzip_read(g, to->bytes + to->n, piece < sizeof to->bytes - to->n ? piece : sizeof to->bytes - to->n)))
        to->n += n;
    const char *problem = ek__gunzip_problem(g);
    snprintf(to->problem, sizeof to->problem, "%s", problem ? problem : "");
    assert_false(ek__gunzip_out_of_memory(g));
    assert_int_equal(ek__gunzip_read(g, to->bytes, 1), 0);
    ek__gunzip_free(g);
}

/* The same message. ISA-L accepts some codes that zlib refuses, and gives their bytes until the checksum fails. */
static void assert_same_problem(void)
{
    assert_true(by_isal.n >= by_zlib.n);
    assert_memory_equal(by_isal.bytes, by_zlib.bytes, by_zlib.n);
    assert_string_equal(by_isal.problem, by_zlib.problem);
}

static void assert_same(void)
{
    assert_same_problem();
    assert_int_equal(by_isal.n, by_zlib.n);
}

/* Both readers, in pieces of that size; they return the whole file. */
static void assert_whole(size_t piece, size_t input)
{
    read_file(&by_isal, false, piece, input);
    read_file(&by_zlib, true, piece, input);
    assert_same();
    assert_string_equal(by_isal.problem, "");
    assert_int_equal(by_isal.n, file.n);
    assert_memory_equal(by_isal.bytes, file.plain, file.n);
}

static void files_are_read_whatever_packed_them(void **state)
{
    (void)state;
    static const int strategy[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    ek__random random = ek__random_seed(1);
    for (int level = 0; level <= 9; level++)
        for (size_t s = 0; s < sizeof strategy / sizeof *strategy; s++) {
            clear_file();
            add_member(ek__random_below(&random, 200000), level, strategy[s], 20 * (level % 5), level % 2, &random);
            write_file(file.size);
            assert_whole(MOST_PLAIN, INPUT_BYTES);
            assert_whole(1 + ek__random_below(&random, 70000), 1 + ek__random_below(&random, INPUT_BYTES));
        }
}

/* Members end and begin anywhere within a single read. */
static void members_follow_one_another(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(2);
    clear_file();
    for (int i = 0; i < 200; i++)
        add_member(i % 5 == 0 ? 0 : ek__random_below(&random, 3000), i % 10, Z_DEFAULT_STRATEGY, 80, i % 3 == 0,
                   &random);
    write_file(file.size);
    for (size_t input = 1; input < 40; input++)
        assert_whole(MOST_PLAIN, input);
    for (size_t piece = 1; piece < 40; piece++)
        assert_whole(piece, INPUT_BYTES);
}

/* As gzip does. A byte that might begin a member is looked at. */
static void what_is_no_member_is_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *problem;
    } behind[] = {{"\0\0\0\0\0\0\0\0\0\0\0\0", 12, ""},
                  {"garbage", 7, ""},
                  {"\x1f", 1, "unexpected end"},
                  {"\x1fgarbage", 8, "incorrect header check"}};
    ek__random random = ek__random_seed(3);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        clear_file();
        add_member(5000, 6, Z_DEFAULT_STRATEGY, 80, false, &random);
        memcpy(file.bytes + file.size, behind[i].text, behind[i].size);
        write_file(file.size + behind[i].size);
        for (size_t input = 1; input < INPUT_BYTES; input *= 3) {
            read_file(&by_isal, false, 1000, input);
            read_file(&by_zlib, true, 1000, input);
            assert_same();
            assert_string_equal(by_isal.problem, behind[i].problem);
            assert_int_equal(by_isal.n, file.n);
            assert_memory_equal(by_isal.bytes, file.plain, file.n);
        }
    }
}

static void make_small(int strategy, ek__random *random)
{
    clear_file();
    add_member(500, 6, strategy, 60, true, random);
    add_member(0, 6, strategy, 60, false, random);
    add_member(300, 9, strategy, 40, false, random);
}

static void a_file_cut_anywhere_gives_what_is_before(void **state)
{
    (void)state;
    static const int strategy[] = {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY};
    ek__random random = ek__random_seed(4);
    int n_cut = 0;
    for (size_t s = 0; s < sizeof strategy / sizeof *strategy; s++) {
        make_small(strategy[s], &random);
        for (size_t size = 0; size < file.size; size++) {
            write_file(size);
            read_file(&by_isal, false, 1 + size % 97, 1 + size % 61);
            read_file(&by_zlib, true, MOST_PLAIN, INPUT_BYTES);
            assert_same();
            assert_memory_equal(by_isal.bytes, file.plain, by_isal.n);
            n_cut += strcmp(by_isal.problem, "unexpected end") == 0;
        }
        assert_int_equal(n_cut, (int)file.size - 3); /* except for those between two members */
        n_cut = 0;
    }
}

/* Whatever the bit, both stop with the same message, mostly at the same byte: zlib determines the error. */
static void damage_is_told_with_the_same_words(void **state)
{
    (void)state;
    static const int strategy[] = {Z_DEFAULT_STRATEGY, Z_FIXED};
    static const char *const expected[] = {"incorrect data check",   "incorrect length check",
                                           "invalid block type",     "invalid distance too far back",
                                           "header crc mismatch",    "invalid stored block lengths",
                                           "incorrect header check", "unknown compression method"};
    bool met[sizeof expected / sizeof *expected] = {false};
    int n_more = 0, n_bits = 0;
    ek__random random = ek__random_seed(5);
    for (size_t s = 0; s < sizeof strategy / sizeof *strategy; s++) {
        make_small(strategy[s], &random);
        n_bits += 2 * (int)file.size;
        for (size_t i = 0; i < 2 * file.size; i++) {
            size_t bit = 8 * (i / 2) + (i / 2 + 3 * i) % 8;
            file.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
            write_file(file.size);
            read_file(&by_isal, false, 1 + bit % 1013, 1 + bit % 61);
            read_file(&by_zlib, true, MOST_PLAIN, INPUT_BYTES);
            assert_same_problem();
            n_more += by_isal.n > by_zlib.n;
            for (size_t e = 0; e < sizeof expected / sizeof *expected; e++)
                met[e] |= strcmp(by_isal.problem, expected[e]) == 0;
            file.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
    assert_true(n_more < n_bits / 8);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(met[i]);
}

/* More than the window of 32 KB is read again, and given once. */
static void damage_late_in_a_member_repeats_nothing(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(6);
    clear_file();
    add_member(1000, 6, Z_DEFAULT_STRATEGY, 80, false, &random);
    add_member(300000, 6, Z_DEFAULT_STRATEGY, 80, false, &random);
    for (size_t behind = 1; behind < 4000; behind += 37) {
        file.bytes[file.size - behind] ^= 0x55;
        write_file(file.size);
        read_file(&by_isal, false, 12345, INPUT_BYTES);
        read_file(&by_zlib, true, MOST_PLAIN, INPUT_BYTES);
        assert_same();
        assert_true(by_isal.problem[0] != '\0' && by_isal.n > 200000);
        file.bytes[file.size - behind] ^= 0x55;
    }
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.json.gz", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(path) != 0 || rmdir(folder) != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_whatever_packed_them),
        cmocka_unit_test(members_follow_one_another),
        cmocka_unit_test(what_is_no_member_is_left_alone),
        cmocka_unit_test(a_file_cut_anywhere_gives_what_is_before),
        cmocka_unit_test(damage_is_told_with_the_same_words),
        cmocka_unit_test(damage_late_in_a_member_repeats_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
