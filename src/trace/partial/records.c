/* Describes the members of an analysed rank, record by record. Lists name the member that counts them; counts of
 * records are read as any number is, and again by their lists. */
#include "trace/partial/records.h"

#include <stdbool.h>
#include <string.h>

#include <zlib.h>

#include "evenkeel/trace.h"
#include "trace/partial/derived.h"
#include "trace/tables/files.h"

/* Members of the current record T. */
#define SIZE_OF(m)    sizeof(((T *)NULL)->m)
#define HEAD(m, what) .name = #m, .kind = EK__MEMBER_##what, .offset = offsetof(T, m)
#define WHOLE(m)                                                                                                       \
    {                                                                                                                  \
        HEAD(m, WHOLE), .size = SIZE_OF(m), .n = 1, .least = INT64_MIN, .most = INT64_MAX                              \
    }
#define WHOLES(m, count)                                                                                               \
    {                                                                                                                  \
        HEAD(m, WHOLE), .size = SIZE_OF(m) / (count), .n = (count), .least = INT64_MIN, .most = INT64_MAX              \
    }
#define COUNT(m)                                                                                                       \
    {                                                                                                                  \
        HEAD(m, WHOLE), .size = SIZE_OF(m), .n = 1, .least = 0, .most = INT32_MAX                                      \
    }
#define WORD(m, n_words)                                                                                               \
    {                                                                                                                  \
        HEAD(m, WHOLE), .size = SIZE_OF(m), .n = 1, .least = 0, .most = (n_words)-1                                    \
    }
#define FLAG(m) WORD(m, 2)
#define DOUBLE(m)                                                                                                      \
    {                                                                                                                  \
        HEAD(m, DOUBLE), .size = SIZE_OF(m), .n = 1                                                                    \
    }
#define DOUBLES(m, count)                                                                                              \
    {                                                                                                                  \
        HEAD(m, DOUBLE), .size = SIZE_OF(m) / (count), .n = (count)                                                    \
    }
#define TEXT(m)                                                                                                        \
    {                                                                                                                  \
        HEAD(m, TEXT), .size = SIZE_OF(m), .n = 1, .least = 1                                                          \
    }
#define TEXT_OR_NULL(m)                                                                                                \
    {                                                                                                                  \
        HEAD(m, TEXT), .size = SIZE_OF(m), .n = 1                                                                      \
    }
#define RECORD(m, type)                                                                                                \
    {                                                                                                                  \
        HEAD(m, RECORD), .size = SIZE_OF(m), .n = 1, .of = &record_##type                                              \
    }
#define LIST(m, type, counted)                                                                                         \
    {                                                                                                                  \
        HEAD(m, LIST), .size = SIZE_OF(m), .n = 1, .of = &record_##type, .count = offsetof(T, counted),                \
                       .count_size = SIZE_OF(counted)                                                                  \
    }
#define LATER(m)                                                                                                       \
    {                                                                                                                  \
        HEAD(m, LATER), .size = SIZE_OF(m), .n = 1                                                                     \
    }
#define RECORD_OF(name_, members_)                                                                                     \
    {                                                                                                                  \
#name_, sizeof(T), (int)(sizeof(members_) / sizeof *(members_)), members_                                      \
    }

#define T ek_trace_source
static const ek__record_member source_members[] = {
    TEXT_OR_NULL(path), TEXT(type), WHOLE(bytes), WHOLE(items), TEXT_OR_NULL(problem), WHOLE(problem_offset),
};
static const ek__record_type record_source = RECORD_OF(source, source_members);
#undef T

#define T ek_trace_process
static const ek__record_member process_members[] = {
    TEXT_OR_NULL(name), TEXT_OR_NULL(pid), WHOLE(n_complete), WHOLE(total_ns), WHOLE(n_threads),
};
static const ek__record_type record_process = RECORD_OF(process, process_members);
#undef T

#define T ek_trace_category
static const ek__record_member category_members[] = {
    TEXT_OR_NULL(name),
    WHOLE(n_complete),
};
static const ek__record_type record_category = RECORD_OF(category, category_members);
#undef T

