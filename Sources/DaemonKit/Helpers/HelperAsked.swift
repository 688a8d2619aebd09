import CurlEngine
import Glibc
import Threading
import TransferCore
import TransferModel

/// One request to a helper on its way between the reactor and the thread of the helper's process.
final class HelperAsked: HelperConversation {
    private struct State {
        /// Set as soon as a process serves the request.
        var wake: (@Sendable () -> Void)?
        var isStarting = true
        var waitsForAnother = false
        var writesPart = false
        /// The size of the events that were delivered but not yet processed.
        var weight = 0
        var answers: [(username: String, password: String)?] = []
        /// Nobody receives its events any more.
        var isEnded = false
        /// Called when no process works on the request any more.
        var then: [@Sendable () -> Void] = []
        var isFree = false
    }

    /// The most bytes of events that may wait for one transfer. Beyond that, the helper's output is not read.
    private static let most = 1 << 20

    let call: HelperCall
    private let deliver: @Sendable (HelperEvent) -> Void
    private let state = Guarded(State())

    init(_ call: HelperCall, deliver: @escaping @Sendable (HelperEvent) -> Void) {
        self.call = call
        self.deliver = deliver
    }

    // MARK: The reactor's side

    var isStarting: Bool { state.withLock { $0.isStarting } }
    var waitsForAnother: Bool { state.withLock { $0.waitsForAnother } }
    var writesPart: Bool { state.withLock { $0.writesPart } }

    func took(_ weight: Int) {
        let wake: (@Sendable () -> Void)? = state.withLock { state in
            let was = state.weight
            state.weight -= weight
            return was > Self.most && state.weight <= Self.most ? state.wake : nil
        }
        wake?()
    }

    func answer(_ credential: (username: String, password: String)?) {
        state.withLock { state in
            state.answers.append(credential)
            return state.wake
        }?()
    }

    func end(then: @escaping @Sendable () -> Void) {
        let (isFree, wake) = state.withLock { state in
            state.isEnded = true
            if !state.isFree { state.then.append(then) }
            return (state.isFree, state.wake)
        }
        if isFree { return then() }
        // Without a process, there is nothing to wait for.
        if let wake { wake() } else { free() }
    }

    // MARK: The process's side

    var isEnded: Bool { state.withLock { $0.isEnded } }
    /// More events wait than the transfer accepts.
    var isFull: Bool { state.withLock { $0.weight > Self.most } }

    /// Records that a process serves the request from now on.
    /// - Returns: false if nobody wants the request any more.
    func isServed(writesPart: Bool, wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard !state.isEnded else { return false }
            state.wake = wake
            state.writesPart = writesPart
            state.isStarting = false
            return true
        }
    }

    func set(waitsForAnother: Bool) { state.withLock { $0.waitsForAnother = waitsForAnother } }

    func takeAnswers() -> [(username: String, password: String)?] {
        state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }

    func deliver(_ event: HelperEvent) {
        let isHeard = state.withLock { state in
            state.weight += event.weight
            return !state.isEnded
        }
        if isHeard { deliver(event) }
    }

    /// Records that no process works on the request any more.
    func free() {
        let then = state.withLock { state in
            state.isFree = true
            state.wake = nil
            defer { state.then = [] }
            return state.then
        }
        for body in then { body() }
    }
}
