/* Prints the dry runs to make: lists to paste, and how well their peaks determine the unknowns. */
#include <math.h>

#include "evenkeel/guide.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { N_LISTS = 4 };
static const char *const list_name[N_LISTS] = {"offset", "recompute", "select_recompute", "select_comm_recompute"};

int ek__guide_entry(const ek_dryrun *runs, int list, int round, int stage)
{
    int i = round * runs->n_stages + stage;
    switch (list) {
    case 0:
        return runs->layers[i] - runs->n_layers / runs->n_stages;
    case 1:
        return runs->full[i];
    case 2:
        return runs->select[i];
    default:
        return runs->comm[i];
    }
}

static void print_round(const ek_dryrun *runs, int round, const char *indent, FILE *out)
{
    for (int list = 0; list < N_LISTS; list++) {
        fprintf(out, "%s%s: [", indent, list_name[list]);
        for (int s = 0; s < runs->n_stages; s++)
            fprintf(out, "%s%d", s ? ", " : "", ek__guide_entry(runs, list, round, s));
        fputs("]\n", out);
    }
}

static void print_kinds(const ek_guide *guide, FILE *out)
{
    for (int k = 0, n = 0; k < EK_N_RECOMPUTE; k++)
        if (guide->kind[k])
            fprintf(out, "%s%s", n++ ? ", " : "", ek_recompute_name[k]);
}

static void print_extremes(const ek_guide *guide, int round, FILE *out)
{
    const ek_dryrun *runs = &guide->runs;
    const int *layers = runs->layers + (size_t)round * (size_t)runs->n_stages;
    const double *peak = guide->peak_mb ? guide->peak_mb + (size_t)round * (size_t)runs->n_stages : NULL;
    int least = layers[0], most = layers[0], fullest = 0;
    for (int s = 1; s < runs->n_stages; s++) {
        least = layers[s] < least ? layers[s] : least;
        most = layers[s] > most ? layers[s] : most;
        fullest = peak && peak[s] > peak[fullest] ? s : fullest;
    }
    fprintf(out, "  # %d to %d layers on a stage; the even split has %s\n", least, most,
            ek__short((double)runs->n_layers / runs->n_stages).text);
    if (!peak)
        return;
    fprintf(out, "  # predicted by the rough model: stage %d is the fullest with %s MB", fullest,
            ek__fixed(peak[fullest], 0).text);
    if (guide->memory_limit_mb > 0)
        fprintf(out, ", within %s MB", ek__fixed(guide->memory_limit_mb, 0).text);
    fputc('\n', out);
}

ek_status ek__guide_write_yaml(const ek_guide *guide, FILE *out, ek_error *err)
{
    for (int r = 0; r < guide->runs.n_rounds; r++) {
        fprintf(out, "round%d:\n", r + 1);
        print_round(&guide->runs, r, "  ", out);
    }
    return ek__finish(out, err);
}

ek_status ek__guide_write_text(const ek_guide *guide, FILE *out, ek_error *err)
{
    const ek_dryrun *runs = &guide->runs;
    bool several = runs->n_rounds > 1;
    fprintf(out, "%d dry run%s of %d stages and %d layers determine%s: parameters, activations (", runs->n_rounds,
            several ? "s" : "", runs->n_stages, runs->n_layers, several ? "" : "s");
    print_kinds(guide, out);
    fputs("), a constant part\n", out);
    if (guide->reason[0])
        fprintf(out, "\nnot %d stages: %s.\n", guide->job_stages, guide->reason);
    for (int r = 0; r < runs->n_rounds; r++) {
        fprintf(out, "\nround %d of %d\n", r + 1, runs->n_rounds);
        print_round(runs, r, "  ", out);
        print_extremes(guide, r, out);
    }
    fprintf(out, "\ncondition number %s; random lists have %s in the median\n", ek__short(guide->condition).text,
            ek__short(guide->random_condition).text);
    fprintf(out, "(%s with columns of unit length, as `balance` prints it)\n", ek__short(guide->scaled_condition).text);
    fputs("\nerror of an answer, in MB, when   one peak is 1 MB off   every peak is (random, 1 MB)\n", out);
    for (int i = 0; i < guide->n_errors; i++) {
        fprintf(out, "  %-30s  %20s", guide->error[i].name, ek__fixed(guide->error[i].one_mb, 2).text);
        fprintf(out, "   %28s\n", ek__fixed(guide->error[i].all_mb, 2).text);
    }
    return ek__finish(out, err);
}
