/* Figures of communication: single and summed collectives, communication.json, links and transports of a rank and of
 * the run, transfers between ranks, groups. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/rows.h"
#include "figures/trace_figures.h"

static ek__reading exchange(const void *record, const ek__owner *of)
{
    static const char *const word[EK_N_EXCHANGES] = {NULL, "p2p", "collective", "unclear"};
    const ek_trace_collective *one = record;
    (void)of;
    return (ek__reading){.text = word[one->p2p ? EK_EXCHANGE_P2P : one->exchange]};
}

#define EK__T ek_trace_collective
/* ---- collectives ---- */
GETTER(step_name, text, (it->step >= 0 && it->step < of->rank->n_steps) ? of->rank->step[it->step].name : NULL);
static const ek__member collective[] = {
    {"name", TEXT(name), "full name", CSV(4), PAGE(2, "name", "Collective", EK__SEARCH)},
    {"group", TEXT(group), "digits or ranks of its group", CSV(5), PAGE(3, "group", "Group")},
    {"step", GET(TEXT, step_name), "name of the step it is in", CSV(3), PAGE(4, "step", "Step")},
    {"start_us", NS(start), "when it began", CSV(1), PAGE(5, "at", "At", EK__PLACE)},
    {"duration_us", NS(duration), "how long it took", CSV(2), PAGE(6, "duration", "Took", EK__LESS)},
    {"exposed_us", NS(exposed), "of it outside computing", CSV(6), PAGE(7, "exposed", "Exposed", EK__LESS)},
    {"transit_us", NS(transit), "the transfer itself; the rest waits for other ranks; null if not known", CSV(7)},
    {"exchange", GET(TEXT, exchange),
     "`p2p`: between two ranks; of SendRecv kernels also `collective` and `unclear`; else null", CSV(8)},
};
const ek__fields ek__trace_collective = {FIELDS(collective, "ranks[].collectives[]", NULL)};
#undef EK__T

#define EK__T ek_trace_exposure
static const ek__member exposures[] = {
    {"exposed_us", NS(exposed), "the sum of the three that follow"},
    {"transfer_us", NS(transfer), "at most: time that overlapping could hide"},
    {"wait_us", NS(wait), "at least: for ranks that came later"},
    {"unknown_us", NS(unknown), "not known which of both"},
    {"at_most", FLAG(at_most), "not all ranks of a group could be compared, so `transfer_us` may contain more waiting"},
};
const ek__fields ek__trace_exposure = {
    FIELDS(exposures, "ranks[].exposure",
           "[Exposed communication](trace.md#waiting-and-transfer) but pipeline traffic, of the mean step."),
    .lines = true};
#undef EK__T

#define EK__T ek_trace_collective_sum
static const ek__member collective_sum[] = {
    {"key", TEXT(key), "kind and size: kernel name with its arguments, or the operation", CSV(1),
     PAGE(1, "collective", "Collective, by kind and size")},
    {"group", TEXT(group), "null when not known", CSV(2), PAGE(3, "group", "Group")},
    {"count", COUNT(count), "how often", CSV(7), PAGE(4, "count", "Times")},
    {"total_us", NS(total), "sum of the durations", CSV(3), PAGE(5, "total", "Total", EK__LESS)},
    {"exposed_us", NS(exposed), "of it outside computing", CSV(4), PAGE(6, "exposed", "Exposed", EK__LESS)},
    {"bytes", BYTES(bytes), "of one; null when not known", CSV(5), PAGE(7, "mb", "Size of one")},
    {"bandwidth_gbps", GBPS(bandwidth_gbps), "of the algorithm: bytes by mean time", CSV(6),
     PAGE(8, "bandwidth", "Bandwidth", EK__MORE)},
    {"ranks", COUNT(n_group), "of the group; 0: not known", CSV(8)},
    {"bus_gbps", GBPS(bus_gbps),
     "of the bus: traffic of a rank's link, the algorithm's by 2 (n - 1) / n for an all-reduce, (n - 1) / n for a "
     "gather, scatter or exchange, 1 for a broadcast; null for others",
     CSV(9), PAGE(9, "bus", "Of the bus", EK__MORE)},
};
const ek__fields ek__trace_collective_sum = {FIELDS(collective_sum, "ranks[].collective_sums[]",
                                                    "Collectives of one kind, group and size, most exposed first.")};

