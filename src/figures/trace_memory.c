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
    {"active_mb", MB(active_mb), "including memory still in use by streams", CSV(4),
     PAGE(5, "active", "Active", EK__LESS)},
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
    {"max_actual_peak_memory", BYTES(max_actual_peak_bytes), "the largest peak of the tracker, in bytes",
     PAGE(4, "actual", "Largest reported peak", EK__LESS)},
    {"held_dead_bytes", BYTES(held_dead_bytes),
     "alive at the peak, with the last user's tick before it; weights and constants too"},
    {"tells_users", FLAG(tells_users), "some block names the tasks that use it"},
    {"tells_stacks", FLAG(tells_stacks), "some block has a Python stack"},
    {"held_bytes", BYTES(held_bytes), "at the peak, the last user over, without weights and constants",
     PAGE(6, "dead", "Held after its last use, at the peak", EK__LESS)},
    {"released_peak_bytes", BYTES(released_peak_bytes), "the peak without memory that stays allocated"},
    {"never_freed_other_bytes", BYTES(never_freed_other_bytes), "never freed, without weights and constants"},
    {"leaked_bytes", BYTES(leaked_bytes), "of those: made in a step before the last one; null without steps"},
    {"growth_bytes", REAL(growth_bytes),
     "live at the begin of a step, mean of the steps, in bytes; null without steps"},
    {"grows", FLAG(grows), "it is more at the begin of every step than at that of the one before"},
    {"steps", SHORT_LIST(n_steps, step, tracker_steps), "live memory at the begin of a step"},
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

/* ---- maps of allocations ---- */

#define EK__T ek_trace_memory_room
static const ek__member room[] = {
    {"time_us", NS(time), "when; of a snapshot without times the number of the event"},
    {"live", COUNT(n_live), "allocations that are there"},
    {"active_bytes", BYTES(active_bytes), "requested bytes"},
    {"reserved_bytes", BYTES(reserved_bytes), "memory that the allocator has from the device"},
    {"free_bytes", BYTES(free_bytes), "the part without an allocation; rounding is not free"},
    {"largest_free_bytes", BYTES(largest_free_bytes), "the largest piece of it"},
    {"free_pieces", COUNT(n_free), "how many pieces"},
    {"segments", COUNT(n_segments), "pieces that the allocator has from the device"},
    {"fragmentation", REAL(fragmentation), "1 - largest_free_bytes / free_bytes; null without free memory"},
};
static const ek__fields rooms = {FIELDS(room, "ranks[].memory_peak.block_maps[].at_peak, .at_end",
                                        "Figures of segments are null for a table, which has no addresses.")};
#undef EK__T

#define EK__T ek_trace_block_site
GETTER(map_of_site, text, ((const ek_trace_block_map *)of->parent)->name);
static const ek__member block_site[] = {
    {NULL, GET(TEXT, map_of_site), NULL, CSV(1, "map"), PAGE(2, "map", "Of")},
    {"name", TEXT(name), "the operator, or the innermost frame outside the framework", CSV(2),
     PAGE(3, "name", "Allocated by", EK__SEARCH)},
    {"role", WORD(role, ek__block_role_name),
     "`forward`, `backward`, `recompute`, `optimizer`, `parameters`, `communication` or `other`", CSV(3),
     PAGE(4, "role", "In")},
    {"live", COUNT(n_live), "allocations that are there at the peak", CSV(4), PAGE(5, "live", "There at the peak")},
    {"live_bytes", BYTES(live_bytes), "bytes of them", CSV(5), PAGE(6, "live_mb", "Memory of them")},
    {"allocations", COUNT(n), "all of them", CSV(6), PAGE(7, "all", "Allocations")},
    {"bytes", BYTES(bytes), "bytes of them", CSV(7), PAGE(8, "all_mb", "All requested bytes")},
    {"never_freed", COUNT(n_never_freed), "allocated after the record began, and there when it ended", CSV(8),
     PAGE(9, "never", "Never freed", EK__LESS)},
    {"never_freed_bytes", BYTES(never_freed_bytes), "bytes of them", CSV(9),
     PAGE(10, "never_mb", "Memory never freed", EK__LESS)},
};
static const ek__fields block_sites = {
    FIELDS(block_site, "ranks[].memory_peak.block_maps[].sites[]", "By memory at the peak, largest first.")};
