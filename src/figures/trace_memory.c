/* Figures of memory: peaks by component, curves, allocations, and MindSpore's memory tracker. */
#include <math.h>
#include <stdio.h>

#include "figures/rows.h"
#include "figures/trace_figures.h"

/* ---- peaks and curves ---- */

#define EK__T ek_trace_memory_peak
static const ek__member peak[] = {
    {NULL, TEXT(component), NULL, CSV(1, "component"), PAGE(1, "component", "Component")},
    {"allocated_mb", MB(allocated_mb), "by the program", CSV(2), PAGE(3, "allocated", "Allocated", EK__LESS)},
    {"reserved_mb", MB(reserved_mb), "from the device", CSV(3), PAGE(4, "reserved", "Reserved", EK__LESS)},
    {"active_mb", MB(active_mb), "with what streams still use", CSV(4), PAGE(5, "active", "Active", EK__LESS)},
};
const ek__fields ek__trace_peak = {
    FIELDS(peak, "ranks[].memory_peak.peak_by_component[NAME]", "Null where the producer's column is empty.")};
static const ek__member module[] = {
    {"reserved_mb", MB(reserved_mb), "from the device, by a module of the driver"},
};
static const ek__fields modules = {FIELDS(module, "ranks[].memory_peak.peak_by_module[NAME]", NULL)};
#undef EK__T

#define EK__T ek_trace_memory_point
GETTER(component, text, of->rank->memory.peak[it->component].component);
static const ek__member point[] = {
    {"time_us", NS(time), "when"},
    {"component", GET(TEXT, component), "of which"},
    {"allocated_mb", MB(allocated_mb), "by the program"},
    {"reserved_mb", MB(reserved_mb), "from the device"},
};
static const ek__fields points = {FIELDS(point, "ranks[].memory_peak.curve[]", "Thinned; peaks are kept.")};
#undef EK__T

#define EK__T ek_trace_allocation
/* ---- allocations ---- */
GETTER(held_for, number,
       (it->end != EK_TRACE_UNKNOWN && it->start != EK_TRACE_UNKNOWN) ? ek__sum(it->end, -it->start)
                                                                      : EK_TRACE_UNKNOWN);
static const ek__member allocation[] = {
    {"name", TEXT(name), "the operator that allocated it", PAGE(2, "name", "Allocated by", EK__SEARCH)},
    {"size_kb", KB(size_kb), "its size", PAGE(3, "mb", "Size")},
    {"start_us", NS(start), "when it was allocated", PAGE(4, "begin", "From", EK__PLACE)},
    {"end_us", NS(end), "when it was released; null: never", PAGE(5, "end", "To", EK__PLACE)},
    {NULL, GET(NS, held_for), NULL, PAGE(6, "lasts", "Held for")},
};
static const ek__fields allocations = {
    FIELDS(allocation, "ranks[].memory_peak.largest[], .kept[]", "Largest first; `kept` was never released.")};
static const ek__member largest_allocation[] = {
    {"name", TEXT(name), "the operator that allocated it"},
    {"size_kb", KB(size_kb), "its size"},
};
static const ek__fields largest_allocations = {
    FIELDS(largest_allocation, "ranks[].memory_peak.largest_allocation", NULL)};
static const ek__member block[] = {
    {"name", TEXT(name), "the operator that made it", PAGE(2, "name", "Block")},
    {"size_kb", KB(size_kb), "its size", PAGE(3, "mb", "Size")},
    {"start_tick", COUNT(start), "when it was made", PAGE(4, "begin", "From tick")},
    {"end_tick", COUNT(end), "when it was freed; null: never", PAGE(5, "end", "To tick")},
};
static const ek__fields blocks = {
    FIELDS(block, "ranks[].memory_peak.tracker.largest[]", "Alive at the peak, largest first.")};
#undef EK__T

/* ---- the tracker ---- */

