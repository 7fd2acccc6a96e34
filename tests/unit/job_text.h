/* job_text.h - reads a job from a text, through a temporary file. */
#ifndef TESTS_UNIT_JOB_TEXT_H
#define TESTS_UNIT_JOB_TEXT_H

#include "input.h"

#include <unistd.h>

#include "evenkeel/job.h"

/* Messages are in `s`, also the error, with the text's file name. */
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
