/* Tests the reader of MindSpore's graphs: every element of the grammar in every release's spelling, the samples of the
 * documentation, generated graphs with a known truth, damage and mutations. Oracles: the same graph spelled by several
 * releases; a slow count of lines that begin a node; a node's own bytes read again; the generator. */
#include "input.h"
#include "ir_generator.h"
#include "skip.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "evenkeel/ir.h"

/* ---- allocations that fail ---- */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *room, size_t size);
void *__wrap_realloc(void *room, size_t size);

static int left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    bool now = left == 0;
    left -= left >= 0;
    return now;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *room, size_t size)
{
    return fails() ? NULL : __real_realloc(room, size);
}

/* ---- a graph as text ---- */

typedef struct sheet {
    char *text;
    size_t n, size;
} sheet;

static void put(sheet *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(sheet *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(s->text + s->n, s->size - s->n, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && (size_t)n < s->size - s->n);
    s->n += (size_t)n;
}

static void put_type(sheet *s, const ek_ir *ir, uint32_t type)
{
    char text[256];
    if (type == EK_IR_NONE)
        return;
    ek_ir_type_text(ir, type, text, sizeof text);
    put(s, "%s%s", ir->type[type].reference ? ":ref " : ":", text);
}

static void put_input(sheet *s, const ek_ir *ir, const ek_ir_input *input)
{
    switch (input->kind) {
    case EK_IR_INPUT_NODE:
        put(s, "%%%d", (int)ir->node[input->index].number);
        break;
    case EK_IR_INPUT_PARAMETER:
        put(s, "%s", ek_ir_text(ir, ir->parameter[input->index].name));
        break;
    case EK_IR_INPUT_GRAPH:
        put(s, "@%s", input->index == EK_IR_NONE ? "?" : ek_ir_text(ir, ir->graph[input->index].name));
        break;
    case EK_IR_INPUT_LITERAL:
        put(s, "'%s'", ek_ir_text(ir, input->index));
        break;
    default:
        put(s, "outside %u", input->index);
    }
    put_type(s, ir, input->type);
}

static void put_flags(sheet *s, uint32_t flags)
{
    static const char *const names[] = {"recompute", "duplicated", "need_cse",       "target_grad",
                                        "backward",  "cell",       "recompute_comm", "no_redistribution",
                                        "return",    "call",       "damaged",        "stopped"};
    for (int i = 0; i < 12; i++)
        if (flags & (1u << i))
            put(s, " +%s", names[i]);
}

static void put_text(sheet *s, const char *label, const ek_ir *ir, uint32_t text)
{
    if (text != EK_IR_NONE)
        put(s, " %s%s", label, ek_ir_text(ir, text));
}

static void put_number(sheet *s, const char *label, int64_t number)
{
    if (number >= 0)
        put(s, " %s=%" PRId64, label, number);
}

static void put_node(sheet *s, const ek_ir *ir, const ek_ir_node *n)
{
    char scope[512];
    if (n->number != EK_IR_NONE)
        put(s, "%%%u ", n->number);
    put(s, "%s", ek_ir_text(ir, n->primitive));
    put(s, "(");
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        put(s, i > 0 ? ", " : "");
        put_input(s, ir, &ir->input[n->first_input + i]);
    }
    put(s, ")");
    put_type(s, ir, n->type);
    put_text(s, "name=", ir, n->name);
    put_text(s, "instance=", ir, n->instance);
    ek_ir_scope(ir, n, scope, sizeof scope);
    put(s, "%s%s", scope[0] ? " @" : "", scope);
    put_text(s, "#", ir, n->source);
    put_flags(s, n->flags);
    put_number(s, "sub_graph", n->recompute_graph);
    put_number(s, "id", n->recompute_id);
    put_number(s, "micro", n->micro);
    put_number(s, "unique", n->unique_id);
    put_number(s, "forward", n->forward_unique_id);
    put_text(s, "in=", ir, n->in_strategy);
    put_text(s, "out=", ir, n->out_strategy);
    for (uint32_t i = 0; i < n->n_attributes; i++)
        put(s, " %s=%s", ek_ir_text(ir, ir->attribute[n->first_attribute + i].key),
            ek_ir_text(ir, ir->attribute[n->first_attribute + i].value));
    put(s, "\n");
}

/* Every index within its array, nodes and offsets in order. */
static void check_bounds(const ek_ir *ir)
{
    int64_t end = 0;
    uint32_t n_nodes = 0, inputs = 0, attributes = 0;
    for (uint32_t g = 0; g < ir->n_graphs; g++) {
        assert_int_equal(ir->graph[g].first_node, n_nodes);
        n_nodes += ir->graph[g].n_nodes;
        assert_true(ir->graph[g].first_formal + ir->graph[g].n_formals <= ir->n_parameters);
        assert_true(ir->graph[g].parent == EK_IR_NONE || ir->graph[g].parent < ir->n_graphs);
    }
    assert_int_equal(n_nodes, ir->n_nodes);
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *n = &ir->node[i];
        assert_true(n->offset >= end && n->bytes > 0 && n->offset + n->bytes <= ir->bytes);
        end = n->offset + n->bytes;
        assert_true(n->graph < ir->n_graphs && n->line <= ir->n_lines);
        assert_int_equal(n->first_input, inputs);
        assert_int_equal(n->first_attribute, attributes);
        inputs += n->n_inputs;
        attributes += n->n_attributes;
        assert_true(n->type == EK_IR_NONE || n->type < ir->n_types);
    }
    assert_int_equal(inputs, ir->n_inputs);
    assert_int_equal(attributes, ir->n_attributes);
    for (uint32_t i = 0; i < ir->n_inputs; i++) {
        const ek_ir_input *input = &ir->input[i];
        const uint32_t n_of[] = {ir->n_nodes, ir->n_parameters, ir->n_graphs, ir->n_texts, UINT32_MAX};
        assert_true(input->kind <= EK_IR_INPUT_OUTSIDE);
        assert_true(input->index < n_of[input->kind] ||
                    (input->kind == EK_IR_INPUT_GRAPH && input->index == EK_IR_NONE));
        assert_true(input->type == EK_IR_NONE || input->type < ir->n_types);
    }
}

static ek_ir *parse(const char *text, size_t size, said *s)
{
    ek_ir *ir = NULL;
    ek_error err = {0};
    const ek_listener listener = {say_warning, s};
    ek_status status = ek_ir_parse("graph.ir", text, size, &listener, &ir, &err);
    if (status) {
        say(s, "error: ", &err);
        assert_null(ir);
        return NULL;
    }
    check_bounds(ir);
    return ir;
}

/* All nodes, one a line, in a static buffer. */
static const char *nodes_of(const ek_ir *ir)
{
    static char text[1 << 16];
    sheet s = {text, 0, sizeof text};
    text[0] = '\0';
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        put_node(&s, ir, &ir->node[i]);
    return text;
}

/* ---- elements of the grammar ---- */

