/* report/role_colors.h - the colours of roles, one list for the page and for pictures, so that a role has the same
 * colour in both. In OKLCH (Ottosson 2020), where equal steps look equal: lightness and chroma on a light page, hue in
 * degrees. On a dark page hue and chroma are the same, and lightness moves towards the middle. */
#ifndef EK_REPORT_ROLE_COLORS_H
#define EK_REPORT_ROLE_COLORS_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/trace_index.h"

typedef struct ek__oklch {
    double lightness, chroma, hue;
} ek__oklch;

typedef struct ek__rgb {
    int r, g, b;
} ek__rgb;

/** By ek_view_type, on a light page. The document of a page has them. */
extern const ek__oklch ek__role_color[EK_N_VIEW_TYPES];

/** A role's colour in a picture. */
ek__rgb ek__role_rgb(ek_view_type role, bool dark);
/** The same for one chunk of n: from light to dark, on a dark page from dark to light; the plain colour for a single
 * chunk.
 *  @param chunk  0 .. n - 1 */
ek__rgb ek__chunk_rgb(ek_view_type role, int chunk, int n, bool dark);

/** The roles of a step's parts (ek_step_part) and of the kinds of memory (ek__memory_piece_name()); -1 for one that
 *  occurs in no other picture. */
int ek__step_part_role(int part);
int ek__memory_piece_role(int piece);
/** Rules ".p0{fill:#2f6fb2}" for those of n parts that have a role. @param prefix of the class, "p" */
void ek__role_rules(FILE *out, const char *prefix, int n, int (*role_of)(int part), bool dark);

#endif
