/* Reads the attributes "key: value" of a node in all of its groups. The meaning of each distinct key is found once and
 * stored by the key's number: a field of the node, a value to keep, or a key to count only. A key that is nearly a
 * known one (letters changed, underscores lost) is damage, and so is a value that is nearly a literal; these are
 * reported and omitted. Nothing is kept of a damaged group. */
#include <string.h>

#include "ir/reader.h"

typedef enum key_role {
    ROLE_UNSEEN,
    ROLE_COUNTED,
    ROLE_NEAR, /* nearly a known key */
    ROLE_KEPT,
    ROLE_GROUP, /* stored; names a communication group */
    ROLE_FLAG_RECOMPUTE,
    ROLE_FLAG_DUPLICATED,
    ROLE_FLAG_NEED_CSE,
    ROLE_FLAG_TARGET_GRAD,
    ROLE_FLAG_RECOMPUTE_COMM,
    ROLE_FLAG_NO_REDISTRIBUTION,
    ROLE_RECOMPUTE_GRAPH,
    ROLE_RECOMPUTE_ID,
    ROLE_MICRO,
    ROLE_UNIQUE_ID,
    ROLE_FORWARD_UNIQUE_ID,
    ROLE_IN_STRATEGY,
    ROLE_OUT_STRATEGY,
    ROLE_INSTANCE,
} key_role;

static const struct known_key {
    const char *name;
    key_role role;
} known_keys[] = {
    {"recompute", ROLE_FLAG_RECOMPUTE},
    {"duplicated", ROLE_FLAG_DUPLICATED},
    {"need_cse_after_recompute", ROLE_FLAG_NEED_CSE},
    {"target_grad", ROLE_FLAG_TARGET_GRAD},
    {"recompute_comm_op", ROLE_FLAG_RECOMPUTE_COMM},
    {"skip_redistribution", ROLE_FLAG_NO_REDISTRIBUTION},
    {"recompute_sub_graph", ROLE_RECOMPUTE_GRAPH},
    {"recompute_id", ROLE_RECOMPUTE_ID},
    {"micro", ROLE_MICRO},
    {"unique_id", ROLE_UNIQUE_ID},
    {"forward_unique_id", ROLE_FORWARD_UNIQUE_ID},
    {"in_strategy", ROLE_IN_STRATEGY},
    {"strategy", ROLE_IN_STRATEGY},
    {"out_strategy", ROLE_OUT_STRATEGY},
    {"instance name", ROLE_INSTANCE},
    {"group", ROLE_GROUP},
    {"group_ranks", ROLE_KEPT},
    {"rank_list", ROLE_KEPT},
    {"group_rank_ids", ROLE_KEPT},
    {"rank_size", ROLE_KEPT},
    {"fusion", ROLE_KEPT},
    {"index", ROLE_KEPT},
    {"op", ROLE_KEPT},
    {"comm_reuse", ROLE_KEPT},
    {"no_eliminate", ROLE_KEPT},
    {"origin_input_shapes", ROLE_KEPT},
    {"origin_output_shape", ROLE_KEPT},
    {"forward_node_name", ROLE_KEPT},
    {"forward_comm_node_unique_id", ROLE_KEPT},
    {"related_comm_node_id", ROLE_KEPT},
    {"related_node_id", ROLE_KEPT},
    {"related_fusion_key", ROLE_KEPT},
    {"pipeline_begin", ROLE_KEPT},
    {"pipeline_end", ROLE_KEPT},
    {"pipeline_param", ROLE_KEPT},
    {"forward_end", ROLE_KEPT},
    {"fine_grained_interleaved_index", ROLE_KEPT},
    {"stage", ROLE_KEPT},
    {"chunk", ROLE_KEPT},
    {"segment", ROLE_KEPT},
    {"sr_tag", ROLE_KEPT},
    {"dest_rank", ROLE_KEPT},
    {"dst_rank", ROLE_KEPT},
    {"src_rank", ROLE_KEPT},
    {"gather_dim", ROLE_KEPT},
    {"scatter_dim", ROLE_KEPT},
    {"concat_dim", ROLE_KEPT},
    {"split_dim", ROLE_KEPT},
    {"split_count", ROLE_KEPT},
    {"axis", ROLE_KEPT},
    {"output_num", ROLE_KEPT},
    {"transpose_a", ROLE_KEPT},
    {"transpose_b", ROLE_KEPT},
    {"transpose_x1", ROLE_KEPT},
    {"transpose_x2", ROLE_KEPT},
    /* counted only; listed so that damaged spellings are detected and their own is not mistaken for a damaged spelling
     * of another key */
    {"groups", ROLE_COUNTED},
    {"pad_mode", ROLE_COUNTED},
    {"input_names", ROLE_COUNTED},
    {"output_names", ROLE_COUNTED},
    {"IsFeatureMapInputList", ROLE_COUNTED},
    {"IsFeatureMapOutput", ROLE_COUNTED},
    {"is_dynamic_len", ROLE_COUNTED},
    {"checkpoint", ROLE_COUNTED},
    {"side_effect_propagate", ROLE_COUNTED},
    {"instance_name", ROLE_COUNTED},
};
enum { N_KNOWN_KEYS = sizeof known_keys / sizeof known_keys[0], MIN_NEAR_LENGTH = 6 };

