/* Figures of an overview: what the files are, the job, the layout that was found, the measured run, the commands. */
#include "evenkeel/overview.h"

#include <math.h>

#include "figures/results.h"
#include "figures/rows.h"

/* ---- files ---- */

#define EK__T ek_overview_part
static const ek__member part[] = {
    {"kind", WORD(kind, ek__overview_kind_name),
     "`job`, `model`, `trace`, `log`, `dry-run`, `graph`, `init`, `layers`, `plan`, `device`, "
     "`runs`, `kernels`, `rates`, `links`, `answer`, `page`, `program`, `report` or `other`"},
    {"n_files", COUNT(n_files), "files of this kind"},
    {"bytes", BYTES(bytes), "of all of them"},
    {"path", TEXT(path), "of the first one, by name"},
    {"what", TEXT(what), "the kind in words"},
};
static const ek__fields parts = {FIELDS(part, "parts[]", NULL)};
#undef EK__T

/* ---- the job ---- */

#define EK__T ek_overview_job
CONDITION(has_layout, it->has_layout);
CONDITION(has_limit, it->has_layout && it->limit > 0);
CONDITION(is_remedied, it->n_remedies > 0);
GETTER(margin, number, it->limit - it->peak);
static const ek__member job[] = {
    {"format", TEXT(format), "the kind of training file"},
    {"name", TEXT(name), "of the model"},
    {"framework", WORD(framework, ek__framework_name), "whose rules the figures follow"},
    {"parameters", REAL(parameters), "of the model"},
    {"active_parameters", REAL(active_parameters), "those that a token meets"},
    {"n_layers", COUNT(n_layers), "of the model"},
    {"seq_length", COUNT(seq_length), "tokens of a sequence"},
    {"state_mb", MB(state_mb), "weights, gradients and optimizer states of the whole model"},
    {"n_devices", COUNT(n_devices), "of the file's degrees; null: it has none", KNOWN(has_layout)},
    {"global_batch", COUNT(global_batch), "sequences of a step; null: not known", KNOWN(has_layout)},
    {"data", COUNT(data), "data parallel ranks; null: not known", KNOWN(has_layout)},
    {"tensor", COUNT(tensor), "tensor parallel ranks; null: not known", KNOWN(has_layout)},
    {"context", COUNT(context), "context parallel ranks; null: not known", KNOWN(has_layout)},
    {"expert", COUNT(expert), "expert parallel ranks; null: not known", KNOWN(has_layout)},
    {"pipeline", COUNT(pipeline), "stages; null: not known", KNOWN(has_layout)},
    {"n_chunks", COUNT(n_chunks), "of a stage; null: not known", KNOWN(has_layout)},
    {"device", TEXT(device), "that the figures are of; null: none"},
    {"device_assumed", FLAG(device_assumed), "no device was given"},
    {"fits", FLAG(fits), "the largest peak is within the limit; null: no limit is known", KNOWN(has_limit)},
    {"limit_mb", BYTES_MB(limit), "memory limit of a device; null: not known", KNOWN(has_limit)},
    {"peak_mb", BYTES_MB(peak), "of the fullest stage; null: not known", KNOWN(has_layout)},
    {"margin_mb", GET(BYTES_MB, margin), "the limit less the peak; null: not known", KNOWN(has_limit)},
    {"fullest_stage", COUNT(fullest), "from 0; null: not known", KNOWN(has_layout)},
    {"step_time_s", SECONDS(step_seconds), "of the job on the device; null: not known"},
    {"tokens_per_second_per_device", REAL(tokens_per_second), "null: not known"},
    {"mfu", REAL(mfu), "of 1; null: not known"},
    {"remedies", SHORT_ARRAY(n_remedies, remedy, ek__list_of_texts),
     "the first settings that together make a job fit which does not"},
    {"remedied_peak_mb", BYTES_MB(remedied_peak), "of the fullest stage with all of them; null: there are none",
     KNOWN(is_remedied)},
    {"remedies_fit", FLAG(remedies_fit), "with all of them the job fits; null: there are none", KNOWN(is_remedied)},
};
static const ek__fields jobs = {FIELDS(job, "job", "null: no training file was read"), .lines = true};
#undef EK__T

/* ---- the layout ---- */

