/* write/gate.h - the description of a gate, used by the readers of expressions (gate_read.c, gate_path.c) and the
 * comparison of results with them (gates.c). */
#ifndef EK_WRITE_GATE_H
#define EK_WRITE_GATE_H

#include "evenkeel/write.h"
#include "figures/figures.h"

enum { EK__GATE_TEXT = 256, EK__MAX_GATES = 64, EK__MAX_SEGMENTS = 16 };

/** The subject of a gate. */
typedef enum ek__gate_about {
    EK__GATE_FIGURE,  /**< a figure of the JSON, or each of a list */
    EK__GATE_FINDING, /**< findings of a name: a figure of each */
    EK__GATE_COUNT,   /**< findings of a name: their number */
    EK__GATE_LEVEL,   /**< findings of a level and above: their number */
} ek__gate_about;

typedef enum ek__gate_relation {
    EK__GATE_ABOVE,
    EK__GATE_NOT_BELOW,
    EK__GATE_BELOW,
    EK__GATE_NOT_ABOVE,
    EK__GATE_IS,
    EK__GATE_IS_NOT,
} ek__gate_relation;

/** A step of a path in a JSON document. */
typedef struct ek__segment {
    char key[64]; /**< of an object; "" in a list */
    int index;    /**< of a list; -1: each entry */
    bool in_list;
} ek__segment;

/** The kind of quantity of a figure. */
typedef enum ek__quantity {
    EK__QUANTITY_NONE,
    EK__QUANTITY_TIME,  /**< seconds */
    EK__QUANTITY_SIZE,  /**< MB of 2^20 bytes */
    EK__QUANTITY_PART,  /**< of 1 */
    EK__QUANTITY_SPEED, /**< GB/s */
} ek__quantity;

typedef struct ek__gate {
    char text[EK__GATE_TEXT]; /**< as given */
    char name[EK__GATE_TEXT]; /**< the path or the name in it */
    ek__gate_about about;
    ek__gate_relation relation;
    ek__segment segment[EK__MAX_SEGMENTS];
    int n_segments;
    const char *key;          /**< FINDING: its figure's key in the JSON */
    int level;                /**< LEVEL */
    bool is_text, is_flag;    /**< the figure is a text; true or false */
    char word[EK__GATE_TEXT]; /**< the value that a text or flag is compared with */
    double limit;             /**< the value that a number is compared with, in the given unit */
    double scale;             /**< from the number in the JSON to that unit */
    char unit[16];            /**< as given, else that of the JSON; "" */
} ek__gate;

/** Findings of a result, as its JSON has them. */
typedef struct ek__findings {
    const char *list, *name, *level;     /**< keys: of the list, of a finding's name and level (NULL: it has none) */
    const char *const *levels;           /**< [3], NULL without */
    const char *share, *seconds, *bytes; /**< keys of its figures: of the step, in seconds, in bytes; NULL */
    const char *file, *line, *title;     /**< keys of the members with its place; NULL */
} ek__findings;

/** The layout of findings of a kind; NULL: it has none. */
const ek__findings *ek__findings_of(ek_output_kind kind);
/** Names that findings of a kind may have. @return how many, at most `most` */
int ek__finding_names(ek_output_kind kind, const char **out, int most);

/** The figure at a path in the JSON of a kind. @return EK_OK with path, key, type and unit of the gate filled in;
 *  EK_ERR_INPUT where there is no such figure, with a list of the existing ones */
ek_status ek__gate_path(ek_output_kind kind, ek__gate *gate, ek__kind *figure, ek_error *err);

/** Fail with the existing names where a name is not known: "TEXT: WHAT 'NAME'; did you mean 'NEAR'? ..." */
ek_status ek__gate_unknown(const ek__gate *gate, const char *what, const char *name, const char *const *known, int n,
                           ek_error *err);

/** The quantity of a kind of figure, and the factor from its unit in the JSON to the base unit of the quantity. */
ek__quantity ek__quantity_of(ek__kind kind, double *in_base);

/** Read one expression. */
ek_status ek__gate_read(ek_output_kind kind, const char *text, size_t size, ek__gate *out, ek_error *err);

/** The words of a relation: "above"; "" of EK__GATE_IS. */
extern const char *const ek__gate_word[];

#endif
