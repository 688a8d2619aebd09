#ifndef DLD_EVENTS_H
#define DLD_EVENTS_H

#include <stdint.h>

// epoll(7), eventfd(2), timerfd_create(2). Functions that fail return -1 and set errno; all descriptors are
// close-on-exec and, where it applies, non-blocking.

#define DLD_READABLE 0x001u
#define DLD_WRITABLE 0x004u
#define DLD_ERROR 0x008u
#define DLD_HANGUP 0x010u
// Reported once, until it is watched again.
#define DLD_ONCE 0x40000000u

struct dld_ready {
    int32_t fd;
    uint32_t events;
};

int dld_epoll_create(void);
/// Watches `fd` for `events`, whether or not it is watched already.
int dld_epoll_watch(int epoll, int fd, uint32_t events);
int dld_epoll_forget(int epoll, int fd);
/// Waits for at most `milliseconds`, or without a limit if that is -1. Returns at most 256 events.
int dld_epoll_wait(int epoll, struct dld_ready *ready, int capacity, int milliseconds);

/// Moves the connection of `fd` to a new descriptor, which is returned. `fd` becomes a copy of `dead`. If this fails, nothing
/// changes.
int dld_take_connection(int fd, int dead);
/// The local port of a TCP socket, -1 for anything else.
int dld_local_port(int fd);
/// Bytes that can be read from a socket at once; 0 also if that is unknown.
int dld_readable_bytes(int fd);

int dld_eventfd_create(void);
void dld_eventfd_signal(int fd);
void dld_eventfd_drain(int fd);

int dld_timerfd_create(void);
/// Fires once at `nanoseconds` on CLOCK_MONOTONIC; 0 disarms.
int dld_timerfd_arm(int fd, int64_t nanoseconds);
void dld_timerfd_drain(int fd);

/// inotify(7): becomes readable when something watched is renamed, removed or unmounted. No limit of its own is set.
int dld_names_create(void);
/// Watches the file itself, or the folder that `path` leads to.
int dld_names_watch(int names, const char *path, int is_folder);
/// Watches a folder for names that come, go or change, or the file that `path` leads to for writing.
int dld_names_watch_content(int names, const char *path, int is_folder);
/// Drops all waiting events. Returns 1 if there were any, otherwise 0.
int dld_names_drain(int names);
/// Becomes ready (DLD_ERROR) when something is mounted or unmounted; proc(5), mountinfo.
int dld_mounts_open(void);
/// Waits until one of the descriptors is ready, or until the time is over. Ignores descriptors below 0. Drains the first one.
void dld_names_wait(int names, int mounts, int wake, int milliseconds);

/// Nanoseconds on CLOCK_MONOTONIC.
int64_t dld_monotonic_nanoseconds(void);

/// Names the calling thread (15 bytes are kept) and blocks every signal in it, so that they reach the main thread.
void dld_thread_prepare(const char *name);

#endif
