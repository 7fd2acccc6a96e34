/* Finds groups of small operators for which MindSpore has one fused operator. Patterns are terms, matched against the
 * edges upwards from the group's last operator, with the operands of sums and products in either order; Cast and Depend
 * between are looked through. A term that binds a value comes before the terms that use it again, since matching does
 * not backtrack. Larger patterns come first and claim their operators, so that the SiLU inside a SwiGLU is not a
 * separate finding. Not checked: whether the fused operator supports the shapes. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

typedef struct pattern {
    const char *what, *term, *fused, *advice;
} pattern;

/* Terms: NAME|NAME(operand, ...), _ any value, ?x the same value at every occurrence, #(operand) any one operand, and >
 * before an operand lets cheap operators (light_names) come between, ! excludes it from the group. A new pattern is one
 * line here and its case in tests/unit/test_ir_check.c. */
static const pattern patterns[] = {
    {"attention with its scores", "BatchMatMul(>Softmax(>BatchMatMul(_,_)),_)", "FlashAttentionScore",
     "set use_flash_attention: True in the model's configuration; the scores, which grow with the square of the "
     "sequence, are then neither written nor saved"},
    {"LayerNorm", "Div|RealDiv(Sub(?x,ReduceMean(?x)),Sqrt(Add(ReduceMean(Square(Sub(?x,ReduceMean(?x)))),_)))",
     "LayerNorm", "use mindspore.ops.LayerNorm (nn.LayerNorm)"},
    {"RMSNorm", "Mul(Mul(?x,Rsqrt(Add(ReduceMean(Square(?x)),_))),_)", "RmsNorm",
     "use mindspore.ops.rms_norm, which saves one number per row instead of the intermediate tensors"},
    {"RMSNorm", "Mul(Mul(?x,Rsqrt(Add(ReduceMean(Mul(?x,?x)),_))),_)", "RmsNorm",
     "use mindspore.ops.rms_norm, which saves one number per row instead of the intermediate tensors"},
    {"RMSNorm", "Mul(Div|RealDiv(?x,Sqrt(Add(ReduceMean(Square(?x)|Pow(?x,_)|Mul(?x,?x)),_))),_)", "RmsNorm",
     "use mindspore.ops.rms_norm, which saves one number per row instead of the intermediate tensors"},
    {"rotary embedding", "Add(Mul(>Concat(#(>Neg(>StridedSlice|Slice|Split(?x)))),_),Mul(?x,_))", "ApplyRotaryPosEmb",
     "use the fused ApplyRotaryPosEmb (use_fused_rope: True where the model has it)"},
    {"SwiGLU", "Mul(Mul(?a,Sigmoid(?a)),>!MatMul|BatchMatMul(_,_))", "Swiglu",
     "use mindspore.ops.swiglu; its input has gate and up in one tensor, as with qkv_concat: True"},
    {"SwiGLU", "Mul(>SiLU(>!MatMul|BatchMatMul(_,_)),>!MatMul|BatchMatMul(_,_))", "Swiglu",
     "use mindspore.ops.swiglu; its input has gate and up in one tensor, as with qkv_concat: True"},
    {"SiLU", "Mul(?x,Sigmoid(?x))", "SiLU", "use mindspore.ops.silu"},
    {"GeLU", "Mul(Add(Erf(_),_),_)", "GeLU", "use mindspore.ops.gelu"},
    {"GeLU", "Mul(Add(Tanh(Mul(Add(_,_),_)),_),_)", "GeLU", "use mindspore.ops.gelu with approximate='tanh'"},
    {"softmax", "Div|RealDiv(Exp(?x),ReduceSum(Exp(?x)))", "Softmax", "use mindspore.ops.softmax"},
};
enum {
    N_PATTERNS = sizeof patterns / sizeof *patterns,
    MAX_TERMS = 24,
    MAX_OPERANDS = 2,
    MAX_NAMES = 60,
    MAX_LIGHT = 4
};

