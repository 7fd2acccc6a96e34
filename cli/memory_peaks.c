/* Reads options of `evenkeel memory` and others: standard input in a file, amounts of memory, measured peaks and the
 * choice of those that are fitted. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/memory.h"
#include "evenkeel/save.h"
#include "memory.h"
#include "options.h"

/* ---- standard input ---- */

bool cli_spool_stdin(cli_spool *spool)
{
    const char *folder = getenv("TMPDIR");
    char buffer[65536];
    snprintf(spool->path, sizeof spool->path, "%.4000s/evenkeel-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = -1;
    FILE *out = ek_temporary_open(spool->path, &file, NULL) == EK_OK ? fdopen(file, "wb") : NULL;
    if (!out) {
        cli_error(NULL, "cannot keep standard input in '%s': %s; set TMPDIR to a folder that can be written",
                  spool->path, strerror(errno));
        spool->path[0] = '\0';
        return false;
    }
    bool fine = true;
    for (size_t n; fine && (n = fread(buffer, 1, sizeof buffer, stdin)) > 0;)
        fine = fwrite(buffer, 1, n, out) == n;
    fine = fclose(out) == 0 && fine && !ferror(stdin);
    if (!fine) {
        cli_error(NULL, "cannot read standard input, or keep it in '%s'", spool->path);
        cli_spool_remove(spool);
    }
    return fine;
}

void cli_spool_remove(cli_spool *spool)
{
    if (spool->path[0])
        ek_temporary_remove(spool->path);
    spool->path[0] = '\0';
}

void cli_spool_rename(const cli_spool *spool, ek_error *err)
{
    if (spool->path[0] && strcmp(err->file, spool->path) == 0)
        snprintf(err->file, sizeof err->file, "<stdin>");
}

/* ---- amounts ---- */

bool cli_memory_mb(const char *option, const char *text, double *mb)
{
    double value = ek_memory_amount_mb(text);
    if (!(value >= 1 && value <= 1e9)) {
        cli_error(NULL, "%s must be MB of a device, at least 1, or have a unit, as 59392 or 58GB (got '%s')", option,
                  text);
        return false;
    }
    if (value < 1024 && strspn(text, "0123456789.") == strlen(text))
        cli_note("%s %s is taken as MB; write %sGB for gigabytes", option, text, text);
    *mb = value;
    return true;
}

/* ---- which are fitted ---- */

/* "0,3-5" -> chosen[]. False after a message. */
static bool choose(const char *list, int n_stages, bool chosen[EK_MAX_STAGES])
{
    for (const char *at = list; *at;) {
        char *end;
        long first = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1, last = first;
        if (first >= 0 && *end == '-')
            last = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        if (first < 0 || last < first || (*end && *end != ',') || (*end == ',' && !end[1])) {
            cli_error(NULL, "--calibrate-stages must be stages from 0, as 0,3-5,15 (got '%s')", list);
            return false;
        }
        if (last >= n_stages) {
            cli_error(NULL, "--calibrate-stages names stage %ld, but the job has %d stage%s, 0 to %d", last, n_stages,
                      n_stages == 1 ? "" : "s", n_stages - 1);
            return false;
        }
        for (long s = first; s <= last; s++)
            chosen[s] = true;
        at = end + (*end == ',');
    }
    return true;
}

static bool mark_fitted(ek_measured_peaks *peaks, const char *list, int n_stages)
{
    bool chosen[EK_MAX_STAGES] = {false};
    if (!choose(list, n_stages, chosen))
        return false;
    peaks->n_fitted = 0;
    for (int i = 0; i < peaks->n; i++) {
        peaks->fitted[i] = chosen[peaks->peak[i].stage];
        peaks->n_fitted += peaks->fitted[i];
        chosen[peaks->peak[i].stage] = false;
    }
    for (int s = 0; s < n_stages; s++)
        if (chosen[s]) {
            cli_error(NULL, "--calibrate-stages names stage %d, of which '%s' has no peak", s, peaks->name);
            return false;
        }
    if (peaks->n_fitted == 0)
        cli_error(NULL, "--calibrate-stages names no stage; give some, as 0,3-5");
    return peaks->n_fitted > 0;
}

bool cli_peaks_read(const char *source, const char *stages, int n_stages, bool actual, ek_measured_peaks *out)
{
    cli_spool spool = {{0}};
    ek_error err;
    if (strcmp(source, "-") == 0 && !cli_spool_stdin(&spool))
        return false;
    const char *path = spool.path[0] ? spool.path : source;
    ek_status status = ek_measured_peaks_read(path, spool.path[0] ? "<stdin>" : source, n_stages, actual, &cli_listener,
                                              &cli_notes, out, &err);
    cli_spool_remove(&spool);
    if (status)
        cli_error(&err, "%s", err.message);
    if (status || !stages || mark_fitted(out, stages, n_stages))
        return status == EK_OK;
    ek_measured_peaks_clear(out);
    return false;
}
