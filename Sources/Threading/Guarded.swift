import Glibc

/// A value behind a pthread mutex.
///
/// It is not a `Synchronization.Mutex`, which ThreadSanitizer does not understand on Linux, so that it reports false
/// races.
///
/// `Value` must not be a function type: each access would wrap the function in another thunk and store that, which gets
/// slower each time and finally overflows the stack. A structure that contains a function is safe. Nor may it be empty:
/// ThreadSanitizer takes an access to a value without a size for one to the head of this object.
package final class Guarded<Value>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// The mutex ensures exclusive access. A check at each access would cost as much again.
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
