/* A run's traces as tables of comma-separated values, one a topic, for spreadsheets and scripts. A new table is one
 * function and one line in ek_trace_tables. Times are microseconds with three decimals; what is not known is empty. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/report_internal.h"
#include "report/trace_internal.h"

/* Cells end with a comma, and the last one of a row with row_end() in place of it. */
static void text_cell(FILE *out, const char *text)
{
    ek__print_csv(text ? text : "", out);
    fputc(',', out);
}

static void int_cell(FILE *out, int64_t value)
{
    if (value != INT64_MIN)
        fprintf(out, "%" PRId64, value);
    fputc(',', out);
}

/* A rank, stage or size: nothing below `least`. */
static void from_cell(FILE *out, int64_t value, int64_t least)
{
    int_cell(out, value < least ? INT64_MIN : value);
}

static void us_cell(FILE *out, int64_t ns)
{
    fprintf(out, "%s,", ns == EK_TRACE_UNKNOWN ? "" : ek__exact_us(ns).text);
}

static void mean_cell(FILE *out, double ns)
{
    fprintf(out, "%s,", isfinite(ns) ? ek__fixed(ns / 1000, 3).text : "");
}

static void real_cell(FILE *out, double value)
{
    fprintf(out, "%s,", isfinite(value) ? ek__real(value).text : "");
}

static void row_end(FILE *out, bool last)
{
    fputs(last ? "1\n" : "0\n", out);
}

static void rank_cells(FILE *out, const ek_trace_rank *rank)
{
    from_cell(out, rank->rank, 0);
    from_cell(out, rank->stage, 0);
}

static void breakdown_cells(FILE *out, const ek_trace_breakdown *b)
{
    us_cell(out, b->total);
    us_cell(out, b->computing);
    us_cell(out, b->communication);
    us_cell(out, b->communication_not_overlapped);
    us_cell(out, b->overlapped);
    us_cell(out, b->copy_not_overlapped);
    us_cell(out, b->free);
}
#define BREAKDOWN_HEADER                                                                                               \
    "total_us,computing_us,communication_us,communication_not_overlapped_us,overlapped_us,"                            \
    "copy_not_overlapped_us,free_us"

/* The next rank that the view shows, from number *at on; NULL behind the last. */
static const ek_trace_rank *next_rank(const ek_trace_run *run, const ek_trace_view *view, int *at)
{
    while (*at < run->n_ranks) {
        const ek_trace_rank *rank = &run->rank[(*at)++];
        if (ek__view_shows(view, rank))
            return rank;
    }
    return NULL;
}

static void write_steps(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs(
        "rank,stage,step,source," BREAKDOWN_HEADER
        ",host_step_us,preparing_us,producer_stage_us,producer_bubble_us,device_span_us,pipeline_wait_us,own_stage_us,"
        "receives,receive_us,receive_exposed_us,sends,send_us,data_loading_us,data_loading_idle_us,host_bound_us,"
        "device_bound_us,unlinked_us,length_us,warm_up\n",
        out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->n_steps; i++) {
            const ek_trace_step *step = &rank->step[i];
            if (!ek__view_shows_step(view, step))
                continue;
            bool begin_to_begin;
            const int64_t times[] = {step->host_step, step->preparing,     step->stage,    step->bubble,
                                     step->span,      step->pipeline_wait, step->own_stage};
            const int64_t rest[] = {step->send,
                                    step->data_loading,
                                    step->data_loading_idle,
                                    step->host_bound,
                                    step->device_bound,
                                    step->unlinked,
                                    ek_trace_step_length(rank, i, &begin_to_begin)};
            rank_cells(out, rank);
            text_cell(out, step->name);
            text_cell(out, step->source);
            breakdown_cells(out, &step->own);
            for (size_t k = 0; k < sizeof times / sizeof *times; k++)
                us_cell(out, times[k]);
            int_cell(out, step->n_receives);
            us_cell(out, step->receive);
            us_cell(out, step->receive_exposed);
            int_cell(out, step->n_sends);
            for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
                us_cell(out, rest[k]);
            row_end(out, step->warm_up);
        }
}

static void write_ranks(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,host,device,producer,steps," BREAKDOWN_HEADER
          ",host_bound_share,cause,data_loading_us,step_us,device_events\n",
          out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));) {
        rank_cells(out, rank);
        text_cell(out, rank->host);
        from_cell(out, rank->device_id, 0);
        text_cell(out, ek_producer_name[rank->producer]);
        int_cell(out, rank->n_steps);
        breakdown_cells(out, ek__rank_breakdown(rank));
        real_cell(out, rank->dispatch.share);
        text_cell(out, rank->dispatch.cause);
        us_cell(out, rank->data.total);
        us_cell(out, ek_trace_rank_step(rank).ns);
        row_end(out, rank->has_device_events);
    }
}