#define T ek_trace_counts
static const ek__record_member counts_members[] = {
    WHOLE(n_items),
    WHOLES(by_phase, 128),
    WHOLE(n_odd),
    WHOLE(n_unmatched),
    WHOLE(n_negative),
    WHOLE(n_doubled),
    WHOLE(rank),
    WHOLE(world_size),
    COUNT(n_processes),
    COUNT(n_categories),
    LIST(process, process, n_processes),
    LIST(category, category, n_categories),
};
static const ek__record_type record_counts = RECORD_OF(counts, counts_members);
#undef T

#define T ek_trace_breakdown
static const ek__record_member breakdown_members[] = {
    WHOLE(n_events),   WHOLE(computing), WHOLE(communication),       WHOLE(communication_not_overlapped),
    WHOLE(overlapped), WHOLE(copy),      WHOLE(copy_not_overlapped), WHOLE(busy),
    WHOLE(free),       WHOLE(total),
};
static const ek__record_type record_breakdown = RECORD_OF(breakdown, breakdown_members);
#undef T

#define T ek_trace_step
static const ek__record_member step_members[] = {
    TEXT_OR_NULL(name),
    FLAG(warm_up),
    FLAG(from_table),
    FLAG(average),
    WHOLE(host_start),
    WHOLE(host_step),
    WHOLE(start),
    WHOLE(end),
    TEXT_OR_NULL(producer_definition),
    RECORD(own, breakdown),
    RECORD(raw, breakdown),
    TEXT_OR_NULL(source),
    WHOLE(stage),
    WHOLE(bubble),
    WHOLE(preparing),
    WHOLE(exclude_receive),
    WHOLE(producer_free),
    WHOLE(table_stage),
    WHOLE(table_preparing),
    WHOLE(span),
    WHOLE(pipeline_wait),
    WHOLE(own_stage),
    WHOLE(n_receives),
    WHOLE(receive),
    WHOLE(receive_exposed),
    WHOLE(n_sends),
    WHOLE(send),
    WHOLE(n_exchanges),
    WHOLE(exchange),
    WHOLE(exchange_exposed),
    WHOLE(data_loading),
    WHOLE(data_loading_idle),
    WHOLE(host_bound),
    WHOLE(device_bound),
    WHOLE(unlinked),
    WHOLE(iteration_interval),
    WHOLE(fp_and_bp),
    WHOLE(tail),
    WHOLE(communication_alone),
    WHOLE(receive_alone),
    WHOLE(collective_alone),
    WHOLE(scope_default_busy),
    WHOLE(scope_gradients_busy),
    WHOLES(activity, EK_N_TRACE_ACTIVITIES),
};
static const ek__record_type record_step = RECORD_OF(step, step_members);
#undef T

#define T ek_trace_stream_idle
static const ek__record_member stream_idle_members[] = {
    TEXT_OR_NULL(pid), TEXT_OR_NULL(tid),  WHOLE(n_events),      WHOLE(host_wait), WHOLE(kernel_wait),
    WHOLE(other),      WHOLE(n_host_wait), WHOLE(n_kernel_wait), WHOLE(n_other),   WHOLE(n_no_launch),
};
static const ek__record_type record_stream_idle = RECORD_OF(stream_idle, stream_idle_members);
#undef T

#define T ek_trace_idle
static const ek__record_member idle_members[] = {
    WHOLE(n_intervals),
    WHOLE(host_bound),
    WHOLE(n_host_bound),
    WHOLE(device_bound),
    WHOLE(n_device_bound),
    WHOLE(unlinked),
    WHOLE(n_unlinked),
    WHOLE(n_linked_tasks),
    WHOLE(n_tasks),
    COUNT(n_streams),
    LIST(stream, stream_idle, n_streams),
};
static const ek__record_type record_idle = RECORD_OF(idle, idle_members);
#undef T

#define T ek_trace_host_gap
static const ek__record_member host_gap_members[] = {
    WHOLE(start),
    WHOLE(end),
    TEXT_OR_NULL(cause),
};
static const ek__record_type record_host_gap = RECORD_OF(host_gap, host_gap_members);
#undef T

#define T ek_trace_dispatch
static const ek__record_member dispatch_members[] = {
    WHOLE(n_node_launch), WHOLE(n_enqueue),
    WHOLE(n_dequeue),     WHOLE(n_compile),
    WHOLE(n_synchronize), WHOLE(n_launch),
    WHOLE(n_gc),          WHOLE(host_bound),
    WHOLE(step_time),     DOUBLE(share),
    FLAG(is_host_bound),  TEXT_OR_NULL(cause),
    COUNT(n_gaps),        LIST(gap, host_gap, n_gaps),
    WHOLE(gaps_left_out), WHOLE(idle),
};
static const ek__record_type record_dispatch = RECORD_OF(dispatch, dispatch_members);
#undef T

