#define _GNU_SOURCE
#include "simulation.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// The hooks of Swift's run-time library (stdlib/public/Concurrency, swift_task_enqueueGlobal_hook).
#define SWIFTCC __attribute__((swiftcall))
typedef struct Job Job;
typedef SWIFTCC void (*enqueue_original)(Job *);
typedef SWIFTCC void (*delay_original)(unsigned long long, Job *);
typedef SWIFTCC void (*deadline_original)(long long, long long, long long, long long, int, Job *);
extern SWIFTCC void (*swift_task_enqueueGlobal_hook)(Job *, enqueue_original);
extern SWIFTCC void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long, Job *, delay_original);
extern SWIFTCC void (*swift_task_enqueueGlobalWithDeadline_hook)(
    long long, long long, long long, long long, int, Job *, deadline_original);
SWIFTCC void swift_job_run(Job *job, void *executor, void *implementation);

// A function to call.
typedef struct {
    void (*work)(void *);
    void *context;
} Call;

typedef struct {
    int64_t due;
    uint64_t number;
    Call call;
} Sleeper;

// The real syscall(2), which this file replaces for all other code.
static long kernel(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(result)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
#else
#error "simulations run on x86-64 and 64-bit ARM"
#endif
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_active;
// True on the thread of the simulated world. Threads of libdispatch itself live in real time. Otherwise their timers
// would be due for ever.
static _Thread_local bool is_simulated;
static Call *ready;
static size_t ready_count, ready_room;
static Sleeper *sleepers;
static size_t sleeper_count, sleeper_room;
static uint64_t next_number;
static int64_t boot_time, wall_offset;
static uint64_t random_state;

// What a power cut leaves of a file.
typedef struct {
    uint64_t inode;
    int64_t length;
} Durable;

static Durable *durable;
static size_t durable_count, durable_room;
enum { places = 2 };
// A name that was added, removed or changed in a watched folder since the folder was synced, and how to undo it.
typedef struct {
    // The watched folder that contains it.
    int place;
    // NULL if there was no such name before, or is none after. A file that lost its name is kept in `lost` under
    // `number`.
    char *before, *after;
    uint64_t number;
    bool is_lost;
    // The daemon tried to make the removal durable, and the disk refused. The daemon is not to blame for that.
    bool is_excused;
} NameChange;

static NameChange *changes;
static size_t change_count, change_room;
static int watched[places] = {-1, -1}, lost = -1;
static bool syncs_names;
static uint64_t watched_inode[places], next_lost;
static int failing_error, failing_calls;
static int64_t disk_failed;

static void *grown(void *list, size_t *room, size_t size) {
    *room = *room ? *room * 2 : 64;
    void *larger = realloc(list, *room * size);
    if (!larger) abort();
    return larger;
}

// Without an executor of its own, as on the cooperative pool of Swift's run-time library.
static void run_job(void *job) { swift_job_run(job, NULL, NULL); }

static void add_ready(Call call) {
    if (ready_count == ready_room) ready = grown(ready, &ready_room, sizeof *ready);
    ready[ready_count++] = call;
}

static void add_sleeper(int64_t due, Call call) {
    pthread_mutex_lock(&lock);
    if (sleeper_count == sleeper_room) sleepers = grown(sleepers, &sleeper_room, sizeof *sleepers);
    sleepers[sleeper_count++] = (Sleeper){.due = due, .number = next_number++, .call = call};
    pthread_mutex_unlock(&lock);
}

static SWIFTCC void enqueue(Job *job, enqueue_original original) {
    (void)original;
    pthread_mutex_lock(&lock);
    add_ready((Call){run_job, job});
    pthread_mutex_unlock(&lock);
}

static SWIFTCC void enqueue_after(unsigned long long delay, Job *job, delay_original original) {
    (void)original;
    add_sleeper(boot_time + (int64_t)delay, (Call){run_job, job});
}

static SWIFTCC void enqueue_at(
    long long seconds, long long nanoseconds, long long tolerance, long long tolerance_nanoseconds, int clock,
    Job *job, deadline_original original) {
    (void)tolerance, (void)tolerance_nanoseconds, (void)clock, (void)original;
    add_sleeper(seconds * 1000000000 + nanoseconds, (Call){run_job, job});
}

// A sleep that has an executor ends up here (Swift 6.3).
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *)) {
    if (!is_active) {
        void (*original)(uint64_t, void *, void *, void (*)(void *)) = dlsym(RTLD_NEXT, "dispatch_after_f");
        original(when, queue, context, work);
        return;
    }
    // The two upper bits of a dispatch_time_t name its clock.
    add_sleeper((int64_t)(when & ~(3ULL << 62)), (Call){work, context});
}

