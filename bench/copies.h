/* bench/copies.h - traces of any size, made of copies of a real one. */
#ifndef EK_BENCH_COPIES_H
#define EK_BENCH_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_slot_kind { SLOT_TIME, SLOT_ID, SLOT_STEP, SLOT_LINK } bench_slot_kind;

/** A number of the original that each copy increases. */
typedef struct bench_slot {
    size_t begin, end;
    bench_slot_kind kind;
    int64_t value; /**< nanoseconds; id; step; correlation */
} bench_slot;

typedef struct bench_copies {
    char *text; /**< between '[' and ']' */
    size_t size;
    size_t n_slots;
    bench_slot *slot;
    int64_t period; /**< from one copy to the next, nanoseconds */
} bench_copies;

/** Real traces (torch_npu, level 1; PyTorch on a GPU with shapes), below reference/traces of EK_SHARED. */
#define BENCH_ASCEND "ascend/msinsight/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"
#define BENCH_KINETO "kineto/tracelens/mi300/resnet_act_checkpoint.json.gz"
/** Take an original. false: it is not there. {0} to begin with. */
bool bench_copies_take(bench_copies *o, const char *trace);
void bench_copies_clear(bench_copies *o);
/** Make as many copies as fit the given bytes, at least one; returns their number. */
int64_t bench_copies_write(const bench_copies *o, int fd, int64_t bytes);
void bench_copies_make(const bench_copies *o, const char *path, int64_t bytes);
/** Events of 190 bytes, all of which are kept, up to the given bytes. */
void bench_dense_make(const char *path, int64_t bytes);
/** bench_apart() on a pipe of that name, into which the given number of bytes are written at the same time. */
void bench_copies_pipe(const bench_copies *o, const char *path, int64_t bytes,
                       void (*work)(const char *path, void *result), void *result, size_t size);
/** Has a folder's disk room for the index of a trace of this size, and for the runs of its sort? Prints a note when
 * not.
 */
bool bench_index_has_room(const char *folder, int64_t bytes);
/** Bytes of a file; 0 when it is not there. */
double bench_file_bytes(const char *path);

#endif
