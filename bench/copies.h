/* bench/copies.h - traces of any size, made of copies of a real one. */
#ifndef EK_BENCH_COPIES_H
#define EK_BENCH_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_slot_kind { SLOT_TIME, SLOT_ID, SLOT_STEP } bench_slot_kind;

/** A number of the original that each copy counts on. */
typedef struct bench_slot {
    size_t begin, end;
    bench_slot_kind kind;
    int64_t value; /**< nanoseconds; id; step */
} bench_slot;

typedef struct bench_copies {
    char *text; /**< between '[' and ']' */
    size_t size;
    size_t n_slots;
    bench_slot *slot;
    int64_t period; /**< from one copy to the next, nanoseconds */
} bench_copies;

/** Take the original (torch_npu, level 1), below EK_SHARED. false: it is not there. {0} to begin with. */
bool bench_copies_take(bench_copies *o);
void bench_copies_clear(bench_copies *o);
/** As many copies as fit so many bytes, one at least; how many there are. */
int64_t bench_copies_write(const bench_copies *o, int fd, int64_t bytes);
void bench_copies_make(const bench_copies *o, const char *path, int64_t bytes);
/** bench_apart() on a pipe of that name, into which so many bytes are written at the same time. */
void bench_copies_pipe(const bench_copies *o, const char *path, int64_t bytes,
                       void (*work)(const char *path, void *result), void *result, size_t size);
/** Has a folder's disk room for the index of a trace of so many bytes, and for the runs of its sort? Says so when not.
 */
bool bench_index_has_room(const char *folder, int64_t bytes);
/** Bytes of a file; 0 when it is not there. */
double bench_file_bytes(const char *path);

#endif
