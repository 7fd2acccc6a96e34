/* Changes the number of ranks that a script starts. It is nodes times ranks of a node, which launchers and scripts
 * write in a few ways; the reader of the script (job_megatron.c, read_world()) searches the same ones in the same
 * order.
 */
#include "job/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number of the script. */
typedef struct number {
    ek__bytes at;
    int64_t value;  /* 0: unknown */
    ek__bytes name; /* of its environment variable; empty: none */
} number;

static int64_t value_at(const ek__script *s, ek__bytes b)
{
    char digits[20];
    if (!ek__script_is_number(s, b) || b.end - b.at >= sizeof digits)
        return 0;
    memcpy(digits, s->file->text + b.at, b.end - b.at);
    digits[b.end - b.at] = '\0';
    return strtoll(digits, NULL, 10);
}

/* A launcher's argument. */
static number in_launcher(const ek__script *s, const char *name)
{
    number n = {0};
    for (int i = 0; i < s->a.words.n; i++) {
        const ek__word *word = &s->a.words.word[i];
        if (!ek__argument_is(&s->a, i, name))
            continue;
        const char *equals = memchr(s->file->text + word->at, '=', word->end - word->at);
        ek__bytes value = {equals ? (size_t)(equals - s->file->text) + 1 : 0, word->end};
        if (!equals && ek__argument_values(&s->a, i) == 0)
            continue;
        if (!equals)
            value = (ek__bytes){word[1].at, word[1].end};
        n.value = ek__script_place(s, value, false, &n.at) ? value_at(s, n.at) : 0;
        if (n.value == 0 && ek__script_environment(s, value, &n.name))
            n.at = ek__script_unquoted(s, value);
    }
    return n;
}

/* A variable that is assigned, or that Slurm sets. */
static number in_variable(const ek__script *s, const char *name)
{
    const ek__words *words = &s->a.words;
    number n = {0};
    for (int i = 0; i < words->n_assignments; i++) {
        const ek__assignment *a = &words->assignment[i];
        const ek__bytes value = {a->at + strlen(name) + 1, a->end};
        if (strcmp(words->variable[a->variable].name, name) == 0 && s->file->text[value.at - 1] == '=')
            n.value = ek__script_place(s, value, false, &n.at) ? value_at(s, n.at) : 0;
    }
    const ek__variable *variable = ek__words_variable(words, name);
    if (n.value == 0 && variable && variable->comment_at > 0) {
        n.at = (ek__bytes){variable->comment_at, variable->comment_at + strlen(variable->value)};
        n.value = value_at(s, n.at);
    }
    return n;
}

static number first_of(const ek__script *s, const char *argument, const char *const *variables)
{
    number n = in_launcher(s, argument);
    bool given = ek__argument_given(&s->a, argument);
    for (int i = 0; variables[i] && n.value == 0 && !given; i++)
        n = in_variable(s, variables[i]);
    return n;
}

/* A number, if there is one, also as the default of an environment variable: ${NNODES:-4}. */
static ek_status add(ek__script *s, const number *n, int64_t value)
{
    const int name = (int)(n->name.end - n->name.at);
    if (name == 0 && (n->value == 0 || n->value == value))
        return EK_OK;
    for (int i = 0; i < s->splices.n; i++) /* two names of one variable */
        if (s->splices.splice[i].at == n->at.at && s->splices.splice[i].end == n->at.end)
            return EK_OK;
    const char *text = name == 0 ? ek__pool_format(s->splices.pool, "%lld", (long long)value)
                                 : ek__pool_format(s->splices.pool, "${%.*s:-%lld}", name, s->file->text + n->name.at,
                                                   (long long)value);
    return text ? ek__splice_add(&s->splices, n->at.at, n->at.end, text, s->err) : ek__no_memory(s->err);
}

/* For a launcher of one node, the number of nodes is added next to the ranks of a node. */
static ek_status add_nodes(ek__script *s, int64_t n)
{
    for (int i = s->a.words.n - 1; i >= 0; i--) {
        const ek__word *word = &s->a.words.word[i];
        if (!ek__argument_is(&s->a, i, "nproc_per_node"))
            continue;
        bool deepspeed = strncmp(word->text, "--num_gpus", 10) == 0;
        size_t end = s->a.words.word[i + ek__argument_values(&s->a, i)].end;
        const char *text =
            ek__pool_format(s->splices.pool, " --%s %lld", deepspeed ? "num_nodes" : "nnodes", (long long)n);
        return text ? ek__splice_add(&s->splices, end, end, text, s->err) : ek__no_memory(s->err);
    }
    return EK_OK;
}

/* The largest number of ranks of a node that is not above the old one and gives whole nodes. */
static int64_t ranks_of_node(int64_t before, int64_t all)
{
    int64_t n = before < all ? before : all;
    while (all % n != 0)
        n--;
    return n;
}

static bool is_said(const number *n)
{
    return n->value > 0 || n->name.end > n->name.at;
}

ek_status ek__script_set_ranks(ek__script *s, int64_t n, bool *said)
{
    enum { USUAL = 8 }; /* ranks of a node if only the environment has them */
    static const char *const of_node[] = {"GPUS_PER_NODE",
                                          "NPUS_PER_NODE",
                                          "NPROC_PER_NODE",
                                          "SLURM_NTASKS_PER_NODE",
                                          "SLURM_GPUS_PER_NODE",
                                          "SLURM_GPUS_ON_NODE",
                                          NULL},
                             *const of_nodes[] = {"NNODES", "NUM_NODES", "SLURM_NNODES", NULL},
                             *const of_all[] = {"WORLD_SIZE", "NUM_GPUS", "SLURM_NTASKS"};
    const number per_node = first_of(s, "nproc_per_node", of_node), nodes = first_of(s, "nnodes", of_nodes),
                 workers = in_launcher(s, "worker_num");
    const bool one = !ek__argument_given(&s->a, "nnodes") && ek__argument_given(&s->a, "nproc_per_node") &&
                     !is_said(&nodes) && workers.value == 0; /* in the launcher's format */
    const int64_t usual = per_node.value > 0 ? per_node.value : USUAL;
    const int64_t here = is_said(&per_node) && (is_said(&nodes) || one) ? ranks_of_node(usual, n) : n;
    *said = is_said(&workers) || (is_said(&per_node) && (is_said(&nodes) || one));
    ek_status status = add(s, &per_node, here);
    if (status == EK_OK)
        status = one && is_said(&per_node) && n > here ? add_nodes(s, n / here) : add(s, &nodes, n / here);
    if (status == EK_OK)
        status = add(s, &workers, n);
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all && status == EK_OK; i++) {
        const number all = in_variable(s, of_all[i]);
        status = add(s, &all, n);
    }
    return status;
}
