/* `evenkeel-mpi rehearse`: runs a plan with real processes that wait or compute and exchange messages, and compares
 * measured with predicted times; times the links between the processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/cost.h"
#include "evenkeel/rehearse.h"
#include "evenkeel/uniform.h"

#include "cases.h"
#include "cmd.h"
#include "files.h"
#include "model.h"
#include "rehearse.h"
#include "team.h"
#include "uniform.h"

typedef struct command {
    cli_model model;
    const char *uniform, *payload, *swap, *damage, *links_file, *device, *max_size;
    bool no_payload, links;
    double scale;
    cli_rehearse how;
    int send, compute;
} command;

/* clang-format off */
static const cli_option options[] = {
    CLI_MODEL_OPTIONS(command, model),
    CLI_PIPELINE_OPTIONS(command, model),
    CLI_CLUSTER_OPTIONS(command, model.cluster),
    {"uniform", "TIMES", "equal stages instead of a model and a plan, as for simulate: forward=2,backward=4", "without a model",
     CLI_TEXT(command, uniform),
     .manual = "equal stages instead of a model and a plan ([simulate.md](simulate.md#options))"},
    {"scale", "F", "factor of all times, which are taken as milliseconds ({})", "the rehearsal",
     CLI_DOUBLE(command, scale, 1e-9, 1e9),
     .manual = "factor of all times. A time of the plan is taken as so many milliseconds"},
    {"payload", "SIZE", "bytes of each activation and gradient, as 8MB (KB, MB and GB of 2^10); else from -train", NULL,
     CLI_TEXT(command, payload), .otherwise = "from `-train`",
     .manual = "size of each activation and gradient: bytes, or `8MB`; KB, MB, GB are 2^10, 2^20, 2^30 bytes. By default from the training file of `-train`"},
    {"no-payload", NULL, "messages of 16 bytes, which contain only their number", NULL, CLI_FLAG(command, no_payload)},
    {"compute", "sleep|spin|gemm", "work of a block: nothing, a loop, matrix products ({})", NULL,
     CLI_WORD(command, compute), .otherwise = "sleep",
     .manual = "work of a block during its time: `sleep`, possible for any number of processes on one core; `spin`, a loop that checks the clock; `gemm`, the number of BLAS matrix products that took this time with all processes multiplying"},
    {"send", "nonblocking|rendezvous", "when a send lets its stage go on: at once, or when its receiver is there ({})", NULL,
     CLI_WORD(command, send), .otherwise = "nonblocking",
     .manual = "`nonblocking`: sends return at once, and receives are posted ahead; `rendezvous`: a stage that sends waits "
               "until the receiver has come to its receive, which is posted when the block needs it"},
    {"steps", "N", "steps that are timed, after one that is not ({})", NULL, CLI_INT(command, how.n_steps, 1, 1000)},
    {"watchdog", "SECONDS", "time without progress after which stages report what they wait for ({})", NULL,
     CLI_DOUBLE(command, how.watchdog, 0.05, 86400)},
    {"swap", "STAGE:A,B", "run blocks A and B of a stage in each other's place, to see a wrong order caught", NULL,
     CLI_TEXT(command, swap),
     .manual = "run blocks `A` and `B` (from 0, in the stage's order) in each other's place, to see a wrong order caught"},
    {"damage", "STAGE:BLOCK", "change one bit of a message, to see the error detected", NULL, CLI_TEXT(command, damage),
     .manual = "change one bit of the message of this block (from 0) in the first timed step, to see the error detected"},
    {"links", NULL, "time messages and collectives between the processes; without a PLAN, nothing else", "links",
     CLI_FLAG(command, links),
     .manual = "time messages, all-reduce, all-gather, reduce-scatter and all-to-all, from 1 KB on, within a machine "
               "and across all; without a `PLAN` nothing else is done"},
    {"links-file", "FILE", "write the links as a device file for --device and --cluster (with --device; implies --links)", NULL,
     CLI_OUTPUT(command, links_file),
     .manual = "write the links as a [device file](device-files.md), for `--device` and `--cluster` of other commands; "
               "implies `--links`"},
    {"device", "NAME|FILE", "device with the links to replace in that file; a file describes another one", NULL,
     CLI_TEXT(command, device)},
    {"max-size", "SIZE", "largest message of --links ({})", NULL, CLI_TEXT(command, max_size), .otherwise = "256MB"},
    {"format", "text|json", "report for people, or docs/rehearse.md ({})", "output", CLI_WORD(command, model.format),
     CLI_GIVEN(command, model.format_given), .otherwise = "text",
     .manual = "output format: `text` for people or [the JSON answer](rehearse.md#the-fields)"},
    {"chrome-trace", "FILE", "measured timeline of the step with the median time, as a trace for Perfetto", NULL,
     CLI_OUTPUT(command, model.chrome_trace)},
    CLI_HELP_ROW,
    CLI_END,
};
/* clang-format on */

