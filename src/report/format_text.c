/* Prints plans for people: the original tool's block to the letter, then the additional figures - step time and its
 * basis, a table per stage, the memory model and its fit, and a comparison of several plans. Plain columns that survive
 * a pipe; colour only marks verdicts and headings. */
#include <math.h>
#include <string.h>

#include "evenkeel/cases.h"
#include "report/plot_internal.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { CHUNKS_SIZE = EK_MAX_CHUNKS * 6 + 16, KINDS_SIZE = 96 };

static const char BOLD[] = "1", GOOD[] = "32", BAD[] = "31", DOUBT[] = "33";

static void open_color(const ek_report *report, const char *color, FILE *out)
{
    if (report->color)
        fprintf(out, "\033[%sm", color);
}

static void close_color(const ek_report *report, FILE *out)
{
    if (report->color)
        fputs("\033[0m", out);
}

static void heading(const ek_report *report, const char *text, FILE *out)
{
    open_color(report, BOLD, out);
    fputs(text, out);
    close_color(report, out);
    fputc('\n', out);
}

static void spaces(int n, FILE *out)
{
    for (; n > 0; n--)
        fputc(' ', out);
}

/* Centred in 11 columns, the odd space on the right, as Python's '^' does. */
static void centred(const char *text, FILE *out)
{
    int room = 11 - (int)strlen(text);
    spaces(room / 2, out);
    fputs(text, out);
    spaces(room - room / 2, out);
}

static void bubble_block(const ek_timeline *timeline, FILE *out)
{
    const ek_bubble *b = &timeline->bubble;
    fprintf(out, "————————————— pp:%2d, vp:%2d, micro:%3d ————————————\n", timeline->shape.n_stages,
            timeline->shape.n_chunks, ek__micro_batches(&timeline->shape));
    fputs("--------------------  bubble  --------------------\n", out);
    fputs("   real    =   ideal   +   imba    + recompute\n", out);
    centred(ek__fixed(b->real, 4).text, out);
    fputc('=', out);
    centred(ek__fixed(b->ideal, 4).text, out);
    fputc('+', out);
    centred(ek__fixed(b->imba, 4).text, out);
    ek__digits recompute = ek__fixed(b->recompute, 4);
    fprintf(out, "+%s%s\n", recompute.text[0] == '-' ? " " : "  ", recompute.text);
}

/* The parts of the critical path, in shares of the step, and their distribution over the stages. */
static void path_line(const ek_timeline *t, FILE *out)
{
    static const char *const word[] = {"forward", "backward", "weight gradient", "recomputation", "transfers"};
    double sum[5] = {0}, most = 0;
    int most_at = 0;
    for (int s = 0; s < t->shape.n_stages; s++) {
        const ek_stage_time *p = &t->path_time[s];
        const double part[] = {p->forward, p->backward, p->weight, p->recompute, p->transfer};
        double stage = 0;
        for (int i = 0; i < 5; i++) {
            sum[i] += part[i];
            stage += part[i];
        }
        if (stage > most) {
            most = stage;
            most_at = s;
        }
    }
    fputs("critical path:", out);
    bool any = false;
    for (int i = 0; i < 5; i++)
        if (sum[i] > 0.0005 * t->step_time) {
            fprintf(out, "%s %s %s %%", any ? "," : "", word[i], ek__fixed(100 * sum[i] / t->step_time, 1).text);
            any = true;
        }
    fprintf(out, "; most on stage %d, %s %% of the step\n", most_at, ek__fixed(100 * most / t->step_time, 1).text);
}

static void status_line(const ek_report *report, FILE *out)
{
    const ek_balance_result *search = report->search;
    fputs("status: ", out);
    open_color(report, search->status == EK_BALANCE_OPTIMAL ? GOOD : DOUBT, out);
    fputs(ek_balance_status_name[search->status], out);
    close_color(report, out);
    fprintf(out, " (%s; %s s)\n", ek__status_basis(search->status), ek__fixed(search->seconds, 1).text);
    if (search->lower_bound > 0 && !search->proved_optimal) {
        fprintf(out, "bound:  no plan within the limits takes less than %s (proved), ",
                ek__short(search->lower_bound).text);
        fprintf(out, "so this one is within %s %%\n", ek__fixed(100 * search->gap, 2).text);
    }
}

