// Linux calls for file delivery and the monitors that the Glibc module lacks: syncfs(2), extensions of posix_spawn that glibc
// declares only with _GNU_SOURCE, and a route netlink(7) socket.
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
// Gives back the memory of the file's bytes before `end` (fallocate(2)); -1 and errno on failure.
int dld_free_memory(int descriptor, int64_t end);
// Empties the file. From then on, no process can write to it (F_SEAL_GROW of fcntl(2)); -1 and errno on failure.
int dld_close_memory(int descriptor);
// preadv2(2) with RWF_NOWAIT: reads only from the page cache and never waits for a disk. -1 with EAGAIN if the cache has none of
// the bytes, with EOPNOTSUPP if the file system does not support it.
ssize_t dld_read_cached(int descriptor, void *buffer, size_t count, int64_t offset);
// sendfile(2): sends bytes of a file without a copy, as many as the socket takes. From a file system that cannot do that, it sends
// a copy. 0 at the end of the file, -1 and errno on failure.
ssize_t dld_send_file(int socket, int descriptor, int64_t offset, size_t count);
// Device, inode, size and modification time of an open file as the kernel has them in memory, without asking a server (statx(2)
// with AT_STATX_DONT_SYNC). -1 and errno on failure.
int dld_stat_cached(int descriptor, struct stat *status);
// When an open file was created, in nanoseconds since 1970 (statx(2), STATX_BTIME); -1 if the file system does not tell.
int64_t dld_birth_nanoseconds(int descriptor);
// Sets the modification time only; -1 and errno on failure.
int dld_set_modification_time(int descriptor, int64_t seconds);
short dld_spawn_setsid(void);
// Makes the child close all descriptors from `least` on, even those without O_CLOEXEC. With a glibc older than 2.34 it keeps
// them. Returns an errno on failure.
int dld_spawn_close_from(posix_spawn_file_actions_t *actions, int least);
// pipe2 with O_CLOEXEC | O_NONBLOCK.
int dld_pipe(int *reader, int *writer);

// A non-blocking socket that receives changes of links, addresses and routes; -1 and errno on failure.
int dld_route_socket(void);
// Drops all messages that wait on the socket. Returns 1 if there were any, 0 if not, -1 and errno on failure.
int dld_route_drain(int descriptor);

#endif
