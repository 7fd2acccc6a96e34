/* cost/device_files.h - the shipped device files, which data/embed.py writes into the library. */
#ifndef EK_COST_DEVICE_FILES_H
#define EK_COST_DEVICE_FILES_H

#include <stddef.h>

typedef struct ek__device_file {
    const char *text;
    size_t size;
} ek__device_file;

extern const ek__device_file ek__device_files[];
extern const int ek__n_device_files;

#endif
