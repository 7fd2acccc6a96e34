/* Records the places of the program that a run reaches: one byte for each address, in the file $EK_REACHED/PROGRAM,
 * which the runs of one test share. The compiler calls __sanitizer_cov_trace_pc at the start of every basic block
 * (-fsanitize-coverage=trace-pc). Bytes are written straight into the mapped file, so that the places are also recorded
 * when a process is killed or ends with _exit. Program and library must be one file: link the library statically. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *reached;
static uintptr_t base, end;

void __sanitizer_cov_trace_pc(void);

/* The first module is the program itself. */
static int measure_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) && part->p_vaddr + part->p_memsz > end)
            end = part->p_vaddr + part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void map_file(void)
{
    const char *folder = getenv("EK_REACHED");
    char path[4096];
    if (!folder || snprintf(path, sizeof path, "%s/%s", folder, program_invocation_short_name) >= (int)sizeof path)
        return;
    dl_iterate_phdr(measure_program, NULL);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    if (ftruncate(file, (off_t)end) == 0) {
        void *map = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        reached = map == MAP_FAILED ? NULL : map;
    }
    close(file);
}

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t at = (uintptr_t)__builtin_return_address(0) - base;
    if (reached && at < end)
        reached[at] = 1;
}
