/* base/version.c - the version of the library. */
#include "evenkeel/version.h"

const char *ek_version(void)
{
    return EK_VERSION;
}

int ek_version_number(void)
{
    return EK_VERSION_NUMBER;
}
