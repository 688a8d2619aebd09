// A disk in memory that records all writes and flushes in order.
//
//     blocklog FOLDER BYTES LOG
//
// Mounts a file system with the single file FOLDER/disk of BYTES bytes. A loop device is put on top of this file, and
// its flushes arrive as FSYNC. LOG gets a record for each write and each flush before the request is answered. If a
// program that writes to the disk has answered, then the length of LOG covers everything that its answer relies on.
// Uses /dev/fuse directly, one request at a time. Ends when FOLDER is unmounted.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { aWrite = 1, aFlush = 2, largest = 1 << 20, theDisk = 2 };

struct record {
    uint32_t kind, length;
    uint64_t offset;
};

static int device, logFile;
static char *disk;
static uint64_t size;

static void stop(const char *what) {
    perror(what);
    exit(1);
}

static void note(uint32_t kind, uint64_t offset, const void *data, uint32_t length) {
    struct record record = {kind, length, offset};
    struct iovec parts[] = {{&record, sizeof record}, {(void *)data, length}};
    if (writev(logFile, parts, 2) != (ssize_t)(sizeof record + length)) stop("log");
}

static void answer(uint64_t unique, int error, const void *data, size_t length) {
    struct fuse_out_header head = {(uint32_t)(sizeof head + length), -error, unique};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)data, length}};
    // ENOENT: the caller was interrupted.
    if (writev(device, parts, 2) < 0 && errno != ENOENT) stop("answer");
}

static struct fuse_attr attributes(uint64_t node) {
    struct fuse_attr attr = {.ino = node, .nlink = 1, .blksize = 4096};
    attr.mode = node == theDisk ? S_IFREG | 0600 : S_IFDIR | 0700;
    attr.size = node == theDisk ? size : 0;
    attr.blocks = attr.size / 512;
    return attr;
}

static void start(const struct fuse_in_header *head, const struct fuse_init_in *in) {
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION};
    out.max_readahead = in->max_readahead;
    out.flags = in->flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES);
    out.max_write = largest;
    out.max_pages = largest / 4096;
    out.max_background = 16;
    out.congestion_threshold = 12;
    answer(head->unique, 0, &out, sizeof out);
}

static void lookup(const struct fuse_in_header *head, const char *name) {
    if (strcmp(name, "disk") != 0) return answer(head->unique, ENOENT, NULL, 0);
    struct fuse_entry_out out = {.nodeid = theDisk, .entry_valid = 3600, .attr_valid = 3600, .attr = attributes(theDisk)};
    answer(head->unique, 0, &out, sizeof out);
}

static void give(const struct fuse_in_header *head, const struct fuse_read_in *in) {
    uint64_t left = in->offset < size ? size - in->offset : 0;
    answer(head->unique, 0, disk + in->offset, left < in->size ? left : in->size);
}

static void take(const struct fuse_in_header *head, const struct fuse_write_in *in) {
    if (in->offset + in->size > size) return answer(head->unique, ENOSPC, NULL, 0);
    memcpy(disk + in->offset, in + 1, in->size);
    note(aWrite, in->offset, in + 1, in->size);
    struct fuse_write_out out = {.size = in->size};
    answer(head->unique, 0, &out, sizeof out);
}

static void serve(const struct fuse_in_header *head) {
    const void *body = head + 1;
    switch (head->opcode) {
    case FUSE_INIT: return start(head, body);
    case FUSE_LOOKUP: return lookup(head, body);
    case FUSE_GETATTR:
    case FUSE_SETATTR: {
        struct fuse_attr_out out = {.attr_valid = 3600, .attr = attributes(head->nodeid)};
        return answer(head->unique, 0, &out, sizeof out);
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
        struct fuse_open_out out = {.fh = 1};
        return answer(head->unique, 0, &out, sizeof out);
    }
    case FUSE_READ: return give(head, body);
    case FUSE_WRITE: return take(head, body);
    case FUSE_FSYNC:
        note(aFlush, 0, NULL, 0);
        return answer(head->unique, 0, NULL, 0);
    case FUSE_STATFS: {
        struct fuse_statfs_out out = {.st = {.blocks = size / 4096, .bsize = 4096, .frsize = 4096, .namelen = 255}};
        return answer(head->unique, 0, &out, sizeof out);
    }
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_DESTROY: return answer(head->unique, 0, NULL, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;
    default: return answer(head->unique, ENOSYS, NULL, 0);
    }
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    size = strtoull(arguments[2], NULL, 10);
    disk = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (disk == MAP_FAILED) stop("memory");
    logFile = open(arguments[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (logFile < 0 || device < 0) stop("open");
    char options[96];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (mount("blocklog", arguments[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) stop("mount");
    static char request[largest + (64 << 10)] __attribute__((aligned(8)));
    for (;;) {
        ssize_t length = read(device, request, sizeof request);
        if (length < 0 && errno == ENODEV) return 0;
        if (length < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN) stop("read");
        if (length > 0) serve((const struct fuse_in_header *)request);
    }
}
