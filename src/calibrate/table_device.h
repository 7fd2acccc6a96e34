/* calibrate/table_device.h - finds the device of a table of kernels or rates. */
#ifndef EK_CALIBRATE_TABLE_DEVICE_H
#define EK_CALIBRATE_TABLE_DEVICE_H

#include "base/error.h"

enum { EK__DEVICE_WORDS = 96 };

/** The column `device` of a table, empty when no row fills it.
 *  @return EK_OK; EK_ERR_INPUT with the line where rows are of two devices; errors of reading */
ek_status ek__table_device(const char *path, char words[EK__DEVICE_WORDS], ek_error *err);

#endif
