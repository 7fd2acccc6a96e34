/* Reads Python's pickle by its stack machine, restricted to plain data. A pickle is a program: each opcode pushes a
 * value, or moves values from the stack into a list or dictionary below them; a memo stores values that are used again.
 * Opcodes that import a name or call it are refused, as are those that are not needed for plain data. The file is read
 * through a window, so that memory contains only the tree. The numbers of a memo are assigned by count, which bounds
 * its size by that of the file. */
#include "trace/text/pickle.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { WINDOW = 1 << 16, LOWEST_PROTOCOL = 2, HIGHEST_PROTOCOL = 5, MAX_TEXT = 1 << 26, MAX_LONG = 1 << 10 };

typedef struct machine {
    const char *path;
    gzFile file;
    unsigned char *window;
    size_t n, at;   /* of the window */
    int64_t offset; /* of its first byte */
    ek__data *data;
    ek__datum *stack, *memo;
    size_t *mark; /* positions in the stack */
    size_t height, stack_capacity, n_marks, marks_capacity, n_memo, memo_capacity;
    char *text;
    size_t text_capacity;
    ek_error *err;
} machine;

static int64_t here(const machine *m)
{
    return m->offset + (int64_t)m->at;
}

#define fail_at(m, at, format, ...)                                                                                    \
    ek__fail((m)->err, EK_ERR_INPUT, ((ek_origin){(m)->path, 0, 0}), "byte %" PRId64 ": " format, (at), __VA_ARGS__)

/* An error of the tree has no file yet. */
static ek_status located(machine *m, ek_status status)
{
    if (status != EK_ERR_INPUT || !m->err || m->err->file[0])
        return status;
    ek_error plain = *m->err;
    return fail_at(m, here(m), "%s", plain.message);
}

/* ---- bytes ---- */

static ek_status refill(machine *m)
{
    m->offset += (int64_t)m->n;
    m->at = m->n = 0;
    int got = gzread(m->file, m->window, WINDOW);
    if (got > 0) {
        m->n = (size_t)got;
        return EK_OK;
    }
    int code;
    const char *why = gzerror(m->file, &code);
    if (code == Z_ERRNO)
        return ek__fail(m->err, ek__system_status(), ((ek_origin){m->path, 0, 0}), "cannot read: %s", strerror(errno));
    if (code == Z_MEM_ERROR)
        return ek__no_memory(m->err);
    if (got < 0 && code != Z_BUF_ERROR)
        return fail_at(m, m->offset, "its compression is damaged (%s); copy the file again", why);
    return fail_at(m, m->offset, "the file ends inside the %s: it is truncated; copy it again", "pickle");
}

static ek_status read_byte(machine *m, unsigned *out)
{
    ek_status status = m->at < m->n ? EK_OK : refill(m);
    if (!status)
        *out = m->window[m->at++];
    return status;
}

/* A number of `size` bytes, up to 8, the lowest first. */
static ek_status read_number(machine *m, int size, uint64_t *out)
{
    uint64_t value = 0;
    ek_status status = EK_OK;
    for (int i = 0; i < size && !status; i++) {
        unsigned byte = 0;
        status = read_byte(m, &byte);
        value |= (uint64_t)byte << 8 * i;
    }
    *out = value;
    return status;
}

/* ---- the stack ---- */

