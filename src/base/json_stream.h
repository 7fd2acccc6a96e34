/* base/json_stream.h - prints JSON as a stream, for answers too long to build first and for times that must be exact:
 * nanoseconds are printed as microseconds with three decimals, from the whole number, without a double between. A
 * failed write shows in ferror(), which ek__finish() checks. */
#ifndef EK_BASE_JSON_STREAM_H
#define EK_BASE_JSON_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { EK__STREAM_DEPTH = 16 };

typedef struct ek__stream {
    FILE *out;
    bool in_page;  /**< of HTML: texts get no `<` and no line separators, but their numbers */
    bool points;   /**< real numbers have a point or an exponent ("1.0", "1e20"), and texts \b, \f, \n, \r and \t */
    bool one_line; /**< everything on one line, even where lines are requested */
    int depth;
    struct {
        char closing;
        bool lines; /**< a line for every member */
        bool begun; /**< has a member */
    } level[EK__STREAM_DEPTH];
} ek__stream;

/* `key` is NULL inside lists. */

/** Begin an object or a list; with `lines` each member has a separate line. */
void ek__stream_object(ek__stream *s, const char *key, bool lines);
void ek__stream_list(ek__stream *s, const char *key, bool lines);
/** End the innermost one. */
void ek__stream_end(ek__stream *s);
/** A text of any bytes; invalid characters become U+FFFD. NULL: null. */
void ek__stream_text(ek__stream *s, const char *key, const char *text);
void ek__stream_bool(ek__stream *s, const char *key, bool value);
/** INT64_MIN: null. */
void ek__stream_int(ek__stream *s, const char *key, int64_t value);
/** Below `least`: null, for numbers with a special value for unknown. */
void ek__stream_from(ek__stream *s, const char *key, int64_t value, int64_t least);
/** Nanoseconds as microseconds, "118.500"; INT64_MIN: null. */
void ek__stream_us(ek__stream *s, const char *key, int64_t ns);
/** The same as milliseconds, "0.118500". */
void ek__stream_ms(ek__stream *s, const char *key, int64_t ns);
/** 15 significant digits; null when not finite. */
void ek__stream_real(ek__stream *s, const char *key, double value);
/** With this number of decimals; null when not finite. */
void ek__stream_fixed(ek__stream *s, const char *key, double value, int decimals);
/** Nanoseconds of a mean, as microseconds to the nanosecond; null when not finite. */
void ek__stream_mean_us(ek__stream *s, const char *key, double ns);
/** A value that is JSON already; NULL: null. */
void ek__stream_raw(ek__stream *s, const char *key, const char *json);
void ek__stream_null(ek__stream *s, const char *key);

#endif
