/* Reads types of values. A type is looked up by its bytes as written; only a new spelling is parsed and then looked up
 * by content, so that two spellings of one type have one number. Tensors with shapes, references, tuples and lists of
 * any depth are parsed; other types keep only their name. */
#include <string.h>

#include "base/error.h"
#include "ir/reader.h"

static const char *const ek__ir_dtype_name[EK_N_IR_DTYPES] = {
    "?",      "bool",   "int8",    "uint8",    "int16",   "uint16",  "int32",     "uint32",     "int64",
    "uint64", "float8", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int4",
};
const char *const *const ek_ir_dtype_name = ek__ir_dtype_name;

enum { MAX_TYPE_DEPTH = 16, MAX_TUPLE_PARTS = 1 << 16 };

typedef struct piece {
    const char *at, *end;
} piece;

static bool is_empty(piece p)
{
    return p.at >= p.end;
}

static piece trimmed(const char *at, const char *end)
{
    at = ek__ir_skip_space(at, end);
    return (piece){at, ek__ir_trim(at, end)};
}

/* The next item of a list up to a comma; *rest is set after it. Unbalanced bytes are one item. */
static piece next_item(piece *rest)
{
    ek__ir_fault fault;
    const char *end = ek__ir_item_end(rest->at, rest->end, EK__IR_ITEM_TYPE, &fault);
    if (!end || (end < rest->end && *end != ','))
        end = rest->end;
    piece item = trimmed(rest->at, end);
    rest->at = end < rest->end ? end + 1 : end;
    return item;
}

/* The text in the brackets that open at `at`; *behind is the text after them. Empty when they do not close. */
static piece inside(const char *at, const char *end, const char **behind)
{
    ek__ir_fault fault;
    const char *close = ek__ir_item_end(at + 1, end, EK__IR_ITEM_WHOLE, &fault);
    if (!close || close == end) {
        *behind = end;
        return (piece){end, end};
    }
    *behind = close + 1;
    return trimmed(at + 1, close);
}

/* ---- number formats ---- */

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Letters and bits of "Float32", "F32", "float32". */
static ek_ir_dtype dtype_of(piece name)
{
    static const struct {
        const char *letters;
        int bits;
        ek_ir_dtype dtype;
    } formats[] = {
        {"bool", 0, EK_IR_BOOL},
        {"b", 0, EK_IR_BOOL},
        {"int", 8, EK_IR_INT8},
        {"uint", 8, EK_IR_UINT8},
        {"int", 16, EK_IR_INT16},
        {"uint", 16, EK_IR_UINT16},
        {"int", 32, EK_IR_INT32},
        {"uint", 32, EK_IR_UINT32},
        {"int", 64, EK_IR_INT64},
        {"uint", 64, EK_IR_UINT64},
        {"float", 8, EK_IR_FLOAT8},
        {"hifloat", 8, EK_IR_FLOAT8},
        {"float", 16, EK_IR_FLOAT16},
        {"bfloat", 16, EK_IR_BFLOAT16},
        {"float", 32, EK_IR_FLOAT32},
        {"float", 64, EK_IR_FLOAT64},
        {"complex", 64, EK_IR_COMPLEX64},
        {"complex", 128, EK_IR_COMPLEX128},
        {"int", 4, EK_IR_INT4},
        {"i", 8, EK_IR_INT8},
        {"u", 8, EK_IR_UINT8},
        {"i", 16, EK_IR_INT16},
        {"u", 16, EK_IR_UINT16},
        {"i", 32, EK_IR_INT32},
        {"u", 32, EK_IR_UINT32},
        {"i", 64, EK_IR_INT64},
        {"u", 64, EK_IR_UINT64},
        {"f", 8, EK_IR_FLOAT8},
        {"f", 16, EK_IR_FLOAT16},
        {"bf", 16, EK_IR_BFLOAT16},
        {"f", 32, EK_IR_FLOAT32},
        {"f", 64, EK_IR_FLOAT64},
        {"c", 64, EK_IR_COMPLEX64},
        {"c", 128, EK_IR_COMPLEX128},
        {"i", 4, EK_IR_INT4},
    };
    char letters[16];
    size_t n = 0;
    int bits = 0;
    const char *p = name.at;
    while (p < name.end && n + 1 < sizeof letters && !ek__ir_is_digit(*p))
        letters[n++] = lower(*p++);
    letters[n] = '\0';
    while (p < name.end && ek__ir_is_digit(*p) && bits < 1000)
        bits = 10 * bits + (*p++ - '0');
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (bits == formats[i].bits && strcmp(letters, formats[i].letters) == 0)
            return formats[i].dtype;
    return EK_IR_DTYPE_UNKNOWN;
}