static ek_status push(machine *m, ek__datum value)
{
    size_t before = m->stack_capacity;
    ek__datum *larger = ek__with_room(m->stack, &m->stack_capacity, m->height + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(m->err);
    m->stack = larger;
    m->stack[m->height++] = value;
    return ek__data_count(m->data, (m->stack_capacity - before) * sizeof value, m->err);
}

/* The part of the stack above the last mark, or above the bottom. */
static size_t floor_of(const machine *m)
{
    return m->n_marks > 0 ? m->mark[m->n_marks - 1] : 0;
}

static ek_status needs(const machine *m, size_t n)
{
    if (m->height - floor_of(m) >= n)
        return EK_OK;
    return fail_at(m, here(m), "takes %zu values from a stack that has %zu: the pickle is damaged; copy it again", n,
                   m->height - floor_of(m));
}

static ek_status push_mark(machine *m)
{
    size_t before = m->marks_capacity;
    size_t *larger = ek__with_room(m->mark, &m->marks_capacity, m->n_marks + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(m->err);
    m->mark = larger;
    m->mark[m->n_marks++] = m->height;
    return ek__data_count(m->data, (m->marks_capacity - before) * sizeof *larger, m->err);
}

/* Values above the last mark, which is removed: *from is the first of them. */
static ek_status pop_mark(machine *m, size_t *from)
{
    if (m->n_marks == 0)
        return fail_at(m, here(m), "there is no mark on the %s: the pickle is damaged; copy it again", "stack");
    *from = m->mark[--m->n_marks];
    return EK_OK;
}

/* ---- values ---- */

static ek_status push_int(machine *m, int64_t value)
{
    ek__datum out;
    ek_status status = ek__data_int(m->data, value, &out, m->err);
    return status ? status : push(m, out);
}

static ek_status push_real(machine *m, double value)
{
    ek__datum out;
    ek_status status = ek__data_real(m->data, value, &out, m->err);
    return status ? status : push(m, out);
}

static ek_status read_int(machine *m, int size)
{
    uint64_t value;
    ek_status status = read_number(m, size, &value);
    return status ? status : push_int(m, size == 4 ? (int32_t)(uint32_t)value : (int64_t)value);
}

/* Two's complement of `size` bytes, the lowest first; beyond 64 bits as a real number. */
static ek_status read_long(machine *m, int size_of_size)
{
    uint64_t size;
    int64_t at = here(m);
    unsigned char bytes[MAX_LONG];
    ek_status status = read_number(m, size_of_size, &size);
    if (!status && size > MAX_LONG)
        return fail_at(m, at, "a whole number of %" PRIu64 " bytes is no figure of memory", size);
    for (uint64_t i = 0; i < size && !status; i++) {
        unsigned byte = 0;
        status = read_byte(m, &byte);
        bytes[i] = (unsigned char)byte;
    }
    if (status)
        return status;
    bool negative = size > 0 && bytes[size - 1] & 0x80;
    if (size <= 8) {
        uint64_t value = negative ? UINT64_MAX : 0;
        for (uint64_t i = size; i-- > 0;)
            value = value << 8 | bytes[i];
        return push_int(m, (int64_t)value);
    }
    double real = negative ? -1 : 0;
    for (uint64_t i = size; i-- > 0;)
        real = 256 * real + bytes[i];
    return push_real(m, real);
}

static ek_status read_float(machine *m)
{
    uint64_t little, bits = 0;
    double value;
    ek_status status = read_number(m, 8, &little);
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | (little >> 8 * i & 255);
    memcpy(&value, &bits, sizeof value);
    return status ? status : push_real(m, value);
}

static ek_status read_text(machine *m, int size_of_size)
{
    uint64_t size;
    int64_t at = here(m);
    ek__datum out;
    ek_status status = read_number(m, size_of_size, &size);
    if (!status && size > MAX_TEXT)
        return fail_at(m, at, "a text of %" PRIu64 " bytes is beyond the limit of %d", size, MAX_TEXT);
    /* Memory grows with the bytes read: a damaged length is not trusted. */
    for (size_t got = 0; got < size && !status;) {
        if (m->at == m->n && (status = refill(m)) != EK_OK)
            break;
        size_t part = m->n - m->at < size - got ? m->n - m->at : (size_t)size - got;
        char *larger = ek__with_room(m->text, &m->text_capacity, got + part, 1);
        if (!larger)
            return ek__no_memory(m->err);
        m->text = larger;
        memcpy(m->text + got, m->window + m->at, part);
        m->at += part;
        got += part;
    }
    status = status ? status : ek__data_text(m->data, m->text ? m->text : "", (size_t)size, &out, m->err);
    return status ? status : push(m, out);
}

/* ---- lists and dictionaries ---- */

static ek_status push_empty(machine *m, ek__data_kind kind)
{
    ek__datum out;
    ek_status status = ek__data_list_new(m->data, kind, &out, m->err);
    return status ? status : push(m, out);
}

/* A new one of the values from `from` on, which are removed. */
static ek_status collect(machine *m, ek__data_kind kind, size_t from)
{
    ek__datum out;
    size_t n = m->height - from;
    if (kind == EK__DATA_DICT && n % 2)
        return fail_at(m, here(m), "a dictionary gets %zu keys and values: the pickle is damaged; copy it again", n);
    ek_status status = ek__data_list_new(m->data, kind, &out, m->err);
    if (!status && n > 0)
        status = ek__data_append(m->data, out, m->stack + from, n, m->err);
    m->height = from;
    return status ? status : push(m, out);
}

static ek_status collect_marked(machine *m, ek__data_kind kind)
{
    size_t from;
    ek_status status = pop_mark(m, &from);
    return status ? status : collect(m, kind, from);
}

/* The values from `from` on are added to the value below them. */
static ek_status extend(machine *m, ek__data_kind kind, size_t from)
{
    size_t n = m->height - from;
    if (from <= floor_of(m) || ek__data_kind_of(m->stack[from - 1]) != kind)
        return fail_at(m, here(m), "the target of %zu values is no %s: the pickle is damaged; copy it again", n,
                       kind == EK__DATA_LIST ? "list" : "dictionary");
    if (kind == EK__DATA_DICT && n % 2)
        return fail_at(m, here(m), "a dictionary gets %zu keys and values: the pickle is damaged; copy it again", n);
    ek_status status = n > 0 ? ek__data_append(m->data, m->stack[from - 1], m->stack + from, n, m->err) : EK_OK;
    m->height = from;
    return status;
}

static ek_status extend_marked(machine *m, ek__data_kind kind)
{
    size_t from;
    ek_status status = pop_mark(m, &from);
    return status ? status : extend(m, kind, from);
}

/* ---- the memo ---- */

static ek_status put(machine *m, uint64_t number)
{
    ek_status status = needs(m, 1);
    if (status)
        return status;
    if (number > (uint64_t)here(m))
        return fail_at(m, here(m), "stores a value as number %" PRIu64 ": the pickle is damaged; copy it again",
                       number);
    size_t before = m->memo_capacity;
    ek__datum *larger = ek__with_room(m->memo, &m->memo_capacity, (size_t)number + 1, sizeof *larger);
    if (!larger)
        return ek__no_memory(m->err);
    m->memo = larger;
    for (; m->n_memo <= number; m->n_memo++)
        m->memo[m->n_memo] = UINT64_MAX; /* no value has all bits of its kind set */
    m->memo[number] = m->stack[m->height - 1];
    return ek__data_count(m->data, (m->memo_capacity - before) * sizeof *larger, m->err);
}

static ek_status put_numbered(machine *m, int size)
{
    uint64_t number;
    ek_status status = read_number(m, size, &number);
    return status ? status : put(m, number);
}

static ek_status get(machine *m, int size)
{
    uint64_t number;
    ek_status status = read_number(m, size, &number);
    if (status)
        return status;
    if (number >= m->n_memo || m->memo[number] == UINT64_MAX)
        return fail_at(m, here(m),
                       "takes value number %" PRIu64 ", which was never stored: the pickle is damaged; copy it again",
                       number);
    return push(m, m->memo[number]);
}

/* ---- opcodes ---- */

/* The name of an opcode that would import, call or build an object of a program; NULL for other opcodes. */
static const char *name_of_program(unsigned code)
{
    static const struct {
        unsigned char code;
        const char *name;
    } names[] = {
        {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},     {'b', "BUILD"},        {'i', "INST"},
        {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"}, {0x82, "EXT1"},        {0x83, "EXT2"},
        {0x84, "EXT4"},  {'P', "PERSID"},        {'Q', "BINPERSID"},  {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return NULL;
}

static ek_status refuse(const machine *m, unsigned code)
{
    const char *name = name_of_program(code);
    int64_t at = here(m) - 1;
    if (name)
        return fail_at(m, at,
                       "this is no memory snapshot, which contains only plain data: %s would run code and is not "
                       "executed; give the output of _dump_snapshot() of torch.cuda.memory or of torch_npu",
                       name);
    return fail_at(m, at,
                   "0x%02x is no opcode of plain data in a pickle of protocol %d to %d; write the snapshot with "
                   "_dump_snapshot() again",
                   code, LOWEST_PROTOCOL, HIGHEST_PROTOCOL);
}

static ek_status take_number(machine *m, unsigned code, bool *known)
{
    *known = true;
    switch (code) {
    case 'N':
        return push(m, ek__data_none());
    case 0x88:
    case 0x89:
        return push(m, ek__data_bool(code == 0x88));
    case 'K':
        return read_int(m, 1);
    case 'M':
        return read_int(m, 2);
    case 'J':
        return read_int(m, 4);
    case 0x8a:
        return read_long(m, 1);
    case 0x8b:
        return read_long(m, 4);
    case 'G':
        return read_float(m);
    case 0x8c: /* texts; also of bytes, which older versions of Python wrote for them */
    case 'U':
    case 'C':
        return read_text(m, 1);
    case 'X':
    case 'T':
    case 'B':
        return read_text(m, 4);
    case 0x8d:
    case 0x8e:
        return read_text(m, 8);
    default:
        *known = false;
        return EK_OK;
    }
}

static ek_status take_list(machine *m, unsigned code, bool *known)
{
    ek_status status = EK_OK;
    *known = true;
    switch (code) {
    case ']':
    case ')':
        return push_empty(m, EK__DATA_LIST);
    case '}':
        return push_empty(m, EK__DATA_DICT);
    case 'l':
    case 't':
        return collect_marked(m, EK__DATA_LIST);
    case 'd':
        return collect_marked(m, EK__DATA_DICT);
    case 0x85:
    case 0x86:
    case 0x87:
        status = needs(m, code - 0x84);
        return status ? status : collect(m, EK__DATA_LIST, m->height - (code - 0x84));
    case 'a':
        status = needs(m, 2);
        return status ? status : extend(m, EK__DATA_LIST, m->height - 1);
    case 's':
        status = needs(m, 3);
        return status ? status : extend(m, EK__DATA_DICT, m->height - 2);
    case 'e':
        return extend_marked(m, EK__DATA_LIST);
    case 'u':
        return extend_marked(m, EK__DATA_DICT);
    default:
        *known = false;
        return EK_OK;
    }
}

static ek_status take_other(machine *m, unsigned code)
{
    uint64_t ignored;
    size_t from;
    ek_status status;
    switch (code) {
    case '(':
        return push_mark(m);
    case '0':
        status = needs(m, 1);
        m->height -= !status;
        return status;
    case '1':
        status = pop_mark(m, &from);
        m->height = status ? m->height : from;
        return status;
    case '2':
        status = needs(m, 1);
        return status ? status : push(m, m->stack[m->height - 1]);
    case 'q':
        return put_numbered(m, 1);
    case 'r':
        return put_numbered(m, 4);
    case 0x94:
        return put(m, m->n_memo);
    case 'h':
        return get(m, 1);
    case 'j':
        return get(m, 4);
    case 0x95: /* the length of a frame, which is not needed */
        return read_number(m, 8, &ignored);
    default:
        return refuse(m, code);
    }
}

static ek_status begin(machine *m)
{
    unsigned code = 0, protocol = 0;
    ek_status status = read_byte(m, &code);
    status = status ? status : read_byte(m, &protocol);
    if (status)
        return status;
    if (code != 0x80 || protocol < LOWEST_PROTOCOL || protocol > HIGHEST_PROTOCOL)
        return fail_at(m, (int64_t)0,
                       "is no pickle of protocol %d to %d; write the snapshot with _dump_snapshot() again",
                       LOWEST_PROTOCOL, HIGHEST_PROTOCOL);
    return EK_OK;
}

static ek_status run(machine *m, ek__datum *root)
{
    ek_status status = begin(m);
    while (!status) {
        unsigned code = 0;
        bool known = false;
        status = read_byte(m, &code);
        if (status)
            break;
        if (code == '.') {
            status = needs(m, 1);
            *root = status ? *root : m->stack[m->height - 1];
            return status;
        }
        status = take_number(m, code, &known);
        if (!known)
            status = take_list(m, code, &known);
        if (!known)
            status = take_other(m, code);
    }
    return located(m, status);
}

ek_status ek__pickle_read(const char *path, ek__data *data, ek__datum *root, int64_t *bytes, ek_error *err)
{
    ek_error own = {.status = EK_OK};
    machine m = {.path = path, .data = data, .err = &own};
    m.file = gzopen(path, "rb"); /* reads plain files unchanged */
    if (!m.file)
        return ek__fail(err, ek__system_status(), ((ek_origin){path, 0, 0}), "cannot open: %s", strerror(errno));
    m.window = ek__alloc(WINDOW, 1);
    ek_status status = m.window ? run(&m, root) : ek__no_memory(&own);
    *bytes = here(&m);
    gzclose(m.file);
    free(m.window);
    free(m.stack);
    free(m.memo);
    free(m.mark);
    free(m.text);
    if (status && err)
        *err = own;
    return status;
}

bool ek__is_pickle(const char *bytes, size_t n)
{
    return n >= 2 && (unsigned char)bytes[0] == 0x80 && bytes[1] >= LOWEST_PROTOCOL && bytes[1] <= HIGHEST_PROTOCOL;
}
