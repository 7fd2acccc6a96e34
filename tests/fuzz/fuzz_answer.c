/* Fuzzes answers of the server: an address, without its slashes and token, requested from the index of a small trace.
 * Whatever the bytes, there is a reply, which is JSON where its type is JSON, or a message for the client. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/trace_index.h"
#include "fuzz.h"
#include "serve/answer.h"

#define EK__ANSWER_ADDRESS(file) &ek__answer_##file,
static const ek__answer *const answers[] = {EK__ANSWER_LIST(EK__ANSWER_ADDRESS)};
#undef EK__ANSWER_ADDRESS
enum { N_ANSWERS = sizeof answers / sizeof *answers, N_EVENTS = 300 };

/* Events in three threads, one of them nested; flows, counters, marks and an event that is invalid JSON. */
static void print_trace(FILE *out)
{
    fprintf(out, "{\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": "
                 "{\"name\": \"host\"}}");
    for (int i = 0; i < N_EVENTS; i++) {
        fprintf(out,
                ",\n{\"ph\": \"X\", \"name\": \"operator%d\", \"pid\": 1, \"tid\": %d, \"ts\": %d, \"dur\": %d, "
                "\"cat\": \"%s\", \"args\": {\"size\": %d, \"list\": [1, NaN]}}",
                i % 17, i % 3, 10 * i, i % 3 ? 8 : 25, i % 2 ? "kernel" : "cpu_op", i);
        if (i % 10 == 0)
            fprintf(out,
                    ",\n{\"ph\": \"%s\", \"name\": \"flow\", \"cat\": \"ac2g\", \"id\": %d, \"pid\": 1, \"tid\": %d, "
                    "\"ts\": %d, \"bp\": \"e\"}",
                    i % 20 ? "f" : "s", i / 20, i % 3, 10 * i + 1);
        if (i % 5 == 0)
            fprintf(out, ",\n{\"ph\": \"C\", \"name\": \"memory\", \"pid\": 1, \"ts\": %d, \"args\": {\"MB\": %d.5}}",
                    10 * i, i % 37);
    }
    fprintf(out, ",\n{\"ph\": \"i\", \"name\": \"a\\xff\\u0001\", \"pid\": 1, \"tid\": 0, \"ts\": 40}]}\n");
}

static ek__serving s;
static char trace_path[64];

static void remove_files(void)
{
    ek_trace_index_close(s.index);
    ek__searches_free(s.searches);
    ek__summings_free(s.summings);
    unlink(trace_path);
}

/* Made once: only the request is the input. The trace exists as long as the index, since details of events are read
 * from it. */
static const ek__serving *serving(void)
{
    static const ek_serve_options serve_options = {.title = "title", .name = "name"};
    static const char timeline[] = "{}";
    if (s.index)
        return &s;
    const char *given = trace_path;
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    const ek_trace_index_options options = {.folder = folder, .temporary = true, .n_threads = 1};
    snprintf(trace_path, sizeof trace_path, "%s/fuzz_answer_%d.json", folder, (int)getpid());
    FILE *out = fopen(trace_path, "w");
    assert(out);
    print_trace(out);
    assert(fclose(out) == 0);
    assert(ek_trace_index_open(&given, 1, &options, NULL, &s.index, NULL, NULL) == EK_OK);
    s.options = &serve_options;
    s.timeline = s.unfinished = timeline;
    s.timeline_size = s.unfinished_size = sizeof timeline - 1;
    s.searches = ek__searches_new();
    s.summings = ek__summings_new();
    assert(s.searches && s.summings && atexit(remove_files) == 0);
    return &s;
}

static const ek__answer *find(const char *name, size_t size)
{
    for (int i = 0; i < N_ANSWERS; i++)
        if (strlen(answers[i]->name) == size && memcmp(answers[i]->name, name, size) == 0)
            return answers[i];
    return NULL;
}

static void check_reply(const ek__reply *reply)
{
    const char *text = reply->text ? reply->text : reply->borrowed;
    assert((reply->status == 200 || reply->status == 202) && reply->type && (text || reply->size == 0));
    if (strcmp(reply->type, "application/json") == 0) {
        json_t *root = json_loadb(text, reply->size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert(root);
        json_decref(root);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ek__request request;
    char *text = fuzz_text(data, size);
    const char *mark = memchr(text, '?', size), *query = mark ? mark + 1 : text + size;
    const ek__answer *answer = find(text, mark ? (size_t)(mark - text) : size);
    ek_error err = {0};
    ek__reply reply = {0};
    if (answer) {
        ek_status status =
            ek__request_read(query, (size_t)(text + size - query), answer->needs, answer->takes, &request, &err);
        if (status == EK_OK)
            status = answer->make(serving(), &request, &reply, &err);
        assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0]));
        if (status == EK_OK)
            check_reply(&reply);
        free(reply.text);
    }
    free(text);
    return 0;
}
