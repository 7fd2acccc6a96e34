/* Packs records as bytes: a walk over the members of records.c, column by column. Lists of several records are one
 * list: their counts are columns of their own. */
#include "trace/partial/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

ek_status ek__records_begin(ek__records_out *pack, ek_error *err)
{
    *pack = (ek__records_out){0};
    return ek__texts_reset(&pack->texts) ? EK_OK : ek__no_memory(err);
}

void ek__records_clear(ek__records_out *pack)
{
    free(pack->bytes.at);
    ek__texts_clear(&pack->texts);
    *pack = (ek__records_out){0};
}

/* ---- numbers of any size ---- */

static int64_t whole_at(const char *at, size_t size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)at;
    case 2:
        return *(const uint16_t *)at;
    case 4:
        return *(const int32_t *)at;
    default:
        return *(const int64_t *)at;
    }
}

static void set_whole(char *at, size_t size, int64_t value)
{
    switch (size) {
    case 1:
        *(uint8_t *)at = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)at = (uint16_t)value;
        break;
    case 4:
        *(int32_t *)at = (int32_t)value;
        break;
    default:
        *(int64_t *)at = value;
        break;
    }
}

static bool is_in_range(const ek__record_member *m, int64_t value)
{
    static const int64_t most_of_size[] = {[1] = UINT8_MAX, [2] = UINT16_MAX, [4] = INT32_MAX, [8] = INT64_MAX};
    int64_t most = most_of_size[m->size], least = m->size == 8 ? INT64_MIN : m->size == 4 ? INT32_MIN : 0;
    return value >= least && value <= most && value >= m->least && value <= m->most;
}

/* ---- writing ---- */

/* Columns of numbers in turn, so that each has the previous one as reference. */
typedef struct columns {
    int64_t *value[2]; /* [n] */
    int now;
    bool has_beside;
} columns;

static bool columns_make(columns *c, size_t n)
{
    *c = (columns){{ek__alloc(n, sizeof(int64_t)), ek__alloc(n, sizeof(int64_t))}, 0, false};
    return c->value[0] && c->value[1];
}

static void columns_clear(columns *c)
{
    free(c->value[0]);
    free(c->value[1]);
}

static const int64_t *beside(const columns *c)
{
    return c->has_beside ? c->value[!c->now] : NULL;
}

static void turn(columns *c)
{
    c->now = !c->now;
    c->has_beside = true;
}

static bool write_records(ek__records_out *pack, const ek__record_type *record, const char *at, size_t n,
                          size_t stride);

static bool write_wholes(ek__records_out *pack, columns *c, const ek__record_member *m, const char *at, size_t n,
                         size_t stride)
{
    for (size_t i = 0; i < n; i++)
        c->value[c->now][i] = whole_at(at + i * stride, m->size);
    ek__column_write(&pack->bytes, c->value[c->now], n, beside(c));
    turn(c);
    return true;
}

static bool write_doubles(ek__records_out *pack, const char *at, size_t n, size_t stride)
{
    double *value = ek__alloc(n, sizeof *value);
    for (size_t i = 0; value && i < n; i++)
        memcpy(&value[i], at + i * stride, sizeof *value);
    if (value)
        ek__column_write_real(&pack->bytes, value, n);
    free(value);
    return value;
}

/* Number + 1; 0: NULL. */
static bool write_texts(ek__records_out *pack, columns *c, const char *at, size_t n, size_t stride)
{
    const char *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *text;
        memcpy(&text, at + i * stride, sizeof text);
        if (i > 0 && text == last) {
            c->value[c->now][i] = c->value[c->now][i - 1];
            continue;
        }
        last = text;
        uint32_t number = text ? ek__texts_intern(&pack->texts, text, strlen(text)) : 0;
        if (number == UINT32_MAX)
            return false;
        c->value[c->now][i] = text ? (int64_t)number + 1 : 0;
    }
    ek__column_write(&pack->bytes, c->value[c->now], n, NULL);
    return true;
}