static const ek__member collective_row[] = {
    {"count", COUNT(count), "how often"},
    {"total_us", NS(total), "sum of the durations"},
    {"exposed_us", NS(exposed), "of it outside computing"},
};
const ek__fields ek__trace_collective_row = {
    FIELDS(collective_row, "ranks[].collective_table[KEY]", "The sums of one kind and size over its groups.")};
#undef EK__T

#define EK__T ek_trace_comm_sum
COMPOSER(name_comm, EK__VIEW_KEY_SIZE, "%s, %s", it->step, it->key);
static const ek__member comm_sum[] = {
    {NULL, COMPOSE(name_comm), NULL, PAGE(1, "operator", "Step, operator and group")},
    {NULL, FLAG(p2p), NULL, WORDS("collective", "point to point"), PAGE(3, "kind", "Kind")},
    {"count", COUNT(count), "rows summed", PAGE(4, "count", "Times")},
    {"elapse_ms", MS(elapse_ms), "elapsed", PAGE(5, "elapse", "Elapsed", EK__LESS)},
    {"transit_ms", MS(transit_ms), "in transit", PAGE(6, "transit", "In transit")},
    {"wait_ms", MS(wait_ms), "waiting", PAGE(7, "wait", "Waiting", EK__LESS)},
    {"idle_ms", MS(idle_ms), "idle", PAGE(8, "idle", "Idle", EK__LESS)},
    {"synchronization_ms", MS(synchronization_ms), "waiting for synchronization",
     PAGE(9, "synchronization", "Synchronization", EK__LESS)},
    {"size_mb", MB(size_mb), "moved", PAGE(10, "mb", "Size")},
};
const ek__fields ek__trace_comm_sum = {FIELDS(comm_sum, "ranks[].comm_summary[STEP].collective[KEY], .p2p[KEY]",
                                              "communication.json, summed by operator and group.")};
#undef EK__T

#define EK__T ek_trace_rank
static const ek__member comm_step[] = {
    {"p2p", OWN_OF("object", ek__trace_comm_sum), "between two ranks, by operator and group"},
    {"collective", OWN_OF("object", ek__trace_comm_sum), "of a whole group, by operator and group"},
};
const ek__fields ek__trace_comm_step = {FIELDS(comm_step, "ranks[].comm_summary[STEP]", NULL)};
#undef EK__T

/* ---- links ---- */

#define EK__T ek_trace_link
COMPOSER(name_link, EK__VIEW_KEY_SIZE, "%s, %s", it->link, it->transport ? it->transport : "");
static const ek__member link_field[] = {
    {NULL, COMPOSE(name_link), NULL, PAGE(1, "link", "Link")},
    {NULL, TEXT(link), NULL, CSV(1, "link")},
    {"transport", TEXT(transport), "`HCCS`, `LOCAL`, `RDMA`, `SDMA`, ...", CSV(2), PAGE(3, "transport", "Transport")},
    {"time_ms", MS_6(time_ms), "time of moving", CSV(4), PAGE(5, "time", "Time", EK__LESS)},
    {"size_mb", MB(size_mb), "moved", CSV(3), PAGE(4, "mb", "Moved")},
    {"gbps", GBPS(bandwidth_gbps), "size by time", CSV(5), PAGE(6, "bandwidth", "Bandwidth", EK__MORE)},
    {"size_kb", KB(size_kb), "hccl_raw's own unit; null for others"},
    {"bytes_per_s", REAL(bytes_per_s), "the same"},
    {"ranked", FLAG(ranked), "moved 1 MB or more", CSV(6)},
    {"slow", FLAG(slow), "20 % or more below the mean of its transport", CSV(7), WORDS(NULL, "slow"),
     PAGE(7, "slow", "20 % below the mean")},
};
const ek__fields ek__trace_link = {
    FIELDS(link_field, "ranks[].links[LINK], link_bandwidth.links[LINK]",
           "A link between two ranks of a group. The object at the top has those of hccl_raw of all ranks.")};
