import Glibc

/// A guarded value that threads can wait for: `Guarded` with a condition variable.
///
/// Only for threads that may block: not for the reactor, and not for Swift's cooperative pool.
package final class ConditionLock<Value>: @unchecked Sendable {
    @usableFromInline let guarded: Guarded<Value>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init(_ value: sending Value) {
        guarded = Guarded(value)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Runs `body` with exclusive access; keep it short.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try guarded.withLock(body)
    }

    /// Waits until `body` returns something. It is called at once, and again after each signal.
    package func wait<Result>(for body: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(guarded.mutex)
        defer { pthread_mutex_unlock(guarded.mutex) }
        while true {
            if let result = body(&guarded.value) { return result }
            pthread_cond_wait(condition, guarded.mutex)
        }
    }

    /// Like `wait(for:)`, but returns nil after `milliseconds`.
    package func wait<Result>(milliseconds: Int, for body: (inout Value) -> Result?) -> Result? {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + milliseconds % 1000 * 1_000_000
        deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(guarded.mutex)
        defer { pthread_mutex_unlock(guarded.mutex) }
        while true {
            if let result = body(&guarded.value) { return result }
            if pthread_cond_timedwait(condition, guarded.mutex, &deadline) != 0 { return nil }
        }
    }

    /// Wakes one of the waiting threads.
    package func signal() { pthread_cond_signal(condition) }
    /// Wakes all waiting threads.
    package func broadcast() { pthread_cond_broadcast(condition) }
}
