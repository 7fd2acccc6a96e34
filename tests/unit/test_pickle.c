/* Tests pickles of plain data: each opcode by hand, random trees by an independent writer, and damage all over a file
 * that Python wrote. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include <zlib.h>

#include "base/random.h"
#include "trace/text/pickle.h"

/* ---- bytes ---- */

typedef struct bytes {
    unsigned char at[1 << 16];
    size_t n;
} bytes;

static void put(bytes *b, const void *more, size_t n)
{
    assert_true(b->n + n <= sizeof b->at);
    memcpy(b->at + b->n, more, n);
    b->n += n;
}

static void put_byte(bytes *b, int byte)
{
    put(b, &(unsigned char){(unsigned char)byte}, 1);
}

static void put_number(bytes *b, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        put_byte(b, (int)(value >> 8 * i & 255));
}

typedef struct reading {
    ek__data data;
    ek__datum root;
    ek_status status;
    ek_error err;
    int64_t bytes;
} reading;

static void read_file(reading *r, const char *path, size_t most)
{
    *r = (reading){.data = {.max_bytes = most}};
    r->status = ek__pickle_read(path, &r->data, &r->root, &r->bytes, &r->err);
}

static char scratch[] = "/tmp/pickle_XXXXXX";

static int open_scratch(void **state)
{
    (void)state;
    int fd = mkstemp(scratch);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int drop_scratch(void **state)
{
    (void)state;
    return unlink(scratch);
}

static void read_bytes(reading *r, const unsigned char *at, size_t n)
{
    FILE *file = fopen(scratch, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(at, 1, n, file), n);
    fclose(file);
    read_file(r, scratch, 0);
}

/* ---- each opcode ---- */

/* A tree as text, in the form of Python's repr() without spaces. */
static void print(const ek__data *data, ek__datum value, char *out, size_t room)
{
    size_t n = strlen(out);
    int64_t whole;
    ek__data_kind kind = ek__data_kind_of(value);
    if (kind == EK__DATA_NONE)
        snprintf(out + n, room - n, "None");
    else if (kind == EK__DATA_BOOL)
        snprintf(out + n, room - n, value >> 3 ? "True" : "False");
    else if (kind == EK__DATA_TEXT)
        snprintf(out + n, room - n, "'%s'", ek__data_text_of(data, value));
    else if (ek__data_int_of(data, value, &whole))
        snprintf(out + n, room - n, "%lld", (long long)whole);
    else if (kind == EK__DATA_REAL)
        snprintf(out + n, room - n, "%.17g", data->real[value >> 3]);
    if (kind != EK__DATA_LIST && kind != EK__DATA_DICT)
        return;
    const ek__data_list *list = ek__data_list_of(data, value, kind);
    strcat(out, kind == EK__DATA_LIST ? "[" : "{");
    for (uint32_t i = 0; i < list->n; i++) {
        if (i > 0)
            strcat(out, kind == EK__DATA_DICT && i % 2 ? ":" : ",");
        print(data, list->item[i], out, room);
    }
    strcat(out, kind == EK__DATA_LIST ? "]" : "}");
}

#define P(text) (text), sizeof(text) - 1

static void every_opcode_of_plain_data_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *tree;
    } cases[] = {
        {P("\x80\x02N."), "None"},
        {P("\x80\x02\x88."), "True"},
        {P("\x80\x02\x89."), "False"},
        {P("\x80\x02K\xff."), "255"},
        {P("\x80\x02M\x01\x02."), "513"},
        {P("\x80\x02J\xff\xff\xff\xff."), "-1"},
        {P("\x80\x02J\x00\x00\x00\x7f."), "2130706432"},
        {P("\x80\x02\x8a\x00."), "0"},
        {P("\x80\x02\x8a\x01\x80."), "-128"},
        {P("\x80\x02\x8a\x06\x00\x00\x00\x00\x20\x7f."), "139775415681024"},
        {P("\x80\x02\x8a\x02\xff\x7f."), "32767"},
        {P("\x80\x02\x8b\x02\x00\x00\x00\x00\x01."), "256"},
        {P("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."), "1.8446744073709552e+19"},
        {P("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff."), "-1.8446744073709552e+19"},
        {P("\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00."), "1.5"},
        {P("\x80\x02X\x02\x00\x00\x00"
           "ab."),
         "'ab'"},
        {P("\x80\x04\x8c\x01z."), "'z'"},
        {P("\x80\x04\x8d\x01\x00\x00\x00\x00\x00\x00\x00z."), "'z'"},
        {P("\x80\x02U\x01z."), "'z'"},
        {P("\x80\x02T\x01\x00\x00\x00z."), "'z'"},
        {P("\x80\x03"
           "C\x01z."),
         "'z'"},
        {P("\x80\x03"
           "B\x01\x00\x00\x00z."),
         "'z'"},
        {P("\x80\x04\x8e\x01\x00\x00\x00\x00\x00\x00\x00z."), "'z'"},
        {P("\x80\x02]."), "[]"},
        {P("\x80\x02)."), "[]"},
        {P("\x80\x02}."), "{}"},
        {P("\x80\x02]K\x01"
           "a."),
         "[1]"},
        {P("\x80\x02](K\x01K\x02"
           "e(K\x03"
           "e."),
         "[1,2,3]"},
        {P("\x80\x02}(K\x01K\x02u."), "{1:2}"},
        {P("\x80\x02}K\x01Ns."), "{1:None}"},
        {P("\x80\x02(K\x01K\x02l."), "[1,2]"},
        {P("\x80\x02(K\x01K\x02t."), "[1,2]"},
        {P("\x80\x02(K\x01K\x02"
           "d."),
         "{1:2}"},
        {P("\x80\x02K\x01\x85."), "[1]"},
        {P("\x80\x02K\x01K\x02\x86."), "[1,2]"},
        {P("\x80\x02K\x01K\x02K\x03\x87."), "[1,2,3]"},
        {P("\x80\x02K\x01K\x02"
           "0."),
         "1"},
        {P("\x80\x02K\x01(K\x02K\x03"
           "1."),
         "1"},
        {P("\x80\x02K\x01"
           "2\x86."),
         "[1,1]"},
        {P("\x80\x02](K\x07q\x05h\x05"
           "e."),
         "[7,7]"},
        {P("\x80\x02](K\x07r\x05\x00\x00\x00j\x05\x00\x00\x00"
           "e."),
         "[7,7]"},
        {P("\x80\x04\x95\x08\x00\x00\x00\x00\x00\x00\x00]\x94(K\x07\x94h\x01"
           "e."),
         "[7,7]"},
        /* A list in two places is one: an element added at one of them is at the other, too. */
        {P("\x80\x02]q\x00(]q\x01h\x01"
           "eh\x01K\x09"
           "a0."),
         "[[9],[9]]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reading r;
        char tree[512] = "";
        read_bytes(&r, (const unsigned char *)cases[i].bytes, cases[i].n);
        if (r.status)
            fail_msg("case %zu, %s: %s", i, cases[i].tree, r.err.message);
        print(&r.data, r.root, tree, sizeof tree);
        assert_string_equal(tree, cases[i].tree);
        assert_int_equal(r.bytes, cases[i].n);
        ek__data_clear(&r.data);
    }
}

