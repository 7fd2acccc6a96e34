/* Fuzzes traces: whatever the bytes, reading ends with events or a message, and one thread finds what two find. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "trace/scan/part.h"
#include "trace/scan/structure.h"

/* Starting a thread takes longer than reading a small input: one of eight sizes uses a second one. */
enum { THREADED = 8 };

static ek_status read_with(const char *path, int n_threads, ek__pool *pool, ek_trace_source *source, ek__trace *trace)
{
    const ek_trace_options options = {.measure = true};
    ek_error err = {0};
    ek_status status = ek__trace_read(&path, 1, n_threads, &options, pool, source, trace, &err);
    assert(status == EK_OK || err.message[0]);
    return status;
}

static void compare(const ek__trace *a, const ek__trace *b)
{
    assert(a->counts.n_items == b->counts.n_items && a->n_names == b->n_names && a->n_tracks == b->n_tracks);
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++) {
        ek__slice x = a->of[kind], y = b->of[kind];
        assert(x.n == y.n);
        for (size_t i = 0; i < x.n; i++) {
            assert(i == 0 || x.event[i - 1].start <= x.event[i].start);
            assert(memcmp(&x.event[i], &y.event[i], sizeof *x.event) == 0);
            assert(kind == EK__EVENT_FLOW || x.event[i].duration >= 0);
            assert(x.event[i].track < a->n_tracks && (kind == EK__EVENT_FLOW || x.event[i].name < a->n_names));
        }
    }
}

/* The bits made with vectors and without must agree on every input. */
static void compare_bits(const uint8_t *data, size_t size)
{
    size_t n_words = (size + 63) / 64;
    const size_t each = n_words + 2;
    uint64_t *bits = calloc(8 * each, sizeof *bits);
    char *copy = malloc(64 * n_words + 64);
    ek__block block[2];
    const ek__structure_way *plain = ek__structure_ways;
    assert(bits && copy);
    while (plain->vectors != EK__VECTORS_NONE)
        plain++;
    if (size > 0)
        memcpy(copy, data, size);
    for (int i = 0; i < 2; i++) {
        uint64_t *own = bits + 4 * each * (size_t)i;
        block[i] = (ek__block){
            .data = copy, .quote = own, .open = own + each, .close = own + 2 * each, .stop = own + 3 * each};
        ek__block_index(&block[i], size, i == 0 ? NULL : plain);
    }
    assert(memcmp(bits, bits + 4 * each, 4 * each * sizeof *bits) == 0);
    free(copy);
    free(bits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek__pool *pool = ek__pool_new();
    const char *path = fuzz_file(data, size);
    ek_trace_source source[2] = {0};
    ek__trace one, two;
    assert(pool);
    compare_bits(data, size);
    ek_status status = read_with(path, 1, pool, &source[0], &one);
    assert(read_with(path, size % THREADED == 0 ? 2 : 1, pool, &source[1], &two) == status);
    if (status == EK_OK) {
        compare(&one, &two);
        assert(source[0].problem_offset == source[1].problem_offset);
        ek__trace_clear(&one);
        ek__trace_clear(&two);
    }
    ek__pool_free(pool);
    return 0;
}
