/* Finds the action of an operator by its name: types of Ascend, operators of PyTorch, texts in the names of kernels
 * where nothing else is known. */
#include <string.h>

#include "base/c_locale.h"
#include "compute/compute_internal.h"
#include "trace/events/device.h"
#include "trace/tables/tables.h"

typedef struct named {
    const char *name;
    ek__action word;
} named;

/* Without a version suffix: MatMulV3 is MatMul, ConcatV2D Concat. */
static const named types[] = {{"MatMul", EK__ACTION_PRODUCT},
                              {"BatchMatMul", EK__ACTION_PRODUCT},
                              {"MatMulCommon", EK__ACTION_PRODUCT},
                              {"BatchMatMulCommon", EK__ACTION_PRODUCT},
                              {"Softmax", EK__ACTION_SOFTMAX},
                              {"SoftmaxGrad", EK__ACTION_SOFTMAX_GRAD},
                              {"SoftmaxBackward", EK__ACTION_SOFTMAX_GRAD},
                              {"MaskedSoftmax", EK__ACTION_SOFTMAX},
                              {"ScaledMaskedSoftmax", EK__ACTION_SOFTMAX},
                              {"ScaledMaskedSoftmaxGrad", EK__ACTION_SOFTMAX_GRAD},
                              {"DropOutDoMask", EK__ACTION_DROPOUT},
                              {"DropOutGenMask", EK__ACTION_DROPOUT},
                              {"StatelessDropOutGenMask", EK__ACTION_DROPOUT},
                              {"MaskedFill", EK__ACTION_FILL},
                              {"Select", EK__ACTION_FILL},
                              {"Mul", EK__ACTION_MUL},
                              {"Muls", EK__ACTION_MUL},
                              {"Add", EK__ACTION_ADD},
                              {"Adds", EK__ACTION_ADD},
                              {"Sub", EK__ACTION_ADD},
                              {"RealDiv", EK__ACTION_DIV},
                              {"Div", EK__ACTION_DIV},
                              {"Neg", EK__ACTION_NEG},
                              {"Square", EK__ACTION_SQUARE},
                              {"Pow", EK__ACTION_SQUARE},
                              {"Pows", EK__ACTION_SQUARE},
                              {"ReduceMean", EK__ACTION_MEAN},
                              {"Rsqrt", EK__ACTION_RSQRT},
                              {"Sqrt", EK__ACTION_RSQRT},
                              {"Concat", EK__ACTION_CONCAT},
                              {"Slice", EK__ACTION_SLICE},
                              {"StridedSlice", EK__ACTION_SLICE},
                              {"Split", EK__ACTION_SLICE},
                              {"SplitV", EK__ACTION_SLICE},
                              {"Silu", EK__ACTION_SILU},
                              {"SiLU", EK__ACTION_SILU},
                              {"Swish", EK__ACTION_SILU},
                              {"SiluGrad", EK__ACTION_SILU_GRAD},
                              {"SiLUGrad", EK__ACTION_SILU_GRAD},
                              {"SwishGrad", EK__ACTION_SILU_GRAD},
                              {"Sigmoid", EK__ACTION_SIGMOID},
                              {"LogSoftmax", EK__ACTION_LOG_SOFTMAX},
                              {"NLLLoss", EK__ACTION_LOSS},
                              {"GatherElements", EK__ACTION_LOSS},
                              {"GatherD", EK__ACTION_LOSS},
                              {"Cast", EK__ACTION_CAST},
                              {"Transpose", EK__ACTION_TURN},
                              {"ViewCopy", EK__ACTION_TURN},
                              {"AsStrided", EK__ACTION_TURN},
                              {"TransData", EK__ACTION_TRANS_DATA}};

/* After aten::, without a `_` for the result in place. */
static const named torch[] = {{"mm", EK__ACTION_PRODUCT},
                              {"bmm", EK__ACTION_PRODUCT},
                              {"addmm", EK__ACTION_PRODUCT},
                              {"baddbmm", EK__ACTION_PRODUCT},
                              {"_softmax", EK__ACTION_SOFTMAX},
                              {"_softmax_backward_data", EK__ACTION_SOFTMAX_GRAD},
                              {"native_dropout", EK__ACTION_DROPOUT},
                              {"native_dropout_backward", EK__ACTION_DROPOUT},
                              {"masked_fill", EK__ACTION_FILL},
                              {"where", EK__ACTION_FILL},
                              {"mul", EK__ACTION_MUL},
                              {"add", EK__ACTION_ADD},
                              {"sub", EK__ACTION_ADD},
                              {"div", EK__ACTION_DIV},
                              {"neg", EK__ACTION_NEG},
                              {"pow", EK__ACTION_SQUARE},
                              {"square", EK__ACTION_SQUARE},
                              {"mean", EK__ACTION_MEAN},
                              {"rsqrt", EK__ACTION_RSQRT},
                              {"cat", EK__ACTION_CONCAT},
                              {"silu", EK__ACTION_SILU},
                              {"silu_backward", EK__ACTION_SILU_GRAD},
                              {"sigmoid", EK__ACTION_SIGMOID},
                              {"_log_softmax", EK__ACTION_LOG_SOFTMAX},
                              {"nll_loss_forward", EK__ACTION_LOSS},
                              {"gather", EK__ACTION_LOSS}};