void sim_begin(void) {
    swift_task_enqueueGlobal_hook = enqueue;
    swift_task_enqueueGlobalWithDelay_hook = enqueue_after;
    swift_task_enqueueGlobalWithDeadline_hook = enqueue_at;
    is_active = is_simulated = true;
}

static void forget_changes(void);

void sim_reset(uint64_t seed, int64_t boot, int64_t wall) {
    sim_forget_jobs();
    boot_time = boot;
    wall_offset = wall - boot;
    random_state = seed;
    durable_count = 0;
    forget_changes();
    failing_calls = 0;
    disk_failed = -1;
}

size_t sim_ready(void) {
    pthread_mutex_lock(&lock);
    size_t count = ready_count;
    pthread_mutex_unlock(&lock);
    return count;
}

void sim_run(size_t index) {
    pthread_mutex_lock(&lock);
    if (index >= ready_count) abort();
    Call call = ready[index];
    memmove(ready + index, ready + index + 1, (--ready_count - index) * sizeof *ready);
    pthread_mutex_unlock(&lock);
    call.work(call.context);
}

void sim_forget_jobs(void) {
    pthread_mutex_lock(&lock);
    ready_count = sleeper_count = 0;
    pthread_mutex_unlock(&lock);
}

int64_t sim_now(void) { return boot_time; }

static size_t earliest(void) {
    size_t best = 0;
    for (size_t i = 1; i < sleeper_count; i++) {
        const Sleeper *a = sleepers + i, *b = sleepers + best;
        if (a->due < b->due || (a->due == b->due && a->number < b->number)) best = i;
    }
    return best;
}

int64_t sim_next_due(void) {
    pthread_mutex_lock(&lock);
    int64_t due = sleeper_count ? sleepers[earliest()].due : -1;
    pthread_mutex_unlock(&lock);
    return due;
}

void sim_advance(int64_t boot) {
    pthread_mutex_lock(&lock);
    if (boot > boot_time) boot_time = boot;
    while (sleeper_count) {
        const size_t next = earliest();
        if (sleepers[next].due > boot_time) break;
        add_ready(sleepers[next].call);
        sleepers[next] = sleepers[--sleeper_count];
    }
    pthread_mutex_unlock(&lock);
}

void sim_shift_wall(int64_t nanoseconds) { wall_offset += nanoseconds; }

int64_t sim_real_nanoseconds(void) {
    struct timespec now;
    kernel(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// MARK: What the C library would tell. These are found before its own, by every shared library of the process.

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!is_simulated) return (int)kernel(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0);
    const int64_t value = boot_time + (clock == CLOCK_REALTIME ? wall_offset : 0);
    now->tv_sec = value / 1000000000;
    now->tv_nsec = value % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}

// splitmix64.
static uint64_t next_random(void) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void fill(unsigned char *bytes, size_t count) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(next_random() >> 56);
    pthread_mutex_unlock(&lock);
}

// Swift's standard library asks the kernel itself for random bytes. All other calls are passed on.
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && is_simulated) {
        fill((unsigned char *)a[0], (size_t)a[1]);
        return a[1];
    }
    return kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t getrandom(void *bytes, size_t count, unsigned int flags) { return syscall(SYS_getrandom, bytes, count, flags); }

int getentropy(void *bytes, size_t count) { return getrandom(bytes, count, 0) == (ssize_t)count ? 0 : -1; }

// MARK: The disks. Of files their data, of two folders their names; other names are taken to be durable.

void sim_break_disk(int error, int calls) {
    failing_error = error;
    failing_calls = calls;
}

int64_t sim_disk_failed(void) { return disk_failed; }

static Durable *durable_file(uint64_t inode) {
    for (size_t i = durable_count; i-- > 0;)
        if (durable[i].inode == inode) return durable + i;
    return NULL;
}

int64_t sim_durable(uint64_t inode) {
    const Durable *file = durable_file(inode);
    return file ? file->length : 0;
}

