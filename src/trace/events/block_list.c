/* Lists of blocks and segments as they are gathered, with the limits that keep sums of their bytes exact, and the
 * operators and places of the program that allocated them. */
#include "trace/events/block_map.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const ek__block_role_name[EK_N_BLOCK_ROLES] = {"other",     "forward",    "backward",     "recompute",
                                                           "optimizer", "parameters", "communication"};
const char *const *const ek_block_role_name = ek__block_role_name;

void ek__block_list_clear(ek__block_list *list)
{
    free(list->block);
    free(list->segment);
    *list = (ek__block_list){0};
}

static ek_status count(ek__block_list *list, size_t n, int64_t bytes, ek_error *err)
{
    assert(bytes >= 0 && bytes <= EK__BLOCK_MOST_BYTES);
    if (n >= EK_TRACE_MAX_BLOCKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "has more than %d allocations or segments of one device, the limit; record fewer events",
                        EK_TRACE_MAX_BLOCKS);
    if (bytes > EK__BLOCKS_MOST_BYTES - list->total_bytes)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "its allocations have more than %" PRId64 " bytes in all: sizes are damaged; record it again",
                        EK__BLOCKS_MOST_BYTES);
    list->total_bytes += bytes;
    return EK_OK;
}

ek_status ek__block_list_add(ek__block_list *list, const ek_trace_block *block, ek_error *err)
{
    ek_status status = count(list, list->n, block->bytes, err);
    ek_trace_block *larger = status ? NULL : ek__with_room(list->block, &list->capacity, list->n + 1, sizeof *larger);
    if (!larger)
        return status ? status : ek__no_memory(err);
    list->block = larger;
    list->block[list->n++] = *block;
    return EK_OK;
}

ek_status ek__block_list_add_segment(ek__block_list *list, const ek_trace_memory_segment *segment, ek_error *err)
{
    ek_status status = count(list, list->n_segments, segment->bytes, err);
    ek_trace_memory_segment *larger =
        status ? NULL : ek__with_room(list->segment, &list->segments_capacity, list->n_segments + 1, sizeof *larger);
    if (!larger)
        return status ? status : ek__no_memory(err);
    list->segment = larger;
    list->segment[list->n_segments++] = *segment;
    return EK_OK;
}

void ek__block_names_clear(ek__block_names *names)
{
    ek__texts_clear(&names->sites);
    ek__texts_clear(&names->stacks);
}

int ek__block_site(ek__block_names *names, ek_block_role role, const char *name)
{
    char text[1024];
    size_t size = strnlen(name, sizeof text - 1);
    text[0] = (char)('0' + role);
    memcpy(text + 1, name, size);
    return (int)ek__texts_intern(&names->sites, text, size + 1);
}

ek_block_role ek__block_role_of_operator(const char *name)
{
    static const struct {
        const char *word;
        ek_block_role role;
    } words[] = {
        {"ptimizer", EK_BLOCK_OPTIMIZER}, {"_adam", EK_BLOCK_OPTIMIZER},      {"Adam", EK_BLOCK_OPTIMIZER},
        {"_sgd", EK_BLOCK_OPTIMIZER},     {"c10d::", EK_BLOCK_COMMUNICATION}, {"hccl", EK_BLOCK_COMMUNICATION},
        {"Hccl", EK_BLOCK_COMMUNICATION}, {"nccl", EK_BLOCK_COMMUNICATION},   {"HcomAll", EK_BLOCK_COMMUNICATION},
        {"ackward", EK_BLOCK_BACKWARD},   {"autograd::", EK_BLOCK_BACKWARD},  {"_grad", EK_BLOCK_BACKWARD},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i].word))
            return words[i].role;
    return EK_BLOCK_OTHER;
}