/* ---- keys ---- */

static bool alike(char a, char b)
{
    return a == b || (a == ' ' && b == '_');
}

/* At most one letter changed, added or lost; any number of underscores replaced by blanks. */
static bool is_near(const char *key, size_t n, const char *known)
{
    size_t m = strlen(known), head = 0, tail = 0;
    if (m < MIN_NEAR_LENGTH || n > m + 1 || m > n + 1)
        return false;
    while (head < n && head < m && alike(key[head], known[head]))
        head++;
    while (tail < n - head && tail < m - head && alike(key[n - 1 - tail], known[m - 1 - tail]))
        tail++;
    size_t rest_n = n - head - tail, rest_m = m - head - tail;
    return rest_n <= 1 && rest_m <= 1;
}

static const struct known_key *nearest(const char *key, size_t n)
{
    for (int i = 0; i < N_KNOWN_KEYS; i++)
        if (is_near(key, n, known_keys[i].name))
            return &known_keys[i];
    return NULL;
}

static key_role find_role(const char *key, const char *end)
{
    for (int i = 0; i < N_KNOWN_KEYS; i++)
        if (ek__ir_is(key, end, known_keys[i].name))
            return known_keys[i].role;
    /* Numbered names (x1, x2; pad, pads) are often one letter apart: only a lost underscore, or a letter in the middle
     * of a long word, is certainly damage. */
    const struct known_key *near = nearest(key, (size_t)(end - key));
    if (!near)
        return ROLE_COUNTED;
    bool blanks = memchr(key, ' ', (size_t)(end - key)) != NULL;
    bool last_differs = (size_t)(end - key) != strlen(near->name) || end[-1] != near->name[strlen(near->name) - 1];
    return blanks || (!last_differs && strlen(near->name) >= 2 * MIN_NEAR_LENGTH) ? ROLE_NEAR : ROLE_COUNTED;
}

static key_role role_of(ek__ir_reader *r, const char *key, const char *end)
{
    uint32_t known = r->keys.n;
    uint32_t number = ek__texts_intern(&r->keys, key, (size_t)(end - key));
    if (number == UINT32_MAX) {
        r->status = EK_ERR_MEMORY;
        return ROLE_COUNTED;
    }
    if (number >= known) {
        uint8_t *roles = ek__ir_room(r, EK__IR_KEY_ROLES, r->key_role, number, sizeof *roles);
        if (!roles)
            return ROLE_COUNTED;
        r->key_role = roles;
        roles[number] = (uint8_t)find_role(key, end);
    }
    return (key_role)r->key_role[number];
}

/* ---- values ---- */

static bool is_wrapper(const char *at, const char *open)
{
    static const char *const wrappers[] = {"I64", "U64", "Bool", "F32", "I32",  "U32",     "F64",  "I8",
                                           "U8",  "I16", "U16",  "F16", "BF16", "Float32", "Int64"};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (ek__ir_is(at, open, wrappers[i]))
            return true;
    return false;
}

typedef struct value {
    const char *at, *end;
} value;

