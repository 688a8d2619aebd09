import DequeModule
import Threading

/// A turnstile for each file system or user, so that a slow one delays only its own callers.
final class Turnstiles: Sendable {
    private let width: Int
    private let known = Guarded<[UInt64: Turnstile]>([:])

    init(width: Int) { self.width = width }

    subscript(device: UInt64?) -> Turnstile {
        known.withLock { known in
            if let turnstile = known[device ?? 0] { return turnstile }
            let turnstile = Turnstile(width: width)
            known[device ?? 0] = turnstile
            return turnstile
        }
    }
}

/// A semaphore that serves callers in order. A waiting caller takes no memory except for its call.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var line: Deque<@Sendable () -> Bool> = []
    }

    private let state: Guarded<State>

    init(width: Int) { state = Guarded(State(free: width)) }

    /// Calls `body` now, or after others have left. Each entry needs one `leave`.
    func enter(_ body: @escaping @Sendable () -> Void) {
        enter(ifWanted: {
            body()
            return true
        })
    }

    /// Like `enter`, but the caller may no longer want to pass when its turn comes.
    /// - Parameter body: returns false if the caller does not want to pass. Then it must not call `leave`, and the next
    ///   caller is called without recursion.
    func enter(ifWanted body: @escaping @Sendable () -> Bool) {
        let mayPass = state.withLock { state in
            guard state.free > 0 else {
                state.line.append(body)
                return false
            }
            state.free -= 1
            return true
        }
        if mayPass, !body() { leave() }
    }

    /// Returns when the caller may pass. Each entry needs one `leave`.
    func enter() async {
        let mayPass = state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
        if mayPass { return }
        await withCheckedContinuation { continuation in enter { continuation.resume() } }
    }

    /// Returns when whoever is inside has left.
    func pass() async {
        await enter()
        leave()
    }

    func leave() {
        while let next = takeNext(), !next() {}
    }

    /// Returns the next waiting caller. If there is none, frees a place.
    private func takeNext() -> (@Sendable () -> Bool)? {
        state.withLock { state in
            let next = state.line.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
    }
}
