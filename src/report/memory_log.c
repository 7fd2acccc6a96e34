/* Writes a prediction as the end of a dry run's log in MindSpore's form, so that readers of real logs (`evenkeel
 * collect`, scripts) read predictions too; also prints the list of rules for people. */
#include <inttypes.h>

#include "evenkeel/memory_report.h"
#include "report/memory_internal.h"
#include "report/writers.h"

enum { USUAL_DEVICE_MB = 65536 };

ek_status ek_memory_write_log(const ek_memory *memory, int stage, double device_mb, FILE *out, ek_error *err)
{
    const ek_memory_stage *at = &memory->stage[stage];
    int64_t device = device_mb > 0 ? (int64_t)device_mb : USUAL_DEVICE_MB;
    int64_t pool = memory->limit > 0 ? memory->limit / (1 << 20) : device;
    fprintf(out, "Device MOC memory size: %" PRId64 "M\n", device);
    fprintf(out, "MindSpore Used memory size: %" PRId64 "M\n", pool);
    fputs("MindSpore memory base address: 0\n", out);
    fprintf(out, "Used peak memory usage (without fragments): %" PRId64 "M\n", at->used_peak / (1 << 20));
    if (at->actual_peak > 0)
        fprintf(out, "Actual peak memory usage (with fragments): %" PRId64 "M\n", at->actual_peak / (1 << 20));
    return ek__finish(out, err);
}

void ek_memory_log_name(const ek_job *job, int stage, char *name, size_t size)
{
    int64_t ranks = ek_job_devices(job) / job->parallel.pipeline;
    snprintf(name, size, "stage_%d_rank_%" PRId64 "/mindformer.log", stage, stage * ranks);
}

ek_status ek__memory_write_rules(const ek_rules *rules, ek_framework framework, FILE *out, ek_error *err)
{
    fprintf(out, "rules of %s; --rule NAME=VALUE changes one\n\n", ek_framework_name[framework]);
    fprintf(out, "  %-22s %-12s %-11s %s\n", "rule", "value", "basis", "content");
    for (int i = 0; ek_rule_names[i]; i++) {
        ek__rule_value value = ek__rule_value_of(rules, framework, ek_rule_names[i]);
        const char *basis = ek_rule_basis[i];
        fprintf(out, "%s %-22s %-12s %-11s %s", value.changed ? "*" : " ", ek_rule_names[i], value.text,
                value.changed ? "changed" : basis, ek_rule_help[i]);
        if (*ek_rule_alternatives[i])
            fprintf(out, " (tried: %s)", ek_rule_alternatives[i]);
        if (value.changed)
            fprintf(out, " (default %s, %s)", value.usual, basis);
        fputc('\n', out);
    }
    return ek__finish(out, err);
}
