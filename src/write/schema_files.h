/* write/schema_files.h - the JSON Schemas written by hand, which data/embed.py writes into the library. */
#ifndef EK_WRITE_SCHEMA_FILES_H
#define EK_WRITE_SCHEMA_FILES_H

#include <stddef.h>

typedef struct ek__schema_file {
    const char *text;
    size_t size;
} ek__schema_file;

/** In the order of their names: chrome_trace, page. */
extern const ek__schema_file ek__schema_files[];
extern const int ek__n_schema_files;

#endif
