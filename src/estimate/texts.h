/* estimate/texts.h - sentences of an estimate. */
#ifndef EK_ESTIMATE_TEXTS_H
#define EK_ESTIMATE_TEXTS_H

#include "evenkeel/estimate.h"

/** Add a sentence; one beyond the room is left out. */
void ek__estimate_say(ek_estimate_texts *texts, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Add the measurements that make the error of an estimate smaller (advice.c). */
void ek__estimate_advise(ek_estimate *estimate);
/** Add the main uncertainties (doubts.c). */
void ek__estimate_doubt(ek_estimate *estimate);

#endif