static void pass_row(FILE *out, const ek_trace_rank *rank, const ek_trace_layer *layer, const char *direction,
                     const ek_trace_pass *pass)
{
    if (pass->n == 0)
        return;
    rank_cells(out, rank);
    text_cell(out, layer->name);
    from_cell(out, layer->index, 0);
    text_cell(out, ek_trace_role_name[layer->role]);
    text_cell(out, direction);
    mean_cell(out, pass->wall_mean);
    mean_cell(out, pass->wall_median);
    mean_cell(out, pass->wall_min);
    mean_cell(out, pass->wall_max);
    mean_cell(out, pass->wall_deviation);
    mean_cell(out, pass->busy_mean);
    mean_cell(out, pass->busy_median);
    fprintf(out, "%" PRId64 "\n", pass->n);
}

static void write_layers(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,layer,index,role,direction,wall_mean_us,wall_median_us,wall_min_us,wall_max_us,wall_deviation_us,"
          "busy_mean_us,busy_median_us,n\n",
          out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->layers.n; i++) {
            const ek_trace_layer *layer = &rank->layers.layer[i];
            pass_row(out, rank, layer, "forward", &layer->forward);
            pass_row(out, rank, layer, "recompute", &layer->recompute);
            pass_row(out, rank, layer, "backward", &layer->backward);
        }
}

static void write_operators(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,name,type,core,family,total_us,min_us,avg_us,max_us,ratio_pct,count\n", out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->operators.n; i++) {
            const ek_trace_operator *op = &rank->operators.op[i];
            rank_cells(out, rank);
            text_cell(out, op->name);
            text_cell(out, op->type);
            text_cell(out, op->core);
            text_cell(out, op->family);
            us_cell(out, op->total);
            us_cell(out, op->min);
            mean_cell(out, op->average);
            us_cell(out, op->max);
            real_cell(out, op->ratio);
            fprintf(out, "%" PRId64 "\n", op->count);
        }
}

static void write_outliers(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,name,type,core,shape,start_us,duration_us,expected_us,shapes_unknown,n_kind\n", out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->operators.n_outliers; i++) {
            const ek_trace_outlier *one = &rank->operators.outlier[i];
            rank_cells(out, rank);
            text_cell(out, one->name);
            text_cell(out, one->type);
            text_cell(out, one->core);
            text_cell(out, one->shape);
            us_cell(out, one->start);
            us_cell(out, one->duration);
            us_cell(out, one->expected);
            int_cell(out, one->shapes_unknown);
            fprintf(out, "%" PRId64 "\n", one->n_kind);
        }
}

static void write_collectives(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,key,group,total_us,exposed_us,bytes,bandwidth_gbps,count\n", out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->communication.n_sums; i++) {
            const ek_trace_collective_sum *sum = &rank->communication.sum[i];
            rank_cells(out, rank);
            text_cell(out, sum->key);
            text_cell(out, sum->group);
            us_cell(out, sum->total);
            us_cell(out, sum->exposed);
            from_cell(out, sum->bytes, 0);
            real_cell(out, sum->bandwidth_gbps);
            fprintf(out, "%" PRId64 "\n", sum->count);
        }
}

static void write_links(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,link,transport,size_mb,time_ms,gbps,ranked,slow\n", out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->communication.n_links; i++) {
            const ek_trace_link *link = &rank->communication.link[i];
            rank_cells(out, rank);
            text_cell(out, link->link);
            text_cell(out, link->transport);
            real_cell(out, link->size_mb);
            real_cell(out, link->time_ms);
            real_cell(out, link->bandwidth_gbps);
            int_cell(out, link->ranked);
            row_end(out, link->slow);
        }
}

static void write_idle(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs(
        "rank,stage,pid,tid,host_wait_us,kernel_wait_us,other_us,n_host_wait,n_kernel_wait,n_other,no_launch,events\n",
        out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->idle.n_streams; i++) {
            const ek_trace_stream_idle *stream = &rank->idle.stream[i];
            rank_cells(out, rank);
            text_cell(out, stream->pid);
            text_cell(out, stream->tid);
            us_cell(out, stream->host_wait);
            us_cell(out, stream->kernel_wait);
            us_cell(out, stream->other);
            int_cell(out, stream->n_host_wait);
            int_cell(out, stream->n_kernel_wait);
            int_cell(out, stream->n_other);
            int_cell(out, stream->n_no_launch);
            fprintf(out, "%" PRId64 "\n", stream->n_events);
        }
}

