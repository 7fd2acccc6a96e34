/* Reads a job from a file by the first format that recognises it. The text is parsed once, as YAML or JSON if it is
 * one, so a format is recognised by a few keys and does not parse the text itself. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree_python.h"
#include "base/config_tree_toml.h"
#include "job/hugging_face.h"
#include "job/job_internal.h"
#include "job/megatron_arguments.h"
#include "job/mindformers_pipeline.h"

/* Each kind of job file has a line; the first one that recognises a file reads it. */
static const ek__job_format *const formats[] = {
    &ek__job_torchtitan,   &ek__job_mindspeed, &ek__job_mindformers, &ek__job_nemo,     &ek__job_llama_factory,
    &ek__job_hugging_face, &ek__job_trainer,   &ek__job_internevo,   &ek__job_megatron,
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* ---- reading ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Advice for a file of a kind often found next to a job; NULL: none of those. */
static const char *kin_of(const ek__job_source *source)
{
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    if (!root || root->kind != EK__MAP)
        return NULL;
    if (ek__get(root, "zero_optimization") || ek__get(root, "train_micro_batch_size_per_gpu"))
        return "is a configuration of DeepSpeed, which does not contain the model; give the launch script that names "
               "it with --deepspeed or --deepspeed_config, the YAML of LLaMA-Factory, or the model's config.json with "
               "degrees as options";
    const ek__node *type = ek__get(root, "model_type"), *states = ek__get(root, "ssm_cfg");
    const ek__hf_kind *kind = type && type->kind == EK__SCALAR ? ek__hf_find_kind(type->text) : NULL;
    if (states || (kind && kind->otherwise))
        return "is the configuration of a model whose layers are not modelled (an encoder, state spaces, linear "
               "attention); such a model is not predicted";
    if (type && ek__get(root, "architectures"))
        return "is a config.json of Hugging Face without num_hidden_layers and hidden_size; add them";
    const ek__node *trainer = ek__get(root, "trainer");
    if (trainer && trainer->kind == EK__MAP && ek__get(trainer, "strategy"))
        return "is a recipe of NeMo 2, which names the model by its class without its sizes; give the model's "
               "config.json with degrees as options, or the whole configuration that Megatron-Bridge writes";
    return NULL;
}

/* Settings of InternEvo as Python, in a file with another name. */
static bool has_python_maps(const char *text)
{
    return strstr(text, "\nmodel = dict(") && strstr(text, "\nparallel = dict(");
}

/* Is the text probably YAML or JSON, so that its syntax error is the message to give? */
static bool is_meant_as_document(const ek__job_source *source)
{
    size_t i = strspn(source->text, " \t\r\n");
    return ends_with(source->path, ".yaml") || ends_with(source->path, ".yml") || ends_with(source->path, ".json") ||
           ends_with(source->path, ".toml") || ends_with(source->path, ".py") || source->toml ||
           source->text[i] == '{' || has_python_maps(source->text) || i == source->size;
}

static ek_status fail_unrecognised(const ek__job_source *source, const ek_error *parse_error)
{
    if (!source->doc && is_meant_as_document(source)) {
        if (source->err)
            *source->err = *parse_error;
        return parse_error->status;
    }
    char names[768];
    size_t length = 0;
    for (int i = 0; i < N_FORMATS && length < sizeof names; i++) {
        const char *between = i == 0 ? "" : i + 1 < N_FORMATS ? ", " : " or ";
        assert(formats[i]);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", between, formats[i]->name);
    }
    const char *near = kin_of(source);
    return near ? ek__fail(source->err, EK_ERR_INPUT, ((ek_origin){source->path, 1, 1}), "%s", near)
                : ek__fail(source->err, EK_ERR_INPUT, ((ek_origin){source->path, 1, 1}),
                           EK__NO_TRAINING_JOB "; give %s", names);
}

/* Defaults for fields that a reader does not set. */
static void fill_in(ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    int *const ones[] = {&p->data,       &p->tensor,     &p->pipeline,           &p->context,
                         &p->expert,     &p->batch,      &p->n_micro_batches,    &p->n_accumulation,
                         &p->n_pieces,   &p->fine_grain, &p->n_batch_interleave, &p->table_split,
                         &p->head_split, &p->ulysses,    &job->full_group,       &job->model.expert_period};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        if (*ones[i] == 0)
            *ones[i] = 1;
    if (p->expert_tensor == 0)
        p->expert_tensor = p->tensor;
    if (job->model.max_position == 0)
        job->model.max_position = p->seq_length;
    if (job->model.value_dim == 0)
        job->model.value_dim = job->model.head_dim;
}

/* Is there a line that consists of a header, [a] or [[a.b]]? */
static bool has_toml_header(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + strspn(line, " \t");
        size_t opened = strspn(at, "[");
        at += opened;
        size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.\"' ");
        at += name;
        if (opened == 0 || opened > 2 || name == 0 || strspn(at, "]") != opened)
            continue;
        at += opened + strspn(at + opened, " \t\r");
        if (*at == '\n' || *at == '#' || *at == '\0')
            return true;
    }
    return false;
}

