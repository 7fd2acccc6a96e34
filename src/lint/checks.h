/* lint/checks.h - checks of rules that look at more than one kind of file. Each is in the source file on
 * that kind of file; src/lint/rules_switches.c puts them together, so that one idea has one id. */
#ifndef EK_LINT_CHECKS_H
#define EK_LINT_CHECKS_H

#include "lint/rules.h"

/* Keys of training YAMLs: rules_yaml.c. */
ek__lint_check ek__lint_yaml_deterministic, ek__lint_yaml_synchronous, ek__lint_yaml_graphs, ek__lint_yaml_full_batch,
    ek__lint_yaml_profile_steps;

/* A switch below a path, "parallel.full_batch": is it on? */
bool ek__lint_is_on_at(const ek__lint_file *file, const char *path);
/* A whole number below a path; `fallback` where there is none. */
int ek__lint_number_at(const ek__lint_file *file, const char *path, int fallback);
/* Devices of the file's job; without a job its data-parallel ranks, a lower bound. */
int64_t ek__lint_count_devices(const ek__lint_file *file);

/* Environment variables that a script or a program sets to a value which the entry's rule names: rules_launch.c. */
ek__lint_check ek__lint_variables;

/* Calls of programs: rules_python.c. The first looks at arguments that the entry's rule names, as do the others. */
ek__lint_check ek__lint_program_switches, ek__lint_program_deterministic, ek__lint_program_synchronous,
    ek__lint_program_profile_steps, ek__lint_program_shard_size;

#endif
