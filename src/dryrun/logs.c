/* Lists logs of dry runs as found, with the stage and rank in each name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "dryrun/collect.h"

/* Digits at *at, without a sign. */
static bool read_number(const char *name, size_t n, size_t *at, int most, int *out)
{
    int value = 0;
    size_t from = *at;
    for (; *at < n && name[*at] >= '0' && name[*at] <= '9'; ++*at) {
        if (value > (most - 9) / 10)
            return false;
        value = 10 * value + (name[*at] - '0');
    }
    *out = value;
    return *at > from;
}

static bool read_word(const char *name, size_t n, size_t *at, const char *word)
{
    size_t length = strlen(word);
    if (n - *at < length || memcmp(name + *at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

ek__log_name ek__log_name_read(const char *name, size_t n, int *stage, int *rank)
{
    size_t at = 0;
    if (read_word(name, n, &at, "rank_")) {
        *stage = EK__NO_STAGE;
        bool whole = read_number(name, n, &at, EK__MAX_RANK, rank) && read_word(name, n, &at, ".log") && at == n;
        return whole ? EK__NAME_RANK_FILE : EK__NAME_OTHER;
    }
    if (!read_word(name, n, &at, "stage"))
        return EK__NAME_OTHER;
    const char *between = read_word(name, n, &at, "_") ? "_rank_" : "_";
    bool whole = read_number(name, n, &at, EK__MAX_LOG_STAGE, stage) && read_word(name, n, &at, between) &&
                 read_number(name, n, &at, EK__MAX_RANK, rank) && at == n;
    return whole ? EK__NAME_STAGE_FOLDER : EK__NAME_OTHER;
}

void ek__logs_clear(ek__logs *logs)
{
    for (size_t i = 0; i < logs->n; i++)
        free(logs->log[i].path);
    free(logs->log);
    *logs = (ek__logs){0};
}

ek_status ek__logs_add(ek__logs *logs, const char *source, int stage, int rank, const char *path, ek_error *err)
{
    if (logs->n == EK__MAX_LOGS)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){source, 0, 0}),
                        "contains more than %d logs; give the folder of one dry run, with one rank of each stage",
                        EK__MAX_LOGS);
    ek_stage_log *grown = ek__with_room(logs->log, &logs->room, logs->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    logs->log = grown;
    logs->log[logs->n] = (ek_stage_log){
        .stage = stage,
        .rank = rank,
        .path = ek__strdup(path),
        .log = {.used_mb = NAN, .actual_mb = NAN, .device_mb = NAN, .framework_mb = NAN},
    };
    if (!logs->log[logs->n].path)
        return ek__no_memory(err);
    logs->n++;
    return EK_OK;
}
