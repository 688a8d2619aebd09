import Threading

/// A few threads for calls that block (open, fsync, rename, hashing). Such a call must never hold one of Swift's
/// cooperative threads, because a hung NFS mount must not stop the daemon.
///
/// Each job names its file system by device number, so that a hung file system delays only its own jobs (`KeyedQueue`).
/// Threads start when work waits and no thread is idle.
package final class BlockingPool: Sendable {
    /// For jobs that use only memory and the daemon's own folders.
    package static let noDevice: UInt64 = 0

    private let queue: KeyedQueue

    package let width: Int

    /// The total number of threads, as a multiple of the threads for one file system.
    private static let devicesAtFullWidth = 8

    /// - Parameters:
    ///   - width: the most threads for one file system at a time. If it is 0, the caller does the work itself, after
    ///   all other ready tasks have had a turn, so that the order is known.
    ///   - name: the name of the threads in tools; at most 15 bytes.
    package init(width: Int = 8, name: String = "dld-files") {
        self.width = width
        queue = KeyedQueue(name: name, width: width, limit: Self.devicesAtFullWidth * width)
    }

    deinit { queue.close() }

    /// Runs `body` later on one of the pool's threads.
    package func post(on device: UInt64 = noDevice, _ body: @escaping @Sendable () -> Void) {
        queue.post(on: device, body)
    }

    /// Runs `body` on one of the pool's threads, and returns or throws what it returns or throws.
    /// - Parameter device: the file system that `body` uses.
    package func run<T: Sendable, E: Error>(
        on device: UInt64 = noDevice, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        if width == 0 { await Turn.pass() }
        let result: Result<T, E> = await withCheckedContinuation { continuation in
            queue.post(on: device) {
                do throws(E) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// Like `run`, for a `body` that opens `path`. The path is resolved step by step, each step on a thread of the file
    /// system that it uses.
    /// - Parameter followsLinks: false if `body` refuses symbolic links.
    package func run<T: Sendable, E: Error>(
        at path: String, followsLinks: Bool = true, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        guard width > 0 else { return try await run(body) }
        var walk = MountWalk(path, MountTable.current, followsLinks: followsLinks)
        while true {
            let here = walk
            let step: WalkStep<T> = try await run(on: here.device) { () throws(E) in
                if let next = here.next() { return .elsewhere(next) }
                return .done(try body())
            }
            switch step {
            case .done(let value): return value
            case .elsewhere(let next): walk = next
            }
        }
    }

    /// Runs `work` for all groups at once, and returns its answers; nil for a group that has not answered within
    /// `limit`. Such work continues by itself and is told so, because a disk may not answer.
    package func answers<Group: Sendable, T: Sendable>(
        of groups: [Group], within limit: Duration,
        _ work: @escaping @Sendable (Group, _ isStopped: @escaping @Sendable () -> Bool) async -> T
    ) async -> [T?] {
        // Without threads, nothing can hang.
        guard width > 0 else {
            var answers: [T?] = []
            for group in groups { answers.append(await work(group) { false }) }
            return answers
        }
        return await withTaskGroup(of: (Int, T?).self) { tasks in
            for (index, group) in groups.enumerated() {
                tasks.addTask { (index, await Self.answer(within: limit) { await work(group, $0) }) }
            }
            return await tasks.reduce(into: Array(repeating: nil, count: groups.count)) { $0[$1.0] = $1.1 }
        }
    }

    private static func answer<T: Sendable>(
        within limit: Duration, _ work: @escaping @Sendable (@escaping @Sendable () -> Bool) async -> T
    ) async -> T? {
        let flag = CancellationFlag()
        return await withCheckedContinuation { continuation in
            let waiting = Guarded<CheckedContinuation<T?, Never>?>(continuation)
            let resume: @Sendable (T?) -> Void = { value in
                waiting.withLock { waiting in
                    defer { waiting = nil }
                    return waiting
                }?.resume(returning: value)
            }
            let timer = Task {
                try? await Task.sleep(for: limit)
                guard !Task.isCancelled else { return }
                flag.set()
                resume(nil)
            }
            Task {
                resume(await work { flag.isSet })
                timer.cancel()
            }
        }
    }

    /// Like `run`, but `body` gets a closure that tells whether the calling Swift task was cancelled.
    package func runCancellable<T: Sendable, E: Error>(
        on device: UInt64 = noDevice,
        _ body: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws(E) -> T
    ) async throws(E) -> T {
        let flag = CancellationFlag()
        let result: Result<T, E> = await withTaskCancellationHandler {
            do throws(E) {
                return .success(try await run(on: device) { () throws(E) in try body { flag.isSet } })
            } catch {
                return .failure(error)
            }
        } onCancel: {
            flag.set()
        }
        return try result.get()
    }
}

/// How far a path has been followed.
private enum WalkStep<T: Sendable>: Sendable {
    case done(T)
    case elsewhere(MountWalk)
}

/// A flag that is set once and read from any thread.
private final class CancellationFlag: Sendable {
    private let state = Guarded(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
