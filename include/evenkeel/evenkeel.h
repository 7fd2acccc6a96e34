/* evenkeel/evenkeel.h - everything public. */
#ifndef EVENKEEL_EVENKEEL_H
#define EVENKEEL_EVENKEEL_H

#include "evenkeel/balance.h"
#include "evenkeel/collect.h"
#include "evenkeel/cost.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/dryrun.h"
#include "evenkeel/emit.h"
#include "evenkeel/error.h"
#include "evenkeel/guide.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/ir_report.h"
#include "evenkeel/job.h"
#include "evenkeel/layers.h"
#include "evenkeel/lint.h"
#include "evenkeel/memory.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/metrics.h"
#include "evenkeel/metrics_report.h"
#include "evenkeel/plan.h"
#include "evenkeel/quick.h"
#include "evenkeel/report.h"
#include "evenkeel/schedule.h"
#include "evenkeel/sequence.h"
#include "evenkeel/simulate.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_edit.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/train.h"
#include "evenkeel/train_log.h"
#include "evenkeel/uniform.h"

#define EK_VERSION "0.1.0"

#endif