/* Bits of an element; 0 if unknown. */
static int bits_of(ek_ir_dtype dtype)
{
    static const int bits[EK_N_IR_DTYPES] = {0, 8, 8, 8, 16, 16, 32, 32, 64, 64, 8, 16, 16, 32, 64, 64, 128, 4};
    return bits[dtype];
}

/* ---- content ---- */

/* Dimensions and parts of the current type are appended to the scratch bytes after its fields. */
static bool add(ek__ir_reader *r, const void *bytes, size_t n)
{
    char *room = ek__ir_room(r, EK__IR_CANON, r->scratch, r->n_scratch + n, 1);
    if (!room)
        return false;
    r->scratch = room;
    memcpy(room + r->n_scratch, bytes, n);
    r->n_scratch += n;
    return true;
}

static bool copy_dims(ek__ir_reader *r, const char *from, uint32_t n)
{
    ek_ir *ir = r->ir;
    for (uint32_t i = 0; i < n; i++) {
        int64_t *dim = ek__ir_room(r, EK__IR_DIMS, ir->dim, ir->n_dims, sizeof *dim);
        if (!dim)
            return false;
        ir->dim = dim;
        memcpy(&dim[ir->n_dims++], from + i * sizeof *dim, sizeof *dim);
    }
    return true;
}

static bool copy_parts(ek__ir_reader *r, const char *from, uint32_t n)
{
    ek_ir *ir = r->ir;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *part = ek__ir_room(r, EK__IR_PARTS, ir->part, ir->n_parts, sizeof *part);
        if (!part)
            return false;
        ir->part = part;
        memcpy(&part[ir->n_parts++], from + i * sizeof *part, sizeof *part);
    }
    return true;
}

/* The number of a type with its dimensions or parts in the scratch bytes from `from` on, which are released. */
static uint32_t number_of(ek__ir_reader *r, ek_ir_type type, size_t from)
{
    ek_ir *ir = r->ir;
    const int64_t fields[] = {type.dtype,   type.tensor, type.reference, type.rank,
                              type.n_parts, type.bytes,  type.ref_key,   type.name};
    if (!add(r, fields, sizeof fields))
        return EK_IR_NONE;
    uint32_t known = r->canon.n;
    uint32_t number = ek__texts_intern(&r->canon, r->scratch + from, r->n_scratch - from);
    r->n_scratch = from;
    if (number == UINT32_MAX) {
        r->status = EK_ERR_MEMORY;
        return EK_IR_NONE;
    }
    if (r->canon.n == known)
        return number;
    type.first_dim = ir->n_dims;
    type.first_part = ir->n_parts;
    ek_ir_type *array = ek__ir_room(r, EK__IR_TYPES, ir->type, ir->n_types, sizeof *array);
    if (!array)
        return EK_IR_NONE;
    ir->type = array;
    if (!copy_dims(r, r->scratch + from, type.rank) ||
        !copy_parts(r, r->scratch + from + type.rank * sizeof(int64_t), type.n_parts))
        return EK_IR_NONE;
    array[ir->n_types++] = type;
    return number;
}

/* ---- tensors ---- */

/* "(2, 3)", "[2, 3]", "x[const vector][2, 3]" as dimensions in the scratch bytes. False if it is not a list of them. */
static bool dims_of(ek__ir_reader *r, piece shape, ek_ir_type *type)
{
    static const char vector[] = "[const vector]";
    if (!is_empty(shape) && *shape.at == 'x')
        shape.at++;
    if (ek__ir_begins(shape.at, shape.end, vector))
        shape.at += sizeof vector - 1;
    if (is_empty(shape) || (*shape.at != '(' && *shape.at != '['))
        return false;
    const char *behind;
    piece list = inside(shape.at, shape.end, &behind);
    if (behind == shape.end && behind[-1] != ')' && behind[-1] != ']')
        return false;
    while (!is_empty(list)) {
        piece item = next_item(&list);
        int64_t dim;
        if (is_empty(item))
            continue;
        if (!ek__ir_number(item.at, item.end, &dim) || dim < 0)
            dim = -1;
        if (!add(r, &dim, sizeof dim))
            return false;
        type->rank++;
    }
    return true;
}