static const ek__member link_end[] = {
    {"link", TEXT(link), "its name"},
    {"gbps", GBPS(bandwidth_gbps), "its bandwidth"},
};
const ek__fields ek__trace_link_end = {FIELDS(link_end, "ranks[].link_bandwidth[TRANSPORT].slowest, .fastest", NULL)};
#undef EK__T

/* A link of the rank by its index; NULL without. */
static const void *link_at(const ek__owner *of, int i)
{
    const ek_trace_communication *c = &of->rank->communication;
    return i >= 0 && i < c->n_links ? &c->link[i] : NULL;
}

#define EK__T ek_trace_transport
FINDER(fastest_link, link_at(of, it->fastest));
FINDER(slowest_link, link_at(of, it->slowest));
static const ek__member transport[] = {
    {"links", COUNT(n_links), "links of it"},
    {"ranked_links", COUNT(n_ranked), "that moved 1 MB or more"},
    {"total_size_mb", MB(total_size_mb), "moved"},
    {"mean_gbps", GBPS(mean_gbps), "mean bandwidth of the ranked ones"},
    {"slowest", FOUND(slowest_link, ek__trace_link_end), "of the ranked ones; null without one"},
    {"fastest", FOUND(fastest_link, ek__trace_link_end), "the same"},
};
const ek__fields ek__trace_transport = {FIELDS(transport, "ranks[].link_bandwidth[TRANSPORT]", NULL)};
#undef EK__T

#define EK__T ek_trace_run_link
PREDICATE(has_link, it->name != NULL);
static const ek__member run_link[] = {
    {"link", TEXT(name), "its rank and name", PAGE(1, "link", "Slow link")},
    {"transport", TEXT(transport), "its link", PAGE(2, "transport", "Transport")},
    {"gbps", GBPS(bandwidth_gbps), "its bandwidth", PAGE(3, "bandwidth", "Bandwidth", EK__MORE)},
    {"mean_gbps", GBPS(mean_gbps), "the mean of its transport over all ranks",
     PAGE(4, "mean", "Mean of its transport", EK__MORE)},
};
const ek__fields ek__trace_run_link = {
    FIELDS(run_link, "link_bandwidth.slow_links[], link_bandwidth.transports[NAME].slowest, .fastest",
           "Slow links are farthest below their mean first."),
    .known = has_link};
#undef EK__T

#define EK__T ek_trace_run_transport
GETTER(slowest_gbps, real, it->slowest.name ? it->slowest.bandwidth_gbps : NAN);
GETTER(fastest_gbps, real, it->fastest.name ? it->fastest.bandwidth_gbps : NAN);
static const ek__member run_transport[] = {
    {NULL, TEXT(name), NULL, PAGE(1, "transport", "Transport")},
    {"links", COUNT(n_links), "links of it over all ranks", PAGE(2, "links", "Links")},
    {"ranked_links", COUNT(n_ranked), "that moved 1 MB or more", PAGE(3, "ranked", "That moved 1 MB or more")},
    {"slow_links", COUNT(n_slow), "20 % or more below the mean", PAGE(4, "slow", "20 % below the mean", EK__LESS)},
    {"total_size_mb", MB(total_size_mb), "moved", PAGE(5, "mb", "Moved")},
    {"mean_gbps", GBPS(mean_gbps), "mean bandwidth of the ranked ones", PAGE(6, "mean", "Mean bandwidth", EK__MORE)},
    {"gap", SHARE(gap), "fastest less slowest, by the mean",
     PAGE(7, "gap", "Fastest less slowest, of the mean", EK__LESS)},
    {"flagged", FLAG(flagged), "the gap is over 0.05"},
    {"slowest", OBJECT(slowest, ek__trace_run_link), "of the ranked ones; null without one"},
    {"fastest", OBJECT(fastest, ek__trace_run_link), "the same"},
    {NULL, TEXT(slowest.name), NULL, PAGE(8, "slowest", "Slowest")},
    {NULL, GET(GBPS, slowest_gbps), NULL, PAGE(9, "slowest_gbps", "Its bandwidth", EK__MORE)},
    {NULL, TEXT(fastest.name), NULL, PAGE(10, "fastest", "Fastest")},
    {NULL, GET(GBPS, fastest_gbps), NULL, PAGE(11, "fastest_gbps", "Its bandwidth", EK__MORE)},
};
static const ek__fields run_transports = {FIELDS(run_transport, "link_bandwidth.transports[NAME]", NULL)};
#undef EK__T

