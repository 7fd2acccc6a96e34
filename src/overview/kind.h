/* overview/kind.h - a file's kind, and the name of a training file's format. */
#ifndef EK_OVERVIEW_KIND_H
#define EK_OVERVIEW_KIND_H

#include "evenkeel/overview.h"

/** ek_overview_kind_of(). @param what  out: static, of a training file "a training YAML of MindFormers"; else NULL */
ek_overview_kind ek__overview_recognise(const char *path, const char **what);

#endif
