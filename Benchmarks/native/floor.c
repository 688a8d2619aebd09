// The lowest possible cost of transferring one file: plain HTTP/1.1 over one blocking socket, without state and without checks.
//
//     floor get PORT PATH FILE      recv into 256 KiB, then pwrite
//     floor put PORT PATH FILE      read of 256 KiB, then send
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// 256 KiB costs least. 1 MiB costs more than twice as much, because it leaves the cache between recv and pwrite.
enum { blockSize = 256 << 10, headSize = 16384 };
static char block[blockSize];

static void require(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}

static int connected(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socketDescriptor = socket(AF_INET, SOCK_STREAM, 0);
    require(socketDescriptor >= 0, "socket");
    require(connect(socketDescriptor, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    return socketDescriptor;
}

static void sendAll(int socketDescriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(socketDescriptor, bytes, count, MSG_NOSIGNAL);
        require(sent > 0, "send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

// Reads to the end of the response's header. Returns where the first bytes of the body begin in `block`, and their number.
static const char *head(int socketDescriptor, size_t *bodyBytes, long long *length) {
    size_t held = 0;
    for (;;) {
        ssize_t count = recv(socketDescriptor, block + held, headSize - 1 - held, 0);
        require(count > 0, "recv of the head");
        held += (size_t)count;
        block[held] = 0;
        char *end = strstr(block, "\r\n\r\n");
        if (!end) continue;
        require(strncmp(block, "HTTP/1.1 2", 10) == 0, "status of the response");
        char *field = strcasestr(block, "\r\nContent-Length:");
        *length = field && field < end ? atoll(field + strlen("\r\nContent-Length:")) : 0;
        *bodyBytes = held - (size_t)(end + 4 - block);
        return end + 4;
    }
}

static void get(const char *port, const char *path, const char *file) {
    char request[4096];
    int socketDescriptor = connected(port), descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    require(descriptor >= 0, file);
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
    sendAll(socketDescriptor, request, (size_t)size);
    size_t held = 0;
    long long length = 0, offset = 0;
    const char *body = head(socketDescriptor, &held, &length);
    memmove(block, body, held);
    while (offset < length) {
        while (held < blockSize && offset + (long long)held < length) {
            ssize_t count = recv(socketDescriptor, block + held, blockSize - held, 0);
            require(count > 0, "recv");
            held += (size_t)count;
        }
        require(pwrite(descriptor, block, held, offset) == (ssize_t)held, "pwrite");
        offset += (long long)held;
        held = 0;
    }
    require(close(descriptor) == 0, "close");
}

static void put(const char *port, const char *path, const char *file) {
    char request[4096];
    struct stat status;
    int socketDescriptor = connected(port), descriptor = open(file, O_RDONLY | O_CLOEXEC);
    require(descriptor >= 0 && fstat(descriptor, &status) == 0, file);
    int size = snprintf(request, sizeof request,
                        "PUT %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %lld\r\n\r\n", path,
                        (long long)status.st_size);
    sendAll(socketDescriptor, request, (size_t)size);
    for (;;) {
        ssize_t count = read(descriptor, block, blockSize);
        require(count >= 0, "read");
        if (count == 0) break;
        sendAll(socketDescriptor, block, (size_t)count);
    }
    size_t held = 0;
    long long length = 0;
    (void)head(socketDescriptor, &held, &length);
}

int main(int count, char **arguments) {
    if (count == 5 && strcmp(arguments[1], "get") == 0) {
        get(arguments[2], arguments[3], arguments[4]);
    } else if (count == 5 && strcmp(arguments[1], "put") == 0) {
        put(arguments[2], arguments[3], arguments[4]);
    } else {
        fprintf(stderr, "usage: floor get|put PORT PATH FILE\n");
        return 2;
    }
    return 0;
}