static const char *const light_names[] = {"Reshape", "Transpose", "Mul",     "RealDiv", "Div",          "Add",
                                          "Sub",     "Dropout",   "Maximum", "Minimum", "TupleGetItem", "MakeTuple"};

typedef enum term_kind { ANY, VARIABLE, OPERATOR, SOME_OPERAND } term_kind;

typedef struct term {
    term_kind kind;
    bool outside; /* not part of the group */
    bool light;   /* cheap operators may come before it */
    char variable;
    uint64_t names; /* bits of names */
    bool commutes;
    int n; /* operands; each alternative is a separate term */
    int operand[MAX_OPERANDS];
    int next; /* an alternative term; -1 */
} term;

typedef struct compiled {
    int n, root;
    term term[MAX_TERMS];
} compiled;

typedef struct matcher {
    ek__ir_context *c;
    int n_names;
    const char *name[MAX_NAMES];
    uint64_t light;
    uint8_t *name_of; /* [n_texts] bit + 1; 0 */
    bool *claimed;    /* [n_nodes] */
    const compiled *pattern;
    uint64_t bound[26];
    int n_path;
    uint32_t path[MAX_TERMS];
} matcher;

/* ---- reading a term ---- */

static uint64_t bit_of(matcher *m, const char *name, size_t n)
{
    for (int i = 0; i < m->n_names; i++)
        if (strlen(m->name[i]) == n && strncmp(m->name[i], name, n) == 0)
            return (uint64_t)1 << i;
    char *copy = m->n_names < MAX_NAMES ? ek__pool_text(m->c->scratch, name, n) : NULL;
    if (!copy) {
        m->c->out_of_memory = true;
        return 0;
    }
    m->name[m->n_names] = copy;
    return (uint64_t)1 << m->n_names++;
}

static int read_term(matcher *m, const char **at, compiled *out);

/* "NAME|NAME(...)" or "NAME(...)|NAME(...)" */
static int read_operator(matcher *m, const char **at, compiled *out, bool light, bool outside)
{
    int index = out->n++;
    term t = {.kind = OPERATOR, .light = light, .outside = outside, .next = -1};
    for (;;) {
        size_t n = strcspn(*at, "|(");
        t.names |= bit_of(m, *at, n);
        t.commutes |= (n == 3 && (strncmp(*at, "Mul", 3) == 0 || strncmp(*at, "Add", 3) == 0));
        *at += n + 1;
        if ((*at)[-1] == '(')
            break;
    }
    while (**at != ')') {
        t.operand[t.n++] = read_term(m, at, out);
        *at += **at == ',';
    }
    ++*at;
    if (**at == '|') {
        ++*at;
        t.next = read_operator(m, at, out, light, outside);
    }
    out->term[index] = t;
    return index;
}

static int read_term(matcher *m, const char **at, compiled *out)
{
    bool light = **at == '>';
    *at += light;
    bool outside = **at == '!';
    *at += outside;
    if (**at != '_' && **at != '?' && **at != '#')
        return read_operator(m, at, out, light, outside);
    int index = out->n++;
    term t = {.kind = ANY, .light = light, .next = -1};
    if (**at == '?') {
        t.kind = VARIABLE;
        t.variable = *++*at;
    } else if (**at == '#') {
        t.kind = SOME_OPERAND;
        *at += 2;
        t.operand[t.n++] = read_term(m, at, out);
    }
    ++*at;
    out->term[index] = t;
    return index;
}

/* ---- matching ---- */

typedef struct state {
    uint64_t bound[26];
    int n_path;
} state;

static state save(const matcher *m)
{
    state s = {.n_path = m->n_path};
    memcpy(s.bound, m->bound, sizeof s.bound);
    return s;
}

static bool restore(matcher *m, const state *s)
{
    memcpy(m->bound, s->bound, sizeof m->bound);
    m->n_path = s->n_path;
    return false;
}