static void write_memory(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,component,allocated_mb,reserved_mb,active_mb,tracker\n", out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));) {
        const ek_trace_memory *memory = &rank->memory;
        for (int i = 0; i < memory->n_peaks; i++) {
            rank_cells(out, rank);
            text_cell(out, memory->peak[i].component);
            real_cell(out, memory->peak[i].allocated_mb);
            real_cell(out, memory->peak[i].reserved_mb);
            real_cell(out, memory->peak[i].active_mb);
            row_end(out, false);
        }
        for (int i = 0; i < memory->tracker.n_live; i++) {
            rank_cells(out, rank);
            text_cell(out, memory->tracker.live[i].type);
            real_cell(out, (double)memory->tracker.live[i].bytes / 1048576);
            fputs(",,", out);
            row_end(out, true);
        }
    }
}

static void write_stages(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    (void)view;
    fputs("stage,computing_mean_us,computing_max_us,communication_not_overlapped_mean_us,free_mean_us,"
          "pipeline_wait_mean_us,step_mean_us,ranks\n",
          out);
    for (int i = 0; i < run->n_stages; i++) {
        const ek_trace_stage *stage = &run->stage[i];
        int_cell(out, stage->stage);
        us_cell(out, stage->computing_mean);
        us_cell(out, stage->computing_max);
        us_cell(out, stage->not_overlapped_mean);
        us_cell(out, stage->free_mean);
        us_cell(out, stage->pipeline_wait_mean);
        us_cell(out, stage->step_mean);
        fprintf(out, "%d\n", stage->n_ranks);
    }
}

static void write_cluster(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    (void)view;
    fputs("step,type,index,computing_us,communication_not_overlapped_us,overlapped_us,communication_us,free_us,"
          "stage_us,bubble_us,exclude_receive_us,preparing_us\n",
          out);
    for (int i = 0; i < run->n_cluster_rows; i++) {
        const ek_trace_cluster_row *row = &run->cluster_row[i];
        text_cell(out, row->step);
        text_cell(out, row->type);
        text_cell(out, row->index);
        const int64_t times[] = {row->computing, row->not_overlapped, row->overlapped, row->communication,
                                 row->free,      row->stage,          row->bubble,     row->exclude_receive};
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            us_cell(out, times[k]);
        fprintf(out, "%s\n", row->preparing == EK_TRACE_UNKNOWN ? "" : ek__exact_us(row->preparing).text);
    }
}

static void write_sources(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("rank,stage,path,type,bytes,problem,items\n", out);
    const ek_trace_rank *rank;
    for (int at = 0; (rank = next_rank(run, view, &at));)
        for (int i = 0; i < rank->n_sources; i++) {
            rank_cells(out, rank);
            text_cell(out, rank->source[i].path);
            text_cell(out, rank->source[i].type);
            int_cell(out, rank->source[i].bytes);
            text_cell(out, rank->source[i].problem);
            fprintf(out, "%" PRId64 "\n", rank->source[i].items);
        }
}

static void write_findings(const ek_trace_run *run, const ek_trace_view *view, FILE *out)
{
    fputs("id,rank,stage,step,text,advice,share,gain_us\n", out);
    for (int i = 0; i < run->n_findings; i++) {
        const ek_trace_finding *finding = &run->finding[i];
        if (view && view->rank != EK_TRACE_NO_RANK && finding->rank >= 0 && finding->rank != view->rank)
            continue;
        text_cell(out, finding->id);
        from_cell(out, finding->rank, 0);
        from_cell(out, finding->stage, 0);
        text_cell(out, finding->step);
        text_cell(out, finding->text);
        text_cell(out, finding->advice);
        real_cell(out, finding->share);
        fprintf(out, "%s\n", finding->gain_ns == EK_TRACE_UNKNOWN ? "" : ek__exact_us(finding->gain_ns).text);
    }
}

const ek_trace_table ek_trace_tables[EK_N_TRACE_TABLES] = {
    {"steps", "a row for every step of every rank", write_steps},
    {"ranks", "means over a rank's steps", write_ranks},
    {"layers", "a row for every layer and direction", write_layers},
    {"operators", "a row for every operator", write_operators},
    {"outliers", "executions far longer than others of their kind", write_outliers},
    {"collectives", "communication by kind, group and size", write_collectives},
    {"links", "bandwidth between two ranks", write_links},
    {"idle", "idle time of streams by cause", write_idle},
    {"memory", "peaks by component, or by type of block", write_memory},
    {"stages", "means over the ranks of a stage", write_stages},
    {"cluster", "cluster_step_trace_time as it was read", write_cluster},
    {"sources", "files that were read, and what was wrong with them", write_sources},
    {"findings", "what is worth doing, most to win first", write_findings},
};

ek_status ek_trace_write_csv(const ek_trace_run *run, const ek_trace_table *table, const ek_trace_view *view, FILE *out,
                             ek_error *err)
{
    table->write(run, view, out);
    return ek__finish(out, err);
}
