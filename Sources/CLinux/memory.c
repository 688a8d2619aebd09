#define _GNU_SOURCE
#include "dld_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

void dld_limit_heaps(int count, int threshold) {
    mallopt(M_ARENA_MAX, count);
    mallopt(M_MMAP_THRESHOLD, threshold);
    mallopt(M_TRIM_THRESHOLD, threshold);
}

void dld_trim_heaps(void) { malloc_trim(0); }

// Segments that are not writable have the same content as the file, because no relocation changes them.
static int forget_segments(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
        const uintptr_t start = ((uintptr_t)info->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        const uintptr_t end = ((uintptr_t)info->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void dld_forget_code(void) { dl_iterate_phdr(forget_segments, NULL); }
