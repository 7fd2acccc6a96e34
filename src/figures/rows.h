/* figures/rows.h - the macros for rows of figures, for members of the struct EK__T: a kind with its member (its type is
 * checked), then the sentence of documentation, then the columns. */
#ifndef EK_FIGURES_ROWS_H
#define EK_FIGURES_ROWS_H

#include "figures/figures.h"
#include "figures/names.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): names of members and functions */
#define EK__AT(m)            offsetof(EK__T, m)
#define EK__OF_TYPE(type, m) .size = _Generic(((EK__T *)0)->m, type : sizeof(type)), .at = EK__AT(m)
#define EK__OF_CHARS(m)      .in_place = true, .at = EK__AT(m) + 0 * sizeof(((EK__T *)0)->m[0] == 'a')
#define EK__WHOLE(m)                                                                                                   \
    .size = sizeof(((EK__T *)0)->m),                                                                                   \
    .no_sign = _Generic(((EK__T *)0)->m, int                                                                           \
                        : false, int64_t                                                                               \
                        : false, uint32_t                                                                              \
                        : true),                                                                                       \
    .at = EK__AT(m)

#define EK__POINTER(m)                                                                                                 \
    .size = _Generic(((EK__T *)0)->m, char * : sizeof(char *), const char * : sizeof(char *)), .at = EK__AT(m)

#define TEXT(m) EK__KIND_TEXT, EK__POINTER(m)
/** The same of an array of char; and one that is unknown where it is empty. */
#define CHARS(m)    EK__KIND_TEXT, EK__OF_CHARS(m)
#define NAME(m)     EK__KIND_TEXT, .not_empty = true, EK__OF_CHARS(m)
#define FLAG(m)     EK__KIND_FLAG, EK__OF_TYPE(bool, m)
#define COUNT(m)    EK__KIND_COUNT, EK__WHOLE(m)
#define NUMBER(m)   EK__KIND_NUMBER, EK__WHOLE(m)
#define SIZE(m)     EK__KIND_SIZE, EK__WHOLE(m)
#define BYTES(m)    EK__KIND_BYTES, EK__OF_TYPE(int64_t, m)
#define BYTES_MB(m) EK__KIND_BYTES_MB, EK__OF_TYPE(int64_t, m)
#define NS(m)       EK__KIND_NS, EK__OF_TYPE(int64_t, m)
#define NS_MS(m)    EK__KIND_NS_MS, EK__OF_TYPE(int64_t, m)
#define MEAN(m)     EK__KIND_MEAN, EK__OF_TYPE(double, m)
#define MS(m)       EK__KIND_MS, EK__OF_TYPE(double, m)
#define MS_6(m)     EK__KIND_MS_6, EK__OF_TYPE(double, m)
#define SECONDS(m)  EK__KIND_SECONDS, EK__OF_TYPE(double, m)
#define TIME(m)     EK__KIND_TIME, EK__OF_TYPE(double, m)
#define REAL(m)     EK__KIND_REAL, EK__OF_TYPE(double, m)
#define SHARE(m)    EK__KIND_SHARE, EK__OF_TYPE(double, m)
#define PERCENT(m)  EK__KIND_PERCENT, EK__OF_TYPE(double, m)
#define MB(m)       EK__KIND_MB, EK__OF_TYPE(double, m)
#define KB(m)       EK__KIND_KB, EK__OF_TYPE(double, m)
#define GBPS(m)     EK__KIND_GBPS, EK__OF_TYPE(double, m)
#define JSON(m)     EK__KIND_JSON, EK__POINTER(m)
/** Bytes that are unknown below 0. */
#define BYTES_FROM_0(m) EK__KIND_BYTES, .natural = true, EK__OF_TYPE(int64_t, m)
/** An enum with the words of its values. */
#define WORD(m, words) EK__KIND_WORD, .word = (words), .size = sizeof(((EK__T *)0)->m), .at = EK__AT(m)
/** A value of a kind for each of `n` words, from an array; from a function, by the owner's number. */
#define BY_WORD(kind_, m, words, n)                                                                                    \
    EK__KIND_BY_WORD, .each = EK__KIND_##kind_, .word = (words), .n_words = (n), .size = sizeof *((EK__T *)0)->m,      \
                      .at = EK__AT(m)
#define GET_BY_WORD(kind_, function, words, n)                                                                         \
    EK__KIND_BY_WORD, .each = EK__KIND_##kind_, .word = (words), .n_words = (n), .get = (function), .at = 0
