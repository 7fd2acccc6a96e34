/* The interface to ISA-L, so that a build can be made without it, as on processors that it does not support. */
#include "trace/scan/isal.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

#include "base/error.h"

struct ek__isal {
    struct inflate_state state;
};

bool ek__isal_present(void)
{
    return true;
}

ek__isal *ek__isal_new(void)
{
    return ek__alloc(1, sizeof(ek__isal));
}

void ek__isal_free(ek__isal *isal)
{
    free(isal);
}

void ek__isal_begin(ek__isal *isal)
{
    isal_inflate_init(&isal->state);
    isal->state.crc_flag = ISAL_GZIP_NO_HDR_VER;
}

ek__isal_end ek__isal_inflate(ek__isal *isal, unsigned char **in, unsigned *n, unsigned char *to, unsigned *room)
{
    struct inflate_state *s = &isal->state;
    s->next_in = *in;
    s->avail_in = *n;
    s->next_out = to;
    s->avail_out = *room;
    int code = isal_inflate(s);
    *in = s->next_in;
    *n = s->avail_in;
    *room = s->avail_out;
    if (code < 0 || code == ISAL_NEED_DICT)
        return EK__ISAL_FAILED;
    return s->block_state == ISAL_BLOCK_FINISH ? EK__ISAL_DONE : EK__ISAL_MORE;
}
