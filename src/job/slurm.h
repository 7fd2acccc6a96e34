/* job/slurm.h - reads Slurm's options in the comments of a batch script as the variables that Slurm then sets. */
#ifndef EK_JOB_SLURM_H
#define EK_JOB_SLURM_H

#include <stddef.h>

enum { EK__SLURM_MAX_SETTINGS = 8 };

typedef struct ek__slurm_setting {
    const char *variable; /* SLURM_NNODES, ... */
    char value[16];       /* an integer */
    size_t at;            /* of the number in the comment */
} ek__slurm_setting;

/* The settings of #SBATCH for the number of nodes and devices in a comment, from its '#' to before the line's end.
 * @return their number, 0 for any other comment. O(n). */
int ek__slurm_settings(const char *comment, size_t n, ek__slurm_setting out[EK__SLURM_MAX_SETTINGS]);

#endif
