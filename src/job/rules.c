/* The rules of a job: settings that cannot be derived from its file. One table has a line for each rule, so that the
 * names for `--rule` and calibration, the allowed values and their printing are in one place. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "job/job_internal.h"

static const char *const ek__allocation_name[EK_N_ALLOCATIONS] = {"whole", "blocks", "pages", "caching", "offline"};
const char *const *const ek_allocation_name = ek__allocation_name;

static const char *const gather_name[] = {"step", "layer", "none"};

typedef enum rule_type { WORD, SWITCH, WHOLE, DECIMAL, BYTES } rule_type;

typedef struct rule {
    size_t at; /* in ek_rules */
    rule_type type;
    double min, max;
    const char *const *words; /* of WORD, max + 1 of them */
} rule;

/* In the order of ek_rules: X(name, type, minimum, maximum, words, basis, possible values if it is assumed,
 * description). */
#define RULES(X)                                                                                                       \
    X(weight_gather, WORD, 0, 2, gather_name, "assumed", "step,layer",                                                 \
      "when weights gathered from shards are alive: step, layer, none")                                                \
    X(gather_after_cast, SWITCH, 0, 1, NULL, "assumed", "no,yes",                                                      \
      "weights are gathered in compute type instead of the stored one")                                                \
    X(regather, SWITCH, 0, 1, NULL, "documented", "",                                                                  \
      "a gathered activation keeps the rank's own part, and backward gathers again")                                   \
    X(token_order_copy, SWITCH, 0, 1, NULL, "derived", "",                                                             \
      "the attention's output is copied into token order and both are kept")                                           \
    X(cast_weight_kept, SWITCH, 0, 1, NULL, "measured", "", "weights in compute type stay from forward to backward")   \
    X(statistics_width, WHOLE, 0, 128, NULL, "assumed", "0,1,8",                                                       \
      "fp32 columns of each of max and sum that flash attention keeps per head and token; 0: one sum of exponentials") \
    X(norm_statistics_bytes, WHOLE, 0, 1024, NULL, "derived", "", "bytes each norm keeps per token")                   \
    X(loss_buffers, WHOLE, 0, 64, NULL, "assumed", "2,3,4,5,6",                                                        \
      "fp32 tensors of the logits' size alive at once in the loss")                                                    \
    X(one_hot_kept, SWITCH, 0, 1, NULL, "assumed", "no,yes", "the one-hot labels are kept for backward")               \
    X(loss_fused, SWITCH, 0, 1, NULL, "documented", "", "the loss is one kernel that leaves one fp32 tensor")          \
    X(loss_in_place, SWITCH, 0, 1, NULL, "documented", "", "the loss writes the logits' gradient over the logits")     \
    X(mask_per_micro_batch, SWITCH, 0, 1, NULL, "assumed", "no,yes",                                                   \
      "without a compressed mask each micro-batch has its own")                                                        \
    X(weight_gradient_fused, SWITCH, 0, 1, NULL, "documented", "", "weight gradients are added inside the matmul")     \
    X(gradient_cast_fused, SWITCH, 0, 1, NULL, "assumed", "no,yes",                                                    \
      "weight gradients are cast while they are added to the buffer")                                                  \
    X(dummy_gradients, SWITCH, 0, 1, NULL, "documented", "",                                                           \
      "one tensor of each shape of weight stays as a placeholder of a gradient")                                       \
    X(gather_buffer, SWITCH, 0, 1, NULL, "documented", "", "the head's gathered input lies in a buffer that stays")    \
    X(fp8_copies, WHOLE, 0, 2, NULL, "documented", "",                                                                 \
      "copies of a weight in 8 bits that stay if its products run in 8 bits: 2 original and transposed, 1 original")   \
    X(p2p_buffers, WHOLE, 0, 64, NULL, "assumed", "0,1,2",                                                             \
      "receive buffers of an activation in addition to the one in use")                                                \
    X(workspace_mb, DECIMAL, 0, 1e6, NULL, "assumed", "", "MB of operators' workspace at the peak")                    \
    X(constant_mb, DECIMAL, -1e6, 1e6, NULL, "calibrated", "", "MB added to every stage")                              \
    X(activation_scale, DECIMAL, 0, 100, NULL, "calibrated", "", "factor on kept activations")                         \
    X(transient_scale, DECIMAL, 0, 100, NULL, "calibrated", "", "factor on temporaries")                               \
    X(moe_imbalance, DECIMAL, 1, 1000, NULL, "assumed", "1,1.3", "tokens of the fullest rank's experts over the mean") \
    X(allocation, WORD, 0, EK_N_ALLOCATIONS - 1, ek_allocation_name, "documented", "",                                 \
      "how tensors are placed: whole, blocks, pages, caching, offline")                                                \
    X(block_bytes, BYTES, 512, 1099511627776., NULL, "documented", "", "bytes of the allocator's blocks, as in 1G")    \
    X(page_bytes, BYTES, 512, 1099511627776., NULL, "documented", "", "bytes of its pages, as in 2M")