static const cli_spec spec = {
    .usage = "mpirun -n STAGES evenkeel-mpi rehearse [OPTIONS] PLAN --init FILE\n"
             "       mpirun -n STAGES evenkeel-mpi rehearse [OPTIONS] PLAN --layers FILE\n"
             "       mpirun -n STAGES evenkeel-mpi rehearse [OPTIONS] --schedule NAME -s STAGES --uniform TIMES\n"
             "       mpirun -n PROCESSES evenkeel-mpi rehearse --links [--links-file FILE --device NAME|FILE]",
    .summary =
        "Runs a plan for real, without the framework: one process for each stage (or several stages a process), every\n"
        "block in its order, every activation and gradient a message between its neighbours. Prints measured\n"
        "beside predicted: step, bubble, stages, transfers; names who waits for whom when the order deadlocks.\n"
        "PLAN, model and schedule are those of `simulate`. Options take one dash or two.\n\n"
        "Exit status: 0 done, 1 a deadlock or a wrong message, 2 wrong usage or input.",
    .examples = "examples:\n"
                "  mpirun -n 16 evenkeel-mpi rehearse plan.yaml --init init.yaml -mb 16 --payload 8MB --scale 0.001\n"
                "  mpirun -n 4 evenkeel-mpi rehearse --schedule 1f1b -s 4 -mb 8 --uniform forward=5,backward=10 "
                "--no-payload\n"
                "  mpirun -n 4 evenkeel-mpi rehearse --schedule zb-h1 -s 4 -mb 8 --uniform forward=5,backward=10 "
                "--no-payload --send rendezvous\n"
                "  srun -N 2 -n 16 evenkeel-mpi rehearse --links --links-file cluster.yaml --device A100-80\n",
    .operand = "PLAN",
    .options = options,
};

/* ---- options ---- */

/* "8MB" */
static bool read_size(const char *option, const char *text, double least, double most, double *out)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1}, {"B", 1}, {"KB", 1024}, {"MB", 1048576}, {"GB", 1073741824}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].suffix) == 0 && value * units[i].factor >= least && value * units[i].factor <= most) {
            *out = (double)(size_t)(value * units[i].factor);
            return true;
        }
    cli_error(NULL, "%s must be a size from %g to %g bytes, such as 64KB or 8MB (got '%s')", option, least, most, text);
    return false;
}

enum { LEAST_MESSAGE = 16, MOST_MESSAGE = 1 << 30 };

static bool bytes_of_job(const command *c, double *bytes)
{
    ek_job job;
    if (!cli_model_shapes(&c->model, &job))
        return false;
    job.parallel.n_pieces = c->model.n_pieces;
    *bytes = ek_cost_border_bytes(&job);
    ek_job_clear(&job);
    if (*bytes >= LEAST_MESSAGE && *bytes <= MOST_MESSAGE)
        return true;
    cli_error(NULL, "stages of '%s' send %g bytes; messages have %d to %d: give --payload", c->model.train, *bytes,
              LEAST_MESSAGE, MOST_MESSAGE);
    return false;
}

static bool find_bytes(const command *c, size_t *out)
{
    double bytes = LEAST_MESSAGE;
    if (c->payload && c->no_payload) {
        cli_error(NULL, "--payload and --no-payload exclude each other; leave one out");
        return false;
    }
    if (!c->payload && !c->no_payload && !c->model.train) {
        cli_error(NULL, "the size of messages is not known: give --payload 8MB, --no-payload, or the training file "
                        "with -train FILE");
        return false;
    }
    bool fine = c->payload      ? read_size("--payload", c->payload, LEAST_MESSAGE, MOST_MESSAGE, &bytes)
                : c->no_payload ? true
                                : bytes_of_job(c, &bytes);
    *out = (size_t)bytes;
    return fine;
}