static bool write_list(ek__records_out *pack, const ek__record_member *m, const char *at, size_t n, size_t stride)
{
    size_t total = 0, size = m->of->size, used = 0;
    const char *list = NULL;
    for (size_t i = 0; i < n; i++)
        total += (size_t)whole_at(at + i * stride + m->count, m->count_size);
    if (total == 0)
        return true;
    if (n == 1) {
        memcpy(&list, at + m->offset, sizeof list);
        return write_records(pack, m->of, list, total, size);
    }
    char *all = ek__alloc(total, size);
    for (size_t i = 0; all && i < n; i++) {
        size_t own = (size_t)whole_at(at + i * stride + m->count, m->count_size);
        memcpy(&list, at + i * stride + m->offset, sizeof list);
        if (own > 0)
            memcpy(all + used * size, list, own * size);
        used += own;
    }
    bool fine = all && write_records(pack, m->of, all, total, size);
    free(all);
    return fine;
}

static bool write_member(ek__records_out *pack, columns *c, const ek__record_member *m, const char *at, size_t n,
                         size_t stride)
{
    switch (m->kind) {
    case EK__MEMBER_WHOLE:
        return write_wholes(pack, c, m, at + m->offset, n, stride);
    case EK__MEMBER_DOUBLE:
        return write_doubles(pack, at + m->offset, n, stride);
    case EK__MEMBER_TEXT:
        return write_texts(pack, c, at + m->offset, n, stride);
    case EK__MEMBER_RECORD:
        return write_records(pack, m->of, at + m->offset, n, stride);
    case EK__MEMBER_LIST:
        return write_list(pack, m, at, n, stride);
    case EK__MEMBER_LATER:
        break;
    }
    return true;
}

static bool write_records(ek__records_out *pack, const ek__record_type *record, const char *at, size_t n, size_t stride)
{
    columns c;
    bool fine = columns_make(&c, n);
    for (int i = 0; i < record->n_members && fine; i++) {
        ek__record_member m = record->member[i];
        for (int k = 0; k < m.n && fine; k++, m.offset += m.size)
            fine = write_member(pack, &c, &m, at, n, stride);
    }
    columns_clear(&c);
    return fine && !pack->bytes.no_memory;
}

ek_status ek__records_add(ek__records_out *pack, const ek__record_type *record, const void *at, size_t n, ek_error *err)
{
    return n == 0 || write_records(pack, record, at, n, record->size) ? EK_OK : ek__no_memory(err);
}

unsigned char *ek__records_end(ek__records_out *pack, size_t *size)
{
    ek__column_bytes all = {0};
    ek__buffer_add_number(&all, pack->texts.n);
    for (uint32_t i = 0; i < pack->texts.n; i++)
        ek__buffer_add_number(&all, pack->texts.entry[i].size);
    for (uint32_t i = 0; i < pack->texts.n; i++)
        ek__buffer_add(&all, ek__texts_at(&pack->texts, i), pack->texts.entry[i].size);
    ek__buffer_add(&all, pack->bytes.at, pack->bytes.n);
    if (all.no_memory) {
        free(all.at);
        return NULL;
    }
    *size = all.n;
    return all.at;
}

/* ---- reading ---- */

static ek_status damaged(ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "its records differ from the written ones");
}

ek_status ek__records_open(ek__records_in *unpack, const unsigned char *bytes, size_t size, ek__pool *pool,
                           ek_error *err)
{
    *unpack = (ek__records_in){.cursor = {bytes, bytes + size, false}, .most = 64 + 16 * size, .pool = pool};
    ek__cursor *in = &unpack->cursor;
    int64_t n = ek__cursor_number(in);
    if (in->wrong || n < 0 || (uint64_t)n > size)
        return damaged(err);
    size_t *length = ek__alloc((size_t)n, sizeof *length);
    unpack->text = ek__pool_alloc(pool, (size_t)n, sizeof *unpack->text);
    ek_status status = length && unpack->text ? EK_OK : ek__no_memory(err);
    for (int64_t i = 0; i < n && !status; i++) {
        int64_t own = ek__cursor_number(in);
        length[i] = (size_t)own;
        status = in->wrong || own < 0 || (uint64_t)own > size ? damaged(err) : EK_OK;
    }
    for (int64_t i = 0; i < n && !status; i++) {
        if ((size_t)(in->end - in->at) < length[i]) {
            status = damaged(err);
            break;
        }
        unpack->text[i] = ek__pool_text(pool, (const char *)in->at, length[i]);
        in->at += length[i];
        status = unpack->text[i] ? EK_OK : ek__no_memory(err);
    }
    unpack->n_texts = (uint32_t)n;
    free(length);
    return status;
}