/* Is `a` the slower of two links? Links with little traffic count only where there are no others. */
static bool slower(const ek_trace_link *a, const ek_trace_link *b)
{
    return !b || (a->ranked && !b->ranked) || (a->ranked == b->ranked && a->bandwidth_gbps < b->bandwidth_gbps);
}

bool ek__link_names_rank(const ek_trace_link *link)
{
    return !isnan(link->bytes_per_s);
}

static ek__reading slowest_of_all(const void *record, const ek__owner *of)
{
    const ek_trace_run *all = record;
    const ek_trace_link *slowest = NULL;
    (void)of;
    for (int r = 0; r < all->n_ranks; r++)
        for (int i = 0; i < all->rank[r].communication.n_links; i++) {
            const ek_trace_link *link = &all->rank[r].communication.link[i];
            if (ek__link_names_rank(link) && slower(link, slowest))
                slowest = link;
        }
    return (ek__reading){.text = slowest ? slowest->link : NULL};
}

#define EK__T ek_trace_run
static const ek__member bandwidth[] = {
    {"links", OWN_OF("object", ek__trace_link), "links of hccl_raw, of all ranks"},
    {"slowest", GET(TEXT, slowest_of_all), "the slowest of those; null without any"},
    {"transports", MAP(n_transports, transport, run_transports), "ranked links of all ranks by kind of link"},
    {"slow_links", LIST(n_slow_links, slow_link, ek__trace_run_link), "20 % or more below the mean of their transport"},
};
const ek__fields ek__trace_bandwidth = {FIELDS(bandwidth, "link_bandwidth", NULL)};
#undef EK__T

/* ---- traffic between ranks ---- */

static void name_pair(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_trace_pair *pair = record;
    char from[64], to[64];
    ek__rank_label(of->run, &of->run->rank[pair->from_at], from, sizeof from);
    ek__rank_label(of->run, &of->run->rank[pair->to_at], to, sizeof to);
    snprintf(text, room < 512 ? room : 512, "%s to %s%s%s", from, to, pair->group ? ", " : "",
             pair->group ? pair->group : "");
}

#define EK__T ek_trace_pair
static const ek__member pair[] = {
    {NULL, COMPOSE(name_pair), NULL, PAGE(1, "pair", "From, to and group")},
    {"from", NUMBER(from), "the rank that sends; of exchanges (SendRecv) the lower one"},
    {"to", NUMBER(to), "the rank that receives"},
    {"group", TEXT(group), "null when not known"},
    {"count", COUNT(n), "transfers seen on both sides", PAGE(2, "transfers", "Transfers")},
    {"from_wait_us", NS(from_wait), "how much longer than the other the sender took, summed",
     PAGE(3, "from_wait", "The sender waited", EK__LESS)},
    {"to_wait_us", NS(to_wait), "the same of the receiver", PAGE(4, "to_wait", "The receiver waited", EK__LESS)},
};
static const ek__fields pairs = {FIELDS(pair, "p2p_pairs.pairs[]", NULL)};
#undef EK__T

#define EK__T ek_trace_run
static const ek__member transfers[] = {
    {"pairs", LIST(n_pairs, pair, pairs), "transfers from one stage's rank to another's"},
    {"unpaired", COUNT(n_unpaired), "sends and receives without their other side"},
};
const ek__fields ek__trace_transfers = {FIELDS(transfers, "p2p_pairs", NULL), .lines = true};
#undef EK__T

#define EK__T ek_trace_matrix_member
static const ek__member member[] = {
    {"rank", NUMBER(rank), "null if no file contains the rank of this place"},
    {"place", NUMBER(place), "in the group; null in the matrix of all groups"},
};
static const ek__fields members = {FIELDS(member, "link_matrices[].members[]", NULL)};
#undef EK__T

