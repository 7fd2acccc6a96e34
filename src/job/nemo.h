/* job/nemo.h - the keys of NeMo's and Megatron-Bridge's YAML as arguments of Megatron-LM, since both run Megatron
 * Core. */
#ifndef EK_JOB_NEMO_H
#define EK_JOB_NEMO_H

#include "job/key_arguments.h"

extern const ek__key_form ek__nemo_1, ek__nemo_bridge;

#endif