static bool read_numbers(const char *option, const char *shape, const char *text, const char *format, int n, int *a,
                         int *b, int *c)
{
    int end = 0, got = n == 3 ? sscanf(text, format, a, b, c, &end) : sscanf(text, format, a, b, &end);
    if (got == n && end > 0 && text[end] == '\0' && *a >= 0 && *b >= 0)
        return true;
    cli_error(NULL, "%s must be %s, whole numbers from 0 (got '%s')", option, shape, text);
    return false;
}

/* ---- the rehearsal ---- */

/* The rehearsed plan, in process 0. */
typedef struct subject {
    ek_cases *cases; /* of a plan file */
    ek_layers layers;
    ek_uniform_run uniform;
    const ek_timeline *timeline;
    const ek_plan *plan;
    const ek_layers *of_model;
    const char *name;
    ek_rehearsal rehearsal;
    char swapped[256];
} subject;

static void clear_subject(subject *s)
{
    if (s->cases)
        ek_cases_clear(s->cases);
    ek_layers_clear(&s->layers);
    ek_uniform_run_clear(&s->uniform);
    ek_rehearsal_clear(&s->rehearsal);
}

static bool simulate_plan(command *c, const char *plan, subject *s)
{
    static ek_cases cases; /* too large for the stack */
    if (!cli_model_load(&c->model, NULL, &s->layers))
        return false;
    s->cases = &cases;
    if (!cli_cases_add_file(&cases, &c->model, &s->layers, true, plan, &cli_listener))
        return false;
    if (cases.n != 1) {
        cli_error(NULL, "'%s' has %d plans, and one is rehearsed: give a file with that one", plan, cases.n);
        return false;
    }
    s->timeline = &cases.timelines[0];
    s->plan = &cases.plans[0];
    s->of_model = &s->layers;
    s->name = cases.names[0];
    return true;
}

static bool simulate_uniform(command *c, subject *s)
{
    if (!cli_simulate_uniform(&c->model, c->uniform, &s->uniform))
        return false;
    s->timeline = &s->uniform.timeline;
    s->plan = &s->uniform.plan;
    s->of_model = &s->uniform.layers;
    s->name = s->timeline->schedule->name;
    return true;
}

static bool swap(const command *c, subject *s)
{
    int stage, a, b;
    ek_error err;
    ek_rehearsal *r = &s->rehearsal;
    if (!c->swap)
        return true;
    if (!read_numbers("--swap", "STAGE:A,B", c->swap, "%d:%d,%d%n", 3, &stage, &a, &b))
        return false;
    if (ek_rehearsal_swap(r, stage, a, b, &err)) {
        cli_error(NULL, "--swap: %s", err.message);
        return false;
    }
    char first[96], second[96];
    ek_rehearse_block_text(&r->block[r->first[stage] + (size_t)b], first, sizeof first);
    ek_rehearse_block_text(&r->block[r->first[stage] + (size_t)a], second, sizeof second);
    snprintf(s->swapped, sizeof s->swapped, "on stage %d, block %d (%s) and block %d (%s) are swapped", stage, a, first,
             b, second);
    cli_note("not the plan's order: %s", s->swapped);
    return true;
}

static bool check_damage(const command *c, const ek_rehearsal *r)
{
    int stage = c->how.damaged_stage, block = c->how.damaged_block;
    if (!c->damage)
        return true;
    if (stage < r->n_stages && (size_t)block < r->first[stage + 1] - r->first[stage] &&
        r->block[r->first[stage] + (size_t)block].sends != EK_NO_BLOCK)
        return true;
    cli_error(NULL, "--damage: there is no block %d of stage %d that sends anything", block, stage);
    return false;
}

