/* job/settings.h - the file settings of a changed job: the recorded settings that constrain others, the values derived
 * from changed degrees, and the changes of the file in its framework's words. A kind of framework is one file
 * settings_NAME.c. */
#ifndef EK_JOB_SETTINGS_H
#define EK_JOB_SETTINGS_H

#include "job/job_internal.h"

/* ---- the settings of the file ---- */

/* Names that readers search, NULL at the end: Megatron's are its arguments without the leading dashes. Some are not
 * settings but meanings of settings: "world", the total number of ranks; "uniform", all layers are recomputed whole for
 * any number of layers; "lists", recomputed layers are counted by chunk; "transformers-trainer", no rank has a part of
 * a layer or of the layers; "shares" and "shares-gradients", states and gradients are sharded as soon as there are
 * several ranks. */
extern const char *const ek__job_noted[];
/* Record that the file has the name, which must be in the list. */
void ek__job_note(ek_job *job, const char *name);
/* The same for the name of any setting: one that is not in the list is not recorded. */
void ek__job_note_known(ek_job *job, const char *name);
/* Record that the file no longer has the name, which must be in the list. */
void ek__job_forget(ek_job *job, const char *name);
bool ek__job_has(const ek_job *job, const char *name);
/* Record every name of the list that is a key anywhere in a YAML or TOML; '_' and '-' are equal. */
void ek__job_note_keys(const ek__config_tree *doc, ek_job *job);

/* ---- values derived from a change ---- */

/* Put into *now, whose degrees, micro-batches, layers or switches were changed, the values that the reader of its file
 * would derive from them: cuts of the vocabulary, groups, buckets, states of FSDP, switches that depend on others, and
 * recomputation if the file has one rule for all layers. *was is the job before the change. */
ek_status ek__job_follow(const ek_job *was, ek_job *now, ek_error *err);
/* If the framework has its own way to spread layers evenly (torchtitan's, in which embedding and head count as layers),
 * spread the plan's even layers in that way; lists for all layers stay so. */
ek_status ek__job_spread_own(ek_job *job, ek_error *err);
/* If the framework has one rule of recomputation for all layers (Megatron), make the plan expressible in it: an equal
 * number of whole layers in every chunk, and no other recomputation except for operators with their own switch. */
void ek__job_one_rule(ek_job *job);

/* ---- settings ---- */

/* One setting of a file. */
typedef enum ek__setting_kind {
    EK__SETTING_VALUE,
    EK__SETTING_SWITCH,   /* an argument without a value */
    EK__SETTING_GONE,     /* must be removed from the file */
    EK__SETTING_VARIABLE, /* of the environment: not in the file */
    EK__SETTING_RANKS,    /* the number of ranks of a launch script; not shown to users, who know their devices */
} ek__setting_kind;

typedef struct ek__setting {
    ek__setting_kind kind;
    const char *section; /* "a.b" as in the file; "" for arguments, and for keys of the file itself */
    const char *key;     /* as spelled in the file; arguments without the dashes */
    const char *value;   /* NULL for a switch and for a removed setting */
    const char *remark;  /* for users: the program that has such a switch; NULL: all */
} ek__setting;

/* The changes that turn the file of *was into that of *now, in a possible order. */
typedef struct ek__settings {
    const ek_job *was;
    ek_job *now;
    struct ek__pool *pool; /* of the texts */
    int n;
    ek__setting *setting; /* [n] */
    bool no_memory;       /* some of them are missing */
    const char *why;      /* a sentence if no setting has the effect; NULL: there is one */
} ek__settings;

/**
 * Find the settings that differ by comparing the two jobs, so that code that changes a job need not know its
 * framework's words. The new settings of the file are recorded in *now, for further changes.
 * @param out  out->why and out->n are the result; ek__settings_clear() it, also after EK_ERR_MEMORY
 * @return EK_OK or EK_ERR_MEMORY
 */
ek_status ek__settings_find(const ek_job *was, ek_job *now, ek__settings *out, ek_error *err);
void ek__settings_clear(ek__settings *s);

/**
 * The settings of ek__settings_find() as one text to paste: keys of YAML as "a.b: 1, c: 2", a key without its section
 * if that is the same as before; keys of TOML as "a.b = 1"; arguments as "--a 1 (without --b)".
 *
 * @param text  [size] empty if no setting differs; a list that does not fit is replaced by a short remark
 * @param why   out: NULL; or a sentence about a change without a setting in the framework
 * @return EK_OK or EK_ERR_MEMORY
 */
ek_status ek__job_settings(const ek_job *was, ek_job *now, char *text, size_t size, const char **why, ek_error *err);
/* Was the buffer too small? */
bool ek__settings_are_cut(const char *text);

/* Add a setting; the name as in ek__job_noted. `section` may be NULL for arguments. */
void ek__settings_put(ek__settings *s, const char *section, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A switch that is on now. */
void ek__settings_put_switch(ek__settings *s, const char *section, const char *name);
/* A switch of arguments that only one of the programs has, named by `remark`. */
void ek__settings_put_switch_of(ek__settings *s, const char *name, const char *remark);
/* The ranks that a script starts. */
void ek__settings_put_ranks(ek__settings *s, long long n);
/* Growing pages of the allocator, an environment variable, if only one of the two jobs has them. */
void ek__settings_put_pages(ek__settings *s);
/* Remove a setting if the file has it. */
void ek__settings_drop(ek__settings *s, const char *name);
/* "[1, 0]", or "[[1, 0], [0, 0]]" for several chunks, of list[c] - minus. Incomplete if the text is too short. */
const char *ek__settings_list(const ek_plan *plan, const int *list, int minus, char *text, size_t size);

/* Do the plans place every part of the model equally, on the same number of stages and chunks? */
bool ek__settings_same_layers(const ek__settings *s);
/* Does any chunk have a layer in a list? Do all? */
bool ek__settings_any(const ek_plan *plan, const int *list);
bool ek__settings_all(const ek_plan *plan, const int *list);

void ek__settings_mindformers(ek__settings *s);
void ek__settings_megatron(ek__settings *s); /* and MindSpeed-Core-MS */
void ek__settings_torchtitan(ek__settings *s);
void ek__settings_trainer(ek__settings *s);

#endif
