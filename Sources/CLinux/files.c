#define _GNU_SOURCE
#include "dld_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

int dld_syncfs(int descriptor) { return syncfs(descriptor); }

int dld_memory_file(void) { return memfd_create("dld", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int dld_free_memory(int descriptor, int64_t end) {
    return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
}

int dld_close_memory(int descriptor) {
    if (ftruncate(descriptor, 0) != 0) return -1;
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_GROW);
}

ssize_t dld_read_cached(int descriptor, void *buffer, size_t count, int64_t offset) {
    const struct iovec piece = {.iov_base = buffer, .iov_len = count};
    return preadv2(descriptor, &piece, 1, offset, RWF_NOWAIT);
}

ssize_t dld_send_file(int socket, int descriptor, int64_t offset, size_t count) {
    off_t place = offset;
    ssize_t sent = sendfile(socket, descriptor, &place, count);
    if (sent >= 0 || (errno != EINVAL && errno != ENOSYS)) return sent;
    char copy[16384];
    ssize_t got = pread(descriptor, copy, count < sizeof copy ? count : sizeof copy, offset);
    return got > 0 ? send(socket, copy, (size_t)got, MSG_NOSIGNAL) : got;
}

int dld_stat_cached(int descriptor, struct stat *status) {
    struct statx found;
    const unsigned wanted = STATX_INO | STATX_SIZE | STATX_MTIME;
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, &found) != 0) return -1;
    if ((found.stx_mask & wanted) != wanted) {
        errno = ENOTSUP;
        return -1;
    }
    memset(status, 0, sizeof *status);
    status->st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
    status->st_ino = found.stx_ino;
    status->st_size = (off_t)found.stx_size;
    status->st_mtim.tv_sec = found.stx_mtime.tv_sec;
    status->st_mtim.tv_nsec = found.stx_mtime.tv_nsec;
    return 0;
}

int64_t dld_birth_nanoseconds(int descriptor) {
    struct statx found;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &found) != 0 || !(found.stx_mask & STATX_BTIME)) return -1;
    return (int64_t)found.stx_btime.tv_sec * 1000000000 + found.stx_btime.tv_nsec;
}

int dld_set_modification_time(int descriptor, int64_t seconds) {
    struct timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds, .tv_nsec = 0}};
    return futimens(descriptor, times);
}

short dld_spawn_setsid(void) { return POSIX_SPAWN_SETSID; }

int dld_spawn_close_from(posix_spawn_file_actions_t *actions, int least) {
#if __GLIBC_PREREQ(2, 34)
    return posix_spawn_file_actions_addclosefrom_np(actions, least);
#else
    (void)actions, (void)least;
    return 0;
#endif
}

int dld_pipe(int *reader, int *writer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    *reader = ends[0];
    *writer = ends[1];
    return 0;
}

int dld_route_socket(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address;
    memset(&address, 0, sizeof address);
    address.nl_family = AF_NETLINK;
    address.nl_groups =
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        int saved = errno;
        close(descriptor);
        errno = saved;
        return -1;
    }
    return descriptor;
}

int dld_route_drain(int descriptor) {
    char buffer[16384];
    int seen = 0;
    for (;;) {
        ssize_t length = recv(descriptor, buffer, sizeof buffer, 0);
        if (length > 0) {
            seen = 1;
        } else if (length < 0 && errno == EINTR) {
            continue;
        } else if (length < 0 && errno == ENOBUFS) {
            // The kernel dropped messages. So something changed, and the caller reads the new state anyway.
            seen = 1;
        } else if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return seen;
        } else {
            return -1;
        }
    }
}