/* Only process 0 reads files. */
static bool make_subject(command *c, const char *plan, int n_processes, subject *s)
{
    size_t bytes;
    ek_error err;
    if (!plan && !c->uniform) {
        cli_error(NULL, "no plan: give a plan file, for example `mpirun -n 16 evenkeel-mpi rehearse plan.yaml --init "
                        "init.yaml --payload 8MB`, or --uniform or --links");
        return false;
    }
    if (plan && c->uniform) {
        cli_error(NULL, "--uniform needs no plan; leave '%s' out, or --uniform", plan);
        return false;
    }
    if (!find_bytes(c, &bytes) || !(plan ? simulate_plan(c, plan, s) : simulate_uniform(c, s)))
        return false;
    if (ek_rehearsal_make(s->timeline, c->scale / 1000, bytes, n_processes, &s->rehearsal, &err)) {
        cli_error(NULL, "%s", err.message);
        return false;
    }
    if (c->how.compute != EK_COMPUTE_SLEEP && n_processes < s->rehearsal.n_stages) {
        cli_error(NULL,
                  "--compute %s needs a process for each of %d stages (%d were started): give --compute sleep, which "
                  "several stages of a process do at once, or start %d",
                  ek_rehearse_compute_name[c->how.compute], s->rehearsal.n_stages, n_processes, s->rehearsal.n_stages);
        return false;
    }
    return swap(c, s) && check_damage(c, &s->rehearsal);
}

/* The timeline as it was measured, in the unit of milliseconds. */
static bool write_trace(const command *c, const subject *s, const ek_rehearse_measured *measured, int shown)
{
    if (!c->model.chrome_trace)
        return true;
    const ek_timeline *t = s->timeline;
    ek_timeline real = *t;
    const ek_rehearse_record *record = measured->record + (size_t)shown * t->n_blocks;
    real.block = malloc(t->n_blocks * sizeof *real.block);
    if (!real.block) {
        cli_error(NULL, "out of memory");
        return false;
    }
    real.step_time = 0;
    for (size_t k = 0; k < t->n_blocks; k++) {
        const ek_rehearse_block *b = &s->rehearsal.block[k]; /* a swapped order's own */
        real.block[k] = t->block[k];
        real.block[k].micro_batch = b->micro_batch;
        real.block[k].chunk = b->chunk;
        real.block[k].kind = b->kind;
        real.block[k].start = record[k].start * 1000;
        real.block[k].end = record[k].end * 1000;
        real.step_time = real.block[k].end > real.step_time ? real.block[k].end : real.step_time;
    }
    const ek_case one = {s->name, s->plan, &real};
    const ek_report report = {.layers = s->of_model,
                              .memory_unit = c->uniform ? "micro-batches" : NULL,
                              .measured = "times measured by a rehearsal, milliseconds; memory simulated",
                              .n_cases = 1,
                              .cases = &one};
    ek_output output = ek_output_of_balance(&report);
    bool fine = cli_save(c->model.chrome_trace, output, "chrome");
    free(real.block);
    return fine;
}

static int report(const command *c, const subject *s, const ek_rehearse_measured *measured, ek_rehearse_result *result)
{
    ek_error err;
    if (ek_rehearse_compare(&s->rehearsal, measured, result, &err) ||
        ek_rehearse_analyse(&s->rehearsal, result, &err)) {
        cli_error(NULL, "%s", err.message);
        return EXIT_WRONG;
    }
    return cli_answer(ek_output_of_rehearsal(result), c->model.format) && write_trace(c, s, measured, result->shown)
               ? EXIT_DONE
               : EXIT_WRONG;
}

static int rehearse(command *c, const char *plan, const cli_rehearser *rehearser)
{
    const ek_team *team = cli_team();
    subject s = {0};
    ek_rehearse_measured measured = {0};
    int code = EXIT_DONE;
    if (team->index == 0)
        code = make_subject(c, plan, team->size, &s) ? EXIT_DONE : EXIT_WRONG;
    code = rehearser->share(code, &s.rehearsal);
    if (code == EXIT_DONE) {
        ek_rehearse_result result = {.send = c->how.send, .compute = c->how.compute, .unit = c->scale / 1000};
        result.stage = calloc((size_t)s.rehearsal.n_stages, sizeof *result.stage);
        if (team->index == 0) {
            result.schedule = s.timeline->schedule->name;
            result.simulated = s.timeline->step_time * result.unit;
            snprintf(result.swapped, sizeof result.swapped, "%s", s.swapped);
        }
        code = rehearser->run(&s.rehearsal, &c->how, &measured, &result);
        if (code == EXIT_DONE && team->index == 0)
            code = report(c, &s, &measured, &result);
        ek_rehearse_result_clear(&result);
    }
    free(measured.record);
    clear_subject(&s);
    return code;
}

/* ---- links ---- */

static ek_status write_device(const void *user, FILE *out, ek_error *err)
{
    static const char *const comments[] = {"Links timed by `evenkeel-mpi rehearse --links` and fitted; the rest is the "
                                           "device's that was given.",
                                           NULL};
    return ek_device_write(user, comments, out, err);
}

