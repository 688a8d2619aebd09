// A preloaded library that counts a process's flushes and makes each one slower, as on a disk without a cache.
//
//     LD_PRELOAD=slowsync.so SLOWSYNC_COUNTERS=FILE SLOWSYNC_MICROSECONDS=2000 dld …
//
// FILE is mapped. It has six 64-bit counters, which the process's parent reads while the process runs. A flush of a database's
// write-ahead log counts as a commit.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum counter { ofFile, ofFolder, ofLog, ofDatabase, ofRange, ofFileSystem, counters };

static uint64_t unmapped[counters];
static uint64_t *counts = unmapped;
static struct timespec delay;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SLOWSYNC_COUNTERS"), *microseconds = getenv("SLOWSYNC_MICROSECONDS");
    long value = microseconds ? atol(microseconds) : 0;
    delay.tv_sec = value / 1000000;
    delay.tv_nsec = value % 1000000 * 1000;
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *place = mmap(NULL, sizeof unmapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (place != MAP_FAILED) counts = place;
    close(file);
}

static int endsWith(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum counter kind(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) return ofFolder;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return ofFile;
    path[length] = 0;
    if (endsWith(path, "-wal")) return ofLog;
    return endsWith(path, ".sqlite") || endsWith(path, ".db") || endsWith(path, "-journal") ? ofDatabase : ofFile;
}

static void note(enum counter counter) {
    __atomic_add_fetch(&counts[counter], 1, __ATOMIC_RELAXED);
    if (delay.tv_sec || delay.tv_nsec) nanosleep(&delay, NULL);
}

int fsync(int descriptor) {
    static int (*next)(int);
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    note(kind(descriptor));
    return next(descriptor);
}

int fdatasync(int descriptor) {
    static int (*next)(int);
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    note(kind(descriptor));
    return next(descriptor);
}

int syncfs(int descriptor) {
    static int (*next)(int);
    if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
    note(ofFileSystem);
    return next(descriptor);
}

// Starts or awaits the write-back of a range. It makes nothing durable, so it is counted but not made slower.
int sync_file_range(int descriptor, off64_t offset, off64_t bytes, unsigned flags) {
    static int (*next)(int, off64_t, off64_t, unsigned);
    if (!next) next = (int (*)(int, off64_t, off64_t, unsigned))dlsym(RTLD_NEXT, "sync_file_range");
    __atomic_add_fetch(&counts[ofRange], 1, __ATOMIC_RELAXED);
    return next(descriptor, offset, bytes, flags);
}
