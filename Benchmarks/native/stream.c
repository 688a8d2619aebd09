// A client of dld that streams one body: stream SOCKET URL WINDOW [FILE]
//
// Gives credit for half a window whenever half of it was used, and counts the bytes that arrive. With FILE it decodes the body and
// compares it with that file's content. Prints the bytes, and the seconds from task.add to task.completed.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int server;
static const unsigned char *expected;
static size_t expected_length;
static signed char values[256];

static void fail(const char *what) {
    fprintf(stderr, "stream: %s\n", what);
    exit(1);
}

static void say(const char *text) {
    for (size_t length = strlen(text); length > 0;) {
        ssize_t count = write(server, text, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) fail("the daemon is gone");
        text += count;
        length -= (size_t)count;
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Compares decoded bytes with the file.
static void compare(const char *text, size_t length, long long offset, size_t count) {
    if ((size_t)offset + count > expected_length) fail("more bytes than the file has");
    const unsigned char *wanted = expected + offset;
    for (size_t place = 0, byte = 0; place < length; place += 4) {
        unsigned bits = 0;
        for (size_t index = 0; index < 4; index++) bits = bits << 6 | (unsigned)(values[(unsigned char)text[place + index]] & 63);
        for (int shift = 16; shift >= 0 && byte < count; shift -= 8, byte++)
            if (wanted[byte] != (unsigned char)(bits >> shift)) fail("a byte is wrong");
    }
}

int main(int count, char **arguments) {
    if (count < 4) fail("usage: stream SOCKET URL WINDOW [FILE]");
    long long window = atoll(arguments[3]);
    if (count > 4) {
        const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for (int index = 0; index < 64; index++) values[(unsigned char)alphabet[index]] = (signed char)index;
        struct stat status;
        int file = open(arguments[4], O_RDONLY);
        if (file < 0 || fstat(file, &status) != 0) fail("no such file");
        expected_length = (size_t)status.st_size;
        expected = mmap(NULL, expected_length, PROT_READ, MAP_PRIVATE, file, 0);
        if (expected == MAP_FAILED) fail("mmap");
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[1]);
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    static char line[1 << 16];
    // Uses its own session, because the previous client's session may not have ended yet.
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session.open\",\"params\":{\"id\":\"stream-%d\",\"kind\":\"ephemeral\"}}\n",
             (int)getpid());
    say(line);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"events.subscribe\",\"params\":{\"after\":\"now\",\"progressInterval\":0}}\n");
    // Requests may be answered in any order, so the task is added after its session is open.
    int ready = 0;
    double begun = 0;
    static char buffer[4 << 20];
    size_t held = 0;
    long long task = 0, received = 0, given = 0;
    while (1) {
        ssize_t got = read(server, buffer + held, sizeof buffer - held);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) fail("the daemon is gone");
        held += (size_t)got;
        char *start = buffer, *end;
        while ((end = memchr(start, '\n', held - (size_t)(start - buffer))) != NULL) {
            *end = 0;
            static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"task.data\"";
            if (strncmp(start, head, sizeof head - 1) == 0) {
                char *offset = strstr(start + sizeof head - 1, "\"offset\":"), *text = offset ? strstr(offset, "\"base64\":\"") : NULL;
                if (text == NULL || atoll(offset + 9) != received) fail("a piece at a wrong place");
                text += 10;
                size_t length = (size_t)(end - 3 - text);
                size_t bytes = length / 4 * 3 - (text[length - 1] == '=') - (text[length - 2] == '=');
                if (expected != NULL) compare(text, length, received, bytes);
                received += (long long)bytes;
            } else if (strstr(start, "\"error\":") != NULL) {
                fail(start);
            } else if (strstr(start, "\"task.completed\"") != NULL) {
                if (expected != NULL && (size_t)received != expected_length) fail("bytes are missing");
                printf("%lld %.6f\n", received, seconds() - begun);
                return 0;
            } else if (ready < 2 && (strstr(start, "\"id\":1,") != NULL || strstr(start, "\"id\":2,") != NULL)) {
                if (++ready == 2) {
                    begun = seconds();
                    snprintf(line, sizeof line,
                             "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"task.add\",\"params\":{\"session\":\"stream-%d\",\"tasks\":[{\"kind\":"
                             "\"data\",\"stream\":true,\"url\":\"%s\",\"headers\":[[\"Accept-Encoding\",\"identity\"]]}]}}\n",
                             (int)getpid(), arguments[2]);
                    say(line);
                }
            } else if (task == 0 && strstr(start, "\"id\":3,") != NULL) {
                char *id = strstr(start, "\"tasks\":[{\"id\":");
                if (id == NULL) fail(start);
                task = atoll(id + 15);
            }
            if (task != 0 && given - received <= window / 2) {
                long long more = given == 0 ? window : window / 2;
                given += more;
                snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"task.credit\",\"params\":{\"id\":%lld,\"bytes\":%lld}}\n", task, more);
                say(line);
            }
            start = end + 1;
        }
        held -= (size_t)(start - buffer);
        memmove(buffer, start, held);
        if (held == sizeof buffer) fail("a line is too long");
    }
}
