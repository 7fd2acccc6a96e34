/* Writes the output files of `evenkeel plan`: a picture of the layouts and a page for a browser. */
#include <stdio.h>

#include "evenkeel/layout_report.h"

#include "files.h"
#include "memory.h"
#include "page.h"
#include "plan.h"

static bool write_page(const cli_plan_command *c, cli_plan *f)
{
    ek_error err;
    ek_layout_view view;
    char title[EK_NAME_SIZE + 64];
    const char *name = f->job.name[0] ? f->job.name : "model";
    if (!cli_said(&f->spool, ek_layout_view_of(&f->result, &view, &err), &err))
        return false;
    snprintf(title, sizeof title, "Layouts of %s on %d devices", name, f->result.options.n_devices);
    bool fine = cli_write_page(c->html, title, c->lang, view.run, view.n_runs);
    ek_layout_view_clear(&view);
    return fine;
}

bool cli_plan_pictures(const cli_plan_command *command, cli_plan *found)
{
    if ((command->svg || command->html) && found->result.n_points == 0) {
        cli_note("no layout fits, so there is no picture of any");
        return true;
    }
    const ek_layout_report report = {.result = &found->result};
    return cli_save(command->svg, ek_output_of_layout(&report), "svg") &&
           (!command->html || write_page(command, found));
}
