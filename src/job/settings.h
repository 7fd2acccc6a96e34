/* job/settings.h - from a job that was changed back to its file: which of the settings that bind others stand in it,
 * what follows from degrees that were changed, and what has to be changed in the file, in its framework's words. A kind
 * of framework is one file settings_NAME.c. */
#ifndef EK_JOB_SETTINGS_H
#define EK_JOB_SETTINGS_H

#include "job/job_internal.h"

/* ---- what stands in the file ---- */

/* Names that readers look for, NULL at the end: Megatron's as its arguments are, without the dashes in front. Some are
 * no setting but what one says: "world", the ranks in all; "uniform", that every layer is recomputed whole however
 * many there are; "lists", that layers to recompute are counted chunk by chunk; "transformers-trainer", that
 * no rank has a part of a layer or of the layers; "shares" and
 * "shares-gradients", that states and gradients are as soon as there is anybody to share with. */
extern const char *const ek__job_noted[];
/* The name stands in the file; it is one of the list. */
void ek__job_note(ek_job *job, const char *name);
/* The same for the name of any setting: one that is not in the list is not noted. */
void ek__job_note_known(ek_job *job, const char *name);
/* The name no longer stands in the file; it is one of the list. */
void ek__job_forget(ek_job *job, const char *name);
bool ek__job_has(const ek_job *job, const char *name);
/* Note every name of the list that is a key anywhere in a YAML or TOML; '_' and '-' are one letter. */
void ek__job_note_keys(const ek__config_tree *doc, ek_job *job);

/* ---- what follows from a change ---- */

/* Put into *now, whose degrees, micro-batches, layers or switches were changed, what the reader of its file would
 * derive from them: cuts of the vocabulary, groups, buckets, states of FSDP, switches that waited for others, and
 * recomputation where the file has one rule of it for all layers. *was is the job before. */
ek_status ek__job_follow(const ek_job *was, ek_job *now, ek_error *err);
/* Where a framework has a way of its own to spread layers evenly (torchtitan's, in which embedding and head count as
 * layers), spread those of the plan, which are even, in that way; lists that hold for all layers still do. */
ek_status ek__job_spread_own(ek_job *job, ek_error *err);
/* Where a framework takes one rule of recomputation for all layers (Megatron), make the plan one that it can be told:
 * as many whole layers of every chunk, and nothing beside them but what has a switch of its own. */
void ek__job_one_rule(ek_job *job);

/* ---- settings ---- */

/* One setting of a file. */
typedef enum ek__setting_kind {
    EK__SETTING_VALUE,
    EK__SETTING_SWITCH,   /* an argument without a value */
    EK__SETTING_GONE,     /* must not stand in the file any more */
    EK__SETTING_VARIABLE, /* of the environment: not in the file */
    EK__SETTING_RANKS,    /* how many ranks a launch script starts; people are not told, who know their devices */
} ek__setting_kind;

typedef struct ek__setting {
    ek__setting_kind kind;
    const char *section; /* "a.b" as the file has it; "" for arguments, and for keys of the file itself */
    const char *key;     /* as the file spells it; of arguments without the dashes */
    const char *value;   /* NULL for a switch and for what is gone */
    const char *remark;  /* for people: who has such a switch; NULL: everybody */
} ek__setting;

/* What to change in the file of *was to make it *now's, in an order in which it can be done. */
typedef struct ek__settings {
    const ek_job *was;
    ek_job *now;
    struct ek__pool *pool; /* of the texts */
    int n;
    ek__setting *setting; /* [n] */
    bool no_memory;       /* some of them are missing */
    const char *why;      /* no setting does it, a sentence; NULL: one does */
} ek__settings;

/**
 * The settings that differ, found by comparing the two jobs, so that whatever changes a job need not know its
 * framework's words. What then stands in the file is noted in *now, from which it can go on.
 * @param out  out->why and out->n say what was found; ek__settings_clear() it, also where memory ran out
 * @return EK_OK or EK_ERR_MEMORY
 */
ek_status ek__settings_find(const ek_job *was, ek_job *now, ek__settings *out, ek_error *err);
void ek__settings_clear(ek__settings *s);

/**
 * The settings of ek__settings_find() as one text to paste: keys of YAML as "a.b: 1, c: 2", a key without a section
 * beside the one before; keys of TOML as "a.b = 1"; arguments as "--a 1 (without --b)".
 *
 * @param text  [size] empty where nothing differs that a setting says; where it has no room for a list, a few words
 *              say so in place of it
 * @param why   out: NULL; else a sentence on what the framework cannot be told
 * @return EK_OK or EK_ERR_MEMORY
 */
ek_status ek__job_settings(const ek_job *was, ek_job *now, char *text, size_t size, const char **why, ek_error *err);
/* Was there no room? */
bool ek__settings_are_cut(const char *text);

/* One more setting; the name as ek__job_noted has it. `section` may be NULL for arguments. */
void ek__settings_put(ek__settings *s, const char *section, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A switch that is on now. */
void ek__settings_put_switch(ek__settings *s, const char *section, const char *name);
/* A switch of arguments that only one of the programs has, named by `remark`. */
void ek__settings_put_switch_of(ek__settings *s, const char *name, const char *remark);
/* The ranks that a script starts. */
void ek__settings_put_ranks(ek__settings *s, long long n);
/* Growing pages of the allocator, a variable of the environment, where only one of the two jobs has them. */
void ek__settings_put_pages(ek__settings *s);
/* A setting that must go, where it stands in the file. */
void ek__settings_drop(ek__settings *s, const char *name);
/* "[1, 0]", or "[[1, 0], [0, 0]]" for several chunks, of list[c] - minus. Less than all where the text is too short. */
const char *ek__settings_list(const ek_plan *plan, const int *list, int minus, char *text, size_t size);

/* Do the plans place every part of the model alike, on as many stages and chunks? */
bool ek__settings_same_layers(const ek__settings *s);
/* Has any chunk any layer of a list? All of them? */
bool ek__settings_any(const ek_plan *plan, const int *list);
bool ek__settings_all(const ek_plan *plan, const int *list);

void ek__settings_mindformers(ek__settings *s);
void ek__settings_megatron(ek__settings *s); /* and MindSpeed-Core-MS */
void ek__settings_torchtitan(ek__settings *s);
void ek__settings_trainer(ek__settings *s);

#endif
