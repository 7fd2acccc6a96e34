/* Prints names to a terminal, a comment or a table and counts their columns; checks the end of an output. */
#include "base/print.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

void ek__utf8_print(uint32_t code, FILE *out)
{
    char bytes[4];
    int n = ek__utf8_put(code, bytes);
    fwrite(bytes, 1, (size_t)n, out);
}

/* By blocks of Unicode's East Asian Width, not by single characters. */
int ek__width(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        int width;
    } blocks[] = {
        {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x200B, 0x200F, 0},   {0x2E80, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},
        {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
        {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (code >= blocks[i].first && code <= blocks[i].last)
            return blocks[i].width;
    return 1;
}

int ek__columns(const char *text)
{
    int columns = 0, length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length)
        columns += ek__width(code);
    return columns;
}

void ek__print_name(const char *text, FILE *out)
{
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
        ek__utf8_print(control ? '?' : code, out);
    }
}

void ek__print_csv(const char *text, FILE *out)
{
    bool quote = strpbrk(text, ",\"\r\n") != NULL;
    if (quote)
        fputc('"', out);
    int length;
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        if (code == '"')
            fputc('"', out);
        ek__utf8_print(code, out);
    }
    if (quote)
        fputc('"', out);
}

ek_status ek__finish(FILE *out, ek_error *err)
{
    bool failed = fflush(out) != 0;
    if (failed || ferror(out))
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE,
                        "the output could not be written: is the disk full, or was the pipe closed?");
    return EK_OK;
}
