/* Runs the interactive mode: answers take the place of options, and layers are written to a layer file, so that an
 * ordinary command runs afterwards. */
#include "interactive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "files.h"

/* The answers for one kind of layer; memory in MB. */
typedef struct answers {
    const char *type;
    char name[EK_NAME_SIZE];
    int n_layers;
    double time, parameter_mb, activation_mb[EK_N_RECOMPUTE]; /* NAN: not known */
} answers;

static const struct {
    ek_recompute kind;
    const char *key, *question;
} memories[EK_N_RECOMPUTE] = {
    {EK_RECOMPUTE_NONE, "memory_activation", "activations of one layer and micro-batch without recomputation"},
    {EK_RECOMPUTE_SELECT, "memory_select_rec", "the same with selective recomputation"},
    {EK_RECOMPUTE_COMM, "memory_select_comm", "the same with communication recomputation"},
    {EK_RECOMPUTE_BOTH, "memory_both_comm_select", "the same with both"},
    {EK_RECOMPUTE_FULL, "memory_recompute", "the same with full recomputation"},
};

/* Names go into JSON as they are. */
static bool ask_name(const char *question, const char *preset, char *out, size_t size)
{
    for (;;) {
        if (!cli_ask_text(question, preset, out, size))
            return false;
        bool plain = true;
        for (const char *c = out; *c; c++)
            plain = plain && (unsigned char)*c >= 0x20 && *c != 0x7f && !strchr("\"\\/", *c);
        if (plain)
            return true;
        fputs("  without quotes, slashes and control characters, please\n", stderr);
    }
}

static bool ask_layer(const char *type, const char *what, const char *name, bool body, answers *out)
{
    fprintf(stderr, "\n%s\n", what);
    *out = (answers){.type = type, .n_layers = 1};
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        out->activation_mb[k] = NAN;
    if (!ask_name("  name", name, out->name, sizeof out->name) ||
        !cli_ask_number("  forward time of one micro-batch", "any one unit", body ? 1e-6 : 0, 1e12, false,
                        body ? NAN : 0, &out->time))
        return false;
    if (body && !cli_ask_int("  how many of them follow one another", NULL, 1, EK_MAX_LAYERS, 32, &out->n_layers))
        return false;
    if (!cli_ask_number("  parameters, gradients and optimizer state", "MB", 0, 1e9, false, body ? NAN : 0,
                        &out->parameter_mb))
        return false;
    for (int k = 0; body && k < EK_N_RECOMPUTE; k++) {
        char question[96];
        snprintf(question, sizeof question, "  %s", memories[k].question);
        if (!cli_ask_number(question, "MB", 1e-3, 1e9, k > 0, NAN, &out->activation_mb[memories[k].kind]))
            return false;
    }
    return true;
}

typedef struct model_text {
    const char *name;
    const answers *layer; /* [3] */
} model_text;

static ek_status write_layers(const void *user, FILE *out, ek_error *err)
{
    const model_text *file = user;
    (void)err; /* the caller looks at the stream */
    fprintf(out, "{\n  \"name\": \"%s\",\n  \"layers_description\": [\n", file->name);
    for (int i = 0; i < 3; i++) {
        const answers *a = &file->layer[i];
        fprintf(
            out,
            "    {\"name\": \"%s\", \"type\": \"%s\", \"nb_layer\": %d, \"time\": %.12g, \"memory_parameter\": %.12g",
            a->name, a->type, a->n_layers, a->time, a->parameter_mb);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (!isnan(a->activation_mb[memories[k].kind]))
                fprintf(out, ", \"%s\": %.12g", memories[k].key, a->activation_mb[memories[k].kind]);
        fprintf(out, "}%s\n", i < 2 ? "," : "");
    }
    fputs("  ]\n}\n", out);
    return EK_OK;
}

static bool ask_layers(cli_model *model, char *path, size_t size)
{
    char name[EK_NAME_SIZE], preset[EK_NAME_SIZE + 8];
    answers layer[3];
    if (!ask_name("name of the model", "misc", name, sizeof name) ||
        !ask_layer("HEAD", "head: the embedding, on the first stage", "embedding", false, &layer[0]) ||
        !ask_layer("BODY", "body: one decoder layer", "decoder", true, &layer[1]) ||
        !ask_layer("TAIL", "tail: head and loss, on the last stage", "head", false, &layer[2]))
        return false;
    snprintf(preset, sizeof preset, "%s.json", name);
    fputc('\n', stderr);
    if (!cli_ask_text("layer file to keep this in", preset, path, size))
        return false;
    bool other = false;
    while (access(path, F_OK) == 0 && !other)
        if (!cli_ask_yes("  it is there already; write it anew", false, &other) ||
            (!other && !cli_ask_text("layer file to keep this in", preset, path, size)))
            return false;
    const model_text file = {name, layer};
    if (!cli_write_file(path, write_layers, &file))
        return false;
    model->layers = path;
    return true;
}

bool cli_interactive(cli_model *model, double *memory_mb, char *layer_file, size_t size)
{
    fputs("Layers and recomputation of every stage: some questions first. An empty answer selects the value in "
          "brackets;\n"
          "Ctrl-C ends.\n"
          "\n",
          stderr);
    if (!cli_ask_int("pipeline stages", NULL, 1, EK_MAX_STAGES, 4, &model->n_stages) ||
        !cli_ask_int("micro-batches of a step", NULL, 1, EK_MAX_MICRO_BATCHES, 8, &model->n_micro_batches) ||
        !cli_ask_int("chunks per stage (interleave)", NULL, 1, EK_MAX_CHUNKS, 1, &model->n_chunks) ||
        !cli_ask_number("memory limit of a stage", "MB", 1, 1e9, false, *memory_mb, memory_mb))
        return false;
    if (!cli_ask_text("init file or layer file of the model; empty to enter its layers by hand", "", layer_file, size))
        return false;
    size_t n = strlen(layer_file);
    if (n == 0 && !ask_layers(model, layer_file, size))
        return false;
    if (n >= 5 && strcmp(layer_file + n - 5, ".json") == 0)
        model->layers = layer_file;
    else if (n > 0)
        model->init = layer_file;
    fprintf(stderr, "\nwithout questions: evenkeel balance '%s' -s %d -mb %d -i %d -mem %g\n\n", layer_file,
            model->n_stages, model->n_micro_batches, model->n_chunks, *memory_mb);
    return true;
}
