#ifndef DLD_SOCKETS_H
#define DLD_SOCKETS_H

// Bytes written to a TCP socket that the peer has not acknowledged (tcp(7), SIOCOUTQ); -1 and errno on failure.
int dld_socket_unacknowledged(int socket);

#endif
