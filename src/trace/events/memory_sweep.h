/* trace/events/memory_sweep.h - finds when blocks of memory fill the most. */
#ifndef EK_TRACE_ANALYSE_MEMORY_SWEEP_H
#define EK_TRACE_ANALYSE_MEMORY_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EK__NEVER_FREED INT64_MAX

/** A block that is live in the ticks [start, end). */
typedef struct ek__memory_block {
    int64_t start, end; /**< end: EK__NEVER_FREED */
    int64_t bytes;      /**< 0 or more; all blocks together stay within int64 */
    int64_t used_until; /**< tick at which the task that used it last is over; EK_TRACE_UNKNOWN */
    int64_t last_user;  /**< tick of the last task that used it; EK_TRACE_UNKNOWN */
    int type, layer, name, place;
    bool stays;              /**< intended: a weight or a constant */
    uint32_t users, n_users; /**< of one that stays: its users' ticks among those of all blocks */
} ek__memory_block;

static inline bool ek__block_is_live(const ek__memory_block *block, int64_t tick)
{
    return block->start <= tick && tick < block->end;
}

/** The most bytes live at once, and the first tick with them (EK_TRACE_UNKNOWN without blocks). O(n log n). @return
 *  false when memory is out. */
bool ek__memory_sweep(const ek__memory_block *block, size_t n, int64_t *peak_bytes, int64_t *peak_tick);

/** The most bytes live at once if every block that does not stay were released when its last user is over. O(n log n).
 *  @return false when memory is out. */
bool ek__memory_released_peak(const ek__memory_block *block, size_t n, int64_t *peak_bytes);

/** live[i]: bytes live at tick[i]; ticks ascend. O(n log n + n_ticks). @return false when memory is out. */
bool ek__memory_live_at(const ek__memory_block *block, size_t n, const int64_t *tick, size_t n_ticks, int64_t *live);

#endif
