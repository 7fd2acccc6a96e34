/* A diagnosis as JSON by docs/diagnose.md: every field of ek_diagnosis under its own name, seconds and shares as
 * numbers with 15 digits, null for what is not known. */
#include <math.h>

#include "base/json_stream.h"
#include "evenkeel/diagnose.h"
#include "report/report_internal.h"

enum { VERSION = 1 };

static void put_evidence(ek__stream *s, const ek_bottleneck *b)
{
    ek__stream_list(s, "evidence", true);
    for (int i = 0; i < b->n_evidence && i < EK_MAX_EVIDENCE; i++) {
        const ek_evidence *e = &b->evidence[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "text", e->text);
        ek__stream_text(s, "file", e->file);
        ek__stream_text(s, "step", e->step);
        ek__stream_from(s, "rank", e->rank, 0);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_bottleneck(ek__stream *s, const ek_bottleneck *b)
{
    ek__stream_object(s, NULL, true);
    ek__stream_text(s, "id", b->id);
    ek__stream_text(s, "topic", ek_topic_name[b->topic]);
    ek__stream_text(s, "title", b->title);
    put_evidence(s, b);
    ek__stream_real(s, "cost_seconds", b->cost_seconds);
    ek__stream_real(s, "share", b->share);
    ek__stream_text(s, "setting", b->setting);
    ek__stream_text(s, "change", b->change);
    ek__stream_real(s, "gain_seconds", b->gain_seconds);
    ek__stream_real(s, "gain_share", b->gain_share);
    ek__stream_text(s, "basis", ek_basis_name[b->basis]);
    ek__stream_text(s, "rests_on", b->rests_on);
    ek__stream_text(s, "caution", b->caution);
    ek__stream_fixed(s, "peak_mb", b->peak_mb > 0 ? b->peak_mb : NAN, 0);
    ek__stream_end(s);
}

static void put_not_looked_at(ek__stream *s, const ek_diagnosis *d)
{
    ek__stream_list(s, "not_looked_at", true);
    for (int i = 0; i < d->n_not_looked_at; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "what", d->not_looked_at[i].what);
        ek__stream_text(s, "needs", d->not_looked_at[i].needs);
        ek__stream_text(s, "how", d->not_looked_at[i].how);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

ek_status ek_diagnosis_write_json(const ek_diagnosis *diagnosis, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", VERSION);
    ek__stream_real(&s, "step_seconds", diagnosis->step_seconds);
    ek__stream_text(&s, "step_source", diagnosis->step_source);
    ek__stream_list(&s, "bottlenecks", true);
    for (int i = 0; i < diagnosis->n_bottlenecks; i++)
        put_bottleneck(&s, &diagnosis->bottleneck[i]);
    ek__stream_end(&s);
    put_not_looked_at(&s, diagnosis);
    ek__stream_list(&s, "notes", true);
    for (int i = 0; i < diagnosis->n_notes; i++)
        ek__stream_text(&s, NULL, diagnosis->note[i]);
    ek__stream_end(&s);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
