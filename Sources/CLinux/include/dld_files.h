// What file delivery and the monitors need of Linux beyond the Glibc module: syncfs(2), what
// posix_spawn has that glibc hides without _GNU_SOURCE, and a route netlink(7) socket.
#ifndef DLD_FILES_H
#define DLD_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>

int dld_syncfs(int descriptor);
// An empty file in memory, without a name in any folder (memfd_create(2)), closed on exec; -1 and errno on failure.
int dld_memory_file(void);
// preadv2(2) with RWF_NOWAIT: reads what the page cache holds and never waits for a disk. -1 with EAGAIN where it holds
// nothing of it, with EOPNOTSUPP where the file system cannot tell.
ssize_t dld_read_cached(int descriptor, void *buffer, size_t count, int64_t offset);
// Device, inode, size and modification time of an open file as the kernel has them in memory (statx(2) with
// AT_STATX_DONT_SYNC): asks no server. -1 and errno on failure.
int dld_stat_cached(int descriptor, struct stat *status);
// When an open file was made, in nanoseconds since 1970 (statx(2), STATX_BTIME); -1 where the file system does not tell.
int64_t dld_birth_nanoseconds(int descriptor);
// Sets the modification time only; -1 and errno on failure.
int dld_set_modification_time(int descriptor, int64_t seconds);
short dld_spawn_setsid(void);
// The child closes all descriptors from `least` on, whoever opened them without O_CLOEXEC; where glibc is older than 2.34
// it keeps them. An errno on failure.
int dld_spawn_close_from(posix_spawn_file_actions_t *actions, int least);
// pipe2 with O_CLOEXEC | O_NONBLOCK.
int dld_pipe(int *reader, int *writer);

// A non-blocking socket that receives changes of links, addresses and routes; -1 and errno on failure.
int dld_route_socket(void);
// Drops everything that waits on the socket: 1 if there was something, 0 if not, -1 and errno on failure.
int dld_route_drain(int descriptor);

#endif
