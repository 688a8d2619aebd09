#ifndef DLD_DISK_H
#define DLD_DISK_H

#include <stdint.h>
#include <sys/types.h>

// Calls on files that Glibc's module lacks. -1 and errno on failure.

/// Reserves blocks without changing the size: fallocate(2) with FALLOC_FL_KEEP_SIZE.
int dld_reserve(int fd, int64_t offset, int64_t length);

/// Bytes of the file system that anybody may use, INT64_MAX where it does not say (statvfs(3)): what is kept for root
/// (tune2fs(8), -m) is kept for the system, not for transfers of root, and some kernels keep it from root too.
int64_t dld_free_space(int fd);

/// Bytes of the whole file system; INT64_MAX where it does not say.
int64_t dld_total_space(int fd);

/// Whether the file system writes a changed page to another place, as btrfs does: there a mapped file (mmap(2)) needs room
/// each time it is written, and a full disk answers with SIGBUS, whatever fallocate(2) reserved.
int dld_copies_on_write(int fd);

/// Whether syncfs(2) tells of a failed write to any file since `fd` was opened (Linux 5.8), on a file system that is
/// known to note it and to flush the disk's own memory. Not FUSE, whose server hears nothing of it.
int dld_reports_whole_syncs(int fd);

/// Whether a hole of a file is what nobody wrote (lseek(2), SEEK_HOLE): there zeros that were written are data. Elsewhere
/// they may not be (ZFS compresses them to nothing), or it is a server that says what is a hole.
int dld_keeps_zeros(int fd);

/// Where the first hole at or behind `offset` is, INT64_MAX where there is none before the end or the file system does not
/// tell. Reserved room that was not written is one. Moves the file's position.
int64_t dld_first_hole(int fd, int64_t offset);

/// renameat2(2) with RENAME_NOREPLACE: EEXIST where the new name is taken, EINVAL where the file system cannot.
int dld_rename_noreplace(int old_folder, const char *old_name, int new_folder, const char *new_name);

/// Gives an open file without a name (O_TMPFILE) a name: EEXIST where that is taken (linkat(2)).
int dld_link_open_file(int fd, int folder, const char *name);

/// openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS: EXDEV or ELOOP where the path leads out.
int dld_open_beneath(int folder, const char *path, uint64_t flags, uint64_t mode);

/// copy_file_range(2): at `from_offset` and `to_offset`, which it does not move.
ssize_t dld_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t length);

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: has written pages go to the disk and does not wait for them.
void dld_start_writing(int fd, int64_t offset, int64_t count);

/// O_TMPFILE, O_PATH and O_NOFOLLOW, which need _GNU_SOURCE.
extern const int DLD_O_TMPFILE;
extern const int DLD_O_PATH;

#endif