#undef EK__T

#define EK__T ek_trace_block
static const ek_trace_block_map *map_of(const ek__owner *of)
{
    return of->parent;
}
GETTER(map_of_block, text, map_of(of)->name);
GETTER(block_name, text, map_of(of)->site[it->site].name);
GETTER(block_role, text, ek_block_role_name[map_of(of)->site[it->site].role]);
GETTER(block_stack, text, it->stack < 0 ? NULL : map_of(of)->stack[it->stack]);
static const ek__member mapped_block[] = {
    {NULL, GET(TEXT, map_of_block), NULL, CSV(1, "map")},
    {"name", GET(TEXT, block_name), "as of a site", CSV(2)},
    {"role", GET(TEXT, block_role), "as of a site", CSV(3)},
    {"bytes", BYTES(bytes), "asked for", CSV(4)},
    {"start_us", NS(start), "when it was allocated; null: before the record", CSV(5)},
    {"end_us", NS(end), "when it was free again; null: there when the record ended", CSV(6)},
    {"address", COUNT(address), "where it is; null for a table", CSV(7)},
    {"stack", GET(TEXT, block_stack), "its frames, innermost first, a line each; null without", CSV(8)},
};
static const ek__fields mapped_blocks = {
    FIELDS(mapped_block, "ranks[].memory_peak.block_maps[].largest[]", "There at the peak, largest first.")};
#undef EK__T

#define EK__T ek_trace_memory_point
static const ek__member map_point[] = {
    {"time_us", NS(time), "when"},
    {"active_mb", MB(allocated_mb), "requested bytes of the live allocations"},
    {"reserved_mb", MB(reserved_mb), "had from the device; null for a table"},
};
static const ek__fields map_points = {
    FIELDS(map_point, "ranks[].memory_peak.block_maps[].curve[]", "Thinned; peaks are kept.")};
#undef EK__T

