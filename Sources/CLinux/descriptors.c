// Holds a descriptor back for libdispatch, whose threads Swift's tasks run on: where work waits, it looks once a second at
// what its threads do (/proc/TID/stat), and where there is no descriptor for that it ends the process
// (_dispatch_workq_count_runnable_workers in its workqueue.c). It is lent this one then, reads nothing from it, and takes
// the thread for one that waits. Not under sanitizers, which have such functions of their own.
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

// Of the process; -1 before it is held.
static int held = -1;
static atomic_bool is_lent;

// Before main: the first look at the threads may come with the first of them.
__attribute__((constructor)) static void hold_back(void) { held = open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Whether it is /proc/NUMBER/stat.
static int is_of_thread(const char *path) {
    if (strncmp(path, "/proc/", 6) != 0) return 0;
    const char *rest = path + 6;
    size_t digits = strspn(rest, "0123456789");
    return digits > 0 && strcmp(rest + digits, "/stat") == 0;
}

// In place of the C library's for this whole process: whoever calls these finds the program's before any library's. All they
// do is what the next ones do, be they the C library's or preloaded.

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
        // Nobody else knows it.
        atomic_store(&is_lent, 0);
        return 0;
    }
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "close");
    return next(descriptor);
}

#endif
