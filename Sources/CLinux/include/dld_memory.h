#ifndef DLD_MEMORY_H
#define DLD_MEMORY_H

// What keeps the process small: mallopt(3), malloc_trim(3) and madvise(2).

/// Lets all threads share `count` heaps; by default each gets one of its own, and none is ever empty. What is larger
/// than `threshold` bytes has a mapping of its own, and a heap whose end is free for longer than that is cut: by default
/// both grow with what was freed, up to 32 and 64 MiB, and malloc_trim(3) leaves the ends of all heaps but the first.
void dld_limit_heaps(int count, int threshold);

/// Gives what the heaps have free back to the kernel.
void dld_trim_heaps(void);

/// Forgets the pages of code and constants, of the program and of its libraries: those that go on being used come back from the
/// page cache, those of the start do not.
void dld_forget_code(void);

#endif
