/* Recognises GPU kernels that communicate by texts in their names, the only information about it. NCCL's and RCCL's may
 * be anywhere in a name; others only before the parameters, which name types of their own: DeepEP (dispatch and combine
 * of experts), PyTorch's symmetric memory (multimem, one and two shots), custom all-reduces of vLLM, SGLang and AITER
 * (cross_device), FlashInfer's and TensorRT-LLM's all-reduce followed by a norm, NVSHMEM, MSCCL++, TransformerEngine's
 * userbuffers, quick reduce. Fused kernels count completely as communication. Other names with a collective's word may
 * fuse it with computing: those are only reported. */
#include <string.h>

#include "trace/events/device.h"

enum { N_LETTERS = 26, MAX_A_LETTER = 3 };

/* Small letters, by the first one. */
static const char *const words[N_LETTERS][MAX_A_LETTER] = {
    ['a' - 'a'] = {"allreduce_fusion"},
    ['c' - 'a'] = {"cross_device_reduce"},
    ['d' - 'a'] = {"deep_ep"},
    ['e' - 'a'] = {"ep::internode", "ep::intranode"},
    ['m' - 'a'] = {"multimem_", "mscclpp"},
    ['n' - 'a'] = {"nccl", "nvshmem"},
    ['o' - 'a'] = {"one_shot_all_reduce"},
    ['q' - 'a'] = {"quickreduce", "quick_reduce"},
    ['r' - 'a'] = {"rccl"},
    ['t' - 'a'] = {"two_shot_all_reduce"},
    ['u' - 'a'] = {"userbuffers"},
};

/* Every letter of every kernel's name is processed here, so no call of the library. */
static inline char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static inline bool begins(const char *at, size_t size, const char *word)
{
    size_t i = 0;
    while (i < size && word[i] && small(at[i]) == word[i])
        i++;
    return !word[i];
}

static bool is_library(const char *word)
{
    return strcmp(word, "nccl") == 0 || strcmp(word, "rccl") == 0;
}

/* Does a kernel's parameter list begin here? "(anonymous namespace)" is part of a name. */
static bool is_parameters(const char *at, size_t size)
{
    return *at == '(' && !begins(at, size, "(anonymous namespace)");
}

bool ek__is_collective_kernel(const char *name, size_t size)
{
    bool in_name = true;
    for (size_t i = 0; i < size; i++) {
        unsigned letter = (unsigned)(small(name[i]) - 'a');
        in_name = in_name && (name[i] != '(' || !is_parameters(name + i, size - i));
        if (letter >= N_LETTERS)
            continue;
        for (int k = 0; k < MAX_A_LETTER && words[letter][k]; k++)
            if ((in_name || is_library(words[letter][k])) && begins(name + i, size - i, words[letter][k]))
                return true;
    }
    return false;
}

/* Without regard to case and "_". */
static bool has_word(const char *name, size_t size, const char *word)
{
    for (size_t from = 0; from < size; from++) {
        size_t i = from, k = 0;
        for (; i < size && word[k]; i++) {
            if (name[i] == '_' && k > 0)
                continue;
            if (small(name[i]) != word[k])
                break;
            k++;
        }
        if (!word[k])
            return true;
    }
    return false;
}

bool ek__looks_like_collective(const char *name)
{
    static const char *const like[] = {"allreduce", "allgather", "reducescatter", "alltoall",     "all2all",
                                       "sendrecv",  "internode", "intranode",     "nvls",         "crossdevice",
                                       "crossnode", "rdma",      "lamport",       "moedistribute"};
    size_t size = strlen(name), end = 0;
    while (end < size && !is_parameters(name + end, size - end))
        end++;
    for (size_t i = 0; i < sizeof like / sizeof *like; i++)
        if (has_word(name, end, like[i]))
            return true;
    return false;
}
