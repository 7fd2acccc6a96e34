/* What stands beside the best layouts, for scripts (docs/plan-json.md). What was not asked for is null. */
#include <math.h>

#include "evenkeel/calibrate.h"
#include "evenkeel/layout_advice.h"
#include "report/layout_internal.h"

static void put_difference(ek__stream *s, const ek_layout_difference *d)
{
    ek__stream_object(s, "difference", false);
    ek__stream_real(s, "seconds", d->seconds);
    ek__stream_real(s, "share", d->share);
    ek__stream_object(s, "parts", false);
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        ek__stream_real(s, ek_step_part_name[i], d->part[i]);
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_explanation(ek__stream *s, const ek_layout_explanation *e)
{
    if (!e) {
        ek__stream_null(s, "explain");
        return;
    }
    ek__stream_object(s, "explain", true);
    ek__stream_text(s, "verdict", ek_layout_verdict_name[e->verdict]);
    ek__stream_text(s, "words", e->words);
    ek__stream_text(s, "why", e->why[0] ? e->why : NULL);
    ek__stream_bool(s, "proved", e->proved);
    if (e->has_difference)
        put_difference(s, &e->difference);
    else
        ek__stream_null(s, "difference");
    if (e->verdict == EK_VERDICT_PLAN)
        ek__layout_put_plan(s, "plan", &e->plan, NULL);
    else
        ek__stream_null(s, "plan");
    ek__stream_fixed(s, "least_peak_mb", e->verdict == EK_VERDICT_MEMORY ? e->least_mb : (double)NAN, 3);
    ek__stream_end(s);
}

static void put_thumb(ek__stream *s, const ek_layout_thumb *t)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "name", t->name);
    ek__stream_text(s, "rule", t->text);
    ek__stream_text(s, "source", t->source);
    ek__stream_bool(s, "applies", t->applies);
    ek__stream_bool(s, "fits", t->found);
    if (t->layout.value[EK_AXIS_DATA] > 0)
        ek__layout_put_degrees(s, &t->layout);
    ek__stream_real(s, "step_time_s", t->found ? t->plan.estimate.step.seconds : (double)NAN);
    ek__stream_real(s, "longer", t->found && t->has_difference ? t->difference.share : (double)NAN);
    ek__stream_end(s);
}

static void put_thumbs(ek__stream *s, const ek_layout_thumb *thumb)
{
    if (!thumb) {
        ek__stream_null(s, "thumbs");
        return;
    }
    ek__stream_list(s, "thumbs", true);
    for (int i = 0; i < EK_N_LAYOUT_THUMBS; i++)
        put_thumb(s, &thumb[i]);
    ek__stream_end(s);
}

static void put_trials(ek__stream *s, const ek_layout_report *report)
{
    const ek_layout_trials *trials = report->trials;
    if (!trials) {
        ek__stream_null(s, "trials");
        return;
    }
    ek__stream_object(s, "trials", true);
    ek__stream_real(s, "loss", trials->loss);
    ek__stream_list(s, "runs", true);
    for (int i = 0; i < trials->n; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "plan", trials->trial[i].plan);
        ek__stream_real(s, "error", trials->trial[i].error);
        ek__stream_real(s, "chance", trials->trial[i].chance);
        ek__stream_real(s, "loss", trials->trial[i].loss);
        ek__stream_text(s, "file", report->trial_file ? report->trial_file[i] : NULL);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_tries(ek__stream *s, const ek_layout_tries *tries)
{
    if (!tries) {
        ek__stream_null(s, "tried");
        return;
    }
    ek__stream_object(s, "tried", true);
    ek__stream_text(s, "take", tries->taken < 0 ? "plan" : "run");
    ek__stream_list(s, "runs", true);
    for (int i = 0; i < tries->n; i++) {
        const ek_measured_run *run = tries->run[i].run;
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", run->name);
        ek__stream_text(s, "file", run->job.path);
        ek__stream_real(s, "measured_s", run->step_seconds);
        ek__stream_real(s, "predicted_s", tries->run[i].predicted);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_int(s, "others", tries->n_others);
    ek__stream_end(s);
}

static void put_way(ek__stream *s, const ek_layout_way *way)
{
    if (!way) {
        ek__stream_null(s, "way");
        return;
    }
    ek__stream_list(s, "way", true);
    for (int i = 0; i < way->n; i++) {
        const ek_layout_way_step *step = &way->step[i];
        double before = i > 0 ? step[-1].seconds : way->seconds;
        ek__stream_object(s, NULL, false);
        ek__stream_list(s, "changes", false);
        for (int m = 0; m < EK_N_LAYOUT_METHODS; m++)
            if (step->methods >> m & 1)
                ek__stream_text(s, NULL, ek_layout_method_name[m]);
        ek__stream_end(s);
        ek__stream_real(s, "step_time_s", step->seconds);
        ek__stream_real(s, "shorter", 1 - step->seconds / before);
        ek__stream_fixed(s, "peak_mb", step->peak_mb, 3);
        ek__stream_bool(s, "fits", step->fits);
        ek__stream_text(s, "settings", step->settings[0] ? step->settings : NULL);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

void ek__layout_put_advice(ek__stream *s, const ek_layout_report *report)
{
    put_explanation(s, report->explanation);
    put_way(s, report->way);
    put_thumbs(s, report->thumb);
    put_trials(s, report);
    put_tries(s, report->tries);
}
