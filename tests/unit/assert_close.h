/* assert_close.h - compares doubles and shows both; cmocka compares only floats. */
#ifndef EK_TEST_NEAR_H
#define EK_TEST_NEAR_H

#include <math.h>

#define assert_close_to(got, expected, tolerance)                                                                      \
    do {                                                                                                               \
        double got_ = (got), expected_ = (expected);                                                                   \
        if (!(fabs(got_ - expected_) <= (tolerance)))                                                                  \
            fail_msg("%s is %.10g, expected %.10g", #got, got_, expected_);                                            \
    } while (0)

#endif
