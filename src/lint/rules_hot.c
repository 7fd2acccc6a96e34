/* Rules on code that runs in every training step: copies, waits for the device and work of the host that a step pays
 * for each time. Calls are matched by name, by the receiver where it is a
 * name, and by the enclosing loop or method. */
#include <stdio.h>
#include <string.h>

#include "lint/hot.h"
#include "lint/rules.h"

#define PYTHON      (1U << EK_LINT_PYTHON)
#define GUIDE       "MindSpore's tuning guide for dynamic graphs"
#define TORCH_GUIDE "PyTorch's performance tuning guide"

static ek_status report_call(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                             const ek__python_call *call, const char *message)
{
    const ek__python_token *t = &file->python->token[call->token], *last = &file->python->token[call->close];
    return ek__lint_report(run, entry, file, t->line, t->column, last->line == t->line ? last->column + last->size : 0,
                           NULL, "%s", message);
}

static bool is_callee(const ek__python_call *call, const char *const *names)
{
    for (int i = 0; call->callee && call->imported && names[i]; i++)
        if (strcmp(call->callee, names[i]) == 0)
            return true;
    return false;
}

static bool is_name(const char *name, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* ---- contiguous() ---- */

enum { N_ASKED = 64 };

/* The last receivers of is_contiguous(), and where. */
typedef struct asked {
    int n;
    struct {
        int first, last, function;
    } one[N_ASKED];
} asked;

static bool same_text(const ek__python *p, int a, int a_last, int b, int b_last)
{
    const ek__python_token *x = &p->token[a], *y = &p->token[b];
    int n = p->token[a_last].at + p->token[a_last].size - x->at,
        m = p->token[b_last].at + p->token[b_last].size - y->at;
    return n == m && memcmp(p->text + x->at, p->text + y->at, (size_t)n) == 0;
}

static void note_asked(asked *a, const ek__python *p, const ek__python_call *call)
{
    int i = a->n++ % N_ASKED;
    a->one[i].first = call->receiver;
    a->one[i].last = call->token - 2;
    a->one[i].function = p->block[call->block].function;
}

/* Was it checked in the same function, before or in the same statement? */
static bool was_asked(const asked *a, const ek__python *p, const ek__python_call *call)
{
    for (int i = 0; i < a->n && i < N_ASKED; i++)
        if (a->one[i].function == p->block[call->block].function &&
            same_text(p, a->one[i].first, a->one[i].last, call->receiver, call->token - 2))
            return true;
    return false;
}

static ek_status check_contiguous(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    asked a = {0};
    ek_status status = EK_OK;
    if (!ek__python_is_mindspore(p))
        return EK_OK;
    /* In `x.contiguous() if not x.is_contiguous() else x` the check comes after the call: look a statement ahead. */
    for (int i = 0, ahead = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        for (; ahead < p->n_calls && p->call[ahead].statement <= call->statement; ahead++)
            if (p->call[ahead].receiver >= 0 && strcmp(p->call[ahead].name, "is_contiguous") == 0)
                note_asked(&a, p, &p->call[ahead]);
        if (call->receiver < 0 || strcmp(call->name, "contiguous") != 0 || call->imported || was_asked(&a, p, call))
            continue;
        if (ek__python_hot(p, call->block) != EK__HOT_NOT || p->block[call->block].loop >= 0)
            status =
                report_call(run, entry, file, call,
                            ".contiguous() in code that runs in every step, without a check of is_contiguous(): most "
                            "operators take tensors that are not contiguous; leave it out, or check first");
    }
    return status;
}

/* ---- sum ---- */

static bool adds_numbers(const ek__python *p, const ek__python_call *call)
{
    static const char *const words[] = {"numel", "shape", "size", "len", "item", "range", NULL};
    for (int i = call->open; i < call->close; i++)
        if (p->token[i].symbol >= 0 && is_name(p->symbol[p->token[i].symbol], words))
            return true;
    return false;
}

static ek_status check_sum(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    if (!ek__python_is_mindspore(p))
        return EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        if (strcmp(call->name, "sum") != 0 || call->imported || ek__python_hot(p, call->block) == EK__HOT_NOT)
            continue;
        if (call->receiver >= 0)
            status = report_call(run, entry, file, call,
                                 "the method sum() in code that runs in every step; mint.sum() does the same faster");
        else if (!adds_numbers(p, call))
            status = report_call(run, entry, file, call,
                                 "Python's sum() adds one after another in code that runs in every step; use "
                                 "mint.sum() on one tensor");
    }
    return status;
}