/* A number followed by an opening bracket is a wrapper that has lost its letters. */
static bool is_literal(value v)
{
    if (v.at == v.end || !ek__ir_is_digit(*v.at))
        return true;
    const char *open = memchr(v.at, '(', (size_t)(v.end - v.at));
    return !open || memchr(v.at, '"', (size_t)(open - v.at));
}

/* Without I64( ), Bool( ), quotes; true and false as 1 and 0. */
static value bare(value v)
{
    if (v.end - v.at >= 2 && *v.at == '"' && v.end[-1] == '"')
        return (value){v.at + 1, v.end - 1};
    if (v.end > v.at && v.end[-1] == ')' && *v.at != '(') {
        const char *open = memchr(v.at, '(', (size_t)(v.end - v.at));
        if (open && is_wrapper(v.at, open))
            return (value){open + 1, v.end - 1};
    }
    static const char words[] = "10";
    if (ek__ir_is(v.at, v.end, "true"))
        return (value){words, words + 1};
    if (ek__ir_is(v.at, v.end, "false"))
        return (value){words + 1, words + 2};
    return v;
}

static uint32_t strategy_of(ek__ir_reader *r, value v)
{
    return v.at == v.end || ek__ir_is(v.at, v.end, "None") ? EK_IR_NONE : ek__ir_intern(r, v.at, v.end);
}

static void keep(ek__ir_reader *r, const char *key, const char *key_end, value v)
{
    ek_ir *ir = r->ir;
    ek_ir_attribute *array = ek__ir_room(r, EK__IR_ATTRIBUTES, ir->attribute, ir->n_attributes, sizeof *array);
    if (!array)
        return;
    ir->attribute = array;
    array[ir->n_attributes++] = (ek_ir_attribute){ek__ir_intern(r, key, key_end), ek__ir_intern(r, v.at, v.end)};
    r->node.n_attributes++;
}

static void set_flag(ek__ir_reader *r, value v, uint32_t flag)
{
    if (ek__ir_is(v.at, v.end, "1"))
        r->node.flags |= flag;
}

/* A number within [0, limit], or the attribute is damaged. */
static int64_t number_of(ek__ir_reader *r, const char *key, const char *key_end, value v, int64_t limit)
{
    int64_t number;
    if (ek__ir_number(v.at, v.end, &number) && number >= 0 && number <= limit)
        return number;
    ek__ir_damage(r, v.at, "'%.*s' of '%.*s' is not a number; it is left out",
                  (int)(v.end - v.at > 60 ? 60 : v.end - v.at), v.at, (int)(key_end - key), key);
    return -1;
}

static bool is_known_group(ek__ir_reader *r, value v)
{
    static const char *const worlds[] = {"hccl_world_group", "nccl_world_group", "mccl_world_group"};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        if (ek__ir_is(v.at, v.end, worlds[i]))
            return true;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        if (v.end - v.at == (ptrdiff_t)strlen(worlds[i]) &&
            memcmp(v.at + 4, worlds[i] + 4, strlen(worlds[i]) - 4) == 0) {
            ek__ir_damage(r, v.at, "'%.*s' is no group of a known library, perhaps '%s'; it is left out",
                          (int)(v.end - v.at), v.at, worlds[i]);
            return false;
        }
    return true;
}