#define EK__T ek_trace_matrix_cell
static const ek__member cell[] = {
    {"from", COUNT(from), "number of a member"},
    {"to", COUNT(to), "number of a member"},
    {"links", COUNT(n_links), "links summed, over all transports"},
    {"size_mb", MB(size_mb), "moved"},
    {"time_ms", MS_6(time_ms), "time of moving"},
    {"gbps", GBPS(bandwidth_gbps), "size by time; null without time"},
};
static const ek__fields cells = {FIELDS(cell, "link_matrices[].cells[]", NULL)};
#undef EK__T

#define EK__T ek_trace_matrix
static const ek__member matrix[] = {
    {"group", TEXT(group), "null: all groups with known ranks"},
    {"members", LIST(n_members, member, members), "rows and columns"},
    {"cells", LIST(n_cells, cell, cells), "from row to column, row by row"},
};
const ek__fields ek__trace_matrix = {FIELDS(matrix, "link_matrices[]", "Links from rank to rank."), .lines = true};
#undef EK__T

/* ---- groups ---- */

/* "0, 1, ...": the ranks of a group. */
static void list_ranks(const ek_trace_group *group, char list[1024])
{
    size_t used = 0;
    list[0] = '\0';
    for (int k = 0; k < group->n_ranks && used + 32 < 1024; k++)
        used += (size_t)snprintf(list + used, 1024 - used, "%s%d", k ? ", " : "", group->rank[k]);
    if (used + 32 >= 1024)
        snprintf(list + used, 1024 - used, ", ...");
}

static void group_ranks(const void *record, const ek__owner *of, char *text, size_t room)
{
    char list[1024];
    (void)of;
    list_ranks(record, list);
    snprintf(text, room, "%s", list);
}

static void name_group(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_trace_group *group = record;
    char list[1024];
    (void)of;
    list_ranks(group, list);
    snprintf(text, room < 1024 ? room : 1024, "%.256s %.256s: %.400s", group->name, group->key, list);
}