static const struct {
    const char *what, *text, *nodes;
} elements[] = {
    {"a plain node", "%0(a) = Sub(%1, I64(3))\n", "%0 Sub(outside 1, 'I64(3)') name=a\n"},
    {"a node without a name", "%0 = AddN(%para2_p)\n", "%0 AddN(p)\n"},
    {"a name with brackets, dollar, parentheses", "%0([CNode]5$a(b)) = Neg(%1)\n",
     "%0 Neg(outside 1) name=[CNode]5$a(b)\n"},
    {"the prefix PrimFunc_ is no part of the primitive", "%0(a) = PrimFunc_Add(%1, %2)\n",
     "%0 Add(outside 1, outside 2) name=a\n"},
    {"an operand inside its graph", "%0(a) = A(%9)\n%1(b) = B(%0, %1)\n",
     "%0 A(outside 9) name=a\n%1 B(%0, %1) name=b\n"},
    {"a later node as operand", "%0(a) = A(%1)\n%1(b) = B(%0)\n", "%0 A(%1) name=a\n%1 B(%0) name=b\n"},
    {"numbers are those of the own graph",
     "subgraph @f() {\n%0(a) = A()\nReturn(%0)\n}\nsubgraph @g() {\n%0(b) = B()\nReturn(%0)\n}\n",
     "%0 A() name=a\nReturn(%0) +return\n%0 B() name=b\nReturn(%0) +return\n"},
    {"numbers that do not rise", "%5(a) = A(%2)\n%2(b) = B(%5)\n%3(c) = C(%2, %5, %4)\n",
     "%5 A(%2) name=a\n%2 B(%5) name=b\n%3 C(%2, %5, outside 4) name=c\n"},
    {"literals of all kinds",
     "%0(a) = A(I64(3), U64(0), Bool(1), F32(0.1), \"a, (b\", None, U, UMonad[U], (I64(1), (2, 3)), 0.1, true)\n",
     "%0 A('I64(3)', 'U64(0)', 'Bool(1)', 'F32(0.1)', '\"a, (b\"', 'None', 'U', 'UMonad[U]', '(I64(1), (2, 3))', "
     "'0.1', "
     "'true') name=a\n"},
    {"a tensor as literal", "%0(a) = A(Tensor(shape=[2], dtype=Float32, value=[1, 2]), %1)\n",
     "%0 A('Tensor(shape=[2], dtype=Float32, value=[1, 2])', outside 1) name=a\n"},
    {"a quote in a string", "%0(a) = A(\"x\\\", y\", %1)\n", "%0 A('\"x\\\", y\"', outside 1) name=a\n"},
    {"a call of a graph", "subgraph @f() {\nReturn(%1)\n}\n%2(c) = call @f(%0)\n",
     "Return(outside 1) +return\n%2 call(@f, outside 0) name=c +call\n"},
    {"a call of a graph that is not there", "%2(c) = call @f(%0)\n", "%2 call(@?, outside 0) name=c +call\n"},
    {"a call of a node", "%1(c) = %0(%para1_x)\n    : (<Tensor[Int8], (2)>) -> (<null>)\n",
     "%1 call(outside 0, x:int8 (2)) name=c +call\n"},
    {"a call of a choice of graphs", "%6(c) = %5[@FuncUnion(@a, @b)]()\n", "%6 call(outside 5) name=c +call\n"},
    {"a value of another graph",
     "subgraph @f(%para1_x) {\n%0(n) = A()\nReturn(%0)\n}\nsubgraph @g() {\n%3(b) = B($(@f:n), $(@f:para1_x), "
     "$(@f:gone))\n}\n",
     "%0 A() name=n\nReturn(%0) +return\n%3 B(%0, x, '$(@f:gone)') name=b\n"},
    {"an operator of another graph", "%3(b) = $(@f:n)(%1)\n", "%3 call('$(@f:n)', outside 1) name=b +call\n"},
    {"attributes in brackets, and prefixes of a failed evaluation",
     "%1 : Tensor(F32)[3, 8] = DoSignaturePrimitive::S-Prim-MatMul{prim_type=1}[n=[\"o\"], transpose_a=Bool(0)](%2)\n",
     "%1 MatMul(outside 2):float32 (3, 8) transpose_a=0\n"},
    {"a Return in two spellings", "Return(%1)\nPrimitive::Return{prim_type=1}(%2)\n",
     "Return(outside 1) +return\nReturn(outside 2) +return\n"},
    {"types by position, the last behind an arrow",
     "%0(a) = A(%1, %2)\n  : (<Tensor[Float16], (2, 3)>, <Int64, NoShape>) -> (<Tensor[Bool], ()>)\n",
     "%0 A(outside 1:float16 (2, 3), outside 2:Int64):bool () name=a\n"},
    {"types joined by arrows (1.7)",
     "%0(a) = A(%1, %2)\n : (<Tensor[Float32]x[const vector][2]>) -> (<Tensor[Int32]x()>) -> (<Tensor[Float64]x(3)>)\n",
     "%0 A(outside 1:float32 (2), outside 2:int32 ()):float64 (3) name=a\n"},
    {"types of the kernel are not those of the value",
     "%0(a) = A(%1)\n : (<Tensor[Int8], (2)>) -> (<Tensor[Int8], (2)>)\n : (<Int8xNC1HWC0[const vector][9]>) -> "
     "(<Int8xNC1HWC0[const vector][9]>)\n",
     "%0 A(outside 1:int8 (2)):int8 (2) name=a\n"},
    {"types without operands", "%0(a) = A()\n : () -> (<Tensor[Int8], (2)>)\n", "%0 A():int8 (2) name=a\n"},
    {"an operand without type has that of its node", "%0(a) = A()\n : () -> (<Tensor[Int8], (2)>)\n%1(b) = B(%0)\n",
     "%0 A():int8 (2) name=a\n%1 B(%0:int8 (2)) name=b\n"},
    {"types in a remark", "%1 = A(%2, %3)    #(Tensor(F32)[3], Ref[Tensor(F16)][4])    # f=g #scope: Default\n",
     "%1 A(outside 2:float32 (3), outside 3:ref float16 (4)) @Default\n"},
    {"groups on the same line",
     "%0(a) = A(%1) {instance name: mm} primitive_attrs: {axis: I64(1)} cnode_attrs: {recompute: Bool(1)} "
     "cnode_primal_attrs: {unique_id: \"7\", micro: I64(2)} {in_strategy: ((2, 1))}\n",
     "%0 A(outside 1) name=a instance=mm +recompute micro=2 unique=7 in=((2, 1)) axis=1\n"},
    {"groups without blanks between",
     "%0(a) = A(%1) {instance name: mm}cnode_attrs: {micro: I64(0)}cnode_primal_attrs:{"
     "unique_id: \"7\"}\n",
     "%0 A(outside 1) name=a instance=mm micro=0 unique=7\n"},
    {"a strategy on the next line, types behind it (2.0, 2.1)",
     "%0(a) = A(%1)\n {in_strategy: ((2, 1), (4))}      : (<Tensor[Int8], (2)>) -> (<Tensor[Int8], (2)>)\n",
     "%0 A(outside 1:int8 (2)):int8 (2) name=a in=((2, 1), (4))\n"},
    {"a strategy before 2.0", "%0(a) = A(%1) { strategy: ((2, 1)) }\n", "%0 A(outside 1) name=a in=((2, 1))\n"},
    {"a strategy that is none", "%0(a) = A() primitive_attrs: {out_strategy: None, in_strategy: ((1))}\n",
     "%0 A() name=a in=((1))\n"},
    {"groups over several lines",
     "%0(a) = A(%1) primitive_attrs: {names: [\nx, w],    axis: 3,\noutput: (1), op: sum}\n",
     "%0 A(outside 1) name=a axis=3 op=sum\n"},
    {"values before and after 2.4 are the same",
     "%0 = A() primitive_attrs: {transpose_a: true, fusion: 1, op: sum}\n"
     "%1 = A() primitive_attrs: {transpose_a: Bool(1), fusion: I64(1), op: \"sum\"}\n",
     "%0 A() transpose_a=1 fusion=1 op=sum\n%1 A() transpose_a=1 fusion=1 op=sum\n"},
    {"what is denied is not so", "%0 = A() cnode_attrs: {recompute: Bool(0), duplicated: false}\n", "%0 A()\n"},
    {"every mark of recomputation",
     "%0 = A() cnode_attrs: {recompute_sub_graph: U64(4), recompute_id: I64(5), duplicated: Bool(1), "
     "need_cse_after_recompute: Bool(1), recompute_comm_op: Bool(1), skip_redistribution: Bool(1)}\n",
     "%0 A() +duplicated +need_cse +recompute_comm +no_redistribution sub_graph=4 id=5\n"},
    {"a backward node by its forward node",
     "%0 = A() cnode_attrs: {target_grad: true} cnode_primal_attrs: {forward_node_name: B_12, forward_unique_id: "
     "\"12\"}\n",
     "%0 A() +target_grad +backward forward=12 forward_node_name=B_12\n"},
    {"a copy is no backward node", "%0 = A() cnode_attrs: {duplicated: true, forward_unique_id: \"12\"}\n",
     "%0 A() +duplicated forward=12\n"},
    {"an empty value, an empty group", "%0 = A() primitive_attrs: {compile_info: , op: sum} cnode_attrs: {}\n",
     "%0 A() op=sum\n"},
    {"nested brackets in values", "%0 = A() primitive_attrs: {x: {a: [1, (2)], \"}\": \"{\"}, op: sum}\n",
     "%0 A() op=sum\n"},
    {"a group of a release to come", "%0 = A() node_hints: {op: {x}, y: 1} cnode_attrs: {micro: I64(3)}\n",
     "%0 A() micro=3\n"},
    {"scope: 1.7", "%0 = A()\n : (Default/n-N/A-op1)\n", "%0 A() @Default/n-N/A-op1\n"},
    {"scope: 2.0", "%0 = A()\n # scope: (Default/A-op1)\n", "%0 A() @Default/A-op1\n"},
    {"scope: 2.2", "%0 = A()\n # Scope: (Default/A-op1)\n", "%0 A() @Default/A-op1\n"},
    {"scope: failed evaluation", "%0 = A()\n #scope: (Default/A-op1)\n", "%0 A() @Default/A-op1\n"},
    {"scope: newest", "%0 = A()\n # Fullname with scope: (Default/A-op1)\n", "%0 A() @Default/A-op1\n"},
    {"scope: on the next line", "%0 = A()\n # Fullname with scope:\n (Default/A-op1)\n", "%0 A() @Default/A-op1\n"},
    {"scope: after kernel selection", "%0 = A()\n : full_name_with_scope: (Default/A-op1)\n",
     "%0 A() @Default/A-op1\n"},
    {"scope: backward, recomputed cells",
     "%0 = A()\n# Scope: (Gradients/Default/A-op1)\n%1 = A()\n# Scope: (recompute_Default/A-op1)\n",
     "%0 A() @Gradients/Default/A-op1 +backward\n%1 A() @recompute_Default/A-op1 +cell\n"},
    {"source: up to 2.1", "%0 = A()\n # In file a b.py(33)/   x = y/\n", "%0 A() #a b.py:33\n"},
    {"source: from 2.0", "%0 = A()\n # In file /a/b.py:33/   x(1)/\n", "%0 A() #/a/b.py:33\n"},
    {"source: newest, innermost last",
     "%0 = A()\n # In file a.py:1~9, 4~16/ def f():/\n # In file b.py:20~21, 4~16/ g()/<~~This line\n",
     "%0 A() #b.py:20\n"},
    {"source: the own line before those of a forward node",
     "%0 = A()\n # In file a.py:1/ f/\n # Corresponding forward node candidate:\n # In file b.py:2/ g/\n",
     "%0 A() #a.py:1\n"},
    {"source: of a forward node when there is none other",
     "%0 = A()\n Corresponding forward node candidate:\n # In file b.py:2/ g/\n", "%0 A() #b.py:2\n"},
    {"marks where evaluation stopped", "#----------------> 0\n%0 = A()\n%1 = B()\n", "%0 A() +stopped\n%1 B()\n"},
    {"lines that stand for others", "...\n%0 = A()\n ...\n # Scope: (D)\n\xe2\x80\xa6\n", "%0 A() @D\n"},
    {"Windows line ends", "%0(a) = A(%1)\r\n  : (<Tensor[Int8], (2)>) -> (<Tensor[Int8], (2)>)\r\n  # Scope: (D/A)\r\n",
     "%0 A(outside 1:int8 (2)):int8 (2) name=a @D/A\n"},
    {"no line feed at the end", "%0(a) = A(%1)", "%0 A(outside 1) name=a\n"},
    {"formal parameters over lines",
     "subgraph @f(%para1_x : <Tensor[Int8], (2)>\n    , %para2_bias : <Tensor[Int8], (3)>\n) {\n%0 = A(%para1_x, "
     "%para2_bias)\n}\n",
     "%0 A(x:int8 (2), bias:int8 (3))\n"},
    {"formal parameters hide those of the entry",
     "%para1_x: <Tensor[Int8], (2)>\nsubgraph @f(%para1_x : <Tensor[Int8], (3)>) {\n%0 = A(%para1_x)\n}\nsubgraph @g() "
     "{\n%0 = A(%para1_x)\n}\n",
     "%0 A(x:int8 (3))\n%0 A(x:int8 (2))\n"},
};

