/* A checked installation for people: a line a check, remedies below those that need one, and a verdict. */
#include "base/page.h"
#include "evenkeel/doctor.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { LEVEL = 9, ID = 12 };

static const char *const color_of[EK_N_DOCTOR_LEVELS] = {"\033[32m", "\033[33m", "\033[31m"};
static const char plain[] = "\033[0m";

ek_status ek__doctor_write_text(const ek_doctor *doctor, bool color, FILE *out, ek_error *err)
{
    for (int i = 0; i < doctor->n_lines; i++) {
        const ek_doctor_line *line = &doctor->line[i];
        ek__color(color, color_of[line->level], out);
        ek__print_cell(ek_doctor_level_name[line->level], LEVEL, out);
        ek__color(color, plain, out);
        ek__print_cell(line->id, ID, out);
        ek__print_words(line->text, LEVEL + ID, LEVEL + ID, EK__PAGE_WIDTH, out);
        fputc('\n', out);
        if (line->remedy) {
            fprintf(out, "%*s", LEVEL + ID, "");
            ek__print_words("-> ", LEVEL + ID, LEVEL + ID, EK__PAGE_WIDTH, out);
            fputc(' ', out);
            ek__print_words(line->remedy, LEVEL + ID + 3, LEVEL + ID + 3, EK__PAGE_WIDTH, out);
            fputc('\n', out);
        }
    }
    int problems = doctor->n_of_level[EK_DOCTOR_PROBLEM], notes = doctor->n_of_level[EK_DOCTOR_NOTE];
    if (problems > 0)
        fprintf(out, "\n%d problem%s: something that is needed is broken\n", problems, problems == 1 ? "" : "s");
    else
        fprintf(out, "\nEvenkeel works; %d note%s\n", notes, notes == 1 ? "" : "s");
    return ek__finish(out, err);
}
