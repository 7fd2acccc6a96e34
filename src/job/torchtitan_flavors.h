/* job/torchtitan_flavors.h - shapes of torchtitan's models by name and flavor. */
#ifndef EK_JOB_TORCHTITAN_FLAVORS_H
#define EK_JOB_TORCHTITAN_FLAVORS_H

#include <stddef.h>

#include "evenkeel/job.h"

/* Put the shapes of a model's flavor into *out. A flavor that differs in the attention's kernel or mask only
 * ("8B_flex", "17bx16e_irope") has the shapes of the flavor in its name. @return false: unknown; *out is untouched.
 */
bool ek__torchtitan_flavor(const char *model, const char *flavor, ek_job_model *out);

/* The known flavors of a model, separated by commas; the names of all models if there is no such model. */
void ek__torchtitan_flavors(const char *model, char *out, size_t size);

#endif