#define T ek_trace_value
static const ek__record_member value_members[] = {
    WHOLE(time),
    DOUBLE(value),
};
static const ek__record_type record_value = RECORD_OF(value, value_members);
#undef T

#define T ek_trace_queue
static const ek__record_member queue_members[] = {
    WHOLE(n),
    WHOLE(longest),
    DOUBLE(length),
    DOUBLE(delay),
    WHOLE(longest_delay),
    COUNT(n_lengths),
    COUNT(n_delays),
    LIST(lengths, value, n_lengths),
    LIST(delays, value, n_delays),
};
static const ek__record_type record_queue = RECORD_OF(queue, queue_members);
#undef T

#define T ek_trace_span
static const ek__record_member span_members[] = {
    WHOLE(start),
    WHOLE(end),
};
static const ek__record_type record_span = RECORD_OF(span, span_members);
#undef T

#define T ek_trace_pass
static const ek__record_member pass_members[] = {
    WHOLE(n),          DOUBLE(wall_mean),   DOUBLE(wall_median),
    DOUBLE(wall_min),  DOUBLE(wall_max),    DOUBLE(wall_deviation),
    DOUBLE(busy_mean), DOUBLE(busy_median), RECORD(longest, span),
};
static const ek__record_type record_pass = RECORD_OF(pass, pass_members);
#undef T

#define T ek_trace_layer
static const ek__record_member layer_members[] = {
    TEXT_OR_NULL(name),    TEXT_OR_NULL(kind),      WHOLE(index),           WORD(role, 3), WHOLE(n_instances),
    RECORD(forward, pass), RECORD(recompute, pass), RECORD(backward, pass),
};
static const ek__record_type record_layer = RECORD_OF(layer, layer_members);
#undef T

#define T ek_trace_member
static const ek__record_member member_members[] = {
    WHOLE(start),
    WHOLE(layer),
};
static const ek__record_type record_member = RECORD_OF(member, member_members);
#undef T

#define T ek_trace_layers
static const ek__record_member layers_members[] = {
    COUNT(n),
    LIST(layer, layer, n),
    WHOLE(n_micro_batches),
    WHOLE(n_steps),
    TEXT_OR_NULL(source),
    COUNT(n_reruns),
    LIST(rerun, span, n_reruns),
    COUNT(n_members),
    LIST(member, member, n_members),
};
static const ek__record_type record_layers = RECORD_OF(layers, layers_members);
#undef T

#define T ek_trace_recompute
static const ek__record_member recompute_members[] = {
    WHOLE(n_regions),
    RECORD(recompute, breakdown),
    RECORD(rest, breakdown),
};
static const ek__record_type record_recompute = RECORD_OF(recompute, recompute_members);
#undef T

#define T ek_trace_operator
static const ek__record_member operator_members[] = {
    TEXT_OR_NULL(name), TEXT_OR_NULL(type), TEXT_OR_NULL(core), WHOLE(count),    WHOLE(total),  WHOLE(min),
    WHOLE(max),         WHOLE(wait),        WHOLE(max_start),   DOUBLE(average), DOUBLE(ratio), TEXT_OR_NULL(family),
};
static const ek__record_type record_operator = RECORD_OF(operator, operator_members);
#undef T

#define T ek_trace_outlier
static const ek__record_member outlier_members[] = {
    TEXT_OR_NULL(name), TEXT_OR_NULL(type), TEXT_OR_NULL(core), TEXT_OR_NULL(shape),  WHOLE(start),
    WHOLE(duration),    WHOLE(expected),    WHOLE(n_kind),      FLAG(shapes_unknown),
};
static const ek__record_type record_outlier = RECORD_OF(outlier, outlier_members);
#undef T

#define T ek_trace_core
static const ek__record_member core_members[] = {
    TEXT_OR_NULL(name),
    WHOLE(count),
    WHOLE(total),
};
static const ek__record_type record_core = RECORD_OF(core, core_members);
#undef T

