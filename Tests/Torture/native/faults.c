// Counts the calls of a process on its files, and kills it or makes a call fail at one of them. Preload it:
//
//     LD_PRELOAD=faults.so TORTURE_CONTROL=FILE dld …
//
// FILE is mapped as `struct control` below, which torture/control.py reads and writes while the process runs. All calls
// of the process count that change a regular file or a folder, or make such a change durable. This includes calls of
// SQLite and libcurl, which are shared libraries, and calls through syscall(2). Writes to mapped memory are no calls.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { aWrite = 1, aSync = 2, aName = 4, anUnlink = 8, aTruncation = 16, anAttribute = 32, aCreation = 64, aRead = 128 };
enum place { theLog = 1, theDatabase = 2, theStateFolder = 4, elsewhere = 8 };
enum how { never, before, within, after };
enum plant { lostLog = 1, earlyName = 2, noUnlink = 4, noSync = 8, noLogSync = 16, lostWrite = 32, hiddenFailure = 64,
             leakedMemory = 128, leakedDescriptors = 256 };
enum { noted = 1 << 14, width = 96 };

struct control {
    uint64_t calls, killAt;            // calls so far; the number of the call to die at, from 1
    uint32_t how, plants;              // enum how; a set of enum plant
    uint64_t matched, failFrom, failCount;  // calls that the next two match so far; the numbers among these that fail
    uint32_t failKinds, failPlaces;    // sets of enum kind and enum place
    int32_t failError;                 // errno
    uint32_t dead;
    uint64_t failed;                   // calls that failed so far
    char early[128];                   // earlyName: the final name
    char notes[noted][width];          // what each call was
};

static long raw(long number, ...);
static struct control unmapped;
static struct control *control = &unmapped;
static char stateFolder[PATH_MAX], lastLog[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TORTURE_CONTROL"), *state = getenv("TORTURE_STATE");
    if (state) snprintf(stateFolder, sizeof stateFolder, "%s/", state);
    int file = path ? (int)raw(SYS_open, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) control = mapped;
    close(file);
}

