#include "diagnose/bottleneck.h"
ek_status ek__bottleneck_memory(ek__diagnose *d, ek_error *err)
{
 (void)d;(void)err;
 return EK_OK;
}