#define T ek_trace_operators
static const ek__record_member operators_members[] = {
    TEXT_OR_NULL(source),
    WHOLE(n_rows),
    WHOLE(n_executions),
    WHOLE(total),
    COUNT(n),
    COUNT(n_cores),
    COUNT(n_types),
    COUNT(n_outliers),
    COUNT(n_table),
    LIST(op, operator, n),
    LIST(core, core, n_cores),
    LIST(type, core, n_types),
    LIST(outlier, outlier, n_outliers),
    COUNT(n_slow),
    LIST(slow, outlier, n_slow),
    LIST(table, operator, n_table),
    DOUBLE(share_matmul),
    DOUBLE(share_attention),
    DOUBLE(share_vector),
};
static const ek__record_type record_operators = RECORD_OF(operators, operators_members);
#undef T

#define T ek_trace_shaped
static const ek__record_member shaped_members[] = {
    TEXT_OR_NULL(name),
    TEXT_OR_NULL(kernel),
    TEXT_OR_NULL(shapes),
    TEXT_OR_NULL(types),
    TEXT_OR_NULL(layout),
    TEXT_OR_NULL(values),
    TEXT_OR_NULL(out_types),
    TEXT_OR_NULL(core),
    WHOLE(count),
    WHOLE(total),
    WHOLE(min),
    WHOLE(max),
    DOUBLE(median),
    DOUBLES(unit, EK_N_TRACE_UNITS),
    WHOLE(blocks),
};
static const ek__record_type record_shaped = RECORD_OF(shaped, shaped_members);
#undef T

#define T ek_trace_execution
static const ek__record_member execution_members[] = {
    WHOLE(start),
    WHOLE(duration),
    WHOLE(op),
    WHOLE(stream),
};
static const ek__record_type record_execution = RECORD_OF(execution, execution_members);
#undef T

#define T ek_trace_measured
static const ek__record_member measured_members[] = {
    COUNT(n),
    LIST(op, shaped, n),
    WHOLE(n_executions),
    WHOLE(n_without_shapes),
    COUNT(n_all),
    LIST(execution, execution, n_all),
    WHOLE(n_intervals),
    DOUBLE(launch),
    DOUBLE(share_compiled),
    FLAG(graphs),
};
static const ek__record_type record_measured = RECORD_OF(measured, measured_members);
#undef T

#define T ek_trace_collective
static const ek__record_member collective_members[] = {
    TEXT_OR_NULL(name),
    TEXT_OR_NULL(group),
    WHOLE(start),
    WHOLE(duration),
    WHOLE(exposed),
    WHOLE(transit),
    FLAG(at_most),
    FLAG(p2p),
    WORD(exchange, EK_N_EXCHANGES),
    WHOLE(step),
    WHOLE(sum),
    WHOLE(last),
    WHOLE(last_call),
    WHOLE(last_in_group),
    WHOLE(match),
    WHOLE(n_here),
    WHOLE(n_group),
    DOUBLE(moved_mb),
    TEXT_OR_NULL(message),
};
static const ek__record_type record_collective = RECORD_OF(collective, collective_members);
#undef T

#define T ek_trace_collective_sum
static const ek__record_member collective_sum_members[] = {
    TEXT_OR_NULL(key),      TEXT_OR_NULL(group), FLAG(p2p),        WORD(exchange, EK_N_EXCHANGES),
    WHOLE(count),           WHOLE(total),        WHOLE(exposed),   WHOLE(bytes),
    DOUBLE(bandwidth_gbps), WHOLE(n_group),      DOUBLE(bus_gbps),
};
static const ek__record_type record_collective_sum = RECORD_OF(collective_sum, collective_sum_members);
#undef T

#define T ek_trace_comm_sum
static const ek__record_member comm_sum_members[] = {
    TEXT_OR_NULL(step),         FLAG(p2p),          TEXT_OR_NULL(key), WHOLE(count),
    DOUBLE(elapse_ms),          DOUBLE(transit_ms), DOUBLE(wait_ms),   DOUBLE(idle_ms),
    DOUBLE(synchronization_ms), DOUBLE(size_mb),
};
static const ek__record_type record_comm_sum = RECORD_OF(comm_sum, comm_sum_members);
#undef T