static void note_durable(int descriptor, bool is_cut) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
    Durable *file = durable_file(status.st_ino);
    if (!file) {
        if (is_cut) return;
        if (durable_count == durable_room) durable = grown(durable, &durable_room, sizeof *durable);
        file = durable + durable_count++;
        *file = (Durable){.inode = status.st_ino};
    }
    if (!is_cut || file->length > status.st_size) file->length = status.st_size;
}

static bool disk_fails(void) {
    if (!is_simulated || failing_calls <= 0) return false;
    failing_calls--;
    disk_failed = boot_time;
    errno = failing_error;
    return true;
}

static char *copied(const char *text) {
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) abort();
    return copy;
}

static int place_of(int folder) {
    struct stat status;
    if (!is_simulated || folder < 0 || fstat(folder, &status) != 0) return -1;
    for (int i = 0; i < places; i++)
        if (watched[i] >= 0 && status.st_ino == watched_inode[i]) return i;
    return -1;
}

// Returns the watched folder of the name, or -1 for none. Only names below a folder's own descriptor count, as the
// daemon uses them.
static int watched_place(int folder, const char *name) { return strchr(name, '/') ? -1 : place_of(folder); }

static void note_change(int place, const char *before, const char *after, int64_t number) {
    if (change_count == change_room) changes = grown(changes, &change_room, sizeof *changes);
    changes[change_count++] = (NameChange){
        .place = place,
        .before = copied(before), .after = copied(after), .number = (uint64_t)number, .is_lost = number >= 0};
}

static void lost_name(uint64_t number, char text[24]) { snprintf(text, 24, "%llu", (unsigned long long)number); }

// Gives a file that is about to lose its name a second name, from which it can be restored. Returns -1 if there is
// none.
static int64_t keep_lost(int place, const char *name) {
    char text[24];
    lost_name(next_lost, text);
    if (kernel(SYS_linkat, watched[place], (long)name, lost, (long)text, 0, 0) != 0) return -1;
    return (int64_t)next_lost++;
}

static void drop_lost(int64_t number) {
    char text[24];
    if (number < 0) return;
    lost_name((uint64_t)number, text);
    kernel(SYS_unlinkat, lost, (long)text, 0, 0, 0, 0);
}

// A call that changes names has ended. Records its change, or removes the second name if the call failed.
static int noted(int result, int place, const char *before, const char *after, int64_t number) {
    if (result == 0 && place >= 0) {
        note_change(place, before, after, number);
    } else {
        const int code = errno;
        drop_lost(number);
        errno = code;
    }
    return result;
}

static void forget(NameChange *change) {
    if (change->is_lost) drop_lost((int64_t)change->number);
    free(change->before);
    free(change->after);
}

static void forget_changes(void) {
    while (change_count) forget(changes + --change_count);
}

// The names of this folder are durable now. The changes in the other folder stay.
static void forget_changes_of(int place) {
    size_t kept = 0;
    for (size_t i = 0; i < change_count; i++) {
        if (changes[i].place == place)
            forget(changes + i);
        else
            changes[kept++] = changes[i];
    }
    change_count = kept;
}

void sim_watch_names(const char *folder, const char *far, const char *lost_folder, bool syncs) {
    const char *folders[places] = {folder, far};
    struct stat status;
    syncs_names = syncs;
    for (int i = 0; i < places; i++) {
        if (watched[i] >= 0) close(watched[i]);
        watched[i] = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (watched[i] < 0 || fstat(watched[i], &status) != 0) abort();
        watched_inode[i] = status.st_ino;
    }
    if (lost >= 0) close(lost);
    lost = open(lost_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lost < 0) abort();
}

size_t sim_unsynced_names(void) { return change_count; }

void sim_cut_names(size_t kept) {
    while (change_count > kept) {
        NameChange *change = changes + --change_count;
        const int folder = watched[change->place];
        if (change->is_excused)
            drop_lost((int64_t)change->number);
        else if (change->before && change->after)
            kernel(SYS_renameat2, folder, (long)change->after, folder, (long)change->before, 0, 0);
        else if (change->after)
            kernel(SYS_unlinkat, folder, (long)change->after, 0, 0, 0, 0);
        if (change->is_lost && !change->is_excused) {
            char text[24];
            lost_name(change->number, text);
            const char *name = change->after ? change->after : change->before;
            kernel(SYS_renameat2, lost, (long)text, folder, (long)name, 0, 0);
        }
        free(change->before);
        free(change->after);
    }
    forget_changes();
}