static void every_element_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        said s = {0};
        ek_ir *ir = parse(elements[i].text, strlen(elements[i].text), &s);
        assert_non_null(ir);
        if (strcmp(nodes_of(ir), elements[i].nodes) != 0 || s.n_warnings > 0)
            fail_msg("%s:\n%s%s", elements[i].what, nodes_of(ir), s.text);
        ek_ir_free(ir);
    }
}

/* Counts at the beginning are recognised; another sentence is counted as unknown. */
static void counts_of_the_header_are_read(void **state)
{
    (void)state;
    static const char text[] = "Total params: 1\nTotal subgraphs: 1\nTotal number of cnodes: 2\n"
                               "Total number of nodes: 3\n%sPrimitives without a title\n"
                               "%%para1_x : <Tensor[Int8], (2)>\nsubgraph @f() {\n%%0 = A()\nReturn(%%0)\n}\n";
    for (int other = 0; other < 2; other++) {
        char whole[512];
        said s = {0};
        snprintf(whole, sizeof whole, text, other ? "" : "# "); /* a comment is no sentence */
        ek_ir *ir = parse(whole, strlen(whole), &s);
        assert_non_null(ir);
        assert_int_equal(ir->said_parameters, 1);
        assert_int_equal(ir->said_graphs, 1);
        assert_int_equal(ir->said_cnodes, 2);
        assert_int_equal(ir->said_nodes, 3);
        assert_int_equal(ir->n_unknown, other);
        ek_ir_free(ir);
    }
}

/* ---- types ---- */

static const struct {
    const char *written, *read;
    int64_t bytes;
} types[] = {
    {"<Tensor[Float32], (32, 13)>", "float32 (32, 13)", 1664},
    {"<Tensor[Float32]x[const vector][32, 13]>", "float32 (32, 13)", 1664},
    {"<Tensor[Float32]x()>", "float32 ()", 4},
    {"<Tensor[int32], (2, 3)>", "int32 (2, 3)", 24},
    {"<Tensor[BFloat16], (7)>", "bfloat16 (7)", 14},
    {"<Tensor[Int4], (3)>", "int4 (3)", 2},
    {"<Tensor[Float32], (), value=...>", "float32 ()", 4},
    {"<Tensor[Float32], (-1, 13)>", "float32 (?, 13)", -1},
    {"<Tensor[Float32]>", "float32 (?)", -1},
    {"<Tensor[Float99], (3)>", "? (3)", -1},
    {"<Tensor[Int8], (4294967296, 4294967296)>", "int8 (4294967296, 4294967296)", -1},
    {"Ref[Tensor(F32)][4]", "float32 (4)", 16},
    {"<Ref[Tensor(F32)], (16)>", "float32 (16)", 64},
    {"<Ref[Tensor(F32)], (16), ref_key=:w2>", "float32 (16)", 64},
    {"<Ref[Tensor[Float32]], (16), ref_key=w2>", "float32 (16)", 64},
    {"Tensor(F32)[3, 8]", "float32 (3, 8)", 96},
    {"<Tuple[Int64*4], TupleShape(NoShape, NoShape, NoShape, NoShape), elements_use_flags={[const vector]{1, 1, 1, "
     "1}}>",
     "[Int64, Int64, Int64, Int64]", 0},
    {"<Tuple[Tensor[Float16],Tensor[Float32]*2], TupleShape((2), (3), (4, 1))>",
     "[float16 (2), float32 (3), float32 (4, 1)]", 32},
    {"<Tuple[Tensor[Float16],Tensor[Float32]*2]>", "[float16 (?), float32 (?), float32 (?)]", -1},
    {"<Tuple[Tuple[Int64*2]*2,Tensor[Int8]], TupleShape(TupleShape(NoShape, NoShape), TupleShape(NoShape, NoShape), "
     "(5))>",
     "[[Int64, Int64], [Int64, Int64], int8 (5)]", 5},
    {"<Int64, NoShape>", "Int64", 0},
    {"<UMonad>", "UMonad", 0},
    {"<Func, NoShape>", "Func", 0},
    {"<COOTensor[Float32], (3)>", "COOTensor[Float32]", -1},
};

