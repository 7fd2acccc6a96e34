/* The terminal and the files that are installed for it: character set, colours, width; manual pages; completion of the
 * shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/checks.h"

enum { MAX_PATH = 4096 };

void ek__check_terminal(ek__doctor *d)
{
    const ek_doctor_options *o = d->options;
    const char *locale = getenv("LC_ALL");
    locale = locale && *locale ? locale : getenv("LC_CTYPE");
    locale = locale && *locale ? locale : getenv("LANG");
    locale = locale && *locale ? locale : "none";
    if (!o->terminal)
        ek__doctor_add(d, "terminal", EK_DOCTOR_OK, NULL,
                       "the output is no terminal: no colours and no drawings; locale %s", locale);
    else if (!o->utf8)
        ek__doctor_add(d, "terminal", EK_DOCTOR_NOTE, "set LANG=C.UTF-8 for drawings with block characters",
                       "%d columns, %s, drawings in ASCII: the locale %s is not UTF-8", o->columns,
                       o->color ? "colours" : "no colours", locale);
    else if (o->columns < 80)
        ek__doctor_add(d, "terminal", EK_DOCTOR_NOTE, "make the terminal 100 columns wide: tables are as wide",
                       "%d columns, %s, UTF-8", o->columns, o->color ? "colours" : "no colours");
    else
        ek__doctor_add(d, "terminal", EK_DOCTOR_OK, NULL, "%d columns, %s, UTF-8", o->columns,
                       o->color ? "colours" : "no colours");
}

/* ---- files that are installed ---- */

/* `rest` below the prefix that the program is installed in, below /usr/local and /usr. */
static bool find_shared(const ek__doctor *d, const char *rest, char *out, size_t size)
{
    static const char *const prefix[] = {"/usr/local", "/usr"};
    const char *program = d->options->program, *bin = program ? strstr(program, "/bin/") : NULL;
    if (bin) {
        int n = snprintf(out, size, "%.*s/share/%s", (int)(bin - program), program, rest);
        if (n > 0 && (size_t)n < size && access(out, R_OK) == 0)
            return true;
    }
    for (int i = 0; i < 2; i++) {
        snprintf(out, size, "%s%s/share/%s", d->root, prefix[i], rest);
        if (access(out, R_OK) == 0)
            return true;
    }
    return false;
}

void ek__check_pages(ek__doctor *d)
{
    char path[MAX_PATH];
    if (find_shared(d, "man/man1/evenkeel.1", path, sizeof path) ||
        find_shared(d, "man/man1/evenkeel.1.gz", path, sizeof path))
        ek__doctor_add(d, "man", EK_DOCTOR_OK, NULL, "%s", path);
    else
        ek__doctor_add(d, "man", EK_DOCTOR_NOTE,
                       "`meson install` and the packages install it; `evenkeel COMMAND --help` has the same options",
                       "no manual page is installed");
}

void ek__check_completion(ek__doctor *d)
{
    static const struct {
        const char *shell, *path[2];
    } of[] = {
        {"bash", {"bash-completion/completions/evenkeel", NULL}},
        {"zsh", {"zsh/site-functions/_evenkeel", "zsh/vendor-completions/_evenkeel"}},
        {"fish", {"fish/vendor_completions.d/evenkeel.fish", NULL}},
    };
    char path[MAX_PATH], list[64] = "";
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int k = 0; k < 2 && of[i].path[k]; k++)
            if (!strstr(list, of[i].shell) && find_shared(d, of[i].path[k], path, sizeof path))
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", of[i].shell);
    if (*list)
        ek__doctor_add(d, "completion", EK_DOCTOR_OK, NULL, "installed for %s", list);
    else
        ek__doctor_add(
            d, "completion", EK_DOCTOR_NOTE,
            "`meson install` and the packages install it; from the sources: `. cli/completion/evenkeel.bash`",
            "no completion of shells is installed");
}
