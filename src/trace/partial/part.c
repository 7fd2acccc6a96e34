/* Writes and reads analysed ranks as bytes: a head with the version of the records and a checksum, the options of the
 * analysis, then the data of the whole run and each rank, packed and compressed one by one. */
#include "trace/partial/part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/print.h"
#include "evenkeel/evenkeel.h"
#include "trace/find/layout.h"
#include "trace/partial/check.h"
#include "trace/partial/derived.h"
#include "trace/partial/pack.h"

enum {
    MAGIC_SIZE = sizeof EK__PART_MAGIC - 1,
    HEAD_SIZE = MAGIC_SIZE + 16,
    MAX_RANKS = 1 << 24,
    MAX_SECTION = 1 << 30
};

/* ---- options ---- */

static bool add_texts(ek__pool *pool, const char *name, const char *const *text, int n, char **all)
{
    for (int i = 0; i < n && *all; i++)
        *all = ek__pool_format(pool, "%s --%s %s", *all, name, text[i]);
    return *all;
}

static bool add_whole(ek__pool *pool, const char *name, int value, char **all)
{
    if (value != 0)
        *all = ek__pool_format(pool, "%s --%s %d", *all, name, value);
    return *all;
}

const char *ek__part_options(const ek_trace_options *o, ek__pool *pool)
{
    char *all = ek__pool_format(pool, "%s", o->from_raw_events ? " --raw" : ""), share[64] = "";
    if (o->host_bound_share > 0)
        snprintf(share, sizeof share, " --host-bound-share %d ppm", (int)(o->host_bound_share * 1e6 + 0.5));
    bool fine = all && add_whole(pool, "drop-first", o->drop_first_steps < 0 ? 0 : o->drop_first_steps, &all);
    if (fine && o->drop_first_steps < 0)
        fine = (all = ek__pool_format(pool, "%s --drop-first 0", all)) != NULL;
    fine = fine && add_whole(pool, "mb", o->n_micro_batches, &all) &&
           add_texts(pool, "head", o->head, o->n_head, &all) && add_texts(pool, "body", o->body, o->n_body, &all) &&
           add_texts(pool, "tail", o->tail, o->n_tail, &all) &&
           add_texts(pool, "receive", o->receive, o->n_receives, &all) &&
           add_texts(pool, "collective", o->collective, o->n_collectives, &all) &&
           (all = ek__pool_format(pool, "%s%s", all, share)) != NULL;
    return fine ? all + (*all == ' ') : NULL;
}

/* ---- writing ---- */

static void set_fixed(unsigned char *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t fixed_at(const unsigned char *at, int n)
{
    uint64_t value = 0;
    for (int i = n; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* One after the other, packed together. */
typedef struct packable {
    const ek__record_type *type;
    void *at;
} packable;

static ek_status add_section(ek__column_bytes *all, const packable *record, int n_records, ek_error *err)
{
    ek__records_out pack;
    size_t size = 0;
    ek_status status = ek__records_begin(&pack, err);
    for (int i = 0; i < n_records && !status; i++)
        status = ek__records_add(&pack, record[i].type, record[i].at, 1, err);
    unsigned char *bytes = status ? NULL : ek__records_end(&pack, &size);
    ek__records_clear(&pack);
    uLongf n = compressBound((uLong)size);
    unsigned char *packed = bytes ? malloc(n) : NULL;
    if (!status && (!packed || size > MAX_SECTION || compress2(packed, &n, bytes, (uLong)size, 6) != Z_OK))
        status = ek__no_memory(err);
    if (!status) {
        ek__buffer_add_number(all, (int64_t)size);
        ek__buffer_add_number(all, (int64_t)n);
        ek__buffer_add(all, packed, n);
    }
    free(bytes);
    free(packed);
    return status;
}

static ek_status add_rank(ek__column_bytes *all, const ek_trace_rank *rank, ek_error *err)
{
    ek_trace_rank less = *rank;
    ek__derived derived;
    ek_status status = ek__derived_take(&less, &derived, err);
    const packable records[] = {{&ek__record_rank, &less}, {&ek__record_derived, &derived}};
    if (!status)
        status = add_section(all, records, 2, err);
    ek__derived_clear(&derived);
    return status;
}

static void add_text(ek__column_bytes *all, const char *text)
{
    ek__buffer_add_number(all, (int64_t)strlen(text));
    ek__buffer_add(all, text, strlen(text));
}

ek_status ek__part_write(const ek_trace_run *run, const char *options, unsigned char **out, size_t *size, ek_error *err)
{
    ek__column_bytes all = {0};
    unsigned char head[HEAD_SIZE] = EK__PART_MAGIC;
    ek__buffer_add(&all, head, sizeof head);
    add_text(&all, EK_VERSION);
    add_text(&all, options);
    ek__buffer_add_number(&all, run->n_ranks);
    ek_trace_run common = *run;
    const packable of_run = {&ek__record_run, &common};
    ek_status status = add_section(&all, &of_run, 1, err);
    for (int i = 0; i < run->n_ranks && !status; i++)
        status = add_rank(&all, &run->rank[i], err);
    if (!status && all.no_memory)
        status = ek__no_memory(err);
    if (status) {
        free(all.at);
        return status;
    }
    set_fixed(all.at + MAGIC_SIZE, ek__records_number(), 4);
    set_fixed(all.at + MAGIC_SIZE + 4, all.n, 8);
    set_fixed(all.at + MAGIC_SIZE + 12, crc32_z(0, all.at + HEAD_SIZE, all.n - HEAD_SIZE), 4);
    *out = all.at;
    *size = all.n;
    return EK_OK;
}

/* ---- reading ---- */

static ek_status wrong(const char *name, ek_error *err, const char *what)
{
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, 0, 0}), "%s", what);
}

