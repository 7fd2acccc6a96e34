/* Checks the device that tables of kernels and of rates name in every row. Kernels of another device than the
 * calibrated one would become its own, so the names are compared with it, and a named device is the start of a
 * calibration without another one. */
#include "calibrate/table_device.h"

#include <stdio.h>
#include <string.h>

#include "trace/text/csv.h"

ek_status ek__table_device(const char *path, char words[EK__DEVICE_WORDS], ek_error *err)
{
    ek__csv *csv;
    bool more = true;
    int first = 0;
    words[0] = '\0';
    ek_status status = ek__csv_open(path, &csv, err);
    if (status)
        return status;
    int column = ek__csv_column(csv, "device", NULL);
    while (status == EK_OK && (status = ek__csv_next(csv, &more, err)) == EK_OK && more) {
        const char *cell = ek__csv_cell(csv, column);
        if (!cell[0] || strncmp(words, cell, EK__DEVICE_WORDS - 1) == 0)
            continue;
        if (words[0])
            status =
                ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, (int)ek__csv_line(csv), column + 1}),
                         "is of '%.80s', but line %d of '%.80s'; give one table for each device", cell, first, words);
        snprintf(words, EK__DEVICE_WORDS, "%s", cell);
        first = (int)ek__csv_line(csv);
    }
    ek__csv_close(csv);
    return status;
}
