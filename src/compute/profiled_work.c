/* Counts floating-point operations and bytes of an operator of a profile. */
#include "compute/profiled.h"

void ek__profile_product(ek_kernel *k, double out_bytes)
{
    double size = k->type == EK_TYPE_FP8 ? 1 : k->type == EK_FP32 ? 4 : 2;
    k->groups = k->groups > 0 ? k->groups : 1;
    k->flops = 2 * k->groups * k->m * k->n * k->k;
    k->bytes = k->groups * (size * (k->m * k->k + k->k * k->n) + out_bytes * k->m * k->n);
}

/* As in measured kernel tables (src/cost/kernel_csv.c): a causal kernel computes half of the score matrix. */
void ek__profile_attention(ek_kernel *k, bool causal)
{
    bool backward = k->kind == EK_KERNEL_ATTENTION_BACKWARD;
    double width = k->qk_dim + k->v_dim, size = k->type == EK_FP32 ? 4 : 2;
    k->flops = (causal ? 1 : 2) * k->batch * k->heads * k->seq * k->key_seq * width * (backward ? 2.5 : 1);
    k->bytes = size * k->batch * width * (k->heads * k->seq + k->kv_heads * k->key_seq) * (backward ? 2 : 1);
}