/* As TOML or Python by its name, or if it is not YAML but looks like one of these; otherwise as YAML or JSON. */
static ek_status parse_text(const char *name, const char *text, size_t size, ek__config_tree **out, bool *toml,
                            ek_error *err)
{
    *toml = ends_with(name, ".toml");
    if (*toml)
        return ek__config_parse_toml(name, text, size, out, err);
    if (ends_with(name, ".py") || has_python_maps(text))
        return ek__config_parse_python(name, text, size, out, err);
    ek_status status = ek__config_parse_buffer_with_aliases(name, text, size, out, err);
    bool other = ends_with(name, ".yaml") || ends_with(name, ".yml") || ends_with(name, ".json");
    if (status != EK_ERR_INPUT || other || !has_toml_header(text))
        return status;
    ek_error as_toml = {0};
    status = ek__config_parse_toml(name, text, size, out, &as_toml);
    *toml = status == EK_OK || !ek__arguments_are_in(text);
    if (status && *toml)
        *err = as_toml;
    return status;
}

static const ek__job_format *format_of(const ek__job_source *source)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (formats[i]->recognises(source))
            return formats[i];
    return NULL;
}

/* The format that a part of a job is read as: also a training YAML that has only degrees. */
static const ek__job_format *format_of_part(const ek__job_source *source)
{
    const ek__job_format *format = format_of(source);
    return format || !source->doc || !ek__mf_has_degrees(source->doc) ? format : &ek__job_mindformers;
}

static ek_status read_source(const ek__job_source *source, const ek_job_overrides *overrides,
                             const ek_error *parse_error, ek_job *job, ek__job_step *step)
{
    const ek__job_format *format = format_of(source);
    *step = EK__JOB_RECOGNISING;
    if (!format)
        return fail_unrecognised(source, parse_error);
    *step = EK__JOB_READING;
    if (!(job->path = ek__strdup(source->path)))
        return ek__no_memory(source->err);
    job->literal = overrides->literal;
    ek_status status = format->read(source, overrides, job);
    if (status == EK_OK)
        fill_in(job);
    if (status == EK_OK)
        status = ek__job_override(source, overrides, job);
    if (status)
        return status;
    *step = EK__JOB_CHECKING;
    return ek__job_check(job, source->doc, source->err);
}

/* The result of `find` for a text. */
static ek_status find_format(const char *name, const char *text, size_t size,
                             const ek__job_format *(*find)(const ek__job_source *), const ek__job_format **out)
{
    ek__config_tree *doc = NULL;
    ek_error unused;
    bool toml = false;
    ek_status status = parse_text(name, text, size, &doc, &toml, &unused);
    const ek__job_source source = {name, text, size, doc, NULL, toml, NULL, NULL};
    *out = find(&source);
    ek__config_free(doc);
    return status == EK_ERR_MEMORY ? status : EK_OK;
}

const ek__job_format *ek__job_format_of(const char *name, const char *text, size_t size)
{
    const ek__job_format *format;
    (void)find_format(name, text, size, format_of, &format);
    return format;
}

/* The same, but without arguments in a text that has keys: a comment or a value may name them. */
static const ek__job_format *format_by_keys(const ek__job_source *source)
{
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    const ek__job_format *format = format_of_part(source);
    bool keys = root && (root->kind == EK__MAP || root->kind == EK__LIST);
    return keys && format == &ek__job_megatron ? NULL : format;
}

ek_status ek__job_has_parts(const char *name, const char *text, size_t size, bool *out, ek_error *err)
{
    const ek__job_format *format;
    ek_status status = find_format(name, text, size, format_by_keys, &format);
    *out = format != NULL;
    return status ? ek__no_memory(err) : EK_OK;
}

/* FNV-1a; never 0, which means no file. */
static uint64_t digest_of(const char *text, size_t size)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return digest ? digest : 1;
}

