import CLinux
import Glibc
import Threading

/// Tells when a name may have gone: its file, or a folder on the way to it, was removed, renamed, unmounted or mounted over.
///
/// One thread of its own waits for the kernel's word and does not wake up without it, but for a look every half minute at what
/// inotify(7) does not tell (another machine's changes, a link that leads elsewhere).
final class NameWatch: Sendable {
    /// Comes when `isWhole` says no; again and again, each `retry`, until it says yes. One consumer.
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

    /// - Parameter isWhole: whether all names are in place; called on the watch's thread, which it may block.
    init(isWhole: @escaping @Sendable () -> Bool) {
        (losses, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        state = Guarded(State(paths: []))
        wake = dld_eventfd_create()
        guard NamedThread.start("dld-names", { [self] in run(isWhole) }) else {
            continuation.finish()
            return
        }
    }

    /// Watches these names from now on.
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
            // Looked at after the kernel was asked to tell, so that nothing falls between.
            let isWell = isWhole()
            if !isWell { continuation.yield() }
            if !isWell || !isWatched {
                // What lies on the way there may be another folder now.
                seen = -1
            }
            dld_names_wait(names, mounts, wake, isWell && isWatched ? Self.rest : Self.retry)
        }
        continuation.finish()
        for descriptor in [names, mounts] where descriptor >= 0 { close(descriptor) }
    }

    /// The file itself, and every folder above it.
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
