/* The code that runs in every training step, by names and blocks: methods called construct or forward, and loops in
 * whose body something trains: a backward(), an optimizer's step(), a function with train_step in its name. Code under
 * a condition with % in it, or with a word for an interval, runs in few steps and is left out. Calls
 * of other functions are not followed. */
#include "lint/hot.h"

#include <string.h>

static bool holds_one_of(const char *text, const char *const *parts)
{
    for (int i = 0; parts[i]; i++)
        if (strstr(text, parts[i]))
            return true;
    return false;
}

/* The name right before `.name` of a method's call; "" when it is no name. */
static const char *owner_of(const ek__python *p, const ek__python_call *call)
{
    const ek__python_token *t = call->receiver >= 0 ? &p->token[call->token - 2] : NULL;
    return t && t->kind == EK__PYTHON_NAME ? p->symbol[t->symbol] : "";
}

bool ek__python_trains(const ek__python *python, const ek__python_call *call)
{
    static const char *const functions[] = {
        "train_step", "train_one_step", "training_step", "train_batch", "forward_backward", "grad_fn", NULL};
    static const char *const owners[] = {"optim", "scaler", NULL};
    if (call->receiver >= 0 && strcmp(call->name, "backward") == 0)
        return true;
    if (call->receiver >= 0 && strcmp(call->name, "step") == 0)
        return holds_one_of(owner_of(python, call), owners) || strcmp(owner_of(python, call), "opt") == 0;
    return holds_one_of(call->name, functions);
}

void ek__python_find_training(ek__python *python)
{
    for (int i = 0; i < python->n_calls; i++) {
        int loop = python->block[python->call[i].block].loop;
        if (loop >= 0 && ek__python_trains(python, &python->call[i]))
            python->block[loop].trains = true;
    }
}

/* Does the condition let only some steps through? */
static bool is_now_and_then(const ek__python *p, const ek__python_block *b)
{
    static const char *const words[] = {"interval", "every", "freq", "period", NULL};
    for (int i = b->header; i < b->body; i++)
        if (ek__python_is(p, i, "%") || (p->token[i].symbol >= 0 && holds_one_of(p->symbol[p->token[i].symbol], words)))
            return true;
    return false;
}

static bool is_forward(const ek__python *p, const ek__python_block *b)
{
    return b->kind == EK__PYTHON_FUNCTION && b->in_class >= 0 &&
           (ek__python_is(p, b->name, "construct") || ek__python_is(p, b->name, "forward"));
}

ek__hot ek__python_hot(const ek__python *python, int block)
{
    bool same_function = true, every_time = true;
    for (int i = block; i >= 0; i = python->block[i].parent) {
        const ek__python_block *b = &python->block[i];
        if (is_forward(python, b))
            return every_time ? EK__HOT_FORWARD : EK__HOT_NOT;
        if (b->kind == EK__PYTHON_CONDITION && is_now_and_then(python, b))
            every_time = false;
        if (b->kind == EK__PYTHON_LOOP && b->trains && same_function && every_time)
            return EK__HOT_STEP;
        if (b->kind == EK__PYTHON_FUNCTION || b->kind == EK__PYTHON_CLASS)
            same_function = false;
    }
    return EK__HOT_NOT;
}

bool ek__python_is_mindspore(const ek__python *python)
{
    static const char *const modules[] = {"mindspore", "mindformers", "mindspeed_ms", NULL};
    for (int i = 0; i < python->n_symbols; i++)
        for (int m = 0; python->alias[i] && modules[m]; m++)
            if (strncmp(python->alias[i], modules[m], strlen(modules[m])) == 0)
                return true;
    for (int i = 0; i < python->n_blocks; i++)
        if (python->block[i].in_class >= 0 && python->block[i].kind == EK__PYTHON_FUNCTION &&
            ek__python_is(python, python->block[i].name, "construct"))
            return true;
    return false;
}

const char *ek__python_name(const ek__python *python, int token)
{
    int symbol = token >= 0 && token < python->n_tokens ? python->token[token].symbol : -1;
    return symbol >= 0 ? python->symbol[symbol] : "";
}

static bool begins_with(const char *text, const char *part)
{
    return strncmp(text, part, strlen(part)) == 0;
}

/* The mode that a call of set_context() names: 0 graphs, 1 PyNative; -1. */
static int mode_of(const ek__python *p, const ek__python_call *call)
{
    if (!call->imported || !call->callee || strcmp(call->name, "set_context") != 0 ||
        !begins_with(call->callee, "mindspore"))
        return -1;
    const ek__python_argument *a = ek__python_argument_of(p, call, "mode", 0);
    ek__python_literal v = {0};
    if (a)
        v = ek__python_value(p, a->begin, a->end);
    return v.kind == EK__PYTHON_WHOLE && (v.whole == 0 || v.whole == 1) ? (int)v.whole : -1;
}

bool ek__python_is_dynamic(const ek__python *python)
{
    bool dynamic = false;
    if (!ek__python_is_mindspore(python))
        return false;
    for (int i = 0; i < python->n_symbols; i++) {
        const char *alias = python->alias[i] ? python->alias[i] : "";
        if (strcmp(python->symbol[i], "GRAPH_MODE") == 0 || strstr(alias, "GRAPH_MODE"))
            return false;
        dynamic |= strcmp(python->symbol[i], "PYNATIVE_MODE") == 0 || begins_with(alias, "mindspore.mint") ||
                   begins_with(alias, "mindspeed_ms");
    }
    for (int i = 0; i < python->n_calls; i++) {
        const ek__python_call *call = &python->call[i];
        int mode = mode_of(python, call);
        if (mode == 0)
            return false;
        dynamic |= mode == 1 || (call->callee && call->imported && begins_with(call->callee, "mindspore.mint."));
    }
    return dynamic;
}
