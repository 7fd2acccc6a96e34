/* Jobs: names, copies, and the reading of a file by the first format that recognises it. The text is parsed once, as
 * YAML or JSON where it is one, so that recognising is a look at a few keys and no format parses for itself. */
#include "evenkeel/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config_tree_toml.h"
#include "job/job_internal.h"
#include "job/megatron_arguments.h"

const char *const ek_dtype_name[EK_N_DTYPES] = {"float32", "bfloat16", "float16"};

const char *const ek_fp8_name[EK_N_FP8] = {"none", "delayed", "tensorwise", "rowwise", "blockwise"};

const char *const ek_launch_name[EK_N_LAUNCHES] = {"eager", "compiled", "graph"};

const char *const ek_framework_name[EK_N_FRAMEWORKS] = {"mindformers", "mindformers-mcore", "mindspeed", "megatron",
                                                        "torchtitan"};

/* A kind of file that jobs are read from adds a line; the first that recognises a file reads it. */
static const ek__job_format *const formats[] = {
    &ek__job_torchtitan, &ek__job_mindspeed, &ek__job_mindformers, &ek__job_hugging_face, &ek__job_megatron,
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

int ek_dtype_bytes(ek_dtype dtype)
{
    return dtype == EK_FP32 ? 4 : 2;
}

ek_job_overrides ek_job_overrides_none(void)
{
    return (ek_job_overrides){.sequence_parallel = -1, .recompute = -1};
}

/* ---- copies ---- */

void ek__job_drop_patterns(ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++) {
        free(job->pattern[i].text);
        free(job->pattern[i].layers);
    }
    job->n_patterns = 0;
}

static bool is_idle(const ek_pattern *pattern, int n_cells)
{
    bool idle = !pattern->by_default && (pattern->kind == EK_PATTERN_SELECT || pattern->kind == EK_PATTERN_COMM);
    for (int c = 0; c < n_cells; c++)
        idle = idle && pattern->layers[c] == 0;
    return idle;
}

void ek__job_drop_idle_patterns(ek_job *job)
{
    int n = 0;
    for (int i = 0; i < job->n_patterns; i++)
        if (is_idle(&job->pattern[i], job->plan.n_stages * job->plan.n_chunks)) {
            free(job->pattern[i].text);
            free(job->pattern[i].layers);
        } else {
            job->pattern[n++] = job->pattern[i];
        }
    job->n_patterns = n;
}

void ek_job_clear(ek_job *job)
{
    ek__job_drop_patterns(job);
    free(job->pattern);
    free(job->path);
    ek_plan_clear(&job->plan);
    *job = (ek_job){0};
}

