/* Rules on programs for MindSpore's dynamic graphs: interfaces of mint, updates in place, a compiled optimizer, garbage
 * collection. A program counts as one where it names mint, MindSpeed-Core-MS or PyNative mode and does not name graph
 * mode; settings in other files of a package are not known. */
#include <stdio.h>
#include <string.h>

#include "lint/hot.h"
#include "lint/rules.h"

#define PYTHON (1U << EK_LINT_PYTHON)
#define GUIDE  "MindSpore's tuning guide for dynamic graphs"

static ek_status report_tokens(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, int first,
                               int last, const char *message)
{
    const ek__python_token *t = &file->python->token[first];
    int end = file->python->token[last].line == t->line ? ek__python_end_column(file->python, last) : 0;
    return ek__lint_report(run, entry, file, t->line, t->column, end, NULL, "%s", message);
}

/* ---- mint ---- */

/* Functions of mindspore.ops with one of mint that computes the same from the same tensors. Functions whose arguments
 * mean something else there, such as gather, are left out. */
static const struct {
    const char *ops, *mint;
} counterparts[] = {
    {"abs", "abs"},
    {"add", "add"},
    {"bmm", "bmm"},
    {"cat", "cat"},
    {"clamp", "clamp"},
    {"concat", "cat"},
    {"cos", "cos"},
    {"cumsum", "cumsum"},
    {"div", "div"},
    {"exp", "exp"},
    {"gelu", "nn.functional.gelu"},
    {"log", "log"},
    {"logical_and", "logical_and"},
    {"logical_not", "logical_not"},
    {"logical_or", "logical_or"},
    {"matmul", "matmul"},
    {"maximum", "maximum"},
    {"mean", "mean"},
    {"minimum", "minimum"},
    {"mul", "mul"},
    {"neg", "neg"},
    {"ones_like", "ones_like"},
    {"permute", "permute"},
    {"pow", "pow"},
    {"prod", "prod"},
    {"reciprocal", "reciprocal"},
    {"relu", "nn.functional.relu"},
    {"rsqrt", "rsqrt"},
    {"sigmoid", "sigmoid"},
    {"silu", "nn.functional.silu"},
    {"sin", "sin"},
    {"softmax", "nn.functional.softmax"},
    {"split", "split"},
    {"sqrt", "sqrt"},
    {"square", "square"},
    {"stack", "stack"},
    {"sub", "sub"},
    {"sum", "sum"},
    {"tanh", "tanh"},
    {"tile", "tile"},
    {"tril", "tril"},
    {"where", "where"},
    {"zeros_like", "zeros_like"},
};

static const char *counterpart_of(const ek__python_call *call)
{
    static const char prefix[] = "mindspore.ops.";
    if (!call->callee || !call->imported || strncmp(call->callee, prefix, sizeof prefix - 1) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof counterparts / sizeof *counterparts; i++)
        if (strcmp(call->callee + sizeof prefix - 1, counterparts[i].ops) == 0)
            return counterparts[i].mint;
    return NULL;
}

static ek_status check_mint(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    if (!ek__python_is_dynamic(p))
        return EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        const char *mint = counterpart_of(call);
        if (!mint || ek__python_hot(p, call->block) == EK__HOT_NOT)
            continue;
        char message[200];
        snprintf(message, sizeof message,
                 "ops.%s() in code that runs in every step of a dynamic graph; mint.%s() computes the same with less "
                 "time on the host, its arguments are named as PyTorch's",
                 call->name, mint);
        status = report_tokens(run, entry, file, call->token, call->open, message);
    }
    return status;
}

/* ---- in place ---- */

static bool same_text(const ek__python *p, int a, int a_end, int b, int b_end)
{
    if (a >= a_end || b >= b_end)
        return false;
    const ek__python_token *x = &p->token[a], *y = &p->token[b];
    int n = p->token[a_end - 1].at + p->token[a_end - 1].size - x->at,
        m = p->token[b_end - 1].at + p->token[b_end - 1].size - y->at;
    return n == m && memcmp(p->text + x->at, p->text + y->at, (size_t)n) == 0;
}