static void add(ek__ir_reader *r, const char *key, const char *key_end, value raw)
{
    ek_ir_node *n = &r->node;
    key_role role = role_of(r, key, key_end);
    if (role == ROLE_NEAR) {
        ek__ir_damage(r, key, "'%.*s' is no known key, perhaps '%s'; it is left out", (int)(key_end - key), key,
                      nearest(key, (size_t)(key_end - key))->name);
        return;
    }
    if (!is_literal(raw)) {
        ek__ir_damage(r, raw.at, "'%.*s' of '%.*s' is not a literal such as I64(0); it is left out",
                      (int)(raw.end - raw.at > 60 ? 60 : raw.end - raw.at), raw.at, (int)(key_end - key), key);
        return;
    }
    if (role == ROLE_COUNTED) {
        r->ir->n_left_out++;
        return;
    }
    value v = bare(raw);
    switch (role) {
    case ROLE_KEPT:
        keep(r, key, key_end, v);
        break;
    case ROLE_GROUP:
        if (is_known_group(r, v))
            keep(r, key, key_end, v);
        break;
    case ROLE_FLAG_RECOMPUTE:
        set_flag(r, v, EK_IR_RECOMPUTE);
        break;
    case ROLE_FLAG_DUPLICATED:
        set_flag(r, v, EK_IR_DUPLICATED);
        break;
    case ROLE_FLAG_NEED_CSE:
        set_flag(r, v, EK_IR_NEED_CSE);
        break;
    case ROLE_FLAG_TARGET_GRAD:
        set_flag(r, v, EK_IR_TARGET_GRAD);
        break;
    case ROLE_FLAG_RECOMPUTE_COMM:
        set_flag(r, v, EK_IR_RECOMPUTE_COMM);
        break;
    case ROLE_FLAG_NO_REDISTRIBUTION:
        set_flag(r, v, EK_IR_NO_REDISTRIBUTION);
        break;
    case ROLE_RECOMPUTE_GRAPH:
        n->recompute_graph = (int32_t)number_of(r, key, key_end, v, INT32_MAX);
        break;
    case ROLE_RECOMPUTE_ID:
        n->recompute_id = (int32_t)number_of(r, key, key_end, v, INT32_MAX);
        break;
    case ROLE_MICRO:
        n->micro = (int32_t)number_of(r, key, key_end, v, INT32_MAX);
        break;
    case ROLE_UNIQUE_ID:
        n->unique_id = number_of(r, key, key_end, v, INT64_MAX);
        break;
    case ROLE_FORWARD_UNIQUE_ID:
        n->forward_unique_id = number_of(r, key, key_end, v, INT64_MAX);
        break;
    case ROLE_IN_STRATEGY:
        n->in_strategy = strategy_of(r, v);
        break;
    case ROLE_OUT_STRATEGY:
        n->out_strategy = strategy_of(r, v);
        break;
    case ROLE_INSTANCE:
        n->instance = ek__ir_intern(r, v.at, v.end);
        break;
    default:
        break;
    }
}

/* ---- groups ---- */

static bool ends_key(char c)
{
    switch (c) {
    case ':':
    case '=':
    case ',':
    case '{':
    case '}':
    case '(':
    case ')':
    case '[':
    case ']':
    case '"':
    case '\n':
        return true;
    default:
        return false;
    }
}

/* One pair, or a word without value; NULL when damaged. */
static const char *pair(ek__ir_reader *r, const char *at, char separator, char closer)
{
    const char *p = at;
    while (p < r->end && !ends_key(*p))
        p++;
    const char *key_end = ek__ir_trim(at, p);
    if (p < r->end && (*p == ',' || *p == closer)) {
        r->ir->n_left_out++;
        return p;
    }
    if (p == r->end || *p != separator) {
        ek__ir_damage(r, p, "a key must be followed by '%c'; this group is left out", separator);
        return NULL;
    }
    const char *begin = ek__ir_skip_space(p + 1, r->end);
    ek__ir_fault fault;
    const char *end = ek__ir_item_end(begin, r->end, EK__IR_ITEM_VALUE, &fault);
    if (!end) {
        ek__ir_unmatched(r, &fault, "this group is left out");
        return NULL;
    }
    if (end < r->end && (*end == ',' || *end == closer))
        add(r, at, key_end, (value){begin, ek__ir_trim(begin, end)});
    return end;
}

const char *ek__ir_pairs_read(ek__ir_reader *r, const char *at, char separator, char closer)
{
    const ek_ir_node before = r->node;
    const uint32_t n_attributes = r->ir->n_attributes, n_left_out = r->ir->n_left_out;
    const char *p = at;
    for (;;) {
        p = ek__ir_skip_space(p, r->end);
        if (p < r->end && *p == closer)
            return p + 1;
        if (p < r->end)
            p = pair(r, p, separator, closer);
        if (!p)
            break;
        if (p == r->end || (*p != ',' && *p != closer)) {
            ek__ir_unmatched(r, &(ek__ir_fault){p, at - 1}, "this group is left out");
            break;
        }
        p += *p == ',';
    }
    r->node = before;
    r->ir->n_attributes = n_attributes;
    r->ir->n_left_out = n_left_out;
    return NULL;
}
