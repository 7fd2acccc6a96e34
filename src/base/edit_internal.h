/* base/edit_internal.h - declarations shared by the parts of the editor (base/edit.h): edit.c notes changes,
 * edit_plan.c finds their values and keys, edit_apply.c makes them splices of the text, edit_check.c compares the
 * trees.
 */
#ifndef EK_BASE_EDIT_INTERNAL_H
#define EK_BASE_EDIT_INTERNAL_H

#include "base/edit.h"
#include "base/edit_text.h"
#include "base/error.h"

enum { EK__EDIT_PATH_SIZE = 256 };

/* A requested change. */
typedef struct ek__edit_request {
    char **key;
    int n_keys;
    ek__source value;
    char *after;
    int order;                /* in which it was noted */
    int line, column;         /* of the last existing value on the path */
    const ek__node *added_at; /* the sibling it is added after, once that is known */
} ek__edit_request;

struct ek__edit {
    ek__source file;
    const ek__node **in_map; /* all values that have a key and are not part of an alias, by map and key */
    size_t n_in_map, in_map_capacity;
    ek__edit_request *request; /* sorted by path once they are applied */
    size_t n, capacity;
    int n_noted; /* ever */
};

/* A value to replace. */
typedef struct ek__edit_change {
    const ek__node *node, *value;
    const ek__source *source; /* of `value` */
    const ek__edit_request *by;
    bool moved; /* its anchor moves elsewhere */
} ek__edit_change;

/* A key to add to a map. */
typedef struct ek__addition {
    const ek__node *map, *behind; /* `behind` is NULL when the map is empty */
    const char *key;
    const ek__node *value;
    const ek__source *source;
    const ek__edit_request *by;
    bool first; /* of those to an empty map */
} ek__addition;

/* Bytes of the file that are replaced. */
typedef struct ek__edit_splice {
    int begin, end, order;
    size_t text_begin, text_end; /* of its replacement, in ek__work.text */
    size_t out;                  /* its new position */
    const ek__edit_request *by;
} ek__edit_splice;

/* Requests [first, last) of the sorted ones. */
typedef struct ek__edit_range {
    size_t first, last;
} ek__edit_range;

/* All that ek__edit_finish() needs on its way. */
typedef struct ek__work {
    const ek__edit *edit;
    const ek__source *file;
    ek_error *err;
    bool json; /* keys are written in double quotes */
    int step;  /* of indentation */
    ek__edit_change *change;
    size_t n_changes, change_capacity;
    ek__addition *addition;
    size_t n_additions, addition_capacity;
    const ek__node **passed; /* with an anchor, and changed inside */
    size_t n_passed, passed_capacity;
    const ek__node **alias; /* by their original, then in the file's order */
    size_t n_aliases, alias_capacity;
    ek__source **made; /* values that were put together from several requests */
    size_t n_made, made_capacity;
    ek__edit_splice *splice;
    size_t n_splices, splice_capacity;
    ek__text text;
} ek__work;

/* `array` with room for one more, or `return` EK_ERR_MEMORY. */
#define EK__EDIT_GROW(w, array, n, capacity)                                                                           \
    do {                                                                                                               \
        void *grown = ek__with_room((void *)(w)->array, &(w)->capacity, (w)->n + 1, sizeof *(w)->array);               \
        if (!grown)                                                                                                    \
            return ek__no_memory((w)->err);                                                                            \
        (w)->array = grown;                                                                                            \
    } while (0)

/** Takes `text` over, which ends in a NUL byte. */
ek_status ek__edit_parse(const char *name, char *text, size_t size, bool aliases, ek__source *out, ek_error *err);
/* The order of in_map: compares a value's map and key with another map and key. */
int ek__edit_compare_key(const ek__node *node, const ek__node *map, const char *key);
/** The value of a key that is not part of an alias, or NULL. O(log keys of the file). */
const ek__node *ek__edit_child(const ek__edit *edit, const ek__node *map, const char *key);
/** The position of messages about a change: the last existing value on its path. */
ek_origin ek__edit_place(const ek__edit *edit, const ek__edit_request *r);
/** Write a change's keys with dots between them to `out`, cut to `size`. */
void ek__edit_path(const ek__edit_request *r, char *out, size_t size);
/** Of the sorted requests `within`, which share their keys before `depth`: those that have `key` there. */
ek__edit_range ek__edit_run(const ek__edit *edit, ek__edit_range within, int depth, const char *key);
/** EK_ERR_INPUT: a change (NULL: one of them) cannot be made without touching another value. */
ek_status ek__edit_fail(const ek__work *w, const ek__edit_request *by);

/** Do two values mean the same? Lists by element, maps by key in the same order. 1 and 1.0 differ. */
bool ek__same_meaning(const ek__node *a, const ek__node *b);
/** Have two maps the same keys in the same order? False for other values. */
bool ek__same_keys(const ek__node *a, const ek__node *b);

/** Fill w->change, w->addition and w->passed from the sorted requests. */
ek_status ek__edit_plan(ek__work *w);
/** Write the text with all of them. */
ek_status ek__edit_apply(ek__work *w, ek__text *out);
/** Read the new text and compare: EK_OK when only the requested values differ from the old ones. */
ek_status ek__edit_check(const ek__work *w, const ek__text *text);

#endif