#define T ek_trace_link
static const ek__record_member link_members[] = {
    TEXT_OR_NULL(link), TEXT_OR_NULL(transport), DOUBLE(size_mb), DOUBLE(time_ms), DOUBLE(bandwidth_gbps),
    DOUBLE(size_kb),    DOUBLE(bytes_per_s),     FLAG(ranked),    FLAG(slow),
};
static const ek__record_type record_link = RECORD_OF(link, link_members);
#undef T

#define T ek_trace_move
static const ek__record_member move_members[] = {
    WHOLE(link), TEXT_OR_NULL(step), TEXT_OR_NULL(operation), DOUBLE(size_mb), DOUBLE(time_ms),
};
static const ek__record_type record_move = RECORD_OF(move, move_members);
#undef T

#define T ek_trace_transport
static const ek__record_member transport_members[] = {
    TEXT_OR_NULL(name), WHOLE(n_links), WHOLE(n_ranked), DOUBLE(total_size_mb),
    DOUBLE(mean_gbps),  WHOLE(slowest), WHOLE(fastest),
};
static const ek__record_type record_transport = RECORD_OF(transport, transport_members);
#undef T

#define T ek_trace_communication
static const ek__record_member communication_members[] = {
    COUNT(n_collectives),
    COUNT(n_sums),
    COUNT(n_comm_sums),
    COUNT(n_links),
    COUNT(n_transports),
    LIST(collective, collective, n_collectives),
    LIST(sum, collective_sum, n_sums),
    LIST(comm_sum, comm_sum, n_comm_sums),
    DOUBLE(unclear_lead),
    LIST(link, link, n_links),
    COUNT(n_moves),
    LIST(move, move, n_moves),
    LIST(transport, transport, n_transports),
};
static const ek__record_type record_communication = RECORD_OF(communication, communication_members);
#undef T

#define T ek_trace_iterator
static const ek__record_member iterator_members[] = {
    TEXT_OR_NULL(name),
    WHOLE(count),
    WHOLE(total),
};
static const ek__record_type record_iterator = RECORD_OF(iterator, iterator_members);
#undef T

#define T ek_trace_data_op
static const ek__record_member data_op_members[] = {
    WHOLE(id),          WHOLE(workers), TEXT_OR_NULL(type), WHOLE(parent), DOUBLE(queue_average), DOUBLE(queue_length),
    DOUBLE(usage_rate),
};
static const ek__record_type record_data_op = RECORD_OF(data_op, data_op_members);
#undef T

#define T ek_trace_data
static const ek__record_member data_members[] = {
    COUNT(n_iterators),
    COUNT(n_ops),
    LIST(iterator, iterator, n_iterators),
    WHOLE(total),
    DOUBLE(share_of_host_step),
    LIST(op, data_op, n_ops),
    FLAG(near_empty_queue),
    FLAG(near_full_queue),
    DOUBLE(per_batch_ms),
    DOUBLE(per_pipeline_ms),
    DOUBLE(per_push_queue_ms),
};
static const ek__record_type record_data = RECORD_OF(data, data_members);
#undef T

#define T ek_trace_memory_peak
static const ek__record_member memory_peak_members[] = {
    TEXT_OR_NULL(component),
    DOUBLE(allocated_mb),
    DOUBLE(reserved_mb),
    DOUBLE(active_mb),
};
static const ek__record_type record_memory_peak = RECORD_OF(memory_peak, memory_peak_members);
#undef T

#define T ek_trace_memory_point
static const ek__record_member memory_point_members[] = {
    WHOLE(time),
    WHOLE(component),
    DOUBLE(allocated_mb),
    DOUBLE(reserved_mb),
};
static const ek__record_type record_memory_point = RECORD_OF(memory_point, memory_point_members);
#undef T

#define T ek_trace_allocation
static const ek__record_member allocation_members[] = {
    TEXT_OR_NULL(name),
    DOUBLE(size_kb),
    WHOLE(start),
    WHOLE(end),
};
static const ek__record_type record_allocation = RECORD_OF(allocation, allocation_members);
#undef T

#define T ek_trace_live
static const ek__record_member live_members[] = {
    TEXT_OR_NULL(type),
    WHOLE(bytes),
};
static const ek__record_type record_live = RECORD_OF(live, live_members);
#undef T