/* ---- copies from NumPy ---- */

static bool is_numpy(const ek__python *p, int token)
{
    const ek__python_token *t = &p->token[token];
    const char *alias = t->kind == EK__PYTHON_NAME ? p->alias[t->symbol] : NULL;
    return alias && strncmp(alias, "numpy", 5) == 0 && (alias[5] == '\0' || alias[5] == '.');
}

/* Is [begin, end) a call of NumPy, or something's asnumpy() or numpy()? */
static bool makes_array(const ek__python *p, int begin, int end)
{
    static const char *const methods[] = {"asnumpy", "numpy", NULL};
    if (begin >= end || !ek__python_is(p, end - 1, ")") || p->token[end - 1].primary != begin)
        return false;
    int name = p->token[end - 1].partner - 1;
    bool method = name > begin && p->token[name].symbol >= 0 && is_name(p->symbol[p->token[name].symbol], methods);
    return is_numpy(p, begin) || method;
}

/* Is the name assigned from NumPy in the assignments [0, n), last of all in this function? */
static bool holds_array(const ek__python *p, int n, int token, int function)
{
    enum { FAR = 200 }; /* assignments back */
    for (int i = n - 1; i >= 0 && i >= n - FAR; i--) {
        const ek__python_assignment *a = &p->assignment[i];
        if (a->target_end == a->target + 1 && p->token[a->target].symbol == p->token[token].symbol &&
            p->block[a->block].function == function)
            return !a->augmented && makes_array(p, a->value, a->value_end);
    }
    return false;
}

static ek_status check_copies(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const makers[] = {"mindspore.Tensor", "mindspore.tensor",        "torch.tensor",
                                         "torch.Tensor",     "mindspore.common.Tensor", NULL};
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0, before = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        while (before < p->n_assignments && p->assignment[before].value_end <= call->token)
            before++;
        const ek__python_argument *a =
            is_callee(call, makers) ? ek__python_argument_of(p, call, "input_data", 0) : NULL;
        if (!a || (p->block[call->block].loop < 0 && ek__python_hot(p, call->block) == EK__HOT_NOT))
            continue;
        bool name = a->end == a->begin + 1 && p->token[a->begin].symbol >= 0;
        if (makes_array(p, a->begin, a->end) ||
            (name && holds_array(p, before, a->begin, p->block[call->block].function)))
            status = report_call(run, entry, file, call,
                                 strncmp(call->callee, "torch", 5) == 0
                                     ? "copies a NumPy array every time; torch.from_numpy() shares its memory"
                                     : "copies a NumPy array every time; Tensor.from_numpy() takes one that is "
                                       "contiguous without a copy");
    }
    return status;
}

/* ---- waiting for the device ---- */

static ek_status check_waits(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const methods[] = {"asnumpy", "item", "tolist", "cpu", "numpy", NULL};
    static const char *const functions[] = {"torch.cuda.synchronize",        "torch_npu.npu.synchronize",
                                            "torch.npu.synchronize",         "mindspore.hal.synchronize",
                                            "mindspore.runtime.synchronize", NULL};
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        bool method = call->receiver >= 0 && !call->imported && call->n_arguments == 0 && is_name(call->name, methods);
        if ((!method && !is_callee(call, functions)) || ek__python_hot(p, call->block) == EK__HOT_NOT)
            continue;
        char message[256];
        snprintf(message, sizeof message,
                 "%s() in every step waits until the device is done, and nothing is sent to it meanwhile; do it every "
                 "some hundred steps, or on the device",
                 call->name);
        status = report_call(run, entry, file, call, message);
    }
    return status;
}

