/* Prints questions to standard error, so that a command's output can still be piped, and reads answers line by line. */
#include "ask.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "options.h"

enum { LINE_SIZE = 4096 };

bool cli_can_ask(void)
{
    return cli_is_terminal(STDIN_FILENO) && cli_is_terminal(STDERR_FILENO);
}

/* An answer without the blanks around it; empty for '*', the original's word for nothing. False at the end. */
static bool read_answer(char line[LINE_SIZE])
{
    fflush(stdout);
    fflush(stderr);
    if (!fgets(line, LINE_SIZE, stdin)) {
        fputc('\n', stderr);
        cli_error(NULL, "the answers ended before the questions; nothing was done");
        return false;
    }
    size_t n = strlen(line);
    if (n == LINE_SIZE - 1 && line[n - 1] != '\n')
        for (int c = getchar(); c != EOF && c != '\n';)
            c = getchar();
    while (n > 0 && strchr(" \t\r\n", line[n - 1]))
        line[--n] = '\0';
    size_t skip = strspn(line, " \t");
    memmove(line, line + skip, n - skip + 1);
    if (strcmp(line, "*") == 0)
        line[0] = '\0';
    return true;
}

bool cli_ask_int(const char *question, const char *unit, int least, int most, int preset, int *out)
{
    char line[LINE_SIZE];
    for (;;) {
        fprintf(stderr, "%s%s%s, %d to %d [%d]: ", question, unit ? " in " : "", unit ? unit : "", least, most, preset);
        if (!read_answer(line))
            return false;
        if (!line[0]) {
            *out = preset;
            return true;
        }
        char *end;
        errno = 0;
        long value = strtol(line, &end, 10);
        if (end != line && !*end && !errno && value >= least && value <= most) {
            *out = (int)value;
            return true;
        }
        fprintf(stderr, "  '%s' is no whole number from %d to %d; once more\n", line, least, most);
    }
}

bool cli_ask_number(const char *question, const char *unit, double least, double most, bool optional, double preset,
                    double *out)
{
    char line[LINE_SIZE], standing[48] = "", range[64];
    if (most >= 1e9)
        snprintf(range, sizeof range, "%g or more", least);
    else
        snprintf(range, sizeof range, "%g to %g", least, most);
    if (optional)
        snprintf(standing, sizeof standing, " [none]");
    else if (!isnan(preset))
        snprintf(standing, sizeof standing, " [%g]", preset);
    for (;;) {
        fprintf(stderr, "%s%s%s, %s%s: ", question, unit ? " in " : "", unit ? unit : "", range, standing);
        if (!read_answer(line))
            return false;
        if (!line[0] && (optional || !isnan(preset))) {
            *out = optional ? NAN : preset;
            return true;
        }
        char *end;
        double value = strtod(line, &end);
        bool plain = strspn(line, "0123456789+-.eE") == strlen(line); /* neither nan, inf nor hexadecimal */
        if (end != line && !*end && plain && value >= least && value <= most) {
            *out = value;
            return true;
        }
        fprintf(stderr, "  '%s' is no number, %s; once more\n", line, range);
    }
}

bool cli_ask_yes(const char *question, bool preset, bool *out)
{
    char line[LINE_SIZE];
    for (;;) {
        fprintf(stderr, "%s [%s]? ", question, preset ? "Y/n" : "y/N");
        if (!read_answer(line))
            return false;
        static const char *const words[] = {"n", "no", "0", "y", "yes", "1"};
        for (int i = 0; line[0] && i < 6; i++)
            if (strcasecmp(line, words[i]) == 0) {
                *out = i >= 3;
                return true;
            }
        if (!line[0]) {
            *out = preset;
            return true;
        }
        fprintf(stderr, "  '%s' is neither y nor n; once more\n", line);
    }
}

bool cli_ask_text(const char *question, const char *preset, char *out, size_t size)
{
    char line[LINE_SIZE];
    for (;;) {
        fprintf(stderr, "%s%s%s%s: ", question, *preset ? " [" : "", preset, *preset ? "]" : "");
        if (!read_answer(line))
            return false;
        const char *answer = line[0] ? line : preset;
        if (strlen(answer) < size) {
            snprintf(out, size, "%s", answer);
            return true;
        }
        fprintf(stderr, "  at most %zu bytes; once more\n", size - 1);
    }
}
