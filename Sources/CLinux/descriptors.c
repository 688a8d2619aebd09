#define _GNU_SOURCE
#include "dld_descriptors.h"

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

#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)

void dld_hold_back_descriptor(void) {}

#else

// Of the process; -1 before it is held.
static int held = -1;
static atomic_bool is_lent;

void dld_hold_back_descriptor(void) {
    if (held < 0) held = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

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
