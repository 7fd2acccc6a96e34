/* Decides whether a text report has drawings, and how wide they are. The character set is read off the locale's name,
 * since a program that calls setlocale() would change how its libraries print numbers. */
#include "plot.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, USUAL_ROWS = 24, OTHER_ROWS = 8, MOST_SIZE = 100000 };

/* clang-format off */
const cli_option cli_plot_rows[] = {
    {"plot", NULL, "draw into the text also where it goes into a pipe or a file", NULL, CLI_FLAG(cli_plot, on),
     .manual = "[draw](drawings.md) into the text even if it goes into a pipe or a file, with a width of `COLUMNS`, else 80 columns"},
    {"no-plot", NULL, "no drawings; a terminal gets them with text", NULL, CLI_FLAG(cli_plot, off),
     .manual = "no [drawings](drawings.md), which a terminal gets with the text"},
    CLI_END,
};
/* clang-format on */

bool cli_plot_check(const cli_plot *plot, const char *format, const char *undrawn)
{
    if (plot->on && plot->off)
        cli_error(NULL, "--plot and --no-plot do not go together; leave one of them out");
    else if (plot->on && strcmp(format, "text") != 0)
        cli_error(NULL, "--plot draws into the text, so it does not go with --format %s; leave one of them out",
                  format);
    else if (plot->on && undrawn)
        cli_error(NULL, "--plot draws into the report of a plan, and %s prints none; leave one of them out", undrawn);
    else
        return true;
    return false;
}

/* From the environment; 0 where it is not set. */
static int given(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value = text && *text ? strtol(text, &end, 10) : 0;
    return value > 0 && value <= MOST_SIZE && *end == '\0' ? (int)value : 0;
}

/* The first of the variables that is set counts, as POSIX has it. */
static bool is_utf8(void)
{
    static const char *const variable[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *name = NULL;
    for (int i = 0; i < 3 && !(name && *name); i++)
        name = getenv(variable[i]);
    const char *dot = name ? strchr(name, '.') : NULL, *set = dot ? dot + 1 : name;
    return set && (strncasecmp(set, "UTF-8", 5) == 0 || strncasecmp(set, "utf8", 4) == 0);
}

ek_plot cli_plot_of(const cli_plot *plot, const char *format, bool elsewhere)
{
    struct winsize size = {.ws_col = 0};
    bool terminal = cli_is_terminal(STDOUT_FILENO);
    if (plot->off || strcmp(format, "text") != 0 || (!plot->on && (!terminal || elsewhere)))
        return (ek_plot){.columns = 0};
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){.ws_col = 0};
    int columns = given("COLUMNS"), rows = given("LINES");
    columns = columns ? columns : size.ws_col ? size.ws_col : USUAL_COLUMNS;
    rows = rows ? rows : size.ws_row ? size.ws_row : USUAL_ROWS;
    return (ek_plot){.columns = columns,
                     .rows = rows > OTHER_ROWS ? rows - OTHER_ROWS : 1,
                     .utf8 = is_utf8(),
                     .color = cli_color(STDOUT_FILENO)};
}