/* The operand, Cast and Depend looked through. */
static const ek_ir_input *look_through(const matcher *m, const ek_ir_input *input)
{
    for (int i = 0; i < 16 && input->kind == EK_IR_INPUT_NODE; i++) {
        uint8_t op = m->c->op[input->index];
        const ek_ir_input *next =
            op == EK__IR_OP_CAST || op == EK__IR_OP_DEPEND ? ek__ir_operand(m->c, input->index, 0) : NULL;
        if (!next)
            return input;
        input = next;
    }
    return input;
}

static uint64_t names_of(const matcher *m, uint32_t node)
{
    uint32_t text = m->c->ir->node[node].primitive;
    uint8_t name = text == EK_IR_NONE ? 0 : m->name_of[text];
    return name ? (uint64_t)1 << (name - 1) : 0;
}

static bool match_here(matcher *m, int index, const ek_ir_input *input);

static bool match_operand(matcher *m, int index, uint32_t node, uint32_t k)
{
    const ek_ir_input *input = ek__ir_operand(m->c, node, k);
    return input && match_here(m, index, look_through(m, input));
}

static bool match_operands(matcher *m, const term *t, uint32_t node)
{
    state before = save(m);
    if (t->n == 1 && m->pattern->term[t->operand[0]].kind == SOME_OPERAND) {
        int wanted = m->pattern->term[t->operand[0]].operand[0];
        /* a Concat's operands may come as one tuple */
        uint32_t tuple = ek__ir_maker(m->c, node, 0);
        if (tuple != EK_IR_NONE && m->c->op[tuple] == EK__IR_OP_MAKE_TUPLE)
            node = tuple;
        for (uint32_t k = 0; k < m->c->ir->node[node].n_inputs && k < 4; k++)
            if (match_operand(m, wanted, node, k) || restore(m, &before))
                return true;
        return false;
    }
    for (int order = 0; order < (t->commutes && t->n == 2 ? 2 : 1); order++) {
        bool all = true;
        for (int k = 0; k < t->n && all; k++)
            all = match_operand(m, t->operand[k], node, (uint32_t)(order ? 1 - k : k));
        if (all || restore(m, &before))
            return true;
    }
    return false;
}

static bool match_operator(matcher *m, const term *t, uint32_t node)
{
    state before = save(m);
    if ((t->names & names_of(m, node)) && m->n_path < MAX_TERMS) {
        m->path[m->n_path] = node;
        m->n_path += !t->outside;
        if (match_operands(m, t, node) || restore(m, &before))
            return true;
    }
    return false;
}

/* The term itself at this value, or, if cheap operators may come before it, at one of their operands. */
static bool match_deep(matcher *m, int index, const ek_ir_input *input, int light)
{
    const term *t = &m->pattern->term[index];
    if (t->kind == VARIABLE) {
        uint64_t value = ek__ir_mix(input->kind + 1, input->index), *bound = &m->bound[t->variable - 'a'];
        if (*bound == 0)
            *bound = value;
        if (*bound == value)
            return true;
    }
    if (input->kind != EK_IR_INPUT_NODE)
        return false;
    for (const term *a = t; t->kind == OPERATOR && a; a = a->next < 0 ? NULL : &m->pattern->term[a->next])
        if (match_operator(m, a, input->index))
            return true;
    if (!t->light || light == MAX_LIGHT || !(names_of(m, input->index) & m->light))
        return false;
    for (uint32_t k = 0; k < m->c->ir->node[input->index].n_inputs && k < 2; k++)
        if (match_deep(m, index, look_through(m, ek__ir_operand(m->c, input->index, k)), light + 1))
            return true;
    return false;
}

static bool match_here(matcher *m, int index, const ek_ir_input *input)
{
    return m->pattern->term[index].kind == ANY || match_deep(m, index, input, 0);
}

/* ---- findings ---- */

/* A node that occurs twice in a term is one operator. */
static void drop_repeated(matcher *m)
{
    int n = 0;
    for (int i = 0; i < m->n_path; i++) {
        bool again = false;
        for (int k = 0; k < n; k++)
            again |= m->path[k] == m->path[i];
        if (!again)
            m->path[n++] = m->path[i];
    }
    m->n_path = n;
}

