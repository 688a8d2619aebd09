// Gives a process no descriptor for the list of its threads. Preload it:
//
//     LD_PRELOAD=exhausted.so dld …
//
// All other files are opened as usual. Once a second the run-time library looks at its threads, and this is what
// happens if no descriptor is left at that moment.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

int open(const char *path, int flags, ...) {
    static int (*next)(const char *, int, ...);
    if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int thread = 0, end = 0;
    if (sscanf(path, "/proc/%d/stat%n", &thread, &end) == 1 && end > 0 && path[end] == 0) {
        errno = EMFILE;
        return -1;
    }
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return next(path, flags, mode);
}
