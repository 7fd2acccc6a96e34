/* Fuzzes the init file: whatever the bytes, reading and decomposing ends with a result or with an error that has a
 * message. */
#include <assert.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/dryrun.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_dryrun init;
    ek_error err = {0};
    if (ek_dryrun_read(fuzz_file(data, size), NULL, &init, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    const ek_times times = {.head = 1, .body = 10, .tail = 5};
    ek_layers layers;
    if (ek_dryrun_decompose(&init, "fuzz", &times, size % 2 == 1, &layers, &err))
        assert(err.message[0] != '\0');
    else
        ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
    return 0;
}
