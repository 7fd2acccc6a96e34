/* Programs that are used where they are there: MPI for several processes, a browser for pages, nsys for its reports. */
#include <stdio.h>
#include <stdlib.h>

#include "base/child.h"
#include "doctor/checks.h"

/* ---- MPI ---- */

enum { ANSWER = 128 };
#define ANSWER_SECONDS 2.0 /* a launcher may wait for a network */

void ek__check_mpi(ek__doctor *d)
{
    static const char *const names[] = {"mpirun", "mpiexec", "srun"};
    const char *program = ek__doctor_find(d, "evenkeel-mpi"), *launcher = NULL;
    char version[ANSWER] = "";
    for (int i = 0; i < 3 && !launcher; i++)
        launcher = ek__doctor_find(d, names[i]);
    if (launcher) {
        char path[4096], option[] = "--version", *const argv[] = {path, option, NULL};
        snprintf(path, sizeof path, "%s", launcher);
        ek__child_first_line(argv, ANSWER_SECONDS, version, sizeof version);
    }
    const char *between = version[0] ? ": " : "";
    if (program && launcher)
        ek__doctor_add(d, "mpi", EK_DOCTOR_OK, NULL, "%s, started by %s%s%s", program, launcher, between, version);
    else if (program)
        ek__doctor_add(d, "mpi", EK_DOCTOR_NOTE, "install a launcher of the MPI that it was built with (mpirun, srun)",
                       "%s, and no launcher", program);
    else
        ek__doctor_add(
            d, "mpi", EK_DOCTOR_NOTE,
            "install the package evenkeel-mpi, or build with -Dmpi=enabled, for searches and traces by several "
            "processes",
            launcher ? "no evenkeel-mpi; the launcher is %s%s%s" : "no evenkeel-mpi and no launcher%s%s%s",
            launcher ? launcher : "", between, version);
}

/* ---- a browser ---- */

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

void ek__check_browser(ek__doctor *d)
{
    static const char *const names[] = {"xdg-open",         "open",          "firefox", "chromium",
                                        "chromium-browser", "google-chrome", "wslview", "microsoft-edge"};
    const char *found = is_set("BROWSER") ? getenv("BROWSER") : NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = ek__doctor_find(d, names[i]);
    bool shown = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("BROWSER");
    if (found && shown)
        ek__doctor_add(d, "browser", EK_DOCTOR_OK, NULL, "%s opens pages", found);
    else
        ek__doctor_add(
            d, "browser", EK_DOCTOR_NOTE,
            "copy pages (--html page.html) to a machine with a browser: each is one file and needs no network; "
            "`evenkeel view --serve` is reached through `ssh -L`",
            found ? "%s is there, and no display" : "no browser was found%s", found ? found : "");
}

/* ---- Nsight Systems ---- */

void ek__check_nsight(ek__doctor *d)
{
    const char *found = ek__doctor_find(d, "nsys");
    if (found)
        ek__doctor_add(d, "nsys", EK_DOCTOR_OK, NULL, "%s exports reports of Nsight Systems", found);
    else
        ek__doctor_add(d, "nsys", EK_DOCTOR_OK, NULL,
                       "no nsys, which is needed for .nsys-rep files only; its exports (.sqlite) are read without it");
}