static int64_t tensor_bytes(ek_ir_dtype dtype, const char *dims, uint32_t rank)
{
    int64_t n = bits_of(dtype), dim;
    if (n == 0)
        return -1;
    for (uint32_t i = 0; i < rank; i++) {
        memcpy(&dim, dims + i * sizeof dim, sizeof dim);
        if (dim < 0 || __builtin_mul_overflow(n, dim, &n))
            return -1;
    }
    return n / 8 + (n % 8 != 0);
}

static uint32_t tensor(ek__ir_reader *r, piece dtype, piece shape, bool reference, uint32_t ref_key)
{
    size_t from = r->n_scratch;
    ek_ir_type type = {.tensor = true,
                       .reference = reference,
                       .dtype = dtype_of(dtype),
                       .ref_key = ref_key,
                       .name = EK_IR_NONE,
                       .bytes = -1};
    if (dims_of(r, shape, &type))
        type.bytes = tensor_bytes(type.dtype, type.rank > 0 ? r->scratch + from : NULL, type.rank);
    else {
        r->n_scratch = from;
        type.rank = 0;
    }
    return number_of(r, type, from);
}

/* ---- any type ---- */

static uint32_t type_of(ek__ir_reader *r, piece what, piece shape, uint32_t ref_key, int depth);

/* "X*3" is three X: returns the X and sets *n. */
static piece repeated(piece item, int64_t *n)
{
    const char *star = item.end;
    *n = 1;
    while (star > item.at && ek__ir_is_digit(star[-1]))
        star--;
    if (star > item.at && star < item.end && star[-1] == '*') {
        if (!ek__ir_number(star, item.end, n) || *n < 0 || *n > MAX_TUPLE_PARTS)
            *n = MAX_TUPLE_PARTS + 1;
        return trimmed(item.at, star - 1);
    }
    return item;
}

static bool add_part(ek__ir_reader *r, ek_ir_type *tuple, uint32_t part)
{
    int64_t bytes = part == EK_IR_NONE ? 0 : r->ir->type[part].bytes;
    if (tuple->n_parts == MAX_TUPLE_PARTS || !add(r, &part, sizeof part))
        return false;
    tuple->n_parts++;
    if (tuple->bytes < 0 || bytes < 0 || __builtin_add_overflow(tuple->bytes, bytes, &tuple->bytes))
        tuple->bytes = -1;
    return true;
}

/* The list inside "TupleShape(...)" or "(...)"; empty without one. */
static piece shapes_of(piece shape)
{
    const char *open = is_empty(shape) ? NULL : memchr(shape.at, '(', (size_t)(shape.end - shape.at)), *behind;
    return open ? inside(open, shape.end, &behind) : (piece){shape.end, shape.end};
}

static uint32_t tuple(ek__ir_reader *r, piece items, piece shape, int depth)
{
    size_t from = r->n_scratch;
    ek_ir_type type = {.ref_key = EK_IR_NONE, .name = EK_IR_NONE};
    piece shapes = shapes_of(shape);
    while (!is_empty(items)) {
        int64_t n;
        piece item = repeated(next_item(&items), &n);
        if (is_empty(item))
            continue;
        for (int64_t i = 0; i < n; i++) {
            piece one = is_empty(shapes) ? shapes : next_item(&shapes);
            if (!add_part(r, &type, type_of(r, item, one, EK_IR_NONE, depth + 1))) {
                r->n_scratch = from;
                r->ir->n_unknown++;
                return EK_IR_NONE;
            }
        }
    }
    return number_of(r, type, from);
}

static uint32_t other(ek__ir_reader *r, piece what)
{
    ek_ir_type type = {.ref_key = EK_IR_NONE, .name = ek__ir_intern(r, what.at, what.end)};
    /* The bytes of tensors in other forms (sparse, tables) are unknown. */
    for (const char *p = what.at; p + 6 <= what.end; p++)
        if (memcmp(p, "Tensor", 6) == 0)
            type.bytes = -1;
    return number_of(r, type, r->n_scratch);
}