static bool read_records(ek__records_in *u, const ek__record_type *record, char *at, size_t n, size_t stride);

static bool read_wholes(ek__records_in *u, columns *c, const ek__record_member *m, char *at, size_t n, size_t stride)
{
    ek__column_read(&u->cursor, c->value[c->now], n, beside(c));
    for (size_t i = 0; i < n; i++) {
        if (!is_in_range(m, c->value[c->now][i]))
            return false;
        set_whole(at + i * stride, m->size, c->value[c->now][i]);
    }
    turn(c);
    return !u->cursor.wrong;
}

static bool read_doubles(ek__records_in *u, char *at, size_t n, size_t stride)
{
    double *value = ek__alloc(n, sizeof *value);
    if (value)
        ek__column_read_real(&u->cursor, value, n);
    for (size_t i = 0; value && i < n; i++)
        memcpy(at + i * stride, &value[i], sizeof *value);
    u->no_memory |= !value;
    free(value);
    return value && !u->cursor.wrong;
}

static bool read_texts(ek__records_in *u, columns *c, const ek__record_member *m, char *at, size_t n, size_t stride)
{
    ek__column_read(&u->cursor, c->value[c->now], n, NULL);
    for (size_t i = 0; i < n; i++) {
        int64_t number = c->value[c->now][i];
        if (number < m->least || number > (int64_t)u->n_texts)
            return false;
        const char *text = number > 0 ? u->text[number - 1] : NULL;
        memcpy(at + i * stride, &text, sizeof text);
    }
    return !u->cursor.wrong;
}

static bool read_list(ek__records_in *u, const ek__record_member *m, char *at, size_t n, size_t stride)
{
    size_t total = 0, size = m->of->size;
    for (size_t i = 0; i < n; i++) {
        int64_t own = whole_at(at + i * stride + m->count, m->count_size);
        if (own < 0 || (uint64_t)own > u->most || (total += (size_t)own) > u->most)
            return false;
    }
    char *all = ek__pool_alloc(u->pool, total, size);
    u->no_memory |= !all;
    if (!all || (total > 0 && !read_records(u, m->of, all, total, size)))
        return false;
    for (size_t i = 0; i < n; i++) {
        memcpy(at + i * stride + m->offset, &all, sizeof all);
        all += (size_t)whole_at(at + i * stride + m->count, m->count_size) * size;
    }
    return true;
}

static bool read_member(ek__records_in *u, columns *c, const ek__record_member *m, char *at, size_t n, size_t stride)
{
    switch (m->kind) {
    case EK__MEMBER_WHOLE:
        return read_wholes(u, c, m, at + m->offset, n, stride);
    case EK__MEMBER_DOUBLE:
        return read_doubles(u, at + m->offset, n, stride);
    case EK__MEMBER_TEXT:
        return read_texts(u, c, m, at + m->offset, n, stride);
    case EK__MEMBER_RECORD:
        return read_records(u, m->of, at + m->offset, n, stride);
    case EK__MEMBER_LIST:
        return read_list(u, m, at, n, stride);
    case EK__MEMBER_LATER:
        break;
    }
    return true;
}

static bool read_records(ek__records_in *u, const ek__record_type *record, char *at, size_t n, size_t stride)
{
    columns c;
    bool fine = columns_make(&c, n);
    u->no_memory |= !fine;
    for (int i = 0; i < record->n_members && fine; i++) {
        ek__record_member m = record->member[i];
        for (int k = 0; k < m.n && fine; k++, m.offset += m.size)
            fine = read_member(u, &c, &m, at, n, stride);
    }
    columns_clear(&c);
    return fine;
}

ek_status ek__records_read(ek__records_in *unpack, const ek__record_type *record, void *at, size_t n, ek_error *err)
{
    if (n == 0 || read_records(unpack, record, at, n, record->size))
        return EK_OK;
    return unpack->no_memory ? ek__no_memory(err) : damaged(err);
}
