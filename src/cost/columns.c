/* Finds the columns of a table of measurements by name. */
#include "cost/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"

static int find(const char *const *names, const char *text)
{
    int i = 0;
    while (names[i] && ek__strcasecmp(names[i], text) != 0)
        i++;
    return names[i] ? i : -1;
}

static const char *nearest(const char *const *names, const char *text)
{
    const char *best = names[0];
    for (int i = 1; names[i]; i++)
        if (ek__edit_distance(names[i], text) < ek__edit_distance(best, text))
            best = names[i];
    return best;
}

ek_status ek__csv_columns(const ek__csv *csv, const char *path, const char *const *names, int *at, ek_error *err)
{
    for (int i = 0; names[i]; i++)
        at[i] = -1;
    for (int c = 0; c < ek__csv_n_columns(csv); c++) {
        const char *text = ek__csv_header(csv, c);
        int i = find(names, text);
        if (i < 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 1, c + 1}),
                            "column %d is '%.60s', which no such table has; the nearest is '%s'; rename it or leave "
                            "it out",
                            c + 1, text, nearest(names, text));
        if (at[i] >= 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 1, c + 1}),
                            "columns %d and %d are both '%s'; leave one of them out", at[i] + 1, c + 1, names[i]);
        at[i] = c;
    }
    for (int i = 0; names[i]; i++)
        if (at[i] < 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 1, 1}), "has no column '%s'; add it", names[i]);
    return EK_OK;
}
