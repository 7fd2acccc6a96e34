/* Breaks words into lines, greedily: a word goes on the next line where it would pass the last column. A word longer
 * than a line stays whole, since it is a path or a setting to be copied. Characters are never cut. */
#include "base/page.h"

#include <string.h>

#include "base/digits.h"
#include "base/print.h"
#include "base/utf8.h"

enum { MAX_PIECE = 1024 };

void ek__color(bool wanted, const char *code, FILE *out)
{
    if (wanted)
        fputs(code, out);
}

void ek__print_heading(bool color, const char *text, FILE *out)
{
    fputc('\n', out);
    ek__color(color, "\033[1m", out);
    fputs(text, out);
    ek__color(color, "\033[0m", out);
}

/* ---- cells ---- */

/* Columns of the first `length` bytes, one character. */
static int columns_of(const char *text, int length)
{
    char one[5] = "";
    memcpy(one, text, (size_t)length);
    return ek__columns(one);
}

const char *ek__tail(const char *text, int width)
{
    uint32_t code;
    int columns = ek__columns(text);
    if (columns <= width)
        return text;
    for (int length; columns > width - 3 && (length = ek__utf8_next(text, &code)); text += length)
        columns -= columns_of(text, length);
    return text;
}

void ek__print_tail(const char *text, int width, FILE *out)
{
    const char *tail = ek__tail(text, width);
    fputs(tail > text ? "..." : "", out);
    ek__print_name(tail, out);
}

void ek__print_cell(const char *text, int width, FILE *out)
{
    char cut[512];
    uint32_t code;
    int columns = ek__columns(text);
    if (columns > width) {
        size_t used = 0;
        columns = 0;
        for (int length; (length = ek__utf8_next(text + used, &code)) && used + 8 < sizeof cut;
             used += (size_t)length) {
            int wide = columns_of(text + used, length);
            if (columns + wide > width - 3)
                break;
            columns += wide;
        }
        snprintf(cut, sizeof cut, "%.*s...", (int)used, text);
        text = cut;
        columns += 3;
    }
    ek__print_name(text, out);
    fprintf(out, "%*s", columns < width ? width - columns : 0, "");
}

/* ---- words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

int ek__print_part(const char *text, size_t size, FILE *out)
{
    int columns = 0;
    while (size > 0) {
        char piece[MAX_PIECE];
        size_t n = size < sizeof piece ? size : sizeof piece - 1;
        while (n < size && n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
        memcpy(piece, text, n);
        piece[n] = '\0';
        columns += ek__columns(piece);
        if (out)
            ek__print_name(piece, out);
        text += n;
        size -= n;
    }
    return columns;
}

static int print_words(const char *text, size_t size, int column, int indent, int width, FILE *out)
{
    bool first = true;
    for (size_t at = 0;;) {
        while (at < size && is_blank(text[at]))
            at++;
        size_t n = 0;
        while (at + n < size && !is_blank(text[at + n]))
            n++;
        if (n == 0)
            return column;
        int columns = ek__print_part(text + at, n, NULL);
        if (column > indent && column + !first + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        column += ek__print_part(text + at, n, out);
        first = false;
        at += n;
    }
}

int ek__print_words(const char *text, int column, int indent, int width, FILE *out)
{
    return print_words(text, strlen(text), column, indent, width, out);
}

void ek__print_wrapped(const char *text, int indent, FILE *out)
{
    while (*text) {
        size_t size = strcspn(text, "\n"), blanks = strspn(text, " ");
        fprintf(out, "%*s", indent + (int)blanks, "");
        if (blanks < size)
            print_words(text + blanks, size - blanks, indent + (int)blanks, indent, EK__PAGE_WIDTH, out);
        fputc('\n', out);
        text += size + (text[size] == '\n');
    }
}
