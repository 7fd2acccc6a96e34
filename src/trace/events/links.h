/* trace/events/links.h - links between ranks, and their statistics per transport. */
#ifndef EK_TRACE_ANALYSE_LINKS_H
#define EK_TRACE_ANALYSE_LINKS_H

#include "base/error.h"
#include "evenkeel/trace.h"

/** Links below this are listed, not ranked; a link is slow that many times its transport's mean or less. */
#define EK__LINK_MIN_MB     1.0
#define EK__LINK_SLOW_SHARE 0.8

/**
 * Append links to those of a rank, with `ranked` and `slow` filled, and rebuild its transports: mean of the ranked
 * links' bandwidths, slowest, fastest. Names belong to the rank's pool. O(all links * log).
 * @return EK_OK or EK_ERR_MEMORY; then the rank is unchanged
 */
ek_status ek__links_add(ek_trace_rank *rank, const ek_trace_link *link, size_t n, ek_error *err);
/** Does the link lead from a device to itself: of the transport LOCAL, or named by one place twice ("g:3-3")? Its
 * copies within the device's memory are listed and have a mean, but do not use cables: none of them is slow. */
bool ek__link_is_local(const ek_trace_link *link);
/** Numbers of the links' transports, in the order of their names. `number` [n links], `name` [*n] is sorted, both from
 *  malloc; texts are the links' own. False when memory is out. */
bool ek__links_transports(const char *const *transport, size_t n, int **number, const char ***name, int *n_names);

#endif
