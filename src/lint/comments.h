/* lint/comments.h - comments in a file that take findings away. */
#ifndef EK_LINT_COMMENTS_H
#define EK_LINT_COMMENTS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/pool.h"
#include "evenkeel/lint.h"

/** An id that a comment switches off. */
typedef struct ek__comment {
    const char *id;
    int line, column, end_column; /**< of the id in its comment */
    int from, to;                 /**< lines it holds for; from 0: the whole file */
} ek__comment;

enum { EK__WHOLE_MAX = 128 /* rules that comments can switch off for a whole file: EK_MAX_LINT_RULES */ };

typedef struct ek__comments {
    int n;
    ek__comment *comment; /**< [n] by place, so that `to` grows, and `from` of those for lines */
    int n_whole;
    const char *whole[EK__WHOLE_MAX]; /**< [n_whole] ids of rules that are off in the whole file, each once */
} ek__comments;

/** Find the comments of a text; they are in the pool. @return EK_OK or EK_ERR_MEMORY. O(size). */
ek_status ek__comments_read(const char *text, size_t size, ek__pool *pool, ek__comments *out, ek_error *err);
/** Gather the ids that are off in the whole file, those of rules that `find` knows, so that no later question looks at
 *  all comments. Once, before ek__comments_cover(). O(comments x ids gathered). */
void ek__comments_gather(ek__comments *comments, const ek_lint_rule *(*find)(const char *id));
/** Does a comment take findings of this rule on this line away? O(log(comments) + those of the line). */
bool ek__comments_cover(const ek__comments *comments, const char *id, int line);

#endif