static void every_type_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[512], read[256];
        said s = {0};
        snprintf(text, sizeof text, "%%0 = A()\n : (%s) -> (%s)\n", types[i].written, types[i].written);
        if (types[i].written[0] != '<')
            snprintf(text, sizeof text, "%%0 : %s = A()\n", types[i].written);
        ek_ir *ir = parse(text, strlen(text), &s);
        assert_non_null(ir);
        uint32_t type = ir->node[0].type;
        ek_ir_type_text(ir, type, read, sizeof read);
        if (type == EK_IR_NONE || strcmp(read, types[i].read) != 0 || ir->type[type].bytes != types[i].bytes ||
            s.n_warnings > 0)
            fail_msg("%s: %s, %" PRId64 " bytes\n%s", types[i].written, read,
                     type == EK_IR_NONE ? 0 : ir->type[type].bytes, s.text);
        size_t length = strlen(types[i].read);
        for (size_t size = 0; size <= length + 2; size++) { /* as much as there is room for */
            size_t fits = size == 0 ? 0 : size - 1 < length ? size - 1 : length;
            memset(read, '#', sizeof read);
            ek_ir_type_text(ir, type, read, size);
            assert_memory_equal(read, types[i].read, fits);
            assert_int_equal(read[fits], size == 0 ? '#' : '\0');
            assert_int_equal(read[size], '#');
        }
        ek_ir_free(ir);
    }
}

/* Every spelling of every format, eight elements each: as many bytes as one has bits. */
static void every_number_format_has_its_size(void **state)
{
    (void)state;
    static const struct {
        const char *written, *read;
        int bits;
    } formats[] = {
        {"Bool", "bool", 8},         {"B", "bool", 8},
        {"Int8", "int8", 8},         {"UInt8", "uint8", 8},
        {"I8", "int8", 8},           {"U8", "uint8", 8},
        {"Int16", "int16", 16},      {"UInt16", "uint16", 16},
        {"I16", "int16", 16},        {"U16", "uint16", 16},
        {"Int32", "int32", 32},      {"UInt32", "uint32", 32},
        {"I32", "int32", 32},        {"U32", "uint32", 32},
        {"Int64", "int64", 64},      {"UInt64", "uint64", 64},
        {"I64", "int64", 64},        {"U64", "uint64", 64},
        {"Float8", "float8", 8},     {"HiFloat8", "float8", 8},
        {"F8", "float8", 8},         {"Float16", "float16", 16},
        {"F16", "float16", 16},      {"BFloat16", "bfloat16", 16},
        {"BF16", "bfloat16", 16},    {"Float32", "float32", 32},
        {"F32", "float32", 32},      {"Float64", "float64", 64},
        {"F64", "float64", 64},      {"Complex64", "complex64", 64},
        {"C64", "complex64", 64},    {"Complex128", "complex128", 128},
        {"C128", "complex128", 128}, {"Int4", "int4", 4},
        {"I4", "int4", 4},           {"float32", "float32", 32},
        {"Float9", "?", -1},         {"Float80", "?", -1},
        {"Float", "?", -1},          {"Real32", "?", -1},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char text[128], read[64], expected[64];
        said s = {0};
        snprintf(text, sizeof text, "%%0 = A()\n : () -> (<Tensor[%s], (8)>)\n", formats[i].written);
        snprintf(expected, sizeof expected, "%s (8)", formats[i].read);
        ek_ir *ir = parse(text, strlen(text), &s);
        assert_non_null(ir);
        ek_ir_type_text(ir, ir->node[0].type, read, sizeof read);
        assert_string_equal(read, expected);
        assert_int_equal(ir->type[ir->node[0].type].bytes, formats[i].bits);
        ek_ir_free(ir);
    }
}

static void a_type_in_two_spellings_is_one(void **state)
{
    (void)state;
    static const char text[] =
        "%0 = A(%1, %2)\n : (<Ref[Tensor(F32)], (16), ref_key=:w>, <Tensor[Float32]x[const vector][2]>)"
        " -> (<Tensor[Float32], (2)>)\n%1 = A(%2)\n : (<Ref[Tensor[Float32]], (16), ref_key=w>) -> "
        "(<Ref[Tensor[Float32]], (16), ref_key=v>)\n";
    said s = {0};
    ek_ir *ir = parse(text, strlen(text), &s);
    assert_int_equal(ir->n_types, 3);
    assert_int_equal(ir->input[0].type, ir->input[2].type);
    assert_int_equal(ir->input[1].type, ir->node[0].type);
    assert_string_equal(ek_ir_text(ir, ir->type[ir->node[1].type].ref_key), "v");
    ek_ir_free(ir);
}

/* ---- damage ---- */

#define DEEP_8  "(((((((("
#define DEEP_64 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8 DEEP_8

