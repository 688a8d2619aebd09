#define _GNU_SOURCE
#include "dld_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void dld_forbid_core_dumps(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max >= 1) {
        // The hard limit stays, because programs that `launch` starts may want core dumps.
        limit.rlim_cur = 1;
        if (setrlimit(RLIMIT_CORE, &limit) == 0) return;
    }
    // If the hard limit is 0, a pipe in core_pattern would still get the memory. This call also denies the user access to
    // /proc/PID.
    prctl(PR_SET_DUMPABLE, 0);
}

void dld_end_at_crashes(void) {
    static const int crashes[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
    if (getenv("SWIFT_BACKTRACE")) return;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], SIG_DFL);
}

// Runs between vfork(2) and execve(2), in the memory of the parent, so it makes only system calls.
static void become(const char *path, char *const arguments[], char *const environment[], const int descriptors[4]) {
    sigset_t none;
    int copies[4];
    int count = descriptors[3] >= 0 ? 4 : 3;
    // A handler of the parent must not run here.
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    if (setsid() < 0) return;
    // Copies them to higher numbers first, so that none is overwritten before it is duplicated.
    for (int i = 0; i < count; i++)
        if ((copies[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 8)) < 0) return;
    for (int i = 0; i < count; i++)
        if (dup2(copies[i], i) < 0) return;
#ifdef SYS_close_range
    // If the kernel lacks this call, only descriptors with O_CLOEXEC are closed.
    syscall(SYS_close_range, count, ~0U, 0);
#endif
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(path, arguments, environment);
}

int dld_start_helper(const char *path, char *const arguments[], char *const environment[], const int descriptors[4]) {
    volatile int failure = 0;
    pid_t parent = getpid();
    pid_t child = vfork();
    if (child == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
            failure = ESRCH;
        } else {
            become(path, arguments, environment, descriptors);
            failure = errno;
        }
        _exit(127);
    }
    if (child < 0 || failure == 0) return child;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    errno = failure;
    return -1;
}

int dld_process_descriptor(int process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}
