/* Fuzzes programs under lint's checks: whatever the bytes, there is an error with a place, or a structure with links
 * between its parts as documented in its header. */
#include <assert.h>
#include <string.h>

#include "lint/python.h"
#include "lint_rules.h"

static void check_tokens(const ek__python *p, size_t size)
{
    int at = 0;
    assert(p->n_tokens > 0 && p->token[p->n_tokens - 1].kind == EK__PYTHON_END);
    for (int i = 0; i < p->n_tokens; i++) {
        const ek__python_token *t = &p->token[i];
        assert(t->at >= at && t->size >= 0 && (size_t)t->at + (size_t)t->size <= size);
        assert(t->line >= 1 && t->column >= 1 && t->primary <= i);
        assert(t->partner < p->n_tokens && (t->partner < 0 || p->token[t->partner].partner == i));
        assert((t->symbol >= 0) == (t->kind == EK__PYTHON_NAME) && t->symbol < p->n_symbols);
        at = t->at + t->size;
    }
}

static void check_structure(const ek__python *p)
{
    for (int i = 0; i < p->n_blocks; i++) {
        const ek__python_block *b = &p->block[i];
        assert(b->parent < i && (b->parent >= 0) == (i > 0) && b->loop < p->n_blocks);
        assert(b->header <= b->end && b->end <= p->n_tokens && b->function <= i && b->in_class <= i);
    }
    for (int i = 0; i < p->n_calls; i++) {
        const ek__python_call *c = &p->call[i];
        assert(c->open < c->close && p->token[c->open].partner == c->close && c->name && c->receiver <= c->token);
        assert(c->block >= 0 && c->block < p->n_blocks && c->first_argument + c->n_arguments <= p->n_arguments);
        for (int a = 0; a < c->n_arguments; a++) {
            const ek__python_argument *one = &p->argument[c->first_argument + a];
            assert(c->open < one->begin && one->begin <= one->end && one->end <= c->close);
            (void)ek__python_value(p, one->begin, one->end);
        }
    }
    for (int i = 0; i < p->n_assignments; i++) {
        const ek__python_assignment *a = &p->assignment[i];
        assert(a->target <= a->target_end && a->target_end < a->value && a->value <= a->value_end);
        assert(a->value_end <= p->n_tokens && a->block < p->n_blocks);
        (void)ek__python_value(p, a->value, a->value_end);
    }
    for (int i = 0; i < p->environment.n; i++)
        assert(p->environment.setting[i].name && p->environment.setting[i].line >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_error err = {0};
    ek__python *python = NULL;
    ek__pool *pool = ek__pool_new();
    if (!pool)
        return 0;
    char *text = ek__pool_alloc(pool, size + 1, 1);
    if (text) {
        if (size > 0)
            memcpy(text, data, size);
        if (ek__python_read("input.py", text, size, pool, &python, &err)) {
            assert(err.message[0] && (err.status != EK_ERR_INPUT || size > EK__PYTHON_MAX_BYTES || err.line >= 1));
        } else {
            check_tokens(python, size);
            check_structure(python);
        }
    }
    bool reads = python != NULL;
    ek__pool_free(pool);
    fuzz_rules(EK_LINT_PYTHON, data, size, reads);
    return 0;
}
