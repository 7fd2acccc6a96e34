/* figures/figures.h - the description of a result's figures, which every writer walks: JSON (report/fields_json.c), CSV
 * (report/fields_csv.c), the page (view/rows.c), tables of the summary (report/trace_text.c) and the documentation
 * (tests/unit/test_figures.c). figures/results.h lists the results.
 *
 * A figure is a row of an array of ek__member, in the order of the JSON: its key, where its value is, one sentence of
 * documentation, and its columns in CSV, page and summary where it has some. The rows of one struct are an ek__fields.
 * A table of CSV and page, with a row for every struct of a list, is an ek__rows.
 *
 * To add a figure: a row in src/figures/RESULT*.c, written with the macros of figures/rows.h; then EK_WRITE_DOCS=1 with
 * the test `figures`. To add a struct of figures that every rank of a trace has: an array of rows, an OBJECT in the
 * fields of the rank (trace_run.c), with CSV(1) and PRINT(1) where its columns go into ranks.csv and the table of
 * ranks, and an ek__rows for a table of the page. */
#ifndef EK_FIGURES_FIGURES_H
#define EK_FIGURES_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "evenkeel/trace.h"

/* ---- units of the page ---- */

/** The kind of a number in a table or chart; the page formats it. */
typedef enum ek__view_unit {
    EK__UNIT_NONE,
    EK__UNIT_NS,
    EK__UNIT_TIME, /**< of a model without a unit */
    EK__UNIT_MB,
    EK__UNIT_PERCENT,
    EK__UNIT_COUNT,
    EK__UNIT_GBPS,
    EK__UNIT_TEXT,
    EK__N_UNITS,
    /* Added to the unit of a figure: the better direction when two runs are compared; without it, none is known.
     */
    EK__LESS = 16,
    EK__MORE = 32,
} ek__view_unit;

/** Limit of rows of a table, bars of a chart and ranks with tables of their own on a page; a note gives the number of
 * the rest. */
enum { EK__VIEW_MAX_ROWS = 20000, EK__VIEW_MAX_BARS = 4096, EK__VIEW_MAX_RANKS = 128, EK__VIEW_MAX_BALLOTS = 1000 };
enum { EK__VIEW_KEY_SIZE = 4096 }; /* of a composed text */

/* ---- fields ---- */

/** The kind of a member, which decides how each writer prints it. */
typedef enum ek__kind {
    EK__KIND_TEXT,
    EK__KIND_WORD,     /**< an enum; JSON has its word */
    EK__KIND_FLAG,     /**< JSON true and false, null below 0; CSV 1 and 0; the page two words */
    EK__KIND_COUNT,    /**< int or int64_t; INT64_MIN: unknown */
    EK__KIND_NUMBER,   /**< a rank, stage or index: unknown below 0 */
    EK__KIND_SIZE,     /**< of a group or a queue: unknown below 1 */
    EK__KIND_BYTES,    /**< the page has MB */
    EK__KIND_BYTES_MB, /**< int64_t bytes; JSON and CSV have MB with three decimals */
    EK__KIND_NS,       /**< int64_t nanoseconds; JSON and CSV have microseconds */
    EK__KIND_NS_MS,    /**< the same; JSON has milliseconds */
    EK__KIND_MEAN,     /**< double nanoseconds; JSON and CSV have microseconds */
    EK__KIND_MS,       /**< double milliseconds */
    EK__KIND_MS_6,     /**< the same, with six decimals in JSON */
    EK__KIND_SECONDS,
    EK__KIND_TIME, /**< of a model without a unit */
    EK__KIND_REAL,
    EK__KIND_SHARE,   /**< of 1; the page has percent */
    EK__KIND_PERCENT, /**< of 100 */
    EK__KIND_MB,
    EK__KIND_KB, /**< the page has MB */
    EK__KIND_GBPS,
    EK__KIND_JSON,    /**< text that is JSON already */
    EK__KIND_PARTS,   /**< the fields of a struct, as if they were listed here */
    EK__KIND_OBJECT,  /**< a struct as an object; null where its fields decide so */
    EK__KIND_LIST,    /**< [n] structs as a list of objects; of values or of lists where the last member's key is "" */
    EK__KIND_MAP,     /**< [n] structs as an object by their first member, a text */
    EK__KIND_BY_WORD, /**< an array with a value for each of `word`, as an object by them */
    EK__KIND_OWN,     /**< the JSON writer has a function for it */
} ek__kind;

