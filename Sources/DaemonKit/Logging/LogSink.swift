import Glibc

/// Takes log lines to a file descriptor on a thread of its own, so that a terminal or pipe that nobody reads never
/// stops a transfer: past a bound, lines are dropped and counted.
package final class LogSink: @unchecked Sendable {
    private let descriptor: Int32
    private let limit: Int
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    // Guarded by `mutex`.
    private var pending: [UInt8] = []
    private var dropped = 0
    private var isWriting = false

    /// - Parameter limit: bytes that may wait to be written.
    package init(descriptor: Int32, limit: Int = 1 << 20) {
        self.descriptor = descriptor
        self.limit = limit
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        changed = .allocate(capacity: 1)
        changed.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
        start()
    }

    /// Standard error, for the whole life of the process.
    package static let standardError = LogSink(descriptor: STDERR_FILENO)

    package func write(_ line: String) {
        pthread_mutex_lock(mutex)
        if pending.count + line.utf8.count > limit {
            dropped += 1
        } else {
            pending.append(contentsOf: line.utf8)
            pthread_cond_broadcast(changed)
        }
        pthread_mutex_unlock(mutex)
    }

    /// Waits until everything is written, at most `milliseconds`: for the moment before the process ends.
    package func flush(milliseconds: Int = 500) {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + milliseconds % 1000 * 1_000_000
        deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        while isWriting || !pending.isEmpty {
            if pthread_cond_timedwait(changed, mutex, &deadline) != 0 { break }
        }
        pthread_mutex_unlock(mutex)
    }

    /// The thread keeps the sink alive: a sink lives as long as its process.
    private func start() {
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let context = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<LogSink>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        if status != 0 { context.release() }
        pthread_attr_destroy(&attributes)
    }

    private func run() {
        while true {
            pthread_mutex_lock(mutex)
            isWriting = false
            pthread_cond_broadcast(changed)
            while pending.isEmpty { pthread_cond_wait(changed, mutex) }
            var bytes: [UInt8] = []
            swap(&bytes, &pending)
            let lost = dropped
            dropped = 0
            isWriting = true
            pthread_mutex_unlock(mutex)
            if lost > 0 { bytes += Array("\(lost) log lines were dropped because nobody read them\n".utf8) }
            writeAll(bytes)
        }
    }

    /// A descriptor that is closed or broken takes nothing: the lines are lost, the daemon goes on.
    private func writeAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count, let start = buffer.baseAddress {
                let count = Glibc.write(descriptor, start + offset, buffer.count - offset)
                if count > 0 {
                    offset += count
                } else if errno == EAGAIN {
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, 1000)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
