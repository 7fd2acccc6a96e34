/* cli/job_options.h - options that commands about training jobs share: overrides of the file's settings, and devices by
 * name or file. */
#ifndef EK_CLI_JOB_OPTIONS_H
#define EK_CLI_JOB_OPTIONS_H

#include "evenkeel/job.h"

#include "memory.h"
#include "options.h"
#include "warnings.h"

enum { CLI_MAX_RULES = 256 };

/** Rows for a command's table, and further rows of commands that read only a job. */
#define CLI_JOB_OPTIONS(owner, field)     CLI_ROWS(cli_job_rows, cli_job_options, owner, field)
#define CLI_READING_OPTIONS(owner, field) CLI_ROWS(cli_reading_rows, cli_job_options, owner, field)
extern const cli_option cli_job_rows[], cli_reading_rows[];

typedef struct cli_job_options {
    ek_job_overrides overrides;
    const char *rule[CLI_MAX_RULES]; /**< the memory of overrides.rules */
    bool given;                      /**< is there an option of CLI_JOB_OPTIONS on the command line? */
} cli_job_options;

/** No options set. Must not be moved: it points into itself. */
void cli_job_options_init(cli_job_options *out);
/** Takers: "NAME=VALUE" of a rule, into a cli_job_options; and memory in the usual notation, "56000", "58GB", into a
 * double of MB. */
bool cli_take_rule(const cli_option *option, const char *text, void *place);
bool cli_take_memory(const cli_option *option, const char *text, void *place);

/** Did it succeed? Else prints the message, with standard input under its displayed name. */
bool cli_said(const cli_spool *spool, ek_status status, ek_error *err);
/** Read a job, - for standard input, which is kept in the spool; warnings of the reader and of ek_memory_lint(). False
 * after a message. */
bool cli_read_job(const char *source, const ek_job_overrides *overrides, cli_spool *spool, cli_warnings *warnings,
                  ek_job *out);

#endif
