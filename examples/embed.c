/* Predicts the memory of a training job's stages: embed TRAIN.yaml [LIMIT_MB]. Prints JSON. */
#include <evenkeel/evenkeel.h>
#include <stdlib.h>
static void warned(void *user, const ek_error *warning)
{
    fprintf(user, "%s:%d: %s\n", warning->file, warning->line, warning->message);
}
static int failed(const ek_error *err)
{
    fprintf(stderr, "%s:%d:%d: %s\n", err->file, err->line, err->column, err->message);
    return 1;
}
int main(int argc, char **argv)
{
    ek_error err;
    ek_listener listener = {warned, stderr};
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.limit_mb = argc > 2 ? atof(argv[2]) : 0;
    ek_job job;
    if (argc < 2 || ek_job_read(argv[1], &overrides, &listener, &job, &err) != EK_OK)
        return argc < 2 ? 2 : failed(&err);
    ek_memory memory;
    if (ek_memory_predict(&job, NULL, &memory, &err) != EK_OK)
        return failed(&err);
    ek_memory_report report = {0};
    report.job = &job, report.memory = &memory, report.stage = -1;
    char *text;
    if (ek_write_text(ek_output_of_memory(&report), "json", &text, NULL, &err) != EK_OK)
        return failed(&err);
    fputs(text, stdout);
    free(text), ek_memory_clear(&memory), ek_job_clear(&job);
    return 0;
}