/* The bytes that all operators except the last write and the group reads again. */
static int64_t bytes_between(const matcher *m)
{
    int64_t sum = 0;
    for (int i = 1; i < m->n_path; i++) {
        const ek_ir_type *type = ek__ir_type_of_node(m->c, m->path[i]);
        if (!type || type->bytes < 0 || type->bytes > INT64_MAX / (4 * MAX_TERMS))
            return -1;
        sum += 2 * type->bytes;
    }
    return sum;
}

static void sight(matcher *m, const pattern *p)
{
    uint32_t root = m->path[0];
    ek__ir_occurrence s = {
        .check = "unfused-pattern",
        .severity = EK_IR_NOTE,
        .key = ek__ir_mix(ek__ir_hash_text(p->what), ek__ir_hash_type(m->c->ir, m->c->ir->node[root].type)),
        .node = root,
        .bytes = bytes_between(m),
        .bytes_of = "read and written"};
    for (int i = m->n_path - 1; i >= 0; i--)
        if (s.n_chain < EK_IR_MAX_CHAIN - 1 || i == 0)
            s.chain[s.n_chain++] = m->path[i];
    ek_ir_finding *f = ek__ir_sight(m->c, &s);
    char bytes[32];
    if (!f)
        return;
    f->text = ek__ir_say(m->c,
                         "the operators that end in %s compute %s, for which there is the fused %s: at least %s read "
                         "and written between them",
                         ek__ir_name(m->c, root), p->what, p->fused, ek__ir_bytes_text(bytes, s.bytes));
    f->advice = p->advice;
}

static bool try_at(matcher *m, uint32_t node)
{
    m->n_path = 0;
    memset(m->bound, 0, sizeof m->bound);
    if (m->claimed[node] || !ek__ir_is_forward(m->c, node) || (m->c->ir->node[node].flags & EK_IR_DAMAGED))
        return false;
    for (const term *t = &m->pattern->term[m->pattern->root]; t; t = t->next < 0 ? NULL : &m->pattern->term[t->next])
        if (match_operator(m, t, node))
            return true;
    return false;
}

static bool prepare(matcher *m, compiled *all)
{
    m->name_of = ek__pool_alloc(m->c->scratch, m->c->ir->n_texts, 1);
    m->claimed = ek__pool_alloc(m->c->scratch, m->c->ir->n_nodes, sizeof *m->claimed);
    if (!m->name_of || !m->claimed)
        return false;
    for (int p = 0; p < N_PATTERNS; p++) {
        const char *at = patterns[p].term;
        all[p].n = 0;
        all[p].root = read_term(m, &at, &all[p]);
    }
    for (size_t i = 0; i < sizeof light_names / sizeof *light_names; i++)
        m->light |= bit_of(m, light_names[i], strlen(light_names[i]));
    for (int i = 0; i < m->n_names; i++) {
        uint32_t text = ek_ir_find_text(m->c->ir, m->name[i]);
        if (text != EK_IR_NONE)
            m->name_of[text] = (uint8_t)(i + 1);
    }
    return !m->c->out_of_memory;
}

ek_status ek__ir_check_unfused_pattern(ek__ir_context *context, ek_error *err)
{
    matcher m = {.c = context};
    compiled *all = ek__pool_alloc(context->scratch, N_PATTERNS, sizeof *all);
    if (!all || !prepare(&m, all))
        return ek__no_memory(err);
    for (int p = 0; p < N_PATTERNS; p++) {
        m.pattern = &all[p];
        for (uint32_t i = 0; i < context->ir->n_nodes; i++) {
            if (!names_of(&m, i) || !try_at(&m, i))
                continue;
            drop_repeated(&m);
            for (int k = 0; k < m.n_path; k++)
                m.claimed[m.path[k]] = true;
            sight(&m, &patterns[p]);
        }
    }
    return ek__ir_check_end(context, err);
}
