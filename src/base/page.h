/* base/page.h - prints text for a terminal: headings, cells of a table, sentences broken at words. Texts may have any
 * bytes: all of them are printed by ek__print_name(). Widths are columns, not bytes. */
#ifndef EK_BASE_PAGE_H
#define EK_BASE_PAGE_H

#include <stdbool.h>
#include <stdio.h>

enum { EK__PAGE_WIDTH = 100 };

/** An escape sequence, where colour is wanted. */
void ek__color(bool wanted, const char *code, FILE *out);

/** A bold text with an empty line before it; the caller ends the line. */
void ek__print_heading(bool color, const char *text, FILE *out);

/** A text cut at its end with "..." and filled with blanks to this number of columns. */
void ek__print_cell(const char *text, int width, FILE *out);

/** The end of a text that fits into this number of columns with "..." before it; the text itself where it fits. */
const char *ek__tail(const char *text, int width);

/** It, printed, "...w1-Linear/MatMul-op0". Not filled up. */
void ek__print_tail(const char *text, int width, FILE *out);

/** The first `size` bytes of a text, as a name; with NULL they are only measured. @return columns */
int ek__print_part(const char *text, size_t size, FILE *out);

/**
 * Words with one blank between them, from column `column` on; line ends count as blanks. Lines end at `width` columns,
 * unless one word is longer; those that follow begin with `indent` blanks.
 * @return the column reached
 */
int ek__print_words(const char *text, int column, int indent, int width, FILE *out);

/** Sentences of at most EK__PAGE_WIDTH columns, every line led by `indent` blanks. A line end in the text is kept, with
 *  the blanks after it; the last line is ended. */
void ek__print_wrapped(const char *text, int indent, FILE *out);

#endif
