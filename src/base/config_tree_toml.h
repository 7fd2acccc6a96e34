/* base/config_tree_toml.h - reads TOML as a document, so that typed reading and messages are those of YAML and JSON. */
#ifndef EK_BASE_CONFIG_TREE_TOML_H
#define EK_BASE_CONFIG_TREE_TOML_H

#include "base/config_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EK__TOML_MAX_BYTES = 1 << 20,
    EK__TOML_MAX_DOTS = 32,    /* of one key: a.b.c has two */
    EK__TOML_MAX_BRACKETS = 32 /* lists and inline tables inside each other */
};

/** ek__config_parse_buffer() for TOML 1.0. Values of a table are in the order of the file. Numbers of all bases become
 *  decimal text; inf and nan stay words, and dates and times are text in quotes. Keys of headers ([a.b]) and dotted
 *  keys have the place of the part that names them.
 *  @return EK_OK; EK_ERR_INPUT with line and column; EK_ERR_MEMORY. O(size x log(keys of a table)). */
ek_status ek__config_parse_toml(const char *name, const char *text, size_t size, ek__config_tree **out, ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
