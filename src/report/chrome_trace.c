/* Writes one case as a Chrome trace (Trace Event Format, JSON): a thread per stage with its blocks, arrows for
 * transfers between stages, and one memory counter per stage. Written as a stream, so memory is constant; an arrow's
 * number is computed from its sender, so that both ends agree without a table. The input's unit is assumed to be
 * milliseconds. */
#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "evenkeel/cases.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { PIPELINE_PID = 1, MEMORY_PID = 2 };

static const double MICROSECONDS = 1000;

static ek__digits time_of(double t)
{
    return ek__fixed(t * MICROSECONDS, 3);
}

static void json_string(const char *text, FILE *out)
{
    int length;
    fputc('"', out);
    for (uint32_t code; (length = ek__utf8_next(text, &code)); text += length) {
        if (code == '"' || code == '\\')
            fprintf(out, "\\%c", (int)code);
        else if (code < 0x20)
            fprintf(out, "\\u%04x", (unsigned)code);
        else
            ek__utf8_print(code, out);
    }
    fputc('"', out);
}

static void metadata(const char *what, int pid, int tid, const char *key, const char *value, FILE *out)
{
    fprintf(out, ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"%s\":%s}}", pid, tid, what, key,
            value);
}

static void write_names(const ek_shape *shape, const char *unit, FILE *out)
{
    char memory[64];
    snprintf(memory, sizeof memory, "\"memory (%s)\"", unit);
    fprintf(out, "{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"pipeline\"}}",
            PIPELINE_PID);
    metadata("process_name", MEMORY_PID, 0, "name", memory, out);
    metadata("process_sort_index", PIPELINE_PID, 0, "sort_index", "1", out);
    metadata("process_sort_index", MEMORY_PID, 0, "sort_index", "2", out);
    for (int s = 0; s < shape->n_stages; s++) {
        char value[32];
        snprintf(value, sizeof value, "\"stage %d\"", s);
        metadata("thread_name", PIPELINE_PID, s, "name", value, out);
        snprintf(value, sizeof value, "%d", s);
        metadata("thread_sort_index", PIPELINE_PID, s, "sort_index", value, out);
    }
}

/* Stage of a model position for the micro-batches of a block of `chunk`; -1 outside the model. */
static int stage_of(const ek_timeline *t, int position, int chunk)
{
    int p = t->shape.n_stages;
    if (position < 0 || position >= p * t->shape.n_chunks)
        return -1;
    return ek_stage_at(t->schedule->placement, p, position, chunk);
}

/* The arrow's number for the send of the F or the B at a model position. */
static uint64_t flow_id(const ek_shape *shape, const ek_interval *b, int position)
{
    uint64_t n_positions = (uint64_t)shape->n_chunks * (uint64_t)shape->n_stages;
    return ((uint64_t)b->micro_batch * 2 + (b->kind == EK_BACKWARD)) * n_positions + (uint64_t)position;
}

static void flow(const char *phase, int stage, double at, const char *kind, uint64_t id, FILE *out)
{
    fprintf(out,
            ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"name\":\"%s\",\"cat\":\"send\",\"id\":%" PRIu64 "%s}",
            phase, PIPELINE_PID, stage, time_of(at).text, kind, id, phase[0] == 'f' ? ",\"bp\":\"e\"" : "");
}

