/* A program for lint's rules, from its tokens in one pass: blocks, calls with their arguments, assignments. Names are
 * numbered once, so that an import is one look into an array; expressions know where they begin, so that a chain of
 * calls is never walked again. Statements are distinguished by their first word and by colons outside brackets; no
 * expression is parsed. */
#include "lint/python.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    ek__python *out;
    int block;       /* the innermost that is open */
    int statement;   /* first token of the one that is read */
    int depth;       /* brackets open */
    int lambdas;     /* outside brackets, whose colon is to come */
    int target;      /* first token of a possible assignment's target */
    int annotation;  /* the colon between a name and its type; -1 */
    int decorators;  /* first token of those above the next definition; -1 */
    int header;      /* keyword of the compound statement whose colon is to come; -1 */
    bool parameters; /* its brackets with parameters or bases were there */
    int line_block;  /* the innermost that was open where the line began */
    int colon;       /* the line's last one that opened a block; -1 */
    ek__python_block_kind kind;
    ek_error *err;
} reader;

/* ---- names ---- */

static uint32_t hash_of(const char *text, int size)
{
    uint32_t hash = 2166136261U;
    for (int i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    return hash;
}

/* Number the names. */
static ek_status number_names(ek__python *p, ek_error *err)
{
    size_t n_slots = 16;
    int n_names = 0;
    for (int i = 0; i < p->n_tokens; i++)
        n_names += p->token[i].kind == EK__PYTHON_NAME;
    while (n_slots < 2 * (size_t)n_names)
        n_slots *= 2;
    int *slot = ek__alloc(n_slots, sizeof *slot);
    p->symbol = ek__pool_alloc(p->pool, (size_t)n_names, sizeof *p->symbol);
    p->alias = ek__pool_alloc(p->pool, (size_t)n_names, sizeof *p->alias);
    ek_status status = slot && p->symbol && p->alias ? EK_OK : ek__no_memory(err);
    for (int i = 0; status == EK_OK && i < p->n_tokens; i++) {
        ek__python_token *t = &p->token[i];
        if (t->kind != EK__PYTHON_NAME)
            continue;
        size_t at = hash_of(p->text + t->at, t->size) & (n_slots - 1);
        while (slot[at] && !ek__python_is(p, i, p->symbol[slot[at] - 1]))
            at = (at + 1) & (n_slots - 1);
        if (!slot[at]) {
            const char *copy = ek__pool_text(p->pool, p->text + t->at, (size_t)t->size);
            if (!copy)
                status = ek__no_memory(err);
            p->symbol[p->n_symbols++] = copy;
            slot[at] = p->n_symbols;
        }
        t->symbol = slot[at] - 1;
    }
    free(slot);
    return status;
}

static bool is_keyword(const ek__python *p, int token)
{
    static const char *const words[] = {
        "and",      "as",     "assert",  "async", "await", "break",  "class", "continue", "def",  "del",   "elif",
        "else",     "except", "finally", "for",   "from",  "global", "if",    "import",   "in",   "is",    "lambda",
        "nonlocal", "not",    "or",      "pass",  "raise", "return", "try",   "while",    "with", "yield", NULL};
    for (int i = 0; words[i]; i++)
        if (ek__python_is(p, token, words[i]))
            return true;
    return false;
}

static bool is_kind(const ek__python *p, int token, ek__python_kind kind)
{
    return token >= 0 && token < p->n_tokens && p->token[token].kind == kind;
}

/* Where the expressions begin that end at each token. */
static void find_primaries(ek__python *p)
{
    for (int i = 0; i < p->n_tokens; i++) {
        ek__python_token *t = &p->token[i];
        const char *c = p->text + t->at;
        bool dot = i >= 2 && ek__python_is(p, i - 1, ".") && p->token[i - 2].primary >= 0;
        if (t->kind == EK__PYTHON_NAME)
            t->primary = dot ? p->token[i - 2].primary : is_keyword(p, i) ? -1 : i;
        else if (t->kind == EK__PYTHON_NUMBER || t->kind == EK__PYTHON_STRING)
            t->primary = i;
        else if (t->kind == EK__PYTHON_FSTRING_END)
            t->primary = t->partner;
        else if (t->kind == EK__PYTHON_OPERATOR && t->partner >= 0 && t->partner < i) {
            int before = t->partner > 0 && *c != '}' ? p->token[t->partner - 1].primary : -1;
            t->primary = before >= 0 ? before : t->partner;
        }
    }
}

/* ---- imports ---- */

/* A dotted name from `token` on into `text`; the token after it. */
static int dotted_name(const ek__python *p, int token, char text[EK__PYTHON_MAX_NAME])
{
    size_t n = 0;
    bool fits = true;
    while (is_kind(p, token, EK__PYTHON_NAME) || ek__python_is(p, token, ".") || ek__python_is(p, token, "...")) {
        const ek__python_token *t = &p->token[token];
        if (t->kind == EK__PYTHON_NAME && is_keyword(p, token))
            break;
        fits = fits && n + (size_t)t->size < EK__PYTHON_MAX_NAME;
        if (fits) {
            memcpy(text + n, p->text + t->at, (size_t)t->size);
            n += (size_t)t->size;
        }
        token++;
    }
    text[fits ? n : 0] = '\0';
    return token;
}

static ek_status set_alias(reader *r, int token, const char *module, const char *member)
{
    ek__python *p = r->out;
    size_t size = strlen(module) + strlen(member) + 2;
    if (size > EK__PYTHON_MAX_NAME || module[0] == '\0')
        return EK_OK;
    const char *what =
        member[0] ? ek__pool_format(p->pool, "%s.%s", module, member) : ek__pool_format(p->pool, "%s", module);
    if (!what)
        return ek__no_memory(r->err);
    p->alias[p->token[token].symbol] = what;
    return EK_OK;
}

/* import a.b as c, d */
static ek_status read_import(reader *r, int token)
{
    ek__python *p = r->out;
    char name[EK__PYTHON_MAX_NAME];
    ek_status status = EK_OK;
    do {
        int first = ++token;
        token = dotted_name(p, first, name);
        if (token == first || !is_kind(p, first, EK__PYTHON_NAME))
            return EK_OK;
        if (ek__python_is(p, token, "as") && is_kind(p, token + 1, EK__PYTHON_NAME)) {
            status = set_alias(r, token + 1, name, "");
            token += 2;
        } else { /* the first part is bound, to itself */
            status = set_alias(r, first, p->symbol[p->token[first].symbol], "");
        }
    } while (status == EK_OK && ek__python_is(p, token, ","));
    return status;
}

/* from a.b import c as d, e */
static ek_status read_from(reader *r, int token)
{
    ek__python *p = r->out;
    char module[EK__PYTHON_MAX_NAME];
    token = dotted_name(p, token + 1, module);
    ek_status status = EK_OK;
    if (!ek__python_is(p, token, "import"))
        return EK_OK;
    token += 1 + ek__python_is(p, token + 1, "(");
    while (status == EK_OK && is_kind(p, token, EK__PYTHON_NAME)) {
        bool renamed = ek__python_is(p, token + 1, "as") && is_kind(p, token + 2, EK__PYTHON_NAME);
        status = set_alias(r, renamed ? token + 2 : token, module, p->symbol[p->token[token].symbol]);
        token += renamed ? 3 : 1;
        if (!ek__python_is(p, token, ","))
            break;
        token++;
    }
    return status;
}

/* ---- blocks ---- */

static ek_status open_block(reader *r, ek__python_block_kind kind, int header, int body)
{
    ek__python *p = r->out;
    ek__python_block *all = ek__pool_push(p->pool, p->block, p->n_blocks, sizeof *all);
    if (!all)
        return ek__no_memory(r->err);
    p->block = all;
    int here = p->n_blocks++;
    ek__python_block *b = &all[here];
    *b = (ek__python_block){.kind = kind,
                            .parent = -1,
                            .header = header,
                            .body = body,
                            .name = -1,
                            .loop = -1,
                            .in_class = -1,
                            .decorators = -1};
    if (here > 0) {
        const ek__python_block *parent = &all[r->block];
        b->parent = r->block;
        b->function = parent->function;
        b->loop = parent->loop;
        b->in_class = parent->in_class;
    }
    if (kind == EK__PYTHON_FUNCTION || kind == EK__PYTHON_CLASS) {
        int name = header + 1 + ek__python_is(p, header, "async");
        b->name = is_kind(p, name, EK__PYTHON_NAME) ? name : -1;
        b->function = kind == EK__PYTHON_FUNCTION ? here : b->function;
        b->in_class = kind == EK__PYTHON_CLASS ? here : b->in_class;
        b->loop = -1; /* a definition in a loop does not run there */
        b->decorators = r->decorators;
    }
    if (kind == EK__PYTHON_LOOP)
        b->loop = here;
    r->block = here;
    return EK_OK;
}

static void close_block(reader *r, int end)
{
    if (r->block == 0)
        return;
    r->out->block[r->block].end = end;
    r->block = r->out->block[r->block].parent;
}

/* The kind of block that a word begins; false: none. */
static bool begins_block(const ek__python *p, int token, ek__python_block_kind *out)
{
    static const struct {
        const char *word;
        ek__python_block_kind kind;
    } words[] = {
        {"def", EK__PYTHON_FUNCTION},   {"class", EK__PYTHON_CLASS},      {"for", EK__PYTHON_LOOP},
        {"while", EK__PYTHON_LOOP},     {"if", EK__PYTHON_CONDITION},     {"elif", EK__PYTHON_CONDITION},
        {"else", EK__PYTHON_CONDITION}, {"with", EK__PYTHON_SUITE},       {"try", EK__PYTHON_SUITE},
        {"finally", EK__PYTHON_SUITE},  {"except", EK__PYTHON_CONDITION},
    };
    int word = ek__python_is(p, token, "async") ? token + 1 : token;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ek__python_is(p, word, words[i].word)) {
            *out = words[i].kind;
            return true;
        }
    return false;
}

