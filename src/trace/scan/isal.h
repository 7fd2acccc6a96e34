/* trace/scan/isal.h - inflating a member of a .gz file after its head, by ISA-L, in a third of zlib's time. */
#ifndef EK_TRACE_SCAN_ISAL_H
#define EK_TRACE_SCAN_ISAL_H

#include <stdbool.h>

typedef struct ek__isal ek__isal;

typedef enum ek__isal_end {
    EK__ISAL_MORE,   /**< all of the input is used, or the room is full */
    EK__ISAL_DONE,   /**< the member is read to its end */
    EK__ISAL_FAILED, /**< ISA-L cannot decode it */
} ek__isal_end;

/** Is ISA-L part of this build? Else zlib inflates everything, with the same bytes and the same messages. */
bool ek__isal_present(void);
/** NULL when memory is out. */
ek__isal *ek__isal_new(void);
/** NULL is fine. */
void ek__isal_free(ek__isal *isal);
/** A member begins, after its head. */
void ek__isal_begin(ek__isal *isal);
/** @param in, n the available bytes of the file; out: the rest @param to destination of bytes @param room its size;
 *  out: the rest */
ek__isal_end ek__isal_inflate(ek__isal *isal, unsigned char **in, unsigned *n, unsigned char *to, unsigned *room);

#endif