/* The method in place for `target OP ..` or FUNCTION(target, ..) in tokens [begin, end); NULL. */
static const char *in_place(const ek__python *p, int target, int target_end, int begin, int end)
{
    static const struct {
        const char *sign, *function, *method;
    } kinds[] = {{"+", "add", "add_"}, {"-", "sub", "sub_"}, {"*", "mul", "mul_"}, {"/", "div", "div_"}};
    int n = target_end - target, n_sums = 0, n_products = 0;
    for (int i = begin; i < end; i++) {
        if (ek__python_is(p, i, "(") || ek__python_is(p, i, "["))
            i = p->token[i].partner;
        n_sums += ek__python_is(p, i, "+") || ek__python_is(p, i, "-");
        n_products += ek__python_is(p, i, "*") || ek__python_is(p, i, "/");
    }
    for (int k = 0; k < 4; k++) {
        bool alone = k < 2 ? n_sums == 1 : n_sums == 0 && n_products == 1; /* p - a * b is one operation on p */
        if (alone && begin + n < end && same_text(p, target, target_end, begin, begin + n) &&
            ek__python_is(p, begin + n, kinds[k].sign))
            return kinds[k].method;
        int open = begin + 3; /* mint.add( */
        if (n_sums + n_products == 0 && open + n + 1 < end && ek__python_is(p, open, "(") &&
            p->token[open].partner == end - 1 && strcmp(ek__python_name(p, begin + 2), kinds[k].function) == 0 &&
            ek__python_is(p, begin + 1, ".") && same_text(p, target, target_end, open + 1, open + 1 + n) &&
            ek__python_is(p, open + 1 + n, ","))
            return kinds[k].method;
    }
    return NULL;
}

static ek_status check_in_place(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const methods[] = {"set_data", "assign_value", "copy_"};
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    if (!ek__python_is_dynamic(p))
        return EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        const ek__python_argument *a = p->argument + call->first_argument;
        int target = -1, target_end = 0, value = 0;
        bool function = call->callee && call->imported && strcmp(call->callee, "mindspore.ops.assign") == 0;
        if (function && call->n_arguments == 2 && !a[0].keyword && !a[1].keyword)
            target = a[0].begin, target_end = a[0].end, value = 1;
        for (int m = 0; m < 3 && target < 0; m++)
            if (call->receiver >= 0 && !call->imported && call->n_arguments == 1 && !a[0].keyword &&
                strcmp(call->name, methods[m]) == 0)
                target = call->receiver, target_end = call->token - 1;
        const char *method = target >= 0 ? in_place(p, target, target_end, a[value].begin, a[value].end) : NULL;
        if (!method)
            continue;
        char message[240];
        snprintf(
            message, sizeof message,
            "%s() takes a new tensor that is computed from the old one: memory of both at once, and the bytes of one "
            "written and read again; %s() updates the old one in place",
            call->name, method);
        status = report_tokens(run, entry, file, function ? call->token : target, call->close, message);
    }
    return status;
}

/* ---- the optimizer ---- */

/* Is the class one of MindSpore's optimizers, by a name ...Optimizer of mindspore among its bases? */
static bool is_optimizer(const ek__python *p, const ek__python_block *class)
{
    for (int i = class->header + 2; i < class->body; i++) {
        const char *name = ek__python_name(p, i);
        size_t n = strlen(name), wanted = strlen("Optimizer");
        int first = p->token[i].primary;
        if (n < wanted || strcmp(name + n - wanted, "Optimizer") != 0 || first < 0)
            continue;
        int symbol = p->token[first].symbol;
        if (symbol >= 0 && p->alias[symbol] && strncmp(p->alias[symbol], "mindspore", 9) == 0)
            return true;
    }
    return false;
}

/* Is something in the program compiled by a call, as `step = ms.jit(optimizer)`? */
static bool compiles(const ek__python *p)
{
    for (int i = 0; i < p->n_calls; i++)
        if (p->call[i].imported && (strcmp(p->call[i].name, "jit") == 0 || strcmp(p->call[i].name, "ms_function") == 0))
            return true;
    return false;
}

static bool is_compiled(const ek__python *p, const ek__python_block *b)
{
    for (int i = b->decorators; i >= 0 && i < b->header; i++)
        if (strstr(ek__python_name(p, i), "jit") || strcmp(ek__python_name(p, i), "ms_function") == 0)
            return true;
    return false;
}

static ek_status check_optimizer(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    if (!ek__python_is_dynamic(p) || compiles(p))
        return EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_blocks; i++) {
        const ek__python_block *b = &p->block[i];
        if (b->kind != EK__PYTHON_FUNCTION || b->parent < 0 || p->block[b->parent].kind != EK__PYTHON_CLASS ||
            !ek__python_is(p, b->name, "construct") || is_compiled(p, b) || !is_optimizer(p, &p->block[b->parent]))
            continue;
        status =
            report_tokens(run, entry, file, b->name, b->name,
                          "this optimizer's construct() launches its operators from Python for every parameter; with "
                          "@jit above it they run as one compiled graph");
    }
    return status;
}

/* ---- garbage ---- */

static bool names_collector(const ek__python *p)
{
    for (int i = 0; i < p->n_symbols; i++)
        if (strcmp(p->symbol[i], "gc") == 0 ||
            (p->alias[i] && strncmp(p->alias[i], "gc", 2) == 0 && (p->alias[i][2] == '\0' || p->alias[i][2] == '.')))
            return true;
    return false;
}