/* `what` is "Tensor[Float32]", "Ref[...]", "Tuple[...]", "Int64", ...; its shape follows it or is in `shape`. */
static uint32_t type_of(ek__ir_reader *r, piece what, piece shape, uint32_t ref_key, int depth)
{
    bool reference = false;
    const char *behind;
    while (depth < MAX_TYPE_DEPTH && ek__ir_begins(what.at, what.end, "Ref[")) {
        piece held = inside(what.at + 3, what.end, &behind), own = trimmed(behind, what.end);
        reference = true;
        shape = is_empty(own) ? shape : own;
        what = held;
        depth++;
    }
    if (depth >= MAX_TYPE_DEPTH)
        return other(r, what);
    if (ek__ir_begins(what.at, what.end, "Tensor[") || ek__ir_begins(what.at, what.end, "Tensor(")) {
        piece dtype = inside(what.at + 6, what.end, &behind), own = trimmed(behind, what.end);
        return tensor(r, dtype, is_empty(own) ? shape : own, reference, ref_key);
    }
    if (ek__ir_begins(what.at, what.end, "Tuple[") || ek__ir_begins(what.at, what.end, "List["))
        return tuple(r, inside(memchr(what.at, '[', (size_t)(what.end - what.at)), what.end, &behind), shape, depth);
    return other(r, what);
}

static uint32_t parse(ek__ir_reader *r, piece text)
{
    uint32_t ref_key = EK_IR_NONE;
    if (!is_empty(text) && *text.at == '<') {
        text.at++;
        if (!is_empty(text) && text.end[-1] == '>')
            text.end--;
    }
    piece what = next_item(&text), shape = {text.end, text.end};
    if (is_empty(what) || ek__ir_is(what.at, what.end, "null") || ek__ir_is(what.at, what.end, "Undefined"))
        return EK_IR_NONE;
    while (!is_empty(text)) {
        piece item = next_item(&text);
        if (ek__ir_begins(item.at, item.end, "ref_key=")) {
            item.at += sizeof "ref_key=" - 1;
            item.at += item.at < item.end && *item.at == ':';
            ref_key = ek__ir_intern(r, item.at, item.end);
        } else if (is_empty(shape) && !ek__ir_begins(item.at, item.end, "value="))
            shape = item;
    }
    return type_of(r, what, shape, ref_key, 0);
}

uint32_t ek__ir_type_read(ek__ir_reader *r, const char *at, const char *end)
{
    piece text = trimmed(at, end);
    uint32_t known = r->raw_types.n;
    uint32_t number = ek__texts_intern(&r->raw_types, text.at, (size_t)(text.end - text.at));
    if (number == UINT32_MAX) {
        r->status = EK_ERR_MEMORY;
        return EK_IR_NONE;
    }
    if (number >= known) {
        uint32_t *types = ek__ir_room(r, EK__IR_RAW_TYPES, r->raw_type, number, sizeof *types);
        if (!types)
            return EK_IR_NONE;
        r->raw_type = types;
        r->n_scratch = 0;
        types[number] = parse(r, text);
    }
    return r->raw_type[number];
}

static void add_to_list(ek__ir_reader *r, uint32_t type)
{
    uint32_t *list = ek__ir_room(r, EK__IR_LIST, r->list, r->n_list, sizeof *list);
    if (!list)
        return;
    r->list = list;
    list[r->n_list++] = type;
}

const char *ek__ir_types_read(ek__ir_reader *r, const char *at, const char *end)
{
    const char *p = at + 1;
    for (;;) {
        ek__ir_fault fault = {0};
        p = ek__ir_skip_space(p, end);
        if (p < end && *p == ')')
            return p + 1;
        const char *stop = ek__ir_item_end(p, end, EK__IR_ITEM_TYPE, &fault);
        if (!stop && fault.at < end && *fault.at == ')' && *fault.opened == '<') {
            ek__ir_damage(r, fault.at, "'<' is not closed before ')'; read as if it were");
            stop = fault.at;
        }
        if (!stop || stop == end || (*stop != ',' && *stop != ')')) {
            if (stop)
                fault = (ek__ir_fault){stop, at};
            ek__ir_unmatched(r, &fault, "types after it are left out");
            return NULL;
        }
        add_to_list(r, ek__ir_type_read(r, p, stop));
        p = stop + (*stop == ',');
    }
}
