#ifndef DLD_PROCESS_H
#define DLD_PROCESS_H

/// No image of this process's memory is written when it crashes (core(5)): it would hold the credentials of every task.
///
/// A limit of 1 byte and not of 0: with a pipe in core_pattern the kernel heeds no other. Root, or whoever started the
/// process, may raise it again with prlimit(1).
void dld_forbid_core_dumps(void);

/// A signal of a crash ends the process, as it does by default. Swift's run-time library would write registers, and the
/// memory that they point to, into the log; and when the signal was sent (a service manager's watchdog sends SIGABRT), the
/// process would stay, with all of its threads stopped. Where SWIFT_BACKTRACE is set, its handlers stay: that is somebody
/// who looks for a mistake.
void dld_end_at_crashes(void);

/// Starts a program in a session of its own that does not outlive the calling thread (PR_SET_PDEATHSIG of prctl(2)): it gets
/// no signals blocked or ignored, and no descriptors but 0 to 2, and 3 where `descriptors[3]` is not -1.
/// @return its process, or -1 and errno.
int dld_start_helper(const char *path, char *const arguments[], char *const environment[], const int descriptors[4]);

/// A descriptor that becomes readable when the process has ended (pidfd_open(2)), closed on exec; -1 and errno on failure.
int dld_process_descriptor(int process);

#endif
