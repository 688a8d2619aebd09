#ifndef DLD_SOCKETS_H
#define DLD_SOCKETS_H

#include <stdint.h>

// Bytes written to a TCP socket that the peer has not acknowledged (tcp(7), SIOCOUTQ); -1 and errno on failure.
int dld_socket_unacknowledged(int socket);

// The user who owns the other end of a TCP connection, if that end is on this machine too (sock_diag(7)). Returns 0, or -1 and
// errno: ENOENT if the other end is elsewhere or gone.
int dld_peer_user(int connection, uint32_t *user);

#endif
