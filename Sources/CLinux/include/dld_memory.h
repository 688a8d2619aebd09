#ifndef DLD_MEMORY_H
#define DLD_MEMORY_H

// Calls that keep the process small: mallopt(3), malloc_trim(3) and madvise(2).

/// Lets all threads share `count` heaps. By default each thread gets its own heap, and none is ever empty.
///
/// An allocation of more than `threshold` bytes gets its own mapping, and a heap with more free bytes at its end is shortened.
/// By default both thresholds grow with freed blocks, up to 32 and 64 MiB, and malloc_trim(3) does not shorten any heap except
/// the first.
void dld_limit_heaps(int count, int threshold);

/// Gives free memory of the heaps back to the kernel.
void dld_trim_heaps(void);

/// Releases the pages of code and constants, of the program and its libraries. Pages that are still used come back from the page
/// cache. Pages that only the start needed do not.
void dld_forget_code(void);

#endif
