/* The checks of an installation, one after the other. */
#include "evenkeel/doctor.h"

#include "base/error.h"
#include "base/threads.h"
#include "doctor/checks.h"

ek_status ek_doctor_check(const ek_doctor_options *options, ek_doctor *out, ek_error *err)
{
    static const ek_doctor_options none = {.program = NULL};
    static void (*const check[])(ek__doctor * d) = {
#define EK__CHECK(name) ek__check_##name,
        EK__CHECK_LIST(EK__CHECK)
#undef EK__CHECK
    };
    ek_doctor made = {.n_threads = ek__thread_count(0), .pool = ek__pool_new()};
    if (!made.pool)
        return ek__no_memory(err);
    ek__doctor d = {.out = &made, .options = options ? options : &none, .root = ""};
    for (size_t i = 0; i < sizeof check / sizeof *check; i++)
        check[i](&d);
    if (d.no_memory) {
        ek__pool_free(made.pool);
        return ek__no_memory(err);
    }
    *out = made;
    return EK_OK;
}

void ek_doctor_clear(ek_doctor *doctor)
{
    ek__pool_free(doctor->pool);
    *doctor = (ek_doctor){.n_lines = 0};
}