#define NAME(name, type, min, max, words, basis, other, help) #name,
static const char *const ek__rule_names[] = {RULES(NAME) NULL};
const char *const *const ek_rule_names = ek__rule_names;

#define HELP(name, type, min, max, words, basis, other, help) help,
static const char *const ek__rule_help[] = {RULES(HELP) NULL};
const char *const *const ek_rule_help = ek__rule_help;

#define BASIS(name, type, min, max, words, basis, other, help) basis,
static const char *const ek__rule_basis[] = {RULES(BASIS) NULL};
const char *const *const ek_rule_basis = ek__rule_basis;

#define OTHER(name, type, min, max, words, basis, other, help) other,
static const char *const ek__rule_alternatives[] = {RULES(OTHER) NULL};
const char *const *const ek_rule_alternatives = ek__rule_alternatives;

#define LINE(name, type, min, max, words, basis, other, help) {offsetof(ek_rules, name), type, min, max, words},
static const rule rules_of[] = {RULES(LINE)};
enum { N_RULES = sizeof rules_of / sizeof *rules_of };

/* Saved and freed tensors of MindFormers' graph, and the allocator of MindSpore: docs/models.md. */
static const ek_rules mindformers = {
    .weight_gather = EK_GATHER_STEP,
    .token_order_copy = true,
    .statistics_width = 8,
    .norm_statistics_bytes = 4,
    .loss_buffers = 4,
    .one_hot_kept = true,
    .activation_scale = 1,
    .transient_scale = 1,
    .moe_imbalance = 1,
    .allocation = EK_ALLOCATION_WHOLE,
    .block_bytes = INT64_C(1) << 30,
    .page_bytes = INT64_C(2) << 20,
};

/* Megatron keeps its weights whole in compute type (the distributed optimizer shards only states), and the rank's own
 * part of a gathered activation. Its flash attention keeps one logarithm of a sum per head and token. Two fp32 buffers
 * in the loss are assumed: the logits cast to fp32 and their exponentials. Its matrix products are TransformerEngine's,
 * which keeps a placeholder for the gradient of each shape of weight, and copies of 8-bit weights for the forward and
 * the backward pass (devices before Blackwell, and block scales, need them transposed). TransformerEngine and PyTorch
 * give cuBLAS a workspace of 32 MiB each on devices from Hopper on (4 and 8 MiB before). */
static const ek_rules megatron = {
    .weight_gather = EK_GATHER_NONE,
    .gather_after_cast = true,
    .regather = true,
    .statistics_width = 0,
    .norm_statistics_bytes = 4,
    .loss_buffers = 2,
    .weight_gradient_fused = true,
    .gradient_cast_fused = true,
    .dummy_gradients = true,
    .gather_buffer = true,
    .fp8_copies = 2,
    .workspace_mb = 2 * EK__CUBLAS_MB,
    .activation_scale = 1,
    .transient_scale = 1,
    .moe_imbalance = 1,
    .allocation = EK_ALLOCATION_CACHING,
    .block_bytes = INT64_C(1) << 30,
    .page_bytes = INT64_C(2) << 20,
};

/* PyTorch's own modules: weights are gathered layer by layer in compute type (FSDP2), activations gathered by tensor
 * parallelism are kept whole, and each weight's gradient is a tensor until it is reduced. A loss that is not compiled
 * has two fp32 buffers forward, the logits and their logarithm, and three backward, the logarithm and two gradients;
 * over tensor parallel ranks the reader sets four. cuBLAS uses the workspace from PyTorch. */
static const ek_rules torchtitan = {
    .weight_gather = EK_GATHER_LAYER,
    .gather_after_cast = true,
    .statistics_width = 0,
    .norm_statistics_bytes = 4,
    .loss_buffers = 2,
    .workspace_mb = EK__CUBLAS_MB,
    .activation_scale = 1,
    .transient_scale = 1,
    .moe_imbalance = 1,
    .allocation = EK_ALLOCATION_CACHING,
    .block_bytes = INT64_C(1) << 30,
    .page_bytes = INT64_C(2) << 20,
};

ek_rules ek_rules_default(ek_framework framework)
{
    if (framework == EK_TORCHTITAN)
        return torchtitan;
    if (framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE)
        return mindformers;
    ek_rules rules = megatron;
    if (framework == EK_MINDSPEED) { /* Megatron's modules on MindSpore's operators and allocator */
        rules.statistics_width = 8;
        rules.dummy_gradients = false;
        rules.fp8_copies = 0;
        rules.workspace_mb = 0;
        rules.allocation = EK_ALLOCATION_BLOCKS;
    }
    return rules;
}

/* ---- values as text ---- */

static bool parse_switch(const char *text, double *value)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    return false;
}