/* Is the name a tensor, because backward() is called on it or a training step gives it? `tensor` is by symbol. */
static ek_status find_tensors(const ek__python *p, bool *tensor)
{
    int a = 0;
    for (int i = 0; i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        if (!ek__python_trains(p, call))
            continue;
        if (strcmp(call->name, "backward") == 0 && call->token - 2 == call->receiver &&
            p->token[call->receiver].symbol >= 0)
            tensor[p->token[call->receiver].symbol] = true;
        while (a < p->n_assignments && p->assignment[a].value_end <= call->token)
            a++;
        bool whole = a < p->n_assignments && p->token[call->close].primary == p->assignment[a].value &&
                     call->close + 1 == p->assignment[a].value_end && strcmp(call->name, "step") != 0;
        for (int t = whole ? p->assignment[a].target : 0; whole && t < p->assignment[a].target_end; t++)
            if (p->token[t].symbol >= 0 && p->token[t].primary == t && !ek__python_is(p, t + 1, "."))
                tensor[p->token[t].symbol] = true;
    }
    return EK_OK;
}

/* The first tensor that is handed over as it is; -1. */
static int tensor_in(const ek__python *p, const ek__python_call *call, const bool *tensor)
{
    for (int i = call->open + 1; i < call->close; i++) {
        const ek__python_token *t = &p->token[i];
        bool inner = ek__python_is(p, i, "(") || ek__python_is(p, i, "[");
        if (inner)
            i = t->partner;
        else if (t->symbol >= 0 && t->primary == i && tensor[t->symbol] && !ek__python_is(p, i + 1, ".") &&
                 !ek__python_is(p, i + 1, "(") && !ek__python_is(p, i + 1, "[") && !ek__python_is(p, i + 1, "="))
            return i;
    }
    return -1;
}

static ek_status check_print(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    bool *tensor = ek__pool_alloc(run->pool, (size_t)p->n_symbols, sizeof *tensor);
    if (!tensor)
        return ek__no_memory(run->err);
    ek_status status = find_tensors(p, tensor);
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        if (!call->callee || strcmp(call->callee, "print") != 0 || ek__python_hot(p, call->block) != EK__HOT_STEP)
            continue;
        int which = tensor_in(p, call, tensor);
        if (which >= 0) {
            const ek__python_token *t = &p->token[which];
            status = ek__lint_report(run, entry, file, t->line, t->column, ek__python_end_column(p, which), NULL,
                                     "printing the tensor %.60s in every step waits until the device is done; print it "
                                     "every some hundred steps",
                                     p->symbol[t->symbol]);
        }
    }
    return status;
}

/* ---- garbage ---- */

static ek_status check_collect(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const collect[] = {"gc.collect", NULL};
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++)
        if (is_callee(&p->call[i], collect) && ek__python_hot(p, p->call[i].block) != EK__HOT_NOT)
            status = report_call(run, entry, file, &p->call[i],
                                 "gc.collect() in every step looks at every object of the program each time; call it "
                                 "every some hundred steps");
    return status;
}

/* Is the token one of these names of gc, called or handed over as it is? */
static bool names_one_of(const ek__python *p, int token, const char *const *names)
{
    const ek__python_token *t = &p->token[token];
    const char *alias = t->symbol >= 0 ? p->alias[t->symbol] : NULL;
    if (!alias || strncmp(alias, "gc", 2) != 0 || (alias[2] != '\0' && alias[2] != '.'))
        return false;
    if (alias[2] == '.')
        return is_name(alias + 3, names);
    return token + 2 < p->n_tokens && ek__python_is(p, token + 1, ".") && p->token[token + 2].symbol >= 0 &&
           is_name(p->symbol[p->token[token + 2].symbol], names);
}

static ek_status check_never(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const disable[] = {"gc.disable", NULL}, *const again[] = {"collect", "enable", NULL};
    const ek__python *p = file->python;
    const ek__python_call *disabled = NULL;
    for (int i = 0; i < p->n_calls && !disabled; i++)
        if (is_callee(&p->call[i], disable))
            disabled = &p->call[i];
    for (int i = 0; disabled && i < p->n_tokens; i++)
        if (names_one_of(p, i, again))
            return EK_OK;
    return disabled ? report_call(run, entry, file, disabled,
                                  "gc.disable() and no gc.collect() in this program: cycles with tensors in them stay; "
                                  "call gc.collect() every some hundred steps")
                    : EK_OK;
}

/* ---- bprop ---- */

