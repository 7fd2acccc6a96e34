/* evenkeel/layout_picture.h - draws the layouts of a search: step against memory, and the front of both.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_LAYOUT_PICTURE_H
#define EVENKEEL_LAYOUT_PICTURE_H

#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/layout.h"

EK_BEGIN_DECLS

/** Points that no other one is below: memory rises from one to the next, and the step falls. */
typedef struct ek_layout_front {
    long n;
    long *at;     /**< [n] of ek_layout_result.point */
    bool *proved; /**< [n] by the bounds, no layout has a plan with a shorter step and less memory */
} ek_layout_front;

/**
 * The plans found of which no other has both a shorter step and less memory (nor one of both, and the other equal).
 * One is proved where no other layout's bounds are both below it.
 *
 * @param point  [n] of a search
 * @param out    ek_layout_front_clear() frees it; untouched on failure
 * @return EK_OK, EK_ERR_MEMORY. O(n log n + front x n).
 */
ek_status ek_layout_front_of_plans(const ek_layout_point *point, long n, ek_layout_front *out, ek_error *err);
/**
 * The same of all layouts' bounds that are within the limit: no plan within the limit is below the steps through these
 * points (a layout over the limit has no plan there). All are proved.
 *
 * @param point  [n] of a search
 * @param out    ek_layout_front_clear() frees it; untouched on failure
 * @return EK_OK, EK_ERR_MEMORY. O(n log n).
 */
ek_status ek_layout_front_of_bounds(const ek_layout_point *point, long n, ek_layout_front *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_layout_front_clear(ek_layout_front *front);

EK_END_DECLS
#endif