static void print_links(const ek_link_time *time, int n)
{
    printf("operation        processes  on a machine        bytes     time (us)        GB/s\n");
    for (int i = 0; i < n; i++)
        printf("%-14s  %10d  %12d  %11.0f  %12.1f  %10.4f\n", ek_collective_name[time[i].what], time[i].n_ranks,
               time[i].per_node, time[i].bytes, time[i].seconds * 1e6, time[i].bytes / time[i].seconds / 1e9);
    puts("time: measured, the slowest process's, median; bytes: the whole message; GB/s: bytes / time");
}

static bool write_links(const command *c, ek_device *device, const ek_link_time *time, int n)
{
    ek_error err;
    if (ek_rehearse_links(time, n, device, &err)) {
        cli_error(NULL, "--links-file: %s", err.message);
        return false;
    }
    return cli_write_file(c->links_file, write_device, device);
}

static bool find_device(const command *c, ek_device *device, bool *owns)
{
    ek_error err;
    if (!c->links_file)
        return true;
    if (!c->device) {
        cli_error(NULL, "--links-file needs the device that the links join: give --device NAME (`evenkeel metrics "
                        "--devices-list` names them) or a file");
        return false;
    }
    if (ek_device_open(c->device, &cli_listener, device, owns, &err) == EK_OK)
        return true;
    cli_error(&err, "%s", err.message);
    return false;
}

static int time_links(command *c, const cli_rehearser *rehearser)
{
    const ek_team *team = cli_team();
    ek_device device = {0};
    bool owns = false;
    ek_link_time *time = NULL;
    ek_rehearsal none = {0};
    int n = 0;
    c->how.largest = 256 << 20;
    /* All processes report the same errors of options; only process 0 reads files. */
    if (c->max_size && !read_size("--max-size", c->max_size, 1024, MOST_MESSAGE, &c->how.largest))
        return EXIT_WRONG;
    int code = team->index > 0 || find_device(c, &device, &owns) ? EXIT_DONE : EXIT_WRONG;
    code = rehearser->share(code, &none);
    ek_rehearsal_clear(&none);
    if (code == EXIT_DONE)
        code = rehearser->time_links(&c->how, &time, &n);
    if (code == EXIT_DONE && team->index == 0) {
        print_links(time, n);
        code = !c->links_file || write_links(c, &device, time, n) ? EXIT_DONE : EXIT_WRONG;
    }
    free(time);
    if (owns)
        ek_device_clear(&device);
    return code;
}

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    command c = {.scale = 1, .how = {.n_steps = 3, .watchdog = 10, .damaged_stage = -1}};
    const cli_rehearser *rehearser = cli_rehearser_of_program();
    const char *plan = NULL;
    int unused;
    cli_model_init(&c.model);
    if (cli_team() && rehearser->meet() != EXIT_DONE)
        return EXIT_WRONG;
    int parsed = cli_parse(&spec, argc, argv, &c, &plan);
    if (parsed != CLI_OK)
        return parsed == CLI_HELP ? EXIT_DONE : EXIT_WRONG;
    if (c.model.list_schedules)
        return cli_print_schedules(&c.model);
    c.how.send = (ek_rehearse_send)c.send;
    c.how.compute = (ek_rehearse_compute)c.compute;
    if (c.damage && !read_numbers("--damage", "STAGE:BLOCK", c.damage, "%d:%d%n", 2, &c.how.damaged_stage,
                                  &c.how.damaged_block, &unused))
        return EXIT_WRONG;
    if (!rehearser || !cli_team()) {
        cli_error(
            NULL,
            "rehearse needs one process for each stage, but only one runs: start it with a launcher and the program "
            "that has MPI, for example `mpirun -n 16 evenkeel-mpi rehearse plan.yaml --init init.yaml --payload 8MB`");
        return EXIT_WRONG;
    }
    c.links = c.links || c.links_file;
    int code = c.links ? time_links(&c, rehearser) : EXIT_DONE;
    return code != EXIT_DONE || (c.links && !plan && !c.uniform) ? code : rehearse(&c, plan, rehearser);
}

const ek_cmd cmd_rehearse = {"rehearse", "run a plan with real processes and messages (evenkeel-mpi)", run, true,
                             CLI_GROUP_PIPELINE};