static void limit_line(const ek_report *report, const ek_timeline *timeline, FILE *out)
{
    int stage, tightest = ek__tightest_stage(report, timeline);
    double peak = ek_timeline_peak(timeline, &stage), limit = ek__stage_limit(report, tightest);
    fprintf(out, "memory: stage %d is the fullest with %s MB", stage, ek__fixed(peak, 0).text);
    if (limit > 0) {
        bool over = ek__over_limit(report, timeline, tightest);
        double beyond = timeline->peak_mb[tightest] - limit;
        fputs("; ", out);
        open_color(report, over ? BAD : GOOD, out);
        if (over && report->stage_memory_mb)
            fprintf(out, "stage %d is over its limit of %s MB by %s MB", tightest, ek__fixed(limit, 0).text,
                    ek__fixed(beyond, 0).text);
        else if (over)
            fprintf(out, "over the limit of %s MB by %s MB", ek__fixed(limit, 0).text, ek__fixed(beyond, 0).text);
        else if (report->stage_memory_mb)
            fprintf(out, "every stage fits its limit, stage %d with the least room, %s MB", tightest,
                    ek__fixed(fmax(-beyond, 0), 0).text);
        else
            fprintf(out, "every stage fits the limit of %s MB", ek__fixed(limit, 0).text);
        close_color(report, out);
    }
    fputc('\n', out);
}

/* "6", or "6 = 1+2+3" for several chunks. */
static void chunk_layers(const ek_plan *plan, int stage, char text[CHUNKS_SIZE])
{
    int total = 0, n = 0;
    for (int i = 0; i < plan->n_chunks; i++)
        total += plan->layers[i * plan->n_stages + stage];
    n = snprintf(text, CHUNKS_SIZE, "%d", total);
    for (int i = 0; plan->n_chunks > 1 && i < plan->n_chunks; i++)
        n += snprintf(text + n, CHUNKS_SIZE - (size_t)n, "%s%d", i ? "+" : " = ",
                      plan->layers[i * plan->n_stages + stage]);
}

/* "2 none, 4 both" */
static void stage_kinds(const ek_plan *plan, int stage, char text[KINDS_SIZE])
{
    int count[EK_N_RECOMPUTE] = {0}, n = 0;
    for (int i = 0; i < plan->n_chunks; i++) {
        ek_chunk_mix mix = ek_plan_mix(plan, i, stage);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            count[k] += mix.n[k];
    }
    snprintf(text, KINDS_SIZE, "-");
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (count[k] > 0)
            n += snprintf(text + n, KINDS_SIZE - (size_t)n, "%s%d %s", n ? ", " : "", count[k], ek_recompute_name[k]);
}