/** The owner of a record. */
typedef struct ek__owner {
    union {
        const void *result;      /**< the complete result */
        const ek_trace_run *run; /**< of a trace */
    };
    union {
        const void *part;          /**< of the result: the current part of a list across its parts */
        const ek_trace_rank *rank; /**< of a trace */
    };
    const void *parent; /**< the struct that the list of the record is in; of a pass its layer */
    int number;         /**< of the record in its list, of the value in BY_WORD */
} ek__owner;

/** A value by its kind: texts in `text`, times and counts in `number` (INT64_MIN: unknown), others in `real` (NAN). */
typedef union ek__reading {
    const char *text;
    int64_t number;
    double real;
} ek__reading;

typedef struct ek__fields ek__fields;
typedef struct ek__member ek__member;

struct ek__member {
    const char *key;     /**< in JSON; NULL: a column only, of a figure that another field has in JSON */
    ek__kind kind, each; /**< each: of BY_WORD the kind of a value, which has `size` bytes */
    size_t size, at;     /**< bytes of the member; its offset. PARTS, OBJECT, LIST: the struct's or the pointer's */
    const char *about;   /**< a sentence for the documentation */
    /** A column: `at` is its position, from 1 on, several tables of one struct sharing the count; 0: none. */
    struct {
        int at;
        const char *name; /**< NULL: the key; of BY_WORD with %s for the word, NULL: the word */
        int decimals;     /**< real kinds; 0: as in JSON */
        bool spelled;     /**< FLAG: true and false, not 1 and 0 */
    } csv;
    struct {
        int at;
        const char *name, *title;  /**< of BY_WORD: the name with %s for the word or NULL, the title NULL */
        int flags;                 /**< EK__LESS, EK__MORE, EK__SEARCH, EK__PLACE */
        const char *const *titles; /**< of BY_WORD: of its columns; NULL: the words */
    } page;
    struct {
        int at;
        const char *title;
        const char *const *titles; /**< of BY_WORD; NULL: the words */
    } text;
    size_t n_at;                     /**< offset of LIST's and MAP's int count; of a MEAN that only `n` passes have */
    size_t n_columns_at;             /**< of a list of lists: offset of the int count of each */
    int (*less)(const void *record); /**< of a list of lists of integers: subtracted from each value */
    int (*count)(const void *record, const ek__owner *of); /**< of LIST and MAP, in place of n_at; below 0: null */
    const char *const *word;  /**< WORD: by value; FLAG: on the page, for false and true; BY_WORD: the keys */
    int n_words;              /**< BY_WORD */
    int decimals;             /**< real kinds: number of decimals plus one, in JSON and CSV; 0: 15 significant digits */
    const ek__fields *fields; /**< of PARTS, OBJECT, LIST, MAP, OWN */
    ek__reading (*get)(const void *record, const ek__owner *of); /**< in place of the member */
    /** OBJECT: the struct, instead of the member; NULL: JSON has null. LIST, MAP: the first of them. */
    const void *(*find)(const void *record, const ek__owner *of);
    bool (*shown)(const void *record, const ek__owner *of); /**< LIST: number of entries; NULL: all */
    bool (*when)(const void *record, const ek__owner *of);  /**< JSON does not have the key where it returns false;
                                                             * NULL: always */
    bool (*known)(const void *record, const ek__owner *of); /**< null, unknown, where it returns false; NULL: always
                                                             * known */
    const ek__member *across; /**< LIST: a list inside each struct of a list of the record; all of them together */
    /** TEXT: composed, instead of the member. MAP: the name of an entry. */
    void (*compose)(const void *record, const ek__owner *of, char *text, size_t room);
    /** TEXT: of the number, a uint32_t, in the member: an existing text, or one composed in `text`; NULL: none. */
    const char *(*text_of)(uint32_t number, const ek__owner *of, char *text, size_t room);
    const char *own; /**< OWN, JSON: its type in JSON: "list", "object", "integer or null", ... */
    int most;        /**< LIST: number of written entries; 0: all */
    bool counted;    /**< MEAN: unknown where the int64_t at n_at is 0 */
    bool in_place;   /**< TEXT: an array of char. LIST, MAP: an array within the struct */
    bool not_empty;  /**< TEXT: "" is unknown */
    bool numeral;    /**< TEXT: JSON has a whole number as one */
    bool positive;   /**< numbers: unknown at 0 and below */
    bool natural;    /**< whole numbers: unknown below 0 */
    bool no_sign;    /**< whole numbers: the member is a uint32_t */
    bool lines;      /**< LIST, MAP: a line for every entry */
    bool grid;       /**< LIST: of lists */
};

