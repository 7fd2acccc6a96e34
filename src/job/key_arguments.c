/* Converts files of keys to arguments of Megatron-LM: reads values by their paths, substitutes ${...}, walks the table
 * of a form, and turns messages about arguments into messages about their keys. */
#include "job/key_arguments.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "job/megatron_run.h"

/* ---- values ---- */

static const ek__node *walk(const ek__node *from, const char *path)
{
    char part[80];
    while (from && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof part || from->kind != EK__MAP)
            return NULL;
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        from = ek__get(from, part);
        path += n + (path[n] == '.');
    }
    return from;
}

/* The value of ${a.b}: from the root, or with leading dots from the map of the value (one dot) and its enclosing maps;
 * NULL: an expression that needs evaluation. */
static const ek__node *referred(const ek__config_tree *doc, const ek__node *node)
{
    char path[160];
    const char *text = node->text + 2;
    size_t n = strcspn(text, "}");
    if (n >= sizeof path || text[n] != '}' || text[n + 1] != '\0' || strcspn(text, ":${ ") < n)
        return NULL;
    snprintf(path, sizeof path, "%.*s", (int)n, text);
    size_t dots = strspn(path, ".");
    const ek__node *from = ek__config_root(doc);
    if (dots > 0)
        from = node->parent;
    for (size_t i = 1; i < dots && from; i++)
        from = from->parent;
    return walk(from, path + dots);
}

bool ek__key_is_unknown(const ek__node *node)
{
    return node->kind == EK__SCALAR && strncmp(node->text, "${", 2) == 0;
}

const ek__node *ek__key_find(const ek__config_tree *doc, const char *path)
{
    enum { MAX_REFERENCES = 8 };
    const ek__node *node = walk(ek__config_root(doc), path);
    for (int i = 0; i < MAX_REFERENCES && node && ek__key_is_unknown(node); i++) {
        const ek__node *next = referred(doc, node);
        if (!next)
            break;
        node = next;
    }
    bool missing = !node || ek__node_is_null(node) || (node->kind == EK__SCALAR && strcmp(node->text, "???") == 0);
    return missing ? NULL : node;
}

/* ---- names ---- */

static const char *path_of(const ek__key_form *form, const char *argument, size_t n)
{
    for (const ek__key_argument *key = form->keys; key->path; key++)
        if (strncmp(key->argument, argument, n) == 0 && key->argument[n] == '\0')
            return key->path;
    return NULL;
}

/* A message about arguments as one about their keys. */
static void respell(const ek__key_form *form, ek_error *message)
{
    char text[sizeof message->message];
    size_t n = 0;
    for (const char *at = message->message; *at && n + 1 < sizeof text;) {
        size_t name = strncmp(at, "--", 2) == 0 ? strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-_") : 0;
        const char *path = name > 0 ? path_of(form, at + 2, name) : NULL;
        if (path) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", path);
            at += 2 + name;
        } else {
            text[n++] = *at++;
        }
    }
    text[n < sizeof text ? n : sizeof text - 1] = '\0';
    memcpy(message->message, text, sizeof text);
}

typedef struct teller {
    const ek__key_form *form;
    const ek_listener *listener;
} teller;

static void tell(void *user, const ek_error *warning)
{
    const teller *t = user;
    ek_error respelled = *warning;
    respell(t->form, &respelled);
    if (t->listener)
        t->listener->warn(t->listener->user, &respelled);
}

/* ---- from keys to arguments ---- */

/* "torch.bfloat16", plain or as the _target_ of a map, in Megatron's word. */
static const char *short_type(const char *text)
{
    static const char *const words[][2] = {{"torch.bfloat16", "bf16"},     {"torch.float32", "fp32"},
                                           {"torch.float16", "fp16"},      {"torch.uint8", "fp8"},
                                           {"torch.float8_e4m3fn", "fp8"}, {"torch.float8_e5m2", "fp8"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], text) == 0)
            return words[i][1];
    return text;
}

/* The text of a value, or the name of a map's class (_target_; _name_ of an enumerator). */
ek_status ek__key_text(const ek__key_reader *r, const ek__node *node, char *buffer, size_t size, const char **out)
{
    int whole = 0;
    if (node->kind == EK__MAP) {
        const ek__node *name = ek__get(node, "_name_"), *target = ek__get(node, "_target_");
        node = name && name->kind == EK__SCALAR ? name : target && target->kind == EK__SCALAR ? target : node;
    }
    ek_status status = ek__expect(&r->in, node, EK__SCALAR, "give one value");
    if (status)
        return status;
    *out = short_type(node->text);
    if (ek__node_is_int(node, &whole)) { /* 8.0 is 8 */
        snprintf(buffer, size, "%d", whole);
        *out = buffer;
    }
    return EK_OK;
}

ek_status ek__key_put(ek__key_reader *r, const char *argument, const char *value, ek_origin at)
{
    return ek__arguments_put(&r->a, argument, &value, value != NULL, NULL, at);
}

ek_status ek__key_put_value(ek__key_reader *r, const char *argument, const ek__node *node)
{
    char buffer[24];
    const char *text = NULL;
    ek_origin at = ek__node_origin(r->in.doc, node);
    if (ek__key_is_unknown(node)) {
        text = "";
        return ek__arguments_put(&r->a, argument, &text, 1, node->text, at);
    }
    ek_status status = ek__key_text(r, node, buffer, sizeof buffer, &text);
    return status ? status : ek__key_put(r, argument, text, at);
}