static ek_status begin_statement(reader *r, int token)
{
    ek__python *p = r->out;
    r->statement = r->target = token;
    r->depth = r->lambdas = 0;
    r->parameters = false;
    r->annotation = r->header = -1;
    if (ek__python_is(p, token, "@")) {
        r->decorators = r->decorators < 0 ? token : r->decorators;
        return EK_OK;
    }
    if (begins_block(p, token, &r->kind)) {
        r->header = token;
        if (ek__python_is(p, token, "while")) /* whose condition runs every time */
            return open_block(r, EK__PYTHON_LOOP, token, token + 1);
        return EK_OK;
    }
    r->decorators = -1;
    if (ek__python_is(p, token, "import"))
        return read_import(r, token);
    return ek__python_is(p, token, "from") ? read_from(r, token) : EK_OK;
}

/* A colon outside brackets. */
static ek_status read_colon(reader *r, int token)
{
    ek_status status = EK_OK;
    if (r->lambdas > 0) {
        r->lambdas--;
        return EK_OK;
    }
    if (r->header < 0) {
        r->annotation = r->annotation < 0 ? token : r->annotation;
        return EK_OK;
    }
    bool is_while = ek__python_is(r->out, r->header, "while");
    if (is_while)
        r->out->block[r->block].body = token + 1;
    else
        status = open_block(r, r->kind, r->header, token + 1);
    r->colon = token;
    r->decorators = -1;
    r->statement = r->target = token + 1;
    r->header = -1;
    if (status == EK_OK && !is_kind(r->out, token + 1, EK__PYTHON_NEWLINE))
        status = begin_statement(r, token + 1);
    return status;
}