static int wider(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static void stage_table(const ek_report *report, const ek_case *c, FILE *out)
{
    const ek_timeline *timeline = c->timeline;
    char layers[CHUNKS_SIZE], kinds[KINDS_SIZE], line[CHUNKS_SIZE + KINDS_SIZE + 128];
    int layers_width = 6, kinds_width = 9;
    bool limited = report->memory_limit_mb > 0, own_limits = report->stage_memory_mb != NULL;
    for (int s = 0; s < c->plan->n_stages; s++) {
        chunk_layers(c->plan, s, layers);
        layers_width = wider(layers_width, layers);
        stage_kinds(c->plan, s, kinds);
        kinds_width = wider(kinds_width, kinds);
    }
    snprintf(line, sizeof line, "stage  %-*s  %-*s  %9s%s%s  %6s", layers_width, "layers", kinds_width, "recompute",
             "peak MB", own_limits ? "   limit MB" : "", limited ? "  head-room MB" : "", "busy %");
    heading(report, line, out);
    for (int s = 0; s < c->plan->n_stages; s++) {
        double peak = timeline->peak_mb[s];
        bool over = ek__over_limit(report, timeline, s);
        chunk_layers(c->plan, s, layers);
        stage_kinds(c->plan, s, kinds);
        fprintf(out, "%5d  %-*s  %-*s  ", s, layers_width, layers, kinds_width, kinds);
        if (over)
            open_color(report, BAD, out);
        fprintf(out, "%9s", ek__fixed(peak, 0).text);
        if (own_limits)
            fprintf(out, "  %9s", ek__fixed(ek__stage_limit(report, s), 0).text);
        if (limited)
            fprintf(out, "  %12s", ek__fixed(ek__stage_limit(report, s) - peak, 0).text);
        if (over)
            close_color(report, out);
        fprintf(out, "  %6s%s\n", ek__fixed(100 * timeline->busy[s], 1).text, over ? "  over the limit" : "");
    }
}

static void draw_timeline(const ek_report *report, const ek_case *c, FILE *out)
{
    const ek_timeline *timeline = c->timeline;
    const ek__strip strip = {
        .timeline = timeline, .span = timeline->step_time, .scale = 1, .unit = "the unit of the given times"};
    char title[128];
    if (report->plot.columns < 1)
        return;
    snprintf(title, sizeof title,
             "\n"
             "%s: work of each stage in a step of %s",
             timeline->schedule->name, ek__short(timeline->step_time).text);
    heading(report, title, out);
    ek__plot_strip(&report->plot, &strip, out);
}

/* "stage speeds: 1, 0.8x2 (...)" */
static void repeats_line(const char *what, const double *value, int n, const char *meaning, FILE *out)
{
    if (!value)
        return;
    fprintf(out, "%s: ", what);
    ek__print_repeats(value, n, out);
    fprintf(out, " (%s)\n", meaning);
}

/* The differences within the cluster and the micro-batches, and the constraints of the search. */
static void uneven_lines(const ek_report *report, const ek_timeline *timeline, FILE *out)
{
    int p = timeline->shape.n_stages;
    repeats_line("stage speeds", report->stage_speed, p, "1: as the given times", out);
    repeats_line("transfer times", timeline->comm.edge_time, p, "from each stage to the next, the last one to stage 0",
                 out);
    repeats_line("micro-batch costs", report->micro_batch_cost, ek__micro_batches(&timeline->shape),
                 "factors of times and activations", out);
    if (report->layers->recompute_transient)
        fputs("memory counts activations that recomputation restores during the backward pass of a layer\n", out);
    const char *separator = "fixed stages: ";
    for (int s = 0; s < p && report->fixed_layers; s++)
        if (report->fixed_layers[s] >= 0) {
            fprintf(out, "%s%d:%d", separator, s, report->fixed_layers[s]);
            separator = ", ";
        }
    if (report->fixed_layers)
        fputs(" (stage:layers)\n", out);
    separator = "forbidden recomputation: ";
    for (int k = 0; k < EK_N_RECOMPUTE && report->forbidden; k++)
        if (report->forbidden[k]) {
            fprintf(out, "%s%s", separator, ek_recompute_name[k]);
            separator = ", ";
        }
    if (report->forbidden)
        fputc('\n', out);
}

static void print_case(const ek_report *report, const ek_case *c, bool named, FILE *out)
{
    if (named) {
        open_color(report, BOLD, out);
        fputs("== ", out);
        ek__print_name(c->name, out);
        fputs(" ==", out);
        close_color(report, out);
        fputc('\n', out);
    }
    fputs("To put in yaml configuration:\n", out);
    ek__print_lists(c->plan, report->layers->n_layers, "  ", out);
    bubble_block(c->timeline, out);
    fprintf(out, "\nstep time: %s, in the unit of the given times (simulated from them with the schedule %s",
            ek__short(c->timeline->step_time).text, c->timeline->schedule->name);
    if (c->timeline->comm.edge_time)
        fprintf(out, ", %s transfers", c->timeline->comm.blocking ? "blocking" : "non-blocking");
    else if (c->timeline->comm.p2p_time > 0)
        fprintf(out, ", %s transfers of %s", c->timeline->comm.blocking ? "blocking" : "non-blocking",
                ek__short(c->timeline->comm.p2p_time).text);
    fputs(")\n", out);
    if (c->timeline->step_time > 0)
        path_line(c->timeline, out);
    if (c->timeline->schedule->splits_backward) {
        if (!report->layers->split_known)
            fputs("backward split: half input gradient, half weight gradient (assumed)\n", out);
        fprintf(out, "activations held until the weight gradient: %s %% (assumed)\n",
                ek__short(100 * c->timeline->weight_share).text);
    }
    uneven_lines(report, c->timeline, out);
    if (report->train_file) {
        fprintf(out, "sequence pieces: %d (times and memory per piece derived from ",
                ek__shape_pieces(&c->timeline->shape));
        ek__print_name(report->train_file, out);
        fputs(")\n", out);
    }
    if (report->search && c == report->cases)
        status_line(report, out);
    limit_line(report, c->timeline, out);
    fputc('\n', out);
    stage_table(report, c, out);
    draw_timeline(report, c, out);
}

static void comparison(const ek_report *report, FILE *out)
{
    int width = 10;
    for (int i = 0; i < report->n_cases; i++) {
        int columns = ek__columns(report->cases[i].name);
        width = columns > width ? columns : width;
    }
    fputc('\n', out);
    char line[256];
    snprintf(line, sizeof line, "%-*s  %10s  %9s  %8s = %6s + %7s + %9s  %9s  %s", width, "comparison", "step",
             "vs. first", "bubble", "ideal", "imba", "recompute", "peak MB",
             report->memory_limit_mb > 0 ? "limit" : "");
    line[strlen(line) - (report->memory_limit_mb > 0 ? 0 : 2)] = '\0';
    heading(report, line, out);
    double first = report->cases[0].timeline->step_time;
    for (int i = 0; i < report->n_cases; i++) {
        const ek_timeline *t = report->cases[i].timeline;
        int stage;
        double peak = ek_timeline_peak(t, &stage), change = 100 * (t->step_time / first - 1);
        ek__print_name(report->cases[i].name, out);
        spaces(width - ek__columns(report->cases[i].name), out);
        fprintf(out, "  %10s", ek__short(t->step_time).text);
        char versus[64] = "-";
        if (i > 0)
            snprintf(versus, sizeof versus, "%s%s %%", change >= 0 ? "+" : "-", ek__fixed(fabs(change), 2).text);
        fprintf(out, "  %9s", versus);
        fprintf(out, "  %8s", ek__fixed(t->bubble.real, 4).text);
        fprintf(out, " = %6s", ek__fixed(t->bubble.ideal, 4).text);
        fprintf(out, " + %7s", ek__fixed(t->bubble.imba, 4).text);
        fprintf(out, " + %9s", ek__fixed(t->bubble.recompute, 4).text);
        fprintf(out, "  %9s", ek__fixed(peak, 0).text);
        if (report->memory_limit_mb > 0) {
            int tightest = ek__tightest_stage(report, t);
            bool over = ek__over_limit(report, t, tightest);
            fputs("  ", out);
            open_color(report, over ? BAD : GOOD, out);
            if (over)
                fprintf(out, "over by %s MB at stage %d",
                        ek__fixed(t->peak_mb[tightest] - ek__stage_limit(report, tightest), 0).text, tightest);
            else
                fputs("fits", out);
            close_color(report, out);
        }
        fputc('\n', out);
    }
}

/* Names of the kinds that are not modelled, joined by commas; empty when all are. */
static void unmodelled_kinds(const bool modelled[EK_N_RECOMPUTE], char text[KINDS_SIZE])
{
    int n = 0;
    text[0] = '\0';
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (!modelled[k])
            n += snprintf(text + n, KINDS_SIZE - (size_t)n, "%s%s", n ? ", " : "", ek_recompute_name[k]);
}

/* No plan fits limits that differ from stage to stage. */
static void infeasible_stages(const ek_report *report, FILE *out)
{
    const ek_balance_result *search = report->search;
    int s = search->bottleneck_stage;
    fprintf(
        out,
        search->smallest_limit_exact
            ? "\nNothing fits: no choice of layers and recomputation keeps every stage within its limit (%s s).\n"
            : "\nNo plan was found that keeps every stage within its limit (%s s); that none exists is not proved.\n",
        ek__fixed(search->seconds, 1).text);
    if (!isfinite(search->shortfall_mb))
        return;
    fprintf(out, "Every limit would have to grow by %s MB (%s).\n", ek__fixed(ceil(search->shortfall_mb), 0).text,
            search->smallest_limit_exact ? "exact" : "the least that was found");
    fprintf(out,
            "The bottleneck is stage %d, limit %s MB: it would then be the fullest against its limit, with %s MB.\n", s,
            ek__fixed(ek__stage_limit(report, s), 0).text, ek__fixed(search->smallest_limit_mb, 0).text);
}

static void infeasible_limit(const ek_report *report, FILE *out)
{
    const ek_balance_result *search = report->search;
    fprintf(out,
            search->smallest_limit_exact
                ? "\nNothing fits: no choice of layers and recomputation keeps every stage within %s MB (%s s).\n"
                : "\nNo plan was found that keeps every stage within %s MB (%s s); that none exists is not proved.\n",
            ek__fixed(report->memory_limit_mb, 0).text, ek__fixed(search->seconds, 1).text);
    double smallest = search->smallest_limit_mb;
    if (!isfinite(smallest))
        return;
    /* Rounded up: the printed limit, passed as -mem, must fit. */
    ek__digits fits = ek__fixed(ceil(smallest), 0);
    if (search->smallest_limit_exact)
        fprintf(out, "The smallest limit that fits is %s MB (exact).\n", fits.text);
    else
        fprintf(out, "The smallest limit found that fits is %s MB; a smaller one may exist.\n", fits.text);
    fprintf(out, "The bottleneck is stage %d: at that limit it is the fullest.\n", search->bottleneck_stage);
}

static void infeasible(const ek_report *report, FILE *out)
{
    const ek_balance_result *search = report->search;
    char kinds[KINDS_SIZE];
    fputs("status: ", out);
    open_color(report, BAD, out);
    fputs(ek_balance_status_name[search->status], out);
    close_color(report, out);
    (report->stage_memory_mb ? infeasible_stages : infeasible_limit)(report, out);
    double smallest = search->smallest_limit_mb;
    fputs("Remedies:\n", out);
    if (isfinite(smallest) && report->stage_memory_mb)
        fprintf(out, "  - limits %s MB higher (--stage-memory)\n", ek__fixed(ceil(search->shortfall_mb), 0).text);
    else if (isfinite(smallest))
        fprintf(out, "  - a limit of %s MB or more (-mem)\n", ek__fixed(ceil(smallest), 0).text);
    if (report->fixed_layers)
        fputs("  - no fixed stages, or other numbers of layers there (--fix)\n", out);
    if (report->forbidden)
        fputs("  - allowing the forbidden kinds of recomputation (--forbid)\n", out);
    fputs("  - more stages (-s), so that each has fewer layers\n", out);
    if (search->fit_plan.n_chunks > 1)
        fputs("  - the less-memory schedule (-lm 1) if it is not in use, or fewer chunks per stage (-i)\n", out);
    unmodelled_kinds(report->layers->modelled, kinds);
    if (kinds[0])
        fprintf(out, "  - memory figures for the recomputation kinds not modelled yet (%s)\n", kinds);
    if (search->fit_plan.n_stages > 0) {
        if (report->stage_memory_mb)
            fprintf(out, "\nThe plan that fits with %s MB more on every stage:\n",
                    ek__fixed(ceil(search->shortfall_mb), 0).text);
        else
            fprintf(out, "\nThe plan that fits in %s MB:\n", ek__fixed(ceil(smallest), 0).text);
        ek__print_lists(&search->fit_plan, report->layers->n_layers, "  ", out);
    }
}

static void body_memory(const ek_layer *body, bool named, const char *per, FILE *out)
{
    if (named) {
        fputs("  ", out);
        ek__print_name(body->name, out);
        fprintf(out, " (%d layers):\n", body->n_layers);
    }
    fprintf(out, "  parameters     %s per layer\n", ek__short(body->parameter_mb).text);
    fputs("  activation    ", out);
    const char *separator = " ";
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (body->modelled[k]) {
            fprintf(out, "%s%s %s", separator, ek_recompute_name[k], ek__short(body->activation_mb[k]).text);
            separator = ", ";
        }
    fprintf(out, " per layer and %s\n", per);
}

/* Warn if a prediction's error may exceed the free memory of the plan. */
static void doubts(const ek_report *report, FILE *out)
{
    const ek_memory_fit *fit = &report->layers->fit;
    const ek_residual *low = NULL; /* the stage that the model underestimates most */
    for (int i = 0; i < fit->n_residuals; i++)
        if (!low || fit->residual[i].measured_mb - fit->residual[i].predicted_mb > low->measured_mb - low->predicted_mb)
            low = &fit->residual[i];
    if (report->n_cases > 0 && report->memory_limit_mb > 0 && low) {
        const ek_timeline *answer = report->cases[0].timeline;
        int stage = ek__tightest_stage(report, answer);
        double free_mb = ek__stage_limit(report, stage) - answer->peak_mb[stage];
        double short_mb = low->measured_mb - low->predicted_mb;
        if (free_mb >= 0 && short_mb > free_mb + 1)
            fprintf(out,
                    "  careful        stage %d has %s MB of head-room, but the model was %s MB below a measured peak: "
                    "dry-run the answer,\n                 or leave a margin (-mem %s)\n",
                    stage, ek__fixed(free_mb, 0).text, ek__fixed(short_mb, 0).text,
                    ek__fixed(floor(ek__stage_limit(report, stage) - short_mb), 0).text);
    }
}

static void memory_model(const ek_report *report, FILE *out)
{
    const ek_layers *layers = report->layers;
    const ek_memory_fit *fit = &layers->fit;
    const ek_residual *worst = &fit->residual[0];
    for (int i = 1; i < fit->n_residuals; i++)
        if (fabs(fit->residual[i].measured_mb - fit->residual[i].predicted_mb) >
            fabs(worst->measured_mb - worst->predicted_mb))
            worst = &fit->residual[i];
    fputc('\n', out);
    heading(report, "memory model (MB), from the dry run", out);
    for (int b = 0; b < layers->n_body; b++)
        body_memory(&layers->body[b], layers->n_body > 1, report->train_file ? "sequence piece" : "micro-batch", out);
    fprintf(out, "  constant       %s%s\n", ek__short(layers->const_mb).text,
            fit->const_modelled ? " on every stage" : " (not modelled: too few stages were given)");
    fprintf(out, "  head, tail     %s, ", ek__short(layers->head.parameter_mb + layers->head.activation_mb[0]).text);
    fprintf(out, "%s on the first and the last stage\n",
            ek__short(layers->tail.parameter_mb + layers->tail.activation_mb[0]).text);
    if (fit->condition > 0)
        fprintf(out, "  condition      %s\n", ek__short(fit->condition).text);
    fprintf(out, "  worst residual %s at stage %d", ek__fixed(worst->measured_mb - worst->predicted_mb, 1).text,
            worst->stage);
    if (worst->round > 0)
        fprintf(out, " of round %d", worst->round + 1);
    fprintf(out, ", %s measured (%d stages fitted)\n", ek__fixed(worst->measured_mb, 0).text, fit->n_residuals);
    doubts(report, out);
}

ek_status ek__balance_write_text(const ek_report *report, FILE *out, ek_error *err)
{
    bool searched = report->search != NULL;
    int full = searched && report->n_cases > 1 ? 1 : report->n_cases;
    if (report->ranking)
        ek__print_ranking(report->ranking, out);
    if (searched && report->search->status == EK_BALANCE_INFEASIBLE)
        infeasible(report, out);
    for (int i = 0; i < full; i++) {
        if (i > 0)
            fputc('\n', out);
        print_case(report, &report->cases[i], report->list || full > 1, out);
    }
    if (report->n_cases > 1)
        comparison(report, out);
    if (report->layers->fit.n_residuals > 0)
        memory_model(report, out);
    return ek__finish(out, err);
}

ek_status ek__balance_write_plot(const ek_report *report, FILE *out, ek_error *err)
{
    for (int i = 0; i < report->n_cases; i++)
        draw_timeline(report, &report->cases[i], out);
    return ek__finish(out, err);
}
