#define _GNU_SOURCE
#include "dld_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

const int DLD_O_TMPFILE = O_TMPFILE;
const int DLD_O_PATH = O_PATH;

int dld_reserve(int fd, int64_t offset, int64_t length) {
    int result;
    do result = fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, length);
    while (result != 0 && errno == EINTR);
    return result;
}

int dld_rename_noreplace(int old_folder, const char *old_name, int new_folder, const char *new_name) {
    return renameat2(old_folder, old_name, new_folder, new_name, RENAME_NOREPLACE);
}

int dld_open_beneath(int folder, const char *path, uint64_t flags, uint64_t mode) {
    struct open_how how = {
        .flags = flags | O_CLOEXEC, .mode = mode, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

ssize_t dld_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t length) {
    loff_t in = from_offset, out = to_offset;
    return copy_file_range(from, &in, to, &out, length, 0);
}