static const struct {
    const char *text, *said;
} damaged[] = {
    {"%1(a)) = A(%0)\n", "1:5: warning: parentheses in the node's name do not match; the node is kept without it\n"},
    {"%1 A(%0)\n", "1:4: warning: '=' is missing after the node's number; the node is kept without operator\n"},
    {"%99999999999(a) = A()\n", "1:1: warning: a node's number is below 4294967295; the node is kept without it\n"},
    {"%1(a) = A\n", "1:9: warning: no operands '(...)' on this line; the node is kept without them\n"},
    {"%1(a) = A(%2, [3)\n",
     "1:17: warning: ')' does not close the '[' before it; operands from here on are left out\n"},
    {"%1(a) = A(%2\n%2(b) = B()\n", "1:10: warning: '(' is not closed before the next node; operands from here on are "
                                    "left out\n"},
    {"%1(a) = A(\"x)\n",
     "1:11: warning: '\"' is not closed before the next node; operands from here on are left out\n"},
    {"%1(a) = A() {instance name: m) cnode_attrs: {micro: I64(1)}\n",
     "1:30: warning: ')' does not close the '{' before it; this group is left out\n"},
    {"%1(a) = A() cnode_attrs: (micro: I64(1)}\n",
     "1:26: warning: '{' is missing after 'cnode_attrs:'; this group is left out\n"},
    {"%1(a) = A() cnode_attrs: {micro: 1x}\n", "1:34: warning: '1x' of 'micro' is not a number; it is left out\n"},
    {"%1(a) = A() cnode_attrs: {micro: 164(0)}\n",
     "1:34: warning: '164(0)' of 'micro' is not a literal such as I64(0); it is left out\n"},
    {"%1(a) = A() cnode_attrs: {unique id: \"1\"}\n",
     "1:27: warning: 'unique id' is no known key, perhaps 'unique_id'; it is left out\n"},
    {"%1(a) = A() cnode_attrs: {a \"b\": 1}\n",
     "1:29: warning: a key must be followed by ':'; this group is left out\n"},
    {"%1(a) = A() primitive_attrs: {group: \"hcel_world_group\"}\n",
     "1:39: warning: 'hcel_world_group' is no group of a known library, perhaps 'hccl_world_group'; it is left out\n"},
    {"%1(a) = A(" DEEP_64 "(1\n",
     "1:75: warning: brackets are more than 64 deep here; operands from here on are left out\n"},
    {"%1(a) = A()\n : (<Tensor[Int8], ())\n", "2:22: warning: '<' is not closed before ')'; read as if it were\n"},
    {"%1(a) = A()\n : (<Int8>) -> \n",
     "2:15: warning: the types after '->' are missing; the output's type is left out\n"},
    {"%1(a) = A()\n # Scope: (Default/a b/c)\n", "2:21: warning: a blank within the scope; it is kept unchanged\n"},
    {"%1(a) = A()\n # Scope: (Default\n",
     "2:11: warning: the scope that opens here is not closed; it is kept unchanged\n"},
    {"funcgraph \n",
     "1:10: warning: '(' is missing after the graph's name; it is read as a graph without parameters\n"},
    {"# Total subgraphs: 2\nsubgraph @f() {\nReturn(%0)\n}\n",
     "1:1: warning: the file counts 2 graphs and shows 1; it may be cut short\n"},
    {"Total number of cnodes: 5\nsubgraph @f() {\nReturn(%0)\n}\n",
     "1:1: warning: the file counts 5 cnodes and shows 1; it may be cut short\n"},
    {"# Total params: 2\n%para1_x: <Int8>\nsubgraph @f() {\nReturn(%0)\n}\n",
     "1:1: warning: the file counts 2 parameters and lists 1; it may be cut short\n"},
    {"# Total subgraphs: 2\n...\nsubgraph @f() {\nReturn(%0)\n}\n", ""},
    {"", "0:0: error: no node, parameter or graph in it; give a graph that MindSpore wrote as text (.ir)\n"},
    {"key: value\n",
     "0:0: error: no node, parameter or graph in it; give a graph that MindSpore wrote as text (.ir)\n"},
};

static void every_damage_is_told_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        said s = {0};
        ek_ir *ir = parse(damaged[i].text, strlen(damaged[i].text), &s);
        assert_string_equal(s.text, damaged[i].said);
        /* damage in a node marks only this node */
        if (ir && ir->n_nodes > 0 && damaged[i].text[0] == '%') {
            assert_true(ir->node[0].flags & EK_IR_DAMAGED);
            assert_int_equal(ir->n_diagnostics, 1);
            for (uint32_t n = 1; n < ir->n_nodes; n++)
                assert_false(ir->node[n].flags & EK_IR_DAMAGED);
        }
        ek_ir_free(ir);
    }
}

static void a_damaged_group_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char text[] = "%1(a) = A(%0) cnode_attrs: {recompute: Bool(1), micro: I64(4), op: sum, x: (1} "
                               "cnode_primal_attrs: {unique_id: \"5\"}\n";
    said s = {0};
    ek_ir *ir = parse(text, strlen(text), &s);
    assert_string_equal(nodes_of(ir), "%1 A(outside 0) name=a +damaged unique=5\n");
    assert_int_equal(ir->n_attributes, 0);
    ek_ir_free(ir);
}

static void many_damages_are_told_up_to_a_limit(void **state)
{
    (void)state;
    static char text[150 * 16];
    said s = {0};
    for (int i = 0; i < 150; i++)
        memcpy(text + 10 * (size_t)i, "%1 A(%0) \n", 10);
    ek_ir *ir = parse(text, 1500, &s);
    assert_int_equal(ir->n_diagnostics, 150);
    assert_int_equal(s.n_warnings, 101);
    assert_non_null(strstr(s.text, "0:0: warning: 50 more damaged places are not reported\n"));
    ek_ir_free(ir);
}

/* ---- files ---- */

static ek_ir *read_file(const char *path, said *s)
{
    ek_ir *ir = NULL;
    ek_error err = {0};
    const ek_listener listener = {say_warning, s};
    if (ek_ir_read(path, NULL, &listener, &ir, &err) != EK_OK)
        fail_msg("%s: %s", path, err.message);
    check_bounds(ir);
    return ir;
}

/* Parts that do not depend on the release: primitives, operands but literals, types, instances, strategies. */
static void put_neutral(sheet *s, const ek_ir *ir)
{
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *n = &ir->node[i];
        put(s, "%d %s(", (int)n->number, ek_ir_text(ir, n->primitive));
        for (uint32_t k = 0; k < n->n_inputs; k++)
            if (ir->input[n->first_input + k].kind == EK_IR_INPUT_GRAPH)
                put(s, "graph %u, ", ir->input[n->first_input + k].index);
            else if (ir->input[n->first_input + k].kind != EK_IR_INPUT_LITERAL) {
                put_input(s, ir, &ir->input[n->first_input + k]);
                put(s, ", ");
            }
        put(s, ")");
        put_type(s, ir, n->type);
        put_text(s, "", ir, n->instance);
        put_text(s, "", ir, n->in_strategy);
        put_number(s, "recompute", n->flags & EK_IR_RECOMPUTE);
        const char *group = ek_ir_attribute_of(ir, n, "group");
        put(s, " %s\n", group ? group : "");
    }
    for (uint32_t i = 0; i < ir->n_graphs; i++)
        put(s, "%d %u %u\n", (int)ir->graph[i].parent, ir->graph[i].n_nodes, ir->graph[i].n_formals);
}

static void one_graph_reads_alike_in_every_release(void **state)
{
    (void)state;
    static const char *const files[] = {"newest", "release_2_1", "release_1_9"};
    static char first[8192], other[8192];
    for (int i = 0; i < 3; i++) {
        char name[64];
        said s = {0};
        snprintf(name, sizeof name, "tests/data/ir/%s.ir", files[i]);
        ek_ir *ir = read_file(source_path(name), &s);
        sheet out = {i == 0 ? first : other, 0, sizeof first};
        put_neutral(&out, ir);
        assert_string_equal(s.text, "");
        assert_int_equal(ir->n_operators, 6);
        assert_int_equal(ir->n_unknown, 0);
        if (i > 0)
            assert_string_equal(other, first);
        ek_ir_free(ir);
    }
    assert_non_null(
        strstr(first, "1 MatMul(x:float16 (32, 64), %0:float16 (16, 64), ):float16 (32, 16) matmul ((2, 1), (4, 1)) "
                      "recompute=1 \n"));
    assert_non_null(strstr(first, "3 call(graph 1, %2:float16 (32, 16), ):float16 (32, 16)"));
    assert_non_null(strstr(first, "0 Load(net.dense.bias:ref float16 (16), ):float16 (16)"));
}

static void failed_compilations_show_where_they_stopped(void **state)
{
    (void)state;
    static const char funcgraph[] =
        "%1 call(@fg_2, 1:float16 (32, 64)) name=[CNode]3 @Default +call +stopped\n"
        "Return(%1) name=[CNode]4 @Default #net.py:13 +return\n"
        "%1 MatMul(3:float16 (32, 64), 2:ref float16 (16, 64)):float16 (32, 16) name=x @Default #net.py:12 "
        "transpose_b=1\n"
        "%2 BiasAdd(%1:float16 (32, 16)) @Default +stopped\n"
        "Return(%2) @Default +return\n";
    static const char newest[] =
        "%0 resolve('NameSpace[Entry: '__main__.Net.construct']':External, '__main__.Net.construct':External):Func "
        "name=CNode_3 @Default\n"
        "%1 call(%0:Func, x:float32 (), 'None') name=CNode_2 @Default +call +stopped\n"
        "%2 call(%1):float32 () name=CNode_4 @5 +call\n"
        "Return(%2:float32 ()) @Default +return\n";
    said s = {0};
    ek_ir *ir = read_file(source_path("tests/data/ir/failed_funcgraph.ir"), &s);
    assert_string_equal(nodes_of(ir), funcgraph);
    assert_true(ir->analyze_fail);
    assert_int_equal(ir->graph[1].parent, 0);
    ek_ir_free(ir);
    ir = read_file(source_path("tests/data/ir/failed.ir"), &s);
    assert_string_equal(nodes_of(ir), newest);
    assert_true(ir->analyze_fail);
    assert_string_equal(s.text, "");
    ek_ir_free(ir);
}

