// Reserves a descriptor for libdispatch, on whose threads Swift's tasks run. If work waits, libdispatch checks the state of its
// threads once a second (/proc/TID/stat). If no descriptor is free for that, it ends the process
// (_dispatch_workq_count_runnable_workers in its workqueue.c). In that case it gets this descriptor, reads nothing from it, and
// assumes that the thread waits. This is left out under sanitizers, which replace the same functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

// The reserved descriptor of the process; -1 before it is open.
static int held = -1;
static atomic_bool is_lent;

// Runs before main, because libdispatch may check its threads as soon as there is one.
__attribute__((constructor)) static void hold_back(void) { held = open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Whether the path is /proc/NUMBER/stat.
static int is_of_thread(const char *path) {
    if (strncmp(path, "/proc/", 6) != 0) return 0;
    const char *rest = path + 6;
    size_t digits = strspn(rest, "0123456789");
    return digits > 0 && strcmp(rest + digits, "/stat") == 0;
}

// These functions replace those of the C library in the whole process, because the symbols of the program take precedence over
// those of libraries. Otherwise they only call the next function of that name, in the C library or in a preloaded library.

int open(const char *path, int flags, ...) {
    static int (*_Atomic next)(const char *, int, ...);
    if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    mode_t mode = 0;
    if (flags & O_CREAT || (flags & __O_TMPFILE) == __O_TMPFILE) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    int descriptor = next(path, flags, mode);
    if (descriptor >= 0 || held < 0 || (errno != EMFILE && errno != ENFILE)) return descriptor;
    if (!is_of_thread(path) || atomic_exchange(&is_lent, 1)) return -1;
    return held;
}

int close(int descriptor) {
    static int (*_Atomic next)(int);
    if (descriptor >= 0 && descriptor == held) {
        // Only libdispatch, to which it was lent, can close it.
        atomic_store(&is_lent, 0);
        return 0;
    }
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "close");
    return next(descriptor);
}

#endif