static void write_block(const ek_timeline *t, const ek_interval *b, int stage, FILE *out)
{
    static const char *const letter[] = {"F", "B", "W"}, *const word[] = {"forward", "backward", "weight gradient"},
                             *const sent[] = {"activations", "gradients"};
    const ek_shape *shape = &t->shape;
    fprintf(out, ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s,\"name\":\"%s%s", PIPELINE_PID, stage,
            time_of(b->start).text, time_of(b->end - b->start).text, letter[b->kind],
            ek__micro_batch(shape, b->micro_batch).text);
    if (shape->n_chunks > 1 || t->schedule->placement == EK_PLACE_BOTH_WAYS)
        fprintf(out, " chunk%d", b->chunk);
    uint32_t k = (uint32_t)ek__shape_pieces(shape);
    fprintf(out, "\",\"cat\":\"%s\",\"args\":{\"stage\":%d,\"chunk\":%d,\"micro_batch\":%" PRIu32 ",", word[b->kind],
            stage, b->chunk, b->micro_batch / k);
    if (k > 1)
        fprintf(out, "\"piece\":%" PRIu32 ",", b->micro_batch % k);
    fprintf(out, "\"memory_mb\":%s}}", ek__fixed(b->memory_mb, 2).text);

    if (b->kind == EK_BACKWARD_WEIGHT)
        return; /* no block waits for it */
    int position = ek_position(t->schedule->placement, shape->n_stages, b->chunk, stage);
    int step = b->kind == EK_FORWARD ? 1 : -1;
    int receiver = stage_of(t, position + step, b->chunk), sender = stage_of(t, position - step, b->chunk);
    /* An arrow leaves from inside its block: a start at the very end would bind to the next block. */
    if (receiver >= 0 && receiver != stage)
        flow("s", stage, b->end - (b->end - b->start) / 1000, sent[b->kind], flow_id(shape, b, position), out);
    if (sender >= 0 && sender != stage)
        flow("f", stage, b->start, sent[b->kind], flow_id(shape, b, position - step), out);
}

static void counter(int stage, int digits, double at, double memory_mb, const char *unit, FILE *out)
{
    fprintf(out, ",\n{\"ph\":\"C\",\"pid\":%d,\"tid\":0,\"ts\":%s,\"name\":\"stage %0*d\",\"args\":{\"%s\":%s}}",
            MEMORY_PID, time_of(at).text, digits, stage, unit, ek__fixed(memory_mb, 2).text);
}

static void write_stage(const ek_timeline *timeline, int stage, int digits, const char *unit, FILE *out)
{
    double before = timeline->static_mb[stage];
    counter(stage, digits, 0, before, unit, out);
    for (size_t i = timeline->first[stage]; i < timeline->first[stage + 1]; i++) {
        write_block(timeline, &timeline->block[i], stage, out);
        const ek_interval *b = &timeline->block[i];
        if (b->during_mb > before) /* recomputed tensors are live while the block runs */
            counter(stage, digits, b->start, b->during_mb, unit, out);
        counter(stage, digits, b->end, b->memory_mb, unit, out);
        before = b->memory_mb;
    }
}

static void write_other(const ek_report *report, const ek_case *c, FILE *out)
{
    const ek_timeline *timeline = c->timeline;
    fputs("\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"model\":", out);
    json_string(report->layers->name, out);
    fputs(",\"case\":", out);
    json_string(c->name, out);
    fputs(",\"schedule\":", out);
    json_string(timeline->schedule->name, out);
    fprintf(out, ",\"stages\":%d,\"chunks\":%d,\"micro_batches\":%d", timeline->shape.n_stages,
            timeline->shape.n_chunks, ek__micro_batches(&timeline->shape));
    if (ek__shape_pieces(&timeline->shape) > 1)
        fprintf(out, ",\"seq\":%d", ek__shape_pieces(&timeline->shape));
    fprintf(out, ",\"step_time\":%s", ek__short(timeline->step_time).text);
    if (report->memory_limit_mb > 0 && !report->memory_unit)
        fprintf(out, ",\"memory_limit_mb\":%s", ek__short(report->memory_limit_mb).text);
    fputs(",\"unit\":", out);
    json_string(report->measured ? report->measured
                                 : "simulated, not measured; the unit of the input is taken as milliseconds",
                out);
    fputs("}}\n", out);
}

ek_status ek__chrome_trace_write(const ek_report *report, int case_index, FILE *out, ek_error *err)
{
    assert(case_index >= 0 && case_index < report->n_cases);
    const ek_case *c = &report->cases[case_index];
    int n_stages = c->timeline->shape.n_stages, digits = 1;
    for (int n = n_stages - 1; n >= 10; n /= 10)
        digits++;
    const char *unit = report->memory_unit ? report->memory_unit : "MB";
    ek_status status = ek__check_drawn(c->timeline, err);
    if (status)
        return status;
    fputs("{\"traceEvents\":[\n", out);
    write_names(&c->timeline->shape, unit, out);
    for (int s = 0; s < n_stages && !ferror(out); s++)
        write_stage(c->timeline, s, digits, unit, out);
    write_other(report, c, out);
    return ek__finish(out, err);
}
