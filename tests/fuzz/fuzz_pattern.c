/* Fuzzes patterns of recompute_config: the first line is a pattern, the second the path of an operator. Whatever the
 * bytes, a pattern that can be read always matches the same operators, only those of the graph, and an operator's own
 * path is a pattern of it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "fuzz.h"
#include "model/graph.h"
#include "model/pattern.h"

/* A graph of the input's operator, one that is always there, and communication after that. */
static void make_graph(ek__graph *graph, const char *path)
{
    memset(graph, 0, sizeof *graph);
    graph->output = -1;
    graph->n_ops = 3;
    graph->op[0] = (ek__op){.path = path};
    graph->op[1] = (ek__op){.path = "feed_forward.w1.matmul"};
    graph->op[2] = (ek__op){.path = "feed_forward.w1.reduce", .kind = EK__OP_COMM, .comm_after = 1};
}

static void check_regex(const char *text, size_t size, const char *name)
{
    static ek__regex_room room, other;
    ek__regex_start(&room);
    ek__regex_start(&other);
    const void *first = ek__regex_read(&room, text, size), *second = ek__regex_read(&room, text, size);
    const void *again = ek__regex_read(&other, text, size);
    assert(!first == !again && room.used <= sizeof room.words && other.used <= sizeof other.words);
    if (!first)
        return;
    bool fits = ek__regex_fits(&room, first, name, strlen(name));
    assert(fits == ek__regex_fits(&other, again, name, strlen(name)));
    if (second)
        assert(fits == ek__regex_fits(&room, second, name, strlen(name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ek__graph graph;
    enum { LONGEST = 512 };
    bool matched[EK__MAX_OPS] = {false}, again[EK__MAX_OPS] = {false};
    char *pattern = fuzz_text(data, size < LONGEST ? size : LONGEST), own[2 * LONGEST];
    char *path = strchr(pattern, '\n');
    if (path)
        *path++ = '\0';
    else
        path = pattern + strlen(pattern);
    check_regex(pattern, strlen(pattern), path);
    make_graph(&graph, path);
    for (int kind = 0; kind < EK_N_PATTERN_KINDS; kind++) {
        int n = ek__pattern_match(&graph, pattern, (ek_pattern_kind)kind, matched);
        assert(n >= 0 && (ek__pattern_compiles(pattern) || n == 0));
        assert(ek__pattern_match(&graph, pattern, (ek_pattern_kind)kind, again) == n &&
               memcmp(matched, again, sizeof matched) == 0);
    }
    const ek__pattern_names names = ek__pattern_names_in(&graph, pattern);
    assert(ek__pattern_compiles(pattern) || (!names.primitive && !names.cell));
    ek__pattern_of_path(path, own, sizeof own);
    assert(strlen(own) <= 2 * strlen(path));
    free(pattern);
    return 0;
}