/** Flags of a column of the page, with EK__LESS and EK__MORE. */
enum {
    EK__SEARCH = 64, /**< texts are names of events: the page offers to search for them */
    EK__PLACE = 128, /**< a time of the rank's clock, shown as a place in the timeline */
};

/** The fields of one struct. */
struct ek__fields {
    const char *path;  /**< where they are in the JSON, for the documentation */
    const char *about; /**< a sentence or two for the documentation; NULL */
    const ek__member *field;
    int n;
    size_t size;                       /**< of the struct; 0: the entries of a list are complete structs themselves */
    bool lines;                        /**< a line for every member */
    bool points;                       /**< of a complete result: the notation of ek__stream.points */
    bool (*known)(const void *record); /**< where it returns false, JSON has null; NULL: it never does */
};

/** Values of a plain list as records: LIST(n, member, ek__list_of_texts) is a list of strings. */
extern const ek__fields ek__list_of_texts, ek__list_of_reals, ek__list_of_integers, ek__list_of_long_integers;

/** The value of a field. PARTS, OBJECT, LIST, MAP and OWN have none. */
ek__reading ek__member_value(const ek__member *f, const void *record, const ek__owner *of);
/** The value of a TEXT, in `text` when it is composed; NULL: unknown, as without a record. */
const char *ek__member_text(const ek__member *f, const void *record, const ek__owner *of, char *text, size_t room);
/** Are its values texts, whole numbers, or real ones? */
bool ek__kind_is_text(ek__kind kind);
bool ek__kind_is_whole(ek__kind kind);
/** The struct of PARTS and OBJECT, the first of LIST and MAP. */
const void *ek__member_record(const ek__member *f, const void *record, const ek__owner *of);
/** The record: the result of NUMBERED. */
const void *ek__itself(const void *record, const ek__owner *of);
/** Number of structs of a LIST or MAP. */
int ek__member_count(const ek__member *f, const void *record, const ek__owner *of);
/** Value `i` of BY_WORD as a field of its own. */
ek__member ek__member_of_word(const ek__member *f, int i);

/* ---- columns ---- */

/** A writer with columns. */
typedef enum ek__columns_of { EK__OF_CSV, EK__OF_PAGE, EK__OF_TEXT } ek__columns_of;

/** Depth of structs that contain columns. */
enum { EK__MAX_DEPTH = 2 };

/** A column: a field, and the path to its record. BY_WORD makes a column of every word. */
typedef struct ek__column {
    const ek__member *field;
    const ek__member *part[EK__MAX_DEPTH]; /**< PARTS or OBJECT around it, outermost first; NULL */
    int at;
    int word; /**< of BY_WORD: which one; -1 */
} ek__column;
enum { EK__MAX_COLUMNS = 48 };

