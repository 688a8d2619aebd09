#ifndef DLD_PROCESS_H
#define DLD_PROCESS_H

/// Prevents core dumps of this process (core(5)), because they would contain the credentials of all tasks.
///
/// The limit is 1 byte and not 0, because the kernel ignores a limit of 0 if core_pattern is a pipe. Root and the process's user
/// may raise the limit again with prlimit(1).
void dld_forbid_core_dumps(void);

/// Restores the default action of the signals of a crash: they end the process. The handlers of Swift's run-time library would
/// write registers, and the memory that they point to, into the log. And if such a signal was sent from outside (a service
/// manager's watchdog sends SIGABRT), the process would stay, with all its threads stopped. If SWIFT_BACKTRACE is set, the
/// handlers stay, because somebody is debugging.
void dld_end_at_crashes(void);

/// Starts a program in its own session. It is killed when the calling thread ends (PR_SET_PDEATHSIG of prctl(2)). No signal is
/// blocked or ignored in it. It gets only the descriptors 0 to 2, and 3 if `descriptors[3]` is not -1.
/// @return its process id, or -1 and errno.
int dld_start_helper(const char *path, char *const arguments[], char *const environment[], const int descriptors[4]);

/// A descriptor that becomes readable when the process has ended (pidfd_open(2)), closed on exec; -1 and errno on failure.
int dld_process_descriptor(int process);

#endif