static void note_folder(int descriptor, bool is_synced) {
    const int place = change_count ? place_of(descriptor) : -1;
    if (place < 0) return;
    if (is_synced && syncs_names) return forget_changes_of(place);
    if (is_synced) return;
    for (size_t i = 0; i < change_count; i++)
        changes[i].is_excused |= changes[i].place == place && changes[i].is_lost && !changes[i].after;
}

static int synced(long number, int descriptor) {
    if (disk_fails()) {
        const int code = errno;
        note_folder(descriptor, false);
        errno = code;
        return -1;
    }
    const int result = (int)kernel(number, descriptor, 0, 0, 0, 0, 0);
    if (result == 0 && is_simulated) {
        note_durable(descriptor, false);
        note_folder(descriptor, true);
    }
    return result;
}

int fsync(int descriptor) { return synced(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return synced(SYS_fdatasync, descriptor); }

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    if (disk_fails()) return -1;
    return kernel(SYS_pwrite64, descriptor, (long)bytes, (long)count, offset, 0, 0);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite64(descriptor, bytes, count, offset);
}

int ftruncate64(int descriptor, off64_t length) {
    if (disk_fails()) return -1;
    const int result = (int)kernel(SYS_ftruncate, descriptor, length, 0, 0, 0, 0);
    if (result == 0 && is_simulated) note_durable(descriptor, true);
    return result;
}

int ftruncate(int descriptor, off_t length) { return ftruncate64(descriptor, length); }

int renameat2(int from, const char *old, int to, const char *new, unsigned int flags) {
    const int source = watched_place(from, old), place = watched_place(to, new);
    // Each folder is a file system of its own.
    if (source >= 0 && place >= 0 && source != place) {
        errno = EXDEV;
        return -1;
    }
    if (disk_fails()) return -1;
    const int64_t replaced = place >= 0 && !(flags & RENAME_NOREPLACE) ? keep_lost(place, new) : -1;
    const int result = (int)kernel(SYS_renameat2, from, (long)old, to, (long)new, flags, 0);
    return noted(result, source >= 0 ? place : -1, old, new, replaced);
}

int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }

int unlinkat(int folder, const char *name, int flags) {
    const int place = watched_place(folder, name);
    const int64_t number = place >= 0 ? keep_lost(place, name) : -1;
    const int result = (int)kernel(SYS_unlinkat, folder, (long)name, flags, 0, 0, 0);
    return noted(result, number >= 0 ? place : -1, name, NULL, number);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
    if (disk_fails()) return -1;
    const int result = (int)kernel(SYS_linkat, from, (long)old, to, (long)new, flags, 0);
    return noted(result, watched_place(to, new), NULL, new, -1);
}

// A file that is created. Without O_EXCL it may have existed.
int openat64(int folder, const char *name, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const bool makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    const int mode = makes ? va_arg(list, int) : 0;
    va_end(list);
    if (makes && disk_fails()) return -1;
    const int result = (int)kernel(SYS_openat, folder, (long)name, flags, mode, 0, 0);
    const int place = result >= 0 && flags & O_EXCL && flags & O_CREAT ? watched_place(folder, name) : -1;
    if (place >= 0) note_change(place, NULL, name, -1);
    return result;
}

int openat(int folder, const char *name, int flags, ...) __attribute__((alias("openat64")));

int fstatat64(int folder, const char *name, struct stat64 *status, int flags) {
    // Reading works on a full disk.
    if (failing_error == EIO && disk_fails()) return -1;
    return (int)kernel(SYS_newfstatat, folder, (long)name, (long)status, flags, 0, 0);
}

int fstatat(int folder, const char *name, struct stat *status, int flags) __attribute__((alias("fstatat64")));

// The space is only simulated, because zeroing it would take a sixth of a world's time.
int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
    if (!is_simulated) return (int)kernel(SYS_fallocate, descriptor, mode, offset, length, 0, 0);
    if (disk_fails()) return -1;
    struct stat status;
    if (mode != 0 || fstat(descriptor, &status) != 0 || status.st_size >= offset + length) return 0;
    return (int)kernel(SYS_ftruncate, descriptor, offset + length, 0, 0, 0, 0);
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    return fallocate64(descriptor, mode, offset, length);
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
    return fallocate64(descriptor, 0, offset, length) == 0 ? 0 : errno;
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
    return posix_fallocate64(descriptor, offset, length);
}