/** Number of decimals in JSON and CSV. */
#define DECIMALS(n) .decimals = (n) + 1
/** JSON has the key only where the function returns true. */
#define WHEN(function) .when = (function)
/** It is null where the function returns that it is not known. */
#define KNOWN(function) .known = (function)
/** The words of a flag on the page. */
#define WORDS(no, yes)                                                                                                 \
    .word = (const char *const[])                                                                                      \
    {                                                                                                                  \
        no, yes                                                                                                        \
    }
/** A value of a kind that is returned by a function. */
#define GET(kind_, function) EK__KIND_##kind_, .get = (function), .at = 0
/** A text that a function composes. */
#define COMPOSE(function) EK__KIND_TEXT, .compose = (function), .at = 0
/** The text of a number, which is a uint32_t. */
#define TEXT_OF(m, function) EK__KIND_TEXT, .text_of = (function), EK__OF_TYPE(uint32_t, m)
/** A mean of a member of a pass, unknown where the pass is missing; the same in the pass itself. */
#define PASS(of, m)  EK__KIND_MEAN, .counted = true, .n_at = EK__AT(of.n), EK__OF_TYPE(double, of.m)
#define OF_PASS(m)   EK__KIND_MEAN, .counted = true, .n_at = EK__AT(n), EK__OF_TYPE(double, m)
#define PARTS(m, f)  EK__KIND_PARTS, .fields = &(f), .at = EK__AT(m)
#define OBJECT(m, f) EK__KIND_OBJECT, .fields = &(f), .at = EK__AT(m)
/** A struct that a function finds: NULL for null; its fields as if they were listed here. */
#define FOUND(function, f)       EK__KIND_OBJECT, .fields = &(f), .find = (function), .at = 0
#define FOUND_PARTS(function, f) EK__KIND_PARTS, .fields = &(f), .find = (function), .at = 0
/** The same of members of this struct. */
#define MORE(f)             EK__KIND_PARTS, .fields = &(f), .at = 0
#define HERE(f)             EK__KIND_OBJECT, .fields = &(f), .at = 0
#define LIST(n, m, f)       EK__KIND_LIST, .fields = &(f), .n_at = EK__AT(n), .lines = true, .at = EK__AT(m)
#define SHORT_LIST(n, m, f) EK__KIND_LIST, .fields = &(f), .n_at = EK__AT(n), .at = EK__AT(m)
#define MAP(n, m, f)        EK__KIND_MAP, .fields = &(f), .n_at = EK__AT(n), .lines = true, .at = EK__AT(m)
#define SHORT_MAP(n, m, f)  EK__KIND_MAP, .fields = &(f), .n_at = EK__AT(n), .at = EK__AT(m)
/** Lists in arrays within the struct. */
#define ARRAY(n, m, f)                                                                                                 \
    EK__KIND_LIST, .fields = &(f), .n_at = EK__AT(n), .in_place = true, .lines = true, .at = EK__AT(m)
#define SHORT_ARRAY(n, m, f) EK__KIND_LIST, .fields = &(f), .n_at = EK__AT(n), .in_place = true, .at = EK__AT(m)
/** A list of lists of values, from an array [n][columns]. */
#define GRID(n, columns, m, f)                                                                                         \
    EK__KIND_LIST, .fields = &(f), .n_at = EK__AT(n), .n_columns_at = EK__AT(columns), .grid = true, .at = EK__AT(m)
/** A list whose first struct and number are returned by functions. */
#define FOUND_LIST(function, count_, f)                                                                                \
    EK__KIND_LIST, .fields = &(f), .find = (function), .count = (count_), .lines = true, .at = 0
#define FOUND_SHORT_LIST(function, count_, f)                                                                          \
    EK__KIND_LIST, .fields = &(f), .find = (function), .count = (count_), .at = 0
#define FOUND_SHORT_MAP(function, count_, f)                                                                           \
    EK__KIND_MAP, .fields = &(f), .find = (function), .count = (count_), .at = 0
/** A list across the structs of `list`, a row of the complete result: its members and functions are those of such a
 * struct. */
#define ACROSS(list) .across = &(list)
/** A list with entries that are identified only by the owner's number. */
#define NUMBERED(count_, f) EK__KIND_LIST, .fields = &(f), .find = ek__itself, .count = (count_), .at = 0
/** `type_`: its type in the JSON; with the fields of its objects. */
#define OWN_OF(type_, f) EK__KIND_OWN, .own = (type_), .fields = &(f), .at = 0
#define OWN(type_)       EK__KIND_OWN, .own = (type_), .at = 0

