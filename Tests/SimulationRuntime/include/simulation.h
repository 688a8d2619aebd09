#pragma once
// A process whose time, randomness and order of Swift jobs are its own: what a simulation runs in.
//
// From `sim_begin` on, clock_gettime(2) and its like tell the virtual time, random bytes come from a seed, and Swift's
// run-time library hands every job that would go to the cooperative pool to a list here, from which `sim_run` performs
// them one at a time, on the caller's thread.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Takes over. Once for each process, before any Swift concurrency is used.
void sim_begin(void);

/// Starts the world anew: no jobs, boot time `boot`, wall time `wall` (nanoseconds), random bytes by `seed`.
void sim_reset(uint64_t seed, int64_t boot, int64_t wall);

/// Jobs that may run now.
size_t sim_ready(void);
/// Runs one of them, by its place in the list.
void sim_run(size_t index);
/// Forgets all jobs, as a crash does.
void sim_forget_jobs(void);

/// Nanoseconds of virtual time since boot.
int64_t sim_now(void);
/// When the next sleeping job is due; -1 where none sleeps.
int64_t sim_next_due(void);
/// Time passes; jobs that are due become ready, in the order of their times.
void sim_advance(int64_t boot);
/// The wall clock jumps.
void sim_shift_wall(int64_t nanoseconds);

/// The next `calls` calls that change a file or make it durable fail with `error` (errno); 0 calls = none.
void sim_break_disk(int error, int calls);
/// When the last call failed so (virtual nanoseconds since boot); -1 where none did.
int64_t sim_disk_failed(void);
/// Bytes of a file that were durable at its last sync, and were not cut off since.
int64_t sim_durable(uint64_t inode);

/// From now on names in `folder` and `far`, which are file systems of their own, are durable only when these are synced, and
/// not even then without `syncs`. `lost` holds what lost its name since.
void sim_watch_names(const char *folder, const char *far, const char *lost, bool syncs);
/// Names that came, went or changed there since.
size_t sim_unsynced_names(void);
/// Takes them back, the last one first, until `kept` are left; these are durable now.
void sim_cut_names(size_t kept);

/// Real monotonic nanoseconds.
int64_t sim_real_nanoseconds(void);
