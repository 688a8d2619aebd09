#define _GNU_SOURCE
#include "dld_events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

_Static_assert(DLD_READABLE == EPOLLIN && DLD_WRITABLE == EPOLLOUT, "epoll's bits");
_Static_assert(DLD_ERROR == EPOLLERR && DLD_HANGUP == EPOLLHUP && DLD_ONCE == EPOLLONESHOT, "epoll's bits");

int dld_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int dld_epoll_watch(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
    if (errno != ENOENT) return -1;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int dld_epoll_forget(int epoll, int fd) { return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL); }

int dld_epoll_wait(int epoll, struct dld_ready *ready, int capacity, int milliseconds) {
    struct epoll_event events[256];
    if (capacity > 256) capacity = 256;
    int count = epoll_wait(epoll, events, capacity, milliseconds);
    for (int i = 0; i < count; i++) {
        ready[i].fd = events[i].data.fd;
        ready[i].events = events[i].events;
    }
    return count;
}

int dld_take_connection(int fd, int dead) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0) return -1;
    if (dup3(dead, fd, O_CLOEXEC) < 0) {
        close(own);
        return -1;
    }
    return own;
}

int dld_local_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t length = sizeof address;
    if (getsockname(fd, &address.any, &length) != 0) return -1;
    if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
    if (address.any.sa_family == AF_INET6) return ntohs(address.v6.sin6_port);
    return -1;
}

int dld_readable_bytes(int fd) {
    int count = 0;
    return ioctl(fd, FIONREAD, &count) == 0 ? count : 0;
}

int dld_eventfd_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void dld_eventfd_signal(int fd) {
    uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one);
    (void)ignored;
}

void dld_eventfd_drain(int fd) {
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);
    (void)ignored;
}

int dld_timerfd_create(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

int dld_timerfd_arm(int fd, int64_t nanoseconds) {
    struct itimerspec when;
    memset(&when, 0, sizeof when);
    when.it_value.tv_sec = nanoseconds / 1000000000;
    when.it_value.tv_nsec = nanoseconds % 1000000000;
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void dld_timerfd_drain(int fd) { dld_eventfd_drain(fd); }

int64_t dld_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void dld_thread_prepare(const char *name) {
    char short_name[16];
    strncpy(short_name, name, sizeof short_name - 1);
    short_name[sizeof short_name - 1] = 0;
    pthread_setname_np(pthread_self(), short_name);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

int dld_names_create(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }

int dld_names_watch(int names, const char *path, int is_folder) {
    uint32_t ends = IN_MOVE_SELF | IN_DELETE_SELF | IN_UNMOUNT;
    // If a file is still in use when its last name is removed, the kernel reports only the change of its link count
    // (IN_ATTRIB).
    return inotify_add_watch(names, path, is_folder ? ends | IN_ONLYDIR : ends | IN_ATTRIB | IN_DONT_FOLLOW);
}

int dld_names_watch_content(int names, const char *path, int is_folder) {
    uint32_t written = IN_CLOSE_WRITE | IN_MODIFY;
    uint32_t named = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    return inotify_add_watch(names, path, is_folder ? written | named : written);
}

int dld_names_drain(int names) {
    char buffer[4096];
    int found = 0;
    while (names >= 0 && read(names, buffer, sizeof buffer) > 0) found = 1;
    return found;
}

int dld_mounts_open(void) { return open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC); }

void dld_names_wait(int names, int mounts, int wake, int milliseconds) {
    struct pollfd all[] = {{names, POLLIN, 0}, {mounts, POLLPRI, 0}, {wake, POLLIN, 0}};
    if (poll(all, 3, milliseconds) <= 0) return;
    char buffer[4096];
    while (names >= 0 && read(names, buffer, sizeof buffer) > 0) {}
}
