/* job/nemo.h - which keys of NeMo's and Megatron-Bridge's YAML say which argument of Megatron-LM, under which both run.
 */
#ifndef EK_JOB_NEMO_H
#define EK_JOB_NEMO_H

#include <stdbool.h>

#include "base/config_tree.h"

typedef enum ek__nemo_how {
    EK__NEMO_VALUE,   /* the argument's value; the first key that has one */
    EK__NEMO_SWITCH,  /* the argument is given where the switch is on; the first key that has one */
    EK__NEMO_ANY,     /* the same, where any of the keys is on */
    EK__NEMO_WITHOUT, /* the argument is given where the switch is off */
    EK__NEMO_LIST,    /* its values, one or several */
    EK__NEMO_SPELLED, /* named in messages alone: the reader has code for it */
} ek__nemo_how;

typedef struct ek__nemo_key {
    const char *path; /* "model.num_layers" */
    const char *argument;
    ek__nemo_how how;
    const char *only_with; /* an argument that has to be given already; NULL: none */
} ek__nemo_key;

/* A key that a prediction is not right with. */
typedef struct ek__nemo_trouble {
    const char *path;
    bool refused; /* else a warning */
    const char *what;
} ek__nemo_trouble;

/* One of the two forms; tables end with an empty line. */
typedef struct ek__nemo_form {
    const ek__nemo_key *keys;
    const ek__nemo_trouble *troubles;
    const char *devices, *nodes; /* that the file names; NULL: only the launcher knows */
} ek__nemo_form;

extern const ek__nemo_form ek__nemo_1, ek__nemo_bridge;

/* A value by its path, with what ${...} refers to put in its place; NULL: none, null, or "???", which a run has to say.
 * O(path x keys). */
const ek__node *ek__nemo_find(const ek__config_tree *doc, const char *path);
/* Is it a ${...} that only a run would tell? */
bool ek__nemo_is_unknown(const ek__node *node);

#endif
