/* Computes the hashes for the keys of findings: texts, types, scopes without the number of their layer. */
#include <string.h>

#include "ir/check.h"

uint64_t ek__ir_mix(uint64_t hash, uint64_t value)
{
    uint64_t z = hash * 0x9E3779B97F4A7C15u + value + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint64_t hash_bytes(uint64_t hash, const char *text, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a, mixed at the end */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    return ek__ir_mix(hash, h);
}

uint64_t ek__ir_hash_text(const char *text)
{
    return hash_bytes(0, text, strlen(text));
}

static uint64_t hash_type(const ek_ir *ir, uint32_t type, int depth)
{
    if (type >= ir->n_types || depth > 8)
        return 7;
    const ek_ir_type *t = &ir->type[type];
    uint64_t hash = ek__ir_mix(t->dtype, t->rank + 64u * t->n_parts);
    for (uint32_t d = 0; d < t->rank; d++)
        hash = ek__ir_mix(hash, (uint64_t)ir->dim[t->first_dim + d]);
    for (uint32_t p = 0; p < t->n_parts && p < 256; p++)
        hash = ek__ir_mix(hash, hash_type(ir, ir->part[t->first_part + p], depth + 1));
    return hash;
}

uint64_t ek__ir_hash_type(const ek_ir *ir, uint32_t type)
{
    return hash_type(ir, type, 0);
}

uint64_t ek__ir_hash_scope(const char *scope, bool layers)
{
    static const char mark[] = "recompute_";
    uint64_t hash = 3;
    bool seen = false;
    while (*scope) {
        size_t n = strcspn(scope, "/"), skip = layers || seen ? 0 : ek__ir_layer_digits(scope);
        seen |= skip > 0;
        if (n >= sizeof mark - 1 && strncmp(scope, mark, sizeof mark - 1) == 0)
            skip = sizeof mark - 1;
        hash = hash_bytes(hash, scope + skip, n - skip);
        scope += n + (scope[n] == '/');
    }
    return hash;
}

size_t ek__ir_layer_digits(const char *element)
{
    size_t n = strspn(element, "0123456789");
    return n > 0 && element[n] == '-' ? n : 0;
}