/* ---- calls and assignments ---- */

static ek_status write_argument(reader *r, ek__python_call *call, int begin, int end)
{
    ek__python *p = r->out;
    if (begin >= end)
        return EK_OK;
    ek__python_argument a = {NULL, begin, end};
    if (begin + 1 < end && is_kind(p, begin, EK__PYTHON_NAME) && ek__python_is(p, begin + 1, "=")) {
        a.keyword = p->symbol[p->token[begin].symbol];
        a.begin = begin + 2;
    }
    ek__python_argument *all = ek__pool_push(p->pool, p->argument, p->n_arguments, sizeof *all);
    if (!all)
        return ek__no_memory(r->err);
    p->argument = all;
    all[p->n_arguments++] = a;
    call->n_arguments++;
    return EK_OK;
}

static ek_status read_arguments(reader *r, ek__python_call *call)
{
    const ek__python *p = r->out;
    int begin = call->open + 1;
    bool parameters = false; /* of a lambda */
    bool generator = false;  /* x for x, y in z: it is the only argument */
    ek_status status = EK_OK;
    call->first_argument = p->n_arguments;
    for (int i = begin; status == EK_OK && i < call->close; i++) {
        if (ek__python_is(p, i, "lambda"))
            parameters = true;
        else if (parameters && ek__python_is(p, i, ":"))
            parameters = false;
        else if (ek__python_is(p, i, "for"))
            generator = true;
        else if (!parameters && !generator && ek__python_is(p, i, ",")) {
            status = write_argument(r, call, begin, i);
            begin = i + 1;
        } else if (p->token[i].partner > i) {
            i = p->token[i].partner;
        }
    }
    return status ? status : write_argument(r, call, begin, call->close);
}

