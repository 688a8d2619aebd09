import Threading

/// A few threads of its own for calls that block (open, fsync, rename, hashing), so that none of them ever holds one of
/// Swift's cooperative threads: a hung NFS mount must not stop the daemon.
///
/// Threads are started when work waits and none is idle, up to `width`, and stay.
package final class BlockingPool: Sendable {
    private let queue: WorkQueue<@Sendable () -> Void>

    let width: Int

    /// - Parameters:
    ///   - width: most threads at a time; with 0 whoever asks does the work, after all others who are ready had their
    ///     turn, so that its order is known.
    ///   - name: of the threads, as tools show it; at most 15 bytes.
    package init(width: Int = 8, name: String = "dld-files") {
        self.width = width
        queue = WorkQueue(name: name, threads: width) { $0() }
    }

    deinit { queue.close() }

    /// Runs `body` on one of the pool's threads, some time.
    package func post(_ body: @escaping @Sendable () -> Void) { queue.post(body) }

    /// Runs `body` on one of the pool's threads and returns what it returns or throws what it throws.
    package func run<T: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> T) async throws(E) -> T {
        if width == 0 { await Turn.pass() }
        let result: Result<T, E> = await withCheckedContinuation { continuation in
            queue.post {
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
}

/// Set once, read from any thread.
private final class CancellationFlag: Sendable {
    private let state = Guarded(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
