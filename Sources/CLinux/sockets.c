#define _GNU_SOURCE
#include "dld_sockets.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

int dld_socket_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}
