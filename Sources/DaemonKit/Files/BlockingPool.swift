import Glibc

/// A few threads of its own for calls that block (open, fsync, rename, hashing), so that none of them ever holds one of
/// Swift's cooperative threads: a hung NFS mount must not stop the daemon.
///
/// Threads are started when work waits and none is idle, up to `width`, and stay.
package final class BlockingPool: Sendable {
    private let queue: JobQueue
    private let width: Int

    /// - Parameter width: most threads at a time.
    package init(width: Int = 8) {
        self.width = max(1, width)
        queue = JobQueue()
    }

    deinit { queue.close() }

    /// Runs `body` on one of the pool's threads and returns what it returns or throws what it throws.
    package func run<T: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> T) async throws(E) -> T {
        let result: Result<T, E> = await withCheckedContinuation { continuation in
            enqueue {
                do throws(E) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// As `run`; `body` is handed a closure that says whether the calling Swift task was cancelled.
    package func runCancellable<T: Sendable, E: Error>(
        _ body: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws(E) -> T
    ) async throws(E) -> T {
        let flag = CancellationFlag()
        let result: Result<T, E> = await withTaskCancellationHandler {
            do throws(E) {
                return .success(try await run { () throws(E) in try body { flag.isSet } })
            } catch {
                return .failure(error)
            }
        } onCancel: {
            flag.set()
        }
        return try result.get()
    }

    private func enqueue(_ job: @escaping @Sendable () -> Void) {
        if queue.append(job, mayGrowTo: width) {
            let queue = queue
            if !startThread({ queue.work() }) { queue.threadMissing() }
        }
    }
}

/// Starts a detached thread; false where the system has none left.
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let status = pthread_create(
        &thread, &attributes,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body() }
            return nil
        }, box.toOpaque())
    if status != 0 { box.release() }
    return status == 0
}

private final class ThreadBody: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Set once, read from any thread.
final class CancellationFlag: Sendable {
    private let lock = ConditionLock(false)
    var isSet: Bool { lock.withLock { $0 } }
    func set() { lock.withLock { $0 = true } }
}

/// The jobs that wait and the threads that serve them.
private final class JobQueue: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var next = 0
        var idle = 0
        var threads = 0
        var closed = false

        var waiting: Int { jobs.count - next }

        mutating func take() -> (@Sendable () -> Void)? {
            guard next < jobs.count else { return nil }
            let job = jobs[next]
            next += 1
            if next == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                next = 0
            } else if next >= 1024 {
                jobs.removeFirst(next)
                next = 0
            }
            return job
        }
    }

    private let state = ConditionLock(State())

    /// True where the caller must start a thread.
    func append(_ job: @escaping @Sendable () -> Void, mayGrowTo width: Int) -> Bool {
        let grow = state.withLock { state -> Bool in
            state.jobs.append(job)
            guard state.waiting > state.idle, state.threads < width else { return false }
            state.threads += 1
            return true
        }
        state.signal()
        return grow
    }

    /// A thread could not be started. Where none runs at all, the jobs are done here rather than never.
    func threadMissing() {
        let alone = state.withLock { state -> Bool in
            state.threads -= 1
            return state.threads == 0
        }
        guard alone else { return }
        while let job = state.withLock({ $0.take() }) { job() }
    }

    func work() {
        while true {
            let job = state.wait { state -> (@Sendable () -> Void)?? in
                if let job = state.take() { return .some(job) }
                return state.closed ? .some(nil) : nil
            } whileWaiting: { state, waits in
                state.idle += waits ? 1 : -1
            }
            guard let job else { return }
            job()
        }
    }

    func close() {
        state.withLock { $0.closed = true }
        state.broadcast()
    }
}