/* The text after the last "/#" of a source line is a name only when it is one word; an existing name stays. */
static void names_of_a_failed_graph_are_single_words(void **state)
{
    (void)state;
    static const struct {
        const char *first, *source, *name;
    } cases[] = {
        {"", "# In file net.py(12)/    x = self.matmul(x)/#x", "x"},
        {"", "# In file net.py(12)/    x = self.matmul(x)/#x  ", "x"},
        {"", "# In file net.py(12)/    x = self.matmul(x)/#", ""},
        {"", "# In file net.py(12)/    x = 'a/#b c'", ""},
        {"", "# In file net.py(12)/    x = self.matmul(x)", ""},
        {"", "# In file net.py(12)/    x = 'a/#b c'/#x", "x"},
        {"#[CNode]3\n", "# In file net.py(12)/    x = self.matmul(x)/#x", "[CNode]3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        ek_ir *ir;
        ek_error err = {0};
        snprintf(text, sizeof text,
                 "# 1.This file shows the graphs as far as evaluating them went before it failed.\n"
                 "funcgraph fg_1(\n        %%para1 : Tensor(F16)[32, 64]    # x\n    ) {\n"
                 "    %%1 = Neg(%%para1)    #(Tensor(F16)[32, 64]) #scope: Default\n%s      %s\n"
                 "    Primitive::Return{prim_type=1}(%%1)    #(Undefined) #scope: Default\n}\n",
                 cases[i].first, cases[i].source);
        if (ek_ir_parse("text", text, strlen(text), NULL, &ir, &err))
            fail_msg("%s: %s", text, err.message);
        assert_true(ir->analyze_fail);
        assert_string_equal(ek_ir_text(ir, ir->node[0].name), cases[i].name);
        ek_ir_free(ir);
    }
}

/* Lines that begin a node, counted without the reader. */
static uint32_t count_starts(const char *text, size_t size)
{
    uint32_t n = 0;
    for (size_t i = 0; i < size;) {
        size_t p = i;
        while (p < size && (text[p] == ' ' || text[p] == '\t' || text[p] == '\r'))
            p++;
        if (p < size && text[p] == '%') {
            size_t q = p + 1;
            while (q < size && text[q] >= '0' && text[q] <= '9')
                q++;
            n += q > p + 1 && q < size && (text[q] == ' ' || text[q] == '(');
        }
        n += size - p >= 7 && memcmp(text + p, "Return(", 7) == 0;
        n += size - p >= 17 && memcmp(text + p, "Primitive::Return", 17) == 0;
        while (i < size && text[i] != '\n')
            i++;
        i++;
    }
    return n;
}

/* A node's own bytes are a node again, equal to the original except for facts from its surroundings. */
static void check_sources(const ek_ir *ir)
{
    for (uint32_t i = 0; i < ir->n_nodes; i += 1 + ir->n_nodes / 500) {
        char *text = NULL;
        said s = {0};
        assert_int_equal(ek_ir_node_source(ir, i, &text, NULL), EK_OK);
        assert_int_equal(strlen(text), ir->node[i].bytes);
        ek_ir *one = parse(text, ir->node[i].bytes, &s);
        assert_int_equal(one->n_nodes, 1);
        assert_int_equal(one->node[0].number, ir->node[i].number);
        assert_int_equal(one->node[0].n_inputs, ir->node[i].n_inputs);
        assert_int_equal(one->node[0].n_attributes, ir->node[i].n_attributes);
        assert_string_equal(ek_ir_text(one, one->node[0].scope), ek_ir_text(ir, ir->node[i].scope));
        assert_string_equal(ek_ir_text(one, one->node[0].primitive), ek_ir_text(ir, ir->node[i].primitive));
        ek_ir_free(one);
        free(text);
    }
}

/* ---- samples ---- */

/* The sample's path, good until the next one. */
static const char *need_sample(const char *file)
{
    char name[512];
    snprintf(name, sizeof name, "reference/ir/%s", file);
    return need_shared(name);
}

static void no_node_of_the_samples_is_lost(void **state)
{
    (void)state;
    size_t size;
    int n_files = 0;
    char *manifest = slurp(need_sample("MANIFEST.csv"), &size);
    assert_non_null(manifest);
    for (char *line = strchr(manifest, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        char file[256];
        int nodes = -1;
        said s = {0};
        /* file,repo,branch,commit,path,fence_index,nodes,...: the commit and index may be empty, the path has no comma
         */
        const char *field = line + 1;
        snprintf(file, sizeof file, "%.*s", (int)strcspn(field, ","), field);
        for (int i = 0; i < 6; i++)
            field = strchr(field, ',') + 1;
        nodes = atoi(field);
        /* its count leaves out "%1 : Tensor(F32)[3, 8] = ..." */
        if (strcmp(file, "r1_9__mindir__13.ir") == 0)
            nodes++;
        ek_ir *ir = read_file(need_sample(file), &s);
        if (ir->n_operators != (uint32_t)nodes)
            fail_msg("%s: %u operators, %d expected", file, ir->n_operators, nodes);
        size_t n_text = 0;
        char *text = slurp(need_sample(file), &n_text);
        assert_non_null(text);
        assert_int_equal(ir->n_nodes, count_starts(text, n_text));
        check_sources(ir);
        free(text);
        n_files++;
        ek_ir_free(ir);
    }
    assert_int_equal(n_files, 28);
    free(manifest);
}

static void near_duplicates_give_the_same_graph(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"r2_0__sharding_propagation__05.ir", "r2_1__sharding_propagation__05.ir"},
        {"r2_6_0__graph_optimization__14.ir", "master__graph_optimization__14.ir"},
        {"r2_6_0__graph_optimization__16.ir", "master__graph_optimization__16.ir"},
    };
    static char text[2][1 << 16];
    for (size_t i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            said s = {0};
            ek_ir *ir = read_file(need_sample(pairs[i][k]), &s);
            /* in 2.6 a bracket is missing, which is reported */
            for (uint32_t n = 0; n < ir->n_nodes; n++)
                ir->node[n].flags &= ~(uint32_t)EK_IR_DAMAGED;
            snprintf(text[k], sizeof text[k], "%s", nodes_of(ir));
            ek_ir_free(ir);
            if (k == 1)
                assert_string_equal(text[0], text[1]);
        }
}

static void the_damaged_sample_is_told_in_detail(void **state)
{
    (void)state;
    static const char *const told[] = {
        "1:60: warning: ')' does not close the '{'", "'in strategy' is no known key",
        "5:165: warning: 'hcel_world_group'",        "5:192: warning: '164(0)' of 'fusion'",
        "5:271: warning: '164(0)' of 'index'",       "'{' is missing after 'cnode_attrs:'"};
    said s = {0};
    ek_ir *ir = read_file(need_sample("perf_guide_2_4__llama_wo_allreduce.ir"), &s);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        assert_non_null(strstr(s.text, told[i]));
    assert_int_equal(ir->n_nodes, 2);
    assert_true(ir->node[0].flags & ir->node[1].flags & EK_IR_DAMAGED);
    assert_null(ek_ir_attribute_of(ir, &ir->node[1], "fusion"));
    assert_null(ek_ir_attribute_of(ir, &ir->node[1], "group"));
    assert_string_equal(ek_ir_attribute_of(ir, &ir->node[1], "rank_list"), "(0, 1, 2, 3)");
    assert_int_equal(ir->node[0].instance, EK_IR_NONE);
    assert_int_equal(ir->node[0].in_strategy, EK_IR_NONE);
    ek_ir_free(ir);
}

