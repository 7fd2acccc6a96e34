/* strategies/log_block.h - the lists that the balancer prints, among the other lines of its output or log. */
#ifndef EK_STRATEGIES_LOG_BLOCK_H
#define EK_STRATEGIES_LOG_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/error.h"

/** Is there a line in this text, outside of YAML comments, below which the balancer prints its lists? */
bool ek__is_balancer_log(const char *text, size_t size);

/**
 * Reduce such a text to the lists, in the form of a plan file. Nothing moves to another line, so that messages about
 * the lists name the place in the log.
 *
 * @return EK_OK; EK_ERR_INPUT when no list follows such a line; EK_ERR_MEMORY. O(size).
 */
ek_status ek__balancer_log_lists(const char *name, const char *text, size_t size, char **out, size_t *out_size,
                                 ek_error *err);

#endif