/* Are there files of this rank? Ranks are sorted, unknown ones last. */
static bool has_files(const ek_trace_run *run, int number)
{
    int low = 0, high = run->n_ranks;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((unsigned)run->rank[middle].rank < (unsigned)number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_ranks && run->rank[low].rank == number;
}

/* Groups of one name are adjacent. */
static bool same_name(const ek_trace_group *a, const ek_trace_group *b)
{
    return strcmp(a->name, b->name) == 0;
}

static int n_of_name(const void *record, const ek__owner *of)
{
    const ek_trace_group *first = record;
    int n = 1;
    while (of->number + n < ((const ek_trace_topology *)of->parent)->n_groups && same_name(first, &first[n]))
        n++;
    return n;
}

#define EK__T int
CONDITION(is_missing, !has_files(of->run, *it));
#undef EK__T

#define EK__T ek_trace_group
FINDER(this_group, it);
CONDITION(begins_name, of->number == 0 || !same_name(it, &it[-1]));
static const ek__member group_list[] = {{"", SHORT_LIST(n_ranks, rank, ek__list_of_integers), "a group"}};
static const ek__fields group_lists = {FIELDS(group_list, NULL, NULL)};
static const ek__member group_name[] = {{"", FOUND_SHORT_LIST(this_group, n_of_name, group_lists), "a name"}};
static const ek__fields group_names = {FIELDS(group_name, NULL, NULL)};
static const ek__member group[] = {
    {NULL, COMPOSE(name_group), NULL, PAGE(1, "group", "Group")},
    {"group_name", TEXT(name), "`pp`, `dp`, `tp`, ...", PAGE(2, "purpose", "Of")},
    {"key", TEXT(key), "`group_name_4`"},
    {"size", COUNT(n_ranks), "ranks of it", PAGE(3, "size", "Ranks")},
    {"global_ranks", SHORT_LIST(n_ranks, rank, ek__list_of_integers), "which"},
    {"missing_ranks", SHORT_LIST(n_ranks, rank, ek__list_of_integers),
     "of which there are no files: all of them where there are no ranks' folders", .shown = is_missing},
    {NULL, COMPOSE(group_ranks), NULL, PAGE(4, "ranks", "Which")},
};
static const ek__fields groups = {
    FIELDS(group, "topology.groups[]",
           "By name, then ranks, as all lists of groups; a set that the file names twice is there twice.")};
#undef EK__T

#define EK__T ek_trace_topology
GETTER(sequence_parallel, number, it->tells_sequence_parallel ? it->sequence_parallel : -1);
static const ek__member topology[] = {
    {"known", FLAG(known), "some file contains sizes or groups"},
    {"tensor_model_parallel_size", SIZE(tensor), "ranks that split a layer's tensors"},
    {"pipeline_model_parallel_size", SIZE(pipeline), "stages"},
    {"data_parallel_size", SIZE(data), "replicas"},
    {"context_parallel_size", SIZE(context), "ranks that split a sequence"},
    {"expert_model_parallel_size", SIZE(expert), "ranks that split the experts"},
    {"sequence_parallel", GET(FLAG, sequence_parallel), "null if not known"},
    {"world_size", SIZE(world_size), "ranks of the run"},
    {"groups", LIST(n_groups, group, groups), "ranks that communicate"},
    {"groups_by_name", SHORT_MAP(n_groups, group, group_names), "by name: lists of lists of global ranks",
     .shown = begins_name},
    {"ranks", OWN_OF("list", ek__trace_topology_rank), "every rank with the groups it is in"},
};
const ek__fields ek__trace_topology = {FIELDS(topology, "topology", NULL), .lines = true};
#undef EK__T

#define EK__T ek_trace_group
/* The owner's parent is the rank's place in the group. */
GETTER(place_in_group, number, *(const int *)of->parent);
static const ek__member place[] = {
    {"group_name", TEXT(name), "`pp`, `dp`, `tp`, ..."},
    {"key", TEXT(key), "`group_name_4`"},
    {"group_rank", GET(COUNT, place_in_group), "the rank's place in it; in the group `pp` its stage"},
};
const ek__fields ek__trace_place = {FIELDS(place, "topology.ranks[].groups[]", NULL)};
#undef EK__T

/* ---- tables ---- */

#define EK__T ek_trace_collective
LOCATOR(locate_collective, out->start = it->start; out->end = ek__sum(it->start, it->duration); out->name = it->name);
#undef EK__T

#define EK__T ek_trace_comm_sum
LOCATOR(locate_comm_sum, out->step = ek__trace_find_step(of->rank, it->step));
#undef EK__T

#define EK__T ek_trace_pair
/* The side that waited longer. */
LOCATOR(locate_pair, out->rank = ek__trace_rank_at(of->run, it->from_wait > it->to_wait ? it->from_at : it->to_at));
#undef EK__T

#define EK__T ek_trace_run_link
LOCATOR(locate_run_link, out->rank = ek__trace_rank_at(of->run, it->rank));
#undef EK__T

const ek__rows ek__communication_rows[] = {
    {"collectives", "communication", "collectives", "Collectives, summed by kind, group and size", .rank_column = 2,
     .fields = &ek__trace_collective_sum, RANK_LIST(communication.n_sums, communication.sum), .sort = 5},
    {"calls", "communication", "exposed", "Single collectives, most exposed first", "number", "No.", EK__KEY_NUMBER,
     .fields = &ek__trace_collective, RANK_LIST(communication.n_collectives, communication.collective),
     .locate = locate_collective, .sort = 6},
    {NULL, "communication", "communication-json", "communication.json, summed by operator and group", .rank_column = 2,
     .fields = &ek__trace_comm_sum, RANK_LIST(communication.n_comm_sums, communication.comm_sum),
     .locate = locate_comm_sum, .sort = 4},
    {NULL, "communication", "transports", "Links, over all ranks", .fields = &run_transports,
     RUN_LIST(n_transports, transport)},
    {NULL, "communication", "slow-links", "Links 20 % or more below the mean of their transport",
     .fields = &ek__trace_run_link, RUN_LIST(n_slow_links, slow_link), .locate = locate_run_link},
    {NULL, "communication", "pairs", "Transfers between stages", .fields = &pairs, RUN_LIST(n_pairs, pair),
     .locate = locate_pair},
    {"links", "communication", "links", "Links", .rank_column = 2, .fields = &ek__trace_link,
     RANK_LIST(communication.n_links, communication.link)},
    {NULL, "communication", "groups", "Groups of ranks", .fields = &groups,
     RUN_LIST(topology.n_groups, topology.group)},
};
const int ek__n_communication_rows = sizeof ek__communication_rows / sizeof *ek__communication_rows;
