/* evenkeel/doctor.h - an installation checked: the build's parts, cores and memory of the machine, programs that are
 * used where they are there, the terminal, files that are installed.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(what they free), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_DOCTOR_H
#define EVENKEEL_DOCTOR_H

#include <stdbool.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

typedef enum ek_doctor_level {
    EK_DOCTOR_OK,
    EK_DOCTOR_NOTE,    /**< something that is optional is missing, or slows work down */
    EK_DOCTOR_PROBLEM, /**< something that is needed is broken */
} ek_doctor_level;
enum { EK_N_DOCTOR_LEVELS = EK_DOCTOR_PROBLEM + 1 };
extern const char *const *const ek_doctor_level_name; /**< "ok", "note", "problem" */

/** One check. */
typedef struct ek_doctor_line {
    const char *id; /**< "cores", "mpi", ...; each once but "feature" */
    ek_doctor_level level;
    const char *text;   /**< the finding, with its values */
    const char *remedy; /**< how to mend it; NULL: nothing to mend */
} ek_doctor_line;

enum { EK_MAX_DOCTOR_LINES = 40 };

/** All findings. */
typedef struct ek_doctor {
    int n_lines;
    ek_doctor_line line[EK_MAX_DOCTOR_LINES];
    int n_of_level[EK_N_DOCTOR_LEVELS];
    int n_threads; /**< that work takes unless it is asked to take others */
    struct ek__pool *pool;
} ek_doctor;

/** Facts that only the program knows. */
typedef struct ek_doctor_options {
    const char *program; /**< path of the program: files are looked for where it is installed; NULL */
    const char *version; /**< of the headers that the program was compiled with; NULL */
    bool terminal;       /**< its output is looked at on a terminal, */
    int columns;         /**< which is so wide, */
    bool utf8, color;    /**< and shows UTF-8 and colours */
} ek_doctor_options;

/**
 * Check the installation. Reads files of the kernel, environment variables (PATH, TMPDIR, BROWSER, DISPLAY,
 * WAYLAND_DISPLAY, MANPATH, LC_ALL, LC_CTYPE, LANG) and folders; writes one file into the temporary folder, which is
 * removed; predicts a small job; starts `mpirun --version` where there is one, for at most 2 s.
 *
 * @param options  NULL: those of a program without a terminal
 * @param out      ek_doctor_clear() frees it; untouched on failure
 * @return EK_OK, whatever was found; EK_ERR_MEMORY. Cost: some milliseconds, and the time of the launcher.
 */
ek_status ek_doctor_check(const ek_doctor_options *options, ek_doctor *out, ek_error *err);
/** Free what it holds and zero it. Accepts a zeroed struct. */
void ek_doctor_clear(ek_doctor *doctor);

EK_END_DECLS
#endif
