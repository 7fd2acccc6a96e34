/* Writes rows of a database: values of JSON, cells of tables, events of a Chrome trace as profilers write them.
 * trace/scan and trace/text read the text again, so nothing is rounded: times are whole nanoseconds in three decimals
 * of a microsecond, numbers have seventeen digits. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "trace/database/rows.h"

/* Room for this many bytes more; NULL when memory is out. */
static char *room_for(ek__database *d, size_t size)
{
    char *text = ek__with_room(d->text, &d->text_capacity, d->n_text + size + 1, 1);
    if (!text) {
        d->out_of_memory = true;
        return NULL;
    }
    d->text = text;
    return text + d->n_text;
}

void ek__put_bytes(ek__database *database, const char *text, size_t size)
{
    char *to = room_for(database, size);
    if (!to)
        return;
    memcpy(to, text, size);
    database->n_text += size;
}

void ek__put(ek__database *database, const char *text)
{
    ek__put_bytes(database, text, strlen(text));
}

void ek__put_int(ek__database *database, int64_t value)
{
    char digits[24];
    ek__put_bytes(database, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, value));
}

void ek__put_number(ek__database *database, double value)
{
    char digits[40];
    if (isfinite(value))
        ek__put_bytes(database, digits, (size_t)ek__snprintf(digits, sizeof digits, "%.17g", value));
}

void ek__put_us(ek__database *database, int64_t ns)
{
    ek__put(database, ek__exact_us(ns).text);
}

static size_t cut(size_t size)
{
    return size < EK__DATABASE_MAX_TEXT ? size : EK__DATABASE_MAX_TEXT;
}

void ek__put_json(ek__database *database, const char *text, size_t size)
{
    size = cut(size);
    char *to = room_for(database, 6 * size + 2), *from = to;
    if (!to)
        return;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ') {
            to += snprintf(to, 7, "\\u%04x", c);
            continue;
        }
        if (c == '"' || c == '\\')
            *to++ = '\\';
        *to++ = (char)c;
    }
    *to++ = '"';
    database->n_text += (size_t)(to - from);
}

/* Quotes around shapes ("32,3") are part of the value in the profilers' tables; the reader of these cuts them. */
void ek__put_cell(ek__database *database, const char *text, size_t size)
{
    size = cut(size);
    char *to = room_for(database, 2 * size + 2), *from = to;
    if (!to)
        return;
    *to++ = '"';
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            *to++ = '"';
        *to++ = text[i] ? text[i] : '?';
    }
    *to++ = '"';
    database->n_text += (size_t)(to - from);
}

void ek__put_separator(ek__database *database)
{
    if (database->separated)
        ek__put(database, ",\n");
    database->separated = true;
}

void ek__put_first(ek__database *database)
{
    database->separated = false;
}

/* ---- events ---- */

bool ek__database_is_new(ek__database *database, int kind, int64_t a, int64_t b)
{
    const int64_t key[3] = {kind, a, b};
    ek__texts *seen = &database->seen;
    if (seen->n_slots == 0 && !ek__texts_reset(seen))
        database->out_of_memory = true;
    if (database->out_of_memory)
        return false;
    uint32_t n = seen->n, number = ek__texts_intern(seen, (const char *)key, sizeof key);
    database->out_of_memory |= number == UINT32_MAX;
    return number == n;
}

static void put_member(ek__database *d, const char *key, int64_t value)
{
    ek__put(d, key);
    ek__put_int(d, value);
}

static void put_label(ek__database *d, const char *what, ek__database_thread thread, const char *name)
{
    ek__put_separator(d);
    ek__put(d, "{\"ph\": \"M\", \"name\": \"");
    ek__put(d, what);
    put_member(d, "\", \"pid\": ", thread.pid);
    put_member(d, ", \"tid\": ", thread.tid);
    ek__put(d, ", \"args\": {\"name\": ");
    ek__put_json(d, name, strlen(name));
    ek__put(d, "}}");
}

void ek__put_process(ek__database *database, int64_t pid, const char *name)
{
    put_label(database, "process_name", (ek__database_thread){pid, 0}, name);
}

void ek__put_thread(ek__database *database, ek__database_thread thread, const char *name)
{
    put_label(database, "thread_name", thread, name);
}

void ek__put_event(ek__database *database, const char *name, size_t size, const char *category,
                   ek__database_thread thread, const int64_t *start, const int64_t *end)
{
    int64_t duration;
    ek__put_separator(database);
    ek__put(database, "{\"ph\": \"X\", \"name\": ");
    ek__put_json(database, name, size);
    put_member(database, ", \"pid\": ", thread.pid);
    put_member(database, ", \"tid\": ", thread.tid);
    if (start && end && !__builtin_sub_overflow(*end, *start, &duration)) {
        ek__put(database, ", \"ts\": \"");
        ek__put_us(database, *start);
        ek__put(database, "\", \"dur\": ");
        ek__put_us(database, duration);
    }
    if (category) {
        ek__put(database, ", \"cat\": \"");
        ek__put(database, category);
        ek__put(database, "\"");
    }
    ek__put(database, ", \"args\": {");
    ek__put_first(database);
}

static void put_key(ek__database *d, const char *key)
{
    if (d->separated)
        ek__put(d, ", ");
    d->separated = true;
    ek__put(d, "\"");
    ek__put(d, key);
    ek__put(d, "\": ");
}

void ek__put_argument(ek__database *database, const char *key, const char *text, size_t size)
{
    if (!text)
        return;
    put_key(database, key);
    ek__put_json(database, text, size);
}

void ek__put_argument_int(ek__database *database, const char *key, int64_t value)
{
    put_key(database, key);
    ek__put_int(database, value);
}

void ek__put_event_end(ek__database *database)
{
    ek__put(database, "}}");
    database->separated = true;
}

void ek__put_flow(ek__database *database, char phase, const char *name, const char *category, int64_t id,
                  ek__database_thread thread, int64_t time)
{
    const char text[2] = {phase, '\0'};
    ek__put_separator(database);
    ek__put(database, "{\"ph\": \"");
    ek__put(database, text);
    ek__put(database, "\", \"name\": \"");
    ek__put(database, name);
    put_member(database, "\", \"id\": ", id);
    put_member(database, ", \"pid\": ", thread.pid);
    put_member(database, ", \"tid\": ", thread.tid);
    ek__put(database, ", \"ts\": \"");
    ek__put_us(database, time);
    ek__put(database, "\", \"cat\": \"");
    ek__put(database, category);
    ek__put(database, phase == 'f' ? "\", \"bp\": \"e\"}" : "\"}");
}
