/* layout/layout.h - what the files of the search for a layout share. */
#ifndef EK_LAYOUT_LAYOUT_H
#define EK_LAYOUT_LAYOUT_H

#include "evenkeel/layout.h"

int ek__layout_n_devices(const ek_layout *layout);

#endif
