/* diagnose/transfer_time.h - estimates the time of a graph's collectives where no trace has them by name. */
#ifndef EK_DIAGNOSE_TRANSFER_TIME_H
#define EK_DIAGNOSE_TRANSFER_TIME_H

#include "diagnose/bottleneck.h"
#include "evenkeel/ir_check.h"

/** A rate, and where it is from. */
typedef struct ek__rate {
    double gbs;         /**< 10^9 B/s; NAN: unknown */
    bool of_message;    /**< bytes of the message over its time; else bytes that a device sends */
    ek_basis basis;     /**< derived: measured in the trace; assumed: of the device */
    const char *source; /**< "the mean of HCCS links in the trace, 18.2 GB/s"; in the diagnosis' pool */
} ek__rate;

/** The rate for a collective over `n_ranks` (0: not known). @return EK_OK or EK_ERR_MEMORY */
ek_status ek__rate_find(const ek__diagnose *d, int n_ranks, ek__rate *out, ek_error *err);

/** Nanoseconds of a graph's collective once; NAN where its bytes or the rate are not known. */
double ek__rate_time(const ek__rate *rate, const ek_ir_comm *comm);

/** The number of runs of a graph's collective of layers in a step; 1 where unknown, and *known is false then. */
int ek__micro_batches_of_step(const ek__diagnose *d, bool *known);

#endif
