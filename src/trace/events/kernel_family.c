/* Finds the families of CUDA and ROCm kernels, by texts in their names up to the parameters, which name types of their
 * own. Names are the only information; a kernel that fuses two operations belongs to the first in its name. Types of
 * Ascend's operators are in tables.c; types missing there are looked up here too. */
#include <string.h>

#include "base/c_locale.h"
#include "trace/events/device.h"

/* The end of the name, where a kernel's parameters begin, which name types of their own. */
static const char *end_of_name(const char *text)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *end = text;
    while ((end = strchr(end, '(')) && strncmp(end, anonymous, sizeof anonymous - 1) == 0)
        end += sizeof anonymous - 1;
    return end ? end : text + strlen(text);
}

static bool contains(const char *text, const char *end, const char *word)
{
    for (const char *s = text; s < end; s++) {
        size_t k = 0;
        while (word[k] && ek__to_lower((unsigned char)s[k]) == word[k])
            k++;
        if (!word[k])
            return true;
    }
    return false;
}

const char *ek__kernel_family(const char *name)
{
    static const struct {
        const char *family, *word;
    } words[] = {
        {"communication", "hcom"}, {"attention", "attention"}, {"attention", "flash"},     {"attention", "fmha"},
        {"matmul", "gemm"},        {"matmul", "matmul"},       {"matmul", "cijk_"},        {"matmul", "cutlass"},
        {"matmul", "linear"},      {"matmul", "_xmma_"},       {"matmul", "splitkreduce"}, {"matmul", "gemv"},
        {"copy", "memcpy"},        {"copy", "tensormove"},     {"copy", "transdata"},      {"copy", "memset"},
        {"other", "conv"},         {"other", "dgrad_engine"},  {"other", "wgrad"},         {"vector", "elementwise"},
        {"vector", "reduce"},      {"vector", "norm"},         {"vector", "softmax"},      {"vector", "multi_tensor"},
        {"vector", "vectorized"},  {"vector", "add"},          {"vector", "mul"},          {"vector", "cast"},
        {"vector", "dropout"},     {"vector", "silu"},         {"vector", "gelu"},         {"vector", "relu"},
        {"vector", "foreach"},     {"vector", "adam"},         {"vector", "momentum"},     {"vector", "bn_fw"},
        {"vector", "bn_bw"},       {"vector", "pool"}};
    const char *end = end_of_name(name);
    if (ek__is_collective_kernel(name, strlen(name)))
        return "communication";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (contains(name, end, words[i].word))
            return words[i].family;
    return "other";
}