/** The function of GET: a member of ek__reading, from the record `it` and its owner `of`. */
#define GETTER(name, member, value)                                                                                    \
    static ek__reading name(const void *record, const ek__owner *of)                                                   \
    {                                                                                                                  \
        const EK__T *it = record;                                                                                      \
        (void)it;                                                                                                      \
        (void)of;                                                                                                      \
        return (ek__reading){.member = (value)};                                                                       \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")
/** The function of COMPOSE: a statement that fills `text` from the same; or a format and its arguments, of at most
 *  `most` bytes. */
#define WRITER(name, statement)                                                                                        \
    static void name(const void *record, const ek__owner *of, char *text, size_t room)                                 \
    {                                                                                                                  \
        const EK__T *it = record;                                                                                      \
        (void)it;                                                                                                      \
        (void)of;                                                                                                      \
        statement;                                                                                                     \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")
#define COMPOSER(name, most, ...) WRITER(name, snprintf(text, room < (most) ? room : (most), __VA_ARGS__))

/** The functions of WHEN and of a list's `shown`, and of FOUND_LIST's count. */
#define CONDITION(name, value) EK__FUNCTION(bool, name, value)
#define COUNTER(name, value)   EK__FUNCTION(int, name, value)
#define EK__FUNCTION(type, name, value)                                                                                \
    static type name(const void *record, const ek__owner *of)                                                          \
    {                                                                                                                  \
        const EK__T *it = record;                                                                                      \
        (void)it;                                                                                                      \
        (void)of;                                                                                                      \
        return (value);                                                                                                \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")
/** The function of fields that are not always known, or of rows that are not always shown. */
#define PREDICATE(name, value)                                                                                         \
    static bool name(const void *record)                                                                               \
    {                                                                                                                  \
        const EK__T *it = record;                                                                                      \
        return (value);                                                                                                \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")
/** The function of FOUND. */
#define FINDER(name, value)                                                                                            \
    static const void *name(const void *record, const ek__owner *of)                                                   \
    {                                                                                                                  \
        const EK__T *it = record;                                                                                      \
        (void)it;                                                                                                      \
        (void)of;                                                                                                      \
        return (value);                                                                                                \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")

#define CSV(...)   .csv = {.at = __VA_ARGS__}
#define PAGE(...)  .page = {.at = __VA_ARGS__}
#define PRINT(...) .text = {.at = __VA_ARGS__}

/** The function of a table's `locate`: a statement that adds to `out`. */
#define LOCATOR(name, statement)                                                                                       \
    static void name(const void *record, const ek__owner *of, ek__location *out)                                       \
    {                                                                                                                  \
        const EK__T *it = record;                                                                                      \
        (void)it;                                                                                                      \
        (void)of;                                                                                                      \
        statement;                                                                                                     \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")

/** The fields of struct EK__T. */
#define FIELDS(array, path_, about_)                                                                                   \
    .path = (path_), .about = (about_), .field = (array), .n = sizeof(array) / sizeof *(array), .size = sizeof(EK__T)

/** The same of the entries of NUMBERED, which are identified by the owner's number. */
#define FIELDS_BY_NUMBER(array, path_, about_)                                                                         \
    .path = (path_), .about = (about_), .field = (array), .n = sizeof(array) / sizeof *(array)

/** A table's rows: a list of a result, EK__R; of a trace a list of every rank, a list of the run, one struct of every
 *  rank. */
#define RESULT_LIST(n, m)      .of_run = true, .n_at = offsetof(EK__R, n), .at = offsetof(EK__R, m)
#define RESULT_ITEMS(function) .of_run = true, .item = (function)
#define RANK_LIST(n, m)        .n_at = offsetof(ek_trace_rank, n), .at = offsetof(ek_trace_rank, m)
#define RUN_LIST(n, m)         .of_run = true, .n_at = offsetof(ek_trace_run, n), .at = offsetof(ek_trace_run, m)
#define RANK_STRUCT(m)         .inner = true, .at = offsetof(ek_trace_rank, m)
/** The function of RESULT_ITEMS: how many entries the result `r` has, and entry `i`, NULL where it is not shown. */
#define ITEMS(name, n, entry)                                                                                          \
    static const void *name(int i, ek__owner *of, bool *end)                                                           \
    {                                                                                                                  \
        const EK__R *r = of->result;                                                                                   \
        of->number = i;                                                                                                \
        *end = i >= (n);                                                                                               \
        return *end ? NULL : (entry);                                                                                  \
    }                                                                                                                  \
    _Static_assert(true, "a semicolon follows")
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
