// Clients of the RPC socket that use little processor time themselves.
//
//     load calls SOCKET CLIENTS DEPTH SECONDS     sends the line on standard input over and over, DEPTH of them
//                                                 unanswered on each connection; prints the calls answered and the
//                                                 seconds that took
//     load drain SOCKET CLIENTS EVENTS            sends the line once on each connection, prints "ready" when all are
//                                                 answered, reads until each got EVENTS further lines; prints the
//                                                 lines, the bytes and the seconds from the first to the last of them
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { maximumClients = 1024, bufferBytes = 1 << 18 };
static char line[65536], buffer[bufferBytes];
static size_t lineBytes;
static int sockets[maximumClients];
static long long lines[maximumClients];

static void require(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int opened(const char *path, int clients) {
    int poller = epoll_create1(EPOLL_CLOEXEC);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    for (int index = 0; index < clients; index++) {
        sockets[index] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        require(connect(sockets[index], (struct sockaddr *)&address, sizeof address) == 0, path);
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned)index};
        require(epoll_ctl(poller, EPOLL_CTL_ADD, sockets[index], &event) == 0, "epoll_ctl");
    }
    return poller;
}

static void sendLines(int client, int count) {
    static char block[1 << 20];
    size_t bytes = 0;
    for (int index = 0; index < count && bytes + lineBytes <= sizeof block; index++, bytes += lineBytes)
        memcpy(block + bytes, line, lineBytes);
    for (size_t sent = 0; sent < bytes;) {
        ssize_t result = send(sockets[client], block + sent, bytes - sent, MSG_NOSIGNAL);
        require(result > 0, "send");
        sent += (size_t)result;
    }
}

// The number of lines in one read from a connection.
static int readLines(int client, long long *bytes) {
    ssize_t count = recv(sockets[client], buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) return 0;
    require(count > 0, "recv");
    *bytes += count;
    int found = 0;
    for (const char *place = buffer, *end = buffer + count;
         (place = memchr(place, '\n', (size_t)(end - place))) != NULL; place++) found++;
    lines[client] += found;
    return found;
}

static void calls(int poller, int clients, int depth, double seconds) {
    struct epoll_event events[64];
    long long answered = 0, bytes = 0;
    double start = now(), end = start;
    for (int index = 0; index < clients; index++) sendLines(index, depth);
    do {
        int ready = epoll_wait(poller, events, 64, 1000);
        for (int index = 0; index < ready; index++) {
            int client = (int)events[index].data.u32, found = readLines(client, &bytes);
            answered += found;
            if (found) sendLines(client, found);
        }
        end = now();
    } while (end - start < seconds);
    printf("%lld %.6f\n", answered, end - start);
}

static void drain(int poller, int clients, long long expected) {
    struct epoll_event events[64];
    long long bytes = 0, total = 0;
    for (int index = 0; index < clients; index++) {
        sendLines(index, 1);
        while (lines[index] == 0) readLines(index, &bytes);
    }
    printf("ready\n");
    fflush(stdout);
    int unfinished = clients;
    double first = 0, last = 0;
    while (unfinished > 0) {
        int ready = epoll_wait(poller, events, 64, -1);
        last = now();
        if (first == 0) first = last;
        for (int index = 0; index < ready; index++) {
            int client = (int)events[index].data.u32;
            long long before = lines[client];
            total += readLines(client, &bytes);
            if (before <= expected && lines[client] > expected) unfinished--;
        }
    }
    printf("%lld %lld %.6f\n", total, bytes, last - first);
}

int main(int count, char **arguments) {
    int isCalls = count == 6 && strcmp(arguments[1], "calls") == 0;
    int isDrain = count == 5 && strcmp(arguments[1], "drain") == 0;
    int clients = count > 3 ? atoi(arguments[3]) : 0;
    if ((!isCalls && !isDrain) || clients < 1 || clients > maximumClients) {
        fprintf(stderr, "usage: load calls SOCKET CLIENTS DEPTH SECONDS | load drain SOCKET CLIENTS EVENTS\n");
        return 2;
    }
    lineBytes = fread(line, 1, sizeof line, stdin);
    int poller = opened(arguments[2], clients);
    if (isCalls) {
        calls(poller, clients, atoi(arguments[4]), atof(arguments[5]));
    } else {
        drain(poller, clients, atoll(arguments[4]));
    }
    return 0;
}
