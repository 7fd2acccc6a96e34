/* Writes the init file of the dry runs that the guide chose: everything except the peaks, which are 0 until `collect`
 * fills them in (the reader rejects 0 with its place). */
#include <math.h>

#include "evenkeel/guide.h"
#include "report/report_internal.h"

/* The entries of a line in addition to the four lists of a round. */
enum { STAGE_IDS = 4, NO_PEAKS };

/* One list of the stages first .. last, or a list of one for each round. */
static void print_rounds(const ek_dryrun *runs, const char *key, int list, int first, int last, FILE *out)
{
    bool several = runs->n_rounds > 1;
    fprintf(out, "%s: %s", key, several ? "[" : "");
    for (int r = 0; r < runs->n_rounds; r++) {
        fputs(r ? ", [" : "[", out);
        for (int s = first; s <= last; s++) {
            int entry = list == STAGE_IDS ? s : list == NO_PEAKS ? 0 : ek__guide_entry(runs, list, r, s);
            fprintf(out, "%s%d", s > first ? ", " : "", entry);
        }
        fputc(']', out);
    }
    fputs(several ? "]\n" : "\n", out);
}

static void print_times(const ek_times *times, FILE *out)
{
    bool known = times && !isnan(times->head) && !isnan(times->body) && !isnan(times->tail);
    if (!known) {
        fputs("\n# forward time of one micro-batch through the embedding, one layer, and head with loss, in any one "
              "unit;\n"
              "# or give them with --time\n"
              "# time_config:\n#   head: 0.1\n#   body: 3.1\n#   tail: 3.5\n",
              out);
        return;
    }
    fprintf(out, "\ntime_config:\n  head: %s\n", ek__short(times->head).text);
    fprintf(out, "  body: %s\n", ek__short(times->body).text);
    fprintf(out, "  tail: %s\n", ek__short(times->tail).text);
}

ek_status ek_guide_write_init(const ek_guide *guide, const ek_times *times, FILE *out, ek_error *err)
{
    const ek_dryrun *runs = &guide->runs;
    int last = runs->n_stages - 1;
    fprintf(out, "# init file of %d dry run%s; the peaks are still to be filled in\n", runs->n_rounds,
            runs->n_rounds > 1 ? "s, one after the other in every list of lists" : "");
    fprintf(out, "pipeline_config:\n  pipeline_num: %d\n  num_layer: %d\n", runs->n_stages, runs->n_layers);
    print_rounds(runs, "  offset", 0, 0, last, out);
    fputs("\nrecompute_config:\n", out);
    print_rounds(runs, "  recompute", 1, 0, last, out);
    print_rounds(runs, "  select_recompute", 2, 0, last, out);
    print_rounds(runs, "  select_comm_recompute", 3, 0, last, out);
    print_times(times, out);
    fputs("\n# peaks in MB: `evenkeel collect` writes them here from the logs\nmemory_usage:\n"
          "  head_memory: 0 # stage 0 of the first round\n",
          out);
    fprintf(out, "  tail_memory: 0 # stage %d of the first round\n  body_memories:\n", last);
    print_rounds(runs, "    stage_id", STAGE_IDS, 1, last - 1, out);
    print_rounds(runs, "    memories", NO_PEAKS, 1, last - 1, out);
    return ek__finish(out, err);
}
