/* memory/assumed.h - the alternatives of rules that are assumed. */
#ifndef EK_MEMORY_ASSUMED_H
#define EK_MEMORY_ASSUMED_H

#include "evenkeel/memory.h"

enum { EK__MAX_ALTERNATIVES = 8, EK__ALTERNATIVE = 32 };

/**
 * Alternatives of a rule that neither the file nor the user sets and that has its default, the nearest to it first.
 *
 * @param usual  the defaults of the job's framework
 * @param rule   number in ek_rule_names
 * @return how many; 0 where the rule is not assumed
 */
int ek__assumed_alternatives(const ek_job *job, const ek_rules *usual, int rule,
                             char out[EK__MAX_ALTERNATIVES][EK__ALTERNATIVE]);

#endif