#define T ek_trace_tracker_site
static const ek__record_member tracker_site_members[] = {
    TEXT_OR_NULL(place),
    TEXT_OR_NULL(layer),
    WHOLE(n_live),
    WHOLE(live_bytes),
    WHOLE(n_held),
    WHOLE(held_bytes),
    TEXT_OR_NULL(last_user),
    WHOLE(last_used_tick),
    WHOLE(released_tick),
    WHOLE(n_never_freed),
    WHOLE(never_freed_bytes),
    WHOLE(n_leaked),
    WHOLE(leaked_bytes),
};
static const ek__record_type record_tracker_site = RECORD_OF(tracker_site, tracker_site_members);
#undef T

#define T ek_trace_tracker_step
static const ek__record_member tracker_step_members[] = {
    WHOLE(tick),
    WHOLE(live_bytes),
};
static const ek__record_type record_tracker_step = RECORD_OF(tracker_step, tracker_step_members);
#undef T

#define T ek_trace_tracker
static const ek__record_member tracker_members[] = {
    WHOLE(n_rows),
    WHOLE(n_pool_blocks),
    WHOLE(n_somas_rows),
    FLAG(tells_users),
    FLAG(tells_stacks),
    WHOLE(peak_bytes),
    WHOLE(peak_tick),
    WHOLE(never_freed_bytes),
    WHOLE(max_actual_peak_bytes),
    WHOLE(held_dead_bytes),
    WHOLE(held_bytes),
    WHOLE(released_peak_bytes),
    WHOLE(never_freed_other_bytes),
    WHOLE(leaked_bytes),
    DOUBLE(growth_bytes),
    FLAG(grows),
    COUNT(n_steps),
    COUNT(n_sites),
    LIST(step, tracker_step, n_steps),
    LIST(site, tracker_site, n_sites),
    COUNT(n_live),
    COUNT(n_live_layers),
    COUNT(n_largest),
    LIST(live, live, n_live),
    LIST(live_layer, live, n_live_layers),
    LIST(largest, allocation, n_largest),
};
static const ek__record_type record_tracker = RECORD_OF(tracker, tracker_members);
#undef T

#define T ek_trace_block
static const ek__record_member block_members[] = {
    WHOLE(start), WHOLE(end), WHOLE(bytes), WHOLE(address), WHOLE(place), WHOLE(site), WHOLE(stack),
};
static const ek__record_type record_block = RECORD_OF(block, block_members);
#undef T

#define T ek_trace_memory_segment
static const ek__record_member memory_segment_members[] = {
    WHOLE(start), WHOLE(end), WHOLE(bytes), WHOLE(address), WHOLE(place), FLAG(joins),
};
static const ek__record_type record_memory_segment = RECORD_OF(memory_segment, memory_segment_members);
#undef T

#define T ek_trace_block_site
static const ek__record_member block_site_members[] = {
    TEXT_OR_NULL(name),   WORD(role, EK_N_BLOCK_ROLES), WHOLE(n), WHOLE(bytes), WHOLE(n_live), WHOLE(live_bytes),
    WHOLE(n_never_freed), WHOLE(never_freed_bytes),
};
static const ek__record_type record_block_site = RECORD_OF(block_site, block_site_members);
#undef T

#define T ek_trace_memory_room
static const ek__record_member memory_room_members[] = {
    WHOLE(time),           WHOLE(n_live),     WHOLE(active_bytes),
    WHOLE(reserved_bytes), WHOLE(free_bytes), WHOLE(largest_free_bytes),
    WHOLE(n_segments),     WHOLE(n_free),     DOUBLE(fragmentation),
};
static const ek__record_type record_memory_room = RECORD_OF(memory_room, memory_room_members);
#undef T

static const ek__record_member stack_text_members[] = {
    {.name = "text", .kind = EK__MEMBER_TEXT, .size = sizeof(const char *), .n = 1}};
static const ek__record_type record_stack_text = {"stack_text", sizeof(const char *), 1, stack_text_members};