int64_t ek_job_devices(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return (int64_t)p->data * p->tensor * p->pipeline * p->context;
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

int64_t ek_job_sequences(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return (int64_t)p->data * p->batch * p->n_micro_batches * at_least_one(p->n_accumulation) *
           at_least_one(p->n_batch_interleave);
}

ek_status ek_job_copy(const ek_job *from, ek_job *to, ek_error *err)
{
    ek_job copy = *from;
    copy.path = NULL;
    copy.pattern = NULL;
    copy.n_patterns = 0;
    copy.plan = (ek_plan){0};
    if (from->path && !(copy.path = ek__strdup(from->path)))
        return ek__no_memory(err);
    ek_status status = from->plan.n_stages ? ek_plan_copy(&from->plan, &copy.plan, err) : EK_OK;
    for (int i = 0; i < from->n_patterns && status == EK_OK; i++)
        status = ek__job_add_like(&copy, &from->pattern[i], from->pattern[i].layers, err);
    if (status == EK_OK)
        *to = copy;
    else
        ek_job_clear(&copy);
    return status;
}

/* ---- what readers share ---- */

ek_status ek__job_spread(ek_job *job, int n_chunks, ek_error *err)
{
    int p = job->parallel.pipeline, n = p * n_chunks;
    ek_status status = ek_plan_init(&job->plan, p, n_chunks, err);
    if (status)
        return status;
    for (int c = 0; c < n; c++)
        job->plan.layers[c] = job->model.n_layers / n + (c < job->model.n_layers % n);
    /* The last chunk of the model, wherever the schedule puts it. */
    ek_placement placement = job->schedule ? job->schedule->placement : EK_PLACE_WRAP;
    job->plan.layers[ek_cell_at(placement, p, n - 1)] += job->model.n_prediction_layers;
    return EK_OK;
}

const ek_schedule *ek__job_usual_schedule(const ek_job *job)
{
    return job->parallel.n_pieces > 1 ? ek_schedule_find("sequence") : ek_schedule_default(job->plan.n_chunks, false);
}

ek_pattern_kind ek_pattern_list(const ek_pattern *pattern)
{
    if (pattern->kind == EK_PATTERN_SELECT)
        return pattern->other_list ? EK_PATTERN_COMM : EK_PATTERN_SELECT;
    if (pattern->kind == EK_PATTERN_COMM)
        return pattern->other_list ? EK_PATTERN_SELECT : EK_PATTERN_COMM;
    return pattern->kind;
}

void ek__job_sum_patterns(ek_job *job)
{
    int n = job->plan.n_stages * job->plan.n_chunks;
    for (int c = 0; c < n; c++)
        job->plan.select[c] = job->plan.comm[c] = 0;
    for (int i = 0; i < job->n_patterns; i++) {
        const ek_pattern *pattern = &job->pattern[i];
        ek_pattern_kind of = ek_pattern_list(pattern);
        int *list = of == EK_PATTERN_SELECT ? job->plan.select : of == EK_PATTERN_COMM ? job->plan.comm : NULL;
        for (int c = 0; c < n && list; c++)
            list[c] = pattern->layers[c] > list[c] ? pattern->layers[c] : list[c];
    }
}

ek_status ek__job_add_pattern(ek_job *job, const char *text, ek_pattern_kind kind, const int *layers, bool by_default,
                              ek_origin origin, ek_error *err)
{
    size_t n = (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks;
    assert(n > 0);
    if (job->n_patterns == EK_MAX_PATTERNS)
        return ek__fail(err, EK_ERR_INPUT, origin,
                        "'%s' is pattern %d of recompute_config, expected at most %d; "
                        "join some of them with '|'",
                        text, EK_MAX_PATTERNS + 1, EK_MAX_PATTERNS);
    if (!job->pattern && !(job->pattern = ek__alloc(EK_MAX_PATTERNS, sizeof *job->pattern)))
        return ek__no_memory(err);
    ek_pattern pattern = {.text = ek__strdup(text),
                          .kind = kind,
                          .layers = ek__alloc(n, sizeof *pattern.layers),
                          .by_default = by_default,
                          .origin = origin};
    if (!pattern.text || !pattern.layers) {
        free(pattern.text);
        free(pattern.layers);
        return ek__no_memory(err);
    }
    for (size_t c = 0; c < n; c++) {
        int asked = layers ? layers[c] : job->plan.layers[c];
        pattern.layers[c] = asked < job->plan.layers[c] ? asked : job->plan.layers[c];
    }
    job->pattern[job->n_patterns++] = pattern;
    ek__job_sum_patterns(job);
    return EK_OK;
}

bool ek__job_has_pattern(const ek_job *job, ek_pattern_kind kind)
{
    for (int i = 0; i < job->n_patterns; i++)
        if (job->pattern[i].kind == kind || ek_pattern_list(&job->pattern[i]) == kind)
            return true;
    return false;
}

ek_status ek__job_add_like(ek_job *job, const ek_pattern *like, const int *layers, ek_error *err)
{
    ek_origin origin = like->origin;
    if (origin.file)
        origin.file = job->path;
    ek_status status = ek__job_add_pattern(job, like->text, like->kind, layers, like->by_default, origin, err);
    if (status || !like->other_list)
        return status;
    job->pattern[job->n_patterns - 1].other_list = true;
    ek__job_sum_patterns(job);
    return EK_OK;
}

int ek__job_intermediate(int hidden, double multiplier, int multiple)
{
    int x = 4 * hidden;
    if (multiplier > 0)
        x = (int)((multiplier + 0.01) * x);
    x = (int)(2.0 * x / 3);
    return (x + multiple - 1) / multiple * multiple;
}

void ek__job_settle_run(ek_job *job)
{
    if (job->run.overlap_p2p_interleaved)
        job->run.overlap_p2p = job->plan.n_chunks > 1;
}

/* ---- reading ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* What to do with a file of a kind that people have beside their job; NULL: none of those. */
static const char *kin_of(const ek__job_source *source)
{
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    if (!root || root->kind != EK__MAP)
        return NULL;
    if (ek__get(root, "zero_optimization") || ek__get(root, "train_micro_batch_size_per_gpu"))
        return "is a configuration of DeepSpeed, which does not say the model; give the launch script that names it "
               "with --deepspeed_config, or the model's config.json with degrees as options";
    const ek__node *model = ek__get(root, "model");
    if (model && model->kind == EK__MAP && ek__get(model, "tensor_model_parallel_size"))
        return "is a configuration of NeMo, which is not read; give the model's config.json with degrees as options, "
               "or the same settings as arguments of Megatron-LM";
    return NULL;
}

/* Was the text meant to be YAML or JSON, so that what is wrong with it as such is what to tell? */
static bool is_meant_as_document(const ek__job_source *source)
{
    size_t i = strspn(source->text, " \t\r\n");
    return ends_with(source->path, ".yaml") || ends_with(source->path, ".yml") || ends_with(source->path, ".json") ||
           ends_with(source->path, ".toml") || source->toml || source->text[i] == '{' || i == source->size;
}

static ek_status fail_unrecognised(const ek__job_source *source, const ek_error *parse_error)
{
    if (!source->doc && is_meant_as_document(source)) {
        if (source->err)
            *source->err = *parse_error;
        return parse_error->status;
    }
    char names[512];
    size_t length = 0;
    for (int i = 0; i < N_FORMATS && length < sizeof names; i++) {
        const char *between = i == 0 ? "" : i + 1 < N_FORMATS ? ", " : " or ";
        assert(formats[i]);
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", between, formats[i]->name);
    }
    const char *near = kin_of(source);
    return near ? ek__fail(source->err, EK_ERR_INPUT, ((ek_origin){source->path, 1, 1}), "%s", near)
                : ek__fail(source->err, EK_ERR_INPUT, ((ek_origin){source->path, 1, 1}),
                           "is no training job that is known here; give %s", names);
}

/* What a reader had no reason to set. */
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

/* Is there a line that is nothing but a header, [a] or [[a.b]]? */
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

/* As TOML by its name, or where it is no YAML but has a header; as YAML or JSON else. */
static ek_status parse_text(const char *name, const char *text, size_t size, ek__config_tree **out, bool *toml,
                            ek_error *err)
{
    *toml = ends_with(name, ".toml");
    if (*toml)
        return ek__config_parse_toml(name, text, size, out, err);
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

ek_status ek__job_read_other(const ek__job_source *source, const char *name, ek_origin at, const char *taken,
                             ek__config_tree **out)
{
    char path[1024];
    ek_error why = {.message = "its path is too long"};
    ek_status status = EK_ERR_INPUT;
    *out = NULL;
    if (!source->folder)
        return EK_OK;
    struct stat file;
    int n = snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : source->folder, name);
    bool fits = n > 0 && (size_t)n < sizeof path;
    if (fits && stat(path, &file) == 0 && !S_ISREG(file.st_mode))
        snprintf(why.message, sizeof why.message, "it is no file"); /* a pipe would be waited for */
    else if (fits)
        status = ek__config_read(path, out, &why);
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(source->err);
    if (status == EK_OK && ek__config_root(*out)->kind == EK__MAP)
        return EK_OK;
    ek__config_free(*out);
    *out = NULL;
    ek__warn(source->listener, at, "%.200s is not read: %s; %s", name,
             status == EK_OK ? "it is no map of settings" : why.message, taken);
    return EK_OK;
}

const ek__job_format *ek__job_format_of(const char *name, const char *text, size_t size)
{
    ek__config_tree *doc = NULL;
    ek_error unused;
    bool toml = false;
    (void)parse_text(name, text, size, &doc, &toml, &unused);
    const ek__job_source source = {name, text, size, doc, NULL, toml, NULL, NULL};
    const ek__job_format *format = format_of(&source);
    ek__config_free(doc);
    return format;
}

/* FNV-1a; never 0, which is no file's. */
static uint64_t digest_of(const char *text, size_t size)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return digest ? digest : 1;
}

/* ek__job_parse() for a file that lies in `folder`. */
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

/* A path up to its last slash, in `out`; "./" where it has none. */
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
                             ek_job *out, ek__job_step *step, ek_error *err)
{
    char folder[1024];
    return parse_in(folder_of(path, folder, sizeof folder), path, text, size, overrides, NULL, out, step, err);
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
