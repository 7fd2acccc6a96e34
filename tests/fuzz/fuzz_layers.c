/* Fuzzes the layer file: a file that is read can be written, and the written file can be read. */
#include <assert.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/layers.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_layers layers, again;
    ek_error err = {0};
    if (ek_layers_read(fuzz_file(data, size), NULL, NULL, &layers, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    static char text[1 << 20];
    FILE *out = fmemopen(text, sizeof text, "w");
    assert(out);
    ek_status status = ek_layers_write(&layers, out, &err);
    long length = ftell(out);
    fclose(out);
    if (status == EK_OK && length > 0 && (size_t)length < sizeof text) {
        status = ek_layers_read(fuzz_file((const uint8_t *)text, (size_t)length), NULL, NULL, &again, &err);
        assert(status == EK_OK);
        assert(again.n_layers == layers.n_layers && again.n_body == layers.n_body);
        ek_layers_clear(&again);
    }
    ek_layers_clear(&layers);
    return 0;
}
