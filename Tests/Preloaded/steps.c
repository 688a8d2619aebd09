// Records what a process does to part files, step by step, or kills it before one of these steps. Preload it:
//
//     LD_PRELOAD=steps.so STEPS_LOG=FILE STEPS_NAME=TEXT STEPS_DEATH=NUMBER dld …
//
// Steps are counted while FILE exists, and each step is a line of it: a part file that is created, written, synced,
// renamed or deleted, a folder or the store's log that is synced, and a write to that log with TEXT in it. A sync is
// recorded after it happened, every other step before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEXT(type, name, ...) \
    static type (*next)(__VA_ARGS__); \
    if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

enum { longest = 2 * PATH_MAX + 64 };
static long steps;

static int isPart(const char *path) { return strstr(path, ".dldpart") != NULL; }

static int isLog(const char *path) {
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-wal") == 0;
}

static void pathOf(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static void pathBelow(int folder, const char *name, char *path) {
    *path = 0;
    if (name[0] != '/' && folder != AT_FDCWD) {
        pathOf(folder, path);
        strncat(path, "/", PATH_MAX - strlen(path) - 1);
    }
    strncat(path, name, PATH_MAX - strlen(path) - 1);
}

// Kills the process if this is the step. Returns the descriptor of FILE, or -1 if the step is not recorded.
static int begin(void) {
    const char *path = getenv("STEPS_LOG"), *death = getenv("STEPS_DEATH");
    int log = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (log < 0) return -1;
    if (__atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST) == (death ? atol(death) : 0))
        for (;;) kill(getpid(), SIGKILL);
    return log;
}

static void note(int log, const char *line) {
    if (log < 0) return;
    int code = errno;
    syscall(SYS_write, log, line, strlen(line));
    syscall(SYS_close, log);
    errno = code;
}

static void noteNow(const char *what, const char *path, long long bytes) {
    char line[longest];
    snprintf(line, sizeof line, "%s %lld %s\n", what, bytes, path);
    int code = errno;
    note(begin(), line);
    errno = code;
}

// MARK: writes

static void writes(int descriptor, const void *data, size_t bytes) {
    char path[PATH_MAX];
    const char *name = getenv("STEPS_NAME");
    pathOf(descriptor, path);
    if (isPart(path)) noteNow("write", path, (long long)bytes);
    if (isLog(path) && name && memmem(data, bytes, name, strlen(name))) noteNow("name", path, 0);
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
    NEXT(ssize_t, "write", int, const void *, size_t);
    writes(descriptor, data, bytes);
    return next(descriptor, data, bytes);
}

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t at) {
    NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    writes(descriptor, data, bytes);
    return next(descriptor, data, bytes, at);
}

ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) { return pwrite64(descriptor, data, bytes, at); }

ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *at, size_t bytes, unsigned flags) {
    NEXT(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    writes(to, "", bytes);
    return next(from, start, to, at, bytes, flags);
}

// MARK: syncs

static int synced(int descriptor, int (*next)(int)) {
    char path[PATH_MAX], line[longest];
    struct stat status;
    pathOf(descriptor, path);
    int isFolder = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
    int log = isPart(path) || isLog(path) || isFolder ? begin() : -1;
    int result = next(descriptor), code = errno;
    snprintf(line, sizeof line, "sync 0 %s\n", path);
    if (result == 0) note(log, line);
    else if (log >= 0) syscall(SYS_close, log);
    errno = code;
    return result;
}

int fsync(int descriptor) {
    NEXT(int, "fsync", int);
    return synced(descriptor, next);
}

int fdatasync(int descriptor) {
    NEXT(int, "fdatasync", int);
    return synced(descriptor, next);
}

// MARK: names

static void changes(const char *what, int folder, const char *name) {
    char path[PATH_MAX];
    struct stat status;
    pathBelow(folder, name, path);
    // A name that does not exist cannot be removed.
    if (isPart(path) && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) noteNow(what, path, 0);
}

int renameat(int from, const char *old, int to, const char *new) {
    NEXT(int, "renameat", int, const char *, int, const char *);
    struct stat a, b;
    // A rename to another file system fails.
    if (fstat(from, &a) == 0 && fstat(to, &b) == 0 && a.st_dev == b.st_dev) changes("rename", from, old);
    return next(from, old, to, new);
}

int unlinkat(int folder, const char *name, int flags) {
    NEXT(int, "unlinkat", int, const char *, int);
    changes("unlink", folder, name);
    return next(folder, name, flags);
}

int openat(int folder, const char *name, int flags, ...) {
    NEXT(int, "openat", int, const char *, int, ...);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    char path[PATH_MAX];
    pathBelow(folder, name, path);
    if (flags & O_CREAT && isPart(path)) noteNow("create", path, 0);
    return next(folder, name, flags, mode);
}

int openat64(int folder, const char *name, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        va_end(list);
    }
    return openat(folder, name, flags, mode);
}
