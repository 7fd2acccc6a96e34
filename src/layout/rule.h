/* layout/rule.h - the forms of recomputation that a framework has: lists chunk by chunk, or one rule for all layers. */
#ifndef EK_LAYOUT_RULE_H
#define EK_LAYOUT_RULE_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef enum ek__rule_kind {
    EK__RULE_LISTS,    /* the number of first layers of each chunk, for each kind of recomputation (MindSpore) */
    EK__RULE_NONE,     /* nothing */
    EK__RULE_SELECT,   /* the patterns, in every layer */
    EK__RULE_FIRST,    /* the first n layers of every chunk whole (Megatron: recompute-method block) */
    EK__RULE_FULL,     /* every layer whole */
    EK__RULE_PRODUCTS, /* all operators except those saved by ek__job_keep_products(), in every layer (torchtitan: op)
                        */
    EK__RULE_EVERY,    /* every n-th layer of a stage whole (torchtitan: a number) */
} ek__rule_kind;

typedef struct ek__recompute_rule {
    ek__rule_kind kind;
    int n; /* of EK__RULE_FIRST and EK__RULE_EVERY */
} ek__recompute_rule;

/* Rules of the job's framework, the cheapest in time first if known. `most` is the maximum number of layers of a chunk,
 * or for every n-th, of a stage. @return their number; *out is the index-th one if index is less */
int ek__recompute_rule_at(const ek_job *job, int most, int index, ek__recompute_rule *out);

/* A rule's recomputation of every layer, in the form that bounds use. */
typedef struct ek__rule_says {
    bool may[EK_N_RECOMPUTE]; /* possible ways of a layer */
    ek_recompute all;         /* every layer has it, and no other way; EK_RECOMPUTE_NONE: see `may` */
    int first;                /* the number of first layers of every chunk recomputed whole */
} ek__rule_says;
ek__rule_says ek__rule_says_of(ek__recompute_rule rule);
/* The recomputation of the rules of the job's framework; each rule recomputes at least as much as one of these. @return
 * their number; *out is the index-th one if index is less */
int ek__rule_says_at(const ek_job *job, int index, ek__rule_says *out);

/* A copy of a job without recomputation, with the patterns that the rule needs. */
ek_status ek__recompute_rule_job(const ek_job *job, ek__recompute_rule rule, ek_job *out, ek_error *err);

/* Put the rule's lists into a chunk of the job's plan, of n layers, `before` of its stage's earlier chunks; not of
 * EK__RULE_LISTS. */
void ek__recompute_rule_set(ek_job *job, ek__recompute_rule rule, int cell, int before);

/* Put lists into a chunk: the plan's, and those of both kinds of patterns. */
void ek__lists_set(ek_job *job, int cell, int full, int select, int comm);

#endif
