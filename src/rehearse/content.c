/* Fills and checks the contents of messages. They are words that count up from a mix of tag, sender and step, by an odd
 * increment derived from them too. So filling and checking run at memory speed, and two messages are unlikely to share
 * a word. */
#include <string.h>

#include "evenkeel/rehearse.h"

/* The finaliser of splitmix64. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

typedef struct words {
    uint64_t first, step;
} words;

static words words_of(const ek_rehearse_message *message, int step)
{
    uint64_t pair = (uint64_t)(uint32_t)message->from << 32 | (uint32_t)message->to;
    uint64_t seed = mix(pair + 0x9e3779b97f4a7c15u);
    seed = mix(seed ^ ((uint64_t)(uint32_t)message->tag << 32 | (uint32_t)step));
    return (words){seed, mix(seed + 1) | 1};
}

void ek_rehearse_fill(const ek_rehearse_message *message, int step, void *content, size_t bytes)
{
    words w = words_of(message, step);
    unsigned char *to = content;
    size_t n = bytes / 8;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = w.first + i * w.step;
        memcpy(to + 8 * i, &word, 8);
    }
    uint64_t last = w.first + n * w.step;
    memcpy(to + 8 * n, &last, bytes % 8);
}

size_t ek_rehearse_check(const ek_rehearse_message *message, int step, const void *content, size_t bytes)
{
    words w = words_of(message, step);
    const unsigned char *from = content;
    size_t n = bytes / 8;
    uint64_t last = w.first + n * w.step, different = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, from + 8 * i, 8);
        different |= word ^ (w.first + i * w.step);
    }
    if (different == 0 && memcmp(from + 8 * n, &last, bytes % 8) == 0)
        return bytes;
    for (size_t i = 0; i < bytes; i++) {
        uint64_t word = w.first + i / 8 * w.step;
        unsigned char byte[8];
        memcpy(byte, &word, 8);
        if (from[i] != byte[i % 8])
            return i;
    }
    return bytes;
}
