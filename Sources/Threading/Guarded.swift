import Glibc

/// A value behind a pthread mutex.
///
/// Not `Synchronization.Mutex`: ThreadSanitizer does not understand it on Linux and reports races that are none.
///
/// `Value` must not be a function type: each access would wrap the function in one more thunk and store that, so that
/// it gets slower with every look and ends in an overflow of the stack. A structure with a function in it is sound.
package final class Guarded<Value>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// The mutex sees to exclusive access; a check at each one would cost as much again.
    @exclusivity(unchecked) @usableFromInline var value: Value

    @inlinable
    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access; keep it short.
    @inlinable @inline(__always) package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
