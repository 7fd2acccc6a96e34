/* Converts values to bytes, and back. */
#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void ek__pack_put(ek__pack *pack, const void *bytes, size_t n)
{
    if (n == 0 || pack->no_memory)
        return;
    char *grown = ek__with_room(pack->at, &pack->capacity, pack->n + n, 1);
    pack->no_memory = grown == NULL;
    if (!grown)
        return;
    pack->at = grown;
    memcpy(grown + pack->n, bytes, n);
    pack->n += n;
}

void ek__pack_put_text(ek__pack *pack, const char *text)
{
    const uint64_t n = text ? strlen(text) + 1 : 0;
    EK__PACK(pack, n);
    ek__pack_put(pack, text, n);
}

ek_status ek__pack_end(ek__pack *pack, ek_error *err)
{
    if (!pack->no_memory)
        return EK_OK;
    free(pack->at);
    *pack = (ek__pack){.at = NULL};
    return ek__no_memory(err);
}

ek__unpack ek__unpack_of(const void *bytes, size_t n)
{
    static const char none[1];
    const char *at = bytes ? bytes : none;
    return (ek__unpack){.at = at, .end = at + (bytes ? n : 0)};
}

bool ek__unpack_get(ek__unpack *unpack, void *to, size_t n)
{
    if (n == 0)
        return !unpack->wrong;
    unpack->wrong = unpack->wrong || (size_t)(unpack->end - unpack->at) < n;
    if (unpack->wrong) {
        memset(to, 0, n);
        return false;
    }
    memcpy(to, unpack->at, n);
    unpack->at += n;
    return true;
}

void *ek__unpack_array(ek__unpack *unpack, size_t n, size_t size)
{
    unpack->wrong = unpack->wrong || n > (size_t)(unpack->end - unpack->at) / size;
    void *array = unpack->wrong ? NULL : ek__alloc(n, size);
    if (array)
        ek__unpack_get(unpack, array, n * size);
    return array;
}

char *ek__unpack_text(ek__unpack *unpack)
{
    uint64_t n = 0;
    EK__UNPACK(unpack, n);
    if (n == 0)
        return NULL;
    char *text = ek__unpack_array(unpack, n, 1);
    if (text && text[n - 1] != '\0') {
        unpack->wrong = true;
        free(text);
        return NULL;
    }
    return text;
}

ek_status ek__unpack_end(const ek__unpack *unpack, ek_error *err)
{
    if (!unpack->wrong && unpack->at == unpack->end)
        return EK_OK;
    return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE,
                    "another process sent an unexpected message: all machines need the same program");
}

ek_status ek__unpack_wrong(ek__unpack *unpack, ek_error *err)
{
    unpack->wrong = true;
    return ek__unpack_end(unpack, err);
}

uint64_t ek__hash(const void *bytes, size_t n, uint64_t from)
{
    uint64_t value = from ? from : UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        value = (value ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    return value;
}
