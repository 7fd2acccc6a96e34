/* plan/plan_pack.h - packs plans as bytes, for another process of the same program. */
#ifndef EK_PLAN_PACK_H
#define EK_PLAN_PACK_H

#include "base/pack.h"
#include "evenkeel/plan.h"

/** A zeroed plan is allowed. O(stages x chunks). */
void ek__plan_pack(const ek_plan *plan, ek__pack *to);
/** @param out  ek_plan_clear() frees it; untouched on failure. @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY */
ek_status ek__plan_unpack(ek__unpack *from, ek_plan *out, ek_error *err);

#endif
