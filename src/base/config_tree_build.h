/* base/config_tree_build.h - builds a document's tree, for all languages: values come one after the other, a list or
 * map is opened, filled and closed, and a value in a map is preceded by its key. Limits and duplicate keys are checked
 * here. Nodes and texts are in an arena that is freed as a whole. */
#ifndef EK_BASE_CONFIG_TREE_BUILD_H
#define EK_BASE_CONFIG_TREE_BUILD_H

#include "base/config_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the text. */
typedef struct ek__mark {
    int line, column; /* from 1 */
    int byte;
} ek__mark;

/* A tree that grows: the list or map being filled and the key that waits for its value. */
typedef struct ek__config_builder {
    ek__config_tree *doc;
    ek_error *err;
    ek__node *open;
    const char *key;
    ek__mark key_at;
    int key_end;
    int depth, n_nodes;
} ek__config_builder;

/* An empty document. */
ek_status ek__config_begin(const char *name, ek_error *err, ek__config_builder *out);
/* Memory that lives as long as the document; NULL when memory is out. */
void *ek__config_alloc(ek__config_tree *doc, size_t size);
/* `length` bytes as a string in the document; refuses NUL characters in it. */
ek_status ek__config_text(const ek__config_builder *b, ek__mark at, const char *text, size_t length, const char **out);
/* The key of the next value; `key` is the document's. */
void ek__config_key(ek__config_builder *b, const char *key, ek__mark at, int end);
/* Add a value of the kind; the caller fills in the value itself. */
ek_status ek__config_add(ek__config_builder *b, ek__node_kind kind, ek__mark at, ek__node **out);
/* A scalar; `text` is the document's. */
ek_status ek__config_add_scalar(ek__config_builder *b, const char *text, bool quoted, ek__mark at, int end,
                                ek__node **out);
ek_status ek__config_open(ek__config_builder *b, ek__node_kind kind, bool flow, ek__mark at, ek__node **out);
/* Close the list or map opened last, which ends at byte `end` where it has brackets or is empty. */
ek_status ek__config_close(ek__config_builder *b, int end);

/* ek__no_memory() for C++, which has no compound literal of ek_origin. */
ek_status ek__config_no_memory(ek_error *err);
ek_status ek__config_fail(const ek__config_builder *b, ek__mark at, const char *message);
/* Is the text UTF-8 without control characters? `language` is for the message. */
ek_status ek__config_check_text(const char *name, const unsigned char *text, size_t size, const char *language,
                                ek_error *err);

#ifdef __cplusplus
}
#endif
#endif