/* The dotted name that ends at call->token, with imports put in. */
static ek_status name_callee(reader *r, ek__python_call *call)
{
    ek__python *p = r->out;
    char text[EK__PYTHON_MAX_NAME], tail[EK__PYTHON_MAX_NAME];
    int first = p->token[call->token].primary;
    for (int i = first; i <= call->token; i++)
        if (p->token[i].kind != EK__PYTHON_NAME && !ek__python_is(p, i, "."))
            return EK_OK;
    const char *alias = p->alias[p->token[first].symbol];
    const char *front = alias ? alias : p->symbol[p->token[first].symbol];
    tail[0] = '\0';
    if (first < call->token)
        dotted_name(p, first + 1, tail);
    if ((first < call->token && !tail[0]) || strlen(front) + strlen(tail) + 1 > sizeof text)
        return EK_OK;
    call->imported = alias != NULL;
    call->callee = ek__pool_format(p->pool, "%s%s", front, tail);
    if (!call->callee)
        return ek__no_memory(r->err);
    const char *dot = strrchr(call->callee, '.');
    call->name = dot ? dot + 1 : call->callee;
    return EK_OK;
}

static ek_status read_call(reader *r, int open)
{
    ek__python *p = r->out;
    int before = open - 1;
    bool defines = r->header >= 0 && r->depth == 0 && !r->parameters &&
                   (r->kind == EK__PYTHON_FUNCTION || r->kind == EK__PYTHON_CLASS);
    if (defines) {
        r->parameters = true;
        return EK_OK;
    }
    if (before < 0 || p->token[before].primary < 0 || p->token[open].partner < 0)
        return EK_OK;
    if (before == r->statement && ek__python_is(p, p->token[open].partner + 1, ":") &&
        (ek__python_is(p, before, "match") || ek__python_is(p, before, "case")))
        return EK_OK; /* match (x): */
    bool named = is_kind(p, before, EK__PYTHON_NAME);
    ek__python_call call = {.name = named ? p->symbol[p->token[before].symbol] : "",
                            .token = named ? before : open,
                            .receiver = -1,
                            .open = open,
                            .close = p->token[open].partner,
                            .block = r->block,
                            .statement = r->statement};
    if (named && p->token[before].primary < before)
        call.receiver = p->token[before].primary;
    ek_status status = named ? name_callee(r, &call) : EK_OK;
    if (status == EK_OK)
        status = read_arguments(r, &call);
    ek__python_call *all = status ? NULL : ek__pool_push(p->pool, p->call, p->n_calls, sizeof *all);
    if (!all)
        return status ? status : ek__no_memory(r->err);
    p->call = all;
    all[p->n_calls++] = call;
    return EK_OK;
}

/* A sign that assigns, outside brackets. */
static ek_status read_assignment(reader *r, int sign)
{
    ek__python *p = r->out;
    ek__python_assignment *all = ek__pool_push(p->pool, p->assignment, p->n_assignments, sizeof *all);
    if (!all)
        return ek__no_memory(r->err);
    p->assignment = all;
    all[p->n_assignments++] = (ek__python_assignment){.target = r->target,
                                                      .target_end = r->annotation >= 0 ? r->annotation : sign,
                                                      .value = sign + 1,
                                                      .value_end = -1,
                                                      .augmented = p->token[sign].size > 1,
                                                      .block = r->block};
    r->target = sign + 1;
    r->annotation = -1;
    return EK_OK;
}