/* ---- generated graphs ---- */

static char *generate(const ir_shape *shape, ir_truth *truth, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    assert_non_null(out);
    ir_generate(out, shape, truth);
    fclose(out);
    assert_int_equal(truth->bytes, *size);
    return text;
}

static ek_ir_comm_role role_of(const char *instance)
{
    static const struct {
        const char *prefix;
        ek_ir_comm_role role;
    } roles[] = {{"redistribution_op_", EK_IR_ROLE_REDISTRIBUTION},
                 {"forward_op_", EK_IR_ROLE_FORWARD},
                 {"mirror_op", EK_IR_ROLE_GRADIENT},
                 {"parallel_optimizer_", EK_IR_ROLE_OPTIMIZER},
                 {"send", EK_IR_ROLE_PIPELINE},
                 {"receive", EK_IR_ROLE_PIPELINE}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strncmp(instance, roles[i].prefix, strlen(roles[i].prefix)) == 0)
            return roles[i].role;
    return EK_IR_ROLE_OTHER;
}

static void compare_with_truth(const ek_ir *ir, const ir_truth *truth)
{
    int64_t comms[EK_N_IR_COMM_KINDS][EK_N_IR_COMM_ROLES] = {{0}};
    int64_t forward = 0, copies = 0, backward = 0, requested = 0, strategies = 0, kept = 0, weights = 0;
    static const char *const kinds[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "Send", "Receive"};
    bool *taken = calloc(ir->n_nodes, sizeof *taken);
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *n = &ir->node[i];
        if (n->flags & EK_IR_RETURN)
            continue;
        bool is_backward = n->flags & EK_IR_BACKWARD, is_copy = n->flags & EK_IR_DUPLICATED;
        backward += is_backward;
        copies += is_copy;
        forward += !is_backward && !is_copy;
        requested += (n->flags & EK_IR_RECOMPUTE) != 0;
        strategies += n->in_strategy != EK_IR_NONE;
        for (int k = 0; k < 6; k++)
            if (strcmp(ek_ir_text(ir, n->primitive), kinds[k]) == 0)
                comms[k][role_of(ek_ir_text(ir, n->instance))]++;
        for (uint32_t k = 0; is_backward && k < n->n_inputs; k++)
            if (ir->input[n->first_input + k].kind == EK_IR_INPUT_NODE)
                taken[ir->input[n->first_input + k].index] = true;
    }
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        if (taken[i] && !(ir->node[i].flags & (EK_IR_BACKWARD | EK_IR_DUPLICATED)))
            kept += ir->type[ir->node[i].type].bytes;
    for (uint32_t i = 0; i < ir->n_parameters; i++)
        weights += ir->type[ir->parameter[i].type].bytes;
    free(taken);
    assert_int_equal(ir->n_operators, truth->n_nodes);
    assert_int_equal(ir->n_nodes, truth->n_nodes + 1);
    assert_int_equal(ir->n_parameters, truth->n_parameters);
    assert_int_equal(forward, truth->n_forward);
    assert_int_equal(copies, truth->n_copies);
    assert_int_equal(backward, truth->n_backward);
    assert_int_equal(requested, truth->n_requested);
    assert_int_equal(strategies, truth->n_strategies);
    assert_int_equal(kept, truth->kept_bytes);
    assert_int_equal(weights, truth->n_weight_bytes);
    assert_memory_equal(comms, truth->n_comms, sizeof comms);
}

static void generated_graphs_give_their_truth(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const ir_shape shape = {.n_layers = 1 + i % 3,
                                .n_micro_batches = 1 + i / 3,
                                .old_release = i & 1,
                                .recompute = i & 2,
                                .fault = i & 4,
                                .bare = i == 5};
        ir_truth truth;
        size_t size;
        said s = {0};
        char *text = generate(&shape, &truth, &size);
        ek_ir *ir = parse(text, size, &s);
        assert_string_equal(s.text, "");
        assert_int_equal(ir->n_unknown, 0);
        compare_with_truth(ir, &truth);
        for (uint32_t n = 0; n < ir->n_nodes; n++)
            for (uint32_t k = 0; k < ir->node[n].n_inputs; k++)
                assert_int_not_equal(ir->input[ir->node[n].first_input + k].kind, EK_IR_INPUT_OUTSIDE);
        ek_ir_free(ir);
        free(text);
    }
}

/* The common content of releases, one node a line: operator, place, source, strategies, and the nodes and parameters it
 * uses. Names of nodes, literals and some attributes are spelled otherwise or new. */
static char *graph_of(const ir_shape *shape)
{
    ir_truth truth;
    size_t size;
    said s = {0};
    char *text = generate(shape, &truth, &size), *all = malloc(1 << 16);
    ek_ir *ir = parse(text, size, &s);
    sheet out = {all, 0, 1 << 16};
    assert_non_null(all);
    assert_string_equal(s.text, "");
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *n = &ir->node[i];
        char scope[1024];
        ek_ir_scope(ir, n, scope, sizeof scope);
        put(&out, "%u %s %s", n->number, ek_ir_text(ir, n->primitive), scope);
        for (uint32_t k = 0; k < n->n_inputs; k++) {
            const ek_ir_input *input = &ir->input[n->first_input + k];
            if (input->kind != EK_IR_INPUT_LITERAL)
                put_input(&out, ir, input);
        }
        put_type(&out, ir, n->type);
        put_text(&out, "#", ir, n->source);
        put_text(&out, "in=", ir, n->in_strategy);
        put_text(&out, "out=", ir, n->out_strategy);
        put(&out, "\n");
    }
    ek_ir_free(ir);
    free(text);
    return all;
}

static void two_releases_spell_the_same_graph(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        ir_shape shape = {.n_layers = 1 + i % 2, .n_micro_batches = 1, .recompute = i & 2};
        char *newest = graph_of(&shape);
        shape.old_release = true;
        char *old = graph_of(&shape);
        assert_true(strlen(old) > 5000);
        assert_string_equal(old, newest);
        free(newest);
        free(old);
    }
}

/* Blocks of the file end anywhere, a node may be longer than several of them. */
static void a_file_reads_like_its_text(void **state)
{
    (void)state;
    char path[] = "/tmp/evenkeel_irXXXXXX";
    const ir_shape shape = {.n_layers = 4, .n_micro_batches = 12, .recompute = true};
    ir_truth truth;
    size_t size;
    said s = {0};
    char *text = generate(&shape, &truth, &size);
    assert_true(size > 2000000);
    int file = mkstemp(path);
    FILE *out = fdopen(file, "wb");
    fwrite(text, 1, size, out);
    fputs("%7(long) = A(\"", out);
    for (int i = 0; i < 3000000; i++)
        fputc('x', out);
    fputs("\", %8)\n%8(b) = B()\n", out);
    fclose(out);
    ek_ir *ir = read_file(path, &s);
    assert_int_equal(s.n_warnings, 2); /* nodes after those counted, in a graph without name */
    assert_int_equal(ir->n_nodes, truth.n_nodes + 3);
    assert_int_equal(strlen(ek_ir_text(ir, ir->input[ir->node[ir->n_nodes - 2].first_input].index)), 3000002);
    check_sources(ir);
    ek_ir *same = parse(text, size, &s);
    for (uint32_t i = 0; i < same->n_nodes; i++) {
        static char one[4096], other[4096];
        sheet a = {one, 0, sizeof one}, b = {other, 0, sizeof other};
        put_node(&a, ir, &ir->node[i]);
        put_node(&b, same, &same->node[i]);
        assert_string_equal(one, other);
    }
    /* the file has changed: it is not read again */
    char *source = NULL;
    ek_error err = {0};
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(ek_ir_node_source(ir, 0, &source, &err), EK_ERR_SYSTEM);
    assert_int_equal(ek_ir_node_source(same, 0, &source, &err), EK_ERR_SYSTEM);
    assert_null(source);
    unlink(path);
    ek_ir_free(ir);
    ek_ir_free(same);
    free(text);
}

