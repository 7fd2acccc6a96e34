/* Reads the options of sbatch for the number of nodes and devices, as "--nodes=8", "--nodes 8", "-N 8" or "-N8" after
 * #SBATCH (sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"). A range such as "2-4" is not read, since the job may get any
 * number in it. */
#include "job/slurm.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *option, *letter, *variable;
    bool typed; /* the number may follow types: "gpu:h100:8" */
} options[] = {
    {"--nodes", "-N", "SLURM_NNODES", false},     {"--gpus-per-node", NULL, "SLURM_GPUS_PER_NODE", true},
    {"--gres", NULL, "SLURM_GPUS_ON_NODE", true}, {"--ntasks-per-node", NULL, "SLURM_NTASKS_PER_NODE", false},
    {"--ntasks", "-n", "SLURM_NTASKS", false},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A text that is a positive integer of at most 7 digits. */
static bool read_number(const char *text, size_t n, char out[16])
{
    for (size_t i = 0; i < n; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    if (n == 0 || n > 7 || text[0] == '0')
        return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

/* "8", and if types are allowed "h100:8", "gpu:h100:8"; the gpu entry of a list. *place: the place of the number. */
static bool read_value(int option, const char *text, size_t n, char out[16], size_t *place)
{
    bool gres = strcmp(options[option].option, "--gres") == 0;
    *place = 0;
    if (!options[option].typed)
        return read_number(text, n, out);
    for (size_t at = 0; at < n;) {
        const char *comma = memchr(text + at, ',', n - at);
        size_t end = comma ? (size_t)(comma - text) : n, number = end;
        while (number > at && text[number - 1] != ':')
            number--;
        *place = number;
        if ((!gres || (end - at > 4 && strncmp(text + at, "gpu:", 4) == 0)) &&
            read_number(text + number, end - number, out))
            return true;
        at = end + 1;
    }
    return false;
}

/* Bytes of an option's name that a word begins with; 0: another word. */
static size_t name_length(int option, const char *word, size_t n)
{
    size_t whole = strlen(options[option].option);
    if (n >= whole && strncmp(word, options[option].option, whole) == 0 && (n == whole || word[whole] == '='))
        return n == whole ? whole : whole + 1;
    if (options[option].letter && n >= 2 && strncmp(word, options[option].letter, 2) == 0)
        return 2;
    return 0;
}

int ek__slurm_settings(const char *comment, size_t n, ek__slurm_setting out[EK__SLURM_MAX_SETTINGS])
{
    static const char begin[] = "#SBATCH";
    int found = 0, pending = -1;
    size_t at = sizeof begin - 1;
    if (n <= at || strncmp(comment, begin, at) != 0 || !is_blank(comment[at]))
        return 0;
    while (at < n && found < EK__SLURM_MAX_SETTINGS) {
        while (at < n && is_blank(comment[at]))
            at++;
        size_t end = at;
        while (end < n && !is_blank(comment[end]))
            end++;
        if (end > at && comment[at] == '#')
            break; /* a comment after the options */
        int option = pending;
        size_t skip = 0;
        for (int i = 0; i < N_OPTIONS && option < 0; i++) {
            skip = name_length(i, comment + at, end - at);
            option = skip ? i : -1;
        }
        bool alone = pending < 0 && option >= 0 && skip == end - at;
        size_t place = 0;
        if (option >= 0 && !alone &&
            read_value(option, comment + at + skip, end - at - skip, out[found].value, &place)) {
            out[found].at = at + skip + place;
            out[found++].variable = options[option].variable;
        }
        pending = alone ? option : -1;
        at = end;
    }
    return found;
}