static void what_is_refused_says_byte_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *message;
    } cases[] = {
        {P("\x80\x02"
           "cos\nsystem\n."),
         "byte 2: this is no memory snapshot, which contains only plain data: GLOBAL would"},
        {P("\x80\x04K\x01\x93."),
         "byte 4: this is no memory snapshot, which contains only plain data: STACK_GLOBAL would"},
        {P("\x80\x02NR."), "byte 3: this is no memory snapshot, which contains only plain data: REDUCE would"},
        {P("\x80\x02Nb."), "byte 3: this is no memory snapshot, which contains only plain data: BUILD would"},
        {P("\x80\x02(i"), "byte 3: this is no memory snapshot, which contains only plain data: INST would"},
        {P("\x80\x02(o."), "byte 3: this is no memory snapshot, which contains only plain data: OBJ would"},
        {P("\x80\x02\x81."), "byte 2: this is no memory snapshot, which contains only plain data: NEWOBJ would"},
        {P("\x80\x02\x92."), "byte 2: this is no memory snapshot, which contains only plain data: NEWOBJ_EX would"},
        {P("\x80\x02\x82\x01."), "byte 2: this is no memory snapshot, which contains only plain data: EXT1 would"},
        {P("\x80\x02\x83\x01."), "byte 2: this is no memory snapshot, which contains only plain data: EXT2 would"},
        {P("\x80\x02\x84\x01."), "byte 2: this is no memory snapshot, which contains only plain data: EXT4 would"},
        {P("\x80\x02P1\n."), "byte 2: this is no memory snapshot, which contains only plain data: PERSID would"},
        {P("\x80\x02NQ."), "byte 3: this is no memory snapshot, which contains only plain data: BINPERSID would"},
        {P("\x80\x05\x97."), "byte 2: this is no memory snapshot, which contains only plain data: NEXT_BUFFER would"},
        {P("\x80\x05\x98."),
         "byte 2: this is no memory snapshot, which contains only plain data: READONLY_BUFFER would"},
        {P("\x80\x02\x8f."), "byte 2: 0x8f is no opcode of plain data"},
        {P("\x80\x01N."), "byte 0: is no pickle of protocol 2 to 5"},
        {P("\x80\x06N."), "byte 0: is no pickle of protocol 2 to 5"},
        {P("(dp0\n."), "byte 0: is no pickle of protocol 2 to 5"},
        {P("\x80\x02"), "byte 2: the file ends inside the pickle"},
        {P("\x80\x02N"), "byte 3: the file ends inside the pickle"},
        {P("\x80\x02X\xff\x00\x00\x00"
           "ab"),
         "byte 9: the file ends inside the pickle"},
        {P("\x80\x02X\xff\xff\xff\xff"
           "ab"),
         "byte 3: a text of 4294967295 bytes is beyond the limit"},
        {P("\x80\x02\x8b\xff\xff\x00\x00."), "byte 3: a whole number of 65535 bytes"},
        {P("\x80\x02."), "byte 3: takes 1 values from a stack that has 0"},
        {P("\x80\x02"
           "0."),
         "byte 3: takes 1 values from a stack that has 0"},
        {P("\x80\x02N(0."), "byte 5: takes 1 values from a stack that has 0"},
        {P("\x80\x02N\x86."), "byte 4: takes 2 values from a stack that has 1"},
        {P("\x80\x02"
           "e."),
         "byte 3: there is no mark on the stack"},
        {P("\x80\x02N(Ne."), "byte 6: the target of 1 values is no list"},
        {P("\x80\x02(Ne."), "byte 5: the target of 1 values is no list"},
        {P("\x80\x02](NNu."), "byte 7: the target of 2 values is no dictionary"},
        {P("\x80\x02}(Nu."), "byte 6: a dictionary gets 1 keys and values"},
        {P("\x80\x02(Nd."), "byte 5: a dictionary gets 1 keys and values"},
        {P("\x80\x02NNa."), "byte 5: the target of 1 values is no list"},
        {P("\x80\x02h\x00."), "byte 4: takes value number 0, which was never stored"},
        {P("\x80\x02Nq\x03h\x02."), "byte 7: takes value number 2, which was never stored"},
        {P("\x80\x02Nr\xff\xff\xff\x7f."), "byte 8: stores a value as number 2147483647"},
        {P("\x80\x02q\x00."), "byte 4: takes 1 values from a stack that has 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        reading r;
        read_bytes(&r, (const unsigned char *)cases[i].bytes, cases[i].n);
        assert_int_equal(r.status, EK_ERR_INPUT);
        assert_string_equal(r.err.file, scratch);
        if (strncmp(r.err.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: %s", i, r.err.message);
        ek__data_clear(&r.data);
    }
    reading r;
    read_file(&r, "/nonexistent/snapshot.pickle", 0);
    assert_int_equal(r.status, EK_ERR_SYSTEM);
    ek__data_clear(&r.data);
}

/* ---- random trees ---- */

static void write_text(bytes *b, const char *text)
{
    size_t n = strlen(text);
    put_byte(b, 'X');
    put_number(b, n, 4);
    put(b, text, n);
}

/* A value as a pickle and as text. Sometimes it is kept and taken again, and sometimes batches are cut. */
static void make_value(bytes *b, ek__random *random, int depth, int *n_kept, char *text)
{
    char one[64];
    int kind = ek__random_below(random, depth > 3 ? 3 : 6);
    switch (kind) {
    case 0: {
        int64_t value = (int64_t)(ek__random_next(random) >> (4 + ek__random_below(random, 59)));
        value = ek__random_below(random, 2) ? -value : value;
        put_byte(b, 0x8a);
        put_byte(b, 8);
        put_number(b, (uint64_t)value, 8);
        snprintf(one, sizeof one, "%lld", (long long)value);
        strcat(text, one);
        return;
    }
    case 1:
        snprintf(one, sizeof one, "t%d", ek__random_below(random, 50));
        write_text(b, one);
        strcat(strcat(strcat(text, "'"), one), "'");
        return;
    case 2:
        put_byte(b, 'N');
        strcat(text, "None");
        return;
    default:
        break;
    }
    bool dict = kind == 5;
    int n = ek__random_below(random, 5);
    put_byte(b, dict ? '}' : ']');
    if (ek__random_below(random, 2)) {
        put_byte(b, 'r');
        put_number(b, (uint64_t)*n_kept, 4);
        put_byte(b, '0');
        put_byte(b, 'j');
        put_number(b, (uint64_t)(*n_kept)++, 4);
    }
    strcat(text, dict ? "{" : "[");
    put_byte(b, '(');
    for (int i = 0; i < n; i++) {
        if (i > 0 && ek__random_below(random, 3) == 0) {
            put_byte(b, dict ? 'u' : 'e');
            put_byte(b, '(');
        }
        strcat(text, i > 0 ? "," : "");
        if (dict) {
            make_value(b, random, 4, n_kept, text);
            strcat(text, ":");
        }
        make_value(b, random, depth + 1, n_kept, text);
    }
    put_byte(b, dict ? 'u' : 'e');
    strcat(text, dict ? "}" : "]");
}

static void random_trees_come_back(void **state)
{
    (void)state;
    static char wanted[1 << 16], got[1 << 16];
    static bytes b;
    ek__random random = ek__random_seed(20240229);
    for (int i = 0; i < 300; i++) {
        int n_kept = 0;
        reading r;
        b.n = 0;
        wanted[0] = got[0] = '\0';
        put(&b, "\x80\x02", 2);
        make_value(&b, &random, 0, &n_kept, wanted);
        put_byte(&b, '.');
        read_bytes(&r, b.at, b.n);
        if (r.status)
            fail_msg("tree %d: %s", i, r.err.message);
        print(&r.data, r.root, got, sizeof got);
        assert_string_equal(got, wanted);
        ek__data_clear(&r.data);
    }
}

/* ---- damage, limits, compression ---- */

/* Every third byte of the newer protocol, every eleventh of the older one: each reading opens a file. */

static void damage_at_any_byte_is_told_or_harmless(void **state)
{
    (void)state;
    static const char *const names[] = {"tests/data/snapshot/rank3_protocol2.pickle",
                                        "tests/data/snapshot/rank3_protocol5.pickle"};
    for (size_t f = 0; f < 2; f++) {
        size_t n;
        char *whole = slurp(source_path(names[f]), &n);
        assert_non_null(whole);
        for (size_t cut = 0; cut < n; cut += f ? 3 : 11) {
            reading r;
            read_bytes(&r, (unsigned char *)whole, cut);
            assert_int_equal(r.status, EK_ERR_INPUT);
            assert_true(r.err.file[0] && strstr(r.err.message, "byte "));
            ek__data_clear(&r.data);
        }
        for (size_t at = 0; at < n; at += f ? 3 : 11) {
            static const int flips[] = {0xff, 0x01, 0x80};
            reading r;
            whole[at] = (char)(whole[at] ^ flips[at % 3]);
            read_bytes(&r, (unsigned char *)whole, n);
            assert_true(r.status == EK_OK || (r.status == EK_ERR_INPUT && strstr(r.err.message, "byte ")));
            ek__data_clear(&r.data);
            whole[at] = (char)(whole[at] ^ flips[at % 3]);
        }
        free(whole);
    }
}

static void memory_has_a_limit(void **state)
{
    (void)state;
    static bytes b;
    b.n = 0;
    put(&b, "\x80\x02", 2);
    while (b.n < 60000)
        put_byte(&b, ']'); /* 16 bytes of tree and 8 of stack each */
    put_byte(&b, '.');
    reading r;
    read_bytes(&r, b.at, b.n);
    assert_int_equal(r.status, EK_OK);
    ek__data_clear(&r.data);
    read_file(&r, scratch, 1 << 20);
    assert_int_equal(r.status, EK_ERR_INPUT);
    assert_non_null(strstr(r.err.message, "its data take more than 1 MB of memory; record fewer events"));
    assert_true(r.data.bytes <= 1 << 20);
    ek__data_clear(&r.data);
}

static void packed_pickles_are_read(void **state)
{
    (void)state;
    gzFile file = gzopen(scratch, "wb");
    assert_non_null(file);
    gzwrite(file,
            "\x80\x02]K\x05"
            "a.",
            7);
    gzclose(file);
    reading r;
    char tree[64] = "";
    read_file(&r, scratch, 0);
    assert_int_equal(r.status, EK_OK);
    print(&r.data, r.root, tree, sizeof tree);
    assert_string_equal(tree, "[5]");
    ek__data_clear(&r.data);
}

static void members_are_found_by_their_keys(void **state)
{
    (void)state;
    reading r;
    ek__datum value;
    int64_t whole = 0;
    static const char twice[] = "\x80\x02}(X\x01\x00\x00\x00"
                                "aK\x01X\x01\x00\x00\x00"
                                "bG\x40\x08\x00\x00\x00\x00\x00\x00"
                                "X\x01\x00\x00\x00"
                                "aK\x02u.";
    read_bytes(&r, (const unsigned char *)twice, sizeof twice - 1);
    assert_int_equal(r.status, EK_OK);
    const ek__data_list *dict = ek__data_list_of(&r.data, r.root, EK__DATA_DICT);
    assert_non_null(dict);
    assert_true(ek__data_member(&r.data, dict, "a", &value) && ek__data_int_of(&r.data, value, &whole));
    assert_int_equal(whole, 2); /* the last one */
    assert_true(ek__data_member(&r.data, dict, "b", &value) && ek__data_int_of(&r.data, value, &whole));
    assert_int_equal(whole, 3);
    assert_false(ek__data_member(&r.data, dict, "c", &value));
    assert_null(ek__data_list_of(&r.data, r.root, EK__DATA_LIST));
    ek__data_clear(&r.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_opcode_of_plain_data_is_read),
        cmocka_unit_test(what_is_refused_says_byte_and_reason),
        cmocka_unit_test(random_trees_come_back),
        cmocka_unit_test(damage_at_any_byte_is_told_or_harmless),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(packed_pickles_are_read),
        cmocka_unit_test(members_are_found_by_their_keys),
    };
    return cmocka_run_group_tests(tests, open_scratch, drop_scratch);
}
