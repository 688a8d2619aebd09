#pragma once
// A process with its own time, random numbers and order of Swift jobs, in which a simulation runs.
//
// From `sim_begin` on, clock_gettime(2) and similar calls return the virtual time, and random bytes come from a seed.
// Swift's run-time library adds every job for the cooperative pool to a list here. `sim_run` runs the jobs of the list
// one at a time, on the caller's thread.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Takes over. Must be called once per process, before any Swift concurrency is used.
void sim_begin(void);

/// Resets the world: no jobs, boot time `boot`, wall time `wall` (in nanoseconds), and random bytes from `seed`.
void sim_reset(uint64_t seed, int64_t boot, int64_t wall);

/// Returns the number of jobs that may run now.
size_t sim_ready(void);
/// Runs one of these jobs, by its position in the list.
void sim_run(size_t index);
/// Discards all jobs, as a crash does.
void sim_forget_jobs(void);

/// Returns the virtual time since boot, in nanoseconds.
int64_t sim_now(void);
/// Returns the time at which the next sleeping job is due, or -1 if none sleeps.
int64_t sim_next_due(void);
/// Advances the time. Jobs that are due become ready, in the order of their times.
void sim_advance(int64_t boot);
/// Makes the wall clock jump.
void sim_shift_wall(int64_t nanoseconds);

/// Makes the next `calls` calls that change a file or sync it fail with `error` (errno). No call fails if `calls` is 0.
void sim_break_disk(int error, int calls);
/// Returns when the last call failed this way (virtual nanoseconds since boot), or -1 if none did.
int64_t sim_disk_failed(void);
/// Returns the bytes of a file that were durable at its last sync and were not cut off since.
int64_t sim_durable(uint64_t inode);

/// From now on names in `folder` and `far`, which are file systems of their own, are durable only when these are
/// synced, and not even then without `syncs`. `lost` keeps the files that lost their names since.
void sim_watch_names(const char *folder, const char *far, const char *lost, bool syncs);
/// Returns the number of names that were added, removed or changed there since the last sync.
size_t sim_unsynced_names(void);
/// Undoes these changes, the last one first, until `kept` are left. Those are durable now.
void sim_cut_names(size_t kept);

/// Returns the real monotonic time, in nanoseconds.
int64_t sim_real_nanoseconds(void);
