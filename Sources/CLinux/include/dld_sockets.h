#ifndef DLD_SOCKETS_H
#define DLD_SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// unix(7): who is at the other end, and descriptors sent through. -1 and errno on failure.

struct dld_peer {
    uint32_t uid;
    uint32_t gid;
    int32_t pid;
};

/// The kernel's word on the connected peer (SO_PEERCRED).
int dld_peer_credentials(int socket, struct dld_peer *peer);

/// Sends `count` bytes (at least one) with one descriptor.
ssize_t dld_send_descriptor(int socket, const void *bytes, size_t count, int descriptor);

/// Receives bytes; `descriptor` becomes the one that came along (close-on-exec), or -1.
ssize_t dld_receive_descriptor(int socket, void *bytes, size_t capacity, int *descriptor);

/// accept4 with close-on-exec and, where `nonblocking` is not 0, non-blocking.
int dld_accept(int socket, int nonblocking);

// Bytes written to a TCP socket that the peer has not acknowledged (tcp(7), SIOCOUTQ); -1 and errno on failure.
int dld_socket_unacknowledged(int socket);

#endif
