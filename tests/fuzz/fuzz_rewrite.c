/* Fuzzes a rewritten trace: whatever the bytes, a selection is a trace that can be read, contains the counted events,
 * and gives the same events when it is rewritten. The first byte chooses the selection. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/trace.h"
#include "evenkeel/trace_edit.h"
#include "fuzz.h"

static const ek_trace_options options = {.n_threads = 1};

/* The text, freed by the caller; NULL where there is an error, which has a message. */
static char *write_trace(const char *path, const ek_trace_selection *selection, size_t *size, ek_trace_written *written)
{
    char *text = NULL;
    ek_error err = {0};
    FILE *out = open_memstream(&text, size);
    assert(out);
    ek_status status = ek_trace_write(&path, 1, selection, NULL, &options, NULL, out, written, &err);
    fclose(out);
    assert(status == EK_OK || err.message[0]);
    if (status == EK_OK)
        return text;
    free(text);
    return NULL;
}

/* A selection of everything keeps all of the written trace. */
static void check_again(const char *text, size_t size, const ek_trace_written *written)
{
    const ek_trace_selection all = {0};
    ek_trace_written again;
    size_t n;
    char *copy = write_trace(fuzz_file((const uint8_t *)text, size), &all, &n, &again);
    assert(copy && again.n_events == written->n_events && again.n_problems == 0);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layers[] = {"layers", "0"};
    static const int ranks[] = {0};
    if (size == 0)
        return 0;
    const ek_trace_selection selection = {.from_given = data[0] & 1,
                                          .to_given = data[0] & 2,
                                          .from = 1000,
                                          .to = 1000000,
                                          .step = data[0] & 4 ? "1" : NULL,
                                          .n_ranks = data[0] & 8 ? 1 : 0,
                                          .rank = ranks,
                                          .n_layers = data[0] & 16 ? 2 : 0,
                                          .layer = layers};
    ek_trace_clocks clocks = {0};
    ek_trace_written written;
    ek_error err = {0};
    size_t n;
    const char *path = fuzz_file(data + 1, size - 1);
    if (ek_trace_clocks_read(&path, 1, &options, NULL, &clocks, &err))
        assert(err.message[0]);
    ek_trace_clocks_clear(&clocks);
    char *text = write_trace(path, &selection, &n, &written);
    if (text) {
        assert(written.n_events >= 1 && written.n_events <= written.n_written && written.n_written <= written.n_read);
        check_again(text, n, &written);
    }
    free(text);
    return 0;
}