#define EK__T ek_trace_live
static const ek__member live[] = {
    {NULL, TEXT(type), NULL, PAGE(1, "what", "What")},
    {"", BYTES(bytes), "bytes alive at the peak, by type or by layer", PAGE(3, "mb", "Alive at the peak")},
};
static const ek__fields lives = {FIELDS(live, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_tracker_site
GETTER(last_user, text, it->last_user ? it->last_user : "");
static const ek__member site[] = {
    {"place", TEXT(place), "of the Python stack; else the operator's name", PAGE(2, "place", "Made by")},
    {"layer", TEXT(layer), "`3-LlamaDecodeLayer`; `(other)`", PAGE(3, "layer", "Layer")},
    {"live", COUNT(n_live), "blocks alive at the peak"},
    {"live_bytes", BYTES(live_bytes), "bytes of them", PAGE(4, "live", "Alive at the peak")},
    {"held", COUNT(n_held), "of those: no task uses them any more"},
    {"held_bytes", BYTES(held_bytes), "bytes of them", PAGE(5, "held", "Held after its last use", EK__LESS)},
    {"last_user", TEXT(last_user), "of the largest held block: the task that used it last"},
    {NULL, GET(TEXT, last_user), NULL, PAGE(6, "user", "Last user of the largest held")},
    {"last_used_tick", COUNT(last_used_tick), "of that block; null: none held"},
    {"released_tick", COUNT(released_tick), "of that block; null: never"},
    {"never_freed", COUNT(n_never_freed), "blocks never freed"},
    {"never_freed_bytes", BYTES(never_freed_bytes), "bytes of them", PAGE(7, "never", "Never freed", EK__LESS)},
    {"leaked", COUNT(n_leaked), "of those: made in a step before the last one"},
    {"leaked_bytes", BYTES(leaked_bytes), "bytes of them"},
};
static const ek__fields sites = {
    FIELDS(site, "ranks[].memory_peak.tracker.sites[]",
           "Blocks that one place of the program made for one layer. Weights and constants count as alive, but neither "
           "as held nor as never freed.")};
#undef EK__T

#define EK__T ek_trace_tracker_step
static const ek__member tracker_step[] = {
    {"tick", COUNT(tick), "when a step began"},
    {"live_bytes", BYTES(live_bytes), "alive then"},
};
static const ek__fields tracker_steps = {FIELDS(tracker_step, "ranks[].memory_peak.tracker.steps[]", NULL)};
#undef EK__T

#define EK__T ek_trace_tracker
PREDICATE(has_blocks, it->n_rows > 0);
static const ek__member tracker[] = {
    {"rows", COUNT(n_rows), "blocks", PAGE(7, "rows", "Blocks")},
    {"pool_blocks", COUNT(n_pool_blocks), "blocks of the pool"},
    {"somas_rows", COUNT(n_somas_rows), "blocks that SOMAS placed"},
    {"peak_bytes", BYTES(peak_bytes), "the most alive at once", PAGE(2, "peak", "Peak")},
    {"peak_tick", COUNT(peak_tick), "when", PAGE(3, "tick", "At tick")},
    {"never_freed_bytes", BYTES(never_freed_bytes), "weights and constants too",
     PAGE(5, "never", "Never freed", EK__LESS)},
    {"max_actual_peak_memory", BYTES(max_actual_peak_bytes), "the largest peak that the tracker tells, in bytes",
     PAGE(4, "actual", "Largest peak that it tells", EK__LESS)},
    {"held_dead_bytes", BYTES(held_dead_bytes),
     "alive at the peak, with the last user's tick before it; weights and constants too"},
    {"tells_users", FLAG(tells_users), "some block names the tasks that use it"},
    {"tells_stacks", FLAG(tells_stacks), "some block has a Python stack"},
    {"held_bytes", BYTES(held_bytes), "at the peak, the last user over, without weights and constants",
     PAGE(6, "dead", "Held after its last use, at the peak", EK__LESS)},
    {"released_peak_bytes", BYTES(released_peak_bytes), "the peak without what is held"},
    {"never_freed_other_bytes", BYTES(never_freed_other_bytes), "never freed, without weights and constants"},
    {"leaked_bytes", BYTES(leaked_bytes), "of those: made in a step before the last one; null without steps"},
    {"growth_bytes", REAL(growth_bytes),
     "of what is alive at the begin of a step, mean a step, in bytes; null without steps"},
    {"grows", FLAG(grows), "it is more at the begin of every step than at that of the one before"},
    {"steps", SHORT_LIST(n_steps, step, tracker_steps), "what was alive when a step began"},
    {"sites", LIST(n_sites, site, sites), "places of the program"},
    {"live_at_peak_by_type", SHORT_MAP(n_live, live, lives), "bytes by type, largest first"},
    {"live_at_peak_by_layer", SHORT_MAP(n_live_layers, live_layer, lives), "bytes by layer, largest first"},
    {"largest", LIST(n_largest, largest, blocks), "single blocks"},
};
static const ek__fields trackers = {
    FIELDS(tracker, "ranks[].memory_peak.tracker",
           "Numbers of blocks, and bytes; null without a tracker's files. [trace.md](trace.md#memory-tracker) defines "
           "them."),
    .known = has_blocks};
#undef EK__T

#define EK__T ek_trace_memory
FINDER(largest, it->n_largest > 0 ? &it->largest[0] : NULL);
static const ek__member memory[] = {
    {"rows", COUNT(n_rows), "of the memory record"},
    {"peak_by_component", SHORT_MAP(n_peaks, peak, ek__trace_peak), "`APP`, `PTA`, `PTA+GE`, `GE`, `MindSpore`, ..."},
    {"operator_rows", COUNT(n_operator_rows), "allocations by operators"},
    {"largest_allocation", FOUND(largest, largest_allocations), "the largest of them; null without one"},
    {"never_released", COUNT(n_never_released), "how many of them were not"},
    {"largest", LIST(n_largest, largest, allocations), "the largest ones"},
    {"kept", LIST(n_kept, kept, allocations), "those never released"},
    {"curve", SHORT_LIST(n_points, point, points), "over time"},
    {"peak_by_module", SHORT_MAP(n_modules, module, modules), "npu_module_mem: by module of the driver"},
    {"tracker", OBJECT(tracker, trackers), "memory_block.csv, task.csv"},
};
const ek__fields ek__trace_memory = {FIELDS(memory, "ranks[].memory_peak", NULL)};
#undef EK__T

/* ---- tables ---- */

/* ---- places in the timeline ---- */

/* When a component's curve is highest. */
static void locate_peak(const void *record, const ek__owner *of, ek__location *out)
{
    const ek_trace_memory *m = &of->rank->memory;
    const ek_trace_memory_peak *of_what = record;
    double most = -INFINITY;
    for (int i = 0; i < m->n_points; i++) {
        const ek_trace_memory_point *p = &m->point[i];
        double mb = isfinite(p->allocated_mb) ? p->allocated_mb : p->reserved_mb;
        if (&m->peak[p->component] != of_what || !(mb > most))
            continue;
        most = mb;
        out->start = out->end = p->time;
    }
}

#define EK__T ek_trace_allocation
LOCATOR(locate_allocation, out->start = it->start; out->end = it->end; out->name = it->name);
#undef EK__T

/* ---- tables ---- */

const ek__rows ek__memory_rows[] = {
    {"memory", "memory", "peaks", "Peaks by component", .rank_column = 2, .fields = &ek__trace_peak,
     RANK_LIST(memory.n_peaks, memory.peak), .locate = locate_peak},
    {NULL, "memory", "largest", "Largest allocations", "number", "No.", EK__KEY_NUMBER, .fields = &allocations,
     RANK_LIST(memory.n_largest, memory.largest), .locate = locate_allocation, .sort = 2},
    {NULL, "memory", "kept", "Never released", "number", "No.", EK__KEY_NUMBER, .fields = &allocations,
     RANK_LIST(memory.n_kept, memory.kept), .locate = locate_allocation, .sort = 2},
    {NULL, "memory", "tracker", "MindSpore's memory tracker", "rank", "Rank", EK__KEY_RANK, .fields = &trackers,
     RANK_STRUCT(memory.tracker), .shown = has_blocks},
    {NULL, "memory", "live", "Alive at the tracker's peak, by type", .rank_column = 2, .fields = &lives,
     RANK_LIST(memory.tracker.n_live, memory.tracker.live), .sort = 2},
    {NULL, "memory", "live-layers", "Alive at the tracker's peak, by layer", .rank_column = 2, .fields = &lives,
     RANK_LIST(memory.tracker.n_live_layers, memory.tracker.live_layer), .sort = 2},
    {NULL, "memory", "tracker-sites", "Alive at the tracker's peak, by place in the program", "number", "No.",
     EK__KEY_NUMBER, .fields = &sites, RANK_LIST(memory.tracker.n_sites, memory.tracker.site), .sort = 3},
    {NULL, "memory", "tracker-largest", "Largest blocks alive at the tracker's peak", "number", "No.", EK__KEY_NUMBER,
     .fields = &blocks, RANK_LIST(memory.tracker.n_largest, memory.tracker.largest), .sort = 2},
    {NULL, "memory", "modules", "Peaks by module of the driver", .rank_column = 2, .fields = &ek__trace_peak,
     RANK_LIST(memory.n_modules, memory.module)},
};
const int ek__n_memory_rows = sizeof ek__memory_rows / sizeof *ek__memory_rows;
