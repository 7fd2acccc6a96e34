/* Fuzzes a member of a JSON object copied without a tree: the copy is the member's value as another reader of JSON
 * finds it, on one line, and copying it again changes nothing. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_compact.h"
#include "fuzz.h"

/* No control character anywhere, no white space outside texts. */
static void check_line(const ek__json_text *line)
{
    bool inside = false;
    for (size_t i = 0; i < line->n; i++) {
        unsigned char c = (unsigned char)line->at[i];
        assert(c >= 0x20 && (inside || c != ' '));
        if (c == '\\')
            i++; /* within a text only, where something follows */
        else if (c == '"')
            inside = !inside;
    }
    assert(!inside);
}

/* The other reader takes numbers within a double's range, and UTF-8, only. */
static void check_value(const uint8_t *data, size_t size, const ek__json_text *line, bool found)
{
    const size_t flags = JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL;
    json_t *root = json_loadb((const char *)data, size, flags, NULL);
    const json_t *there = json_object_get(root, "args");
    if (json_is_object(root))
        assert(!!there == found);
    if (json_is_object(root) && found) {
        json_t *copied = json_loadb(line->at, line->n, flags | JSON_DECODE_ANY, NULL);
        assert(copied && json_equal(copied, there));
        json_decref(copied);
    }
    json_decref(root);
}

static void check_again(const ek__json_text *line)
{
    static const char before[] = "{\"args\":";
    ek__json_text object = {0}, again = {0};
    bool found;
    ek__json_add(&object, before, sizeof before - 1);
    ek__json_add(&object, line->at, line->n);
    ek__json_add(&object, "}", 1);
    assert(ek__json_compact(object.at, object.n, "args", &again, &found) && found);
    assert(again.n == line->n && memcmp(again.at, line->at, line->n) == 0);
    free(object.at);
    free(again.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek__json_text line = {0};
    bool found = false;
    char *text = fuzz_text(data, size);
    bool sound = ek__json_compact(text, size, "args", &line, &found);
    assert(!line.out_of_memory && (sound || line.n == 0) && (found || line.n == 0));
    if (sound)
        check_value(data, size, &line, found);
    if (sound && found) {
        assert(line.n > 0);
        check_line(&line);
        check_again(&line);
    }
    free(line.at);
    free(text);
    return 0;
}
