/* job/key_arguments.h - converts files of keys and values to equivalent arguments of Megatron-LM (NeMo,
 * Megatron-Bridge, InternEvo): the table of keys and arguments, and its reader. */
#ifndef EK_JOB_KEY_ARGUMENTS_H
#define EK_JOB_KEY_ARGUMENTS_H

#include "job/megatron_arguments.h"

typedef enum ek__key_how {
    EK__KEY_VALUE,   /* the argument's value; the first key that has one */
    EK__KEY_SWITCH,  /* the argument is given if the switch is on; the first key that has one */
    EK__KEY_ANY,     /* the same, if any of the keys is on */
    EK__KEY_WITHOUT, /* the argument is given if the switch is off */
    EK__KEY_LIST,    /* its values, one or several */
    EK__KEY_SPELLED, /* only named in messages: the reader has code for it */
} ek__key_how;

typedef struct ek__key_argument {
    const char *path; /* "model.num_layers" */
    const char *argument;
    ek__key_how how;
    const char *only_with; /* an argument that must be present already; NULL: none */
} ek__key_argument;

/* A key that makes a prediction wrong. */
typedef struct ek__key_trouble {
    const char *path;
    bool refused; /* else a warning */
    const char *what;
} ek__key_trouble;

/* A form of such files; tables end with an empty line. */
typedef struct ek__key_form {
    const ek__key_argument *keys;
    const ek__key_trouble *troubles;
    const char *devices, *nodes; /* given in the file; NULL: only the launcher has it */
    const char *if_missing;      /* advice after the names of missing sizes */
} ek__key_form;

/* A file that is being read. */
typedef struct ek__key_reader {
    ek__in in;
    ek__arguments a;
    const ek__key_form *form;
} ek__key_reader;

/* A value by its path, with ${...} substituted; NULL: none, null, or "???", which a run must set. O(path x keys). */
const ek__node *ek__key_find(const ek__config_tree *doc, const char *path);
/* Is it a ${...} known only in a run? */
bool ek__key_is_unknown(const ek__node *node);

/* Is a value false, 0, "none" or an empty list or map? */
bool ek__key_is_off(const ek__node *node);
/* The text of a value, or the name of a map's class (_target_; _name_ of an enumerator); "8" for 8.0, in `buffer`. */
ek_status ek__key_text(const ek__key_reader *r, const ek__node *node, char *buffer, size_t size, const char **out);
/* A switch with a required known value; *out does not change if it is absent. */
ek_status ek__key_switch(const ek__key_reader *r, const char *path, bool *out);
/* Put one argument, whose value may be NULL. */
ek_status ek__key_put(ek__key_reader *r, const char *argument, const char *value, ek_origin at);
ek_status ek__key_put_value(ek__key_reader *r, const char *argument, const ek__node *node);
ek_status ek__key_put_list(ek__key_reader *r, const char *argument, const ek__node *list);
/* Put all arguments of the table. */
ek_status ek__key_put_all(ek__key_reader *r);
/* Reject or warn of the form's unsupported keys. */
ek_status ek__key_check(ek__key_reader *r);
/* Reject a file without the sizes that every job needs, all of them in one message. */
ek_status ek__key_check_missing(ek__key_reader *r, const ek_job_overrides *overrides);

/* Puts the arguments of a file; `user` is its own. */
typedef ek_status ek__key_fill(ek__key_reader *r, const ek_job_overrides *overrides, void *user);
/* Read a job from the arguments that `fill` puts. */
ek_status ek__key_read(const ek__key_form *form, ek__key_fill *fill, void *user, const ek__job_source *source,
                       const ek_job_overrides *overrides, ek_job *job);

#endif