#define T ek_trace_block_map
static const ek__record_member block_map_members[] = {
    TEXT_OR_NULL(name),
    FLAG(has_addresses),
    FLAG(is_ticked),
    WHOLE(begin),
    WHOLE(end),
    WHOLE(n_rows),
    COUNT(n_blocks),
    COUNT(n_segments),
    COUNT(n_sites),
    COUNT(n_stacks),
    COUNT(n_points),
    COUNT(n_largest),
    WHOLE(n_all_blocks),
    LIST(block, block, n_blocks),
    LIST(segment, memory_segment, n_segments),
    LIST(site, block_site, n_sites),
    LIST(stack, stack_text, n_stacks),
    LIST(point, memory_point, n_points),
    LIST(largest, block, n_largest),
    WHOLES(role_bytes, EK_N_BLOCK_ROLES),
    WHOLE(height),
    WHOLE(n_before),
    WHOLE(before_bytes),
    WHOLE(n_never_freed),
    WHOLE(never_freed_bytes),
    WHOLE(reserved_peak_bytes),
    WHOLE(rounding_bytes),
    WHOLE(n_contradictions),
    WHOLE(n_out_of_memory),
    WHOLE(out_of_memory_time),
    WHOLE(out_of_memory_bytes),
    RECORD(peak, memory_room),
    RECORD(last, memory_room),
};
static const ek__record_type record_block_map = RECORD_OF(block_map, block_map_members);
#undef T

#define T ek_trace_memory
static const ek__record_member memory_members[] = {
    WHOLE(n_rows),
    WHOLE(n_operator_rows),
    WHOLE(n_never_released),
    COUNT(n_peaks),
    COUNT(n_points),
    COUNT(n_largest),
    COUNT(n_kept),
    COUNT(n_modules),
    LIST(peak, memory_peak, n_peaks),
    LIST(point, memory_point, n_points),
    LIST(largest, allocation, n_largest),
    LIST(kept, allocation, n_kept),
    LIST(module, memory_peak, n_modules),
    RECORD(tracker, tracker),
    COUNT(n_maps),
    LIST(map, block_map, n_maps),
};
static const ek__record_type record_memory = RECORD_OF(memory, memory_members);
#undef T

#define T ek_trace_mark
static const ek__record_member mark_members[] = {
    TEXT_OR_NULL(name), TEXT_OR_NULL(domain), WHOLE(start), WHOLE(end), WHOLE(device_start), WHOLE(device_end),
};
static const ek__record_type record_mark = RECORD_OF(mark, mark_members);
#undef T

#define T ek_trace_piece
static const ek__record_member piece_members[] = {
    WHOLE(start),      WHOLE(end),  WHOLE(launch), TEXT_OR_NULL(name),
    WHOLE(collective), WHOLE(step), WHOLE(stream), WORD(activity, EK_N_TRACE_ACTIVITIES),
};
static const ek__record_type record_piece = RECORD_OF(piece, piece_members);
#undef T

#define T ek_trace_work
static const ek__record_member work_members[] = {
    COUNT(n), COUNT(n_waits), COUNT(n_data), LIST(piece, piece, n), LIST(wait, span, n_waits), LIST(data, span, n_data),
};
static const ek__record_type record_work = RECORD_OF(work, work_members);
#undef T

#define T ek_trace_exposure
static const ek__record_member exposure_members[] = {
    WHOLE(exposed), WHOLE(transfer), WHOLE(wait), WHOLE(unknown), FLAG(at_most),
};
static const ek__record_type record_exposure = RECORD_OF(exposure, exposure_members);
#undef T

#define T ek_trace_rank
static const ek__record_member rank_members[] = {
    WHOLE(rank),
    WHOLE(place),
    WHOLE(stage),
    WHOLE(device_id),
    WHOLE(world_size),
    TEXT_OR_NULL(host),
    WORD(producer, EK_N_PRODUCERS),
    TEXT_OR_NULL(profiler_info),
    COUNT(n_sources),
    COUNT(n_steps),
    COUNT(n_notes),
    COUNT(n_marks),
    LIST(source, source, n_sources),
    LIST(step, step, n_steps),
    LIST(note, stack_text, n_notes),
    WHOLE(n_outside_steps),
    RECORD(counts, counts),
    FLAG(has_device_events),
    RECORD(device, breakdown),
    RECORD(device_linked, breakdown),
    RECORD(mean, breakdown),
    RECORD(idle, idle),
    RECORD(dispatch, dispatch),
    RECORD(queue, queue),
    RECORD(layers, layers),
    RECORD(recompute, recompute),
    RECORD(operators, operators),
    RECORD(measured, measured),
    RECORD(communication, communication),
    RECORD(exposure, exposure),
    RECORD(data, data),
    RECORD(memory, memory),
    RECORD(work, work),
    LIST(mark, mark, n_marks),
    LATER(is_part),
    LATER(pool),
};
const ek__record_type ek__record_rank = RECORD_OF(rank, rank_members);
#undef T

