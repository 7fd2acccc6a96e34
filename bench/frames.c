/* Measures frames of the page in a browser: runs a script that pans pages with 100 000 events in view in headless
 * Chromium, and enters its measurements into the report. Rendering is by software, as on the machine it runs on;
 * without a browser the part is skipped with a note. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* Beside this program: build/bench/bench, build/cli/evenkeel. */
static bool beside(const char *name, char *path, size_t size)
{
    char own[1024];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0)
        return false;
    own[n] = '\0';
    char *slash = strrchr(own, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return snprintf(path, size, "%s/%s", own, name) < (int)size && access(path, R_OK) == 0;
}

/* A line "WHAT|EVENTS|FRAMES|MEAN|P95|WORST|DRAW|DRAW_P95" of the script: milliseconds. */
static bool say_row(const char *line)
{
    char what[128];
    long events;
    int frames;
    double mean, p95, worst, draw, draw_p95;
    if (sscanf(line, "%127[^|]|%ld|%d|%lf|%lf|%lf|%lf|%lf", what, &events, &frames, &mean, &p95, &worst, &draw,
               &draw_p95) != 8)
        return false;
    bench_say("| %s | %ld | %d | %.0f | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms |\n", what, events, frames,
              1000 / mean, mean, p95, worst, draw, draw_p95);
    bench_hold(p95 <= 50, "at most 50 ms for 95 of 100 frames of '%s' (%.1f ms)", what, p95);
    return true;
}

void bench_frames(double seconds)
{
    char evenkeel[1200], folder[1100], command[3600], line[512];
    if (!beside("../cli/evenkeel", evenkeel, sizeof evenkeel) || access("tests/browser/browser.sh", X_OK) != 0) {
        bench_say("\n## The page in a browser\n\nNot measured: run from the project's folder after a build.\n");
        return;
    }
    beside(".", folder, sizeof folder);
    snprintf(command, sizeof command, "tests/browser/browser.sh --frames %g '%s' '%s/browser'", 4 * seconds, evenkeel,
             folder);
    bench_say(
        "\n## The page in a browser\n\nPanning for %g s in headless Chromium at 1280 x 720, drawn by software: time "
        "from frame to frame, and what drawing took of it.\n\n",
        4 * seconds);
    FILE *out = popen(command, "r");
    if (!out)
        bench_give_up("no shell");
    int rows = 0;
    while (fgets(line, sizeof line, out)) {
        line[strcspn(line, "\n")] = '\0';
        if (strchr(line, '|') && rows++ == 0)
            bench_say(
                "| page | events in view | frames | a second | mean | 95 of 100 below | worst | drawing | drawing, "
                "95 of 100 |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        if (!say_row(line) && line[0])
            bench_say("%s\n", line);
    }
    int status = pclose(out);
    bench_hold(WIFEXITED(status) && WEXITSTATUS(status) == 0, "that the browser's bench ends well");
}