ek_status ek__key_put_list(ek__key_reader *r, const char *argument, const ek__node *list)
{
    enum { MAX_VALUES = 64 };
    char buffer[MAX_VALUES][24];
    const char *values[MAX_VALUES];
    int n = 0;
    ek_status status = EK_OK;
    if (list->kind != EK__LIST)
        return ek__key_put_value(r, argument, list);
    for (const ek__node *item = list->first; item && n < MAX_VALUES && status == EK_OK; item = item->next, n++)
        status = ek__key_text(r, item, buffer[n], sizeof buffer[n], &values[n]);
    return status || n == 0 ? status
                            : ek__arguments_put(&r->a, argument, values, n, NULL, ek__node_origin(r->in.doc, list));
}

static const ek__node *find(const ek__key_reader *r, const char *path)
{
    return ek__key_find(r->in.doc, path);
}

/* A switch with a required known value; *out does not change if it is absent. */
ek_status ek__key_switch(const ek__key_reader *r, const char *path, bool *out)
{
    const ek__node *node = find(r, path);
    if (!node)
        return EK_OK;
    if (ek__key_is_unknown(node))
        return ek__fail_at(&r->in, node, "is %.60s, which is known only at run time; write true or false", node->text);
    return ek__bool(&r->in, node, "it is a switch", out);
}

static ek_status put_key(ek__key_reader *r, const ek__key_argument *key, bool *decided)
{
    const ek__node *node = find(r, key->path);
    bool on = false;
    if (!node)
        return EK_OK;
    switch (key->how) {
    case EK__KEY_VALUE:
        return ek__key_put_value(r, key->argument, node);
    case EK__KEY_LIST:
        return ek__key_put_list(r, key->argument, node);
    case EK__KEY_SWITCH:
    case EK__KEY_ANY:
    case EK__KEY_WITHOUT: {
        ek_status status = ek__key_switch(r, key->path, &on);
        *decided = key->how == EK__KEY_SWITCH;
        return status || on == (key->how == EK__KEY_WITHOUT)
                   ? status
                   : ek__key_put(r, key->argument, NULL, ek__node_origin(r->in.doc, node));
    }
    case EK__KEY_SPELLED:
        break;
    }
    return EK_OK;
}

ek_status ek__key_put_all(ek__key_reader *r)
{
    ek_status status = EK_OK;
    const char *done = ""; /* the argument that an earlier switch has set, on or off */
    for (const ek__key_argument *key = r->form->keys; key->path && status == EK_OK; key++) {
        bool decided = false;
        if (key->how == EK__KEY_SPELLED || ek__argument_given(&r->a, key->argument) ||
            strcmp(done, key->argument) == 0 || (key->only_with && !ek__argument_given(&r->a, key->only_with)))
            continue;
        status = put_key(r, key, &decided);
        done = decided ? key->argument : done;
    }
    return status;
}

/* ---- errors ---- */

bool ek__key_is_off(const ek__node *node)
{
    bool on = true;
    double value = 0;
    if (node->kind != EK__SCALAR)
        return node->n == 0;
    return (ek__node_is_bool(node, &on) && !on) || (ek__text_is_number(node->text, &value) && value == 0) ||
           strcmp(node->text, "none") == 0 || node->text[0] == '\0';
}

ek_status ek__key_check(ek__key_reader *r)
{
    for (const ek__key_trouble *t = r->form->troubles; t->path; t++) {
        const ek__node *node = find(r, t->path);
        if (!node || ek__key_is_off(node))
            continue;
        if (t->refused)
            return ek__fail_at(&r->in, node, "%s", t->what);
        ek__warn_at(&r->in, node, "%s", t->what);
    }
    return EK_OK;
}

/* All missing sizes in one message. */
ek_status ek__key_check_missing(ek__key_reader *r, const ek_job_overrides *overrides)
{
    const struct {
        const char *argument;
        int instead;
    } needed[] = {{"num-layers", overrides->n_layers},
                  {"hidden-size", 0},
                  {"num-attention-heads", 0},
                  {"seq-length", overrides->seq_length},
                  {"micro-batch-size", overrides->batch}};
    char names[400] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (ek__argument_given(&r->a, needed[i].argument) || needed[i].instead > 0)
            continue;
        const char *path = path_of(r->form, needed[i].argument, strlen(needed[i].argument));
        n += n < sizeof names ? (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", path) : 0;
    }
    if (n == 0)
        return EK_OK;
    return ek__fail(r->in.err, EK_ERR_INPUT, ((ek_origin){ek__config_name(r->in.doc), 0, 0}), "the file has no %s%s",
                    names, r->form->if_missing);
}

/* ---- a whole file ---- */

ek_status ek__key_read(const ek__key_form *form, ek__key_fill *fill, void *user, const ek__job_source *source,
                       const ek_job_overrides *overrides, ek_job *job)
{
    assert(form);
    teller t = {form, source->listener};
    const ek_listener listener = {tell, &t};
    ek_error why = {0};
    ek__job_source own = *source;
    own.listener = &listener;
    own.err = &why;
    ek__key_reader r = {.in = {source->doc, &listener, &why}, .form = form};
    ek_status status = ek__arguments_start(&own, &r.a);
    if (status == EK_OK)
        status = fill(&r, overrides, user);
    if (status == EK_OK)
        status = ek__megatron_read_job(&r.a, overrides, job);
    ek__arguments_clear(&r.a);
    respell(form, &why);
    if (status && source->err)
        *source->err = why;
    return status;
}
