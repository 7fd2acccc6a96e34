/* Fuzzes the index of a trace: whatever the bytes, it ends with a valid file or with a message, and threads and memory
 * do not matter. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/index_view.h"
#include "evenkeel/trace_index.h"
#include "fuzz.h"
#include "index/write.h"

/* Starting threads takes longer than the rest of a small input: one of eight sizes uses them. */
enum { THREADED = 8 };

static char out_path[64];

/* A folder in memory where there is one: on a disk fuzzing waits for it. */
static const char *folder(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* The file's bytes, freed by the caller; NULL when there is none. */
static char *write_with(const char *path, int n_threads, size_t bound, size_t *size)
{
    ek_trace_index_options options = {.n_threads = n_threads};
    ek__index_written out = {0};
    ek_error err = {0};
    if (!out_path[0])
        snprintf(out_path, sizeof out_path, "%s/fuzz_index_%d", folder(), (int)getpid());
    if (ek__index_write_within(path, out_path, &options, 0, 1, bound, &out, &err) != EK_OK) {
        assert(err.message[0] && access(out_path, F_OK) != 0);
        return NULL;
    }
    FILE *file = fopen(out_path, "rb");
    assert(file);
    char *bytes = malloc((size_t)out.bytes_index + 1);
    assert(bytes);
    *size = fread(bytes, 1, (size_t)out.bytes_index + 1, file);
    fclose(file);
    unlink(out_path);
    return bytes;
}

static void check(const char *bytes, size_t size)
{
    index_view view;
    const char *bad = index_view_open(&view, bytes, size);
    bad = bad ? bad : index_view_check(&view);
    if (bad)
        fprintf(stderr, "%s\n", bad);
    assert(!bad);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    size_t n = 0, n_again = 0;
    char *bytes = write_with(path, 1, EK__INDEX_BOUND, &n),
         *again = write_with(path, size % THREADED == 0 ? 2 : 1, 1, &n_again);
    assert(!bytes == !again);
    if (bytes && again) {
        check(bytes, n);
        assert(n == n_again && memcmp(bytes, again, n) == 0);
    }
    free(bytes);
    free(again);
    return 0;
}