static const ek__record_member number_members[] = {
    {.name = "number", .kind = EK__MEMBER_WHOLE, .size = sizeof(int), .n = 1, .least = INT64_MIN, .most = INT64_MAX}};
static const ek__record_type record_number = {"number", sizeof(int), 1, number_members};

#define T ek_trace_group
static const ek__record_member group_members[] = {
    TEXT_OR_NULL(name),
    TEXT_OR_NULL(key),
    COUNT(n_ranks),
    LIST(rank, number, n_ranks),
};
static const ek__record_type record_group = RECORD_OF(group, group_members);
#undef T

#define T ek_trace_topology
static const ek__record_member topology_members[] = {
    FLAG(known),
    WHOLE(tensor),
    WHOLE(pipeline),
    WHOLE(data),
    WHOLE(context),
    WHOLE(expert),
    FLAG(sequence_parallel),
    FLAG(tells_sequence_parallel),
    WHOLE(world_size),
    COUNT(n_groups),
    LIST(group, group, n_groups),
};
static const ek__record_type record_topology = RECORD_OF(topology, topology_members);
#undef T

#define T ek_trace_cluster_row
static const ek__record_member cluster_row_members[] = {
    TEXT_OR_NULL(step),     TEXT_OR_NULL(type),   TEXT_OR_NULL(index), WHOLE(computing), WHOLE(not_overlapped),
    WHOLE(overlapped),      WHOLE(communication), WHOLE(free),         WHOLE(stage),     WHOLE(bubble),
    WHOLE(exclude_receive), WHOLE(preparing),     FLAG(computed),
};
static const ek__record_type record_cluster_row = RECORD_OF(cluster_row, cluster_row_members);
#undef T

#define T ek_trace_run
static const ek__record_member run_members[] = {
    RECORD(topology, topology), COUNT(n_cluster_rows),  LIST(cluster_row, cluster_row, n_cluster_rows),
    WHOLE(n_databases),         TEXT_OR_NULL(database),
};
const ek__record_type ek__record_run = RECORD_OF(run, run_members);
#undef T

#define T ek__rank_file
static const ek__record_member file_members[] = {
    TEXT_OR_NULL(path),
    WORD(type, EK__N_FILE_TYPES),
    FLAG(database),
};
static const ek__record_type record_file = RECORD_OF(file, file_members);
#undef T

#define T ek__rank_files
static const ek__record_member files_members[] = {
    WHOLE(rank), WHOLE(stage), WHOLE(device), COUNT(n_files), LIST(file, file, n_files),
};
const ek__record_type ek__record_files = RECORD_OF(files, files_members);
#undef T

#define T ek__derived_item
static const ek__record_member derived_item_members[] = {WHOLE(piece), WHOLE(of), WHOLE(stream)};
static const ek__record_type record_derived_item = RECORD_OF(derived_item, derived_item_members);
#undef T

#define T ek__derived
static const ek__record_member derived_members[] = {
    FLAG(queue),
    COUNT(n_executions),
    COUNT(n_members),
    LIST(execution, derived_item, n_executions),
    LIST(member, derived_item, n_members),
};
const ek__record_type ek__record_derived = RECORD_OF(derived, derived_members);
#undef T

/* Names and kinds in the order in which they are walked. */
static uint32_t number_of(const ek__record_type *record, uint32_t number)
{
    for (int i = 0; i < record->n_members; i++) {
        const ek__record_member *m = &record->member[i];
        if (m->kind == EK__MEMBER_LATER)
            continue;
        const uint32_t about[] = {(uint32_t)m->kind, (uint32_t)m->size, (uint32_t)m->n};
        number = (uint32_t)crc32(number, (const unsigned char *)m->name, (unsigned)strlen(m->name) + 1);
        number = (uint32_t)crc32(number, (const unsigned char *)about, sizeof about);
        if (m->of)
            number = number_of(m->of, number);
    }
    return number;
}

uint32_t ek__records_number(void)
{
    return number_of(&ek__record_run, number_of(&ek__record_derived, number_of(&ek__record_rank, 0)));
}
