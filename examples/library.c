/* Ranks schedules, sweeps the memory limit, lists a run's files and makes a page of them: library LAYERS RUN PAGE */
#include <evenkeel/evenkeel.h>
#include <stdlib.h>
static ek_view_files run = {.files.models = true}; /* too large for the stack */
static void check(ek_status status, const ek_error *err)
{
    if (status != EK_OK) {
        fprintf(stderr, "%s\n", err->message);
        exit(2);
    }
}
int main(int argc, char **argv)
{
    static const double limits[] = {56000, 60000, 64000};
    const ek_schedule *tried[] = {ek_schedule_find("1f1b"), ek_schedule_find("zb-h1")};
    ek_error err = {.message = "usage: library LAYERS RUN PAGE"};
    ek_layers layers;
    check(argc == 4 ? ek_layers_read(argv[1], NULL, NULL, &layers, &err) : EK_ERR_INPUT, &err);
    ek_ranking_input ranked = {
        .layers = &layers, .n_stages = 4, .n_micro_batches = 8, .n_schedules = 2, .schedule = tried};
    ek_balance_options_init(&ranked.options);
    ek_choice choice;
    check(ek_rank_schedules(&ranked, &choice, &err), &err);
    for (int i = 0; i < choice.ranking.n; i++)
        printf("%s: step %.6g\n", choice.ranking.ranked[i].schedule->name, choice.ranking.ranked[i].step_time);
    ek_sweep_input swept = {.layers = &layers, .swept = EK_SWEPT_MEMORY, .n = 3, .value = limits, .n_stages = 4,
        .n_chunks = 1, .n_micro_batches = 8, .schedule = choice.schedule, .options = ranked.options};
    ek_sweep sweep;
    check(ek_sweep_run(&swept, &sweep, &err), &err);
    for (int i = 0; i < sweep.n; i++)
        printf("%g MB: step %.6g\n", sweep.row[i].value, sweep.row[i].step_time);
    check(ek_run_files_add(&run.files, argv[2], EK_RUN_UNKNOWN, NULL, &err), &err);
    for (int i = 0; i < run.files.n; i++)
        printf("%s: %s\n", ek_run_kind_name[run.files.file[i].kind], run.files.file[i].path);
    FILE *page = fopen(argv[3], "w");
    check(ek_view_files_read(NULL, NULL, &run, &err), &err);
    check(page ? ek_view_files_write(&run, NULL, NULL, NULL, page, &err) : EK_ERR_SYSTEM, &err);
    ek_view_files_clear(&run), ek_sweep_clear(&sweep), ek_choice_clear(&choice), ek_layers_clear(&layers);
    return fclose(page);
}
