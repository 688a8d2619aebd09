#define _GNU_SOURCE
#include "dld_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

const int DLD_O_TMPFILE = O_TMPFILE;
const int DLD_O_PATH = O_PATH;

int dld_reserve(int fd, int64_t offset, int64_t length) {
    int result;
    do result = fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, length);
    while (result != 0 && errno == EINTR);
    return result;
}

int64_t dld_free_space(int fd) {
    struct statvfs status;
    int64_t bytes;
    if (fstatvfs(fd, &status) != 0) return -1;
    if (status.f_blocks == 0) return INT64_MAX;
    return __builtin_mul_overflow(status.f_bavail, status.f_frsize, &bytes) ? INT64_MAX : bytes;
}

int64_t dld_total_space(int fd) {
    struct statvfs status;
    int64_t bytes;
    if (fstatvfs(fd, &status) != 0 || status.f_blocks == 0) return INT64_MAX;
    return __builtin_mul_overflow(status.f_blocks, status.f_frsize, &bytes) ? INT64_MAX : bytes;
}

int dld_longest_name(int fd, int *windows) {
    struct statfs status;
    *windows = 0;
    if (fstatfs(fd, &status) != 0) return 0;
    switch ((unsigned long)status.f_type & 0xFFFFFFFF) {
    case 0x4D44:      // FAT
    case 0x2011BAB0:  // exFAT
    case 0x5346544E:  // NTFS
    case 0x7366746E:  // NTFS (ntfs3)
        *windows = 1;
        break;
    }
    return (int)status.f_namelen;
}

int dld_copies_on_write(int fd) {
    struct statfs status;
    if (fstatfs(fd, &status) != 0) return 0;
    switch ((unsigned long)status.f_type & 0xFFFFFFFF) {
    case 0x9123683E:  // btrfs
    case 0xCA451A4E:  // bcachefs
    case 0x2FC12FC1:  // ZFS
    case 0x3434:      // NILFS
        return 1;
    default:
        return 0;
    }
}

int dld_reports_whole_syncs(int fd) {
    struct utsname system;
    int major = 0, minor = 0;
    if (uname(&system) != 0 || sscanf(system.release, "%d.%d", &major, &minor) != 2) return 0;
    struct statfs status;
    if (major < 5 || (major == 5 && minor < 8) || fstatfs(fd, &status) != 0) return 0;
    switch ((unsigned long)status.f_type) {
    case 0xEF53:      // ext2, ext3, ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // btrfs
        return 1;
    default:
        return 0;
    }
}

int dld_keeps_zeros(int fd) {
    struct statfs status;
    if (fstatfs(fd, &status) != 0) return 0;
    switch ((unsigned long)status.f_type & 0xFFFFFFFF) {
    case 0xEF53:      // ext2, ext3, ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // btrfs
    case 0xF2F52010:  // F2FS
    case 0x01021994:  // tmpfs
        return 1;
    default:
        return 0;
    }
}

int64_t dld_first_hole(int fd, int64_t offset) {
    struct stat status;
    if (fstat(fd, &status) != 0 || offset >= status.st_size) return INT64_MAX;
    off_t hole = lseek(fd, offset, SEEK_HOLE);
    // The kernel reports the end of a file as a hole.
    return hole < 0 || hole >= status.st_size ? INT64_MAX : hole;
}

int dld_rename_noreplace(int old_folder, const char *old_name, int new_folder, const char *new_name) {
    return renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE);
}

int dld_link_open_file(int fd, int folder, const char *name) {
    // Since Linux 6.10 a process may do this with files that it opened itself. Before that, it needs a capability.
    if (linkat(fd, "", folder, name, AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT && errno != EPERM) return -1;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}

int dld_open_beneath(int folder, const char *path, uint64_t flags, uint64_t mode) {
    struct open_how how = {
        .flags = flags | O_CLOEXEC, .mode = mode, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

void dld_start_writing(int fd, int64_t offset, int64_t count) {
    sync_file_range(fd, offset, count, SYNC_FILE_RANGE_WRITE);
}

ssize_t dld_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t length) {
    loff_t in = from_offset, out = to_offset;
    return copy_file_range(from, &in, to, &out, length, 0);
}