#define EK__T ek_overview_layout
CONDITION(is_found, it->found);
static const ek__member layout[] = {
    {"n_devices", COUNT(n_devices), "as `--devices` says"},
    {"global_batch", COUNT(global_batch), "sequences of a step"},
    {"global_batch_assumed", FLAG(batch_assumed), "no global batch was given"},
    {"found", FLAG(found), "a layout fits"},
    {"proved", FLAG(proved), "no layout is better; null: none was found", KNOWN(is_found)},
    {"layout", TEXT(words), "the best one; where none fits the one that needs least"},
    {"limit_mb", BYTES_MB(limit), "memory limit of a device"},
    {"peak_mb", BYTES_MB(peak), "of the fullest stage; where no layout fits the least there is"},
    {"fullest_stage", COUNT(fullest), "from 0; null: none was found", KNOWN(is_found)},
    {"step_time_s", SECONDS(step_seconds), "null: none was found"},
    {"tokens_per_second_per_device", REAL(tokens_per_second), "null: none was found"},
    {"mfu", REAL(mfu), "of 1; null: none was found"},
    {"gap", REAL(gap), "share by which a step could still be shorter; null: none was found", KNOWN(is_found)},
};
static const ek__fields layouts = {FIELDS(layout, "layout", "null: none was looked for"), .lines = true};
#undef EK__T

/* ---- the run ---- */

#define EK__T ek_overview_cause
static const ek__member cause[] = {
    {"title", TEXT(title), "one sentence"},
    {"gain_s", SECONDS(gain_seconds), "of a step, predicted with the change; null: not known"},
    {"gain_share", REAL(gain_share), "of 1; null: not known"},
};
static const ek__fields causes = {FIELDS(cause, "run.causes[]", NULL)};
#undef EK__T
#define EK__T ek_overview_run
static const ek__member run[] = {
    {"n_ranks", COUNT(n_ranks), "with traces"},
    {"producer", WORD(producer, ek__producer_name),
     "that wrote the first rank's traces, as in [trace-json.md](trace-json.md)"},
    {"step_time_s", SECONDS(step_seconds), "of a step; null: not known"},
    {"step_source", TEXT(step_source), "which step it is; null: not known"},
    {"n_bottlenecks", COUNT(n_bottlenecks), "that `evenkeel diagnose` reports"},
    {"causes", ARRAY(n_causes, cause, causes), "the first three of them"},
};
static const ek__fields runs = {FIELDS(run, "run", "null: no measured run was read"), .lines = true};
#undef EK__T

/* ---- commands ---- */

#define EK__T ek_overview_next
CONDITION(is_certain, it->exit_status >= 0 && !it->fill_in);
static const ek__member next[] = {
    {"command", TEXT(command), "for a POSIX shell"},
    {"why", TEXT(why), "its purpose"},
    {"exit_status", COUNT(exit_status), "of the command; null: 0 or 1, which the command finds out", KNOWN(is_certain)},
    {"fill_in", FLAG(fill_in), "words in capitals have to be replaced first"},
};
static const ek__fields nexts = {FIELDS(next, "next[]", NULL)};
#undef EK__T

/* ---- the whole ---- */

#define EK__T ek_overview
GETTER(version, number, 1);
FINDER(job_of, it->job);
FINDER(layout_of, it->layout);
FINDER(run_of, it->run);
static const ek__member overview[] = {
    {"version", GET(COUNT, version), "of this contract, 1; fields may be added without a new number"},
    {"paths", SHORT_ARRAY(n_paths, path, ek__list_of_texts), "as given"},
    {"folder", FLAG(folder), "one of them is a folder"},
    {"sentence", TEXT(sentence), "describes them"},
    {"parts", ARRAY(n_parts, part, parts), "the files by kind"},
    {"job", FOUND(job_of, jobs), "of the first training file"},
    {"layout", FOUND(layout_of, layouts), "the best one for `--devices`, as far as a search of seconds finds it"},
    {"run", FOUND(run_of, runs), "the measured run"},
    {"notes", SHORT_ARRAY(n_notes, note, ek__list_of_texts), "assumptions and omissions"},
    {"next", ARRAY(n_next, next, nexts), "commands to type next"},
};
static const ek__fields fields = {FIELDS(overview, NULL, NULL), .lines = true};
#undef EK__T

const ek__result ek__result_overview = {"overview", "overview.md", &fields, NULL, NULL};
