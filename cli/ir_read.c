/* Reads a graph with a progress bar. */
#include <stdio.h>
#include <string.h>

#include "evenkeel/ir.h"
#include "evenkeel/ir_files.h"
#include "ir.h"
#include "progress.h"

bool cli_ir_read(const char *path, const ek_ir_check_options *options, bool quiet, cli_ir *out)
{
    char chosen[4200];
    cli_progress progress;
    ek_error err;
    *out = (cli_ir){0};
    if (ek_ir_choose_file(path, chosen, sizeof chosen, &cli_notes, &err)) {
        cli_error(&err, "%s", err.message);
        return false;
    }
    const ek_ir_options reading = {cli_progress_show, &progress, NULL};
    cli_progress_begin(&progress);
    ek_status status = ek_ir_read(chosen, &reading, quiet ? NULL : &progress.listener, &out->ir, &err);
    cli_progress_end(&progress);
    if (status == EK_OK)
        status = ek_ir_check(out->ir, options, &out->report, &err);
    if (status == EK_OK)
        return true;
    cli_error(&err, "%s", err.message);
    cli_ir_clear(out);
    return false;
}

void cli_ir_clear(cli_ir *graph)
{
    if (graph->ir) {
        ek_ir_report_clear(&graph->report);
        ek_ir_free(graph->ir);
    }
    *graph = (cli_ir){0};
}
