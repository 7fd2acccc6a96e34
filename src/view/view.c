/* Writes the document of a page: each run's parts in turn, a list at a time; and the page around it. It is written in
 * one pass. */
#include "view/view.h"
#include "evenkeel/evenkeel.h"
#include "report/report_internal.h"
#include "report/role_colors.h"
#include "view/shell.h"

static const struct {
    const char *name;
    const ek__view_part *part;
} parts[] = {
#define PART(name) {#name, &ek__view_part_##name},
    EK__VIEW_PART_LIST(PART)
#undef PART
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static ek_status write_timeline(const ek_view_run *run, bool served, ek__stream *s, ek_error *err)
{
    ek_status status = EK_OK;
    ek__view_timeline *timeline = NULL;
    for (int i = 0; i < N_PARTS && !timeline && !status; i++)
        if (parts[i].part->timeline && parts[i].part->present(run))
            status = parts[i].part->timeline(run, served, &timeline, err);
    if (status)
        return status;
    if (!timeline)
        ek__stream_null(s, "timeline");
    else if (!ek__timeline_write(timeline, s))
        status = ek__no_memory(err);
    ek__timeline_free(timeline);
    return status;
}

static ek_status write_run(const ek_view_run *run, bool served, ek__stream *s, ek_error *err)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "name", run->name);
    ek__stream_list(s, "kinds", false);
    for (int i = 0; i < N_PARTS; i++)
        if (parts[i].part->present(run))
            ek__stream_text(s, NULL, parts[i].name);
    ek__stream_end(s);
    ek__stream_list(s, "facts", false);
    for (int i = 0; i < N_PARTS; i++)
        if (parts[i].part->facts && parts[i].part->present(run))
            parts[i].part->facts(run, s);
    ek__stream_end(s);
    ek__stream_list(s, "notes", false);
    if (run->note)
        ek__stream_text(s, NULL, run->note);
    for (int i = 0; i < N_PARTS; i++)
        if (parts[i].part->notes && parts[i].part->present(run))
            parts[i].part->notes(run, s);
    ek__stream_end(s);
    ek_status status = write_timeline(run, served, s, err);
    if (status)
        return status;
    ek__stream_list(s, "sections", false);
    for (int i = 0; i < N_PARTS && !status; i++)
        if (parts[i].part->sections && parts[i].part->present(run))
            status = parts[i].part->sections(run, s, err);
    ek__stream_end(s);
    ek__stream_end(s);
    return status;
}

static ek_status write_document(const ek_view *view, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out, .in_page = true};
    ek_status status = EK_OK;
    ek__stream_object(&s, NULL, false);
    ek__stream_text(&s, "format", "evenkeel view");
    ek__stream_int(&s, "version", 1);
    ek__stream_text(&s, "tool", EK_VERSION);
    ek__stream_text(&s, "title", view->title);
    if (view->lang)
        ek__stream_text(&s, "lang", view->lang);
    ek__stream_bool(&s, "served", view->served);
    ek__stream_list(&s, "types", false);
    for (int i = 0; i < EK_N_VIEW_TYPES; i++)
        ek__stream_text(&s, NULL, ek_view_type_name[i]);
    ek__stream_end(&s);
    ek__stream_list(&s, "colors", false);
    for (int i = 0; i < EK_N_VIEW_TYPES; i++) {
        ek__stream_list(&s, NULL, false);
        ek__stream_real(&s, NULL, ek__role_color[i].lightness);
        ek__stream_real(&s, NULL, ek__role_color[i].chroma);
        ek__stream_real(&s, NULL, ek__role_color[i].hue);
        ek__stream_end(&s);
    }
    ek__stream_end(&s);
    ek__stream_list(&s, "runs", false);
    for (int i = 0; i < view->n_runs && !status; i++)
        status = write_run(&view->run[i], view->served, &s, err);
    ek__stream_end(&s);
    ek__stream_end(&s);
    return status;
}

ek_status ek__view_write_json(const ek_view *view, FILE *out, ek_error *err)
{
    ek_status status = write_document(view, out, err);
    return status ? status : ek__finish(out, err);
}

ek_status ek__view_write_html(const ek_view *view, FILE *out, ek_error *err)
{
    size_t n_before, n_after;
    const char *before = ek__view_shell_before(&n_before), *after = ek__view_shell_after(&n_after);
    if (ek__view_page_size == 0)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "this build has no viewer's page: request text, JSON or a picture instead, or build with -Dpage=enabled");
    fwrite(before, 1, n_before, out);
    ek_status status = write_document(view, out, err);
    if (status)
        return status;
    fwrite(after, 1, n_after, out);
    return ek__finish(out, err);
}
