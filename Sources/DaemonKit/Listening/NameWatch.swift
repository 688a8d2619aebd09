import CLinux
import Glibc
import Threading

/// Reports that a name may be gone because its file, or a folder on its path, was removed, renamed, unmounted or
/// mounted over.
///
/// Its own thread waits for the kernel. Every half minute it also checks for changes that inotify(7) does not report:
/// those made by another machine, or a link that leads elsewhere.
final class NameWatch: Sendable {
    /// Yields when `isWhole` returns false, and again after each `retry` until it returns true. Only one consumer is
    /// allowed.
    let losses: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let state: Guarded<State>
    private let wake: Int32

    private struct State: Sendable {
        var paths: [String]
        var generation = 0
        var isOver = false
    }

    private static let retry: Int32 = 1500
    private static let rest: Int32 = 30_000

    /// - Parameter isWhole: tells whether all names are in place. It is called on the watch's thread and may block.
    init(isWhole: @escaping @Sendable () -> Bool) {
        (losses, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        state = Guarded(State(paths: []))
        wake = dld_eventfd_create()
        guard NamedThread.start("dld-names", { [self] in run(isWhole) }) else {
            continuation.finish()
            return
        }
    }

    /// Replaces the watched names.
    func watch(_ paths: [String]) { change { $0.paths = paths } }

    func stop() { change { $0.isOver = true } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.generation += 1
        }
        if wake >= 0 { dld_eventfd_signal(wake) }
    }

    private func run(_ isWhole: () -> Bool) {
        let mounts = dld_mounts_open()
        var names: Int32 = -1
        var seen = 0
        while true {
            if wake >= 0 { dld_eventfd_drain(wake) }
            let now = state.withLock { $0 }
            if now.isOver { break }
            var isWatched = names >= 0
            if now.generation != seen || !isWatched {
                if names >= 0 { close(names) }
                names = dld_names_create()
                isWatched = names >= 0 && now.paths.allSatisfy { Self.watch($0, names) }
                seen = now.generation
            }
            // Checked after the watches are set, so that no change is missed in between.
            let isWell = isWhole()
            if !isWell { continuation.yield() }
            if !isWell || !isWatched {
                // The path may lead through another folder now.
                seen = -1
            }
            dld_names_wait(names, mounts, wake, isWell && isWatched ? Self.rest : Self.retry)
        }
        continuation.finish()
        for descriptor in [names, mounts] where descriptor >= 0 { close(descriptor) }
    }

    /// Watches the file and every folder above it.
    private static func watch(_ path: String, _ names: Int32) -> Bool {
        var isWatched = dld_names_watch(names, path, 0) >= 0
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
            folder = folder[..<slash]
            isWatched = dld_names_watch(names, String(folder), 1) >= 0 && isWatched
        }
        return isWatched
    }

    deinit { if wake >= 0 { close(wake) } }
}