static ek__action find(const named *list, size_t n, const char *name, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i].name) == size && memcmp(list[i].name, name, size) == 0)
            return list[i].word;
    return EK__ACTION_OTHER;
}
#define FIND(list, name, size) find((list), sizeof(list) / sizeof *(list), (name), (size))

static ek__action word_of_type(const char *name)
{
    size_t n = strlen(name);
    ek__action word = FIND(types, name, n);
    if (word == EK__ACTION_OTHER && n > 1 && name[n - 1] == 'D')
        word = FIND(types, name, --n);
    if (word == EK__ACTION_OTHER && n > 2 && name[n - 2] == 'V' && name[n - 1] >= '1' && name[n - 1] <= '9')
        word = FIND(types, name, n - 2);
    return word;
}

static bool contains(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (; *text; text++) {
        size_t k = 0;
        while (k < n && ek__to_lower((unsigned char)text[k]) == word[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* A name such as vectorized_elementwise_kernel has no other information. */
static ek__action word_of_kernel(const char *kernel)
{
    if (contains(kernel, "softmax"))
        return contains(kernel, "backward") ? EK__ACTION_SOFTMAX_GRAD : EK__ACTION_SOFTMAX;
    return strcmp(ek__kernel_family(kernel), "matmul") == 0 ? EK__ACTION_PRODUCT : EK__ACTION_OTHER;
}

static const char *aten(const char *name)
{
    static const char prefix[] = "aten::";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : NULL;
}

/* A copy changes the type where its arguments are of two, else the layout. */
static ek__action word_of_copy(const ek_trace_shaped *op)
{
    const char *first = strchr(op->types, '"'), *second = first ? strchr(first + 1, '"') : NULL;
    const char *third = second ? strchr(second + 1, '"') : NULL;
    if (!third)
        return EK__ACTION_TURN;
    size_t size = (size_t)(second - first);
    return strncmp(first, third, size + 1) == 0 ? EK__ACTION_TURN : EK__ACTION_CAST;
}

ek__action ek__action_of(const ek_trace_shaped *op)
{
    const char *name = aten(op->name);
    if (!name)
        return op->name[0] ? word_of_type(op->name) : word_of_kernel(op->kernel);
    size_t n = strlen(name);
    n -= n > 1 && name[n - 1] == '_';
    if (n == strlen("copy") && memcmp(name, "copy", n) == 0)
        return word_of_copy(op);
    return FIND(torch, name, n);
}

ek_compute_class ek__compute_class_of(const ek_trace_shaped *op, bool torch_run)
{
    ek__action word = ek__action_of(op);
    if (op->core && strcmp(op->core, "AI_CPU") == 0)
        return EK_COMPUTE_AI_CPU;
    if (EK__TRANSFORMS & (1u << word))
        return EK_COMPUTE_TRANSFORM;
    const char *family = torch_run ? ek__kernel_family(op->kernel) : ek__operator_family(op->name, op->core);
    if (word == EK__ACTION_PRODUCT || strcmp(family, "matmul") == 0 || contains(op->name, "conv") ||
        (!op->name[0] && contains(op->kernel, "conv")))
        return EK_COMPUTE_MATRIX;
    if (strcmp(family, "attention") == 0)
        return EK_COMPUTE_ATTENTION;
    if (strcmp(family, "copy") == 0)
        return EK_COMPUTE_TRANSFORM;
    /* Traces call all cores AI_CORE: operators other than products run on the vector units there, too. */
    bool on_core = !torch_run && op->core && (strncmp(op->core, "AI_", 3) == 0 || strncmp(op->core, "MIX_", 4) == 0);
    if (strcmp(family, "vector") == 0 || word != EK__ACTION_OTHER || on_core)
        return EK_COMPUTE_VECTOR;
    return EK_COMPUTE_OTHER;
}