static void brackets_deeper_than_the_limit_are_said_to_be(void **state)
{
    (void)state;
    enum { LIMIT = 64, DEEP = 100000 };
    static const int depths[] = {LIMIT - 1, LIMIT, LIMIT + 1, DEEP};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        int depth = depths[i];
        size_t size = 2 * (size_t)depth + 64, n = (size_t)snprintf(NULL, 0, "%%1(a) = A(");
        char *text = malloc(size);
        assert_non_null(text);
        snprintf(text, size, "%%1(a) = A(");
        memset(text + n, '(', (size_t)depth);
        memset(text + n + depth, ')', (size_t)depth);
        strcpy(text + n + 2 * (size_t)depth, ", 7)\n%2(b) = B()\n");
        ek_ir *ir = NULL;
        ek_error err;
        assert_int_equal(ek_ir_parse("deep", text, strlen(text), NULL, &ir, &err), EK_OK);
        assert_int_equal(ir->n_nodes, 2);
        assert_int_equal(ir->n_diagnostics, depth > LIMIT);
        if (depth <= LIMIT)
            assert_int_equal(ir->node[0].n_inputs, 2);
        ek_ir_free(ir);
        free(text);
    }
}

static void a_file_that_is_not_there_is_said(void **state)
{
    (void)state;
    ek_ir *ir = NULL;
    ek_error err = {0};
    assert_int_equal(ek_ir_read("/no/such.ir", NULL, NULL, &ir, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.message, "cannot be opened: No such file or directory");
    assert_int_equal(ek_ir_read("/", NULL, NULL, &ir, &err), EK_ERR_SYSTEM);
    assert_null(ir);
    const ek_interrupt interrupt = {1};
    const ek_ir_options options = {.interrupt = &interrupt};
    char path[] = "/tmp/evenkeel_irXXXXXX";
    int file = mkstemp(path);
    FILE *out = fdopen(file, "wb");
    for (int i = 0; i < 10000000 / 10; i++)
        fputs("%1 = A()\n\n", out);
    fclose(out);
    assert_int_equal(ek_ir_read(path, &options, NULL, &ir, &err), EK_ERR_SYSTEM);
    assert_string_equal(err.message, "interrupted");
    assert_string_equal(err.file, path);
    assert_int_equal(err.line, 0);
    unlink(path);
}

static void the_layer_is_that_of_the_outermost_numbered_cell(void **state)
{
    (void)state;
    static const struct {
        const char *scope;
        int layer;
    } cases[] = {{"Default/m-M/layers-CellList/3-Layer/7-Inner/A-op0", 3},
                 {"Default/A-op12", -1},
                 {"12-Block/A-op1", 12},
                 {"Default/3Layer/A-op0", -1},
                 {"Default/3-/A-op0", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], scope[256];
        said s = {0};
        snprintf(text, sizeof text, "%%0 = A()\n # Scope: (%s)\n", cases[i].scope);
        ek_ir *ir = parse(text, strlen(text), &s);
        assert_int_equal(ek_ir_layer(ir, &ir->node[0]), cases[i].layer);
        ek_ir_scope(ir, &ir->node[0], scope, sizeof scope);
        assert_string_equal(scope, cases[i].scope);
        assert_int_not_equal(ek_ir_find_text(ir, "A"), EK_IR_NONE);
        assert_int_equal(ek_ir_find_text(ir, "B"), EK_IR_NONE);
        ek_ir_free(ir);
    }
}

/* ---- mutations ---- */

static void mutate(char *text, size_t *size, ek__random *random)
{
    for (int n = 1 + ek__random_below(random, 8); n > 0 && *size > 40; n--) {
        size_t at = (size_t)ek__random_below(random, (int)*size - 30), length = (size_t)ek__random_below(random, 24);
        static const char bytes[] = "(){}[]<>\"\n,:=%#@$ 0a.\\-\r";
        switch (ek__random_below(random, 4)) {
        case 0:
            memmove(text + at, text + at + length, *size - at - length);
            *size -= length;
            break;
        case 1:
            text[at] = bytes[ek__random_below(random, sizeof bytes)];
            break;
        case 2: {
            char kept = text[at];
            text[at] = text[at + length];
            text[at + length] = kept;
            break;
        }
        default:
            memmove(text + at, text + (size_t)ek__random_below(random, (int)*size - 30), length);
        }
    }
}

static void mutated_files_lose_no_node(void **state)
{
    (void)state;
    static const char *const files[] = {"newest",           "release_2_1", "release_1_9",
                                        "failed_funcgraph", "failed",      "damaged"};
    ek__random random = ek__random_seed(4711);
    for (int i = 0; i < 6000; i++) {
        char name[64];
        size_t size = 0;
        said s = {0};
        snprintf(name, sizeof name, "tests/data/ir/%s.ir", files[i % 6]);
        char *text = slurp(source_path(name), &size);
        assert_non_null(text);
        mutate(text, &size, &random);
        ek_ir *ir = parse(text, size, &s);
        uint32_t starts = count_starts(text, size);
        if ((ir ? ir->n_nodes : 0) != starts)
            fail_msg("seed 4711, mutation %d of %s: %u nodes, %u lines begin one", i, files[i % 6],
                     ir ? ir->n_nodes : 0, starts);
        ek_ir_free(ir);
        free(text);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const files[] = {"newest", "failed_funcgraph", "damaged"};
    for (int f = 0; f < 3; f++) {
        char name[64], path[4096];
        snprintf(name, sizeof name, "tests/data/ir/%s.ir", files[f]);
        snprintf(path, sizeof path, "%s", source_path(name));
        int n = 0;
        for (bool failed = true; failed; n++) {
            ek_ir *ir = NULL;
            ek_error err = {0};
            assert_true(n < 1000);
            left = n;
            ek_status status = ek_ir_read(path, NULL, NULL, &ir, &err);
            failed = left < 0;
            left = -1;
            if (failed) {
                assert_int_equal(status, EK_ERR_MEMORY);
                assert_string_equal(err.message, "out of memory");
                assert_null(ir);
            } else
                assert_int_equal(status, EK_OK);
            ek_ir_free(ir);
        }
        assert_true(n > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_read),
        cmocka_unit_test(counts_of_the_header_are_read),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(every_number_format_has_its_size),
        cmocka_unit_test(a_type_in_two_spellings_is_one),
        cmocka_unit_test(every_damage_is_told_with_its_place),
        cmocka_unit_test(a_damaged_group_leaves_nothing_behind),
        cmocka_unit_test(many_damages_are_told_up_to_a_limit),
        cmocka_unit_test(one_graph_reads_alike_in_every_release),
        cmocka_unit_test(failed_compilations_show_where_they_stopped),
        cmocka_unit_test(names_of_a_failed_graph_are_single_words),
        cmocka_unit_test(no_node_of_the_samples_is_lost),
        cmocka_unit_test(near_duplicates_give_the_same_graph),
        cmocka_unit_test(the_damaged_sample_is_told_in_detail),
        cmocka_unit_test(generated_graphs_give_their_truth),
        cmocka_unit_test(two_releases_spell_the_same_graph),
        cmocka_unit_test(a_file_reads_like_its_text),
        cmocka_unit_test(brackets_deeper_than_the_limit_are_said_to_be),
        cmocka_unit_test(a_file_that_is_not_there_is_said),
        cmocka_unit_test(the_layer_is_that_of_the_outermost_numbered_cell),
        cmocka_unit_test(mutated_files_lose_no_node),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
