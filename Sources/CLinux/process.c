#define _GNU_SOURCE
#include "dld_process.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void dld_forbid_core_dumps(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max >= 1) {
        // The hard limit stays: programs that `launch` starts may want cores.
        limit.rlim_cur = 1;
        if (setrlimit(RLIMIT_CORE, &limit) == 0) return;
    }
    // With a hard limit of 0 a pipe would get the memory all the same. This also closes /proc/PID to the own user.
    prctl(PR_SET_DUMPABLE, 0);
}

void dld_end_at_crashes(void) {
    static const int crashes[] = {SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
    if (getenv("SWIFT_BACKTRACE")) return;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], SIG_DFL);
}
