#define _GNU_SOURCE
#include "dld_sockets.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int dld_socket_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}

// Whether the kernel found the very socket that was asked for, and a process still has it. For a connection that it does not
// know, it names a listener at the source's port; one that its process has closed belongs to root.
static int is_meant(const struct inet_diag_msg *found, const struct inet_diag_sockid *wanted) {
    switch (found->idiag_state) {
    case TCP_ESTABLISHED: case TCP_FIN_WAIT1: case TCP_FIN_WAIT2: case TCP_CLOSE_WAIT: break;
    default: return 0;
    }
    return found->idiag_inode != 0 && found->id.idiag_sport == wanted->idiag_sport
        && found->id.idiag_dport == wanted->idiag_dport
        && memcmp(found->id.idiag_src, wanted->idiag_src, sizeof wanted->idiag_src) == 0
        && memcmp(found->id.idiag_dst, wanted->idiag_dst, sizeof wanted->idiag_dst) == 0;
}

static int put_address(const struct sockaddr_storage *address, __be32 place[4], __be16 *port) {
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)address;
        memcpy(place, &ipv4->sin_addr, sizeof ipv4->sin_addr);
        *port = ipv4->sin_port;
        return 0;
    }
    if (address->ss_family != AF_INET6) return -1;
    const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;
    memcpy(place, &ipv6->sin6_addr, sizeof ipv6->sin6_addr);
    *port = ipv6->sin6_port;
    return 0;
}

int dld_peer_user(int connection, uint32_t *user) {
    struct sockaddr_storage own, peer;
    socklen_t own_length = sizeof own, peer_length = sizeof peer;
    if (getsockname(connection, (struct sockaddr *)&own, &own_length) != 0) return -1;
    if (getpeername(connection, (struct sockaddr *)&peer, &peer_length) != 0) return -1;

    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 query;
    } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .query = {.sdiag_family = peer.ss_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u,
                  .id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    // The other end's source is our peer.
    if (put_address(&peer, request.query.id.idiag_src, &request.query.id.idiag_sport) != 0
        || put_address(&own, request.query.id.idiag_dst, &request.query.id.idiag_dport) != 0) {
        errno = EAFNOSUPPORT;
        return -1;
    }

    int diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (diag < 0) return -1;
    // The kernel answers at once; this only keeps a fault from stopping the caller for ever.
    struct timeval patience = {.tv_sec = 1};
    setsockopt(diag, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    union {
        struct nlmsghdr head;
        char room[8192];
    } answer;
    ssize_t count = send(diag, &request, sizeof request, 0);
    if (count == sizeof request) {
        do count = recv(diag, &answer, sizeof answer, 0);
        while (count < 0 && errno == EINTR);
    }
    int failure = count < 0 ? errno : EPROTO;
    close(diag);
    if (count >= (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) && answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
        const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
        if (is_meant(found, &request.query.id)) {
            *user = found->idiag_uid;
            return 0;
        }
        failure = ENOENT;
    }
    if (count >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && answer.head.nlmsg_type == NLMSG_ERROR)
        failure = -((struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
    errno = failure;
    return -1;
}
