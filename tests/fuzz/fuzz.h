/* tests/fuzz/fuzz.h - shared functions of the fuzz targets. A target is a file fuzz_NAME.c with
 * LLVMFuzzerTestOneInput(), one line in tests/fuzz/meson.build and a folder corpus/NAME. `./run fuzz` runs it under
 * libFuzzer, `./run test` runs its corpus through replay.c. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Put `data` into a file in memory and return its path, the same for every call; the readers take paths. */
const char *fuzz_file(const uint8_t *data, size_t size);
/** A copy of `data` as text, terminated by a NUL, in memory of exactly this size so that reading beyond is noticed.
 * free() it. */
char *fuzz_text(const uint8_t *data, size_t size);

#endif
