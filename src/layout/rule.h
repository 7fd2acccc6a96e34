/* layout/rule.h - recomputation as a framework can be told it: lists chunk by chunk, or one rule for all layers. */
#ifndef EK_LAYOUT_RULE_H
#define EK_LAYOUT_RULE_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef enum ek__rule_kind {
    EK__RULE_LISTS,    /* how many of the first layers of each chunk, for each sort of recomputation (MindSpore) */
    EK__RULE_NONE,     /* nothing */
    EK__RULE_SELECT,   /* what the patterns say, in every layer */
    EK__RULE_FIRST,    /* the first n layers of every chunk whole (Megatron: recompute-method block) */
    EK__RULE_FULL,     /* every layer whole */
    EK__RULE_PRODUCTS, /* all but what ek__job_keep_products() keeps, in every layer (torchtitan: op) */
    EK__RULE_EVERY,    /* every n-th layer of a stage whole (torchtitan: a number) */
} ek__rule_kind;

typedef struct ek__recompute_rule {
    ek__rule_kind kind;
    int n; /* of EK__RULE_FIRST and EK__RULE_EVERY */
} ek__recompute_rule;

/* Rules that the job's framework can be told, the cheapest in time first as far as that is known. `most` layers are
 * the most that a chunk, or for every n-th a stage, can have. @return how many there are; the index-th is in *out where
 * index is less */
int ek__recompute_rule_at(const ek_job *job, int most, int index, ek__recompute_rule *out);

/* What a rule says of every layer, as far as bounds know it. */
typedef struct ek__rule_says {
    bool may[EK_N_RECOMPUTE]; /* ways that some layer may have */
    ek_recompute all;         /* every layer has it: the only way then; EK_RECOMPUTE_NONE: as `may` says */
    int first;                /* so many of the first layers of every chunk are recomputed whole */
} ek__rule_says;
ek__rule_says ek__rule_says_of(ek__recompute_rule rule);
/* What the rules of the job's framework say, each rule at least what one of these does. @return how many there are; the
 * index-th is in *out where index is less */
int ek__rule_says_at(const ek_job *job, int index, ek__rule_says *out);

/* A copy of a job of which nothing is recomputed, with the patterns that the rule needs. */
ek_status ek__recompute_rule_job(const ek_job *job, ek__recompute_rule rule, ek_job *out, ek_error *err);

/* Put the rule's lists into a chunk of the job's plan, of n layers, `before` of its stage's earlier chunks; not of
 * EK__RULE_LISTS. */
void ek__recompute_rule_set(ek_job *job, ek__recompute_rule rule, int cell, int before);

/* Put lists into a chunk: the plan's, and those of patterns of either sort. */
void ek__lists_set(ek_job *job, int cell, int full, int select, int comm);

#endif
