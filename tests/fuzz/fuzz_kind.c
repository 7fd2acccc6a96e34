/* Fuzzes the kind of a file, by its content: whatever the bytes, every function that recognises one ends with a kind or
 * a message, a byte-order mark does not change its kind in a run, and repeated calls give the same kind. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/calibration.h"
#include "evenkeel/run.h"
#include "evenkeel/run_files.h"
#include "fuzz.h"
#include "trace/find/layout.h"

static const unsigned char mark[] = {0xef, 0xbb, 0xbf};

static void check_mark(const uint8_t *data, size_t size, ek_run_kind kind)
{
    enum { HEAD = 1 << 16 };
    if (size + sizeof mark >= HEAD || (size >= sizeof mark && memcmp(data, mark, sizeof mark) == 0))
        return;
    uint8_t *marked = malloc(size + sizeof mark);
    assert(marked);
    memcpy(marked, mark, sizeof mark);
    if (size > 0)
        memcpy(marked + sizeof mark, data, size);
    assert(ek_run_kind_of(fuzz_file(marked, size + sizeof mark)) == kind);
    free(marked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    ek_error err = {0};
    ek_source_kind source = (ek_source_kind)EK_N_SOURCE_KINDS;
    ek__file_type strict = EK__N_FILE_TYPES, loose = EK__N_FILE_TYPES;
    ek_run_kind kind = ek_run_kind_of(path);
    assert(kind >= 0 && kind <= EK_RUN_UNKNOWN);
    ek_status status = ek_source_kind_of(path, &source, &err);
    assert(status == EK_OK ? (int)source < EK_N_SOURCE_KINDS : err.message[0] && (int)source == EK_N_SOURCE_KINDS);
    if (ek__type_of_content(path, true, &strict)) /* a file with events is a trace for both */
        assert(strict == EK__FILE_TRACE && ek__type_of_content(path, false, &loose) && loose == EK__FILE_TRACE);
    else if (ek__type_of_content(path, false, &loose))
        assert(loose < EK__N_FILE_TYPES);
    (void)ek__begins_with_tasks(path);
    assert(ek_run_is_trace(path) == (kind == EK_RUN_TRACE));
    check_mark(data, size, kind);
    return 0;
}