/** Columns of one writer in order, of fields and of `also` (NULL: none) together; PARTS and those OBJECTs that have a
 *  column themselves are opened. @return how many */
int ek__fields_columns(const ek__fields *fields, const ek__fields *also, ek__columns_of which,
                       ek__column out[EK__MAX_COLUMNS]);
/** The record of a column's field; NULL: there is none, and its value is not known. */
const void *ek__column_record(const ek__column *c, const void *record, const ek__owner *of);
/** The kind of its values. */
ek__kind ek__column_kind(const ek__column *c);
/** Its value: ek__member_value() of its field in ek__column_record(). */
ek__reading ek__column_value(const ek__column *c, const void *record, const ek__owner *of);
/** The name of a column in a writer, and the heading above it (of CSV its name). `room`: 64 bytes and more. */
void ek__column_name(const ek__column *c, ek__columns_of which, char *text, size_t room);
const char *ek__column_title(const ek__column *c, ek__columns_of which);

/* ---- tables of rows ---- */

/** The content of the first column of the page where no field is there. */
typedef enum ek__row_key {
    EK__KEY_FIELD,
    EK__KEY_NUMBER, /**< "rank 3: 7", the row's number within its rank */
    EK__KEY_RANK,   /**< "rank 3, stage 1" */
} ek__row_key;

/** The place of a table's entry in the timeline of a trace; times are of the rank's clock. */
typedef struct ek__location {
    const ek_trace_rank *rank; /**< NULL: nowhere */
    const ek_trace_step *step; /**< the complete range, where `start` is not known; NULL: not of one step */
    int64_t start, end;        /**< EK_TRACE_UNKNOWN: not known; end as start: a point in time */
    const char *name;          /**< of the event there; NULL: no particular one */
} ek__location;

/** A table with a row for every struct of a list of the run or of every rank, or for every rank. */
typedef struct ek__rows {
    const char *csv;                  /**< the file's name; NULL: none */
    const char *section, *id, *title; /**< on the page; NULL: none */
    const char *key, *key_title;      /**< the first column by `first`; NULL with EK__KEY_FIELD */
    ek__row_key first;
    int rank_column;                 /**< the page has the rank in this column, from 1 on; 0: not */
    int stage_column;                /**< the same of its stage */
    bool of_run;                     /**< the list is in the result itself, not in its ranks */
    bool inner;                      /**< the struct lies within the rank, at `at` */
    const ek__fields *fields, *also; /**< also: more columns of the same struct; NULL */
    size_t n_at, at;                 /**< offsets of the int count and the pointer in the result or ek_trace_rank */
    /** Instead of both: entry `i`, which may set owner->parent. NULL: not shown, and none with *end. */
    const void *(*item)(int i, ek__owner *of, bool *end);
    bool (*shown)(const void *record); /**< NULL: all are */
    /** The place of an entry in the timeline: adds to `out`, which has the rank of the entry. NULL: the rank is all. */
    void (*locate)(const void *record, const ek__owner *of, ek__location *out);
    int least;      /**< entries without which the page has no table; 0: one */
    int most;       /**< most entries on the page; 0: EK__VIEW_MAX_ROWS rows */
    int most_ranks; /**< ranks with rows on the page; 0: all */
    int sort;       /**< column by which the page sorts, falling; 0: none */
} ek__rows;

/** Entry `i` of a rank, or of the run, with its owner; NULL: one that is not shown. *end: there are no more. */
const void *ek__rows_entry(const ek__rows *t, int i, ek__owner *of, bool *end);

/** The table after `last` of an array of `n`, NULL after its end: next_rows() of a result with one array. */
const ek__rows *ek__next_of(const ek__rows *rows, int n, const ek__rows *last);

#endif