static ek_status check_collector(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    if (!ek__python_is_dynamic(p))
        return EK_OK;
    for (int i = 0; i < run->n_files; i++)
        if (run->file[i].python && names_collector(run->file[i].python))
            return EK_OK;
    for (int i = 0; i < p->n_blocks; i++)
        if (p->block[i].kind == EK__PYTHON_LOOP && p->block[i].trains)
            return report_tokens(
                run, entry, file, p->block[i].header, p->block[i].header,
                "this loop trains a dynamic graph and no gc.collect() is in the program: the interpreter "
                "collects by counts of objects, not by device memory; collect every some hundred steps");
    return EK_OK;
}

#define STEPS "for step, data in enumerate(dataset):\n    loss = train_step(mint.add(data, 1))\n"

/* clang-format off */
const ek__lint_entry ek__lint_dynamic[] = {
    {
        .together = true,
        .about = {.id = "mint-exists", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "An interface of ops is called in every step where mint has one",
                  .why = "mint calls the device's operators directly. Interfaces of ops may be put together from several operators, or be "
                         "compiled as a graph of one. Reported in construct, forward and loops that train, once for each function.",
                  .cost = "Time on the host at every call; the guide gives 0.5 to 4 times the speed for calls that go directly, by interface.",
                  .fix = "from mindspore import mint; mint.NAME(..). Arguments are named as in PyTorch: dim, not axis.",
                  .source = GUIDE ", programming checklist: fast interfaces, and direct calls of operators; MindSpore's list of mint interfaces",
                  .bad = "from mindspore import mint, nn, ops\n"
                         "class Net(nn.Cell):\n"
                         "    def construct(self, x):\n"
                         "        return ops.matmul(mint.tanh(x), self.weight)\n",
                  .good = "from mindspore import mint, nn\n"
                          "class Net(nn.Cell):\n"
                          "    def construct(self, x):\n"
                          "        return mint.matmul(mint.tanh(x), self.weight)\n"},
        .check = {[EK_LINT_PYTHON] = check_mint},
    },
    {
        .about = {.id = "tensor-replaced", .level = EK_LINT_WARNING, .kinds = PYTHON,
                  .title = "A tensor is updated by copying a new one over it",
                  .why = "p.copy_(p + g) computes p + g into a new tensor and copies that over p. p.add_(g) writes the sums where p is.",
                  .cost = "Memory of one tensor of that size while it runs, and a copy of it: its bytes are read and written once more.",
                  .fix = "p.add_(g), sub_, mul_, div_.",
                  .source = GUIDE ", programming checklist: redundant copies, updates in place and TensorMove",
                  .bad = "from mindspore import mint, ops\n"
                         "def update(p, g, lr):\n"
                         "    ops.assign(p, p - mint.mul(g, lr))\n",
                  .good = "from mindspore import mint, ops\n"
                          "def update(p, g, lr):\n"
                          "    p.sub_(mint.mul(g, lr))\n"},
        .check = {[EK_LINT_PYTHON] = check_in_place},
    },
    {
        .about = {.id = "optimizer-not-compiled", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "An optimizer of a dynamic graph runs without @jit",
                  .why = "An optimizer launches a few small operators for each parameter, always the same. Compiled, they are one graph that "
                         "the framework optimizes and launches as a whole.",
                  .cost = "Launches on the host for each parameter and operator in every step; the source gives no figure.",
                  .fix = "from mindspore import jit, and @jit above the optimizer's construct().",
                  .source = GUIDE ", advanced features: JIT, usually on the optimizer",
                  .bad = "from mindspore import mint, nn\n"
                         "class Sgd(nn.Optimizer):\n"
                         "    def construct(self, gradients):\n"
                         "        return self.map_(self.update, self.parameters, gradients)\n",
                  .good = "from mindspore import jit, mint, nn\n"
                          "class Sgd(nn.Optimizer):\n"
                          "    @jit\n"
                          "    def construct(self, gradients):\n"
                          "        return self.map_(self.update, self.parameters, gradients)\n"},
        .check = {[EK_LINT_PYTHON] = check_optimizer},
    },
    {
        .about = {.id = "gc-absent", .level = EK_LINT_NOTE, .kinds = PYTHON,
                  .title = "A dynamic graph is trained without a collection by hand",
                  .why = "Objects in cycles keep their tensors until a collection. Python starts one by the number of objects, however much "
                         "device memory they hold. The guide collects every few hundred steps. Files given together count together.",
                  .cost = "Device memory of tensors in cycles until Python collects; no figure in the source.",
                  .fix = "import gc, and `if step % 500 == 0: gc.collect()` in the loop.",
                  .source = GUIDE ", checklist of memory: collecting by hand",
                  .bad = "from mindspore import mint\n" STEPS,
                  .good = "import gc\nfrom mindspore import mint\n" STEPS "    if step % 500 == 0:\n        gc.collect()\n"},
        .check = {[EK_LINT_PYTHON] = check_collector},
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
