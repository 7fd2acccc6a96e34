/* Figures of a checked installation: its lines. */
#include "evenkeel/doctor.h"

#include "figures/results.h"
#include "figures/rows.h"

const char *const ek__doctor_level_name[EK_N_DOCTOR_LEVELS] = {"ok", "note", "problem"};
const char *const *const ek_doctor_level_name = ek__doctor_level_name;

#define EK__T ek_doctor_line
static const ek__member line[] = {
    {"id", TEXT(id), "of the check; each once but `feature`"},
    {"level", WORD(level, ek__doctor_level_name), "`ok`, `note` or `problem`"},
    {"text", TEXT(text), "the finding"},
    {"remedy", TEXT(remedy), "how to mend it; null: nothing to mend"},
};
static const ek__fields lines = {FIELDS(line, "lines[]", NULL)};
#undef EK__T

#define EK__T ek_doctor
GETTER(version, number, 1);
GETTER(of_level, number, it->n_of_level[of->number]);
static const ek__member doctor[] = {
    {"version", GET(COUNT, version), "of this contract, 1; fields may be added without a new number"},
    {"n_threads", COUNT(n_threads), "that work takes unless it is asked to take others"},
    {"counts", GET_BY_WORD(COUNT, of_level, ek__doctor_level_name, EK_N_DOCTOR_LEVELS), "lines of each level"},
    {"lines", ARRAY(n_lines, line, lines), "in the order of the text"},
};
static const ek__fields fields = {FIELDS(doctor, NULL, NULL), .lines = true};
#undef EK__T

const ek__result ek__result_doctor = {"doctor", "doctor.md", &fields, NULL, NULL};