static bool assigns(const ek__python *p, int token)
{
    const ek__python_token *t = &p->token[token];
    char c = p->text[t->at], last = p->text[t->at + t->size - 1];
    if (t->kind != EK__PYTHON_OPERATOR || last != '=')
        return false;
    return t->size == 1 || t->size == 3 || strchr("+-*/%&|^@", c);
}

/* The values of this statement's assignments end before `end`: those of a chain `a = b = 1` are all the last one. */
static void end_assignments(reader *r, int end)
{
    ek__python *p = r->out;
    int value = -1;
    for (int i = p->n_assignments - 1; i >= 0 && p->assignment[i].value_end < 0; i--) {
        value = value < 0 ? p->assignment[i].value : value;
        p->assignment[i].value = value;
        p->assignment[i].value_end = end;
    }
}

/* ---- the pass ---- */

static ek_status end_line(reader *r, int token)
{
    end_assignments(r, token);
    bool opened = r->colon >= 0;
    r->colon = -1;
    if (!is_kind(r->out, token + 1, EK__PYTHON_INDENT)) {
        while (r->block > r->line_block) /* `if x: y`, or a syntax error */
            close_block(r, token);
        return EK_OK;
    }
    /* A suite after a word that is a keyword only there: match, case. */
    return opened ? EK_OK : open_block(r, EK__PYTHON_SUITE, r->statement, token);
}

static ek_status read_in_statement(reader *r, int i)
{
    const ek__python *p = r->out;
    const ek__python_token *t = &p->token[i];
    ek_status status = EK_OK;
    if (t->partner > i) {
        if (ek__python_is(p, i, "("))
            status = read_call(r, i);
        r->depth++;
    } else if (t->partner >= 0) {
        r->depth--;
    } else if (r->depth > 0) {
        return EK_OK;
    } else if (ek__python_is(p, i, "lambda")) {
        r->lambdas++;
    } else if (ek__python_is(p, i, ":")) {
        status = read_colon(r, i);
    } else if (ek__python_is(p, i, ";")) {
        end_assignments(r, i);
        if (!is_kind(p, i + 1, EK__PYTHON_NEWLINE))
            status = begin_statement(r, i + 1);
    } else if (r->header < 0 && r->lambdas == 0 && assigns(p, i)) {
        status = read_assignment(r, i);
    }
    return status;
}

static ek_status read_structure(reader *r)
{
    ek__python *p = r->out;
    ek_status status = open_block(r, EK__PYTHON_MODULE, 0, 0);
    bool fresh = true;
    for (int i = 0; status == EK_OK && i < p->n_tokens; i++) {
        switch (p->token[i].kind) {
        case EK__PYTHON_INDENT:
        case EK__PYTHON_END:
            break;
        case EK__PYTHON_DEDENT:
            close_block(r, i);
            break;
        case EK__PYTHON_NEWLINE:
            status = end_line(r, i);
            fresh = true;
            break;
        default:
            if (fresh) {
                r->line_block = r->block;
                status = begin_statement(r, i);
            }
            fresh = false;
            if (status == EK_OK)
                status = read_in_statement(r, i);
        }
    }
    for (int i = 0; status == EK_OK && i < p->n_blocks; i++)
        if (p->block[i].end == 0) /* the module, and syntax errors */
            p->block[i].end = p->n_tokens;
    return status;
}

ek_status ek__python_read(const char *name, const char *text, size_t size, ek__pool *pool, ek__python **out,
                          ek_error *err)
{
    ek__python *p = ek__pool_alloc(pool, 1, sizeof *p);
    if (!p)
        return ek__no_memory(err);
    *p = (ek__python){.pool = pool, .name = name, .text = text};
    reader r = {.out = p, .annotation = -1, .decorators = -1, .header = -1, .colon = -1, .err = err};
    ek__python_text tokens = {.pool = pool, .name = name, .text = text};
    ek_status status = ek__python_tokens(&tokens, size, err);
    p->token = tokens.token;
    p->n_tokens = tokens.n_tokens;
    if (status == EK_OK)
        status = number_names(p, err);
    if (status == EK_OK) {
        find_primaries(p);
        status = read_structure(&r);
    }
    if (status == EK_OK) {
        ek__python_find_training(p);
        status = ek__python_environment(p, err);
    }
    if (status == EK_OK)
        *out = p;
    return status;
}
