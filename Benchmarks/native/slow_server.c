// An HTTP server that sends every response in small pieces, at its own moments for each connection. So the pieces of different
// connections do not arrive together, as they do if a server uses one clock for all connections.
//
//     slow_server FILE PIECE-BYTES INTERVAL-MILLISECONDS
//
// Answers any path with FILE or a range of it, prints its port, and runs until it is killed. Each connection has its own pace,
// which continues across requests. So this is also a server that limits each connection, to PIECE-BYTES × 1000 / INTERVAL bytes
// per second. It has one thread and a timing wheel of 1 ms, so that thousands of connections cost little.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { wheelSlots = 16384, requestBytes = 4096, maximumDescriptors = 65536 };

struct connection {
    int descriptor;
    int held;             // bytes of an unfinished request
    off_t place, end;     // the part of the body that is still to be sent
    int sending;
    struct connection *next;  // the next one in the same slot of the wheel
    char request[requestBytes];
};

static const char *body;
static off_t bodyBytes;
static size_t pieceBytes;
static unsigned interval;
static struct connection *wheel[wheelSlots];
static struct connection *connections[maximumDescriptors];
static unsigned slot;
static uint64_t seed = 88172645463325252u;

static void require(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}

static unsigned below(unsigned limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % limit);
}

static void schedule(struct connection *connection, unsigned milliseconds) {
    unsigned place = (slot + (milliseconds ? milliseconds : 1)) % wheelSlots;
    connection->next = wheel[place];
    wheel[place] = connection;
}

static void forget(struct connection *connection) {
    connections[connection->descriptor] = NULL;
    close(connection->descriptor);
    free(connection);
}

// Sends the next piece. Returns false if the connection is lost.
static int sendPiece(struct connection *connection) {
    size_t count = (size_t)(connection->end - connection->place);
    if (count > pieceBytes) count = pieceBytes;
    ssize_t sent = send(connection->descriptor, body + connection->place, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN;
    connection->place += sent;
    return 1;
}

static void turn(void) {
    slot = (slot + 1) % wheelSlots;
    struct connection *due = wheel[slot];
    wheel[slot] = NULL;
    while (due) {
        struct connection *connection = due;
        due = connection->next;
        if (!sendPiece(connection)) {
            forget(connection);
        } else if (connection->place < connection->end) {
            schedule(connection, interval / 2 + below(interval + 1));
        } else {
            connection->sending = 0;
        }
    }
}

// Writes the header of the response, and sets the part of the body that follows it.
static size_t answer(struct connection *connection, char *head, size_t room) {
    long long first = 0, last = (long long)bodyBytes - 1;
    char *field = strcasestr(connection->request, "\r\nRange: bytes=");
    int isPart = field && sscanf(field + strlen("\r\nRange: bytes="), "%lld-%lld", &first, &last) >= 1;
    if (last >= bodyBytes) last = (long long)bodyBytes - 1;
    int isOutside = first > last;
    connection->place = isOutside ? 0 : first;
    connection->end = isOutside ? 0 : last + 1;
    char range[128] = "";
    if (isOutside) snprintf(range, sizeof range, "Content-Range: bytes */%lld\r\n", (long long)bodyBytes);
    else if (isPart)
        snprintf(range, sizeof range, "Content-Range: bytes %lld-%lld/%lld\r\n", first, last, (long long)bodyBytes);
    return (size_t)snprintf(head, room,
                            "HTTP/1.1 %s\r\nContent-Type: application/octet-stream\r\nETag: \"slow\"\r\n"
                            "Accept-Ranges: bytes\r\n%sContent-Length: %lld\r\n\r\n",
                            isOutside ? "416 Range Not Satisfiable" : isPart ? "206 Partial Content" : "200 OK", range,
                            (long long)(connection->end - connection->place));
}

static void readRequest(struct connection *connection) {
    ssize_t count = recv(connection->descriptor, connection->request + connection->held,
                         (size_t)(requestBytes - 1 - connection->held), MSG_DONTWAIT);
    if (count <= 0) {
        if (count < 0 && errno == EAGAIN) return;
        // A connection on the wheel is freed when its next piece fails.
        shutdown(connection->descriptor, SHUT_RDWR);
        if (!connection->sending) forget(connection);
        return;
    }
    connection->held += (int)count;
    connection->request[connection->held] = 0;
    if (connection->sending || !strstr(connection->request, "\r\n\r\n")) return;
    connection->held = 0;
    connection->sending = 1;
    char head[512];
    size_t headBytes = answer(connection, head, sizeof head);
    if (send(connection->descriptor, head, headBytes, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)headBytes) {
        forget(connection);
    } else {
        schedule(connection, 1 + below(interval));
    }
}

static void acceptAll(int listener, int poller) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) return;
        struct connection *connection = descriptor < maximumDescriptors ? calloc(1, sizeof *connection) : NULL;
        if (!connection) {
            close(descriptor);
            continue;
        }
        connection->descriptor = descriptor;
        connections[descriptor] = connection;
        struct epoll_event event = {.events = EPOLLIN | EPOLLET | EPOLLRDHUP, .data.fd = descriptor};
        require(epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0, "epoll_ctl");
    }
}

static int listening(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0, "bind");
    require(listen(listener, 8192) == 0 && getsockname(listener, (struct sockaddr *)&address, &size) == 0, "listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: slow_server FILE PIECE-BYTES INTERVAL-MILLISECONDS\n");
        return 2;
    }
    struct stat status;
    int file = open(arguments[1], O_RDONLY | O_CLOEXEC);
    require(file >= 0 && fstat(file, &status) == 0, arguments[1]);
    bodyBytes = status.st_size;
    body = mmap(NULL, (size_t)bodyBytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    require(body != MAP_FAILED, "mmap");
    pieceBytes = strtoul(arguments[2], NULL, 10);
    interval = (unsigned)strtoul(arguments[3], NULL, 10);
    if (interval > wheelSlots / 2) interval = wheelSlots / 2;
    int listener = listening(), poller = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec tick = {.it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000};
    require(timerfd_settime(timer, 0, &tick, NULL) == 0, "timerfd_settime");
    for (int index = 0; index < 2; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = index ? timer : listener};
        require(epoll_ctl(poller, EPOLL_CTL_ADD, event.data.fd, &event) == 0, "epoll_ctl");
    }
    struct epoll_event events[256];
    for (;;) {
        int ready = epoll_wait(poller, events, 256, -1);
        for (int index = 0; index < ready; index++) {
            int descriptor = events[index].data.fd;
            uint64_t ticks = 0;
            if (descriptor == listener) {
                acceptAll(listener, poller);
            } else if (descriptor == timer) {
                if (read(timer, &ticks, sizeof ticks) != sizeof ticks) continue;
                while (ticks--) turn();
            } else if (connections[descriptor]) {
                readRequest(connections[descriptor]);
            }
        }
    }
}