#define EK__T ek_trace_block_map
GETTER(out_of_memory_time, number, it->n_out_of_memory > 0 ? it->out_of_memory_time : EK_TRACE_UNKNOWN);
GETTER(out_of_memory_bytes, number, it->n_out_of_memory > 0 ? it->out_of_memory_bytes : EK_TRACE_UNKNOWN);
GETTER(role_bytes, number, it->role_bytes[of->number]);
static const ek__member block_map[] = {
    {"name", TEXT(name), "the file and the device; of a table the device", PAGE(2, "map", "Of")},
    {"has_addresses", FLAG(has_addresses), "a snapshot: it has the places of allocations"},
    {"is_ticked", FLAG(is_ticked), "times are numbers of events: the snapshot has none"},
    {"begin_us", NS(begin), "of the record"},
    {"end_us", NS(end), "of the record"},
    {"rows", COUNT(n_rows), "events or rows that it is made of"},
    {"blocks", COUNT(n_all_blocks), "allocations", PAGE(3, "blocks", "Allocations")},
    {"kept_blocks", COUNT(n_blocks), "of those in `blocks.csv` and on the page, the largest"},
    {"height_bytes", BYTES(height), "of addresses that were ever used"},
    {"reserved_peak_bytes", BYTES(reserved_peak_bytes), "the most that the allocator had from the device",
     PAGE(6, "reserved", "Peak reserved", EK__LESS)},
    {"at_peak", OBJECT(peak, rooms), "when allocations took the most, the first time"},
    {"at_end", OBJECT(last, rooms), "at the end of the record"},
    {NULL, BYTES(peak.active_bytes), NULL, PAGE(4, "peak", "Peak", EK__LESS)},
    {NULL, NS(peak.time), NULL, PAGE(5, "at", "At", EK__PLACE)},
    {NULL, BYTES(peak.free_bytes), NULL, PAGE(7, "free", "Free at the peak", EK__LESS)},
    {NULL, BYTES(peak.largest_free_bytes), NULL, PAGE(8, "piece", "Largest free piece then")},
    {"rounding_bytes", BYTES(rounding_bytes), "at the end, bytes that the allocator added to the requested ones"},
    {"before", COUNT(n_before), "allocations from before the record"},
    {"before_bytes", BYTES(before_bytes), "bytes of them", PAGE(9, "before", "From before the record")},
    {"never_freed", COUNT(n_never_freed), "allocated after the record began, and there when it ended"},
    {"never_freed_bytes", BYTES(never_freed_bytes), "bytes of them", PAGE(10, "never", "Never freed", EK__LESS)},
    {"out_of_memory", COUNT(n_out_of_memory), "times that memory was out",
     PAGE(11, "oom", "Times out of memory", EK__LESS)},
    {"out_of_memory_time_us", GET(NS, out_of_memory_time), "the last one; null without"},
    {"out_of_memory_bytes", GET(BYTES, out_of_memory_bytes), "requested then; null without"},
    {"contradictions", COUNT(n_contradictions), "events that do not fit those before them"},
    {"live_at_peak_by_role", GET_BY_WORD(BYTES, role_bytes, ek__block_role_name, EK_N_BLOCK_ROLES),
     "bytes there at the peak, by role"},
    {"sites", LIST(n_sites, site, block_sites), "by their allocator call"},
    {"largest", LIST(n_largest, largest, mapped_blocks), "the largest that are there at the peak"},
    {"curve", SHORT_LIST(n_points, point, map_points), "over time"},
};
static const ek__fields block_maps = {
    FIELDS(block_map, "ranks[].memory_peak.block_maps[]",
           "Allocations with their lifetimes, of one device, from `operator_memory.csv` or a memory snapshot of "
           "PyTorch. [trace.md](trace.md#maps-of-allocations) defines them.")};
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
    {"block_maps", LIST(n_maps, map, block_maps), "operator_memory.csv, memory snapshots of PyTorch"},
};
const ek__fields ek__trace_memory = {FIELDS(memory, "ranks[].memory_peak", NULL)};
#undef EK__T

/* ---- tables ---- */

/* ---- places in the timeline ---- */

/* The time of the highest value of a component's curve. */
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

/* Sites and blocks of a rank's maps, one map after the other. */
static const void *site_at(int i, ek__owner *of, bool *end)
{
    const ek_trace_memory *m = &of->rank->memory;
    for (int k = 0; k < m->n_maps; i -= m->map[k++].n_sites)
        if (i < m->map[k].n_sites) {
            of->parent = &m->map[k];
            return &m->map[k].site[i];
        }
    *end = true;
    return NULL;
}

static const void *block_at(int i, ek__owner *of, bool *end)
{
    const ek_trace_memory *m = &of->rank->memory;
    for (int k = 0; k < m->n_maps; i -= m->map[k++].n_blocks)
        if (i < m->map[k].n_blocks) {
            of->parent = &m->map[k];
            return &m->map[k].block[i];
        }
    *end = true;
    return NULL;
}

const ek__rows ek__memory_rows[] = {
    {NULL, "memory", "block-maps", "Allocations by device", "number", "No.", EK__KEY_NUMBER, .fields = &block_maps,
     RANK_LIST(memory.n_maps, memory.map)},
    {"block_sites", "memory", "block-sites", "Allocations by origin", "number", "No.", EK__KEY_NUMBER,
     .fields = &block_sites, .item = site_at, .sort = 5},
    {"blocks", .fields = &mapped_blocks, .item = block_at},
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
