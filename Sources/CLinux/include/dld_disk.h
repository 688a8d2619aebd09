#ifndef DLD_DISK_H
#define DLD_DISK_H

#include <stdint.h>
#include <sys/types.h>

// Calls for files that the Glibc module lacks. They return -1 and set errno on failure.

/// Reserves blocks without changing the size: fallocate(2) with FALLOC_FL_KEEP_SIZE.
int dld_reserve(int fd, int64_t offset, int64_t length);

/// The free bytes that any user may use (statvfs(3)); INT64_MAX if that is unknown. Space that is reserved for root (tune2fs(8),
/// -m) does not count, even for root's transfers: it is meant for the system, and some kernels do not give it to root either.
int64_t dld_free_space(int fd);

/// The size of the file system in bytes; INT64_MAX if that is unknown.
int64_t dld_total_space(int fd);

/// The bytes that a name may have in the file system; 0 if that is unknown. `windows` tells whether its names must be such as
/// Windows accepts: FAT, exFAT and NTFS.
int dld_longest_name(int fd, int *windows);

/// Whether the file system copies on write, as btrfs does. On such a file system each write to a mapped file (mmap(2)) needs
/// space, and on a full disk it raises SIGBUS, even if fallocate(2) had reserved the space.
int dld_copies_on_write(int fd);

/// Whether syncfs(2) reports a failed write to any file since `fd` was opened (Linux 5.8), on a file system that is known to
/// note failures and to flush the disk's cache. Not true for FUSE, because its server is not told of the sync.
int dld_reports_whole_syncs(int fd);

/// Whether a hole (lseek(2), SEEK_HOLE) proves that nobody wrote there, because the file system keeps written zeros as data. On
/// others, written zeros may become a hole (ZFS compresses them to nothing), or a server reports the holes.
int dld_keeps_zeros(int fd);

/// The first hole at or after `offset`; INT64_MAX if there is none before the end, or if the file system does not report holes.
/// Reserved space that was not written is a hole. This call moves the file's position.
int64_t dld_first_hole(int fd, int64_t offset);

/// renameat2(2) with RENAME_NOREPLACE: EEXIST if the new name is taken, EINVAL if the file system does not support it.
int dld_rename_noreplace(int old_folder, const char *old_name, int new_folder, const char *new_name);

/// Gives an open file without a name (O_TMPFILE) a name (linkat(2)): EEXIST if the name is taken.
int dld_link_open_file(int fd, int folder, const char *name);

/// openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS: EXDEV or ELOOP if the path leads out of the folder.
int dld_open_beneath(int folder, const char *path, uint64_t flags, uint64_t mode);

/// copy_file_range(2) at `from_offset` and `to_offset`. The files' positions do not move.
ssize_t dld_copy_range(int from, int64_t from_offset, int to, int64_t to_offset, size_t length);

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: starts writing dirty pages to the disk, and does not wait for them.
void dld_start_writing(int fd, int64_t offset, int64_t count);

/// O_TMPFILE, O_PATH and O_NOFOLLOW, which need _GNU_SOURCE.
extern const int DLD_O_TMPFILE;
extern const int DLD_O_PATH;

#endif
