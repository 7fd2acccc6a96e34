/* cli/job_options.h - options that commands about training jobs share: what the command line says instead of the file,
 * and devices by name or file. */
#ifndef EK_CLI_JOB_OPTIONS_H
#define EK_CLI_JOB_OPTIONS_H

#include "evenkeel/evenkeel.h"

#include "memory.h"
#include "options.h"
#include "warnings.h"

enum { CLI_MAX_RULES = 256 };

/** Rows for a command's table of options. */
#define CLI_JOB_OPTIONS                                                                                                \
    {"dp", "N", "data parallel ranks", "the job, instead of what the file says"},                                      \
        {"tp", "N", "tensor parallel ranks (model_parallel)", NULL},                                                   \
        {"pp", "N", "pipeline stages; other stages or chunks than the file's spread the layers evenly", NULL},         \
        {"cp", "N", "context parallel ranks", NULL}, {"ep", "N", "expert parallel ranks", NULL},                       \
        {"vpp", "N", "chunks per stage (pp_interleave_num)", NULL},                                                    \
        {"mb|micro-batches", "N", "micro-batches of a step", NULL},                                                    \
        {"batch", "N", "sequences of a micro-batch", NULL}, {"seq-length", "N", "tokens of a sequence", NULL},         \
        {"num-layers", "N", "decoder layers", NULL},                                                                   \
        {"sequence-parallel", "on|off", "split norms and kept inputs over the tensor parallel ranks", NULL},           \
        {"recompute", "none|full", "of every layer, instead of the file's lists", NULL},                               \
    {                                                                                                                  \
        "schedule", "SCHEDULE", "order of the blocks (`evenkeel balance --list-schedules` names all)", NULL            \
    }

/** Further rows, of commands that read a job alone. */
#define CLI_READING_OPTIONS                                                                                            \
    {"mem|max-memory", "MB", "what the framework may take of a device: MB, or with a unit as 58GB", NULL},             \
    {                                                                                                                  \
        "literal", NULL, "keys that the framework ignores are ignored, also where they look like a slip", NULL         \
    }

typedef struct cli_job_options {
    ek_job_overrides overrides;
    const char *rule[CLI_MAX_RULES]; /**< what overrides.rules points at */
} cli_job_options;

/** Nothing said. Stays where it is: it points into itself. */
void cli_job_options_init(cli_job_options *out);
/** Is it one of CLI_JOB_OPTIONS? */
bool cli_is_job_option(const cli_option *option);
/** Take one of them. False after a message. */
bool cli_take_job_option(cli_job_options *options, const cli_option *option, const char *text);
/** The same of CLI_READING_OPTIONS and of --rule. */
bool cli_is_reading_option(const cli_option *option);
bool cli_take_reading_option(cli_job_options *options, const cli_option *option, const char *text);
/** Take "NAME=VALUE" of a rule. False after a message. */
bool cli_take_rule(cli_job_options *options, const char *text);

/** One of a few words: its number, or -1 after a message. */
int cli_word(const cli_option *option, const char *text, const char *const *known, int n);

/** Did it go well? Else the message, with standard input under the name that people know. */
bool cli_said(const cli_spool *spool, ek_status status, ek_error *err);
/** Read a job, - for standard input, which is kept in the spool; warnings of the reader and of ek_memory_lint(). False
 * after a message. */
bool cli_read_job(const char *source, const ek_job_overrides *overrides, cli_spool *spool, cli_warnings *warnings,
                  ek_job *out);
/** A shipped device by name, or one of a file. @return EK_OK, or what is wrong with the name or the file */
ek_status cli_find_device(const char *name, const ek_listener *listener, ek_device *out, ek_error *err);

#endif
