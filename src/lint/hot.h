/* lint/hot.h - which places of a program run in every training step. */
#ifndef EK_LINT_HOT_H
#define EK_LINT_HOT_H

#include "lint/python.h"

typedef enum ek__hot {
    EK__HOT_NOT,
    EK__HOT_FORWARD, /* in construct or forward of a class */
    EK__HOT_STEP,    /* in a loop that trains, not under a condition that lets only some steps through */
} ek__hot;

/* How the code of a block runs. O(depth). */
ek__hot ek__python_hot(const ek__python *python, int block);
/* Does the call train a step: optimizer.step(), loss.backward(), train_step(...)? */
bool ek__python_trains(const ek__python *python, const ek__python_call *call);
/* Is the program for MindSpore, by its imports or by a construct()? O(imports). */
bool ek__python_is_mindspore(const ek__python *python);
/* Does a program for MindSpore run dynamic graphs, by mint, MindSpeed-Core-MS or PyNative mode in it? False where it
 * names graph mode too. O(tokens). */
bool ek__python_is_dynamic(const ek__python *python);
/* The name that a token is; "" when it is none. */
const char *ek__python_name(const ek__python *python, int token);

#endif