static bool parse_word(const rule *r, const char *text, double *value)
{
    for (int i = 0; i <= (int)r->max; i++)
        if (strcmp(text, r->words[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

/* A number; bytes may have the suffix K, M or G (powers of 1024). */
static bool parse_number(const rule *r, const char *text, double *value)
{
    char number[64];
    size_t n = strlen(text);
    double unit = 1;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, text, n + 1);
    static const char units[] = "KMG";
    const char *letter = r->type == BYTES ? strchr(units, number[n - 1]) : NULL;
    if (letter) {
        unit = ldexp(1, 10 * (int)(letter - units + 1));
        number[n - 1] = '\0';
    }
    if (!ek__text_is_number(number, value))
        return false;
    *value *= unit;
    return (r->type == DECIMAL || *value == floor(*value)) && *value >= r->min && *value <= r->max;
}

static bool parse_value(const rule *r, const char *text, double *value)
{
    switch (r->type) {
    case WORD:
        return parse_word(r, text, value);
    case SWITCH:
        return parse_switch(text, value);
    case WHOLE:
    case DECIMAL:
    case BYTES:
        break;
    }
    return parse_number(r, text, value);
}

static void store(ek_rules *rules, const rule *r, double value)
{
    char *at = (char *)rules + r->at;
    const int whole = r->type == BYTES ? 0 : (int)value;
    const bool yes = value != 0;
    const int64_t bytes = r->type == BYTES ? (int64_t)value : 0;
    switch (r->type) {
    case WORD: /* both enums are ints to the compiler */
        memcpy(at, &whole, sizeof whole);
        break;
    case SWITCH:
        memcpy(at, &yes, sizeof yes);
        break;
    case WHOLE:
        memcpy(at, &whole, sizeof whole);
        break;
    case DECIMAL:
        memcpy(at, &value, sizeof value);
        break;
    case BYTES:
        memcpy(at, &bytes, sizeof bytes);
        break;
    }
}
_Static_assert(sizeof(ek_gather) == sizeof(int) && sizeof(ek_allocation) == sizeof(int), "words are stored as ints");

static int find(const char *name, size_t n)
{
    for (int i = 0; i < N_RULES; i++)
        if (strlen(ek_rule_names[i]) == n && memcmp(ek_rule_names[i], name, n) == 0)
            return i;
    return -1;
}

/* The allowed values of a rule, for messages. */
static void describe(const rule *r, char *out, size_t size)
{
    int n = snprintf(out, size, r->type == SWITCH ? "yes or no" : "one of");
    if (r->type == SWITCH)
        return;
    if (r->type != WORD) {
        ek__snprintf(out, size, "a %snumber from %.15g to %.15g", r->type == DECIMAL ? "" : "whole ", r->min, r->max);
        return;
    }
    for (int i = 0; i <= (int)r->max && (size_t)n < size; i++)
        n += snprintf(out + n, size - (size_t)n, "%s %s", i ? "," : "", r->words[i]);
}

static ek_status fail_unknown(const char *assignment, ek_error *err)
{
    char names[700] = "";
    size_t n = 0;
    for (int i = 0; i < N_RULES && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", ek_rule_names[i]);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "'%.64s' is no rule; write NAME=VALUE with one of %s", assignment,
                    names);
}

int ek__rule_index(const char *assignment)
{
    return find(assignment, strcspn(assignment, "="));
}

ek_status ek_rules_set(ek_rules *rules, const char *assignment, ek_error *err)
{
    const char *equals = strchr(assignment, '=');
    int i = equals ? find(assignment, (size_t)(equals - assignment)) : -1;
    double value;
    if (i < 0)
        return fail_unknown(assignment, err);
    if (parse_value(&rules_of[i], equals + 1, &value)) {
        store(rules, &rules_of[i], value);
        return EK_OK;
    }
    char expected[160];
    describe(&rules_of[i], expected, sizeof expected);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "rule %s is '%.64s', expected %s", ek_rule_names[i], equals + 1,
                    expected);
}

/* The shortest text that reads back as the value. */
static void print_shortest(double value, char *out, size_t size)
{
    char text[32] = "";
    for (int digits = 6; digits <= 17; digits++) {
        ek__snprintf(text, sizeof text, "%.*g", digits, value);
        if (ek__strtod(text, NULL) == value)
            break;
    }
    snprintf(out, size, "%s", text);
}

bool ek_rules_get(const ek_rules *rules, const char *name, char *out, size_t size)
{
    int i = find(name, strlen(name));
    if (i < 0)
        return false;
    const char *at = (const char *)rules + rules_of[i].at;
    int whole;
    bool yes;
    double value;
    int64_t bytes;
    switch (rules_of[i].type) {
    case WORD:
        memcpy(&whole, at, sizeof whole);
        snprintf(out, size, "%s", rules_of[i].words[whole]);
        break;
    case SWITCH:
        memcpy(&yes, at, sizeof yes);
        snprintf(out, size, "%s", yes ? "yes" : "no");
        break;
    case WHOLE:
        memcpy(&whole, at, sizeof whole);
        snprintf(out, size, "%d", whole);
        break;
    case DECIMAL:
        memcpy(&value, at, sizeof value);
        print_shortest(value, out, size);
        break;
    case BYTES:
        memcpy(&bytes, at, sizeof bytes);
        snprintf(out, size, "%" PRId64, bytes);
        break;
    }
    return true;
}
