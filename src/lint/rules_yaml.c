/* tbd */
#include "lint/rules.h"

const ek__lint_entry ek__lint_yaml[] = {{.about = {.id = NULL}}};
