/* job_text.h - reading a job from a text, through a file of its own. */
#ifndef TESTS_UNIT_JOB_TEXT_H
#define TESTS_UNIT_JOB_TEXT_H

#include "input.h"

#include <unistd.h>

#include "evenkeel/job.h"

/* What is said is in `s`, the error too, whose file is the text's. */
static inline ek_status read_with(const char *text, size_t size, const ek_job_overrides *overrides, said *s,
                                  ek_job *job)
{
    char path[] = "/tmp/ek_job_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
    ek_error err = {0};
    *s = (said){0};
    const ek_listener listener = {say_warning, s};
    ek_status status = ek_job_read(path, overrides, &listener, job, &err);
    if (status)
        say(s, "", &err);
    if (status == EK_ERR_INPUT && err.file[0])
        assert_string_equal(err.file, path);
    unlink(path);
    return status;
}

#endif
