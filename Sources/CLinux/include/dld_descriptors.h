#ifndef DLD_DESCRIPTORS_H
#define DLD_DESCRIPTORS_H

/// Holds a descriptor back for libdispatch, whose threads Swift's tasks run on: where work waits, it looks once a second at
/// what its threads do (/proc/TID/stat), and where there is no descriptor for that it ends the process
/// (_dispatch_workq_count_runnable_workers in its workqueue.c). It is lent this one then, reads nothing from it, and takes
/// the thread for one that waits.
///
/// Once, before there is a second thread. No effect under sanitizers, which have such functions of their own.
void dld_hold_back_descriptor(void);

#endif