static ek_status check_bprop(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0, scanned = 0; status == EK_OK && i < p->n_blocks; i++) {
        const ek__python_block *b = &p->block[i];
        if (b->kind != EK__PYTHON_FUNCTION || b->parent < 0 || p->block[b->parent].kind != EK__PYTHON_CLASS ||
            !ek__python_is(p, b->name, "bprop") || b->parent < scanned)
            continue;
        const ek__python_block *of = &p->block[b->parent];
        bool told = false;
        scanned = b->parent + 1; /* a class is looked through once */
        for (int t = of->body; t < of->end && !told; t++)
            told = ek__python_is(p, t, "used_bprop_inputs");
        const ek__python_token *name = &p->token[b->name];
        if (!told)
            status =
                ek__lint_report(run, entry, file, name->line, name->column, ek__python_end_column(p, b->name), NULL,
                                "this bprop() without used_bprop_inputs keeps all inputs and the output until it "
                                "runs; set self.used_bprop_inputs in __init__ to the indices it needs");
    }
    return status;
}

/* ---- the table ---- */

const ek__lint_entry ek__lint_hot[] = {
    {
        .about = {.id = "contiguous-unasked",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "contiguous() in every step without a check",
                  .why = "contiguous() copies a tensor whose elements do not follow one another. Most aclnn operators "
                         "read such tensors without a copy, so the copy has no benefit. Reported in construct, forward "
                         "and loops of programs for MindSpore.",
                  .cost = "A copy of the tensor on the device in every step: twice its bytes of memory traffic.",
                  .fix = "Leave it out, or write `if not x.is_contiguous(): x = x.contiguous()`.",
                  .source = GUIDE ", checklist of programming: redundant copies",
                  .bad = "import mindspore as ms\n"
                         "class Net(ms.nn.Cell):\n"
                         "    def construct(self, x):\n"
                         "        return self.dense(x.swapaxes(0, 1).contiguous())\n",
                  .good = "import mindspore as ms\n"
                          "class Net(ms.nn.Cell):\n"
                          "    def construct(self, x):\n"
                          "        if not x.is_contiguous():\n"
                          "            x = x.contiguous()\n"
                          "        return self.dense(x)\n"},
        .check = {[EK_LINT_PYTHON] = check_contiguous},
    },
    {
        .about = {.id = "python-sum",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "sum() of Python or of a tensor in every step",
                  .why = "Python's sum() sends one addition after another to the device, and the method goes through "
                         "more of Python than the function of mint does. Sums of sizes and lengths are not reported.",
                  .cost = "Host time of a launch for every element that is added; no figure in the source.",
                  .fix = "mint.sum(x)",
                  .source = GUIDE ", checklist of programming: native Python sums",
                  .bad = "import mindspore as ms\n"
                         "class Net(ms.nn.Cell):\n"
                         "    def construct(self, x):\n"
                         "        return x.sum()\n",
                  .good = "from mindspore import mint, nn\n"
                          "class Net(nn.Cell):\n"
                          "    def construct(self, x):\n"
                          "        return mint.sum(x)\n"},
        .check = {[EK_LINT_PYTHON] = check_sum},
    },
    {
        .about = {.id = "numpy-copied",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "A NumPy array is copied into a tensor in a loop",
                  .why =
                      "Tensor(array) and torch.tensor(array) copy; from_numpy takes over the memory of an array that "
                      "is contiguous.",
                  .cost = "A copy of the array on the host each time.",
                  .fix = "Tensor.from_numpy(array), torch.from_numpy(array)",
                  .source =
                      GUIDE ", checklist of programming: frequent copies; PyTorch's documentation of torch.tensor",
                  .bad = "import numpy as np\n"
                         "from mindspore import Tensor\n"
                         "for batch in batches:\n"
                         "    train_step(Tensor(np.stack(batch)))\n",
                  .good = "import numpy as np\n"
                          "from mindspore import Tensor\n"
                          "for batch in batches:\n"
                          "    train_step(Tensor.from_numpy(np.stack(batch)))\n"},
        .check = {[EK_LINT_PYTHON] = check_copies},
    },
    {
        .about = {.id = "device-waited-for",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "Every step waits for the device",
                  .why =
                      "item(), asnumpy(), cpu(), tolist() and synchronize() wait until the device has computed "
                      "everything that was sent, and the host sends nothing meanwhile. Reported in construct, forward "
                      "and in loops that train, except under a condition with % or a word for an interval.",
                  .cost = "The launches of the next step are no longer hidden; the device idles for that long.",
                  .fix = "Do it every some hundred steps: `if step % 100 == 0:`.",
                  .source = TORCH_GUIDE ", unnecessary synchronisation; " GUIDE ", host launches should hide",
                  .bad = "for data, label in dataset:\n"
                         "    loss = train_step(data, label)\n"
                         "    total += loss.asnumpy()\n",
                  .good = "for step, (data, label) in enumerate(dataset):\n"
                          "    loss = train_step(data, label)\n"
                          "    if step % 100 == 0:\n"
                          "        log(loss.asnumpy())\n"},
        .check = {[EK_LINT_PYTHON] = check_waits},
    },
    {
        .about =
            {.id = "tensor-printed",
             .level = EK_LINT_WARNING,
             .kinds = PYTHON,
             .title = "A tensor is printed in every step",
             .why =
                 "Printing a tensor copies it to the host and waits for it, like item(). Tensors are the results of a "
                 "training step and the receivers of backward().",
             .cost = "As device-waited-for.",
             .fix = "Print it every some hundred steps.",
             .source = TORCH_GUIDE ", unnecessary synchronisation",
             .bad = "for data, label in dataset:\n"
                    "    loss = train_step(data, label)\n"
                    "    print(f\"loss {loss}\")\n",
             .good = "for step, (data, label) in enumerate(dataset):\n"
                     "    loss = train_step(data, label)\n"
                     "    if step % 100 == 0:\n"
                     "        print(f\"loss {loss}\")\n"},
        .check = {[EK_LINT_PYTHON] = check_print},
    },
    {
        .about = {.id = "gc-every-step",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "gc.collect() in every step",
                  .why = "A collection goes through every object of the program. The guide has one every few hundred "
                         "steps.",
                  .cost = "Host time in every step, growing with the program's objects; no figure in the source.",
                  .fix = "`if step % 500 == 0: gc.collect()`",
                  .source = GUIDE ", checklist of memory: collecting by hand",
                  .bad = "import gc\nfor data in dataset:\n    train_step(data)\n    gc.collect()\n",
                  .good = "import gc\n"
                          "for step, data in enumerate(dataset):\n"
                          "    train_step(data)\n"
                          "    if step % 500 == 0:\n"
                          "        gc.collect()\n"},
        .check = {[EK_LINT_PYTHON] = check_collect},
    },
    {
        .about = {.id = "gc-never",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "Garbage collection is off and never done by hand",
                  .why = "Objects that refer to each other are only freed by a collection. With tensors in them their "
                         "memory on the device stays.",
                  .cost = "Memory that grows with the steps.",
                  .fix = "Call gc.collect() every some hundred steps.",
                  .source = GUIDE ", checklist of memory: collecting by hand",
                  .bad = "import gc\ngc.disable()\nfor data in dataset:\n    train_step(data)\n",
                  .good = "import gc\n"
                          "gc.disable()\n"
                          "for step, data in enumerate(dataset):\n"
                          "    train_step(data)\n"
                          "    if step % 500 == 0:\n"
                          "        gc.collect()\n"},
        .check = {[EK_LINT_PYTHON] = check_never},
    },
    {
        .about = {.id = "bprop-keeps-inputs",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "A bprop() keeps inputs that it may not need",
                  .why = "A cell with a bprop() of its own keeps all inputs and its output until the backward pass, "
                         "unless used_bprop_inputs names those that are needed.",
                  .cost = "The bytes of the inputs that are not needed, for every micro-batch that is under way.",
                  .fix = "self.used_bprop_inputs = [2] in __init__ for a bprop() that needs only the gradient of two "
                         "parameters' output.",
                  .source = GUIDE ", checklist of memory: data of custom operators",
                  .bad = "class Scatter(nn.Cell):\n"
                         "    def __init__(self):\n"
                         "        super().__init__()\n"
                         "    def bprop(self, x, out, dout):\n"
                         "        return (gather(dout),)\n",
                  .good = "class Scatter(nn.Cell):\n"
                          "    def __init__(self):\n"
                          "        super().__init__()\n"
                          "        self.used_bprop_inputs = [2]\n"
                          "    def bprop(self, x, out, dout):\n"
                          "        return (gather(dout),)\n"},
        .check = {[EK_LINT_PYTHON] = check_bprop},
    },
    {.about = {.id = NULL}},
};