/* ek__job_parse() for a file in `folder`. */
static ek_status parse_in(const char *folder, const char *name, const char *text, size_t size,
                          const ek_job_overrides *overrides, const ek_listener *listener, ek_job *out,
                          ek__job_step *step, ek_error *err)
{
    const ek_job_overrides none = ek_job_overrides_none();
    ek__config_tree *doc = NULL;
    ek_error parse_error = {0};
    ek_job job = {.full_group = 1, .digest = digest_of(text, size)};
    bool toml = false;
    if (parse_text(name, text, size, &doc, &toml, &parse_error) == EK_ERR_MEMORY)
        return ek__no_memory(err);
    const ek__job_source source = {name, text, size, doc, folder, toml, listener, err};
    ek_status status = read_source(&source, overrides ? overrides : &none, &parse_error, &job, step);
    ek__config_free(doc);
    if (status == EK_OK)
        *out = job;
    else
        ek_job_clear(&job);
    return status;
}

ek_status ek__job_parse(const char *name, const char *text, size_t size, const ek_job_overrides *overrides,
                        const ek_listener *listener, ek_job *out, ek__job_step *step, ek_error *err)
{
    return parse_in(NULL, name, text, size, overrides, listener, out, step, err);
}

/* A path up to its last slash, in `out`; "./" if it has none. */
static const char *folder_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (strcmp(path, "-") == 0 || n >= size)
        return NULL;
    snprintf(out, size, "%.*s", n ? (int)n : 2, n ? path : "./");
    return out;
}

ek_status ek__job_parse_file(const char *path, const char *text, size_t size, const ek_job_overrides *overrides,
                             const ek_listener *listener, ek_job *out, ek__job_step *step, ek_error *err)
{
    char folder[1024];
    return parse_in(folder_of(path, folder, sizeof folder), path, text, size, overrides, listener, out, step, err);
}

/* By the kind's reader of parts if it has one, otherwise whole. */
static ek_status read_part(ek__job_source *source, ek_job_part part, const ek_error *parse_error, ek_job *job)
{
    const ek_job_overrides none = ek_job_overrides_none();
    const ek__job_format *format = format_of_part(source);
    ek__job_step step;
    if (format == &ek__job_hugging_face)
        source->listener = NULL; /* it would report a run that is not given */
    if (!format || !format->read_part)
        return read_source(source, &none, parse_error, job, &step);
    if (!(job->path = ek__strdup(source->path)))
        return ek__no_memory(source->err);
    ek_status status = format->read_part(source, part, job);
    if (status == EK_OK && part != EK_JOB_DEGREES) /* which reports degrees that are not set as 0 */
        fill_in(job);
    return status;
}

ek_status ek__job_parse_part(const char *path, const char *text, size_t size, ek_job_part part,
                             const ek_listener *listener, ek_job *out, ek_error *err)
{
    const char *name = ek__path_name(path);
    char folder[1024];
    ek__config_tree *doc = NULL;
    ek_error parse_error = {0};
    ek_job job = {.full_group = 1, .digest = digest_of(text, size)};
    bool toml = false;
    if (parse_text(name, text, size, &doc, &toml, &parse_error) == EK_ERR_MEMORY)
        return ek__no_memory(err);
    ek__job_source source = {name, text, size, doc, folder_of(path, folder, sizeof folder), toml, listener, err};
    ek_status status = read_part(&source, part, &parse_error, &job);
    ek__config_free(doc);
    if (status == EK_OK)
        *out = job;
    else
        ek_job_clear(&job);
    return status;
}

ek_status ek_job_read_part(const char *path, ek_job_part part, const ek_listener *listener, ek_job *out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    status = ek__job_parse_part(path, text, size, part, listener, out, err);
    free(text);
    return status;
}

ek_status ek_job_read(const char *path, const ek_job_overrides *overrides, const ek_listener *listener, ek_job *out,
                      ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek__job_step step;
    ek_status status = overrides ? ek__job_check_overrides(overrides, err) : EK_OK;
    if (status == EK_OK)
        status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    assert(text);
    char folder[1024];
    status = parse_in(folder_of(path, folder, sizeof folder), ek__path_name(path), text, size, overrides, listener, out,
                      &step, err);
    free(text);
    return status;
}

ek_status ek_job_parse(const char *name, const char *text, size_t size, const ek_job_overrides *overrides,
                       const ek_listener *listener, ek_job *out, ek_error *err)
{
    char folder[1024];
    ek__job_step step;
    ek_status status = overrides ? ek__job_check_overrides(overrides, err) : EK_OK;
    if (status)
        return status;
    char *copy = ek__text_copy(text, size);
    if (!copy)
        return ek__no_memory(err);
    status = parse_in(folder_of(name, folder, sizeof folder), name, copy, size, overrides, listener, out, &step, err);
    free(copy);
    return status;
}
