/* Measures traces of short events that are all kept: the cost of reading them beside that of finding them. Calls of the
 * runtime alternate with the kernels that they launch, about 190 bytes each, within steps that the host marks. */
#include <inttypes.h>
#include <stdio.h>

#include "bench.h"
#include "copies.h"

enum { N_NAMES = 500, STEP_KERNELS = 2000, KERNEL_NS = 9123 };

/* A call of the runtime and its kernel. */
static void write_pair(FILE *file, int64_t i)
{
    const int64_t begin = INT64_C(3743411230047485) + i * KERNEL_NS, end = begin + KERNEL_NS / 2;
    fprintf(file,
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 542, \"tid\": 639, "
            "\"ts\": %" PRId64 ".%03d, \"dur\": 3.250, \"args\": {\"External id\": %" PRId64 ", \"cbid\": 211, "
            "\"correlation\": %" PRId64 "}},\n",
            begin / 1000, (int)(begin % 1000), i + 1, i + 1);
    fprintf(file,
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"elementwise_kernel_%03d\", \"pid\": 2, \"tid\": 7, "
            "\"ts\": %" PRId64 ".%03d, \"dur\": 4.500, \"args\": {\"External id\": %" PRId64 ", \"stream\": 7, "
            "\"correlation\": %" PRId64 "}},\n",
            (int)(i * 7 % N_NAMES), end / 1000, (int)(end % 1000), i + 1, i + 1);
}

static void write_step(FILE *file, int64_t step)
{
    const int64_t begin = INT64_C(3743411230047485) + step * STEP_KERNELS * KERNEL_NS;
    fprintf(file,
            "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%" PRId64 "\", \"pid\": 542, "
            "\"tid\": 639, \"ts\": %" PRId64 ".%03d, \"dur\": %d, \"args\": {}},\n",
            step, begin / 1000, (int)(begin % 1000), STEP_KERNELS * KERNEL_NS / 1000 - 1);
}

void bench_dense_make(const char *path, int64_t bytes)
{
    FILE *file = fopen(path, "w");
    int64_t i = 0;
    if (!file)
        bench_give_up("cannot write %s", path);
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n", file);
    for (; ftell(file) < bytes; i++) {
        if (i % STEP_KERNELS == 0)
            write_step(file, i / STEP_KERNELS);
        write_pair(file, i);
    }
    fputs("{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 542, \"args\": {\"name\": \"python\"}}]}\n", file);
    if (fclose(file) != 0)
        bench_give_up("cannot write %s", path);
}
