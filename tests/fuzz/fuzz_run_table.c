/* Tables of measured runs: no input may do more than be refused, with a place in it; what is read has jobs that count. */
#include <assert.h>
#include <string.h>

#include "evenkeel/calibrate.h"
#include "fuzz.h"

