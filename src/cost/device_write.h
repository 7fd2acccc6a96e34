/* cost/device_write.h - writes numbers of device files. */
#ifndef EK_COST_DEVICE_WRITE_H
#define EK_COST_DEVICE_WRITE_H

#include <stdio.h>

/* "BEFOREkey: value", with as many digits as it takes to read the same double back. */
void ek__write_pair(const char *before, const char *key, double value, FILE *out);

#endif