// The next definition of NAME, which is libc's.
#define NEXT(type, name, ...) \
    static type (*next)(__VA_ARGS__); \
    if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int endsWith(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum place placeOf(const char *path) {
    if (endsWith(path, "-wal")) return theLog;
    if (endsWith(path, ".sqlite")) return theDatabase;
    return *stateFolder && strncmp(path, stateFolder, strlen(stateFolder)) == 0 ? theStateFolder : elsewhere;
}

// Returns false if the descriptor is no file of the product: a socket, a pipe, a terminal, a file in /proc, or its log
// output.
static int pathOf(int descriptor, char *path) {
    struct stat status;
    *path = 0;
    if (descriptor >= 0 && descriptor <= 2) return 0;
    if (fstat(descriptor, &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 && strncmp(path, "/dev/", 5) != 0;
}

static void pathBelow(int folder, const char *name, char *path) {
    *path = 0;
    if (name[0] != '/' && folder != AT_FDCWD && pathOf(folder, path)) strncat(path, "/", PATH_MAX - strlen(path) - 1);
    strncat(path, name, PATH_MAX - strlen(path) - 1);
}

static void die(void) {
    __atomic_store_n(&control->dead, 1, __ATOMIC_SEQ_CST);
    if (control->plants & lostLog && *lastLog) {
        int file = (int)raw(SYS_open, lastLog, O_RDWR | O_CLOEXEC);
        struct stat status;
        if (file >= 0 && fstat(file, &status) == 0) raw(SYS_ftruncate, file, status.st_size / 2);
    }
    for (;;) raw(SYS_kill, getpid(), SIGKILL);
}

struct call {
    enum kind kind;
    enum place place;
    uint64_t number;  // 0: not counted
    int error;        // the errno to fail with
};

static int isDue(struct call *call) {
    if (!(control->failKinds & call->kind) || !(control->failPlaces & call->place)) return 0;
    uint64_t number = __atomic_add_fetch(&control->matched, 1, __ATOMIC_SEQ_CST);
    if (number < control->failFrom || number - control->failFrom >= control->failCount) return 0;
    __atomic_add_fetch(&control->failed, 1, __ATOMIC_SEQ_CST);
    return 1;
}

// Leaks some resources of the process: 4 KiB at each call, and a descriptor at every twentieth call.
static void leak(void) {
    static uint64_t turns;
    if (control->plants & leakedMemory) memset(malloc(4096), 1, 4096);
    if (control->plants & leakedDescriptors && __atomic_add_fetch(&turns, 1, __ATOMIC_SEQ_CST) % 20 == 0)
        raw(SYS_open, "/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct call enter(const char *what, enum kind kind, const char *path, long long at, long long bytes) {
    struct call call = {kind, placeOf(path), 0, 0};
    if (call.place == theLog && kind == aWrite && !*lastLog) snprintf(lastLog, sizeof lastLog, "%s", path);
    if (isDue(&call)) call.error = control->failError;
    if (kind == aRead) return call;
    leak();
    call.number = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
    const char *slash = strrchr(path, '/');
    if (call.number <= noted)
        snprintf(control->notes[call.number - 1], width, "%s %.48s %lld+%lld%s", what, slash ? slash + 1 : path, at, bytes,
                 call.error ? " fails" : "");
    if (call.number == control->killAt && control->how == before) die();
    return call;
}

static void leave(struct call *call) {
    if (call->number && call->number == control->killAt && (control->how == after || control->how == within)) die();
}

static int isCut(struct call *call) { return call->number && call->number == control->killAt && control->how == within; }
static int isPlanted(enum plant plant) { return (control->plants & plant) != 0; }

// Runs `action` as a counted call on a descriptor. Calls on anything but files pass through.
#define ON_DESCRIPTOR(what, kind, descriptor, at, bytes, action) \
    do { \
        char path[PATH_MAX]; \
        if (!pathOf(descriptor, path)) return action; \
        struct call call = enter(what, kind, path, at, bytes); \
        if (call.error && !isPlanted(hiddenFailure)) { errno = call.error; return -1; } \
        __typeof__(action) result = action; \
        int code = errno; \
        leave(&call); \
        errno = code; \
        return result; \
    } while (0)

#define ON_PATH(what, kind, folder, name, action) \
    do { \
        char path[PATH_MAX]; \
        pathBelow(folder, name, path); \
        struct call call = enter(what, kind, path, 0, 0); \
        if (call.error) { errno = call.error; return -1; } \
        __typeof__(action) result = action; \
        int code = errno; \
        leave(&call); \
        errno = code; \
        return result; \
    } while (0)

// MARK: what was written and not flushed

// A flush that fails has lost the bytes that it was to write. The pages count as clean from then on, and no later call
// reports the loss. To make it visible, such ranges are filled with zeros when a flush is made to fail.
enum { ranges = 4096 };

static struct range {
    dev_t device;
    ino_t inode;
    off64_t at;
    size_t bytes;
} unflushed[ranges];
static int held;
static char isTaken;

static void take(void) { while (__atomic_test_and_set(&isTaken, __ATOMIC_ACQUIRE)) usleep(10); }
static void leaveIt(void) { __atomic_clear(&isTaken, __ATOMIC_RELEASE); }

static void dirtied(int descriptor, off64_t at, size_t bytes) {
    struct stat status;
    if (control == &unmapped || at < 0 || fstat(descriptor, &status) != 0) return;
    take();
    if (held < ranges) unflushed[held++] = (struct range){status.st_dev, status.st_ino, at, bytes};
    leaveIt();
}

// `all`: the whole file system was flushed. `lost`: the flush failed. Affects only files that are known through this
// descriptor.
static void flushed(int descriptor, int all, int lost) {
    static const char zeros[1 << 16];
    struct stat status;
    if (control == &unmapped || fstat(descriptor, &status) != 0) return;
    take();
    int kept = 0;
    for (int index = 0; index < held; index++) {
        struct range range = unflushed[index];
        if (range.device != status.st_dev || (!all && range.inode != status.st_ino)) {
            unflushed[kept++] = range;
        } else if (lost && range.inode == status.st_ino) {
            for (size_t done = 0; done < range.bytes; done += sizeof zeros) {
                size_t part = range.bytes - done < sizeof zeros ? range.bytes - done : sizeof zeros;
                raw(SYS_pwrite64, descriptor, zeros, part, range.at + (off64_t)done);
            }
        }
    }
    held = kept;
    leaveIt();
}

// MARK: writes

// Writes zeros in place of the data, because the daemon itself would notice a file that is too short or has holes.
static ssize_t writeZeros(int descriptor, size_t bytes, off64_t at) {
    static const char zeros[1 << 16];
    size_t count = bytes < sizeof zeros ? bytes : sizeof zeros;
    return at < 0 ? raw(SYS_write, descriptor, zeros, count) : raw(SYS_pwrite64, descriptor, zeros, count, at);
}

static ssize_t planted(const char *path, int descriptor, size_t bytes, off64_t at) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (name[0] != '.' || !endsWith(name, ".dldpart")) return 0;
    if (isPlanted(earlyName) && strncmp(name + 1, control->early, strlen(control->early)) == 0) {
        char from[PATH_MAX], to[PATH_MAX + 256];
        snprintf(from, sizeof from, "/proc/self/fd/%d", descriptor);
        snprintf(to, sizeof to, "%.*s/%s", (int)(name - path - 1), path, control->early);
        raw(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
    }
    return isPlanted(lostWrite) ? writeZeros(descriptor, bytes, at) : 0;
}

static ssize_t written(const char *what, int descriptor, const void *data, size_t bytes, off64_t at) {
    char path[PATH_MAX];
    int isFile = pathOf(descriptor, path);
    struct call call = {0};
    size_t count = bytes;
    if (isFile) {
        call = enter(what, aWrite, path, at, (long long)bytes);
        if (call.error) {
            errno = call.error;
            return isPlanted(hiddenFailure) ? (ssize_t)bytes : -1;
        }
        if (control->plants) {
            ssize_t done = planted(path, descriptor, bytes, at);
            if (done) return done;
        }
        if (isCut(&call)) count = bytes / 2;
    }
    ssize_t result = at < 0 ? raw(SYS_write, descriptor, data, count) : raw(SYS_pwrite64, descriptor, data, count, at);
    int code = errno;
    if (isFile && result > 0) dirtied(descriptor, at, (size_t)result);
    if (isFile) leave(&call);
    errno = code;
    return result;
}

ssize_t write(int descriptor, const void *data, size_t bytes) { return written("write", descriptor, data, bytes, -1); }
ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) { return written("pwrite", descriptor, data, bytes, at); }
ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t at) { return written("pwrite", descriptor, data, bytes, at); }

static long long sum(const struct iovec *pieces, int count) {
    long long bytes = 0;
    for (int index = 0; index < count; index++) bytes += (long long)pieces[index].iov_len;
    return bytes;
}

ssize_t writev(int descriptor, const struct iovec *pieces, int count) {
    ON_DESCRIPTOR("writev", aWrite, descriptor, -1, sum(pieces, count), raw(SYS_writev, descriptor, pieces, count));
}

ssize_t pwritev(int descriptor, const struct iovec *pieces, int count, off_t at) {
    NEXT(ssize_t, "pwritev", int, const struct iovec *, int, off_t);
    ON_DESCRIPTOR("pwritev", aWrite, descriptor, at, sum(pieces, count), next(descriptor, pieces, count, at));
}

ssize_t pwritev64(int descriptor, const struct iovec *pieces, int count, off64_t at) {
    NEXT(ssize_t, "pwritev64", int, const struct iovec *, int, off64_t);
    ON_DESCRIPTOR("pwritev", aWrite, descriptor, at, sum(pieces, count), next(descriptor, pieces, count, at));
}

ssize_t copy_file_range(int from, off64_t *start, int to, off64_t *at, size_t bytes, unsigned flags) {
    NEXT(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    ON_DESCRIPTOR("copy_file_range", aWrite, to, at ? *at : -1, (long long)bytes, next(from, start, to, at, bytes, flags));
}

// MARK: syncs

static int synced(const char *what, int descriptor, long number) {
    char path[PATH_MAX];
    if (!pathOf(descriptor, path)) return (int)raw(number, descriptor);
    struct call call = enter(what, aSync, path, 0, 0);
    int isDropped = isPlanted(noSync) || (isPlanted(noLogSync) && call.place == theLog);
    int result = call.error || isDropped ? 0 : (int)raw(number, descriptor), code = errno;
    if (!isDropped) flushed(descriptor, number == SYS_syncfs, call.error != 0);
    if (call.error && !isPlanted(hiddenFailure)) {
        result = -1;
        code = call.error;
    }
    leave(&call);
    errno = code;
    return result;
}

int fsync(int descriptor) { return synced("fsync", descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return synced("fdatasync", descriptor, SYS_fdatasync); }
int syncfs(int descriptor) { return synced("syncfs", descriptor, SYS_syncfs); }

int sync_file_range(int descriptor, off64_t at, off64_t bytes, unsigned flags) {
    if (isPlanted(noSync)) return 0;
    ON_DESCRIPTOR("sync_file_range", aSync, descriptor, at, bytes,
                  (int)raw(SYS_sync_file_range, descriptor, at, bytes, flags));
}

int msync(void *place, size_t bytes, int flags) {
    struct call call = enter("msync", aSync, "mapped", 0, (long long)bytes);
    int result = (int)raw(SYS_msync, place, bytes, flags), code = errno;
    leave(&call);
    errno = code;
    return result;
}

// MARK: names

int rename(const char *from, const char *to) {
    NEXT(int, "rename", const char *, const char *);
    ON_PATH("rename", aName, AT_FDCWD, to, next(from, to));
}

int renameat(int fromFolder, const char *from, int toFolder, const char *to) {
    NEXT(int, "renameat", int, const char *, int, const char *);
    ON_PATH("renameat", aName, toFolder, to, next(fromFolder, from, toFolder, to));
}

int renameat2(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags) {
    NEXT(int, "renameat2", int, const char *, int, const char *, unsigned);
    ON_PATH("renameat2", aName, toFolder, to, next(fromFolder, from, toFolder, to, flags));
}

int link(const char *from, const char *to) {
    NEXT(int, "link", const char *, const char *);
    ON_PATH("link", aName, AT_FDCWD, to, next(from, to));
}

int linkat(int fromFolder, const char *from, int toFolder, const char *to, int flags) {
    NEXT(int, "linkat", int, const char *, int, const char *, int);
    ON_PATH("linkat", aName, toFolder, to, next(fromFolder, from, toFolder, to, flags));
}

static int isKept(const char *name) { return isPlanted(noUnlink) && endsWith(name, ".dldpart"); }

int unlink(const char *name) {
    NEXT(int, "unlink", const char *);
    ON_PATH("unlink", anUnlink, AT_FDCWD, name, isKept(name) ? 0 : next(name));
}

int unlinkat(int folder, const char *name, int flags) {
    NEXT(int, "unlinkat", int, const char *, int);
    ON_PATH("unlinkat", anUnlink, folder, name, isKept(name) ? 0 : next(folder, name, flags));
}

int rmdir(const char *name) {
    NEXT(int, "rmdir", const char *);
    ON_PATH("rmdir", anUnlink, AT_FDCWD, name, next(name));
}

int mkdir(const char *name, mode_t mode) {
    NEXT(int, "mkdir", const char *, mode_t);
    ON_PATH("mkdir", aCreation, AT_FDCWD, name, next(name, mode));
}

int mkdirat(int folder, const char *name, mode_t mode) {
    NEXT(int, "mkdirat", int, const char *, mode_t);
    ON_PATH("mkdirat", aCreation, folder, name, next(folder, name, mode));
}

// After a simulated power loss the kernel has not really rebooted. TORTURE_BOOT replaces its boot id.
static int opened(int folder, const char *name, int flags, mode_t mode) {
    const char *boot = getenv("TORTURE_BOOT");
    if (boot && strcmp(name, "/proc/sys/kernel/random/boot_id") == 0) name = boot;
    if (!(flags & (O_CREAT | O_TRUNC)) && (flags & O_TMPFILE) != O_TMPFILE)
        return (int)raw(SYS_openat, folder, name, flags, mode);
    ON_PATH("open", aCreation, folder, name, (int)raw(SYS_openat, folder, name, flags, mode));
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list list; \
        va_start(list, flags); \
        mode = va_arg(list, mode_t); \
        va_end(list); \
    }

int open(const char *name, int flags, ...) { MODE(flags) return opened(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return opened(AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE(flags) return opened(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE(flags) return opened(folder, name, flags, mode); }

// MARK: lengths and attributes

int ftruncate(int descriptor, off_t length) {
    ON_DESCRIPTOR("ftruncate", aTruncation, descriptor, length, 0, (int)raw(SYS_ftruncate, descriptor, length));
}

int ftruncate64(int descriptor, off64_t length) {
    ON_DESCRIPTOR("ftruncate", aTruncation, descriptor, length, 0, (int)raw(SYS_ftruncate, descriptor, length));
}

int fallocate(int descriptor, int mode, off_t at, off_t bytes) {
    ON_DESCRIPTOR("fallocate", aTruncation, descriptor, at, bytes, (int)raw(SYS_fallocate, descriptor, mode, at, bytes));
}

// Returns the error itself.
int posix_fallocate(int descriptor, off_t at, off_t bytes) {
    NEXT(int, "posix_fallocate", int, off_t, off_t);
    char path[PATH_MAX];
    if (!pathOf(descriptor, path)) return next(descriptor, at, bytes);
    struct call call = enter("posix_fallocate", aTruncation, path, at, bytes);
    int result = call.error ? call.error : next(descriptor, at, bytes);
    leave(&call);
    return result;
}

int setxattr(const char *name, const char *attribute, const void *value, size_t bytes, int flags) {
    NEXT(int, "setxattr", const char *, const char *, const void *, size_t, int);
    ON_PATH("setxattr", anAttribute, AT_FDCWD, name, next(name, attribute, value, bytes, flags));
}

int lsetxattr(const char *name, const char *attribute, const void *value, size_t bytes, int flags) {
    NEXT(int, "lsetxattr", const char *, const char *, const void *, size_t, int);
    ON_PATH("lsetxattr", anAttribute, AT_FDCWD, name, next(name, attribute, value, bytes, flags));
}

int fsetxattr(int descriptor, const char *attribute, const void *value, size_t bytes, int flags) {
    NEXT(int, "fsetxattr", int, const char *, const void *, size_t, int);
    ON_DESCRIPTOR("fsetxattr", anAttribute, descriptor, 0, (long long)bytes, next(descriptor, attribute, value, bytes, flags));
}

int fremovexattr(int descriptor, const char *attribute) {
    NEXT(int, "fremovexattr", int, const char *);
    ON_DESCRIPTOR("fremovexattr", anAttribute, descriptor, 0, 0, next(descriptor, attribute));
}

// MARK: reads, which can fail only

static ssize_t taken(int descriptor, void *data, size_t bytes, off64_t at) {
    if (control->failKinds & aRead) {
        char path[PATH_MAX];
        if (pathOf(descriptor, path)) {
            struct call call = enter("read", aRead, path, at, (long long)bytes);
            if (call.error) {
                errno = call.error;
                return -1;
            }
        }
    }
    return at < 0 ? raw(SYS_read, descriptor, data, bytes) : raw(SYS_pread64, descriptor, data, bytes, at);
}

ssize_t read(int descriptor, void *data, size_t bytes) { return taken(descriptor, data, bytes, -1); }
ssize_t pread(int descriptor, void *data, size_t bytes, off_t at) { return taken(descriptor, data, bytes, at); }
ssize_t pread64(int descriptor, void *data, size_t bytes, off64_t at) { return taken(descriptor, data, bytes, at); }

// MARK: the rest

static long raw(long number, ...) {
    NEXT(long, "syscall", long, long, long, long, long, long, long);
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    return next(number, a, b, c, d, e, f);
}

// For calls by number: only calls that change something are counted.
static enum kind kindOf(long number, long third) {
    switch (number) {
    case SYS_openat2: return *(const uint64_t *)third & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? aCreation : 0;
    case SYS_pwritev2: case SYS_pwrite64: case SYS_write: return aWrite;
    case SYS_fsync: case SYS_fdatasync: case SYS_syncfs: return aSync;
    case SYS_renameat2: case SYS_linkat: return aName;
    case SYS_unlinkat: return anUnlink;
    case SYS_ftruncate: case SYS_fallocate: return aTruncation;
    default: return 0;
    }
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    enum kind kind = kindOf(number, c);
    if (!kind) return raw(number, a, b, c, d, e, f);
    char what[32];
    snprintf(what, sizeof what, "syscall %ld", number);
    int isNamed = kind == aCreation || kind == anUnlink;
    if (isNamed) ON_PATH(what, kind, (int)a, (const char *)b, raw(number, a, b, c, d, e, f));
    ON_DESCRIPTOR(what, kind, (int)a, 0, 0, raw(number, a, b, c, d, e, f));
}