static char *text_of(ek__cursor *in, ek__pool *pool)
{
    int64_t n = ek__cursor_number(in);
    if (in->wrong || n < 0 || n > in->end - in->at)
        return NULL;
    char *text = ek__pool_text(pool, (const char *)in->at, (size_t)n);
    in->at += n;
    return text;
}

static ek_status check_head(const unsigned char *bytes, size_t size, const char *name, ek_error *err)
{
    if (size < HEAD_SIZE || memcmp(bytes, EK__PART_MAGIC, MAGIC_SIZE) != 0)
        return wrong(name, err, "is no partial result of `evenkeel trace --partial`");
    uint64_t told = fixed_at(bytes + MAGIC_SIZE + 4, 8);
    if (told != size)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, 0, 0}), "is %s: it has %zu of %llu bytes; copy it again",
                        size < told ? "cut" : "too long", size, (unsigned long long)told);
    if (crc32_z(0, bytes + HEAD_SIZE, size - HEAD_SIZE) != fixed_at(bytes + MAGIC_SIZE + 12, 4))
        return wrong(name, err, "is damaged: its checksum does not match; copy it again");
    return EK_OK;
}

static ek_status read_section(ek__cursor *in, const packable *record, int n_records, ek__pool *pool, const char *name,
                              ek_error *err)
{
    static const char what[] = "its records differ from the written ones, although the checksum is right";
    int64_t size = ek__cursor_number(in), packed = ek__cursor_number(in);
    /* zlib compresses by at most 1 to 1032. */
    if (in->wrong || packed < 0 || packed > in->end - in->at || size < 0 || size > MAX_SECTION || size / 1100 > packed)
        return wrong(name, err, what);
    unsigned char *bytes = malloc((size_t)size + 1);
    if (!bytes)
        return ek__no_memory(err);
    uLongf n = (uLongf)size;
    int inflated = uncompress(bytes, &n, in->at, (uLong)packed);
    in->at += packed;
    ek__records_in unpack;
    ek_status status = inflated == Z_MEM_ERROR ? ek__no_memory(err)
                       : inflated != Z_OK || n != (uLongf)size
                           ? wrong(name, err, what)
                           : ek__records_open(&unpack, bytes, (size_t)size, pool, err);
    for (int i = 0; i < n_records && !status; i++)
        status = ek__records_read(&unpack, record[i].type, record[i].at, 1, err);
    free(bytes);
    return status == EK_ERR_INPUT ? wrong(name, err, what) : status;
}

static ek_status read_ranks(ek__cursor *in, int64_t n, const char *name, ek_trace_run *run, ek_error *err)
{
    run->rank = ek__pool_alloc(run->pool, (size_t)n, sizeof *run->rank);
    if (!run->rank)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    for (int64_t i = 0; i < n && !status; i++) {
        ek_trace_rank *rank = &run->rank[i];
        rank->pool = ek__pool_new();
        run->n_ranks++;
        if (!rank->pool)
            return ek__no_memory(err);
        ek__derived derived = {0};
        const packable records[] = {{&ek__record_rank, rank}, {&ek__record_derived, &derived}};
        status = read_section(in, records, 2, rank->pool, name, err);
        if (!status)
            status = ek__derived_put(&derived, rank, err);
        if (!status && !ek__rank_is_whole(rank))
            status = wrong(name, err,
                           "a rank in it refers to records that it does not contain, although the checksum is right");
    }
    return status;
}

/* After the head. */
static ek_status read_body(ek__cursor *in, uint64_t number, const char *name, ek__trace_part *out, ek_error *err)
{
    ek__pool *pool = out->run.pool;
    const char *version = text_of(in, pool);
    out->options = text_of(in, pool);
    int64_t n = ek__cursor_number(in);
    if (!version || !out->options || in->wrong || n < 0 || n > MAX_RANKS || n > in->end - in->at)
        return wrong(name, err, "its head differs from the written one, although the checksum is right");
    if (number != ek__records_number())
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, 0, 0}),
                        "was written by another evenkeel (version %s, this is %s) with other records; write it again "
                        "with this program",
                        version, EK_VERSION);
    const packable of_run = {&ek__record_run, &out->run};
    ek_status status = read_section(in, &of_run, 1, pool, name, err);
    return status ? status : read_ranks(in, n, name, &out->run, err);
}

ek_status ek__part_read(const unsigned char *bytes, size_t size, const char *name, ek__trace_part *out, ek_error *err)
{
    ek_status status = check_head(bytes, size, name, err);
    if (status)
        return status;
    ek__trace_part part = {.run = {.pool = ek__pool_new()}};
    if (!part.run.pool)
        return ek__no_memory(err);
    ek__cursor in = {bytes + HEAD_SIZE, bytes + size, false};
    status = read_body(&in, fixed_at(bytes + MAGIC_SIZE, 4), name, &part, err);
    if (status) {
        ek_trace_run_clear(&part.run);
        return status;
    }
    *out = part;
    return EK_OK;
}
