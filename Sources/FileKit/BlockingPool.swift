import Threading

/// A few threads of its own for calls that block (open, fsync, rename, hashing), so that none of them ever holds one of
/// Swift's cooperative threads: a hung NFS mount must not stop the daemon.
///
/// Each job says which file system it touches, by device number: what one of them holds up is its own jobs alone
/// (`LaneQueue`). Threads are started when work waits and none is idle.
package final class BlockingPool: Sendable {
    /// Of jobs that touch nothing but memory and the daemon's own folders.
    package static let ownLane: UInt64 = 0

    private let queue: LaneQueue

    package let width: Int

    /// Threads in all, as a multiple of what one file system gets.
    private static let lanesAtFullWidth = 8

    /// - Parameters:
    ///   - width: most threads for one file system at a time; with 0 whoever asks does the work, after all others who are
    ///     ready had their turn, so that its order is known.
    ///   - name: of the threads, as tools show it; at most 15 bytes.
    package init(width: Int = 8, name: String = "dld-files") {
        self.width = width
        queue = LaneQueue(name: name, width: width, limit: Self.lanesAtFullWidth * width)
    }

    deinit { queue.close() }

    /// Runs `body` on one of the pool's threads, some time.
    package func post(on device: UInt64 = ownLane, _ body: @escaping @Sendable () -> Void) {
        queue.post(on: device, body)
    }

    /// Runs `body` on one of the pool's threads and returns what it returns or throws what it throws.
    /// - Parameter device: of the file system that `body` touches.
    package func run<T: Sendable, E: Error>(
        on device: UInt64 = ownLane, _ body: @escaping @Sendable () throws(E) -> T
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

    /// As `run`, for what opens `path`: where that leads is found step by step, each on a thread of the file system that it
    /// touches.
    /// - Parameter followsLinks: false if `body` refuses links.
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

    /// What `work` says of each group, all of them at once; nil for one that has not answered when `limit` is over. Its work
    /// goes on by itself and is told so: a disk may not answer.
    package func answers<Group: Sendable, T: Sendable>(
        of groups: [Group], within limit: Duration,
        _ work: @escaping @Sendable (Group, _ isStopped: @escaping @Sendable () -> Bool) async -> T
    ) async -> [T?] {
        // In place nothing hangs.
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

    /// As `run`; `body` is handed a closure that says whether the calling Swift task was cancelled.
    package func runCancellable<T: Sendable, E: Error>(
        on device: UInt64 = ownLane,
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

/// Set once, read from any thread.
private final class CancellationFlag: Sendable {
    private let state = Guarded(false)
    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
